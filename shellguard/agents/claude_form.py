# SPDX-License-Identifier: Apache-2.0
"""The form of payloads and answers that Claude Code began, and others took over: decoding, and its JSON."""

from __future__ import annotations

from shellguard.agents.jsontext import dumps
from shellguard.agents.model import (
    PERMISSION,
    POST,
    PRE,
    TURN,
    Call,
    Reply,
    call_in,
    text_at,
    whole,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from shellguard.agents.model import Payload

FAILURE = "PostToolUseFailure"
EVENTS = {
    "PreToolUse": PRE,
    "PermissionRequest": PERMISSION,
    "PostToolUse": POST,
    FAILURE: POST,
    "UserPromptSubmit": TURN,
}


def decoded(
    payload: Payload, tools: Mapping[str, str], events: Mapping[str, str] = EVENTS, *, words: bool = False
) -> Call | None:
    """The call in a payload of Claude's form (see `call_in`)."""
    call = call_in(payload, events, tools, words=words)
    if call is not None:
        call.agent = text_at(payload, "agent_id")
        if call.event == POST:
            add_result(call, payload)
    return call


def add_result(call: Call, payload: Payload) -> None:
    """The result of a call in Claude's form. What changes from run to run (durations, ids) is left out."""
    if call.named == FAILURE:
        call.result, call.failed = payload.get("error"), True
        if not isinstance(call.result, str):
            call.result = payload.get("error_details")
        return
    result = payload.get("tool_response", payload.get("tool_result"))
    if isinstance(result, dict):
        call.exit_code = whole(result.get("exit_code", result.get("exitCode")))
        call.result = result_text(result)
    else:
        call.result = result


def result_text(result: Mapping[str, Any]) -> object:
    """What a result in parts says to the model: its output and its errors."""
    parts = [result[name] for name in ("stdout", "output", "stderr") if isinstance(result.get(name), str)]
    if not parts:
        return {key: value for key, value in result.items() if key not in ("duration_ms", "durationMs")}
    if result.get("interrupted") is True:
        parts.append("interrupted")
    return "\n".join(part for part in parts if part)


def specific(named: str, **fields: object) -> Reply:
    """`{"hookSpecificOutput": {"hookEventName": ..., ...}}`, on one line."""
    return Reply(dumps({"hookSpecificOutput": {"hookEventName": named, **fields}}) + "\n")


def noted(reply: Reply, note: str) -> Reply:
    """The reply with a message for the person, where it says nothing else."""
    return (
        Reply(dumps({"systemMessage": note}) + "\n")
        if note and not reply.stdout and not reply.status
        else reply
    )
