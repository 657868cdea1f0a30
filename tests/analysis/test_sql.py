# SPDX-License-Identifier: Apache-2.0
"""SQL: `sql.txt`, one script a line, judged and run. `grammar/sql.lark`, and laws about any script."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shellguard.analysis.embedded import Finding, NotUnderstoodError
from shellguard.analysis.embedded.sql import READERS
from shellguard.effects import Effect
from tests.analysis.sql_servers import Database, Duckdb, Mariadb, Postgres, Sqlite

TABLE = Path(__file__).with_name("sql.txt")
READS = {"read": set(), "waits": {Effect.WAITS}, "sensitive": {Effect.READS}}


def rows() -> list[tuple[int, str, str, str]]:
    """Line, dialect, kind, script."""
    found = []
    for number, line in enumerate(TABLE.read_text(encoding="utf-8").split("\n"), 1):
        if line and not line.startswith("#"):
            head, _, text = line.partition(" | ")
            dialect, kind = head.split(" ")
            found.append((number, dialect, kind, text.replace("⏎", "\n")))
    return found


ROWS = rows()


def findings_of(dialect: str, text: str) -> list[Finding]:
    found: list[Finding] = []
    try:
        READERS[dialect](text, found)
    except NotUnderstoodError as problem:
        found.append(Finding(Effect.UNKNOWN, str(problem)))
    return found


def effects_of(dialect: str, text: str) -> set[str]:
    return {finding.effect for finding in findings_of(dialect, text)}


def is_read(effects: set[str]) -> bool:
    return effects <= {Effect.READS, Effect.WAITS}


@pytest.mark.parametrize("line, dialect, kind, text", ROWS, ids=lambda value: None)
def test_what_is_said(line: int, dialect: str, kind: str, text: str) -> None:
    findings = findings_of(dialect, text)
    effects = {finding.effect for finding in findings}
    if kind in READS:
        assert effects | {Effect.READS} == READS[kind] | {Effect.READS}, f"{TABLE.name}:{line}"
        assert any("sensitive" in finding.marks for finding in findings) == (kind == "sensitive")
    else:
        assert not is_read(effects), f"{TABLE.name}:{line}"


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, type[Database]]:
    """The tools, by dialect; a server is started when it is first asked for."""
    return {
        "sqlite": Sqlite,
        "sqlite-readonly": Sqlite,
        "postgres": Postgres,
        "mysql": Mariadb,
        "duckdb": Duckdb,
    }


@pytest.mark.parametrize(
    "line, dialect, kind, text",
    [row for row in ROWS if row[2] in (*READS, "harm")],
    ids=lambda value: None,
)
def test_what_a_run_does(
    line: int,
    dialect: str,
    kind: str,
    text: str,
    tmp_path: Path,
    databases: dict[str, type[Database]],
) -> None:
    kind_of_tool = databases[dialect]
    missing = kind_of_tool.missing()
    if missing:
        pytest.skip(missing)
    changed, output = kind_of_tool(tmp_path, readonly=dialect.endswith("readonly")).changed_by(text)
    assert bool(changed) == (kind == "harm"), f"{TABLE.name}:{line}: {changed} {output}"


# --- laws -------------------------------------------------------------------------------------------------------

OF_DIALECT = [(dialect, kind, text) for _, dialect, kind, text in ROWS]


@given(first=st.sampled_from(OF_DIALECT), second=st.sampled_from(OF_DIALECT))
def test_two_scripts_add_their_effects(first: tuple[str, str, str], second: tuple[str, str, str]) -> None:
    """Behind each other, each does what it did, or the whole is not understood. (A string may be open in the first.)"""
    assume(Effect.UNKNOWN not in effects_of(first[0], first[2]))
    both = effects_of(first[0], f"{first[2]}\n;\n{second[2]}")
    alone = effects_of(first[0], first[2]) | effects_of(first[0], second[2])
    assert both == alone or Effect.UNKNOWN in both


@given(text=st.text(max_size=100), dialect=st.sampled_from(sorted(READERS)))
def test_any_text_gets_an_answer(text: str, dialect: str) -> None:
    effects_of(dialect, text)


@pytest.mark.parametrize(
    "text", ["(" * 100_000, "select " * 20_000, "select " + "(" * 60 + "1" + ")" * 60, "\0", "\ud800"]
)
def test_a_large_text_gets_an_answer(text: str) -> None:
    for dialect in READERS:
        assert Effect.UNKNOWN in effects_of(dialect, text) or text.startswith("select s")


@given(row=st.sampled_from(OF_DIALECT))
def test_for_any_tool_a_script_is_a_read_only_where_each_reads_it(row: tuple[str, str, str]) -> None:
    if is_read(effects_of("sql", row[2])):
        for dialect in READERS:
            assert is_read(effects_of(dialect, row[2])), dialect
