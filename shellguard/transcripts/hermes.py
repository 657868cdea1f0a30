# SPDX-License-Identifier: Apache-2.0
"""Hermes: `state.db` (SQLite, opened for reading only, columns by name) and its exports and training trajectories.

Rewound rows (`active` 0) are left out; rows that compression archived (`compacted` 1) count. A compressed session goes
on in a child. Source: the program's own code, schema 30; no recorded file was at hand.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from typing import Any

from shellguard.transcripts.chat import Conversation
from shellguard.transcripts.databases import columns, opened_database
from shellguard.transcripts.files import Source
from shellguard.transcripts.model import Call, Problem, items, mapping, text

NAME = "hermes"
LACKS = ("nothing; training trajectories have no ids, times and exit codes but in the text",)

_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_RESPONSE = re.compile(r"<tool_response>\s*(.*?)\s*</tool_response>", re.DOTALL)


def is_database(connection: sqlite3.Connection) -> bool:
    """Whether a database has the tables of it."""
    return {"id", "source"} <= columns(connection, "sessions") and {
        "session_id",
        "role",
        "tool_calls",
    } <= columns(connection, "messages")


def read_database(source: Source) -> Iterator[Call | Problem]:
    """The calls of all sessions, one session after the other, in the order in which they began."""
    with opened_database(source) as connection:
        known = columns(connection, "messages")
        wanted = [
            name
            for name in ("id", "role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp")
            if name in known
        ]
        active = " and coalesce(active, 1) != 0" if "active" in known else ""
        order = "started_at, id" if "started_at" in columns(connection, "sessions") else "id"
        sessions = [str(row[0]) for row in connection.execute(f"select id from sessions order by {order}")]
        for session in sessions:
            rows = connection.execute(
                f"select {', '.join(wanted)} from messages where session_id = ?{active} order by id",
                (session,),
            )
            talk = Conversation(session, NAME)
            for row in rows:
                message = dict(zip(wanted, row, strict=True))
                message["tool_calls"] = _json(message.get("tool_calls"))
                message["name"] = message.get("tool_name")
                yield from talk.message(message)
            yield from talk.pairing.rest()


def _json(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def is_trajectory(record: object) -> bool:
    """Whether a line or a document is a training trajectory."""
    talk = items(mapping(record).get("conversations"))
    return any(isinstance(turn, dict) and "from" in turn and "value" in turn for turn in talk[:3])


def read(source: Source) -> Iterator[Call | Problem]:
    """The calls of a file of training trajectories, one a line."""
    for number, record in source.records():
        if isinstance(record, Problem):
            yield record
        else:
            yield from _trajectory(record, f"{source.stem}:{number}")


def read_document(source: Source) -> Iterator[Call | Problem]:
    """The calls of a document that is one training trajectory."""
    yield from _trajectory(mapping(source.document()), source.stem)


def _trajectory(record: dict[str, Any], session: str) -> Iterator[Call]:
    talk = Conversation(session, NAME)
    for turn in items(record.get("conversations")):
        words, speaker = text(mapping(turn).get("value")), mapping(turn).get("from")
        if speaker == "human":
            yield from talk.message({"role": "user", "content": words})
        elif speaker == "gpt":
            calls = [_json(found) for found in _CALL.findall(words)]
            yield from talk.message(
                {"role": "assistant", "tool_calls": [call for call in calls if isinstance(call, dict)]}
            )
        elif speaker == "tool":
            for found in _RESPONSE.findall(words) or [words]:
                response = mapping(_json(found))
                content = response.get("content", found)
                content = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
                yield from talk.message(
                    {"role": "tool", "tool_call_id": response.get("tool_call_id"), "content": content}
                )
    yield from talk.pairing.rest()
