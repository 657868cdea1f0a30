# SPDX-License-Identifier: Apache-2.0
"""The state of one session: the last calls with what has been counted, and how an event changes it.

Everything here is immutable; an event gives a new state. Entries stand newest first, and beside them, in tuples of
their own, the names by which one is looked up: finding the last entry of a call is one search at the speed of C.
"""

from __future__ import annotations

from shellguard.guard.events import AFTER, BEFORE, RELEASE, RESERVE
from shellguard.guard.model import READ, UNKNOWN, WAIT, WRITE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.guard.config import GuardConfig
    from shellguard.guard.events import Event

MOST_PENDING = 64
MOST_ANSWERED = 64
MOST_REFUSED = 32
_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
"""An odd number, so that no two calls are mapped to one."""


class Entry:
    """One call and its result, and what was counted when it came. Failures count apart from equal results.

    `epoch` numbers the progress made up to and including it: two entries with one epoch have no progress between them.
    `run` counts equal results of the call, `since` is when the first of them came; `fails` counts its failures,
    `tool_fails` those of the tool (`tool_same` of them said what another had said), `head_run` calls of the
    program that came to nothing in the same way (`head_same` of them failed in the same words; `head_varied` tells that
    their arguments differ), `near_run` calls that differ in numbers only, `calls` how often it was called, and `streak`
    how often it came in a row.
    """

    __slots__ = (
        *(
            "at",
            "call_class",
            "calls",
            "digest",
            "epoch",
            "failed",
            "fails",
            "group",
            "head",
            "head_run",
            "head_same",
        ),
        *("head_varied", "key", "loose", "near", "near_digest", "near_run", "pair", "pauses", "run", "since"),
        *("moves", "streak", "tool", "tool_fails", "tool_same", "vain"),
    )

    def __init__(self, event: Event, call_class: str, pair: int) -> None:
        self.at, self.key, self.tool, self.head, self.near = (
            event.at,
            event.key,
            event.tool,
            event.head,
            event.near,
        )
        self.digest, self.loose, self.near_digest = event.digest, event.loose, event.near_digest
        self.failed, self.vain, self.group, self.pauses = event.failed, event.vain, event.group, event.pauses
        self.call_class, self.pair = call_class, pair
        self.epoch = self.moves = self.run = self.fails = self.tool_fails = self.tool_same = 0
        self.head_run = self.head_same = self.near_run = 0
        self.calls = self.streak = 1
        self.head_varied = False
        self.since = event.at


class Pending:
    """A call that may run and whose result has not come yet."""

    __slots__ = ("at", "call_class", "call_id", "epoch", "group", "key")

    def __init__(self, call_id: int, key: int, group: int, call_class: str, at: float, epoch: int) -> None:
        self.call_id, self.key, self.group = call_id, key, group
        self.call_class, self.at, self.epoch = call_class, at, epoch


class State:
    """All that the guard knows of one session. `State()` is a session in which nothing has happened."""

    __slots__ = (
        *(
            "agents",
            "answered",
            "entries",
            "epoch",
            "halted",
            "heads",
            "ignored",
            "keys",
            "moves",
            "nears",
            "pairs",
        ),
        *("pending", "refused", "reserved", "searches", "tools", "turn"),
    )

    def __init__(self) -> None:
        self.entries: tuple[Entry, ...] = ()
        self.pairs: tuple[int, ...] = ()
        self.keys: tuple[int, ...] = ()
        self.tools: tuple[int, ...] = ()
        self.heads: tuple[int, ...] = ()
        self.nears: tuple[int, ...] = ()
        self.pending: tuple[Pending, ...] = ()
        self.answered: tuple[int, ...] = ()
        self.refused: tuple[int, ...] = ()
        self.epoch = self.moves = self.searches = self.agents = self.reserved = self.ignored = self.turn = 0
        self.halted = False

    def copy(self) -> State:
        """The same state, to be changed by the function that asked for it and by nobody after."""
        new = State.__new__(State)
        new.entries, new.pairs, new.keys, new.tools = self.entries, self.pairs, self.keys, self.tools
        new.heads, new.nears, new.pending = self.heads, self.nears, self.pending
        new.answered, new.refused, new.epoch = self.answered, self.refused, self.epoch
        new.searches, new.agents, new.reserved = self.searches, self.agents, self.reserved
        new.ignored, new.turn, new.halted = self.ignored, self.turn, self.halted
        new.moves = self.moves
        return new

    def last(self, key: int, now: float, config: GuardConfig) -> Entry | None:
        """The last entry of a call, unless it is too old."""
        if key not in self.keys:
            return None
        entry = self.entries[self.keys.index(key)]
        return None if is_old(entry, now, config) else entry

    def last_of_head(self, head: int, now: float, config: GuardConfig) -> Entry | None:
        """The last entry of a program, unless it is too old."""
        if head not in self.heads:
            return None
        entry = self.entries[self.heads.index(head)]
        return None if is_old(entry, now, config) else entry

    def __repr__(self) -> str:
        return f"<State: {len(self.entries)} calls, {len(self.pending)} pending>"


def is_old(entry: Entry, now: float, config: GuardConfig) -> bool:
    """Whether an entry has left the window by its age."""
    return 0 < config.window_max_seconds < now - entry.at


def class_now(state: State, event: Event, config: GuardConfig) -> str:
    """The class of a call where it stands: a read is a wait when there was a pause since it was last asked.

    The pause may be declared by a call in between (`sleep 30`, then `gh pr checks 1`), or a long interval. A read that
    was a wait the last time may go on as one; its result shows whether it was again.
    """
    kind = event.call_class
    if event.failed or not (kind == READ or (kind == UNKNOWN and event.inert)):
        return kind
    if event.key not in state.keys:
        return WAIT if state.entries and state.entries[0].pauses else kind
    place = state.keys.index(event.key)
    prior = state.entries[place]
    if any(entry.pauses for entry in state.entries[:place]):
        return WAIT
    if event.kind == BEFORE and prior.call_class == WAIT:
        return WAIT
    if event.key in state.refused:  # to be refused for a while is no pause
        return kind
    return WAIT if 0 < config.wait_spacing <= event.at - prior.at else kind


def absorbed(state: State, event: Event, config: GuardConfig, *, refused: bool, ends: bool) -> State:
    """The state after an event. `refused` tells that the call was not let through, `ends` that the turn has ended."""
    new = (
        _with_result(state, event, config) if event.kind == AFTER else _changed(state, event, config, refused)
    )
    if ends:
        new.halted = True
    return new


def _changed(state: State, event: Event, config: GuardConfig, refused: bool) -> State:
    new = state.copy()
    if event.kind == BEFORE:
        _begin(new, state, event, config, refused)
    elif event.kind == RELEASE:
        _release(new, event.key)
    elif event.kind == RESERVE:
        new.reserved = max(0, state.reserved + event.agents)
        new.agents += event.key
    elif _asks_for_nothing(event, state):
        new.ignored, new.halted = 0, False
    else:
        if not config.carry_over_turns:
            new = State()
        new.searches = new.agents = new.reserved = new.ignored = 0
        new.halted, new.turn = False, event.key
    return new


def _asks_for_nothing(event: Event, state: State) -> bool:
    """Whether a turn goes on with the one before: a bare "continue", or the same envelope again."""
    return event.bare or (event.key != 0 and event.key == state.turn)


def _begin(new: State, state: State, event: Event, config: GuardConfig, refused: bool) -> None:
    if refused:
        new.ignored += 1
        new.refused = (event.key, *[key for key in state.refused if key != event.key])[:MOST_REFUSED]
        if event.call_id:
            new.answered = (event.call_id, *state.answered)[:MOST_ANSWERED]
        return
    new.ignored = 0
    if event.key in state.refused:
        new.refused = tuple([key for key in state.refused if key != event.key])
    kind = class_now(state, event, config)
    started = Pending(event.call_id, event.key, event.group, kind, event.at, state.epoch)
    new.pending = (started, *state.pending[: MOST_PENDING - 1])
    new.searches += event.search
    new.reserved += event.agents


def _release(new: State, key: int) -> None:
    """Forgets a call, and what it shares with others of its program: after a person has said that it may go on."""
    heads = {entry.head for entry in new.entries if entry.key == key}
    keep_entries(new, tuple([each for each in new.entries if each.key != key and each.head not in heads]))
    new.refused = tuple([each for each in new.refused if each != key])
    new.pending = tuple([each for each in new.pending if each.key != key])
    new.ignored, new.halted = 0, False


def keep_entries(new: State, entries: tuple[Entry, ...]) -> None:
    """Puts these entries in place of all."""
    new.entries = entries
    new.pairs = tuple([each.pair for each in entries])
    new.keys = tuple([each.key for each in entries])
    new.tools = tuple([each.tool for each in entries])
    new.heads = tuple([each.head for each in entries])
    new.nears = tuple([each.near for each in entries])


def is_known(state: State, event: Event) -> bool:
    """Whether a result was seen before, or is no result: of a call that was refused, or the refusal itself."""
    if event.refusal or (event.call_id != 0 and event.call_id in state.answered):
        return True
    return event.key in state.refused and not any(each.key == event.key for each in state.pending)


def pair_of(event: Event) -> int:
    """One name for a call and its result."""
    return (event.key * _GOLDEN ^ event.digest) & _MASK


def _with_result(state: State, event: Event, config: GuardConfig) -> State:
    new = state.copy()
    if is_known(state, event):
        return new
    kind = class_now(state, event, config)
    _settle(new, state, event)
    pair = pair_of(event)
    entry = Entry(event, kind, pair)
    if _has_moved(entry, state, config):
        new.moves += 1
    entry.moves = new.moves
    _count(entry, state, event, config)
    if _is_progress(entry, event, state):
        new.epoch += 1
    entry.epoch = new.epoch
    _insert(new, state, entry, config)
    if event.agents:
        new.reserved = max(0, state.reserved - event.agents)
        new.agents += 0 if event.failed else event.agents
    return new


def _settle(new: State, state: State, event: Event) -> None:
    """Takes the call from those whose result is awaited."""
    pending = state.pending
    for place in range(len(pending) - 1, -1, -1):
        each = pending[place]
        by_name = event.call_id != 0 and each.call_id != 0
        if each.call_id == event.call_id if by_name else each.key == event.key:
            new.pending = pending[:place] + pending[place + 1 :]
            break
    if event.call_id:
        new.answered = (event.call_id, *state.answered)[:MOST_ANSWERED]


def _has_moved(entry: Entry, state: State, config: GuardConfig) -> bool:
    """Whether a read shows what it did not show before a write: the write had an effect, though it says `ok` only."""
    if entry.call_class not in (READ, WAIT) or entry.failed:
        return False
    prior = state.last(entry.key, entry.at, config)
    if prior is None or prior.failed or prior.digest == entry.digest:
        return False
    place = state.keys.index(entry.key)
    return any(each.call_class in (WRITE, UNKNOWN) and not each.failed for each in state.entries[:place])


def _is_progress(entry: Entry, event: Event, state: State) -> bool:
    """Whether a call may have changed something: a write or an execution that succeeded.

    The same write again counts too; a loop of such writes comes round, and is found as a cycle. A tool that nobody
    knows counts when it says something new.
    """
    if entry.failed or entry.vain or event.inert:
        return False
    if entry.call_class == UNKNOWN and not event.shell:
        return entry.pair not in state.pairs
    return entry.call_class in (WRITE, UNKNOWN)


def _count(entry: Entry, state: State, event: Event, config: GuardConfig) -> None:
    _count_call(entry, state, config)
    if state.pairs and state.pairs[0] == entry.pair:
        entry.streak = state.entries[0].streak + 1
    if entry.tool in state.tools:
        _count_tool(entry, state.entries[state.tools.index(entry.tool)], event, state, config)
    elif entry.failed:
        entry.tool_fails = 1
    if entry.failed or entry.vain or (entry.loose and entry.call_class != WAIT):
        _count_head(entry, state.last_of_head(entry.head, entry.at, config), state)
    if entry.near_digest:
        entry.near_run = 1
        if entry.near in state.nears:
            near = state.entries[state.nears.index(entry.near)]
            if near.near_digest == entry.near_digest and near.epoch == state.epoch:
                entry.near_run = near.near_run + (near.key != entry.key)


def _count_call(entry: Entry, state: State, config: GuardConfig) -> None:
    entry.fails, entry.run = int(entry.failed), int(not entry.failed)
    prior = state.last(entry.key, entry.at, config)
    if prior is None or prior.epoch != state.epoch:
        return
    entry.calls = prior.calls + 1
    if prior.failed != entry.failed:
        return
    equal = prior.digest == entry.digest
    if entry.failed:
        entry.fails += prior.fails if equal or config.failures == "any" else 0
    elif equal and (entry.moves == prior.moves or entry.call_class in (READ, WAIT)):
        entry.run, entry.since = prior.run + 1, prior.since


def _count_tool(entry: Entry, prior: Entry, event: Event, state: State, config: GuardConfig) -> None:
    """A read that succeeds ends no row of failures of a shell: `ls` between two red tests says nothing of them."""
    if prior.epoch != state.epoch or is_old(prior, entry.at, config):
        entry.tool_fails = int(entry.failed)
    elif entry.failed:
        entry.tool_fails = prior.tool_fails + 1
        entry.tool_same = prior.tool_same + (prior.digest == entry.digest or entry.fails > 1)
    elif event.shell and entry.call_class in (READ, WAIT) and config.failures == "same":
        entry.tool_fails, entry.tool_same = prior.tool_fails, prior.tool_same


def _count_head(entry: Entry, prior: Entry | None, state: State) -> None:
    entry.head_run = entry.head_same = 1
    if prior is None or prior.epoch != state.epoch or prior.loose != entry.loose:
        return
    if (prior.failed or prior.vain) != (entry.failed or entry.vain):
        return
    entry.head_run = prior.head_run + 1
    if entry.failed and prior.digest == entry.digest:
        entry.head_same = prior.head_same + 1
    entry.head_varied = prior.head_varied or prior.key != entry.key


def _insert(new: State, state: State, entry: Entry, config: GuardConfig) -> None:
    """Puts the entry first; inside one reply of the model in an order of its own, since parallel calls have none."""
    place = 0
    entries = state.entries
    if entry.group:
        while (
            place < len(entries) and entries[place].group == entry.group and entries[place].pair > entry.pair
        ):
            place += 1
    most = config.window_max_calls
    keep = min(len(entries), most - 1)
    while keep and is_old(entries[keep - 1], entry.at, config):
        keep -= 1
    place = min(place, keep)
    new.entries = (*entries[:place], entry, *entries[place:keep])
    new.pairs = (*state.pairs[:place], entry.pair, *state.pairs[place:keep])
    new.keys = (*state.keys[:place], entry.key, *state.keys[place:keep])
    new.tools = (*state.tools[:place], entry.tool, *state.tools[place:keep])
    new.heads = (*state.heads[:place], entry.head, *state.heads[place:keep])
    new.nears = (*state.nears[:place], entry.near, *state.nears[place:keep])


def laps(pairs: tuple[int, ...], most: int) -> tuple[int, int]:
    """The shortest period from 2 to `most` with which the newest pairs come back, and how many times they did.

    (0, 0) where nothing comes back; a row of one pair alone is no cycle.
    """
    size = len(pairs)
    for period in range(2, min(most, size // 2) + 1):
        if pairs[0] != pairs[period]:
            continue
        lap = pairs[:period]
        if lap != pairs[period : 2 * period] or len(set(lap)) < 2:
            continue
        count, place = 2, 2 * period
        while place + period <= size and pairs[place : place + period] == lap:
            count += 1
            place += period
        return period, count
    return 0, 0
