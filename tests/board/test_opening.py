# SPDX-License-Identifier: Apache-2.0
"""Which board an address means, what is made where there is none, and what is said of one that cannot be used."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `workers` is not installed")

from sqlalchemy import update

from shellguard.board.board import Board
from shellguard.board.model import BoardError, BoardUnavailableError
from shellguard.board.tables import SCHEMA, about, address_of, shown, url_of
from tests.board.cards import add, check, dump

if TYPE_CHECKING:
    from tests.board.servers import Server

POSIX = pytest.mark.skipif(os.name == "nt", reason="modes and names of files as POSIX has them")


@pytest.mark.parametrize(
    "given, variable, meant",
    [
        ("a.db", "b.db", "a.db"),
        (None, "b.db", "b.db"),
        (None, None, "HOME/state/board.sqlite"),
        (None, "", "HOME/state/board.sqlite"),
    ],
)
def test_which_board_is_meant(
    given: str | None, variable: str | None, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path))
    if variable is None:
        monkeypatch.delenv("SHELLGUARD_BOARD", raising=False)
    else:
        monkeypatch.setenv("SHELLGUARD_BOARD", variable)
    assert address_of(given) == meant.replace("HOME", str(tmp_path))


@pytest.mark.parametrize(
    "address, url",
    [
        ("/a b/c.db", "sqlite:////a b/c.db"),
        ("sqlite:////a/b.db", "sqlite:////a/b.db"),
        ("postgresql://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("postgres://u@h:5433/d?sslmode=require", "postgresql+psycopg://u@h:5433/d?sslmode=require"),
        ("postgresql+psycopg:///d", "postgresql+psycopg:///d"),
    ],
)
def test_the_database_of_an_address(address: str, url: str) -> None:
    assert url_of(address).render_as_string(hide_password=False) == url


@POSIX
def test_any_path_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a?b=c#d:e%20@f\n"
    with Board.open(str(path)) as board:
        add(board)
    assert path.exists()


@pytest.mark.parametrize(
    "address, message",
    [
        ("unix:/tmp/desk", "the desk of a worker"),
        ("tcp:127.0.0.1:1", "the desk of a worker"),
        ("mysql://u:geheim@h/d", "mysql: a board is a file, or a database of PostgreSQL"),
        ("postgresql+asyncpg://u:geheim@h/d", "a board is a file"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
        ("sqlite:///a.db?mode=ro", "needs a file"),
        ("://u:geheim@h", "no URL that can be read"),
        ("postgresql://u:geheim@h:port/d", "no URL that can be read"),
        ("postgresql://u:x@geheim@h/d", "written %40"),
    ],
)
def test_what_is_no_address(address: str, message: str) -> None:
    with pytest.raises(BoardError, match=message) as caught:
        Board.open(address)
    assert "geheim" not in str(caught.value)
    assert "geheim" not in shown(address)


@pytest.mark.parametrize(
    "address, text",
    [
        ("postgresql://u:geheim@h:1/d", "postgresql://u:***@h:1/d"),
        ("postgresql://h/d?password=geheim&user=u&sslkey=geheim", "postgresql://h/d"),
        ("postgresql://u:g%40heim@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:ge@heim@h/d", "postgresql://***@h/d"),
        ("/a/b.db", "/a/b.db"),
    ],
)
def test_an_address_for_people(address: str, text: str) -> None:
    assert shown(address) == text


@POSIX
def test_what_is_made_for_a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = os.umask(0)
    try:
        with Board.open("new/folder/board.sqlite") as board:
            add(board)
            assert board.address == str(tmp_path / "new/folder/board.sqlite"), (
                "it may be opened from elsewhere"
            )
            assert board.address_shown == board.address
            folder = tmp_path / "new/folder"
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
            assert files == dict.fromkeys(("board.sqlite", "board.sqlite-wal", "board.sqlite-shm"), 0o600)
    finally:
        os.umask(before)


def test_how_sqlite_is_used(tmp_path: Path) -> None:
    with Board.open(str(tmp_path / "b")) as board, board.engine.connect() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "busy_timeout", "synchronous", "foreign_keys")
        }
    assert found == {"journal_mode": "wal", "busy_timeout": 30_000, "synchronous": 1, "foreign_keys": 1}


def test_a_board_stays(address: str) -> None:
    with Board.open(address) as board:
        card = add(board)
        before = dump(board)
    with Board.open(address, make=False) as board:
        assert board.card(card.id) == card
        assert dump(board) == before
        check(board)


def test_no_board_is_made_where_none_is_asked_for(address: str) -> None:
    with pytest.raises(BoardError, match="there is no board yet"):
        Board.open(address, make=False)
    if "://" not in address:
        assert not os.path.exists(address)


def test_a_newer_board_is_refused(address: str) -> None:
    with Board.open(address) as board, board.engine.begin() as connection:
        connection.execute(update(about).where(about.c.key == "schema").values(value=str(SCHEMA + 1)))
    with pytest.raises(
        BoardError, match=f"the board has schema {SCHEMA + 1}, this program knows up to {SCHEMA}"
    ):
        Board.open(address)


@pytest.mark.parametrize(
    "content", [b"not a database at all", b"x" * 4096, b"SQLite format 3\0" + b"x" * 2000]
)
def test_a_file_of_something_else(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(BoardError, match="not a database"):
        Board.open(str(path))
    assert path.read_bytes() == content


def test_a_database_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE bookmarks (a)")
    connection.close()
    with pytest.raises(BoardError, match="a SQLite database of something else"):
        Board.open(str(path))
    with sqlite3.connect(path) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
    connection.close()
    assert tables == ["bookmarks"]


def test_tables_of_the_same_names(postgresql: Server) -> None:
    url = postgresql.fresh()
    postgresql.sql("CREATE TABLE events (a int)", url.rpartition("/")[2])
    with pytest.raises(BoardError, match="a table 'events' that is not of a board"):
        Board.open(url)


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="who is root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(BoardError, match="Permission denied"):
        Board.open(str(tmp_path / "a" / "b"))
    tmp_path.chmod(0o700)


def test_a_file_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BoardError):
        Board.open(str(tmp_path / "file" / "board"))


def test_a_board_that_is_locked_for_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellguard.board.tables.BUSY_SECONDS", 0)
    with Board.open(str(tmp_path / "b")) as board:
        other = sqlite3.connect(tmp_path / "b", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BoardUnavailableError, match="database is locked"):
            add(board)
        other.execute("ROLLBACK")
        other.close()
        add(board)


def test_more_threads_than_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Board.open(str(tmp_path / "b")) as board, ExitStack() as held:
        monkeypatch.setattr(board.engine.pool, "_timeout", 0.01)
        for _ in range(15):
            held.enter_context(board.engine.connect())
        with pytest.raises(BoardUnavailableError, match="limit"):
            board.counts()
        held.close()
        assert board.counts() == {}


@pytest.mark.parametrize("what", ["password", "database", "port"])
def test_a_server_that_does_not_let_us_in(postgresql: Server, what: str) -> None:
    address = {
        "password": postgresql.url("postgres", password="geheim"),
        "database": postgresql.url("nowhere"),
        "port": "postgresql://boss:geheim@127.0.0.1:1/postgres",
    }[what]
    with pytest.raises(BoardUnavailableError) as caught:
        Board.open(address)
    assert "geheim" not in str(caught.value)
    assert postgresql.password not in str(caught.value)
    assert "\n" not in str(caught.value)
