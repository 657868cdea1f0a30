# SPDX-License-Identifier: Apache-2.0
"""Supervisors of planned workers in real repositories."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from shellguard.workers.supervisor import Order, Report, supervise
from tests.approval.repos import Repo

ROOT = Path(__file__).resolve().parents[2]
PLAN = Path(__file__).with_name("plan.py")

ABORT = [["checkpoint", "git push"], ["exit", "130"]]
"""What a worker does that an approval ends."""


def argv(*attempts: list[list[str]]) -> tuple[str, ...]:
    """The words of a worker with this plan."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv[0] = {str(PLAN)!r}; import runpy; "
    code += "runpy.run_path(sys.argv[0], run_name='__main__')"
    return (sys.executable, "-c", code, json.dumps(attempts))


def run(repo: Repo, *attempts: list[list[str]], **order: Any) -> Report:
    """What comes of a supervised worker with this plan."""
    order.setdefault("session", "S1")
    order.setdefault("step", 4)
    return supervise(Order(argv(*attempts), str(repo.top), **order))


def writing(number: int, *more: list[str]) -> list[list[str]]:
    """An attempt that changes something, then is aborted."""
    return [["write", "work.txt", f"attempt {number}\n"], *more, *ABORT]


def processes_with(text: str) -> list[int]:
    """The processes whose command line holds a text."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                line = Path("/proc", name, "cmdline").read_bytes()
            except OSError:
                continue
            if text.encode() in line and int(name) != os.getpid():
                found.append(int(name))
    return found
