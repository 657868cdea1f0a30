# SPDX-License-Identifier: Apache-2.0
"""A thousand commands that agents ran: what the reviewer said of each, and what the engine says.

The texts are not part of the project. They are looked up by hash where SHELLGUARD_CORPORA names the folder that
holds them; without it only the form of the rows is tested. No message names a text: `python -m tools.corpus` does.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.corpora import read_corpus, sample
from tools.corpus import (
    FOLDER,
    WANTED_RECALL,
    Judged,
    Report,
    RowError,
    hash_of,
    judge,
    main,
    read_rows,
    texts_of,
)

ROWS = FOLDER / "agent-commands.jsonl"
SIZE = 1_000
SEED = 20261130
GOOD = {"id": "x-1", "sha256": "0" * 64, "verdict": "read", "reason": "It looks.", "source": "agent-commands"}


@pytest.fixture(scope="module")
def report(corpora: Path) -> Report:
    return judge(read_rows(ROWS), texts_of(corpora, ["agent-commands"]))


def listed(report: Report, items: list[Judged]) -> str:
    """The figures, and the rows by id, verdict and reason."""
    lines = [f"{item.row.id} {item.row.verdict}: {item.row.reason}" for item in items]
    return "\n".join([report.summary(), *lines])


# --- the rows -------------------------------------------------------------------------------------------------


def test_the_rows_are_numbered() -> None:
    assert [row.id for row in read_rows(ROWS)] == [f"agent-{number:04}" for number in range(1, SIZE + 1)]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"command": "ls"}, "exactly the fields"),
        ({"reason": ""}, "not empty"),
        ({"reason": 1}, "not empty"),
        ({"sha256": "0" * 63}, "64 hex digits"),
        ({"sha256": "A" * 64}, "64 hex digits"),
        ({"verdict": "maybe"}, "the verdict is one of"),
        ({"source": "somewhere"}, "the source is one of"),
        ({"id": "x-2"}, "stands on a line above"),
        ({"sha256": "1" * 64}, "stands on a line above"),
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{json.dumps(GOOD | change)}\n", encoding="utf-8")
    with pytest.raises(RowError, match=rf"rows\.jsonl:2: .*{message}"):
        read_rows(path)


@pytest.mark.parametrize("line", ["", "{", "[]", "1"])
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(RowError, match=r"rows\.jsonl:1: "):
        read_rows(path)


# --- the texts ------------------------------------------------------------------------------------------------


def test_the_rows_are_the_sample(corpora: Path) -> None:
    texts = sample(read_corpus(corpora, "agent"), SIZE, SEED)
    assert [row.sha256 for row in read_rows(ROWS)] == [hash_of(text) for text in texts]


def test_every_text_is_there(report: Report) -> None:
    assert not report.absent, f"{report.summary()}; is this another version of the corpus?"


def test_no_write_is_called_a_read(report: Report) -> None:
    assert not report.false_reads, listed(report, report.false_reads)


def test_nearly_every_read_is_recognised(report: Report) -> None:
    assert report.recall >= WANTED_RECALL, listed(report, report.missed)


# --- the figures ----------------------------------------------------------------------------------------------


def rows_about(tmp_path: Path, *said: tuple[str, str]) -> Report:
    """The report on texts with the verdict the reviewer gave each."""
    path = tmp_path / "rows.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for number, (text, verdict) in enumerate(said):
            row = GOOD | {"id": f"x-{number}", "sha256": hash_of(text), "verdict": verdict}
            print(json.dumps(row), file=stream)
    return judge(read_rows(path), {hash_of(text): text for text, _ in said})


def test_a_wrong_answer_is_counted_on_its_side(tmp_path: Path) -> None:
    report = rows_about(tmp_path, ("ls", "read"), ("rm x", "read"), ("ls -a", "write"), ("rm y", "write"))
    assert [item.text for item in report.missed] == ["rm x"]
    assert [item.text for item in report.false_reads] == ["ls -a"]
    assert report.recall == 0.5
    assert [fact.effect for fact in report.missed[0].stops()] == ["writes"]
    assert "x-1 read: It looks." in listed(report, report.missed)
    assert "rm x" not in listed(report, report.missed)


def test_a_text_that_is_not_there_is_counted_apart(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n", encoding="utf-8")
    report = judge(read_rows(path), {})
    assert (len(report.judged), len(report.absent), report.recall) == (0, 1, 1.0)


# --- the command ----------------------------------------------------------------------------------------------


def test_the_tool_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SHELLGUARD_CORPORA", raising=False)
    assert main([]) == 2
    assert "SHELLGUARD_CORPORA" in capsys.readouterr().err


def test_the_tool_prints_the_figures(
    corpora: Path, report: Report, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row for path in sorted(FOLDER.glob("*-commands.jsonl")) for row in read_rows(path)]
    whole = judge(rows, texts_of(corpora, sorted({row.source for row in rows})))
    assert len(rows) > len(report.judged)
    status = main(["--corpora", str(corpora)])
    assert whole.summary() in capsys.readouterr().out
    assert status == int(bool(whole.false_reads) or whole.recall < WANTED_RECALL)


def test_the_tool_shows_a_row(corpora: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--corpora", str(corpora), "--show", "agent-0001"]) == 0
    assert capsys.readouterr().out.startswith("agent-0001  unknown, the engine says ")
    assert main(["--corpora", str(corpora), "--show", "agent-0000"]) == 2
    assert "no such row: agent-0000" in capsys.readouterr().err
