# SPDX-License-Identifier: Apache-2.0
"""Boards for tests: each test that asks for `board` or `address` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.board.servers import Server, server

if TYPE_CHECKING:
    from shellguard.board.board import Board

KINDS = ("sqlite", "postgresql")
WITHOUT = "the extra `workers` is not installed"


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A server for all tests of this process."""
    with server() as running:
        yield running


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a board may be made."""
    pytest.importorskip("sqlalchemy", reason=WITHOUT)
    if request.param == "sqlite":
        return str(tmp_path / "board" / "board.sqlite")
    running = request.getfixturevalue("postgresql")
    assert isinstance(running, Server)
    return running.fresh()


@pytest.fixture(scope="session")
def shared(postgresql: Server) -> Iterator[Board]:
    """A board that is emptied for each test: a database of its own takes longer than most tests."""
    from shellguard.board.board import Board

    with Board.open(postgresql.fresh()) as opened:
        yield opened


@pytest.fixture(params=KINDS)
def board(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Board]:
    """An empty board."""
    pytest.importorskip("sqlalchemy", reason=WITHOUT)
    from shellguard.board.board import Board

    if request.param == "sqlite":
        with Board.open(str(tmp_path / "board" / "board.sqlite")) as opened:
            yield opened
        return
    opened = request.getfixturevalue("shared")
    with opened.engine.begin() as connection:
        connection.exec_driver_sql(
            "DELETE FROM events; DELETE FROM links; DELETE FROM runs; DELETE FROM cards"
        )
    yield opened
