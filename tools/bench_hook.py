# SPDX-License-Identifier: Apache-2.0
"""What one hook call costs: bare Python, our hook as `install` writes it, and the hooks of peers, interleaved
in one run.

    python -m tools.bench --hook [--environments DIR] [--starts N]

Each package is installed by pip into an environment of its own below DIR, as a person would; one that cannot
be is left out, and that is said. Every round starts each subject once, so what else the machine does hits all
of them; medians count.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
WANTED_CPU = 1.8
"""Of our hook, times that of bare Python."""
WANTED_WALL = 0.4
"""Of our hook, times that of the fastest peer."""
COMMAND = "git status"
BARE, OURS = "python -I -c pass", "shellguard"


@dataclass(frozen=True)
class Subject:
    """A process to start: its command line, and what it reads."""

    name: str
    argv: list[str]
    data: bytes
    environment: dict[str, str]


def payload() -> bytes:
    """What Claude Code sends before a call."""
    call = {"tool_name": "Bash", "tool_input": {"command": COMMAND}, "tool_use_id": "bench"}
    return json.dumps(
        {"hook_event_name": "PreToolUse", "session_id": "bench", "cwd": "/tmp", **call}
    ).encode()


def environment(folder: Path, package: str, python: str) -> Path | None:
    """The Python of an environment in which a package is installed; None where pip cannot do it."""
    inside = folder / "bin" / "python"
    if not inside.exists():
        made = subprocess.run([python, "-m", "venv", str(folder)], capture_output=True, check=False)
        pip = [str(inside), "-m", "pip", "install", "--quiet", "--compile", package]
        if made.returncode or subprocess.run(pip, capture_output=True, check=False).returncode:
            shutil.rmtree(folder, ignore_errors=True)
            return None
    return inside


def python_of(version: str) -> str:
    """A Python of that version where there is one, else this one."""
    for candidate in (
        shutil.which(f"python{version}"),
        *Path.home().glob(f".pyenv/versions/{version}*/bin/python"),
    ):
        if candidate is not None:
            asked = subprocess.run(
                [candidate, "-c", "import sys; print(sys.executable)"],
                capture_output=True,
                text=True,
                check=False,
            )
            if asked.returncode == 0:
                return asked.stdout.strip()
    return sys.executable


def subjects(environments: Path, home: Path) -> list[Subject]:
    """All that can be started here."""
    variables = {**os.environ, "HOME": str(home), "SHELLGUARD_HOME": str(home / "ours")}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    ours = environment(environments / "shellguard", str(ROOT), sys.executable)
    assert ours is not None, "our own package cannot be installed"
    told = subprocess.run(
        [str(ours), "-m", "shellguard", "install", "claude", "--dry-run", "--json"],
        capture_output=True,
        text=True,
        check=True,
        env=variables,
        cwd=home,  # here the checkout would be found in place of what is installed
    )
    found = [
        Subject(BARE, [str(ours), "-I", "-c", "pass"], b"", variables),
        Subject(OURS, json.loads(told.stdout)["argv"], payload(), variables),
    ]
    peers: tuple[tuple[str, str, Callable[[Path], tuple[list[str], bytes] | None]], ...] = (
        ("bash-classify", "3.12", lambda python: ([str(python.parent / "bash-classify")], COMMAND.encode())),
        ("nah", "3.11", lambda python: _nah(python, home, variables)),
    )
    for name, version, line in peers:
        python = environment(environments / name, name, python_of(version))
        started = None if python is None else line(python)
        if started is None:
            print(f"{name}: left out, pip cannot install it here, or it has no hook")
        else:
            found.append(Subject(name, *started, variables))
    return found


def _nah(python: Path, home: Path, variables: dict[str, str]) -> tuple[list[str], bytes] | None:
    """The line that its own installation writes."""
    subprocess.run(
        [str(python.parent / "nah"), "install", "claude"], capture_output=True, env=variables, check=False
    )
    for path in home.rglob("settings.json"):
        hooks = json.loads(path.read_text()).get("hooks", {}).get("PreToolUse", [])
        for entry in hooks:
            for handler in entry.get("hooks", []):
                if "nah" in json.dumps(handler):
                    return (["/bin/sh", "-c", handler["command"]], payload())
    return None


def measure(subject: Subject) -> tuple[float, float]:
    """CPU and wall milliseconds of one start."""
    with tempfile.TemporaryFile() as file:
        file.write(subject.data)
        file.seek(0)
        actions = [
            (os.POSIX_SPAWN_DUP2, file.fileno(), 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        start = time.perf_counter()
        pid = os.posix_spawn(subject.argv[0], subject.argv, subject.environment, file_actions=actions)
        _, _, usage = os.wait4(pid, 0)
        return (usage.ru_utime + usage.ru_stime) * 1000, (time.perf_counter() - start) * 1000


def report_hook(environments: str | None, starts: int) -> bool:
    """Prints the table; whether our hook costs as little as wanted."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch, "home")
        home.mkdir()
        found = subjects(Path(environments or Path(scratch, "environments")), home)
        times: dict[str, list[tuple[float, float]]] = {subject.name: [] for subject in found}
        for number in range(starts + 2):
            for subject in found:
                taken = measure(subject)
                if number >= 2:  # the first starts fill caches
                    times[subject.name].append(taken)
    cpu = {name: median(each[0] for each in taken) for name, taken in times.items()}
    wall = {name: median(each[1] for each in taken) for name, taken in times.items()}
    print(f"one hook call of `{COMMAND}`, medians of {starts} interleaved starts, ms")
    print(f"{'':20} {'CPU':>7} {'x bare':>7} {'wall':>7} {'x bare':>7}")
    for name in times:
        print(
            f"{name:20} {cpu[name]:7.1f} {cpu[name] / cpu[BARE]:7.2f} {wall[name]:7.1f} {wall[name] / wall[BARE]:7.2f}"
        )
    ratio = cpu[OURS] / cpu[BARE]
    met = ratio <= WANTED_CPU
    print(f"{'yes' if met else 'NO '}  at most {WANTED_CPU} times bare Python in CPU time: {ratio:.2f}")
    others = [wall[name] for name in times if name not in (BARE, OURS)]
    if others:
        against = wall[OURS] / min(others)
        fine = against <= WANTED_WALL
        print(
            f"{'yes' if fine else 'NO '}  at most {WANTED_WALL} times the fastest peer in wall time: {against:.2f}"
        )
        met = met and fine
    return met
