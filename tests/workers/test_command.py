# SPDX-License-Identifier: Apache-2.0
"""The supervisor of a card: how each end is reported, and by whom; who may speak; what it leaves to the dispatcher."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `workers` is not installed")

from shellguard.board.model import BoardUnavailableError
from shellguard.workers import card_log, command, keeper, processes, trusted
from shellguard.workers.card_log import CardLog
from shellguard.workers.desk import Client, Desk, DeskError
from shellguard.workers.profiles import Profile
from shellguard.workers.tree import Stop
from tests.workers.runs import SUPERVISOR, Attempt, Bench, alive, tree_of, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX processes")

SELF_REPORTED = Profile("p", "/x", (), completion="self_reported")

SPEAKS = "from shellguard.workers.desk import Client; import os; c = Client(os.environ['SHELLGUARD_BOARD']); "


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.close()


def nothing_said(attempt: Attempt) -> bool:
    """Whether the supervisor said nothing about the card: the run is open, and the card runs for all anybody knows."""
    card, run = attempt.card, attempt.run
    return (card.status, card.current_run, run.ended_at, run.outcome) == ("running", attempt.id, None, None)


# --- how a command ends -----------------------------------------------------------------------------------------------


def test_zero_completes(bench: Bench) -> None:
    status, attempt = bench.do("true")
    assert status == command.REPORTED
    card, run = attempt.card, attempt.run
    assert (card.status, card.current_run, card.consecutive_failures) == ("done", None, 0)
    assert (run.outcome, run.status, run.exit_code, run.summary) == (
        "completed",
        "completed",
        0,
        "exit code 0",
    )
    assert run.metadata == {"worker": "command", "exit_code": 0}
    assert attempt.kinds == ["created", "claimed", "started", "completed"]
    assert attempt.events[-1].payload["by"] == "command"


@pytest.mark.parametrize("code", [1, 2, 3, 64, 69, 75, 78, 93, 100, 125, 126, 127, 130, 137, 143, 255])
def test_another_code_blocks_once_and_is_not_tried_again(bench: Bench, code: int) -> None:
    """75 asks others to try again, 78 to give up, 93 is a deferral without a request: here all are just codes."""
    status, attempt = bench.do("sh", "-c", f"exit {code}")
    assert status == command.REPORTED
    card, run = attempt.card, attempt.run
    assert (card.status, card.block_reason, card.block_kind) == ("blocked", f"exit code {code}", None)
    assert (run.outcome, run.exit_code, run.summary) == ("blocked", code, f"exit code {code}")
    assert card.consecutive_failures == 0
    assert len(bench.board.runs(card.id)) == 1
    assert attempt.kinds.count("blocked") == 1
    assert bench.board.ready() == []


@pytest.mark.parametrize("number", [1, 2, 6, 9, 11, 15])
def test_a_signal_blocks_and_is_named(bench: Bench, number: int) -> None:
    status, attempt = bench.do("sh", "-c", f"kill -{number} $$")
    assert status == command.REPORTED
    name = signal.Signals(number).name
    assert (attempt.card.status, attempt.card.block_reason) == ("blocked", f"signal {name} ({number})")
    assert attempt.run.exit_code == -number


def test_the_same_code_again_is_no_loop(bench: Bench) -> None:
    """An operator who unblocks a card is not told that it goes in circles: its command was asked to run again."""
    _, attempt = bench.do("sh", "-c", "exit 3")
    for _ in range(3):
        bench.board.unblock(attempt.card_id)
        again = bench.claim_again(attempt.card, Profile("p", "/x", ("sh", "-c", "exit 3")))
        assert again.start().wait() == command.REPORTED
        assert again.card.status == "blocked"


def test_what_is_executed_is_the_row_and_nothing_else(bench: Bench) -> None:
    """Neither the order nor the card has a word in it."""
    order: dict[str, Any] = {
        "argv": ["sh", "-c", "exit 9"],
        "command": ["false"],
        "frozen": {"argv": ["false"]},
    }
    attempt = bench.claim("true", **order)
    assert attempt.start().wait() == command.REPORTED
    assert attempt.card.status == "done"


# --- what cannot be started -------------------------------------------------------------------------------------------


def planted(bench: Bench, text: bytes = b"#!/bin/sh\necho ran\n") -> Path:
    path = bench.top / "bin" / "tool"
    path.parent.mkdir(mode=0o755)
    path.write_bytes(text)
    path.chmod(0o755)
    return path


def not_started(attempt: Attempt, part: str) -> bool:
    """Whether the start failed as documented: no word about the card, the reason in the log, the status in the row."""
    status = attempt.start().wait()
    lines = attempt.log.splitlines()
    assert status == command.SPAWN_FAILED
    assert lines[-1] == f"{card_log.EXIT}{command.SPAWN_FAILED}"
    assert "could not be started" in lines[-2]
    assert part in lines[-2]
    assert attempt.said.decode().rstrip("\n") == lines[-2].removeprefix("[shellguard] could not be started: ")
    assert attempt.run.supervisor_exit == command.SPAWN_FAILED
    assert "started" not in attempt.kinds
    assert "ran" not in lines
    return nothing_said(attempt)


def test_a_missing_executable(bench: Bench) -> None:
    tool = planted(bench)
    attempt = bench.claim(str(tool))
    tool.unlink()
    assert not_started(attempt, "No such file")


def test_an_executable_that_changed_after_the_claim(bench: Bench) -> None:
    tool = planted(bench)
    attempt = bench.claim(str(tool))
    tool.write_bytes(b"#!/bin/sh\necho other\n")
    assert not_started(attempt, "is not what it was")


def test_one_that_the_system_cannot_execute(bench: Bench) -> None:
    assert not_started(bench.claim(str(planted(bench, b"\x7fELF nothing"))), "Exec format error")


def test_a_workspace_that_is_gone(bench: Bench) -> None:
    attempt = bench.claim("true")
    bench.workspace.rmdir()
    assert not_started(attempt, str(bench.workspace))


def test_a_row_that_does_not_say_how_to_report(bench: Bench) -> None:
    attempt = bench.claim("true", profile=Profile("p", "/x", (), completion="maybe"))
    assert not_started(attempt, "how its command reports")


ORDER: dict[str, Any] = {"board": "b", "run": "r", "record": "h", "token": "t", "environment": {}}

WRONG_ENVIRONMENTS: tuple[Any, ...] = ("x", [], {"A": 1}, {"A": "\0"}, None)


@pytest.mark.parametrize(
    "text",
    [
        *(
            b"",
            b"{",
            b"[]",
            b"null",
            b'{"board": "x"}',
            b'{"board": "", "run": "r", "record": "h", "token": "t"}',
        ),
        *(json.dumps({**ORDER, "environment": wrong}).encode() for wrong in WRONG_ENVIRONMENTS),
        *(json.dumps({**ORDER, "grace": wrong}).encode() for wrong in ("x", True, -1, None)),
        *(json.dumps({**ORDER, name: ""}).encode() for name in ("board", "run", "record", "token")),
        b"[" * 100_000,
    ],
)
def test_an_order_that_cannot_be_read(text: bytes) -> None:
    done = subprocess.run(SUPERVISOR, input=text, capture_output=True, timeout=60, check=False)
    assert done.returncode == command.WRONG_ORDER
    assert done.stderr.startswith(b"the order cannot be read")


def test_the_grace_is_clamped_below_the_window_of_the_dispatcher() -> None:
    assert command.Order.read(json.dumps({**ORDER, "grace": 100}).encode()).grace == 4.0


# --- whose run it is --------------------------------------------------------------------------------------------------


def test_a_stale_run_starts_nothing(bench: Bench) -> None:
    attempt = bench.claim("sh", "-c", "touch ran")
    bench.board.reclaim(attempt.id, reason="test")
    assert attempt.start().wait() == command.STALE
    assert not (bench.workspace / "ran").exists()
    assert attempt.card.status == "ready"
    assert attempt.log == ""
    attempt.order["run"] = "0" * 32
    assert attempt.start().wait() == command.STALE


def test_a_second_supervisor_of_a_run_leaves(bench: Bench) -> None:
    attempt = bench.claim("sh", "-c", "echo x >> ran; sleep 0.7")
    attempt.start()
    second = Attempt(bench, attempt.card, attempt.run, attempt.order).start()
    statuses = sorted((attempt.wait(), second.wait()))
    assert statuses == [command.REPORTED, command.STALE]
    assert (bench.workspace / "ran").read_text() == "x\n"
    assert attempt.card.status == "done"


@pytest.mark.slow
def test_a_card_that_an_operator_moves_keeps_that_and_the_command_ends(bench: Bench) -> None:
    moves: list[Any] = [
        lambda card: bench.board.block(card, reason="operator says no"),
        lambda card: bench.board.complete(card, summary="did it myself"),
        bench.board.archive,
    ]
    for move, status in zip(moves, ("blocked", "done", "archived"), strict=True):
        attempt = bench.claim("sleep", "100").start()
        attempt.started()
        assert move(attempt.card_id)
        assert attempt.wait() == command.STALE
        assert attempt.card.status == status
        assert attempt.left() == []


def test_a_report_that_comes_too_late_changes_nothing(bench: Bench) -> None:
    """The run was closed while the command ended: the report is refused, and that is seen."""
    attempt = bench.claim("sh", "-c", "sleep 0.3; exit 3").start()
    attempt.started()
    bench.board.reclaim(attempt.id, reason="test")
    assert attempt.wait() == command.STALE
    assert attempt.card.status == "ready"
    assert "came too late" in attempt.log or "closed by somebody else" in attempt.log


# --- the desk ---------------------------------------------------------------------------------------------------------


def test_a_command_that_moved_its_card_keeps_its_word(bench: Bench) -> None:
    text = SPEAKS + "c.complete(summary='by hand', metadata={'n': 1}); raise SystemExit(3)"
    status, attempt = bench.do(*bench.python(text))
    assert status == command.REPORTED
    run = attempt.run
    assert (attempt.card.status, run.outcome, run.summary) == ("done", "completed", "by hand")
    assert run.metadata == {"n": 1}
    assert attempt.events[-1].payload["by"] == "worker"
    text = SPEAKS + "c.block(reason='no network', kind='transient')"
    status, attempt = bench.do(*bench.python(text))
    assert status == command.REPORTED
    card = attempt.card
    assert (card.status, card.block_kind, card.block_reason) == ("blocked", "transient", "no network")


def test_a_worker_sees_its_card_says_that_it_lives_and_writes_to_its_log(bench: Bench) -> None:
    text = SPEAKS + (
        "found = c.show(); assert found['id'] == os.environ['SHELLGUARD_CARD']; "
        "assert found['runs'][0]['id'] == os.environ['SHELLGUARD_RUN']; "
        "c.heartbeat(note='half'); c.log('a line of mine')"
    )
    _, attempt = bench.do(*bench.python(text))
    assert attempt.card.status == "done", attempt.log
    assert [each.payload["note"] for each in attempt.events if each.kind == "heartbeat"] == ["half"]
    assert "a line of mine" in attempt.log


def test_a_worker_moves_no_other_card(bench: Bench) -> None:
    other = bench.board.add("other", profile="p")
    text = SPEAKS + (
        "from shellguard.workers.desk import DeskError\n"
        "def refused(call, *words, **more):\n"
        "    try: call(*words, **more)\n"
        "    except DeskError as error: print('refused:', error)\n"
        "    else: print('DONE')\n"
        f"other = {other.id!r}\n"
        "refused(c.complete, other); refused(c.block, other, reason='x'); refused(c.show, other)\n"
        "refused(c.heartbeat, other); refused(c.log, 'x', other)\n"
        "token = c.token\n"
        "for c.token in ('', 'x', token[:-1], token + 'x', token.upper() + '!', '\\ud800'):\n"
        "    refused(c.complete); refused(c.show)\n"
        "os.environ.pop('SHELLGUARD_TOKEN'); os.environ['SHELLGUARD_CARD'] = other\n"
        "refused(Client(os.environ['SHELLGUARD_BOARD']).complete)\n"
        "c.token = token\n"
        "for what in ('retry', 'archive', 'reclaim', 'add', 'claim', 'unblock', '', None, 1, [], '__class__'):\n"
        "    refused(c._ask, what, None)\n"
        "refused(c._ask, 'complete', None, by='operator'); refused(c._ask, 'complete', None, run=None)\n"
        "refused(c._ask, 'complete', None, summary=1); refused(c._ask, 'block', None)\n"
        "refused(c._ask, 'block', None, reason='x', kind='yolo'); refused(c._ask, 'log', None, text=None)\n"
    )
    _, attempt = bench.do(*bench.python(text))
    assert attempt.card.status == "done", attempt.log
    assert "DONE" not in attempt.log
    assert attempt.log.count("refused:") == 5 + 12 + 1 + 11 + 6
    assert attempt.kinds == ["created", "claimed", "started", "completed"]
    found = bench.board.card(other.id)
    assert found is not None
    assert (found.status, len(bench.board.events(other.id))) == ("ready", 1)


def test_the_board_is_nowhere_in_what_a_worker_is_given(bench: Bench) -> None:
    """Neither its environment, nor its words, nor those of keeper and supervisor, name the file of the board."""
    text = (
        "import os\n"
        "def words(pid):\n"
        "    found = b''\n"
        "    for name in ('environ', 'cmdline'):\n"
        "        try: found += open(f'/proc/{pid}/{name}', 'rb').read()\n"
        "        except OSError: pass\n"
        "    return found\n"
        "pid = os.getpid()\n"
        "for _ in range(3):\n"
        "    said = words(pid)\n"
        "    print(_, b'board.' + b'sqlite' in said, b'SHELLGUARD_' + b'TOKEN=' in said)\n"
        "    pid = int(open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[1])\n"
    )
    _, attempt = bench.do(*bench.python(text))
    assert attempt.log.splitlines()[:3] == [
        "0 False True",
        "1 False False",
        "2 False False",
    ]


def test_a_word_that_was_said_last_still_counts(bench: Bench) -> None:
    """The command ends without waiting for the answer of the desk."""
    text = SPEAKS + (
        "import json; from shellguard.workers.desk import _connected\n"
        "s = _connected(c.address)\n"
        "s.sendall(json.dumps({'token': c.token, 'do': 'complete', 'summary': 'last'}).encode() + b'\\n')\n"
        "os._exit(3)\n"
    )
    status, attempt = bench.do(*bench.python(text))
    assert (status, attempt.card.status, attempt.run.summary) == (command.REPORTED, "done", "last")


def test_callers_that_say_nothing_or_nonsense_hold_nobody_up(bench: Bench) -> None:
    text = SPEAKS + (
        "from shellguard.workers.desk import _connected\n"
        "held = [_connected(c.address) for _ in range(20)]\n"
        "for n, s in enumerate(held):\n"
        "    said = [b'\\n', b'{', b'[' * 9999 + b'\\n', b'\\xff\\xfe\\n', b'null\\n', b'{\"token\": NaN}\\n']\n"
        "    try: s.sendall(said[n % 6])\n"
        "    except OSError: pass\n"
        "c.complete(summary='through')\n"
    )
    _, attempt = bench.do(*bench.python(text))
    assert attempt.run.summary == "through", attempt.log


def test_the_desk_judges_without_a_board() -> None:
    desk = Desk("c-1", "right")
    try:
        for wrong in ("wrong", "", "righ", "rightt"):
            client = Client(desk.address, wrong, "c-1")
            thread = threading.Thread(target=pytest.raises, args=(DeskError, client.complete))
            thread.start()
            limit = time.monotonic() + 30
            while thread.is_alive() and time.monotonic() < limit:
                for each in desk.sockets:
                    if each.fileno() >= 0:
                        each.setblocking(False)
                        assert desk.serve(each) is None
                time.sleep(0.01)
            thread.join(timeout=1)
            assert not thread.is_alive()
    finally:
        desk.close()
    with pytest.raises(DeskError, match="cannot be reached"):
        Client(desk.address, "right", "c-1").complete()
    for address in ("", "x", "unix", "http://x", "tcp:x", "tcp:127.0.0.1:", "postgresql://x"):
        with pytest.raises(DeskError):
            Client(address, "right", "c-1").complete()


# --- self_reported ----------------------------------------------------------------------------------------------------


def test_self_reported_needs_a_word_of_its_own(bench: Bench) -> None:
    _, attempt = bench.do("true", profile=SELF_REPORTED)
    card = attempt.card
    assert (card.status, card.block_reason) == ("blocked", "worker_protocol_transition_required")
    assert attempt.run.exit_code == 0
    _, attempt = bench.do("sh", "-c", "exit 4", profile=SELF_REPORTED)
    assert attempt.card.block_reason == "exit code 4"
    _, attempt = bench.do(*bench.python(SPEAKS + "c.complete(summary='mine')"), profile=SELF_REPORTED)
    assert (attempt.card.status, attempt.run.summary) == ("done", "mine")


# --- commands that wait for a person ----------------------------------------------------------------------------------

DEFERS = (
    "from shellguard.approval.run import run_safely; done = run_safely('rm -rf /nothing-here', quiet=True); "
)


@pytest.mark.parametrize("in_git", [True, False])
@pytest.mark.parametrize("last", ["raise SystemExit(done.status)", "raise SystemExit(0)"])
def test_a_deferred_command_blocks_for_a_person(bench: Bench, in_git: bool, last: str) -> None:
    """Also when the command went on and ended well: what it left out was not done."""
    if in_git:
        git = ["git", "-c", "user.name=A", "-c", "user.email=a@x", "-C", str(bench.workspace)]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    status, attempt = bench.do(*bench.python(DEFERS + last))
    assert status == command.REPORTED
    card = attempt.card
    assert (card.status, card.block_kind) == ("blocked", "needs_input"), attempt.log
    assert card.request
    assert card.block_reason == f"a command waits for a person: request {card.request}"
    from shellguard.approval import requests
    from shellguard.approval.store import Store

    metadata = attempt.run.metadata
    assert metadata is not None
    request = requests.request_named(Store(metadata["store"]), card.request)
    assert (request.command, request.session, request.state) == ("rm -rf /nothing-here", card.id, "pending")
    # The next run is not blocked by a request of this one.
    bench.board.unblock(card.id)
    again = bench.claim_again(card, Profile("p", "/x", ("true",)))
    assert again.start().wait() == command.REPORTED
    assert again.card.status == "done"


def test_the_request_of_another_session_is_not_that_of_this_card(bench: Bench) -> None:
    text = (
        "import os; os.environ['SHELLGUARD_SESSION'] = 'other'; " + DEFERS + "raise SystemExit(done.status)"
    )
    _, attempt = bench.do(*bench.python(text))
    assert (attempt.card.block_kind, attempt.card.block_reason) == (None, "exit code 93")


# --- output -----------------------------------------------------------------------------------------------------------


def test_output_that_floods_the_log_is_kept_to_its_size(bench: Bench) -> None:
    text = "import os\nfor n in range(3000): os.write(1, b'x' * 4095 + b'\\n')\nos.write(2, b'last words')"
    _, attempt = bench.do(*bench.python(text))
    assert attempt.card.status == "done"
    path = Path(attempt.order["environment"]["SHELLGUARD_LOG"])
    assert path.stat().st_size <= card_log.MAX_BYTES
    assert path.with_name(path.name + ".1").stat().st_size <= card_log.MAX_BYTES
    assert sorted(each.name for each in path.parent.glob("*.log*")) == [path.name, f"{path.name}.1"]
    assert attempt.log.endswith(f"last words\n{card_log.EXIT}0\n")
    assert oct(path.stat().st_mode & 0o777) == "0o600"


def test_a_command_that_closes_its_output_goes_on(bench: Bench) -> None:
    text = "import os, time; os.close(1); os.close(2); time.sleep(0.5); os._exit(4)"
    began = time.process_time()
    _, attempt = bench.do(*bench.python(text))
    assert attempt.card.block_reason == "exit code 4"
    assert time.process_time() - began < 30


def test_what_keeps_the_output_open_does_not_hold_the_report_up(bench: Bench) -> None:
    _, attempt = bench.do("sh", "-c", "setsid sleep 1000 & echo out; exit 0")
    assert attempt.card.status == "done"
    assert attempt.log.startswith("out\n")
    assert attempt.left() == []


def test_a_log_that_cannot_be_written_costs_nothing_else(bench: Bench, tmp_path: Path) -> None:
    attempt = bench.claim("sh", "-c", "echo x; exit 0")
    Path(attempt.order["environment"]["SHELLGUARD_LOG"]).mkdir()
    assert attempt.start().wait() == command.REPORTED
    assert attempt.card.status == "done"


def test_the_log_of_a_card(tmp_path: Path) -> None:
    path = tmp_path / "a" / "log"
    log = CardLog(str(path), limit=100)
    for number in range(100):
        log.write(b"%02d------\n" % number)
    log.say("a line")
    log.write(b"no end")
    log.exited(5)
    assert path.stat().st_size <= 100
    assert (tmp_path / "a" / "log.1").stat().st_size <= 100
    assert path.read_text().endswith(f"a line\nno end\n{card_log.EXIT}5\n")
    assert card_log.exit_status(str(path)) == 5
    again = CardLog(str(path), limit=100)
    again.write(f"{card_log.EXIT}0\nand more".encode())
    again.close()
    assert card_log.exit_status(str(path)) is None
    assert card_log.exit_status(str(tmp_path / "nothing")) is None
    (tmp_path / "target").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    followed = CardLog(str(tmp_path / "link"))
    followed.say("x")
    followed.exited(0)
    assert (tmp_path / "target").read_text() == ""


# --- told to stop -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_one_that_is_told_to_stop_says_nothing(bench: Bench, name: str) -> None:
    number = signal.Signals[name]
    text = (
        "import os, signal, time\n"
        f"signal.signal({int(number)}, lambda *_: (os.write(1, b'heard it'), os._exit(0)))\n"
        "os.write(1, b'ready'); time.sleep(100)"
    )
    attempt = bench.claim(*bench.python(text)).start()
    until(lambda: "ready" in attempt.log)
    attempt.send(number)
    assert attempt.wait() == command.TORN_DOWN == 143
    assert nothing_said(attempt)
    assert attempt.run.supervisor_exit == 143
    assert "heard it" in attempt.log
    assert f"torn down by {number.name}" in attempt.log
    assert attempt.log.endswith(f"{card_log.EXIT}143\n")
    assert attempt.left() == []


def test_a_signal_at_any_moment_says_nothing_or_comes_too_late(bench: Bench) -> None:
    """Before the handlers are there, before the command starts, while it runs, after it ended, during the report."""
    ended: dict[int, int] = {}
    for number in range(12):
        attempt = bench.claim("sh", "-c", "sleep 0.1; exit 3").start()
        time.sleep(0.06 * number)
        attempt.send()
        status = attempt.wait()
        ended[status] = ended.get(status, 0) + 1
        assert attempt.left() == []
        if status == command.REPORTED:
            assert attempt.card.status == "blocked"
        else:
            assert status in (command.TORN_DOWN, -signal.SIGTERM)
            assert nothing_said(attempt)
    assert command.TORN_DOWN in ended


class Inside:
    """A supervisor in this process, to meet a moment exactly."""

    def __init__(self, bench: Bench, *argv: str) -> None:
        self.attempt = bench.claim(*argv)
        me = processes.identity()
        assert me is not None
        run = bench.board.begin(self.attempt.id, supervisor=me)
        assert run is not None
        order = command.Order.read(json.dumps(self.attempt.order).encode())
        self.stop = Stop()
        self.log = CardLog(str(bench.top / "inside.log"))
        self.supervisor = command._Supervisor(order, self.stop, bench.board, run, self.log)

    def run(self) -> int:
        with self.stop:
            return self.supervisor.run_it()


def test_a_signal_before_the_command_starts(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = Inside(bench, "sh", "-c", "touch ran")
    real = trusted.check

    def checked(*words: Any, **more: Any) -> None:
        real(*words, **more)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(command, "check", checked)
    assert inside.run() == command.TORN_DOWN
    assert not (bench.workspace / "ran").exists()
    assert nothing_said(inside.attempt)
    assert "started" not in inside.attempt.kinds


def test_a_signal_after_the_command_ended_and_before_the_report(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = Inside(bench, "true")
    real = inside.supervisor.said_by

    def said(*words: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return real(*words)

    monkeypatch.setattr(inside.supervisor, "said_by", said)
    assert inside.run() == command.TORN_DOWN
    assert nothing_said(inside.attempt)


def test_a_signal_during_the_report_leaves_it_to_the_transaction(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = Inside(bench, "true")
    real = bench.board.complete

    def complete(*words: Any, **more: Any) -> bool:
        os.kill(os.getpid(), signal.SIGTERM)
        return real(*words, **more)

    monkeypatch.setattr(bench.board, "complete", complete)
    assert inside.run() == command.REPORTED
    assert inside.attempt.card.status == "done"


def test_a_signal_while_the_report_is_tried_again_ends_that(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = Inside(bench, "true")
    calls: list[int] = []

    def complete(*words: Any, **more: Any) -> bool:
        calls.append(1)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        raise BoardUnavailableError("locked")

    monkeypatch.setattr(bench.board, "complete", complete)
    assert inside.run() == command.TORN_DOWN
    assert len(calls) == 2
    assert nothing_said(inside.attempt)


# --- a board that is not there ----------------------------------------------------------------------------------------


def test_a_board_that_comes_back_gets_the_report(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = Inside(bench, "sh", "-c", "exit 3")
    real, calls = bench.board.block, []

    def block(*words: Any, **more: Any) -> bool:
        calls.append(1)
        if len(calls) < 4:
            raise BoardUnavailableError("away")
        return real(*words, **more)

    monkeypatch.setattr(bench.board, "block", block)
    assert inside.run() == command.REPORTED
    assert (inside.attempt.card.block_reason, len(calls)) == ("exit code 3", 4)


def test_a_report_whose_answer_was_lost_is_ours(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = Inside(bench, "true")
    real, calls = bench.board.complete, []

    def complete(*words: Any, **more: Any) -> bool:
        calls.append(real(*words, **more))
        if len(calls) == 1:
            raise BoardUnavailableError("the connection broke after the commit")
        return calls[-1]

    monkeypatch.setattr(bench.board, "complete", complete)
    assert inside.run() == command.REPORTED
    assert calls == [True, False]
    assert inside.attempt.kinds.count("completed") == 1


def test_a_board_that_stays_away_is_left_to_the_dispatcher(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = Inside(bench, "true")

    def complete(*words: Any, **more: Any) -> bool:
        raise BoardUnavailableError("away")

    monkeypatch.setattr(bench.board, "complete", complete)
    monkeypatch.setattr(command.patiently, "__defaults__", (0.5,))
    assert inside.run() == command.UNREPORTED
    assert nothing_said(inside.attempt)
    assert "did not take the report" in (bench.top / "inside.log").read_text()


def test_a_locked_file_is_waited_for(bench: Bench) -> None:
    """The file is locked when the command ends, as by a backup, and free again some seconds later."""
    attempt = bench.claim("sh", "-c", "until [ -e go ]; do sleep 0.05; done; exit 3").start()
    attempt.started()
    lock = sqlite3.connect(bench.address, isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    (bench.workspace / "go").touch()
    time.sleep(3)
    assert attempt.process is not None
    assert attempt.process.poll() is None
    lock.execute("ROLLBACK")
    lock.close()
    assert attempt.wait() == command.REPORTED
    assert attempt.card.block_reason == "exit code 3"


@pytest.mark.slow
def test_a_file_that_stays_locked_is_left_to_the_dispatcher(bench: Bench) -> None:
    attempt = bench.claim("sh", "-c", "until [ -e go ]; do sleep 0.05; done").start()
    attempt.started()
    lock = sqlite3.connect(bench.address, isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    (bench.workspace / "go").touch()
    assert attempt.wait(120) == command.UNREPORTED
    lock.execute("ROLLBACK")
    lock.close()
    assert nothing_said(attempt)
    assert card_log.exit_status(str(bench.top / f"{attempt.card_id}.log")) == command.UNREPORTED


@pytest.mark.slow
def test_a_board_that_cannot_be_opened(bench: Bench) -> None:
    attempt = bench.claim("sh", "-c", "touch ran", board="postgresql://nobody:secret@127.0.0.1:9/nothing")
    began = time.monotonic()
    assert attempt.start().wait() == command.UNREPORTED
    assert time.monotonic() - began < 60
    assert not (bench.workspace / "ran").exists()
    assert b"secret" not in attempt.said
    assert nothing_said(attempt)


# --- its own death ----------------------------------------------------------------------------------------------------


def test_a_keeper_that_is_killed_is_said_and_nothing_is_concluded(bench: Bench) -> None:
    attempt = bench.claim("sh", "-c", "setsid sleep 1000 & sleep 1000").start()
    run = attempt.started()
    assert run.keeper_pid is not None
    tree = tree_of(run.keeper_pid)
    os.kill(run.keeper_pid, signal.SIGKILL)
    assert attempt.wait() == command.LOST
    assert not [pid for pid in tree if alive(pid)]
    assert nothing_said(attempt)
    assert attempt.run.supervisor_exit == command.LOST


def test_the_identities_of_all_three_are_on_the_board(bench: Bench) -> None:
    attempt = bench.claim("sleep", "1000").start()
    run = attempt.started()
    assert attempt.process is not None
    assert run.supervisor == processes.identity(attempt.process.pid)
    assert run.keeper == processes.identity(run.keeper_pid)
    assert run.child == processes.identity(run.child_pid)
    assert run.child_pid in keeper.below(attempt.process.pid, None)
    attempt.send()
    attempt.wait()


def test_the_statuses_are_told_apart_and_mean_nothing_else() -> None:
    statuses = [
        *(command.REPORTED, command.WRONG_ORDER, command.STALE, command.SPAWN_FAILED),
        *(command.UNREPORTED, command.LOST, command.TORN_DOWN),
    ]
    assert len(set(statuses)) == len(statuses)
    paper = (Path(__file__).resolve().parents[2] / "docs/workers.md").read_text()
    table = paper.partition("## How a command ends")[2].partition("## Process trees")[0]
    assert [int(number) for number in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == sorted(statuses)
    assert not {1, 75, 78, 93, 126, 127, 130, 137} & set(statuses)


# --- through the command line, and on a server ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, status, reason",
    [
        (("complete", "--summary", "by the command line"), "done", None),
        (("block", "--reason", "no licence", "--kind", "capability"), "blocked", "no licence"),
    ],
)
def test_a_worker_speaks_by_the_command_line(
    bench: Bench, words: tuple[str, ...], status: str, reason: str | None
) -> None:
    argv = (sys.executable, "-P", "-I", "-m", "shellguard", "cards", *words)
    _, attempt = bench.do(*argv, profile=SELF_REPORTED)
    assert (attempt.card.status, attempt.card.block_reason) == (status, reason), attempt.log
    assert attempt.events[-1].payload["by"] == "worker"


def test_a_worker_adds_and_lists_nothing_by_the_command_line(bench: Bench) -> None:
    other = bench.board.add("other", profile="p")
    program = (
        f'for words in "add --profile p --title t" "complete {other.id}" "block {other.id} --reason x" '
        f'"archive {other.id}" "retry {other.id}" "list" "show {other.id}" "export"; do '
        f'"{sys.executable}" -P -I -m shellguard cards $words && echo "DONE $words"; done; true'
    )
    _, attempt = bench.do("sh", "-c", program)
    assert attempt.card.status == "done"
    assert "DONE" not in attempt.log, attempt.log
    assert len(bench.board.cards()) == 2
    assert len(bench.board.events(other.id)) == 1


def test_a_server_whose_backends_are_killed_gets_the_report(tmp_path: Path) -> None:
    """The connection of the supervisor is killed (-9) while the command runs, and again as it ends; the server then
    refuses everybody for a moment."""
    from tests.board.servers import server

    with server() as found:
        bench = Bench(tmp_path, found.fresh())
        for code in (0, 3):
            attempt = bench.claim("sh", "-c", f"until [ -e go ]; do sleep 0.02; done; exit {code}").start()
            attempt.started()
            assert found.kill_backends() >= 1
            (bench.workspace / "go").touch()
            assert attempt.wait() == command.REPORTED, attempt.log
            assert attempt.card.status == ("done" if code == 0 else "blocked")
            assert attempt.kinds.count("completed") + attempt.kinds.count("blocked") == 1
            (bench.workspace / "go").unlink()
        # No password of the server in what the worker is given.
        _, attempt = bench.do("sh", "-c", "env; cat /proc/$PPID/environ /proc/$PPID/cmdline")
        assert found.password not in attempt.log
        bench.board.close()


# --- what a command inherits ------------------------------------------------------------------------------------------


def test_a_command_inherits_nothing_of_the_supervisor(bench: Bench) -> None:
    """No open file, no ignored or blocked signal (`nohup` leaves some), no terminal, no input; a session of its own."""
    text = (
        "import os, signal, sys\n"
        "print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:-1])\n"
        "print(os.path.realpath('/proc/self/fd/0'), repr(sys.stdin.read()))\n"
        "print(os.getsid(0) == os.getpid(), os.getcwd() == os.environ['SHELLGUARD_WORKSPACE'])\n"
        "lines = dict(line.split(':\\t') for line in open('/proc/self/status') if line.startswith('Sig'))\n"
        "print(int(lines['SigBlk'], 16))\n"
        "ignored = int(lines['SigIgn'], 16)\n"
        "print([n for n in range(1, 32) if ignored >> (n - 1) & 1 and n not in (signal.SIGPIPE, signal.SIGXFSZ)])\n"
        "try: os.open('/dev/tty', os.O_RDWR); print('terminal')\n"
        "except OSError: print('none')\n"
    )
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGQUIT)}
    try:
        attempt = bench.claim(*bench.python(text)).start()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert attempt.wait() == command.REPORTED
    assert attempt.log.splitlines()[:6] == ["[0, 1, 2]", "/dev/null ''", "True True", "0", "[]", "none"]


def test_a_keeper_that_its_worker_stopped_still_ends_it(bench: Bench) -> None:
    attempt = bench.claim("sh", "-c", "while kill -STOP $PPID; do sleep 0.2; done", grace=0.5).start()
    run = attempt.started()
    until(lambda: "T" in Path(f"/proc/{run.keeper_pid}/stat").read_text().rpartition(")")[2].split()[0])
    attempt.send()
    assert attempt.wait() == command.TORN_DOWN
    assert attempt.left() == []
