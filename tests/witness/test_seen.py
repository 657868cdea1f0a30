# SPDX-License-Identifier: Apache-2.0
"""Programs that are known to write, delete, connect, signal, fork away, ...: each is seen, by attempt and by effect."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.witness.client import Report, Witness
from tools.witness.places import HOME, WORK

PYTHON = "/usr/bin/python3"

needs_python = pytest.mark.skipif(
    not Path(PYTHON).exists(), reason=f"no {PYTHON}, which the sandbox could show"
)


def attempts(report: Report) -> set[tuple[str, str, str]]:
    assert not report.problem, report.problem
    return {(entry["class"], entry["kind"], entry["path"]) for entry in report.attempts}


def effects(report: Report) -> set[tuple[str, str, str]]:
    assert not report.problem, report.problem
    return {(entry["class"], entry["kind"], entry["path"]) for entry in report.effects}


@pytest.mark.parametrize(
    "command, place, kind, path",
    [
        ("echo x > new.txt", "workspace", "create", f"{WORK}/new.txt"),
        ("> new.txt", "workspace", "create empty", f"{WORK}/new.txt"),
        ("echo x >> f.txt", "workspace", "modify", f"{WORK}/f.txt"),
        ("rm f.txt", "workspace", "delete", f"{WORK}/f.txt"),
        ("rm -r src", "workspace", "delete", f"{WORK}/src"),
        ("rm -r src && mkdir src", "workspace", "replace", f"{WORK}/src"),
        ("mv f.txt moved", "workspace", "create", f"{WORK}/moved"),
        ("mkdir -p deep/er", "workspace", "mkdir", f"{WORK}/deep/er"),
        ("ln -s f.txt soft", "workspace", "create", f"{WORK}/soft"),
        ("ln f.txt hard", "workspace", "create", f"{WORK}/hard"),
        ("ln -sfn g.txt link", "workspace", "modify", f"{WORK}/link"),
        ("chmod 600 f.txt", "workspace", "meta", f"{WORK}/f.txt"),
        ("touch f.txt", "workspace", "meta", f"{WORK}/f.txt"),
        ("truncate -s 0 f.txt", "workspace", "modify", f"{WORK}/f.txt"),
        ("mkfifo pipe", "workspace", "create empty", f"{WORK}/pipe"),
        ("echo x > ~/.notes", "home", "create", f"{HOME}/.notes"),
        ("echo x > /tmp/t", "tmp", "create", "/tmp/t"),
        ("mkdir -p ~/.cache/x", "cache", "mkdir", f"{HOME}/.cache/x"),
        ("git status", "git-index", "modify", f"{WORK}/.git/index"),
        ("cd ~/repo && echo x > new", "workspace", "create", f"{HOME}/repo/new"),
        ("exec 3<> both", "workspace", "create empty", f"{WORK}/both"),
        ("cd /tmp && cd - && echo x > back", "workspace", "create", f"{WORK}/back"),
        ("echo x > ./src/../sub/./n", "workspace", "create", f"{WORK}/sub/n"),
    ],
)
def test_an_effect_is_seen_with_its_class(
    witness: Witness, command: str, place: str, kind: str, path: str
) -> None:
    report = witness.run(command, make=False)
    assert (place, kind, path) in effects(report)
    assert any(entry[0] == place for entry in attempts(report))


@pytest.mark.parametrize(
    "command, attempt",
    [
        ("echo x > t; rm t", ("workspace", "create", f"{WORK}/t")),
        ("echo x > /etc/x", ("system", "create", "/etc/x")),
        ("touch /usr/bin/x", ("system", "create", "/usr/bin/x")),
        ("rm -f nothing-here", ("workspace", "delete", f"{WORK}/nothing-here")),
        ("echo 1 > /proc/sys/kernel/sysrq", ("kernel", "create", "/proc/sys/kernel/sysrq")),
        ("kill -9 1", ("signal", "signal 9", "1")),
        ("kill -TERM -1", ("signal", "signal 15", "-1")),
        ("echo x > /dev/sda", ("kernel", "create", "/dev/sda")),
    ],
)
def test_an_attempt_is_seen_though_nothing_lasts(
    witness: Witness, command: str, attempt: tuple[str, str, str]
) -> None:
    report = witness.run(command, make=False)
    assert attempt in attempts(report)
    assert not {entry for entry in effects(report) if entry[0] not in ("tmp",)}


SCRIPTS: dict[str, tuple[str, tuple[str, str]]] = {
    "a write through shared memory of a file": (
        "import mmap\nf = open('f.txt', 'r+b')\nm = mmap.mmap(f.fileno(), 0)\nm[0:1] = b'Z'\nm.flush()",
        ("workspace", "open for writing"),
    ),
    "unlink by its number": (
        "import ctypes\nassert ctypes.CDLL(None).syscall(87, b'f.txt') == 0",
        ("workspace", "delete"),
    ),
    "openat2 by its number": (
        "import ctypes, struct\nctypes.CDLL(None).syscall(437, -100, b'n', struct.pack('QQQ', 0o101, 0o644, 0), 24)",
        ("workspace", "create"),
    ),
    "a call in the numbers of x32": (
        "import ctypes\nctypes.CDLL(None).syscall(0x40000000 | 87, b'f.txt')",
        ("refused", "a system call of another architecture"),
    ),
    "io_uring": (
        "import ctypes\nb = ctypes.create_string_buffer(200)\nassert ctypes.CDLL(None).syscall(425, 4, b) == -1",
        ("refused", "io_uring_setup"),
    ),
    "a file without a name that gets one": (
        (
            "import ctypes, os\nf = os.open('.', 0o20200002, 0o600)\nos.write(f, b'x')\n"
            "assert ctypes.CDLL(None).linkat(-100, b'/proc/self/fd/%d' % f, -100, b'named', 0x400) == 0"
        ),
        ("workspace", "link"),
    ),
    "a path below an open folder": (
        "import os\nd = os.open('src', os.O_RDONLY)\nos.unlink('a.py', dir_fd=d)",
        ("workspace", "delete"),
    ),
    "the mode of a file that is open for reading": (
        "import os\nos.fchmod(os.open('f.txt', os.O_RDONLY), 0o600)",
        ("workspace", "chmod"),
    ),
    "an attribute": ("import os\nos.setxattr('f.txt', 'user.a', b'b')", ("workspace", "xattr")),
    "the times of a file": ("import os\nos.utime('f.txt', (1, 1))", ("workspace", "utime")),
    "a segment of System V memory": (
        "import ctypes\nassert ctypes.CDLL(None).shmget(77, 4096, 0o1600) >= 0",
        ("tmp", "shmget"),
    ),
    "a file in shared memory": ("open('/dev/shm/x', 'w').write('x')", ("tmp", "create")),
    "a socket in the file system": (
        "import socket\nsocket.socket(socket.AF_UNIX).bind('sock')",
        ("workspace", "create a socket"),
    ),
    "a signal through a descriptor of a process": (
        "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open(1), signal.SIGTERM)",
        ("signal", "signal 15"),
    ),
    "a thread that deletes": (
        "import os, threading\nt = threading.Thread(target=os.unlink, args=('f.txt',))\nt.start()\nt.join()",
        ("workspace", "delete"),
    ),
    "ptrace": ("import ctypes\nassert ctypes.CDLL(None).ptrace(16, 1, 0, 0) == -1", ("priv", "ptrace")),
    "a namespace by clone": (
        "import ctypes\nassert ctypes.CDLL(None).syscall(56, 0x10000000 | 17, 0, 0, 0, 0) == -1",
        ("priv", "clone"),
    ),
}


@needs_python
@pytest.mark.parametrize("script, seen", SCRIPTS.values(), ids=SCRIPTS)
def test_a_call_is_seen_however_it_is_made(witness: Witness, script: str, seen: tuple[str, str]) -> None:
    report = witness.run("", argv=[PYTHON, "-I", "-c", script])
    assert seen in {(entry["class"], entry["kind"]) for entry in report.attempts}, report.stderr
    assert report.exit_code == 0, report.stderr


@needs_python
def test_a_write_through_memory_changes_the_file(witness: Witness) -> None:
    report = witness.run("", argv=[PYTHON, "-I", "-c", SCRIPTS["a write through shared memory of a file"][0]])
    assert ("workspace", "modify", f"{WORK}/f.txt") in effects(report)


def test_two_runs_know_nothing_of_each_other(witness: Witness) -> None:
    witness.run("rm -rf ~/work ~/.gitconfig; echo x > /tmp/x")
    report = witness.run("ls ~/.gitconfig f.txt && ls -A /tmp")
    assert report.exit_code == 0
    assert report.stdout.split() == [f"{HOME}/.gitconfig", "f.txt"]
    assert not report.effects


# --- time -------------------------------------------------------------------------------------------------------


def test_what_is_written_a_little_late_is_seen(witness: Witness) -> None:
    report = witness.run("(sleep 0.1; touch late) &", make=False)
    assert ("workspace", "create empty", f"{WORK}/late") in effects(report)
    assert report.left == []


def test_what_stays_is_named_and_ended(witness: Witness) -> None:
    report = witness.run("(setsid sleep 20; touch later) >/dev/null 2>&1 & disown", make=False)
    assert "sleep" in report.left
    assert not report.effects
    assert report.ms < 5_000


def test_time_ends_and_what_was_done_is_still_seen(witness: Witness) -> None:
    report = witness.run("touch early; sleep 30; touch late", make=False, timeout=1)
    assert report.timed_out
    assert effects(report) == {("workspace", "create empty", f"{WORK}/early")}


def test_endless_output_is_cut(witness: Witness) -> None:
    report = witness.run("yes")
    assert report.cut
    assert not report.timed_out
    assert 0 < len(report.stdout) < 100_000


def test_all_output_of_a_short_command_arrives(witness: Witness) -> None:
    for _ in range(5):
        report = witness.run("seq 2000; echo done >&2")
        assert report.stdout.split() == [str(number) for number in range(1, 2001)]
        assert report.stderr == "done\n"


# --- programs ---------------------------------------------------------------------------------------------------


def test_every_program_is_named_with_its_words(witness: Witness) -> None:
    report = witness.run("ls src | env A=1 sort -r >/dev/null")
    assert [words[1:] for words in report.execs[1:]].count(["sort", "-r"]) == 1
    assert {words[0] for words in report.execs[1:]} == {"/usr/bin/ls", "/usr/bin/env", "/usr/bin/sort"}


@needs_python
def test_a_program_in_memory_is_named(witness: Witness) -> None:
    script = (
        "import os\nf = os.memfd_create('x')\nos.write(f, open('/bin/true', 'rb').read())\n"
        "os.execve(f, ['hidden'], {})"
    )
    report = witness.run("", argv=[PYTHON, "-I", "-c", script])
    assert any("memfd" in words[0] and words[1] == "hidden" for words in report.execs), report.execs


# --- network ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command, kind, address",
    [
        ("exec 3<>/dev/tcp/192.0.2.1/4444", "connect", "tcp:192.0.2.1:4444"),
        ("exec 3<>/dev/udp/192.0.2.1/99; echo x >&3", "connect", "tcp:192.0.2.1:99"),
        ("exec 3<>/dev/tcp/secret.example.org/80", "dns", "secret.example.org"),
    ],
)
def test_an_address_is_seen(witness: Witness, command: str, kind: str, address: str) -> None:
    report = witness.run(command)
    assert (kind, address) in {(entry["kind"], entry["address"]) for entry in report.net}


@pytest.mark.parametrize(
    "tool, command, kind, method",
    [
        ("curl", "curl -s http://example.org/a", "http", "GET"),
        ("curl", "curl -s https://example.org/a -d x=1", "http", "POST"),
        ("curl", "curl -sI https://example.org/", "http", "HEAD"),
        ("gh", "gh api repos/o/r/pulls/1/reviews", "http", "GET"),
        ("gh", "gh api -X DELETE repos/o/r/issues/1", "http", "DELETE"),
        ("docker", "docker ps", "http", "GET"),
        ("docker", "docker rm x", "http", "DELETE"),
        ("kubectl", "kubectl get pods", "http", "GET"),
        ("kubectl", "kubectl delete pod x --wait=false", "http", "DELETE"),
        ("redis-cli", "redis-cli get a", "redis", "GET"),
        ("redis-cli", "redis-cli set a b", "redis", "SET"),
        ("systemctl", "systemctl show x", "dbus", "GetAll"),
        ("systemctl", "systemctl is-enabled ssh", "dbus", "GetUnitFileState"),
        ("systemctl", "systemctl kill x", "dbus", "KillUnit"),
    ],
)
def test_what_is_asked_of_a_service_is_seen(
    witness: Witness, tool: str, command: str, kind: str, method: str
) -> None:
    report = witness.run(command)
    if report.exit_code == 127:
        pytest.skip(f"{tool} is not installed")
    asked = [
        (entry["kind"], entry.get("method"))
        for entry in report.net
        if entry["kind"] in ("http", "redis", "dbus")
    ]
    assert asked[-1] == (kind, method), report.stderr


@pytest.mark.parametrize(
    "server, command, statement",
    [
        ("postgres", "psql -Atc 'select count(*) from t'", "select count(*) from t"),
        ("postgres", "psql -h db -U me -c 'drop table users' app", "drop table users"),
        ("mariadb", "mysql -Ne 'select count(*) from t' app", "select count(*) from t"),
        ("mariadb", "mysql -h db -e 'drop table users' app", "drop table users"),
    ],
)
def test_a_statement_is_seen(witness: Witness, server: str, command: str, statement: str) -> None:
    report = witness.run(command)
    if report.exit_code == 127 or not any(entry["kind"] == "sql" for entry in report.net):
        pytest.skip(f"no {server} is installed")
    assert report.exit_code == 0, report.stderr
    assert ("sql", server, statement) in {
        (entry["kind"], entry["address"], entry.get("body")) for entry in report.net
    }


def test_a_secure_shell_answers_and_runs_nothing(witness: Witness) -> None:
    report = witness.run("ssh host 'cat /etc/shadow; touch /tmp/x'")
    if report.exit_code == 127 or "SSH" in "".join(str(entry.get("body")) for entry in report.net):
        pytest.skip("no SSH server is installed")
    assert (report.exit_code, report.stdout) == (0, "foo\n")


def test_what_must_be_running_first_is_no_effect(witness: Witness) -> None:
    report = witness.run("tmux ls")
    if report.exit_code == 127:
        pytest.skip("tmux is not installed")
    assert (report.exit_code, report.stdout.partition(":")[0]) == (0, "s")
    assert (report.effects, report.left) == ([], [])
    killed = witness.run("tmux kill-server; sleep 5 & echo x > new.txt")
    assert killed.left == ["sleep"]
    assert ("workspace", "create", f"{WORK}/new.txt") in effects(killed)


def test_what_a_traced_program_does_is_seen(witness: Witness) -> None:
    report = witness.run("strace -fo /dev/null sh -c 'echo x > new.txt'")
    if report.exit_code == 127:
        pytest.skip("strace is not installed")
    assert ("workspace", "create", f"{WORK}/new.txt") in effects(report)
    assert ("priv", "ptrace", "") in attempts(report)


# --- terminals --------------------------------------------------------------------------------------------------


def test_a_terminal_is_one(witness: Witness) -> None:
    report = witness.run(
        "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && tty && stty size && echo x > /dev/tty", tty=True
    )
    assert report.exit_code == 0, report.stdout
    assert report.stdout.split() == ["/dev/pts/0", "24", "80", "x"]
    assert not report.attempts


def test_a_pager_is_started_on_a_terminal_only(witness: Witness) -> None:
    plain, terminal = witness.run("git log"), witness.run("git log", tty=True)
    pagers = {"less", "pager", "more"}
    assert not {os.path.basename(words[0]) for words in plain.execs} & pagers
    assert {os.path.basename(words[0]) for words in terminal.execs} & pagers
    assert terminal.exit_code == 0
    assert not terminal.timed_out


@pytest.mark.parametrize(
    "command, stranger",
    [
        ("sleep 5 & kill $!", False),
        ("timeout 0.2 sleep 5", False),
        ("kill $$", False),
        ("sleep 0 & p=$!; wait; kill -9 $p", False),
        ("kill 4194000", True),
        ("kill -9 -- -4194000", True),
        ("kill -0 1", None),
        ("kill 1", True),
    ],
)
def test_a_signal_to_what_the_command_started_is_none_to_others(
    witness: Witness, command: str, stranger: bool | None
) -> None:
    found = [entry for entry in witness.run(command).attempts if entry["class"] == "signal"]
    assert bool(found) is bool(stranger)
