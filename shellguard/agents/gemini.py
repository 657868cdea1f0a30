# SPDX-License-Identifier: Apache-2.0
"""Gemini CLI.

The vendor's documentation and its source at 5411f113, read November 2026. Run with the client from the npm
registry against a stand-in for its model endpoint (`python -m tools.hosts gemini`): reads, a loop told and
refused, a write. Its own detection of loops ends a session at the fifth equal call, before ours refuses the
sixth.

Standard output must hold JSON and nothing else. `decision` is read at the top level: allow, deny, and in the
source also ask, which forces the prompt. `allow` does not skip the user's own policy. Time limits are in
milliseconds. A failed command arrives as `AfterTool` with `tool_response.error`. `timestamp` changes with
every payload.
"""

from __future__ import annotations

from shellguard.agents.jsontext import dumps
from shellguard.agents.model import (
    ALLOW,
    ASK,
    DENY,
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

TOOLS = {"run_shell_command": "command"}
EVENTS = {"BeforeTool": PRE, "AfterTool": POST, "BeforeAgent": TURN}


def decode(payload: Payload) -> Call | None:
    """See `Host.decode`."""
    if payload.get("mcp_context"):
        return None  # a tool of somebody's server, whatever its name
    call = call_in(payload, EVENTS, TOOLS)
    if call is not None and call.event == POST:
        result = payload.get("tool_response")
        if isinstance(result, dict):
            call.failed = True if result.get("error") else None
            call.result = shown_to_model(result)
        else:
            call.result = result
    return call


def shown_to_model(result: Payload) -> object:
    """What the model sees of a result, without the number of the process group, which is another each time."""
    text = result.get("llmContent", result.get("error"))
    if not isinstance(text, str):
        return text
    return "\n".join(line for line in text.split("\n") if not line.startswith("Process Group PGID: "))


def encode(named: str, event: str, answer: Answer) -> Reply:
    """See `Host.encode`."""
    said: dict[str, Any] = {}
    if event == POST:
        if answer.context:
            said = {"hookSpecificOutput": {"hookEventName": "AfterTool", "additionalContext": answer.context}}
    elif event != TURN and answer.action in (ALLOW, ASK, DENY):
        said = {"decision": answer.action}
        if answer.reason:
            said["reason"] = answer.reason
    if answer.note:
        said["systemMessage"] = answer.note
    return Reply(dumps(said) + "\n")


HOST = Host(
    "gemini",
    "Gemini CLI",
    decode=decode,
    encode=encode,
    events=EVENTS,
    checked="2026-11-30 with 0.61.0",
    can_allow=True,
    can_ask=True,
    can_tell=True,
)
