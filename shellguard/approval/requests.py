# SPDX-License-Identifier: Apache-2.0
"""A request: one command that waits for a person, frozen with all that makes it what it is.

What is approved is what runs: the text, the shell, the folder, the programs by their content, and the files it acts on.
Each is compared again before it runs; whatever differs is named, and nothing runs. An answer is for one request and
never becomes a rule.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from dataclasses import asdict, dataclass, replace
from hashlib import sha256

from shellguard.approval import checkpoint
from shellguard.approval.git import work_tree
from shellguard.approval.signals import FLUSHER
from shellguard.approval.store import Store, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from shellguard.approval.check import Checked
    from shellguard.approval.checkpoint import Manifest

KIND = "requests"
SCHEMA = 1

PENDING, RUNNING, DONE, DENIED = "pending", "running", "done", "denied"

MAX_HASHED = 256_000_000
"""A program larger than this is known by size and time only."""

DIFFERENCES = {
    "already-decided": "somebody has decided about it before",
    "command-changed": "the request on disk is not the one that was made",
    "folder-moved": "the folder is gone, or another one has its place",
    "tree-changed": "the files are not as they were when it was asked for",
    "head-moved": "HEAD names another commit than when it was asked for",
    "executable-changed": "a program that it runs is another one now",
}
"""Why an approved command is not run: stable codes, and what they mean."""


@dataclass(frozen=True, slots=True)
class Program:
    """A command's name, and the file that it meant: None where it was none (a builtin, or not found)."""

    name: str
    path: str | None
    digest: str | None


@dataclass(frozen=True, slots=True)
class Request:
    """One command that waits. `argv` is what runs it, `search` the PATH, `folder` (device, inode) of `cwd`.

    `identity` is what the files were, `head` the commit. `digest` is over all that must not change. `status` is the
    exit status once it ran.
    """

    name: str
    session: str
    step: int
    command: str
    argv: tuple[str, ...]
    cwd: str
    folder: tuple[int, int]
    search: str
    identity: str
    head: str | None
    programs: tuple[Program, ...]
    checkpoint: str
    gates: tuple[dict[str, Any], ...]
    time: float
    digest: str = ""
    state: str = PENDING
    reason: str | None = None
    status: int | None = None
    decided: float | None = None

    def as_object(self) -> dict[str, Any]:
        """The request as JSON has it."""
        return {"schema": SCHEMA, **asdict(self)}

    def own_digest(self) -> str:
        """The digest that the frozen fields have."""
        frozen = (
            *(
                self.name,
                self.command,
                self.argv,
                self.cwd,
                self.folder,
                self.search,
                self.identity,
                self.head,
            ),
            tuple((each.name, each.path, each.digest) for each in self.programs),
        )
        return sha256(repr(frozen).encode("utf-8", "surrogateescape")).hexdigest()


def request_from(value: dict[str, Any]) -> Request:
    """The request that `as_object` wrote. Raises: StoreError for anything else."""
    try:
        fields = {key: item for key, item in value.items() if key in Request.__dataclass_fields__}
        for name in ("argv", "folder", "gates"):
            fields[name] = tuple(fields[name])
        fields["programs"] = tuple(Program(**each) for each in fields["programs"])
        return Request(**fields)
    except (KeyError, TypeError) as error:
        raise StoreError(f"this is no request: {error}") from error


def defer(
    manifest: Manifest, checked: Checked, gates: list[dict[str, Any]], store: Store
) -> tuple[Request, str]:
    """Writes a request for the command that a checkpoint was taken for; with the path of its file, the receipt."""
    assert manifest.pending is not None
    command = manifest.pending.command
    search = os.environ.get("PATH", os.defpath)
    status = os.stat(manifest.cwd)
    request = Request(
        store.fresh(KIND),
        manifest.session,
        manifest.step,
        command,
        argv_of(command),
        manifest.cwd,
        (status.st_dev, status.st_ino),
        search,
        repr(checkpoint.identity_of(manifest)),
        manifest.head,
        programs_of(checked, manifest.cwd, search),
        manifest.name,
        tuple(gates),
        time.time(),
    )
    request = replace(request, digest=request.own_digest())
    path = store.write(KIND, request.name, request.as_object())
    return request, path


def argv_of(command: str) -> tuple[str, ...]:
    """What runs a text: bash, or the shell of POSIX where there is none."""
    shell = shutil.which("bash") or "/bin/sh"
    return (shell, "-c", command)


def programs_of(checked: Checked, cwd: str, search: str) -> tuple[Program, ...]:
    """The programs that the commands of a text mean now, and the shell itself."""
    names = [argv_of("")[0], *checked.names]
    return tuple(_program(name, cwd, search) for name in dict.fromkeys(names) if name)


def _program(name: str, cwd: str, search: str) -> Program:
    path = os.path.join(cwd, name) if "/" in name else shutil.which(name, path=search)
    if path is None:
        return Program(name, None, None)
    real = os.path.realpath(path)
    try:
        status = os.stat(real)
        if not stat.S_ISREG(status.st_mode):
            return Program(name, real, None)
        if status.st_size > MAX_HASHED:
            return Program(name, real, f"{status.st_size} {status.st_mtime_ns}")
        digest = sha256()
        with open(real, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        return Program(name, real, digest.hexdigest())
    except OSError:
        return Program(name, real, None)


def requests(store: Store) -> list[Request]:
    """Every request that can be read, oldest first."""
    found = []
    for value in store.all(KIND):
        try:
            found.append(request_from(value))
        except StoreError:
            continue
    return found


def request_named(store: Store, name: str) -> Request:
    """A request by its name, or by a beginning of it that no other has. Raises: StoreError."""
    names = [each for each in store.names(KIND) if each.startswith(name) or each.lstrip("0").startswith(name)]
    if name in names:
        names = [name]
    if len(names) != 1:
        raise StoreError(f"{name!r} names {'no request' if not names else 'several requests'}")
    return request_from(store.read(KIND, names[0]))


def differences(request: Request) -> tuple[str, ...]:
    """What is not as it was when the command was asked for, as codes of `DIFFERENCES`."""
    found = []
    if request.state != PENDING:
        found.append("already-decided")
    if request.digest != request.own_digest():
        found.append("command-changed")
    try:
        status = os.stat(request.cwd)
        moved = (status.st_dev, status.st_ino) != request.folder
    except OSError:
        moved = True
    if moved:
        return (*found, "folder-moved")
    if repr(checkpoint.identity_now(request.cwd)) != request.identity:
        found.append("tree-changed")
    git = work_tree(request.cwd)
    if (None if git is None else git.head()) != request.head:
        found.append("head-moved")
    now = [_program(each.name, request.cwd, request.search) for each in request.programs]
    if tuple(now) != request.programs:
        found.append("executable-changed")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Granted:
    """What came of granting: the request as it is now, what was in the way (nothing ran then), or the exit status."""

    request: Request
    refused: tuple[str, ...] = ()
    status: int | None = None


def grant(store: Store, name: str, environment: Mapping[str, str] | None = None) -> Granted:
    """Runs the command of a request, if everything is as it was; once, whoever grants it at the same time.

    Raises: StoreError.
    """
    with store.lock("requests") as mine:
        if not mine:
            raise StoreError("another process is deciding about a request: try again")
        request = request_named(store, name)
        found = differences(request)
        if found:
            return Granted(request, found)
        request = replace(request, state=RUNNING, decided=time.time())
        store.write(KIND, request.name, request.as_object())
        _answer(store, request, "granted")
    status = run_argv(request.argv, request.cwd, {**(environment or {}), "PATH": request.search})
    request = replace(request, state=DONE, status=status)
    store.write(KIND, request.name, request.as_object())
    return Granted(request, (), status)


def deny(store: Store, name: str, reason: str | None = None) -> Granted:
    """Writes down that a command is not to be run. Raises: StoreError."""
    with store.lock("requests") as mine:
        if not mine:
            raise StoreError("another process is deciding about a request: try again")
        request = request_named(store, name)
        if request.state != PENDING:
            return Granted(request, ("already-decided",))
        request = replace(request, state=DENIED, decided=time.time(), reason=reason)
        store.write(KIND, request.name, request.as_object())
        _answer(store, request, "denied")
    return Granted(request)


def prune(store: Store, *, days: float, now: float | None = None) -> list[str]:
    """Forgets requests that were decided about, and are older than `days`; names them. Those that wait stay."""
    moment = time.time() if now is None else now
    gone = []
    for request in requests(store):
        if request.state in (DONE, DENIED) and moment - request.time > days * 86_400:
            store.remove(KIND, request.name)
            gone.append(request.name)
    return gone


def _answer(store: Store, request: Request, state: str) -> None:
    try:
        manifest = checkpoint.checkpoint_named(store, request.checkpoint)
        if manifest.pending is not None:
            checkpoint.answered(manifest, store, state)
            FLUSHER.watch(None, None)
    except StoreError:
        pass  # it was pruned


def run_argv(argv: tuple[str, ...], cwd: str, environment: Mapping[str, str] | None = None) -> int:
    """Runs a command with our own input and output; its exit status, 128 and the signal where one ended it."""
    try:
        process = subprocess.Popen(argv, cwd=cwd, env={**os.environ, **(environment or {})})
    except OSError as error:
        return 127 if isinstance(error, FileNotFoundError) else 126
    while True:
        try:
            status = process.wait()
        except KeyboardInterrupt:
            continue  # it has the same terminal, and was told too
        return 128 - status if status < 0 else status
