# SPDX-License-Identifier: Apache-2.0
"""Gemini CLI: sessions as JSON Lines (with patches and rewinds) or as one document, and checkpoints.

A message that comes again with the same id replaces the earlier one, `{"$set": ..}` changes fields of the record (it
may replace all messages), `{"$rewindTo": id}` takes back that message and what follows it. So a session is held in
memory before its calls are given. Source: the chat recorder and the shell tool of the program; no recorded file was at
hand.
"""

from __future__ import annotations

import re
from collections import Counter
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

NAME = "gemini"
LACKS = ("an exit code of 0, which is said by silence",)

_EXIT = re.compile(r"^Exit Code: (-?\d{1,6})\s*$", re.MULTILINE)
_BACKGROUND = re.compile(r"^Background PIDs: (?!\(none\))", re.MULTILINE)


def is_record(record: dict[str, Any]) -> bool:
    """Whether a line looks like one of a session."""
    if "projectHash" in record or "$rewindTo" in record or "$set" in record:
        return True
    return (
        text(record.get("type")) in {"gemini", "user", "info"}
        and "id" in record
        and "content" in record
        and "uuid" not in record
    )


def is_document(document: object) -> bool:
    """Whether a document is a session or a checkpoint."""
    record = mapping(document)
    if "projectHash" in record or ("sessionId" in record and "messages" in record and "startTime" in record):
        return True
    turns = document if isinstance(document, list) else items(record.get("history"))
    return any(
        isinstance(turn, dict) and "role" in turn and isinstance(turn.get("parts"), list)
        for turn in turns[:5]
    )


def read(source: Source) -> Iterator[Call | Problem]:
    """The calls of a session file in their order."""
    record: dict[str, Any] = {}
    messages: list[dict[str, Any]] = []
    places: dict[str, int] = {}
    for _, line in source.records():
        if isinstance(line, Problem):
            yield line
        elif "$rewindTo" in line:
            place = places.get(text(line["$rewindTo"]))
            if place is not None:
                messages = messages[:place]
                places = {text(message.get("id")): at for at, message in enumerate(messages)}
        elif isinstance(line.get("$set"), dict):
            changed = line["$set"]
            record |= {key: value for key, value in changed.items() if key != "messages"}
            if isinstance(changed.get("messages"), list):
                messages = [message for message in changed["messages"] if isinstance(message, dict)]
                places = {text(message.get("id")): at for at, message in enumerate(messages)}
        elif "type" in line:
            key = text(line.get("id"))
            if key and key in places:
                messages[places[key]] = line
            else:
                places[key] = len(messages)
                messages.append(line)
        else:
            record |= line
            messages += [message for message in items(line.get("messages")) if isinstance(message, dict)]
            places = {text(message.get("id")): at for at, message in enumerate(messages)}
    yield from _calls(messages, text(record.get("sessionId")) or source.stem)


def read_document(source: Source) -> Iterator[Call | Problem]:
    """The calls of a document: an older session, or a checkpoint."""
    document = source.document()
    record = mapping(document)
    session = text(record.get("sessionId")) or source.stem
    if isinstance(record.get("messages"), list):
        yield from _calls([message for message in record["messages"] if isinstance(message, dict)], session)
    else:
        yield from _checkpoint(
            document if isinstance(document, list) else items(record.get("history")), session
        )


def _calls(messages: list[dict[str, Any]], session: str) -> Iterator[Call]:
    # A sub-agent has the turns of the session and numbers of its own.
    run, made = Run(NAME, session), Counter[str]()
    for message in messages:
        if message.get("type") == "user":
            run.asked(parts_text(message.get("content")) or "")
        for record in items(message.get("toolCalls")):
            if not isinstance(record, dict):
                continue
            run.agent = text(record.get("agentId"))
            run.index = made[run.agent]
            made[run.agent] += 1
            tool, args = text(record.get("name")), mapping(record.get("args"))
            call = run.call(
                tool,
                args,
                command_of(tool, args),
                call_id=text(record.get("id")),
                group=text(message.get("id")),
                cwd=text(args.get("dir_path")) or text(args.get("directory")),
                started_at=seconds(record.get("timestamp")) or seconds(message.get("timestamp")),
            )
            if record.get("result") is not None or text(record.get("status")) in {
                "success",
                "error",
                "cancelled",
            }:
                _result(record.get("result"), text(record.get("status"))).give(call)
            yield call


def _result(value: object, status: str) -> Result:
    parts = [
        mapping(mapping(part).get("functionResponse"))
        for part in (value if isinstance(value, list) else [value])
    ]
    words, wrong = [], status == "error"
    for part in parts:
        response = mapping(part.get("response"))
        found = parts_text(response.get("output", response.get("error")))
        wrong = wrong or ("error" in response and "output" not in response)
        words += [found] if found is not None else []
    shown = "\n".join(words) if words else parts_text(value)
    code = _EXIT.search(shown or "")
    return Result(
        shown,
        exit_code=int(code[1]) if code else None,
        failed=(wrong or code is not None) if status != "cancelled" else None,
        denied=status == "cancelled",
        running=_BACKGROUND.search(shown or "") is not None,
    )


def _checkpoint(turns: list[Any], session: str) -> Iterator[Call]:
    pairing, run = Pairing(), Run(NAME, session)
    for at, entry in enumerate(turns):
        parts = [part for part in items(mapping(entry).get("parts")) if isinstance(part, dict)]
        words = [text(part["text"]) for part in parts if "text" in part]
        if mapping(entry).get("role") == "user" and words:
            run.asked("\n".join(words))
        for part in parts:
            called, answered = mapping(part.get("functionCall")), mapping(part.get("functionResponse"))
            if called:
                tool, args = text(called.get("name")), mapping(called.get("args"))
                call_id = text(called.get("id")) or f"{tool}#{run.index}"
                yield from pairing.add(
                    run.call(tool, args, command_of(tool, args), call_id=call_id, group=str(at))
                )
            elif answered:
                # Without an id the oldest open call of that name is meant.
                meant = text(answered.get("id")) or pairing.oldest(text(answered.get("name")))
                if meant is not None:
                    pairing.result(meant, _result([part], ""))
                yield from pairing.ready()
    yield from pairing.rest()
