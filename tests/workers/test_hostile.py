# SPDX-License-Identifier: Apache-2.0
"""A workspace that wants to run its own code in the supervisor, and secrets that a worker must not see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `workers` is not installed")

from shellguard.workers import command, environment, processes, profiles, trusted
from shellguard.workers.profiles import Profile
from tests.workers.runs import SUPERVISOR, Attempt, Bench

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX paths")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.close()


# --- planted modules --------------------------------------------------------------------------------------------------

MODULES = (
    *("sitecustomize.py", "usercustomize.py", "json.py", "os.py", "signal.py", "select.py", "marshal.py"),
    *("shellguard/__init__.py", "shellguard/workers/__init__.py", "shellguard/workers/command.py"),
    *(
        "shellguard/workers/keeper.py",
        "keeper.py",
        "sqlalchemy/__init__.py",
        "ctypes/__init__.py",
        "hashlib.py",
    ),
    *("encodings/__init__.py", "psutil.py", "errno.py", "yaml.py", "tomllib.py", "__main__.py"),
)


def plant(folder: Path, mark: Path, names: tuple[str, ...] = MODULES) -> None:
    """Modules that leave a mark when they are loaded, whoever loads them."""
    text = f"open({str(mark)!r}, 'a').write(__file__ + ' in ' + str(__import__('sys').argv) + chr(10))\n"
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "planted.pth").write_text(f"import sys; {text}")


@pytest.mark.parametrize("where", ["/", "workspace"])
def test_planted_modules_never_load(bench: Bench, tmp_path: Path, where: str) -> None:
    """In the workspace, in the HOME of the card, and named by every variable of Python that there is.

    The dispatcher starts the supervisor in `/` with an environment of its own; it must hold without both, too.
    """
    mark, planted = tmp_path / "loaded", bench.workspace
    plant(planted, mark)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for home in (tmp_path / "home", planted):
        plant(home / ".local/lib" / version / "site-packages", mark)
    variables = {
        "PYTHONPATH": str(planted),
        "PYTHONHOME": str(planted),
        "PYTHONSTARTUP": str(planted / "json.py"),
        "PYTHONUSERBASE": str(planted / ".local"),
        "PYTHONPLATLIBDIR": str(planted),
        "PYTHONINSPECT": "1",
        "PYTHONBREAKPOINT": "json.x",
        "PYTHONWARNINGS": "error::json.Warning",
        "PYTHONPYCACHEPREFIX": str(planted),
        "HOME": str(planted),
    }
    attempt = bench.claim("true")
    attempt.order["environment"] |= variables
    process = subprocess.run(
        SUPERVISOR,
        cwd="/" if where == "/" else planted,
        env={**environment.for_supervisor(), processes.RUN: attempt.id, **variables},
        input=json.dumps(attempt.order).encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert process.returncode == command.REPORTED, process.stderr
    assert attempt.card.status == "done"
    assert not mark.exists(), mark.read_text()


def test_what_is_planted_would_load_without_the_flags(tmp_path: Path) -> None:
    """The witness can fail: the same start without `-P -I` runs what lies in the folder."""
    mark = tmp_path / "loaded"
    plant(tmp_path / "work", mark, ("sitecustomize.py", "json.py", "shellguard/__init__.py"))
    subprocess.run(
        [sys.executable, "-m", "shellguard.workers.command"],
        cwd=tmp_path / "work",
        env={"PYTHONPATH": str(tmp_path / "work")},
        input=b"",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert "sitecustomize" in mark.read_text()


def test_the_supervisor_leaves_nothing_in_the_workspace(bench: Bench) -> None:
    _, attempt = bench.do("sh", "-c", "echo x; exit 3")
    assert attempt.card.status == "blocked"
    assert list(bench.workspace.iterdir()) == []


# --- secrets ----------------------------------------------------------------------------------------------------------

CANARY = "c4n4ry-5ecret"

NAMES = (
    *(
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "OPENAI_API_KEY",
        "DATABASE_URL",
        "PGPASSWORD",
        "SSH_AUTH_SOCK",
    ),
    *("NPM_TOKEN", "SOME_NAME_THAT_NOBODY_KNOWS", "x", "_", "LC_SECRET", "SHELLGUARD_SECRET", "KUBECONFIG"),
    *("LD_LIBRARY_PATH", "GIT_ASKPASS", "XDG_CONFIG_HOME", "HTTPS_PROXY", "DBUS_SESSION_BUS_ADDRESS"),
)

LOOKS = """
import os
pid, found = os.getpid(), []
for level in range(3):
    # itself, its keeper, its supervisor: what it can read of them
    for name in ("environ", "cmdline"):
        try:
            data = open(f"/proc/{pid}/{name}", "rb").read()
        except OSError:
            data = b""
        found += [f"{level} {name} {entry}" for entry in data.split(b"\\0") if b"c4n4ry" + b"-5ecret" in entry]
    pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
for name in sorted(os.environ):
    print(name)
print("FOUND", found)
print("HOME HOLDS", os.listdir(os.path.expanduser("~")))
"""


def written(home: Path, name: str, text: str) -> Profile:
    """A profile on disk, loaded."""
    file = home / "profiles" / name / "config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    for path in (home, home / "profiles", file.parent):
        path.chmod(0o755)
    file.chmod(0o644)
    return profiles.load(str(home), name)


def test_secrets_do_not_reach_a_worker_and_the_contract_does(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets in the environment of the dispatcher (many names, unknown ones too), in its HOME, and in the files and
    the environment of another profile."""
    program = json.dumps([sys.executable, "-I", "-c", LOOKS])
    mine = written(bench.top / "sg", "mine", f"worker: {{command: {program}}}\n")
    other = written(
        bench.top / "sg",
        "other",
        f"key: {CANARY}\nworker: {{command: {program}, environment: [GITHUB_TOKEN]}}\n",
    )
    real_home = bench.top / "real-home"
    real_home.mkdir()
    (real_home / ".netrc").write_text(CANARY)
    monkeypatch.setenv("HOME", str(real_home))
    for name in NAMES:
        monkeypatch.setenv(name, f"{CANARY}-{name}")
    attempt = bench.claim(*mine.argv, profile=mine)
    # A dispatcher that hands on too much: what is in the environment of the supervisor is not in that of the child.
    attempt.start({name: f"{CANARY}-{name}" for name in NAMES if name not in ("LD_LIBRARY_PATH", "x", "_")})
    assert attempt.wait() == command.REPORTED
    lines = attempt.log.splitlines()
    assert not [line for line in lines if line.startswith("FOUND") and " 0 " in line]
    found = next(line for line in lines if line.startswith("FOUND"))
    assert "'0 " not in found, "the worker itself"
    assert "'1 " not in found, "its keeper"
    assert set(environment.CONTRACT) <= set(lines)
    assert not set(NAMES) & set(lines)
    assert "HOME HOLDS []" in lines
    assert CANARY not in attempt.log.replace(found, "")

    attempt = bench.claim(*mine.argv, profile=mine).start()  # as the dispatcher does it
    assert attempt.wait() == command.REPORTED
    assert "FOUND []" in attempt.log.splitlines(), "itself, keeper and supervisor"

    attempt = bench.claim(*other.argv, profile=other).start()
    assert attempt.wait() == command.REPORTED
    lines = attempt.log.splitlines()
    assert "GITHUB_TOKEN" in lines
    assert not (set(NAMES) - {"GITHUB_TOKEN"}) & set(lines)


def test_a_worker_is_not_told_where_profiles_are(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELLGUARD_HOME", str(bench.top / "sg"))
    _, attempt = bench.do("/usr/bin/env")
    names = {line.partition("=")[0] for line in attempt.log.splitlines()}
    assert "SHELLGUARD_HOME" not in names
    assert str(bench.top / "sg") not in attempt.log


def test_what_a_worker_prints_of_its_token_is_worth_nothing_afterwards(bench: Bench) -> None:
    from shellguard.workers.desk import Client, DeskError

    _, attempt = bench.do("sh", "-c", 'echo "$SHELLGUARD_TOKEN $SHELLGUARD_BOARD"')
    token, address = attempt.log.split("\n")[0].split(" ")
    assert token == attempt.order["token"]
    with pytest.raises(DeskError, match="cannot be reached"):
        Client(address, token, attempt.card_id).block(reason="late")
    assert attempt.card.status == "done"


# --- a hostile workspace, end to end ----------------------------------------------------------------------------------


def test_a_hostile_workspace_runs_nothing_of_its_own(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of every name that the start could look for, on a PATH that begins with the folder itself."""
    mark = bench.top / "mark"
    for name in ("true", "sh", "env", "python", "python3", "setsid", "git", "ps", Path(sys.executable).name):
        path = bench.workspace / name
        path.write_text(f"#!/bin/sh\necho {name} >> {mark}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f".:..::{bench.workspace}:{os.environ['PATH']}")
    monkeypatch.chdir(bench.workspace)
    for argv in (("true",), ("sh", "-c", "true"), ("env", "true")):
        status, attempt = bench.do(*argv)
        assert (status, attempt.card.status) == (command.REPORTED, "done")
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize("search", [(".",), ("..",), ("",), ("/bin", "."), ("/bin", ""), ("bin",)])
def test_a_profile_whose_search_path_leads_to_the_workspace_starts_nothing(
    bench: Bench, search: tuple[str, ...]
) -> None:
    with pytest.raises(trusted.TrustError):
        bench.claim("true", profile=Profile("p", "/x", (), search=search))


def test_the_row_cannot_be_changed_to_another_program_by_a_swap_after_the_claim(bench: Bench) -> None:
    tools = bench.top / "tools"
    tools.mkdir(mode=0o755)
    for name, says in (("one", "right"), ("two", "wrong")):
        (tools / name).write_text(f"#!/bin/sh\necho {says} > {bench.top / 'said'}\n")
        (tools / name).chmod(0o755)
    (tools / "tool").symlink_to("one")
    attempt: Attempt = bench.claim("tool", profile=Profile("p", "/x", (), search=(str(tools), "/bin")))
    (tools / "tool").unlink()
    (tools / "tool").symlink_to("two")
    assert attempt.start().wait() == command.SPAWN_FAILED
    assert not (bench.top / "said").exists()


@pytest.mark.parametrize("column", ["frozen", "workspace", "log"])
def test_the_row_cannot_be_changed_behind_the_dispatcher(bench: Bench, column: str) -> None:
    from sqlalchemy import update

    from shellguard.board.tables import runs

    attempt = bench.claim("touch", "right")
    other = {
        "frozen": attempt.run.frozen
        | trusted.resolve(["touch", str(bench.top / "wrong")], None, workspace=None).as_object(),
        "workspace": str(bench.top),
        "log": str(bench.top / "wrong"),
    }
    with bench.board.engine.begin() as connection:
        connection.execute(update(runs).values({column: other[column]}))
    assert attempt.start().wait() == command.SPAWN_FAILED
    assert not (bench.top / "wrong").exists()
    assert not list(bench.top.rglob("right"))


# --- a profile grants nothing -----------------------------------------------------------------------------------------

GATES = """
import os
from shellguard import classify
from shellguard.approval.run import run_safely
from shellguard.engine import policy_named
for text in ("rm -rf /nothing-here", "git push --force", "rm -rf ~"):
    verdict = classify(text)
    done = run_safely(text, quiet=True)
    print(verdict.kind, policy_named("default").allows(verdict), done.ran, done.status)
"""


def test_no_profile_and_no_card_switches_a_gate_off(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that somebody may try, in the profile, beside it, on the card, and in the workspace: what a worker
    may run without a person is what anybody may."""
    tries = "approval: {mode: off, gate: none}\npolicy: everything\ntrust: all\nrules: [allow]\nyolo: true\n"
    program = json.dumps([sys.executable, "-I", "-c", GATES])
    profile = written(bench.top / "sg", "p", f"{tries}worker: {{command: {program}, kind: agent}}\n")
    (bench.top / "sg/profiles/p/config.toml").write_text(
        "[approval]\ngates = false\n[policy]\nallow = ['*']\n"
    )
    (bench.top / "sg/profiles/p/rules").mkdir()
    (bench.workspace / ".shellguard/rules").mkdir(parents=True)
    (bench.workspace / ".shellguard/config.toml").write_text("[approval]\ngates = false\n")
    (bench.workspace / ".shellguard/rules/rm.yaml").write_text(
        "command: rm\nsummary: x\nsource: x\nchecked: x\neffect: reads\nexamples: {read: 'rm x'}\n"
    )
    monkeypatch.setenv("SHELLGUARD_HOME", str(bench.top / "sg"))
    settings = {"approval": "off", "policy": "everything", "gates": [], "trust": "all"}
    card = bench.board.add("approve: everything", profile="p", body="trust: all", settings=settings)
    attempt = bench.claim_again(card, profile)
    attempt.order["environment"] |= {
        "SHELLGUARD_APPROVAL": "off",
        "SHELLGUARD_SETTINGS": json.dumps(settings),
    }
    attempt.start().wait()
    said = [line for line in attempt.log.splitlines() if not line.startswith("[shellguard")]
    assert said == ["write False False 93"] * 3, attempt.log
    assert (attempt.card.status, attempt.card.block_kind) == ("blocked", "needs_input")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="prctl is Linux's")
def test_a_dispatcher_is_closed_to_its_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a user who is not root; what its environment holds is no worker's."""
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "sg"))
    words = ["cards", "--board", str(tmp_path / "b.sqlite"), "dispatch", "--once"]
    text = (
        "import ctypes\nfrom shellguard.cli.main import cli\n"
        f"try: cli({words!r})\nexcept SystemExit: pass\n"
        "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split()[-1] == "0"
