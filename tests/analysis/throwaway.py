# SPDX-License-Identifier: Apache-2.0
"""Runs one command in a throwaway folder with a few known files, and tells what it left behind."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

FILES = {
    "f.txt": "a/b = c\nfoo bar 12\nhello world\n",
    "g.txt": "1 x\n2 y\n3 x\n",
    "data.csv": "name,n\nann,1\nbob,22\n",
    "a.json": '{"a": {"b": [1, 2]}, "name": "x", "items": [{"n": 1}, {"n": 3}]}\n',
    "b.json": '{"z": 9}\n',
    "a.yaml": "a:\n  b: 1\nitems:\n  - n: 1\n  - n: 3\n",
    "a.xml": "<a><b c='1'>text</b><b c='2'/></a>\n",
    "script.sed": "w out\n",
    "prog.awk": '{print > "out"}\n',
    "src/x.py": "import os\n# TODO\n",
    "src/y.txt": "TODO\n",
    "dir/sub/z.py": "pass\n",
}
"""What lies in the folder. Beside it there are `a.tar` and `a.tgz` with `f.txt` and `src`, where tar is installed."""

RAN = "ran"
"""The file that the program `./x` makes: a command that leaves it has started something."""

STANDARD_INPUT = b"touch ran\nfoo bar\na/b = c\n"


class Left:
    """What a command left: its exit status, whether `./x` or the line `touch ran` ran, which files differ."""

    def __init__(self, status: int, ran: bool, changed: tuple[str, ...], error: str) -> None:
        self.status, self.ran, self.changed, self.error = status, ran, changed, error

    def __repr__(self) -> str:
        return f"Left(status={self.status}, ran={self.ran}, changed={self.changed}, error={self.error!r})"


def make_folder(folder: Path, *, repository: bool = False) -> None:
    """Fills an empty folder with the known files, and an empty home beside them."""
    work = folder / "work"
    for name, text in FILES.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (work / "x").write_text(f'#!/bin/sh\ntouch "${{0%/*}}/{RAN}"\n', encoding="utf-8")
    (work / "x").chmod(0o755)
    (folder / "home").mkdir()
    if shutil.which("tar"):
        for name, mode in (("a.tar", "-cf"), ("a.tgz", "-czf")):
            subprocess.run(["tar", mode, name, "f.txt", "src"], cwd=work, check=True)
    if repository:
        for words in (
            ["init", "-q", "-b", "main"],
            ["add", "."],
            ["commit", "-q", "-m", "one"],
            ["branch", "topic"],
            ["tag", "v1"],
            ["clone", "-q", "--bare", ".", "../remote.git"],
            ["remote", "add", "origin", "../remote.git"],
        ):
            subprocess.run(
                ["git", *words], cwd=work, check=True, env=environment(folder), capture_output=True
            )


def environment(folder: Path) -> dict[str, str]:
    """Nothing of the caller's environment but the system's programs."""
    return {
        "HOME": str(folder / "home"),
        "PATH": f"{folder / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        **{
            f"GIT_{who}_{what}": "a@b.example"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }


def run(template: Path, folder: Path, command: str, instead: dict[str, str] | None = None) -> Left:
    """Runs `command` with bash in a copy of `template`, which it removes. `instead`: name -> program that takes it."""
    shutil.copytree(template, folder, symlinks=True)
    binaries = folder / "bin"
    binaries.mkdir()
    for name, program in (instead or {}).items():
        (binaries / name).symlink_to(program)
    work = folder / "work"
    before = snapshot(work)
    try:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=work,
            env=environment(folder),
            input=STANDARD_INPUT,
            capture_output=True,
            timeout=20,
            check=False,
        )
        after = snapshot(work)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    changed = tuple(
        sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    )
    return Left(done.returncode, RAN in after, changed, done.stderr.decode("utf-8", "replace")[-300:])


def snapshot(work: Path) -> dict[str, str]:
    """Each file, folder and link below, with what it is. The index of git may be written anew by a reader."""
    found = {}
    for path in sorted(work.rglob("*")):
        name = str(path.relative_to(work))
        if name in (".git/index", ".git"):
            continue
        if path.is_symlink():
            found[name] = "-> " + os.readlink(path)
        elif path.is_file():
            found[name] = f"{path.stat().st_mode:o} " + hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = f"{path.stat().st_mode:o}"
    return found
