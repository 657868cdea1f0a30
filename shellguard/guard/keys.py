# SPDX-License-Identifier: Apache-2.0
"""What can be set: one table of keys, from which defaults, presets, the template, the checks and the paper are made."""

from __future__ import annotations

from shellguard.guard import tools

SECTION = "tool_loop_guardrails"
NEVER = 0
"""The value of a threshold that is switched off."""


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

VOLATILE = (
    *("description", "timeout", "timeout_ms", "timeout_seconds", "timeout_secs", "justification", "thought"),
    *("thoughts", "reasoning", "reason", "rationale", "explanation", "task_progress", "security_risk"),
    *("tool_summary", "tool_action", "yield_ms", "yield_time_ms", "max_output_tokens", "request_id"),
    *("idempotency_key", "nonce", "cursor"),
)
"""Arguments that say why, how long to wait and how much to show; `timeoutMs` is `timeout_ms`."""

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
        "calls that differ in a number only, and so do their results, if at all; again at 16, ...",
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
