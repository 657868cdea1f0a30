# SPDX-License-Identifier: Apache-2.0
"""The foreman: commits what a worker left that was aborted too often, if that is safe, and says why if it is not.

In this order: nothing else is under way in the repository; there is something to commit; nobody has changed anything
since the worker left; what it left compiles, in a copy. Then the index is locked as git locks it, everything is
compared once more, and just the tree that was checked becomes a commit, if HEAD still is what it was. An edit that
comes later is not in the commit and is not overwritten.

`commit-tree` runs no hooks and does not sign; both can be asked for, and what was skipped is said.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, replace

from shellguard.approval import snapshot
from shellguard.approval.git import Git, GitError, work_tree
from shellguard.approval.snapshot import Snapshot, SnapshotError
from shellguard.workers import compiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

UNDER_WAY = (
    *("MERGE_HEAD", "REBASE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"),
    *("sequencer", "BISECT_START"),
)
"""Files that exist while git is in the middle of something. Source: gitrepository-layout(5), git-status(1)."""

HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")

LOCK_SECONDS = 3.0
"""How long another process may hold the index before the foreman gives up."""

NAME, EMAIL = "shellguard foreman", "foreman@shellguard.invalid"
"""Who commits where git knows nobody."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the foreman works. `hooks`: run pre-commit and commit-msg. `sign`: as `git commit -S`. `author`: `N <mail>`.

    `compile_command` takes the place of what `language` has.
    """

    language: str = "auto"
    compile_command: str | None = None
    hooks: bool = False
    sign: bool = False
    author: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the foreman did. `reason` is a code of `resume.REASONS` when there is no commit, with `detail` for people.

    `checked`: the languages that were looked at. `skipped`: what a plain `git commit` would have done besides.
    """

    commit: str | None
    reason: str | None = None
    detail: str = ""
    checked: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


class _Refusal(Exception):  # noqa: N818 - it is no error, and never leaves this module
    def __init__(self, reason: str, detail: str = "", checked: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.verdict = Verdict(None, reason, detail, checked)


def commit(cwd: str, left: Snapshot | None, message: str, settings: Settings | None = None) -> Verdict:
    """Commits what a worker left as `left`, the snapshot of when it was gone. Never raises for a repository."""
    chosen = Settings() if settings is None else settings
    try:
        git = work_tree(cwd)
        if git is None or left is None:
            raise _Refusal("no-repository")
        return _commit(git, left, message, chosen)
    except _Refusal as refusal:
        return refusal.verdict
    except (GitError, SnapshotError) as error:
        return Verdict(None, "commit-failed", str(error))
    except OSError as error:
        return Verdict(None, "commit-failed", error.strerror or str(error))


def _commit(git: Git, left: Snapshot, message: str, settings: Settings) -> Verdict:
    _refuse_if_under_way(git)
    if left.index_tree is None:
        # A stash, patch or checkout that met a conflict leaves no other trace, and markers in the files.
        raise _Refusal("merge-in-progress", "the index holds conflicts")
    branch = git.asks("symbolic-ref", "-q", "HEAD")
    if left.not_saved:
        raise _Refusal("not-saved", ", ".join(left.not_saved))
    tree = _tree_to_commit(git, left)
    base = git.text("rev-parse", f"{left.head}^{{tree}}") if left.head else None
    if tree == base or (base is None and not git.run("ls-tree", tree)[1]):
        raise _Refusal("no-changes")
    _refuse_if_drifted(git, left)
    changed = _changed(git, base, tree)
    done = _compiles(git, left, tree, changed, settings)
    if done.code is not None:
        raise _Refusal(done.code, done.output, done.checked)
    skipped = _skipped(git, settings)
    with _index_lock(git) as lock:
        _refuse_if_drifted(git, left)
        _refuse_if_under_way(git)
        if git.asks("symbolic-ref", "-q", "HEAD") != branch:
            raise _Refusal("head-moved", "another branch is checked out")
        new_index = _index_of(git, tree, lock)
        if settings.hooks:
            message = _run_hooks(git, new_index, message)
            _refuse_if_drifted(git, left)
        made = _make(git, tree, left.head, message, settings)
        os.replace(new_index, lock.path)
        lock.becomes_index()
    return Verdict(made, None, "", done.checked or ("unchecked",), skipped)


def _refuse_if_under_way(git: Git) -> None:
    for name in UNDER_WAY:
        if os.path.lexists(git.path(name)):
            raise _Refusal("merge-in-progress", name)


def _refuse_if_drifted(git: Git, left: Snapshot) -> None:
    """Compares files, index and HEAD with what they were when the worker was gone. An identical rewrite is no drift."""
    if git.head() != left.head:
        raise _Refusal("head-moved")
    now = snapshot.take(git)
    if now.identity != left.identity or now.not_saved != left.not_saved:
        raise _Refusal("tree-drifted", ", ".join(_changed(git, left.tree, now.tree)[:20]))
    if now.index_tree != left.index_tree:
        raise _Refusal("tree-drifted", "the index")


def _changed(git: Git, first: str | None, second: str) -> list[str]:
    if first is None:
        return git.names("ls-tree", "-r", "--name-only", "-z", second)
    return git.names("diff-tree", "-r", "-z", "--name-only", "--no-renames", first, second)


def _tree_to_commit(git: Git, left: Snapshot) -> str:
    """The tree without what `git add` would leave out.

    That are repositories which are no submodules (git would make links of them that nobody can follow), and what is
    changed of files that git was told to leave alone (assume-unchanged, skip-worktree): they stay as they are staged.
    """
    known = set()
    if left.head:
        for line in git.run("ls-tree", "-r", "-z", left.head)[1].split(b"\0"):
            if line.startswith(b"160000 "):
                known.add(os.fsdecode(line.partition(b"\t")[2]))
    modules = os.path.join(git.folder, ".gitmodules")
    # What this waits at (`Git.pipes`) is nothing that the snapshots lack.
    named = Git(git.folder).asks("config", "--file", modules, "--get-regexp", r"\.path$") or ""
    known |= {line.partition(" ")[2] for line in named.split("\n")}
    strange = [each.path for each in left.nested if each.path not in known]
    alone = _left_alone(git)
    if not strange and not alone:
        return left.tree
    with tempfile.TemporaryDirectory(prefix="shellguard-", ignore_cleanup_errors=True) as folder:
        other = git.having(GIT_INDEX_FILE=os.path.join(folder, "index"))
        other.run("read-tree", left.tree)
        data = b"".join(os.fsencode(path) + b"\0" for path in strange)
        other.run("update-index", "--force-remove", "-z", "--stdin", data=data)
        other.run("update-index", "-z", "--index-info", data=b"".join(entry + b"\0" for entry in alone))
        return other.text("write-tree")


def _left_alone(git: Git) -> list[bytes]:
    """The entries of the index for files that git was told to leave alone, for `update-index --index-info`."""
    index = git.path("index")
    if not os.path.exists(index):
        return []
    names = [
        line[2:]
        for line in git.run("ls-files", "-v", "-z")[1].split(b"\0")
        if line[:1].islower() or line[:1] == b"S"
    ]
    if not names:
        return []
    known = set(names)
    entries = git.run("ls-files", "-s", "-z")[1].split(b"\0")
    return [entry for entry in entries if entry.partition(b"\t")[2] in known]


def _compiles(
    git: Git, left: Snapshot, tree: str, changed: list[str], settings: Settings
) -> compiles.Compiled:
    if settings.compile_command is None and not compiles.languages_of(settings.language, changed):
        return compiles.Compiled(None)
    with tempfile.TemporaryDirectory(prefix="shellguard-check-", ignore_cleanup_errors=True) as folder:
        copy, caches = os.path.join(folder, "tree"), os.path.join(folder, "caches")
        os.mkdir(caches)
        snapshot.restore_into(replace(left, tree=tree), copy)
        return compiles.check(
            copy,
            caches,
            changed,
            language=settings.language,
            command=settings.compile_command,
            work_tree=git.folder,
        )


# --- the index --------------------------------------------------------------------------------------------------------


class _IndexLock:
    """`index.lock`, as git makes it: whoever holds it is the only one who may change the index."""

    def __init__(self, index: str) -> None:
        self.index, self.path = index, f"{index}.lock"
        self.held = False

    def take(self) -> bool:
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
        except FileExistsError:
            return False
        self.held = True
        return True

    def becomes_index(self) -> None:
        """What was written to the lock is the index now."""
        os.replace(self.path, self.index)
        self.held = False

    def release(self) -> None:
        if self.held:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)
            self.held = False


@contextlib.contextmanager
def _index_lock(git: Git) -> Iterator[_IndexLock]:
    lock = _IndexLock(git.path("index"))
    limit = time.monotonic() + LOCK_SECONDS
    while not lock.take():
        if time.monotonic() >= limit:
            raise _Refusal("index-locked", f"{os.path.basename(lock.path)} is there")
        time.sleep(0.05)
    try:
        yield lock
    finally:
        lock.release()


def _index_of(git: Git, tree: str, lock: _IndexLock) -> str:
    """A file with the index that the commit leaves behind, beside the real one."""
    path = f"{lock.index}.shellguard-{os.getpid()}"
    other = git.having(GIT_INDEX_FILE=path)
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(lock.index, path)
        status = os.stat(lock.index)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    try:
        other.run("read-tree", "--reset", tree)  # keeps what is known of files that are the same
        other.run("update-index", "-q", "--refresh", statuses=(0, 1))
    except BaseException:
        for left in (path, f"{path}.lock"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(left)
        raise
    return path


# --- the commit -------------------------------------------------------------------------------------------------------


def _skipped(git: Git, settings: Settings) -> tuple[str, ...]:
    """What `git commit` would do here and the foreman does not."""
    found = []
    folder = git.path("hooks")
    for name in HOOKS:
        ran = settings.hooks and name in ("pre-commit", "commit-msg")
        if not ran and os.access(os.path.join(folder, name), os.X_OK):
            found.append(name)
    if not settings.sign and git.asks("config", "--bool", "commit.gpgSign") == "true":
        found.append("signing")
    return tuple(found)


def _run_hooks(git: Git, index: str, message: str) -> str:
    """pre-commit and commit-msg, with the index that would be committed; the message as they leave it.

    What they change of the files is drift.
    """
    other = git.having(GIT_INDEX_FILE=index)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        file.write(f"{message}\n")
        file.flush()
        for arguments in (("pre-commit",), ("commit-msg", "--", file.name)):
            try:
                other.run("hook", "run", "--ignore-missing", *arguments, hooks=True)
            except GitError as error:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(index)
                raise _Refusal("hook-failed", f"{arguments[0]}: {error.message}") from error
        # Opened again: a hook may have put another file in its place.
        with open(file.name, "rb") as changed:
            return changed.read().decode("utf-8", "surrogateescape")


def _make(git: Git, tree: str, head: str | None, message: str, settings: Settings) -> str:
    """The commit, and HEAD on it, if HEAD still is `head`."""
    named = git.having(**_identity(git, settings))
    sign = ["-S"] if settings.sign else []
    parents = ["-p", head] if head else []
    try:
        made = named.text(
            "commit-tree", tree, *parents, *sign, "-F", "-", data=message.encode("utf-8", "surrogateescape")
        )
    except GitError as error:
        raise _Refusal("commit-failed", error.message) from error
    _move_head(named, made, head, message.split("\n", 1)[0])
    return made


def _move_head(git: Git, made: str, head: str | None, reason: str) -> None:
    """HEAD on a commit, if it still is `head`. Whoever holds its lock is waited for, for a while."""
    limit = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            # The hook reference-transaction may still refuse: it guards references, whoever moves them.
            git.run("update-ref", "-m", f"commit: {reason}", "HEAD", made, head or git.null, hooks=True)
            return
        except GitError as error:
            if "but expected" in error.message or "reference already exists" in error.message:
                raise _Refusal("head-moved", error.message) from error
            if ".lock': File exists" not in error.message:
                raise _Refusal("hook-failed", error.message) from error
            if time.monotonic() >= limit:
                raise _Refusal("index-locked", error.message) from error
        time.sleep(0.05)


def _knows(git: Git, who: str) -> bool:
    """Whether git has a name and an address without guessing them from the machine."""
    return git.asks("-c", "user.useConfigOnly=true", "var", f"GIT_{who}_IDENT") is not None


def _identity(git: Git, settings: Settings) -> dict[str, str]:
    """Who commits: the one that was asked for, else whom git knows, else a name of ours."""
    name, mail = NAME, EMAIL
    if settings.author is not None:
        name, _, mail = settings.author.partition("<")
        name, mail = name.strip(), mail.strip().removesuffix(">").strip()
    elif all(_knows(git, who) for who in ("AUTHOR", "COMMITTER")):
        return {}
    return {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": mail,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": mail,
    }
