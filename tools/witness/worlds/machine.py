# SPDX-License-Identifier: Apache-2.0
"""What a machine has beside the homes of its users: logs, package data bases, an index of file names, signatures."""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
import tarfile
from pathlib import Path

from tools.witness.worlds.samples import TIME

_LOG_LINE = "Nov 14 22:13:20 box prog[1]: foo error TODO\n"
_LOGS = "syslog messages auth.log kern.log app.log dpkg.log apt/history.log nginx/access.log"
_PACKAGE = (
    "%NAME%\ngit\n\n%VERSION%\n1.0-1\n\n%DESC%\nfoo and git\n\n%ARCH%\nx86_64\n\n%FILENAME%\ngit-1.0-1-x86_64.pkg.tar\n\n"
    "%CSIZE%\n1\n\n%ISIZE%\n1\n\n%SIZE%\n1\n\n%BUILDDATE%\n1\n\n%INSTALLDATE%\n1\n\n%REASON%\n1\n\n%VALIDATION%\nnone\n\n"
    "%PACKAGER%\nx\n\n%URL%\nhttps://example.org\n\n%LICENSE%\nx\n\n"
)
PACMAN_CONF = "\n[core]\nServer = http://localhost/core\nSigLevel = Never\n"


def fill_logs(folder: str) -> None:
    """Small logs as a machine has them, in /var/log, and who logged in."""
    for name in _LOGS.split():
        path = Path(folder) / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(_LOG_LINE * 5, encoding="ascii")
    entry = struct.pack(
        "<hxxi32s4s32s256shhiii16s20x", 7, 1, b"tty1", b"1", b"user", b"", 0, 0, 1, TIME, 0, b"\x7f\0\0\1"
    )
    (Path(folder) / "wtmp").write_bytes(entry)
    (Path(folder) / "lastlog").write_bytes(struct.pack("<i32s256s", TIME, b"tty1", b""))


def fill_var(folder: str) -> None:
    """What is laid over /var: data bases of package managers and others, of tools that are installed."""
    base = Path(folder)
    local = base / "lib/pacman/local"
    _put(local / "ALPM_DB_VERSION", b"9\n")
    _put(local / "git-1.0-1/desc", _PACKAGE.encode())
    _put(local / "git-1.0-1/files", b"%FILES%\nusr/\nusr/bin/\nusr/bin/git\n\n")
    for name in ("core.db", "core.files"):
        _put(base / "lib/pacman/sync" / name, _sync_base(with_files=name == "core.files"))
    _put(base / "lib/clamav/x.ndb", b"Test.Signature:0:*:deadbeef0011223344556677\n")
    _put(base / "spool/mail/user", b"From x\nSubject: foo\n\nfoo\n\n")
    (base / "lib/plocate").mkdir()
    _quietly("updatedb", "-l", "0", "-U", "/usr/share/doc/git", "-o", str(base / "lib/plocate/plocate.db"))


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _sync_base(*, with_files: bool) -> bytes:
    stream = io.BytesIO()
    members = {"git-1.0-1/desc": _PACKAGE.encode()}
    if with_files:
        members["git-1.0-1/files"] = b"%FILES%\nusr/\nusr/bin/\nusr/bin/git\n\n"
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(content), TIME
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def _quietly(*command: str) -> None:
    path = "/usr/bin:/bin:/usr/sbin:/sbin"
    if shutil.which(command[0], path=path):
        subprocess.run(command, capture_output=True, check=False, timeout=30, env={"PATH": path})
