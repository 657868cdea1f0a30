# SPDX-License-Identifier: Apache-2.0
"""Small languages: the tables in `small/`, each verdict compared with what the real tool does in a throwaway folder.

A line of a table is `verdict how | command`, with `⏎` for a newline. `how` says what the real tool does:

    -          it succeeds and leaves everything as it was
    fails      it fails and leaves everything as it was
    changes    it changes, makes or removes a file
    runs       it starts a program of the folder
    elsewhere  it is not run here: another version of the tool, the clock of the machine, another host

`tools:` in the head of a table names the programs that its commands need, `instead:` the programs that stand in for
one of them in turn. What is called a read has to be harmless with each of these; what is called a write has to do
something with one of them at least.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shellguard import classify
from tests.analysis import throwaway

FOLDER = Path(__file__).with_name("small")
HOWS = ("-", "fails", "changes", "runs", "elsewhere")
LEAST = {"sed": 60, "awk": 60, "jq": 60, "find": 60}
"""How many cases a table has; 20 where it is not named."""


class Table:
    """One file of `small/`."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self.tools: list[str] = []
        self.instead: list[dict[str, str]] = [{}]
        self.rows: list[tuple[int, str, str, str]] = []
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if line.startswith("# tools:"):
                self.tools = line.removeprefix("# tools:").split()
            elif line.startswith("# instead:"):
                name, *programs = line.removeprefix("# instead:").split()
                self.instead = [{name: found} for each in programs if (found := shutil.which(each))]
            elif line and not line.startswith("#"):
                head, _, command = line.partition(" | ")
                verdict, how = head.split()
                self.rows.append((number, verdict, how, command.replace("⏎", "\n")))


TABLES = [Table(path) for path in sorted(FOLDER.glob("*.txt"))]
CASES = [(table, *row) for table in TABLES for row in table.rows]


def named(value: object) -> str:
    return value.name if isinstance(value, Table) else str(value)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small") / "template"
    folder.mkdir()
    throwaway.make_folder(folder)
    return folder


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small") / "repository"
    folder.mkdir()
    throwaway.make_folder(folder, repository=True)
    return folder


@pytest.mark.parametrize("table, line, verdict, how, command", CASES, ids=named)
def test_verdict(table: Table, line: int, verdict: str, how: str, command: str) -> None:
    answer = classify(command)
    told = [(fact.effect, fact.because) for fact in answer.facts]
    assert how in HOWS
    assert answer.kind == verdict, f"{table.name}.txt:{line} {told}"


@pytest.mark.parametrize(
    "table, line, verdict, how, command", [case for case in CASES if case[3] != "elsewhere"], ids=named
)
def test_truth(
    table: Table,
    line: int,
    verdict: str,
    how: str,
    command: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    for tool in table.tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    source = request.getfixturevalue("repository" if "git" in table.tools else "template")
    seen: list[throwaway.Left] = []
    for index, instead in enumerate(table.instead):
        seen.append(throwaway.run(source, tmp_path / f"run{index}", command, instead))
        if seen[-1].ran if how == "runs" else how == "changes" and seen[-1].changed:
            break  # one that does something is enough
    if verdict == "read":
        assert how in ("-", "fails"), "a row that does something cannot be called a read"
        assert all(left.changed == () and not left.ran for left in seen), seen
    elif verdict == "write":
        assert how in ("changes", "runs"), "a row that does nothing is not called a write, but unknown"
    if how == "changes":
        assert any(left.changed for left in seen), seen
    elif how == "runs":
        assert any(left.ran for left in seen), seen
    else:
        assert not any(left.changed for left in seen), seen
        assert (seen[0].status == 0) == (how == "-"), seen


@pytest.mark.parametrize("table", TABLES, ids=named)
def test_a_table_has_both_sides(table: Table) -> None:
    assert len(table.rows) >= LEAST.get(table.name, 20)
    reads = [row for row in table.rows if row[1] == "read"]
    assert min(len(reads), len(table.rows) - len(reads)) >= len(table.rows) // 5
