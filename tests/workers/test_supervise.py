# SPDX-License-Identifier: Apache-2.0
"""The supervisor and the foreman under hostile conditions: real processes, real git, nothing lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shellguard.approval import checkpoint, requests
from shellguard.approval.store import Store
from shellguard.workers import foreman, keeper
from shellguard.workers.foreman import Settings
from shellguard.workers.supervisor import Order, Report, supervise
from tests.approval.repos import Repo, everything_in_progress, files_below
from tests.workers.supervised import ABORT, ROOT, argv, processes_with, run, writing

SHELLGUARD = [sys.executable, "-m", "shellguard"]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "home"))
    return Repo(tmp_path / "r")


def restored(repo: Repo, report: Report) -> dict[bytes, tuple[str, bytes]]:
    """What the checkpoint of a report gives back."""
    assert report.checkpoint is not None
    manifest = checkpoint.checkpoint_named(Store.of(str(repo.top)), report.checkpoint)
    into = repo.top.parent / f"into-{report.checkpoint}"
    checkpoint.restore(manifest, str(into))
    return files_below(into)


# --- how workers end --------------------------------------------------------------------------------------------------


def test_success_commits_nothing(repo: Repo) -> None:
    head = repo.head
    report = run(repo, [["write", "x", "x"]])
    assert (report.result, report.exit_status, report.committed) == ("worker-success", 0, False)
    assert repo.head == head


def test_the_worker_is_told_where_it_is(repo: Repo) -> None:
    ours = "env | grep -vE '^SHELLGUARD_(HOME|CORPORA)=' | grep ^SHELLGUARD_"
    program = f"{ours} >> env.txt; echo $@ >> env.txt; exit 130"
    order = Order(
        ("sh", "-c", program, "sh", "x"), str(repo.top), "S 1", 7, resume_args=("--resume", "{session}")
    )
    report = supervise(Order(**{**_fields(order), "bare_interrupt": True}))
    assert (report.result, report.attempts) == ("committed", 2)
    first, second = (repo.top / "env.txt").read_text().split("x\n", 1)
    assert set(first.split("\n")) == {
        "SHELLGUARD_SESSION=S 1",
        "SHELLGUARD_STEP=7",
        "SHELLGUARD_ATTEMPT=1",
        "",
    }
    assert "SHELLGUARD_ATTEMPT=2\n" in second
    assert "SHELLGUARD_RESUME=1\n" in second
    assert second.endswith("x --resume S 1\n")


def _fields(order: Order) -> dict[str, Any]:
    return {name: getattr(order, name) for name in Order.__dataclass_fields__}


def test_an_interrupt_without_a_marker_is_neither_resumed_nor_committed(repo: Repo) -> None:
    for end in (["exit", "130"], ["signal", "2"]):
        report = run(repo, [["write", "x", end[1]], end])
        assert (report.result, report.attempts, report.exit_status) == ("interrupted", 1, 130)
        assert report.reason == "interrupted-without-marker"


def test_the_marker_of_an_earlier_attempt_or_session_does_not_count(repo: Repo) -> None:
    checkpoint.pre_approval_checkpoint(str(repo.top), session="S1", command="git push", signals=False)
    assert run(repo, [["write", "x", "1"], ["exit", "130"]]).result == "interrupted"
    report = run(repo, writing(1), [["write", "x", "2"], ["exit", "130"]])
    assert (report.result, report.attempts) == ("interrupted", 2)


def test_a_worker_that_ignores_signals_is_ended(repo: Repo) -> None:
    began = time.monotonic()
    report = run(repo, [["ignore", "2", "15", "1"], ["write", "x", "x"], ["sleep", "60"]], timeout=0.7)
    assert (report.result, report.exit_status, report.status) == ("timed-out", 124, -9)
    assert time.monotonic() - began < 30
    assert restored(repo, report)[b"x"] == ("file", b"x")


def test_one_that_dies_between_snapshot_and_gate_is_resumed(repo: Repo) -> None:
    """Its marker is on disk, and nobody has answered."""
    attempts = [
        [["write", "x", str(number)], ["checkpoint", "git push"], ["signal-group", "2"]] for number in (1, 2)
    ]
    assert run(repo, *attempts).result == "committed"


def test_what_forked_away_is_dead_before_the_next_attempt(repo: Repo) -> None:
    report = run(repo, writing(1, ["fork-away", "ticks"]), writing(2, ["sleep", "0.2"]))
    assert report.result == "committed"
    left = (repo.top / "ticks").read_text()
    assert left
    time.sleep(0.15)
    assert (repo.top / "ticks").read_text() == left
    assert processes_with("echo x >> ticks") == []
    assert repo.status == ""


def test_what_is_left_after_a_success_is_ended_too(repo: Repo) -> None:
    assert run(repo, [["fork-away", "later"]]).result == "worker-success"
    assert processes_with("echo x >> later") == []


def test_a_worker_that_cannot_be_started(repo: Repo) -> None:
    report = supervise(Order(("./nothing-here",), str(repo.top)))
    assert (report.result, report.reason, report.exit_status) == ("hard-failure", "spawn-failed", 1)


# --- deferred, granted, resumed ---------------------------------------------------------------------------------------


def test_a_grant_goes_on_with_the_worker(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    report = run(repo, [["write", "x", "1"], ["run", "rm -f old.txt"]], [["append", "x", "2"]])
    assert (report.result, report.attempts) == ("deferred", 1)
    assert (repo.top / "old.txt").exists()
    grant = [*SHELLGUARD, "approve", "grant", report.requests[0]]
    done = subprocess.run(
        grant,
        cwd=repo.top,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not (repo.top / "old.txt").exists()
    assert (repo.top / "x").read_text() == "12"
    last = json.loads(done.stdout.splitlines()[-1])
    assert (last["result"], last["attempts"]) == ("worker-success", 2)


def test_the_hook_the_signal_the_supervisor_and_the_next_attempt(repo: Repo) -> None:
    """What `shellguard hook` will do, end to end: checkpoint and marker, then SIGINT, then a resumed worker."""
    report = run(
        repo,
        [["write", "x", "1"], ["hook", "git push"], ["signal", "2"]],
        [["append", "x", "2"]],
    )
    assert (report.result, report.attempts) == ("worker-success", 2)
    assert (repo.top / "x").read_text() == "12"
    store = Store.of(str(repo.top))
    [request] = requests.requests(store)
    assert (request.state, request.command, request.session) == ("pending", "git push", "S1")
    assert checkpoint.waiting(store, "S1") is None
    stays = run(repo, [["write", "y", "1"], ["hook", "git push"]])
    assert (stays.result, len(stays.requests)) == ("deferred", 1)


# --- the contract of the command line ---------------------------------------------------------------------------------


def test_the_last_line_is_the_object(repo: Repo) -> None:
    words = [
        "supervise",
        "--session",
        "S1",
        "--step",
        "4",
        "--compile",
        "true",
        "--",
        *argv(writing(1), writing(2)),
    ]
    done = subprocess.run([*SHELLGUARD, *words], cwd=repo.top, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["result"] == "committed"
    assert answer["attempts"] == 2
    assert answer["committed"] is True
    assert answer["commit"] == repo.head
    assert answer["reason"] is None
    assert done.stderr.decode().splitlines()[-1].startswith("shellguard: committed, attempt 2, commit ")
    only = subprocess.run(
        [*SHELLGUARD, "supervise", "--json", "--", "sh", "-c", "exit 7"],
        cwd=repo.top,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (only.returncode, only.stderr) == (1, b"")
    assert json.loads(only.stdout)["reason"] == "exit-7"


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 130)])
def test_a_supervisor_that_is_told_to_stop_stops(repo: Repo, number: signal.Signals, status: int) -> None:
    plan = [["write", "x", "begun"], ["checkpoint", "git push"], ["sleep", "60"]]
    process = subprocess.Popen(
        [*SHELLGUARD, "supervise", "--", *argv(plan)],
        cwd=repo.top,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    limit = time.monotonic() + 30
    store = Store.of(str(repo.top))
    while checkpoint.waiting(store, "default") is None and time.monotonic() < limit:
        time.sleep(0.02)
    process.send_signal(number)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == status
    answer = json.loads(output.splitlines()[-1])
    assert (answer["result"], answer["reason"]) == ("interrupted", "interrupted-supervisor")
    assert answer["checkpoint"] is not None
    assert repo.subjects == ["x"]
    assert store.read("supervised", store.names("supervised")[-1])["state"] == "interrupted"


def test_the_worker_does_not_survive_its_timeout_nor_does_its_tree(repo: Repo) -> None:
    report = run(repo, [["fork-away", "ticks"], ["sleep", "60"]], timeout=0.8)
    assert report.result == "timed-out"
    assert processes_with("echo x >> ticks") == []


# --- two at once ------------------------------------------------------------------------------------------------------


def test_of_two_supervisors_one_works(repo: Repo) -> None:
    results: list[Report] = []
    order = Order(argv([["sleep", "0.8"]]), str(repo.top))
    threads = [threading.Thread(target=lambda: results.append(supervise(order))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert sorted((each.result, each.reason) for each in results) == [
        ("hard-failure", "locked"),
        ("worker-success", None),
    ]


def test_two_work_trees_of_one_repository_do_not_meet(repo: Repo) -> None:
    repo.git("worktree", "add", "-q", "../w", "-b", "other")
    linked = Repo.__new__(Repo)
    linked.top = repo.top.parent / "w"
    with Store.of(str(repo.top)).lock("supervisor") as mine:
        assert mine
        assert run(repo, [["exit", "0"]]).reason == "locked"
        report = run(linked, writing(1), writing(2))
    assert report.result == "committed"
    assert linked.subjects[0].startswith("[foreman]")
    assert repo.subjects == ["x"]


def test_a_user_who_commits_meanwhile_loses_nothing(repo: Repo) -> None:
    """Somebody commits as fast as he can while the foreman works; every commit is in the history, each work once."""
    stop = threading.Event()
    made: list[str] = []

    def commit() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            who = ["-c", "user.name=B", "-c", "user.email=b@x"]
            done = subprocess.run(
                ["git", *who, "commit", "-q", "--allow-empty", "-m", f"user {number}"],
                cwd=repo.top,
                capture_output=True,
                check=False,
            )
            if done.returncode == 0:
                made.append(f"user {number}")

    thread = threading.Thread(target=commit)
    thread.start()
    try:
        reports = [run(repo, writing(number), writing(number + 1)) for number in (1, 3)]
    finally:
        stop.set()
        thread.join(timeout=30)
    history = repo.subjects
    assert set(made) <= set(history)
    for report in reports:
        assert report.committed or report.reason in ("head-moved", "index-locked", "tree-drifted")
        assert report.committed == (report.commit in repo.git("log", "--format=%H").split("\n"))
    assert not (repo.top / ".git/index.lock").exists()


def test_a_clock_that_jumps(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(range(10**9, 0, -(10**7)))
    monkeypatch.setattr("shellguard.approval.checkpoint.time.time", lambda: float(next(moments)))
    report = run(repo, writing(1), writing(2), timeout=30)
    assert report.result == "committed"


# --- the foreman and the repository -----------------------------------------------------------------------------------


def merge_in_progress(repo: Repo) -> None:
    repo.write(".git/MERGE_HEAD", repo.head)


def rebase_in_progress(repo: Repo) -> None:
    (repo.top / ".git/rebase-merge").mkdir()


def cherry_pick_in_progress(repo: Repo) -> None:
    repo.write(".git/CHERRY_PICK_HEAD", repo.head)


@pytest.mark.parametrize("begin", [merge_in_progress, rebase_in_progress, cherry_pick_in_progress])
def test_nothing_is_committed_in_the_middle_of_something(repo: Repo, begin: Callable[[Repo], None]) -> None:
    begin(repo)
    head = repo.head
    report = run(repo, writing(1), writing(2))
    assert (report.result, report.reason, report.exit_status) == ("not-committed", "merge-in-progress", 4)
    assert repo.head == head


def test_a_conflict_is_not_committed(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "other")
    repo.write("a.txt", "other\n")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.write("a.txt", "main\n")
    repo.commit()
    repo.git("merge", "other", check=False)
    report = run(repo, writing(1), writing(2))
    assert report.reason == "merge-in-progress"
    assert restored(repo, report)[b"work.txt"] == ("file", b"attempt 2\n")


def test_head_that_moved_is_left_alone(repo: Repo) -> None:
    move = f"git -C '{repo.top}' -c user.name=B -c user.email=b@x commit -q --allow-empty -m user"
    report = run(repo, writing(1), writing(2), settings=Settings(compile_command=move))
    assert (report.result, report.reason) == ("not-committed", "head-moved")
    assert repo.subjects == ["user", "x"]
    assert (repo.top / "work.txt").read_text() == "attempt 2\n"


def test_what_somebody_stages_meanwhile_is_kept(repo: Repo) -> None:
    stage = f"cd '{repo.top}' && git add work.txt"
    report = run(repo, writing(1), writing(2), settings=Settings(compile_command=stage))
    assert (report.result, report.reason) == ("not-committed", "tree-drifted")
    assert repo.status == "A  work.txt"


def test_an_index_that_is_locked(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreman, "LOCK_SECONDS", 0.2)
    repo.write(".git/index.lock")
    report = run(repo, writing(1), writing(2))
    assert (report.result, report.reason) == ("not-committed", "index-locked")
    assert (repo.top / ".git/index.lock").exists()
    assert restored(repo, report) == repo.files()


def hook(repo: Repo, name: str, program: str) -> None:
    repo.write(f".git/hooks/{name}", f"#!/bin/sh\n{program}\n", mode=0o755)


def test_hooks_are_skipped_and_named(repo: Repo) -> None:
    hook(repo, "pre-commit", "exit 1")
    hook(repo, "commit-msg", "exit 1")
    repo.git("config", "commit.gpgSign", "true")
    report = run(repo, writing(1), writing(2))
    assert report.result == "committed"
    assert report.skipped == ("pre-commit", "commit-msg", "signing")


@pytest.mark.parametrize("name", ["pre-commit", "commit-msg"])
def test_hooks_may_refuse_when_they_are_asked(repo: Repo, name: str) -> None:
    hook(repo, name, "echo not on a Friday >&2; exit 1")
    head, index = repo.head, (repo.top / ".git/index").read_bytes()
    report = run(repo, writing(1), writing(2), settings=Settings(hooks=True))
    assert (report.result, report.reason) == ("not-committed", "hook-failed")
    assert "Friday" in report.detail
    assert repo.head == head
    assert (repo.top / ".git/index").read_bytes() == index
    hook(repo, name, "exit 0")
    again = run(repo, writing(3), writing(4), settings=Settings(hooks=True))
    assert (again.result, again.skipped) == ("committed", ())


def test_a_hook_that_guards_references_refuses(repo: Repo) -> None:
    head = repo.head
    hook(repo, "reference-transaction", "exit 1")
    report = run(repo, writing(1), writing(2))
    assert (report.result, report.reason) == ("not-committed", "hook-failed")
    assert repo.head == head
    assert restored(repo, report) == repo.files()


def test_signing_that_fails_is_no_commit(repo: Repo) -> None:
    repo.git("config", "gpg.program", "false")
    report = run(repo, writing(1), writing(2), settings=Settings(sign=True))
    assert (report.result, report.reason) == ("not-committed", "commit-failed")


def test_who_commits(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(repo, writing(1), writing(2)).committed
    assert repo.git("log", "-1", "--format=%an <%ae> %cn") == "Ann <ann@example.org> Ann"
    assert run(repo, writing(3), writing(4), settings=Settings(author="Bo <bo@x>")).committed
    assert repo.git("log", "-1", "--format=%an <%ae>") == "Bo <bo@x>"
    repo.git("config", "--unset", "user.name")
    repo.git("config", "--unset", "user.email")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    assert run(repo, writing(5), writing(6)).committed
    assert repo.git("log", "-1", "--format=%an") == "shellguard foreman"


def empty(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "other", empty=True)


def detached(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "other")
    repo.git("checkout", "-q", "--detach")
    return repo


def everything(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "other")
    everything_in_progress(repo)
    return repo


def with_submodule(tmp_path: Path) -> Repo:
    Repo(tmp_path / "library")
    repo = Repo(tmp_path / "other")
    repo.git("submodule", "--quiet", "add", str(tmp_path / "library"), "sub")
    repo.commit()
    return repo


@pytest.mark.parametrize(
    "make", [empty, detached, everything, with_submodule], ids=lambda each: each.__name__
)
def test_the_last_tree_is_committed(make: Callable[[Path], Repo], tmp_path: Path) -> None:
    repo = make(tmp_path)
    report = run(repo, writing(1), writing(2))
    assert report.result == "committed"
    assert repo.status == ""
    assert repo.subjects[0].startswith("[foreman]")
    repo.git("fsck", "--no-dangling")
    clone = tmp_path / "clone"
    repo.git("clone", "-q", str(repo.top), str(clone))
    there = files_below(clone)
    assert there == {name: each for name, each in repo.files().items() if not name.startswith(b"sub/")}


def test_a_dirty_submodule_stays_dirty(tmp_path: Path) -> None:
    repo = with_submodule(tmp_path)
    report = run(
        repo, writing(1, ["write", "sub/a.txt", "dirty"]), writing(2, ["write", "sub/a.txt", "dirtier"])
    )
    assert report.result == "committed"
    assert (repo.top / "sub/a.txt").read_text() == "dirtier"
    assert repo.status == " M sub"
    (repo.top / "sub/a.txt").write_text("lost")
    assert restored(repo, report)[b"sub/a.txt"] == ("file", b"dirtier")


def test_a_repository_inside_is_saved_and_not_committed(repo: Repo) -> None:
    Repo(repo.top / "inner").write("x", "x")
    report = run(repo, writing(1), writing(2))
    assert report.result == "committed"
    assert "inner" not in repo.git("ls-tree", "--name-only", "HEAD").split("\n")
    assert restored(repo, report)[b"inner/x"] == ("file", b"x")


def test_outside_of_git_nothing_is_committed_and_nothing_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "home"))
    plain = Repo.__new__(Repo)
    plain.top = tmp_path / "plain"
    plain.top.mkdir()
    report = run(plain, writing(1), writing(2))
    assert (report.result, report.reason) == ("not-committed", "no-repository")
    assert restored(plain, report) == {b"work.txt": ("file", b"attempt 2\n")}


# --- the check --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "files, language, checked, reason",
    [
        ({"a.py": "x = 1\n"}, "auto", ("python",), None),
        ({"a.py": "x = (\n"}, "auto", ("python",), "compile-failed"),
        ({"a.py": "x = (\n"}, "none", ("unchecked",), None),
        ({"a.md": "x"}, "auto", ("unchecked",), None),
        ({"a.py": "x = 1\n", "b.zig": ""}, "auto", ("python",), None),
        ({"a.py": b"\xff\xfe\x00".decode("latin1")}, "python", ("python",), "compile-failed"),
    ],
)
def test_languages(
    repo: Repo, files: dict[str, str], language: str, checked: tuple[str, ...], reason: str | None
) -> None:
    writes = [["write", name, content] for name, content in files.items()]
    report = run(repo, [*writes, *ABORT], writing(2, *writes), settings=Settings(language=language))
    assert report.reason == reason
    assert report.checked == checked


def test_every_language_is_run(repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("go", "cargo", "tsc"):
        (tools / name).write_text(f"#!/bin/sh\necho {name} $PWD $@ >> {tmp_path}/calls\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    for name in ("svc/go.mod", "svc/x.go", "lib/Cargo.toml", "lib/src/x.rs", "web/tsconfig.json", "web/x.ts"):
        repo.write(name, "x")
    report = run(repo, writing(1), writing(2))
    assert (report.result, report.checked) == ("committed", ("go", "rust", "ts"))
    lines = (tmp_path / "calls").read_text().splitlines()
    assert [line.split(" ")[0] for line in lines] == ["go", "cargo", "tsc"]
    assert [line.split(" ")[1].rpartition("/")[2] for line in lines] == ["svc", "lib", "web"]
    assert not any(str(repo.top) in line for line in lines)


def test_a_compiler_that_is_missing_is_said(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellguard.workers.compiles.shutil.which", lambda name: None)
    repo.write("x.go", "package x")
    report = run(repo, writing(1), writing(2))
    assert (report.result, report.reason) == ("not-committed", "compiler-missing")


# --- full disks -------------------------------------------------------------------------------------------------------


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES, BYTES))
from shellguard.cli.main import main
main(sys.argv[1:])
"""
"""shellguard on a disk on which no file can grow beyond a limit; what it starts has the same disk."""


@pytest.mark.parametrize("limit", [0, 100, 600])
def test_on_a_full_disk_nothing_runs_and_nothing_is_lost(repo: Repo, limit: int) -> None:
    everything_in_progress(repo)
    before, status = repo.files(), repo.status
    program = FULL.replace("BYTES", str(limit))

    def full(*words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-c", program, *words],
            cwd=repo.top,
            capture_output=True,
            timeout=60,
            check=False,
        )

    assert full("approve", "checkpoint").returncode == 1
    run_ = full("approve", "run", "--quiet", "--", "rm -f a.txt")
    assert run_.returncode == 1
    assert b"not run" in run_.stderr
    assert full("approve", "run", "--quiet", "--", "touch made").returncode == 1
    assert full("approve", "run", "--", "cat staged.txt").stdout == b"staged\n"
    supervised = full("supervise", "--", "sh", "-c", "echo x > made; exit 130")
    assert supervised.returncode == 1
    assert repo.files() == before
    assert repo.status == status
    assert not (repo.top / ".git/index.lock").exists()
    checkpoint.pre_approval_checkpoint(str(repo.top), signals=False)


def test_a_state_folder_that_cannot_be_written(repo: Repo) -> None:
    """Everything goes to the state folder of the user, and comes back from there."""
    everything_in_progress(repo)
    repo.write(".git/shellguard", "a file where the folder should be")
    before = repo.files()
    report = run(repo, [["write", "x", "1"], ["exit", "7"]])
    assert report.result == "hard-failure"
    assert restored(repo, report) == {**before, b"x": ("file", b"1")}
    assert (repo.top.parent / "home/state/checkpoints").is_dir()


def test_when_the_supervisor_is_killed_nothing_of_the_worker_is_left(repo: Repo) -> None:
    plan = [["fork-away", "ticks"], ["write", "begun", "x"], ["sleep", "60"]]
    process = subprocess.Popen(
        [*SHELLGUARD, "supervise", "--", *argv(plan)], cwd=repo.top, stdout=subprocess.DEVNULL
    )
    limit = time.monotonic() + 30
    while not (repo.top / "begun").exists() and time.monotonic() < limit:
        time.sleep(0.02)
    process.kill()
    process.wait(timeout=30)
    while processes_with("fork-away") + processes_with("echo x >> ticks") and time.monotonic() < limit:
        time.sleep(0.02)
    assert processes_with("fork-away") + processes_with("echo x >> ticks") == []
    assert run(repo, [["exit", "0"]]).result == "worker-success"


def test_what_is_not_the_workers_is_left_alone(repo: Repo) -> None:
    """A process that was started elsewhere in this one, while the worker runs."""
    other: list[subprocess.Popen[bytes]] = []
    timer = threading.Timer(0.2, lambda: other.append(subprocess.Popen(["sleep", "60"])))
    timer.start()
    assert run(repo, [["sleep", "0.6"]]).result == "worker-success"
    timer.join()
    assert other[0].poll() is None
    other[0].kill()
    other[0].wait()


def test_when_the_keeper_is_killed_so_is_the_worker(repo: Repo) -> None:
    def kill() -> None:
        limit = time.monotonic() + 30
        while not (repo.top / "begun").exists() and time.monotonic() < limit:
            time.sleep(0.02)
        for pid in set(processes_with("keeper.py")) & set(keeper.below(os.getpid(), None)):
            os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    report = run(repo, [["write", "begun", "x"], ["sleep", "60"]])
    thread.join(timeout=30)
    assert (report.result, report.reason) == ("hard-failure", "signal-9")
    time.sleep(0.1)
    assert [pid for pid in processes_with(str(ROOT)) if _in(repo, pid)] == []


def _in(repo: Repo, pid: int) -> bool:
    return os.path.realpath(f"/proc/{pid}/cwd") == os.path.realpath(repo.top)


def test_a_pipe_that_git_waits_at_ends_nothing(repo: Repo) -> None:
    """Where a worker leaves one, the rest is saved, and its name is said."""
    report = run(repo, writing(1), [["write", "work.txt", "2"], ["pipe", ".gitignore"], *ABORT])
    assert (report.result, report.reason) == ("not-committed", "not-saved")
    assert report.not_saved == (".gitignore",)
    assert restored(repo, report) == repo.files()
    os.unlink(repo.top / ".gitignore")
    assert run(repo, [["pipe", ".gitmodules"], *writing(3)], writing(4)).result == "committed"


@pytest.mark.parametrize("mark", ["--skip-worktree", "--assume-unchanged"])
def test_what_git_was_told_to_leave_alone_is_saved_and_not_committed(repo: Repo, mark: str) -> None:
    repo.git("update-index", mark, "a.txt")
    repo.write("a.txt", "a secret of this machine\n")
    flags = repo.git("ls-files", "-v", "a.txt")
    report = run(repo, writing(1), writing(2))
    assert report.committed
    assert repo.git("show", "--name-only", "--format=") == "work.txt"
    assert repo.git("ls-files", "-v", "a.txt") == flags
    assert restored(repo, report) == repo.files()


def stash_that_meets_a_conflict(repo: Repo) -> None:
    repo.write("a.txt", "stashed\n")
    repo.git("stash", "-q")
    repo.write("a.txt", "committed\n")
    repo.commit()
    repo.git("stash", "pop", check=False)


def bisection(repo: Repo) -> None:
    for number in range(3):
        repo.write("a.txt", f"{number}\n")
        repo.commit()
    for words in (("start",), ("bad",), ("good", "HEAD~3")):
        repo.git("bisect", *words)


@pytest.mark.parametrize(
    "under_way", [stash_that_meets_a_conflict, bisection], ids=lambda each: each.__name__
)
def test_nothing_is_committed_into_the_middle_of_something(
    repo: Repo, under_way: Callable[[Repo], None]
) -> None:
    under_way(repo)
    head = repo.head
    report = run(repo, writing(1), writing(2))
    assert (report.reason, repo.head) == ("merge-in-progress", head)
    assert restored(repo, report) == repo.files()


def test_a_commit_is_not_made_on_the_branch_somebody_changed_to(repo: Repo) -> None:
    settings = Settings(compile_command='cd "$SHELLGUARD_WORK_TREE" && git switch -q -c another')
    report = run(repo, writing(1), writing(2), settings=settings)
    assert (report.result, report.reason) == ("not-committed", "head-moved")
    assert repo.git("rev-parse", "another") == repo.git("rev-parse", "main")


def test_a_hook_may_change_the_message(repo: Repo) -> None:
    repo.write(".git/hooks/commit-msg", '#!/bin/sh\necho "Change-Id: 1" >> "$1"\n', mode=0o755)
    report = run(repo, writing(1), writing(2), settings=Settings(hooks=True))
    assert report.committed
    assert repo.git("log", "-1", "--format=%B").split("\n")[-1] == "Change-Id: 1"


@pytest.mark.parametrize("end", ["rm -rf .git; exit 130", 'rm -rf "$PWD"; exit 130', 'rm -rf "$PWD"'])
def test_a_worker_that_removes_the_repository(repo: Repo, end: str) -> None:
    order = Order(("sh", "-c", f"echo x > new.txt; {end}"), str(repo.top), "S1", bare_interrupt=True)
    report = supervise(order)
    assert not report.committed
    assert not (repo.top / ".git").exists()
    if repo.top.exists():
        assert restored(repo, report) == repo.files()


def test_the_last_line_is_the_object_when_the_worker_has_not_ended_its_own(repo: Repo) -> None:
    words = [sys.executable, "-m", "shellguard", "supervise", "--json", "--timeout", "inf"]
    done = subprocess.run(
        [*words, "--", "printf", "half a line"], cwd=repo.top, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.split(b"\n")[-2])["result"] == "worker-success"


@pytest.mark.parametrize("words", [("supervise", "--json", "--", "true"), ("approve", "run", "--", "true")])
def test_a_folder_that_is_gone_is_said(tmp_path: Path, words: tuple[str, ...]) -> None:
    line = f"mkdir x && cd x && rmdir ../x && exec {sys.executable} -m shellguard {' '.join(words)}"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"No such file" in done.stdout + done.stderr
