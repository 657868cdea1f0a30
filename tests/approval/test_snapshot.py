# SPDX-License-Identifier: Apache-2.0
"""Snapshots of real repositories: everything is in them, everything comes back, and nobody notices."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shellguard.approval import checkpoint, files, snapshot
from shellguard.approval.git import Git, GitError, work_tree
from shellguard.approval.snapshot import Snapshot, SnapshotError, take
from shellguard.approval.store import Store
from tests.approval.repos import Repo, everything_in_progress, files_below


def taken(repo: Repo, name: str | None = "one") -> Snapshot:
    git = work_tree(str(repo.top))
    assert git is not None
    return take(git, name)


def wipe(repo: Repo) -> None:
    """Loses the work: what `git reset --hard` and `git clean -fd` leave."""
    for path in repo.files():
        os.unlink(os.path.join(os.fsencode(repo.top), path))
    repo.git("reset", "-q", "--hard", check=False)
    repo.git("clean", "-fdq")


def nothing_more(repo: Repo) -> None:
    pass


def detached(repo: Repo) -> None:
    repo.git("checkout", "-q", "--detach")


def locked_index(repo: Repo) -> None:
    repo.write(".git/index.lock")


def failing_hooks(repo: Repo) -> None:
    for name in ("pre-commit", "reference-transaction", "post-index-change"):
        repo.write(f".git/hooks/{name}", "#!/bin/sh\nexit 1\n", mode=0o755)


def hostile_variables(repo: Repo) -> None:
    os.environ.update(GIT_DIR="/nowhere", GIT_INDEX_FILE="/nowhere", GIT_WORK_TREE="/")


def unseen_files(repo: Repo) -> None:
    repo.write("quiet", "1\n")
    repo.write("sparse", "1\n")
    repo.git("add", "quiet", "sparse")
    repo.git("commit", "-q", "-m", "y", "quiet", "sparse")
    repo.git("update-index", "--assume-unchanged", "quiet")
    repo.git("update-index", "--skip-worktree", "sparse")
    repo.write("quiet", "2\n")
    repo.write("sparse", "2\n")


def merge_with_conflict(repo: Repo) -> None:
    repo.git("stash", "-q", "-u", check=False)
    repo.git("checkout", "-q", "-b", "other")
    repo.write("a.txt", "other\n")
    repo.commit("other")
    repo.git("checkout", "-q", "main")
    repo.write("a.txt", "main\n")
    repo.commit("main")
    repo.git("merge", "other", check=False)
    repo.write("more.txt", "more\n")


def broken_filter(repo: Repo) -> None:
    """As with git-lfs that is not installed."""
    repo.git("config", "filter.big.clean", "false")
    repo.git("config", "filter.big.smudge", "false")
    repo.git("config", "filter.big.required", "true")
    repo.write(".gitattributes", "binary filter=big\n")


def strict_line_ends(repo: Repo) -> None:
    repo.git("config", "core.safecrlf", "true")
    repo.write(".gitattributes", "*.dos text eol=crlf\n")
    repo.write("x.dos", "a\r\nb\r\n")


def filters_that_lose(repo: Repo) -> None:
    """As tools that clean notebooks or secrets do; the other one says nothing at all."""
    repo.git("config", "filter.half.clean", "sed s/out.*//")
    repo.git("config", "filter.nothing.clean", "true")
    repo.write(".gitattributes", "*.nb filter=half\n*.none filter=nothing\n*.c ident\n")
    repo.write("x.nb", "code\nout: 42\n")
    repo.write("x.none", "data\n")
    repo.write("x.c", "/* $Id$ */\n")


def binary_called_text(repo: Repo) -> None:
    repo.write(".gitattributes", "binary text\n*.sh text eol=lf\n")
    repo.write("mixed.sh", "a\r\nb\n")
    repo.write("binary", bytes(range(256)) + b"\r\n\0\n")


def line_ends_of_another_system(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "true")
    repo.write("crlf", "a\r\nb\r\n")
    repo.write("mixed", "a\r\nb\n")


def settings_of_another_system(repo: Repo) -> None:
    for name in ("fileMode", "symlinks"):
        repo.git("config", f"core.{name}", "false")
    repo.git("config", "core.ignoreCase", "true")
    repo.write("A.TXT", "another file\n")
    os.chmod(repo.top / "staged.txt", 0o755)


def same_size_and_time(repo: Repo) -> None:
    repo.git("config", "core.checkStat", "minimal")
    repo.git("config", "core.trustctime", "false")
    repo.write("still", "four\n")
    os.utime(repo.top / "still", (10**9, 10**9))
    repo.git("add", "still")
    time.sleep(1.1)  # git keeps the time of a change in seconds
    repo.write("still", "five\n")
    os.utime(repo.top / "still", (10**9, 10**9))


def two_marks_on_one_file(repo: Repo) -> None:
    repo.git("add", "latin1.txt")
    repo.git("update-index", "--assume-unchanged", "latin1.txt")
    repo.git("update-index", "--skip-worktree", "latin1.txt")
    repo.write("latin1.txt", "edited\n")


SITUATIONS = [
    filters_that_lose,
    binary_called_text,
    line_ends_of_another_system,
    settings_of_another_system,
    same_size_and_time,
    two_marks_on_one_file,
    broken_filter,
    strict_line_ends,
    nothing_more,
    detached,
    locked_index,
    failing_hooks,
    hostile_variables,
    unseen_files,
    merge_with_conflict,
]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test sets in the environment goes away."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.setenv(name, "x")
        monkeypatch.delenv(name)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.__name__)
def test_everything_comes_back(situation: Callable[[Repo], None], tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    everything_in_progress(repo)
    situation(repo)
    before = repo.files()
    index = (repo.top / ".git/index").read_bytes()
    saved = taken(repo)
    assert repo.files() == before
    assert (repo.top / ".git/index").read_bytes() == index
    snapshot.restore_into(saved, str(tmp_path / "into"))
    assert files_below(tmp_path / "into") == before
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        os.environ.pop(name, None)
    (repo.top / ".git/index.lock").unlink(missing_ok=True)
    (repo.top / ".git/hooks/reference-transaction").unlink(missing_ok=True)
    wipe(repo)
    repo.write("new", "a file where a folder was")
    repo.write("link/now/a/folder", "x")
    snapshot.restore_here(saved)
    assert repo.files() == before
    assert taken(repo, None).tree == saved.tree


def test_the_status_is_as_before_and_nothing_can_be_committed(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    everything_in_progress(repo)
    before = repo.status
    taken(repo)
    assert repo.status == before
    assert repo.git("ls-files", "-o") == repo.git("ls-files", "-o", "--exclude-standard")


def test_what_only_the_index_has_is_kept(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    everything_in_progress(repo)
    saved = taken(repo)
    assert saved.commit is not None
    parents = repo.git("rev-parse", f"{saved.commit}^@").split("\n")
    assert parents[0] == repo.head
    assert repo.git("show", f"{parents[1]}:a.txt") == "two"
    assert repo.git("show", f"{saved.commit}:a.txt") == "three"


def test_it_outlives_a_collection(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    everything_in_progress(repo)
    before = repo.files()
    saved = taken(repo)
    wipe(repo)
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    snapshot.restore_here(saved)
    assert repo.files() == before


def test_an_empty_repository(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r", empty=True)
    repo.write("first.txt", "1\n")
    before = repo.files()
    saved = taken(repo)
    assert saved.head is None
    wipe(repo)
    snapshot.restore_here(saved)
    assert repo.files() == before
    assert snapshot.patch(saved).startswith(b"diff --git a/first.txt")


def test_a_linked_work_tree_has_a_store_of_its_own(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    repo.git("worktree", "add", "-q", "../w", "-b", "other")
    linked = Repo.__new__(Repo)
    linked.top = tmp_path / "w"
    linked.write("a.txt", "linked\n")
    everything = linked.files()
    store = Store.of(str(linked.top))
    assert store.folder == str(repo.top / ".git/worktrees/w/shellguard")
    manifest = checkpoint.pre_approval_checkpoint(str(linked.top), signals=False)
    wipe(linked)
    checkpoint.restore(manifest)
    assert linked.files() == everything
    assert checkpoint.checkpoints(Store.of(str(repo.top))) == []


# --- repositories inside ----------------------------------------------------------------------------------------------


def with_submodule(tmp_path: Path) -> Repo:
    Repo(tmp_path / "library").write("b.txt", "b\n")
    repo = Repo(tmp_path / "r")
    repo.git("submodule", "--quiet", "add", str(tmp_path / "library"), "sub")
    repo.commit("submodule")
    return repo


def test_a_dirty_submodule_is_saved_too(tmp_path: Path) -> None:
    repo = with_submodule(tmp_path)
    repo.write("sub/a.txt", "dirty\n")
    repo.write("sub/new.txt", "new\n")
    before = repo.files()
    saved = taken(repo)
    assert [each.path for each in saved.nested] == ["sub"]
    assert saved.not_saved == ()
    repo.write("sub/a.txt", "lost\n")
    os.unlink(repo.top / "sub/new.txt")
    assert taken(repo, None).identity != saved.identity
    snapshot.restore_here(saved)
    assert repo.files() == before
    assert taken(repo, None).identity == saved.identity
    snapshot.restore_into(saved, str(tmp_path / "into"))
    assert files_below(tmp_path / "into") == before
    assert b"b/sub/new.txt" in snapshot.patch(saved)


@pytest.mark.parametrize("empty", [False, True], ids=["with a commit", "without a commit"])
def test_a_nested_repository_is_saved_too(tmp_path: Path, empty: bool) -> None:
    repo = Repo(tmp_path / "r")
    inner = Repo(repo.top / "inner", empty=empty)
    inner.write("deep/x.txt", "x\n")
    before = repo.files()
    saved = taken(repo)
    assert [each.path for each in saved.nested] == ["inner"]
    os.unlink(repo.top / "inner/deep/x.txt")
    snapshot.restore_here(saved)
    assert repo.files() == before


def test_a_repository_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    inner = Repo(repo.top / "inner", empty=True)
    inner.write(".git/config", "no configuration\n")
    saved = taken(repo)
    assert saved.not_saved == ("inner",)


def test_ignored_files_are_named_and_left_alone(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    repo.write(".gitignore", "*.log\nbuild/\n")
    repo.write("x.log", "x")
    repo.write("build/y", "y")
    saved = taken(repo)
    assert set(saved.ignored) == {"x.log", "build/"}
    assert saved.ignored_count == 2
    snapshot.restore_here(saved)
    assert (repo.top / "build/y").read_text() == "y"


def test_what_is_in_the_way_is_not_removed(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    repo.write("data", "wanted\n")
    saved = taken(repo)
    os.unlink(repo.top / "data")
    repo.write(".git/info/exclude", "data/\n")
    repo.write("data/precious", "ignored")
    with pytest.raises(SnapshotError, match="in the way"):
        snapshot.restore_here(saved)
    assert (repo.top / "data/precious").read_text() == "ignored"


def test_what_git_cannot_add_is_read_from_its_message() -> None:
    message = "error: open(\"bad\"): Permission denied\nerror: unable to index file 'bad'\nfatal: adding files failed"
    assert snapshot._blamed(message) == ["bad", "bad"]


def test_a_change_in_the_same_moment_is_seen(tmp_path: Path) -> None:
    """The copy of the index keeps the time of the real one, by which git knows which files to look at again."""
    repo = Repo(tmp_path / "r")
    for round_ in range(20):
        repo.write("racy", f"{round_:04}\n")
        repo.git("add", "racy")
        repo.write("racy", f"{round_ + 5000:04}\n")
        saved = taken(repo, None)
        assert repo.git("show", f"{saved.tree}:racy") == f"{round_ + 5000:04}"


# --- patches ----------------------------------------------------------------------------------------------------------


def test_the_patch_makes_the_same_tree(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    everything_in_progress(repo)
    saved = taken(repo)
    (tmp_path / "work.patch").write_bytes(snapshot.patch(saved))
    repo.git("worktree", "add", "-q", "--detach", "../clean")
    clean = Repo.__new__(Repo)
    clean.top = tmp_path / "clean"
    clean.git("apply", "--index", "--binary", "../work.patch")
    assert clean.git("write-tree") == saved.tree


# --- outside of git ---------------------------------------------------------------------------------------------------


def test_outside_of_git_a_tar_holds_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "home"))
    top = tmp_path / "plain"
    top.mkdir()
    (top / "a").write_bytes(b"\xff\x00")
    (top / "sub").mkdir()
    (top / "sub/big").write_bytes(b"x" * 100_000)
    os.symlink("a", top / "link")
    first = checkpoint.pre_approval_checkpoint(str(top), signals=False)
    (top / "a").write_bytes(b"two")
    (top / os.fsdecode(b"caf\xe9")).write_bytes(b"x")
    (top / "run").write_bytes(b"#!/bin/sh\n")
    (top / "run").chmod(0o755)
    second = checkpoint.pre_approval_checkpoint(str(top), signals=False)
    assert first.files is not None
    assert second.files is not None
    assert os.path.getsize(second.files.archive) < 100_000
    assert second.files.archive.startswith(str(tmp_path / "home/state/checkpoints/"))
    before = files_below(top)
    checkpoint.restore(second, str(tmp_path / "into"))
    assert files_below(tmp_path / "into") == before
    assert files.tree_now(str(tmp_path / "into")) == second.tree
    (top / "a").unlink()
    (top / "later").write_text("x")
    checkpoint.restore(second)
    assert files_below(top) == before
    checkpoint.restore(first)
    assert (top / "a").read_bytes() == b"\xff\x00"
    assert not (top / "run").exists()


def test_outside_of_git_what_is_no_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "home"))
    top = tmp_path / "plain"
    top.mkdir()
    os.mkfifo(top / "pipe")
    assert checkpoint.pre_approval_checkpoint(str(top), signals=False).not_saved == ("pipe",)


# --- full disks, read-only folders ------------------------------------------------------------------------------------


def test_objects_go_elsewhere_when_the_repository_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "home"))
    repo = Repo(tmp_path / "r")
    everything_in_progress(repo)
    before = repo.files()
    (repo.top / ".git/shellguard").write_text("a file where the folder should be")
    real = Git.text

    def full(self: Git, *arguments: str, data: bytes = b"") -> str:
        if arguments[0] == "write-tree" and "GIT_OBJECT_DIRECTORY" not in self.extra:
            raise GitError(arguments, 128, "No space left on device")
        return real(self, *arguments, data=data)

    monkeypatch.setattr(Git, "text", full)
    manifest = checkpoint.pre_approval_checkpoint(str(repo.top), signals=False)
    assert manifest.snapshot is not None
    assert manifest.snapshot.store is not None
    assert manifest.snapshot.ref is None
    wipe(repo)
    found = checkpoint.checkpoint_named(Store.of(str(repo.top)), None)
    checkpoint.restore(found)
    assert repo.files() == before
    checkpoint.restore(found, str(tmp_path / "into"))
    assert files_below(tmp_path / "into") == before


def test_git_that_is_missing_is_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert work_tree(str(tmp_path)) is None


SAVE_AND_RESTORE = """
import json, os, sys
from shellguard.approval import checkpoint
from shellguard.approval.store import Store
made = checkpoint.pre_approval_checkpoint(os.getcwd(), session="s", signals=False)
found = checkpoint.checkpoint_named(Store.of(os.getcwd()), None)
assert found.name == made.name
checkpoint.restore(found, sys.argv[1])
print(json.dumps([made.snapshot.store is not None, made.snapshot.ref, made.not_saved]))
"""


@pytest.mark.parametrize("what", ["objects", "."], ids=["the objects", "the whole git directory"])
def test_folders_that_are_read_only(what: str, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    everything_in_progress(repo)
    before = repo.files()
    git = repo.top / ".git"
    subprocess.run(["chmod", "-R", "a-w", git / what], check=True)
    try:
        done = subprocess.run(
            [*as_anybody(), sys.executable, "-c", SAVE_AND_RESTORE, tmp_path / "into"],
            cwd=repo.top,
            env={**os.environ, "SHELLGUARD_HOME": str(tmp_path / "home")},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        subprocess.run(["chmod", "-R", "u+w", git], check=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, None, []]
    assert files_below(tmp_path / "into") == before


def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    repo.write("good", "good")
    repo.write("secret", "x", mode=0)
    done = subprocess.run(
        [*as_anybody(), sys.executable, "-c", SAVE_AND_RESTORE, tmp_path / "into"],
        cwd=repo.top,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[2] == ["secret"]
    assert (tmp_path / "into/good").read_text() == "good"


def as_anybody() -> list[str]:
    """What a command is run with so that permissions hold, where the tests run as root."""
    if os.name == "nt":
        pytest.skip("permissions are of another kind there")
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and there is no setpriv")
    return ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


def fifo_for_a_file(top: Path) -> None:
    os.unlink(top / "a.txt")
    os.mkfifo(top / "a.txt")


def name_that_windows_reads_otherwise(top: Path) -> None:
    (top / "git~1").write_text("x")


def name_of_git_itself(top: Path) -> None:
    (top / "sub").mkdir()
    (top / "sub/.GIT").write_text("x")


def encoding_that_is_not_so(top: Path) -> None:
    (top / ".gitattributes").write_text("*.u working-tree-encoding=UTF-16\n")
    (top / "x.u").write_bytes(b"a\0")


def pipe_that_git_reads(top: Path) -> None:
    os.mkfifo(top / ".gitignore")


def pipe_for_attributes(top: Path) -> None:
    (top / "sub").mkdir()
    (top / "sub/x").write_text("x")
    os.mkfifo(top / "sub/.gitattributes")


UNTAKEN = [
    pipe_that_git_reads,
    pipe_for_attributes,
    fifo_for_a_file,
    name_that_windows_reads_otherwise,
    name_of_git_itself,
    encoding_that_is_not_so,
]


@pytest.mark.parametrize("kind", UNTAKEN, ids=lambda each: each.__name__)
def test_a_file_that_git_refuses_costs_nothing_but_itself(
    kind: Callable[[Path], None], tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "r")
    repo.write("odd\nname", "more work")
    kind(repo.top)
    saved = taken(repo)
    assert len(saved.not_saved) == 1
    snapshot.restore_into(saved, str(tmp_path / "into"))
    assert (tmp_path / "into/odd\nname").read_text() == "more work"


def test_nothing_is_written_over_a_file_that_no_snapshot_holds(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    repo.write("x.log", "then\n")
    saved = taken(repo)
    repo.write(".gitignore", "*.log\n")
    repo.write("x.log", "now, and ignored\n")
    with pytest.raises(SnapshotError, match="in the way"):
        snapshot.restore_here(saved)
    assert (repo.top / "x.log").read_text() == "now, and ignored\n"
    assert (repo.top / ".gitignore").exists()


def test_a_file_that_was_other_than_git_would_write_it_and_was_not_then(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    repo.git("config", "filter.half.clean", "sed s/out.*//")
    repo.write(".gitattributes", "*.nb filter=half\n")
    repo.write("x.nb", "code\n\n")
    before = repo.files()
    saved = taken(repo)
    repo.write("x.nb", "code\nout: 42\n")
    snapshot.restore_here(saved)
    assert repo.files() == before


def test_a_pointer_of_lfs_is_not_kept_twice(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    pointer = "version https://git-lfs.github.com/spec/v1"
    repo.git("config", "filter.lfs.clean", f"echo {pointer}")
    repo.write(".gitattributes", "*.big filter=lfs\n")
    repo.write("x.big", "large\n")
    assert taken(repo).raw is None
