# SPDX-License-Identifier: Apache-2.0
"""The real databases, each in a throwaway folder, and what a script changes in them."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

ROWS = (
    "create table t (a int, b varchar(9)); create table u (a int); insert into t values (1, 'x'), (2, 'y');"
)


def run(words: list[str], folder: Path, stdin: str = "", seconds: int = 60) -> tuple[int, str]:
    """Exit status and all output."""
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


class Database:
    """A database with the tables of the texts, in `folder`."""

    def __init__(self, folder: Path, *, readonly: bool = False) -> None:
        self.folder, self.readonly = folder, readonly
        (folder / "evil.sql").write_text("delete from t;\n", encoding="ascii")
        (folder / "f").write_text("7,z\n", encoding="ascii")
        (folder / "f.csv").write_text("a,b\n7,z\n", encoding="ascii")

    @staticmethod
    def missing() -> str:
        """Why it cannot be used here; empty when it can."""
        raise NotImplementedError

    def execute(self, text: str) -> str:
        """Runs a script as the tool runs the word in its call. Gives back what was printed."""
        raise NotImplementedError

    def state(self) -> str:
        """All that the database holds, as text."""
        raise NotImplementedError

    def written(self) -> Path:
        """A file that the server may write."""
        return self.folder / "PWNED"

    def changed_by(self, text: str) -> tuple[list[str], str]:
        """What a script changed, and what was printed."""
        before = self.state(), self.files()
        output = self.execute(text.replace("%PWNED%", str(self.written())))
        after = self.state(), self.files()
        changed = [] if before[0] == after[0] else ["the database"]
        return changed + sorted(after[1] ^ before[1]), output

    def files(self) -> set[str]:
        """The files of the folder, beside those of the database."""
        names = {path.name for path in self.folder.iterdir()} - {
            "t.db",
            "t.db-wal",
            "t.db-shm",
            ".mariadb_history",
        }
        return names | ({"PWNED"} if self.written().exists() else set())


class Sqlite(Database):
    """sqlite3 with a file."""

    def __init__(self, folder: Path, *, readonly: bool = False) -> None:
        super().__init__(folder, readonly=readonly)
        run(["sqlite3", "t.db", ROWS], folder)

    @staticmethod
    def missing() -> str:
        return "" if shutil.which("sqlite3") else "no sqlite3 here"

    def execute(self, text: str) -> str:
        """A script with commands of the shell comes on standard input, as only there they may be several."""
        words = ["sqlite3", "-batch", *(["-readonly"] if self.readonly else []), "t.db"]
        on_input = "\n" in text
        return run(words if on_input else [*words, text], self.folder, text if on_input else "")[1]

    def state(self) -> str:
        dump = "select * from sqlite_master; select * from t; select * from u; pragma user_version"
        return (self.folder / "t.db").read_bytes().hex() + run(
            ["sqlite3", "-readonly", "t.db", dump], self.folder
        )[1]


class Duckdb(Database):
    """The library of Python: its shell is no package. So commands with a dot are not run."""

    def __init__(self, folder: Path, *, readonly: bool = False) -> None:
        super().__init__(folder, readonly=readonly)
        import duckdb

        self.connection = duckdb.connect(str(folder / "t.db"))
        self.connection.execute(ROWS + "create sequence s")

    @staticmethod
    def missing() -> str:
        try:
            import duckdb  # noqa: F401
        except ImportError:
            return "no duckdb here (the extra `corpora`)"
        return ""

    def execute(self, text: str) -> str:
        import duckdb

        before = Path.cwd()
        os.chdir(self.folder)
        try:
            return str(self.connection.execute(text).fetchall())
        except duckdb.Error as error:
            return str(error)
        finally:
            os.chdir(before)

    def state(self) -> str:
        shown = []
        for query in (
            "select table_name, sql from duckdb_tables() order by 1",
            "select database_name from duckdb_databases() order by 1",
            "select last_value from duckdb_sequences()",
            "select * from t order by all",
        ):
            shown.append(Duckdb.execute(self, query))
        return "\n".join(shown)


# --- servers ----------------------------------------------------------------------------------------------------


class _Server:
    """A server of its own in a new folder below /tmp (the path of a socket must be short), ended with the tests."""

    def __init__(self, name: str, user: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"shellguard-{name}-"))
        self.prefix: list[str] = []
        if os.geteuid() == 0:  # neither server runs as root
            import pwd  # not on Windows

            account = pwd.getpwnam(user)
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            self.prefix = ["setpriv", f"--reuid={user}", f"--regid={account.pw_gid}", "--clear-groups"]
        self.process: subprocess.Popen[bytes] | None = None
        atexit.register(self.end)

    def start(self, words: list[str], ready: list[str]) -> None:
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen([*self.prefix, *words], cwd=self.folder, stdout=log, stderr=log)
        for _ in range(300):
            if run(ready, self.folder)[0] == 0:
                return
            time.sleep(0.1)
        raise RuntimeError((self.folder / "log").read_text(errors="replace")[-2000:])

    def end(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(timeout=30)
            self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)


def _user(name: str) -> bool:
    """Whether a server can be started as this user, or as the one that runs the tests."""
    import pwd

    try:
        pwd.getpwnam(name)
    except KeyError:
        return os.geteuid() != 0
    return True


_servers: dict[str, _Server] = {}


class Postgres(Database):
    """psql and a server that listens on a socket only."""

    number = 0

    @staticmethod
    def _programs() -> Path | None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        return found[-1].parent if found and shutil.which("psql") and _user("postgres") else None

    @staticmethod
    def missing() -> str:
        return "" if Postgres._programs() and shutil.which("setpriv") else "no PostgreSQL server here"

    def __init__(self, folder: Path, *, readonly: bool = False) -> None:
        super().__init__(folder, readonly=readonly)
        if "postgres" not in _servers:
            server = _servers["postgres"] = _Server("pg", "postgres")
            programs = Postgres._programs()
            assert programs is not None
            data = server.folder / "data"
            words = [
                *server.prefix,
                f"{programs}/initdb",
                "-D",
                str(data),
                "-A",
                "trust",
                "-U",
                "me",
                "--no-sync",
            ]
            status, output = run(words, server.folder)
            assert status == 0, output
            settings = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off"]
            ready = ["psql", "-h", str(server.folder), "-U", "me", "-c", "select 1", "postgres"]
            server.start(
                [f"{programs}/postgres", "-D", str(data), "-k", str(server.folder), *settings], ready
            )
            self._psql("template1", ROWS + "create sequence s")
        Postgres.number += 1
        self.name = f"d{Postgres.number}"
        self._psql("postgres", f"create database {self.name}")

    def _psql(self, database: str, *texts: str) -> str:
        words = [word for text in texts for word in ("-c", text)]
        server = _servers["postgres"].folder
        return run(["psql", "-X", "-h", str(server), "-U", "me", "-At", *words, database], self.folder)[1]

    def execute(self, text: str) -> str:
        return self._psql(self.name, text)

    def written(self) -> Path:
        return _servers["postgres"].folder / f"PWNED-{self.name}"

    def state(self) -> str:
        """Names and rights, rows with what locks them, the sequence, large objects, comments."""
        return self._psql(
            self.name,
            "select relname, relacl, relkind, relfilenode from pg_class where oid > 16000 order by relname",
            "select attrelid, attname from pg_attribute where attrelid > 16000 order by 1, 2",
            "select proname from pg_proc where oid > 16000",
            "select a, b, xmax from t order by 1",
            "select last_value, is_called from s",
            "select oid from pg_largeobject_metadata",
            "select description from pg_description where objoid > 16000",
        )


class Mariadb(Database):
    """The client of MariaDB and a server that listens on a socket only."""

    number = 0

    @staticmethod
    def missing() -> str:
        programs = ("mariadbd", "mariadb-install-db", "mysql", "setpriv")
        there = all(shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin") for name in programs)
        return "" if there and _user("mysql") else "no MariaDB server here"

    def __init__(self, folder: Path, *, readonly: bool = False) -> None:
        super().__init__(folder, readonly=readonly)
        if "mysql" not in _servers:
            server = _servers["mysql"] = _Server("my", "mysql")
            data = server.folder / "data"
            install = [
                "mariadb-install-db",
                "--no-defaults",
                f"--datadir={data}",
                "--auth-root-authentication-method=normal",
            ]
            status, output = run([*server.prefix, *install, "--skip-test-db"], server.folder, seconds=200)
            assert status == 0, output
            socket = f"--socket={server.folder}/s"
            words = ["/usr/sbin/mariadbd", "--no-defaults", f"--datadir={data}", socket, "--skip-networking"]
            ready = ["mysql", "--no-defaults", socket, "-uroot", "-e", "select 1"]
            server.start(
                [*words, f"--pid-file={server.folder}/pid", "--innodb-flush-log-at-trx-commit=0"], ready
            )
            self._mysql("", "create database if not exists test")
        Mariadb.number += 1
        self.name = f"d{Mariadb.number}"
        self._mysql("", f"create database {self.name}")
        self._mysql(self.name, ROWS + "create sequence s")

    def _mysql(self, database: str, text: str) -> str:
        server = _servers["mysql"].folder
        words = ["mysql", "--no-defaults", f"--socket={server}/s", "-uroot", "-N", "-e", text]
        return run([*words, *([database] if database else [])], self.folder)[1]

    def execute(self, text: str) -> str:
        return self._mysql(self.name, text)

    def written(self) -> Path:
        return _servers["mysql"].folder / f"PWNED-{self.name}"

    def state(self) -> str:
        of_tables = f"select table_name, column_name from information_schema.columns where table_schema = '{self.name}'"
        return self._mysql(
            self.name, f"{of_tables}; select next_not_cached_value from s; select * from t order by a"
        )
