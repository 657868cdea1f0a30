# SPDX-License-Identifier: Apache-2.0
"""Signals while work is saved and while somebody is asked: real processes, real signals, nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shellguard.approval import checkpoint
from shellguard.approval.store import Store
from tests.approval.repos import Repo, everything_in_progress, files_below

HELD = """
import os, sys, threading, time
from shellguard.approval import checkpoint, snapshot
real = snapshot.take
def slow(git, name=None, **more):
    print("begun", flush=True)
    time.sleep(0.4)
    found = real(git, name, **more)
    print("taken", flush=True)
    return found
snapshot.take = slow
"""

PROGRAMS = {
    "while the snapshot is taken": HELD
    + """
checkpoint.pre_approval_checkpoint(os.getcwd(), session="s", command="git push")
print("not reached", flush=True)
time.sleep(20)
""",
    "while somebody is asked": """
import os, time
from shellguard.approval import checkpoint
checkpoint.pre_approval_checkpoint(os.getcwd(), session="s", command="git push")
print("begun", flush=True)
time.sleep(20)
""",
    "installed late and twice": """
import os, signal, time
from shellguard.approval import checkpoint
from shellguard.approval.signals import FLUSHER
def mine(number, frame):
    print("mine too", flush=True)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
signal.signal(signal.SIGINT, mine)
signal.signal(signal.SIGTERM, mine)
FLUSHER.install()
FLUSHER.install()
checkpoint.pre_approval_checkpoint(os.getcwd(), session="s", command="git push")
FLUSHER.install()
print("begun", flush=True)
time.sleep(20)
""",
    "in a thread": """
import os, threading, time
from shellguard.approval import checkpoint
def work():
    checkpoint.pre_approval_checkpoint(os.getcwd(), session="s", command="git push")
    print("begun", flush=True)
thread = threading.Thread(target=work)
thread.start()
thread.join()
time.sleep(20)
""",
}


def started(program: str, repo: Repo) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=repo.top,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def nothing_is_lost(
    repo: Repo, tmp_path: Path, before: dict[bytes, tuple[str, bytes]]
) -> checkpoint.Manifest:
    found = checkpoint.checkpoint_named(Store.of(str(repo.top)), None, "s")
    assert found.pending is not None
    assert found.pending.state == "waiting"
    checkpoint.restore(found, str(tmp_path / "into"))
    assert files_below(tmp_path / "into") == before
    assert repo.git("fsck", "--no-dangling", "--no-progress") == ""
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_signal_to_the_group(program: str, number: signal.Signals, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    everything_in_progress(repo)
    before = repo.files()
    process = started(program, repo)
    os.killpg(process.pid, number)
    output, _ = process.communicate(timeout=20)
    assert process.returncode in (-number, 130 if number == signal.SIGINT else -number, 1)
    assert "not reached" not in output
    found = nothing_is_lost(repo, tmp_path, before)
    if program != PROGRAMS["in a thread"]:
        assert (found.state, found.signal) == ("interrupted", number)
    if program == PROGRAMS["installed late and twice"]:
        assert output.count("mine too") == 1


def test_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    process = started(PROGRAMS["while the snapshot is taken"].replace("0.4", "15"), repo)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert time.monotonic() - began < 12
    assert process.returncode != 0
    [value] = Store.of(str(repo.top)).all("checkpoints")
    assert value["state"] == "begun"


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.15])
def test_killed_at_any_moment_a_manifest_can_be_read(delay: float, tmp_path: Path) -> None:
    """SIGKILL: what is on disk is a whole manifest, older or newer, or none."""
    repo = Repo(tmp_path / "r")
    everything_in_progress(repo)
    before = repo.files()
    program = """
import os
from shellguard.approval import checkpoint
print("begun", flush=True)
while True:
    checkpoint.pre_approval_checkpoint(os.getcwd(), session="s", command="git push")
"""
    process = started(program, repo)
    time.sleep(delay)
    process.kill()
    process.communicate(timeout=20)
    store = Store.of(str(repo.top))
    for name in store.names("checkpoints"):
        manifest = checkpoint.manifest_from(store.read("checkpoints", name))
        if manifest.tree is not None:
            checkpoint.restore(manifest, str(tmp_path / name))
            assert files_below(tmp_path / name) == before
    assert repo.status == repo.git("status", "--porcelain")
    assert checkpoint.pre_approval_checkpoint(str(repo.top), signals=False).state == "saved"


def test_what_ignores_a_signal_goes_on_ignoring_it(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    program = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
from shellguard.approval import checkpoint
checkpoint.pre_approval_checkpoint(os.getcwd())
print("begun", flush=True)
os.kill(os.getpid(), signal.SIGINT)
print("still here", file=sys.stderr, flush=True)
"""
    process = started(program, repo)
    _, messages = process.communicate(timeout=20)
    assert (messages, process.returncode) == ("still here\n", 0)
