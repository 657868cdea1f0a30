# SPDX-License-Identifier: Apache-2.0
"""Real repositories to try things in, and what their files are, read without any code of the package."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

IDENTITY = {
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


class Repo:
    """A git repository, with a commit of one file unless it is to be empty."""

    def __init__(self, top: Path, *, empty: bool = False) -> None:
        self.top = top
        top.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Ann")
        self.git("config", "user.email", "ann@example.org")
        if not empty:
            self.write("a.txt", "one\n")
            self.write("old.txt", "old\n")
            self.commit()

    def git(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=self.top,
            env={**os.environ, **IDENTITY},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def write(self, name: str | bytes, content: str | bytes = "", *, mode: int = 0o644) -> None:
        path = os.path.join(os.fsencode(self.top), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.chmod(path, mode)

    def commit(self, message: str = "x") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.head

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    @property
    def status(self) -> str:
        return self.git("status", "--porcelain")

    @property
    def subjects(self) -> list[str]:
        return self.git("log", "--format=%s").split("\n")

    def files(self) -> dict[bytes, tuple[str, bytes]]:
        return files_below(self.top)


def files_below(top: Path) -> dict[bytes, tuple[str, bytes]]:
    """Every file and link below a folder but for what is git's: kind (`file`, `executable`, `link`) and content."""
    found: dict[bytes, tuple[str, bytes]] = {}
    root = os.fsencode(top)
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != b".git"]
        for name in [*names, *(each for each in folders if os.path.islink(os.path.join(folder, each)))]:
            path = os.path.join(folder, name)
            if name == b".git":
                continue
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                found[os.path.relpath(path, root)] = ("link", os.readlink(path))
            elif stat.S_ISREG(status.st_mode):
                kind = "executable" if status.st_mode & 0o100 else "file"
                with open(path, "rb") as file:
                    found[os.path.relpath(path, root)] = (kind, file.read())
    return found


def everything_in_progress(repo: Repo) -> None:
    """Work of every kind: staged, unstaged, both, untracked, binary, odd names, modes, links, deletions."""
    repo.write("a.txt", "two\n")
    repo.git("add", "a.txt")
    repo.write("a.txt", "three\n")
    repo.write("staged.txt", "staged\n")
    repo.git("add", "staged.txt")
    os.unlink(repo.top / "old.txt")
    repo.write("new/deep/untracked.txt", "untracked\n")
    repo.write("binary", bytes(range(256)) * 10)
    repo.write("latin1.txt", b"caf\xe9\n")
    repo.write(b"caf\xe9", "a name that is no UTF-8\n")
    repo.write('with "quotes" and\nnewline', "x")
    repo.write("run.sh", "#!/bin/sh\n", mode=0o755)
    os.symlink("nowhere/at all", repo.top / "link")
    repo.write("empty", b"")
