# SPDX-License-Identifier: Apache-2.0
"""Trees of fifty processes that do not want to end, and every way in which their run can: none of them is left.

Windows and cgroups are simulated where this machine has none.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `workers` is not installed")

from shellguard.workers import cgroup, command, keeper, processes, windows
from shellguard.workers.tree import Stop, Worker
from tests.workers.grove import EACH
from tests.workers.runs import Attempt, Bench, alive, pids_in, until

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the trees are those of Linux; the rest is simulated"
)

GROVE = Path(__file__).with_name("grove.py")
FIFTY = 5 * EACH


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.close()
    for pid in pids_in(tmp_path / "grown") if (tmp_path / "grown").exists() else []:
        if alive(pid):  # of a test that failed
            os.kill(pid, signal.SIGKILL)


class Grown:
    """A run whose fifty processes are all there."""

    def __init__(self, bench: Bench, after: str, **order: Any) -> None:
        self.folder = bench.top / "grown"
        self.folder.mkdir()
        self.attempt: Attempt = bench.claim(
            sys.executable, "-I", str(GROVE), str(self.folder), after, **order
        ).start()
        if after == "stay":
            until(lambda: "grown" in self.attempt.log)
            self.names = {processes.identity(pid) for pid in pids_in(self.folder)}
            assert len(self.names) == FIFTY
            assert None not in self.names

    def left(self) -> list[int]:
        """Those that are there still, seen twice, so that one which is just going does not count."""
        return [pid for pid in pids_in(self.folder) if alive(pid)]

    def gone(self) -> bool:
        """Whether all are, now or soon: a keeper whose supervisor was killed needs a moment."""
        until(lambda: not self.left())
        return len(pids_in(self.folder)) == FIFTY


def test_none_is_left_after_a_timeout(bench: Bench) -> None:
    """As the dispatcher does it: SIGTERM to the supervisor, five seconds, and the supervisor has to be gone by then."""
    grown = Grown(bench, "stay", grace=4.0)
    began = time.monotonic()
    grown.attempt.send(signal.SIGTERM)
    assert grown.attempt.wait() == command.TORN_DOWN
    assert time.monotonic() - began >= 4.0, "they ignore it: the grace was given"
    assert grown.left() == []
    assert grown.gone()
    assert grown.attempt.card.status == "running"


def test_none_is_left_when_the_supervisor_is_killed_after_the_grace(bench: Bench) -> None:
    grown = Grown(bench, "stay", grace=4.0)
    grown.attempt.send(signal.SIGTERM)
    time.sleep(0.5)
    grown.attempt.send(signal.SIGKILL)
    assert grown.attempt.wait() == -signal.SIGKILL
    assert grown.gone()


def test_none_is_left_when_the_supervisor_is_killed_at_once(bench: Bench) -> None:
    grown = Grown(bench, "stay")
    grown.attempt.send(signal.SIGKILL)
    assert grown.attempt.wait() == -signal.SIGKILL
    assert grown.gone()
    run = grown.attempt.run
    until(lambda: not processes.is_running(run.keeper))
    assert (grown.attempt.card.status, run.ended_at) == ("running", None)


def test_none_is_left_when_the_command_ends_and_that_is_before_the_report(bench: Bench) -> None:
    grown = Grown(bench, "end")
    until(lambda: grown.attempt.card.status == "done")
    assert grown.left() == []
    assert grown.attempt.wait() == command.REPORTED
    assert grown.gone()


def test_none_is_left_when_the_keeper_is_killed(bench: Bench) -> None:
    grown = Grown(bench, "stay")
    keeper_pid = grown.attempt.run.keeper_pid
    assert keeper_pid is not None
    os.kill(keeper_pid, signal.SIGKILL)
    assert grown.attempt.wait() == command.LOST
    assert grown.left() == []
    assert grown.gone()


def test_when_both_are_killed_at_once_the_dispatcher_finds_what_kept_its_environment(bench: Bench) -> None:
    """The command itself dies with the keeper. Without a cgroup nothing tells whose a process is that threw away both
    session and environment: this is said in docs/workers.md, and such a process is what the test ends itself."""
    grown = Grown(bench, "stay")
    run = grown.attempt.run
    assert run.keeper_pid is not None
    assert grown.attempt.process is not None
    for pid in (run.keeper_pid, grown.attempt.process.pid):
        os.kill(pid, signal.SIGSTOP)  # so that neither can do anything between the two signals
    for pid in (run.keeper_pid, grown.attempt.process.pid):
        os.kill(pid, signal.SIGKILL)
    grown.attempt.wait()
    until(lambda: not processes.is_running(run.child))
    assert processes.sweep(run.id, 30.0)
    left = grown.left()
    try:
        for pid in left:
            assert Path(f"/proc/{pid}/environ").read_bytes().count(b"SHELLGUARD") == 0
        assert len(left) <= EACH - 1
    finally:
        for pid in left:
            os.kill(pid, signal.SIGKILL)


def test_what_stops_itself_hears_the_signal(bench: Bench) -> None:
    """SIGTERM reaches what left the group, and wakes what is stopped, so that it can end by itself."""
    text = (
        "import os, signal, time\n"
        "def heard(*_):\n    os.write(1, b'heard ')\n    os._exit(0)\n"
        "signal.signal(signal.SIGTERM, heard)\n"
        "for _ in range(2):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid(); os.write(1, b'up ')\n"
        "        os.kill(os.getpid(), signal.SIGSTOP)\n"
        "        time.sleep(1000)\n"
        "time.sleep(1000)\n"
    )
    attempt = bench.claim(*bench.python(text), grace=4.0).start()
    until(lambda: attempt.log.count("up") == 2)
    time.sleep(0.2)
    attempt.send()
    assert attempt.wait() == command.TORN_DOWN
    assert attempt.log.count("heard") == 3


def test_a_process_that_hops_is_caught(bench: Bench) -> None:
    """It is another process every moment, each in a session of its own and the child of nobody. It ends by itself."""
    text = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork(): print('up', flush=True); time.sleep(1000)\n"
        "for hop in range(2000):\n"
        "    time.sleep(0.005)\n"
        "    if os.fork(): os._exit(0)\n"
        "    os.setsid()\n"
    )
    attempt = bench.claim(*bench.python(text), grace=0.2).start()
    until(lambda: "up" in attempt.log)
    time.sleep(0.2)
    attempt.send()
    assert attempt.wait() == command.TORN_DOWN
    assert attempt.left() == []


@pytest.mark.parametrize("alone", ["", "os.setsid()"])
def test_a_process_that_hops_without_a_pause_is_gone_before_the_report(bench: Bench, alone: str) -> None:
    """What is found has ended by then, and only its child is left: nothing is gone before nobody is listed any more."""
    hop = f"while time.time() < {time.time() + 40}:\n    if os.fork(): os._exit(0)\n    {alone}\n"
    text = f"import os, subprocess, sys, time\nhop = 'import os, time; os.setsid()\\n' + {hop!r}\n"
    text += "subprocess.Popen([sys.executable, '-I', '-S', '-c', hop], env={})\ntime.sleep(0.5)"
    status, attempt = bench.do(*bench.python(text))
    assert (status, attempt.run.exit_code) == (command.REPORTED, 0)
    hopping = [each for each in os.listdir("/proc") if each.isdigit() and _words(each)[-1:] == [hop.encode()]]
    assert hopping == []


def _words(pid: str) -> list[bytes]:
    """The command line of a process, without what comes before the text of a hopper; nothing when it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"os.setsid()\n", 1)
    except OSError:
        return []


def test_a_process_that_cannot_be_ended_is_named_and_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of another user, say: the report is not held up for ever."""
    monkeypatch.setattr(keeper, "STUCK_SECONDS", 0.2)
    monkeypatch.setattr("shellguard.workers.keeper.os.kill", lambda pid, number: None)
    child = subprocess.Popen(["sleep", "100"])
    monkeypatch.setattr(keeper, "below", lambda top, leader: [child.pid])
    assert keeper.end_orphans(None) == [child.pid]
    monkeypatch.undo()
    child.kill()
    child.wait()


def test_orphans_that_end_are_waited_for_while_the_worker_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = "for i in 1 2 3 4 5; do (sleep 0.05 &) ; done; sleep 2; ls -d /proc/[0-9]*"
    text = Path(keeper.__file__).read_text().replace("REAP_SECONDS = 5.0", "REAP_SECONDS = 0.2")
    (tmp_path / "keeper.py").write_text(text)
    monkeypatch.setattr("shellguard.workers.tree._keeper", lambda: str(tmp_path / "keeper.py"))
    worker = Worker(("sh", "-c", program), "/", {"PATH": os.environ["PATH"]}, output=2)
    time.sleep(1)
    dead = [pid for pid in keeper.below(worker.keeper, worker.pid) if not alive(pid)]
    worker.end()
    assert dead == []


# --- looking into one another -----------------------------------------------------------------------------------------

LOOKS = """
import ctypes, os, subprocess, sys
sys.path.insert(0, {root!r})
from shellguard.workers import keeper
os.setgroups([]); os.setgid(65534); os.setuid(65534)
keeper._prctl()(4, 1, 0, 0, 0)  # the system closes a process that has changed its user; here only the keeper may
keeper.become_reaper(hidden={hidden})
sys.stdout.write(subprocess.run(['/bin/sh', '-c', {program!r}], capture_output=True, text=True, env={{}}).stdout)
"""

PROGRAM = """
for name in environ maps auxv; do head -c1 /proc/$PPID/$name >/dev/null 2>&1 && echo $name; done
ls /proc/$PPID/fd >/dev/null 2>&1 && echo fd
readlink /proc/$PPID/cwd >/dev/null 2>&1 && echo cwd
echo over
"""


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root may become another user")
def test_another_process_of_the_user_cannot_look_into_a_supervisor() -> None:
    """Root can look everywhere; who is not root can read neither environment nor open files of the supervisor."""
    root = str(Path(__file__).resolve().parents[2])
    said = {}
    for hidden in (True, False):
        text = LOOKS.format(root=root, hidden=hidden, program=f"PATH=/usr/bin:/bin;{PROGRAM}")
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True
        )
        said[hidden] = done.stdout.split()
    assert said == {True: ["over"], False: ["environ", "maps", "auxv", "fd", "cwd", "over"]}


# --- cgroups ----------------------------------------------------------------------------------------------------------


def simulated(top: Path) -> Path:
    """A folder that looks like a delegated cgroup: what is made in it has the files that the kernel would make."""
    (top / "cgroup.procs").write_text("")
    return top


def test_a_cgroup_that_cannot_end_what_is_in_it_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup, "_is_delegated", lambda path: True)
    assert cgroup.make("r1", str(simulated(tmp_path))) is None  # no cgroup.kill appeared: an older Linux
    assert not (tmp_path / "shellguard-r1").exists()
    assert cgroup.make("../x", str(tmp_path)) is None
    assert cgroup.make("r1", str(tmp_path / "nothing")) is None


def test_the_cgroup_of_a_run_is_made_joined_and_ended_in_simulation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup, "_is_delegated", lambda path: True)
    real = os.mkdir

    def mkdir(path: str, mode: int) -> None:
        real(path, mode)
        for name in ("cgroup.kill", "cgroup.procs"):
            Path(path, name).write_text("")

    monkeypatch.setattr("shellguard.workers.cgroup.os.mkdir", mkdir)
    path = cgroup.make("r1", str(simulated(tmp_path)))
    monkeypatch.undo()
    assert path == str(tmp_path / "shellguard-r1")
    keeper.join_group(path)
    assert Path(path, "cgroup.procs").read_text() == str(os.getpid())
    keeper.kill_group(path)
    assert Path(path, "cgroup.kill").read_text() == "1"
    real_rmdir = os.rmdir

    def rmdir(path: str) -> None:  # the kernel takes the files with it
        for name in os.listdir(path):
            os.unlink(os.path.join(path, name))
        real_rmdir(path)

    monkeypatch.setattr("shellguard.workers.keeper.os.rmdir", rmdir)
    assert cgroup.end("r1", str(tmp_path))
    assert not Path(path).exists()
    assert not cgroup.end("r1", str(tmp_path))


@pytest.mark.parametrize(
    "own, mounts, found",
    [
        ("0::/user.slice/x\n", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "/sys/fs/cgroup/user.slice/x"),
        ("1:cpu:/a\n0::/\n", "c /sys/fs/cgroup/unified cgroup2 rw 0 0\n", "/sys/fs/cgroup/unified"),
        ("0::/a\n", "c /with\\040blank cgroup2 rw 0 0\n", "/with blank/a"),
        ("1:cpu:/a\n", "c /sys/fs/cgroup/cpu cgroup rw 0 0\n", None),
        ("0::/a\n", "c /sys/fs/cgroup/cpu cgroup rw 0 0\n", None),
        ("0::/../../outside\n", "c /sys/fs/cgroup cgroup2 rw 0 0\n", None),
        ("", "", None),
    ],
)
def test_the_cgroup_of_a_process(tmp_path: Path, own: str, mounts: str, found: str | None) -> None:
    (tmp_path / "cgroup").write_text(own)
    (tmp_path / "mounts").write_text(mounts)
    assert cgroup.of_process(str(tmp_path)) == found
    assert cgroup.of_process(str(tmp_path / "nothing")) is None


@pytest.fixture
def delegated() -> Iterator[str]:
    """A real cgroup that is ours to divide, where this machine lets us make one."""
    above = cgroup.of_process()
    if above is None:
        pytest.skip("no cgroup v2 here")
    path = os.path.join(above, f"shellguard-test-{os.getpid()}")
    try:
        os.mkdir(path)
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error.strerror}")
    try:
        if not os.path.exists(os.path.join(path, "cgroup.kill")):
            pytest.skip("this Linux has no cgroup.kill")
        yield path
    finally:
        keeper.forget_group(path)


def test_a_real_cgroup_ends_what_has_left_everything_else(
    delegated: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cgroup, "_is_delegated", lambda path: True)
    path = cgroup.make("run1", delegated)
    assert path is not None
    argv = (sys.executable, "-I", str(GROVE), str(tmp_path), "stay")
    worker = Worker(argv, "/", {"PATH": os.environ["PATH"]}, cgroup=path, grace=0.2)
    until(lambda: len(pids_in(tmp_path)) == FIFTY)
    with open(f"{path}/cgroup.procs") as file:
        assert len(file.read().split()) >= FIFTY
    os.kill(worker.keeper, signal.SIGSTOP)
    os.kill(worker.keeper, signal.SIGKILL)  # nobody is a reaper now: they are the children of init
    assert [pid for pid in pids_in(tmp_path) if alive(pid)]
    assert cgroup.end("run1", delegated)
    until(lambda: not [pid for pid in pids_in(tmp_path) if alive(pid)])
    assert not os.path.exists(path)
    worker.end()


def test_a_keeper_removes_its_cgroup(delegated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "_is_delegated", lambda path: True)
    for argv, works in ((("sh", "-c", "setsid sleep 100 & exit 3"), True), (("/nothing",), False)):
        path = cgroup.make("run2", delegated)
        assert path is not None
        try:
            worker = Worker(argv, "/", {"PATH": os.environ["PATH"]}, cgroup=path)
            with Stop() as stop:
                assert worker.wait(stop, 30) == "ended"
            worker.end()
            assert (worker.status, works) == (3, True)
        except FileNotFoundError:
            assert not works
        assert not os.path.exists(path)


# --- where there is no /proc (macOS) ----------------------------------------------------------------------------------


def test_a_tree_is_read_from_ps_where_there_is_no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """What macOS has: the processes and their parents. An orphan of a worker is seen only while its parents live."""
    listed = b"    1     0\n  10     1\n  11    10\n  12    11\n  20     1\n bad line\n"

    def run(argv: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        assert argv[0] == "/bin/ps"
        return subprocess.CompletedProcess(argv, 0, listed)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr("shellguard.workers.keeper.os.path.isdir", lambda path: False)
    assert sorted(keeper.below(10, None)) == [11, 12]
    assert keeper.below(10, 11) == [12]
    assert keeper.below(99, None) == []


# --- Windows, simulated -----------------------------------------------------------------------------------------------


class Process:
    """What `Popen` gives back."""

    def __init__(self, calls: list[str]) -> None:
        self.pid, self._handle, self.calls = 4711, 99, calls

    def kill(self) -> None:
        self.calls.append("kill")

    def wait(self) -> int:
        self.calls.append("wait")
        return 1


class SimulatedApi:
    """Windows as far as a job needs it: what is called, in order, and what is still open."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[str] = []
        self.fails, self.open, self.flags = fails, set[int](), 0
        self.settings: dict[str, Any] = {}

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name == self.fails:
            raise OSError(5, "no")

    def create_job(self) -> int:
        self._call("create_job")
        self.open.add(7)
        return 7

    def limit_job(self, job: int, flags: int) -> None:
        self.flags = flags
        self._call("limit_job")

    def spawn(self, argv: tuple[str, ...], **settings: Any) -> Process:
        self.settings = settings
        self._call("spawn")
        return Process(self.calls)

    def assign(self, job: int, process: int) -> None:
        assert (job, process) == (7, 99)
        self._call("assign")

    def resume(self, process: int) -> None:
        self._call("resume")

    def terminate(self, job: int) -> None:
        self._call("terminate")

    def close(self, handle: int) -> None:
        self.calls.append("close")
        self.open.remove(handle)


def test_windows_puts_the_child_into_the_job_before_it_runs() -> None:
    api = SimulatedApi()
    job = windows.Job(api)
    job.start(("/tools/make.exe", "all"), "/work", {"A": "b"}, 1)
    assert api.calls == ["create_job", "limit_job", "spawn", "assign", "resume"]
    assert api.flags == 0x2000
    flags = api.settings["creationflags"]
    assert flags & 0x4
    assert flags & 0x200
    assert api.settings["executable"] == "/tools/make.exe"
    assert (api.settings["env"], api.settings["stdin"]) == ({"A": "b"}, subprocess.DEVNULL)
    job.end()
    job.end()
    assert api.calls[-2:] == ["terminate", "close"]
    assert not api.open


@pytest.mark.parametrize(
    "fails, calls",
    [
        ("limit_job", ["create_job", "limit_job", "close"]),
        ("spawn", ["create_job", "limit_job", "spawn", "close"]),
        ("assign", ["create_job", "limit_job", "spawn", "assign", "kill", "wait", "terminate", "close"]),
        (
            "resume",
            ["create_job", "limit_job", "spawn", "assign", "resume", "kill", "wait", "terminate", "close"],
        ),
    ],
)
def test_windows_leaves_nothing_when_a_step_fails(fails: str, calls: list[str]) -> None:
    api = SimulatedApi(fails)
    with pytest.raises(OSError, match="no"):
        windows.Job(api).start(("make",), "/", {}, None)
    assert api.calls == calls
    assert not api.open
    assert api.settings.get("executable") is None


def test_windows_structures_have_the_size_that_is_documented() -> None:
    """144 bytes on 64-bit Windows, of which 64 are the basic part."""
    import ctypes

    assert (ctypes.sizeof(windows._Basic), ctypes.sizeof(windows._Extended)) == (64, 144)


def _none_left(attempt: Attempt) -> bool:
    return not attempt.left()


@pytest.mark.slow
def test_kills_at_random_moments_leave_nothing(bench: Bench) -> None:
    """Supervisors killed (-9) from their first moment to their last: no process is left, and no card is moved but by a
    report that was made."""
    chance = random.Random(11)
    for _ in range(60):
        attempt = bench.claim("sh", "-c", "setsid sleep 1000 & setsid sleep 1000 & sleep 0.1").start()
        time.sleep(chance.uniform(0.0, 0.9))
        attempt.send(signal.SIGKILL)
        status = attempt.wait()
        until(partial(_none_left, attempt))
        ended = attempt.run.ended_at is not None
        assert ended == (attempt.card.status == "done")
        assert ended or status == -signal.SIGKILL
