# SPDX-License-Identifier: Apache-2.0
"""One session for the tests that run commands; where none can be had, they are skipped with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tools.witness.client import Witness

collect_ignore_glob = [] if os.name == "posix" else ["test_*.py"]
"""The witness cannot even be imported where there is no POSIX."""


@pytest.fixture(scope="session")
def witness() -> Iterator[Witness]:
    from tools.witness.client import UnavailableError, Witness

    try:
        session = Witness(timeout=10)
    except UnavailableError as reason:
        pytest.skip(f"no sandbox: {reason}")
    with session:
        yield session
