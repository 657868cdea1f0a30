# SPDX-License-Identifier: Apache-2.0
"""Processes by what they are and not by their number: identities, signals that cannot hit another, what a run left.

A process number is used again, so a process is named by the boot of the machine, its number and when it started:
`BOOT:PID:START`. A signal goes through a pidfd that is compared with the name first, where the system has such a thing.
What belongs to a run is found by `SHELLGUARD_RUN` in the environment that it was started with: also what has left its
session and was given to another parent. What throws its environment away is the keeper's to find (`keeper.py`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

RUN = "SHELLGUARD_RUN"

POLL_SECONDS = 0.02

KILL = int(getattr(signal, "SIGKILL", signal.SIGTERM))

_LINUX = sys.platform.startswith("linux")
_FIRST_NAMESPACE = "pid:[4026531836]"


def host() -> str:
    """The name of this host, the same after a restart. A process namespace of its own counts as a host of its own."""
    import platform

    name = platform.node() or "localhost"
    namespace = _FIRST_NAMESPACE
    with contextlib.suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid")
    return name if namespace == _FIRST_NAMESPACE else f"{name}/{namespace.strip('pid:[]')}"


@cache
def boot() -> str:
    """What names this boot of the machine."""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()
    import psutil

    return str(int(psutil.boot_time()))


def identity(pid: int | None = None) -> str | None:
    """The name of a process, of this one without a number; None where there is none, or where it has ended."""
    number = os.getpid() if pid is None else pid
    started = _started(number)
    return None if started is None else f"{boot()}:{number}:{started}"


def pid_of(name: str) -> int | None:
    """The number in a name, None for a text that is no name."""
    parts = name.split(":")
    return int(parts[1]) if len(parts) == 3 and parts[1].isascii() and parts[1].isdigit() else None


def is_running(name: str | None) -> bool:
    """Whether the process of this name runs on this machine; one that has ended and is not waited for does not."""
    pid = None if name is None else pid_of(name)
    return pid is not None and identity(pid) == name


def send(name: str | None, number: int) -> bool:
    """Signals the process of this name, and never another one that has its number; False when it is gone."""
    pid = None if name is None else pid_of(name)
    if pid is None or pid == os.getpid():
        return False
    if not hasattr(os, "pidfd_open"):
        return is_running(name) and _kill(pid, number)
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        # The descriptor stands for one process from here on: when it has the name, the signal meets it or nobody.
        if not is_running(name):
            return False
        signal.pidfd_send_signal(descriptor, number)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def wake(name: str | None) -> None:
    """Lets the process of this name go on if it was stopped, so that it hears what it is told."""
    if hasattr(signal, "SIGCONT"):
        send(name, signal.SIGCONT)


def wait_gone(names: Iterable[str | None], seconds: float) -> bool:
    """Waits until none of the processes runs any more; False when one still does after so many seconds."""
    left = [name for name in names if is_running(name)]
    limit = time.monotonic() + seconds
    while left:
        if time.monotonic() >= limit:
            return False
        time.sleep(POLL_SECONDS)
        left = [name for name in left if is_running(name)]
    return True


def of_runs(own: Iterable[int] = ()) -> dict[str, list[int]]:
    """All processes that were started for a run, by the run's id. Not this one, and none of the numbers in `own`."""
    found: dict[str, list[int]] = {}
    mine = {os.getpid(), *own}
    for pid in _numbers():
        if pid not in mine:
            run = _run_of(pid)
            if run is not None:
                found.setdefault(run, []).append(pid)
    return found


def sweep(run: str, seconds: float = 5.0) -> bool:
    """Ends every process that was started for a run; whether none is left.

    None is left when two looks in a row find none: a process that is just being replaced by exec shows no environment.
    """
    limit = time.monotonic() + seconds
    clean = 0
    while clean < 2:
        left = [pid for pid in _numbers() if pid != os.getpid() and _run_of(pid) == run]
        names = [name for name in map(identity, left) if name is not None]
        for name in names:
            send(name, KILL)
        clean = 0 if names else clean + 1
        if time.monotonic() >= limit:
            return clean >= 2
        if clean < 2:
            time.sleep(POLL_SECONDS)
    return True


def _numbers() -> list[int]:
    if _LINUX:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    import psutil

    return list(psutil.pids())


def _run_of(pid: int) -> str | None:
    """The run in the environment with which a process was started."""
    if _LINUX:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                data = file.read()
        except OSError:
            return None
        begin = f"{RUN}=".encode()
        for entry in data.split(b"\0"):
            if entry.startswith(begin):
                return os.fsdecode(entry[len(begin) :])
        return None
    import psutil

    try:
        found: str | None = psutil.Process(pid).environ().get(RUN)
    except (psutil.Error, OSError):
        return None
    return found


def _started(pid: int) -> str | None:
    """When a process started, in the finest unit that the system has; None when it has ended.

    Source: proc_pid_stat(5), fields 3 and 22; the second field may hold blanks and brackets.
    """
    if pid <= 0:
        return None
    if _LINUX:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            return None
        return None if not fields or fields[0] in (b"Z", b"X") else fields[19].decode("ascii")
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.6f}"
    except (psutil.Error, OSError):
        return None


def _kill(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True
