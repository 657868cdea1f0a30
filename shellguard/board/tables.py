# SPDX-License-Identifier: Apache-2.0
"""The tables of a board, and how its database is opened: a SQLite file, or PostgreSQL by an URL.

SQLite is used as DBOS uses it in the same file, so that both can share an engine: the write lock is taken when a
transaction begins (`IMMEDIATE`), and others wait for it. PostgreSQL locks the row of the card.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
import uuid
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    create_engine,
    event,
    inspect,
    select,
    text,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from shellguard import places
from shellguard.board.model import BoardError, BoardUnavailableError

SCHEMA = 1
"""The version of the tables. A program refuses a board that is newer than it."""

BUSY_SECONDS = 30
"""How long a transaction waits for others."""

CONNECT_SECONDS = 10
CREATE_LOCK = 0x5368_6763
"""Of PostgreSQL, so that two programs do not make the tables at once."""

_MISSING = "there is no board yet: `shellguard cards add` makes one"

metadata = MetaData()

_JSON = JSON(none_as_null=True)
_NUMBER = BigInteger().with_variant(Integer(), "sqlite")

about = Table(
    "board",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

cards = Table(
    "cards",
    metadata,
    Column("id", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("profile", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("priority", _NUMBER, nullable=False),
    Column("created_at", Float(53), nullable=False),
    Column("updated_at", Float(53), nullable=False),
    Column("started_at", Float(53)),
    Column("completed_at", Float(53)),
    Column("scheduled_at", Float(53)),
    Column("workspace", Text),
    Column("repo", Text),
    Column("max_runtime", Float(53)),
    Column("max_retries", _NUMBER),
    Column("settings", _JSON, nullable=False),
    Column("consecutive_failures", _NUMBER, nullable=False),
    Column("block_kind", Text),
    Column("block_recurrences", _NUMBER, nullable=False),
    Column("block_reason", Text),
    Column("request", Text),
    Column("current_run", Text),
    Column("claim_expires", Float(53)),
    Column("last_error", Text),
    Column("result", Text),
    Index("cards_by_status", "status", "priority", "created_at"),
    Index("cards_by_run", "current_run", unique=True),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("card", Text, ForeignKey("cards.id"), nullable=False),
    Column("attempt", _NUMBER, nullable=False),
    Column("profile", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("outcome", Text),
    Column("exit_code", _NUMBER),
    Column("error", Text),
    Column("summary", Text),
    Column("metadata", _JSON),
    Column("host", Text, nullable=False),
    Column("dispatcher", Text, nullable=False),
    Column("claimed_at", Float(53), nullable=False),
    Column("claim_expires", Float(53), nullable=False),
    Column("heartbeat_at", Float(53)),
    Column("started_at", Float(53)),
    Column("ended_at", Float(53)),
    Column("max_runtime", Float(53)),
    Column("frozen", _JSON, nullable=False),
    Column("supervisor", Text),
    Column("supervisor_exit", _NUMBER),
    Column("child", Text),
    Column("keeper", Text),
    Column("workspace", Text),
    Column("log", Text),
    Index("runs_by_card", "card", "attempt", unique=True),
    # A second open run of a card is refused by the database itself.
    Index(
        "runs_open",
        "card",
        unique=True,
        sqlite_where=text("ended_at IS NULL"),
        postgresql_where=text("ended_at IS NULL"),
    ),
)

events = Table(
    "events",
    metadata,
    Column("id", _NUMBER, primary_key=True, autoincrement=True),
    Column("card", Text, ForeignKey("cards.id"), nullable=False),
    Column("run", Text),
    Column("kind", Text, nullable=False),
    Column("payload", _JSON, nullable=False),
    Column("at", Float(53), nullable=False),
    Index("events_by_card", "card", "id"),
    sqlite_autoincrement=True,
)

links = Table(
    "links",
    metadata,
    Column("parent", Text, ForeignKey("cards.id"), primary_key=True),
    Column("child", Text, ForeignKey("cards.id"), primary_key=True),
    Index("links_by_child", "child"),
)


def address_of(given: str | None) -> str:
    """The address of the board: what was given, `$SHELLGUARD_BOARD`, else a file in the user's state folder."""
    return given or os.environ.get("SHELLGUARD_BOARD") or os.path.join(places.folder("state"), "board.sqlite")


def url_of(address: str) -> URL:
    """The database of an address, which is an URL (`postgresql://...`, `sqlite:///FILE`) or the path of a file.

    Raises: BoardError.
    """
    if "://" not in address:
        if re.match("(unix|tcp):", address):
            raise BoardError(f"{address} is the desk of a worker, and no board")
        return URL.create("sqlite", database=os.path.abspath(address))
    try:
        url = make_url(address)
    except (ArgumentError, ValueError) as error:
        raise BoardError("the address of the board is no URL that can be read") from error
    if "@" in (url.host or ""):
        raise BoardError("the address of the board has two @: in a password it is written %40")
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername != "sqlite":
        raise BoardError(f"{url.drivername}: a board is a file, or a database of PostgreSQL")
    if url.database in (None, "", ":memory:") or url.query:
        raise BoardError("a board needs a file: sqlite:///FILE")
    assert url.database is not None
    return URL.create("sqlite", database=os.path.abspath(url.database))


def shown(address: str) -> str:
    """An address without what is secret in it, for messages."""
    try:
        url = url_of(address)
    except BoardError:
        return re.sub(r"//.*@", "//***@", address, flags=re.DOTALL)
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    # A password may stand in the query too, and so may names of files with keys.
    return url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)


def open_engine(url: URL, *, make: bool = True) -> Engine:
    """The engine of a board. Where there are no tables they are made, or it is an error. Raises: BoardError."""
    if url.get_backend_name() == "sqlite":
        assert url.database is not None
        if make:
            _make_file(url.database)
        elif not os.path.exists(url.database):
            raise BoardError(_MISSING)
        engine = create_engine(url, json_serializer=_dumps, connect_args={"timeout": BUSY_SECONDS})
        event.listen(engine, "connect", _set_up_sqlite)
    else:
        engine = create_engine(
            url,
            json_serializer=_dumps,
            pool_pre_ping=True,
            connect_args={} if "connect_timeout" in url.query else {"connect_timeout": CONNECT_SECONDS},
        )
        event.listen(engine, "connect", _set_up_postgresql)
    try:
        _make_tables(engine, make=make)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def _make_file(path: str) -> None:
    """An empty file is a database without tables. It is made here, since SQLite would let others read it."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise BoardError(f"{path}: {error.strerror or error}") from error


def _set_up_sqlite(connection: sqlite3.Connection, record: object) -> None:
    connection.isolation_level = "IMMEDIATE"
    connection.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")


def _set_up_postgresql(connection: Any, record: object) -> None:
    connection.autocommit = True
    connection.execute(f"SET lock_timeout = '{BUSY_SECONDS}s'")
    connection.autocommit = False


def _make_tables(engine: Engine, *, make: bool) -> None:
    """Makes what is missing, once, whoever opens the board at the same time."""
    with said_plainly(), engine.connect() as connection:
        sqlite = connection.dialect.name == "sqlite"
        if sqlite:
            _use_wal(connection)
        if _is_known(connection):
            return
        if not make:
            raise BoardError(_MISSING)
        connection.rollback()
        if sqlite:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": CREATE_LOCK})
        if _is_known(connection):
            return
        present = set(inspect(connection).get_table_names())
        foreign = present & set(metadata.tables)
        if foreign:
            raise BoardError(f"the database has a table {min(foreign)!r} that is not of a board")
        if sqlite and present and "dbos_migrations" not in present:
            raise BoardError("this is a SQLite database of something else, and no board")
        metadata.create_all(connection, checkfirst=False)
        connection.execute(
            about.insert(),
            [{"key": "schema", "value": str(SCHEMA)}, {"key": "id", "value": uuid.uuid4().hex}],
        )
        connection.commit()


def _use_wal(connection: Connection) -> None:
    """Readers and the writer do not wait for each other. Who changes this finds the file locked at once, not later."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            return
        except DBAPIError as error:
            if not is_busy(error) or time.monotonic() > until:
                raise
            time.sleep(0.05)
        finally:
            connection.rollback()


def _is_known(connection: Connection) -> bool:
    """Whether the tables are there. Raises: BoardError when they are those of a later program."""
    if not inspect(connection).has_table("board"):
        return False
    columns = {column["name"] for column in inspect(connection).get_columns("board")}
    if columns != {"key", "value"}:
        return False
    found = connection.execute(select(about.c.value).where(about.c.key == "schema")).scalar()
    if found is None:
        return False
    if not found.isascii() or not found.isdigit() or int(found) > SCHEMA:
        raise BoardError(f"the board has schema {found}, this program knows up to {SCHEMA}: use a newer one")
    return True


def is_busy(error: DBAPIError) -> bool:
    """Whether SQLite says that somebody else has the file just now."""
    return isinstance(error.orig, sqlite3.OperationalError) and any(
        word in str(error.orig) for word in ("locked", "busy")
    )


class said_plainly:  # noqa: N801 (used as a statement, as `contextlib.suppress` is)
    """Turns an error of the database into a `BoardError` of one line that holds no password and no statement.

    A value that no column of ours can hold (a status that there is not, text that is no JSON) is damage.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ValueError):
            raise BoardError(f"the board is damaged: {' '.join(str(error).split())}") from error
        if not isinstance(error, SQLAlchemyError):
            return
        cause = getattr(error, "orig", None) or error
        message = " ".join(str(cause).split()) or type(cause).__name__
        # A pool without a free connection has one again when another thread is done.
        if isinstance(error, PoolTimeoutError) or (isinstance(error, DBAPIError) and _passes(error)):
            raise BoardUnavailableError(message) from error
        raise BoardError(message) from error


def _passes(error: DBAPIError) -> bool:
    """Whether the same call may succeed later: the file is locked or full, the server is away or ended our work."""
    if error.connection_invalidated:
        return True
    if isinstance(error.orig, sqlite3.Error):
        return isinstance(error.orig, sqlite3.OperationalError) and not str(error.orig).startswith("no such")
    state = str(getattr(error.orig, "sqlstate", None) or "")
    # No code: the connection failed. 08 connection, 40 deadlock, 53 resources, 55 locks, 57 shutdown.
    return not state or state[:2] in ("08", "40", "53", "55", "57")
