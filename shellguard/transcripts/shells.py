# SPDX-License-Identifier: Apache-2.0
"""Which tools of which agents are a shell, and the shell text in their arguments."""

from __future__ import annotations

from shlex import quote, split
from typing import Any

_COMMAND = ("command", "cmd", "script")
SHELL_TOOLS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            *(
                "bash",
                "shell",
                "sh",
                "terminal",
                "shell_command",
                "container.exec",
                "local_shell",
                "local_shell_call",
            ),
            *(
                "exec_command",
                "run_shell_command",
                "execute_bash",
                "run_bash",
                "execute_command",
                "run_command",
            ),
            *(
                "run_terminal_cmd",
                "run_terminal_command",
                "run_in_terminal",
                "bash_tool",
                "shell_tool",
                "exec",
            ),
            *("developer__shell", "cmdrunaction", "terminaltool", "command_execution", "run"),
        ),
        _COMMAND,
    ),
    "bash_command": ("keystrokes", *_COMMAND),
}
"""The name of a tool in small letters, and the arguments that may hold the command."""

_TRUE = ("true", "True")
_INTERPRETERS = frozenset({"bash", "sh", "zsh", "dash"})


def command_of(tool: str, args: dict[str, Any]) -> str | None:
    """The shell text of a call, None when its tool is no shell or it runs no command (a poll, keys, a restart)."""
    for name in SHELL_TOOLS.get(tool.lower(), ()):
        value = args.get(name)
        if isinstance(value, str):
            # An empty command asks a running program for more output; keys go to a program that runs.
            return value if value.strip(" \t\r\n") and str(args.get("is_input")) not in _TRUE else None
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return unwrapped(value)
    return None


def unwrapped(argv: list[str]) -> str:
    """The text of an argument vector: the script itself for `bash -lc SCRIPT`, else the quoted words."""
    return argv[2] if _is_wrapper(argv) else " ".join(map(quote, argv))


def without_wrapper(command: str) -> str:
    """The command without the shell that a program put around it: `bash -lc '...'`."""
    try:
        words = split(command) if command.partition(" ")[0].rpartition("/")[2] in _INTERPRETERS else []
    except ValueError:
        return command
    return words[2] if _is_wrapper(words) else command


def _is_wrapper(argv: list[str]) -> bool:
    return len(argv) == 3 and argv[0].rpartition("/")[2] in _INTERPRETERS and argv[1] in {"-c", "-lc", "-cl"}
