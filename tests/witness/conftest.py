# SPDX-License-Identifier: Apache-2.0
"""One session for the tests that run commands; where none can be had, they are skipped with the reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tools.witness.client import UnavailableError, Witness


@pytest.fixture(scope="session")
def witness() -> Iterator[Witness]:
    try:
        session = Witness(timeout=10)
    except UnavailableError as reason:
        pytest.skip(f"no sandbox: {reason}")
    with session:
        yield session
