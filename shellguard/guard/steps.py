# SPDX-License-Identifier: Apache-2.0
"""`step`: one event, one decision. Pure, and in a few microseconds.

Before a call it is asked whether its row is full: with a limit of N, N calls ran and the next is refused. After a
result it is asked what is to be said about it. Of all that detectors find, one decision is made: the strictest, and
among equals the first in the order below.
"""

from __future__ import annotations

from shellguard.guard.events import AFTER, BEFORE
from shellguard.guard.hashing import shown
from shellguard.guard.model import BLOCK, HALT, READ, WAIT, WARN, WRITE, Decision
from shellguard.guard.texts import shown_name, text_for
from shellguard.guard.window import absorbed, class_now, is_known, laps, pair_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.guard.config import GuardConfig
    from shellguard.guard.events import Event
    from shellguard.guard.window import Entry, State

    Found = tuple[str, str, int, int]
    """Action, code, count and period of what a detector found."""


def step(state: State, event: Event, config: GuardConfig) -> tuple[State, Decision]:
    """The state after an event, and what is to be done. Depends on its arguments alone, and changes none of them."""
    if event.kind == BEFORE:
        found = _before(state, event, config)
        call_class = class_now(state, event, config)
        refused = found is not None and found[0] in (BLOCK, HALT)
        if _is_second_look(state, event):
            return state, _decision(found, event, call_class, config)
        ends = refused and config.end_turn_on_block
        if refused and not state.halted and 0 < config.halt_after_ignored_blocks <= state.ignored + 1:
            found, ends = (HALT, "ignored_blocks_halt", state.ignored + 1, 0), True
        new = absorbed(state, event, config, refused=refused, ends=ends)
        return new, _decision(found, event, call_class, config)
    if event.kind == AFTER:
        if is_known(state, event):
            return absorbed(state, event, config, refused=False, ends=False), _decision(
                None, event, event.call_class, config
            )
        new = absorbed(state, event, config, refused=False, ends=False)
        entry = new.entries[new.pairs.index(pair_of(event))]
        found = _after(new, entry, event, config)
        if found is not None and found[0] == HALT:
            new.halted = True
        return new, _decision(found, event, entry.call_class, config)
    return absorbed(state, event, config, refused=False, ends=False), Decision()


def _decision(found: Found | None, event: Event, call_class: str, config: GuardConfig) -> Decision:
    if found is None:
        return Decision(signature=shown(event.key), call_class=call_class, tool=event.name)
    action, code, count, period = found
    text = text_for(code, tool=shown_name(event.name), count=count, period=period)
    ask = action == BLOCK and config.on_block == "ask"
    return Decision(action, code, text, count, shown(event.key), call_class, event.name, ask, period)


def _is_second_look(state: State, event: Event) -> bool:
    """Whether two layers of a host tell of one call."""
    if not event.call_id:
        return False
    return event.call_id in state.answered or any(each.call_id == event.call_id for each in state.pending)


# --- before a call -------------------------------------------------------------------------------------------


def _before(state: State, event: Event, config: GuardConfig) -> Found | None:
    if state.halted:
        return HALT, "guardrail_halt", 0, 0
    found = _caps(state, event, config)
    if found is None and config.stops:
        found = (
            _full_row(state, event, config)
            or _full_cycle(state, event, config)
            or _full_failures(state, event, config)
        )
    return found or _unanswered(state, event, config)


def _caps(state: State, event: Event, config: GuardConfig) -> Found | None:
    if event.search and 0 < config.loop_caps_max_web_searches <= state.searches:
        return BLOCK, "loop_web_search_cap", state.searches, 0
    cap = config.loop_caps_max_subagents
    if event.agents and cap and state.agents + state.reserved >= cap:
        return BLOCK, "loop_subagent_cap", state.agents + state.reserved, 0
    return None


def _full_row(state: State, event: Event, config: GuardConfig) -> Found | None:
    """The row of this very call: failures, or equal results."""
    prior = state.last(event.key, event.at, config)
    if prior is None or prior.epoch != state.epoch:
        return None
    if prior.failed:
        if 0 < config.hard_stop_after_exact_failure <= prior.fails:
            return BLOCK, "repeated_exact_failure_block", prior.fails, 0
        return None
    call_class = class_now(state, event, config)
    if call_class == WAIT:
        if prior.run > 1 and 0 < config.wait_max_seconds <= prior.at - prior.since:
            return BLOCK, "wait_no_progress_block", prior.run, 0
        return None
    if call_class == READ:
        if 0 < config.hard_stop_after_idempotent_no_progress <= prior.run:
            return BLOCK, "idempotent_no_progress_block", prior.run, 0
    elif 0 < config.hard_stop_after_mutating_no_progress <= prior.run:
        return BLOCK, "repeated_identical_result_block", prior.run, 0
    return None


def _full_cycle(state: State, event: Event, config: GuardConfig) -> Found | None:
    """Every call of a cycle is refused, not only the next: else the agent goes on with its partner."""
    limit = config.hard_stop_after_cycle
    if not limit or config.end_turn_on_block or event.key not in state.keys[: config.cycle_max_period]:
        return None
    period, count = laps(state.pairs, config.cycle_max_period)
    lap = state.entries[:period]
    if _changes_and_looks(lap):
        limit = max(limit, config.hard_stop_after_mutating_no_progress)
    if count < limit or event.key not in state.keys[:period] or _only_waits(lap):
        return None
    return BLOCK, "tool_call_cycle_block", count, period


def _changes_and_looks(lap: tuple[Entry, ...]) -> bool:
    """Whether something is written, and then looked at or tried: that may come round while work goes on."""
    writes = any(entry.call_class == WRITE and not entry.failed for entry in lap)
    return writes and any(entry.failed or entry.call_class in (READ, WAIT) for entry in lap)


def _only_waits(entries: tuple[Entry, ...]) -> bool:
    return all(entry.call_class == WAIT for entry in entries)


def _full_failures(state: State, event: Event, config: GuardConfig) -> Found | None:
    """The program has failed again and again in the same way.

    Another call that succeeds opens the way for one more; where it was to change something, a look does not.
    """
    limit = config.hard_stop_after_same_failure
    if not limit or event.call_class == WAIT or not event.head:
        return None
    prior = state.last_of_head(event.head, event.at, config)
    if prior is None or prior.epoch != state.epoch or not prior.head_varied or prior.head_same < limit:
        return None
    newest = state.entries[0]
    if newest is not prior and not newest.failed and not newest.vain:
        if prior.call_class == READ or newest.call_class not in (READ, WAIT):
            return None
    return BLOCK, "same_failure_block", prior.head_same, 0


def _unanswered(state: State, event: Event, config: GuardConfig) -> Found | None:
    """The same call again and again without a result in between; those of one reply run side by side."""
    count = 0
    for pending in state.pending:
        if pending.epoch != state.epoch or (pending.key != event.key and pending.call_class != READ):
            break
        if pending.key == event.key and not (event.group and pending.group == event.group):
            count += 1
    if config.stops and 0 < config.hard_stop_after_unanswered <= count:
        return BLOCK, "unanswered_block", count, 0
    # The call at hand is one more that has no result.
    if config.warnings_enabled and 0 < config.warn_after_unanswered <= count + 1:
        return WARN, "unanswered_warning", count + 1, 0
    return None


# --- after a result ------------------------------------------------------------------------------------------


def _after(state: State, entry: Entry, event: Event, config: GuardConfig) -> Found | None:
    period, count = laps(state.pairs, config.cycle_max_period)
    if period and _only_waits(state.entries[:period]):
        period = count = 0
    if config.stops:
        found = _ends_turn(entry, event, config, period, count)
        if found is not None:
            return found
    if not config.warnings_enabled:
        return None
    if entry.failed:
        if 0 < config.warn_after_exact_failure <= entry.fails:
            return WARN, "repeated_exact_failure_warning", entry.fails, 0
    else:
        found = _row_warning(entry, config)
        if found is not None:
            return found
    if 0 < config.warn_after_cycle <= count:
        return WARN, "tool_call_cycle_warning", count, period
    return _wider_warning(entry, event, config)


def _ends_turn(entry: Entry, event: Event, config: GuardConfig, period: int, count: int) -> Found | None:
    limit = config.hard_stop_after_same_tool_failure
    if entry.failed and not event.tolerant and 0 < limit <= entry.tool_fails:
        if entry.tool_same or config.failures == "any":
            return HALT, "same_tool_failure_halt", entry.tool_fails, 0
    limit = config.hard_stop_after_identical_streak
    if limit and entry.call_class != WAIT and entry.streak >= limit:
        return HALT, "identical_call_streak_halt", entry.streak, 0
    if config.end_turn_on_block and 0 < config.hard_stop_after_cycle <= count:
        return HALT, "identical_cycle_halt", count, period
    return None


def _row_warning(entry: Entry, config: GuardConfig) -> Found | None:
    run = entry.run
    if entry.call_class == WAIT:
        limit = config.warn_after_wait_no_progress
        # A wait that has lasted too long is told so once before it is refused.
        too_long = run > 1 and 0 < config.wait_max_seconds <= entry.at - entry.since
        if _is_due(run, limit) or too_long:
            return WARN, "wait_no_progress_warning", run, 0
        return None
    if entry.call_class == READ:
        limit, code = config.warn_after_idempotent_no_progress, "idempotent_no_progress_warning"
    else:
        limit, code = config.warn_after_mutating_no_progress, "mutating_no_progress_warning"
    if limit:
        return (WARN, code, run, 0) if run >= limit else None
    if 0 < config.warn_after_identical_streak <= entry.streak:
        return WARN, "identical_call_streak", entry.streak, 0
    return None


def _wider_warning(entry: Entry, event: Event, config: GuardConfig) -> Found | None:
    """What other calls have in common with this one."""
    if (
        entry.head_varied
        and (entry.failed or entry.vain)
        and 0 < config.warn_after_same_failure <= entry.head_run
        and entry.call_class != WAIT
    ):
        return WARN, "same_failure_warning", entry.head_run, 0
    if entry.failed and 0 < config.warn_after_same_tool_failure <= entry.tool_fails:
        return WARN, "same_tool_failure_warning", entry.tool_fails, 0
    if entry.call_class == WAIT:
        return None
    alike = entry.near_run
    if entry.head_varied and not (entry.failed or entry.vain):
        alike = max(alike, entry.head_run)
    if _is_due(alike, config.warn_after_counting):
        return WARN, "counting_warning", alike, 0
    if _is_due(entry.calls, config.warn_after_changing_result) and entry.run <= 1:
        if entry.call_class == READ or not event.shell:
            return WARN, "changing_result_warning", entry.calls, 0
    return None


def _is_due(count: int, limit: int) -> bool:
    """Whether something is said at this count: at the limit, and each time it has doubled."""
    if not limit or count < limit or count % limit:
        return False
    times = count // limit
    return times & (times - 1) == 0
