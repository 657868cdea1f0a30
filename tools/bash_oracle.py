# SPDX-License-Identifier: Apache-2.0
"""Real bash as the judge of our parser: does it accept a text, and how does it print the text back?

Nothing here runs what it is given. `bash -n` reads without executing, `bash --pretty-print` prints what it
read. Both get an empty environment, an empty PATH, no input and a time limit.

`bash --pretty-print` must be given a *file*: with `-c` bash forgets the option and runs the text.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

SECONDS = 20
"""Time limit of one call of bash."""

MOST_BYTES = 120_000
"""A longer text does not fit into one argument (Linux allows 128 KiB); bash reads it from a file then."""

_HARMLESS = re.compile(
    r"^[^\n]*warning: (here-document at line \d+ delimited by end-of-file \(wanted `[^\n]*'\)"
    r"|command substitution: \d+ unterminated here-document)\n?",
    re.MULTILINE,
)


class NoBashError(Exception):
    """There is no bash 5 on this machine; the message says what was found."""


@dataclass(frozen=True)
class Judgement:
    """What `bash -n` says. `accepts`: it would run the text; `message`: what it printed on standard error."""

    accepts: bool
    message: str


@lru_cache(maxsize=1)
def bash_path() -> str:
    """The bash to ask. Raises NoBashError where it is missing or not version 5 (macOS ships 3.2)."""
    path = os.environ.get("SHELLGUARD_BASH") or shutil.which("bash")
    if not path:
        raise NoBashError("no bash on this machine")
    script = "echo ${BASH_VERSINFO[0]} $BASH_VERSION"
    answer = subprocess.run(
        [path, "--norc", "--noprofile", "-c", script], env={}, capture_output=True, text=True, check=False
    )
    major, _, version = answer.stdout.strip().partition(" ")
    if major != "5":
        raise NoBashError(f"{path} is bash {version or 'unknown'}, not bash 5")
    return path


def bash_version() -> str:
    """The version of the bash that is asked, for reports."""
    script = "echo $BASH_VERSION"
    command = [bash_path(), "--norc", "--noprofile", "-c", script]
    return subprocess.run(command, env={}, capture_output=True, text=True, check=True).stdout.strip()


def to_bytes(text: str) -> bytes | None:
    """The bytes of a text as bash would get them; None for what no file or argument can hold (NUL, high lone
    surrogates)."""
    if "\0" in text:
        return None
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None


def run_bash(options: list[str], *, folder: str | None = None) -> subprocess.CompletedProcess[bytes]:
    """Bash with nothing around it. Raises subprocess.TimeoutExpired after SECONDS."""
    return subprocess.run(
        [bash_path(), "--norc", "--noprofile", *options],
        env={"LC_ALL": "C.UTF-8", "PATH": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        cwd=folder or "/",
        check=False,
    )


def judge(text: str, *, extglob: bool = False) -> Judgement:
    """Whether bash accepts a text, as `bash -c` would read it.

    The exit status alone does not tell: bash prints an error inside `[[ ]]` and returns 0. Any message but
    the warning about a here-document that the end of the text ends is a refusal. Raises ValueError for a text
    that bash cannot be given.
    """
    raw = to_bytes(text)
    if raw is None:
        raise ValueError("bash cannot be given this text")
    options = [*(["-O", "extglob"] if extglob else []), "-n"]
    if len(raw) < MOST_BYTES:
        answer = run_bash([*options, "-c", "--", os.fsdecode(raw)])
    else:
        with _file(raw) as path:
            answer = run_bash([*options, path])
    message = answer.stderr.decode("utf-8", "replace")
    return Judgement(answer.returncode == 0 and not _HARMLESS.sub("", message), message)


def reprint(text: str, *, extglob: bool = False) -> str | None:
    """The text as bash prints it back after parsing; None if it reports an error.

    Bash reads a file here, so a text that ends in a backslash means something else than it does for `bash -c`.
    """
    raw = to_bytes(text)
    if raw is None:
        raise ValueError("bash cannot be given this text")
    with _file(raw) as path:
        answer = run_bash(["--pretty-print", *(["-O", "extglob"] if extglob else []), path])
    message = answer.stderr.decode("utf-8", "replace")
    if answer.returncode != 0 or _HARMLESS.sub("", message):
        return None
    return answer.stdout.decode("utf-8", "surrogateescape")


class _file:  # noqa: N801 - used as a function in a `with`
    """A temporary file with the given content. One name a process: opened, written and removed for each call."""

    def __init__(self, raw: bytes) -> None:
        descriptor, self.path = tempfile.mkstemp(prefix="shellguard-bash-")
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(raw)

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *_: object) -> None:
        Path(self.path).unlink(missing_ok=True)
