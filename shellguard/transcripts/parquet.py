# SPDX-License-Identifier: Apache-2.0
"""Our own lines in a Parquet file: the same columns; `args` may be JSON as a text. Needs pyarrow (extra `corpora`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from shellguard.transcripts.files import Source, UnreadableError
from shellguard.transcripts.model import Call, Problem
from shellguard.transcripts.rows import call_of

BATCH = 4_096


def records(source: Source) -> Iterator[dict[str, Any]]:
    """The rows as objects, without columns that are null. Raises UnreadableError."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UnreadableError("Parquet: install shellguard-engine[corpora] to read it") from None
    try:
        with pyarrow.parquet.ParquetFile(source.files[0]) as file:
            for batch in file.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    args = row.get("args")
                    if isinstance(args, str):
                        try:
                            row["args"] = json.loads(args)
                        except (ValueError, RecursionError):
                            row["args"] = {}
                    yield {name: value for name, value in row.items() if value is not None}
    except (pyarrow.ArrowException, OSError) as error:
        raise UnreadableError(f"damaged Parquet file: {error}") from None


def read(source: Source) -> Iterator[Call | Problem]:
    """The calls of a file in their order."""
    counts: dict[tuple[str, str, str], int] = {}
    for number, record in enumerate(records(source), 1):
        yield call_of(record, source, number, counts)
