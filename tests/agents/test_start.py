# SPDX-License-Identifier: Apache-2.0
"""A hook as hosts run it: a process of its own, started as `install` writes it, from a package with compiled rules."""

from __future__ import annotations

import json
import marshal
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pytest
import yaml

from shellguard.agents import host_named
from shellguard.agents.install import installation
from shellguard.agents.model import Reply
from shellguard.guard.records import HEADER, SIZE
from shellguard.rules.cache import COMPILED_NAME, compile_rules
from shellguard.rules.shelf import Shelf
from tests.agents.hooks import decision, payload
from tests.architecture import HEAVY

ROOT = Path(__file__).resolve().parents[2]
RULES = (
    "vcs/git.yaml",
    "coreutils/ls.yaml",
    "coreutils/cat.yaml",
    "coreutils/rm.yaml",
    "coreutils/sleep.yaml",
)


class Installed:
    """A package outside of the checkout, and how its hook is run."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "home"
        shutil.copytree(
            ROOT / "shellguard", root / "shellguard", ignore=shutil.ignore_patterns("__pycache__")
        )
        rules = root / "shellguard" / "_rules"
        for name in (*RULES, "_env.yaml", "_paths.yaml", "_policies.yaml", "_gates.yaml"):
            (rules / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / "rules" / name, rules / name)
        (rules / COMPILED_NAME).write_bytes(compile_rules(Shelf(folder=str(rules))))

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-I", "-S", str(self.root / "shellguard" / "hook.py"), *arguments]

    def environment(self) -> dict[str, str]:
        return {**os.environ, "SHELLGUARD_HOME": str(self.home)}

    def run(self, data: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            self.command(*arguments),
            input=data,
            capture_output=True,
            timeout=60,
            check=False,
            env=self.environment(),
        )

    def ask(self, command: str, call: object = 0, event: str = "pre") -> str:
        done = self.run(json.dumps(payload("claude", event, command, call)).encode(), "claude")
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    def code(self) -> Path:
        """Where the code is kept: the bytecode of one module, where Python keeps that of all others."""
        return Path(cache_from_source(str(self.root / "shellguard" / "cli" / "bundle.py")))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"))


@pytest.fixture
def installed(package: Installed) -> Installed:
    shutil.rmtree(package.home, ignore_errors=True)
    package.code().unlink(missing_ok=True)
    return package


def test_the_answer_is_the_same_with_the_kept_code_and_without(installed: Installed) -> None:
    first = installed.ask("git status", 1)
    assert '"allow"' in first
    assert os.name == "nt" or installed.code().stat().st_mode & 0o777 == 0o644
    assert installed.ask("git status", 2) == first
    assert installed.ask("rm x", 3) == ""


@pytest.mark.parametrize("host", ["codex", "gemini", "cursor", "hermes", "openhands", "kiro"])
def test_a_host_that_takes_one_line_of_shell_runs_it(
    host: str, installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line is given to `sh`, with blanks in the path of the package."""
    root = tmp_path / "with a blank"
    root.symlink_to(installed.root, target_is_directory=True)
    argv = [sys.executable, "-I", "-S", str(root / "shellguard" / "hook.py"), host]
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("shellguard.agents.install.argv_for", lambda *_, **__: argv)
    written = yaml.safe_load(installation(host).after or b"")  # JSON is YAML too
    line = next(line for line in lines_in(written) if "hook.py" in line)
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        input=json.dumps(payload(host, "pre", "git status")).encode(),
        capture_output=True,
        timeout=60,
        check=True,
        env=installed.environment(),
    )
    assert done.stderr == b""
    wanted = "allow" if "pre" in host_named(host).allows_at else "silent"
    assert decision(host, "pre", Reply(done.stdout.decode())) == wanted


def lines_in(value: object) -> Iterator[str]:
    """Every command line in settings."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "command" and isinstance(item, str):
                yield item
            yield from lines_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from lines_in(item)


def test_the_kept_code_is_what_runs(installed: Installed) -> None:
    installed.ask("git status", 1)
    mark(installed.code())
    assert "THIS only reads" in installed.ask("git status", 2)


def mark(code: Path) -> None:
    """Makes it plain from an answer that this code was run."""
    data = code.read_bytes()
    assert data.count(b"this only reads") == 1
    code.write_bytes(data.replace(b"this only reads", b"THIS only reads"))


def test_code_that_was_copied_with_its_package_is_not_used(installed: Installed, tmp_path: Path) -> None:
    installed.ask("git status", 1)
    mark(installed.code())
    shutil.copytree(installed.root / "shellguard", tmp_path / "shellguard")
    copied = Installed.__new__(Installed)
    copied.root, copied.home = tmp_path, tmp_path / "home"
    for call in (2, 3):
        assert "this only reads" in copied.ask("git status", call)


def test_no_code_is_kept_where_python_shall_keep_none(installed: Installed) -> None:
    line = installed.command("claude")
    data = json.dumps(payload("claude", "pre", "git status")).encode()
    subprocess.run([line[0], "-B", *line[1:]], input=data, check=True, env=installed.environment())
    assert not installed.code().exists()


def test_no_code_lies_where_a_user_or_a_project_can_write(installed: Installed) -> None:
    """What a hook leaves behind outside of its package holds no bytecode, whatever the name."""
    for event in ("pre", "post", "failure", "permission"):
        installed.run(json.dumps(payload("claude", event, "git status", event)).encode(), "claude")
    left = [path for path in installed.home.rglob("*") if path.is_file()]
    assert left
    for path in left:
        assert path.suffix in (".json", ".jsonl", ".calls"), path
        assert b"co_" not in path.read_bytes()


@pytest.mark.parametrize("first", ["foreign", "turn", "post"])
def test_whatever_the_first_call_is_about_the_others_find_their_code(
    installed: Installed, first: str
) -> None:
    told = {**payload("claude", "pre"), "hook_event_name": "UserPromptSubmit", "prompt": "go"}
    data = told if first == "turn" else payload("claude", first)
    (installed.home / "config").mkdir(parents=True)
    (installed.home / "config" / "config.toml").write_text("# read once, with tomllib\n", "utf-8")
    installed.run(json.dumps(data).encode(), "claude")
    kept = installed.code().read_bytes()
    assert "allow" in installed.ask("git status", 1)
    assert installed.code().read_bytes() == kept
    for name in ("agents.policy", "analysis.simple", "syntax.parse", "guard.controller", "agents.audit"):
        assert b"shellguard." + name.encode() in kept
    assert b"tomllib" + os.sep.encode() not in kept  # the path of its sources


def test_without_compiled_rules_the_order_of_calls_changes_nothing(tmp_path: Path) -> None:
    """In a checkout rules are YAML, read by a package that lies where `-S` does not look."""
    checkout = Installed(tmp_path)
    rules = tmp_path / "shellguard" / "_rules"
    rules.rename(tmp_path / "rules")
    (tmp_path / "rules" / COMPILED_NAME).unlink()
    told = {**payload("claude", "pre"), "hook_event_name": "UserPromptSubmit", "prompt": "go"}
    checkout.run(json.dumps(told).encode(), "claude")
    assert [('"allow"' in checkout.ask("git status", call)) for call in range(3)] == [True] * 3


def test_kept_code_is_not_used_when_a_source_is_another(installed: Installed) -> None:
    installed.ask("git status", 1)
    policy = installed.root / "shellguard" / "agents" / "policy.py"
    before = policy.read_text("utf-8")
    policy.write_text(before.replace("this only reads", "this is only a read"), "utf-8")
    try:
        assert "this is only a read" in installed.ask("git status", 2)
        assert "this is only a read" in installed.ask("git status", 3)  # the code was kept anew
    finally:
        policy.write_text(before, "utf-8")


@pytest.mark.parametrize("damage", ["empty", "head", "half", "garbage", "another shape", "other code"])
def test_damaged_kept_code_is_made_anew(installed: Installed, damage: str) -> None:
    first = installed.ask("git status", 1)
    code = installed.code()
    good = code.read_bytes()
    other = compile("KEPT = 7" if damage == "another shape" else "1 / 0", "other", "exec")
    damaged = {"empty": b"", "head": good[:10], "half": good[:5000], "garbage": good[:16] + b"\xff" * 100}
    code.write_bytes(damaged.get(damage, good[:16] + marshal.dumps(other)))
    assert installed.ask("git status", 2) == first
    assert installed.ask("git status", 3) == first
    mark(code)
    assert "THIS" in installed.ask("git status", 4)


def test_what_is_left_out_of_kept_code_is_only_for_people() -> None:
    from shellguard.cli.start import without_lines

    source = """
def documented():
    "same"
    return "same"
def plain():
    "a docstring"
    return [each for each in ("first", "second")], (lambda: "value")()
class Class:
    "documents a class"
    word = "documents a class"
"""
    names: dict[str, Any] = {}
    exec(without_lines(compile(source, "a file", "exec")), names)
    assert names["documented"]() == "same"
    assert names["plain"]() == (["first", "second"], "value")
    assert names["plain"].__doc__ is None
    assert names["Class"].word == "documents a class"


LOADED = """
import os, sys
def stop(status):
    sys.stdout.flush()
    os.write(1, (" ".join(sorted(sys.modules)) + "\\n").encode())
    end(status)
end, os._exit = os._exit, stop
sys.argv = sys.argv[1:]
exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"), {"__name__": "__main__", "__file__": sys.argv[0]})
"""


def loaded(installed: Installed, event: str) -> set[str]:
    """The modules that a call of the hook loads."""
    command = installed.command("claude")
    done = subprocess.run(
        [*command[:3], "-c", LOADED, *command[3:]],
        input=json.dumps(payload("claude", event, "git status | cat")).encode(),
        capture_output=True,
        timeout=60,
        check=True,
        env=installed.environment(),
    )
    return set(done.stdout.decode().splitlines()[-1].split(" "))


@pytest.mark.parametrize("event", ["pre", "post", "failure", "permission", "foreign"])
def test_a_hook_loads_nothing_heavy(installed: Installed, event: str) -> None:
    modules = loaded(installed, event)
    assert "shellguard.cli.hook" in modules
    assert modules & (HEAVY | {"importlib", "warnings"}) == set()
    installed.ask("git status", 1)
    assert loaded(installed, event) & HEAVY == set()


def test_a_heavy_import_would_be_seen(installed: Installed) -> None:
    policy = installed.root / "shellguard" / "agents" / "policy.py"
    before = policy.read_text("utf-8")
    policy.write_text(
        before.replace("TYPE_CHECKING = False", "import json\n\nTYPE_CHECKING = False", 1), "utf-8"
    )
    try:
        assert {"json", "re", "enum"} <= loaded(installed, "pre")
    finally:
        policy.write_text(before, "utf-8")


def test_a_package_that_is_broken_says_one_line(installed: Installed) -> None:
    engine = installed.root / "shellguard" / "cli" / "hook.py"
    before = engine.read_text("utf-8")
    engine.write_text("import nothing_of_that_name\n", "utf-8")
    try:
        done = installed.run(b"{}", "claude")
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr == b"shellguard failed to start: ModuleNotFoundError\n"
    finally:
        engine.write_text(before, "utf-8")


def test_wrong_usage_never_has_the_status_that_blocks(installed: Installed) -> None:
    for arguments in ([], ["nobody"], ["claude", "--frob"]):
        assert installed.run(b"{}", *arguments).returncode == 1


def hammer(installed: Installed, calls: int) -> None:
    """Many calls from 8 processes at once on one session: the counts are complete, every verdict is right."""
    (installed.home / "config").mkdir(parents=True)
    (installed.home / "config" / "config.toml").write_text("[log]\nmax_bytes = 100_000_000\n", "utf-8")
    commands = [
        ("git status", True),
        ("rm x", False),
        ("cat a b", True),
        ("git push", False),
        ("ls -l", True),
    ]

    def one(number: int) -> None:
        command, allowed = commands[number % len(commands)]
        said = installed.ask(f"{command} {number}" if command != "git push" else command, number)
        assert ('"allow"' in said) == allowed, (command, said)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(calls)))
    [kept] = (installed.home / "state" / "guard").glob("*.calls")
    assert (kept.stat().st_size - len(HEADER)) == calls * SIZE
    lines = (installed.home / "state" / "log" / "decisions.jsonl").read_text("ascii").splitlines()
    assert len(lines) == calls
    assert all(json.loads(line)["host"] == "claude" for line in lines)
    leftover = [path.name for path in installed.home.rglob("*") if path.name.endswith((".part", ".lock"))]
    assert leftover == []


def test_calls_at_once_lose_nothing(installed: Installed) -> None:
    hammer(installed, 40)


@pytest.mark.slow
def test_ten_thousand_calls_at_once_lose_nothing(installed: Installed) -> None:
    hammer(installed, 10_000)


def test_a_call_that_is_killed_harms_no_later_one(installed: Installed) -> None:
    drawn = random.Random(8)
    data = json.dumps(payload("claude", "pre", "git status")).encode()
    for _ in range(25):
        process = subprocess.Popen(
            installed.command("claude"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=installed.environment(),
        )
        assert process.stdin is not None
        process.stdin.write(data)
        process.stdin.close()
        time.sleep(drawn.uniform(0, 0.12))
        process.kill()
        process.wait()
    started = time.monotonic()
    assert '"allow"' in installed.ask("git status --short", "after")
    assert time.monotonic() - started < 30


def test_an_upgrade_and_a_downgrade_keep_the_line_and_the_counts(installed: Installed) -> None:
    """Another release at the same place: the same line, with the cache and the counts that the other one left."""
    line = installed.command("claude")
    assert '"allow"' in installed.ask("git status", 1)
    package = installed.root / "shellguard"
    old = {path: path.read_text("utf-8") for path in package.rglob("*.py")}
    for release in ("newer", "older"):
        for path, text in old.items():
            if release == "newer":
                text = text.replace("this only reads", "newer: it reads") + "\n# newer\n"
            path.write_text(text, "utf-8")
        wanted = "newer: it reads" if release == "newer" else "this only reads"
        assert wanted in installed.ask("git status", f"{release} 1")
        assert wanted in installed.ask("git status", f"{release} 2")
    assert installed.command("claude") == line
    [counts] = (installed.home / "state" / "guard").iterdir()
    assert counts.stat().st_size - len(HEADER) == 5 * SIZE


def test_what_another_release_has_left_is_set_aside_and_loosens_nothing(installed: Installed) -> None:
    """Its counts, its reading of the settings and its log, each in a form that this release does not know."""
    (installed.home / "config").mkdir(parents=True)
    (installed.home / "config" / "config.toml").write_text('[commands]\nask = ["git push *"]\n', "utf-8")
    line = installed.command("claude")
    assert '"ask"' in installed.ask("git push a", 1)
    [settings] = (installed.home / "cache").glob("config-*.json")
    kept = json.loads(settings.read_text("ascii"))
    kept["stamp"][-1] += 1
    kept["values"] = {"commands.allow": ["rm *"], "of.another": 1}
    settings.write_text(json.dumps(kept), "ascii")
    [counts] = (installed.home / "state" / "guard").iterdir()
    counts.write_bytes(HEADER.replace(b"form 1", b"form 9") + b"\xff" * 3 * SIZE)
    log = installed.home / "state" / "log" / "decisions.jsonl"
    log.write_text('{"form": 9, "id": 7}\n' + log.read_text("ascii"), "ascii")
    assert '"allow"' in installed.ask("git status", 2)
    assert installed.ask("rm x", 3) == ""
    assert '"ask"' in installed.ask("git push a", 4)
    assert installed.command("claude") == line
    assert sorted(path.name for path in counts.parent.iterdir()) == [counts.name, f"{counts.name}.damaged-1"]
    assert counts.stat().st_size - len(HEADER) == 3 * SIZE
    told = [sys.executable, "-m", "shellguard", "log", "--summary", "--json"]
    done = subprocess.run(
        told, capture_output=True, timeout=60, check=True, cwd=ROOT, env=installed.environment()
    )
    assert json.loads(done.stdout)["decisions"] == 5
