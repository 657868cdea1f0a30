# SPDX-License-Identifier: Apache-2.0
"""One attempt of a worker as a process tree: started, watched without missing its end, and none of it left over.

The only code that starts and ends workers. On POSIX a keeper (`keeper.py`) stands between, to which the tree belongs;
on Windows the tree is in a job (`windows.py`), which ends with the process that made it.
"""

from __future__ import annotations

import contextlib
import errno
import marshal
import os
import select
import signal
import subprocess
import sys
import threading
import time

from shellguard.workers import keeper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType, TracebackType
    from typing import Any

POLL_SECONDS = 0.05

MAX_WAIT_SECONDS = 3600.0
"""Of one call of select, which refuses numbers that are too large; it is called again."""

KEEPER_ENVIRONMENT = {"LC_ALL": "C.UTF-8"}
"""All that the keeper gets. What the worker gets comes in its order, so that no variable of it reaches the keeper."""

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

    def came(self) -> bool:
        """Whether a signal came."""
        return self.number is not None

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


class ChangedError(OSError):
    """A file of a frozen command is not what it was: nothing was started. `filename` is it."""


class Worker:
    """One attempt. `status` is None until all of it has ended, then that of waitpid: negative for a signal.

    `files`: identities (`keeper.identity`) that are compared right before the command takes the place of the child.
    `output`: a descriptor for what it prints, else ours. `grace`: seconds between asking and ending. `hidden`: the
    keeper is closed to other processes of the user. `cgroup`: a path of `cgroup.py`. `reaper`: this process is a
    reaper and starts nothing else, so that it may end what is left when the keeper was killed.
    `left` then names what could not be ended; `lost` tells that the keeper was killed, and nobody knows the status.
    Raises OSError when it cannot be started, `ChangedError` when a file is another one.
    """

    def __init__(
        self,
        argv: tuple[str, ...],
        cwd: str,
        environment: Mapping[str, str],
        *,
        files: Sequence[Mapping[str, Any]] = (),
        output: int | None = None,
        grace: float = keeper.GRACE_SECONDS,
        hidden: bool = False,
        cgroup: str | None = None,
        reaper: bool = False,
    ) -> None:
        self.status: int | None = None
        self.left: tuple[int, ...] = ()
        self.lost = False
        self._reaper = reaper
        if os.name == "nt":
            from shellguard.workers.windows import Job

            self._job = Job()
            self._process = self._job.start(argv, cwd, environment, output)
            self.pid = self.keeper = self._process.pid
            self._grace = grace
            return
        order = {
            "argv": [os.fsencode(word) for word in argv],
            "cwd": os.fsencode(cwd),
            "environment": {os.fsencode(name): os.fsencode(value) for name, value in environment.items()},
            "files": [dict(each) for each in files],
            "grace": grace,
            "hidden": hidden,
            "cgroup": cgroup,
        }
        theirs, self._control = os.pipe()
        self._report, write = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", _keeper(), str(theirs), str(write)],
                cwd="/",
                env=_keeper_environment(environment),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
                pass_fds=(theirs, write),
            )
        except BaseException:
            self._close()
            raise
        finally:
            os.close(theirs)
            os.close(write)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._process.stdin:
            self._process.stdin.write(marshal.dumps(order))
        self.keeper = self._process.pid
        self._buffer = b""
        while not select.select([self._report], [], [], 1.0)[0]:
            with contextlib.suppress(OSError):
                os.kill(self.keeper, signal.SIGCONT)  # its worker may have stopped it before it could speak
        began = self._line()
        if not began.startswith("started "):
            self._close()
            self._process.wait()
            what, _, rest = began.partition(" ")
            if what == "changed":
                raise ChangedError(errno.EACCES, "it is another file now", rest)
            number = int(rest) if what == "failed" else errno.ECHILD
            raise OSError(number, os.strerror(number), argv[0])
        self.pid = int(began.removeprefix("started "))

    @property
    def watched(self) -> int | None:
        """A descriptor that can be read once something has happened; `look` then says whether all is over."""
        return None if os.name == "nt" else self._report

    def look(self) -> bool:
        """Whether all of it has ended, to be asked when `watched` can be read, or now and then on Windows."""
        if self.status is None:
            if os.name == "nt":
                self.status = self._process.poll()
                if self.status is not None:
                    self._job.end()
            else:
                self._ended(self._line())
        return self.status is not None

    def ask(self, number: int) -> None:
        """Passes a signal on to everything; what has not ended after the grace is ended."""
        if os.name == "nt":
            self._job.ask(self._process)
            return
        letters = [letter for letter, name in keeper.ASKING.items() if getattr(signal, name) == number]
        with contextlib.suppress(OSError):
            os.write(self._control, letters[0] if letters else b"t")
            os.kill(self.keeper, signal.SIGCONT)  # a worker may have stopped it

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
                self.ask(signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(self._grace)
                self._job.end()
                self.status = self._process.wait()
                return
            self.ask(signal.SIGTERM)
            self._ended(self._line())
        self.close()

    def close(self) -> None:
        """Lets go of what has ended."""
        if os.name == "nt":
            self._job.end()
            return
        self._close()
        self._process.wait()

    def _look(self, stop: Stop, left: float) -> None:
        if os.name == "nt":
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.status = self._process.wait(min(left, POLL_SECONDS))
                self._job.end()
            return
        ready = select.select([stop.wake, self._report], [], [], left)[0]
        if self._report in ready:
            self.look()

    def _ended(self, line: str) -> None:
        words = line.split(" ")
        if words[0] == "ended":
            self.status, self.left = int(words[1]), tuple(int(pid) for pid in words[2:])
            return
        # The keeper was killed. Nobody knows how its worker ends; the group is still there if its leader is.
        self.lost = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(self.pid) == self.pid:
                os.killpg(self.pid, signal.SIGKILL)
        if self._reaper:
            self.left = tuple(keeper.end_orphans(self.keeper))
        self.status = -int(signal.SIGKILL)

    def _line(self) -> str:
        """The next line of the keeper, empty when it is gone."""
        while b"\n" not in self._buffer:
            data = os.read(self._report, 100)
            if not data:
                return ""
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return os.fsdecode(line)

    def _close(self) -> None:
        for descriptor in (self._control, self._report):
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _keeper_environment(of_worker: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the worker's but the run: a keeper is found by it whose supervisor was killed before it could tell."""
    run = of_worker.get("SHELLGUARD_RUN")
    return KEEPER_ENVIRONMENT if run is None else {**KEEPER_ENVIRONMENT, "SHELLGUARD_RUN": run}


def _keeper() -> str:
    return os.path.abspath(keeper.__file__)
