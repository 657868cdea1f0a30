# SPDX-License-Identifier: Apache-2.0
"""The policy of the supervisor, as a table: how an attempt ended, and what follows."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis.strategies import sampled_from, text

from shellguard.workers import resume
from shellguard.workers.resume import (
    EXIT_STATUS,
    PRESETS,
    REASONS,
    End,
    Observation,
    Result,
    argv_for,
    end_of,
    follows,
)

ENDS = [
    # status, marker, bare, expected
    (0, False, False, End.SUCCESS),
    (0, True, False, End.SUCCESS),
    (130, True, False, End.APPROVAL_ABORT),
    (-2, True, False, End.APPROVAL_ABORT),
    (3221225786, True, False, End.APPROVAL_ABORT),
    (-1073741510, True, False, End.APPROVAL_ABORT),
    (130, False, False, End.INTERRUPTED),
    (-2, False, False, End.INTERRUPTED),
    (130, False, True, End.APPROVAL_ABORT),
    (-2, False, True, End.APPROVAL_ABORT),
    (93, False, False, End.DEFERRED),
    (93, True, True, End.DEFERRED),
    (1, True, True, End.FAILURE),
    (75, True, False, End.FAILURE),
    (78, True, False, End.FAILURE),
    (127, True, False, End.FAILURE),
    (143, True, False, End.CRASH),
    (-15, True, True, End.CRASH),
    (-9, True, True, End.CRASH),
    (-11, True, False, End.CRASH),
    (137, True, False, End.CRASH),
    (None, False, False, End.NOT_STARTED),
]


@pytest.mark.parametrize("status, marker, bare, expected", ENDS)
def test_how_an_attempt_ended(status: int | None, marker: bool, bare: bool, expected: str) -> None:
    assert end_of(Observation(status, marker), bare_interrupt=bare) == expected


def test_what_the_supervisor_did_itself_comes_first() -> None:
    assert end_of(Observation(130, True, stopped=True)) == End.INTERRUPTED
    assert end_of(Observation(-15, True, timed_out=True)) == End.TIMEOUT
    assert end_of(Observation(0, requests=("1",))) == End.DEFERRED
    assert end_of(Observation(7), deferred_status=7) == End.DEFERRED


@pytest.mark.parametrize(
    "end, changed, aborts, action, result, reason",
    [
        (End.SUCCESS, True, 0, "stop", Result.WORKER_SUCCESS, None),
        (End.APPROVAL_ABORT, True, 1, "resume", None, None),
        (End.APPROVAL_ABORT, True, 2, "commit", None, None),
        (End.APPROVAL_ABORT, False, 1, "stop", Result.NO_PROGRESS, "unchanged"),
        (End.APPROVAL_ABORT, False, 2, "stop", Result.NO_PROGRESS, "unchanged"),
        (End.DEFERRED, True, 0, "stop", Result.DEFERRED, "requests-waiting"),
        (End.INTERRUPTED, True, 0, "stop", Result.INTERRUPTED, "interrupted-without-marker"),
        (End.TIMEOUT, True, 1, "stop", Result.TIMED_OUT, "timeout"),
        (End.FAILURE, True, 1, "stop", Result.HARD_FAILURE, "exit-7"),
        (End.CRASH, True, 1, "stop", Result.HARD_FAILURE, "exit-7"),
        (End.NOT_STARTED, False, 0, "stop", Result.HARD_FAILURE, "spawn-failed"),
    ],
)
def test_what_follows(
    end: str, changed: bool, aborts: int, action: str, result: str | None, reason: str | None
) -> None:
    step = follows(end, Observation(7, changed=changed), aborts)
    assert (step.action, step.result, step.reason) == (action, result, reason)
    assert reason is None or reason in REASONS or reason.startswith(("exit-", "signal-"))


def test_nothing_but_an_approval_abort_is_resumed_or_committed() -> None:
    """Every status of an interrupt and some others, with everything that a supervisor may see beside it."""
    actions = set()
    statuses = (None, *resume.INTERRUPTED, -64, -9, -1, 0, 1, 2, 93, 128, 129, 131, 137, 255)
    for status, aborts in product(statuses, range(1, 6)):
        for marker, changed, timed_out, stopped, bare in product((False, True), repeat=5):
            seen = Observation(status, marker, (), changed, timed_out, stopped)
            step = follows(end_of(seen, bare_interrupt=bare), seen, aborts)
            actions.add(step.action)
            if step.action != "stop":
                assert status in resume.INTERRUPTED
                assert marker or bare
                assert changed
                assert not timed_out
                assert not stopped
                assert (step.action == "commit") == (aborts >= 2)
            else:
                assert step.result in EXIT_STATUS
    assert actions == {"stop", "resume", "commit"}


@given(session=text(), agent=sampled_from(sorted(PRESETS)))
def test_the_session_is_one_word_and_the_subject_one_line(session: str, agent: str) -> None:
    words = argv_for(("x",), 2, PRESETS[agent], session)
    assert words == ("x", PRESETS[agent][0], session)
    assert argv_for(("x",), 1, PRESETS[agent], session) == ("x",)
    assert "\n" not in resume.subject(session, 1, 2)


def test_the_subject() -> None:
    expected = "[foreman] resume commit for session S1 step 4 (worker aborted x2, exit 130)"
    assert resume.subject("S1", 4, 2) == expected
