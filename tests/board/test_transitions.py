# SPDX-License-Identifier: Apache-2.0
"""Every verb on a card in every status: where it leads, what it writes, and that a refused one writes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `workers` is not installed")

from sqlalchemy import Table, update

from shellguard.board.model import BlockKind, BoardError, EventKind, Outcome, Status
from shellguard.board.statements import move
from shellguard.board.tables import cards, events, runs
from tests.board.cards import NOW, PROCESS, add, again, check, claim, dump, try_to_claim

if TYPE_CHECKING:
    from collections.abc import Callable

    from shellguard.board.board import Board

    Verb = Callable[[Board, str, str], object]

STATUSES = ("triage", "todo", "scheduled", "ready", "running", "blocked", "review", "done", "archived")

VERBS: dict[str, Verb] = {
    "claim": lambda board, card, run: try_to_claim(board, card),
    "begin": lambda board, card, run: board.begin(run, supervisor=PROCESS, now=NOW),
    "started": lambda board, card, run: board.started(run, child=PROCESS, now=NOW),
    "heartbeat": lambda board, card, run: board.heartbeat(run, lease=60, note="", now=NOW),
    "extend": lambda board, card, run: board.extend(run, lease=60, now=NOW),
    "complete": lambda board, card, run: board.complete(card, now=NOW),
    "complete run": lambda board, card, run: board.complete(card, run=run, now=NOW),
    "block": lambda board, card, run: board.block(card, reason="r", now=NOW),
    "block run": lambda board, card, run: board.block(card, run=run, reason="r", now=NOW),
    "block dependency": lambda board, card, run: board.block(card, kind="dependency", reason="r", now=NOW),
    "block input": lambda board, card, run: board.block(card, kind="needs_input", reason="r", now=NOW),
    "unblock": lambda board, card, run: board.unblock(card, now=NOW),
    "retry": lambda board, card, run: board.retry(card, now=NOW),
    "archive": lambda board, card, run: board.archive(card, now=NOW),
    "time out": lambda board, card, run: board.fail(run, outcome="timed_out", error="e", now=NOW),
    "crash": lambda board, card, run: board.fail(run, outcome="crashed", error="e", now=NOW),
    "reclaim": lambda board, card, run: board.reclaim(run, reason="r", now=NOW),
}
"""A run is the current one of a card that is running, else the last it had, else one that there never was."""

TABLE = """
claim             ready -> running  claimed
claim             review -> running  claimed
begin             -
started           running -> running  started
heartbeat         running -> running  heartbeat
extend            running -> running  -
complete          running -> done  completed  completed
complete          ready -> done  completed
complete          blocked -> done  completed
complete          review -> done  completed
complete run      running -> done  completed  completed
block             running -> blocked  blocked  blocked
block             ready -> blocked  blocked
block             review -> blocked  blocked
block run         running -> blocked  blocked  blocked
block dependency  running -> todo  dependency_wait  blocked
block dependency  ready -> todo  dependency_wait
block dependency  review -> todo  dependency_wait
block input       running -> blocked  blocked  blocked
block input       ready -> blocked  blocked
block input       review -> blocked  blocked
unblock           blocked -> ready  unblocked
unblock           scheduled -> ready  unblocked
retry             blocked -> ready  retried
retry             done -> ready  retried
retry             triage -> ready  retried
retry             archived -> ready  retried
archive           triage -> archived  archived
archive           todo -> archived  archived
archive           scheduled -> archived  archived
archive           ready -> archived  archived
archive           running -> archived  archived  reclaimed
archive           blocked -> archived  archived
archive           review -> archived  archived
archive           done -> archived  archived
time out          running -> ready  timed_out  timed_out
crash             running -> ready  crashed  crashed
reclaim           running -> ready  reclaimed  reclaimed
"""
"""verb, from -> to, the event, what an open run becomes. What is not here is refused. (A run begins only once.)"""


def rows() -> dict[tuple[str, str], tuple[str, str, str | None]]:
    found: dict[tuple[str, str], tuple[str, str, str | None]] = {}
    for line in TABLE.strip().split("\n"):
        verb, rest = line[:18].strip(), line[18:]
        if rest == "-":
            continue
        move, event, *outcome = rest.split("  ")
        before, after = move.split(" -> ")
        found[verb, before] = (after, event, outcome[0] if outcome else None)
    return found


ROWS = rows()


def test_the_table_names_verbs_and_statuses() -> None:
    assert {verb for verb, _ in ROWS} == set(VERBS) - {"begin"}
    assert {status for _, status in ROWS} | {to for to, _, _ in ROWS.values()} == set(STATUSES)
    assert list(STATUSES) == [status.value for status in Status]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_in_every_status(board: Board, verb: str) -> None:
    for status in STATUSES:
        card = add(board, status)
        last = board.runs(card.id)
        run = last[-1].id if last else "0" * 32
        before = dump(board)
        newest = board.last_event()
        done = VERBS[verb](board, card.id, run)
        check(board)
        if (verb, status) not in ROWS:
            assert not done, (verb, status)
            assert dump(board) == before, (verb, status)
            continue
        assert done, (verb, status)
        to, event, outcome = ROWS[verb, status]
        assert again(board, card.id).status == to, (verb, status)
        assert [each.kind for each in board.events(card.id, since=newest)] == [event] * (event != "-")
        runs = board.runs(card.id)
        assert (runs[-1].outcome if last else None) == outcome, (verb, status)


@pytest.mark.parametrize("verb", [name for name in VERBS if name != "claim"])
def test_a_run_that_is_over_moves_nothing(board: Board, verb: str) -> None:
    """Its card is running again, by another run, and that one stays."""
    card = add(board, "running")
    old = board.runs(card.id)[0].id
    assert board.reclaim(old, reason="r", now=NOW)
    claim(board, card.id)
    if verb in ("complete", "block", "block dependency", "block input", "archive"):
        return  # they ask for no run, and are an operator's
    before = dump(board)
    assert not VERBS[verb](board, card.id, old)
    assert dump(board) == before


@pytest.mark.parametrize("verb", VERBS)
def test_a_card_that_is_not_there(board: Board, verb: str) -> None:
    before = dump(board)
    assert not VERBS[verb](board, "c-0000000000", "0" * 32)
    assert dump(board) == before
    assert board.card("c-0000000000") is None
    assert board.run("0" * 32) is None


def test_a_run_begins_once(board: Board) -> None:
    card = add(board)
    run = claim(board, card.id, begin=False)
    first = board.begin(run.id, supervisor="boot:1:5", now=NOW + 1)
    assert first is not None
    assert (first.supervisor_pid, first.started_at) == (1, NOW + 1)
    assert board.begin(run.id, supervisor="boot:2:6", now=NOW + 2) is None
    assert board.begin(run.id, supervisor="boot:1:5", now=NOW + 2) is None
    assert board.run(run.id) == first


def test_a_run_that_did_not_begin_has_not_started(board: Board) -> None:
    run = claim(board, add(board).id, begin=False)
    assert not board.started(run.id, child="boot:3:1", now=NOW)


def test_what_a_claim_writes(board: Board) -> None:
    card = add(board, "review")
    run = board.claim(
        card.id,
        profile="builder",
        host="here",
        dispatcher="boot:9:1",
        lease=900,
        frozen={"argv": ["/bin/true"]},
        max_runtime=5.5,
        workspace="/w",
        log="/l",
        now=NOW,
    )
    assert run is not None
    assert run == board.run(run.id)
    assert (run.attempt, run.profile, run.phase, run.status) == (1, "builder", "review", "running")
    assert (run.claimed_at, run.claim_expires, run.max_runtime) == (NOW, NOW + 900, 5.5)
    assert (run.host, run.dispatcher, run.workspace, run.log) == (*("here", "boot:9:1", "/w", "/l"),)
    assert run.frozen == {"argv": ["/bin/true"]}
    found = again(board, card.id)
    assert (found.current_run, found.claim_expires, found.started_at) == (run.id, NOW + 900, NOW)
    [event] = [each for each in board.events(card.id) if each.kind is EventKind.CLAIMED]
    assert event.payload == {"run": run.id, "host": "here", "source_status": "review"}
    assert event.run == run.id
    assert board.reclaim(run.id, reason="r", now=NOW)
    assert again(board, card.id).status is Status.REVIEW
    second = claim(board, card.id, now=NOW + 5)
    assert (second.attempt, again(board, card.id).started_at) == (2, NOW)


def test_what_a_heartbeat_writes(board: Board) -> None:
    run = claim(board, add(board).id)
    newest = board.last_event()
    assert board.heartbeat(run.id, lease=60, now=NOW + 5)
    assert board.events(since=newest) == []
    later = board.run(run.id)
    assert later is not None
    assert (later.heartbeat_at, later.claim_expires) == (NOW + 5, NOW + 65)
    assert again(board, run.card).claim_expires == NOW + 65
    assert board.heartbeat(run.id, lease=60, note="half", now=NOW + 6)
    [event] = board.events(since=newest)
    assert (event.kind, event.payload) == ("heartbeat", {"note": "half"})


def test_what_a_completion_writes(board: Board) -> None:
    run = claim(board, add(board).id)
    assert board.complete(
        run.card, run=run.id, summary="fine", metadata={"a": 1}, exit_code=0, by="command", now=NOW + 9
    )
    done = board.run(run.id)
    assert done is not None
    assert (done.status, done.outcome, done.exit_code, done.error) == ("completed", "completed", 0, None)
    assert (done.summary, done.metadata, done.ended_at) == ("fine", {"a": 1}, NOW + 9)
    card = again(board, run.card)
    assert (card.result, card.completed_at) == ("fine", NOW + 9)
    [event] = board.events(run.card)[-1:]
    assert event.payload == {"by": "command", "summary": "fine", "exit_code": 0}


def test_what_a_block_writes(board: Board) -> None:
    run = claim(board, add(board).id)
    assert board.block(
        *(run.card,),
        run=run.id,
        kind="needs_input",
        reason="ask",
        request="000001-a",
        metadata={"m": 1},
        by="command",
    )
    closed = board.run(run.id)
    assert closed is not None
    assert (closed.status, closed.outcome, closed.summary, closed.metadata) == (
        *("blocked", "blocked", "ask", {"m": 1}),
    )
    card = again(board, run.card)
    assert (card.block_kind, card.block_reason, card.request) == ("needs_input", "ask", "000001-a")
    [event] = board.events(run.card)[-1:]
    assert event.payload == {
        "kind": "needs_input",
        "reason": "ask",
        "by": "command",
        "exit_code": None,
        "request": "000001-a",
    }
    assert board.unblock(card.id)
    card = again(board, card.id)
    assert (card.block_reason, card.request, card.block_kind) == (None, None, "needs_input")


def test_a_change_holds_only_where_the_card_was_seen(board: Board) -> None:
    """The statement alone refuses what is stale, also where no lock was taken before."""
    card = add(board)
    run = claim(board, card.id)
    with board.engine.begin() as connection:
        seen = replace(again(board, card.id), status=Status.REVIEW)
        assert not move(connection, seen, NOW, priority=1), "it was seen in another status"
        assert not move(connection, card, NOW, priority=1), "it was seen before it was claimed"
        seen = replace(again(board, card.id), current_run="0" * 32)
        assert not move(connection, seen, NOW, priority=1), "it was seen with another run"
        seen = replace(again(board, card.id), current_run=None)
        assert not move(connection, seen, NOW, priority=1), "it was seen without a run"
    assert again(board, card.id).priority == 0
    with board.engine.begin() as connection:
        assert move(connection, again(board, card.id), NOW, priority=1)
    assert (again(board, card.id).priority, again(board, card.id).current_run) == (1, run.id)


def test_a_card_without_its_run_is_damage_and_changes_nothing(board: Board) -> None:
    run = claim(board, add(board).id)
    with board.engine.begin() as connection:
        connection.execute(update(runs).where(runs.c.id == run.id).values(ended_at=NOW))
    before = dump(board)
    for verb in ("complete", "block", "archive", "time out", "reclaim", "heartbeat", "extend"):
        with pytest.raises(BoardError, match="the board is damaged"):
            VERBS[verb](board, run.card, run.id)
    assert dump(board) == before


@pytest.mark.parametrize(
    "table, values",
    [(cards, {"status": "lost"}), (cards, {"phase": ""}), (runs, {"outcome": "x"}), (events, {"kind": "x"})],
)
def test_words_that_there_are_not_are_damage(board: Board, table: Table, values: dict[str, str]) -> None:
    card = add(board, "running")
    with board.engine.begin() as connection:
        connection.execute(update(table).values(**values))
    with pytest.raises(BoardError, match="the board is damaged: "):
        board.history(card.id)


# --- loops of blocks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(BlockKind))
def test_the_same_kind_twice_goes_to_triage(board: Board, kind: BlockKind) -> None:
    card = add(board)
    assert board.block(card.id, kind=kind, reason="r")
    if kind is BlockKind.DEPENDENCY:
        assert board.recompute() == [card.id]
    else:
        assert board.unblock(card.id)
    assert board.block(card.id, kind=kind, reason="r")
    assert again(board, card.id).status is Status.TRIAGE
    assert [event.kind for event in board.events(card.id)[-2:]] == ["blocked", "block_loop_detected"]
    assert board.events(card.id)[-1].payload == {"kind": kind, "recurrences": 2}
    assert board.retry(card.id)
    assert board.block(card.id, kind=kind, reason="r")
    assert again(board, card.id).status is not Status.TRIAGE, "a retry is a new beginning"


@pytest.mark.parametrize(
    "first, second",
    [
        ({"kind": "needs_input"}, {"kind": "capability"}),
        ({"kind": None}, {"kind": None}),
        ({"kind": None, "exit_code": 3}, {"kind": None, "exit_code": 3}),
        ({"kind": "transient", "exit_code": 75}, {"kind": "transient", "exit_code": 75}),
    ],
)
def test_what_is_no_loop(board: Board, first: dict[str, Any], second: dict[str, Any]) -> None:
    card = add(board)
    for how in (first, second):
        assert board.block(card.id, reason="r", **how)
        assert again(board, card.id).status is Status.BLOCKED
        assert board.unblock(card.id)
    assert "block_loop_detected" not in [event.kind for event in board.events(card.id)]


def test_an_answer_ends_the_count_of_blocks(board: Board) -> None:
    card = add(board)
    for request in ("000001-a", "000002-b", "000003-c"):
        assert board.block(card.id, kind="needs_input", reason="r", request=request)
        assert again(board, card.id).status is Status.BLOCKED
        assert not board.unblock(card.id, request="000009-z"), "it waits for another one"
        assert board.unblock(card.id, request=request)
        assert not board.unblock(card.id, request=request)


# --- failures, and the limit ------------------------------------------------------------------------------------------


def fail_until_it_stops(board: Board, card: str, limit: int | None, outcome: str = "crashed") -> int:
    for count in range(1, 10):
        run = claim(board, card)
        assert board.fail(run.id, outcome=outcome, error="why", limit=limit)
        if again(board, card).status is Status.BLOCKED:
            return count
    raise AssertionError("it never stopped")


@pytest.mark.parametrize(
    "of_card, of_profile, count, source",
    [
        (None, None, 2, "default"),
        (None, 4, 4, "profile"),
        (3, 4, 3, "card"),
        (1, None, 1, "card"),
        (0, 4, 1, "card"),
    ],
)
def test_the_limit_of_failures(
    board: Board, of_card: int | None, of_profile: int | None, count: int, source: str
) -> None:
    card = add(board, "ready", max_retries=of_card)
    assert board.block(card.id, kind="capability", reason="before")
    assert board.unblock(card.id)
    assert fail_until_it_stops(board, card.id, of_profile) == count
    runs, events = board.runs(card.id), board.events(card.id)
    assert [run.outcome for run in runs] == ["crashed"] * count
    assert [event.kind for event in events[-2:]] == ["crashed", "gave_up"]
    assert events[-1].run == runs[-1].id
    assert events[-1].payload == {
        "failures": count,
        "effective_limit": (of_card if of_card is not None else of_profile if of_profile is not None else 2),
        "limit_source": source,
        "error": "why",
        "trigger_outcome": "crashed",
        "retry_status": "ready",
    }
    found = again(board, card.id)
    assert (found.consecutive_failures, found.last_error, found.block_kind) == (count, "why", None)
    assert board.unblock(card.id)
    assert again(board, card.id).consecutive_failures == 0


def test_failures_of_all_kinds_count_together_and_success_forgets_them(board: Board) -> None:
    card = add(board, "ready", max_retries=3)
    for outcome in ("timed_out", "spawn_failed"):
        assert board.fail(claim(board, card.id).id, outcome=outcome, error="e")
    assert board.reclaim(claim(board, card.id).id, reason="r")
    assert again(board, card.id).consecutive_failures == 2
    assert board.complete(card.id, run=claim(board, card.id).id)
    assert again(board, card.id).consecutive_failures == 0


def test_a_timeout_is_recorded_as_it_always_was(board: Board) -> None:
    """The record that workers.md 5.6 has, whoever the worker was."""
    card = add(board, "review")
    run = claim(board, card.id)
    seen = {"pid": 4242, "elapsed_seconds": 3, "limit_seconds": 2, "sigkill": False}
    assert board.fail(run.id, outcome="timed_out", error="elapsed 3s > limit 2s", payload=seen, now=NOW + 3)
    closed = board.run(run.id)
    assert closed is not None
    assert (closed.outcome, closed.status, closed.error) == (
        "timed_out",
        "timed_out",
        "elapsed 3s > limit 2s",
    )
    assert (closed.exit_code, closed.summary, closed.ended_at) == (None, None, NOW + 3)
    [event] = board.events(card.id)[-1:]
    assert closed.metadata == event.payload == {**seen, "retry_status": "review"}
    found = again(board, card.id)
    assert (found.status, found.phase, found.consecutive_failures) == ("review", "review", 1)
    assert found.current_run is None


@pytest.mark.parametrize("outcome", sorted({*Outcome} - {"crashed", "timed_out", "spawn_failed"}))
def test_only_failures_are_booked_as_failures(board: Board, outcome: str) -> None:
    run = claim(board, add(board).id)
    with pytest.raises(ValueError, match="is no failure"):
        board.fail(run.id, outcome=outcome, error="e")


def test_a_long_error_is_whole_in_the_run_alone(board: Board) -> None:
    run = claim(board, add(board, "ready", max_retries=1).id)
    assert board.fail(run.id, outcome="crashed", error="x" * 2_000)
    closed, card = board.run(run.id), again(board, run.card)
    assert closed is not None
    assert closed.error == "x" * 2_000
    assert card.last_error == card.block_reason == "x" * 500


# --- what waits -------------------------------------------------------------------------------------------------------


def test_a_child_waits_for_all_its_parents(board: Board) -> None:
    one, two = add(board), add(board)
    child = board.add("c", profile="p", parents=[two.id, one.id, one.id])
    assert child.status is Status.TODO
    assert board.parents(child.id) == sorted([one.id, two.id])
    assert board.children(one.id) == [child.id]
    assert board.complete(one.id)
    assert again(board, child.id).status is Status.TODO
    assert [event.kind for event in board.events(child.id)] == ["created"]
    assert board.recompute() == []
    assert board.complete(two.id)
    assert again(board, child.id).status is Status.READY
    assert board.events(child.id)[-1].payload == {"from": "todo", "to": "ready"}


@pytest.mark.parametrize("verb, free", [("complete", True), ("archive", False)])
def test_only_a_parent_that_was_done_lets_go(board: Board, verb: str, free: bool) -> None:
    """An archived card lets its children go when it was done before, and else keeps them."""
    parent = add(board)
    child = board.add("c", profile="p", parents=[parent.id])
    assert VERBS[verb](board, parent.id, "")
    board.archive(parent.id)
    later = board.add("c", profile="p", parents=[parent.id])
    assert (later.status is Status.READY) is free
    board.recompute()
    assert (again(board, child.id).status is Status.READY) is free
    if free:
        assert board.block(child.id, kind="dependency", reason="r")
        assert board.recompute() == [child.id]


def test_a_parent_that_is_done_again_is_waited_for(board: Board) -> None:
    parent = add(board)
    child = board.add("c", profile="p", parents=[parent.id], phase="review")
    assert board.complete(parent.id)
    assert again(board, child.id).status is Status.REVIEW
    assert board.retry(parent.id)
    assert try_to_claim(board, child.id) is None
    assert again(board, child.id).status is Status.TODO
    assert board.events(child.id)[-1].kind == "dependency_wait"
    assert board.events(child.id)[-1].payload == {"open": [parent.id]}
    assert board.runs(child.id) == []


@pytest.mark.parametrize("verb, status", [("unblock", "blocked"), ("retry", "triage")])
def test_going_on_does_not_jump_the_queue(board: Board, verb: str, status: str) -> None:
    parent = add(board)
    child = add(board, status, parents=[parent.id])
    assert VERBS[verb](board, child.id, "")
    assert again(board, child.id).status is Status.TODO


def test_a_scheduled_card_waits_for_its_time(board: Board) -> None:
    card = board.add("c", profile="p", at=NOW + 60, phase="review", now=NOW)
    assert card.status is Status.SCHEDULED
    assert board.recompute(NOW + 59) == []
    assert board.recompute(NOW + 60) == [card.id]
    assert again(board, card.id).status is Status.REVIEW


def test_a_scheduled_card_waits_for_its_parents_too(board: Board) -> None:
    parent = add(board)
    card = board.add("c", profile="p", at=NOW + 60, parents=[parent.id], now=NOW)
    assert board.recompute(NOW + 60) == [card.id]
    assert again(board, card.id).status is Status.TODO
    assert board.complete(parent.id)
    assert again(board, card.id).status is Status.READY


# --- lists ------------------------------------------------------------------------------------------------------------


def test_the_order_of_what_is_ready(board: Board) -> None:
    late = add(board, now=NOW + 2)
    early = add(board, "review", now=NOW + 1)
    urgent = add(board, "ready", now=NOW + 3, priority=5)
    add(board, "running")
    add(board, "blocked")
    other = board.add("c", profile="other", priority=9, now=NOW)
    assert [card.id for card in board.ready(10)] == [other.id, urgent.id, early.id, late.id]
    assert [card.id for card in board.ready(2)] == [other.id, urgent.id]
    assert [card.id for card in board.ready(2, without=["other"])] == [urgent.id, early.id]
    assert board.counts() == {"ready": 3, "review": 1, "running": 1, "blocked": 1}
    assert [card.id for card in board.cards(profile="other")] == [other.id]
    assert [card.id for card in board.cards(status="review")] == [early.id]
    assert len(board.cards(limit=4)) == 4


def test_open_runs(board: Board) -> None:
    first, second = claim(board, add(board).id), claim(board, add(board).id, now=NOW + 100)
    assert board.complete(add(board).id)
    assert [run.id for run in board.open_runs()] == [first.id, second.id]
    assert board.open_runs("elsewhere") == []


def test_the_exit_of_a_supervisor_is_written_once(board: Board) -> None:
    run = claim(board, add(board).id)
    assert board.exited(run.id, 143)
    assert not board.exited(run.id, 0)
    found = board.run(run.id)
    assert found is not None
    assert found.supervisor_exit == 143
    check(board)


def test_a_note_changes_nothing_else(board: Board) -> None:
    card = add(board)
    before = dump(board)
    assert board.note(card.id, "settings_ignored", {"names": ["model"]}, now=NOW)
    after = dump(board)
    assert after.pop("events") != before.pop("events")
    assert after == before
    assert board.events(card.id)[-1].payload == {"names": ["model"]}


# --- what a card may be -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values, message",
    [
        ({"title": " "}, "needs a title"),
        ({"profile": ""}, "needs a title and a profile"),
        ({"workspace": "/a", "repo": "/b"}, "not in both"),
        ({"phase": "done"}, "the phase of a card is one of ready, review"),
        ({"status": "running"}, "a new card cannot be 'running'"),
        ({"status": "done"}, "a new card cannot be 'done'"),
        ({"status": "scheduled"}, "a scheduled card needs a time"),
        ({"max_runtime": 0.0}, "max_runtime"),
        ({"max_runtime": float("nan")}, "max_runtime"),
        ({"at": float("inf")}, "at: inf"),
        ({"max_retries": -1}, "max_retries"),
        ({"priority": 10**30}, "priority: it has to be from -1000000000 to 1000000000"),
        ({"parents": ["c-nowhere"]}, "there is no card 'c-nowhere'"),
    ],
)
def test_a_card_that_cannot_be(board: Board, values: dict[str, Any], message: str) -> None:
    before = dump(board)
    with pytest.raises(BoardError, match=message):
        board.add(**{"title": "t", "profile": "p", **values})
    assert dump(board) == before


HOSTILE = "\x1b[2J\0 \udcff \U0001f600 '; DROP TABLE cards; -- %s {x}"


def test_any_text_can_be_written(board: Board) -> None:
    card = board.add(HOSTILE, profile="p", body=HOSTILE, settings={"model": HOSTILE})
    assert card.title == card.body == "\x1b[2J\\x00 \\udcff \U0001f600 '; DROP TABLE cards; -- %s {x}"
    assert card.settings == {"model": HOSTILE}
    assert board.card(card.id) == card
    run = claim(board, card.id)
    assert board.block(card.id, run=run.id, reason=HOSTILE, metadata={"a": HOSTILE})
    assert again(board, card.id).block_reason == card.title


def test_names_of_cards_sort_by_age(board: Board) -> None:
    names = [add(board, now=NOW + count / 100).id for count in range(40)]
    assert sorted(names) == names
    assert all(len(name) == 12 and name.startswith("c-") for name in names)
