# SPDX-License-Identifier: Apache-2.0
"""Messages of Anthropic's interface: a list, a document with `messages`, or lines that are messages or conversations.

A message of the user that holds results only is no request. Also Anthropic's own tools that run on its side.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shellguard.transcripts.chat import is_message, messages_of, session_of
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
    text,
)
from shellguard.transcripts.shells import command_of

NAME = "anthropic"
LACKS = ("times", "the exit code", "the session")

CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def is_message_of_ours(record: object) -> bool:
    """Whether a message holds blocks that only this interface has."""
    return isinstance(record, dict) and any(
        isinstance(block, dict)
        and (text(block.get("type")) in CALLS or str(block.get("type")).endswith("tool_result"))
        for block in items(record.get("content"))
    )


def is_document(document: object) -> bool:
    """Whether a document holds such messages."""
    return any(map(is_message_of_ours, messages_of(document)))


def read_document(source: Source) -> Iterator[Call | Problem]:
    """The calls of a document in their order."""
    document = source.document()
    yield from _conversation(messages_of(document), session_of(document, source.stem))


def read(source: Source) -> Iterator[Call | Problem]:
    """The calls of a file of lines: each line a message of one conversation, or a conversation of its own."""
    talk = _Conversation(source.stem)
    for number, record in source.records():
        if isinstance(record, Problem):
            yield record
        elif is_message(record):
            yield from talk.message(record)
        else:
            yield from _conversation(messages_of(record), session_of(record, f"{source.stem}:{number}"))
    yield from talk.pairing.rest()


def _conversation(messages: list[Any], session: str) -> Iterator[Call]:
    talk = _Conversation(session)
    for message in messages:
        if isinstance(message, dict):
            yield from talk.message(message)
    yield from talk.pairing.rest()


class _Conversation:
    def __init__(self, session: str) -> None:
        self.run = Run(NAME, session)
        self.pairing = Pairing()
        self.reply = 0

    def message(self, message: dict[str, Any]) -> Iterator[Call]:
        """One message: calls when it is the model's, else results, or a request, or both."""
        content = message.get("content")
        blocks = [block for block in items(content) if isinstance(block, dict)]
        words = content if isinstance(content, str) else None
        if message.get("role") == "assistant":
            self.reply += 1
        elif words is not None or any(block.get("type") == "text" for block in blocks):
            if message.get("role") == "user":
                self.run.asked(words or parts_text(blocks) or "")
        for block in blocks:
            kind = str(block.get("type"))
            if kind in CALLS:
                yield from self.call(block)
            elif kind.endswith("tool_result"):
                failed = block.get("is_error")
                result = Result(
                    parts_text(block.get("content")), failed=failed if isinstance(failed, bool) else None
                )
                self.pairing.result(text(block.get("tool_use_id")), result)
                yield from self.pairing.ready()

    def call(self, block: dict[str, Any]) -> Iterator[Call]:
        """One block of a call."""
        tool, args = text(block.get("name")), mapping(block.get("input"))
        call = self.run.call(
            tool, args, command_of(tool, args), call_id=text(block.get("id")), group=str(self.reply)
        )
        yield from self.pairing.add(call)
