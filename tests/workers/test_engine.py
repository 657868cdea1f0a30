# SPDX-License-Identifier: Apache-2.0
"""Starts by DBOS: once, gone on with after a kill, with errors as answers, and nothing that listens or tells."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("dbos", reason="the extra `workers` is not installed", exc_type=ImportError)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX processes")

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import logging, os, sys, time
from shellguard.board.board import Board
from shellguard.workers import processes
from shellguard.workers.engine import Engine

address, die, runs = sys.argv[1], sys.argv[2], sys.argv[3:]

def prepare(run):
    print("prepare", run, flush=True)
    if die == "prepare":
        os._exit(9)
    if run == "folder":
        raise OSError("no folder")

def spawn(run):
    print("spawn", run, flush=True)
    if die == "spawn":
        os._exit(9)
    if run == "odd":
        raise KeyError("secret")
    return f"supervisor of {run}"

with Board.open(address) as board:
    engine = Engine(board, host="h", executor=processes.identity(), prepare=prepare, spawn=spawn)
    engine.launch()
    for run in runs:
        engine.start(run)
    assert engine.settle(30)
    for run in runs:
        state = engine.state(run)
        print(run, "supervisor" if state.supervisor else "error", state.supervisor or state.error, flush=True)
    import psutil
    print("connections", [each for each in psutil.Process().net_connections("inet")])
    print("variables", [name for name in os.environ if name.startswith("DBOS_")])
    engine.close()
"""


def start(address: str, die: str, *runs: str, status: int = 0) -> list[str]:
    """What a dispatcher with these starts says."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, address, die, *runs],
        cwd=ROOT,
        env={
            **os.environ,
            "DBOS__CLOUD": "true",
            "DBOS__VMID": "x",
            "DBOS_SYSTEM_DATABASE_URL": "sqlite:///x",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


QUIET = ["connections []", "variables []"]


def test_a_run_is_started_once(tmp_path: Path) -> None:
    address = str(tmp_path / "b.sqlite")
    said = start(address, "", "r")
    assert said == ["prepare r", "spawn r", "r supervisor supervisor of r", *QUIET]
    assert start(address, "", "r") == ["r supervisor supervisor of r", *QUIET]


@pytest.mark.parametrize(
    "step, again", [("prepare", ["prepare r", "spawn r"]), ("spawn", ["spawn r"])], ids=["prepare", "spawn"]
)
def test_a_start_goes_on_in_the_step_in_which_its_dispatcher_was_killed(
    tmp_path: Path, step: str, again: list[str]
) -> None:
    address = str(tmp_path / "b.sqlite")
    start(address, step, "r", status=9)
    assert start(address, step, "r", status=9) == again[: len(again) if step == "spawn" else 1]
    assert start(address, "", "r") == [*again, "r supervisor supervisor of r", *QUIET]


def test_what_a_step_raises_is_the_answer(tmp_path: Path) -> None:
    address = str(tmp_path / "b.sqlite")
    for _ in range(2):
        said = start(address, "", "folder", "odd")
        assert "folder error no folder" in said
        assert [line for line in said if line.startswith("odd error the engine could not start it")]
        assert not [line for line in said if "secret" in line]
    assert "spawn folder" not in said


def test_the_tables_hold_no_pickle(tmp_path: Path) -> None:
    """Reading a pickle may run anything, and the board may be shared."""
    import sqlite3

    address = str(tmp_path / "b.sqlite")
    start(address, "", "r")
    connection = sqlite3.connect(address)
    found = connection.execute("SELECT serialization FROM workflow_status").fetchall()
    connection.close()
    assert found == [("json",)]
