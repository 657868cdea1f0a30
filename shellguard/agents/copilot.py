# SPDX-License-Identifier: Apache-2.0
"""GitHub Copilot: its command line and its cloud agent.

The vendor's reference of hooks, read November 2026; not run here.

Events are registered in PascalCase, which gives payloads in snake_case with Claude's tool names, in the
command line and in VS Code. The command line reads the answer at the top level, VS Code below
`hookSpecificOutput`: it stands in both. Any exit status but 0 denies, a hook that takes too long allows. In
the cloud `ask` counts as deny. It also reads `.claude/settings.json`: with both installed each call is
checked twice, and counted once, by its id.
"""

from __future__ import annotations

from shellguard.agents.claude_form import EVENTS, decoded, result_text
from shellguard.agents.jsontext import dumps
from shellguard.agents.model import ALLOW, ASK, DENY, PERMISSION, POST, PRE, TURN, Answer, Call, Host, Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shellguard.agents.model import Payload

TOOLS = {"bash": "command", "shell": "command", "run_in_terminal": "command"}
"""Not `powershell`: it reads `"a\\" ; rm x"` as two commands, and this package reads it as one word."""


def decode(payload: Payload) -> Call | None:
    """See `Host.decode`."""
    call = decoded(payload, TOOLS)
    if call is not None and call.event == POST:
        result = payload.get("tool_result", payload.get("toolResult"))
        if isinstance(result, dict):
            text = result.get("text_result_for_llm", result.get("textResultForLlm"))
            call.result = text if isinstance(text, str) else result_text(result)
    return call


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
    checked="2026-11-30, from its documentation",
    can_allow=True,
    can_ask=True,
    can_tell=True,
    allows_at=(PRE, PERMISSION),
)
