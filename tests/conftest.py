# SPDX-License-Identifier: Apache-2.0
"""What holds for every test, and the commands and sessions that agents recorded."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tools.corpora import corpora_folder

# `ci` tries the same examples on every machine and in every run, so that a red test is never a matter of
# luck; it keeps no database, which could make two machines differ. `deep` looks for new examples:
# pytest --hypothesis-profile=deep. Neither has a deadline: the time that one example takes says more about
# the machine than about the code.
settings.register_profile(
    "ci",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "deep",
    max_examples=5_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A script's `pytest &` begins so, and hands it on to what the tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_auto_num_workers() -> int:
    """For `-n auto`: half as many again as processors, as many tests wait for processes that they started."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return processors + (processors + 1) // 2


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of recorded commands and sessions, which are not part of the project."""
    folder = corpora_folder()
    if folder is None:
        pytest.skip("SHELLGUARD_CORPORA names no folder of recorded commands")
    return folder
