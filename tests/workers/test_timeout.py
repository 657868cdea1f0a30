# SPDX-License-Identifier: Apache-2.0
"""A timeout is booked by the dispatcher alone, the same for a command and for an agent, and as it was written down.

`FROZEN` below is the record, copied by hand from what is known of `enforce_max_runtime`; nothing of the package makes
it. So these tests can fail although commands and agents are started in the same way.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `workers` is not installed", exc_type=ImportError)

from shellguard.workers import processes

if TYPE_CHECKING:
    from shellguard.board.model import Run
    from tests.workers.yard import Yard

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX processes")

LIMIT = 1

FROZEN: dict[str, Any] = {
    "card": {
        "status": "ready",
        "phase": "ready",
        "consecutive_failures": 1,
        "current_run": None,
        "claim_expires": None,
        "last_error": "elapsed Ns > limit 1s",
        "completed_at": None,
        "block_kind": None,
        "block_reason": None,
        "block_recurrences": 0,
        "request": None,
        "result": None,
        "priority": 0,
        "max_runtime": None,
        "max_retries": None,
        "scheduled_at": None,
        "workspace": None,
        "repo": None,
        "settings": {},
        "title": "t",
        "body": "",
    },
    "run": {
        "attempt": 1,
        "phase": "ready",
        "status": "timed_out",
        "outcome": "timed_out",
        "exit_code": None,
        "error": "elapsed Ns > limit 1s",
        "summary": None,
        "max_runtime": 1.0,
        "metadata": {
            "pid": "PID",
            "elapsed_seconds": "N",
            "limit_seconds": 1,
            "sigkill": False,
            "retry_status": "ready",
        },
    },
    "events": [
        ("created", {"status": "ready", "profile": "p", "parents": []}),
        ("claimed", {"run": "RUN", "host": "HOST", "source_status": "ready"}),
        ("started", {"pid": "PID", "child": "CHILD"}),
        (
            "timed_out",
            {
                "pid": "PID",
                "elapsed_seconds": "N",
                "limit_seconds": 1,
                "sigkill": False,
                "retry_status": "ready",
            },
        ),
    ],
}

NAMES = {
    "card": {"id", "profile", "created_at", "updated_at", "started_at"},
    "run": {
        *("id", "card", "profile", "host", "dispatcher", "claimed_at", "claim_expires", "heartbeat_at"),
        *(
            "started_at",
            "ended_at",
            "frozen",
            "supervisor",
            "supervisor_exit",
            "child",
            "keeper",
        ),
        *("workspace", "log"),
    },
}
"""Fields that are names, times and processes: they differ between any two runs, and are looked at one by one below."""


def record(yard: Yard, card: str) -> dict[str, Any]:
    """Everything that the board has of a card with one run, with names in place of what differs every time."""
    found, [run] = yard.card(card), yard.board.runs(card)
    assert run.started_at is not None
    assert run.ended_at is not None
    seconds = (run.metadata or {}).get("elapsed_seconds")
    assert type(seconds) is int
    assert LIMIT <= seconds <= run.ended_at - run.started_at
    assert run.claimed_at <= run.started_at
    assert run.supervisor is not None
    assert run.supervisor_exit == 143
    assert run.host == processes.host()

    def shown(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: shown(each) for name, each in value.items()}
        if isinstance(value, list):
            return [shown(each) for each in value]
        if isinstance(value, str):
            known = {run.id: "RUN", run.host: "HOST", found.profile: "p"}
            return known.get(str(value), str(value).replace(f"elapsed {seconds}s", "elapsed Ns"))
        return value

    def payload(value: dict[str, Any] | None) -> Any:
        known = {"pid": (run.supervisor_pid, "PID"), "child": (run.child_pid, "CHILD")}
        made = shown(value)
        for name, (number, word) in known.items():
            if name in made:
                assert made[name] == number
                made[name] = word
        if "elapsed_seconds" in made:
            assert made["elapsed_seconds"] == seconds
            made["elapsed_seconds"] = "N"
        return made

    fields = {name: value for name, value in asdict(run).items() if name not in NAMES["run"]}
    return {
        "card": {name: shown(value) for name, value in asdict(found).items() if name not in NAMES["card"]},
        "run": {**shown(fields), "metadata": payload(run.metadata)},
        "events": [(str(event.kind), payload(event.payload)) for event in yard.events(card)],
    }


def over_time(yard: Yard, profile: str, **fields: Any) -> str:
    """A card that ran once and was over its time; nothing has claimed it again."""
    card = yard.add(profile, **fields)
    yard.once()
    run = yard.wait_started(card)
    assert run.started_at is not None
    time.sleep(max(0.0, run.started_at + LIMIT + 0.1 - time.time()))
    did = yard.once()
    assert did.timed_out == [card]
    assert not yard.processes_of(card)
    return card


AGENT = """
import json, os, subprocess, sys, time
json.loads(os.environ["SHELLGUARD_SETTINGS"])
subprocess.Popen(["sleep", "300"], start_new_session=True)
print("thinking", flush=True)
while True:
    time.sleep(0.1)
"""


@pytest.fixture
def agent(yard: Yard) -> str:
    """A profile whose command starts an agent, which starts tools of its own."""
    import sys

    program = yard.folder / "agent.py"
    program.write_text(AGENT)
    return yard.profile("agent", sys.executable, "-I", str(program), kind="agent", max_runtime=LIMIT)


@pytest.fixture
def command(yard: Yard) -> str:
    return yard.profile("command", "sleep 300 & setsid sleep 300 & sleep 300", max_runtime=LIMIT)


def test_the_timeout_of_a_command_is_the_frozen_record(yard: Yard, command: str) -> None:
    assert record(yard, over_time(yard, command)) == FROZEN


def test_the_timeout_of_an_agent_is_the_frozen_record(yard: Yard, agent: str) -> None:
    found = record(yard, over_time(yard, agent, settings={"model": "x"}))
    found["card"]["settings"] = {}
    assert found == FROZEN


def test_the_timeouts_of_a_command_and_of_an_agent_are_equal_field_by_field(
    yard: Yard, command: str, agent: str
) -> None:
    of_command = record(yard, over_time(yard, command))
    yard.board.archive(yard.board.cards()[0].id)
    of_agent = record(yard, over_time(yard, agent, settings={"model": "x"}))
    of_agent["card"]["settings"] = {}
    for part in FROZEN:
        assert of_command[part] == of_agent[part]


def test_the_phase_comes_back_from_the_lane_of_reviews(yard: Yard, command: str) -> None:
    card = over_time(yard, command, phase="review")
    assert (yard.card(card).status, yard.card(card).phase) == ("review", "review")
    assert yard.event(card, "timed_out").payload["retry_status"] == "review"


def test_a_card_s_own_limit_comes_before_that_of_its_profile(yard: Yard) -> None:
    card = yard.add(yard.profile("p", "sleep", "300", max_runtime=3600), max_runtime=1.0, max_retries=1)
    yard.until_idle()
    assert yard.event(card, "timed_out").payload["limit_seconds"] == 1


def test_two_timeouts_trip_the_breaker(yard: Yard, command: str) -> None:
    card = yard.add(command)
    yard.until_idle()
    assert (yard.card(card).status, yard.card(card).consecutive_failures) == ("blocked", 2)
    assert [str(run.outcome) for run in yard.board.runs(card)] == ["timed_out"] * 2
    tripped = yard.event(card, "gave_up").payload
    assert (tripped["trigger_outcome"], tripped["failures"], tripped["effective_limit"]) == (
        "timed_out",
        2,
        2,
    )
    assert yard.kinds(card).count("blocked") == 0
    assert not yard.all_processes()


def test_a_supervisor_that_does_not_answer_is_killed_and_its_tree_with_it(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hangs, as one does that is stopped and cannot be woken: the record says that it took a SIGKILL."""
    monkeypatch.setattr(processes, "wake", lambda name: None)
    card = yard.add(yard.profile("p", "trap '' TERM; setsid sleep 300 & sleep 300", max_runtime=LIMIT))
    yard.once()
    run = yard.wait_started(card)
    assert processes.send(run.supervisor, signal.SIGSTOP)
    time.sleep(LIMIT + 0.1)
    began = time.monotonic()
    yard.once()
    assert time.monotonic() - began >= 5
    payload = yard.event(card, "timed_out").payload
    assert (payload["sigkill"], payload["pid"]) == (True, run.supervisor_pid)
    assert yard.card(card).status == "ready"
    assert not yard.processes_of(card)


@pytest.mark.parametrize("late", [True, False])
def test_a_supervisor_that_another_dispatcher_asked_to_end_timed_out(yard: Yard, late: bool) -> None:
    """Who finds it gone need not be who asked, and a signal that came before the time was over is no timeout."""
    card = yard.add(yard.profile("p", "sleep", "300", max_runtime=LIMIT), max_retries=1)
    yard.once()
    run = yard.wait_started(card)
    if late:
        time.sleep(LIMIT + 0.1)
    assert processes.send(run.supervisor, signal.SIGTERM)
    assert processes.wait_gone((run.supervisor,), 30)
    time.sleep(LIMIT)
    yard.once()
    assert str(yard.run(card).outcome) == ("timed_out" if late else "crashed")
    if late:
        assert yard.run(card).error == f"elapsed {LIMIT}s > limit {LIMIT}s"
        assert yard.event(card, "timed_out").payload["sigkill"] is False
    assert (yard.card(card).status, yard.card(card).consecutive_failures) == ("blocked", 1)


def test_a_tree_that_ignores_the_signal_is_gone_within_the_grace(yard: Yard) -> None:
    card = yard.add(
        yard.profile("p", "trap '' TERM; sleep 300 & sleep 300; sleep 300", max_runtime=LIMIT, grace=1)
    )
    yard.once()
    yard.wait_started(card)
    time.sleep(LIMIT + 0.1)
    yard.once()
    assert yard.event(card, "timed_out").payload["sigkill"] is False
    assert not yard.processes_of(card)


def test_a_word_of_the_worker_in_the_time_that_it_has_left_counts(yard: Yard) -> None:
    """Then there is no timeout, no retry and no failure: the swap of the dispatcher loses."""
    import sys

    ready = yard.folder / "ready"
    say = f"{sys.executable} -m shellguard cards complete --summary late"
    script = f"trap '{say}; exit 0' TERM; : > {ready}; while :; do sleep 0.1; done"
    card = yard.add(yard.profile("p", script, max_runtime=3600, grace=4), max_runtime=3600.0)
    yard.once()
    run = yard.wait_started(card)
    yard.wait(ready.exists)
    with yard.dispatcher() as dispatcher:
        late = _with_limit(run)
        dispatcher._end(late, "timed_out", time.time())
        while dispatcher._endings:
            dispatcher._look_after_endings()
            time.sleep(0.02)
    assert (yard.card(card).status, yard.card(card).result) == ("done", "late")
    assert yard.card(card).consecutive_failures == 0
    assert "timed_out" not in yard.kinds(card)
    assert len(yard.board.runs(card)) == 1


def _with_limit(run: Run) -> Run:
    from dataclasses import replace

    return replace(run, max_runtime=1.0)


def test_a_number_that_was_used_again_is_not_signalled(yard: Yard) -> None:
    """The supervisor is gone and another process has its number: it lives on, and the card counts as crashed."""
    import subprocess

    from sqlalchemy import update

    from shellguard.board.tables import runs

    card = yard.add(yard.profile("p", "sleep", "300", max_runtime=LIMIT), max_retries=1)
    yard.once()
    run = yard.wait_started(card)
    processes.send(run.supervisor, processes.KILL)
    yard.wait(lambda: not yard.processes_of(card))
    other = subprocess.Popen(["sleep", "300"])
    try:
        boot, _, started = str(run.supervisor).split(":")
        with yard.board.engine.begin() as connection:
            connection.execute(update(runs).values(supervisor=f"{boot}:{other.pid}:{started}"))
        time.sleep(LIMIT)
        yard.once()
        assert other.poll() is None
        assert yard.kinds(card)[-2:] == ["crashed", "gave_up"]
    finally:
        other.kill()
        other.wait()
