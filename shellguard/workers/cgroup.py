# SPDX-License-Identifier: Apache-2.0
"""A cgroup for a run, where the system has given us one to divide: what is in it is ended whoever its parent is.

A worker cannot leave it without the right to write elsewhere in the hierarchy. It is made below the cgroup that the
supervisor is in, where that is delegated (systemd: `Delegate=yes`); where it is not, there is none, and the keeper does
without. The keeper puts the worker in before it runs, and removes it at the end.
Source: cgroups(7), Documentation/admin-guide/cgroup-v2.rst (cgroup.kill, since Linux 5.14).
"""

from __future__ import annotations

import contextlib
import os
import re

from shellguard.workers import keeper

PREFIX = "shellguard-"


def of_process(proc: str = "/proc/self") -> str | None:
    """The folder of the cgroup (version 2) that a process is in; None where there is none that can be seen."""
    try:
        with open(f"{proc}/cgroup", encoding="utf-8") as file:
            inside = [line.rstrip("\n")[3:] for line in file if line.startswith("0::/")]
        with open(f"{proc}/mounts", encoding="utf-8") as file:
            mounts = [line.split(" ") for line in file]
    except (OSError, UnicodeDecodeError):
        return None
    tops = [_plain(words[1]) for words in mounts if len(words) > 2 and words[2] == "cgroup2"]
    if not inside or not tops or ".." in inside[0].split("/"):
        return None
    return os.path.normpath(f"{tops[0]}/{inside[0]}")


def _plain(text: str) -> str:
    """A path as /proc/mounts writes it. Source: getmntent(3)."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def make(run: str, above: str | None = None) -> str | None:
    """Makes the cgroup of a run and gives back its folder; None where none is delegated, or it cannot end all in it.

    `above`: the cgroup to divide, that of this process when it is not given.
    """
    parent = of_process() if above is None else above
    if parent is None or not re.fullmatch(r"[0-9A-Za-z-]+", run) or not _is_delegated(parent):
        return None
    path = os.path.join(parent, f"{PREFIX}{run}")
    try:
        os.mkdir(path, 0o755)
    except OSError:
        return None
    files = [os.path.join(path, name) for name in ("cgroup.kill", "cgroup.procs")]
    if not all(os.access(file, os.W_OK) for file in files):
        with contextlib.suppress(OSError):
            os.rmdir(path)
        return None
    return path


def _is_delegated(path: str) -> bool:
    """Whether a cgroup was given away to be divided: systemd marks it so, or it belongs to a user who is not root."""
    try:
        if not os.access(path, os.W_OK) or not os.access(os.path.join(path, "cgroup.procs"), os.W_OK):
            return False
        if os.geteuid() != 0:
            return True
        names = os.listxattr(path)
        return any(
            name in names and os.getxattr(path, name) == b"1"
            for name in ("trusted.delegate", "user.delegate")
        )
    except (OSError, AttributeError):
        return False


def end(run: str, above: str | None = None) -> bool:
    """Ends everything in the cgroup of a run and removes it, for a dispatcher whose supervisor and keeper are gone.

    Whether there was one.
    """
    parent = of_process() if above is None else above
    path = None if parent is None else os.path.join(parent, f"{PREFIX}{run}")
    if path is None or not os.path.isdir(path):
        return False
    keeper.kill_group(path)
    keeper.forget_group(path)
    return True
