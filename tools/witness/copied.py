# SPDX-License-Identifier: Apache-2.0
"""The second way to contain a command, where no namespaces may be made: a copy of the world, landlock, and the filter.

Nobody has to be root. Landlock lets the command read programs and settings, and write below the copy alone; it sends
no signal out. The filter refuses every socket, since landlock knows TCP only: a command that needs the network cannot
be tried here. Neither can the hostile world, whose traps lie at fixed places. What landlock does not know (modes,
owners, times, attributes, memory shared by name) is refused as such, wherever it points.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import resource
import signal
import stat
import struct
import subprocess
import time
from base64 import b64decode
from dataclasses import dataclass
from typing import Any

from tools.witness import kernel
from tools.witness.inside import GRACE_S, limit_command
from tools.witness.observe import Seen, descendants
from tools.witness.places import HOME, class_of

LEAST_ABI = 6
"""Linux 6.12: before it a command could send signals to others of the same user."""
READABLE = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/var",
    "/proc",
    "/sys",
    "/dev",
)
WRITABLE_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx")
REFUSED = frozenset(
    "chmod chown utime xattr shmget semget msgget shmctl semctl msgctl mq_open mq_unlink".split()
)
"""Kinds of calls that are noted and always refused: nothing else would hold them."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_EXECUTE, _READ_FILE, _READ_DIR, _WRITE_FILE, _TRUNCATE, _IOCTL = 1, 4, 8, 2, 1 << 14, 1 << 15
_ALL_FILES = (1 << 16) - 1
_ALL_NETWORK, _ALL_SCOPES = 3, 3

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def reason_unavailable() -> str | None:
    """Why this way is closed, too; None where it is open."""
    abi = int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(1)))
    if abi < 0:
        return f"this kernel has no landlock ({os.strerror(ctypes.get_errno())})"
    if abi < LEAST_ABI:
        return f"landlock of this kernel is version {abi}, {LEAST_ABI} is needed"
    return None


def _call(what: str, number: int, *args: object) -> int:
    result = int(_libc.syscall(ctypes.c_long(number), *args))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def restrict(folder: str) -> None:
    """From here on the caller, and all it starts, writes below `folder` only. It must have given up privileges."""
    attributes = struct.pack("=QQQ", _ALL_FILES, _ALL_NETWORK, _ALL_SCOPES)
    rules = _call(
        "landlock_create_ruleset",
        _CREATE_RULESET,
        attributes,
        ctypes.c_size_t(len(attributes)),
        ctypes.c_uint(0),
    )

    def allow(path: str, access: int) -> None:
        try:
            descriptor = os.open(path, os.O_PATH)
        except OSError:
            return
        rule = struct.pack("=Qi", access, descriptor)
        _call("landlock_add_rule", _ADD_RULE, ctypes.c_int(rules), ctypes.c_int(1), rule, ctypes.c_uint(0))
        os.close(descriptor)

    for path in READABLE:
        allow(path, _EXECUTE | _READ_FILE | _READ_DIR)
    for name in WRITABLE_DEVICES:
        allow(f"/dev/{name}", _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL)
    allow("/dev/pts", _READ_FILE | _READ_DIR | _WRITE_FILE | _IOCTL)
    allow(folder, _ALL_FILES & ~_IOCTL)
    _call("landlock_restrict_self", _RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint(0))
    os.close(rules)


@dataclass
class Copy:
    """The copy of a world for one command: where it lies, and what it held before."""

    base: str
    before: dict[str, tuple[Any, ...]]

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """Folders of the copy, and what they stand for."""
        return ((f"{self.base}/home", HOME), (f"{self.base}/tmp", "/tmp"))

    def real(self, text: str) -> str:
        """A path of the sandbox as it is outside."""
        for real, shown in self.shown:
            if text == shown or text.startswith(f"{shown}/"):
                return real + text.removeprefix(shown)
        return text


def prepare(base: str, request: dict[str, Any]) -> Copy:
    """Copies the world of a request, and makes the operands that its command names."""
    folder = f"{base}/copy"
    remove(folder)
    os.makedirs(f"{folder}/tmp")
    subprocess.run(["cp", "-a", request["world"], f"{folder}/home"], check=True, capture_output=True)
    copy = Copy(folder, {})
    for path, content in request.get("make", {}).items():
        target = copy.real(path)
        try:
            os.makedirs(target if content is None else os.path.dirname(target), exist_ok=True)
            if content is not None:
                with open(target, "xb") as stream:
                    stream.write(b64decode(content))
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue  # two words of the command want the same name to be different things
    copy.before = picture(copy)
    return copy


def remove(folder: str) -> None:
    """Removes a copy, whatever modes a command may have given to its folders."""
    if os.path.isdir(folder):
        subprocess.run(["chmod", "-R", "u+rwx", folder], check=False, capture_output=True)
        subprocess.run(["rm", "-rf", folder], check=False, capture_output=True)


def picture(copy: Copy) -> dict[str, tuple[Any, ...]]:
    """Of everything in a copy, by its path in the sandbox: kind, mode, time (not of folders) and content."""
    found: dict[str, tuple[Any, ...]] = {}
    for real, shown in copy.shown:
        for folder, folders, files in os.walk(real):
            inner = shown + folder.removeprefix(real)
            for name in (*folders, *files):
                path = f"{folder}/{name}"
                state = os.lstat(path)
                kind = stat.S_IFMT(state.st_mode)
                content: Any = None
                if kind == stat.S_IFLNK:
                    content = os.readlink(path)
                elif kind == stat.S_IFREG:
                    try:
                        with open(path, "rb") as stream:
                            content = state.st_size, hashlib.blake2b(stream.read()).digest()
                    except PermissionError:
                        content = state.st_size, b""
                time_ns = 0 if kind == stat.S_IFDIR else state.st_mtime_ns
                found[f"{inner}/{name}"] = (kind, content, state.st_mode, time_ns)
    return found


def effects(copy: Copy, seen: Seen) -> list[dict[str, str]]:
    """Every lasting difference, in the words of the first way; a file that was opened and is the same says so."""
    after = picture(copy)
    opened = {path for _, path, kind, _ in seen.attempts if kind in ("create", "open for writing")}
    found: list[dict[str, str]] = []
    gone = ""
    for path in sorted(copy.before.keys() | after.keys()):
        kind = _difference(copy.before.get(path), after.get(path))
        if kind is None and path in opened:
            kind = "opened for writing"
        place = class_of(path)
        if kind is None or place is None or (gone and path.startswith(f"{gone}/")):
            continue
        if kind == "delete":
            gone = path
        found.append({"class": place, "path": path, "kind": kind})
    return found


def _difference(old: tuple[Any, ...] | None, new: tuple[Any, ...] | None) -> str | None:
    if old is None and new is not None:
        if new[0] == stat.S_IFDIR:
            return "mkdir"
        return (
            "create empty"
            if (new[0] == stat.S_IFREG and new[1][0] == 0) or new[0] == stat.S_IFIFO
            else "create"
        )
    if new is None:
        return "delete"
    assert old is not None
    if old[0] != new[0]:
        return "replace"
    if old[1] != new[1]:
        return "modify"
    return "meta" if old[2:] != new[2:] else None


# --- the processes ------------------------------------------------------------------------------------------------


def first_process(
    request: dict[str, Any], copy: Copy, program: bytes, control: int, streams: dict[str, int]
) -> None:
    """Runs as the parent of the command and never returns; it tells the supervisor as `inside.first_process` does.

    Whoever loses its parent becomes a child of this process, so that nobody gets away.
    """
    status = 1
    try:
        kernel.die_with_parent()
        kernel.adopt_orphans()
        supervisor = os.getppid()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM})
        child = os.fork()
        if child == 0:
            _become_command(request, copy, program, control, streams)
        for descriptor in {*streams.values()}:
            os.close(descriptor)
        started = time.monotonic()
        state = _wait_for(child, supervisor)
        elapsed = time.monotonic() - started
        left = _wait_for_rest()
        end_all()
        result = {"exit_code": os.waitstatus_to_exitcode(state), "ms": round(elapsed * 1000, 1), "left": left}
        os.write(control, json.dumps(result).encode() + b"\n")
        status = 0
    except BaseException as problem:  # noqa: BLE001  # whatever it is, the supervisor must hear of it
        os.write(control, json.dumps({"problem": f"{type(problem).__name__}: {problem}"}).encode() + b"\n")
    finally:
        end_all()
        os._exit(status)


def _become_command(
    request: dict[str, Any], copy: Copy, program: bytes, control: int, streams: dict[str, int]
) -> None:
    try:
        os.setsid()
        stdin = streams.get("stdin")
        os.dup2(os.open("/dev/null", os.O_RDONLY) if stdin is None else stdin, 0)
        os.dup2(streams["stdout"], 1)
        os.dup2(streams["stderr"], 2)
        limit_command(int(request["timeout"]) + 2)
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0))
        os.chdir(copy.real(request["cwd"]))
        environment = {name: copy.real(value) for name, value in request["env"].items()}
        environment["TMPDIR"] = f"{copy.base}/tmp"
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)  # Python ignores them, and so would the command
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD, signal.SIGTERM})
        kernel.give_up_privileges()
        restrict(copy.base)
        listener = kernel.install_filter(program)
        os.write(control, f"{listener}\n".encode())
        os.read(control, 1)
        os.closerange(3, 64)
        os.execve(request["argv"][0], request["argv"], environment)
    except BaseException as problem:  # noqa: BLE001  # the fork must not run on as a second first process
        os.write(2, f"witness: {type(problem).__name__}: {problem}\n".encode())
    finally:
        os._exit(126)


def _wait_for(child: int, supervisor: int) -> int:
    """Until the command has ended; ends it when the supervisor says that time is over."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            return status
        if pid == 0:
            caught = signal.sigwaitinfo({signal.SIGCHLD, signal.SIGTERM})
            if caught.si_signo == signal.SIGTERM and caught.si_pid == supervisor:
                _signal_all(signal.SIGKILL)


def _wait_for_rest() -> list[str]:
    deadline = time.monotonic() + GRACE_S
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return []
        if time.monotonic() > deadline:
            break
        time.sleep(0.005)
    names: list[str] = []
    for pid in descendants(os.getpid()):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as stream:
                names.append(stream.read().strip())
        except OSError:
            continue
    return sorted(names)


def end_all() -> None:
    """Ends whoever is below the caller, which adopts orphans.

    All are stopped before anybody is killed: a fork bomb would be quicker than we are.
    """
    for _ in range(1000):
        if _signal_all(signal.SIGSTOP) == descendants(os.getpid()):
            _signal_all(signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def _signal_all(number: signal.Signals) -> list[int]:
    """Sends a signal to all below the caller, and to nobody who got the number of one that has just ended."""
    handles = {}
    for pid in descendants(os.getpid()):
        try:
            handles[pid] = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
    still = set(descendants(os.getpid()))
    reached = []
    for pid, handle in handles.items():
        if pid in still:
            try:
                signal.pidfd_send_signal(handle, number)
                reached.append(pid)
            except ProcessLookupError:
                pass
        os.close(handle)
    return reached
