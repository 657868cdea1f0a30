# SPDX-License-Identifier: Apache-2.0
"""Droid (Factory).

Its documentation, read November 2026; run with the client of 0.225.2 from the npm registry against a stand-in for its
model endpoint (`python -m tools.hosts droid`). Payloads and answers have Claude's form: allow spares a person the
question, deny and what is said after a call reach the model; ask is not heeded where the client runs by itself
(`--auto high`), so what should ask is refused. The shell tool is called `Execute`; it runs `/bin/bash -c` without a
terminal. After a command that failed no event comes. A hook that fails lets the call run.
"""

from __future__ import annotations

from shellguard.agents import claude, claude_form
from shellguard.agents.model import ASK, DENY, Answer, Call, Host, Reply

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


def encode(named: str, event: str, answer: Answer) -> Reply:
    """See `Host.encode`."""
    if answer.action == ASK:
        answer = Answer(DENY, answer.reason, answer.context, answer.note, halt=answer.halt)
    return claude.encode(named, event, answer)


HOST = Host(
    "droid",
    "Droid",
    decode=decode,
    encode=encode,
    events=EVENTS,
    checked="2026-11-30 with 0.225.2",
    can_allow=True,
    can_ask=False,
    can_tell=True,
)
