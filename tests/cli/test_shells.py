# SPDX-License-Identifier: Apache-2.0
"""Completions and the manual page: both come from the commands that are run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from shellguard.cli.main import COMMANDS, cli
from tests.cli.process import SHELLGUARD, run

CHECKS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}


@pytest.mark.parametrize("shell", CHECKS)
def test_the_shell_accepts_its_completions(shell: str, tmp_path: Path) -> None:
    output = run("completion", shell).stdout
    assert f"_SHELLGUARD_COMPLETE={shell}_complete" in output
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    script = tmp_path / "completion"
    script.write_text(output)
    done = subprocess.run([*CHECKS[shell], str(script)], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


LOOKED_AT = {
    "bash": (
        ". /usr/share/bash-completion/bash_completion; _completion_loader shellguard 2>/dev/null || "
        "_comp_load shellguard; complete -p shellguard"
    ),
    "zsh": "fpath+=($XDG_DATA_HOME/zsh/*); autoload -U compinit; compinit -u -D; echo $_comps[shellguard]",
    "fish": "complete -C 'shellguard completion '; complete -c shellguard",  # it asks only programs that there are
}
"""Shell -> what it answers once it has looked for the completions by itself."""


@pytest.mark.parametrize("shell", LOOKED_AT)
def test_completions_are_found_where_they_are_installed(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME", "SHELLGUARD_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
        (tmp_path / name).mkdir()
    done = run("completion", shell, "--install")
    assert done.returncode == 0
    path = Path(done.stdout.splitlines()[0].removeprefix("installed: "))
    assert path.read_text("utf-8") == run("completion", shell).stdout
    assert "nothing to do" in run("completion", shell, "--install").stdout
    known = shutil.which(shell) is not None and (
        shell != "bash" or Path("/usr/share/bash-completion/bash_completion").exists()
    )
    if known:
        program = tmp_path / "bin" / "shellguard"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        said = subprocess.run([shell, "-c", LOOKED_AT[shell]], capture_output=True, timeout=60, check=False)
        assert b"_shellguard" in said.stdout.lower()
    assert run("completion", shell, "--uninstall").returncode == 0
    assert "nothing to do" in run("completion", shell, "--uninstall").stdout
    run("completion", shell, "--install")
    assert run("uninstall", "--all").returncode == 0
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in left} <= {"installed.json", "shellguard"}


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "ours"))
    path = tmp_path / "fish" / "completions" / "shellguard.fish"
    path.parent.mkdir(parents=True)
    path.write_text("# mine\n")
    assert run("completion", "fish", "--install").returncode == 1
    assert run("completion", "fish", "--uninstall").returncode == 0
    assert path.read_text() == "# mine\n"


def completed(*words: str) -> set[str]:
    """What bash is offered for the last of the words."""
    done = subprocess.run(
        SHELLGUARD,
        env={
            "_SHELLGUARD_COMPLETE": "bash_complete",
            "COMP_WORDS": "shellguard " + " ".join(words),
            "COMP_CWORD": str(len(words)),
            "PATH": "",
        },
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return {line.partition(",")[2] for line in done.stdout.splitlines()}


@pytest.mark.parametrize(
    "words, offered",
    [
        (("",), set(COMMANDS)),
        (("ex",), {"explain"}),
        (("lint", "--output-f"), {"--output-format"}),
        (("lint", "--output-format", ""), {"text", "json", "jsonl", "sarif", "github"}),
        (("lint", "--output-format", "s"), {"sarif"}),
        (("rules", "tr"), {"trust"}),
        (("completion", ""), {"bash", "zsh", "fish"}),
    ],
)
def test_commands_options_and_values_are_offered(words: tuple[str, ...], offered: set[str]) -> None:
    assert completed(*words) == offered


def every_command(
    command: click.Command, context: click.Context, path: str
) -> list[tuple[str, click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            with click.Context(inner, context, name) as below:
                found += every_command(inner, below, f"{path} {name}")
    return found


def test_the_manual_page_has_every_command_and_option() -> None:
    page = run("man").stdout
    assert page.startswith(".TH SHELLGUARD 1 ")
    plain = page.replace("\\-", "-")
    with click.Context(cli, None, "shellguard") as context:
        for path, command in every_command(cli, context, "shellguard"):
            assert path in plain
            for parameter in command.params:
                if isinstance(parameter, click.Option) and not parameter.hidden:
                    assert parameter.opts[0] in plain


@pytest.mark.parametrize(
    "checker", [["groff", "-man", "-Tutf8", "-ww", "-z"], ["mandoc", "-Tlint", "-Wwarning"]]
)
def test_the_manual_page_is_one(checker: list[str]) -> None:
    if shutil.which(checker[0]) is None:
        pytest.skip(f"no {checker[0]} here")
    done = subprocess.run(
        checker, input=run("man").stdout, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout + done.stderr == ""


def test_no_line_of_the_manual_page_is_a_request_by_accident() -> None:
    for line in run("man").stdout.splitlines():
        if line.startswith((".", "'")):
            assert line.split(" ")[0] in {".TH", ".SH", ".SS", ".PP", ".TP"}


def test_help_has_every_command() -> None:
    for arguments in ((), ("--help",), ("-h",)):
        output = run(*arguments).stdout
        assert all(name in output for name in COMMANDS)
    for name in COMMANDS:
        assert run(name, "-h").stdout == run(name, "--help").stdout != ""
