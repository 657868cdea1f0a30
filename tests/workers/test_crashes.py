# SPDX-License-Identifier: Apache-2.0
"""kill -9 of dispatchers, supervisors and keepers at random moments: no card lost, none twice at once, none stuck."""

from __future__ import annotations

import marshal
import os
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `workers` is not installed", exc_type=ImportError)

from shellguard.workers import keeper, processes
from shellguard.workers.tree import Worker

if TYPE_CHECKING:
    from tests.workers.yard import Yard

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("flock") is None, reason="needs Linux and flock"
)


def test_a_keeper_whose_supervisor_is_gone_starts_nothing(tmp_path: Path) -> None:
    """The supervisor was killed right after it had given its order: nothing may begin that nobody looks after."""
    control, write = os.pipe()
    report, said = os.pipe()
    os.close(write)
    order: dict[str, Any] = {
        "argv": [b"/bin/touch", os.fsencode(tmp_path / "made")],
        "cwd": b"/",
        "environment": {},
        "files": [],
        "grace": 1.0,
        "hidden": True,
        "cgroup": None,
    }
    done = subprocess.run(
        [sys.executable, "-I", "-S", keeper.__file__, str(control), str(said)],
        input=marshal.dumps(order),
        pass_fds=(control, said),
        timeout=60,
        check=False,
    )
    os.close(said)
    assert (done.returncode, os.read(report, 100)) == (0, b"")
    os.close(report)
    os.close(control)
    assert not (tmp_path / "made").exists()


def test_the_keeper_of_a_run_is_found_by_the_run_before_the_board_knows_it() -> None:
    run = uuid.uuid4().hex
    worker = Worker(("/bin/sleep", "60"), "/", {processes.RUN: run})
    try:
        assert sorted(processes.of_runs()[run]) == sorted([worker.keeper, worker.pid])
    finally:
        worker.end()


@pytest.mark.parametrize("ago, own_word, lost", [(19.0, None, False), (21.0, None, True), (21.0, 1.0, False)])
def test_a_supervisor_whose_lease_is_over_takes_its_tree_down(
    ago: float, own_word: float | None, lost: bool
) -> None:
    """Another host may have the card by then: two attempts must not be there at once, though the board was away."""
    from types import SimpleNamespace

    from shellguard.workers.command import _Supervisor

    seen: Any = SimpleNamespace(stale=False, own_word=own_word, confirmed=time.monotonic() - ago, lease=20.0)
    assert _Supervisor.has_lost_its_lease(seen) is lost
    assert seen.stale is lost


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
