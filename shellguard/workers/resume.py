# SPDX-License-Identifier: Apache-2.0
"""How an attempt of a worker ended, and what follows. The policy of `shellguard supervise`, as pure functions.

130 from a shell, -2 from waitpid and 0xC000013A on Windows are one class: the worker was interrupted. Nothing in the
number says by whom, so it counts as an approval abort only where the checkpoint before the gate left its marker.
"""

from __future__ import annotations

from dataclasses import dataclass

INTERRUPTED = frozenset({130, -2, 0xC000013A, 0xC000013A - (1 << 32)})
"""Exit statuses of an interrupted worker, as a shell, waitpid and Windows (unsigned and signed) have them."""

MAX_ABORTS = 2


class End:
    """How an attempt ended."""

    SUCCESS = "success"
    APPROVAL_ABORT = "approval-abort"
    DEFERRED = "deferred"
    INTERRUPTED = "interrupted"
    FAILURE = "failure"
    CRASH = "crash"
    TIMEOUT = "timeout"
    NOT_STARTED = "not-started"


class Result:
    """What a supervisor says at the end."""

    WORKER_SUCCESS = "worker-success"
    NO_PROGRESS = "no-progress"
    HARD_FAILURE = "hard-failure"
    COMMITTED = "committed"
    NOT_COMMITTED = "not-committed"
    DEFERRED = "deferred"
    INTERRUPTED = "interrupted"
    TIMED_OUT = "timed-out"


EXIT_STATUS = {
    Result.WORKER_SUCCESS: 0,
    Result.COMMITTED: 0,
    Result.HARD_FAILURE: 1,
    Result.NO_PROGRESS: 3,
    Result.NOT_COMMITTED: 4,
    Result.DEFERRED: 93,
    Result.TIMED_OUT: 124,
    Result.INTERRUPTED: 130,
}
"""The exit status of `shellguard supervise` for each result; 2 is wrong usage."""

REASONS = {
    "no-changes": "there is nothing that HEAD does not have",
    "tree-drifted": "somebody else changed the files or the index after the worker had left",
    "compile-failed": "what the worker left does not pass its check",
    "compiler-missing": "what checks the language is not installed",
    "head-moved": "HEAD names another commit than when the worker left",
    "merge-in-progress": "a merge, rebase, cherry-pick, revert or bisection is under way, or the index holds conflicts",
    "index-locked": "another git process holds the index",
    "hook-failed": "a hook of the repository refuses the commit",
    "commit-failed": "git could not make the commit",
    "no-repository": "there is no git work tree to commit to",
    "not-saved": "the files could not be saved whole",
    "unchanged": "the attempt left the files as it found them",
    "interrupted-without-marker": "the worker was interrupted, and no approval was pending",
    "interrupted-supervisor": "the supervisor was told to stop",
    "locked": "another supervisor works on this tree",
    "spawn-failed": "the worker could not be started",
    "timeout": "an attempt took too long",
    "requests-waiting": "commands of the worker wait for a person",
    "out-of-space": "the state of the supervisor could not be written",
}
"""Codes of reasons; `exit-N` and `signal-N` are the others."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What was seen of one attempt, and nothing that was concluded.

    `status` is that of waitpid: negative for a signal; None when it was not started. `marker`: a checkpoint of this
    attempt has a command that waits. `requests`: commands of it were deferred. `changed`: files or HEAD are not as the
    attempt found them. `timed_out`, `stopped`: the supervisor ended it, for the time or because it was told to stop.
    """

    status: int | None
    marker: bool = False
    requests: tuple[str, ...] = ()
    changed: bool = False
    timed_out: bool = False
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What follows: `action` is `resume`, `commit` or `stop`; with `stop` the result and the code of its reason."""

    action: str
    result: str | None = None
    reason: str | None = None


def end_of(seen: Observation, *, deferred_status: int = 93, bare_interrupt: bool = False) -> str:
    """How an attempt ended, as one of `End`.

    `bare_interrupt`: an interrupted worker counts as stopped by an approval without a marker (`--abort-on exit-130`).
    """
    if seen.stopped:
        return End.INTERRUPTED
    if seen.timed_out:
        return End.TIMEOUT
    if seen.status is None:
        return End.NOT_STARTED
    if seen.status == deferred_status:
        return End.DEFERRED
    if seen.status in INTERRUPTED:
        return End.APPROVAL_ABORT if seen.marker or bare_interrupt else End.INTERRUPTED
    if seen.status == 0:
        return End.DEFERRED if seen.requests else End.SUCCESS
    return End.CRASH if seen.status < 0 or 128 < seen.status <= 192 else End.FAILURE


def follows(end: str, seen: Observation, aborts: int, max_aborts: int = MAX_ABORTS) -> Step:
    """What follows an attempt. `aborts` counts the approval aborts so far, this one with them."""
    if end == End.SUCCESS:
        return Step("stop", Result.WORKER_SUCCESS, None)
    if end == End.DEFERRED:
        return Step("stop", Result.DEFERRED, "requests-waiting")
    if end == End.TIMEOUT:
        return Step("stop", Result.TIMED_OUT, "timeout")
    if end == End.INTERRUPTED:
        reason = "interrupted-supervisor" if seen.stopped else "interrupted-without-marker"
        return Step("stop", Result.INTERRUPTED, reason)
    if end == End.NOT_STARTED:
        return Step("stop", Result.HARD_FAILURE, "spawn-failed")
    if end != End.APPROVAL_ABORT:
        status = 0 if seen.status is None else seen.status
        return Step("stop", Result.HARD_FAILURE, f"signal-{-status}" if status < 0 else f"exit-{status}")
    if not seen.changed:
        return Step("stop", Result.NO_PROGRESS, "unchanged")
    if aborts < max_aborts:
        return Step("resume")
    return Step("commit")


def subject(session: str, step: int, aborts: int) -> str:
    """The first line of the commit that the foreman makes."""
    shown = " ".join("".join(char if char.isprintable() else " " for char in session).split())
    return f"[foreman] resume commit for session {shown} step {step} (worker aborted x{aborts}, exit 130)"


PRESETS = {
    "hermes": ("--resume", "{session}"),
    "claude": ("--resume", "{session}"),
    "codex": ("resume", "{session}"),
}
"""What is appended to a worker's words from the second attempt on, for agents that are known."""


def argv_for(
    argv: tuple[str, ...], attempt: int, resume_args: tuple[str, ...], session: str
) -> tuple[str, ...]:
    """The words of an attempt. `{session}` in `resume_args` is the session; nothing else is expanded, by no shell."""
    if attempt <= 1:
        return argv
    return (*argv, *(word.replace("{session}", session) for word in resume_args))
