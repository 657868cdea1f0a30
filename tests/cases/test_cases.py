# SPDX-License-Identifier: Apache-2.0
"""The labelled commands: what must never be read, what must be, and what depends on trust.

Each `.jsonl` beside this file holds one kind; most labels were checked by running the real tool. `verdict` is `read` or
`write`, where `unknown` counts as a write.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shellguard import classify, parse
from shellguard.analysis.inquiry import Assumptions

FOLDER = Path(__file__).parent
WORDS_ONLY = Assumptions(trust="words")


def rows(*names: str) -> list[Any]:
    """The rows of some files, each with its file and line as the name of the test."""
    found: list[Any] = []
    for name in names:
        for number, line in enumerate(FOLDER.joinpath(f"{name}.jsonl").read_text("utf-8").split("\n"), 1):
            if line:
                found.append(pytest.param(json.loads(line), id=f"{name}.jsonl:{number}"))
    return found


LABELLED = rows("mission", "write", "read", "spellings", "hidden", "ambient")


@pytest.mark.parametrize("row", [row for row in LABELLED if row.values[0]["verdict"] != "read"])
def test_no_write_is_called_a_read(row: dict[str, str]) -> None:
    assert not classify(row["command"]).read_only, row.get("why", "")


@pytest.mark.parametrize("row", [row for row in LABELLED if row.values[0]["verdict"] == "read"])
def test_a_read_is_recognised(row: dict[str, str]) -> None:
    verdict = classify(row["command"])
    assert verdict.read_only, verdict.facts


@pytest.mark.parametrize("row", rows("ambient"))
def test_what_needs_the_machine_is_no_read_where_only_words_are_trusted(row: dict[str, str]) -> None:
    assert row["verdict_untrusted"] != "read"
    assert not classify(row["command"], assumptions=WORDS_ONLY).read_only


@pytest.mark.parametrize("row", rows("constructs"))
def test_every_construct_parses(row: dict[str, str]) -> None:
    parse(row["command"])


def test_nothing_is_lost() -> None:
    assert len(LABELLED) == 1322
    assert len(rows("constructs")) == 65
