# SPDX-License-Identifier: Apache-2.0
"""All work in progress of a git work tree as one tree object, and back again. Neither index nor status changes.

The real index is copied, with its time, and `git add -A` runs on the copy: staged, unstaged and untracked files,
executable bits and links are then in the tree that `write-tree` names; equal content gives an equal name. What the
index alone holds (a staged version that the file no longer has) is a second tree. Ignored files are in neither.
Source: git-add(1), git-write-tree(1), gitrepository-layout(5); tried with git 2.39.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from dataclasses import dataclass, field

from shellguard.approval import exact
from shellguard.approval.git import Git, GitError, GitTimeoutError, work_tree
from shellguard.errors import ShellguardError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

REFS = "refs/shellguard/"
"""Where the commits of snapshots are kept, so that git does not collect them."""

MAX_NESTED = 200
MAX_DEPTH = 8
"""Repositories inside a work tree beyond these are named as not saved."""

MAX_NAMES = 200
"""Names of ignored files that are kept; there may be more."""


class SnapshotError(ShellguardError):
    """Work in progress could not be saved or put back. `str()` says what is in the way."""


@dataclass(frozen=True, slots=True)
class Nested:
    """A repository inside the work tree (a submodule, or one that is just there), with a snapshot of its own."""

    path: str
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a work tree holds, as names of objects.

    `top` is the folder. `tree` has everything, `index_tree` what is staged (None for an index with conflicts), `head`
    the commit below it (None: no commit yet). `commit` keeps both alive under `ref`. `store`: the folder of the objects
    where those of the repository cannot be written. `not_saved` are paths that could not be, `ignored` (at most
    `MAX_NAMES`, of `ignored_count`) those that are not covered. `raw` is a tree of the files that git would give back
    otherwise than they are (`exact.py`).
    """

    top: str
    tree: str
    head: str | None
    index_tree: str | None = None
    commit: str | None = None
    ref: str | None = None
    store: str | None = None
    nested: tuple[Nested, ...] = ()
    not_saved: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    ignored_count: int = 0
    raw: str | None = None

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for two snapshots exactly when the files of the work tree and those of all inside it are."""
        return (self.tree, tuple((each.path, each.snapshot.identity) for each in self.nested))

    def parts(self, below: str = "") -> Iterator[tuple[str, Snapshot]]:
        """This snapshot and those inside it, with the path of each from the top."""
        yield below, self
        for each in self.nested:
            yield from each.snapshot.parts(os.path.join(below, each.path))


@dataclass(slots=True)
class _Work:
    """A snapshot in the making."""

    git: Git
    store: str | None
    temporary: str
    keep: bool
    not_saved: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)


def take(git: Git, name: str | None = None, *, store: str | None = None, depth: int = 0) -> Snapshot:
    """Saves all work in progress below `git.folder`, the top of a work tree.

    `name`: the name below `REFS` that keeps it; None makes objects only, to compare. `store`: a folder for the objects,
    where the repository cannot be written; no ref is made then.
    Raises: SnapshotError when it cannot be saved, with the reason.
    """
    with _scratch(git, store) as folder:
        extra = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
        if store is not None:
            extra |= _store_variables(git, store)
        work = _Work(git.having(**extra), store, folder, name is not None)
        if _tells_cases_apart(git):
            # The setting may have come with a copy from another system, and would join two files.
            work.git.settings = ("-c", "core.ignoreCase=false")
        try:
            return _take(work, git, name, depth)
        except GitError as error:
            raise SnapshotError(f"work in progress cannot be saved: {error}") from error
        except OSError as error:
            raise SnapshotError(f"work in progress cannot be saved: {error.strerror or error}") from error


def _tells_cases_apart(git: Git) -> bool:
    """Whether `HEAD` and `hEAD` are two files where the repository lies."""
    try:
        return not os.path.lexists(git.path("hEAD"))
    except GitError:
        return False


def _take(work: _Work, git: Git, name: str | None, depth: int) -> Snapshot:
    head = git.head()
    _copy_index(git.path("index"), work.git.extra["GIT_INDEX_FILE"])
    index_tree = work.git.asks("write-tree")
    _see_all(work.git)
    _add_all(work)
    tree = work.git.text("write-tree")
    nested = _nested(work, git, name, depth)
    commit = ref = raw = None
    if name is not None or work.store is not None:
        raw = exact.kept_apart(work.git, os.path.join(work.temporary, "raw"))
    if name is not None:
        commit = _commit(work.git, tree, index_tree, head, raw)
        if work.store is None:
            ref = REFS + name
            work.git.run("update-ref", "-m", "shellguard: work in progress", ref, commit, git.null)
    ignored = (
        git.names("ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z") if work.keep else []
    )
    work.not_saved += [os.path.relpath(pipe, git.folder) for pipe in git.pipes]
    return Snapshot(
        git.folder,
        tree,
        head,
        index_tree,
        commit,
        ref,
        work.store,
        nested,
        tuple(work.not_saved),
        tuple(ignored[:MAX_NAMES]),
        len(ignored),
        raw,
    )


def _scratch(git: Git, store: str | None) -> AbstractContextManager[str]:
    """A folder for the copy of the index: beside the real one, else where temporary files go."""
    if store is None:
        try:
            below = git.path("shellguard")
            os.makedirs(below, mode=0o700, exist_ok=True)
            return tempfile.TemporaryDirectory(prefix="index-", dir=below, ignore_cleanup_errors=True)
        except (OSError, GitError):
            pass
    return tempfile.TemporaryDirectory(prefix="shellguard-", ignore_cleanup_errors=True)


def _store_variables(git: Git, store: str) -> dict[str, str]:
    os.makedirs(store, mode=0o700, exist_ok=True)
    return {"GIT_OBJECT_DIRECTORY": store, "GIT_ALTERNATE_OBJECT_DIRECTORIES": git.path("objects")}


def _copy_index(source: str, target: str) -> None:
    """The index with its time: git looks again at files that are not older than it."""
    try:
        shutil.copyfile(source, target)
        status = os.stat(source)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    except FileNotFoundError:
        pass  # nothing was ever added


def _see_all(git: Git) -> None:
    """Files that git was told not to look at are looked at, in the copy of the index."""
    unseen, sparse = [], []
    for line in git.run("ls-files", "-v", "-z")[1].split(b"\0"):
        if line[:1].islower():
            unseen.append(line[2:])
        if line[:1] in (b"S", b"s") and os.path.lexists(os.path.join(os.fsencode(git.folder), line[2:])):
            sparse.append(line[2:])
    for names, option in ((unseen, "--no-assume-unchanged"), (sparse, "--no-skip-worktree")):
        if names:
            git.run("update-index", option, "-z", "--stdin", data=b"\0".join(names) + b"\0")


def _add_all(work: _Work) -> None:
    """`git add -A` on the copy. What cannot be added is left out and named, the rest goes on."""
    while True:
        paths = ["--", ":/", *(f":(exclude,top,literal){path}" for path in work.excluded)]
        sparse = ["--sparse"] if work.git.asks("config", "--bool", "core.sparseCheckout") == "true" else []
        try:
            work.git.patient("-c", "advice.addEmbeddedRepo=false", "add", "-A", *sparse, *paths)
            work.not_saved += _unread(work.git.said)
            return
        except GitTimeoutError:
            raise
        except GitError as error:
            found = [path for path in _blamed(error.message) if path not in work.excluded]
            found = found or [path for path in _repositories(work.git.folder) if path not in work.excluded]
            if len(work.excluded) >= MAX_NESTED:
                raise
            if not found:
                _add_each(work)
                return
            work.excluded += found


def _unread(said: str) -> list[str]:
    """The folders that git says it could not look into: it goes on without them."""
    before, behind = "warning: could not open directory '", "': "
    return [
        line[len(before) :].rpartition(behind)[0].rstrip("/")
        for line in said.split("\n")
        if line.startswith(before)
    ]


def _add_each(work: _Work) -> None:
    """Adds what changed in ever smaller lots, until the files that git does not take are alone, for whatever reason."""
    left_out = {os.fsencode(path) for path in work.excluded}
    listed = work.git.run("ls-files", "-m", "-d", "-o", "--exclude-standard", "-z")[1].split(b"\0")
    lots = [
        [path for path in dict.fromkeys(name.rstrip(b"/") for name in listed if name) if path not in left_out]
    ]
    while lots:
        lot = lots.pop()
        try:
            if lot:
                data = b"\0".join(lot) + b"\0"
                work.git.patient("update-index", "--add", "--remove", "--replace", "-z", "--stdin", data=data)
        except GitTimeoutError:
            raise
        except GitError:
            half = len(lot) // 2
            if half:
                lots += [lot[half:], lot[:half]]
                continue
            work.excluded.append(os.fsdecode(lot[0]))
            if len(work.excluded) > MAX_NESTED:
                raise
    # A name that git never takes is passed over in silence.
    for name in work.git.names("ls-files", "-o", "--exclude-standard", "-z"):
        if name.rstrip("/") not in work.excluded:
            work.excluded.append(name.rstrip("/"))
    work.not_saved += _unread(work.git.said)


_BLAMES = (
    ("error: '", "' does not have a commit checked out"),
    ('error: open("', '"): '),
    ("error: unable to index file '", "'"),
    ('error: readlink("', '"): '),
)


def _blamed(message: str) -> list[str]:
    """The paths that `git add` says it cannot take."""
    found = []
    for line in message.split("\n"):
        for before, behind in _BLAMES:
            if line.startswith(before) and behind in line[len(before) :]:
                found.append(line[len(before) :].rpartition(behind)[0].rstrip("/"))
    return found


def _repositories(top: str) -> Iterator[str]:
    """Every folder below that holds a repository, relative to `top`: any of them may be the broken one."""
    for folder, folders, files in os.walk(top):
        if folder != top and (".git" in folders or ".git" in files):
            yield os.path.relpath(folder, top)
            folders.clear()
        elif ".git" in folders:
            folders.remove(".git")


def _nested(work: _Work, git: Git, name: str | None, depth: int) -> tuple[Nested, ...]:
    """Snapshots of the repositories inside the work tree."""
    paths = list(work.excluded)
    for line in work.git.run("ls-files", "-s", "-z")[1].split(b"\0"):
        if line.startswith(b"160000 "):
            paths.append(os.fsdecode(line.partition(b"\t")[2]))
    found: list[Nested] = []
    for path in dict.fromkeys(paths):
        inside = os.path.join(git.folder, path)
        if not os.path.lexists(os.path.join(inside, ".git")):
            if path in work.excluded:
                work.not_saved.append(path)
            continue  # a submodule that was never filled
        below = work_tree(inside)
        if below is None or os.path.realpath(below.folder) != os.path.realpath(inside) or depth >= MAX_DEPTH:
            work.not_saved.append(path)
            continue
        store = None if work.store is None else f"{work.store}-{len(found)}"
        try:
            found.append(Nested(path, take(below, name, store=store, depth=depth + 1)))
        except SnapshotError:
            work.not_saved.append(path)
    return tuple(found)


_IDENTITY = {
    "GIT_AUTHOR_NAME": "shellguard",
    "GIT_AUTHOR_EMAIL": "shellguard@localhost",
    "GIT_COMMITTER_NAME": "shellguard",
    "GIT_COMMITTER_EMAIL": "shellguard@localhost",
}


def _commit(git: Git, tree: str, index_tree: str | None, head: str | None, raw: str | None) -> str:
    """A commit of the tree whose parents are the head and, where there are such, what is staged and the raw files."""
    git = git.having(**_IDENTITY)
    below = ["-p", head] if head else []
    parents = list(below)
    if index_tree is not None and index_tree != tree:
        parents += ["-p", git.text("commit-tree", index_tree, *below, "-m", "shellguard: what is staged")]
    if raw is not None:
        parents += ["-p", git.text("commit-tree", raw, *below, "-m", "shellguard: files as they lie there")]
    return git.text("commit-tree", tree, *parents, "-m", "shellguard: work in progress")


# --- back again -------------------------------------------------------------------------------------------------------


def git_of(snapshot: Snapshot, folder: str | None = None) -> Git:
    """git where the objects of a snapshot can be read."""
    git = Git(snapshot.top if folder is None else folder)
    if snapshot.store is None:
        return git
    others = os.pathsep.join((snapshot.store, git.path("objects")))
    return git.having(GIT_ALTERNATE_OBJECT_DIRECTORIES=others)


def restore_into(snapshot: Snapshot, folder: str) -> None:
    """Writes all files of a snapshot below `folder`, which must be empty or missing; nested repositories as folders.

    Raises: SnapshotError.
    """
    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise SnapshotError(f"{folder} is there and not empty")
    os.makedirs(folder, exist_ok=True)
    for below, part in snapshot.parts():
        target = os.path.join(os.path.abspath(folder), below)
        os.makedirs(target, exist_ok=True)
        _write_files(part, target)


def _write_files(snapshot: Snapshot, folder: str) -> None:
    git = git_of(snapshot)
    try:
        with _scratch(git, snapshot.store) as scratch:
            git = git.having(GIT_INDEX_FILE=os.path.join(scratch, "index"), GIT_WORK_TREE=folder)
            git = git.having(GIT_DIR=git_directory(snapshot.top))
            git.folder = folder
            git.run("read-tree", snapshot.tree)
            git.patient("checkout-index", "-a", "-f", "-q")
            if snapshot.raw is not None:
                exact.put_all(git, git, snapshot.raw)
    except (GitError, OSError) as error:
        raise SnapshotError(f"{folder} cannot be filled: {error}") from error


def git_directory(top: str) -> str:
    """The git directory of a work tree, absolute."""
    return os.path.join(top, Git(top).text("rev-parse", "--absolute-git-dir"))


def restore_here(snapshot: Snapshot) -> None:
    """Makes the work tree what the snapshot says. What is there now should be saved first (`take`).

    Files that the snapshot does not know are removed, but for ignored ones. The index stays as it is.
    Raises: SnapshotError where something that is not in the snapshot of now is in the way; that stays.
    """
    for below, part in snapshot.parts():
        top = os.path.join(snapshot.top, below)
        git = work_tree(top)
        if git is None or os.path.realpath(git.folder) != os.path.realpath(top):
            raise SnapshotError(f"{top} is no work tree any more: use --into")
        _restore_one(part, git)


def _restore_one(snapshot: Snapshot, git: Git) -> None:
    with tempfile.TemporaryDirectory(prefix="shellguard-", ignore_cleanup_errors=True) as objects:
        now = take(git, store=os.path.join(objects, "objects"))
        stores = [each for each in (now.store, snapshot.store) if each is not None]
        others = os.pathsep.join((*stores, git.path("objects")))
        _change(snapshot, now, git, git.having(GIT_ALTERNATE_OBJECT_DIRECTORIES=others))


def _change(snapshot: Snapshot, now: Snapshot, git: Git, source: Git) -> None:
    try:
        removed = _names_only_in(source, now.tree, snapshot.tree)
        with _scratch(git, snapshot.store) as scratch:
            other = source.having(GIT_INDEX_FILE=os.path.join(scratch, "index"))
            other.run("read-tree", now.tree)
            other.run("update-index", "-q", "--refresh", statuses=(0, 1))
            changed = _names_only_in(source, snapshot.tree, now.tree, modified=True)
            raw = list(exact.entries(source, snapshot.raw)) if snapshot.raw else []
            if now.raw is not None:
                changed += _no_more_apart(source, now.raw, snapshot.tree, {path for _, _, path in raw})
            _refuse_unsaved(git, now, changed)
            other.run("read-tree", snapshot.tree)
            for path in removed:
                _remove(git.folder, path)
            for path in changed:
                _make_way(git.folder, path)
            data = b"".join(os.fsencode(path) + b"\0" for path in changed)
            other.patient("checkout-index", "-f", "-q", "-z", "--stdin", data=data)
            if snapshot.raw is not None:
                exact.put_all(git, source, snapshot.raw)
    except (GitError, OSError) as error:
        raise SnapshotError(f"{git.folder} cannot be put back: {error}") from error


def _no_more_apart(git: Git, raw: str, tree: str, wanted: set[str]) -> list[str]:
    """The files of a tree that lie there otherwise than git would write them, and did not then."""
    known = {path for _, _, path in exact.entries(git, tree)}
    return [path for _, _, path in exact.entries(git, raw) if path in known and path not in wanted]


def _refuse_unsaved(git: Git, now: Snapshot, changed: list[str]) -> None:
    """Nothing is written over a file that no snapshot holds: one that is ignored by now, or cannot be saved."""
    there = [path for path in changed if exact.mode_of(os.path.join(git.folder, path)) is not None]
    if not there:
        return
    saved = {path for _, _, path in exact.entries(git_of(now, git.folder), now.tree)}
    for path in there:
        if path not in saved:
            raise SnapshotError(
                f"{os.path.join(git.folder, path)} is in the way: it is ignored, or cannot be saved"
            )


def _names_only_in(git: Git, first: str, second: str, *, modified: bool = False) -> list[str]:
    """The files (no repositories) of one tree that the other lacks; with `modified`, also those it has otherwise."""
    found = []
    output = git.run("diff-tree", "-r", "-z", "--no-renames", second, first)[1].split(b"\0")
    for entry, name in zip(output[::2], output[1::2], strict=False):
        before, after, *_, letter = entry.decode("ascii").lstrip(":").split(" ")
        if after == "160000" or after == "000000":
            continue
        if letter == "A" or (modified and before != "160000"):
            found.append(os.fsdecode(name))
    return found


def _remove(top: str, path: str) -> None:
    """Removes a file, and the folders above it that it leaves empty."""
    full = os.path.join(top, path)
    if os.path.lexists(full) and not _is_folder(full):
        os.unlink(full)
    parent = os.path.dirname(full)
    while parent != top and parent.startswith(top):
        try:
            os.rmdir(parent)
        except OSError:
            return
        parent = os.path.dirname(parent)


def _make_way(top: str, path: str) -> None:
    """Sees to it that a file can be written: no folder in its place, no file or link in the place of a folder."""
    parts = path.split("/")
    for index in range(1, len(parts)):
        above = os.path.join(top, *parts[:index])
        if os.path.lexists(above) and not _is_folder(above):
            raise SnapshotError(f"{above} is in the way")
    full = os.path.join(top, path)
    if _is_folder(full):
        try:
            os.rmdir(full)
        except OSError:
            raise SnapshotError(f"the folder {full} is in the way") from None


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def patch(snapshot: Snapshot) -> bytes:
    """The work in progress as a binary patch against the commit below it; of a nested repository with its path."""
    found = b""
    for below, part in snapshot.parts():
        git = git_of(part)
        base = part.head or git.text("hash-object", "-t", "tree", "--stdin")
        places = [f"--src-prefix=a/{below}/", f"--dst-prefix=b/{below}/"] if below else []
        arguments = (
            "diff-tree",
            "-p",
            "--binary",
            "--full-index",
            "--no-renames",
            "--no-textconv",
            "--no-ext-diff",
        )
        found += git.run(*arguments, *places, base, part.tree)[1]
    return found


def forget(snapshot: Snapshot) -> None:
    """Lets git collect a snapshot, and those inside it."""
    for _, part in snapshot.parts():
        if part.ref is not None and part.commit is not None and os.path.isdir(part.top):
            Git(part.top).run("update-ref", "-d", part.ref, part.commit, statuses=(0, 1, 128))
        if part.store is not None:
            shutil.rmtree(part.store, ignore_errors=True)


def fresh_name() -> str:
    """A name for a snapshot that no other has."""
    return secrets.token_hex(6)
