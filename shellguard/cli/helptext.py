# SPDX-License-Identifier: Apache-2.0
"""What a tool says of itself: `TOOL --help`, its manual page, its completion files, for a draft of its rule.

Running somebody's tool is more than looking at it, so `shellguard rules new` says so first. The tool gets an empty
folder for its current and its home folder, nothing on standard input, a few variables and a time limit; no shell is
between.
"""

from __future__ import annotations

import gzip
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shellguard.rules.told import Told

TIME_LIMIT = 5.0
"""Seconds for one program."""

MAX_OUTPUT = 1_000_000
"""Bytes of its output that are read."""


def program_of(tool: str) -> str | None:
    """The program that `tool` names, as an absolute path. None when the search path has it in no absolute folder."""
    found = shutil.which(tool)
    return found if found is not None and os.path.isabs(found) else None


def commands_for(tool: str) -> list[list[str]]:
    """What would be run: the tool for its help, `man -w` for the place of its manual page where there is a `man`."""
    program, man = program_of(tool), program_of("man")
    commands = [] if program is None else [[program, "--help"]]
    return commands if man is None else [*commands, [man, "-w", tool]]


def told_of(
    tool: str,
    ask: Callable[[list[str]], str],
    *,
    depth: int = 0,
    others: Callable[[str], Told] | None = None,
) -> Told:
    """What the help, the manual page and the completion files of a tool say together; the latter of any tool.

    `ask` runs a command and gives what it prints. With a `depth`, `TOOL SUBCOMMAND --help` is asked too, so many levels
    down, for the subcommands that the help names. `others` is one more source, believed like completion files.
    """
    from shellguard.rules.told import Told, from_bash, from_fish, from_help, from_manual

    told, program = Told(), program_of(tool)
    if program is not None:
        printed = {command[0]: ask(command) for command in commands_for(tool)}
        told.add(from_help(printed.pop(program, "")))
        _add_subcommands(told, [program], ask, depth)
        told.add(from_manual(manual_at("".join(printed.values()))))
    fish, bash = completions_of(tool)
    told.add(from_fish(fish, tool), sure=False)
    if others is not None:
        told.add(others(tool), sure=False)
    if not told.commands:  # it holds the options of all subcommands in one heap
        told.add(from_bash(bash), sure=False)
    return told


def _add_subcommands(told: Told, words: list[str], ask: Callable[[list[str]], str], depth: int) -> None:
    from shellguard.rules.told import from_help

    for names, below in told.subcommands() if depth else ():
        said = from_help(ask([*words, names[0], "--help"]))
        if not said.says_the_same(told):
            below.add(said)
            _add_subcommands(below, [*words, names[0]], ask, depth - 1)


def manual_at(place: str) -> str:
    """The source of the manual page whose path `man -w` printed; empty where there is none that can be read."""
    path = place.partition("\n")[0].strip()
    if not os.path.isabs(path):
        return ""
    try:
        if path.endswith(".gz"):
            with gzip.open(path) as packed:
                data = packed.read(MAX_OUTPUT)
        else:
            with open(path, "rb") as file:
                data = file.read(MAX_OUTPUT)
    except (OSError, EOFError, zlib.error):
        return ""
    return data.decode("utf-8", "replace")


FISH_FOLDERS = (
    "/usr/share/fish/completions",
    "/usr/share/fish/vendor_completions.d",
    "/usr/local/share/fish/vendor_completions.d",
    "/opt/homebrew/share/fish/vendor_completions.d",
)
BASH_FOLDERS = (
    "/usr/share/bash-completion/completions",
    "/usr/local/share/bash-completion/completions",
    "/etc/bash_completion.d",
    "/opt/homebrew/etc/bash_completion.d",
)
"""Where package managers put completion files. They are read, never run."""


def completions_of(tool: str) -> tuple[str, str]:
    """The completion files of fish and of bash for the tool, each empty when there is none."""
    fish = _first_file([os.path.join(folder, f"{tool}.fish") for folder in FISH_FOLDERS])
    return fish, _first_file([os.path.join(folder, tool) for folder in BASH_FOLDERS])


def _first_file(paths: list[str]) -> str:
    for path in paths:
        try:
            with open(path, "rb") as file:
                return file.read(MAX_OUTPUT).decode("utf-8", "replace")
        except OSError:
            continue
    return ""


def output_of(command: list[str]) -> str:
    """What a program prints, standard error too, for at most `TIME_LIMIT` seconds. Raises OSError."""
    with tempfile.TemporaryDirectory(prefix="shellguard-", ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=_environment(folder),
            close_fds=True,
            start_new_session=True,
        )
        try:
            return _read(process).decode("utf-8", "replace")
        finally:
            _end(process)


def _environment(folder: str) -> dict[str, str]:
    moved = ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    pagers = ("PAGER", "MANPAGER", "GIT_PAGER")
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        **dict.fromkeys(moved, folder),
        **dict.fromkeys(pagers, "cat"),
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "COLUMNS": "120",
        "MANWIDTH": "120",
    }


def _read(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    data = bytearray()
    end = time.monotonic() + TIME_LIMIT
    with process.stdout as pipe, selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while len(data) < MAX_OUTPUT and selector.select(max(0.0, end - time.monotonic())):
            part = os.read(pipe.fileno(), 65536)
            if not part:
                break
            data += part
    return bytes(data[:MAX_OUTPUT])


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing of it goes on: the whole process group, which is the tool's own, is killed."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
    process.wait()
