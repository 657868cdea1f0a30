# SPDX-License-Identifier: Apache-2.0
"""The session: one process in namespaces of its own that runs one command after the other and watches each.

    python -m tools.witness.session     (started by `client.Witness`; JSON Lines in, JSON Lines out)

It gives up root first, so that no process of a sandbox has the kernel's uid 0, then takes new user, network, IPC,
host name and mount namespaces, and prepares a root folder that shows the programs of the machine read-only and
nothing of its people. Every command gets further mount, pid and IPC namespaces, a fresh overlay over the home, and
fresh temporary folders.
"""

from __future__ import annotations

import codecs
import json
import os
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from tools.witness import copied, inside, kernel, network, services, worlds
from tools.witness.calls import program
from tools.witness.client import COPIED, NAMESPACES
from tools.witness.observe import Seen, descendants, observe
from tools.witness.places import ALIASES, HOME, WORK
from tools.witness.worlds import machine

OUTPUT_KEPT = 64 << 10
OUTPUT_LIMIT = 8 << 20
"""A command that prints more than this is ended: `yes` has shown what it does."""
PATIENCE_S = 3.0
INNER_ID = 1000
SHIMS = "/shims"
RENAMED = {"fd": "/usr/bin/fdfind", "bat": "/usr/bin/batcat"}
"""Tools that Debian calls otherwise than everybody else, by the name that everybody uses."""

_NETWORK = (
    "route add local default dev lo",
    "-6 route add local default dev lo",
    "link add eth0 type dummy",
    "link add eth0 type veth peer name eth1",  # where the kernel has no dummy; else refused, there is an eth0
    "link set eth1 up",
    "addr add 10.0.0.2/24 dev eth0",
    "link set eth0 up",
)

for _name in ("ascii", "idna", "latin-1", "utf-8"):
    codecs.lookup(_name)  # nothing can be imported once the session is an ordinary user


def main() -> int:
    """Answers requests until standard input ends. Exit status 1 and one line of JSON where no session can be had."""
    start = json.loads(sys.stdin.readline())
    try:
        session = Session(start)
    except OSError as problem:
        print(json.dumps({"unavailable": f"no sandbox on this machine: {problem}"}), flush=True)
        return 1
    told = {"worlds": session.worlds, "backend": session.backend, "limits": session.limits}
    print(json.dumps({"ready": True} | told), flush=True)
    for line in sys.stdin:
        print(json.dumps(session.run(json.loads(line))), flush=True)
    session.close()
    return 0


class Session:
    """Namespaces, the prepared root, the stand-ins of the network, and the loop over one command at a time."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.base = start["base"]
        if os.getuid() == 0:
            _join_group(start.get("groups", []))
            os.setgroups([])
            os.setresgid(start["uid"], start["uid"], start["uid"])
            os.setresuid(start["uid"], start["uid"], start["uid"])
            kernel.stay_readable()
        os.umask(0o022)
        self.backend, self.limits = _way(start.get("backend"))
        self.program = program(sockets=self.backend == NAMESPACES)
        self.worlds = {name: worlds.built(name, start["cache"]) for name in start["worlds"]}
        authority = network.authority(start["cache"])
        if self.backend == COPIED:
            kernel.adopt_orphans()
            return
        for name in ("scratch", "root", "sockets"):
            os.mkdir(f"{self.base}/{name}")
        _enter_namespaces()
        self.rest = b""
        self.log, log = os.pipe()
        os.set_blocking(self.log, False)
        keys = [f"{world}/.ssh/id_rsa" for world in self.worlds.values()]
        shell = services.SecureShell(f"{self.base}/ssh", keys, f"{self.worlds['plain']}/origin.git")
        self.servers = network.start(log, authority, f"{self.base}/sockets", shell)
        os.close(log)
        self.bases = services.DataBases(f"{self.base}/sockets")
        _prepare_root(f"{self.base}/root", authority, shell.known)

    def close(self) -> None:
        """Ends the stand-ins of the network; the namespaces end with the processes."""
        if self.backend == COPIED:
            copied.remove(f"{self.base}/copy")
            return
        self.bases.close()
        os.kill(self.servers, signal.SIGKILL)
        os.waitpid(self.servers, 0)

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Runs one command; gives the report as `client.Report` names its parts."""
        if self.backend == COPIED:
            return self._run_in_copy(request)
        self.bases.wanted_by(" ".join(request["argv"]))
        sockets = {name: network.socket_file(name) for name in network.SOCKETS}
        request = request | {"world": self.worlds[request["world"]], "sockets": sockets}
        begun = time.monotonic()
        self._drain_log()
        result = self._watched(
            request,
            lambda control, streams: inside.first_process(request, self.base, self.program, control, streams),
            Seen(),
        )
        result["net"] += self._drain_log()
        return result | {"total_ms": round((time.monotonic() - begun) * 1000, 1)}

    def _run_in_copy(self, request: dict[str, Any]) -> dict[str, Any]:
        """The same in a copy of the world, without namespaces."""
        begun = time.monotonic()
        request = request | {"world": self.worlds[request["world"]]}
        copy = copied.prepare(self.base, request)
        seen = Seen(shown=copy.shown, refused=copied.REFUSED)
        result = self._watched(
            request,
            lambda control, streams: copied.first_process(request, copy, self.program, control, streams),
            seen,
        )
        if "problem" not in result:
            result["effects"] = copied.effects(copy, seen)
        return result | {"total_ms": round((time.monotonic() - begun) * 1000, 1)}

    def _watched(
        self,
        request: dict[str, Any],
        first_process: Callable[[int, dict[str, int]], None],
        seen: Seen,
    ) -> dict[str, Any]:
        """Starts the first process of a sandbox and watches until it is done."""
        ours, theirs = socket.socketpair()
        output, errors = os.pipe(), os.pipe()
        streams = {"stdout": output[1], "stderr": errors[1]}
        if request.get("stdin") is not None:
            streams["stdin"] = _filled(request["stdin"].encode())
        pid = kernel.fork_into(0 if self.backend == COPIED else kernel.NEWNS | kernel.NEWPID | kernel.NEWIPC)
        if pid == 0:
            first_process(theirs.fileno(), streams)
        theirs.close()
        for descriptor in {*streams.values()}:
            os.close(descriptor)
        watch = _Watch(pid, ours, output[0], errors[0], request["timeout"], seen)
        try:
            result = watch.follow()
        finally:
            ours.close()
            os.close(output[0])
            os.close(errors[0])
            if watch.listener is not None:
                os.close(watch.listener)
            if self.backend == COPIED:
                copied.end_all()
            else:
                _end(pid)
        return result | {
            "timed_out": watch.timed_out,
            "cut": watch.cut,
            "stdout": bytes(watch.kept[output[0]]).decode("utf-8", "replace"),
            "stderr": bytes(watch.kept[errors[0]]).decode("utf-8", "replace"),
            "attempts": [
                {"class": place, "path": path, "kind": kind, "by": by}
                for place, path, kind, by in seen.attempts
            ],
            "execs": [list(words) for words in seen.execs],
            "net": [{"kind": kind, "address": address} for kind, address in seen.net],
            "events": seen.events,
        }

    def _drain_log(self) -> list[dict[str, str]]:
        """What the stand-ins of the network noted since the last call; they note a request before they answer it."""
        raw, self.rest = self.rest, b""
        while True:
            try:
                part = os.read(self.log, 65536)
            except BlockingIOError:
                break
            if not part:
                break
            raw += part
        whole, newline, self.rest = raw.rpartition(b"\n")  # a long line may still be on its way
        return [json.loads(line) for line in whole.splitlines()] if newline else []


class _Watch:
    """The supervisor of one command: answers reports, gathers output, and keeps the time."""

    def __init__(
        self, pid: int, control: socket.socket, output: int, errors: int, timeout: float, seen: Seen
    ) -> None:
        self.pid, self.control, self.timeout = pid, control, timeout
        self.seen = seen
        self.kept = {output: bytearray(), errors: bytearray()}
        self.size = 0
        self.timed_out = self.cut = False
        self.listener: int | None = None

    def follow(self) -> dict[str, Any]:
        """Until the first process of the sandbox has told its result, or is gone."""
        poll = select.poll()
        for descriptor in (self.control.fileno(), *self.kept):
            poll.register(descriptor, select.POLLIN)
        open_streams = set(self.kept)
        deadline = time.monotonic() + self.timeout
        told = b""
        while True:
            wait = deadline - time.monotonic()
            if wait <= 0:
                if self.timed_out or self.cut:
                    return {"problem": "the sandbox did not end in time"}
                self.timed_out = True
                deadline = self._stop()
                continue
            for descriptor, event in poll.poll(wait * 1000):
                if descriptor == self.listener:
                    if event & select.POLLIN:
                        self._answer()
                    else:
                        poll.unregister(descriptor)
                elif descriptor in open_streams:
                    if not self._gather(descriptor):
                        poll.unregister(descriptor)
                        open_streams.discard(descriptor)
                    elif self.size > OUTPUT_LIMIT and not (self.cut or self.timed_out):
                        self.cut = True
                        deadline = self._stop()
                elif descriptor == self.control.fileno():
                    part = self.control.recv(1 << 20)
                    told += part
                    if not part:
                        return {"problem": "the sandbox ended without a result"}
                    line, newline, rest = told.partition(b"\n")
                    if newline and self.listener is None and line.isdigit():
                        self._attach(int(line), poll)
                        told = rest
                    elif newline:
                        for stream in open_streams:
                            self._drain(stream)
                        result: dict[str, Any] = json.loads(line)
                        return result

    def _attach(self, number: int, poll: select.poll) -> None:
        with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="ascii") as stream:
            command = int(stream.read().split()[-1])  # before it companions may have been started
        self.listener = kernel.take_descriptor(command, number)
        kernel.hurry(self.listener)
        poll.register(self.listener, select.POLLIN)
        self.control.send(b"g")

    def _answer(self) -> None:
        assert self.listener is not None
        try:
            notification = kernel.receive(self.listener)
        except OSError:
            return  # its process was killed between the call and now
        kernel.answer(self.listener, notification[0], observe(notification, self.seen, self.pid))

    def _gather(self, descriptor: int) -> bool:
        data = os.read(descriptor, 65536)
        self.size += len(data)
        self.kept[descriptor] += data[: OUTPUT_KEPT - len(self.kept[descriptor])]
        return bool(data)

    def _drain(self, descriptor: int) -> None:
        """What is still in a pipe: every writer has ended by now."""
        os.set_blocking(descriptor, False)
        try:
            while self._gather(descriptor):
                pass
        except BlockingIOError:
            return

    def _stop(self) -> float:
        """Ends all processes of the command, so that its effects can still be looked at; gives the new deadline."""
        os.kill(self.pid, signal.SIGTERM)
        return time.monotonic() + PATIENCE_S


def _end(pid: int) -> None:
    """Ends a sandbox: with its first process the kernel kills every other."""
    os.kill(pid, signal.SIGKILL)
    for child in descendants(pid):
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            continue
    os.waitpid(pid, 0)


def _filled(data: bytes) -> int:
    """A descriptor to read `data` from."""
    descriptor = os.memfd_create("stdin")
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _join_group(files: list[str]) -> None:
    """Enters control groups that the starter made: memory and number of processes of all sandboxes together."""
    for file in files:
        with open(file, "w", encoding="ascii") as stream:
            stream.write(str(os.getpid()))


def _way(wanted: str | None) -> tuple[str, str]:
    """Which way is open, and why it is not the first. Raises OSError where none is, or not the wanted one."""
    reason = "the second way was asked for" if wanted == COPIED else _closed()
    if reason is None:
        return NAMESPACES, ""
    if wanted == NAMESPACES:
        raise OSError(reason)
    second = copied.reason_unavailable()
    if second is not None:
        raise OSError(f"{reason}; {second}")
    return COPIED, f"{reason}: a copy of the world and landlock; no network, no hostile world, no terminal"


def _closed() -> str | None:
    """Why no namespaces can be had; tried in a process of its own, since half of them would be worse than none."""
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            kernel.unshare(kernel.NEWUSER | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWNS)
            with open("/proc/self/setgroups", "w", encoding="ascii") as stream:
                stream.write("deny")
            kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
            kernel.mount("tmpfs", "/tmp", "tmpfs", kernel.MS_NOSUID)
        except OSError as problem:
            os.write(told, str(problem).encode())
        finally:
            os._exit(0)
    os.close(told)
    with open(ready, "rb") as stream:
        reason = stream.read().decode()
    os.waitpid(pid, 0)
    return f"no namespaces ({reason})" if reason else None


def _enter_namespaces() -> None:
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(kernel.NEWUSER | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWNS)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{INNER_ID} {uid} 1"),
        ("gid_map", f"{INNER_ID} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as stream:
            stream.write(text)
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    socket.sethostname("box")
    kernel.raise_loopback()
    # Every address is this machine, so that a request to any host reaches the stand-ins. Without `ip` only names do.
    if shutil.which("ip"):
        subprocess.run(
            ["ip", "-force", "-batch", "-"],
            input="\n".join(_NETWORK),
            text=True,
            check=False,
            capture_output=True,
            preexec_fn=lambda: kernel.pass_capability(kernel.CAP_NET_ADMIN),
        )
    try:
        with open("/proc/sys/net/ipv4/ping_group_range", "w", encoding="ascii") as stream:
            stream.write(f"{INNER_ID} {INNER_ID}")
    except OSError:
        return  # no `ping` then


# --- the root that commands see -----------------------------------------------------------------------------------


def _prepare_root(root: str, authority: str, known_hosts: str) -> None:
    """Fills `root` with what is the same for every command; everything in it is read-only but the mounts of a
    command.
    """
    kernel.mount("tmpfs", root, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=64m,mode=755")
    for name in (
        "proc",
        "sys",
        "dev",
        "tmp",
        "run",
        "home",
        "root",
        "mnt",
        "srv",
        "media",
        "usr",
        "var",
        "opt",
    ):
        os.mkdir(f"{root}/{name}")
    os.makedirs(f"{root}{HOME}")
    os.mkdir(f"{root}{SHIMS}")
    for name, tool in RENAMED.items():
        if os.path.exists(tool):
            os.symlink(tool, f"{root}{SHIMS}/{name}")
    os.symlink(HOME, f"{root}/home/me")  # as examples call it
    for name in ALIASES:
        os.symlink(WORK, f"{root}{name}")
    for name in ("bin", "sbin", "lib", "lib64", "lib32", "libx32"):
        if os.path.islink(f"/{name}"):
            os.symlink(os.readlink(f"/{name}"), f"{root}/{name}")
        elif os.path.isdir(f"/{name}"):
            os.mkdir(f"{root}/{name}")
            _show(f"/{name}", f"{root}/{name}")
    for name in ("usr", "opt"):
        _show(f"/{name}", f"{root}/{name}")
    _show_var(f"{root}/var", os.path.dirname(root))
    _prepare_etc(f"{root}/etc", authority, known_hosts)
    _hide(f"{root}/var/tmp", "mode=755")
    _hide(f"{root}/var/log", "mode=755")
    machine.fill_logs(f"{root}/var/log")
    kernel.restrict_mount(f"{root}/var/log")
    _prepare_devices(f"{root}/dev")
    kernel.mount("/sys", f"{root}/sys", flags=kernel.MS_BIND | kernel.MS_REC)
    kernel.restrict_mount(f"{root}/sys")
    os.chmod(f"{root}/root", 0o700)
    # The mount itself, not what is mounted below it: those have what they need.
    kernel.mount(
        "none", root, flags=0x20 | kernel.MS_BIND | kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV
    )


def _show(source: str, target: str) -> None:
    kernel.mount(source, target, flags=kernel.MS_BIND | kernel.MS_REC)
    kernel.restrict_mount(target)


def _show_var(target: str, base: str) -> None:
    """/var with small data bases laid over it; as it is where the kernel does not lay one folder over another."""
    os.mkdir(f"{base}/var")
    machine.fill_var(f"{base}/var")
    try:
        kernel.mount("overlay", target, "overlay", kernel.MS_NOSUID, f"lowerdir={base}/var:/var,userxattr")
    except OSError:
        kernel.mount("/var", target, flags=kernel.MS_BIND | kernel.MS_REC)
    kernel.restrict_mount(target)


def _hide(target: str, options: str) -> None:
    if os.path.isdir(target):
        kernel.mount("tmpfs", target, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, f"size=8m,{options}")


def _prepare_etc(etc: str, authority: str, known_hosts: str) -> None:
    """A copy of what everybody may read in /etc, with users, names and certificates of the sandbox."""
    shutil.copytree("/etc", etc, symlinks=True, ignore=_not_for_us, ignore_dangling_symlinks=True)
    with open(authority, encoding="ascii") as stream:
        certificate = stream.read()
    bundle = f"{etc}/ssl/certs/ca-certificates.crt"
    os.makedirs(os.path.dirname(bundle), exist_ok=True)
    _append(bundle, certificate)
    _append(f"{etc}/passwd", f"user:x:{INNER_ID}:{INNER_ID}:User:{HOME}:/bin/bash\n", drop=f":x:{INNER_ID}:")
    _append(f"{etc}/group", f"user:x:{INNER_ID}:\n", drop=f":x:{INNER_ID}:")
    _append(f"{etc}/pacman.conf", machine.PACMAN_CONF)
    for name, text in (
        ("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"),
        ("hosts", "127.0.0.1 localhost box\n::1 localhost\n"),
        (
            "nsswitch.conf",
            "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
        ),
        ("hostname", "box\n"),
        ("ssh/ssh_known_hosts", known_hosts),
    ):
        os.makedirs(os.path.dirname(f"{etc}/{name}"), exist_ok=True)
        if os.path.lexists(f"{etc}/{name}"):
            os.unlink(f"{etc}/{name}")
        with open(f"{etc}/{name}", "w", encoding="ascii") as stream:
            stream.write(text)
    kernel.mount(etc, etc, flags=kernel.MS_BIND)
    kernel.restrict_mount(etc)


def _not_for_us(folder: str, names: list[str]) -> set[str]:
    """What cannot be copied: what others may not read, and what is neither file, folder nor link."""
    refused = {"pip.conf", "npmrc", "gitconfig", "mtab", "profile.d"} & set(names)
    for name in names:
        path = f"{folder}/{name}"
        try:
            state = os.lstat(path)
        except OSError:
            refused.add(name)
            continue
        readable = os.access(path, os.R_OK | (os.X_OK if stat.S_ISDIR(state.st_mode) else 0))
        if not stat.S_ISLNK(state.st_mode):
            if not readable or not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
                refused.add(name)
    return refused


def _append(path: str, text: str, drop: str = "") -> None:
    lines = []
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="replace") as stream:
            lines = [line for line in stream if not drop or drop not in line]
        os.chmod(path, 0o644)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("".join(lines) + text)


def _prepare_devices(dev: str) -> None:
    kernel.mount("tmpfs", dev, "tmpfs", kernel.MS_NOSUID, "size=64k,mode=755")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        with open(f"{dev}/{name}", "w", encoding="ascii"):
            pass
        kernel.mount(f"/dev/{name}", f"{dev}/{name}", flags=kernel.MS_BIND)
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{target}", f"{dev}/{name}")
    os.mkdir(f"{dev}/shm")
    os.mkdir(f"{dev}/pts")
    os.mkdir(f"{dev}/mapper")
    kernel.mount(
        "devpts",
        f"{dev}/pts",
        "devpts",
        kernel.MS_NOSUID | kernel.MS_NOEXEC,
        "newinstance,ptmxmode=0666,mode=620",
    )
    os.symlink("pts/ptmx", f"{dev}/ptmx")


if __name__ == "__main__":
    sys.exit(main())
