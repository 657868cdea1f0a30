# SPDX-License-Identifier: Apache-2.0
"""Hosts of agents: one file each with what is known of it. A table, and no discovery."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.agents.model import Host

HOSTS = {
    "claude": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "qwen": "qwen",
    "cursor": "cursor",
    "copilot": "copilot",
    "vscode": "vscode",
    "opencode": "opencode",
    "hermes": "hermes",
    "openhands": "openhands",
    "kiro": "kiro",
    "droid": "droid",
}
"""Name on the command line -> module in this folder that holds `HOST`."""


def host_named(name: str) -> Host:
    """The host of that name. Raises KeyError where there is none."""
    module = __import__(
        f"shellguard.agents.{HOSTS[name]}", fromlist=["HOST"]
    )  # `importlib` would cost a millisecond
    host: Host = module.HOST
    return host
