# SPDX-License-Identifier: Apache-2.0
"""The second way to contain a command, asked for by name: what is seen in it, and that nothing gets out of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.witness import copied
from tools.witness.client import COPIED, SANDBOX_UID, UnavailableError, Witness
from tools.witness.judge import judge
from tools.witness.places import HOME, WORK

PYTHON = "/usr/bin/python3"
CALLS = "import ctypes, os\nc = ctypes.CDLL(None, use_errno=True)\n"


@pytest.fixture(scope="module")
def second() -> Iterator[Witness]:
    try:
        session = Witness(timeout=10, backend=COPIED)
    except UnavailableError as reason:
        pytest.skip(f"no sandbox: {reason}")
    with session:
        yield session


def test_it_says_what_it_cannot(second: Witness) -> None:
    assert second.backend == COPIED
    assert "no network" in second.limits
    for report in (second.run("true", world="hostile"), second.run("true", tty=True)):
        assert judge(report).outcome == "inconclusive"
        assert "needs namespaces" in report.problem
    asked = judge(second.run("curl -s http://example.org"))
    assert (asked.outcome, len(asked.reasons)) == ("skipped", 1)


@pytest.mark.parametrize(
    "command, place, kind, path",
    [
        ("echo x > new.txt", "workspace", "create", f"{WORK}/new.txt"),
        ("> new.txt", "workspace", "create empty", f"{WORK}/new.txt"),
        ("echo x >> f.txt", "workspace", "modify", f"{WORK}/f.txt"),
        ("rm f.txt", "workspace", "delete", f"{WORK}/f.txt"),
        ("rm -r src", "workspace", "delete", f"{WORK}/src"),
        ("rm -r src && echo x > src", "workspace", "replace", f"{WORK}/src"),
        ("mkdir -p deep/er", "workspace", "mkdir", f"{WORK}/deep/er"),
        ("ln -sfn g.txt link", "workspace", "modify", f"{WORK}/link"),
        ("echo x > ~/.notes", "home", "create", f"{HOME}/.notes"),
        ("echo x > $TMPDIR/t", "tmp", "create", "/tmp/t"),
        ("git status", "git-index", "modify", f"{WORK}/.git/index"),
        (": 1<> f.txt", "workspace", "opened for writing", f"{WORK}/f.txt"),
        ("(sleep 0.1; echo x > late) &", "workspace", "create", f"{WORK}/late"),
    ],
)
def test_an_effect_is_seen_with_its_class(
    second: Witness, command: str, place: str, kind: str, path: str
) -> None:
    report = second.run(command, make=False)
    assert not report.problem, report.problem
    assert {"class": place, "path": path, "kind": kind} in report.effects
    assert any(entry["class"] == place for entry in report.attempts)


@pytest.mark.parametrize(
    "command", ["git log --oneline -2", "cat f.txt | sort | uniq -c", "find . -name '*.py'"]
)
def test_a_read_is_one(second: Witness, command: str) -> None:
    report = second.run(command)
    assert (report.exit_code, report.effects) == (0, [])
    assert judge(report).outcome == "ok"


def test_two_runs_know_nothing_of_each_other(second: Witness) -> None:
    second.run("echo x > left; chmod 000 src; rm f.txt", make=False)
    assert second.run("ls left f.txt src/a.py", make=False).stdout.split() == ["f.txt", "src/a.py"]


@pytest.mark.parametrize(
    "command",
    [
        "echo x > CANARY",
        "echo x >> FOLDER/new",
        "rm -rf FOLDER/canary",
        "ln FOLDER/canary FOLDER/hard; mv FOLDER/canary FOLDER/moved",
        "mkdir FOLDER/d; ln -s x FOLDER/soft; mkfifo FOLDER/p",
        "chmod 777 CANARY; touch -d 2001-01-01 CANARY; setfattr -n user.x -v y CANARY",
        "truncate -s 0 CANARY; dd if=/dev/zero of=CANARY count=1",
        "kill -9 SLEEPER; kill -9 -1; kill -STOP SLEEPER; kill -9 $PPID",
        "echo 1 > /proc/sys/kernel/sysrq; echo x > /proc/sysrq-trigger; echo x > /etc/x; echo x > /tmp/CANARY-tmp",
        "unshare -Ur true; mount -t tmpfs x /mnt; chroot / true",
        "ipcmk -M 4096 -S 2 -Q",
        "exec 3<>/dev/tcp/127.0.0.1/22",
        ":(){ :|:& };:",
        "setsid -f sleep 301.7; (sleep 301.7 &) & disown",
        "prlimit --pid SLEEPER --nofile=1:1; renice -n 19 -p SLEEPER; taskset -p 1 SLEEPER",
    ],
)
def test_nothing_outside_changes(second: Witness, tmp_path: Path, command: str) -> None:
    canary = tmp_path / "canary"
    canary.write_text("alive")
    canary.chmod(0o666)
    tmp_path.chmod(0o777)
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        text = command.replace("SLEEPER", str(sleeper.pid)).replace("CANARY", str(canary))
        before = _state(tmp_path, sleeper.pid)
        report = second.run(text.replace("FOLDER", str(tmp_path)), make=False, timeout=3)
        assert _state(tmp_path, sleeper.pid) == before
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()
    assert not report.problem, report.problem
    assert not [pid for pid in os.listdir("/proc") if pid.isdigit() and _is_left(pid)]


def _state(folder: Path, sleeper: int) -> dict[str, object]:
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()
    return {
        "names": sorted(os.listdir(folder)),
        "canary": ((folder / "canary").read_text(), (folder / "canary").stat().st_mtime_ns),
        "mode": (folder / "canary").stat().st_mode,
        "stopped": Path(f"/proc/{sleeper}/stat").read_text().split()[2] == "T",
        "limits": Path(f"/proc/{sleeper}/limits").read_text(),
        "priority": os.getpriority(os.PRIO_PROCESS, sleeper),
        "affinity": os.sched_getaffinity(sleeper),
        "shared": [line for line in lines if line.split()[7] == str(SANDBOX_UID)],
        "etc": os.stat("/etc").st_mtime_ns,
    }


def _is_left(pid: str) -> bool:
    """Whether a process is one of the long sleeps that a command left."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x00301.7\x00"
    except OSError:
        return False


@pytest.mark.skipif(not Path(PYTHON).exists(), reason=f"no {PYTHON}, which the sandbox could show")
@pytest.mark.parametrize(
    "script",
    [
        "for family in (1, 2, 10, 16, 17): assert c.socket(family, 1, 0) == -1",
        "assert c.ptrace(16, os.getppid(), 0, 0) == -1",
        "assert c.syscall(425, 8, b'\\0' * 120) == -1",
        "assert c.syscall(272, 0x10000000) == -1\nassert c.syscall(435, b'\\0' * 88, 88) == -1",
        "assert c.shmget(5, 4096, 0o1600) == -1",
        "assert c.syscall(240, b'x', 0o102, 0o600, 0) == -1",
    ],
)
def test_a_call_is_refused(second: Witness, script: str) -> None:
    report = second.run("", argv=[PYTHON, "-I", "-c", CALLS + script])
    assert (report.exit_code, report.stderr) == (0, "")


def test_where_both_ways_are_closed_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copied, "LEAST_ABI", 10_000)
    reason = copied.reason_unavailable()
    assert reason is not None
    assert "landlock" in reason
