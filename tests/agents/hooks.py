# SPDX-License-Identifier: Apache-2.0
"""Payloads of hosts for the tests, and where in a reply its decision stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shellguard.agents.model import Reply
from shellguard.cli.hook import answered

PAYLOADS = Path(__file__).parent / "payloads"
EVENTS = ("pre", "post", "failure", "permission", "foreign", "other", "turn")


def payload(host: str, event: str, command: str = "ls", call: object = 0) -> dict[str, Any]:
    """A payload of a host: `pre`, `post`, `failure`, `permission`, `foreign` (another tool), `other` (another
    event).
    """
    text = (PAYLOADS / f"{host}.json").read_text("utf-8")
    found = json.loads(text)[event]
    return dict(_filled(found, {"@COMMAND@": command, "@ID@": str(call)}))


def events_of(host: str) -> list[str]:
    """Which of `EVENTS` a host has."""
    return list(json.loads((PAYLOADS / f"{host}.json").read_text("utf-8")))


def _filled(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(item, words) for key, item in value.items()}
    if isinstance(value, str):
        for name, word in words.items():
            value = value.replace(name, word)
    return value


def hook(host: str, event: str, command: str = "ls", call: object = 0) -> Reply:
    """The reply to a payload."""
    return answered([host], json.dumps(payload(host, event, command, call)).encode())


POINTERS: dict[str, dict[str, str | None]] = {
    # host: event -> the path to the decision in the JSON of the reply; None: the exit status decides
    "claude": {
        "pre": "hookSpecificOutput.permissionDecision",
        "permission": "hookSpecificOutput.decision.behavior",
    },
    "codex": {
        "pre": "hookSpecificOutput.permissionDecision",
        "permission": "hookSpecificOutput.decision.behavior",
    },
    "gemini": {"pre": "decision"},
    "qwen": {
        "pre": "hookSpecificOutput.permissionDecision",
        "permission": "hookSpecificOutput.decision.behavior",
    },
    "cursor": {"pre": "permission"},
    "copilot": {"pre": "permissionDecision", "permission": "behavior"},
    "vscode": {"pre": "permissionDecision", "permission": "behavior"},
    "opencode": {"pre": "action", "permission": "action"},
    "hermes": {"pre": "action"},
    "openhands": {"pre": "decision"},
    "kiro": {"pre": None},
    "droid": {"pre": "hookSpecificOutput.permissionDecision"},
}
_WORDS = {"block": "deny", "approve": "ask"}


def decision(host: str, event: str, reply: Reply) -> str:
    """`allow`, `ask`, `deny` or `silent`, read where the host reads it. Asserts that the reply is valid for
    the host.
    """
    assert "Traceback" not in reply.stdout + reply.stderr
    pointer = POINTERS[host].get(event)
    if pointer is None:
        assert reply.status in (0, 2)
        assert (reply.status == 2) == bool(reply.stderr)
        return "deny" if reply.status == 2 else "silent"
    assert reply.status == 0
    assert not reply.stderr
    if not reply.stdout:
        return "silent"
    value = json.loads(reply.stdout)
    assert isinstance(value, dict)
    for name in pointer.split("."):
        value = value.get(name, {}) if isinstance(value, dict) else {}
    return _WORDS.get(value, value) if isinstance(value, str) else "silent"


def words_in(value: object) -> list[str]:
    """Every text in a parsed reply."""
    if isinstance(value, dict):
        return [word for item in value.values() for word in words_in(item)]
    return [value] if isinstance(value, str) else []
