# SPDX-License-Identifier: Apache-2.0
"""The folders of a card: where its command works, its own home, its temporary files, its log.

A workspace is of the kind that the profile says: `scratch` is an empty folder of the card, `worktree` a work tree of
the repository that the card names, `dir` the folder that the card names. All are kept between the attempts of a card.
When it is archived, what we made is removed, unless a work tree holds what nothing else has.

Making a work tree runs no program that the repository names: no hook, no filter of its own configuration, no file
system monitor, and nothing is fetched. A card that could have one run would choose what is executed.
"""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass

from shellguard import places
from shellguard.approval.git import Git, GitError
from shellguard.errors import ShellguardError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.board.model import Card

SCRATCH, WORKTREE, DIR = KINDS = ("scratch", "worktree", "dir")


class WorkspaceError(ShellguardError):
    """A card cannot have its workspace; `str()` says why and what to change."""


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of one card, absolute. Everything but a `dir` workspace lies below `top`, which is ours."""

    top: str
    workspace: str
    home: str
    tmp: str
    log: str


def root() -> str:
    """Below it each card has a folder of its own."""
    return os.path.join(places.folder("state"), "cards")


def folders_of(card: Card, kind: str) -> Folders:
    """Where the folders of a card are or will be; nothing is made.

    Raises: WorkspaceError where the card does not fit the kind.
    """
    top = _top(card.id)
    if kind not in KINDS:
        raise WorkspaceError(f"there is no workspace of the kind {kind!r}, only {', '.join(KINDS)}")
    for name, given, its in (("--workspace", card.workspace, DIR), ("--repo", card.repo, WORKTREE)):
        if given is not None and kind != its:
            raise WorkspaceError(
                f"the card names a folder by {name}, but its profile says `workspace: {kind}`: "
                f"leave it out, or say `workspace: {its}` in the profile"
            )
        if given is None and kind == its:
            raise WorkspaceError(f"the profile says `workspace: {kind}`, so the card needs {name} FOLDER")
        if given is not None and (not os.path.isabs(given) or "\0" in given):
            raise WorkspaceError(f"{name} is no absolute path: {given!r}")
    workspace = os.path.realpath(card.workspace) if card.workspace is not None else os.path.join(top, "work")
    return Folders(
        top, workspace, os.path.join(top, "home"), os.path.join(top, "tmp"), os.path.join(top, "log")
    )


def prepare(card: Card, kind: str) -> Folders:
    """Makes what is missing of the folders of a card. Raises: WorkspaceError."""
    found = folders_of(card, kind)
    try:
        for folder in (root(), found.top, found.home, found.tmp):
            _make(folder)
        if kind == SCRATCH:
            _make(found.workspace)
        elif kind == DIR:
            if not os.path.isdir(found.workspace):
                raise WorkspaceError(f"{card.workspace!r} is no folder: make it, then retry the card")
        else:
            _make_worktree(card, found.workspace)
    except OSError as error:
        raise WorkspaceError(f"{error.filename or found.top}: {error.strerror or error}") from error
    return found


def remove(card: Card) -> str | None:
    """Removes what was made for a card; None when all of it is gone, else why the workspace is kept.

    A `dir` workspace is not ours. A work tree with changes, untracked files, or commits that no branch, tag or
    remote has is kept; ignored files go. The log stays.
    """
    top = _top(card.id)
    work = os.path.join(top, "work")
    if os.path.islink(top) or not os.path.isdir(top):
        return None
    if card.repo is not None and os.path.exists(f"{work}.made"):
        kept = _remove_worktree(card.repo, work)
        if kept is not None:
            return kept
    names = ("work", "work.made", "home", "tmp")
    for name in names:
        _remove_tree(os.path.join(top, name))
    left = [name for name in names if os.path.lexists(os.path.join(top, name))]
    return f"{os.path.join(top, left[0])} cannot be removed" if left else None


def _top(card: str) -> str:
    if (
        not card
        or card.startswith(".")
        or not all(char.isascii() and (char.isalnum() or char in "-_") for char in card)
    ):
        raise WorkspaceError(f"{card!r} is no id of a card")
    return os.path.join(root(), card)


def _make(folder: str) -> None:
    """Makes a folder for this user alone. One that is there must be ours, and no link that somebody laid."""
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not stat.S_ISDIR(os.lstat(folder).st_mode) or not places.is_ours(folder):
            raise WorkspaceError(
                f"{folder} is no folder of ours: move it away, then retry the card"
            ) from None


def _git(folder: str) -> Git:
    """git that runs nothing which the repository names, as far as checking out goes."""
    git = Git(folder, {"GIT_NO_LAZY_FETCH": "1", "GIT_LFS_SKIP_SMUDGE": "1", "GIT_ATTR_NOSYSTEM": "1"})
    git.settings = ("-c", "protocol.allow=never", "-c", "submodule.recurse=false", "-c", "core.askPass=true")
    scopes = ["--local"]
    if git.asks("config", "--type=bool", "--get", "extensions.worktreeConfig") == "true":
        scopes.append("--worktree")
    for scope in scopes:
        listed = git.run("config", scope, "--includes", "--name-only", "-z", "--list", statuses=range(256))[1]
        for entry in listed.split(b"\0"):
            name = os.fsdecode(entry)
            section, _, rest = name.partition(".")
            driver, _, key = rest.rpartition(".")
            if section.lower() == "filter" and driver and key in ("smudge", "process", "clean"):
                if "=" in driver:
                    raise WorkspaceError(f"the repository has a filter whose name holds `=`: {driver!r}")
                git.settings += ("-c", f"filter.{driver}.{key}=", "-c", f"filter.{driver}.required=false")
    return git


def _make_worktree(card: Card, work: str) -> None:
    assert card.repo is not None
    if not os.path.isdir(card.repo):
        raise WorkspaceError(f"{card.repo!r} is no folder: name a repository, then retry the card")
    try:
        git = _git(card.repo)
        if git.asks("rev-parse", "--git-dir") is None:
            raise WorkspaceError(f"{card.repo!r} is no git repository: name one, then retry the card")
        made = f"{work}.made"
        if os.path.exists(made):
            if os.path.islink(work) or not _is_worktree_of(git, work):
                raise WorkspaceError(
                    f"{work} is no work tree of {card.repo!r} any more: archive the card, or remove {made}"
                )
            return
        # Nothing has worked yet in one that was not finished: its dispatcher was killed over it.
        _remove_tree(work)
        git.run("worktree", "prune")
        git.run("worktree", "add", "--quiet", "--force", "--detach", work, "HEAD")
        places.write_private(made, b"")
    except GitError as error:
        raise WorkspaceError(f"{card.repo}: {error}") from error


def _is_worktree_of(git: Git, work: str) -> bool:
    listed = git.run("worktree", "list", "--porcelain", "-z", statuses=range(256))[1].split(b"\0")
    known = {os.path.realpath(os.fsdecode(line[9:])) for line in listed if line.startswith(b"worktree ")}
    return os.path.realpath(work) in known


def _remove_worktree(repo: str, work: str) -> str | None:
    """Removes a work tree, or says what it holds that would be lost."""
    if not os.path.isdir(work) or not os.path.isdir(repo):
        return None if not os.path.lexists(work) else f"{repo}, whose work tree {work} is, is gone"
    try:
        git = _git(work)
        if git.run("status", "--porcelain", "-z", "--untracked-files=normal")[1]:
            return f"{work} has changes that are not committed"
        if git.head() is not None and git.text(
            "rev-list", "-n", "1", "HEAD", "--not", "--branches", "--tags", "--remotes"
        ):
            return f"{work} has commits that no branch has"
        Git(repo).run("worktree", "remove", "--force", work)
    except GitError as error:
        return f"{work}: {error}"
    return None


def _remove_tree(folder: str) -> None:
    """Removes a folder with all below it, following no link; a folder that its maker closed is opened for it."""
    if not os.path.isdir(folder) or os.path.islink(folder):
        if os.path.lexists(folder):
            os.unlink(folder)
        return
    for path, names, _ in os.walk(folder):
        for name in names:
            below = os.path.join(path, name)
            if not os.path.islink(below):
                os.chmod(below, 0o700)
    shutil.rmtree(folder, ignore_errors=True)
