# SPDX-License-Identifier: Apache-2.0
"""What a reported system call attempts: read from the memory of its process, put into a class, and answered.

The report is an observation and no barrier: another thread may change a path after it was read. What must not
happen is prevented by namespaces, read-only mounts and missing privileges.
"""

from __future__ import annotations

import errno
import os
import struct
from dataclasses import dataclass, field

from tools.witness.calls import AUDIT_ARCH_X86_64, CALLS, IOCTLS, WRITE_FLAGS, X32_BIT, Call
from tools.witness.places import LOGS, class_of

AT_FDCWD = -100
O_TMPFILE = 0o20200000
MAX_ARGUMENTS = 12
UNSEEN = 20
"""How many processes may have come and gone without becoming a program: forks are not reported."""
MAX_REPORTED = 2000
"""Attempts, programs and addresses that are kept of one command; more are counted only."""


@dataclass
class Seen:
    """What the calls of one command attempted so far, each once, in order."""

    attempts: dict[tuple[str, str, str, str], None] = field(default_factory=dict)
    """(class, path, kind, program that attempted it)"""
    execs: dict[tuple[str, ...], None] = field(default_factory=dict)
    """(path, argument 0, argument 1, ...)"""
    net: dict[tuple[str, str], None] = field(default_factory=dict)
    """(what was asked for, address)"""
    shown: tuple[tuple[str, str], ...] = ()
    """Folders as the system calls name them, and what they stand for, where no mount does that."""
    refused: frozenset[str] = frozenset()
    """Kinds of calls that are answered with EPERM wherever they point."""
    events: int = 0
    last_pid: int = 1
    """The highest number of a process, as the sandbox counts them, that became a program."""

    def stands_for(self, path: str) -> str:
        """A path as the command is meant to see it."""
        for real, shown in self.shown:
            if path == real or path.startswith(f"{real}/"):
                return shown + path.removeprefix(real)
        return path

    def attempt(self, kind_of_place: str, path: str, kind: str, program: str) -> None:
        if len(self.attempts) < MAX_REPORTED:
            self.attempts[kind_of_place, path, kind, program] = None


def observe(notification: tuple[int, ...], seen: Seen, root: int) -> int:
    """Notes what one report means; gives the error to answer it with, 0 to let it go on.

    `root` is the host's pid of the first process of the sandbox.
    """
    _, pid, _, number, architecture, _, *args = notification
    seen.events += 1
    try:
        if architecture & 0xFFFFFFFF != AUDIT_ARCH_X86_64 or number & X32_BIT:
            seen.attempt("refused", "", "a system call of another architecture", _program(pid))
            return errno.ENOSYS
        call = CALLS.get(number)
        if call is None:
            return 0
        if call.refused:
            kind_of_place = "refused" if call.kind == "io_uring_setup" else "priv"
            seen.attempt(kind_of_place, "", call.kind, _program(pid))
            return errno.ENOSYS if call.kind == "io_uring_setup" else errno.EPERM
        error = _observe_call(call, pid, args, seen, root)
        return errno.EPERM if call.kind in seen.refused else error
    except (OSError, ValueError):
        return 0  # the process is gone, or its memory cannot be read: the kernel will say so to it, too


def _observe_call(call: Call, pid: int, args: list[int], seen: Seen, root: int) -> int:
    match call.kind:
        case "exec":
            seen.last_pid = max(seen.last_pid, _inner_pid(pid))
            _note_exec(call, pid, args, seen)
        case "open" | "openat2":
            flags = args[1] if call.paths == ((None, 0),) else args[2]
            if call.kind == "openat2":
                flags = int.from_bytes(_memory(pid, args[2], 8), "little")
            if (
                flags & O_TMPFILE == O_TMPFILE
                and class_of(seen.stands_for(_path_of(call, pid, args))) == "tmp"
            ):
                return 0  # a file without a name; if it gets one, that is a call of its own
            if flags & WRITE_FLAGS:
                kind = "create" if flags & 0o100 else "open for writing"
                return _note_paths(call, kind, pid, args, seen)
        case "connect" | "bind" | "listen" | "sendto" | "sendmsg" | "sendmmsg":
            _note_network(call.kind, pid, args, seen)
        case "kill" | "tgkill":
            target = _signed(args[0])
            if not _is_own(pid, target, root, seen.last_pid):
                seen.attempt(
                    "signal", str(target), f"signal {args[1 if call.kind == 'kill' else 2]}", _program(pid)
                )
        case "pidfd_send_signal":
            target = _pid_of_pidfd(pid, args[0])
            if not _is_own(pid, target, root, seen.last_pid):
                seen.attempt("signal", str(target), f"signal {args[1]}", _program(pid))
        case "prlimit" | "setpriority" | "sched_setscheduler" | "sched_setaffinity" | "ioprio_set":
            target = _signed(args[1] if call.kind in ("setpriority", "ioprio_set") else args[0])
            if not _is_own(pid, target, root, seen.last_pid):
                seen.attempt("priv", str(target), call.kind, _program(pid))
                return errno.EPERM  # the first process of the sandbox must be able to tell what it saw
        case "ptrace":
            target = _signed(args[1])
            seen.attempt("priv", "", call.kind, _program(pid))
            if args[0] != 0 and not _is_own(pid, target, root, seen.last_pid):
                return errno.EPERM
        case "shmget" | "semget" | "msgget":
            if _signed(args[0]) != 0:  # a private segment ends with the process
                seen.attempt("tmp", "", call.kind, _program(pid))  # what is left of it is an effect
        case "shmctl" | "semctl" | "msgctl":
            command = _signed(args[2 if call.kind == "semctl" else 1]) & 0xFF
            if command in (0, 1):
                seen.attempt("tmp", "", call.kind, _program(pid))
        case "mq_open" | "mq_unlink":
            seen.attempt("kernel", _string(pid, args[0]), call.kind, _program(pid))
        case "ioctl":
            return _note_path(_descriptor(pid, args[0]), IOCTLS.get(args[1] & 0xFFFFFFFF, "ioctl"), pid, seen)
        case _:
            if call.descriptor is not None:
                return _note_path(_descriptor(pid, args[call.descriptor]), call.kind, pid, seen)
            return _note_paths(call, call.kind, pid, args, seen)
    return 0


def _path_of(call: Call, pid: int, args: list[int]) -> str:
    directory, name = call.paths[0]
    return _path(pid, args[name], None if directory is None else _signed(args[directory]))


def _note_paths(call: Call, kind: str, pid: int, args: list[int], seen: Seen) -> int:
    error = 0
    for directory, name in call.paths:
        path = _path(pid, args[name], None if directory is None else _signed(args[directory]))
        if kind == "mkdir" and os.path.isdir(f"/proc/{pid}/root{path}"):
            continue  # it is there already
        if path:
            error = _note_path(path, kind, pid, seen) or error
    return error


def _note_path(path: str, kind: str, pid: int, seen: Seen) -> int:
    if "/proc/" in path and path.rpartition("/")[0].endswith("/fd"):
        try:
            path = os.readlink(f"/proc/{pid}/fd/{path.rpartition('/')[2]}")
        except OSError:
            return 0
    path = seen.stands_for(path)
    place = class_of(path)
    if place is None:
        return 0
    seen.attempt(place, path, kind, _program(pid))
    return errno.EROFS if place == "kernel" else 0


def _note_exec(call: Call, pid: int, args: list[int], seen: Seen) -> None:
    if call.paths[0][0] is None:
        path, array = _path(pid, args[0], None), args[1]
    else:
        path, array = _path(pid, args[1], _signed(args[0])) or _descriptor(pid, args[0]), args[2]
    if not path or not (os.path.lexists(f"/proc/{pid}/root{path}") or path.startswith("/memfd:")):
        return  # `execvp` tries one folder of PATH after the other
    words = []
    for place in range(MAX_ARGUMENTS):
        pointer = int.from_bytes(_memory(pid, array + 8 * place, 8), "little")
        if pointer == 0:
            break
        words.append(_string(pid, pointer, 300))
    if len(seen.execs) < MAX_REPORTED:
        seen.execs[seen.stands_for(path), *words] = None


def _note_network(kind: str, pid: int, args: list[int], seen: Seen) -> None:
    if kind == "listen":
        if not _is_local_socket(pid, args[0]):
            seen.net[kind, "a socket"] = None  # which one was seen when it was bound
        return
    if kind in ("connect", "bind"):
        raw = _memory(pid, args[1], min(args[2], 128))
    elif kind == "sendto":
        raw = _memory(pid, args[4], min(args[5], 128))
    else:
        pointer, length = struct.unpack("=QI", _memory(pid, args[1], 12))
        if pointer == 0:
            return
        raw = _memory(pid, pointer, min(length, 128))
    address = _address(raw)
    if address is None:
        return
    if kind == "bind" and (
        address == "tcp:[::1]:0" or address.endswith(":0") or address.startswith("unix:@")
    ):
        return  # a port of the kernel's choice: a client, or a probe whether IPv6 works
    if address.removeprefix("unix:") in LOGS:
        seen.attempt("log", address.removeprefix("unix:"), "write to the log", _program(pid))
        return
    if address.startswith(("unix:/var/run/nscd/", "unix:/run/nscd/")):
        return
    if kind == "bind" and address.startswith("unix:"):
        path = os.path.join(_descriptor(pid, AT_FDCWD), address.removeprefix("unix:"))
        _note_path(os.path.normpath(path), "create a socket", pid, seen)
        return
    if len(seen.net) < MAX_REPORTED:
        seen.net[kind, address] = None


def _is_local_socket(pid: int, number: int) -> bool:
    """Whether a descriptor is a socket of the file system, or of no place: two halves of a tool that talk."""
    inode = _descriptor(pid, number).removeprefix("socket:[").removesuffix("]")
    with open(f"/proc/{pid}/net/unix", encoding="utf-8", errors="replace") as stream:
        return any(line.split()[6] == inode for line in stream if len(line.split()) > 6)


def _address(raw: bytes) -> str | None:
    """A socket address as text; None for families that reach nobody (netlink)."""
    if len(raw) < 2:
        return None
    family = int.from_bytes(raw[:2], "little")
    if family == 1:
        name = raw[2:]
        if name.startswith(b"\0"):
            return "unix:@" + name[1:].split(b"\0")[0].decode("utf-8", "replace")
        text = name.split(b"\0")[0].decode("utf-8", "replace")
        return f"unix:{text}" if text else None
    if family == 2 and len(raw) >= 8:
        return f"tcp:{'.'.join(str(byte) for byte in raw[4:8])}:{int.from_bytes(raw[2:4], 'big')}"
    if family == 10 and len(raw) >= 24:
        groups = [raw[8 + 2 * place : 10 + 2 * place].hex() for place in range(8)]
        text = ":".join(groups).replace("0000:" * 7, "::").replace("::0001", "::1")
        return f"tcp:[{text}]:{int.from_bytes(raw[2:4], 'big')}"
    if family in (0, 16):
        return None
    return f"family {family}"


# --- the memory and the descriptors of a process ------------------------------------------------------------------


def _memory(pid: int, address: int, size: int) -> bytes:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as stream:
        return os.pread(stream.fileno(), size, address)


def _string(pid: int, address: int, limit: int = 4096) -> str:
    """The text at an address, read page by page: a string may end just before memory that cannot be read."""
    raw = b""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as stream:
        while len(raw) < limit:
            size = 4096 - (address + len(raw)) % 4096
            part = os.pread(stream.fileno(), min(size, limit - len(raw)), address + len(raw))
            raw += part
            if b"\0" in part or not part:
                break
    return raw.split(b"\0")[0].decode("utf-8", "replace")


def _path(pid: int, address: int, directory: int | None) -> str:
    """An absolute path, without `.` and `..`; empty where the call names none."""
    text = _string(pid, address) if address else ""
    if not text:
        return _descriptor(pid, directory) if directory is not None and directory >= 0 and not address else ""
    if not text.startswith("/"):
        text = f"{_descriptor(pid, directory)}/{text}"
    return os.path.normpath(text)


def _descriptor(pid: int, number: int | None) -> str:
    if number is None or _signed(number) == AT_FDCWD:
        return os.readlink(f"/proc/{pid}/cwd")
    return os.readlink(f"/proc/{pid}/fd/{_signed(number)}").removesuffix(" (deleted)")


def _program(pid: int) -> str:
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return "?"


def _signed(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def _inner_pid(pid: int, field_name: str = "NSpid") -> int:
    """The number of a process inside the innermost namespace it lies in; 0 where that cannot be told."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as stream:
            for line in stream:
                if line.startswith(f"{field_name}:"):
                    return int(line.split()[-1])
    except OSError:
        return 0
    return 0


def _is_own(pid: int, target: int, root: int, last: int = 0) -> bool:
    """Whether a signal goes to a process, or a group, that the command itself started.

    `target` is as the sender says it: 0 is its group, below zero another group, -1 everybody. Whatever lives in a
    sandbox was started by the command, but for the first process. A number that nobody had yet is a stranger's.
    """
    if target == 0:
        return True
    if target in (-1, 1):
        return False
    wanted, number = abs(target), "NSpgid" if target < 0 else "NSpid"
    family = [pid, *descendants(root)]
    numbers = [_inner_pid(each, number) for each in family]
    if wanted in numbers or target < 0:
        return wanted in numbers
    if wanted <= max(*numbers, last) + UNSEEN:
        return True  # numbers are given in order: this one has ended meanwhile
    threads = [int(thread) for each in family for thread in _threads(each)]
    return any(_inner_pid(thread) == wanted for thread in threads)


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    """The host's pids of all processes below one."""
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as stream:
                children = [int(word) for word in stream.read().split()]
        except OSError:
            continue
        for child in children:
            found.append(child)
            found += descendants(child)
    return found


def _pid_of_pidfd(pid: int, number: int) -> int:
    with open(f"/proc/{pid}/fdinfo/{_signed(number)}", encoding="ascii") as stream:
        for line in stream:
            if line.startswith("NSpid:"):
                return int(line.split()[-1])
    return 1
