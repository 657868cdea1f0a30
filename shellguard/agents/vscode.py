# SPDX-License-Identifier: Apache-2.0
"""Copilot in VS Code: a preview feature with the events, payloads and answers of the command line
(`copilot.py`).

The vendor's reference of hooks, read November 2026; not run here.
"""

from __future__ import annotations

from shellguard.agents import copilot
from shellguard.agents.claude_form import EVENTS
from shellguard.agents.model import PERMISSION, PRE, Host

HOST = Host(
    "vscode",
    "GitHub Copilot in VS Code",
    decode=copilot.decode,
    encode=copilot.encode,
    events=EVENTS,
    checked="2026-11-30, from its documentation",
    can_allow=True,
    can_ask=True,
    can_tell=True,
    allows_at=(PRE, PERMISSION),
)
