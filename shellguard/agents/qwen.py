# SPDX-License-Identifier: Apache-2.0
"""Qwen Code.

The vendor's documentation, read November 2026. Events, payloads and answers have Claude's form, the shell
tool is called `run_shell_command`, and time limits of commands are in milliseconds (of `http` handlers in
seconds).
"""

from __future__ import annotations

from shellguard.agents import claude
from shellguard.agents.claude_form import EVENTS, decoded
from shellguard.agents.gemini import shown_to_model
from shellguard.agents.model import PERMISSION, PRE, Call, Host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.agents.model import Payload

TOOLS = {"run_shell_command": "command"}


def decode(payload: Payload) -> Call | None:
    """See `Host.decode`."""
    call = decoded(payload, TOOLS)
    result = payload.get("tool_response")
    if (
        call is not None
        and call.named == "PostToolUse"
        and isinstance(result, dict)
        and "llmContent" in result
    ):
        call.result = shown_to_model(result)
    return call


HOST = Host(
    "qwen",
    "Qwen Code",
    decode=decode,
    encode=claude.encode,
    events=EVENTS,
    checked="2026-11-30 with 0.15.10",
    can_allow=True,
    can_ask=True,
    can_tell=True,
    allows_at=(PRE, PERMISSION),
)
