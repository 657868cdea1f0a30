# SPDX-License-Identifier: Apache-2.0
"""Processes are known by what they are: names, signals that meet nobody else, and what a run left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("psutil", reason="psutil is not installed (extra `workers`)")

from shellguard.workers import processes

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX processes")

SLEEPER = [sys.executable, "-I", "-S", "-c", "import time; print(flush=True); time.sleep(60)"]


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(SLEEPER, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_process_has_one_name_as_long_as_it_runs(sleeper: subprocess.Popen[bytes]) -> None:
    name = processes.identity(sleeper.pid)
    assert name is not None
    assert processes.pid_of(name) == sleeper.pid
    assert processes.identity(sleeper.pid) == name != processes.identity()
    assert processes.is_running(name)
    assert processes.is_running(processes.identity())


def test_one_that_ended_has_none_though_nobody_waited_for_it(sleeper: subprocess.Popen[bytes]) -> None:
    name = processes.identity(sleeper.pid)
    assert processes.send(name, signal.SIGKILL)
    assert processes.wait_gone([name], 10)
    assert sleeper.returncode is None
    os.kill(sleeper.pid, 0)  # a zombie: the number is still taken
    assert processes.identity(sleeper.pid) is None
    assert not processes.send(name, signal.SIGTERM)


def test_a_number_that_was_used_again_is_never_signalled(sleeper: subprocess.Popen[bytes]) -> None:
    name = processes.identity(sleeper.pid)
    assert name is not None
    boot, pid, started = name.split(":")
    for other in (f"{boot}:{pid}:{started}0", f"{boot[:-1]}x:{pid}:{started}"):
        assert not processes.is_running(other)
        assert not processes.send(other, signal.SIGKILL)
    assert sleeper.poll() is None


@pytest.mark.parametrize("name", [None, "", "1", "a:b:c", "a:-1:c", "12345", ":::", "a:²:c"])
def test_what_is_no_name_is_no_process(name: str | None) -> None:
    assert not processes.is_running(name)
    assert not processes.send(name, signal.SIGKILL)


def test_nobody_signals_himself() -> None:
    assert not processes.send(processes.identity(), signal.SIGKILL)


def test_waiting_ends_with_the_time(sleeper: subprocess.Popen[bytes]) -> None:
    names = [processes.identity(sleeper.pid), None]
    assert not processes.wait_gone(names, 0.1)
    sleeper.kill()
    assert processes.wait_gone(names, 10)


LEAVERS = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    subprocess.Popen(["sleep", "60"])
    time.sleep(60)
subprocess.Popen(["nohup", "sleep", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
os.kill(subprocess.Popen(["sleep", "60"]).pid, signal.SIGSTOP)
time.sleep(60)
"""


def test_a_sweep_ends_what_left_its_session_and_nothing_of_another_run() -> None:
    run, other = uuid.uuid4().hex, uuid.uuid4().hex
    mine = subprocess.Popen([sys.executable, "-c", LEAVERS], env={**os.environ, processes.RUN: run})
    yours = subprocess.Popen(SLEEPER, env={**os.environ, processes.RUN: other}, stdout=subprocess.DEVNULL)
    try:
        limit = time.monotonic() + 30
        while len(processes.of_runs().get(run, [])) < 5:
            assert time.monotonic() < limit
            time.sleep(0.02)
        assert processes.sweep(run)
        assert run not in processes.of_runs()
        assert processes.of_runs()[other] == [yours.pid]
        assert mine.wait() == -signal.SIGKILL
        assert yours.poll() is None
    finally:
        yours.kill()
        yours.wait()


def test_the_beginning_of_an_id_is_another_id() -> None:
    run = uuid.uuid4().hex
    process = subprocess.Popen(SLEEPER, env={**os.environ, processes.RUN: run}, stdout=subprocess.DEVNULL)
    try:
        while process.pid not in processes.of_runs().get(run, []):
            time.sleep(0.01)
        assert processes.sweep(run[:-1])
        assert processes.of_runs(own=[process.pid]).get(run) is None
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_namespace_of_its_own_is_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = processes.host()
    assert plain == processes.host()
    monkeypatch.setattr(os, "readlink", lambda path: "pid:[17]")
    assert processes.host().endswith("/17")
    assert processes.host() != plain


def test_without_pidfd_the_name_is_compared(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    name = processes.identity(sleeper.pid)
    assert not processes.send(f"{name}0", signal.SIGKILL)
    assert processes.send(name, signal.SIGKILL)
    assert sleeper.wait() == -signal.SIGKILL
