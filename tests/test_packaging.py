# SPDX-License-Identifier: Apache-2.0
"""What a user gets: the distributions are built, the wheel is installed far from the checkout and used there.

Building needs no network, installing asks the package index for the dependencies. Both happen once a run, in
whichever worker comes first.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from packaging.requirements import Requirement

from shellguard._version import __version__

ROOT = Path(__file__).resolve().parents[1]

NOT_SOURCE = shutil.ignore_patterns(
    *(".git", ".venv", "build", "dist", "__pycache__", "*.pyc", "*.egg-info", ".hypothesis"),
    *(".mypy_cache", ".pytest_cache", ".ruff_cache"),
)


def run(*command: object, cwd: Path, stdin: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a program away from the checkout: nothing of this process's Python settings reaches it."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "MYPY", "SHELLGUARD"))
    }
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**kept, "PYTHONUTF8": "1", **variables},
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], str]) -> tuple[Path, str]:
    """The folder that `make` filled, and what it returned. The first worker that asks makes it for all."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # each worker has a folder of its own inside the one of the run
    folder, done = base / name, base / f"{name}.done"
    with FileLock(base / f"{name}.lock"):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # left by a worker that failed half-way
            folder.mkdir()
            done.write_text(make(folder), encoding="utf-8")
    return folder, done.read_text(encoding="utf-8")


@dataclass(frozen=True)
class Build:
    """The files of one build."""

    wheel: Path
    sdist: Path

    @classmethod
    def of(cls, folder: Path) -> Build:
        [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
        return cls(wheel, sdist)

    def wheel_files(self) -> set[str]:
        with zipfile.ZipFile(self.wheel) as archive:
            return set(archive.namelist())

    def sdist_files(self) -> set[str]:
        """Below the one folder that a source archive holds."""
        with tarfile.open(self.sdist) as archive:
            return {name.partition("/")[2] for name in archive.getnames()}

    def metadata(self) -> Message:
        with zipfile.ZipFile(self.wheel) as archive:
            [name] = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            return Parser().parsestr(archive.read(name).decode())


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Build, Build, Path]:
    """Two builds of one source, made as two machines would make them; and the source."""

    def make(folder: Path) -> str:
        first, second = folder / "first", folder / "elsewhere" / "second"
        shutil.copytree(ROOT, first, ignore=NOT_SOURCE)
        shutil.copytree(first, second)
        for path in second.rglob("*"):
            if path.is_file():
                os.utime(path, (1_000_000_000, 1_000_000_000))
        for source, hash_seed, zone in ((first, "1", "UTC"), (second, "2", "Asia/Tokyo")):
            build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", f"{source}-built", source]
            differing = {"PYTHONHASHSEED": hash_seed, "TZ": zone}
            result = run(*build, cwd=folder, SOURCE_DATE_EPOCH="1700000000", **differing)
            assert result.returncode == 0, result.stdout + result.stderr
        return ""

    folder, _ = once(tmp_path_factory, "builds", make)
    return Build.of(folder / "first-built"), Build.of(folder / "elsewhere" / "second-built"), folder / "first"


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel, its dependencies, and nothing else; and a folder to stand in."""

    python: Path
    script: Path
    folder: Path


@pytest.fixture(scope="session")
def installed(builds: tuple[Build, Build, Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    wheel = builds[0].wheel

    def make(folder: Path) -> str:
        venv.create(folder / "env", with_pip=False)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            python_of(folder / "env"),
            "--disable-pip-version-check",
        ]
        # Only this first question may fail for want of a network. Whatever fails after it is our fault.
        question = run(
            *pip, "install", "--quiet", "--dry-run", "--no-deps", "--retries=1", "click", cwd=folder
        )
        if question.returncode != 0:
            return f"the package index does not answer: {question.stderr.strip().rpartition(chr(10))[2]}"
        result = run(*pip, "install", "--quiet", wheel, cwd=folder)
        assert result.returncode == 0, result.stdout + result.stderr
        return ""

    folder, reason = once(tmp_path_factory, "installed", make)
    if reason:
        pytest.skip(reason)
    python = python_of(folder / "env")
    return Installed(python, python.with_name(f"shellguard{python.suffix}"), folder)


def python_of(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


# --- the files ----------------------------------------------------------------------------------------------


def test_two_builds_are_equal_byte_for_byte(builds: tuple[Build, Build, Path]) -> None:
    first, second, _ = builds
    assert first.wheel.name == second.wheel.name
    assert first.wheel.read_bytes() == second.wheel.read_bytes()
    assert first.sdist.read_bytes() == second.sdist.read_bytes()


def files_below(root: Path, folder: str) -> set[str]:
    """Paths relative to `root`, without what editors leave behind."""
    found = {path.relative_to(root).as_posix() for path in (root / folder).rglob("*") if path.is_file()}
    return {name for name in found if not name.endswith(("~", ".swp", ".DS_Store"))}


def test_the_wheel_holds_the_package_its_rules_and_its_grammars(builds: tuple[Build, Build, Path]) -> None:
    build, _, source = builds
    rules, grammar = files_below(source, "rules"), files_below(source, "grammar")
    assert "rules/vcs/git.yaml" in rules
    assert "grammar/bash.lark" in grammar
    wanted = files_below(source, "shellguard") | {f"shellguard/_{name}" for name in rules | grammar}
    wanted.add("shellguard/_rules/compiled.rules")
    info = f"shellguard_engine-{__version__}.dist-info"
    about = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE", "licenses/NOTICE"}
    assert build.wheel_files() == wanted | {f"{info}/{name}" for name in about}
    assert "shellguard/py.typed" in wanted


def test_the_source_archive_holds_everything(builds: tuple[Build, Build, Path]) -> None:
    build, _, source = builds
    folders = ("shellguard", "rules", "grammar", "tests", "tools", "corpus", ".ci", ".github")
    wanted = {name for folder in folders for name in files_below(source, folder)}
    wanted |= {path.name for path in source.iterdir() if path.is_file()}
    assert wanted <= build.sdist_files()
    for folder in folders:
        assert any(name.startswith(f"{folder}/") for name in wanted), f"{folder} is empty"


def test_the_metadata_names_the_licence_and_what_is_needed(builds: tuple[Build, Build, Path]) -> None:
    metadata = builds[0].metadata()
    assert metadata["Name"] == "shellguard-engine"
    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert metadata["Requires-Python"] == ">=3.11"
    requirements = [Requirement(text) for text in metadata.get_all("Requires-Dist", [])]
    default = {
        need.name for need in requirements if need.marker is None or need.marker.evaluate({"extra": ""})
    }
    assert default == {"click", "jinja2", "lark", "platformdirs", "pyyaml", "rich", "rich-click"}
    with_bashlex = [need for need in requirements if need.name == "bashlex"]
    assert [str(need.marker) for need in with_bashlex] == ['extra == "oracle"']


# --- the command, where the wheel is installed --------------------------------------------------------------


@pytest.mark.parametrize(
    "command, status",
    [
        ("git status", 0),
        ("cd ~/repo && gh api repos/o/r/pulls/1/reviews 2>&1", 0),
        ("rm x", 1),
        ("cd ~/repo && gh api repos/o/r/pulls/1/reviews 2>&1 | tee out", 1),
        ("if", 1),
    ],
)
def test_the_installed_command_judges(installed: Installed, command: str, status: int) -> None:
    result = run(installed.script, "lint", cwd=installed.folder, stdin=f"{command}\n")
    assert (result.returncode, result.stderr) == (status, "")


def test_the_installed_package_runs_as_a_module(installed: Installed) -> None:
    result = run(installed.python, "-m", "shellguard", "lint", cwd=installed.folder, stdin="git status\n")
    assert (result.returncode, result.stderr) == (0, "")


def test_the_installed_package_is_not_the_checkout(installed: Installed) -> None:
    show = "import shellguard, sys; print(shellguard.__file__, *sys.path, sep='\\n')"
    shown = run(installed.python, "-c", show, cwd=installed.folder).stdout.split("\n")
    assert Path(shown[0]).is_relative_to(installed.folder / "env")
    assert str(ROOT) not in shown


# --- types --------------------------------------------------------------------------------------------------

EMBEDDER = """\
from typing import assert_type

from shellguard import Policy, ShellSyntaxError, Verdict, classify, parse


def may_run(command: str, policy: Policy) -> bool:
    verdict = classify(command)
    assert_type(verdict, Verdict)
    assert_type(verdict.read_only, bool)
    assert_type(verdict.effects, frozenset[str])
    assert_type(verdict.facts[0].span, tuple[int, int])
    assert_type(verdict.facts[0].rule, str | None)
    return policy.allows(verdict)


def place_of_the_mistake(command: str) -> tuple[int, int] | None:
    try:
        parse(command)
    except ShellSyntaxError as error:
        assert_type(error.message, str)
        return error.span
    return None


classify(1)  # type: ignore[arg-type]
"""
"""What someone writes who builds on shellguard. The last line is a mistake: under `--strict`, an ignore that
ignores nothing is an error, so this also fails where the package hands out no types."""


def test_an_embedder_type_checks(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "embedder.py").write_text(EMBEDDER, encoding="utf-8")
    (tmp_path / "mypy.ini").write_text("[mypy]\n", encoding="utf-8")
    settings = [
        "--strict",
        "--config-file=mypy.ini",
        "--cache-dir=cache",
        "--python-executable",
        installed.python,
    ]
    result = run(sys.executable, "-m", "mypy", *settings, "embedder.py", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_embedder_runs(installed: Installed, tmp_path: Path) -> None:
    use = """print(may_run("git status", Policy("mine", frozenset({"reads"}))), place_of_the_mistake("if"))"""
    mistake = EMBEDDER.rstrip("\n").rpartition("\n")[2]
    (tmp_path / "embedder.py").write_text(EMBEDDER.replace(mistake, use), encoding="utf-8")
    result = run(installed.python, "embedder.py", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert re.fullmatch(r"True \(\d, \d\)\n", result.stdout)


# --- licences -----------------------------------------------------------------------------------------------

LICENCES = """
import importlib.metadata, json
print(json.dumps([
    {
        "name": found.metadata["Name"],
        "expression": found.metadata["License-Expression"] or "",
        "text": found.metadata["License"] or "",
        "classifiers": found.metadata.get_all("Classifier", []),
    }
    for found in importlib.metadata.distributions()
]))
"""


def copyleft(distribution: Mapping[str, Any]) -> list[str]:
    """What a distribution says of its licence that names a GPL: also LGPL and AGPL, also as one of several.

    `text` may be a whole licence, which speaks of others: only its first line counts.
    """
    said = [
        distribution["expression"],
        distribution["text"].strip().partition("\n")[0],
        *(word for word in distribution["classifiers"] if word.startswith("License ::")),
    ]
    return [words for words in said if re.search(r"GPL|General Public", words)]


def test_nothing_that_is_installed_is_under_the_gpl(installed: Installed) -> None:
    shown = run(installed.python, "-c", LICENCES, cwd=installed.folder)
    distributions = json.loads(shown.stdout)
    assert {"shellguard-engine", "click", "lark", "PyYAML"} <= {found["name"] for found in distributions}
    assert {found["name"]: copyleft(found) for found in distributions if copyleft(found)} == {}
    silent = [
        found["name"]
        for found in distributions
        if not (
            found["expression"] or found["text"] or any("License ::" in word for word in found["classifiers"])
        )
    ]
    assert silent == [], "says nothing of its licence"


@pytest.mark.parametrize(
    "expression, text, classifier, is_copyleft",
    [
        ("GPL-3.0-or-later", "", "", True),
        ("MIT OR LGPL-2.1-only", "", "", True),
        ("", "GPLv3+", "", True),
        ("", "", "License :: OSI Approved :: GNU Lesser General Public License v3 (LGPLv3)", True),
        ("", "", "License :: OSI Approved :: GNU Affero General Public License v3", True),
        ("Apache-2.0", "", "License :: OSI Approved :: MIT License", False),
        ("", "MIT License\n\nnot the GPL", "Topic :: GPL tools", False),
        ("MPL-2.0", "", "", False),
    ],
)
def test_a_gpl_licence_is_recognised(expression: str, text: str, classifier: str, is_copyleft: bool) -> None:
    found = {"expression": expression, "text": text, "classifiers": [classifier]}
    assert bool(copyleft(found)) is is_copyleft
