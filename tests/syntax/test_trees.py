# SPDX-License-Identifier: Apache-2.0
"""The frozen trees and the frozen refusals. Files: `trees.txt`, `refusals.txt`.

With SHELLGUARD_UPDATE_TREES=1 the files are written anew instead of being compared; never do that without
reading the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shellguard.errors import ShellSyntaxError
from shellguard.syntax.parse import parse
from shellguard.syntax.printer import to_text
from tests.syntax.cases import REFUSALS, TREES, Case, read_cases, write_cases
from tests.syntax.tree_text import tree_text

ALL = [(path, case) for path in (TREES, REFUSALS) for case in read_cases(path)]


def outcome(text: str) -> str:
    """The tree as text, or the message of the refusal."""
    try:
        return tree_text(parse(text))
    except ShellSyntaxError as error:
        return str(error)


def named(pair: tuple[Path, Case]) -> str:
    path, case = pair
    return f"{path.name}:{case.line}:{case.title}"


@pytest.mark.parametrize("pair", ALL, ids=named)
def test_outcome(pair: tuple[Path, Case]) -> None:
    path, case = pair
    if os.environ.get("SHELLGUARD_UPDATE_TREES"):
        pytest.skip("the files are being written anew")
    assert outcome(case.text) == case.expected, f"{path.name}:{case.line}"


@pytest.mark.skipif(
    not os.environ.get("SHELLGUARD_UPDATE_TREES"), reason="only on demand: SHELLGUARD_UPDATE_TREES=1"
)
@pytest.mark.parametrize("path", [TREES, REFUSALS], ids=lambda path: path.name)
def test_update(path: Path) -> None:
    cases = read_cases(path)
    for case in cases:
        case.expected = outcome(case.text)
    write_cases(path, cases)


@pytest.mark.parametrize("case", read_cases(TREES), ids=lambda case: f"{case.line}:{case.title}")
def test_print_and_parse_again(case: Case) -> None:
    script = parse(case.text)
    text = to_text(script)
    assert parse(text) == script
    assert to_text(parse(text)) == text, "the print of a print is the same text"


def test_a_case_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "cases.txt"
    written = [
        Case("one", 0, "a\n\n b", "(x)\n(y)"),
        Case("two", 0, "\x00\r\n", "z", {"json": "", "bash accepts": "because: of"}),
    ]
    path.write_text("# preface\n\n", encoding="utf-8")
    write_cases(path, written)
    read = read_cases(path)
    assert [(case.title, case.text, case.expected, case.marks) for case in read] == [
        (case.title, case.text, case.expected, case.marks) for case in written
    ]
    before = path.read_text("utf-8")
    write_cases(path, read)
    assert path.read_text("utf-8") == before


@pytest.mark.parametrize(
    "content, message",
    [
        ("=== a\nls\n", "no `---`"),
        ("=== a\n@ frob: b\nls\n---\nx\n", "unknown mark 'frob'"),
        ("=== a\nls\n---\nx\n=== a\nls\n---\nx\n", "used twice"),
    ],
)
def test_a_malformed_case_is_named(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "cases.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_cases(path)
