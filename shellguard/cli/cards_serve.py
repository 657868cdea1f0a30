# SPDX-License-Identifier: Apache-2.0
"""`shellguard cards serve`: a page that shows a board to a browser on this machine, and changes nothing.

A page of somebody else must not get at it by way of the user's browser. So a request has to name this machine as its
host (a name that was pointed at it is refused), the answer may be shown in no frame and be read by no other origin, and
it holds no script.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files

import click

from shellguard.cli.base import SETTINGS, say
from shellguard.cli.cards_base import UNUSABLE, fail, moment, opened
from shellguard.explain import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from shellguard.board.board import Board

MAX_CARDS = 1_000
"""The newest are shown."""

SECONDS = 5
"""Until the page is loaded again."""


@click.command("serve", context_settings=SETTINGS)
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8420, show_default=True, help="0: one that is free."
)
def serve(port: int) -> None:
    """Show a board as a page on 127.0.0.1, read-only, until Ctrl-C.

    Every user of this machine can read the page while it is served.
    """
    with opened() as board:
        try:
            server = Server(board, port)
        except OSError as error:
            fail(f"port {port}: {error.strerror}", UNUSABLE)
        with server:
            say(f"http://127.0.0.1:{server.server_port}/")
            sys.stdout.flush()
            with suppress(KeyboardInterrupt):  # the way to leave
                server.serve_forever()


class Server(ThreadingHTTPServer):
    """Serves one board. Raises OSError when the port is taken."""

    daemon_threads = True

    def __init__(self, board: Board, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.board = board
        self.pages = Pages()

    @property
    def hosts(self) -> tuple[str, ...]:
        """How a browser may name this machine."""
        return tuple(f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost"))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that leaves before it has the page is none of our errors."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Pages:
    """The pages, made from their template."""

    def __init__(self) -> None:
        from jinja2 import Environment, StrictUndefined

        environment = Environment(
            autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        environment.filters |= {"shown": _shown, "moment": moment}
        text = (files("shellguard.cli") / "cards_page.html.j2").read_text(encoding="utf-8")
        self._template = environment.from_string(text)
        [style] = re.findall(r"<style>(.*?)</style>", text, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
        self.policy = (
            f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"
        )

    def board(self, board: Board) -> str:
        """All cards."""
        found = [card for card in reversed(board.cards()) if card.status != "archived"]
        return self._page(
            board, cards=found[:MAX_CARDS], more=max(0, len(found) - MAX_CARDS), counts=board.counts()
        )

    def card(self, board: Board, card: str) -> str | None:
        """One card with its runs and events; None when there is none."""
        found = board.history(card)
        return self._page(board, history=found[0]) if found else None

    def _page(self, board: Board, **values: Any) -> str:
        empty: Mapping[str, Any] = {"cards": (), "more": 0, "counts": {}, "history": None}
        return self._template.render(
            {"address": board.address_shown, "now": time.time(), "seconds": SECONDS, **empty, **values}
        )


def _shown(value: object) -> str:
    """Text of a card: what is no letter is visible, and lines stay lines."""
    if isinstance(value, str):
        return "\n".join(visible(line) for line in value.split("\n"))
    from shellguard.cli.output import dumps

    return dumps(value)


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD for `/` and `/ID`, and nothing else."""

    server: Server
    server_version, sys_version = "shellguard", ""
    timeout = 10

    def do_GET(self) -> None:
        named = self.headers.get_all("Host", [])
        if len(named) != 1 or named[0] not in self.server.hosts:
            self._answer(421, "this is not the name of this page")
            return
        from shellguard.board.model import BoardError

        pages, board = self.server.pages, self.server.board
        try:
            if self.path == "/":
                self._answer(200, pages.board(board))
                return
            found = re.fullmatch("/(c-[0-9a-z]{1,20})", self.path)
            page = None if found is None else pages.card(board, found[1])
        except BoardError as error:
            self._answer(503, f"the board cannot be read: {visible(str(error))}")
            return
        if page is None:
            self._answer(404, "there is no such page")
        else:
            self._answer(200, page)

    do_HEAD = do_GET  # noqa: N815 (the name that the library asks for)

    def _answer(self, status: int, text: str) -> None:
        data = text.encode("utf-8")
        self.send_response(status)
        kind = "text/html" if status == 200 else "text/plain"
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Content-Length", str(len(data))),
            ("Content-Security-Policy", self.server.pages.policy),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name in the library)
        """Requests are not logged."""
