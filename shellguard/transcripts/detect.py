# SPDX-License-Identifier: Apache-2.0
"""Which format a source is, told from its content: never from its name alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from shellguard.transcripts import (
    anthropic,
    atif,
    chat,
    claude,
    codex,
    corpus,
    gemini,
    hermes,
    inspect_log,
    minisweagent,
    opencode,
    openhands,
    responses,
    rows,
    sweagent,
    trae,
)
from shellguard.transcripts.databases import MAGIC, opened_database
from shellguard.transcripts.files import MAX_LINE, SAMPLE, BombError, Source, UnreadableError, read_document
from shellguard.transcripts.model import Call, Problem

Reader = Callable[[Source], Iterator[Call | Problem]]

_LINES: tuple[tuple[str, Callable[[dict[str, Any]], bool], Reader], ...] = (
    (claude.NAME, claude.is_record, claude.read),
    (codex.NAME, codex.is_record, codex.read),
    (gemini.NAME, gemini.is_record, gemini.read),
    (rows.NAME, rows.is_record, rows.read),
    (corpus.NAME, corpus.is_record, corpus.read),
    (
        openhands.NAME,
        lambda record: openhands.is_event(record) or openhands.is_document(record),
        openhands.read,
    ),
    (hermes.NAME, hermes.is_trajectory, hermes.read),
    (
        anthropic.NAME,
        lambda record: anthropic.is_message_of_ours(record) or anthropic.is_document(record),
        anthropic.read,
    ),
    (chat.NAME, lambda record: chat.is_message(record) or chat.is_document(record), chat.read),
    (rows.NAME, lambda record: isinstance(record.get("command"), str), rows.read),
)
"""Formats of lines: name, whether a record is of it, reader. The first that knows a record has it."""

_DOCUMENTS: tuple[tuple[str, Callable[[object], bool], Reader], ...] = (
    (minisweagent.NAME, minisweagent.is_document, minisweagent.read),
    (sweagent.NAME, sweagent.is_document, sweagent.read),
    (atif.NAME, atif.is_document, atif.read),
    (trae.NAME, trae.is_document, trae.read),
    (opencode.NAME, opencode.is_document, opencode.read_document),
    (openhands.NAME, openhands.is_document, openhands.read_document),
    (inspect_log.NAME, inspect_log.is_document, inspect_log.read_document),
    (gemini.NAME, gemini.is_document, gemini.read_document),
    (hermes.NAME, hermes.is_trajectory, hermes.read_document),
    (responses.NAME, responses.is_document, responses.read),
    (anthropic.NAME, anthropic.is_document, anthropic.read_document),
    (chat.NAME, chat.is_document, chat.read_document),
)
"""Formats of whole documents."""

LACKS: dict[str, tuple[str, ...]] = {
    module.NAME: module.LACKS
    for module in (
        *(rows, claude, codex, gemini, opencode, hermes, openhands, sweagent, minisweagent, atif, trae),
        *(chat, responses, anthropic, inspect_log, corpus),
    )
}
"""What each format does not say: `docs/replay.md` has the list."""

ONE_A_FILE = frozenset(
    module.NAME
    for module in (
        *(anthropic, atif, chat, codex, gemini, inspect_log),
        *(minisweagent, openhands, responses, sweagent, trae),
    )
)
"""Formats of which a session never goes on in another file, whatever it is called there."""

_TRIED = 60
"""Records at the beginning of a file that are asked."""


def reader_of(source: Source) -> tuple[str, Reader] | None:
    """The format of a source and what reads it; None when it is no transcript. Raises OSError and UnreadableError."""
    if len(source.files) > 1:
        return _folder(source)
    sample = source.sample()
    if sample.startswith(MAGIC):
        return _database(source)
    if sample.startswith(inspect_log.MAGIC):
        return (inspect_log.NAME, inspect_log.read_archive) if inspect_log.is_archive(source) else None
    if sample.startswith(b"PAR1"):
        from shellguard.transcripts import parquet

        return (rows.NAME, parquet.read)
    if len(sample) >= SAMPLE and b"\n" not in sample:
        sample = source.sample(MAX_LINE)  # the first line is a giant
    records, one_document = _records(sample)
    if not one_document:
        found = _of_records(records)
        if found is not None:
            return found
        if len(records) > 1 or not sample.lstrip(b" \t\r\n\xef\xbb\xbf").startswith((b"{", b"[")):
            return None
    try:
        document = source.document()
    except UnreadableError:
        # Lines whose beginning is damaged look like a document that is.
        found = _of_records(
            [record for _, record in islice(source.records(), _TRIED) if isinstance(record, dict)]
        )
        if found is None:
            raise
        return found
    return _document(document) or _of_records(records)


def _records(sample: bytes) -> tuple[list[dict[str, Any]], bool]:
    """The JSON objects of the first lines, and whether the file may be one document instead of lines."""
    lines = [line for line in sample.split(b"\n") if not line.isspace() and line]
    if len(sample) >= SAMPLE and len(lines) > 1:
        lines.pop()  # it is cut
    found = []
    for line in lines[:_TRIED]:
        try:
            value = json.loads(line.decode("utf-8", "replace").removeprefix("\ufeff"))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    # A document on several lines has lines that are objects too, such as `{}`: the first line tells.
    whole = bool(lines) and (
        len(lines) == 1
        or not found
        or not lines[0].lstrip(b"\xef\xbb\xbf").startswith(b"{")
        or lines[0].strip() == b"{"
    )
    return found, whole and not _begins_as_lines(lines, found)


def _begins_as_lines(lines: list[bytes], found: list[dict[str, Any]]) -> bool:
    """Whether most of the first lines are objects: a first line that is damaged does not make a document."""
    return len(lines) > 1 and 2 * len(found) > min(len(lines), _TRIED)


def _of_records(records: list[dict[str, Any]]) -> tuple[str, Reader] | None:
    """The first format that knows any of the records: the first record may be one that says nothing."""
    return next(((name, read) for name, knows, read in _LINES if any(map(knows, records))), None)


def _document(document: object) -> tuple[str, Reader] | None:
    return next(((name, read) for name, knows, read in _DOCUMENTS if knows(document)), None)


def _folder(source: Source) -> tuple[str, Reader] | None:
    """The format of files that belong together: that of the first that has one."""
    for path in source.files[:_TRIED]:
        try:
            found = _document(read_document(path))
        except (OSError, UnreadableError):
            continue
        if found is not None:
            return found
    return None


def _database(source: Source) -> tuple[str, Reader] | None:
    with opened_database(source) as connection:
        if opencode.is_database(connection):
            return (opencode.NAME, opencode.read_database)
        if hermes.is_database(connection):
            return (hermes.NAME, hermes.read_database)
    return None


def calls_of(source: Source) -> Iterator[Call | Problem]:
    """The calls of a source in their order, with a `Problem` for what cannot be read. Raises nothing for any content.

    A file that turns out to be a bomb, or damaged in its compressed form, ends with a `Problem`.
    """
    try:
        found = reader_of(source)
        if found is None:
            if source.named:
                yield source.problem("no transcript of a known format")
            return
        yield from found[1](source)
    except BombError as error:
        yield Problem(source.path, None, str(error), voids=True)
    except UnreadableError as error:
        yield source.problem(str(error))
    except OSError as error:
        yield source.problem(error.strerror or "it cannot be read")
