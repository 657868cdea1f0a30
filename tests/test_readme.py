# SPDX-License-Identifier: Apache-2.0
"""The README keeps what it promises: one line to try it, one line to test it, and examples that are true.

`.ci/run` reads the second line from the file and runs it as it stands.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def blocks(text: str, heading: str) -> list[str]:
    """Every fenced block under `## heading`, without its fences; the first line is the language."""
    sections = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    bodies = [body for title, body in zip(sections[1::2], sections[2::2], strict=True) if title == heading]
    assert len(bodies) == 1, f"one section {heading!r} is wanted, there are {len(bodies)}"
    return re.findall(r"^```(.*?)^```$", bodies[0], flags=re.MULTILINE | re.DOTALL)


def command_line(text: str, heading: str) -> str:
    """The one line of the one `sh` block of a section."""
    [block] = blocks(text, heading)
    language, *lines = block.rstrip("\n").split("\n")
    assert language == "sh"
    [line] = lines
    assert not line.endswith("\\"), "one line, not one that goes on"
    return line


@pytest.mark.parametrize("heading", ["Try it", "Test it"])
def test_the_section_holds_one_command_line(heading: str) -> None:
    line = command_line((ROOT / "README.md").read_text(encoding="utf-8"), heading)
    assert line.startswith("python3 -m venv .venv && "), "a fresh machine has only Python and git"


def test_trying_it_judges_a_command_and_testing_it_runs_all_tests() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "shellguard lint" in command_line(text, "Try it")
    assert command_line(text, "Test it").endswith(".venv/bin/python -m pytest -n auto")


def fenced(language: str) -> str:
    """The one block of the README in this language, with the lines of rules taken out.

    They move whenever somebody works on a rule, which is no reason to edit the README.
    """
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [block] = re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return without_lines(block)


def without_lines(text: str) -> str:
    return re.sub(r"\.yaml:\d+", ".yaml:N", text)


def test_the_example_for_the_command_line_shows_what_is_printed() -> None:
    block = fenced("console")
    commands = re.findall(r"^\$ echo '([^']*)' \| shellguard lint$", block, flags=re.MULTILINE)
    assert len(commands) == block.count("$ ") >= 2
    printed = ""
    for command in commands:
        run = subprocess.run(
            [sys.executable, "-m", "shellguard", "lint"],
            cwd=ROOT,
            input=f"{command}\n",
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        printed += f"$ echo '{command}' | shellguard lint\n{run.stdout}"
    assert without_lines(printed) == block


def test_the_example_in_python_is_true() -> None:
    """A line `code  # value` or `code  # value: why` says what the code gives."""
    names: dict[str, object] = {}
    compared = 0
    for line in fenced("python").rstrip("\n").split("\n"):
        code, mark, comment = line.partition("  # ")
        if not mark:
            exec(code, names)
            continue
        value = eval(code, names)
        wanted = eval(comment.partition(": ")[0])
        assert (without_lines(value) if isinstance(value, str) else value) == wanted, line
        compared += 1
    assert compared >= 3


@pytest.mark.parametrize(
    "section",
    [
        "## Try it\n\n```sh\na\nb\n```\n",
        "## Try it\n\n```sh\na\n```\n\n```sh\nb\n```\n",
        "## Try it\n\n```sh\na\n```\n\n```text\nb\n```\n",
        "## Try it\n\n```\na\n```\n",
        "## Try it\n\n```sh\na \\\n```\n",
        "## Try it\n\na\n",
        "## Try\n\n```sh\na\n```\n",
    ],
)
def test_another_form_is_found(section: str) -> None:
    with pytest.raises((AssertionError, ValueError)):
        command_line(f"# x\n\n{section}\n## Next\n\n```sh\nb\n```\n", "Try it")
