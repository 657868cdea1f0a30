# SPDX-License-Identifier: Apache-2.0
"""Messages of OpenAI's chat interface: a list, a document with `messages`, or lines that are messages or conversations.

Old files have `function_call` and answers of the role `function` without an id: those are paired in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shellguard.transcripts.files import Source
from shellguard.transcripts.model import (
    Call,
    Pairing,
    Problem,
    Run,
    items,
    mapping,
    parts_text,
    seconds,
    text,
)
from shellguard.transcripts.responses import arguments_of, result_of
from shellguard.transcripts.shells import command_of

NAME = "openai-chat"
LACKS = ("times", "the exit code, but where the content says it")

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


def is_message(record: object) -> bool:
    """Whether something is a message."""
    return (
        isinstance(record, dict)
        and text(record.get("role")) in ROLES
        and ("content" in record or "tool_calls" in record)
    )


def messages_of(document: object) -> list[Any]:
    """The messages of a document, of the names that such documents use."""
    if isinstance(document, list):
        return document
    record = mapping(document)
    for name in ("messages", "history", "conversation", "trajectory"):
        if any(map(is_message, items(record.get(name))[:20])):
            return items(record[name])
    return []


def is_document(document: object) -> bool:
    """Whether a document holds messages."""
    return any(map(is_message, messages_of(document)[:20]))


def session_of(document: object, fallback: str) -> str:
    """What a conversation is called: by its own id, else by the file."""
    record = mapping(document)
    for name in ("session_id", "conversation_id", "id", "instance_id", "thread_id"):
        value = record.get(name)
        if isinstance(value, str | int) and value != "":
            return str(value)
    return fallback


def read_document(source: Source) -> Iterator[Call | Problem]:
    """The calls of a document in their order."""
    document = source.document()
    yield from _conversation(messages_of(document), session_of(document, source.stem))


def read(source: Source) -> Iterator[Call | Problem]:
    """The calls of a file of lines: each line a message of one conversation, or a conversation of its own."""
    talk = Conversation(source.stem, NAME)
    for number, record in source.records():
        if isinstance(record, Problem):
            yield record
        elif is_message(record):
            yield from talk.message(record)
        elif is_document(record):
            yield from _conversation(messages_of(record), session_of(record, f"{source.stem}:{number}"))
    yield from talk.pairing.rest()


def _conversation(messages: list[Any], session: str) -> Iterator[Call]:
    """The calls of a list of messages."""
    talk = Conversation(session, NAME)
    for message in messages:
        if isinstance(message, dict):
            yield from talk.message(message)
    yield from talk.pairing.rest()


class Conversation:
    """One conversation while it is read."""

    def __init__(self, session: str, name: str) -> None:
        self.run = Run(name, session)
        self.pairing = Pairing()
        self.reply = 0
        self.names: dict[str, int] = {}
        self.ids: dict[str, str] = {}

    def message(self, message: dict[str, Any]) -> Iterator[Call]:
        """One message: calls when it is the model's, a result, or a request."""
        role = text(message.get("role"))
        at = seconds(message.get("timestamp", message.get("created_at")))
        if role == "assistant":
            self.reply += 1
            for call in items(message.get("tool_calls")):
                if isinstance(call, dict):
                    function = mapping(call.get("function")) or mapping(call.get("custom")) or call
                    yield from self.call(text(call.get("id")), function, at)
            if isinstance(message.get("function_call"), dict):
                yield from self.call("", message["function_call"], at)
        elif role in {"tool", "function"}:
            given = text(message.get("tool_call_id"))
            name = text(message.get("name")) or None
            # An id may be used again by a later reply: then the last call of that id is meant.
            call_id = self.ids.get(given) if given else self.pairing.oldest(name) or self.pairing.oldest()
            self.pairing.result(call_id or given, result_of(message.get("content"), at))
            yield from self.pairing.ready()
        elif role == "user":
            self.run.asked(parts_text(message.get("content")) or "")

    def call(self, given: str, function: dict[str, Any], at: float | None) -> Iterator[Call]:
        """One call of a reply."""
        count = self.names.get(given, 0)
        self.names[given] = count + 1
        call_id = given if given and not count else f"{given or 'call'}#{count}"
        self.ids[given] = call_id
        tool = text(function.get("name"))
        args = arguments_of(function.get("arguments", function.get("input")))
        call = self.run.call(
            tool, args, command_of(tool, args), call_id=call_id, group=str(self.reply), started_at=at
        )
        yield from self.pairing.add(call)
