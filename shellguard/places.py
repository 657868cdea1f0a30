# SPDX-License-Identifier: Apache-2.0
"""Where shellguard keeps files of its own. `docs/files.md` lists what lies there.

`SHELLGUARD_HOME` moves all of it. Else the folders are those that platformdirs names, worked out by hand: importing it
costs more than a whole hook call, and a test compares the two.
"""

from __future__ import annotations

import os
import sys

_XDG = {
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "config": ("XDG_CONFIG_HOME", ".config"),
    "state": ("XDG_STATE_HOME", ".local/state"),
}
_MAC = {
    "cache": "Library/Caches",
    "config": "Library/Application Support",
    "state": "Library/Application Support",
}


def folder(kind: str) -> str:
    """The folder for `cache`, `config` or `state`: an absolute path, not made and not looked at."""
    home = os.environ.get("SHELLGUARD_HOME")
    if home:
        return os.path.join(os.path.abspath(home), kind)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
        return (
            os.path.join(base, "shellguard", "Cache") if kind == "cache" else os.path.join(base, "shellguard")
        )
    if sys.platform == "darwin":
        return os.path.join(os.path.expanduser("~"), _MAC[kind], "shellguard")
    variable, below = _XDG[kind]
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), below)
    return os.path.join(base, "shellguard")


BINARY: int = getattr(os, "O_BINARY", 0)
"""For `os.open`: Windows would put a carriage return before each byte that is a line feed, and take it out again."""


def is_ours(path: str) -> bool:
    """Whether a file or folder belongs to this user and nobody else may write to it. False when it is not there."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if sys.platform == "win32":
        return True  # the folders above lie in the user's profile, which Windows keeps for the user
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def write_private(path: str, data: bytes) -> None:
    """Writes a file so that readers see the old one or the new one, never a part; only this user may read it.

    Makes the folders above it, for this user alone. Raises OSError when it cannot.
    """
    parent = os.path.dirname(path)
    os.makedirs(parent, mode=0o700, exist_ok=True)
    part = f"{path}.{os.getpid()}.part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError:
        os.unlink(part)
        raise
