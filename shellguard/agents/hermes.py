# SPDX-License-Identifier: Apache-2.0
"""Hermes: shell hooks of its `config.yaml`, and a plugin in Python.

Its documentation of hooks and `agent/tool_guardrails.py`, read November 2026; not run here.

A shell hook cannot allow. `{"action": "block", "message"}` refuses, `{"action": "approve", ...}` brings the
call before a person, which is our `ask`. `post_tool_call` observes and cannot speak to the model: what the
guard has to say is said at the next call. `fail_closed: true` in the entry reverses what happens when a hook
fails. Consent is kept by the exact command line, so that never changes.
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
EVENTS = {"pre_tool_call": PRE, "post_tool_call": POST}

PLUGIN = "hermes_plugin.txt"
"""The plugin, beside this file; `@ARGV@` in it is the command line of our hook, as a list."""


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
    if event == PRE or not event:
        if answer.action == DENY:
            return Reply(dumps({"action": "block", "message": answer.reason}) + "\n")
        if answer.action == ASK:
            return Reply(
                dumps({"action": "approve", "message": answer.reason, "rule_key": "shellguard"}) + "\n"
            )
    return Reply("{}\n")


HOST = Host(
    "hermes",
    "Hermes",
    decode=decode,
    encode=encode,
    events=EVENTS,
    checked="2026-11-30, from its documentation and source",
    can_allow=False,
    can_ask=True,
    can_tell=False,
    allows_at=(),
    fails_closed="fail_closed: true",
)
