# SPDX-License-Identifier: Apache-2.0
"""Hosts that go by the exit status: 0 leaves the call to the host, 2 refuses it and gives standard error to
the model.

They can neither be allowed nor asked, so what should ask is refused, with the reason. Whatever fails in a
hook ends in one of the two, by our own hand.
"""

from __future__ import annotations

from shellguard.agents.model import ASK, DENY, POST, TURN, Answer, Reply


def encode(named: str, event: str, answer: Answer) -> Reply:
    """See `Host.encode`."""
    if event == POST:
        return Reply(answer.context + "\n") if answer.context else Reply()
    if event == TURN or answer.action not in (ASK, DENY):
        return Reply()
    return Reply("", (answer.reason or "shellguard refuses this command") + "\n", 2)
