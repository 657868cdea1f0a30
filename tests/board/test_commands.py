# SPDX-License-Identifier: Apache-2.0
"""`shellguard cards`: what each command prints and does, its exit status, and boards that cannot be used."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `workers` is not installed")

from sqlalchemy import update

from shellguard.approval.requests import Request, deny
from shellguard.approval.run import run_safely
from shellguard.approval.signals import FLUSHER
from shellguard.approval.store import Store
from shellguard.board.board import Board
from shellguard.board.model import BlockKind, EventKind, Outcome, Status
from shellguard.board.tables import about, events
from shellguard.cli.cards import cards as cards_group
from shellguard.cli.cards_watch import News
from tests.approval.repos import Repo
from tests.board.cards import NOW, PROCESS, add, again, claim
from tests.cli.process import SHELLGUARD, Done, run

if TYPE_CHECKING:
    from tests.board.servers import Server

HOSTILE = "a\x1b[31m\u202eb"
SHOWN = "a\\x1b[31m\\u202eb"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Board]:
    """The board that is used when none is named."""
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "home"))
    for name in ("SHELLGUARD_BOARD", "SHELLGUARD_CARD"):
        monkeypatch.delenv(name, raising=False)
    with Board.open() as board:
        yield board


def cards(*words: str, status: int = 0, text: str = "") -> Done:
    done = run("cards", *words, text=text)
    assert done.returncode == status, (words, done.stdout, done.stderr)
    return done


# --- which board ------------------------------------------------------------------------------------------------------


def test_the_board_may_be_named_before_the_verb_and_behind_it(here: Board, tmp_path: Path) -> None:
    one, two, three = (str(tmp_path / name) for name in ("one", "two", "three"))
    new = ("add", "--profile", "p", "--title")
    cards("--board", one, *new, "before")
    cards(*new, "behind", "--board", two)
    cards("--board", three, *new, "both", "--board", two)
    assert run("cards", *new, "variable", SHELLGUARD_BOARD=one).returncode == 0
    cards(*new, "none")
    titles = {
        address: [card.title for card in Board.open(address).cards()] for address in (one, two, here.address)
    }
    assert titles == {one: ["before", "variable"], two: ["behind", "both"], here.address: ["none"]}
    assert not os.path.exists(three)


def test_a_card_is_added_looked_at_and_done(here: Board) -> None:
    """The contract: `add` prints the id, `show --json` the card with its runs and events."""
    done = cards("add", "--profile", "build", "--title", "T", "--max-runtime", "2.5")
    name = done.stdout.removesuffix("\n")
    card = again(here, name)
    assert (card.title, card.profile, card.max_runtime, card.status) == ("T", "build", 2.5, "ready")
    run_of = claim(here, name)
    assert here.complete(name, run=run_of.id, exit_code=0)
    found = cards("show", name, "--json").json()
    assert found["schema"] == 1
    for key in ("id", "title", "status", "phase", "consecutive_failures", "current_run"):
        assert found[key] == getattr(again(here, name), key), key
    [shown] = found["runs"]
    assert {key: shown[key] for key in ("id", "outcome", "status", "exit_code", "error")} == {
        "id": run_of.id,
        "outcome": "completed",
        "status": "completed",
        "exit_code": 0,
        "error": None,
    }
    assert [event["kind"] for event in found["events"]] == ["created", "claimed", "completed"]
    assert all({"kind", "payload", "at", "run"} <= set(event) for event in found["events"])


def test_all_that_a_card_can_be_given(here: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parent = add(here)
    value = cards(
        *("add", "--json", "--profile", "p", "--title", "t", "--body", "-", "--phase", "review"),
        *("--priority", "-3", "--parent", parent.id, "--workspace", "w", "--max-retries", "0"),
        *("--set", "model=large=2", "--set", "effort="),
        text="two\nlines\n",
    ).json()
    assert value["id"] == here.children(parent.id)[0]
    assert {
        key: value[key] for key in ("body", "phase", "priority", "workspace", "max_retries", "settings")
    } == {
        "body": "two\nlines\n",
        "phase": "review",
        "priority": -3,
        "workspace": str(tmp_path / "w"),
        "max_retries": 0,
        "settings": {"model": "large=2", "effort": ""},
    }
    assert value["status"] == "todo"
    assert cards("add", "--json", "--profile", "p", "--title", "t", "--repo", ".").json()["repo"] == str(
        tmp_path
    )


@pytest.mark.parametrize("text, seconds", [("2030-01-02T03:04:05+00:00", 1_893_553_445.0), ("+60", None)])
def test_a_card_for_later(here: Board, text: str, seconds: float | None) -> None:
    before = time.time()
    value = cards("add", "--json", "--profile", "p", "--title", "t", "--at", text).json()
    assert value["status"] == "scheduled"
    if seconds is None:
        assert before + 60 <= value["scheduled_at"] <= time.time() + 60
    else:
        assert value["scheduled_at"] == seconds


@pytest.mark.parametrize(
    "words, message",
    [
        (("--profile", "p"), "Missing option '--title'"),
        (("--title", "t"), "Missing option '--profile'"),
        (("--profile", "p", "--title", " "), "a card needs a title"),
        (("--profile", "p", "--title", "t", "--max-runtime", "0"), "Invalid value for '--max-runtime'"),
        (("--profile", "p", "--title", "t", "--max-runtime", "nan"), "max_runtime"),
        (("--profile", "p", "--title", "t", "--max-runtime", "inf"), "max_runtime"),
        (("--profile", "p", "--title", "t", "--at", "soon"), "neither ISO 8601 nor +SECONDS"),
        (("--profile", "p", "--title", "t", "--at", "+inf"), "neither ISO 8601 nor +SECONDS"),
        (("--profile", "p", "--title", "t", "--set", "x"), "'x' is not NAME=VALUE"),
        (("--profile", "p", "--title", "t", "--set", "x=1", "--set", "x=2"), "set twice"),
        (("--profile", "p", "--title", "t", "--status", "running"), "Invalid value for '--status'"),
        (("--profile", "p", "--title", "t", "--parent", "c-nowhere"), "there is no card 'c-nowhere'"),
        (("--profile", "p", "--title", "t", "--workspace", "a", "--repo", "b"), "not in both"),
    ],
)
def test_wrong_usage_adds_nothing(here: Board, words: tuple[str, ...], message: str) -> None:
    assert message in cards("add", *words, status=2).stderr
    assert here.cards() == []


# --- verbs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "verb, status, after",
    [
        (("complete",), "ready", "done"),
        (("complete",), "running", "done"),
        (("complete",), "todo", None),
        (("block", "--reason", "r"), "ready", "blocked"),
        (("block", "--reason", "r"), "done", None),
        (("unblock",), "blocked", "ready"),
        (("unblock",), "running", None),
        (("retry",), "done", "ready"),
        (("retry",), "running", None),
        (("archive",), "running", "archived"),
        (("archive",), "archived", None),
        (("heartbeat",), "running", "running"),
        (("heartbeat",), "ready", None),
    ],
)
def test_verbs_and_their_exit_statuses(
    here: Board, verb: tuple[str, ...], status: str, after: str | None
) -> None:
    card = add(here, status)
    done = cards(*verb, card.id, status=0 if after else 1)
    assert again(here, card.id).status == (after or status)
    if after is None:
        assert f"{card.id} is {status}: it cannot be" in done.stderr
        assert done.stdout == ""
    else:
        assert done.stdout.startswith(f"{card.id}  {after}")
    other = add(here, status)
    done = cards(*verb, "--json", other.id, status=0 if after else 1)
    assert done.json()["status"] == (after or status)


@pytest.mark.parametrize(
    "verb",
    [
        *(("show",), ("log",), ("complete",), ("block", "--reason", "r"), ("unblock",), ("retry",)),
        *(("archive",), ("heartbeat",), ("approve",)),
    ],
)
def test_a_card_that_is_not_there(here: Board, verb: tuple[str, ...]) -> None:
    done = cards(*verb, "c-\x1b[2J", status=2)
    assert done.stderr == "shellguard: there is no card 'c-\\x1b[2J'\n".replace("\\x1b", "\\\\x1b"[1:])
    assert done.stdout == ""


def test_what_a_verb_says_is_on_the_board(here: Board) -> None:
    card = add(here)
    cards("block", card.id, "--reason", "no key", "--kind", "capability")
    found = again(here, card.id)
    assert (found.block_kind, found.block_reason) == ("capability", "no key")
    cards("unblock", card.id)
    run_of = claim(here, card.id)
    cards("heartbeat", card.id, "--note", "half", "--lease", "60")
    assert here.events(card.id)[-1].payload == {"note": "half"}
    cards("complete", card.id, "--summary", "fine")
    assert again(here, card.id).result == "fine"
    closed = here.run(run_of.id)
    assert closed is not None
    assert closed.summary == "fine"
    assert here.events(card.id)[-1].payload["by"] == "operator"


def test_inside_a_worker_the_card_need_not_be_named(here: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    card = add(here)
    assert "name a card" in cards("complete", status=2).stderr
    monkeypatch.setenv("SHELLGUARD_CARD", card.id)
    assert cards("show", "--json").json()["id"] == card.id
    cards("block", "--reason", "r")
    cards("complete")
    assert again(here, card.id).status == "done"


# --- lists ------------------------------------------------------------------------------------------------------------


def test_the_list(here: Board) -> None:
    ready = add(here)
    blocked = add(here, "blocked", now=NOW + 1)
    away = add(here, "archived", now=NOW + 2)
    other = here.add("x", profile="other", now=NOW + 3)

    def listed(*words: str) -> list[str]:
        return [card["id"] for card in cards("list", "--json", *words).json()["cards"]]

    assert listed() == [ready.id, blocked.id, other.id]
    assert listed("--all") == [ready.id, blocked.id, away.id, other.id]
    assert listed("--status", "archived") == [away.id]
    assert listed("--profile", "other") == [other.id]
    assert [line.split()[:2] for line in cards("list").stdout.splitlines()] == [
        [ready.id, "ready"],
        [blocked.id, "blocked"],
        [other.id, "ready"],
    ]


def test_nothing_on_a_card_reaches_the_terminal_as_it_is(here: Board, tmp_path: Path) -> None:
    card = here.add(HOSTILE, profile=HOSTILE, body=f"{HOSTILE}\n{HOSTILE}", workspace=HOSTILE)
    log = tmp_path / "log"
    log.write_text(f"{HOSTILE}\n")
    opened = here.claim(
        card.id,
        profile=HOSTILE,
        host=HOSTILE,
        dispatcher=HOSTILE,
        lease=9,
        frozen={},
        log=str(log),
    )
    assert opened is not None
    assert here.heartbeat(opened.id, lease=9, note=HOSTILE)
    assert here.block(card.id, reason=HOSTILE)
    for words in (("list",), ("show", card.id), ("log", card.id), ("watch", "--once"), ("unblock", card.id)):
        done = cards(*words)
        assert SHOWN in done.stdout, words
        assert HOSTILE not in done.stdout, words
        assert "\x1b" not in done.stdout, words


def test_a_card_for_people(here: Board) -> None:
    card = here.add("Title", profile="p", body="Body", workspace="/w", max_runtime=5.0)
    child = here.add("Child", profile="p", parents=[card.id])
    run_of = claim(here, card.id)
    assert here.fail(run_of.id, outcome="timed_out", error="elapsed 6s > limit 5s", payload={"sigkill": True})
    out = cards("show", card.id).stdout
    for text in (
        "Title",
        "  Body",
        "/w",
        "elapsed 6s > limit 5s",
        child.id,
        "timed_out",
        '"sigkill": true',
        "run 1",
    ):
        assert text in out


def test_the_log_of_a_card(here: Board, tmp_path: Path) -> None:
    card = add(here)
    assert "has no log" in cards("log", card.id, status=1).stderr
    logs = [tmp_path / "first", tmp_path / "second"]
    names = []
    for log in logs:
        opened = here.claim(
            card.id,
            profile="p",
            host="elsewhere",
            dispatcher="d",
            lease=9,
            frozen={},
            log=str(log),
        )
        assert opened is not None
        names.append(opened.id)
        assert here.reclaim(opened.id, reason="r")
    assert "elsewhere has it" in cards("log", card.id, status=1).stderr
    logs[0].write_bytes(b"one\n")
    (tmp_path / "second.1").write_bytes(b"before\r\nha")
    logs[1].write_bytes(b"lf\n\xff\nlast")
    assert cards("log", card.id).stdout == "before\nhalf\n\\udcff\nlast\n"
    assert cards("log", card.id, "--lines", "2").stdout == "\\udcff\nlast\n"
    assert cards("log", card.id, "--run", names[0]).stdout == "one\n"
    assert f"no log of a run {'0' * 32}" in cards("log", card.id, "--run", "0" * 32, status=1).stderr
    value = cards("log", card.id, "--run", names[0], "--json").json()
    assert value == {"schema": 1, "card": card.id, "run": names[0], "log": str(logs[0]), "lines": ["one"]}


def test_the_whole_board_as_json(here: Board) -> None:
    parent, running = add(here, "done"), add(here, "running")
    child = here.add("c", profile="p", parents=[parent.id, running.id])
    value = cards("export").json()
    assert value["board"] == here.address
    assert {card["id"] for card in value["cards"]} == {parent.id, running.id, child.id}
    for card in value["cards"]:
        assert {"schema": 1, **card} == cards("show", card["id"], "--json").json()
    [shown] = [card for card in value["cards"] if card["id"] == child.id]
    assert (shown["parents"], shown["children"]) == (sorted([parent.id, running.id]), [])


# --- watching ---------------------------------------------------------------------------------------------------------


def test_the_picture_of_a_board(here: Board) -> None:
    assert "no cards" in cards("watch", "--once").stdout
    running, blocked = add(here, "running"), add(here, "blocked")
    out = cards("watch", "--once").stdout
    assert "running 1  blocked 1" in out
    assert out.index(running.id) < out.index(blocked.id)
    assert "claimed" in out


@pytest.mark.skipif(os.name == "nt", reason="it is ended by a signal")
def test_a_board_is_followed_line_by_line(here: Board) -> None:
    old = add(here)
    watching = subprocess.Popen(
        [*SHELLGUARD, "cards", "watch", "--interval", "0.05", "--board", here.address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert watching.stdout is not None
        while not select.select([watching.stdout], [], [], 0.2)[0]:
            add(here)  # it may begin to look after the first of these
        seen = watching.stdout.readline().decode()
        assert seen.endswith('  created  {"status": "ready", "profile": "p"}\n')
        assert old.id not in seen
        assert here.card(seen.split("  ")[1]) is not None
        watching.send_signal(signal.SIGINT)
        _, err = watching.communicate(timeout=60)
        assert (watching.returncode, err) == (0, b"")
    finally:
        watching.kill()
        watching.communicate()


def test_an_event_that_is_seen_late_is_told(postgresql: Server) -> None:
    """It was numbered before another one, and its transaction ended after that."""
    with Board.open(postgresql.fresh()) as board:
        card, news = add(board), News(board)
        with board.engine.begin() as connection:
            late = {"card": card.id, "kind": "heartbeat", "payload": {}, "at": NOW}
            connection.execute(events.insert().values(**late))
            assert board.note(card.id, "torn_down")
            assert [event.kind for event in news.look()] == ["torn_down"]
            assert news.look() == []
        assert [event.kind for event in news.look()] == ["heartbeat"]
        assert news.look() == []
        for _ in range(250):
            assert board.note(card.id, "torn_down")
        assert len(news.look()) == 250
        assert news.look() == []


@pytest.mark.skipif(os.name == "nt", reason="it needs a terminal of POSIX")
def test_a_board_is_drawn_at_a_terminal(here: Board) -> None:
    """It is drawn anew as the board changes, and leaves the terminal as it was."""
    import pty

    card = add(here)
    ours, theirs = pty.openpty()
    watching = subprocess.Popen(
        [*SHELLGUARD, "cards", "watch", "--interval", "0.05", "--board", here.address],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "30"},
    )
    os.close(theirs)

    def until(text: str) -> str:
        seen = ""
        while text not in seen:
            assert select.select([ours], [], [], 60)[0], seen
            seen += os.read(ours, 65_536).decode("utf-8", "replace")
        return seen

    try:
        assert "\x1b[?1049h" in until(card.id), "a screen of its own"
        new = add(here, "running")
        until(new.id)
        watching.send_signal(signal.SIGINT)
        until("\x1b[?1049l")
        assert watching.wait(60) == 0
    finally:
        watching.kill()
        watching.wait()
        os.close(ours)


# --- approving --------------------------------------------------------------------------------------------------------

GATED = "rm -f target && echo ran >> ../witness"


@pytest.fixture
def repo(here: Board, tmp_path: Path) -> Iterator[Repo]:
    made = Repo(tmp_path / "r")
    made.write("target", "x")
    yield made
    FLUSHER.uninstall()


def waiting(board: Board, repo: Repo, command: str = GATED) -> tuple[str, Request]:
    """A card whose command left one for a person, as a supervisor reports it."""
    card = add(board)
    opened = board.claim(
        *(card.id,),
        profile="p",
        host="h",
        dispatcher="d",
        lease=9,
        frozen={},
        workspace=str(repo.top),
    )
    assert opened is not None
    assert board.begin(opened.id, supervisor=PROCESS) is not None
    request = run_safely(command, cwd=str(repo.top), session=card.id, quiet=True).request
    assert request is not None
    assert board.block(
        *(card.id,), run=opened.id, kind="needs_input", reason="it waits", request=request.name, by="command"
    )
    return card.id, request


def test_approving_runs_the_one_command_and_unblocks(here: Board, repo: Repo) -> None:
    card, request = waiting(here, repo)
    other, _ = waiting(here, repo, "rm -f target && echo other >> ../witness")
    done = cards("approve", card)
    assert (repo.top.parent / "witness").read_text() == "ran\n"
    assert done.stdout.endswith(f"{card}  ready\n")
    for text in (request.name, str(repo.top), f"command  {GATED}"):
        assert text in done.stderr
    found = again(here, card)
    assert (found.status, found.request, found.block_kind, found.block_recurrences) == (
        "ready",
        None,
        None,
        0,
    )
    assert here.events(card)[-1].payload["request"] == request.name
    assert again(here, other).status == "blocked", "nothing else is granted"
    assert "waits for no command" in cards("approve", card, status=1).stderr
    assert (repo.top.parent / "witness").read_text() == "ran\n"


def test_approving_tells_programs_what_came_of_it(here: Board, repo: Repo) -> None:
    card, request = waiting(here, repo)
    value = json.loads(cards("approve", card, "--json").stdout.splitlines()[-1])
    assert value["card"]["id"] == card
    assert {key: value[key] for key in ("request", "refused", "status", "unblocked")} == {
        "request": request.name,
        "refused": [],
        "status": 0,
        "unblocked": True,
    }


def test_what_has_changed_is_not_run(here: Board, repo: Repo) -> None:
    card, _ = waiting(here, repo)
    repo.write("a.txt", "changed\n")
    assert "not run: tree-changed" in cards("approve", card, status=1).stderr
    assert not (repo.top.parent / "witness").exists()
    assert again(here, card).status == "blocked"


def test_a_command_that_fails_leaves_its_card_blocked(here: Board, repo: Repo) -> None:
    card, _ = waiting(here, repo, "rm -f target; exit 7")
    assert "ended with status 7" in cards("approve", card, status=7).stderr
    assert again(here, card).status == "blocked"


def test_a_denied_command_is_not_run(here: Board, repo: Repo) -> None:
    card, request = waiting(here, repo)
    deny(Store.of(str(repo.top)), request.name, "too soon")
    assert "was denied: too soon" in cards("approve", card, status=1).stderr
    assert not (repo.top.parent / "witness").exists()
    assert again(here, card).status == "blocked"


def test_a_command_that_was_granted_elsewhere_is_not_run_again(
    here: Board, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    card, request = waiting(here, repo)
    monkeypatch.chdir(repo.top)
    assert run("approve", "grant", request.name).returncode == 0
    cards("approve", card)
    assert (repo.top.parent / "witness").read_text() == "ran\n"
    assert again(here, card).status == "ready"


def test_a_request_that_is_gone(here: Board, repo: Repo) -> None:
    card, request = waiting(here, repo)
    Store.of(str(repo.top)).remove("requests", request.name)
    assert "names no request" in cards("approve", card, status=1).stderr
    assert again(here, card).status == "blocked"


# --- boards that cannot be used ---------------------------------------------------------------------------------------

EVERY = [
    *(("list",), ("show", "c-1"), ("log", "c-1"), ("complete", "c-1"), ("block", "--reason", "r", "c-1")),
    *(("unblock", "c-1"), ("retry", "c-1"), ("archive", "c-1"), ("heartbeat", "c-1"), ("approve", "c-1")),
    *(
        ("watch",),
        ("export",),
        ("serve", "--port", "0"),
        ("dispatch", "--once"),
        ("add", "--profile", "p", "--title", "t"),
    ),
]


def refused(address: str, words: tuple[str, ...]) -> str:
    """What is said of a board, by a command that ends at once with status 2 and one line."""
    done = cards("--board", address, *words, status=2)
    assert done.stdout == ""
    assert done.stderr.startswith("shellguard: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("words", EVERY, ids=lambda words: words[0])
def test_boards_that_cannot_be_used(tmp_path: Path, words: tuple[str, ...]) -> None:
    broken, newer, missing = (str(tmp_path / name) for name in ("broken", "newer", "missing"))
    Path(broken).write_bytes(b"x" * 5_000)
    with Board.open(newer) as board, board.engine.begin() as connection:
        connection.execute(update(about).where(about.c.key == "schema").values(value="99"))
    assert f"{broken}: file is not a database" in refused(broken, words)
    assert f"{newer}: the board has schema 99" in refused(newer, words)
    if words[0] not in ("add", "dispatch"):
        assert f"{missing}: there is no board yet: `shellguard cards add` makes one" in refused(
            missing, words
        )
        assert not os.path.exists(missing)
    away = refused("postgresql://boss:geheim@127.0.0.1:1/b", words)
    assert away.startswith("shellguard: postgresql://boss:***@127.0.0.1:1/b: connection failed")
    assert "geheim" not in refused("mysql://boss:geheim@127.0.0.1/b", words)


def test_the_same_commands_on_postgresql(postgresql: Server) -> None:
    address = postgresql.fresh()
    name = cards("--board", address, "add", "--profile", "p", "--title", "t").stdout.strip()
    cards("--board", address, "complete", name)
    value = cards("--board", address, "export").json()
    assert [card["status"] for card in value["cards"]] == ["done"]
    assert postgresql.password not in json.dumps(value)
    assert postgresql.password not in cards("--board", address, "watch", "--once").stdout


WITHOUT = """
import json, sys
sys.modules["sqlalchemy"] = None
from shellguard.cli.main import main
for words in json.loads(sys.argv[1]):
    try:
        main(["cards", *words])
    except SystemExit as end:
        print(words[0], end.code)
"""


def test_the_extra_is_asked_for_by_name() -> None:
    command = [sys.executable, "-c", WITHOUT, json.dumps(EVERY)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "".join(f"{words[0]} 2\n" for words in EVERY)
    line = "shellguard: cards need the extra `workers`: pip install 'shellguard-engine[workers]'\n"
    assert done.stderr == line * len(EVERY)


# --- the paper --------------------------------------------------------------------------------------------------------


def test_the_paper_names_every_word() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "workers.md").read_text(encoding="utf-8")
    assert {word for word in (*Status, *Outcome, *EventKind, *BlockKind) if f"`{word}`" not in text} == {
        "dependency"
    }
    assert "--kind dependency" in text
    for name in cards_group.commands:
        assert f"`{name}`" in text or f"shellguard cards {name} " in text, name
