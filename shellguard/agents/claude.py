# SPDX-License-Identifier: Apache-2.0
"""Claude Code.

Names of events, fields and answers: the vendor's documentation of hooks, read November 2026. Run with the
client from the npm registry against a stand-in for its model endpoint (`python -m tools.hosts claude`), which
says the version.

Standard output counts only at exit status 0; at 2 standard error goes to the model. `allow` skips the prompt
and not the user's own deny and ask rules. Of several hooks deny beats ask beats allow. `PermissionRequest`
can race with the dialog, so the decision is made at `PreToolUse`; the later event is answered the same way. A
failed command arrives as `PostToolUseFailure`. `agent_id` is all that tells parallel sub-agents apart.
"""

from __future__ import annotations

from shellguard.agents.claude_form import EVENTS, decoded, noted, specific
from shellguard.agents.model import ALLOW, ASK, DENY, PERMISSION, POST, PRE, TURN, Answer, Call, Host, Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.agents.model import Payload

TOOLS = {"Bash": "command"}


def decode(payload: Payload) -> Call | None:
    """See `Host.decode`."""
    return decoded(payload, TOOLS)


def encode(named: str, event: str, answer: Answer) -> Reply:
    """See `Host.encode`."""
    reply = Reply()
    if event == PERMISSION:
        if answer.action == ALLOW:
            reply = specific("PermissionRequest", decision={"behavior": "allow"})
        elif answer.action == DENY:
            reply = specific("PermissionRequest", decision={"behavior": "deny", "message": answer.reason})
    elif event == POST:
        if answer.context:
            reply = specific(named, additionalContext=answer.context)
    elif event == TURN:
        pass
    elif answer.action in (ALLOW, ASK, DENY):
        reply = specific(
            named or "PreToolUse", permissionDecision=answer.action, permissionDecisionReason=answer.reason
        )
    return noted(reply, answer.note)


HOST = Host(
    "claude",
    "Claude Code",
    decode=decode,
    encode=encode,
    events=EVENTS,
    checked="2026-11-30 with 2.1.197",
    can_allow=True,
    can_ask=True,
    can_tell=True,
    allows_at=(PRE, PERMISSION),
    fails_closed='"onFailure": "block" (2.1.295 or later)',
)
