# SPDX-License-Identifier: Apache-2.0
"""A state as JSON has it, and back."""

from __future__ import annotations

from shellguard.guard.window import Entry, Pending, State, keep_entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ENTRY = tuple(Entry.__slots__)
_PENDING = tuple(Pending.__slots__)
_NUMBERS = ("epoch", "moves", "searches", "agents", "reserved", "ignored", "turn")
_NAMES = ("answered", "refused")


def state_to(state: State) -> dict[str, Any]:
    """A state as JSON has it: numbers, texts and lists only."""
    found: dict[str, Any] = {name: getattr(state, name) for name in _NUMBERS}
    found.update({name: list(getattr(state, name)) for name in _NAMES})
    found["halted"] = state.halted
    found["entries"] = [[getattr(entry, name) for name in _ENTRY] for entry in state.entries]
    found["pending"] = [[getattr(each, name) for name in _PENDING] for each in state.pending]
    return found


def state_from(value: object) -> State:
    """The state that `state_to` wrote. Raises ValueError for anything else."""
    state = State()
    if not isinstance(value, dict):
        raise ValueError("a state is an object")
    try:
        for name in _NUMBERS:
            setattr(state, name, int(value[name]))
        for name in _NAMES:
            setattr(state, name, tuple([int(item) for item in value[name]]))
        state.halted = bool(value["halted"])
        state.pending = tuple([_filled(Pending, _PENDING, row) for row in value["pending"]])
        keep_entries(state, tuple([_filled(Entry, _ENTRY, row) for row in value["entries"]]))
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"this is no state of the guard: {error!r}") from None
    return state


def _filled(made: Any, names: tuple[str, ...], row: object) -> Any:
    if not isinstance(row, list | tuple) or len(row) != len(names):
        raise ValueError("a row of another length")
    each = made.__new__(made)
    for name, item in zip(names, row, strict=True):
        setattr(each, name, item)
    return each
