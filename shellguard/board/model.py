# SPDX-License-Identifier: Apache-2.0
"""What is on a board: cards, the runs of a card, and the events that say how it came to be.

A card is `running` exactly while it has a `current_run`, and that run is its only open one. Times are seconds since the
epoch. A process is named by one text, `BOOT:PID:START`, so that a number that is used again is not taken for it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

from shellguard.errors import ShellguardError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class BoardError(ShellguardError):
    """A board that cannot be used, or a card that cannot be as asked. `str()` says why, and never holds a password."""


class BoardUnavailableError(BoardError):
    """The board did not answer. Nothing is known to have been written; the same call may succeed later."""


class Status(StrEnum):
    """Where a card stands."""

    TRIAGE = "triage"  # somebody has to look at it
    TODO = "todo"  # waits for other cards
    SCHEDULED = "scheduled"  # waits for a time
    READY = "ready"
    RUNNING = "running"
    BLOCKED = "blocked"
    REVIEW = "review"  # ready, in the lane of reviews
    DONE = "done"
    ARCHIVED = "archived"


LANES = (Status.READY, Status.REVIEW)
"""Where a card is taken from, and what a retry restores: the phases of a card."""


class BlockKind(StrEnum):
    """What a blocked card lacks. None where it is none of these."""

    DEPENDENCY = "dependency"
    NEEDS_INPUT = "needs_input"
    CAPABILITY = "capability"
    TRANSIENT = "transient"


class Outcome(StrEnum):
    """How a run ended. Its status is the same word, and `running` before."""

    COMPLETED = "completed"
    BLOCKED = "blocked"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    SPAWN_FAILED = "spawn_failed"
    GAVE_UP = "gave_up"
    RECLAIMED = "reclaimed"


FAILURES = (Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.SPAWN_FAILED)
"""What the dispatcher alone books, and what counts towards the limit."""


class EventKind(StrEnum):
    """What happened to a card."""

    CREATED = "created"
    PROMOTED = "promoted"
    CLAIMED = "claimed"
    STARTED = "started"
    HEARTBEAT = "heartbeat"
    COMPLETED = "completed"
    BLOCKED = "blocked"
    UNBLOCKED = "unblocked"
    RETRIED = "retried"
    ARCHIVED = "archived"
    RECLAIMED = "reclaimed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    SPAWN_FAILED = "spawn_failed"
    GAVE_UP = "gave_up"
    TORN_DOWN = "torn_down"
    SETTINGS_IGNORED = "settings_ignored"
    DEPENDENCY_WAIT = "dependency_wait"
    BLOCK_LOOP_DETECTED = "block_loop_detected"


DEFAULT_LIMIT = 2
"""Failures in a row after which a card is blocked, where neither the card nor its profile says another number."""

MAX_ERROR = 500
"""Characters of an error that a card remembers; its run has all of it."""


def pid_of(identity: str | None) -> int | None:
    """The process number in `BOOT:PID:START`."""
    if identity is None:
        return None
    return int(identity.split(":")[1])


@dataclass(frozen=True, slots=True)
class Card:
    """A piece of work. A retry restores its `phase`; `settings` are for agents; `request` names an approval."""

    id: str
    title: str
    body: str
    profile: str
    status: Status
    phase: Status
    priority: int
    created_at: float
    updated_at: float
    started_at: float | None
    completed_at: float | None
    scheduled_at: float | None
    workspace: str | None
    repo: str | None
    max_runtime: float | None
    max_retries: int | None
    settings: dict[str, Any]
    consecutive_failures: int
    block_kind: BlockKind | None
    block_recurrences: int
    block_reason: str | None
    request: str | None
    current_run: str | None
    claim_expires: float | None
    last_error: str | None
    result: str | None

    def as_object(self) -> dict[str, Any]:
        """The card as JSON has it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt at a card. `frozen` is what is executed; `supervisor`, `child` and `keeper` are processes."""

    id: str
    card: str
    attempt: int
    profile: str
    phase: Status
    status: str
    outcome: Outcome | None
    exit_code: int | None
    error: str | None
    summary: str | None
    metadata: dict[str, Any] | None
    host: str
    dispatcher: str
    claimed_at: float
    claim_expires: float
    heartbeat_at: float | None
    started_at: float | None
    ended_at: float | None
    max_runtime: float | None
    frozen: dict[str, Any]
    supervisor: str | None
    supervisor_exit: int | None
    child: str | None
    keeper: str | None
    workspace: str | None
    log: str | None

    @property
    def supervisor_pid(self) -> int | None:
        return pid_of(self.supervisor)

    @property
    def child_pid(self) -> int | None:
        return pid_of(self.child)

    @property
    def keeper_pid(self) -> int | None:
        return pid_of(self.keeper)

    def as_object(self) -> dict[str, Any]:
        """The run as JSON has it, with the numbers of the processes."""
        return {**asdict(self), "supervisor_pid": self.supervisor_pid, "child_pid": self.child_pid}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. `id` grows with time."""

    id: int
    card: str
    run: str | None
    kind: EventKind
    payload: dict[str, Any]
    at: float

    def as_object(self) -> dict[str, Any]:
        """The event as JSON has it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class History:
    """A card with all that belongs to it, as it was at one moment."""

    card: Card
    parents: tuple[str, ...]
    children: tuple[str, ...]
    runs: tuple[Run, ...]
    events: tuple[Event, ...]

    def as_object(self) -> dict[str, Any]:
        """What `cards show --json` prints."""
        return {
            **self.card.as_object(),
            "parents": list(self.parents),
            "children": list(self.children),
            "runs": [run.as_object() for run in self.runs],
            "events": [event.as_object() for event in self.events],
        }
