# SPDX-License-Identifier: Apache-2.0
"""The dispatcher from one end to the other: real cards, real supervisors, real commands."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sqlite3
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `workers` is not installed", exc_type=ImportError)

from shellguard.workers import processes, profiles, trusted, workspaces
from tests.approval.repos import Repo

if TYPE_CHECKING:
    from tests.workers.yard import Yard

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX processes")

MODULE = f"{sys.executable} -m shellguard cards"
"""The command line, as a worker calls it: board and card come from its environment."""


# --- how commands end -------------------------------------------------------------------------------------------------


def test_exit_status_0_completes_its_card(yard: Yard) -> None:
    card = yard.add(yard.profile("p", "true"))
    did = yard.until_idle()
    assert (did.claimed, did.completed, did.blocked) == ([card], [card], [])
    assert yard.said[-1] == f"{card}: completed, exit code 0"
    found, [run] = yard.card(card), yard.board.runs(card)
    assert (found.status, found.consecutive_failures, found.current_run) == ("done", 0, None)
    assert (run.status, run.outcome, run.exit_code, run.error) == ("completed", "completed", 0, None)
    assert yard.kinds(card) == ["created", "claimed", "started", "completed"]


def test_another_exit_status_blocks_once_and_names_it(yard: Yard) -> None:
    """75 and 78 mean `try again` and `configuration` to some: here they are numbers like any other."""
    cards = {status: yard.add(yard.profile(f"p{status}", f"exit {status}")) for status in (1, 3, 75, 78, 255)}
    yard.until_idle()
    for status, card in cards.items():
        found, [run] = yard.card(card), yard.board.runs(card)
        assert (found.status, found.consecutive_failures, found.block_kind) == ("blocked", 0, None)
        assert (run.outcome, run.exit_code) == ("blocked", status)
        assert f"exit code {status}" in (found.block_reason or "")
        assert yard.kinds(card) == ["created", "claimed", "started", "blocked"]


def test_a_signal_blocks_and_is_named(yard: Yard) -> None:
    card = yard.add(yard.profile("p", "kill -USR1 $$"))
    yard.until_idle()
    assert yard.card(card).status == "blocked"
    assert "SIGUSR1" in (yard.card(card).block_reason or "")
    assert len(yard.board.runs(card)) == 1


def test_a_missing_executable_is_booked_by_the_dispatcher_and_trips_the_breaker(yard: Yard) -> None:
    card = yard.add(yard.profile("p", "no-such-program"))
    yard.until_idle()
    found, runs = yard.card(card), yard.board.runs(card)
    assert (found.status, found.consecutive_failures, found.phase) == ("blocked", 2, "ready")
    assert [(run.outcome, run.status, run.exit_code) for run in runs] == [
        ("spawn_failed", "spawn_failed", None)
    ] * 2
    assert all("no-such-program" in (run.error or "") for run in runs)
    assert yard.kinds(card) == ["created", *("claimed", "spawn_failed") * 2, "gave_up"]
    tripped = yard.event(card, "gave_up").payload
    assert (tripped["failures"], tripped["effective_limit"], tripped["limit_source"]) == (2, 2, "default")
    assert (tripped["trigger_outcome"], tripped["retry_status"]) == ("spawn_failed", "ready")
    assert any(line.startswith(f"{card}: spawn_failed, ") for line in yard.said)


def test_an_executable_that_changes_after_the_claim_does_not_run_and_the_dispatcher_books_it(
    yard: Yard,
) -> None:
    """The supervisor finds it out, asserts nothing about the card, and says by its exit status why."""
    tool = yard.folder / "tool"
    tool.write_text("#!/bin/sh\nexit 0\n")
    tool.chmod(0o755)
    card = yard.add(yard.profile("p", str(tool)), max_retries=1)

    class Late(type(yard.dispatcher())):  # type: ignore[misc]
        def _prepare(self, name: str) -> None:
            super()._prepare(name)
            tool.write_text(f"#!/bin/sh\ntouch {yard.folder}/pwned\n")

    with Late(yard.board, home=str(yard.home)) as dispatcher:
        dispatcher.once()
        yard.wait(lambda: yard.run(card).supervisor_exit is not None)
        assert yard.card(card).status == "running"
    yard.until_idle()
    found, [run] = yard.card(card), yard.board.runs(card)
    assert (found.status, found.consecutive_failures) == ("blocked", 1)
    assert (run.outcome, run.exit_code) == ("spawn_failed", None)
    assert yard.kinds(card)[-2:] == ["spawn_failed", "gave_up"]
    assert not (yard.folder / "pwned").exists()


def test_a_command_that_moved_its_own_card_keeps_its_word(yard: Yard) -> None:
    done = yard.add(yard.profile("done", f"{MODULE} complete --summary 'by myself' && exit 5"))
    blocked = yard.add(yard.profile("blocked", f"{MODULE} block --reason 'no key' --kind capability; exit 0"))
    yard.until_idle()
    assert yard.card(done).status == "done"
    assert yard.run(done).summary == "by myself"
    assert (yard.card(blocked).status, yard.card(blocked).block_reason) == ("blocked", "no key")
    for card in (done, blocked):
        assert len(yard.board.runs(card)) == 1
        assert yard.card(card).consecutive_failures == 0


def test_the_report_of_a_run_that_is_not_current_any_more_changes_nothing(yard: Yard) -> None:
    go = yard.folder / "go"
    card = yard.add(yard.profile("p", f"[ -e {go} ] && exit 0; : > {go}; trap '' TERM; sleep 60; exit 9"))
    yard.once()
    first = yard.wait_started(card)
    yard.wait(go.exists)
    assert yard.board.block(card, reason="wait")
    assert yard.board.unblock(card)
    yard.until_idle()
    assert yard.card(card).status == "done"
    assert [str(run.outcome) for run in yard.board.runs(card)] == ["blocked", "completed"]
    assert yard.board.run(first.id).exit_code is None  # type: ignore[union-attr]
    assert yard.kinds(card).count("completed") == 1
    yard.wait(lambda: not yard.processes_of(card))


def test_a_board_that_is_away_at_the_report_is_asked_again(yard: Yard) -> None:
    go = yard.folder / "go"
    card = yard.add(yard.profile("p", f"while [ ! -e {go} ]; do sleep 0.05; done"))
    yard.once()
    yard.wait_started(card)
    other = sqlite3.connect(yard.address, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    go.touch()
    time.sleep(2)
    other.execute("COMMIT")
    other.close()
    assert yard.wait_for(card, "done").consecutive_failures == 0
    assert len(yard.board.runs(card)) == 1


# --- retries, phases, dependencies, limits ----------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["ready", "review"])
def test_a_retry_restores_the_phase(yard: Yard, phase: str) -> None:
    card = yard.add(yard.profile("p", "no-such-program"), phase=phase, max_retries=5)
    yard.once()
    found = yard.card(card)
    assert (found.status, found.phase, found.consecutive_failures) == (phase, phase, 1)
    assert yard.event(card, "claimed").payload["source_status"] == phase
    assert yard.event(card, "spawn_failed").payload["retry_status"] == phase


@pytest.mark.parametrize(
    "of_card, of_profile, runs, source", [(1, None, 1, "card"), (None, 3, 3, "profile"), (3, 1, 3, "card")]
)
def test_the_limit_of_failures_is_the_card_s_or_the_profile_s(
    yard: Yard, of_card: int | None, of_profile: int | None, runs: int, source: str
) -> None:
    words = {} if of_profile is None else {"max_retries": of_profile}
    card = yard.add(yard.profile("p", "no-such-program", **words), max_retries=of_card)
    yard.until_idle()
    assert len(yard.board.runs(card)) == runs
    assert yard.event(card, "gave_up").payload["limit_source"] == source


def test_an_operator_starts_a_tripped_card_again(yard: Yard) -> None:
    card = yard.add(yard.profile("p", "no-such-program"))
    yard.until_idle()
    yard.profile("p", "true")
    assert yard.board.retry(card)
    yard.until_idle()
    assert (yard.card(card).status, yard.card(card).consecutive_failures) == ("done", 0)


def test_a_card_waits_for_its_parents(yard: Yard) -> None:
    order = yard.folder / "order"
    yard.profile("p", f"echo $SHELLGUARD_CARD >> {order}")
    first = yard.add("p")
    second = yard.add("p", parents=[first])
    third = yard.add("p", parents=[second, first], priority=9)
    assert yard.card(third).status == "todo"
    yard.until_idle(at_once=8)
    assert order.read_text().split() == [first, second, third]


def test_a_card_whose_parent_failed_goes_on_waiting(yard: Yard) -> None:
    child = yard.add(yard.profile("p", "true"), parents=[yard.add(yard.profile("q", "exit 1"))])
    yard.until_idle()
    assert (yard.card(child).status, yard.board.runs(child)) == ("todo", [])


def test_the_higher_priority_comes_first_then_the_older(yard: Yard) -> None:
    order = yard.folder / "order"
    yard.profile("p", f"echo $SHELLGUARD_CARD >> {order}")
    cards = [yard.add("p", priority=priority) for priority in (0, 5, 5, -1)]
    yard.until_idle(at_once=1)
    assert order.read_text().split() == [cards[1], cards[2], cards[0], cards[3]]


@pytest.mark.parametrize(
    "at_once, of_profile, most", [(3, None, 3), (8, 2, 2), pytest.param(1, 5, 1, marks=pytest.mark.slow)]
)
def test_no_more_workers_at_once_than_allowed(
    yard: Yard, at_once: int, of_profile: int | None, most: int
) -> None:
    active = yard.folder / "active"
    active.mkdir()
    counts = yard.folder / "counts"
    script = f": > {active}/$$; ls {active} | wc -l >> {counts}; sleep 0.6; rm {active}/$$"
    words = {} if of_profile is None else {"concurrency": of_profile}
    yard.profile("p", script, **words)
    for _ in range(6):
        yard.add("p")
    yard.until_idle(at_once=at_once)
    seen = [int(line) for line in counts.read_text().split()]
    assert len(seen) == 6
    assert max(seen) <= most


def test_a_full_profile_does_not_hold_up_the_others(yard: Yard) -> None:
    go = yard.folder / "go"
    yard.profile("full", f"while [ ! -e {go} ]; do sleep 0.05; done", concurrency=1)
    for _ in range(5):
        yard.add("full", priority=9)
    free = yard.add(yard.profile("free", "true"))
    yard.start("--max", "3")
    yard.wait_for(free, "done")
    assert len(yard.board.open_runs()) == 1
    go.touch()


def test_scheduled_cards_do_not_hold_up_the_end(yard: Yard) -> None:
    card = yard.add(yard.profile("p", "true"), at=time.time() + 3600)
    yard.until_idle()
    assert yard.card(card).status == "scheduled"


# --- the dispatcher comes and goes ------------------------------------------------------------------------------------


def test_once_may_end_while_the_worker_runs_and_the_report_lands(yard: Yard) -> None:
    go = yard.folder / "go"
    card = yard.add(yard.profile("p", f"while [ ! -e {go} ]; do sleep 0.05; done; exit 3"))
    yard.dispatch("--once")
    assert yard.card(card).status == "running"
    go.touch()
    assert yard.wait_for(card, "blocked").block_reason
    assert yard.run(card).exit_code == 3
    yard.wait(lambda: not yard.processes_of(card))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_dispatcher_that_is_told_to_stop_leaves_its_workers(yard: Yard, number: int) -> None:
    go = yard.folder / "go"
    card = yard.add(yard.profile("p", f"while [ ! -e {go} ]; do sleep 0.05; done"))
    process = yard.start()
    yard.wait_started(card)
    process.send_signal(number)
    said = process.communicate(timeout=30)[0]
    assert process.returncode == 128 + number
    assert "1 workers go on" in said
    go.touch()
    yard.wait_for(card, "done")


def test_until_idle_with_too_little_time_ends_with_1_and_leaves_the_worker(yard: Yard) -> None:
    card = yard.add(yard.profile("p", "sleep", "30"))
    said = yard.dispatch("--until-idle", "--timeout", "2", "--json", status=1)
    found = json.loads(said)
    assert (found["state"], found["claimed"]) == ("timeout", [card])
    assert yard.card(card).status == "running"
    assert yard.wait_started(card).child is not None


def test_a_second_dispatcher_of_a_file_writes_nothing(yard: Yard) -> None:
    go = yard.folder / "go"
    card = yard.add(yard.profile("p", f"while [ ! -e {go} ]; do sleep 0.05; done"))
    yard.start()
    yard.wait_started(card)
    other = yard.add("p")
    before = yard.board.last_event()
    assert "skipped_locked" in yard.dispatch("--once", "--max", "100")
    assert json.loads(yard.dispatch("--once", "--json"))["state"] == "skipped_locked"
    assert yard.board.last_event() in (before, before + 1, before + 2)  # of the first one, which has room
    go.touch()
    yard.wait_for(other, "done")


def test_a_board_with_two_names_has_one_lock(yard: Yard) -> None:
    from shellguard.board.board import Board
    from shellguard.workers.dispatcher import LockedError, take_lock

    other = yard.folder / "other.sqlite"
    other.symlink_to(yard.address)
    descriptor = take_lock(yard.board)
    assert descriptor is not None
    with Board.open(str(other)) as same:
        with pytest.raises(LockedError):
            take_lock(same)
        os.close(descriptor)
        again = take_lock(same)
        assert again is not None
        os.close(again)


def test_nothing_of_a_dispatcher_listens_or_connects(yard: Yard) -> None:
    import psutil

    process = yard.start()
    card = yard.add(yard.profile("p", "true"))
    yard.wait_for(card, "done")
    time.sleep(1.5)
    assert psutil.Process(process.pid).net_connections() == []


@pytest.mark.parametrize(
    "words", [("--once", "--until-idle"), ("--timeout", "3"), ("--max", "0"), ("--interval", "0")]
)
def test_words_that_make_no_sense_are_wrong_usage(yard: Yard, words: tuple[str, ...]) -> None:
    from click.testing import CliRunner

    from shellguard.cli.cards import cards

    card = yard.add(yard.profile("p", "true"))
    done = CliRunner().invoke(cards, ["--board", yard.address, "dispatch", *words])
    assert done.exit_code == 2
    assert yard.card(card).status == "ready"


@pytest.mark.parametrize("words", [(), ("--once",), ("--until-idle",)])
def test_only_adding_a_card_makes_a_board(yard: Yard, words: tuple[str, ...]) -> None:
    path = yard.folder / "none" / "board.sqlite"
    yard.address = str(path)
    assert "there is no board yet" in yard.dispatch(*words, status=2)
    assert not path.parent.exists()


# --- leases -----------------------------------------------------------------------------------------------------------


def test_a_run_of_another_host_is_taken_back_when_its_lease_is_over(yard: Yard) -> None:
    card = yard.add(yard.profile("p", "true"))
    words: dict[str, Any] = {"host": "elsewhere", "dispatcher": "x:1:1", "frozen": {}}
    assert yard.board.claim(card, profile="p", lease=3600, **words) is not None
    yard.once()
    assert yard.card(card).status == "running"
    assert yard.board.extend(yard.run(card).id, lease=-1)
    did = yard.until_idle()
    assert (did.reclaimed, did.completed) == ([card], [card])
    assert [str(run.outcome) for run in yard.board.runs(card)] == ["reclaimed", "completed"]
    assert yard.card(card).consecutive_failures == 0


def test_the_lease_of_a_supervisor_that_lives_is_extended(yard: Yard) -> None:
    go = yard.folder / "go"
    card = yard.add(yard.profile("p", f"while [ ! -e {go} ]; do sleep 0.05; done"))
    yard.once()
    run = yard.wait_started(card)
    assert yard.board.extend(run.id, lease=-1)
    yard.once()
    after = yard.run(card)
    assert (after.id, after.ended_at) == (run.id, None)
    assert after.claim_expires > time.time() + 100
    go.touch()
    yard.wait_for(card, "done")


@pytest.mark.slow
def test_a_supervisor_that_was_silent_for_too_long_is_ended_and_its_card_taken_back(yard: Yard) -> None:
    from sqlalchemy import update

    from shellguard.board.tables import runs

    card = yard.add(yard.profile("p", "sleep", "300"))
    yard.once()
    run = yard.wait_started(card)
    assert processes.send(run.supervisor, signal.SIGSTOP)
    long_ago = time.time() - 8000
    with yard.board.engine.begin() as connection:
        # As a host finds it that was asleep: the supervisor had no time to say that it lives.
        connection.execute(update(runs).values(heartbeat_at=long_ago, claim_expires=long_ago + 900))
    assert yard.once().reclaimed == []
    assert yard.run(card).claim_expires > time.time() + 100
    with yard.board.engine.begin() as connection:
        connection.execute(update(runs).values(claim_expires=long_ago + 4500))
    assert yard.once().reclaimed == [card]
    assert (yard.card(card).status, yard.card(card).consecutive_failures) == ("ready", 0)
    assert not yard.processes_of(card)


# --- a card that moved while its command runs -------------------------------------------------------------------------

TREE = (
    "trap '' TERM; setsid sleep 300 & (nohup sleep 300 >/dev/null 2>&1 &) ; sleep 300 & sleep 300; sleep 300"
)


@pytest.mark.parametrize(
    "verb, attended",
    [
        ("block", True),
        ("archive", True),
        ("complete", True),
        pytest.param("block", False, marks=pytest.mark.slow),
    ],
)
def test_a_running_card_that_somebody_moves_has_its_tree_torn_down(
    yard: Yard, verb: str, attended: bool
) -> None:
    """Whether a dispatcher is there or not: the supervisor sees it too."""
    card = yard.add(yard.profile("p", TREE))
    if attended:
        yard.start()
    else:
        yard.once()
    yard.wait_started(card)
    yard.wait(lambda: len(yard.processes_of(card)) >= 5)
    assert yard.board.block(card, reason="stop") if verb == "block" else getattr(yard.board, verb)(card)
    yard.wait(lambda: not yard.processes_of(card))
    assert yard.card(card).status == {"block": "blocked", "archive": "archived", "complete": "done"}[verb]
    assert yard.card(card).consecutive_failures == 0
    assert len(yard.board.runs(card)) == 1


STOPS_ALL = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    os.execve("/bin/sleep", ["sleep", "300"], {})
with open(f"/proc/{os.getppid()}/stat") as file:
    supervisor = int(file.read().rpartition(")")[2].split()[1])
os.kill(os.getppid(), signal.SIGSTOP)
os.kill(supervisor, signal.SIGSTOP)
time.sleep(300)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
def test_a_command_that_stops_who_watches_it_is_ended_with_its_tree(yard: Yard) -> None:
    before = _sleeping()
    card = yard.add(yard.profile("p", sys.executable, "-I", "-c", STOPS_ALL), max_runtime=2, max_retries=1)
    yard.until_idle()
    assert yard.event(card, "timed_out").payload["sigkill"] is False
    assert _sleeping() <= before


def _sleeping() -> set[str]:
    """Processes that sleep as those above do, and have no environment."""
    import psutil

    return {
        f"{each.pid}:{each.create_time()}"
        for each in psutil.process_iter(["cmdline", "status"])
        if each.info["cmdline"] == ["sleep", "300"] and not psutil.Process(each.pid).environ()
    }


@pytest.mark.parametrize("hidden", [False, True])
def test_a_card_is_not_taken_again_before_its_last_worker_is_gone(yard: Yard, hidden: bool) -> None:
    there = yard.folder / "there"
    # One that throws its environment away is known by what the board says about its run.
    forget = "exec env -i " if hidden else "exec "
    fool = "trap '' TERM; echo there; while :; do sleep 0.1; done"
    card = yard.add(
        yard.profile(
            "p", f"if mkdir {there}; then {forget}sh -c {shlex.quote(fool)}; else touch {there}/twice; fi"
        )
    )
    yard.once()
    run = yard.wait_started(card)
    yard.wait(there.exists)
    assert yard.board.block(card, reason="x")
    assert yard.board.unblock(card)
    lasted = []
    with yard.dispatcher() as dispatcher:
        while yard.card(card).status == "ready":
            dispatcher.one_pass()
            lasted.append(processes.is_running(run.child))
            assert len(yard.board.runs(card)) == 1 or not lasted[-1], "the card runs twice at once"
            time.sleep(0.05)
    assert lasted[0]
    yard.wait_for(card, "done")
    assert [str(each.outcome) for each in yard.board.runs(card)] == ["blocked", "completed"]
    assert (there / "twice").exists()


@pytest.mark.parametrize(
    "by, ended, exited, taken",
    [
        ("operator", 1, None, False),
        ("operator", 60, None, True),
        ("operator", 1, 4, True),
        ("worker", 60, None, False),
        ("worker", 1, 0, True),
        ("worker", 200, None, True),
        ("command", 1, None, True),
    ],
)
def test_a_worker_of_another_host_has_time_to_see_that_its_card_moved(
    yard: Yard, by: str, ended: float, exited: int | None, taken: bool
) -> None:
    card = yard.add(yard.profile("p", "true"))
    words: dict[str, Any] = {"host": "elsewhere", "dispatcher": "x:1:1", "frozen": {}}
    run = yard.board.claim(card, profile="p", lease=3600, **words)
    assert run is not None
    assert yard.board.begin(run.id, supervisor="x:2:2")
    assert yard.board.block(card, run=run.id, reason="x", by=by, now=time.time() - ended)
    assert exited is None or yard.board.exited(run.id, exited)
    assert yard.board.unblock(card)
    assert yard.once().claimed == ([card] if taken else [])


def test_an_archived_card_loses_its_folders_and_keeps_its_log(yard: Yard) -> None:
    card = yard.add(yard.profile("p", "echo hello; touch made"))
    yard.until_idle()
    run = yard.run(card)
    assert run.workspace is not None
    assert run.log is not None
    assert os.listdir(run.workspace) == ["made"]
    yard.board.archive(card)
    yard.once()
    assert not os.path.exists(run.workspace)
    assert "hello" in Path(run.log).read_text()


def test_a_work_tree_is_kept_between_attempts_and_removed_with_its_card(yard: Yard) -> None:
    repo = Repo(yard.folder / "repo")
    yard.profile(
        "p", "git log --oneline | wc -l >> ../lines; echo x >> a.txt; test -e ../again", workspace="worktree"
    )
    card = yard.add("p", repo=str(repo.top))
    yard.until_idle()
    work = Path(yard.run(card).workspace or "")
    assert yard.card(card).status == "blocked"
    assert (work / "a.txt").read_text() == "one\nx\n"
    (work.parent / "again").touch()
    assert yard.board.unblock(card)
    yard.until_idle()
    assert yard.card(card).status == "done"
    assert (work / "a.txt").read_text() == "one\nx\nx\n"
    assert (repo.top / "a.txt").read_text() == "one\n"
    yard.board.archive(card)
    yard.once()
    assert (work / "a.txt").exists()
    assert any("its workspace stays" in line for line in yard.said)
    (work / "a.txt").write_text("one\n")
    yard.once()
    assert not work.exists()
    assert len(repo.git("worktree", "list").split("\n")) == 1


# --- nothing on a card changes what is executed -----------------------------------------------------------------------

HOSTILE = (
    *("$(touch pwned)", "; touch pwned", "--help", "-c", "`touch pwned`", "\n- touch\n"),
    *('"], "x": ["', "\0", "../x"),
)


def test_settings_for_agents_are_ignored_with_a_warning_where_the_worker_is_a_command(yard: Yard) -> None:
    settings = {"model": "x", "command": ["touch", "pwned"]}
    card = yard.add(yard.profile("p", "env > env.txt"), settings=settings)
    yard.until_idle()
    assert yard.card(card).status == "done"
    assert yard.event(card, "settings_ignored").payload["settings"] == ["command", "model"]
    assert f"{card}: settings for agents are ignored, its worker is a command" in yard.said
    assert "SETTINGS" not in Path(yard.run(card).workspace or "", "env.txt").read_text()


def test_an_agent_gets_the_settings_of_its_card(yard: Yard) -> None:
    script = 'printf %s "$SHELLGUARD_SETTINGS" > settings.json'
    card = yard.add(yard.profile("p", script, kind="agent"), settings={"model": "x"})
    yard.until_idle()
    assert json.loads(Path(yard.run(card).workspace or "", "settings.json").read_text()) == {"model": "x"}
    assert "settings_ignored" not in yard.kinds(card)


def test_no_text_of_a_card_changes_what_is_executed(yard: Yard) -> None:
    tool = yard.folder / "tool"
    tool.write_text(f'#!/bin/sh\nprintf "%s\\n" "$0" "$#" "$@" >> {yard.folder}/ran\n')
    tool.chmod(0o755)
    yard.profile("p", str(tool), "one", "$(two)")
    cards = []
    for text in HOSTILE:
        settings: dict[str, Any] = {"worker": {"command": ["touch", "pwned"]}, "argv": [text], "PATH": "."}
        cards.append(yard.add("p", title=f"x{text}", body=text, settings=settings))
    yard.until_idle(at_once=1)
    assert [yard.card(card).status for card in cards] == ["done"] * len(cards)
    assert (yard.folder / "ran").read_text() == f"{tool}\n2\none\n$(two)\n" * len(cards)
    frozen = {json.dumps(yard.run(card).frozen, sort_keys=True) for card in cards}
    assert len(frozen) == 1
    assert not list(yard.folder.rglob("pwned"))


def test_no_workspace_of_a_card_changes_what_is_executed(yard: Yard) -> None:
    """The workspace holds programs of every name that the command uses, and modules of every name that we use."""
    trap = yard.folder / "trap"
    for name in ("true", "sh", "env", "python3", "git"):
        (trap / "bin").mkdir(parents=True, exist_ok=True)
        for folder in (trap, trap / "bin"):
            (folder / name).write_text(f"#!/bin/sh\ntouch {yard.folder}/pwned\n")
            (folder / name).chmod(0o755)
    for name in (
        "json.py",
        "sitecustomize.py",
        "usercustomize.py",
        "shellguard/__init__.py",
        "sqlalchemy.py",
    ):
        (trap / name).parent.mkdir(exist_ok=True)
        (trap / name).write_text(f"open({str(yard.folder / 'pwned')!r}, 'w')\n")
    card = yard.add(yard.profile("p", "true", workspace="dir"), workspace=str(trap))
    yard.until_idle()
    assert yard.card(card).status == "done", yard.run(card).error
    assert not (yard.folder / "pwned").exists()


def _forged(words: dict[str, Any], change: str, folder: Path) -> None:
    """Makes another run of what a dispatcher would claim."""
    frozen = words["frozen"]
    if change == "another program":
        frozen |= trusted.resolve(
            ["/bin/sh", "-c", f"touch {folder / 'ran'}"], None, workspace=None
        ).as_object()
    elif change == "its profile as well":
        _forged(words, "another program", folder)
        frozen["profile"] |= {"argv": frozen["argv"], "path": "/x"}
    elif change == "other words":
        frozen["argv"] = [frozen["argv"][0], "-c", f"touch {folder / 'ran'}"]
    elif change == "a search path":
        frozen["search"] = ["/usr/bin"]
    elif change == "variables of the dispatcher":
        frozen["profile"]["environment"] = ["SECRET"]
    elif change == "its end":
        frozen["completion"] = "self_reported"
    elif change == "no profile":
        del frozen["profile"]
    else:
        words[change] = str(folder / "ran")


@pytest.mark.parametrize(
    "change",
    [
        *("another program", "its profile as well", "other words", "a search path", "its end", "no profile"),
        *("variables of the dispatcher", "workspace", "log"),
    ],
)
def test_a_run_that_somebody_wrote_into_the_board_does_not_run(yard: Yard, change: str) -> None:
    card = yard.add(yard.profile("p", f"touch {yard.folder / 'right'}"), max_retries=1)
    profile = profiles.load(str(yard.home), "p")
    folders = workspaces.folders_of(yard.card(card), "scratch")
    frozen = trusted.resolve(profile.argv, None, workspace=folders.workspace).as_object()
    words: dict[str, Any] = {
        "frozen": frozen | {"completion": "exit_code", "profile": asdict(profile)},
        "workspace": folders.workspace,
        "log": folders.log,
    }
    _forged(words, change, yard.folder)
    words |= {"host": processes.host(), "dispatcher": "x:1:1", "lease": 3600}
    assert yard.board.claim(card, profile="p", **words) is not None
    yard.until_idle()
    assert str(yard.run(card).outcome) == "spawn_failed"
    assert "does not say any more what it said" in (yard.run(card).error or "")
    assert not (yard.folder / "ran").exists()
    assert not (yard.folder / "right").exists()


@pytest.mark.parametrize("profile", ["../p", "/etc", "p/../p", "p\0", "P", "profiles/p", "."])
def test_no_name_of_a_profile_leads_elsewhere(yard: Yard, profile: str) -> None:
    yard.profile("p", "touch pwned")
    (yard.home / "config.yaml").write_text("{}")
    card = yard.add(profile)
    yard.until_idle()
    assert {str(run.outcome) for run in yard.board.runs(card)} == {"spawn_failed"}
    assert yard.card(card).status == "blocked"


def test_a_broken_profile_is_named_with_its_line(yard: Yard) -> None:
    (yard.home / "profiles" / "p").mkdir(mode=0o755)
    (yard.home / "profiles" / "p" / "config.yaml").write_text("worker:\n  command: true\n")
    card = yard.add("p")
    yard.until_idle()
    assert "profiles/p/config.yaml:2" in (yard.run(card).error or "")
    assert yard.card(card).status == "blocked"
