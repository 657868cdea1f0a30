# SPDX-License-Identifier: Apache-2.0
"""The hand-written parser and the grammar read every text alike: the same tree, or both refuse.

Texts: `programs.txt` here, the reviewed cases of tests/syntax, and real commands where SHELLGUARD_CORPORA names a
folder of them. What differs stands in `differences.txt`, each with a reason.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from shellguard.errors import ShellSyntaxError
from shellguard.syntax.nodes import Script
from shellguard.syntax.parse import parse
from tests.grammar import lark_parser
from tests.grammar.test_unsupported import needs_bash
from tests.syntax.cases import REFUSALS, TREES, Case, read_cases
from tools.bash_oracle import judge
from tools.corpora import NAMES, read_corpus, sample

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs.txt"
DIFFERENCES = HERE / "differences.txt"

DIFFERING = read_cases(DIFFERENCES)
EXCEPTIONS = {case.text for case in DIFFERING}
ALL = [
    (path, case)
    for path in (PROGRAMS, TREES, REFUSALS)
    for case in read_cases(path)
    if case.text not in EXCEPTIONS
]
SAMPLE = 2_000
"""Commands taken from each of the corpora; with two parsers all take about a second."""


def reading(parser: Callable[[str], Script], text: str) -> Script | None:
    """The tree of `text`, or None where the parser refuses it."""
    try:
        return parser(text)
    except ShellSyntaxError:
        return None


def named(pair: tuple[Path, Case]) -> str:
    path, case = pair
    return f"{path.name}:{case.line}:{case.title}"


@pytest.mark.parametrize("pair", ALL, ids=named)
def test_same_tree(pair: tuple[Path, Case]) -> None:
    _, case = pair
    assert reading(lark_parser.parse, case.text) == reading(parse, case.text)


@pytest.mark.parametrize("case", DIFFERING, ids=lambda case: f"{case.line}:{case.title}")
def test_difference_is_the_known_one(case: Case) -> None:
    accepting = [
        name
        for name, parser in (("hand-written", parse), ("lark", lark_parser.parse))
        if reading(parser, case.text)
    ]
    assert accepting == [case.expected], "no difference any more: move the case to programs.txt"


def test_most_programs_are_accepted() -> None:
    """Two parsers that refuse everything would agree as well."""
    accepted = sum(reading(lark_parser.parse, case.text) is not None for case in read_cases(PROGRAMS))
    assert accepted > 300


@needs_bash
@pytest.mark.parametrize(
    "case", [*read_cases(PROGRAMS), *DIFFERING], ids=lambda case: f"{case.line}:{case.title}"
)
def test_bash_agrees(case: Case) -> None:
    """The grammar, the hand-written parser and bash accept the same texts, but where a mark says otherwise."""
    if "not asked" in case.marks:
        pytest.skip(case.marks["not asked"])
    ours = reading(parse, case.text) is not None
    expected = True if "bash accepts" in case.marks else False if "bash refuses" in case.marks else ours
    assert judge(case.text, extglob=case.extglob).accepts == expected
    assert ("bash accepts" in case.marks or "bash refuses" in case.marks) == (ours != expected), (
        "a mark without need"
    )


def test_same_tree_for_real_commands(corpora: Path) -> None:
    texts = [text for name in NAMES for text in sample(read_corpus(corpora, name), SAMPLE, seed=2)]
    differing = [text for text in texts if reading(lark_parser.parse, text) != reading(parse, text)]
    assert not differing, f"{len(differing)} of {len(texts)}, the first: {differing[0]!r}"
