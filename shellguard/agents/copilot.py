# SPDX-License-Identifier: Apache-2.0
"""GitHub Copilot: its command line and its cloud agent.

The vendor's reference of hooks, read November 2026; run with the client from the npm registry against a stand-in for
its model endpoint (`python -m tools.hosts copilot`): reads without a prompt, a loop told and refused, a write left to a
person. It runs `/bin/bash -c` without a terminal, whatever `SHELL` says.

Events are registered in PascalCase, which gives payloads in snake_case with Claude's tool names, in the
command line and in VS Code; `PermissionRequest` alone comes as `hookName: permissionRequest`, in camelCase, after the
answer to `PreToolUse` was not allow. No payload has an id of its call, a failed command comes as `PostToolUse`, and an
output ends with a line that counts the calls. The command line reads the answer at the top level, VS Code below
`hookSpecificOutput`: it stands in both. Any exit status but 0 denies, a hook that takes too long allows. In
the cloud `ask` counts as deny. It also reads `.claude/settings.json`: with both installed each call is
checked twice, and counted by each on its own.
"""

from __future__ import annotations

from shellguard.agents.claude_form import EVENTS, decoded, result_text
from shellguard.agents.jsontext import dumps
from shellguard.agents.model import (
    ALLOW,
    ASK,
    DENY,
    PERMISSION,
    POST,
    PRE,
    TURN,
    Answer,
    Call,
    Host,
    Reply,
    call_in,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shellguard.agents.model import Payload

TOOLS = {"Bash": "command", "bash": "command", "shell": "command", "run_in_terminal": "command"}
"""Not `powershell`: it reads `"a\\" ; rm x"` as two commands, and this package reads it as one word."""


_END = "<shellId: "
"""How the last line of an output begins, which counts the calls and tells the exit status."""


def decode(payload: Payload) -> Call | None:
    """See `Host.decode`."""
    if payload.get("hookName") == "permissionRequest":
        return call_in(
            payload,
            {"permissionRequest": PERMISSION},
            TOOLS,
            event="hookName",
            session="sessionId",
            tool_name="toolName",
            tool_input="toolInput",
        )
    call = decoded(payload, TOOLS)
    if call is None:
        return None
    if "transcript_path" in payload or "tool_use_id" in payload or call.tool == "run_in_terminal":
        call.in_terminal()  # VS Code, which reads the same file
    if call.event == POST:
        result = payload.get("tool_result", payload.get("toolResult"))
        if isinstance(result, dict):
            text = result.get("text_result_for_llm", result.get("textResultForLlm"))
            call.result = result_text(result)
            if isinstance(text, str):
                call.result, call.exit_code = _output(text)
    return call


def _output(text: str) -> tuple[str, int | None]:
    """An output without its last line, and the exit status in it (None where it tells none)."""
    output, _, last = text.rpartition("\n")
    if not last.startswith(_END):
        return text, None
    status = last.rpartition(" ")[2].rstrip(">")
    return output, int(status) if status.isdecimal() and len(status) < 10 else None


def encode(named: str, event: str, answer: Answer) -> Reply:
    """See `Host.encode`."""
    if event == PERMISSION:
        if answer.action not in (ALLOW, DENY):
            return Reply()
        said: dict[str, Any] = {"behavior": answer.action}
        if answer.action == DENY:
            said["message"] = answer.reason
        return Reply(dumps(said) + "\n")
    if event == POST:
        return _both(named, additionalContext=answer.context) if answer.context else Reply()
    if event == TURN or answer.action not in (ALLOW, ASK, DENY):
        return Reply()
    return _both(
        named or "PreToolUse", permissionDecision=answer.action, permissionDecisionReason=answer.reason
    )


def _both(named: str, **fields: object) -> Reply:
    return Reply(dumps({**fields, "hookSpecificOutput": {"hookEventName": named, **fields}}) + "\n")


HOST = Host(
    "copilot",
    "GitHub Copilot CLI",
    decode=decode,
    encode=encode,
    events=EVENTS,
    checked="2026-11-30 with 1.0.102",
    can_allow=True,
    can_ask=True,
    can_tell=True,
    allows_at=(PRE, PERMISSION),
)
