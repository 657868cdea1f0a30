# SPDX-License-Identifier: Apache-2.0
"""Which file a worker's first word means: found on a search path of ours, frozen by identity, compared before it runs.

A name is never looked for in the current folder, in the workspace, or in a folder where somebody else can put a file.
Every link on the way is followed by hand, and each is frozen as well; so is the interpreter of a script, and what `env`
in such a line would find. What a program does once it runs is its own matter.
Source: execve(2) (interpreter lines), path_resolution(7), env(1); tried on Linux.
"""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass

from shellguard.errors import ShellguardError
from shellguard.workers import keeper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

MAX_LINKS = 40
"""As many as Linux follows."""

MAX_INTERPRETERS = 4
"""Scripts whose interpreter is a script again; Linux gives up at about the same depth."""

LINE_BYTES = 256
"""What Linux reads of an interpreter line; what is longer is cut there, so it is refused here."""

SEARCH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""Where a profile that says nothing is looked up, as far as these are folders that nobody else can write to."""

WINDOWS_ENDINGS = (".COM", ".EXE")
"""What is run on Windows. PATHEXT is not asked, and batch files are refused: cmd.exe reads their arguments again."""


class TrustError(ShellguardError):
    """The program of a worker cannot be trusted, or is not there. `str()` says why, and what to change."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """What is executed: `argv` with an absolute first word, and every `file` and link that leads there.

    Each is a dict {path, kind, dev, inode, mode, owner, mtime_ns, size, sha256}; `kind` is `file` or `link`.
    """

    argv: tuple[str, ...]
    files: tuple[dict[str, Any], ...]
    search: tuple[str, ...] = ()

    def as_object(self) -> dict[str, Any]:
        """What stands in the row of the run."""
        return {"argv": list(self.argv), "files": list(self.files), "search": list(self.search)}

    @classmethod
    def from_object(cls, value: dict[str, Any]) -> Frozen:
        """What `as_object` wrote. Raises: TrustError for anything else."""
        try:
            argv = tuple(str(word) for word in value["argv"])
            files = tuple({str(key): item for key, item in each.items()} for each in value["files"])
            search = tuple(str(folder) for folder in value["search"])
        except (KeyError, TypeError, AttributeError) as error:
            raise TrustError(f"the run does not say what it executes: {error}") from error
        if not argv or not os.path.isabs(argv[0]) or not (files or sys.platform == "win32"):
            raise TrustError("the run does not say what it executes")
        return cls(argv, files, search)


def default_search() -> tuple[str, ...]:
    """The folders of `SEARCH` that are there and that nobody else can write to."""
    if sys.platform == "win32":
        root = os.environ.get("SYSTEMROOT", r"C:\Windows")
        return (os.path.join(root, "System32"), root)
    found = []
    for folder in SEARCH:
        try:
            _check_folder(folder, None)
        except TrustError:
            continue
        found.append(folder)
    return tuple(found)


def resolve(argv: Sequence[str], search: Sequence[str] | None, *, workspace: str | None) -> Frozen:
    """The program that `argv` means, frozen. `search`: the trusted path; None for the default one.

    Raises: TrustError.
    """
    folders = default_search() if search is None else tuple(search)
    if not argv or not argv[0]:
        raise TrustError("there is no command")
    if any("\0" in word for word in argv):
        raise TrustError("a word of the command holds a NUL")
    if sys.platform == "win32":
        return Frozen((on_windows(argv[0], folders, workspace), *argv[1:]), (), folders)
    inside = None if workspace is None else os.path.realpath(workspace)
    for folder in folders:
        _check_folder(folder, inside)
    search_for = _Search(folders, inside)
    try:
        path = search_for.found(argv[0])
        search_for.add(path)
    except OSError as error:
        raise TrustError(f"{argv[0]}: {error.strerror}") from error
    return Frozen((path, *argv[1:]), tuple(search_for.seen.values()), folders)


def check(frozen: Frozen, *, workspace: str | None = None) -> None:
    """Looks at everything once more: the folders, who may write, and that each file is the one that was frozen.

    The child compares the identities a last time, right before it becomes the program (`keeper.changed`).
    Raises: TrustError.
    """
    if sys.platform == "win32":
        again = on_windows(frozen.argv[0], frozen.search, workspace)
        if again != frozen.argv[0]:
            raise TrustError(f"{frozen.argv[0]}: another program has its place now")
        return
    again = resolve(frozen.argv, frozen.search, workspace=workspace)
    known = {each["path"]: each for each in frozen.files}
    for each in again.files:
        if known.get(each["path"]) != each:
            raise TrustError(f"{each['path']} is not what it was when the card was taken: it does not run")
    if again.argv[0] != frozen.argv[0] or len(known) != len(again.files):
        raise TrustError(f"{frozen.argv[0]} is not what it was when the card was taken: it does not run")


# --- one program ------------------------------------------------------------------------------------------------------


class _Search:
    """One look: what was found so far, in `seen`, by path."""

    def __init__(self, folders: Sequence[str], inside: str | None) -> None:
        self.folders, self.inside = folders, inside
        self.seen: dict[str, dict[str, Any]] = {}

    def add(self, path: str, depth: int = 0) -> None:
        """Freezes a program, the links that lead to it, and what its first line names."""
        if depth > MAX_INTERPRETERS:
            raise TrustError(f"{path} is the interpreter of a script, which is one of a script, and so on")
        real, links = _walk(path, self.inside)
        for link in links:
            self.seen.setdefault(link, keeper.identity(link))
        _check_program(real)
        self.seen.setdefault(real, keeper.identity(real))
        for program in _interpreters(path, real):
            self.add(self.found(program), depth + 1)

    def found(self, word: str) -> str:
        """The path that a word means."""
        if os.path.isabs(word):
            return word
        if "/" in word or word in (".", ".."):
            raise TrustError(
                f"{word!r} depends on the folder it is run in: write an absolute path, or a bare name"
            )
        for folder in self.folders:
            path = os.path.join(folder, word)
            try:
                status = os.stat(path)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) and status.st_mode & 0o111:
                return path
        raise TrustError(f"{word!r} is in none of {', '.join(self.folders)}")


def _check_program(real: str) -> None:
    status = os.lstat(real)
    if not stat.S_ISREG(status.st_mode):
        raise TrustError(f"{real} is no regular file")
    if not os.access(real, os.X_OK):
        raise TrustError(f"{real} may not be executed")
    if status.st_mode & stat.S_ISUID and status.st_uid != os.geteuid() and os.geteuid() != 0:
        raise TrustError(f"{real} runs as another user (set-user-ID), and could not be ended")


def _interpreters(path: str, real: str) -> list[str]:
    """What the first line of a script names: its interpreter, and behind `env` the name that it looks for."""
    with open(real, "rb") as file:
        head = file.read(LINE_BYTES)
    if not head.startswith(b"#!"):
        return []
    line, newline, _ = head[2:].partition(b"\n")
    if not newline and len(head) == LINE_BYTES:
        raise TrustError(f"{path}: its first line is longer than {LINE_BYTES} bytes")
    program, _, rest = os.fsdecode(line.strip(b" \t").replace(b"\t", b" ")).partition(" ")
    if not os.path.isabs(program):
        raise TrustError(f"{path}: its interpreter {program!r} depends on the folder it is run in")
    if "env" not in (os.path.basename(program), os.path.basename(os.path.realpath(program))):
        return [program]
    name = rest.strip(" ")
    for start in ("-S", "--split-string="):
        if name.startswith(start):
            name = name.removeprefix(start).strip(" ").partition(" ")[0]
            break
    if not name or name.startswith("-") or any(char in name for char in " =\\'\"$"):
        shown = os.fsdecode(line)
        raise TrustError(f"{path}: `#!{shown}` may run anything: put its interpreter into worker.command")
    return [program, name]


# --- the way to a file ------------------------------------------------------------------------------------------------


def _check_folder(folder: str, inside: str | None) -> None:
    """Raises: TrustError for a folder that no search path may have."""
    if not folder:
        raise TrustError("the search path has an empty part, which is the folder it is run in: leave it out")
    if not os.path.isabs(folder):
        raise TrustError(f"{folder!r} in the search path is relative: write an absolute path")
    if ":" in folder:
        raise TrustError(f"{folder!r} in the search path holds a colon")
    try:
        real, _ = _walk(folder, inside)
        if not stat.S_ISDIR(os.lstat(real).st_mode):
            raise TrustError(f"{folder} in the search path is no folder")
        _refuse_if_open(real, os.lstat(real), sticky=False)
    except FileNotFoundError as error:
        raise TrustError(f"{folder} in the search path is not there: somebody may make it") from error
    except OSError as error:
        raise TrustError(f"{folder} in the search path: {error.strerror}") from error


def _walk(path: str, inside: str | None = None) -> tuple[str, list[str]]:
    """The real path, and every link on the way, each by the folder it really lies in.

    Raises: TrustError where somebody else could lead the way elsewhere, or where it touches `inside`; OSError.
    """
    current, links = "/", []
    waiting = [part for part in path.split("/") if part not in ("", ".")]
    _refuse_if_open(current, os.lstat(current), sticky=True)
    while waiting:
        part = waiting.pop(0)
        if part == "..":
            current = os.path.dirname(current)
            continue
        candidate = os.path.join(current, part)
        if inside is not None and lies_in(candidate, inside):
            raise TrustError(f"{path} lies in the workspace, or is reached through it ({candidate})")
        status = os.lstat(candidate)
        if stat.S_ISLNK(status.st_mode):
            _refuse_if_foreign(candidate, status)
            links.append(candidate)
            if len(links) > MAX_LINKS:
                raise TrustError(f"{path}: too many links")
            target = os.readlink(candidate)
            current = "/" if target.startswith("/") else current
            waiting = [*(each for each in target.split("/") if each not in ("", ".")), *waiting]
            continue
        if stat.S_ISREG(status.st_mode):
            _refuse_if_open(candidate, status, sticky=False)
            _refuse_if_open(current, os.lstat(current), sticky=False)
        else:
            _refuse_if_open(candidate, status, sticky=True)
        current = candidate
    return current, links


def lies_in(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it. Both are real."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def refuse_if_open(path: str) -> str:
    """The real path of a file or folder that nobody else can change or replace. Raises: TrustError, OSError."""
    real, _ = _walk(path)
    _refuse_if_open(real, os.lstat(real), sticky=False)
    return real


def _refuse_if_foreign(path: str, status: os.stat_result) -> None:
    if status.st_uid not in (0, os.geteuid()):
        raise TrustError(f"{path} belongs to another user ({status.st_uid})")


def _refuse_if_open(path: str, status: os.stat_result, *, sticky: bool) -> None:
    """Raises: TrustError when somebody else may write. `sticky`: a folder of which others can only add to is fine."""
    _refuse_if_foreign(path, status)
    if sticky and stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX:
        return
    if status.st_mode & 0o002:
        raise TrustError(f"{path} may be written by everybody: chmod o-w it")
    if status.st_mode & 0o020 and not _is_own_group(path, status):
        raise TrustError(f"{path} may be written by a group: chmod g-w it")


def _is_own_group(path: str, status: os.stat_result) -> bool:
    """Whether the group of a file is the one of its owner alone, as many systems give one to each user."""
    import grp
    import pwd

    try:
        owner = pwd.getpwuid(status.st_uid)
        group = grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    if owner.pw_gid != status.st_gid or group.gr_name != owner.pw_name:
        return False
    if any(member != owner.pw_name for member in group.gr_mem):
        return False
    if any(each.pw_gid == status.st_gid and each.pw_uid != owner.pw_uid for each in pwd.getpwall()):
        return False
    # Where a file has a list of who may write, the bits of the group are its mask.
    listed = getattr(os, "listxattr", None)
    try:
        return listed is None or "system.posix_acl_access" not in listed(path, follow_symlinks=False)
    except OSError:
        return True  # a file system without such lists


# --- Windows ----------------------------------------------------------------------------------------------------------


def on_windows(
    word: str, folders: Sequence[str], workspace: str | None, is_file: Callable[[str], bool] = os.path.isfile
) -> str:
    """The program that a word means on Windows, by its path alone. Tried with a simulated file system only.

    The system would look in the current folder first, and take what PATHEXT lists: neither is asked here.
    Raises: TrustError.
    """
    import ntpath

    def is_absolute(path: str) -> bool:
        drive, rest = ntpath.splitdrive(path)
        return len(drive) == 2 and rest[:1] in ("\\", "/")  # no share of another machine, no \\?\ path

    def in_workspace(path: str) -> bool:
        if workspace is None:
            return False
        folder = ntpath.normcase(ntpath.normpath(workspace))
        return f"{ntpath.normcase(ntpath.normpath(path))}\\".startswith(folder.rstrip("\\") + "\\")

    for folder in folders:
        if not is_absolute(folder):
            raise TrustError(f"{folder!r} in the search path is empty or relative: write a drive and a path")
        if in_workspace(folder):
            raise TrustError(f"{folder} in the search path lies in the workspace")
    if any(char in word for char in '<>"|?*\0') or ":" in word[2:]:
        raise TrustError(f"{word!r} is no name of a program")
    places: Iterable[str]
    if is_absolute(word):
        places = (word,)
    elif ntpath.basename(word) == word and ":" not in word:
        places = tuple(ntpath.join(folder, word) for folder in folders)
    else:
        raise TrustError(
            f"{word!r} depends on the folder it is run in: write an absolute path, or a bare name"
        )
    for place in places:
        ending = ntpath.splitext(place)[1].upper()
        if ending in (".BAT", ".CMD"):
            raise TrustError(f"{word!r} is a batch file, whose arguments cmd.exe reads again: name a program")
        for path in (place,) if ending in WINDOWS_ENDINGS else (place + end for end in WINDOWS_ENDINGS):
            if is_file(path):
                if in_workspace(path):
                    raise TrustError(f"{path} lies in the workspace")
                return path
    raise TrustError(f"{word!r} is in none of {', '.join(folders)}")
