# SPDX-License-Identifier: Apache-2.0
"""A configuration: the value of every key, read from a mapping as YAML or TOML gives it.

What is wrong in a mapping falls back to the default, as upstream has it; `complaints.py` says what is wrong.
"""

from __future__ import annotations

from shellguard.guard.keys import KEYS, NEVER, PRESETS, SECTION, Key
from shellguard.guard.tools import ToolBook, merged, plain_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

ATTENDED = frozenset(["", "cli", "tui", "desktop", "acp", "subagent", "api_server"])
"""Platforms on which somebody watches. On any other, hard stops are on by default."""


_TRUE = frozenset(["1", "true", "yes", "on", "enabled"])
_FALSE = frozenset(["0", "false", "no", "off", "disabled"])


class GuardConfig:
    """Every value of `KEYS`, by the name of its attribute: `hard_stop_after.cycle` is `hard_stop_after_cycle`."""

    __slots__ = (*(key.attribute for key in KEYS), "book", "ignored", "stops")

    preset: str
    warnings_enabled: bool
    hard_stop_enabled: bool
    non_interactive_hard_stop_enabled: bool
    on_block: str
    halt_after_ignored_blocks: int
    end_turn_on_block: bool
    carry_over_turns: bool
    failures: str
    results: str
    stubs: bool
    trust_read_only_hints: bool
    window_max_calls: int
    window_max_seconds: float
    warn_after_exact_failure: int
    warn_after_same_tool_failure: int
    warn_after_idempotent_no_progress: int
    warn_after_mutating_no_progress: int
    warn_after_wait_no_progress: int
    warn_after_identical_streak: int
    warn_after_cycle: int
    warn_after_same_failure: int
    warn_after_changing_result: int
    warn_after_counting: int
    warn_after_unanswered: int
    hard_stop_after_exact_failure: int
    hard_stop_after_same_tool_failure: int
    hard_stop_after_idempotent_no_progress: int
    hard_stop_after_mutating_no_progress: int
    hard_stop_after_identical_streak: int
    hard_stop_after_cycle: int
    hard_stop_after_same_failure: int
    hard_stop_after_unanswered: int
    wait_max_seconds: float
    wait_min_pause: float
    wait_spacing: float
    wait_pending_exit_codes: dict[str, tuple[int, ...]]
    cycle_max_period: int
    loop_caps_max_web_searches: int
    loop_caps_max_subagents: int
    arguments_ignored: tuple[str, ...]
    tools_shell: dict[str, str]
    tools_read: tuple[str, ...]
    tools_wait: tuple[str, ...]
    tools_write: tuple[str, ...]
    tools_actions: dict[str, str]
    tools_inert: tuple[str, ...]
    tools_tolerant: tuple[str, ...]
    tools_search: tuple[str, ...]
    tools_subagent: tuple[str, ...]
    stops: bool
    """Whether hard stops are on, the platform considered."""
    book: ToolBook
    ignored: frozenset[str]
    """The ignored arguments, as `plain_name` has them."""

    def __init__(self, values: Mapping[str, object] | None = None, platform: str = "") -> None:
        """`values` are by dotted path and of the right kind; what is missing is the default of the preset."""
        given = values or {}
        start = PRESETS.get(str(given.get("preset", "default")), {})
        for key in KEYS:
            setattr(self, key.attribute, given.get(key.path, start.get(key.path, key.default)))
        unattended = platform.strip().lower() not in ATTENDED
        self.stops = self.hard_stop_enabled or (unattended and self.non_interactive_hard_stop_enabled)
        self.ignored = frozenset(plain_name(name) for name in self.arguments_ignored)
        lists = {key.path[6:]: getattr(self, key.attribute) for key in KEYS if key.path.startswith("tools.")}
        shells, actions = lists.pop("shell"), lists.pop("actions")
        lists["tolerant"] += tuple(shells)
        self.book = ToolBook(shells, lists, actions)

    @classmethod
    def from_mapping(cls, mapping: object, platform: str = "") -> GuardConfig:
        """The configuration that a mapping says: a whole file with the section, or the section itself.

        `platform` is where the agent runs (`cli`, `telegram`, ...; empty where nobody says). Never raises: what is
        wrong is the default.
        """
        section = section_of(mapping)
        values: dict[str, object] = {}
        preset = section.get("preset")
        if isinstance(preset, str) and preset in PRESETS:
            values["preset"] = preset
        start = PRESETS[str(values.get("preset", "default"))]
        for key in KEYS:
            found, value = looked_up(section, key)
            if found:
                read = value_of(key, value, start.get(key.path, key.default))
                if read is not None:
                    values[key.path] = read
        if isinstance(mapping, dict) and isinstance(mapping.get("agent"), dict) and SECTION in mapping:
            guards = _bool(mapping["agent"].get("stall_guards"))
            if guards is False:
                values.update(
                    {"stubs": False, "warn_after.identical_streak": NEVER, "warn_after.cycle": NEVER}
                )
        return cls(values, platform)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GuardConfig):
            return NotImplemented
        names = [*(key.attribute for key in KEYS), "stops"]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        return hash((self.preset, self.stops))

    def changed(self, **values: object) -> GuardConfig:
        """The same with other values, by attribute."""
        paths = {key.attribute: key.path for key in KEYS}
        mine: dict[str, object] = {key.path: getattr(self, key.attribute) for key in KEYS}
        mine.update({paths[name]: value for name, value in values.items()})
        changed = GuardConfig(mine)
        changed.stops = changed.hard_stop_enabled or (self.stops and "hard_stop_enabled" not in values)
        return changed


def section_of(mapping: object) -> dict[str, Any]:
    """The section in a mapping: below its name, or the mapping itself. What is no mapping is an empty section."""
    if isinstance(mapping, dict) and SECTION in mapping:
        mapping = mapping[SECTION]
    return mapping if isinstance(mapping, dict) else {}


def looked_up(section: Mapping[str, Any], key: Key) -> tuple[bool, object]:
    """Whether a section has a key, and its value. The nested spelling wins over the flat alias."""
    outer, dot, inner = key.path.partition(".")
    if not dot:
        return outer in section, section.get(outer)
    nested = section.get(outer)
    if isinstance(nested, dict) and inner in nested:
        return True, nested[inner]
    if key.alias and key.alias in section:
        return True, section[key.alias]
    return False, None


def value_of(key: Key, value: object, default: object) -> object:
    """The value of a key as it is used; None where what is given is not one."""
    if key.kind == "bool":
        return _bool(value)
    if key.kind == "limit":
        if value is False or (isinstance(value, str) and value.strip().lower() in ("off", "never")):
            return NEVER
        number = _whole(value)
        return number if number is not None and number >= 1 else None
    if key.kind == "count":
        number = _whole(value)
        least = 2 if key.path.startswith(("window.", "cycle.")) else 0
        most = 4096 if key.path == "window.max_calls" else 1_000_000
        return number if number is not None and least <= number <= most else None
    if key.kind == "seconds":
        if isinstance(value, bool) or not isinstance(value, int | float):
            return _whole(value)
        return value if 0 <= value < 1e12 else None
    if key.kind == "choice":
        return value if isinstance(value, str) and value in key.choices else None
    if key.kind == "names":
        if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
            return None
        assert isinstance(default, tuple)
        return merged(default, [str(name) for name in value])
    return _merged_map(key, value, default)


def _merged_map(key: Key, value: object, default: object) -> object:
    if not isinstance(value, dict) or not isinstance(default, dict):
        return None
    found = dict(default)
    for name, item in value.items():
        if item is None or item is False:
            found.pop(name, None)
        elif key.path == "wait.pending_exit_codes":
            codes = item if isinstance(item, list | tuple) else [item]
            if not all(isinstance(code, int) and not isinstance(code, bool) for code in codes):
                return None
            found[str(name)] = tuple(codes)
        elif isinstance(item, str):
            found[str(name)] = item
        else:
            return None
    return found


def _bool(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value != 0
    low = value.strip().lower() if isinstance(value, str) else ""
    return True if low in _TRUE else False if low in _FALSE else None


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 12:
        return int(value)
    return None
