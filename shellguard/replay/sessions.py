# SPDX-License-Identifier: Apache-2.0
"""Recorded calls through the guard: what it would have said, where it would have stopped a loop, and what that saves.

A call that the guard refuses did run when it was recorded. For the guard it did not: its result is not told, so what
follows is what would have followed.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from shellguard.guard import GuardConfig, State, ToolCall, ToolResult, step
from shellguard.guard.command import read_command
from shellguard.guard.model import ALLOW, BLOCK, HALT, WARN, Decision
from shellguard.guard.observe import event_after, event_before, event_of_turn
from shellguard.transcripts.model import Call

MOST_RUNS = 4_096
"""Runs of one unit that are followed at the same time; the one that was longest without a call is forgotten first."""

MOST_SIGNATURES = 4_096
"""Different calls of one run that are counted."""

LONGEST_GAP = 600.0
"""Seconds between two calls that count as the agent's time: more than that is a person who was away."""

STEP = 1.0
"""Seconds between two calls of a record without times."""

LOOP_CODES = (
    "no_progress",
    "identical_result",
    "exact_failure",
    "cycle",
    "same_failure",
    "same_tool_failure",
    "streak",
)


@dataclass(slots=True)
class Loop:
    """A call, or calls, that went round: `count` executions, of which the one numbered `stopped_at` would have been the
    first that is refused. `saved_calls` would not have happened; `saved_seconds` is the time up to the next call."""

    source: str
    session: str
    agent: str
    tool: str
    call_class: str
    code: str
    turn: int | None
    index: int
    count: int
    command: str = ""
    stopped_at: int | None = None
    saved_calls: int = 0
    saved_seconds: float = 0.0
    truncated: bool = False

    def as_mapping(self) -> dict[str, Any]:
        """The loop as the contract has it, and more."""
        return {
            "session": self.session,
            "tool": self.tool,
            "class": self.call_class,
            "count": self.count,
            "stopped_at": self.stopped_at,
            "saved_calls": self.saved_calls,
            "saved_seconds": round(self.saved_seconds, 3),
            "source": self.source,
            "agent": self.agent,
            "turn": self.turn,
            "index": self.index,
            "code": self.code,
            "command": self.command,
            "truncated": self.truncated,
        }


@dataclass(slots=True)
class Said:
    """What the guard says of one call: before it ran, or of its result.

    `saved` is whether it would not have run, `head` the program that the command is about.
    """

    action: str
    code: str
    count: int
    call_class: str
    signature: str
    saved: bool
    head: str = ""


@dataclass(slots=True)
class _Run:
    """One run while it is read."""

    state: State = field(default_factory=State)
    turn: int | None = None
    at: float = 0.0
    calls: int = 0
    turns: int = 0
    asked: bool = False
    seen: OrderedDict[str, int] = field(default_factory=OrderedDict)
    loops: dict[str, Loop] = field(default_factory=dict)
    ended: Loop | None = None
    saved: Loop | None = None
    saved_at: float | None = None
    saved_elapsed: float | None = None


class Sessions:
    """The guard over the runs of a unit. `loops` are those found so far, in the order in which they were stopped."""

    def __init__(self, config: GuardConfig) -> None:
        self.config = config
        self.loops: list[Loop] = []
        self._runs: OrderedDict[tuple[str, str, str], _Run] = OrderedDict()
        self._shells = config.book.shells

    def call(self, call: Call) -> Said:
        """The next call of its run."""
        said = self._call(call)
        if call.command is not None:
            said.head = read_command(call.command).head
        return said

    def _call(self, call: Call) -> Said:
        key = (call.source, call.session, call.agent)
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = _Run()
            if len(self._runs) > MOST_RUNS:
                _, oldest = self._runs.popitem(last=False)
                _end_of_saving(oldest, None)
        else:
            self._runs.move_to_end(key)
        self._turn(call, run)
        at = run.at + STEP if call.started_at is None else max(run.at, call.started_at)
        run.at = at
        run.calls += 1
        _end_of_saving(run, call.started_at)
        tool_call = self._tool_call(call, at)
        before = event_before(tool_call, self.config, at)
        run.state, decision = step(run.state, before, self.config)
        signature = decision.signature
        executed = run.seen.pop(signature, 0) + 1
        run.seen[signature] = executed
        if len(run.seen) > MOST_SIGNATURES:
            run.seen.popitem(last=False)
        loop = run.loops.get(signature)
        if loop is not None:
            loop.count += 1
        if decision.action in (BLOCK, HALT):
            self._refused(call, run, decision, executed)
            return Said(decision.action, decision.code, decision.count, decision.call_class, signature, True)
        said = decision if decision.action == WARN else None
        if call.result is not None or call.result_sha256 is not None:
            ended = at if call.elapsed is None else at + call.elapsed
            run.at = max(run.at, ended)
            result = ToolResult(
                call.result,
                call.failed,
                call.exit_code,
                call.elapsed,
                "" if call.result is not None else call.result_sha256 or "",
                ended,
            )
            event = event_after(tool_call, result, self.config, ended, before=before)
            run.state, after = step(run.state, event, self.config)
            if after.action != ALLOW:
                said = after
        if said is None:
            return Said(ALLOW, ALLOW, 0, decision.call_class, signature, False)
        if said.action == HALT:
            run.ended = self._loop(call, run, said, said.count)
            run.ended.stopped_at = said.count + 1
        elif not self.config.stops and any(code in said.code for code in LOOP_CODES):
            self._loop(call, run, said, executed)
        return Said(said.action, said.code, said.count, said.call_class, signature, False)

    def end(self) -> None:
        """No call follows."""
        for run in self._runs.values():
            _end_of_saving(run, None)

    def _turn(self, call: Call, run: _Run) -> None:
        if call.turn is None or call.turn == run.turn:
            return
        # Where it is not said what `turn` counts, a session of about one call a turn counts the replies of the model.
        counts = not call.counts_replies or run.calls >= 2 * max(run.turns, 1)
        if run.turn is not None and counts:
            _end_of_saving(run, None)
            run.state, _ = step(run.state, event_of_turn(call.prompt, run.at), self.config)
            run.ended = None
            if not run.state.entries:
                run.seen.clear()
                run.loops.clear()
        run.turn = call.turn
        run.turns += 1

    def _tool_call(self, call: Call, at: float) -> ToolCall:
        if call.command is None:
            return ToolCall(call.tool, call.args, "", call.session, call.agent, call.cwd, at, call.group)
        argument = self._shells.get(call.tool.lower())
        tool, argument = (call.tool, argument) if argument is not None else ("bash", "command")
        return ToolCall(
            tool, {argument: call.command}, "", call.session, call.agent, call.cwd, at, call.group
        )

    def _refused(self, call: Call, run: _Run, decision: Decision, executed: int) -> None:
        """A call that would not have happened: it belongs to its own loop, or to the one that ended the turn."""
        if run.ended is not None:
            loop = run.ended
            loop.count += 1
        else:
            loop = self._loop(call, run, decision, executed)
            if decision.action == HALT:
                run.ended = loop
        if loop.stopped_at is None:
            loop.stopped_at = executed
        loop.saved_calls += 1
        loop.truncated = loop.truncated or call.truncated
        run.saved, run.saved_at, run.saved_elapsed = loop, call.started_at, call.elapsed

    def _loop(self, call: Call, run: _Run, decision: Decision, count: int) -> Loop:
        loop = run.loops.get(decision.signature)
        if loop is None:
            loop = run.loops[decision.signature] = Loop(
                call.source,
                call.session,
                call.agent,
                call.tool,
                decision.call_class,
                decision.code,
                call.turn,
                call.index,
                count,
                call.command or "",
            )
            self.loops.append(loop)
        return loop


def _end_of_saving(run: _Run, at: float | None) -> None:
    """The time of a saved call is known when the next one begins, or when none does."""
    loop = run.saved
    if loop is None:
        return
    elapsed = run.saved_elapsed or 0.0
    if at is not None and run.saved_at is not None and at >= run.saved_at:
        elapsed = max(elapsed, min(at - run.saved_at, elapsed + LONGEST_GAP))
    loop.saved_seconds += elapsed
    run.saved = None
