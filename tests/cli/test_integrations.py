# SPDX-License-Identifier: Apache-2.0
"""The hook of pre-commit and the action of GitHub, each tried in a repository that is made for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from shellguard.cli.main import cli

ROOT = Path(__file__).parents[2]
NOT_SOURCE = shutil.ignore_patterns(
    *(
        ".git",
        ".venv",
        "build",
        "dist",
        "__pycache__",
        "*.pyc",
        "*.egg-info",
        ".hypothesis",
        "tests",
        "corpus",
    ),
    *(".mypy_cache", ".pytest_cache", ".ruff_cache"),
)


def loaded(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def environment(**variables: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GIT_", "PYTHON", "PRE_COMMIT", "PIP_REQUIRE"))
    }
    return {**kept, **variables}


def command(*words: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def git(folder: Path, *words: str) -> str:
    done = command("git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit_all(folder: Path) -> str:
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "all")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A repository with a text that reads, one that writes, and a file that is no shell text."""
    folder = tmp_path / "sample"
    folder.mkdir()
    (folder / "read.sh").write_text("#!/bin/bash\nls -l\ngit status\n")
    (folder / "write one.sh").write_text("#!/bin/bash\nls\nrm x\n")
    (folder / "notes.txt").write_text("rm x\n")
    return folder


# --- pre-commit -------------------------------------------------------------------------------------------------------


def test_pre_commit_reads_the_manifest() -> None:
    clientlib = pytest.importorskip("pre_commit.clientlib", reason="pre-commit is in the extra `dev`")
    [hook] = clientlib.load_manifest(str(ROOT / ".pre-commit-hooks.yaml"))
    assert hook["id"] == "shellguard"
    program, subcommand = hook["entry"].split(" ")
    assert program == "shellguard"
    assert subcommand in cli.list_commands(cli.make_context("shellguard", ["lint"], resilient_parsing=True))


def test_the_hook_in_a_repository(sample: Path, tmp_path: Path) -> None:
    """pre-commit clones this project, installs it, and gives it the shell scripts of the sample."""
    pytest.importorskip("pre_commit", reason="pre-commit is in the extra `dev`")
    source = tmp_path / "shellguard"
    shutil.copytree(ROOT, source, ignore=NOT_SOURCE)
    revision = commit_all(source)
    (sample / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {source}\n    rev: {revision}\n    hooks:\n      - id: shellguard\n"
    )
    commit_all(sample)
    pre_commit = [sys.executable, "-m", "pre_commit"]
    cache = {"PRE_COMMIT_HOME": str(tmp_path / "cache"), "GIT_CONFIG_GLOBAL": os.devnull}
    prepared = command(*pre_commit, "install-hooks", cwd=sample, **cache)
    if prepared.returncode != 0:
        text = prepared.stdout + prepared.stderr
        offline = (
            "No matching distribution",
            "Could not find a version",
            "NewConnectionError",
            "Temporary failure",
        )
        if any(words in text for words in offline):
            pytest.skip("the package index cannot be reached")
        raise AssertionError(text)
    done = command(*pre_commit, "run", "--all-files", "shellguard", cwd=sample, **cache)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "write one.sh:3:1  rm x" in done.stdout
    assert "SG201" in done.stdout
    assert "read.sh" not in done.stdout.replace("write one.sh", "")
    assert "notes.txt" not in done.stdout
    git(sample, "rm", "-q", "write one.sh")
    done = command(*pre_commit, "run", "--all-files", "shellguard", cwd=sample, **cache)
    assert done.returncode == 0, done.stdout + done.stderr


# --- GitHub -----------------------------------------------------------------------------------------------------------


def test_the_action_is_a_composite_one() -> None:
    action = loaded("action.yml")
    assert {"name", "description", "inputs", "runs"} == set(action)
    assert action["runs"]["using"] == "composite"
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "what a user gives may not become text of a script"
    used = [value for step in action["runs"]["steps"] for value in step["env"].values()]
    given = {value for value in used if "inputs." in value}
    assert given == {f"${{{{ inputs.{name} }}}}" for name in action["inputs"]}


def judged(sample: Path, tmp_path: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """The last step of the action, as a runner would start it; the program stands where the first step puts it."""
    [_, step] = loaded("action.yml")["runs"]["steps"]
    program = tmp_path / "shellguard" / "bin" / "shellguard"
    if not program.exists():
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shellguard "$@"\n')
        program.chmod(0o755)
    defaults = {name: str(each.get("default", "")) for name, each in loaded("action.yml")["inputs"].items()}
    values = {**defaults, **{name.replace("_", "-"): value for name, value in inputs.items()}}
    variables = {
        name: values[value.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, value in step["env"].items()
    }
    script = tmp_path / "step.sh"
    script.write_text(step["run"])
    shell = [
        "bash",
        "--noprofile",
        "--norc",
        "-eo",
        "pipefail",
        script,
    ]  # as the documentation of GitHub has it
    return command(*shell, cwd=sample, RUNNER_TEMP=str(tmp_path), PYTHONPATH=str(ROOT), **variables)


def test_the_action_annotates(sample: Path, tmp_path: Path) -> None:
    done = judged(sample, tmp_path, files="*.sh")
    assert done.returncode == 1, done.stderr
    [line] = done.stdout.splitlines()
    assert line.startswith("::error title=shellguard (SG201 command-writes),file=write one.sh,line=3,")


def test_the_action_passes_reads(sample: Path, tmp_path: Path) -> None:
    done = judged(sample, tmp_path, files="read.sh")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert judged(sample, tmp_path, files="read.sh", policy="strict").returncode == 1


def test_the_action_writes_a_log(sample: Path, tmp_path: Path) -> None:
    done = judged(sample, tmp_path, files="r*.sh  w*.sh", sarif_file="out.sarif")
    assert done.returncode == 1
    [run] = yaml.safe_load((sample / "out.sarif").read_text())["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["SG201"]


def test_an_input_is_no_text_of_the_script(sample: Path, tmp_path: Path) -> None:
    for files in ("$(touch hacked)", "`touch hacked`", "; touch hacked", "--exit-zero", "-"):
        done = judged(sample, tmp_path, files=files)
        assert done.returncode in (1, 2), files
        assert not (sample / "hacked").exists()
