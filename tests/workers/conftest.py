# SPDX-License-Identifier: Apache-2.0
"""Boards with dispatchers, for tests that have the extra `workers`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.board.servers import Server

MISSING = "the extra `workers` is not installed"


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A board in a SQLite file, and what is needed around it."""
    for name in ("sqlalchemy", "psutil", "dbos"):
        pytest.importorskip(name, reason=MISSING, exc_type=ImportError)
    from tests.workers.yard import Yard

    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "home"))
    made = Yard(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[object]:
    """A server for all tests of this process."""
    from tests.board.servers import server

    with server() as running:
        yield running


@pytest.fixture
def shared_yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgresql: Server) -> Iterator[object]:
    """A board in a new database of that server."""
    for name in ("psutil", "dbos"):
        pytest.importorskip(name, reason=MISSING, exc_type=ImportError)
    from tests.workers.yard import Yard

    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "home"))
    made = Yard(tmp_path, postgresql.fresh())
    yield made
    made.close()
