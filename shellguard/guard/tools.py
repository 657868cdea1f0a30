# SPDX-License-Identifier: Apache-2.0
"""What a tool is by its name, where no command says it: the defaults, and the book that a configuration makes of them.

Names are compared without case. A `*` at the beginning or the end of a name stands for anything. The names are those
that known hosts give their tools; those of Hermes are complete (its `agent/tool_guardrails.py`).
"""

from __future__ import annotations

from shellguard.guard.model import READ, UNKNOWN, WAIT, WRITE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

SHELL = {
    "bash": "command",
    "container.exec": "cmd",
    "developer__shell": "command",
    "exec": "command",
    "exec_command": "cmd",
    "execute_bash": "command",
    "execute_command": "command",
    "local_shell": "command",
    "powershell": "command",
    "run_command": "command",
    "run_in_terminal": "command",
    "run_shell_command": "command",
    "run_terminal_cmd": "command",
    "sh": "command",
    "shell": "command",
    "shell_command": "command",
    "terminal": "command",
    "unified_exec": "cmd",
}
"""Tools that run a command, and the argument that holds it."""

OTHER_COMMAND_ARGUMENTS = ("command", "cmd", "script", "input")
"""Where else a shell tool may have its command, when the argument named for it is not there."""

READS = (
    *(
        "read_file",
        "search_files",
        "web_search",
        "web_extract",
        "session_search",
        "skill_view",
        "skills_list",
    ),
    *(
        "browser_snapshot",
        "browser_console",
        "browser_get_images",
        "mcp_filesystem_read*",
        "mcp_filesystem_list*",
    ),
    *("mcp_filesystem_get*", "mcp_filesystem_search*", "mcp_filesystem_directory_tree"),
    *(
        "read",
        "grep",
        "glob",
        "ls",
        "search",
        "find",
        "view",
        "cat",
        "list",
        "list_dir",
        "list_directory",
        "list_files",
    ),
    *(
        "webfetch",
        "websearch",
        "web_fetch",
        "google_web_search",
        "fetch",
        "fetch_url",
        "search_web",
        "read_many_files",
    ),
    *(
        "notebookread",
        "grep_search",
        "file_search",
        "codebase_search",
        "semantic_search",
        "search_file_content",
    ),
    *(
        "find_files",
        "open_file",
        "view_file",
        "get_diagnostics",
        "lsp",
        "toolsearch",
        "todoread",
        "todo_read",
        "query",
    ),
    *("read_lints", "get_errors", "get_file", "listmcpresourcestool", "readmcpresourcetool", "view_image"),
    *("logs", "get_logs", "read_logs", "tail_logs"),
)
WAITS = (
    *(
        "*_get_result",
        "*_poll",
        "*_wait",
        "*_status",
        "poll",
        "wait",
        "wait_*",
        "status",
        "poll_*",
        "get_status",
    ),
    *(
        "bashoutput",
        "bash_output",
        "taskoutput",
        "task_output",
        "agentoutputtool",
        "read_output",
        "get_output",
    ),
    *(
        "get_task_output",
        "get_terminal_output",
        "read_terminal",
        "wait_for",
        "wait_agent",
        "check_status",
        "monitor",
        "*_wait_for",
        "sleep",
        "heartbeat",
        "*_heartbeat",
        "keepalive",
        "keep_alive",
    ),
)
WRITES = (
    *(
        "terminal",
        "execute_code",
        "write_file",
        "patch",
        "todo_list",
        "memory",
        "skill_manage",
        "browser_click",
    ),
    *(
        "browser_type",
        "browser_press",
        "browser_scroll",
        "browser_navigate",
        "send_message",
        "cronjob_manage",
    ),
    *("delegate_task", "process_manage", "process", "cronjob", "todo"),
    *(
        "write",
        "edit",
        "multiedit",
        "notebookedit",
        "apply_patch",
        "create_file",
        "edit_file",
        "insert_edit_into_file",
    ),
    *(
        "str_replace",
        "replace",
        "replace_in_file",
        "write_to_file",
        "apply_diff",
        "json_edit_tool",
        "mv",
        "move_file",
    ),
    *(
        "delete_file",
        "rename_file",
        "send",
        "navigate",
        "write_stdin",
        "killshell",
        "task",
        "agent",
        "spawn_agent",
    ),
    *("str_replace_based_edit_tool", "str_replace_editor", "commit", "submit", "task_done"),
)
INERT = (
    "think",
    "sequentialthinking",
    "todo_write",
    "todowrite",
    "update_plan",
    "plan",
    "todo_read",
    "todoread",
)
"""Tools that change nothing outside of the conversation: to use one is no progress."""

TOLERANT = ("terminal", "execute_code", "process", "process_manage", "browser_navigate", "web_extract")
"""Tools whose failures are ordinary: many in a row are never a reason to end a turn. Shell tools are such too."""

SEARCHES = ("web_search", "websearch", "google_web_search", "search_web")
SUBAGENTS = ("delegate_task", "task", "agent", "spawn_agent")

ACTIONS = {
    "cronjob": "action",
    "computer": "action",
    "cronjob_manage": "action",
    "memory": "action",
    "process": "action",
    "process_manage": "action",
    "skill_manage": "action",
    "str_replace_based_edit_tool": "command",
    "str_replace_editor": "command",
    "todo": "action",
    "todo_list": "action",
}
"""Tools that read or write by one of their arguments."""

READING_ACTIONS = frozenset(
    [
        *("view", "read", "list", "get", "show", "search", "status", "ls", "find", "query", "fetch"),
        *("inspect", "describe", "check", "screenshot", "zoom", "cursor_position"),
    ]
)
WAITING_ACTIONS = frozenset(["poll", "wait", "sleep", "tail", "log", "logs", "output"])
CONTROL_ACTIONS = frozenset(["list", "steer", "stop", "status", "cancel"])
"""What a tool for sub-agents can be asked to do without starting one."""

SENDING = frozenset(["write_stdin", "send_input", "send_keys", "terminal_input"])
"""Tools that send input to something that runs. Without input they only look."""
INPUTS = ("chars", "input", "data", "text", "keys")
"""The arguments that hold such input."""


LOOKING_WORDS = frozenset(
    [
        *("get", "list", "search", "read", "find", "fetch", "query", "view", "show", "describe", "lookup"),
        *("inspect", "browse"),
    ]
)
CHANGING_WORDS = frozenset(
    [
        *("and", "or", "replace", "create", "update", "delete", "write", "set", "add", "remove", "next"),
        *("pop", "insert", "send", "run", "exec", "execute", "edit", "apply", "claim", "take", "upsert"),
    ]
)
"""Words in the name of a reader that make it doubtful: `get_or_create`, `get_next_job`."""


class ToolBook:
    """What a configuration knows of tools by their names."""

    __slots__ = ("_actions", "_lists", "shells")

    def __init__(
        self,
        shells: Mapping[str, str],
        lists: Mapping[str, tuple[str, ...]],
        actions: Mapping[str, str],
    ) -> None:
        self.shells = {name.lower(): argument for name, argument in shells.items()}
        self._actions = {name.lower(): argument for name, argument in actions.items()}
        self._lists = {kind: NameList(names) for kind, names in lists.items()}

    def has(self, kind: str, tool: str) -> bool:
        """Whether a tool (lower case) stands in the list of that kind."""
        return tool in self._lists[kind]

    def action_of(self, tool: str, args: Mapping[str, Any]) -> str:
        """What a tool (lower case) of several actions is asked to do; empty for any other."""
        argument = self._actions.get(tool)
        action = args.get(argument) if argument is not None else None
        return action.lower() if isinstance(action, str) else ""

    def class_of(self, tool: str, args: Mapping[str, Any]) -> str:
        """The class of a call of a tool that runs no command."""
        snake = snake_case(tool)
        tool = tool.lower()
        if tool in SENDING:
            return WRITE if any(args.get(name) for name in INPUTS) else WAIT
        action = self.action_of(tool, args)
        if action:
            if action in WAITING_ACTIONS:
                return WAIT
            return READ if action in READING_ACTIONS else WRITE
        for kind, found in (("write", WRITE), ("wait", WAIT), ("read", READ)):
            if self.has(kind, tool) or self.has(kind, snake):
                return found
        return UNKNOWN


def plain_name(name: str) -> str:
    """`timeoutMs`, `timeout-ms` and `timeout_ms` as one name."""
    return name.lower().replace("_", "").replace("-", "")


def looks_by_name(tool: str) -> bool:
    """Whether a tool that stands in no list calls itself a reader: `mcp__github__list_issues`, `getWeather`.

    A name is no promise, so such a tool keeps the limits of an unknown one; but its answers are no progress, and what
    is said of other readers is said of it.
    """
    words = snake_case(tool.rpartition("__")[2].rpartition(".")[2]).replace("-", "_").split("_")
    if words[0] == "mcp":
        words = words[2:]
    return bool(words) and words[0] in LOOKING_WORDS and CHANGING_WORDS.isdisjoint(words)


def snake_case(name: str) -> str:
    """`GetJobStatus` as `get_job_status`; any other name in lower case."""
    out: list[str] = []
    for place, char in enumerate(name[:100]):
        if char.isupper() and place and name[place - 1].islower():
            out.append("_")
        out.append(char)
    return "".join(out).lower()


class NameList:
    """Names, some with a `*` at their beginning or end."""

    __slots__ = ("_beginnings", "_endings", "_whole")

    def __init__(self, names: Iterable[str]) -> None:
        low = [name.lower() for name in names]
        self._whole = frozenset(name for name in low if "*" not in name)
        self._beginnings = tuple(name[:-1] for name in low if name.endswith("*") and len(name) > 1)
        self._endings = tuple(name[1:] for name in low if name.startswith("*") and len(name) > 1)

    def __contains__(self, name: str) -> bool:
        return (
            name in self._whole
            or (bool(self._beginnings) and name.startswith(self._beginnings))
            or (bool(self._endings) and name.endswith(self._endings))
        )


def merged(defaults: tuple[str, ...], given: Iterable[str]) -> tuple[str, ...]:
    """A list with the names of a configuration added; `-name` takes one out."""
    names = list(defaults)
    for name in given:
        if name.startswith("-"):
            names = [each for each in names if each.lower() != name[1:].lower()]
        elif name not in names:
            names.append(name)
    return tuple(names)


def agents_started(args: Mapping[str, Any]) -> int:
    """How many sub-agents a call of a tool for them starts: none for a control action, one for each of a batch."""
    action = args.get("action")
    if isinstance(action, str) and action.lower() in CONTROL_ACTIONS:
        return 0
    for key in ("tasks", "goals", "agents"):
        batch = args.get(key)
        if isinstance(batch, list):
            return max(1, len(batch))
    return 1
