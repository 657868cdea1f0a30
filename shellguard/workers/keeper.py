# SPDX-License-Identifier: Apache-2.0
"""A process between supervisor and worker, to which everything below the worker belongs. Run as a script by `tree.py`.

On Linux it is the reaper of what is orphaned below it, so that also a process which called setsid is found and ended;
nothing of its supervisor's is. When the supervisor is gone, however that came, so is the worker. It imports little: it
is started for each attempt.

It reads letters on one pipe: `t` asks the worker to end, the end of the pipe ends it at once. It writes lines on
another: `started PID`, or `failed ERRNO`; `ended STATUS` as waitpid has it, when nothing is left.
Source: prctl(2) PR_SET_CHILD_SUBREAPER, waitid(2), pidfd_open(2); tried on Linux.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import sys
import time
from contextlib import suppress

GRACE_SECONDS = 2.0
"""Between asking a worker to end and making it."""

POLL_SECONDS = 0.02


def main(control: int, report: int, argv: list[str]) -> None:
    """Runs the worker and everything below it to its end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    become_reaper()
    pid = start(argv, (control, report), report)
    if pid is None:
        return
    say(report, f"started {pid}")
    descriptor = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    limit: float | None = None
    while not has_ended(pid):
        seconds = POLL_SECONDS if descriptor is None or limit is not None else None
        watched = [control] if descriptor is None else [control, descriptor]
        ready = select.select(watched, [], [], seconds)[0]
        if control in ready:
            if os.read(control, 1) == b"":
                break
            signal_group(pid, signal.SIGTERM)
            limit = time.monotonic() + GRACE_SECONDS
        if limit is not None and time.monotonic() >= limit:
            break
    signal_group(pid, signal.SIGKILL)  # the leader is not waited for yet: the group is still this one
    while not has_ended(pid):
        time.sleep(POLL_SECONDS / 10)
    end_orphans(pid)
    say(report, f"ended {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}")


def start(argv: list[str], own: tuple[int, ...], report: int) -> int | None:
    """Starts the worker in a session of its own, with signals as they are by default and nothing on its input."""
    failure, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            for descriptor in (*own, failure):
                os.close(descriptor)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.execvp(argv[0], argv)
        except OSError as error:
            os.write(write, str(error.errno or errno.ENOENT).encode())
        finally:
            os._exit(127)
    os.close(write)
    problem = os.read(failure, 16)
    os.close(failure)
    if problem:
        os.waitpid(pid, 0)
        say(report, f"failed {problem.decode()}")
        return None
    return pid


def say(report: int, line: str) -> None:
    """Tells the supervisor; one that is gone needs no telling."""
    with suppress(OSError):
        os.write(report, f"{line}\n".encode())


def has_ended(pid: int) -> bool:
    """Whether the process is over; it is not waited for, so that its number stays its own."""
    if not hasattr(os, "waitid"):
        return False
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def signal_group(pid: int, number: int) -> None:
    """Signals the group that the process leads."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def end_orphans(leader: int) -> None:
    """Ends everything that has become a child of this process, until there is nothing but the leader."""
    while True:
        found = [pid for pid in children(os.getpid()) if pid != leader]
        if not found:
            return
        for pid in found:
            found += [child for child in children(pid) if child not in found]
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in found:
            with suppress(ChildProcessError):  # a grandchild: it is a child in the next round, or gone
                os.waitpid(pid, 0)


def children(pid: int) -> list[int]:
    """The children of a process; nothing where /proc does not tell."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += [int(number) for number in file.read().split()]
    except (OSError, ValueError):
        pass
    return found


def become_reaper() -> None:
    """Makes orphans below this process its children, where the system has such a thing."""
    if sys.platform.startswith("linux"):
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
