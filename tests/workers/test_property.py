# SPDX-License-Identifier: Apache-2.0
"""Random workers, killed at random times, with somebody else at work: the history holds the last tree or says why not.

Whatever happens, external edits are neither overwritten nor committed, no commit is lost, and the checkpoint that is
named gives back what the worker left.
"""

from __future__ import annotations

import os
import shlex
import signal
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shellguard.approval import checkpoint
from shellguard.approval.store import Store
from shellguard.workers.foreman import Settings
from shellguard.workers.supervisor import Order, supervise
from tests.approval.repos import Repo, files_below
from tests.workers.supervised import argv, processes_with

NAMES = st.sampled_from(["a.txt", "b.txt", "deep/c.py", "old.txt"])
CONTENTS = st.sampled_from(["", "x = 1\n", "x = 2\n", "x = (\n", "\r\nmixed\n"])

EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, CONTENTS),
        st.tuples(st.just("delete"), NAMES),
        st.tuples(st.just("append"), NAMES.filter(lambda name: "/" not in name), CONTENTS),
    ).map(list),
    max_size=3,
)
ENDS = st.sampled_from(
    [
        [["checkpoint", "git push"], ["exit", "130"]],
        [["checkpoint", "git push"], ["signal", "2"]],
        [["checkpoint", "git push"], ["exit", "130"]],
        [["hook", "git push"], ["exit", "130"]],
        [["exit", "130"]],
        [["exit", "0"]],
        [["exit", "1"]],
        [["signal", "9"]],
        [["checkpoint", "git push"], ["sleep", "30"]],
    ]
)
ATTEMPTS = st.lists(st.tuples(EDITS, ENDS).map(lambda each: [*each[0], *each[1]]), min_size=1, max_size=3)
KILLS = st.lists(
    st.tuples(
        st.floats(0.05, 0.6),
        st.sampled_from([each for each in signal.Signals if each.name in ("SIGINT", "SIGKILL")]),
    ),
    max_size=2,
)
EXTERNAL = st.one_of(
    st.none(), st.tuples(st.sampled_from(["a.txt", "mine.txt"]), st.sampled_from(["mine\n", "x = 1\n"]))
)
COMMITS = st.booleans()


def check_one(
    top: Path,
    attempts: list[list[list[str]]],
    kills: list[tuple[float, signal.Signals]],
    external: tuple[str, str] | None,
    commits: bool,
) -> None:
    repo = Repo(top / "r")
    outside = "true"
    if external is not None:
        name, content = external
        outside = f"printf %s {shlex.quote(content)} > {shlex.quote(str(repo.top / name))}"
    if commits:
        outside += f"; git -C {shlex.quote(str(repo.top))} commit -q --allow-empty -m user"
    order = Order(
        argv(*attempts), str(repo.top), "S1", 4, timeout=1.5, settings=Settings(compile_command=outside)
    )
    stop = threading.Event()

    def kill() -> None:
        for seconds, number in kills:
            if stop.wait(seconds):
                return
            for pid in processes_with("plan.py"):
                if _is_in(pid, repo.top) and b"keeper" not in _line(pid):
                    with suppress(ProcessLookupError):
                        os.kill(pid, number)

    thread = threading.Thread(target=kill)
    thread.start()
    head = repo.head
    try:
        report = supervise(order)
    finally:
        stop.set()
        thread.join(timeout=30)
    now = repo.files()

    history = repo.git("log", "--format=%H %s").split("\n")
    foremen = [line.partition(" ")[0] for line in history if "[foreman]" in line]
    assert any(line.startswith(head) for line in history), "a commit was lost"
    assert foremen == ([report.commit] if report.committed else [])
    assert report.committed == (report.result == "committed")
    saved = checkpoint.checkpoint_named(Store.of(str(repo.top)), report.checkpoint)
    assert saved.tree is not None
    checkpoint.restore(saved, str(top / "into"))
    left = files_below(top / "into")
    if report.committed:
        assert report.end == "approval-abort"
        assert repo.git("rev-parse", f"{report.commit}^{{tree}}") == saved.tree
    else:
        assert report.reason is not None or report.result == "worker-success"
    reached_foreman = report.result in ("committed", "not-committed")
    ran_check = reached_foreman and report.reason not in ("no-changes", "merge-in-progress", "not-saved")
    if ran_check and external is not None:
        entry = ("file", external[1].encode())
        assert now[external[0].encode()] == entry, "an external edit was overwritten"
        if left.get(external[0].encode()) != entry:
            assert not report.committed, "an external edit was committed over"
    else:
        assert now == left
    if ran_check and commits:
        assert any(line.endswith(" user") for line in history)
        assert not report.committed
    assert not (repo.top / ".git/index.lock").exists()
    assert repo.git("fsck", "--no-dangling", "--no-progress") == ""


def _is_in(pid: int, folder: Path) -> bool:
    return os.path.realpath(f"/proc/{pid}/cwd") == os.path.realpath(folder)


def _line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0", 1)[-1][:200]
    except OSError:
        return b"keeper"


def tried(examples: int) -> settings:
    return settings(max_examples=examples, suppress_health_check=list(HealthCheck), deadline=None)


@tried(8)
@given(attempts=ATTEMPTS, kills=KILLS, external=EXTERNAL, commits=COMMITS)
def test_the_last_tree_is_in_the_history_or_it_is_said_why_not(
    attempts: list[list[list[str]]],
    kills: list[tuple[float, signal.Signals]],
    external: tuple[str, str] | None,
    commits: bool,
) -> None:
    with tempfile.TemporaryDirectory() as top:
        check_one(Path(top), attempts, kills, external, commits)


@pytest.mark.slow
@tried(150)
@given(attempts=ATTEMPTS, kills=KILLS, external=EXTERNAL, commits=COMMITS)
def test_the_same_more_often(
    attempts: list[list[list[str]]],
    kills: list[tuple[float, signal.Signals]],
    external: tuple[str, str] | None,
    commits: bool,
) -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as top:
        check_one(Path(top), attempts, kills, external, commits)
    assert time.monotonic() - began < 120


ABORTING = st.lists(
    EDITS.map(
        lambda edits: [*edits, ["append", "progress", "."], ["checkpoint", "git push"], ["exit", "130"]]
    ),
    min_size=2,
    max_size=2,
)


@tried(6)
@given(attempts=ABORTING, external=EXTERNAL, commits=COMMITS)
def test_work_that_reaches_the_foreman(
    attempts: list[list[list[str]]], external: tuple[str, str] | None, commits: bool
) -> None:
    with tempfile.TemporaryDirectory() as top:
        check_one(Path(top), attempts, [], external, commits)
