# SPDX-License-Identifier: Apache-2.0
"""What a command loads before it answers: a script may start one for each command it is about to run."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = """
import sys
from shellguard.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
sys.stderr.write(" ".join(sys.modules))
"""
HEAVY = {"sqlalchemy", "psycopg", "dbos", "psutil"} | {
    "rich",
    "rich_click",
    "lark",
    "platformdirs",
    "hypothesis",
    "logging",
    "asyncio",
    "multiprocessing",
}
OURS = {
    *("advice", "redact", "cli.sarif", "cli.github", "cli.batch", "cli.explain", "cli.report", "cli.rules"),
    *("cli.man", "cli.completion", "cli.rule", "cli.parse", "cli.cards", "board", "workers"),
}


def loaded(*arguments: str, text: str = "") -> set[str]:
    """The modules that a call has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        input=text.encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    return set(done.stderr.decode().split(" "))


def heavy(modules: set[str]) -> set[str]:
    return {name for name in HEAVY if name in modules} | {
        name for name in OURS if f"shellguard.{name}" in modules
    }


@pytest.mark.parametrize(
    "arguments, text, more",
    [
        (("lint",), "ls", set()),
        (("lint",), "rm x", set()),
        (("lint", "--color", "always"), "rm x", set()),
        (("lint", "--output-format", "json"), "rm x", set()),
        (("lint", "--output-format", "github"), "rm x", {"cli.github"}),
        (("lint", "--output-format", "sarif"), "rm x", {"cli.sarif"}),
        (("lint", "--batch"), '{"command": "rm x"}', {"cli.batch"}),
        (("lint",), "rm 日本", {"rich"}),
        (("parse",), "ls", {"cli.parse"}),
        (("explain",), "rm x", {"advice", "cli.explain"}),
        (("--version",), "", set()),
    ],
)
def test_a_command_loads_what_it_needs(arguments: tuple[str, ...], text: str, more: set[str]) -> None:
    """rich measures wide characters and draws the help; nothing else may ask for it."""
    modules = loaded(*arguments, text=text)
    assert "shellguard.cli.main" in modules
    assert heavy(modules) == more


def test_help_is_drawn_with_rich() -> None:
    assert "rich_click" in loaded("lint", "--help")
    assert "rich_click" in loaded()
