# SPDX-License-Identifier: Apache-2.0
"""Three hundred examples of tldr that the engine called reads, each reviewed. Their texts are not kept here."""

from __future__ import annotations

import random
from pathlib import Path

from shellguard.verdict import READ
from tools.corpora import read_corpus
from tools.corpus import FOLDER, hash_of, judge, read_rows, texts_of

ROWS = FOLDER / "tldr-commands.jsonl"
SIZE, SEED = 300, 20261130


def test_the_rows_are_numbered_and_have_a_verdict_of_their_own() -> None:
    rows = read_rows(ROWS)
    assert [row.id for row in rows] == [f"tldr-{number:04}" for number in range(1, SIZE + 1)]
    assert {row.source for row in rows} == {"tldr-commands"}


def test_they_are_the_drawn_ones_in_order(corpora: Path) -> None:
    """Which of the shuffled texts were called a read has changed since; the rows are some of them, in their order."""
    texts = read_corpus(corpora, "tldr")
    random.Random(SEED).shuffle(texts)
    places = {hash_of(text): place for place, text in enumerate(texts)}
    drawn = [places[row.sha256] for row in read_rows(ROWS)]
    assert drawn == sorted(drawn)


def test_none_is_a_write_that_is_called_a_read(corpora: Path) -> None:
    report = judge(read_rows(ROWS), texts_of(corpora, ["tldr-commands"]))
    assert report.absent == []
    assert [item.row.id for item in report.judged if item.is_false_read] == []
    assert sum(item.row.verdict == READ for item in report.judged) == SIZE
    assert report.recall >= 0.97, report.summary()
