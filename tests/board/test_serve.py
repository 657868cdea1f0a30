# SPDX-License-Identifier: Apache-2.0
"""The page of a board: what it shows, to whom, and that it does nothing else."""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `workers` is not installed")

from shellguard.board.board import Board
from shellguard.cli.cards_serve import Server
from tests.board.cards import add, claim, dump
from tests.cli.process import SHELLGUARD

HOSTILE = '</title><script>alert(1)</script><img src=x onerror="a">&amp;\x1b\u202e\'"'


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Server]:
    with Board.open(str(tmp_path / "board")) as board, Server(board, 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Answer:
    """What came back."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status, self.headers = answer.status, answer.headers
        self.text = answer.read().decode()


def ask(
    server: Server, path: str = "/", *, method: str = "GET", hosts: tuple[str, ...] | None = None
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.putrequest(method, path, skip_host=True)
    for host in (f"127.0.0.1:{server.server_port}",) if hosts is None else hosts:
        connection.putheader("Host", host)
    connection.endheaders()
    answer = Answer(connection.getresponse())
    connection.close()
    return answer


class Tags(HTMLParser):
    """The elements and the text of a page, as a browser reads it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_cards_of_a_board(served: Server) -> None:
    assert "no cards" in ask(served).text
    ready, away = add(served.board), add(served.board, "archived")
    page = Tags(ask(served).text)
    links = [attributes["href"] for tag, attributes in page.found if tag == "a"]
    assert links == ["/", f"/{ready.id}"]
    assert away.id not in page.text
    assert "ready 1" in " ".join(page.text.split())


def test_one_card(served: Server) -> None:
    parent = add(served.board)
    card = served.board.add("Title", profile="p", body="one\ntwo")
    child = served.board.add("c", profile="p", parents=[card.id, parent.id])
    opened = claim(served.board, card.id)
    assert served.board.fail(opened.id, outcome="timed_out", error="elapsed 6s > limit 5s", exit_code=None)
    answer = ask(served, f"/{card.id}")
    assert answer.status == 200
    for text in (
        "Title",
        "one\ntwo",
        "elapsed 6s &gt; limit 5s",
        f'href="/{child.id}"',
        "timed_out",
        "claimed",
    ):
        assert text in answer.text
    assert f'href="/{parent.id}"' in ask(served, f"/{child.id}").text


def test_text_of_a_card_is_text(served: Server) -> None:
    board = served.board
    card = board.add(HOSTILE, profile=HOSTILE, body=HOSTILE, workspace=HOSTILE, settings={HOSTILE: HOSTILE})
    opened = board.claim(*(card.id,), profile=HOSTILE, host=HOSTILE, dispatcher=HOSTILE, lease=9, frozen={})
    assert opened is not None
    assert board.heartbeat(opened.id, lease=9, note=HOSTILE)
    assert board.block(card.id, reason=HOSTILE, metadata={HOSTILE: HOSTILE})
    for path in ("/", f"/{card.id}"):
        text = ask(served, path).text
        page = Tags(text)
        assert {tag for tag, _ in page.found} <= {
            *("html", "head", "meta", "title", "style", "body", "p", "a", "span", "h1", "h2", "pre", "code"),
            *("table", "tr", "th", "td"),
        }
        assert not any(name.startswith("on") for _, attributes in page.found for name in attributes)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "<script>alert(1)</script>" in page.text
        assert "\\x1b\\u202e" in page.text


def test_what_a_browser_is_told(served: Server) -> None:
    answer = ask(served)
    [style] = re.findall(r"<style>(.*?)</style>", answer.text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert answer.headers["Content-Security-Policy"] == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert "style=" not in answer.text, "the policy would not let it count"


@pytest.mark.parametrize(
    "hosts, status",
    [
        (("127.0.0.1:PORT",), 200),
        (("localhost:PORT",), 200),
        (("evil.example:PORT",), 421),
        (("evil.example",), 421),
        (("127.0.0.1",), 421),
        (("127.0.0.1:1",), 421),
        (("127.0.0.1:PORT.evil.example",), 421),
        (("127.0.0.1:PORT", "evil.example"), 421),
        (("",), 421),
        ((), 421),
    ],
)
def test_only_this_machine_is_its_host(served: Server, hosts: tuple[str, ...], status: int) -> None:
    """A name that somebody points at this machine later (DNS rebinding) is not."""
    card = add(served.board)
    named = tuple(host.replace("PORT", str(served.server_port)) for host in hosts)
    for path in ("/", f"/{card.id}", "/nothing"):
        answer = ask(served, path, hosts=named)
        assert answer.status == (404 if status == 200 and path == "/nothing" else status)
        assert (card.id in answer.text) == (answer.status == 200)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"])
def test_it_only_shows(served: Server, method: str) -> None:
    card = add(served.board)
    before = dump(served.board)
    for path in ("/", f"/{card.id}"):
        answer = ask(served, path, method=method)
        assert answer.status == 501
        assert card.id not in answer.text
    assert dump(served.board) == before


def test_the_head_alone(served: Server) -> None:
    answer = ask(served, method="HEAD")
    assert (answer.status, answer.text) == (200, "")
    assert int(answer.headers["Content-Length"]) > 500


@pytest.mark.parametrize(
    "path",
    [
        "/c-0000000000",
        "/../etc/passwd",
        "/%2e%2e/x",
        "/?x",
        "/c-",
        "/c-A",
        "/" + "c" * 9_000,
        "*",
        "http://x/",
    ],
)
def test_no_other_page(served: Server, path: str) -> None:
    answer = ask(served, path)
    assert answer.status == 404
    assert answer.text == "there is no such page"


def test_a_board_that_is_away(served: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellguard.board.tables.BUSY_SECONDS", 0)
    served.board.engine.dispose()
    Path(served.board.address).write_bytes(b"x" * 5_000)
    answer = ask(served)
    assert answer.status == 503
    assert answer.text == "the board cannot be read: file is not a database"


def test_only_this_machine_is_listened_to(served: Server) -> None:
    assert served.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.skipif(os.name == "nt", reason="it is ended by a signal")
def test_the_command(tmp_path: Path) -> None:
    address = str(tmp_path / "board")
    with Board.open(address) as board:
        add(board)
    command = [*SHELLGUARD, "cards", "--board", address, "serve", "--port"]
    serving = subprocess.Popen([*command, "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert serving.stdout is not None
        place = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", serving.stdout.readline())
        assert place is not None
        with socket.create_connection(("127.0.0.1", int(place[1])), timeout=30) as connection:
            connection.sendall(f"GET / HTTP/1.1\r\nHost: localhost:{place[1]}\r\n\r\n".encode())
            assert connection.recv(100).startswith(b"HTTP/1.0 200 OK\r\n")
        second = subprocess.run([*command, place[1]], capture_output=True, text=True, timeout=60, check=False)
        assert second.returncode == 2
        assert second.stderr == f"shellguard: port {place[1]}: Address already in use\n"
        serving.send_signal(signal.SIGINT)
        assert serving.communicate(timeout=60) == ("", "")
        assert serving.returncode == 0
    finally:
        serving.kill()
        serving.communicate()
