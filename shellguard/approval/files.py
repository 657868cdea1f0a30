# SPDX-License-Identifier: Apache-2.0
"""Work in progress outside of git: a list of all files, and a tar of those that changed since the first one.

The first snapshot of a folder holds everything, the later ones what is not as it was then. Files that are no files,
links or folders are named as not saved, and so is what is beyond `MAX_BYTES` and `MAX_FILES`.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import tarfile
from dataclasses import dataclass
from hashlib import sha256

from shellguard import places
from shellguard.approval.snapshot import SnapshotError

MAX_FILES = 100_000
MAX_BYTES = 2_000_000_000

FOLDER = "checkpoints"
"""The folder for them in the state folder of the user."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One path: `kind` is `file`, `link` or `folder`, `mode` its permissions, `content` a hash, or what a link says."""

    kind: str
    mode: int
    content: str


@dataclass(frozen=True, slots=True)
class FilesSnapshot:
    """What a folder holds. `tree` is a hash of the list; `archive` the tar, `base` the one of the first snapshot."""

    top: str
    tree: str
    archive: str
    base: str
    not_saved: tuple[str, ...] = ()


def folder_for(top: str) -> str:
    """Where the snapshots of a folder are kept: named after a hash of its path."""
    name = sha256(os.fsencode(os.path.realpath(top))).hexdigest()[:24]
    return os.path.join(places.folder("state"), FOLDER, name)


def listing(top: str) -> tuple[dict[str, Entry], list[str]]:
    """Every path below a folder, relative to it, and those that cannot be saved."""
    found: dict[str, Entry] = {}
    left_out: list[str] = []
    size = 0
    own = os.path.realpath(places.folder("state"))
    for folder, folders, files in os.walk(top, onerror=lambda error: left_out.append(str(error.filename))):
        folders[:] = [name for name in sorted(folders) if os.path.realpath(os.path.join(folder, name)) != own]
        for name in [*folders, *sorted(files)]:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, top)
            try:
                status = os.lstat(path)
                size += status.st_size if stat.S_ISREG(status.st_mode) else 0
                entry = None if len(found) >= MAX_FILES or size > MAX_BYTES else _entry(path, status)
            except OSError:
                entry = None
            if entry is None:
                left_out.append(relative)
            else:
                found[relative] = entry
    return found, left_out


def _entry(path: str, status: os.stat_result) -> Entry | None:
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return Entry("link", 0o777, os.readlink(path))
    if stat.S_ISDIR(status.st_mode):
        return Entry("folder", mode, "")
    if not stat.S_ISREG(status.st_mode):
        return None
    digest = sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return Entry("file", mode, digest.hexdigest())


def tree_of(entries: dict[str, Entry]) -> str:
    """A hash of a listing: equal for equal names, kinds, modes and contents."""
    digest = sha256()
    for path, entry in sorted(entries.items()):
        for part in (path, entry.kind, oct(entry.mode), entry.content):
            digest.update(os.fsencode(part) + b"\0")
    return f"files:{digest.hexdigest()}"


def take(top: str, name: str, folder: str | None = None) -> FilesSnapshot:
    """Saves a folder. Raises: SnapshotError."""
    where = folder_for(top) if folder is None else folder
    if not os.path.isdir(top):
        raise SnapshotError(f"{top} is no folder")
    try:
        os.makedirs(where, mode=0o700, exist_ok=True)
        entries, left_out = listing(top)
        base = os.path.join(where, "base.tar")
        known = _list_in(base) if os.path.exists(base) else {}
        archive = os.path.join(where, f"{name}.tar") if known else base
        changed = [path for path, entry in entries.items() if known.get(path) != entry]
        _write(archive, top, entries, changed)
    except (OSError, tarfile.TarError) as error:
        raise SnapshotError(f"work in progress cannot be saved: {error}") from error
    return FilesSnapshot(top, tree_of(entries), archive, base, tuple(left_out))


def tree_now(top: str) -> str:
    """The hash of what a folder holds now."""
    return tree_of(listing(top)[0])


_LIST = "shellguard-list.json"
"""The member of each tar that lists all paths. The others lie below `files/`."""


def _write(archive: str, top: str, entries: dict[str, Entry], changed: list[str]) -> None:
    part = f"{archive}.{os.getpid()}.part"
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | places.BINARY, 0o600)
        with open(descriptor, "wb") as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
                listed = {path: [entry.kind, entry.mode, entry.content] for path, entry in entries.items()}
                data = json.dumps(listed).encode()
                member = tarfile.TarInfo(_LIST)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
                for path in changed:
                    tar.add(os.path.join(top, path), f"files/{path}", recursive=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, archive)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


def _list_in(archive: str) -> dict[str, Entry]:
    with tarfile.open(archive) as tar:
        file = tar.extractfile(_LIST)
        assert file is not None
        return {path: Entry(*entry) for path, entry in json.load(file).items()}


def restore(snapshot: FilesSnapshot, folder: str, *, here: bool = False) -> None:
    """Writes what a snapshot holds below `folder`. `here`: what it does not know there is removed.

    Raises: SnapshotError.
    """
    try:
        wanted = _list_in(snapshot.archive)
        os.makedirs(folder, exist_ok=True)
        there = listing(folder)[0]
        if there and not here:
            raise SnapshotError(f"{folder} is there and not empty")
        for path, entry in sorted(there.items(), reverse=True):
            known = wanted.get(path)
            if known is None or known.kind != entry.kind or (known != entry and entry.kind != "folder"):
                _remove(os.path.join(folder, path), entry)
        archives = list(dict.fromkeys((snapshot.archive, snapshot.base)))
        missing = {path for path, entry in wanted.items() if there.get(path) != entry}
        for archive in archives:
            _extract(archive, folder, wanted, missing)
        if missing:
            raise SnapshotError(f"the snapshot lacks {sorted(missing)[0]}")
        for path, entry in sorted(wanted.items(), reverse=True):
            if entry.kind == "folder":
                os.chmod(os.path.join(folder, path), entry.mode)
    except (OSError, tarfile.TarError, KeyError) as error:
        raise SnapshotError(f"{folder} cannot be filled: {error}") from error


def _remove(path: str, entry: Entry) -> None:
    if entry.kind == "folder":
        os.rmdir(path)
    else:
        os.unlink(path)


def _extract(archive: str, folder: str, wanted: dict[str, Entry], missing: set[str]) -> None:
    """Takes out of a tar what is missing and has the wanted content there."""
    listed = _list_in(archive)
    with tarfile.open(archive) as tar:
        members = {member.name: member for member in tar.getmembers()}
        for path in sorted(missing):
            entry = wanted[path]
            member = members.get(f"files/{path}")
            if member is None or listed.get(path) != entry:
                continue
            target = os.path.join(folder, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if entry.kind == "folder":
                os.makedirs(target, exist_ok=True)
            elif entry.kind == "link":
                os.symlink(entry.content, target)
            else:
                source = tar.extractfile(member)
                assert source is not None
                with open(target, "xb") as file:
                    shutil.copyfileobj(source, file)
                os.chmod(target, entry.mode)
            missing.discard(path)


def forget(snapshot: FilesSnapshot) -> None:
    """Removes the tar of a snapshot; the first one stays as long as others need it."""
    if snapshot.archive != snapshot.base and os.path.exists(snapshot.archive):
        os.unlink(snapshot.archive)
