# SPDX-License-Identifier: Apache-2.0
"""Kiro CLI 3 (once Amazon Q CLI).

Its documentation, and notes of others, read November 2026; not run here. Exit status 2 refuses
(`exit_form.py`). What a hook prints after a call goes to the model. A hook that fails or takes too long lets
the call run.
"""

from __future__ import annotations

from shellguard.agents.claude_form import add_result
from shellguard.agents.exit_form import encode
from shellguard.agents.model import POST, PRE, TURN, Call, Host, call_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.agents.model import Payload

TOOLS = {"execute_bash": "command", "shell": "command", "executeBash": "command"}
EVENTS = {"preToolUse": PRE, "postToolUse": POST, "userPromptSubmit": TURN}


def decode(payload: Payload) -> Call | None:
    """See `Host.decode`."""
    call = call_in(payload, EVENTS, TOOLS)
    if call is not None and call.event == POST:
        add_result(call, payload)
    return call


HOST = Host(
    "kiro",
    "Kiro CLI",
    decode=decode,
    encode=encode,
    events=EVENTS,
    checked="2026-11-30, from its documentation",
    can_allow=False,
    can_ask=False,
    can_tell=True,
    allows_at=(),
)
