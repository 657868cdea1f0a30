# SPDX-License-Identifier: Apache-2.0
"""Cursor.

A log of live runs of 3.9.16 by a third party, read November 2026; not run here.

Answers are flat and in snake_case, without `hookSpecificOutput`. On deny the model reads `user_message`.
`ask` is in the schema and was seen to act as deny. JSON together with exit status 2 is shown to the model
raw, so they are never paired. With `failClosed` every call needs an explicit allow, which also approves it;
so what is no proven read is answered `ask` there, never allow. One layer is wired (`preToolUse`): with two,
each call would be counted twice. `cwd` may be empty.
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
    whole,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.agents.model import Payload

TOOLS = {"Shell": "command"}
EVENTS = {"preToolUse": PRE, "postToolUse": POST, "postToolUseFailure": POST, "beforeSubmitPrompt": TURN}


def decode(payload: Payload) -> Call | None:
    """See `Host.decode`."""
    call = call_in(payload, EVENTS, TOOLS, session="conversation_id")
    if call is None:
        return None
    call.in_terminal()
    if not call.cwd and call.event != TURN:
        roots = payload.get("workspace_roots")
        call.cwd = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    if call.event == POST:
        call.result = payload.get("tool_output", payload.get("error_message", payload.get("error")))
        call.failed = True if call.named == "postToolUseFailure" else None
        call.exit_code = whole(payload.get("exit_code"))
    return call


def encode(named: str, event: str, answer: Answer) -> Reply:
    """See `Host.encode`."""
    if event == POST:
        return Reply(dumps({"additional_context": answer.context}) + "\n") if answer.context else Reply()
    if event == TURN or answer.action not in (ALLOW, ASK, DENY):
        return Reply()
    said = {"permission": answer.action}
    if answer.action != ALLOW:
        said["user_message"] = said["agent_message"] = answer.reason
    return Reply(dumps(said) + "\n")


HOST = Host(
    "cursor",
    "Cursor",
    decode=decode,
    encode=encode,
    events=EVENTS,
    checked="2026-11-30, from logs of 3.9.16 by others",
    can_allow=True,
    can_ask=True,
    can_tell=True,
    fails_closed='"failClosed": true, with --fail-closed',
)
