# SPDX-License-Identifier: Apache-2.0
"""kill -9 of dispatchers, supervisors and keepers at random moments: no card lost, none twice at once, none stuck."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `workers` is not installed", exc_type=ImportError)

if TYPE_CHECKING:
    from tests.workers.yard import Yard

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("flock") is None, reason="needs Linux and flock"
)


def test_a_few_kills(yard: Yard) -> None:
    from tests.workers.chaos import chaos

    print(chaos(yard, cards=12, kills=6, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_100_kills_over_200_cards(yard: Yard, seed: int) -> None:
    from tests.workers.chaos import chaos

    figures = chaos(yard, cards=200, kills=100, seed=seed)
    print(figures)
    assert figures.kills.total() == 100
