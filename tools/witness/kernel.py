# SPDX-License-Identifier: Apache-2.0
"""The few system calls that Python has no name for: namespaces, mounts, and the filter that reports system calls.

Linux on x86_64 only; `reason_unavailable` says why a machine cannot do it. Every function raises OSError with the error
of the kernel. Numbers are those of the kernel's headers (`asm/unistd_64.h`, `linux/seccomp.h`, `linux/mount.h`).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import socket
import struct
import sys

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    0x20000,
    0x4000000,
    0x8000000,
    0x10000000,
    0x20000000,
    0x40000000,
)

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 0x1000, 0x4000, 0x40000
MNT_DETACH = 2

CAP_NET_ADMIN = 12

NOTIFICATION = struct.Struct("=QIIiIQ6Q")
"""id, pid, flags, number, architecture, instruction pointer, six arguments."""

_ANSWER = struct.Struct("=QqiI")
_RECEIVE, _SEND, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082104
_CONTINUE = 1
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SYS_PIVOT_ROOT, _SYS_CLONE, _SYS_SECCOMP, _SYS_MOUNT_SETATTR = 155, 56, 317, 442
_SYS_PIDFD_OPEN, _SYS_PIDFD_GETFD = 434, 438

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def _checked(result: int, what: str) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
    return result


def _syscall(what: str, number: int, *args: object) -> int:
    return _checked(int(_libc.syscall(ctypes.c_long(number), *args)), what)


def reason_unavailable() -> str | None:
    """Why no command can be contained and watched on this machine; None where it can, as far as can be seen at once."""
    if sys.platform != "linux":
        return f"the witness needs Linux, this is {sys.platform}"
    if platform.machine() != "x86_64":
        return f"the witness knows the system calls of x86_64 only, this is {platform.machine()}"
    return None


def unshare(flags: int) -> None:
    """Puts the caller into new namespaces."""
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def fork_into(flags: int) -> int:
    """As `os.fork`, with the child in new namespaces. The caller must have one thread only."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = _syscall("clone", _SYS_CLONE, ctypes.c_ulong(flags | 17), None, None, None, None)
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    return pid


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """mount(2)."""
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), data.encode() or None
    )
    _checked(result, f"mount {kind or 'bind'} on {target}")


def unmount(target: str) -> None:
    """Takes a mount away, also while something uses it."""
    _checked(_libc.umount2(target.encode(), MNT_DETACH), f"unmount {target}")


def restrict_mount(target: str, flags: int = MS_RDONLY | MS_NOSUID) -> None:
    """Adds `flags` to a mount and to all mounts below it."""
    attributes = struct.pack("=QQQQ", flags, 0, 0, 0)
    at_cwd, recursive = -100, 0x8000
    _syscall(
        f"restrict {target}",
        _SYS_MOUNT_SETATTR,
        ctypes.c_int(at_cwd),
        target.encode(),
        ctypes.c_uint(recursive),
        attributes,
        ctypes.c_size_t(len(attributes)),
    )


def pivot_root(new_root: str) -> None:
    """Makes `new_root`, a mount, the root, and loses the old one."""
    os.chdir(new_root)
    _syscall("pivot_root", _SYS_PIVOT_ROOT, b".", b".")
    unmount(".")
    os.chdir("/")


def stay_readable() -> None:
    """Lets the own uid look into /proc/self again after a change of uid."""
    _libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def die_with_parent() -> None:
    """The kernel kills the caller when its parent ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0)


def adopt_orphans() -> None:
    """Whoever below the caller loses its parent becomes the caller's child."""
    subreaper = 36
    _checked(_libc.prctl(subreaper, 1, 0, 0, 0), "subreaper")


def give_up_privileges() -> None:
    """No program that the caller becomes gains anything: no setuid, no file capabilities."""
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def install_filter(program: bytes) -> int:
    """Installs a BPF program for the caller and all that it starts; gives the descriptor that its reports come from."""
    buffer = ctypes.create_string_buffer(program, len(program))
    fprog = _Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_char_p))
    set_mode_filter, new_listener = 1, 8
    return _syscall(
        "seccomp",
        _SYS_SECCOMP,
        ctypes.c_uint(set_mode_filter),
        ctypes.c_uint(new_listener),
        ctypes.byref(fprog),
    )


def take_descriptor(pid: int, number: int) -> int:
    """A copy of descriptor `number` of process `pid`."""
    handle = _syscall("pidfd_open", _SYS_PIDFD_OPEN, ctypes.c_int(pid), ctypes.c_uint(0))
    try:
        return _syscall(
            "pidfd_getfd", _SYS_PIDFD_GETFD, ctypes.c_int(handle), ctypes.c_int(number), ctypes.c_uint(0)
        )
    finally:
        os.close(handle)


def hurry(listener: int) -> None:
    """Asks the kernel to switch to the supervisor at once on each report (Linux 6.6; elsewhere nothing happens)."""
    try:
        fcntl.ioctl(listener, _SET_FLAGS, 1)
    except OSError:
        return


def receive(listener: int) -> tuple[int, ...]:
    """The next report, as `NOTIFICATION` lays it out. OSError (ENOENT) when its process is gone meanwhile."""
    buffer = bytearray(NOTIFICATION.size)
    fcntl.ioctl(listener, _RECEIVE, buffer)
    return NOTIFICATION.unpack(buffer)


def answer(listener: int, identity: int, error: int = 0) -> None:
    """Lets the call of a report go on, or makes it fail with `error`. A process that is gone is no error."""
    buffer = bytearray(_ANSWER.pack(identity, 0, -error, 0 if error else _CONTINUE))
    try:
        fcntl.ioctl(listener, _SEND, buffer)
    except FileNotFoundError:
        return


def pass_capability(number: int) -> None:
    """Lets programs that the caller becomes keep one of its capabilities."""
    header = struct.pack("=Ii", 0x20080522, 0)
    sets = ctypes.create_string_buffer(24)
    _syscall("capget", 125, header, sets)
    effective, permitted, _, *high = struct.unpack("=6I", sets.raw)
    _syscall("capset", 126, header, struct.pack("=6I", effective, permitted, permitted, *high))
    ambient, add = 47, 2
    _checked(_libc.prctl(ambient, add, number, 0, 0), "ambient capability")


def raise_loopback() -> None:
    """Brings the interface `lo` of the current network namespace up."""
    siocsifflags, up_and_running = 0x8914, 0x41
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, siocsifflags, struct.pack("16sH14s", b"lo", up_and_running, b""))
