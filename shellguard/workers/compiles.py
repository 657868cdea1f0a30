# SPDX-License-Identifier: Apache-2.0
"""Does what a worker left compile? Asked in a copy of the tree that would be committed, with caches elsewhere.

The copy is thrown away, so that neither the work tree nor a cache of its user can be changed by the check.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ENDINGS = {
    "python": (".py", ".pyi"),
    "go": (".go",),
    "rust": (".rs",),
    "ts": (".ts", ".tsx", ".mts", ".cts"),
}

LANGUAGES = ("auto", *ENDINGS, "none")
"""What may be asked for: the languages of the changed files, one of them, or none."""

MARKS = {"go": "go.mod", "rust": "Cargo.toml", "ts": "tsconfig.json"}
"""The file in the folder where a language is checked."""

TIMEOUT_SECONDS = 900.0

MAX_OUTPUT = 4000


@dataclass(frozen=True, slots=True)
class Compiled:
    """What the check says. `code` is None when it passes, else `compile-failed` or `compiler-missing`, with `output`.

    `checked` are the languages that were looked at; empty: `unchecked`.
    """

    code: str | None
    checked: tuple[str, ...] = ()
    output: str = ""


def languages_of(language: str, changed: Iterable[str]) -> tuple[str, ...]:
    """The languages to check: the one that was named, or those of the changed files."""
    if language == "none":
        return ()
    if language != "auto":
        return (language,)
    paths = tuple(changed)
    return tuple(name for name, endings in ENDINGS.items() if any(path.endswith(endings) for path in paths))


def check(
    copy: str,
    caches: str,
    changed: Sequence[str],
    *,
    language: str = "auto",
    command: str | None = None,
    work_tree: str = "",
) -> Compiled:
    """Checks the files in `copy`, a folder that holds the tree. `changed` are paths in it that HEAD has otherwise.

    `command`, shell text, takes the place of what the languages have. `caches` is a folder for what compilers keep.
    """
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "PYTHONPYCACHEPREFIX": os.path.join(caches, "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "GOCACHE": os.path.join(caches, "go"),
        "GOFLAGS": "-mod=readonly",
        "CARGO_TARGET_DIR": os.path.join(caches, "cargo"),
        "SHELLGUARD_WORK_TREE": work_tree,
    }
    if command is not None:
        shell = shutil.which("bash") or "/bin/sh"
        return _run([(shell, "-c", command)], copy, environment, ("command",))
    found = languages_of(language, changed)
    for name in found:
        commands = list(_commands(name, copy, changed, language == name))
        for folder, argv in commands:
            if shutil.which(argv[0]) is None:
                return Compiled("compiler-missing", found, f"{argv[0]} is not installed")
            if name == "ts":
                _lend_modules(folder, copy, work_tree)
            done = _run([argv], folder, environment, found)
            if done.code is not None:
                return done
    return Compiled(None, found)


def _commands(
    name: str, copy: str, changed: Sequence[str], named: bool
) -> Iterator[tuple[str, tuple[str, ...]]]:
    paths = [
        path for path in changed if path.endswith(ENDINGS[name]) and os.path.isfile(os.path.join(copy, path))
    ]
    if name == "python":
        if paths:
            yield copy, (sys.executable, "-I", "-c", _PYTHON, *paths)
        return
    folders = {_folder_with(copy, os.path.dirname(path), MARKS[name]) for path in paths}
    if named and not paths and os.path.exists(os.path.join(copy, MARKS[name])):
        folders.add(copy)
    for folder in sorted(folder for folder in folders if folder is not None):
        if name == "go":
            yield folder, ("go", "build", "-o", os.devnull, "./...")
        elif name == "rust":
            yield folder, ("cargo", "check", "--quiet")
        else:
            yield folder, ("tsc", "--noEmit", "--incremental", "false", "-p", ".")
    loose = [path for path in paths if _folder_with(copy, os.path.dirname(path), MARKS[name]) is None]
    if loose and name == "go":
        for path in loose:
            yield copy, ("go", "vet", path)
    elif loose and name == "rust":
        for path in loose:
            yield (
                copy,
                (
                    "rustc",
                    "--edition",
                    "2021",
                    "--emit=metadata",
                    "-o",
                    os.devnull,
                    "--crate-type",
                    "lib",
                    path,
                ),
            )
    elif loose:
        yield copy, ("tsc", "--noEmit", *loose)


_PYTHON = """
import sys
failed = False
for name in sys.argv[1:]:
    try:
        with open(name, "rb") as file:
            compile(file.read(), name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        failed = True
sys.exit(failed)
"""
"""What py_compile does, but nothing is written: the byte code is thrown away."""


def _folder_with(copy: str, below: str, mark: str) -> str | None:
    """The nearest folder from `below` upwards that holds `mark`."""
    while True:
        folder = os.path.join(copy, below) if below else copy
        if os.path.exists(os.path.join(folder, mark)):
            return folder
        if not below:
            return None
        below = os.path.dirname(below)


def _lend_modules(folder: str, copy: str, work_tree: str) -> None:
    """A copy has no ignored files; the types of packages are read from where they are."""
    relative = os.path.relpath(folder, copy)
    for below in dict.fromkeys((relative, ".")):
        there = os.path.join(work_tree, below, "node_modules")
        here = os.path.join(copy, below, "node_modules")
        if work_tree and os.path.isdir(there) and not os.path.lexists(here):
            os.symlink(os.path.abspath(there), here)


def _run(
    commands: Sequence[tuple[str, ...]], folder: str, environment: dict[str, str], checked: tuple[str, ...]
) -> Compiled:
    for argv in commands:
        try:
            done = subprocess.run(
                argv,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=TIMEOUT_SECONDS,
                start_new_session=True,
                check=False,
            )
        except FileNotFoundError:
            return Compiled("compiler-missing", checked, f"{argv[0]} is not installed")
        except subprocess.TimeoutExpired:
            return Compiled("compile-failed", checked, f"{argv[0]} took more than {TIMEOUT_SECONDS:.0f} s")
        if done.returncode != 0:
            output = done.stdout.decode("utf-8", "replace")[-MAX_OUTPUT:]
            return Compiled("compile-failed", checked, output or f"{argv[0]}: exit status {done.returncode}")
    return Compiled(None, checked)
