# SPDX-License-Identifier: Apache-2.0
"""`approve run` where a person is there: a real terminal, with what is typed at it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from select import select

import pytest

from shellguard.approval import checkpoint
from shellguard.approval.store import Store
from tests.approval.repos import Repo

pty = pytest.importorskip("pty")


def at_a_terminal(repo: Repo, typed: bytes, *options: str) -> tuple[int, bytes]:
    """The exit status and what the terminal shows, when `typed` follows the question."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _LEADER, *options],
        cwd=repo.top,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    asked = False
    limit = time.monotonic() + 60
    while select([ours], [], [], max(0.0, limit - time.monotonic()))[0]:
        try:
            data = os.read(ours, 1000)
        except OSError:
            break
        if not data:
            break
        shown += data
        if b"[y/N]" in shown and not asked:
            asked = True
            os.write(ours, typed)
    os.close(ours)
    return process.wait(timeout=60), shown


_LEADER = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from shellguard.cli.main import main
main(["approve", "run", "--session", "s", *sys.argv[1:], "--", "rm -f target"])
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "r")
    made.write("target", "x")
    return made


@pytest.mark.parametrize(
    "typed, status, state, there",
    [
        (b"y\n", 0, "granted", False),
        (b"n\n", 1, "denied", True),
        (b"\n", 1, "denied", True),
        (b"\x04", 1, "denied", True),
        (b"\x03", 130, "waiting", True),
    ],
    ids=["yes", "no", "nothing", "end of input", "the interrupt key"],
)
def test_what_is_answered(repo: Repo, typed: bytes, status: int, state: str, there: bool) -> None:
    done, shown = at_a_terminal(repo, typed)
    assert b"removal" in shown
    assert done == status
    assert (repo.top / "target").exists() == there
    manifest = checkpoint.checkpoint_named(Store.of(str(repo.top)), None, "s")
    assert manifest.pending is not None
    assert manifest.pending.state == state


def test_quiet_asks_nobody(repo: Repo) -> None:
    done, shown = at_a_terminal(repo, b"y\n", "--quiet")
    assert (done, b"[y/N]" in shown) == (93, False)
    assert (repo.top / "target").exists()
