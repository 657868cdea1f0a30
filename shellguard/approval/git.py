# SPDX-License-Identifier: Apache-2.0
"""git, called with an environment of our own: bytes in, bytes out, no prompt, nothing of the caller's `GIT_*`.

A snapshot must neither fail nor be changed because somebody set a variable, so the caller's are left out. What the
configuration of the repository says still holds (clean filters, line ends): a tree is what `git add` would make of the
files.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import time

from shellguard.errors import ShellguardError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class GitError(ShellguardError):
    """A git command failed. `status` is its exit status, `message` what it said, made text."""

    def __init__(self, arguments: Sequence[str], status: int, message: str) -> None:
        super().__init__(arguments, status, message)
        self.arguments, self.status, self.message = tuple(arguments), status, message

    def __str__(self) -> str:
        return f"git {self.arguments[0]}: {self.message or f'exit status {self.status}'}"


class GitTimeoutError(GitError):
    """A git command did not end within `LIMIT_SECONDS`. To try it once more would take as long."""


KEPT = frozenset(
    {
        *("GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
        *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
    }
)
"""Variables that say who the user is and where his configuration lies; the others name another repository or index."""


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment that git gets: the caller's without `GIT_*` but `KEPT`, and what `extra` adds."""
    found = {name: value for name, value in os.environ.items() if name in KEPT or not name.startswith("GIT_")}
    found |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_PAGER": "cat"}
    return {**found, **(extra or {})}


def _lenient(name: str) -> list[str]:
    return ["-c", f"filter.{name}.required=false"]


def _failed_filter(message: str) -> str | None:
    """The filter that git says has failed: `x: clean filter 'lfs' failed`, `x: smudge filter lfs failed`."""
    for line in message.split("\n"):
        before, found, behind = line.partition(" filter ")
        if found and before.endswith(("clean", "smudge")) and behind.endswith(" failed"):
            return behind.removesuffix(" failed").strip("'")
    return None


ASKED = frozenset({".gitignore", ".gitattributes", ".gitmodules"})
"""Files of a work tree that git opens without a look at what they are. Source: gitignore(5), gitattributes(5)."""

PATIENCE_SECONDS = 1.0
"""After this time it is asked what a command may be waiting for; then after twice as long, and so on."""

RELEASE_SECONDS = 0.02
"""How often the pipes are let go that are known."""

LIMIT_SECONDS = 900.0
"""What takes longer than this, whatever the reason, has failed."""


def _pipes(top: str) -> list[str]:
    """The pipes below a folder that git would wait at for somebody to write."""
    found = []
    for folder, folders, files in os.walk(top):
        if ".git" in folders:
            folders.remove(".git")
        for name in ASKED.intersection(files):
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                if stat.S_ISFIFO(os.stat(path).st_mode):
                    found.append(path)
    return found


def _let_go(pipe: str) -> None:
    """Whoever waits at the pipe finds it empty: it is opened for writing and closed. Nobody there: nothing happens."""
    with contextlib.suppress(OSError):
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a command and what it has started, filters and hooks."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


class Git:
    """git in one folder. `extra` are variables for every call: another index, another store of objects."""

    def __init__(self, folder: str, extra: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.extra = dict(extra or {})
        self.settings: tuple[str, ...] = ()
        """More settings for every call, as words for git."""
        self.said = ""
        """What the last command said on standard error."""
        self.lenient: tuple[str, ...] = ()
        """Filters of the configuration that fail, and without which it has to go on."""
        self.pipes: list[str] = []
        """Pipes in the place of files that a command has waited at."""

    def having(self, **extra: str) -> Git:
        """The same with more variables."""
        other = Git(self.folder, {**self.extra, **extra})
        other.lenient, other.settings, other.pipes = self.lenient, self.settings, self.pipes
        return other

    def patient(self, *arguments: str, data: bytes = b"") -> None:
        """Runs a command that filters files; one whose filter fails is run again without that filter."""
        while True:
            try:
                self.run(*arguments, data=data)
                return
            except GitError as error:
                name = _failed_filter(error.message)
                if name is None or name in self.lenient:
                    raise
                self.lenient = (*self.lenient, name)

    def run(
        self, *arguments: str, data: bytes = b"", statuses: Sequence[int] = (0,), hooks: bool = False
    ) -> tuple[int, bytes]:
        """The exit status and the output of one command.

        Without `hooks` the hooks of the repository do not run: one that fails must not cost a snapshot. The process has
        a session of its own, so that a key pressed at the terminal does not end it half-way.
        Raises: GitError for a status that is not in `statuses`, or where git cannot be started; GitTimeoutError.
        """
        settings = ["-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "core.quotePath=false"]
        # A file that was written again with its size and time is another one, whatever the repository thinks of it.
        settings += ["-c", "core.checkStat=default", "-c", "core.trustctime=true"]
        settings += ["-c", "core.safecrlf=false", *self.settings]
        settings += [word for name in self.lenient for word in _lenient(name)]
        if not hooks:
            settings += ["-c", f"core.hooksPath={os.devnull}"]
        try:
            process = subprocess.Popen(
                ["git", *settings, *arguments],
                cwd=self.folder,
                env=environment(self.extra),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise GitError(arguments, 127, error.strerror or "it cannot be started") from None
        with process:
            output, errors = self._output_of(process, arguments, data)
        self.said = os.fsdecode(errors)
        if process.returncode not in statuses:
            message = errors.decode("utf-8", "replace").strip()
            raise GitError(arguments, process.returncode, message)
        return process.returncode, output

    def _output_of(
        self, process: subprocess.Popen[bytes], arguments: Sequence[str], data: bytes
    ) -> tuple[bytes, bytes]:
        """What a command prints, on both outputs. A pipe that it waits at is let go, and is in `pipes` from then on."""
        limit, seconds = time.monotonic() + LIMIT_SECONDS, PATIENCE_SECONDS
        given: bytes | None = data
        try:
            while True:
                try:
                    return process.communicate(given, RELEASE_SECONDS if self.pipes else seconds)
                except subprocess.TimeoutExpired:
                    given = None  # it has it
                if time.monotonic() >= limit:
                    raise GitTimeoutError(arguments, 124, f"it took more than {LIMIT_SECONDS:.0f} s")
                if not self.pipes:
                    self.pipes += _pipes(self.folder)
                    seconds = min(2 * seconds, LIMIT_SECONDS / 10)
                for pipe in self.pipes:
                    _let_go(pipe)
        except BaseException:
            _kill(process)
            raise

    def text(self, *arguments: str, data: bytes = b"") -> str:
        """The output of one command, without the newline at its end; bytes that are no UTF-8 as lone surrogates."""
        return os.fsdecode(self.run(*arguments, data=data)[1].removesuffix(b"\n"))

    def names(self, *arguments: str) -> list[str]:
        """The output of a command that ends each name with NUL."""
        return [os.fsdecode(name) for name in self.run(*arguments)[1].split(b"\0") if name]

    def asks(self, *arguments: str) -> str | None:
        """The output of a command, None when it fails."""
        status, output = self.run(*arguments, statuses=range(256))
        return os.fsdecode(output.removesuffix(b"\n")) if status == 0 else None

    @property
    def null(self) -> str:
        """The object name that stands for none here."""
        return "0" * (64 if self.asks("rev-parse", "--show-object-format") == "sha256" else 40)

    def head(self) -> str | None:
        """The commit that HEAD names; None on a branch without one."""
        return self.asks("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    def path(self, name: str) -> str:
        """Where a file of the repository lies, for this work tree: `index`, `shellguard`, `MERGE_HEAD`."""
        # With the hooks of the repository: `hooks` lies where its configuration says.
        found = os.fsdecode(self.run("rev-parse", "--git-path", name, hooks=True)[1].removesuffix(b"\n"))
        return os.path.normpath(os.path.join(self.folder, found))


def work_tree(folder: str) -> Git | None:
    """git at the top of the work tree that the folder lies in; None outside of one, or without git."""
    try:
        top = Git(folder).asks("rev-parse", "--show-toplevel")
    except GitError:
        return None
    return Git(top) if top else None
