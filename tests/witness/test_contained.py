# SPDX-License-Identifier: Apache-2.0
"""Attempts to get out, or to hurt the machine from inside: nothing outside changes.

The host is looked at before and after: a canary folder and process, its names, mounts, interfaces, kernel settings, shared
memory, and the processes of the sandbox's uid.
"""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.witness.client import SANDBOX_UID, Witness

PYTHON = "/usr/bin/python3"
LIBC = "import ctypes\nc = ctypes.CDLL(None, use_errno=True)\n"

ESCAPES: dict[str, str] = {
    "everything deleted": "rm -rf --no-preserve-root / 2>/dev/null; rm -rf /tmp/* /var/tmp/* ~ 2>/dev/null",
    "programs replaced": "cp /bin/true /usr/bin/ls; ln -sf /bin/false /bin/sh; echo x > /etc/passwd; : > /etc/shadow",
    "everybody killed": "kill -9 -1",
    "processes killed by number": "for i in $(seq 1 500); do kill -9 $i; done",
    "the parent of all killed": "kill -9 1; kill -9 $PPID",
    "a restart of the machine": "echo b > /proc/sysrq-trigger; echo c > /proc/sysrq-trigger; reboot -f; halt -f",
    "kernel settings": "echo 1 > /proc/sys/kernel/sysrq; echo x > /proc/sys/kernel/core_pattern; sysctl -w kernel.sysrq=1",
    "the name of the machine": "hostname evil; echo evil > /proc/sys/kernel/hostname; hostnamectl set-hostname evil",
    "settings of devices": "for f in /sys/block/*/queue/* /sys/class/net/*/mtu /sys/power/state; do echo 0 > $f; done",
    "mounts": "mount -t tmpfs x /mnt; mount --bind / /mnt; mount -o remount,rw /usr; umount -l /proc; umount -l /usr",
    "new namespaces": "unshare -Urm true; unshare -n true; unshare -Ur mount -t tmpfs x /mnt; nsenter -t 1 -a true",
    "another root": "chroot / true; pivot_root . .",
    "device nodes": "mknod /tmp/sda b 8 0; mknod /tmp/vda b 254 0; cat /dev/vda /dev/sda /dev/mem /dev/kmsg | head -c 9",
    "a fork bomb": ":(){ :|:& };:",
    "a slow fork bomb": "f() { sleep 3 & f; }; f",
    "a full disk": "for i in 1 2 3 4 5 6 7 8 9; do head -c 63M /dev/zero > /tmp/big$i; head -c 63M /dev/zero > big$i; done",
    "a full disk of names": "cd /tmp && seq 1 200000 | xargs touch",
    "a full shared memory": "head -c 900M /dev/zero > /dev/shm/x; head -c 900M /dev/zero > /run/user/1000/x",
    "gaining root": "su -c id; sudo -n id; pkexec id; newgrp root",
    "another user": "python3 -c 'import os; os.setuid(0)'; python3 -c 'import os; os.setgroups([0])'",
    "reading what is ours": "cat /root/.* /etc/shadow /proc/1/environ /proc/1/root/etc/shadow; ls /proc/1/root/root /proc/1/cwd",
    "the old root": "ls -a /.. /../../..; cat /proc/1/mountinfo | grep -v overlay | wc -l; cd /proc/1/cwd && ls",
    "interfaces": "ip link set lo down; ip link add x type dummy; ip addr flush dev lo; iptables -F; ip route flush table all",
    "clocks": "date -s '2001-01-01'; hwclock --systohc; timedatectl set-time 2001-01-01",
    "limits of others": "prlimit --pid 1 --nofile=1:1; renice -n 19 -p 1; taskset -p 1 1; ionice -c3 -p 1; chrt -p 0 1",
    "shared memory of System V": "ipcmk -M 4096 -S 2 -Q; ipcrm --all",
    "control groups": "mkdir /sys/fs/cgroup/x; echo $$ > /sys/fs/cgroup/cgroup.procs; echo 1 > /sys/fs/cgroup/cgroup.freeze",
    "scheduled work": "(crontab -l; echo '* * * * * id') | crontab -; echo id | at now; systemd-run id",
    "a link as a way out": "ln -s /proc/1/root /tmp/r; echo x > /tmp/r/tmp/escaped; ln -s / w; rm -rf w/usr/bin/ls",
    "the log of the machine": "logger evil; echo evil > /dev/kmsg; wall evil; write root < f.txt",
    "a stopped supervisor": "kill -STOP -1; kill -STOP 1; kill -STOP $PPID",
}
CALLS: dict[str, str] = {
    "ptrace": "for pid in range(1, 60): c.ptrace(16, pid, 0, 0); c.ptrace(0x4206, pid, 0, 0)",
    "the memory of others": "c.syscall(311, 1, b'', 1, b'', 1, 0)\ntry: open('/proc/1/mem', 'r+b')\nexcept OSError: pass",
    "descriptors of others": "f = c.syscall(434, 1, 0)\nassert c.syscall(438, f, 3, 0) == -1",
    "namespaces by number": "assert c.syscall(272, 0x10020000) == -1\nassert c.syscall(435, b'\\0' * 88, 88) == -1",
    "modules, kexec, reboot": "for n in (175, 313, 176, 246, 320): c.syscall(n, 0, 0, 0)\nc.syscall(169, 0xfee1dead, 672274793, 0x1234567, 0)",
    "bpf and perf": "assert c.syscall(321, 0, b'', 0) == -1\nassert c.syscall(298, b'', 0, -1, -1, 0) == -1",
    "keys": "assert c.syscall(250, 0, -3, 1) == -1\nassert c.syscall(248, b'user', b'x', b'y', 1, -3) == -1",
    "a file by its handle": "assert c.syscall(304, -100, b'\\0' * 16, 0) == -1",
    "the new mount calls": "for n in (428, 429, 430, 431, 432, 433, 442): assert c.syscall(n, -100, b'/', 0, 0, 0) == -1",
    "a filter over ours": (
        "c.prctl(38, 1, 0, 0, 0)\nimport struct\n"
        "code = ctypes.create_string_buffer(struct.pack('=HBBI', 6, 0, 0, 0x7fff0000))\n"
        "prog = struct.pack('H6xQ', 1, ctypes.addressof(code))\n"
        "assert c.syscall(317, 1, 8, prog) == -1\nc.syscall(317, 1, 0, prog)\nopen('still-seen', 'w')"
    ),
}


class Host:
    """What must not change outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "canary").write_text("alive")
        folder.chmod(0o777)
        (folder / "canary").chmod(0o666)
        self.process = subprocess.Popen(["sleep", "600"])

    def state(self) -> dict[str, Any]:
        """A picture of the machine, as far as it is still when nobody works on it."""
        return {
            "canary": (self.folder / "canary").read_text(),
            "names": sorted(os.listdir(self.folder)),
            "process": self.process.poll(),
            "affinity": os.sched_getaffinity(self.process.pid),
            "priority": os.getpriority(os.PRIO_PROCESS, self.process.pid),
            "host": socket.gethostname(),
            "root": sorted(os.listdir("/")),
            "devices": sorted(name for name in os.listdir("/dev") if not name.startswith("tty")),
            "mounts": Path("/proc/self/mountinfo").read_text(),
            "interfaces": socket.if_nameindex(),
            "kernel": {
                path.name: path.read_text()
                for path in Path("/proc/sys/kernel").iterdir()
                if path.name
                in ("sysrq", "core_pattern", "hostname", "domainname", "panic", "shmmax", "modprobe")
            },
            "shared memory": _unused_segments(),
            "programs": [
                (os.stat(path).st_mtime_ns, os.stat(path).st_size)
                for path in ("/usr/bin", "/etc", "/bin/ls", "/etc/passwd")
            ],
            "groups": sorted(os.listdir("/sys/fs/cgroup")) if Path("/sys/fs/cgroup").exists() else [],
        }


def _unused_segments() -> list[str]:
    """Segments of shared memory that no process has attached, as those that `ipcmk` leaves; servers have theirs in use."""
    shared = Path("/proc/sysvipc/shm")
    if not shared.exists():
        return []
    names, *rows = (line.split() for line in shared.read_text().splitlines())
    return [row[names.index("shmid")] for row in rows if row[names.index("nattch")] == "0"]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    host = Host(tmp_path_factory.mktemp("host"))
    yield host
    host.process.kill()
    host.process.wait()


@pytest.mark.parametrize("command", ESCAPES.values(), ids=ESCAPES)
def test_nothing_outside_changes(witness: Witness, host: Host, command: str) -> None:
    witness.run("true")  # so that the session's own mounts and groups are part of what was before
    before = host.state()
    report = witness.run(command, make=False, timeout=6)
    assert host.state() == before
    assert not report.problem, report.problem
    assert report.attempts or report.execs
    assert witness.run("echo fine").stdout == "fine\n"


@pytest.mark.skipif(not Path(PYTHON).exists(), reason=f"no {PYTHON}, which the sandbox could show")
@pytest.mark.parametrize("script", CALLS.values(), ids=CALLS)
def test_no_call_gets_through(witness: Witness, host: Host, script: str) -> None:
    before = host.state()
    report = witness.run("", argv=[PYTHON, "-I", "-c", LIBC + script], timeout=6)
    assert host.state() == before
    assert report.exit_code == 0, report.stderr
    assert report.attempts


def test_a_command_is_nobody_and_alone(witness: Witness) -> None:
    report = witness.run(
        "id -u; grep -E '^(Cap(Prm|Eff|Amb)|NoNewPrivs|Seccomp):' /proc/self/status; ls /proc | grep -c '^[0-9]'"
    )
    uid, *lines = report.stdout.split("\n")
    assert uid == "1000"
    status = dict(line.split(":\t") for line in lines if ":" in line)
    assert {status["CapPrm"], status["CapEff"], status["CapAmb"]} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert int(lines[-2]) <= 4  # the first process, the shell, ls and grep


def test_nothing_of_the_host_is_shown(witness: Witness, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    report = witness.run(
        f"cat {secret} /root/.bashrc /etc/shadow; ls /home /root {Path(__file__).parent}", make=False
    )
    assert "x" not in report.stdout.split()
    assert report.stdout.split() == ["/home:", "me", "user", "/root:"]


def test_the_network_of_the_host_cannot_be_reached(witness: Witness) -> None:
    reached = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(3)

        def wait() -> None:
            try:
                server.accept()[0].close()
                reached.set()
            except TimeoutError:
                return

        thread = threading.Thread(target=wait)
        thread.start()
        port = server.getsockname()[1]
        report = witness.run(f"exec 3<>/dev/tcp/127.0.0.1/{port}", timeout=3)
        thread.join()
    assert not reached.is_set()
    assert report.exit_code != 0
    assert {"kind": "connect", "address": f"tcp:127.0.0.1:{port}"} in report.net


def test_descriptors_of_the_witness_are_closed(witness: Witness) -> None:
    assert witness.run("ls /proc/self/fd").stdout.split() == ["0", "1", "2", "3"]


def test_a_session_leaves_nothing(tmp_path: Path) -> None:
    """No process, no mount, no folder, no group stays when a session has ended, also after a wild command."""
    from tools.witness.client import UnavailableError

    try:
        with Witness(timeout=2) as own:
            own.run("sleep 100 & setsid sleep 100 & :(){ :|:& };:")
            base = own._base
    except UnavailableError as reason:
        pytest.skip(f"no sandbox: {reason}")
    assert not Path(base).exists()
    assert base not in Path("/proc/self/mountinfo").read_text()
    name = os.path.basename(base)
    assert not list(Path("/sys/fs/cgroup").glob(f"*/{name}")) + list(Path("/sys/fs/cgroup").glob(name))
    for status in Path("/proc").glob("[0-9]*/environ"):
        try:
            assert base.encode() not in status.read_bytes()
        except OSError:
            continue


@pytest.mark.skipif(os.getuid() != 0, reason="only root becomes somebody else for a session")
def test_the_kernel_never_sees_uid_0(witness: Witness) -> None:
    pid = witness._process.pid
    uids = Path(f"/proc/{pid}/status").read_text().split("Uid:")[1].split()[:4]
    assert uids == [str(SANDBOX_UID)] * 4


def test_the_machine_that_cannot_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    from tools.witness import client, kernel

    monkeypatch.setattr(kernel, "reason_unavailable", lambda: "there is no sandbox here")
    with pytest.raises(client.UnavailableError, match="there is no sandbox here"):
        Witness()


def test_the_command_line_skips_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tools.witness import kernel
    from tools.witness.__main__ import CANNOT, main

    monkeypatch.setattr(kernel, "reason_unavailable", lambda: "there is no sandbox here")
    assert main(["try", "ls"]) == CANNOT
    assert "skipped: there is no sandbox here" in capsys.readouterr().err
    assert main(["try", "ls", "--json"]) == CANNOT
    assert '"skipped"' in capsys.readouterr().out
