# SPDX-License-Identifier: Apache-2.0
"""The witness as the rest sees it: `Witness().run(command)` gives a `Report` of what the command attempted and left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tools.witness import kernel
from tools.witness.operands import operands_of
from tools.witness.places import HOME, WORK
from tools.witness.worlds import NAMES

SANDBOX_UID = 64_001
"""Who a session is when root starts it: an ordinary number that owns nothing on the machine."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/games"
TIMEOUT_S = 10.0
SHELL = "/bin/bash"

ENVIRONMENT = {
    "HOME": HOME,
    "PATH": f"{PATH}:/shims",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "USER": "user",
    "LOGNAME": "user",
    "SHELL": SHELL,
    "AWS_EC2_METADATA_DISABLED": "true",
    "REQUESTS_CA_BUNDLE": "/etc/ssl/certs/ca-certificates.crt",
    "NODE_EXTRA_CA_CERTS": "/etc/ssl/certs/ca-certificates.crt",
    "SSH_AUTH_SOCK": "/tmp/agent",
    "VAULT_ADDR": "http://127.0.0.1:8200",
    # What examples call their variables: a path to read, a folder, a number, an interface.
    "f": "f.txt",
    "file": "f.txt",
    "dir": "src",
    "path": "f.txt",
    "n": "1",
    "pid": "1",
    "dev": "lo",
    "link": "lo",
    "x": "a",
    "a": "1",
    "b": "2",
    "d": "src",
    "g": "user",
    "t": "1",
    "id": "1",
}


NAMESPACES, COPIED = "namespaces", "copied"
"""The two ways to contain a command: see `session.py` and `copied.py`."""


COMPANIONS = {
    "tmux": ("/usr/bin/tmux", "new-session", "-d", "-s", "s"),
    "ssh-add": ("/usr/bin/ssh-agent", "-a", "/tmp/agent"),
}
"""By a word of the command what must be running before it means anything."""


class UnavailableError(Exception):
    """No command can be contained and watched here; the message says why."""


@dataclass
class Report:
    """What one command did. Times are in milliseconds.

    Args:
        exit_code: of the shell; below zero the signal that ended it; None when there was no result.
        attempts: what it tried to change, whether it could or not: class, path, kind, and the program that tried.
        effects: what was different when it had ended: class, path, kind.
        execs: the programs started: path, then their words.
        net: addresses asked for, and what the stand-ins were asked: kind, address, `method`, `body`.
        left: names of programs that were still running 300 ms after the command had ended.
        ms: from the start of the shell to its end; total_ms: with everything the witness adds.
        problem: what went wrong with the sandbox itself, else empty.
        backend: how it was contained.
    """

    command: str
    world: str
    exit_code: int | None = None
    attempts: list[dict[str, str]] = field(default_factory=list)
    effects: list[dict[str, str]] = field(default_factory=list)
    execs: list[list[str]] = field(default_factory=list)
    net: list[dict[str, str]] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False
    cut: bool = False
    ms: float = 0.0
    total_ms: float = 0.0
    events: int = 0
    problem: str = ""
    backend: str = NAMESPACES


class Witness:
    """A session to run commands in, one after the other; use it with `with`.

    Raises: UnavailableError where the machine cannot contain a command. It never runs one uncontained.
    """

    def __init__(
        self, *, timeout: float = TIMEOUT_S, cache: str | None = None, backend: str | None = None
    ) -> None:
        """`backend` asks for one of the two ways; without it the second is taken where the first is closed."""
        reason = kernel.reason_unavailable()
        if reason:
            raise UnavailableError(reason)
        self.timeout = timeout
        self._uid = SANDBOX_UID if os.getuid() == 0 else os.getuid()
        self._base = tempfile.mkdtemp(prefix="shellguard-witness-")
        self._groups: list[str] = []
        os.chmod(self._base, 0o755)
        try:
            self._start(cache or _cache_folder(self._uid), backend)
        except BaseException:
            self.close()
            raise

    def _start(self, cache: str, backend: str | None) -> None:
        if os.getuid() == 0:
            os.chown(self._base, self._uid, self._uid)
            self._groups = _control_groups(os.path.basename(self._base))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.witness.session"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            text=True,
            env={"PATH": PATH, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"},
        )
        start = {"base": self._base, "uid": self._uid, "worlds": NAMES, "cache": cache, "backend": backend}
        answer = self._ask(start | {"groups": [f"{group}/cgroup.procs" for group in self._groups]})
        if not answer.get("ready"):
            raise UnavailableError(answer.get("unavailable", "the session ended at once"))
        self._worlds: dict[str, str] = answer["worlds"]
        self.backend: str = answer["backend"]
        self.limits: str = answer["limits"]
        """Why this is the second way, and what cannot be tried in it; empty in the first."""

    def run(
        self,
        command: str,
        *,
        world: str = "plain",
        stdin: str | None = None,
        tty: bool = False,
        timeout: float | None = None,
        make: bool = True,
        env: dict[str, str] | None = None,
        argv: list[str] | None = None,
    ) -> Report:
        """Runs `bash -c command`, or `argv` in its place. Operands that it names and the world lacks are made first.

        Raises: UnavailableError when the session is gone.
        """
        if self.backend == COPIED and (world != "plain" or tty):
            what = "the hostile world" if world != "plain" else "a terminal"
            return Report(command, world, problem=f"{what} needs namespaces", backend=self.backend)
        if "\0" in command:
            return Report(command, world, problem="a command line cannot hold NUL")
        request: dict[str, Any] = {
            "world": world,
            "argv": argv or [SHELL, "-c", command],
            "env": ENVIRONMENT | ({"TERM": "xterm"} if tty else {}) | (env or {}),
            "cwd": WORK,
            "stdin": stdin,
            "tty": tty,
            "timeout": self.timeout if timeout is None else timeout,
            "make": {},
        }
        request["companions"] = [list(argv) for word, argv in COMPANIONS.items() if word in command.split()]
        if make:
            request["make"] = {
                path: None if content is None else b64encode(content).decode()
                for path, content in operands_of(command, self._worlds[world]).items()
            }
        answer = self._ask(request)
        if not answer:
            raise UnavailableError("the session has ended")
        return Report(command, world, backend=self.backend, **answer)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            return {}
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {}
        return answer

    def close(self) -> None:
        """Ends the session and all that is in it."""
        process = getattr(self, "_process", None)
        if process is not None:
            process.stdin.close()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
            self._process = None  # type: ignore[assignment]
        for group in self._groups:
            try:
                os.rmdir(group)
            except OSError:
                continue
        self._groups = []
        shutil.rmtree(self._base, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _cache_folder(uid: int) -> str:
    """Where worlds are kept between sessions. Raises UnavailableError when it is not safely ours."""
    path = f"/var/tmp/shellguard-witness-{uid}"
    try:
        os.mkdir(path, 0o755)
        if os.getuid() == 0:
            os.chown(path, uid, uid)
    except FileExistsError:
        state = os.lstat(path)
        if state.st_uid != uid or state.st_mode & 0o170000 != 0o040000 or state.st_mode & 0o022:
            raise UnavailableError(f"{path} is not a folder of ours") from None
    return path


def _control_groups(name: str) -> list[str]:
    """Limits on the memory and the processes of a session, where the machine has control groups to write to."""
    made = []
    limits = (
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", str(4 << 30)),
        ("/sys/fs/cgroup/pids", "pids.max", "1000"),
        ("/sys/fs/cgroup", "memory.max", str(4 << 30)),
        ("/sys/fs/cgroup", "pids.max", "1000"),
    )
    for folder, file, value in limits:
        group = f"{folder}/{name}"
        try:
            if folder == "/sys/fs/cgroup" and not os.path.exists(f"{folder}/cgroup.controllers"):
                continue
            os.makedirs(group, exist_ok=True)
            with open(f"{group}/{file}", "w", encoding="ascii") as stream:
                stream.write(value)
            if group not in made:
                made.append(group)
        except OSError:
            if os.path.isdir(group) and group not in made:
                os.rmdir(group)
    return made
