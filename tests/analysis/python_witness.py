# SPDX-License-Identifier: Apache-2.0
"""What a Python text really does: it is run by this interpreter in a throwaway folder, under an audit hook."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

SITE = """
import os, sys
report = os.open(os.environ.pop("WITNESS"), os.O_WRONLY | os.O_APPEND)
inside = False
NAMES = {
    "os.chmod", "os.chown", "os.exec", "os.fork", "os.forkpty", "os.link", "os.mkdir", "os.posix_spawn", "os.remove",
    "os.rename", "os.rmdir", "os.setxattr", "os.spawn", "os.symlink", "os.system", "os.truncate", "os.utime",
    "shutil.copyfile", "shutil.move", "shutil.rmtree", "subprocess.Popen", "socket.connect", "sqlite3.connect",
    "ctypes.dlopen", "pty.spawn",
}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
def hook(event, args):
    if event in NAMES or (event == "open" and isinstance(args[2], int) and args[2] & WRITES):
        os.write(report, (event + " " + ascii(args) + "\\n").encode())
sys.addaudithook(hook)
"""
"""Runs before the text, as `sitecustomize`; the interpreter cannot be told not to call an audit hook."""


def furnish(folder: Path) -> None:
    """The files that the texts of the table speak of."""
    (folder / "empty").mkdir()
    (folder / "sub").mkdir()
    (folder / "pkg").mkdir()
    evil = "open('PWNED', 'w')\nx = 1\n"
    for name in ("evil.py", "pkg/__init__.py", "sub/colorsys.py", "sub/sitecustomize.py"):
        (folder / name).write_text(evil if name != "sub/sitecustomize.py" else "", encoding="ascii")
    (folder / "sub" / "x.pth").write_text("import os; os.mkdir('PWNED')\n", encoding="ascii")
    (folder / "a").write_text("a b\nb\n", encoding="ascii")
    (folder / "b").write_text("b\n", encoding="ascii")
    (folder / "a.py").write_text("def f():\n    return 1\n", encoding="ascii")
    (folder / "a.json").write_text('{"a": 1}', encoding="ascii")
    (folder / "a.toml").write_text("x = 1\n", encoding="ascii")
    (folder / "a.xml").write_text("<a><b c='d'>e</b></a>", encoding="ascii")
    (folder / "a.ini").write_text("[s]\nk = v\n", encoding="ascii")
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("x", "text")
    with tarfile.open(folder / "a.tar", "w") as tar:
        member = tarfile.TarInfo("x")
        member.size = 4
        tar.addfile(member, io.BytesIO(b"text"))
    (folder / "a.gz").write_bytes(gzip.compress(b"text"))
    (folder / "a.bz2").write_bytes(bz2.compress(b"text"))


def snapshot(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Every file with its kind and rights, its size, when it was changed, and its content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() and os.access(path, os.R_OK) else b""
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_size, status.st_mtime_ns, content)
    return found


def harm_of(
    text: str, scratch: Path, *, stdin: str = '{"a": 1}\n'
) -> tuple[list[str], subprocess.CompletedProcess[bytes]]:
    """What a run of the text changes or starts, nothing when it only reads; and how the run ended."""
    folder, site = scratch / "folder", scratch / "site"
    folder.mkdir()
    site.mkdir()
    furnish(folder)
    (site / "sitecustomize.py").write_text(SITE, encoding="ascii")
    report = scratch / "report"
    report.touch()
    before = snapshot(folder)
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(scratch),
        "PYTHONPATH": str(site),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
        "WITNESS": str(report),
    }
    run = subprocess.run(
        [sys.executable, "-c", text],
        cwd=folder,
        env=environment,
        input=stdin.encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    harm = report.read_text(encoding="ascii").splitlines()
    after = snapshot(folder)
    harm += [f"changed: {name}" for name in sorted(before | after) if before.get(name) != after.get(name)]
    return harm, run
