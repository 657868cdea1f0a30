# SPDX-License-Identifier: Apache-2.0
"""Holds the table of `docs/agents.md` that says what works on which system, on the system that it is run on.

    python -m tools.platforms

Each row of the table under "Where it works" names the test that holds it. Where the column of this system says `yes`
the test is run: it must pass, and none of its cases may be skipped. What the other cells say is left alone. The hosted
jobs (`.github/workflows/platforms.yml`) run this on each of the three systems.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
PAPER = ROOT / "docs" / "agents.md"
HEADING = "## Where it works"
SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}


@dataclass(frozen=True)
class Row:
    """One line of the table: what it is about, what each system's cell says, and the test (empty: none)."""

    what: str
    cells: dict[str, str]
    test: str


def rows(text: str) -> list[Row]:
    """The lines of the table in a paper."""
    _, _, rest = text.partition(f"{HEADING}\n")
    lines = [line for line in rest.split("\n## ")[0].splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    names = cells[0][1:-1]
    return [Row(row[0], dict(zip(names, row[1:-1], strict=True)), row[-1].strip("`")) for row in cells[2:]]


def promised(found: list[Row], system: str) -> list[Row]:
    """The rows that promise something on a system, and name a test for it."""
    return [row for row in found if row.test and row.cells[system].startswith("yes")]


def main() -> int:
    """Runs the tests of this system; exit status 1 where one does not hold."""
    system = SYSTEMS.get(sys.platform, "Linux")
    held = promised(rows(PAPER.read_text("utf-8")), system)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *[row.test for row in held]]
        subprocess.run(command, cwd=ROOT, check=False)
        cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
    fine = bool(held)
    for row in held:
        name = row.test.rpartition("::")[2]
        mine = [case for case in cases if case.get("name", "").partition("[")[0] == name]
        bad = [case for case in mine if any(child.tag in ("failure", "error", "skipped") for child in case)]
        fine = fine and bool(mine) and not bad
        print(
            f"{'yes' if mine and not bad else 'NO '}  {system}: {row.what} ({len(mine)} cases, {len(bad)} do not hold)"
        )
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
