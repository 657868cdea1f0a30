# SPDX-License-Identifier: Apache-2.0
"""Boards with dispatchers, for tests that have the extra `workers`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

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
