# SPDX-License-Identifier: Apache-2.0
"""The board address that a worker gets: a desk, at which it can speak about its own card and about no other.

The supervisor serves it; it speaks to the board itself. A request is one line of JSON, and so is the answer:
`{"token": T, "do": "complete", "card": ID, ...}`, `{"ok": true, ...}` or `{"ok": false, "error": TEXT}`. Without the
token of the run nothing is answered but a refusal. So a worker has neither the file of the board nor its password.
On Linux the address is a name that no file has and that goes with the supervisor; elsewhere a socket in a folder of its
own, on Windows a port of this machine.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
from dataclasses import dataclass

from shellguard.errors import ShellguardError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

MAX_LINE = 1_000_000
"""Bytes of a request or an answer."""

MAX_CALLERS = 32
"""Connections at once."""

SECONDS = 60.0
"""How long a client waits for its answer: a board that is not there is asked again for a while."""

TOKEN, CARD = "SHELLGUARD_TOKEN", "SHELLGUARD_CARD"

KINDS = ("dependency", "needs_input", "capability", "transient")


class DeskError(ShellguardError):
    """The desk refused, or cannot be reached. `str()` says why."""


def is_desk(address: str) -> bool:
    """Whether the address of a board is that of a desk."""
    return address.startswith(("unix:", "tcp:"))


# --- the side of the worker -------------------------------------------------------------------------------------------


class Client:
    """Speaks to a desk; the token and the card come from the environment when they are not given."""

    def __init__(self, address: str, token: str | None = None, card: str | None = None) -> None:
        self.address = address
        self.token = os.environ.get(TOKEN, "") if token is None else token
        self.card = os.environ.get(CARD) if card is None else card

    def show(self, card: str | None = None) -> dict[str, Any]:
        """The card with its runs and events, as `cards show --json` has it."""
        found: dict[str, Any] = self._ask("show", card)["card"]
        return found

    def complete(
        self, card: str | None = None, *, summary: str = "", metadata: dict[str, Any] | None = None
    ) -> None:
        """The card is done."""
        self._ask("complete", card, summary=summary, metadata=metadata)

    def block(
        self,
        card: str | None = None,
        *,
        reason: str,
        kind: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """The card cannot go on."""
        self._ask("block", card, reason=reason, kind=kind, metadata=metadata)

    def heartbeat(self, card: str | None = None, *, note: str | None = None) -> None:
        """The worker lives, and may say what it does."""
        self._ask("heartbeat", card, note=note)

    def log(self, text: str, card: str | None = None) -> None:
        """A line for the log of the card."""
        self._ask("log", card, text=text)

    def _ask(self, what: str, card: str | None, **more: Any) -> dict[str, Any]:
        """Raises: DeskError."""
        request = {"token": self.token, "do": what, "card": self.card if card is None else card, **more}
        line = json.dumps(request).encode() + b"\n"
        if len(line) > MAX_LINE:
            raise DeskError("that is too long for the board")
        try:
            with _connected(self.address) as connection:
                connection.sendall(line)
                answer = b""
                while not answer.endswith(b"\n"):
                    data = connection.recv(65_536)
                    if not data:
                        raise DeskError("the desk of this card is closed")
                    answer += data
            found: dict[str, Any] = json.loads(answer)
        except (OSError, ValueError) as error:
            raise DeskError(f"the desk of this card cannot be reached: {error}") from error
        if found.get("ok") is not True:
            raise DeskError(str(found.get("error", "the desk refused")))
        return found


def _connected(address: str) -> socket.socket:
    kind, _, place = address.partition(":")
    if kind == "unix" and hasattr(socket, "AF_UNIX"):
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        where: Any = f"\0{place[1:]}" if place.startswith("@") else place
    elif kind == "tcp":
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        host, _, port = place.rpartition(":")
        if not (port.isascii() and port.isdigit()):
            made.close()
            raise DeskError(f"{address!r} is no address of a desk")
        where = (host, int(port))
    else:
        raise DeskError(f"{address!r} is no address of a desk")
    made.settimeout(SECONDS)
    try:
        made.connect(where)
    except BaseException:
        made.close()
        raise
    return made


# --- the side of the supervisor ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """What a worker asks, with the right token and about its own card. `do` is one of `FIELDS`."""

    do: str
    more: dict[str, Any]


_LINUX = sys.platform.startswith("linux")

FIELDS: dict[str, dict[str, type]] = {
    "show": {},
    "complete": {"summary": str, "metadata": dict},
    "block": {"reason": str, "kind": str, "metadata": dict},
    "heartbeat": {"note": str},
    "log": {"text": str},
}
"""What a worker may ask for, and what it may say with it."""


class Desk:
    """An open desk. It never blocks: the loop of its owner watches `sockets`, and calls `serve` for what can be read.

    Raises OSError when it cannot be opened.
    """

    def __init__(self, card: str, token: str) -> None:
        self.card, self._token = card, token
        self._folder: str | None = None
        self._callers: dict[socket.socket, bytes] = {}
        self._waiting: set[socket.socket] = set()
        self._listener, self.address = self._opened()
        self._listener.setblocking(False)
        self._listener.listen(MAX_CALLERS)

    def _opened(self) -> tuple[socket.socket, str]:
        if _LINUX:
            name = f"shellguard-{secrets.token_hex(16)}"
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            made.bind(f"\0{name}")
            return made, f"unix:@{name}"
        if hasattr(socket, "AF_UNIX") and sys.platform != "win32":
            self._folder = tempfile.mkdtemp(prefix="sg-")
            path = os.path.join(self._folder, "desk")
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            made.bind(path)
            return made, f"unix:{path}"
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.bind(("127.0.0.1", 0))
        return made, f"tcp:127.0.0.1:{made.getsockname()[1]}"

    @property
    def sockets(self) -> list[socket.socket]:
        """What is to be watched for something to read. Who waits for an answer is not listened to."""
        callers = [each for each in self._callers if each not in self._waiting]
        return callers if len(self._callers) >= MAX_CALLERS else [self._listener, *callers]

    def serve(self, ready: socket.socket) -> Request | None:
        """Reads what a caller says; a whole request that is allowed is given back, to be answered by `answer`."""
        if ready is self._listener:
            with contextlib.suppress(OSError):
                caller, _ = self._listener.accept()
                if _is_same_user(caller):
                    caller.setblocking(False)
                    self._callers[caller] = b""
                else:
                    caller.close()
            return None
        try:
            data = ready.recv(65_536)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        said = self._callers[ready] + data
        if not data or len(said) > MAX_LINE:
            self._drop(ready)
            return None
        self._callers[ready] = said
        if b"\n" not in said:
            return None
        allowed = self._judged(said.partition(b"\n")[0])
        if isinstance(allowed, str):
            self.answer(ready, {"ok": False, "error": allowed})
            return None
        self._waiting.add(ready)
        return allowed

    def _judged(self, line: bytes) -> Request | str:
        """The request, or why it is refused."""
        try:
            said = json.loads(line, parse_constant=_refused)
        except (ValueError, RecursionError):
            return "that is no request"
        if not isinstance(said, dict):
            return "that is no request"
        token = said.pop("token", None)
        if not isinstance(token, str) or not _same(token, self._token):
            return "the token is not that of this run"
        if said.pop("card", None) not in (None, self.card):
            return f"a worker may move its own card only, which is {self.card}"
        what = said.pop("do", None)
        if not isinstance(what, str) or what not in FIELDS:
            return f"a worker may {', '.join(FIELDS)}, and nothing else"
        problem = _wrong(what, said)
        return Request(what, said) if problem is None else problem

    def answer(self, caller: socket.socket, answer: dict[str, Any]) -> None:
        """Answers a caller, and lets it go. One that does not read its answer is not waited for."""
        if caller not in self._callers:
            return
        with contextlib.suppress(OSError):
            caller.settimeout(1.0)
            caller.sendall(json.dumps(answer).encode() + b"\n")
        self._drop(caller)

    def _drop(self, caller: socket.socket) -> None:
        self._callers.pop(caller, None)
        self._waiting.discard(caller)
        caller.close()

    def close(self) -> None:
        """Closes the desk; whoever waits gets no answer."""
        for caller in list(self._callers):
            self._drop(caller)
        self._listener.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode())


def _refused(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _wrong(what: str, more: dict[str, Any]) -> str | None:
    """What is wrong with the rest of a request."""
    fields = FIELDS[what]
    for name, value in more.items():
        if name not in fields:
            return f"{what} knows no {name!r}"
        if value is not None and not isinstance(value, fields[name]):
            return f"{name!r} of {what} is of the wrong kind"
    if what == "block" and not more.get("reason"):
        return "block needs a reason"
    if what == "log" and not isinstance(more.get("text"), str):
        return "log needs a text"
    if more.get("kind") not in (None, *KINDS):
        return f"the kind of a block is one of {', '.join(KINDS)}"
    return None


def _is_same_user(caller: socket.socket) -> bool:
    """Whether a caller runs as we do, where the system tells. Source: unix(7), SO_PEERCRED."""
    if caller.family != getattr(socket, "AF_UNIX", None) or not hasattr(socket, "SO_PEERCRED"):
        return True
    import struct

    try:
        said = caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    except OSError:
        return False
    uid: int = struct.unpack("3i", said)[1]
    return uid in (os.geteuid(), 0)
