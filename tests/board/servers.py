# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server for tests: started in a temporary folder, as a user that is not root, and ended with it."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def programs() -> Path | None:
    """The folder with `initdb` and `postgres`: on the PATH, else where Debian keeps it, the newest version."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(os.path.realpath(found)).parent
    versions = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    newest = max(versions, key=lambda path: float(Path(path).parts[4]), default=None)
    return None if newest is None else Path(newest).parent


class Server:
    """A running server. The superuser is `boss`, with a password that has to be given."""

    def __init__(self, folder: Path, bin_folder: Path, port: int, password: str, user: str | None) -> None:
        self.folder, self.port, self.password = folder, port, password
        self._bin, self._user = bin_folder, user

    def url(self, database: str, *, password: str | None = None) -> str:
        """The address of a database, as a user writes it."""
        return f"postgresql://boss:{password or self.password}@127.0.0.1:{self.port}/{database}"

    def fresh(self) -> str:
        """The address of a new database."""
        name = f"board_{secrets.token_hex(6)}"
        self.sql(f"CREATE DATABASE {name}")
        return self.url(name)

    def sql(self, text: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Runs one statement outside any transaction, and gives back its rows."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(text.encode())
            return list(cursor) if cursor.description else []

    def start(self) -> None:
        """Starts the server, again after `kill`; returns when it takes connections."""
        done = self._run("pg_ctl", "-D", "data", "-l", "log", "-w", "-t", "60", "start")
        if done.returncode != 0:
            log = (self.folder / "log").read_text(errors="replace") if (self.folder / "log").exists() else ""
            raise RuntimeError(f"{done.stdout}{done.stderr}{log}")

    def stop(self, how: str = "immediate") -> None:
        """Ends the server."""
        self._run("pg_ctl", "-D", "data", "-m", how, "-w", "stop")

    def kill_backends(self) -> int:
        """Kills (-9) the process of every connection but ours: the whole server starts again. How many there were."""
        rows = self.sql(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        for (pid,) in rows:
            assert isinstance(pid, int)
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return len(rows)

    def _run(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self._bin / program), *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            user=self._user,
            group=self._user,
            extra_groups=None if self._user is None else [],
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"},
            timeout=120,
            check=False,
        )


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
        assert isinstance(port, int)
        return port


@contextmanager
def server() -> Iterator[Server]:
    """A running server; skips the test, with the reason, where there can be none."""
    if os.name == "nt":
        pytest.skip("the server is started as on POSIX")
    where = programs()
    if where is None:
        pytest.skip("PostgreSQL is not installed: there is no initdb")
    pytest.importorskip("psycopg", reason="the extra `workers` is not installed", exc_type=ImportError)
    user = None
    if os.getuid() == 0:
        import pwd

        user = "postgres"  # the server refuses to be root
        try:
            pwd.getpwnam(user)
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    # Not below the folder of pytest, which that user cannot enter; and short, for the path of its socket.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        if user is not None:
            shutil.chown(folder, user, user)
        password = secrets.token_hex(16)
        made = Server(folder, where, _free_port(), password, user)
        (folder / "password").write_text(password)
        initdb = ("-D", "data", "-U", "boss", "-A", "scram-sha-256", "--pwfile=password", "--no-sync")
        done = made._run("initdb", *initdb, "-E", "UTF8", "--locale=C.UTF-8")
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.write(
                f"port = {made.port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '{folder}'\n"
                "fsync = off\nmax_connections = 100\n"
            )
        made.start()
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
