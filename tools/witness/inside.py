# SPDX-License-Identifier: Apache-2.0
"""The inside of one sandbox: its first process, which builds the mounts, starts the command, and looks at what it left.

Runs in a forked copy of the session and imports nothing late: after the change of root there is nothing to import from.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import select
import signal
import stat
import struct
import termios
import time
from base64 import b64decode
from typing import Any

from tools.witness import kernel
from tools.witness.places import HOME, class_of

GRACE_S = 0.3
"""How long processes that the command left behind may still finish."""
QUIET_S = 0.7
"""After this long without output a key is pressed on a terminal: the command waits for one."""
QUIET_BEFORE_S = 3.0
"""The same before the first output, while a program may still be starting."""
MAX_FILE_BYTES = 64 << 20
MAX_PROCESSES = 400
MAX_EFFECTS = 500
SCRATCH_SIZE = "256m"

_AWAITED = frozenset({signal.SIGCHLD, signal.SIGTERM})

_MASKED = ("sysrq-trigger", "kcore", "kmsg", "keys", "timer_list", "sched_debug")
_READ_ONLY = ("sys", "bus", "irq", "fs", "scsi", "acpi")


def first_process(
    request: dict[str, Any], base: str, program: bytes, control: int, streams: dict[str, int]
) -> None:
    """Runs as pid 1 of the sandbox and never returns.

    `streams` are the descriptors of the command: `stdin` (absent: /dev/null), `stdout`, `stderr`. `control` is
    a socket:
    out goes the number of the descriptor that reports come from, in comes one byte of "go", out goes one line of JSON.
    """
    status = 1
    try:
        kernel.die_with_parent()
        result = _run(request, base, program, control, streams)
        os.write(control, json.dumps(result).encode() + b"\n")
        status = 0
    except BaseException as problem:  # noqa: BLE001  # whatever it is, the supervisor must hear of it
        os.write(control, json.dumps({"problem": f"{type(problem).__name__}: {problem}"}).encode() + b"\n")
    finally:
        os._exit(status)


def _run(
    request: dict[str, Any], base: str, program: bytes, control: int, streams: dict[str, int]
) -> dict[str, Any]:
    layers = _mount_all(request, base)
    others = _start_companions(request, layers)
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    child = os.fork()
    if child == 0:
        _become_command(request, program, control, streams)
    for descriptor in {*streams.values()}:
        os.close(descriptor)
    started = time.monotonic()
    status = _wait_for(child)
    elapsed = time.monotonic() - started
    left = _wait_for_rest(others)
    _kill_all()
    return {
        "exit_code": os.waitstatus_to_exitcode(status),
        "ms": round(elapsed * 1000, 1),
        "left": left,
        "effects": _effects(layers),
    }


# --- mounts -------------------------------------------------------------------------------------------------------


def _mount_all(request: dict[str, Any], base: str) -> dict[str, str]:
    """Builds the view of the command; gives the paths under which `_effects` finds the layers afterwards."""
    scratch, root = f"{base}/scratch", f"{base}/root"
    kernel.mount(
        "tmpfs", scratch, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, f"size={SCRATCH_SIZE},mode=755"
    )
    for name in ("up", "work", "made", "tmp", "run"):
        os.mkdir(f"{scratch}/{name}")
    os.chmod(f"{scratch}/tmp", 0o1777)
    for path, content in request.get("make", {}).items():
        _make(f"{scratch}/made" if path.startswith(f"{HOME}/") else f"{scratch}/tmp", path, content)
    layers = (
        f"lowerdir={scratch}/made:{request['world']},upperdir={scratch}/up,workdir={scratch}/work,userxattr"
    )
    kernel.mount("overlay", f"{root}{HOME}", "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, layers)
    for target, source in (("tmp", "tmp"), ("var/tmp", "tmp"), ("dev/shm", "tmp"), ("run", "run")):
        kernel.mount(f"{scratch}/{source}", f"{root}/{target}", flags=kernel.MS_BIND)
    os.makedirs(f"{scratch}/run/user/1000", 0o700)
    for name in ("lock", "screen"):
        os.mkdir(f"{scratch}/run/{name}")
        os.chmod(f"{scratch}/run/{name}", 0o1777)
    os.makedirs(f"{scratch}/run/systemd/system")  # by it tools know that the machine was started by systemd
    for name, file in request.get("sockets", {}).items():
        os.makedirs(os.path.dirname(f"{scratch}/run/{name}"), exist_ok=True)
        with open(f"{scratch}/run/{name}", "w", encoding="ascii"):
            pass
        kernel.mount(f"{base}/sockets/{file}", f"{root}/run/{name}", flags=kernel.MS_BIND)
    kernel.mount("proc", f"{root}/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    for name in _MASKED:
        if os.path.exists(f"{root}/proc/{name}"):
            kernel.mount(f"{root}/dev/null", f"{root}/proc/{name}", flags=kernel.MS_BIND)
    for name in _READ_ONLY:
        if os.path.exists(f"{root}/proc/{name}"):
            kernel.mount(f"{root}/proc/{name}", f"{root}/proc/{name}", flags=kernel.MS_BIND | kernel.MS_REC)
            kernel.restrict_mount(f"{root}/proc/{name}")
    held = {
        name: f"/proc/self/fd/{os.open(path, os.O_RDONLY | os.O_DIRECTORY)}"
        for name, path in (
            ("up", f"{scratch}/up"),
            ("made", f"{scratch}/made"),
            ("world", request["world"]),
            ("tmp", f"{scratch}/tmp"),
        )
    }
    kernel.pivot_root(root)
    return held | {
        "made_tmp": json.dumps([path for path in request.get("make", {}) if path.startswith("/tmp/")])
    }


def _make(folder: str, path: str, content: str | None) -> None:
    """Creates an operand that the command names: a folder where `content` is None, else a file (base64)."""
    inner = path.removeprefix(HOME).removeprefix("/tmp").lstrip("/")
    target = f"{folder}/{inner}"
    try:
        if content is None:
            os.makedirs(target, exist_ok=True)
            return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "xb") as stream:
            stream.write(b64decode(content))
        if b"PRIVATE KEY" in b64decode(content):
            os.chmod(target, 0o600)
        os.utime(target, (1_700_000_000, 1_700_000_000))
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return  # two words of the command want the same name to be different things


# --- the command --------------------------------------------------------------------------------------------------


def _become_command(request: dict[str, Any], program: bytes, control: int, streams: dict[str, int]) -> None:
    try:
        os.setsid()
        if request.get("tty"):
            streams = _take_terminal(streams)
        stdin = streams.get("stdin")
        if stdin is None:
            stdin = os.open("/dev/null", os.O_RDONLY)
        os.dup2(stdin, 0)
        os.dup2(streams["stdout"], 1)
        os.dup2(streams["stderr"], 2)
        limit_command(int(request["timeout"]) + 2)
        os.chdir(request["cwd"])
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)  # Python ignores them, and so would the command
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)
        argv, environment = request["argv"], request["env"]
        kernel.give_up_privileges()
        listener = kernel.install_filter(program)
        os.write(control, f"{listener}\n".encode())
        os.read(control, 1)
        os.closerange(3, 64)
        os.execve(argv[0], argv, environment)
    except BaseException as problem:  # noqa: BLE001  # the fork must not run on as a second first process
        os.write(2, f"witness: {type(problem).__name__}: {problem}\n".encode())
    finally:
        os._exit(126)


def limit_command(seconds: int) -> None:
    """What the caller, and each program it becomes, may use: processor time, sizes, processes, memory."""
    os.umask(0o022)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, MAX_FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (MAX_PROCESSES, MAX_PROCESSES))
    resource.setrlimit(resource.RLIMIT_DATA, (6 << 30, 6 << 30))


def _start_companions(request: dict[str, Any], layers: dict[str, str]) -> frozenset[str]:
    """Starts what a command expects to be running (a server of tmux), unwatched; gives the pids that stay."""
    commands = request.get("companions", ())
    for argv in commands:
        child = os.fork()
        if child == 0:
            try:
                null = os.open("/dev/null", os.O_RDWR)
                for number in (0, 1, 2):
                    os.dup2(null, number)
                os.setsid()
                os.chdir(request["cwd"])
                limit_command(int(request["timeout"]) + 2)
                os.closerange(3, 1024)
                os.execve(argv[0], argv, request["env"])
            except OSError:
                pass
            finally:
                os._exit(126)
        os.waitpid(child, 0)
    if not commands:
        return frozenset()
    made = json.loads(layers["made_tmp"])
    for folder, folders, files in os.walk(layers["tmp"]):
        made += [f"/tmp{folder.removeprefix(layers['tmp'])}/{name}" for name in (*folders, *files)]
    layers["made_tmp"] = json.dumps(made)
    return frozenset(name for name in os.listdir("/proc") if name.isdigit())


def _take_terminal(streams: dict[str, int]) -> dict[str, int]:
    """A new terminal of the sandbox as input and output; what it shows is copied to `stdout` by a process of
    its own.
    """
    leader, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    if os.fork():
        os.close(leader)
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        return {"stdin": terminal, "stdout": terminal, "stderr": terminal}
    os.setsid()
    os.close(terminal)
    keys = [b"q", b"\x03", b"\x04"]  # a pager is left with q, others with interrupt or end of input
    try:
        _copy_terminal(leader, streams["stdout"], keys)
    finally:
        os._exit(0)


def _copy_terminal(leader: int, output: int, keys: list[bytes]) -> None:
    quiet = QUIET_BEFORE_S
    while True:
        ready, _, _ = select.select([leader], [], [], quiet)
        if ready:
            quiet = QUIET_S
            try:
                data = os.read(leader, 65536)
            except OSError as problem:
                if problem.errno == errno.EIO:
                    return
                raise
            if not data:
                return
            os.write(output, data)
        elif keys:
            os.write(leader, keys.pop(0))


def _wait_for(child: int) -> int:
    """Until the command has ended; ends it when the supervisor says that time is over.

    A signal from outside the sandbox has the sender 0: what a command sends us from inside means nothing.
    """
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            return status
        if pid == 0:
            caught = signal.sigwaitinfo(_AWAITED)
            if caught.si_signo == signal.SIGTERM and caught.si_pid == 0:
                _kill_all()


def _wait_for_rest(others: frozenset[str]) -> list[str]:
    """Waits for what the command left running; gives the names of the programs that are still there."""
    deadline = time.monotonic() + GRACE_S
    pause = 0.001
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return []
        left = [
            name
            for pid in os.listdir("/proc")
            if pid.isdigit() and pid not in others
            if (name := _living_name(pid))
        ]
        if time.monotonic() > deadline or (others and not left):
            return sorted(left)
        time.sleep(pause)
        pause = min(pause * 2, 0.02)


def _living_name(pid: str) -> str:
    if pid == "1":
        return ""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            text = stream.read()
    except OSError:
        return ""
    name, _, rest = text.partition("(")[2].rpartition(")")
    return "" if rest.split()[0] in ("Z", "X") else name


def _kill_all() -> None:
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        return
    except PermissionError:
        return


# --- what is left -------------------------------------------------------------------------------------------------


def _effects(layers: dict[str, str]) -> list[dict[str, str]]:
    """Every lasting difference: what the overlay's upper layer holds, and what lies in the folder for
    temporary files.
    """
    try:
        while True:
            os.waitpid(-1, 0)  # nobody may write any more
    except ChildProcessError:
        pass
    found: list[dict[str, str]] = []
    _scan_upper(layers, "", found)
    for kind in ("shm", "sem", "msg"):
        with open(f"/proc/sysvipc/{kind}", encoding="ascii") as stream:
            left = len(stream.readlines()) - 1
        found += [{"class": "kernel", "path": "", "kind": f"System V {kind} left"}] * left
    made = set(json.loads(layers["made_tmp"]))
    for folder, folders, files in os.walk(layers["tmp"]):
        inner = folder.removeprefix(layers["tmp"])
        for name in (*folders, *files):
            path = f"/tmp{inner}/{name}"
            if path not in made and not any(each.startswith(f"{path}/") for each in made):
                _add(found, path, "mkdir" if name in folders else "create", f"{folder}/{name}")
    return found


def _add(found: list[dict[str, str]], path: str, kind: str, real: str = "") -> None:
    place = class_of(path)
    if place is not None and len(found) < MAX_EFFECTS:
        entry = {"class": place, "path": path, "kind": kind}
        if kind == "create" and real:
            try:
                if os.lstat(real).st_size == 0:
                    entry["kind"] = "create empty"
            except OSError:
                pass
        found.append(entry)


def _scan_upper(layers: dict[str, str], inner: str, found: list[dict[str, str]]) -> None:
    with os.scandir(f"{layers['up']}{inner}") as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        below = f"{inner}/{entry.name}"
        state = entry.stat(follow_symlinks=False)
        lower = _lower(layers, below)
        path = f"{HOME}{below}"
        if stat.S_ISCHR(state.st_mode) and state.st_rdev == 0:
            _add(found, path, "delete")
        elif stat.S_ISDIR(state.st_mode):
            if lower is None or not os.path.isdir(lower):
                _add(found, path, "mkdir")
            elif _is_opaque(f"{layers['up']}{below}"):
                _add(found, path, "replace")
            elif os.lstat(lower).st_mode != state.st_mode:
                _add(found, path, "meta")
            _scan_upper(layers, below, found)
        elif lower is None:
            _add(found, path, "create", f"{layers['up']}{below}")
        else:
            kind = _difference(f"{layers['up']}{below}", lower)
            if kind:
                _add(found, path, kind)


def _lower(layers: dict[str, str], below: str) -> str | None:
    for layer in ("made", "world"):
        if os.path.lexists(f"{layers[layer]}{below}"):
            return f"{layers[layer]}{below}"
    return None


def _is_opaque(path: str) -> bool:
    try:
        return os.getxattr(path, "user.overlay.opaque", follow_symlinks=False) == b"y"
    except OSError:
        return False


def _difference(upper: str, lower: str) -> str:
    new, old = os.lstat(upper), os.lstat(lower)
    if stat.S_IFMT(new.st_mode) != stat.S_IFMT(old.st_mode):
        return "replace"
    if stat.S_ISREG(new.st_mode):
        if new.st_size != old.st_size:
            return "modify"
        with open(upper, "rb") as one, open(lower, "rb") as other:
            if one.read() != other.read():
                return "modify"
    elif stat.S_ISLNK(new.st_mode) and os.readlink(upper) != os.readlink(lower):
        return "modify"
    if new.st_mode != old.st_mode or new.st_mtime_ns != old.st_mtime_ns:
        return "meta"
    return "opened for writing"
