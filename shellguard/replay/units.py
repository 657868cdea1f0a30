# SPDX-License-Identifier: Apache-2.0
"""The work of a replay, cut into units that can be done in any order, on any machine, and again.

A unit is some small files, or one file, or a part of a large file of lines that holds whole sessions. Its results
depend on nothing but its input and the options, so a run that was killed goes on with the units that are not done.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

from shellguard.guard.command import forget, remember
from shellguard.replay.judge import Judge
from shellguard.replay.options import Options
from shellguard.replay.outcomes import line_of, row_of
from shellguard.replay.sessions import Sessions
from shellguard.replay.summary import Summary
from shellguard.replay.workplace import private
from shellguard.transcripts import rows
from shellguard.transcripts.detect import ONE_A_FILE, calls_of, reader_of
from shellguard.transcripts.discover import discovered
from shellguard.transcripts.files import Source, UnreadableError
from shellguard.transcripts.model import Call, Problem

SMALL = 1 << 20
"""Bytes up to which files are put together into one unit."""

BATCH_FILES = 32
BATCH_BYTES = 8 << 20

SHARD_BYTES = 4 << 20
"""Bytes of a part of a large file of lines, about; it is cut by session, so parts are not equal."""

MOST_SHARDS = 200
"""All parts are open at once when a file is cut and when its rows are put together; some systems allow 256 files."""

PACKED = 10
"""How many times larger a compressed file is taken to be."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Files that are replayed together. `skipped` are, for each, ids of calls that an earlier file holds.

    A shard has its lines in `shard`, each with the number it has in the one file.
    """

    number: int
    sources: tuple[tuple[str, tuple[str, ...], bool], ...]
    skipped: tuple[frozenset[str], ...] = ()
    shard: str | None = None


@dataclass(frozen=True, slots=True)
class Split:
    """A large file of lines that is cut into `shards` units, the first of which has the number `number`."""

    number: int
    source: str
    shards: int


@dataclass(frozen=True, slots=True)
class Plan:
    """All the work in order: units, and files to be cut first.

    `stamp` says how results come to be, `key` names it and the inputs together.
    """

    work: tuple[Unit | Split, ...]
    problems: tuple[Problem, ...]
    stamp: dict[str, Any]
    key: str
    bytes: int

    @property
    def units(self) -> int:
        """How many units there are, those of files to be cut included."""
        return sum(item.shards if isinstance(item, Split) else 1 for item in self.work)


def planned(paths: Iterable[str], options: Options) -> Plan:
    """The work behind paths. Files are looked into, not read, but for what tells copies of a session apart."""
    work: list[Unit | Split] = []
    problems: list[Problem] = []
    batch: list[Source] = []
    number = batch_bytes = total = 0
    name = blake2b(digest_size=16)
    copies = _Copies()
    skipped: list[frozenset[str]] = []

    def flush() -> None:
        nonlocal number, batch_bytes
        if batch:
            sources = tuple((source.path, source.files, source.named) for source in batch)
            work.append(Unit(number, sources, tuple(skipped)))
            number, batch_bytes = number + 1, 0
            batch.clear()
            skipped.clear()

    for item in discovered(paths):
        if isinstance(item, Problem):
            problems.append(item)
            continue
        try:
            statuses = [(path, os.stat(path)) for path in item.files]
        except OSError as error:
            problems.append(item.problem(error.strerror or "it cannot be read"))
            continue
        if not all(stat.S_ISREG(status.st_mode) for _, status in statuses):
            problems.append(item.problem("no regular file: it cannot be read twice"))
            continue
        size = sum(status.st_size for _, status in statuses)
        total += size
        for path, status in statuses:
            seen = (os.path.abspath(path), status.st_size, status.st_mtime_ns)
            name.update(repr(seen).encode("utf-8", "surrogatepass"))
        shards = _shards(item, size)
        if shards > 1:
            flush()
            work.append(Split(number, item.path, shards))
            number += shards
            continue
        if batch and (len(batch) >= BATCH_FILES or batch_bytes + size > BATCH_BYTES):
            flush()
        skipped.append(copies.repeated(item))
        batch.append(item)
        batch_bytes += size
        if size > SMALL:
            flush()
    flush()
    stamp = options.stamp(options.shelf())
    name.update(json.dumps([stamp, options.rows, options.rules, options.project], sort_keys=True).encode())
    name.update(
        repr(
            (SMALL, BATCH_FILES, BATCH_BYTES, SHARD_BYTES, MOST_SHARDS, PACKED, list(map(str, problems)))
        ).encode()
    )
    return Plan(tuple(work), tuple(problems), stamp, name.hexdigest(), total)


def _shards(source: Source, size: int) -> int:
    """Into how many parts a file is cut: one, but for large files of our own lines."""
    if len(source.files) > 1 or size < SHARD_BYTES // PACKED:
        return 1
    try:
        head = source.sample(6)
        with open(source.files[0], "rb") as raw:
            packed = raw.read(6) != head
        if size * (PACKED if packed else 1) <= SHARD_BYTES:
            return 1
        found = reader_of(source)
    except (OSError, UnreadableError):
        return 1
    if found is None or found[1] is not rows.read:
        return 1
    return min(MOST_SHARDS, -(-size * (PACKED if packed else 1) // SHARD_BYTES))


class _Copies:
    """Ids of Claude Code's calls that were met before: a session that is resumed begins with a copy of another."""

    _ID = re.compile(rb'"id":\s?"(toolu_[A-Za-z0-9_]{1,64})"')

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def repeated(self, source: Source) -> frozenset[str]:
        """The ids in a source that stand in an earlier one. Nothing for what does not look like a session."""
        path = source.files[0]
        if len(source.files) > 1 or not path.endswith((".jsonl", ".jsonl.gz", ".jsonl.zst")):
            return frozenset()
        found: set[bytes] = set()
        try:
            sample = source.sample(1 << 16)
            if b'"sessionId"' not in sample or b'"uuid"' not in sample:
                return frozenset()
            for _, line in source.lines():
                if line is not None and b"tool_use" in line:
                    found.update(self._ID.findall(line))
        except (OSError, UnreadableError):
            pass  # whoever reads it says so
        known = {name for name in found if blake2b(name, digest_size=8).digest() in self._seen}
        self._seen.update(blake2b(name, digest_size=8).digest() for name in found)
        return frozenset(name.decode() for name in known)


# --- a large file ----------------------------------------------------------------------------------------------

_SESSION = re.compile(
    rb'\{\s*(?:"source"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*)?"session"\s*:\s*"((?:[^"\\]|\\.)*)"\s*[,}]'
)


def split(work: Split, folder: str) -> None:
    """Cuts a file: `folder` gets a file for each shard, and `order`, which tells the shard of each line.

    Raises UnreadableError for a file that cannot be read to its end; nothing of it counts then.
    """
    source = Source(work.source)
    shards = [private(Path(folder) / f"{shard}", 1 << 15) for shard in range(work.shards)]
    try:
        with private(Path(folder) / "order") as order:
            for number, line in source.lines():
                shard = crc32(_session_of(line)) % work.shards
                order.write(shard.to_bytes(2, "big"))
                shards[shard].write(b"%d\t%b\n" % (number, b"\x00" if line is None else line))
    finally:
        for file in shards:
            file.close()


def _session_of(line: bytes | None) -> bytes:
    if line is None:
        return b""
    match = _SESSION.match(line)
    if match is not None and b"\\" not in match[1]:
        return match[1]
    try:
        record = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return b""
    session = record.get("session") if isinstance(record, dict) else None
    return session.encode("utf-8", "surrogatepass") if isinstance(session, str) else str(session).encode()


def _calls_of_shard(unit: Unit) -> Iterator[Call | Problem]:
    assert unit.shard is not None
    source = Source(unit.sources[0][0])
    counts: dict[tuple[str, str, str], int] = {}
    with open(unit.shard, "rb") as file:
        for entry in file:
            number, _, line = entry.rstrip(b"\n").partition(b"\t")
            record = source.record(int(number), None if line == b"\x00" else line)
            if isinstance(record, Problem):
                yield record
            else:
                yield rows.call_of(record, source, int(number), counts)


# --- one unit --------------------------------------------------------------------------------------------------


class Worker:
    """Replays units with one set of options; what it has judged once it remembers."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.judge = Judge(options)
        self.config = options.guard_config()
        forget()

    def replay(self, unit: Unit, out: BinaryIO | None, tick: Callable[[int], None] | None = None) -> Summary:
        """The summary of a unit; a line for each call goes to `out`, an empty one for a line of a shard that is none.

        `tick` is told now and then how many calls are done.
        """
        summary = Summary()
        for place, (path, files, named) in enumerate(unit.sources):
            start = None if out is None else out.tell()
            part = Summary()
            items = (
                calls_of(Source(path, files, named=named)) if unit.shard is None else _calls_of_shard(unit)
            )
            skipped = unit.skipped[place] if unit.skipped else frozenset()
            void = self._source(items, unit, path, skipped, part, out, tick)
            if void is not None:
                part = Summary()
                part.problem(void)
                if out is not None and start is not None:
                    out.seek(start)
                    out.truncate()
            summary.add(part)
        return summary

    def _source(
        self,
        items: Iterator[Call | Problem],
        unit: Unit,
        path: str,
        skipped: frozenset[str],
        summary: Summary,
        out: BinaryIO | None,
        tick: Callable[[int], None] | None,
    ) -> Problem | None:
        """Replays one source into `summary`; gives the problem that makes all of it void."""
        sessions = Sessions(self.config)
        raw = self.options.raw
        done = 0
        last: tuple[str, str] | None = None
        for item in items:
            if isinstance(item, Problem):
                if item.voids:
                    return item
                summary.problem(item)
                if out is not None and unit.shard is not None:
                    out.write(b"\n")
                continue
            if skipped and item.call_id in skipped:
                continue
            judged = None if item.command is None else self.judge.judged(item.command)
            if judged is not None and judged.verdict is not None and item.command is not None:
                remember(item.command, judged.verdict)  # the guard goes by the same rules
            said = sessions.call(item)
            if last != (item.source, item.session):
                last = (item.source, item.session)
                summary.session(item.source, item.session, path if item.source in ONE_A_FILE else "")
            summary.count(item, judged, said)
            if out is not None:
                out.write(line_of(row_of(item, judged, said, raw)).encode("ascii") + b"\n")
            done += 1
            if tick is not None and done % 512 == 0:
                tick(512)
        if tick is not None:
            tick(done % 512)
        sessions.end()
        summary.finish(sessions.loops, raw)
        return None
