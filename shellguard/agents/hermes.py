# SPDX-License-Identifier: Apache-2.0
"""Hermes: shell hooks of its `config.yaml`, and a plugin in Python.

Its documentation of hooks, `agent/shell_hooks.py` and `hermes_cli/plugins.py` of 0.19.0 from the Python package index,
read November 2026; of that release the hooks were run (`hermes hooks test`, and its plugin manager), no session.

Neither can allow. `{"action": "block", "message"}` refuses. `{"action": "approve", ...}` brings the call before a
person, which is our `ask`, but 0.19.0 heeds it from a plugin only: a shell hook refuses what should be asked. The
payloads of our plugin name their events `plugin.pre_tool_call` and `plugin.post_tool_call`. `post_tool_call` observes
and cannot speak to the model: what the guard has to say is said at the next call. `fail_closed: true` in the entry
reverses what happens when a hook fails, in releases that know it (0.19.0 does not). Consent is kept by the exact
command line, so that never changes.
"""

from __future__ import annotations

from shellguard.agents.jsontext import dumps
from shellguard.agents.model import (
    ASK,
    DENY,
    POST,
    PRE,
    Answer,
    Call,
    Host,
    Reply,
    call_in,
    text_at,
    whole,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.agents.model import Payload

TOOLS = {"terminal": "command"}
FROM_PLUGIN = "plugin."
EVENTS = {
    "pre_tool_call": PRE,
    "post_tool_call": POST,
    "plugin.pre_tool_call": PRE,
    "plugin.post_tool_call": POST,
}


def decode(payload: Payload) -> Call | None:
    """See `Host.decode`."""
    call = call_in(payload, EVENTS, TOOLS)
    if call is None:
        return None
    extra = payload.get("extra")
    if not isinstance(extra, dict):
        extra = {}
    call.cwd = text_at(call.args, "workdir") or call.cwd
    call.agent, call.call_id = text_at(extra, "task_id"), text_at(extra, "tool_call_id")
    if call.event == POST:
        call.result = extra.get("result")
        call.failed = True if extra.get("status") == "error" else None
        call.exit_code = whole(extra.get("exit_code"))
    return call


def encode(named: str, event: str, answer: Answer) -> Reply:
    """See `Host.encode`."""
    if event in (PRE, ""):
        if answer.action == ASK and named.startswith(FROM_PLUGIN):
            said = {"action": "approve", "message": answer.reason, "rule_key": "shellguard"}
            return Reply(dumps(said) + "\n")
        if answer.action in (ASK, DENY):
            return Reply(dumps({"action": "block", "message": answer.reason}) + "\n")
    return Reply("{}\n")


HOST = Host(
    "hermes",
    "Hermes",
    decode=decode,
    encode=encode,
    events=EVENTS,
    checked="2026-11-30 with the hooks of 0.19.0",
    can_allow=False,
    can_ask=False,
    can_tell=False,
    allows_at=(),
    fails_closed="fail_closed: true (0.19.0 does not know it)",
)
