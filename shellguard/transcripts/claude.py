# SPDX-License-Identifier: Apache-2.0
"""Claude Code: session files, files of sub-agents, and `claude -p --output-format stream-json`.

A line is one event; one reply of the model may be spread over several lines with the same `message.id`. A result is a
block of a later line of the user. Resumed sessions repeat lines, so a call counts once by its id. Seen: versions 1
and 2, of 2025 and 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from shellguard.transcripts.files import Source
from shellguard.transcripts.model import (
    Call,
    Pairing,
    Problem,
    Result,
    Run,
    items,
    mapping,
    parts_text,
    seconds,
    text,
)
from shellguard.transcripts.shells import command_of

NAME = "claude"
LACKS = ("the exit code, but for a failure, whose text begins with it",)

TYPES = frozenset(
    {
        *("assistant", "user", "summary", "progress", "system", "file-history-snapshot", "queue-operation"),
        *("attachment", "result", "stream_event", "last-prompt", "custom-title", "ai-title", "pr-link"),
    }
)
_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,3})\b")
_DENIED = (
    "This command requires approval",
    "The user doesn't want to proceed",
    "The user doesn't want to take this action",
    "Claude requested permissions",
    "Permission to use ",
    "This Bash command contains multiple operations",
    "The agent proposed a command that was rejected",
)


def is_record(record: dict[str, Any]) -> bool:
    """Whether a line looks like an event."""
    return text(record.get("type")) in TYPES and any(
        key in record
        for key in (
            "sessionId",
            "session_id",
            "parentUuid",
            "leafUuid",
            "isSnapshotUpdate",
            "parent_tool_use_id",
        )
    )


def read(source: Source) -> Iterator[Call | Problem]:
    """The calls of a file in their order, each once."""
    reading = _Reading(source)
    for _, record in source.records():
        if isinstance(record, Problem):
            yield record
        else:
            yield from reading.event(record)
    yield from reading.pairing.rest()


class _Reading:
    def __init__(self, source: Source) -> None:
        self.stem = source.stem
        self.pairing = Pairing()
        self.seen: set[str] = set()
        self.runs: dict[tuple[str, str], Run] = {}

    def event(self, record: dict[str, Any]) -> Iterator[Call]:
        message = mapping(record.get("message"))
        if record.get("type") == "assistant":
            for block in items(message.get("content")):
                if isinstance(block, dict) and text(block.get("type")) in {
                    "tool_use",
                    "server_tool_use",
                    "mcp_tool_use",
                }:
                    yield from self.call(record, message, block)
        elif record.get("type") == "user":
            self.user(record, message)
            yield from self.pairing.ready()

    def run(self, record: dict[str, Any]) -> Run:
        """The run of a line: the session itself, or one of its sub-agents."""
        session = text(record.get("sessionId")) or text(record.get("session_id")) or self.stem
        agent = text(record.get("agentId")) or text(record.get("parent_tool_use_id"))
        if not agent and record.get("isSidechain") is True:
            agent = "sidechain"
        return self.runs.setdefault((session, agent), Run(NAME, session, agent))

    def call(self, record: dict[str, Any], message: dict[str, Any], block: dict[str, Any]) -> Iterator[Call]:
        call_id = text(block.get("id"))
        if call_id and call_id in self.seen:
            return
        self.seen.add(call_id)
        tool, args = text(block.get("name")), mapping(block.get("input"))
        call = self.run(record).call(
            tool,
            args,
            command_of(tool, args),
            call_id=call_id,
            group=text(message.get("id")),
            cwd=text(record.get("cwd")),
            started_at=seconds(record.get("timestamp")),
        )
        yield from self.pairing.add(call)

    def user(self, record: dict[str, Any], message: dict[str, Any]) -> None:
        content = message.get("content")
        blocks = [block for block in items(content) if isinstance(block, dict)]
        for block in blocks:
            if block.get("type") == "tool_result":
                self.pairing.result(text(block.get("tool_use_id")), _result(record, block))
        words = content if isinstance(content, str) else None
        if words is None and any(block.get("type") == "text" for block in blocks):
            words = parts_text([block for block in blocks if block.get("type") == "text"])
        if words is not None and not record.get("isMeta") and not record.get("isCompactSummary"):
            if not any(block.get("type") == "tool_result" for block in blocks):
                self.run(record).asked(words)


def _result(record: dict[str, Any], block: dict[str, Any]) -> Result:
    shown = parts_text(block.get("content"))
    failed = block.get("is_error") is True
    words = shown or ""
    denied = failed and words.removeprefix("Error: ").startswith(_DENIED)
    exit_code = _EXIT.match(words) if failed else None
    details = mapping(record.get("toolUseResult"))
    return Result(
        text=shown,
        exit_code=int(exit_code[1]) if exit_code else None,
        failed=failed,
        denied=denied,
        running=bool(details.get("backgroundTaskId")),
        truncated=details.get("truncated") is True,
        at=seconds(record.get("timestamp")),
    )
