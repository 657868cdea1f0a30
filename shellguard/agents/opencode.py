# SPDX-License-Identifier: Apache-2.0
"""OpenCode.

Read in the types of @opencode-ai/plugin 1.18.33, November 2026; run with the client of that version from the
npm registry against a stand-in for its model endpoint (`python -m tools.hosts opencode`).

Plugins run inside the host, so a small one in JavaScript (`PLUGIN`) starts our hook for each call. Its
payloads are ours: `{"event": "permission.ask" | "tool.execute.before" | "tool.execute.after", "tool",
"session", "call", "cwd", "args", "output"}`, its answers `{"action": "allow" | "ask" | "deny", "reason"}` or
`{"context"}`; an empty answer is silence. `before` can only deny, by an exception; `permission.ask` can
allow. A plugin for version 1 does not run on version 2.
"""

from __future__ import annotations

from shellguard.agents.jsontext import dumps
from shellguard.agents.model import (
    ALLOW,
    ASK,
    DENY,
    JUDGED_SHELLS,
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
    from shellguard.agents.model import Payload

TOOLS = {"bash": "command"}
EVENTS = {
    "tool.execute.before": PRE,
    "permission.ask": PERMISSION,
    "tool.execute.after": POST,
    "chat.message": TURN,
}

PLUGIN = "opencode_plugin.js"
"""The plugin, beside this file; `@ARGV@` in it is the command line of our hook, as a list in JSON."""


def decode(payload: Payload) -> Call | None:
    """See `Host.decode`."""
    call = call_in(
        payload,
        EVENTS,
        TOOLS,
        event="event",
        session="session",
        call_id="call",
        said="text",
        tool_name="tool",
        tool_input="args",
    )
    if call is None:
        return None
    call.shells = (*JUDGED_SHELLS, "fish", "nu")  # in place of these two it runs another
    if call.event == POST:
        call.result = payload.get("output")
    return call


def encode(named: str, event: str, answer: Answer) -> Reply:
    """See `Host.encode`."""
    if event == POST:
        return Reply(dumps({"context": answer.context}) + "\n") if answer.context else Reply()
    if event == TURN or answer.action not in (ALLOW, ASK, DENY):
        return Reply()
    action = DENY if answer.action == ASK and event == PRE else answer.action
    return Reply(dumps({"action": action, "reason": answer.reason}) + "\n")


HOST = Host(
    "opencode",
    "OpenCode",
    decode=decode,
    encode=encode,
    events=EVENTS,
    checked="2026-11-30 with 1.18.33",
    can_allow=False,
    can_ask=False,
    can_tell=True,
    allows_at=(PERMISSION,),
    fails_closed="the plugin refuses a call for which our hook does not answer",
)
