# SPDX-License-Identifier: Apache-2.0
"""OpenCode: its database, its older folder of files, and what `opencode export` prints.

A part is call and result in one record. Sources: a recorded database; the layout of the older folder was not seen.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from typing import Any

from shellguard.transcripts import files
from shellguard.transcripts.databases import columns, opened_database
from shellguard.transcripts.files import Source, UnreadableError
from shellguard.transcripts.model import (
    MAX_PROMPT,
    Call,
    Problem,
    Result,
    Run,
    items,
    mapping,
    number,
    parts_text,
    seconds,
    text,
)
from shellguard.transcripts.shells import command_of

NAME = "opencode"
LACKS = ("the exit code of some versions",)


def is_part(record: object) -> bool:
    """Whether something is a part that holds a call."""
    return (
        isinstance(record, dict) and record.get("type") == "tool" and "tool" in record and "state" in record
    )


def is_document(document: object) -> bool:
    """Whether a document is an export, or a single part or message of the older folder."""
    record = mapping(document)
    if is_part(record) or ("sessionID" in record and ("messageID" in record or "role" in record)):
        return True
    return any(
        isinstance(entry, dict) and "info" in entry and "parts" in entry
        for entry in items(record.get("messages"))[:3]
    )


def is_database(connection: sqlite3.Connection) -> bool:
    """Whether a database has the tables of it."""
    return "data" in columns(connection, "part") and "data" in columns(connection, "message")


def read_database(source: Source) -> Iterator[Call | Problem]:
    """The calls of all sessions, one session after the other."""
    with opened_database(source) as connection:
        part, message = columns(connection, "part"), columns(connection, "message")
        in_messages = _session_column(message)
        of_message = "message_id" if "message_id" in part else "messageID"
        order = "m.time_created, m.id, p.id" if "time_created" in message else "m.id, p.id"
        sessions = [
            row[0] for row in connection.execute(f"select distinct {in_messages} from message order by 1")
        ]
        key = f"p.{of_message}" if of_message in part else "json_extract(p.data, '$.messageID')"
        for session in sessions:
            reading = _Reading(str(session))
            rows = connection.execute(
                f"select m.id, m.data, p.id, p.data from message m left join part p on {key} = m.id "
                f"where m.{in_messages} = ? order by {order}",
                (session,),
            )
            last: object = None
            for message_id, about, part_id, data in rows:
                if message_id != last:
                    last = message_id
                    reading.message(str(message_id), _json(about))
                yield from reading.part(_json(data), str(part_id))


def _session_column(names: set[str]) -> str:
    return "session_id" if "session_id" in names else "sessionID"


def _json(value: object) -> dict[str, Any]:
    if isinstance(value, str | bytes):
        try:
            return mapping(json.loads(value))
        except (ValueError, RecursionError):
            return {}
    return mapping(value)


def read_document(source: Source) -> Iterator[Call | Problem]:
    """The calls of an export, or of the older folder."""
    if len(source.files) > 1 or "sessionID" in mapping(source.document()):
        yield from _folder(source)
        return
    document = mapping(source.document())
    session = text(mapping(document.get("info")).get("id")) or source.stem
    reading = _Reading(session)
    for entry in items(document.get("messages")):
        info = mapping(mapping(entry).get("info"))
        reading.message(text(info.get("id")), info)
        for part in items(mapping(entry).get("parts")):
            yield from reading.part(mapping(part), text(mapping(part).get("id")))


def _folder(source: Source) -> Iterator[Call | Problem]:
    """Files of messages and parts: `message/SESSION/MESSAGE.json`, `part/MESSAGE/PART.json`."""
    messages: dict[str, dict[str, Any]] = {}
    parts: list[tuple[str, str, str, str]] = []
    for path in source.files:
        name = os.path.basename(path).removesuffix(".json")
        try:
            record = mapping(files.read_document(path))
        except (OSError, UnreadableError) as error:
            yield Problem(path, None, str(error))
            continue
        if "messageID" in record:
            # Names sort by time. Only the place is kept: a folder may hold more than memory does.
            if is_part(record) or record.get("type") == "text":
                parts.append(
                    (
                        text(record.get("sessionID")),
                        text(record["messageID"]),
                        text(record.get("id")) or name,
                        path,
                    )
                )
        elif "role" in record:
            messages[text(record.get("id")) or name] = {
                key: record[key] for key in ("role", "id") if key in record
            }
    readings: dict[str, _Reading] = {}
    last = ""
    for session, message, part, path in sorted(parts):
        reading = readings.setdefault(session, _Reading(session or source.stem))
        if message != last:
            last = message
            reading.message(message, messages.get(message, {}))
        yield from reading.part(mapping(files.read_document(path)), part)


class _Reading:
    def __init__(self, session: str) -> None:
        self.run = Run(NAME, session)
        self.role, self.group, self.step = "", "", 0

    def message(self, message_id: str, about: dict[str, Any]) -> None:
        """A message begins."""
        self.role, self.group, self.step = text(about.get("role")), message_id, 0
        if self.role == "user":
            self.run.asked(None)

    def part(self, part: dict[str, Any], part_id: str) -> Iterator[Call]:
        """What one part brings."""
        if part.get("type") == "text" and self.role == "user":
            self.run.prompt = (self.run.prompt or text(part.get("text")))[:MAX_PROMPT]
        elif part.get("type") == "step-start":
            self.step += 1
        if not is_part(part):
            return
        state = mapping(part.get("state"))
        tool, args = text(part.get("tool")), mapping(state.get("input"))
        times = mapping(state.get("time"))
        call = self.run.call(
            tool,
            args,
            command_of(tool, args),
            call_id=text(part.get("callID")) or part_id,
            group=f"{self.group}.{self.step}",
            cwd=text(args.get("workdir")),
            started_at=seconds(times.get("start")),
        )
        _result(state, times).give(call)
        yield call


def _result(state: dict[str, Any], times: dict[str, Any]) -> Result:
    status, details = text(state.get("status")), mapping(state.get("metadata"))
    exit_code = number(details.get("exit"))
    shown = state.get("output", state.get("error"))
    words = shown if isinstance(shown, str) else parts_text(details.get("output"))
    denied = status == "error" and "rejected permission" in (words or "")
    return Result(
        words,
        exit_code=exit_code,
        failed=True if status == "error" else None if exit_code is None else exit_code != 0,
        denied=denied,
        running=status in {"running", "pending"},
        truncated=details.get("truncated") is True,
        at=seconds(times.get("end")),
    )
