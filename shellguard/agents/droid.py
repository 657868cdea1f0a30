# SPDX-License-Identifier: Apache-2.0
"""Droid (Factory).

Its documentation, read November 2026; not run here. Payloads have Claude's form, the shell tool is called
`Execute`. Exit status 2 refuses (`exit_form.py`). A hook that fails lets the call run.
"""

from __future__ import annotations

from shellguard.agents import claude_form
from shellguard.agents.exit_form import encode
from shellguard.agents.model import Call, Host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.agents.model import Payload

EVENTS = {
    name: kind
    for name, kind in claude_form.EVENTS.items()
    if name in ("PreToolUse", "PostToolUse", "UserPromptSubmit")
}
TOOLS = {"Execute": "command", "Bash": "command"}


def decode(payload: Payload) -> Call | None:
    """See `Host.decode`."""
    return claude_form.decoded(payload, TOOLS, EVENTS)


HOST = Host(
    "droid",
    "Droid",
    decode=decode,
    encode=encode,
    events=EVENTS,
    checked="2026-11-30, from its documentation",
    can_allow=False,
    can_ask=False,
    can_tell=True,
    allows_at=(),
)
