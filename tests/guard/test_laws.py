# SPDX-License-Identifier: Apache-2.0
"""Laws of the guard that hold for any sequence of calls."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shellguard.guard import Controller, Decision, GuardConfig, State, ToolCall, ToolResult, step
from shellguard.guard.events import AFTER, BEFORE, RELEASE, RESERVE, TURN, Event
from shellguard.guard.model import CLASSES
from shellguard.guard.observe import event_before
from shellguard.guard.snapshot import state_to
from tests.guard.replays import config
from tools.fuzz_guard import fuzz


@dataclass(frozen=True)
class Made:
    """One call and its result, in a session."""

    session: str
    call: ToolCall
    result: ToolResult
    turn: bool


TOOLS = (
    ("terminal", {"command": "cat a"}),
    ("terminal", {"command": "cat b"}),
    ("terminal", {"command": "sleep 20 && cat a"}),
    ("terminal", {"command": "sleep 20"}),
    ("terminal", {"command": "make"}),
    ("terminal", {"command": "rm x"}),
    ("edit", {"path": "a", "new": "1"}),
    ("plan", {"a": 1}),
    ("web_search", {"q": "a"}),
    ("delegate_task", {"goal": "a"}),
)


@st.composite
def sequences(draw: st.DrawFn, sessions: tuple[str, ...] = ("",)) -> list[Made]:
    found = []
    now = 1_000.0
    for number in range(draw(st.integers(1, 60))):
        tool, args = draw(st.sampled_from(TOOLS))
        session = draw(st.sampled_from(sessions))
        now += draw(st.sampled_from([1.0, 5.0, 200.0]))
        call = ToolCall(
            tool, args, f"{number}", session, started_at=now, group=draw(st.sampled_from(["", "g"]))
        )
        failed, text = draw(st.sampled_from([(None, "a"), (None, "b"), (True, "error: a"), (None, "")]))
        found.append(
            Made(session, call, ToolResult(text, failed, ended_at=now), draw(st.integers(0, 30)) == 0)
        )
    return found


def said(guard: Controller, made: list[Made]) -> list[tuple[str, Decision, Decision | None]]:
    found = []
    for each in made:
        if each.turn:
            guard.new_turn("something new", each.session, at=each.call.started_at)
        before = guard.before(each.call)
        after = guard.after(each.call, each.result) if before.allows else None
        found.append((each.session, before, after))
    return found


@given(sequences(sessions=("a", "b")))
def test_sessions_do_not_meet(made: list[Made]) -> None:
    together = said(Controller(config()), made)
    for session in ("a", "b"):
        alone = said(Controller(config()), [each for each in made if each.session == session])
        assert [each for each in together if each[0] == session] == alone


LIMITS = (
    "hard_stop_after_exact_failure",
    "hard_stop_after_idempotent_no_progress",
    "hard_stop_after_mutating_no_progress",
    "hard_stop_after_cycle",
    "hard_stop_after_same_failure",
    "hard_stop_after_same_tool_failure",
    "hard_stop_after_unanswered",
    "wait_max_seconds",
    "loop_caps_max_web_searches",
)


@given(sequences(), st.sampled_from(LIMITS), st.integers(1, 6), st.integers(0, 6))
def test_a_larger_limit_never_stops_earlier(made: list[Made], limit: str, small: int, more: int) -> None:
    def end(value: int) -> int:
        for number, (_, before, after) in enumerate(said(Controller(config(**{limit: value})), made)):
            if not before.allows or (after is not None and not after.allows):
                return number
        return len(made)

    assert end(small) <= end(small + more)


@given(sequences(), st.integers(2, 12), st.integers(0, 60))
def test_a_longer_window_never_warns_later(made: list[Made], small: int, more: int) -> None:
    def told(calls: int) -> int:
        settings_ = GuardConfig({"window.max_calls": calls})
        for number, (_, before, after) in enumerate(said(Controller(settings_), made)):
            if before.action != "allow" or (after is not None and after.action != "allow"):
                return number
        return len(made)

    assert told(small + more) <= told(small)


@given(sequences(sessions=("a", "b")), st.integers(0, 60))
def test_a_snapshot_goes_on_as_if_nothing_had_happened(made: list[Made], cut: int) -> None:
    whole = said(Controller(config()), made)
    first = Controller(config())
    begun = said(first, made[:cut])
    second = Controller(config())
    second.restore(json.loads(json.dumps(first.snapshot())))
    assert begun + said(second, made[cut:]) == whole
    assert "cat" not in json.dumps(first.snapshot())


names = st.integers(0, 3)
events = st.builds(
    Event,
    st.sampled_from([BEFORE, AFTER, AFTER, TURN, RELEASE, RESERVE]),
    st.floats(-1e9, 1e9),
    key=names,
    tool=names,
    near=names,
    head=names,
    call_class=st.sampled_from(CLASSES),
    call_id=names,
    group=names,
    agents=st.integers(-2, 60),
    digest=names,
    loose=names,
    near_digest=names,
    pauses=st.booleans(),
    shell=st.booleans(),
    tolerant=st.booleans(),
    failed=st.booleans(),
    vain=st.booleans(),
    refusal=st.booleans(),
    bare=st.booleans(),
)


@given(st.lists(events, max_size=80))
@settings(max_examples=200)
def test_step_depends_on_its_arguments_alone_and_changes_none(made: list[Event]) -> None:
    state = State()
    for event in made:
        was = state_to(state)
        slots = {name: getattr(event, name) for name in Event.__slots__}
        new, decision = step(state, event, config(halt_after_ignored_blocks=3))
        again, same = step(state, event, config(halt_after_ignored_blocks=3))
        assert (state_to(new), decision) == (state_to(again), same)
        assert state_to(state) == was
        assert {name: getattr(event, name) for name in Event.__slots__} == slots
        state = new


@given(st.lists(events, max_size=120))
def test_what_is_kept_of_a_session_is_bounded(made: list[Event]) -> None:
    settings_ = config(window_max_calls=16)
    state = State()
    for event in made:
        state, _ = step(state, event, settings_)
        assert len(state.entries) <= 16
        assert len(state.pending) <= 64
        assert {len(names) for names in (state.keys, state.pairs, state.tools, state.heads, state.nears)} == {
            len(state.entries)
        }


def test_random_events_never_raise_and_what_differs_is_never_stopped() -> None:
    """The tool does a million of them; here are some thousands of the same."""
    report = fuzz(8_000, seed=3)
    assert report.faults == []
    assert report.warnings > 100
    assert report.stops > 100


def test_events_are_told_to_whoever_wants_to_hear(monkeypatch: Any) -> None:
    heard: list[dict[str, Any]] = []
    guard = Controller(config(), on_event=heard.append, clock=lambda: 0.0)
    call = ToolCall("terminal", {"command": "cat a"})
    for _ in range(6):
        if guard.before(call).allows:
            guard.after(call, ToolResult("same"))
    assert [each["action"] for each in heard] == ["warn"] * 3 + ["block"]
    assert heard[-1] == {
        "action": "block",
        "code": "idempotent_no_progress_block",
        "class": "read",
        "count": 5,
        "tool": "terminal",
    }


class Counter:
    def __init__(self) -> None:
        self.added: list[tuple[int, dict[str, Any]]] = []

    def create_counter(self, name: str, description: str) -> Counter:
        assert name == "shellguard.guard.decisions"
        assert description
        return self

    def add(self, amount: int, attributes: dict[str, Any]) -> None:
        self.added.append((amount, attributes))


def test_a_counter_of_opentelemetry() -> None:
    from shellguard.guard.metrics import counter

    meter = Counter()
    counter(meter)({"action": "warn", "code": "x", "class": "read", "count": 3, "tool": "t"})
    assert meter.added == [(1, {"action": "warn", "code": "x", "class": "read", "tool": "t"})]


def test_refusals_that_are_not_heeded_end_the_turn() -> None:
    guard = Controller(config(halt_after_ignored_blocks=3), clock=lambda: 0.0)
    call = ToolCall("terminal", {"command": "cat a"})
    other = ToolCall("terminal", {"command": "cat b"})
    for _ in range(5):
        guard.after(call, ToolResult("same"))
    assert [guard.before(call).action for _ in range(2)] == ["block", "block"]
    assert guard.before(other).action == "allow"
    assert [guard.before(call).code for _ in range(3)][-1] == "ignored_blocks_halt"
    assert guard.before(other).code == "guardrail_halt"
    guard.new_turn("continue")
    assert guard.before(other).action == "allow"
    assert guard.before(call).action == "block"


def test_a_person_may_be_asked_and_may_release() -> None:
    guard = Controller(config(on_block="ask"), clock=lambda: 0.0)
    call = ToolCall("terminal", {"command": "cat a"})
    for _ in range(5):
        guard.after(call, ToolResult("same"))
    refused = guard.before(call)
    assert (refused.action, refused.ask) == ("block", True)
    assert refused.as_mapping()["ask"] is True
    guard.release(refused.signature)
    assert guard.before(call).action == "allow"
    assert guard.after(call, ToolResult("same")).action == "allow"


def test_a_tool_may_have_a_normaliser_of_its_own() -> None:
    guard = Controller(
        config(), clock=lambda: 0.0, normalisers={"Weather": lambda text: text.partition(" at ")[0]}
    )
    call = ToolCall("weather", {"city": "x"})
    for number in range(4):
        decision = guard.after(call, ToolResult(f"sunny at {number} degrees"))
    assert (decision.code, decision.count) == ("mutating_no_progress_warning", 4)
    for number in range(4):
        decision = guard.after(ToolCall("other"), ToolResult({"text": f"sunny at {number} degrees"}))
    assert decision.action == "allow"


def test_a_result_belongs_to_the_call_of_its_name() -> None:
    guard = Controller(config(), clock=lambda: 0.0)
    for name in ("first", "second"):
        guard.before(ToolCall("plan", {"a": 1}, call_id=name))
    guard.after(ToolCall("plan", {"a": 1}, call_id="second"), ToolResult("done"))
    [pending] = guard.state().pending
    assert pending.call_id == event_before(ToolCall("plan", call_id="first"), config(), 0.0).call_id
    guard.after(ToolCall("plan", {"a": 1}), ToolResult("done"))
    assert guard.state().pending == ()


def test_a_refusal_is_no_result() -> None:
    """A host that hands the text of a refusal back as a result must not make the row begin anew."""
    guard = Controller(config(), clock=lambda: 0.0)
    call = ToolCall("terminal", {"command": "cat a"})
    for _ in range(5):
        guard.after(call, ToolResult("same"))
    for number in range(5):
        named = ToolCall("terminal", {"command": "cat a"}, call_id=f"{number}")
        assert guard.before(named).action == "block"
        assert guard.after(named, ToolResult("refused: loop")).action == "allow"
    for _ in range(5):
        assert guard.before(call).action == "block"
        assert guard.after(call, ToolResult("refused: loop")).action == "allow"


def test_reservations() -> None:
    guard = Controller(GuardConfig({"loop_caps.max_subagents": 3}), clock=lambda: 0.0)
    assert guard.reserve_agents(2) == 2
    assert guard.reserve_agents(2) == 1
    assert guard.before(ToolCall("delegate_task", {})).code == "loop_subagent_cap"
    guard.roll_back_agents(1)
    guard.commit_agents(2)
    assert guard.reserve_agents(5) == 1
    guard.new_turn("something else")
    assert guard.reserve_agents(5) == 3
