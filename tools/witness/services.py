# SPDX-License-Identifier: Apache-2.0
"""Real servers for a session: PostgreSQL, MariaDB, and an SSH server that answers every command with one word.

A data base is started when a command first wants it, and only reached through a stand-in that notes each statement. The
SSH server runs none of the commands it is sent: they are judged on their own.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 20.0
_BASES = {
    "postgres": re.compile(r"\b(psql|pg_\w+|createdb|postgres\w*|pgcli)\b"),
    "mariadb": re.compile(r"\b(mysql\w*|mariadb\w*)\b"),
}
_SOCKETS = {"postgres": ".s.PGSQL.5432", "mariadb": "mysqld.sock"}
_TABLES = (
    "create table t(a int, b int, name varchar(20)); insert into t values (1, 2, 'foo'), (3, 4, 'bar');"
    " create table users(id int, name varchar(20)); insert into users values (1, 'foo');"
)
LOGINS = ("me", "root", "git", "admin", "deploy", "ubuntu")
"""Names under which examples log in; each is the user of the sandbox."""


class DataBases:
    """The data bases of a session, in folders below `base`. Without an installed server nothing is started."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.running: dict[str, subprocess.Popen[bytes] | None] = {}

    def wanted_by(self, text: str) -> None:
        """Starts what a command names, and waits until it answers."""
        for name, pattern in _BASES.items():
            if name not in self.running and pattern.search(text):
                self.running[name] = {"postgres": _start_postgres, "mariadb": _start_mariadb}[name](
                    f"{self.base}/{name}"
                )

    def close(self) -> None:
        """Ends them at once; their data goes with the session's folder."""
        for process in self.running.values():
            if process is not None:
                process.send_signal(signal.SIGKILL)
                process.wait()


def _quietly(*command: str, text: str = "") -> bool:
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False, env=_ENVIRONMENT)
    return done.returncode == 0


_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "HOME": "/",
}


def _served(command: list[str], ready: Callable[[], bool]) -> subprocess.Popen[bytes] | None:
    null = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=null, stdout=null, stderr=null, env=_ENVIRONMENT)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        if ready():
            return process
        time.sleep(0.05)
    process.kill()
    process.wait()
    return None


def _start_postgres(folder: str) -> subprocess.Popen[bytes] | None:
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    if not programs:
        return None
    bin_folder = os.path.dirname(programs[-1])
    os.mkdir(folder)
    init = ("-D", f"{folder}/data", "-U", "user", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
    if not _quietly(f"{bin_folder}/initdb", *init):
        return None
    options = ["-D", f"{folder}/data", "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
    process = _served(
        [f"{bin_folder}/postgres", *options], lambda: _quietly(f"{bin_folder}/pg_isready", "-h", folder, "-q")
    )
    if process is not None:
        psql = (f"{bin_folder}/psql", "-h", folder, "-U", "user", "-q")
        roles = " ".join(f"create role {name} superuser login;" for name in ("me", "postgres", "root", "r"))
        _quietly(*psql, "-d", "postgres", text=roles)
        for base in ("user", "app", "db", "me"):
            _quietly(*psql, "-d", "postgres", text=f'create database "{base}";')
            _quietly(*psql, "-d", base, text=_TABLES)
    return process


def _start_mariadb(folder: str) -> subprocess.Popen[bytes] | None:
    server = shutil.which("mariadbd", path=_ENVIRONMENT["PATH"])
    install = shutil.which("mariadb-install-db", path=_ENVIRONMENT["PATH"])
    client = shutil.which("mariadb", path=_ENVIRONMENT["PATH"])
    if server is None or install is None or client is None:
        return None
    os.mkdir(folder)
    place = (f"--datadir={folder}/data", "--no-defaults")
    if not _quietly(
        install, place[1], place[0], "--skip-test-db", "--auth-root-authentication-method=normal"
    ):
        return None
    end = f"{folder}/{_SOCKETS['mariadb']}"
    options = [f"--socket={end}", "--skip-networking", "--skip-grant-tables", f"--pid-file={folder}/pid"]
    process = _served(
        [server, place[1], place[0], *options],
        lambda: _quietly(client, "--no-defaults", f"--socket={end}", "-e", "select 1"),
    )
    if process is not None:
        for base in ("app", "db", "x"):
            _quietly(
                client,
                "--no-defaults",
                f"--socket={end}",
                text=f"create database {base}; use {base}; {_TABLES}",
            )
    return process


# --- what stands between --------------------------------------------------------------------------------------------


def between(name: str, base: str, log: Callable[..., None]) -> type[socketserver.BaseRequestHandler]:
    """The class that passes one connection on to a data base below `base`, and notes the statements in it."""

    class Between(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            end = socket.socket(socket.AF_UNIX)
            try:
                end.connect(f"{base}/{name}/{_SOCKETS[name]}")
            except OSError:
                return  # not installed, or not yet asked for
            note = _PostgresNotes(log) if name == "postgres" else _MariaNotes(log)
            back = threading.Thread(target=_pump, args=(end, self.request, None), daemon=True)
            back.start()
            _pump(self.request, end, note)
            back.join(5)
            end.close()

    return Between


def _pump(source: socket.socket, target: socket.socket, note: Callable[[bytes], None] | None) -> None:
    try:
        while data := source.recv(65536):
            if note is not None:
                note(data)
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


class _PostgresNotes:
    """Reads what a client sends: a start without a letter, then a letter, a length and the content of each message."""

    def __init__(self, log: Callable[..., None]) -> None:
        self.log, self.rest, self.started = log, b"", False

    def __call__(self, data: bytes) -> None:
        self.rest += data
        while len(self.rest) >= 8:
            if not self.started:
                size = int.from_bytes(self.rest[:4], "big")
                if len(self.rest) < size:
                    return
                self.started = int.from_bytes(self.rest[4:8], "big") >> 16 == 3  # else it asks for encryption
                self.rest = self.rest[size:]
                continue
            kind, size = self.rest[:1], 1 + int.from_bytes(self.rest[1:5], "big")
            if len(self.rest) < size:
                return
            content, self.rest = self.rest[5:size], self.rest[size:]
            if kind in (b"Q", b"P"):
                text = content.split(b"\0")[0 if kind == b"Q" else 1]
                self.log("sql", "postgres", method="SQL", body=text.decode("utf-8", "replace"))


class _MariaNotes:
    """Reads what a client sends: three bytes of length and a number before each message; 3 and 22 are statements."""

    def __init__(self, log: Callable[..., None]) -> None:
        self.log, self.rest = log, b""

    def __call__(self, data: bytes) -> None:
        self.rest += data
        while len(self.rest) >= 5:
            size = 4 + int.from_bytes(self.rest[:3], "little")
            if len(self.rest) < size:
                return
            number, content, self.rest = self.rest[3], self.rest[4:size], self.rest[size:]
            if number == 0 and content[:1] in (b"\x03", b"\x16"):
                self.log("sql", "mariadb", method="SQL", body=content[1:].decode("utf-8", "replace"))


# --- SSH ------------------------------------------------------------------------------------------------------------


class SecureShell:
    """An SSH server as inetd would start it, for one connection each. Its files lie in `folder`."""

    def __init__(self, folder: str, keys: list[str], origin: str) -> None:
        self.program = shutil.which("sshd", path=_ENVIRONMENT["PATH"])
        self.known = ""
        """What a file of known hosts says of it: every host has its key."""
        if self.program is None or not shutil.which("ssh-keygen"):
            self.program = None
            return
        os.mkdir(folder)
        _quietly("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/host")
        allowed = []
        for key in keys:
            copy = f"{folder}/key"
            shutil.copyfile(key, copy)
            os.chmod(copy, 0o600)
            done = subprocess.run(
                ["ssh-keygen", "-y", "-f", copy], capture_output=True, text=True, check=False
            )
            allowed.append(done.stdout)
            os.unlink(copy)
        Path(f"{folder}/keys").write_text("".join(allowed), encoding="ascii")
        Path(f"{folder}/passwd").write_text(
            "".join(f"{name}:x:1000:1000::/:/bin/sh\n" for name in ("user", *LOGINS)), encoding="ascii"
        )
        Path(f"{folder}/config").write_text(
            f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/keys\nStrictModes no\nUsePAM no\nPidFile none\n"
            "PermitRootLogin yes\nAllowTcpForwarding no\nPrintMotd no\n"
            "ForceCommand case $SSH_ORIGINAL_COMMAND in git-upload-pack*) exec git-upload-pack "
            f"{origin};; *) echo foo;; esac\n",
            encoding="ascii",
        )
        public = Path(f"{folder}/host.pub").read_text(encoding="ascii").split()
        self.known = f"* {public[0]} {public[1]}\n"
        self.folder = folder

    def handler(self) -> type[socketserver.BaseRequestHandler] | None:
        """The class that serves one connection; None where no server is installed."""
        if self.program is None:
            return None
        command = [self.program, "-i", "-f", f"{self.folder}/config"]

        class Ssh(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                subprocess.run(
                    command,
                    stdin=self.request.fileno(),
                    stdout=self.request.fileno(),
                    stderr=subprocess.DEVNULL,
                    env=_ENVIRONMENT,
                    check=False,
                )

        return Ssh
