# SPDX-License-Identifier: Apache-2.0
"""Where checkpoints and requests are kept: below the git directory, never in the work tree; else in the user's state.

Each is one JSON file that is written beside its place and moved there. Names count up, so that their order does not
depend on a clock.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager

from shellguard import places
from shellguard.approval.files import folder_for
from shellguard.approval.git import GitError, work_tree
from shellguard.errors import ShellguardError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class StoreError(ShellguardError):
    """A checkpoint or request cannot be read or written. `str()` says which, and why."""


class Store:
    """The folder of one work tree. `other` is the one that is used where it cannot be written."""

    def __init__(self, folder: str, other: str | None = None) -> None:
        self.folder, self.other = folder, other

    @classmethod
    def of(cls, folder: str) -> Store:
        """The store of the work tree, or of the folder, that `folder` lies in."""
        git = work_tree(folder)
        if git is None:
            return cls(folder_for(os.path.abspath(folder)))
        try:
            return cls(git.path("shellguard"), folder_for(git.folder))
        except GitError as error:
            raise StoreError(str(error)) from error

    def folders(self) -> list[str]:
        """The folders in which something may lie."""
        return [self.folder] if self.other is None else [self.folder, self.other]

    def write(self, kind: str, name: str, value: dict[str, Any]) -> str:
        """Writes one file and gives back its path. Raises: StoreError when no folder takes it."""
        data = json.dumps(value, indent=1, sort_keys=True).encode() + b"\n"
        problems = []
        folders = [folder for folder in self.folders() if os.path.exists(self._path(folder, kind, name))]
        for folder in [*folders, *(each for each in self.folders() if each not in folders)]:
            path = self._path(folder, kind, name)
            if self.other not in (None, folder) and not os.path.isdir(os.path.dirname(folder)):
                problems.append(f"{os.path.dirname(folder)} is gone")
                continue
            try:
                places.write_private(path, data)
                _sync(os.path.dirname(path))
                return path
            except OSError as error:
                problems.append(f"{path}: {error.strerror or error}")
        raise StoreError("; ".join(problems))

    def fresh(self, kind: str) -> str:
        """A name that comes behind all others of its kind."""
        last = max((int(name.partition("-")[0]) for name in self.names(kind)), default=0)
        return f"{last + 1:06}-{os.urandom(3).hex()}"

    def names(self, kind: str) -> list[str]:
        """The names of all files of a kind, oldest first."""
        found: set[str] = set()
        for folder in self.folders():
            try:
                entries = os.listdir(os.path.join(folder, kind))
            except OSError:
                continue
            found |= {
                entry.removesuffix(".json")
                for entry in entries
                if entry.endswith(".json")
                and entry.partition("-")[0].isascii()
                and entry.partition("-")[0].isdigit()
            }
        return sorted(found, key=lambda name: (int(name.partition("-")[0]), name))

    def read(self, kind: str, name: str) -> dict[str, Any]:
        """What a file says. Raises: StoreError."""
        problem = "there is none"
        for folder in self.folders():
            path = self._path(folder, kind, name)
            try:
                with open(path, "rb") as file:
                    value = json.loads(file.read())
                if isinstance(value, dict):
                    return value
                problem = f"{path} holds no object"
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                problem = f"{path} cannot be read: {error}"
        raise StoreError(f"{kind} {name}: {problem}")

    def all(self, kind: str) -> list[dict[str, Any]]:
        """Everything of a kind that can be read, oldest first."""
        found = []
        for name in self.names(kind):
            try:
                found.append(self.read(kind, name))
            except StoreError:
                continue  # a file that was damaged from outside; those who ask for it by name are told
        return found

    def remove(self, kind: str, name: str) -> None:
        """Removes a file, if it is there."""
        for folder in self.folders():
            try:
                os.unlink(self._path(folder, kind, name))
            except OSError:
                continue

    @staticmethod
    def _path(folder: str, kind: str, name: str) -> str:
        if "/" in name or os.sep in name or name.startswith("."):
            raise StoreError(f"{name!r} is no name")
        return os.path.join(folder, kind, f"{name}.json")

    @contextmanager
    def lock(self, name: str) -> Iterator[bool]:
        """Holds a lock of this store; False when another process does. It goes with the process that holds it."""
        descriptor = None
        for folder in self.folders():
            try:
                os.makedirs(folder, mode=0o700, exist_ok=True)
                descriptor = os.open(os.path.join(folder, f"{name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
                break
            except OSError:
                continue
        if descriptor is None:
            raise StoreError(f"{self.folder}: no lock can be made there")
        try:
            yield locked(descriptor)
        finally:
            os.close(descriptor)


def locked(descriptor: int) -> bool:
    """Takes the lock of an open file; False when another process holds it. It goes with the descriptor."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sync(folder: str) -> None:
    """Makes a rename last through a power cut, where the system knows how."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
