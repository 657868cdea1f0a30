# SPDX-License-Identifier: Apache-2.0
"""OpenHands (its SDK).

Its documentation of hooks, and `openhands/sdk/hooks` of 1.58.2 from the Python package index, read November 2026; of
that release the settings were loaded and calls went through its hook manager (a read, a loop told and refused, a
pattern that asks), no session. `decision` is read at the top level, allow or deny; allow does not skip the
confirmations of the SDK. There is no ask yet, so what should ask is refused, with the reason. A hook that fails lets
the call run, and there is no switch against that.

Its terminal types commands into bash, with the history off (`set +H`); with `is_input` the text goes to the program
that runs there.
"""

from __future__ import annotations

from shellguard.agents.claude_form import add_result
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
    text_at,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.agents.model import Payload

TOOLS = {"terminal": "command", "execute_bash": "command", "bash": "command"}
EVENTS = {"PreToolUse": PRE, "PostToolUse": POST, "UserPromptSubmit": TURN}


def decode(payload: Payload) -> Call | None:
    """See `Host.decode`."""
    event = "event_type" if text_at(payload, "event_type") else "hook_event_name"
    call = call_in(payload, EVENTS, TOOLS, event=event, said="message")
    if call is None:
        return None
    call.typed = True
    if call.event == POST:
        add_result(call, payload)
    return call


def encode(named: str, event: str, answer: Answer) -> Reply:
    """See `Host.encode`."""
    if event == POST:
        return Reply(dumps({"additionalContext": answer.context}) + "\n") if answer.context else Reply()
    if event == TURN or answer.action not in (ALLOW, ASK, DENY):
        return Reply()
    if answer.action == ALLOW:
        return Reply(dumps({"decision": "allow"}) + "\n")
    return Reply(dumps({"decision": "deny", "reason": answer.reason}) + "\n")


HOST = Host(
    "openhands",
    "OpenHands",
    decode=decode,
    encode=encode,
    events=EVENTS,
    checked="2026-11-30 with the hooks of 1.58.2",
    can_allow=True,
    can_ask=False,
    can_tell=True,
)
