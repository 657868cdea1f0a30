# SPDX-License-Identifier: Apache-2.0
"""Codex CLI.

Read in its source (`codex-rs/hooks`), November 2026; run with the client from the npm registry against a
stand-in for its model endpoint (`python -m tools.hosts codex`).

One unknown or unsupported field, and the whole answer is thrown away and the command runs. At `PreToolUse`
only deny with a reason is valid: no ask, no allow. `PermissionRequest` is the only place to allow. A failed
command arrives as `PostToolUse`. Each hook is trusted by the hash of its text, so the installed line never
changes.
"""

from __future__ import annotations

from shellguard.agents.claude_form import EVENTS, decoded, specific
from shellguard.agents.model import ALLOW, ASK, DENY, PERMISSION, POST, TURN, Answer, Call, Host, Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.agents.model import Payload

TOOLS = {"Bash": "command", "shell": "command", "local_shell": "command", "exec_command": "cmd"}


def decode(payload: Payload) -> Call | None:
    """See `Host.decode`."""
    return decoded(payload, TOOLS, words=True)


def encode(named: str, event: str, answer: Answer) -> Reply:
    """See `Host.encode`."""
    reason = answer.reason or "shellguard refuses this command"  # an empty reason makes the answer invalid
    if event == PERMISSION:
        if answer.action == ALLOW:
            return specific("PermissionRequest", decision={"behavior": "allow"})
        if answer.action == DENY:
            return specific("PermissionRequest", decision={"behavior": "deny", "message": reason})
        return Reply()  # the host is about to ask, which is what `ask` wants
    if event == POST:
        return specific("PostToolUse", additionalContext=answer.context) if answer.context else Reply()
    if event == TURN or answer.action not in (ASK, DENY):
        return Reply()
    return specific("PreToolUse", permissionDecision="deny", permissionDecisionReason=reason)


HOST = Host(
    "codex",
    "Codex CLI",
    decode=decode,
    encode=encode,
    events=EVENTS,
    checked="2026-11-30 with 0.171.0",
    can_allow=False,
    can_ask=False,
    can_tell=True,
    allows_at=(PERMISSION,),
)
