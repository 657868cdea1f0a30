# SPDX-License-Identifier: Apache-2.0
"""SWE-agent: `.traj` documents. A step is an action, one shell text in which the agent's own tools look like commands.

Sources: recorded runs of version 0.6 to 1.1. Every step that has an action is a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shellguard.transcripts.files import Source
from shellguard.transcripts.model import Call, Problem, Result, Run, items, mapping, seconds, text

NAME = "swe-agent"
LACKS = ("the exit code", "time stamps", "call ids")

OWN_TOOLS = frozenset(
    {
        *(
            "str_replace_editor",
            "open",
            "goto",
            "scroll_up",
            "scroll_down",
            "create",
            "edit",
            "insert",
            "append",
        ),
        *("search_dir", "search_file", "find_file", "submit", "view_image", "set_cursors", "exit_forfeit"),
        *("exit_cost", "exit_context", "exit_format", "exit_error", "exit_api", "edit_anthropic", "filemap"),
        *("debug_start", "debug_add_breakpoint", "debug_continue", "debug_step", "debug_exec", "debug_stop"),
        *("connect_start", "connect_sendline", "connect_stop", "connect_exec", "decompile", "disassemble"),
        *("review_on_submit", "view", "str_replace", "undo_edit", "find_and_replace", "bash_interactive"),
    }
)
"""First words that name a tool of the agent, not a program."""


def is_document(document: object) -> bool:
    """Whether a document is a trajectory of steps with an action and an observation."""
    steps = items(mapping(document).get("trajectory"))
    return any(isinstance(step, dict) and "action" in step and "observation" in step for step in steps[:5])


def read(source: Source) -> Iterator[Call | Problem]:
    """The calls of a document in their order."""
    document = mapping(source.document())
    run = Run(NAME, text(document.get("instance_id")) or source.stem)
    for step in items(document.get("trajectory")):
        if not isinstance(step, dict):
            yield source.problem("a step that is no JSON object")
            continue
        action = step.get("action")
        if not isinstance(action, str) or not action.strip(" \t\r\n"):
            continue
        yield _call(run, action, step)


def _arguments(words: list[str], action: str) -> dict[str, Any]:
    """What one of the agent's own tools was given; what an editor is to do has a name of its own."""
    if words[0] != "str_replace_editor" or len(words) < 2:
        return {"text": action}
    return {"command": words[1].split(None, 1)[0], "text": action}


def _call(run: Run, action: str, step: dict[str, Any]) -> Call:
    words = action.split(None, 1)
    own = words[0] in OWN_TOOLS
    call = run.call(
        words[0] if own else "bash",
        _arguments(words, action) if own else {"command": action},
        None if own else action,
        group=str(run.index),
    )
    observation = step.get("observation")
    Result(
        observation if isinstance(observation, str) else None, elapsed=seconds(step.get("execution_time"))
    ).give(call)
    return call
