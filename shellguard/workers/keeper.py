# SPDX-License-Identifier: Apache-2.0
"""A process between supervisor and worker, to which everything below the worker belongs. Run as a script by `tree.py`.

On Linux it is the reaper of what is orphaned below it, so that also a process which called setsid is found and ended;
nothing of its supervisor's is. When the supervisor is gone, however that came, so is the worker; when the keeper is
gone, the system ends the worker, and the supervisor what is below it. It imports little: each attempt starts it.

Its order comes on standard input (`marshal`). It reads letters on one pipe: those of `ASKING` send a signal to all of
it, and after a grace the rest is ended; the end of the pipe ends it at once. It writes lines on another: `started PID`,
`failed ERRNO`, or `changed PATH`; then `ended STATUS LEFT`, STATUS as waitpid has it and LEFT what could not be ended.
Source: prctl(2) PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, PR_SET_DUMPABLE, waitid(2), pidfd_open(2), cgroups(7);
tried on Linux.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

GRACE_SECONDS = 2.0
"""Between asking a worker to end and making it, where the order does not say."""

POLL_SECONDS = 0.02

REAP_SECONDS = 5.0
"""How long what has become an orphan and ended may wait, while the worker runs."""

STUCK_SECONDS = 10.0
"""How long something is killed again and again that does not go; it is then named and left."""

ASKING = {b"t": "SIGTERM", b"i": "SIGINT", b"h": "SIGHUP"}
"""Letters on the control pipe."""


def main(control: int, report: int, order: dict[str, Any]) -> None:
    """Runs the worker and everything below it to its end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    become_reaper(hidden=bool(order["hidden"]))
    if select.select([control], [], [], 0)[0]:
        return  # the supervisor is gone, or wants it ended, before anything was started
    pid = start(order, (control, report), report)
    if pid is None:
        return
    say(report, f"started {pid}")
    group: str | None = order["cgroup"]
    descriptor = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    limit: float | None = None
    while not has_ended(pid) or (limit is not None and reaped(pid)):
        seconds = POLL_SECONDS if descriptor is None or limit is not None else REAP_SECONDS
        watched = [control] if descriptor is None or limit is not None else [control, descriptor]
        reaped(pid)
        ready = select.select(watched, [], [], seconds)[0]
        if control in ready:
            letter = os.read(control, 1)
            if letter == b"":
                break
            ask(pid, getattr(signal, ASKING[letter]))
            limit = time.monotonic() + order["grace"] if limit is None else limit
        if limit is not None and time.monotonic() >= limit:
            break
    end_all(pid, group)
    left = end_orphans(pid)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if group is not None:
        forget_group(group)
    say(report, f"ended {status} {' '.join(str(each) for each in left)}".rstrip())


def start(order: dict[str, Any], own: tuple[int, ...], report: int) -> int | None:
    """Starts the worker in a session of its own, with signals as they are by default and nothing on its input."""
    failure, write = os.pipe()
    keeper = os.getpid()
    prctl = _prctl()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            for number in signal.valid_signals():
                if signal.getsignal(number) is signal.SIG_IGN:  # ours, Python's, or inherited (nohup)
                    signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            if prctl is not None:
                prctl(1, int(signal.SIGKILL), 0, 0, 0)
                if os.getppid() != keeper:
                    os._exit(127)
            if order["cgroup"] is not None:
                join_group(order["cgroup"])
            for descriptor in (*own, failure):
                os.close(descriptor)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.chdir(order["cwd"])
            argv, environment = order["argv"], order["environment"]
            different = changed(order["files"])
            if different is not None:
                os.write(write, b"changed " + os.fsencode(different)[:200])
                os._exit(127)
            # A command that was frozen has an absolute path, and is looked for nowhere.
            (os.execve if order["files"] else os.execvpe)(argv[0], argv, environment)
        except OSError as error:
            os.write(write, f"failed {error.errno or errno.ENOENT}".encode())
        except Exception:  # noqa: BLE001 - words that no program can have; the process ends here either way
            os.write(write, f"failed {errno.EINVAL}".encode())
        finally:
            os._exit(127)
    os.close(write)
    problem = os.read(failure, 300)
    os.close(failure)
    if problem:
        os.waitpid(pid, 0)
        say(report, os.fsdecode(problem))
        if order["cgroup"] is not None:
            forget_group(order["cgroup"])
        return None
    return pid


def say(report: int, line: str) -> None:
    """Tells the supervisor; one that is gone needs no telling."""
    with suppress(OSError):
        os.write(report, os.fsencode(f"{line}\n"))


# --- what is executed -------------------------------------------------------------------------------------------------


def identity(path: str) -> dict[str, Any]:
    """What a file or a link is: {path, kind, dev, inode, mode, owner, mtime_ns, size, sha256}. Raises: OSError."""
    import stat
    from hashlib import sha256

    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        kind, digest = "link", sha256(os.fsencode(os.readlink(path)))
    else:
        kind, digest = "file", sha256()
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            while block := file.read(1 << 20):
                digest.update(block)
    return {
        "path": path,
        "kind": kind,
        "dev": found.st_dev,
        "inode": found.st_ino,
        "mode": found.st_mode,
        "owner": found.st_uid,
        "mtime_ns": found.st_mtime_ns,
        "size": found.st_size,
        "sha256": digest.hexdigest(),
    }


def changed(files: Iterable[dict[str, Any]]) -> str | None:
    """The first of these files that is not what its identity says; None when all are."""
    for each in files:
        try:
            if identity(each["path"]) != each:
                return str(each["path"])
        except OSError:
            return str(each["path"])
    return None


# --- the tree ---------------------------------------------------------------------------------------------------------


def has_ended(pid: int) -> bool:
    """Whether the process is over; it is not waited for, so that its number stays its own."""
    if not hasattr(os, "waitid"):
        return False
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def ask(pid: int, number: int) -> None:
    """Sends a signal to everything: the group, and what has left it. What is stopped is woken, to hear it."""
    told = below(os.getpid(), pid)
    signal_group(pid, number)
    for each in told:
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(each) != pid:
                os.kill(each, number)
    signal_group(pid, signal.SIGCONT)
    for each in told:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(each, signal.SIGCONT)


def signal_group(pid: int, number: int) -> None:
    """Signals the group that the process leads."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def end_all(pid: int, group: str | None) -> None:
    """Ends the leader and all that is known of its tree; the leader is not waited for, so the group is still its."""
    left = below(
        os.getpid(), pid
    )  # where there is no reaper, this is the last chance to see who belongs to it
    if group is not None:
        kill_group(group)
    signal_group(pid, signal.SIGKILL)
    for each in left:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(each, signal.SIGKILL)
    while not has_ended(pid):
        time.sleep(POLL_SECONDS / 10)


def end_orphans(leader: int | None) -> list[int]:
    """Ends everything that has become a child of this process, until there is nothing but the leader.

    Gives back what does not go: a process of another user, or one that the system does not let go.
    """
    limit = time.monotonic() + STUCK_SECONDS
    # Until nobody is listed: one that has ended since may have left a child, which only the next list shows.
    while listed := below(os.getpid(), leader):
        children, others = waited_for(listed)
        if (children or others) and time.monotonic() >= limit:
            return [*children, *others]
        for pid in children:
            # Who forks and ends is gone before it is hit; a signal to its group meets all of it at once.
            # The number is still its own, since nobody has waited for it.
            with suppress(ProcessLookupError, PermissionError):
                group = os.getpgid(pid)
                if group != os.getpgid(0):
                    os.killpg(group, signal.SIGKILL)
        for pid in (*children, *others):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if children or others:
            time.sleep(POLL_SECONDS / 20)
    return []


def reaped(leader: int | None) -> list[int]:
    """Waits for what has ended below this process, but for the leader; gives back what has not."""
    children, others = waited_for(below(os.getpid(), leader))
    return [*children, *others]


def waited_for(listed: list[int]) -> tuple[list[int], list[int]]:
    """Waits for those of some processes that have ended; gives back the children that have not, and those of others."""
    children, others = [], []
    for pid in listed:
        try:
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                children.append(pid)
        except ChildProcessError:
            others.append(pid)  # a grandchild: it is a child in the next round, or gone
    return children, others


def below(top: int, leader: int | None) -> list[int]:
    """Everything below a process but the leader, which waits to be waited for; what is below the leader counts."""
    parents = None if os.path.isdir("/proc/self/task") else _parents()
    found, waiting = [], [top]
    while waiting:
        for child in _children(waiting.pop(), parents):
            if child not in found:
                found.append(child)
                waiting.append(child)
    return [pid for pid in found if pid != leader]


def _children(pid: int, parents: dict[int, list[int]] | None) -> list[int]:
    if parents is not None:
        return parents.get(pid, [])
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += [int(number) for number in file.read().split()]
    except (OSError, ValueError):
        pass
    return found


def _parents() -> dict[int, list[int]]:
    """The children of every process, as ps tells where there is no /proc. Nothing without ps."""
    import subprocess

    found: dict[int, list[int]] = {}
    try:
        listed = subprocess.run(["/bin/ps", "-A", "-o", "pid=,ppid="], capture_output=True, check=False)
    except OSError:
        return found
    for line in listed.stdout.split(b"\n"):
        words = line.split()
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit():
            found.setdefault(int(words[1]), []).append(int(words[0]))
    return found


def become_reaper(*, hidden: bool = False) -> None:
    """Makes orphans below this process its children, where the system has such a thing. `hidden`: as `hide`."""
    prctl = _prctl()
    if prctl is not None:
        prctl(36, 1, 0, 0, 0)
    if hidden:
        hide()


def hide() -> None:
    """Closes this process to others of the same user, but for root: /proc/PID/environ, fd, mem. On Linux."""
    prctl = _prctl()
    if prctl is not None:
        prctl(4, 0, 0, 0, 0)


def _prctl() -> Callable[[int, int, int, int, int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    try:
        found: Callable[[int, int, int, int, int], int] = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    return found


# --- a cgroup, where one is delegated (cgroup.py makes it) ------------------------------------------------------------


def join_group(path: str) -> None:
    """Puts this process into a cgroup."""
    with open(f"{path}/cgroup.procs", "w") as file:
        file.write(str(os.getpid()))


def kill_group(path: str) -> None:
    """Ends everything in a cgroup at once, whoever its parent is."""
    with suppress(OSError), open(f"{path}/cgroup.kill", "w") as file:
        file.write("1")


def forget_group(path: str) -> None:
    """Removes a cgroup, once nothing is left in it."""
    limit = time.monotonic() + 1
    while True:
        try:
            os.rmdir(path)
            return
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() >= limit:
                return
            kill_group(path)
        time.sleep(POLL_SECONDS / 4)


if __name__ == "__main__":
    import marshal

    main(int(sys.argv[1]), int(sys.argv[2]), marshal.loads(sys.stdin.buffer.read()))
