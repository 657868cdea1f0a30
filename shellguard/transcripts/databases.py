# SPDX-License-Identifier: Apache-2.0
"""SQLite files of agents, opened for reading only: nothing is written, and no journal is made."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from shellguard.transcripts.files import Source, UnreadableError

MAGIC = b"SQLite format 3\x00"


@contextmanager
def opened_database(source: Source) -> Iterator[sqlite3.Connection]:
    """The database of a source. Raises UnreadableError for one that is damaged, also while it is read."""
    # A database in WAL mode can be read only where its -shm file may be made; a copy or a read-only
    # folder is opened as one that nobody changes.
    address = Path(source.files[0]).resolve().as_uri()
    error: Exception | None = None
    for mode in ("mode=ro", "mode=ro&immutable=1"):
        try:
            connection = sqlite3.connect(f"{address}?{mode}", uri=True)
            connection.execute("select count(*) from sqlite_master").fetchone()
        except sqlite3.Error as found:
            error = found
            continue
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        with closing(connection):
            try:
                yield connection
            except sqlite3.Error as found:
                raise UnreadableError(f"damaged database: {found}") from None
        return
    raise UnreadableError(f"no database that can be read: {error}")


def columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """The names of the columns of a table; none where there is no such table."""
    return {str(row[1]) for row in connection.execute(f'pragma table_info("{table}")')}
