# SPDX-License-Identifier: Apache-2.0
"""Files that git would not give back as they are: a filter, a line-end setting or a mode setting changes them.

What `git add` makes of such a file is in the tree of a snapshot, since that is what a commit would hold; its own bytes
and mode are kept in a second tree. Source: gitattributes(5), git-config(1) core.autocrlf, core.fileMode, core.symlinks.
"""

from __future__ import annotations

import os
import stat

from shellguard import places
from shellguard.approval.git import Git, GitError, GitTimeoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ATTRIBUTES = ("text", "crlf", "eol", "filter", "ident", "working-tree-encoding")
"""Attributes that let the content of a file differ from what git keeps."""

LOT = 50
"""Objects that are read at once: they are in memory then."""

POINTER = b"version https://git-lfs.github.com/spec/"
"""What git-lfs puts in the place of a file: it keeps the file itself."""


def entries(git: Git, tree: str | None = None) -> Iterator[tuple[str, str, str]]:
    """Mode, object and path of every file that the index, or a tree, holds; neither repositories nor conflicts."""
    if tree is not None:
        for line in git.run("ls-tree", "-r", "-z", tree)[1].split(b"\0"):
            if line and not line.startswith(b"160000 "):
                mode, _, rest = line.split(b" ", 2)
                yield mode.decode(), rest[: rest.index(b"\t")].decode(), os.fsdecode(rest.partition(b"\t")[2])
        return
    for line in git.run("ls-files", "-s", "-z")[1].split(b"\0"):
        if line and not line.startswith(b"160000 "):
            mode, name, rest = line.split(b" ", 2)
            yield mode.decode(), name.decode(), os.fsdecode(rest.partition(b"\t")[2])


def kept_apart(git: Git, index: str) -> str | None:
    """A tree of all files that git might write otherwise than they lie there; None where there are none.

    `index` is the path for an index to make the tree with. Raises: GitError.
    """
    there = {path: (mode, name) for mode, name, path in entries(git)}
    converted = _converted(git, list(there))
    apart: dict[str, str] = {}
    links_are_files = git.asks("config", "--bool", "core.symlinks") == "false"
    asked: list[str] = []
    for path, (mode, _) in there.items():
        now = mode_of(os.path.join(git.folder, path))
        if now is None:
            continue
        if now != mode or (now == "120000" and links_are_files):
            apart[path] = now
        elif path in converted and now != "120000":
            asked.append(path)
    apart |= {path: there[path][0] for path in _not_pointers(git, asked, there, converted)}
    if not apart:
        return None
    links = [path for path, mode in apart.items() if mode == "120000"]
    written = _hashes(git, [path for path in apart if apart[path] != "120000"])
    for path in links:
        target = os.fsencode(os.readlink(os.path.join(git.folder, path)))
        written[path] = git.text("hash-object", "-w", "-t", "blob", "--stdin", data=target)
    lines = [f"{apart[path]} {written[path]}\t".encode() + os.fsencode(path) for path in written]
    other = git.having(GIT_INDEX_FILE=index)
    other.run("update-index", "-z", "--index-info", data=b"\0".join(lines) + b"\0")
    return other.text("write-tree")


def mode_of(path: str) -> str | None:
    """The mode that git has for what lies there; None where it is neither a file nor a link."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    if stat.S_ISLNK(mode):
        return "120000"
    if not stat.S_ISREG(mode):
        return None
    return "100755" if mode & 0o100 else "100644"


def _converted(git: Git, paths: Sequence[str]) -> dict[str, str]:
    """The files that some setting may convert, with the name of their filter."""
    found: dict[str, str] = {}
    if (git.asks("config", "core.autocrlf") or "false").lower() not in ("false", "no", "off", "0"):
        found = dict.fromkeys(paths, "")
    data = b"".join(os.fsencode(path) + b"\0" for path in paths)
    fields = git.run("check-attr", "-z", "--stdin", *ATTRIBUTES, data=data)[1].split(b"\0")
    for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
        if value not in (b"unspecified", b"unset"):
            found.setdefault(os.fsdecode(path), "")
            if name == b"filter":
                found[os.fsdecode(path)] = os.fsdecode(value)
    return found


def _hashes(git: Git, paths: Sequence[str]) -> dict[str, str]:
    """Files as they lie there, without any filter, as objects; one that cannot be read is left out."""
    if not paths:
        return {}
    data = b"".join(_quoted(os.fsencode(path)) + b"\n" for path in paths)
    try:
        names = git.text("hash-object", "-w", "--no-filters", "--stdin-paths", data=data).split("\n")
        return dict(zip(paths, names, strict=True))
    except GitTimeoutError:
        raise
    except (GitError, ValueError):
        if len(paths) == 1:
            return {}
    half = len(paths) // 2
    return _hashes(git, paths[:half]) | _hashes(git, paths[half:])


def _quoted(path: bytes) -> bytes:
    """A path as git reads it from a line: in quotes, with every odd byte in octal."""
    return b'"' + b"".join(_letter(byte) for byte in path) + b'"'


def _letter(byte: int) -> bytes:
    return bytes([byte]) if 32 <= byte < 127 and byte not in b'"\\' else b"\\%03o" % byte


def _not_pointers(
    git: Git, paths: Sequence[str], there: dict[str, tuple[str, str]], converted: dict[str, str]
) -> list[str]:
    large = [path for path in paths if converted[path] == "lfs"]
    kept = contents(git, [there[path][1] for path in large])
    pointers = {path for path, data in zip(large, kept, strict=True) if data.startswith(POINTER)}
    return [path for path in paths if path not in pointers]


def contents(git: Git, names: Sequence[str]) -> Iterator[bytes]:
    """What these objects hold, some of them at a time. Raises: GitError for one that is not there."""
    for first in range(0, len(names), LOT):
        lot = names[first : first + LOT]
        output = git.run("cat-file", "--batch", data="".join(f"{name}\n" for name in lot).encode())[1]
        at = 0
        for name in lot:
            line, _, _ = output[at : at + 200].partition(b"\n")
            words = line.split(b" ")
            if len(words) != 3 or words[1] != b"blob":
                raise GitError(("cat-file",), 1, f"{name} is no file")
            at += len(line) + 1
            yield output[at : at + int(words[2])]
            at += int(words[2]) + 1


def put_all(git: Git, source: Git, tree: str) -> None:
    """Writes every file of the second tree where it was. Raises: GitError, OSError."""
    found = list(entries(source, tree))
    for (mode, _, path), data in zip(found, contents(source, [name for _, name, _ in found]), strict=True):
        _put(git, mode, data, path)


def _put(git: Git, mode: str, data: bytes, path: str) -> None:
    full = os.path.join(git.folder, path)
    if mode_of(full) == mode and mode != "120000":
        with open(full, "rb") as file:
            if file.read() == data:
                return
    os.makedirs(os.path.dirname(full), exist_ok=True)
    part = os.path.join(os.path.dirname(full), f".shellguard-{os.getpid()}.part")
    try:
        if mode == "120000":
            os.symlink(os.fsdecode(data), part)
        else:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | places.BINARY, 0o666)
            with open(descriptor, "wb") as file:
                file.write(data)
            if mode == "100755":
                os.chmod(part, os.stat(part).st_mode | (0o111 & os.stat(part).st_mode >> 2) | 0o100)
        os.replace(part, full)
    except BaseException:
        if os.path.lexists(part):
            os.unlink(part)
        raise
