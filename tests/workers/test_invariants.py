# SPDX-License-Identifier: Apache-2.0
"""The ten invariants of a resume supervisor, with real git and real processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from shellguard.approval import checkpoint
from shellguard.approval.run import run_safely
from shellguard.approval.signals import FLUSHER
from shellguard.approval.store import Store
from shellguard.workers.foreman import Settings
from tests.approval.repos import Repo, everything_in_progress, files_below
from tests.workers.supervised import ABORT, run, writing

SUBJECT = "[foreman] resume commit for session S1 step 4 (worker aborted x2, exit 130)"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "home"))
    return Repo(tmp_path / "r")


def test_invariant_01_the_checkpoint_is_written_before_the_gate(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything_in_progress(repo)
    before = repo.files()

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shellguard.approval.run.check", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_safely("git push", cwd=str(repo.top), session="S1", quiet=True)
    FLUSHER.uninstall()
    marker = checkpoint.waiting(Store.of(str(repo.top)), "S1")
    assert marker is not None
    assert marker.tree is not None
    checkpoint.restore(marker, str(repo.top.parent / "into"))
    assert files_below(repo.top.parent / "into") == before


@pytest.mark.parametrize(
    "end",
    [[["exit", "130"]], [["signal", str(int(signal.SIGINT))]], [["signal-group", str(int(signal.SIGINT))]]],
    ids=["exit 130", "SIGINT", "SIGINT to the group"],
)
def test_invariant_02_interrupts_are_one_class(repo: Repo, end: list[list[str]]) -> None:
    attempts = [[["write", "x.txt", str(number)], ["checkpoint", "git push"], *end] for number in (1, 2)]
    report = run(repo, *attempts)
    assert (report.result, report.attempts, report.end) == ("committed", 2, "approval-abort")
    assert repo.subjects[0] == SUBJECT


@pytest.mark.parametrize("most", [1, 2, 3])
def test_invariant_03_it_is_resumed_at_most_so_often(repo: Repo, most: int) -> None:
    report = run(repo, *[writing(number) for number in range(1, 6)], max_aborts=most)
    assert (report.result, report.attempts) == ("committed", most)
    assert repo.subjects[0] == SUBJECT.replace("x2", f"x{most}")
    assert (repo.top / "work.txt").read_text() == f"attempt {most}\n"


@pytest.mark.parametrize(
    "end",
    [["exit", "1"], ["exit", "75"], ["exit", "137"], ["signal", "9"], ["signal", "15"], ["signal", "11"]],
    ids=" ".join,
)
@pytest.mark.parametrize("aborts", [0, 1])
def test_invariant_04_after_another_failure_nothing_is_committed(
    repo: Repo, end: list[str], aborts: int
) -> None:
    head = repo.head
    last = [["write", "work.txt", "last\n"], ["checkpoint", "git push"], end]
    report = run(repo, *[writing(number) for number in range(aborts)], last)
    assert (report.result, report.committed, report.attempts) == ("hard-failure", False, aborts + 1)
    assert repo.head == head
    assert report.checkpoint is not None
    saved = checkpoint.checkpoint_named(Store.of(str(repo.top)), report.checkpoint)
    assert saved.tree is not None
    assert repo.git("show", f"{saved.tree}:work.txt") == "last"


def test_invariant_05_nothing_changed_is_no_progress(repo: Repo) -> None:
    repo.write("a.txt", "work of somebody else\n")
    head = repo.head
    report = run(repo, ABORT)
    assert (report.result, report.attempts, report.committed) == ("no-progress", 1, False)
    assert repo.head == head


def test_invariant_05_an_identical_rewrite_is_no_progress(repo: Repo) -> None:
    report = run(repo, [["write", "a.txt", "one\n"], *ABORT])
    assert (report.result, report.attempts) == ("no-progress", 1)


def test_invariant_05_a_commit_of_the_worker_is_progress(repo: Repo) -> None:
    commit = ["git", "commit", "-q", "--allow-empty", "-m", "mine"]
    report = run(repo, [commit, *ABORT])
    assert (report.result, report.reason, report.attempts) == ("not-committed", "no-changes", 2)


BROKEN = [["write", "bad.py", "def f(:\n"], *ABORT]


def test_invariant_06_changes_then_drift_then_compile_then_commit(repo: Repo) -> None:
    """Of two reasons the one that comes first in this order is named."""
    undone = run(repo, [["write", "a.txt", "two\n"], *ABORT], [["write", "a.txt", "one\n"], *ABORT])
    assert (undone.result, undone.reason) == ("not-committed", "no-changes")
    broken = run(repo, writing(1), BROKEN)
    assert (broken.result, broken.reason) == ("not-committed", "compile-failed")
    assert "bad.py" in broken.detail
    repo.write("bad.py", "x = 1\n")
    good = run(repo, writing(3), writing(4))
    assert (good.result, good.checked) == ("committed", ("python",))
    assert repo.status == ""


def test_invariant_07_the_compile_check_touches_nothing(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    home = repo.top.parent / "caches"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    python = [["write", "pkg/m.py", "x = 1\n"], ["write", "pkg/__init__.py", ""]]
    dirty = "touch made && echo y=2 >> pkg/m.py && python3 -c 'import pkg.m' && rm a.txt"
    report = run(
        repo, [*python, *writing(1)], [*python, *writing(2)], settings=Settings(compile_command=dirty)
    )
    assert report.result == "committed"
    assert repo.status == ""
    assert not (repo.top / "made").exists()
    assert (repo.top / "pkg/m.py").read_text() == "x = 1\n"
    assert not list(repo.top.rglob("__pycache__"))
    assert list(home.rglob("*")) == []
    assert "made" not in repo.git("ls-tree", "-r", "--name-only", "HEAD")


def test_invariant_08_our_files_are_in_no_status_and_no_commit(repo: Repo) -> None:
    everything_in_progress(repo)
    report = run(repo, writing(1), writing(2))
    assert report.result == "committed"
    names = set(repo.git("ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0"))
    assert not any("shellguard" in name or "patch" in name or "resume" in name for name in names)
    assert repo.status == ""
    assert repo.git("status", "--porcelain", "--ignored") == ""
    repo.git("add", "-A", "--force")
    assert repo.status == ""
    assert not (repo.top / ".gitignore").exists()


def external(repo: Repo, name: str, content: str) -> Settings:
    """A check during which somebody edits the real work tree."""
    return Settings(compile_command=f"printf '{content}' > '{repo.top / name}'")


def test_invariant_09_an_external_edit_during_the_check_blocks(repo: Repo) -> None:
    head = repo.head
    report = run(repo, writing(1), writing(2), settings=external(repo, "a.txt", "mine\\n"))
    assert (report.result, report.reason) == ("not-committed", "tree-drifted")
    assert "a.txt" in report.detail
    assert repo.head == head
    assert (repo.top / "a.txt").read_text() == "mine\n"
    assert (repo.top / "work.txt").read_text() == "attempt 2\n"


def test_invariant_09_an_identical_rewrite_passes(repo: Repo) -> None:
    report = run(repo, writing(1), writing(2), settings=external(repo, "work.txt", "attempt 2\\n"))
    assert report.result == "committed"


def test_invariant_09_work_that_was_there_before_is_no_drift(repo: Repo) -> None:
    everything_in_progress(repo)
    before = repo.files()
    assert run(repo, writing(1), writing(2)).result == "committed"
    assert {**before, b"work.txt": ("file", b"attempt 2\n")} == repo.files()


@pytest.mark.parametrize("command", ["git push", "rm -rf a.txt", "curl https://localhost/x | sh", "sudo ls"])
def test_invariant_10_quiet_defers_and_runs_nothing(repo: Repo, command: str) -> None:
    before = repo.files()
    report = run(repo, [["run", command]])
    assert (report.result, report.attempts, report.exit_status) == ("deferred", 1, 93)
    assert len(report.requests) == 1
    assert repo.files() == before
    assert os.path.exists(repo.top / f".git/shellguard/requests/{report.requests[0]}.json")
