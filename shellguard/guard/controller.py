# SPDX-License-Identifier: Apache-2.0
"""What a harness embeds: `step` with a state for each session, a clock, and whoever wants to hear of stops.

guard = Controller(GuardConfig.from_mapping(config))
decision = guard.before(call)          # block and halt: do not run it, give the agent decision.text
decision = guard.after(call, result)   # warn and halt: add decision.text to the result
"""

from __future__ import annotations

from time import time

from shellguard.guard.config import GuardConfig
from shellguard.guard.events import RESERVE, Event
from shellguard.guard.model import ALLOW, ToolCall, ToolResult
from shellguard.guard.observe import (
    event_after,
    event_before,
    event_of_release,
    event_of_turn,
    session_name,
)
from shellguard.guard.snapshot import state_from, state_to
from shellguard.guard.steps import step
from shellguard.guard.window import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from shellguard.guard.model import Decision
    from shellguard.guard.store import Store

MOST_SESSIONS = 1024
"""Sessions that are kept in memory; the one that was longest without a call is forgotten first."""


class Controller:
    """The guard of any number of sessions.

    `config` says what to do; `store` keeps the state in a file instead of in memory. `clock` gives seconds, for calls
    that do not say when they were made. `normalisers` maps a tool to a function that is applied to its results before
    all others. `on_event` is called with each decision that is not `allow`, for metrics: with its action, code, class,
    count and tool.

    One controller is used by one thread at a time.
    """

    def __init__(
        self,
        config: GuardConfig | None = None,
        *,
        store: Store | None = None,
        clock: Callable[[], float] | None = None,
        normalisers: Mapping[str, Callable[[str], str]] | None = None,
        on_event: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.config = GuardConfig() if config is None else config
        self._store, self._on_event = store, on_event
        self._clock = time if clock is None else clock
        self._normalisers = {tool.lower(): function for tool, function in (normalisers or {}).items()}
        self._states: dict[int, State] = {}

    def before(self, call: ToolCall) -> Decision:
        """Whether a call may run. `block` and `halt` refuse it."""
        at = self._clock() if call.started_at is None else call.started_at
        return self._step(call.session, call.agent, event_before(call, self.config, at))

    def after(self, call: ToolCall, result: ToolResult) -> Decision:
        """What is to be said about a result: `warn` and `halt` have a text for the agent."""
        at = self._clock() if result.ended_at is None else result.ended_at
        normaliser = self._normalisers.get(call.tool.lower())
        event = event_after(call, result, self.config, at, normaliser)
        return self._step(call.session, call.agent, event)

    def new_turn(
        self, text: str | None = None, session: str = "", agent: str = "", at: float | None = None
    ) -> None:
        """The user has spoken. A bare "continue" is not a new request: the counts go on."""
        self._step(session, agent, event_of_turn(text, self._clock() if at is None else at))

    def release(self, signature: str, session: str = "", agent: str = "") -> None:
        """Lets a call start anew after a person has said so. Raises ValueError for what is no signature."""
        self._step(session, agent, event_of_release(signature, self._clock()))

    def reserve_agents(self, wanted: int, session: str = "", agent: str = "") -> int:
        """Reserves places for sub-agents under the cap, and tells how many of those wanted may be started."""
        state = self._state(session_name(session, agent))
        cap = self.config.loop_caps_max_subagents
        admitted = max(0, min(wanted, cap - state.agents - state.reserved)) if cap else wanted
        self._reserve(session, agent, admitted, 0)
        return admitted

    def commit_agents(self, started: int, session: str = "", agent: str = "") -> None:
        """Counts reserved sub-agents that were really started."""
        self._reserve(session, agent, -started, started)

    def roll_back_agents(self, reserved: int, session: str = "", agent: str = "") -> None:
        """Gives reserved places back."""
        self._reserve(session, agent, -reserved, 0)

    def _reserve(self, session: str, agent: str, reserved: int, started: int) -> None:
        self._step(session, agent, Event(RESERVE, self._clock(), agents=reserved, key=max(0, started)))

    def state(self, session: str = "", agent: str = "") -> State:
        """The state of a session, as far as this process knows it."""
        return self._state(session_name(session, agent))

    def snapshot(self) -> dict[str, Any]:
        """All that is known, as JSON has it; with a store it is in its file. No argument and no output is in it."""
        return {
            "version": 1,
            "sessions": {f"{name:016x}": state_to(state) for name, state in self._states.items()},
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Goes on where a snapshot was taken. Raises ValueError for what is no snapshot."""
        sessions = snapshot.get("sessions") if isinstance(snapshot, dict) else None
        if not isinstance(sessions, dict) or snapshot.get("version") != 1:
            raise ValueError("this is no snapshot of the guard")
        self._states = {int(name, 16): state_from(state) for name, state in sessions.items()}

    def _step(self, session: str, agent: str, event: Event) -> Decision:
        name = session_name(session, agent)
        if self._store is None:
            state, decision = step(self._state(name), event, self.config)
            self._put(name, state)
        else:
            decision = self._store.step(name, event, self.config)
        if self._on_event is not None and decision.action != ALLOW:
            self._on_event(
                {
                    "action": decision.action,
                    "code": decision.code,
                    "class": decision.call_class,
                    "count": decision.count,
                    "tool": decision.tool,
                }
            )
        return decision

    def _state(self, name: int) -> State:
        if self._store is not None:
            return self._store.state(name, self.config)
        found = self._states.get(name)
        return State() if found is None else found

    def _put(self, name: int, state: State) -> None:
        self._states.pop(name, None)
        self._states[name] = state
        if len(self._states) > MOST_SESSIONS:
            del self._states[next(iter(self._states))]
