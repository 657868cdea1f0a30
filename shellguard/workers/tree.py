# SPDX-License-Identifier: Apache-2.0
"""The process tree of a worker: started in a session of its own, watched without missing its end, and none left over.

On Linux the supervisor becomes the parent of every orphan below it, so that also a process which called setsid is found
and ended. Elsewhere the group of the worker is. A process that is not waited for keeps its number, so that nothing else
is ever signalled. Source: prctl(2) PR_SET_CHILD_SUBREAPER, waitid(2), pidfd_open(2); tried on Linux.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType, TracebackType
    from typing import Any

GRACE_SECONDS = 2.0
"""Between asking a worker to end and making it."""

POLL_SECONDS = 0.05

STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Stop:
    """While it is entered, the signals that end a supervisor only set `number`, and wake whoever waits for `wake`.

    In a thread there are no handlers, and `number` stays None.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self.wake, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for number in STOPPING:
                if signal.getsignal(number) is not None:
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.number is None:
            self.number = number
        with contextlib.suppress(OSError):
            os.write(self._write, b"x")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        os.close(self.wake)
        os.close(self._write)


class Worker:
    """One attempt: a process in a session of its own, and everything below it.

    `status` is None until it has ended, then that of waitpid. Raises OSError when it cannot be started.
    """

    def __init__(self, argv: tuple[str, ...], cwd: str, environment: Mapping[str, str]) -> None:
        self.status: int | None = None
        self._others = set(_children())
        self._reaps = _become_reaper()
        flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        self._process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=flags,
        )

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def wait(self, stop: Stop, seconds: float | None) -> str:
        """Waits until it has ended (`ended`), the time is over (`timeout`) or a signal came (`stopped`)."""
        limit = None if seconds is None else time.monotonic() + seconds
        descriptor = _pidfd(self.pid)
        try:
            while not self.has_ended():
                if stop.number is not None:
                    return "stopped"
                left = None if limit is None else limit - time.monotonic()
                if left is not None and left <= 0:
                    return "timeout"
                _sleep(stop, descriptor, left)
            return "ended" if stop.number is None else "stopped"
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def end(self, *, ask_first: bool) -> None:
        """Ends the worker and all below it, and waits until nothing is left. `ask_first`: SIGTERM, then a while."""
        if os.name == "nt":
            subprocess.run(["taskkill", "/T", "/F", "/PID", str(self.pid)], capture_output=True, check=False)
            self.status = self._process.wait()
            return
        if ask_first and not self.has_ended():
            self._signal_group(signal.SIGTERM)
            limit = time.monotonic() + GRACE_SECONDS
            while not self.has_ended() and time.monotonic() < limit:
                time.sleep(POLL_SECONDS)
        self._signal_group(signal.SIGKILL)  # the leader is not waited for yet: the group is still this one
        while not self.has_ended():
            time.sleep(POLL_SECONDS / 10)
        if self._reaps:
            self._end_orphans()
        self.status = self._process.wait()

    def has_ended(self) -> bool:
        """Whether the process itself is over; what it started may go on."""
        if self._process.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            return self._process.poll() is not None
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def _signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _end_orphans(self) -> None:
        """Ends what has become a child of this process since the worker was started, until there is nothing."""
        while True:
            found = [pid for pid in _children() if pid not in self._others and pid != self.pid]
            if not found:
                return
            for pid in _below(found):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            for pid in found:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)


def _sleep(stop: Stop, descriptor: int | None, left: float | None) -> None:
    if os.name == "nt":
        time.sleep(POLL_SECONDS if left is None else min(left, POLL_SECONDS))
        return
    seconds = left if descriptor is not None else min(POLL_SECONDS, POLL_SECONDS if left is None else left)
    watched = [stop.wake] if descriptor is None else [stop.wake, descriptor]
    select.select(watched, [], [], seconds)


def _pidfd(pid: int) -> int | None:
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _become_reaper() -> bool:
    """Makes orphans below this process its children. False where the system has no such thing."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    try:
        return bool(ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0)  # PR_SET_CHILD_SUBREAPER
    except (OSError, AttributeError):
        return False


def _children(of: int | None = None) -> list[int]:
    """The children of a process, of this one when none is named; nothing where /proc does not tell."""
    pid = os.getpid() if of is None else of
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += [int(number) for number in file.read().split()]
    except (OSError, ValueError):
        pass
    return found


def _below(pids: list[int]) -> list[int]:
    """These processes and everything below them."""
    found = list(pids)
    for pid in found:
        found += [child for child in _children(pid) if child not in found]
    return found
