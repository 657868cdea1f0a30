# SPDX-License-Identifier: Apache-2.0
"""Sequences of calls in few words, and what the guard says to them.

A sequence is a list of `Call`, `Turn` and lists of `Call` (one reply of the model). `play` asks before each call,
leaves out those that are refused, and gives the result of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from shellguard.guard import Controller, Decision, GuardConfig, ToolCall, ToolResult


@dataclass(frozen=True)
class Call:
    """`tool` with `args` gives `result`; a result of `...` never comes."""

    tool: str
    args: dict[str, Any]
    result: object = "same"
    failed: bool | None = None
    exit_code: int | None = None
    seconds: float = 2.0
    group: str = ""


@dataclass(frozen=True)
class Hash:
    """A result of which the host has the hash only."""

    sha256: str


@dataclass(frozen=True)
class Turn:
    text: str | None = None


Step = Call | Turn | list[Call]


def sh(command: str, result: object = "", exit_code: int = 0, seconds: float = 2.0, **more: Any) -> Call:
    """A call of the terminal."""
    return Call("terminal", {"command": command, **more}, result, None, exit_code, seconds)


@dataclass(frozen=True)
class Seen:
    """What was said to one call: before it, and, where it ran, after it."""

    call: Call
    before: Decision
    after: Decision | None

    @property
    def ran(self) -> bool:
        return self.before.allows

    @property
    def actions(self) -> set[str]:
        return {self.before.action} | ({self.after.action} if self.after else set())


def config(**values: Any) -> GuardConfig:
    """The defaults with hard stops, and changes by attribute."""
    return GuardConfig({"hard_stop_enabled": True}).changed(**values)


def _flat(steps: Iterable[Step]) -> Iterator[Call | Turn]:
    for number, step in enumerate(steps):
        if isinstance(step, list):
            for call in step:
                yield replace(call, group=f"reply {number}")
        else:
            yield step


def play(
    steps: Iterable[Step], settings: GuardConfig | None = None, guard: Controller | None = None
) -> list[Seen]:
    """What the guard says to each call of a sequence."""
    guard = guard or Controller(settings or config(), clock=lambda: 0.0)
    now = 1_000_000.0
    seen: list[Seen] = []
    for number, step in enumerate(_flat(steps)):
        if isinstance(step, Turn):
            guard.new_turn(step.text, at=now)
            continue
        call = ToolCall(step.tool, step.args, call_id=f"call {number}", started_at=now, group=step.group)
        before = guard.before(call)
        now += step.seconds
        after = None
        if before.allows and step.result is not ...:
            digest = step.result.sha256 if isinstance(step.result, Hash) else ""
            content = None if digest else step.result
            result = ToolResult(content, step.failed, step.exit_code, step.seconds, digest, ended_at=now)
            after = guard.after(call, result)
        seen.append(Seen(step, before, after))
    return seen


def first(seen: list[Seen], *actions: str) -> int:
    """The number of the first call, from 1, to which one of these actions was given; 0 where none was."""
    for number, each in enumerate(seen, 1):
        if each.actions & set(actions):
            return number
    return 0


def stopped(seen: list[Seen]) -> int:
    """The number of the first call that was refused or ended the turn; 0 where none did."""
    return first(seen, "block", "halt")


def warned(seen: list[Seen]) -> int:
    """The number of the first call with a warning; 0 where there is none."""
    return first(seen, "warn")
