# SPDX-License-Identifier: Apache-2.0
"""One attempt of a worker as a process tree: started, watched without missing its end, and none of it left over.

The only code that starts and ends workers. On POSIX a keeper (`keeper.py`) stands between, to which the tree belongs;
on Windows the tree is ended by taskkill.
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

POLL_SECONDS = 0.05

MAX_WAIT_SECONDS = 3600.0
"""Of one call of select, which refuses numbers that are too large; it is called again."""

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
    """One attempt. `status` is None until all of it has ended, then that of waitpid: negative for a signal.

    Raises OSError when it cannot be started.
    """

    def __init__(self, argv: tuple[str, ...], cwd: str, environment: Mapping[str, str]) -> None:
        self.status: int | None = None
        if os.name == "nt":
            self._process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
            return
        theirs, self._control = os.pipe()
        self._report, write = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", _keeper(), str(theirs), str(write), *argv],
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(theirs, write),
            )
        except BaseException:
            self._close()
            raise
        finally:
            os.close(theirs)
            os.close(write)
        self._buffer = b""
        began = self._line()
        if not began.startswith("started "):
            self._close()
            self._process.wait()
            number = int(began.removeprefix("failed ") or 0)
            raise OSError(number, os.strerror(number), argv[0])
        self.pid = int(began.removeprefix("started "))

    def wait(self, stop: Stop, seconds: float | None) -> str:
        """Waits until all of it has ended (`ended`), the time is over (`timeout`) or a signal came (`stopped`)."""
        limit = None if seconds is None else time.monotonic() + seconds
        while self.status is None:
            if stop.number is not None:
                return "stopped"
            left = None if limit is None else limit - time.monotonic()
            if left is not None and left <= 0:
                return "timeout"
            self._look(stop, MAX_WAIT_SECONDS if left is None else min(left, MAX_WAIT_SECONDS))
        return "ended" if stop.number is None else "stopped"

    def end(self) -> None:
        """Asks the worker to end, then ends it and everything below it; returns when nothing is left."""
        if self.status is None:
            if os.name == "nt":
                taskkill = ["taskkill", "/T", "/F", "/PID", str(self._process.pid)]
                subprocess.run(taskkill, capture_output=True, check=False)
                self.status = self._process.wait()
                return
            with contextlib.suppress(OSError):
                os.write(self._control, b"t")
            self._ended(self._line())
        if os.name != "nt":
            self._close()
            self._process.wait()

    def _look(self, stop: Stop, left: float) -> None:
        if os.name == "nt":
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.status = self._process.wait(min(left, POLL_SECONDS))
            return
        ready = select.select([stop.wake, self._report], [], [], left)[0]
        if self._report in ready:
            self._ended(self._line())

    def _ended(self, line: str) -> None:
        if line.startswith("ended "):
            self.status = int(line.removeprefix("ended "))
            return
        # The keeper was killed. Nobody knows how its worker ends; the group is still there if its leader is.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(self.pid) == self.pid:
                os.killpg(self.pid, signal.SIGKILL)
        self.status = -int(signal.SIGKILL)

    def _line(self) -> str:
        """The next line of the keeper, empty when it is gone."""
        while b"\n" not in self._buffer:
            data = os.read(self._report, 100)
            if not data:
                return ""
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("ascii")

    def _close(self) -> None:
        for descriptor in (self._control, self._report):
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _keeper() -> str:
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "keeper.py")
