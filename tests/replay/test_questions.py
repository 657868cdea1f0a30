# SPDX-License-Identifier: Apache-2.0
"""The questions of docs/replay.md are asked, of real results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.process import run
from tests.replay.calls import incident, lines_of

QUESTIONS = re.findall(
    r'^duckdb -c "(.*)"$',
    (Path(__file__).parents[2] / "docs" / "replay.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra corpora)")
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "home"))
    calls = [
        *incident()[:80],
        {"session": "t", "tool": "bash", "args": {"command": "nosuch x; sleep 3 && ls"}, "result": ""},
    ]
    calls += [
        {"session": "t", "tool": "bash", "args": {"command": command}}
        for command in ("rm a", "nosuch", "sleep 2 && ls")
    ]
    (tmp_path / "calls.jsonl").write_text(lines_of(calls), encoding="utf-8")
    for name in ("old", "out"):
        assert (
            run(
                "replay", str(tmp_path / "calls.jsonl"), "--out", str(tmp_path / f"{name}.parquet")
            ).returncode
            == 0
        )
    return tmp_path


def test_there_are_questions() -> None:
    assert len(QUESTIONS) >= 6


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_has_an_answer(question: str, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed (extra corpora)")
    monkeypatch.chdir(results)
    answer = duckdb.connect().sql(question).fetchall()
    assert answer or " a join " in question  # nothing moved
