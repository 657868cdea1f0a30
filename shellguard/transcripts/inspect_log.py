# SPDX-License-Identifier: Apache-2.0
"""Logs of Inspect: `.eval` (a ZIP file with one JSON document a sample) and `.json`.

Read without the package `inspect-ai`: its log is plain JSON. Every sample and epoch is a session of its own.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from shellguard.transcripts.files import MAX_DOCUMENT, MAX_RATIO, Source, UnreadableError, zstd_stream
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
from shellguard.transcripts.responses import arguments_of
from shellguard.transcripts.shells import command_of

NAME = "inspect"
LACKS = ("times", "the exit code")
MAGIC = b"PK\x03\x04"
ZSTD = 93
"""The number of zstd among the ways to pack an entry of a ZIP file (APPNOTE 6.3.8, 4.4.5)."""

ATTACHED = "attachment://"
"""How a text begins that stands among the attachments of its sample."""

LOCAL_HEADER = 30
"""Bytes in front of the name of an entry."""


def is_document(document: object) -> bool:
    """Whether a document is a log."""
    record = mapping(document)
    return isinstance(record.get("eval"), dict) and "samples" in record


def read_document(source: Source) -> Iterator[Call | Problem]:
    """The calls of a log that is one document."""
    for sample in items(mapping(source.document()).get("samples")):
        yield from _sample(mapping(sample), source.stem)


def is_archive(source: Source) -> bool:
    """Whether a ZIP file is a log."""
    try:
        with zipfile.ZipFile(source.files[0]) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError):
        return False
    return any(name.startswith(("samples/", "_journal/")) or name == "header.json" for name in names)


def read_archive(source: Source) -> Iterator[Call | Problem]:
    """The calls of a `.eval` file, sample by sample."""
    try:
        archive = zipfile.ZipFile(source.files[0])
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise UnreadableError(f"damaged archive: {error}") from None
    with archive:
        for entry in archive.infolist():
            if not (entry.filename.startswith("samples/") and entry.filename.endswith(".json")):
                continue
            if (
                entry.file_size > MAX_DOCUMENT
                or entry.file_size > (1 << 20) + MAX_RATIO * entry.compress_size
            ):
                yield source.problem(f"{entry.filename}: unpacks to far more than it holds; skipped")
                continue
            try:
                sample = json.loads(_unpacked(archive, entry))
            except UnreadableError as error:
                yield source.problem(f"{entry.filename}: {error}")
                continue
            except (
                zipfile.BadZipFile,
                NotImplementedError,
                ValueError,
                RecursionError,
                EOFError,
                OSError,
            ) as error:
                yield source.problem(f"{entry.filename}: {error}")
                continue
            yield from _sample(mapping(sample), source.stem)


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of an entry. Newer logs pack with zstd, which `zipfile` of Python does not know."""
    if entry.compress_type != ZSTD:
        return archive.read(entry)
    assert archive.fp is not None
    archive.fp.seek(entry.header_offset)
    head = archive.fp.read(LOCAL_HEADER)
    names = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
    archive.fp.seek(entry.header_offset + LOCAL_HEADER + names)
    stream, error_type = zstd_stream(BytesIO(archive.fp.read(entry.compress_size)))
    try:
        return bytes(stream.read(entry.file_size))
    except error_type as error:
        raise UnreadableError(f"damaged: {error}") from None


def _sample(sample: dict[str, Any], stem: str) -> Iterator[Call]:
    pairing, run = Pairing(), Run(NAME, f"{stem}/{sample.get('id', '')}/{sample.get('epoch', 1)}")
    for at, message in enumerate(items(sample.get("messages"))):
        message = mapping(message)
        if message.get("role") == "user":
            run.asked(parts_text(message.get("content")) or "")
        elif message.get("role") == "tool":
            error = mapping(message.get("error"))
            shown = parts_text(message.get("content")) or text(error.get("message"))
            if shown.startswith(ATTACHED):
                shown = text(mapping(sample.get("attachments")).get(shown.removeprefix(ATTACHED))) or shown
            result = Result(
                shown,
                failed=bool(error),
                denied=text(error.get("type")) in {"permission", "approval"},
            )
            pairing.result(text(message.get("tool_call_id")), result)
            yield from pairing.ready()
        for record in items(message.get("tool_calls")) if message.get("role") == "assistant" else []:
            record = mapping(record)
            tool, args = text(record.get("function")), arguments_of(record.get("arguments"))
            command = command_of("bash" if tool == "bash_session" else tool, args)
            yield from pairing.add(
                run.call(tool, args, command, call_id=text(record.get("id")), group=str(at))
            )
    yield from pairing.rest()
