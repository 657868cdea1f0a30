# SPDX-License-Identifier: Apache-2.0
"""What can be set: one table of keys, from which defaults, presets, the template and the checks are made.

A configuration is a mapping as YAML or TOML gives it. What is wrong in it falls back to the default, as upstream has
it; `complaints.py` says what is wrong.
"""

from __future__ import annotations

from shellguard.guard import tools
from shellguard.guard.tools import ToolBook, merged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SECTION = "tool_loop_guardrails"
NEVER = 0
"""The value of a threshold that is switched off."""

ATTENDED = frozenset(["", "cli", "tui", "desktop", "acp", "subagent", "api_server"])
"""Platforms on which somebody watches. On any other, hard stops are on by default."""


class Key:
    """One key: its dotted `path`, `default`, what kind of value it takes, the least number, and what it is for.

    `kind` is one of `bool`, `limit` (a whole number, or `off`), `count` (a whole number; 0 is off), `seconds`,
    `choice`, `names` (a list, added to the defaults), `map` (added to the defaults). `alias` is its flat name.
    """

    __slots__ = ("alias", "choices", "default", "help", "kind", "path")

    def __init__(
        self,
        path: str,
        kind: str,
        default: object,
        help: str,  # noqa: A002 - it is the word for it
        alias: str = "",
        choices: tuple[str, ...] = (),
    ) -> None:
        self.path, self.kind, self.default, self.help = path, kind, default, help
        self.alias, self.choices = alias, choices

    @property
    def attribute(self) -> str:
        """The name of the key in a `GuardConfig`."""
        return self.path.replace(".", "_")


PENDING = {
    "gh pr checks": (8,),
    "grep": (1,),
    "egrep": (1,),
    "fgrep": (1,),
    "zgrep": (1,),
    "rg": (1,),
    "ag": (1,),
    "git grep": (1,),
    "git diff": (1,),
    "diff": (1,),
    "cmp": (1,),
    "test": (1,),
    "[": (1,),
    "pgrep": (1,),
    "systemctl is-active": (3,),
    "timeout": (124,),
}
"""Exit codes that say "not yet" or "no", and not that something went wrong."""

VOLATILE = ("description", "timeout", "timeout_ms", "justification", "thought", "explanation", "cursor")

KEYS = (
    Key(
        "preset",
        "choice",
        "default",
        "the values from which the others start",
        choices=("default", "hermes", "unattended"),
    ),
    Key("warnings_enabled", "bool", True, "say when a call goes in circles; a warning never stops anything"),
    Key(
        "hard_stop_enabled", "bool", False, "refuse a call at its hard_stop_after; off where a person watches"
    ),
    Key(
        "non_interactive_hard_stop_enabled",
        "bool",
        True,
        "where nobody watches (platform is telegram, cron, ...), hard stops are on",
    ),
    Key(
        "on_block",
        "choice",
        "block",
        "ask: where the host can, a person is asked in place of a refusal",
        choices=("block", "ask"),
    ),
    Key("halt_after_ignored_blocks", "count", 0, "end the turn after so many refusals in a row; 0: never"),
    Key("end_turn_on_block", "bool", False, "a refusal ends the turn, as upstream has it"),
    Key("carry_over_turns", "bool", False, "keep the counts when the user says something new"),
    Key(
        "failures",
        "choice",
        "same",
        "same: failures add up while they say the same; any: always",
        choices=("same", "any"),
    ),
    Key(
        "results",
        "choice",
        "normalised",
        "exact: times, ids and the like count as differences",
        choices=("normalised", "exact"),
    ),
    Key("stubs", "bool", True, "the adapter puts a reference in place of an equal long result"),
    Key("trust_read_only_hints", "bool", False, "believe an MCP server that calls a tool read-only"),
    Key("window.max_calls", "count", 256, "calls that are remembered"),
    Key("window.max_seconds", "seconds", 3600, "how long they are; 0: for ever"),
    Key("warn_after.exact_failure", "limit", 3, "the same call failing", "exact_failure_warn_after"),
    Key(
        "warn_after.same_tool_failure",
        "limit",
        5,
        "any calls of one tool failing",
        "same_tool_failure_warn_after",
    ),
    Key(
        "warn_after.idempotent_no_progress",
        "limit",
        3,
        "the same read, the same result",
        "no_progress_warn_after",
    ),
    Key(
        "warn_after.mutating_no_progress",
        "limit",
        4,
        "the same write, or what may be one, with the same result",
        "mutating_no_progress_warn_after",
    ),
    Key("warn_after.wait_no_progress", "limit", 20, "the same wait, the same result; again at 40, 80, ..."),
    Key(
        "warn_after.identical_streak",
        "limit",
        3,
        "the same call and result in a row, where nothing above counts it",
    ),
    Key("warn_after.cycle", "limit", 3, "laps of a cycle of calls and results"),
    Key("warn_after.same_failure", "limit", 5, "the same failure from different arguments"),
    Key(
        "warn_after.changing_result",
        "limit",
        8,
        "the same call with another result each time; again at 16, 32, ...",
    ),
    Key(
        "warn_after.counting",
        "limit",
        8,
        "calls that differ in a number, with results that only repeat it; again at 16, ...",
    ),
    Key("warn_after.unanswered", "limit", 4, "the same call whose result never arrives"),
    Key("hard_stop_after.exact_failure", "limit", 5, "the same call failing", "exact_failure_block_after"),
    Key(
        "hard_stop_after.same_tool_failure",
        "limit",
        8,
        "any calls of one tool failing; ends the turn",
        "same_tool_failure_halt_after",
    ),
    Key(
        "hard_stop_after.idempotent_no_progress",
        "limit",
        5,
        "the same read, the same result",
        "no_progress_block_after",
    ),
    Key(
        "hard_stop_after.mutating_no_progress",
        "limit",
        12,
        "the same write, or what may be one, with the same result",
        "mutating_no_progress_block_after",
    ),
    Key(
        "hard_stop_after.identical_streak",
        "limit",
        NEVER,
        "the same call and result in a row, of any tool but a wait; ends the turn",
    ),
    Key("hard_stop_after.cycle", "limit", 5, "laps of a cycle of calls and results"),
    Key("hard_stop_after.same_failure", "limit", 10, "the same failure from different arguments"),
    Key("hard_stop_after.unanswered", "limit", 12, "the same call whose result never arrives"),
    Key("wait.max_seconds", "seconds", 3600, "how long a wait may go on without any change; 0: for ever"),
    Key("wait.min_pause", "seconds", 1, "a shorter declared pause makes no wait"),
    Key("wait.spacing", "seconds", 120, "a read that is asked again after so long is a wait; 0: never"),
    Key(
        "wait.pending_exit_codes",
        "map",
        PENDING,
        "command: exit codes that mean `not yet`, which is no failure",
    ),
    Key("cycle.max_period", "count", 10, "the longest cycle that is looked for"),
    Key(
        "loop_caps.max_web_searches",
        "count",
        50,
        "searches of the web in a turn; 0: no cap. Holds without hard stops too",
    ),
    Key(
        "loop_caps.max_subagents",
        "count",
        50,
        "sub-agents in a turn; 0: no cap. Holds without hard stops too",
    ),
    Key("arguments.ignored", "names", VOLATILE, "arguments that do not make another call"),
    Key("tools.shell", "map", tools.SHELL, "tools that run a command: the argument that holds it"),
    Key("tools.read", "names", tools.READS, "tools that only read"),
    Key("tools.wait", "names", tools.WAITS, "tools that look whether something is done"),
    Key("tools.write", "names", tools.WRITES, "tools that change something"),
    Key(
        "tools.actions", "map", tools.ACTIONS, "tools that read or write by one of their arguments: its name"
    ),
    Key("tools.inert", "names", tools.INERT, "tools whose use is no progress"),
    Key("tools.tolerant", "names", tools.TOLERANT, "tools whose many failures never end a turn"),
    Key("tools.search", "names", tools.SEARCHES, "tools that count as searches of the web"),
    Key("tools.subagent", "names", tools.SUBAGENTS, "tools that start sub-agents"),
)
"""Every key, in the order in which the template shows them."""

PRESETS: dict[str, dict[str, object]] = {
    "default": {},
    "unattended": {"hard_stop_enabled": True, "hard_stop_after.idempotent_no_progress": 10},
    # The numbers and the ways of upstream, NousResearch/hermes-agent agent/tool_guardrails.py @06c25ac90be8.
    "hermes": {
        "warn_after.exact_failure": 2,
        "warn_after.same_tool_failure": 3,
        "warn_after.idempotent_no_progress": 2,
        "warn_after.mutating_no_progress": NEVER,
        "warn_after.wait_no_progress": NEVER,
        "warn_after.same_failure": NEVER,
        "warn_after.changing_result": NEVER,
        "warn_after.counting": NEVER,
        "warn_after.unanswered": NEVER,
        "hard_stop_after.mutating_no_progress": NEVER,
        "hard_stop_after.identical_streak": 5,
        "hard_stop_after.same_failure": NEVER,
        "hard_stop_after.unanswered": NEVER,
        "wait.max_seconds": 0,
        "wait.spacing": 0,
        "cycle.max_period": 4,
        "window.max_calls": 1024,
        "window.max_seconds": 0,
        "end_turn_on_block": True,
        "failures": "any",
        "results": "exact",
        # Tools that look after processes are all pollers there, whatever they are asked.
        "tools.wait": (*tools.WAITS, "process", "process_manage"),
        "tools.write": tuple([name for name in tools.WRITES if not name.startswith("process")]),
        "tools.actions": {
            tool: name for tool, name in tools.ACTIONS.items() if not tool.startswith("process")
        },
    },
}

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
    """The ignored arguments in lower case."""

    def __init__(self, values: Mapping[str, object] | None = None, platform: str = "") -> None:
        """`values` are by dotted path and of the right kind; what is missing is the default of the preset."""
        given = values or {}
        start = PRESETS.get(str(given.get("preset", "default")), {})
        for key in KEYS:
            setattr(self, key.attribute, given.get(key.path, start.get(key.path, key.default)))
        unattended = platform.strip().lower() not in ATTENDED
        self.stops = self.hard_stop_enabled or (unattended and self.non_interactive_hard_stop_enabled)
        self.ignored = frozenset(name.lower() for name in self.arguments_ignored)
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
