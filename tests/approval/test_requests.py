# SPDX-License-Identifier: Apache-2.0
"""run_safely and the answers to requests: in real repositories, with real commands."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shellguard.approval import checkpoint, requests
from shellguard.approval.requests import DIFFERENCES, Request, grant
from shellguard.approval.run import DEFERRED, Outcome, checkpoint_for_hook, run_safely, told_to_agent
from shellguard.approval.signals import FLUSHER
from shellguard.approval.snapshot import SnapshotError
from shellguard.approval.store import Store, StoreError
from tests.approval.repos import Repo, everything_in_progress
from tests.cli.process import run

GATED = "rm -f target && echo ran > ../witness"
"""A command that a gate stands before, and that leaves a trace outside of the work tree."""


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repo]:
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "home"))
    made = Repo(tmp_path / "r")
    made.write("target", "x")
    monkeypatch.chdir(made.top)
    yield made
    FLUSHER.uninstall()


def safely(repo: Repo, command: str, *, quiet: bool = False) -> Outcome:
    return run_safely(command, cwd=str(repo.top), session="s", step=1, quiet=quiet)


def deferred(repo: Repo, command: str = GATED) -> Request:
    outcome = safely(repo, command, quiet=True)
    assert outcome.request is not None
    return outcome.request


def store_of(repo: Repo) -> Store:
    return Store.of(str(repo.top))


def ran(repo: Repo) -> bool:
    return (repo.top.parent / "witness").exists()


# --- running ----------------------------------------------------------------------------------------------------------


def test_a_command_without_a_gate_runs(repo: Repo) -> None:
    outcome = safely(repo, "echo x > made; exit 7")
    assert (outcome.status, outcome.ran, outcome.request) == (7, True, None)
    assert (repo.top / "made").exists()
    assert outcome.manifest is not None
    assert outcome.manifest.pending is not None
    assert outcome.manifest.pending.state == "passed"


def test_a_signal_that_ends_the_command_shows_in_the_status(repo: Repo) -> None:
    assert safely(repo, "kill -TERM $$").status == 128 + 15


def test_a_gated_command_is_deferred_with_a_receipt(repo: Repo) -> None:
    everything_in_progress(repo)
    before, status = repo.files(), repo.status
    outcome = safely(repo, GATED, quiet=True)
    assert (outcome.status, outcome.ran) == (DEFERRED, False) == (93, False)
    assert not ran(repo)
    assert outcome.receipt is not None
    receipt = json.loads(Path(outcome.receipt).read_text())
    assert receipt["command"] == GATED
    assert receipt["state"] == "pending"
    assert {gate["gate"] for gate in receipt["gates"]} == {"removal"}
    assert os.stat(outcome.receipt).st_mode & 0o777 == 0o600
    assert repo.files() == before
    assert repo.status == status


def test_a_person_who_is_there_is_asked(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellguard.approval.run.somebody_is_there", lambda: True)
    asked: list[object] = []

    def answer(yes: bool) -> Callable[[object], bool]:
        def say(checked: object) -> bool:
            asked.append(checked)
            return yes

        return say

    no = run_safely(GATED, ask=answer(False))
    assert (no.status, no.ran, ran(repo)) == (1, False, False)
    quiet = run_safely(GATED, ask=answer(True), quiet=True)
    assert (quiet.status, len(asked)) == (DEFERRED, 1)
    yes = run_safely(GATED, ask=answer(True))
    assert (yes.status, yes.ran, ran(repo)) == (0, True, True)


def test_the_status_can_be_another_one(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, status in (("99", 99), ("0", 93), ("126", 93), ("x", 93), ("", 93)):
        monkeypatch.setenv("SHELLGUARD_DEFERRED_STATUS", text)
        assert safely(repo, GATED, quiet=True).status == status


def test_work_that_cannot_be_saved_holds_back_all_but_reads(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object, **more: object) -> None:
        raise SnapshotError("No space left on device")

    monkeypatch.setattr("shellguard.approval.snapshot.take", full)
    with pytest.raises(SnapshotError, match="No space"):
        safely(repo, GATED, quiet=True)
    with pytest.raises(SnapshotError):
        safely(repo, "echo x > made")
    assert not (repo.top / "made").exists()
    outcome = safely(repo, "cat a.txt")
    assert (outcome.ran, outcome.manifest, outcome.status) == (True, None, 0)
    failed = checkpoint.checkpoints(store_of(repo))[-1]
    assert (failed.state, failed.tree) == ("failed", None)


# --- answering --------------------------------------------------------------------------------------------------------


def test_what_was_approved_runs_once(repo: Repo) -> None:
    request = deferred(repo)
    done = grant(store_of(repo), request.name)
    assert (done.refused, done.status) == ((), 0)
    assert ran(repo)
    assert not (repo.top / "target").exists()
    again = grant(store_of(repo), request.name)
    assert again.status is None
    assert "already-decided" in again.refused


def test_it_runs_in_the_folder_it_was_asked_in(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write("sub/x", "x")
    outcome = run_safely("rm -f x", cwd=str(repo.top / "sub"), quiet=True)
    assert outcome.request is not None
    monkeypatch.chdir("/")
    assert grant(store_of(repo), outcome.request.name).status == 0
    assert not (repo.top / "sub/x").exists()


def edit_a_file(repo: Repo, request: Request) -> None:
    repo.write("a.txt", "edited\n")


def add_a_file(repo: Repo, request: Request) -> None:
    repo.write("more", "x")


def make_executable(repo: Repo, request: Request) -> None:
    os.chmod(repo.top / "a.txt", 0o755)


def commit_it(repo: Repo, request: Request) -> None:
    repo.commit()


def change_the_request(repo: Repo, request: Request) -> None:
    path = repo.top / f".git/shellguard/requests/{request.name}.json"
    value = json.loads(path.read_text())
    value["command"] = "rm -rf /"
    path.write_text(json.dumps(value))


def change_its_argv(repo: Repo, request: Request) -> None:
    path = repo.top / f".git/shellguard/requests/{request.name}.json"
    value = json.loads(path.read_text())
    value["argv"][2] = "touch ../witness"
    path.write_text(json.dumps(value))


def another_program(repo: Repo, request: Request) -> None:
    tool = repo.top.parent / "bin/rm"
    tool.write_text("#!/bin/sh\ntouch ../witness\n")


def another_folder(repo: Repo, request: Request) -> None:
    moved = repo.top.parent / "moved"
    (repo.top / "sub").rename(moved)
    (repo.top / "sub").mkdir()
    for each in moved.iterdir():
        each.rename(repo.top / "sub" / each.name)


@pytest.mark.parametrize(
    "change, code",
    [
        (edit_a_file, "tree-changed"),
        (add_a_file, "tree-changed"),
        (make_executable, "tree-changed"),
        (commit_it, "head-moved"),
        (change_the_request, "command-changed"),
        (change_its_argv, "command-changed"),
        (another_program, "executable-changed"),
        (another_folder, "folder-moved"),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_what_is_not_what_was_approved_does_not_run(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, change: Callable[[Repo, Request], None], code: str
) -> None:
    tools = repo.top.parent / "bin"
    tools.mkdir()
    (tools / "rm").write_text('#!/bin/sh\nexec /bin/rm "$@"\n')
    (tools / "rm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    repo.write("sub/x", "x")
    outcome = run_safely(GATED.replace("../", "../../"), cwd=str(repo.top / "sub"), quiet=True)
    assert outcome.request is not None
    store = store_of(repo)
    change(repo, outcome.request)
    done = grant(store, outcome.request.name)
    assert done.status is None
    assert code in done.refused
    assert set(done.refused) <= set(DIFFERENCES)
    assert not ran(repo)


def test_an_identical_rewrite_is_no_change(repo: Repo) -> None:
    request = deferred(repo)
    repo.write("a.txt", "one\n")
    assert grant(store_of(repo), request.name).status == 0


def test_a_denied_command_never_runs(repo: Repo) -> None:
    request = deferred(repo)
    assert requests.deny(store_of(repo), request.name, "no").request.state == "denied"
    assert "already-decided" in grant(store_of(repo), request.name).refused
    assert "already-decided" in requests.deny(store_of(repo), request.name).refused
    assert not ran(repo)


def test_two_who_grant_at_once_run_it_once(repo: Repo) -> None:
    request = deferred(repo, "rm -f target; echo x >> ../witness")
    results: list[object] = []

    def grant_it() -> None:
        try:
            results.append(grant(store_of(repo), request.name).status)
        except StoreError as error:
            results.append(str(error))

    threads = [threading.Thread(target=grant_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert results.count(0) == 1
    assert (repo.top.parent / "witness").read_text() == "x\n"


# --- the hook ---------------------------------------------------------------------------------------------------------


def test_a_hook_saves_marks_and_tells(repo: Repo) -> None:
    assert checkpoint_for_hook("ls", str(repo.top)) is None
    assert checkpoint.checkpoints(store_of(repo)) == []
    outcome = checkpoint_for_hook("git push", str(repo.top), session="h")
    assert outcome is not None
    assert outcome.request is not None
    assert outcome.request.state == "pending"
    marker = checkpoint.waiting(store_of(repo), "h")
    assert marker is not None
    assert marker.pending is not None
    assert marker.pending.request == outcome.request.name
    said = told_to_agent(outcome)
    assert "Deferred" in said
    assert outcome.request.name in said


# --- the command line -------------------------------------------------------------------------------------------------


def test_the_commands(repo: Repo) -> None:
    everything_in_progress(repo)
    before = repo.files()
    done = run("approve", "run", "--session", "s", "--step", "3", "--quiet", "--", GATED)
    assert done.returncode == 93
    assert "receipt: " in done.stderr
    [request] = run("approve", "list", "--json").json()["requests"]
    assert (request["session"], request["step"], request["command"]) == ("s", 3, GATED)
    name = request["name"]
    assert name in run("approve", "list").stdout
    shown = run("approve", "show", name).stdout
    assert GATED in shown
    assert "removal" in shown
    (repo.top / "more").write_text("x")
    assert run("approve", "show", "--json", name).json()["changed"] == ["tree-changed"]
    refused = run("approve", "grant", name)
    assert refused.returncode == 1
    assert "tree-changed" in refused.stderr
    (repo.top / "a.txt").unlink()
    put_back = run("approve", "restore", request["checkpoint"])
    assert put_back.returncode == 0
    assert repo.files() == before
    assert run("approve", "grant", "1").returncode == 0
    assert ran(repo)
    assert run("approve", "list", "--json").json()["requests"] == []
    assert run("approve", "list", "--all").stdout.count("done") == 1
    assert run("approve", "deny", name).returncode == 1
    assert run("approve", "grant", "none").returncode == 1
    assert run("approve", "show", "none").returncode == 1


def test_a_checkpoint_by_hand(repo: Repo, tmp_path: Path) -> None:
    everything_in_progress(repo)
    before = repo.files()
    made = run("approve", "checkpoint", "--session", "s", "--json", "--", "git push").json()["checkpoint"]
    assert made["pending"]["state"] == "waiting"
    assert made["head"] == repo.head
    for field in (
        "session",
        "cwd",
        "step",
        "language",
        "compile",
        "tree",
        "head",
        "attempts",
        "pending",
        "time",
    ):
        assert field in made
    assert run("approve", "restore", "--into", str(tmp_path / "into")).returncode == 0
    assert run("approve", "restore", "--into", str(tmp_path / "into")).returncode == 1
    assert run("approve", "restore", "--patch", str(tmp_path / "p")).returncode == 0
    assert (tmp_path / "p").read_bytes().startswith(b"diff --git")
    assert repo.files() == before
    assert made["name"] in run("approve", "checkpoints").stdout


def test_restoring_twice_is_the_same_as_once(repo: Repo) -> None:
    everything_in_progress(repo)
    before = repo.files()
    assert run("approve", "checkpoint").returncode == 0
    (repo.top / "a.txt").write_text("lost")
    assert run("approve", "restore").returncode == 0
    assert run("approve", "restore").returncode == 0
    assert repo.files() == before


def test_nothing_to_restore(repo: Repo) -> None:
    done = run("approve", "restore")
    assert done.returncode == 1
    assert "there is no checkpoint" in done.stderr


# --- pruning ----------------------------------------------------------------------------------------------------------


def test_old_and_committed_snapshots_are_forgotten(repo: Repo) -> None:
    store = store_of(repo)
    top = str(repo.top)
    repo.write("a.txt", "first\n")
    first = checkpoint.pre_approval_checkpoint(top, signals=False)
    repo.write("a.txt", "second\n")
    second = checkpoint.pre_approval_checkpoint(top, signals=False)
    asked = checkpoint.pre_approval_checkpoint(top, command="git push", signals=False)
    assert checkpoint.prune(store) == []
    repo.commit()
    repo.write("a.txt", "third\n")
    repo.commit()
    assert checkpoint.prune(store) == [second.name]
    assert asked.snapshot is not None
    assert asked.snapshot.ref is not None
    assert asked.snapshot.ref in repo.git("for-each-ref", "--format=%(refname)")
    assert checkpoint.prune(store, now=first.time + 15 * 86_400) == [first.name, asked.name]
    assert "refs/shellguard" not in repo.git("for-each-ref")
    assert run("approve", "prune").stdout == "0 forgotten\n"


def test_old_decisions_are_forgotten_and_waiting_requests_stay(repo: Repo) -> None:
    store = store_of(repo)
    first, second = deferred(repo), deferred(repo)
    requests.deny(store, first.name)
    later = first.time + 15 * 86_400
    assert requests.prune(store, days=14, now=first.time) == []
    assert requests.prune(store, days=14, now=later) == [first.name]
    assert [each.name for each in requests.requests(store)] == [second.name]


def test_a_clock_that_jumps_changes_no_order(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([2_000_000_000.0, 5.0, 1_900_000_000.0])
    monkeypatch.setattr("shellguard.approval.checkpoint.time.time", lambda: next(moments))
    names = []
    for content in "123":
        repo.write("a.txt", content)
        names.append(checkpoint.pre_approval_checkpoint(str(repo.top), signals=False).name)
    store = store_of(repo)
    assert [each.name for each in checkpoint.checkpoints(store)] == names
    assert checkpoint.checkpoint_named(store, None).name == names[-1]
    assert checkpoint.newest(store) == names[-1]


def test_damaged_files_are_passed_over(repo: Repo) -> None:
    store = store_of(repo)
    good = checkpoint.pre_approval_checkpoint(str(repo.top), signals=False)
    folder = repo.top / ".git/shellguard/checkpoints"
    for number, text in enumerate(["", "{", "[]", '{"name": 1}', '{"pending": 3}', "\udcff"], start=90):
        (folder / f"{number:06}-aaaaaa.json").write_text(text, errors="surrogateescape")
    (folder / "notes.json").write_text("x")
    assert checkpoint.checkpoint_named(store, None).name == good.name
    with pytest.raises(StoreError, match="000090-aaaaaa"):
        store.read("checkpoints", "000090-aaaaaa")
    with pytest.raises(StoreError):
        store.read("checkpoints", "../../config")
