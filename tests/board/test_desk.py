# SPDX-License-Identifier: Apache-2.0
"""`shellguard cards` inside a worker, whose board is the desk of its supervisor: what it says, and what it is told."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `workers` is not installed")

from shellguard.workers.desk import Desk
from tests.cli.process import Done, run

CARD, TOKEN = "c-0123456789", "secret"


@dataclass
class Served:
    """A desk that answers, and what was asked of it."""

    address: str
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    answer: dict[str, Any] = field(default_factory=lambda: {"ok": True, "card": {"id": CARD, "title": "t"}})


@pytest.fixture
def served() -> Iterator[Served]:
    desk, over = Desk(CARD, TOKEN), threading.Event()
    found = Served(desk.address)

    def serve() -> None:
        while not over.is_set():
            for ready in select.select(desk.sockets, [], [], 0.02)[0]:
                request = desk.serve(ready)
                if request is not None:
                    found.asked.append((request.do, request.more))
                    desk.answer(ready, found.answer)

    thread = threading.Thread(target=serve)
    thread.start()
    yield found
    over.set()
    thread.join()
    desk.close()


Call = Callable[..., Done]


@pytest.fixture
def cards(served: Served, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Calls the command as a worker does."""
    monkeypatch.setenv("SHELLGUARD_BOARD", served.address)
    monkeypatch.setenv("SHELLGUARD_CARD", CARD)
    monkeypatch.setenv("SHELLGUARD_TOKEN", TOKEN)
    return lambda *words: run("cards", *words)


@pytest.mark.parametrize(
    "words, do, said",
    [
        (("complete",), "complete", {"summary": ""}),
        (("complete", CARD, "--summary", "fine"), "complete", {"summary": "fine"}),
        (("block", "--reason", "r", "--kind", "capability"), "block", {"reason": "r", "kind": "capability"}),
        (("block", "--reason", "r"), "block", {"reason": "r"}),
        (("heartbeat", "--note", "half"), "heartbeat", {"note": "half"}),
        (("show",), "show", {}),
    ],
)
def test_what_a_worker_says(
    served: Served, cards: Call, words: tuple[str, ...], do: str, said: dict[str, Any]
) -> None:
    done = cards(*words)
    assert (done.returncode, done.stderr) == (0, "")
    [(asked, more)] = served.asked
    assert asked == do
    assert {name: value for name, value in more.items() if value is not None} == said
    if do == "show":
        assert done.json() == {"schema": 1, "id": CARD, "title": "t"}
    else:
        assert done.stdout == ""


@pytest.mark.parametrize("words", [("complete",), ("block", "--reason", "r"), ("heartbeat",)])
def test_what_a_worker_says_is_answered_as_json_when_it_asks(
    served: Served, cards: Call, words: tuple[str, ...]
) -> None:
    done = cards(*words, "--json")
    assert (done.returncode, done.json()) == (0, {"schema": 1, "id": CARD, "title": "t"})
    assert [asked for asked, _ in served.asked] == [words[0], "show"]


def test_a_word_that_is_refused(served: Served, cards: Call) -> None:
    served.answer = {"ok": False, "error": "not yours\x1b[2J any more"}
    done = cards("complete")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "shellguard: not yours\\x1b[2J any more\n"


def test_another_card_is_refused_by_the_desk(served: Served, cards: Call) -> None:
    done = cards("complete", "c-9999999999")
    assert (done.returncode, served.asked) == (1, [])
    assert f"a worker may move its own card only, which is {CARD}" in done.stderr


def test_a_wrong_token_is_refused_by_the_desk(
    served: Served, cards: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELLGUARD_TOKEN", "wrong")
    assert cards("complete").returncode == 1
    assert served.asked == []


@pytest.mark.parametrize(
    "words",
    [
        *(("list",), ("export",), ("watch", "--once"), ("log", CARD), ("unblock", CARD), ("retry", CARD)),
        *(("archive", CARD), ("approve", CARD), ("add", "--profile", "p", "--title", "t")),
    ],
)
def test_what_no_worker_may_do(served: Served, cards: Call, words: tuple[str, ...]) -> None:
    done = cards(*words)
    assert (done.returncode, done.stdout, served.asked) == (2, "", [])
    assert "is the desk of a worker, and no board" in done.stderr


def test_a_desk_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELLGUARD_TOKEN", TOKEN)
    done = run("cards", "--board", "unix:@nobody-is-here", "complete", CARD)
    assert done.returncode == 1
    assert "the desk of this card cannot be reached" in done.stderr
