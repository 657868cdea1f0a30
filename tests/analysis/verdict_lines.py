# SPDX-License-Identifier: Apache-2.0
"""The lines of `tables/*.txt`, for the tests and for the tools that try what is near them.

A line is `verdict | text`, or `verdict: effects | text` where those effects must be among the facts, or
`verdict marks | text` for marks. `⏎` in the text is a newline. `name.any.txt` is judged as text for any shell.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

TABLES = Path(__file__).with_name("tables")


class Line(NamedTuple):
    """One line: where it stands, what is expected, the text, and the shell (`bash` or `any`) that it is judged for."""

    place: str
    expected: str
    text: str
    shell: str


def verdict_lines() -> list[Line]:
    """Every line of every table."""
    found = []
    for path in sorted(TABLES.glob("*.txt")):
        shell = "any" if path.name.endswith(".any.txt") else "bash"
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if line and not line.startswith("#"):
                expected, _, text = line.partition(" | ")
                found.append(Line(f"{path.name}:{number}", expected, text.replace("⏎", "\n"), shell))
    return found
