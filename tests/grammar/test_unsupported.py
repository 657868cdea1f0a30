# SPDX-License-Identifier: Apache-2.0
"""Every line of `grammar/UNSUPPORTED.md` is true: we refuse its example, and bash does not."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from shellguard.errors import ShellSyntaxError
from shellguard.syntax.nodes import Script
from shellguard.syntax.parse import parse
from tools.bash_oracle import NoBashError, bash_path, judge

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "grammar" / "UNSUPPORTED.md"
SYNTAX = ROOT / "shellguard" / "syntax"
try:
    bash_path()
    NO_BASH = ""
except NoBashError as error:
    NO_BASH = str(error)

needs_bash = pytest.mark.skipif(bool(NO_BASH), reason=NO_BASH)

LINE = re.compile(r"- .*?: (`+)(?P<example>.+?)\1")
"""A point of the list, its example in a code span. One with backticks stands between double ones and blanks."""

NOT_TO_BE_MET = {
    "a function inside `coproc` is not modelled": "bash refuses it too",
}
"""Sentences that need no example, with the reason."""


def points() -> list[str]:
    return [line for line in PAPER.read_text("utf-8").splitlines() if line.startswith("- ")]


def example(point: str) -> str:
    match = LINE.fullmatch(point)
    assert match is not None, f"no example at the end of: {point}"
    text = match["example"]
    return (text[1:-1] if len(match[1]) > 1 else text).replace("⏎", "\n")


def refusal(text: str, parser: Callable[[str], Script] = parse) -> str:
    """The sentence with which `text` is refused; empty if it is not."""
    try:
        parser(text)
    except ShellSyntaxError as error:
        return error.message
    return ""


def sentences() -> set[str]:
    """Every sentence of the parser that says that something is not modelled."""
    found = set()
    for path in SYNTAX.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "error"
            ):
                sentence = node.args[0]
                if isinstance(sentence, ast.Constant) and "not modelled" in str(sentence.value):
                    found.add(str(sentence.value))
    return found


@pytest.mark.parametrize("point", points())
def test_the_parser_refuses_the_example(point: str) -> None:
    assert refusal(example(point)), "the parser has learnt this: take the line out"


@needs_bash
@pytest.mark.parametrize("point", points())
def test_bash_accepts_the_example(point: str) -> None:
    judgement = judge(example(point))
    assert judgement.accepts, judgement.message


def test_every_sentence_about_what_is_not_modelled_is_met() -> None:
    known = sentences()
    assert len(known) >= 10, "the sentences are no longer found in the source"
    assert known - {refusal(example(point)) for point in points()} == NOT_TO_BE_MET.keys()
