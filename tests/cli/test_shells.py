# SPDX-License-Identifier: Apache-2.0
"""Completions and the manual page: both come from the commands that are run."""

from __future__ import annotations

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
