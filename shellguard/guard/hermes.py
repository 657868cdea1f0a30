# SPDX-License-Identifier: Apache-2.0
"""The guard behind the names that the controller of Hermes has, so that its harness can swap it in.

Source: NousResearch/hermes-agent, `agent/tool_guardrails.py` @06c25ac90be8. What its tests pin is a test of ours by
name (`tests/guard/test_hermes.py`). Other than there, one result gets one text: where `after_call` has spoken,
`observe_call` adds a stub but no notice.
"""

from __future__ import annotations

from shellguard.guard.config import GuardConfig
from shellguard.guard.events import RESERVE, Event
from shellguard.guard.keys import NEVER
from shellguard.guard.model import ALLOW, BLOCK, HALT, WARN, ToolCall, ToolResult
from shellguard.guard.observe import event_after, event_before
from shellguard.guard.steps import step
from shellguard.guard.window import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shellguard.guard.model import Decision

STUB_LENGTH = 512
"""Characters from which an equal result is replaced by a reference."""
PREVIEW_LENGTH = 120
NOTICES = {"identical_call_streak": "identical_call_streak", "tool_call_cycle_warning": "identical_cycle"}
"""Code of a warning, and the kind of notice it is there."""


class ToolGuardrailDecision:
    """A decision by the names it has there. `to_metadata` holds no argument of the call."""

    __slots__ = ("action", "code", "count", "message", "period", "signature", "tool_name")

    def __init__(self, decision: Decision, tool_name: str) -> None:
        self.action, self.code, self.message = decision.action, decision.code, decision.text
        self.tool_name, self.count, self.signature = tool_name, decision.count, decision.signature
        self.period = decision.period

    @property
    def allows_execution(self) -> bool:
        """Whether the call may run."""
        return self.action in (ALLOW, WARN)

    @property
    def should_halt(self) -> bool:
        """Whether the turn ends."""
        return self.action in (BLOCK, HALT)

    def to_metadata(self) -> dict[str, Any]:
        """The decision as JSON has it."""
        found: dict[str, Any] = {
            "action": self.action,
            "code": self.code,
            "message": self.message,
            "tool_name": self.tool_name,
            "count": self.count,
            "signature": {"tool_name": self.tool_name, "args_hash": self.signature},
        }
        if self.period:
            found["period"] = self.period
        return found


class IdenticalCallObservation:
    """What is to be done with an observed result: a `notice` of some `kind` behind it, a `stub` in its place."""

    __slots__ = ("kind", "notice", "stub")

    def __init__(self, notice: str | None, kind: str | None, stub: str | None) -> None:
        self.notice, self.kind, self.stub = notice, kind, stub


class SubagentSpawnReservation:
    """Places for sub-agents that are charged when the children are really built; given back when it is left."""

    __slots__ = ("_controller", "_open", "count")

    def __init__(self, count: int, controller: ToolCallGuardrailController) -> None:
        self.count, self._controller, self._open = count, controller, True

    def commit(self, actual_count: int | None = None) -> int:
        """Charges what was built, and gives the rest back. Raises ValueError for more than was reserved."""
        actual = self.count if actual_count is None else actual_count
        if not self._open or not 0 <= actual <= self.count:
            raise ValueError(f"between 0 and {self.count} sub-agents can be charged, once")
        self._close(actual)
        return actual

    def rollback(self) -> None:
        """Gives all places back."""
        if self._open:
            self._close(0)

    def _close(self, started: int) -> None:
        self._open = False
        self._controller._reserve(-self.count, started)

    def __enter__(self) -> SubagentSpawnReservation:
        return self

    def __exit__(self, *_error: object) -> None:
        self.rollback()


class ToolCallGuardrailController:
    """One turn after the other of one agent. `config` is the preset `hermes` where none is given."""

    def __init__(self, config: GuardConfig | None = None, *, platform: str = "") -> None:
        self.config = GuardConfig({"preset": "hermes"}, platform) if config is None else config
        # There two methods are called for one result. Each has its own state: one counts, one sees the order.
        self._counting = self.config.changed(
            warn_after_identical_streak=NEVER,
            warn_after_cycle=NEVER,
            hard_stop_after_identical_streak=NEVER,
            hard_stop_after_cycle=NEVER,
        )
        only = {
            f"{level}_{name}": NEVER
            for level in ("warn_after", "hard_stop_after")
            for name in (
                "exact_failure",
                "same_tool_failure",
                "idempotent_no_progress",
                "mutating_no_progress",
            )
        }
        self._ordering = self.config.changed(**only, warn_after_wait_no_progress=NEVER, wait_max_seconds=0)
        self.reset_for_turn()

    def reset_for_turn(self) -> None:
        """Forgets everything: a new turn."""
        self._counts, self._order = State(), State()
        self._halt: ToolGuardrailDecision | None = None
        self._paths: dict[str, str] = {}
        self._streak: tuple[int, int] = (0, 0)
        self._streak_length = 0
        self._streak_first = ""
        self._spoken = 0
        self._now = 0.0

    @property
    def halt_decision(self) -> ToolGuardrailDecision | None:
        """The first decision of this turn that ends it."""
        return self._halt

    def before_call(self, tool_name: str, args: object) -> ToolGuardrailDecision:
        """Whether a call may run."""
        event = event_before(ToolCall(tool_name, args), self._counting, self._now)
        cap = self.config.loop_caps_max_subagents
        if not cap or self._counts.agents + self._counts.reserved < cap:
            event.agents = 0  # there is a place; only a reservation takes it
        self._counts, decision = self._stepped(self._counts, event, self._counting)
        return self._noted(decision, tool_name)

    @staticmethod
    def _stepped(state: State, event: Event, config: GuardConfig) -> tuple[State, Decision]:
        """A step after which the turn goes on: there it is the runtime that ends it."""
        new, decision = step(state, event, config)
        if new.halted:
            new = new.copy()
            new.halted = False
        return new, decision

    def after_call(
        self, tool_name: str, args: object, result: object, *, failed: bool | None = None
    ) -> ToolGuardrailDecision:
        """What is to be said about a result, by how often it came."""
        event = event_after(ToolCall(tool_name, args), ToolResult(result, failed), self._counting, self._now)
        event.agents = 0
        self._counts, decision = self._stepped(self._counts, event, self._counting)
        self._spoken = event.key if decision.action != ALLOW else 0
        return self._noted(decision, tool_name)

    def observe_call(
        self, tool_name: str, args: object, result: object, *, tool_call_id: str = "", failed: bool = False
    ) -> IdenticalCallObservation:
        """What is to be said about a result by what came just before it. `result` is the raw one."""
        call = ToolCall(tool_name, args)
        event = event_after(call, ToolResult(result, failed=False), self._ordering, self._now)
        if not isinstance(result, str):
            self._order = State()
            self._streak, self._streak_length = (0, 0), 0
            return IdenticalCallObservation(None, None, None)
        if (event.key, event.digest) == self._streak:
            self._streak_length += 1
        else:
            self._streak, self._streak_length = (event.key, event.digest), 1
            self._streak_first = tool_call_id
        self._order, decision = self._stepped(self._order, event, self._ordering)
        notice = kind = None
        if decision.action != ALLOW and self.config.stubs:
            kind = NOTICES.get(decision.code, decision.code.removesuffix("_halt"))
            notice = None if self._spoken == event.key else decision.text
        if decision.action == HALT:
            self._noted(decision, tool_name)
        stub = None
        if self.config.stubs and self._streak_length >= 2 and not failed and len(result) >= STUB_LENGTH:
            stub = self._stub(call)
        return IdenticalCallObservation(notice, kind if notice else None, stub)

    def record_persisted_result(self, tool_call_id: str, path: str) -> None:
        """Says where the whole result of a call lies, so that a stub can name it."""
        self._paths[tool_call_id] = path

    def reserve_subagent_spawns(self, count: int) -> SubagentSpawnReservation:
        """Reserves as many places for sub-agents as are left, at most `count`."""
        cap = self.config.loop_caps_max_subagents
        left = max(0, cap - self._counts.agents - self._counts.reserved) if cap else count
        admitted = max(0, min(count, left))
        self._reserve(admitted, 0)
        return SubagentSpawnReservation(admitted, self)

    def _reserve(self, places: int, started: int) -> None:
        event = Event(RESERVE, self._now, agents=places, key=started)
        self._counts, _ = step(self._counts, event, self._counting)

    def _stub(self, call: ToolCall) -> str:
        preview = " ".join(f"{name}={value}" for name, value in call.args.items())
        if len(preview) > PREVIEW_LENGTH:
            preview = f"{preview[: PREVIEW_LENGTH - 3]}..."
        path = self._paths.get(self._streak_first, "")
        first = f" of call {self._streak_first}" if self._streak_first else ""
        where = f" The whole of it is in {path}." if path else ""
        return f"[The same result as before{first}: {call.tool} {preview}. It is not repeated.{where}]"

    def _noted(self, decision: Decision, tool_name: str) -> ToolGuardrailDecision:
        found = ToolGuardrailDecision(decision, tool_name)
        if found.should_halt and self._halt is None:
            self._halt = found
        return found
