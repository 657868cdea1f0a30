# SPDX-License-Identifier: Apache-2.0
"""Results in a file: JSON Lines whose first line says how they came to be, or Parquet with the same in its metadata."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from shellguard.replay.options import SCHEMA
from shellguard.replay.outcomes import FIELDS
from shellguard.replay.workplace import whole
from shellguard.transcripts.files import UnreadableError, opened

HEADER = "shellguard"
"""The field of the first line that holds how the results came to be; no row has it."""

BATCH = 16_384


class ResultsError(Exception):
    """A file that holds no results, or of a version that is not known here, or in want of a package."""


def write(path: str, stamp: dict[str, Any], lines: Iterable[bytes]) -> None:
    """Writes results; readers see the old file or the new one, never a part. Raises OSError and ResultsError."""
    with whole(Path(path)) as out:
        if path.endswith(".parquet"):
            _write_parquet(out, stamp, lines)
        else:
            out.write(json.dumps({HEADER: stamp}).encode("ascii") + b"\n")
            for line in lines:
                out.write(line)


def _write_parquet(out: BinaryIO, stamp: dict[str, Any], lines: Iterable[bytes]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ResultsError("Parquet: install shellguard-engine[corpora] to write it") from None
    kinds = {
        **dict.fromkeys(FIELDS, pyarrow.string()),
        **dict.fromkeys(("turn", "index", "count", "exit_code"), pyarrow.int64()),
        **dict.fromkeys(("allowed", "saved", "failed"), pyarrow.bool_()),
        **dict.fromkeys(("started_at", "elapsed"), pyarrow.float64()),
        "effects": pyarrow.list_(pyarrow.string()),
    }
    schema = pyarrow.schema([(name, kinds[name]) for name in FIELDS], metadata={HEADER: json.dumps(stamp)})
    with pyarrow.parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        batch: list[dict[str, Any]] = []
        for line in lines:
            batch.append(_plain(json.loads(line)))
            if len(batch) >= BATCH:
                writer.write_batch(pyarrow.RecordBatch.from_pylist(batch, schema=schema))
                batch.clear()
        if batch:
            writer.write_batch(pyarrow.RecordBatch.from_pylist(batch, schema=schema))


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row with texts that UTF-8 can hold: lone surrogates become what they are called."""
    for name, value in row.items():
        if isinstance(value, str) and not value.isascii():
            row[name] = value.encode("utf-8", "backslashreplace").decode("utf-8")
    return row


def read(path: str) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    """How results came to be, and their rows. Raises ResultsError, and OSError; the rows may raise them too."""
    with open(path, "rb") as file:
        magic = file.read(4)
    if magic == b"PAR1":
        return _read_parquet(path)
    stream = opened(path)
    try:
        first = json.loads(stream.readline() or b"null")
    except (UnreadableError, ValueError, RecursionError) as error:
        stream.close()
        raise ResultsError(f"{path}: no results: {error}") from None
    stamp = first.get(HEADER) if isinstance(first, dict) else None
    if not isinstance(stamp, dict) or not _is_known(stamp):
        stream.close()
        if isinstance(stamp, dict):
            raise ResultsError(
                f"{path}: results of schema {stamp.get('schema')}, which this version does not know"
            )
        raise ResultsError(f"{path}: no results: the first line does not say how they came to be")

    def rows() -> Iterator[dict[str, Any]]:
        with stream:
            for number, line in enumerate(stream, 2):
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    raise ResultsError(f"{path}:{number}: a damaged row") from None
                if isinstance(row, dict):
                    yield row

    return stamp, rows()


def _is_known(stamp: dict[str, Any]) -> bool:
    schema = stamp.get("schema")
    return isinstance(schema, int) and 1 <= schema <= SCHEMA


def _read_parquet(path: str) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ResultsError("Parquet: install shellguard-engine[corpora] to read it") from None
    try:
        file = pyarrow.parquet.ParquetFile(path)
        stamp = json.loads((file.schema_arrow.metadata or {})[HEADER.encode()])
    except (pyarrow.ArrowException, KeyError, ValueError) as error:
        raise ResultsError(f"{path}: no results: {error}") from None
    if not _is_known(stamp):
        raise ResultsError(
            f"{path}: results of schema {stamp.get('schema')}, which this version does not know"
        )
    return stamp, (row for batch in file.iter_batches(batch_size=BATCH) for row in batch.to_pylist())
