# SPDX-License-Identifier: Apache-2.0
"""A run that is killed at any moment and started again ends with the bytes of one that nobody disturbed; so does one by
another engine."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.replay.calls import lines_of
from tools.synthetic_calls import calls

RUN = """
import sys
from shellguard.replay import run, units
units.SHARD_BYTES = 1 << 17
run.IN_PROCESS = 0
if __name__ == "__main__":
    from shellguard.cli.main import main
    main(["replay", *sys.argv[1:]])
"""
"""The command, with a file of a megabyte cut into parts as if it were a large one."""


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "SHELLGUARD_HOME": str(folder / "home"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }


def started(folder: Path, out: Path, *arguments: str) -> subprocess.Popen[bytes]:
    script = folder / "run.py"
    script.write_text(RUN, encoding="utf-8")
    command = [
        sys.executable,
        str(script),
        str(folder / "calls.jsonl"),
        "--out",
        str(out),
        "--no-progress",
        *arguments,
    ]
    return subprocess.Popen(
        command, env=environment(folder), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def finished(process: subprocess.Popen[bytes]) -> None:
    _, errors = process.communicate(timeout=280)
    assert process.returncode == 0, errors.decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("resume")
    (place / "calls.jsonl").write_text(lines_of(calls(4_000)), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def whole(folder: Path) -> tuple[bytes, float]:
    """The bytes of an undisturbed run, and how long it took."""
    began = time.monotonic()
    finished(started(folder, folder / "whole.jsonl", "--jobs", "2"))
    return (folder / "whole.jsonl").read_bytes(), time.monotonic() - began


def killed_and_continued(folder: Path, whole: tuple[bytes, float], moments: int) -> None:
    """Kills runs at random moments, each continued by the next, and lets the last come to its end."""
    chance = random.Random(20261130)
    out = folder / "again.jsonl"
    for _ in range(moments):
        process = started(folder, out, "--jobs", "2")
        time.sleep(chance.uniform(0.05, 1.0) * whole[1])
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    finished(started(folder, out, "--jobs", "2"))
    assert out.read_bytes() == whole[0]
    assert list((folder / "home").glob("cache/replay/*")) == []


def test_a_run_that_is_killed_goes_on(folder: Path, whole: tuple[bytes, float]) -> None:
    killed_and_continued(folder, whole, 2)


@pytest.mark.slow
def test_a_run_that_is_killed_twenty_times_goes_on(folder: Path, whole: tuple[bytes, float]) -> None:
    killed_and_continued(folder, whole, 20)


@pytest.mark.slow
def test_a_run_may_be_killed_at_any_of_twenty_moments(folder: Path, whole: tuple[bytes, float]) -> None:
    chance = random.Random(4)
    out = folder / "moment.jsonl"
    for _ in range(20):
        out.unlink(missing_ok=True)
        process = started(folder, out, "--jobs", "2")
        time.sleep(chance.uniform(0.02, 1.05) * whole[1])
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        finished(started(folder, out, "--jobs", "2"))
        assert out.read_bytes() == whole[0]


def test_dask_gives_the_same_bytes(folder: Path, whole: tuple[bytes, float]) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed (extra corpora)")
    finished(started(folder, folder / "dask.jsonl", "--engine", "dask", "--jobs", "2"))
    assert (folder / "dask.jsonl").read_bytes() == whole[0]


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_named(folder: Path) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed (extra corpora)")
    process = started(folder, folder / "x.jsonl", "--engine", "dask", "--scheduler", "tcp://127.0.0.1:9")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert b"no Dask scheduler answers at tcp://127.0.0.1:9" in errors


@pytest.mark.slow
def test_a_scheduler_with_workers_of_its_own_gives_the_same_bytes(
    folder: Path, whole: tuple[bytes, float]
) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed (extra corpora)")
    address = "tcp://127.0.0.1:18786"
    dask = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "18786",
        "--no-dashboard",
    ]
    workers = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        address,
        "--nworkers",
        "2",
        "--no-dashboard",
    ]
    processes = [
        subprocess.Popen(command, env=environment(folder), stderr=subprocess.DEVNULL)
        for command in (dask, workers)
    ]
    try:
        time.sleep(8)
        finished(started(folder, folder / "far.jsonl", "--engine", "dask", "--scheduler", address))
        assert (folder / "far.jsonl").read_bytes() == whole[0]
    finally:
        for process in processes:
            process.terminate()
            process.wait(timeout=60)
