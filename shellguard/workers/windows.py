# SPDX-License-Identifier: Apache-2.0
"""A tree of processes on Windows: a job that ends with the last handle to it, which is that of its supervisor.

The child is started suspended, put into the job, and only then let go, so that nothing of it can be outside. When the
supervisor ends, however that comes, Windows closes its handle and ends the job. Everything here goes through `api`,
and it was tried with a simulated one only: no line of it has run on Windows.
Source: Microsoft, "Job Objects", JOBOBJECT_EXTENDED_LIMIT_INFORMATION, AssignProcessToJobObject, TerminateJobObject;
NtResumeProcess is not documented, and is what debuggers and psutil call.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

KILL_ON_JOB_CLOSE = 0x2000
EXTENDED_LIMIT_INFORMATION = 9
CREATE_SUSPENDED = 0x4
CREATE_NEW_PROCESS_GROUP = 0x200
CREATE_NO_WINDOW = 0x08000000
ENDED = 1
"""The exit status of what a job ends."""


class _Basic(ctypes.Structure):
    _fields_ = (
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", ctypes.c_uint32),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", ctypes.c_uint32),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", ctypes.c_uint32),
        ("SchedulingClass", ctypes.c_uint32),
    )


class _Extended(ctypes.Structure):
    _fields_ = (
        ("BasicLimitInformation", _Basic),
        ("IoInfo", ctypes.c_uint64 * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


class Api:
    """The calls of Windows that a job needs. Each raises OSError when the system says no."""

    def __init__(self) -> None:
        load: Any = getattr(ctypes, "WinDLL")  # noqa: B009 - it is there on Windows only
        self._kernel, self._nt = load("kernel32", use_last_error=True), load("ntdll")
        self._kernel.CreateJobObjectW.restype = ctypes.c_void_p

    def create_job(self) -> int:
        """A job that nobody else can find, and that no child inherits."""
        return int(self._checked(self._kernel.CreateJobObjectW(None, None)))

    def limit_job(self, job: int, flags: int) -> None:
        """Sets what a job does by itself."""
        limits = _Extended()
        limits.BasicLimitInformation.LimitFlags = flags
        self._checked(
            self._kernel.SetInformationJobObject(
                ctypes.c_void_p(job), EXTENDED_LIMIT_INFORMATION, ctypes.byref(limits), ctypes.sizeof(limits)
            )
        )

    def assign(self, job: int, process: int) -> None:
        """Puts a process into a job, and with it all that it will start."""
        self._checked(self._kernel.AssignProcessToJobObject(ctypes.c_void_p(job), ctypes.c_void_p(process)))

    def resume(self, process: int) -> None:
        """Lets a process go that was started suspended."""
        if self._nt.NtResumeProcess(ctypes.c_void_p(process)) != 0:
            raise OSError("the process could not be resumed")

    def terminate(self, job: int) -> None:
        """Ends everything in a job."""
        self._checked(self._kernel.TerminateJobObject(ctypes.c_void_p(job), ENDED))

    def close(self, handle: int) -> None:
        """Closes a handle."""
        self._kernel.CloseHandle(ctypes.c_void_p(handle))

    def spawn(self, argv: Sequence[str], **settings: Any) -> subprocess.Popen[bytes]:
        """Starts a process."""
        return subprocess.Popen(list(argv), **settings)

    @staticmethod
    def _checked(result: Any) -> Any:
        if not result:
            last: Any = getattr(ctypes, "get_last_error")  # noqa: B009
            raise OSError(last(), "the job of the worker")
        return result


class Job:
    """The job of one worker."""

    def __init__(self, api: Any = None) -> None:
        self.api = Api() if api is None else api
        self.handle: int | None = self.api.create_job()
        try:
            self.api.limit_job(self.handle, KILL_ON_JOB_CLOSE)
        except OSError:
            self._close()
            raise

    def start(
        self, argv: Sequence[str], cwd: str, environment: Mapping[str, str], output: int | None
    ) -> subprocess.Popen[bytes]:
        """Starts the worker inside the job. Raises OSError when it cannot; nothing of it is then left."""
        try:
            process: subprocess.Popen[bytes] = self.api.spawn(
                argv,
                executable=argv[0] if os.path.isabs(argv[0]) else None,  # else the current folder is searched
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                creationflags=CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW,
            )
        except OSError:
            self._close()
            raise
        assert self.handle is not None
        handle = int(getattr(process, "_handle"))  # noqa: B009 - Popen has no other name for it
        try:
            self.api.assign(self.handle, handle)
            self.api.resume(handle)
        except OSError:
            process.kill()  # it is suspended still, and may be outside of the job
            process.wait()
            self.end()
            raise
        return process

    def ask(self, process: subprocess.Popen[bytes]) -> None:
        """Asks the group of the worker to end, as Ctrl-Break does."""
        with contextlib.suppress(OSError, ValueError):
            os.kill(process.pid, getattr(signal, "CTRL_BREAK_EVENT", signal.SIGTERM))

    def end(self) -> None:
        """Ends everything in the job."""
        if self.handle is not None:
            with contextlib.suppress(OSError):
                self.api.terminate(self.handle)
            self._close()

    def _close(self) -> None:
        if self.handle is not None:
            self.api.close(self.handle)
            self.handle = None
