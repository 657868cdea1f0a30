# SPDX-License-Identifier: Apache-2.0
"""What words become: `words.txt`, one line a test. And what bash makes of those that are known in full."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from shellguard.analysis.inquiry import Assumptions, Inquiry, Judges, Limits
from shellguard.analysis.script import script, statement
from shellguard.analysis.simple import command
from shellguard.analysis.words import visit
from shellguard.rules.shelf import Shelf
from shellguard.syntax.nodes import Simple
from shellguard.syntax.parse import parse
from shellguard.values.resolve import arguments
from shellguard.values.scope import Scope
from shellguard.values.value import Shape, Value, common_prefix, is_integer, known, shaped, unknown, widen

TABLE = Path(__file__).with_name("words.txt")
SPAN = (0, 0)


def rows() -> list[tuple[int, str, str, str]]:
    """Line, setup, words, values."""
    found = []
    for number, line in enumerate(TABLE.read_text(encoding="utf-8").split("\n"), 1):
        if line and not line.startswith("#"):
            setup, _, rest = line.partition(" | ")
            words, _, values = rest.rpartition(" => ")
            found.append((number, setup.replace("⏎", "\n"), words.replace("⏎", "\n"), values))
    return found


def resolved(setup: str, words: str) -> list[Value]:
    """The words of `echo words` in a shell that has run `setup`."""
    inquiry = Inquiry(Shelf.default(), Assumptions(), Limits(1000), Judges(script, statement, command))
    scope = Scope()
    script(parse(setup), scope, inquiry)
    node = parse("echo " + words).statements[0].command
    assert isinstance(node, Simple)
    for word in node.words:
        visit(word, scope, inquiry)
    return arguments(node.words, scope)[1:]


def shown(value: Value) -> str:
    text = value.text.replace("\t", "⇥").replace("\n", "⏎")
    if value.exact:
        return text or '""'
    shape = f"<{value.shape}>" if value.shape != Shape.NOTHING else ""
    number = "?" if value.optional else ""
    return f"{text}…{shape}{number}{'*' if value.many else ''}"


@pytest.mark.parametrize("line, setup, words, values", rows(), ids=lambda value: None)
def test_words(line: int, setup: str, words: str, values: str) -> None:
    assert ("  ".join(shown(value) for value in resolved(setup, words)) or "-") == values, (
        f"{TABLE.name}:{line}"
    )


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize(
    "line, setup, words",
    [(line, setup, words) for line, setup, words, values in rows() if "…" not in values and "~" not in words],
    ids=lambda value: None,
)
def test_bash_makes_the_same_of_what_is_known_in_full(line: int, setup: str, words: str) -> None:
    """The setups and words of the table only assign and print."""
    source = f"{setup}\nprintf '%s\\0' {words}"
    run = subprocess.run(["bash", "--norc", "-c", source], capture_output=True, check=True, timeout=10)
    texts = run.stdout.decode().split("\0")[:-1]
    values = [value.text for value in resolved(setup, words)]
    assert texts == (values or [""]), f"{TABLE.name}:{line}"  # printf without arguments prints one empty word


@pytest.mark.parametrize(
    "values, expected",
    [
        ([known("a", SPAN)], known("a", SPAN)),
        ([known("src/a", SPAN), known("src/b", SPAN)], shaped(Shape.WORD, SPAN, "src/")),
        ([known("1", SPAN), known("22", SPAN)], shaped(Shape.NUMBER, SPAN)),
        ([known("1", SPAN), known("-2", SPAN)], shaped(Shape.INTEGER, SPAN)),
        ([known("a", SPAN), known("-o", SPAN)], unknown(SPAN)),
        ([known("a", SPAN), known("", SPAN)], unknown(SPAN)),
        ([known("a", SPAN), known("b c", SPAN)], unknown(SPAN)),
        ([known("a", SPAN), unknown(SPAN, many=True)], unknown(SPAN, many=True)),
    ],
)
def test_widening_covers_each_value(values: list[Value], expected: Value) -> None:
    assert widen(values, SPAN) == expected


@pytest.mark.parametrize(
    "value, option, splits, integer",
    [
        (known("-o", SPAN), True, False, False),
        (known("-", SPAN), False, False, False),
        (known("", SPAN), False, True, False),
        (known("a b", SPAN), False, True, False),
        (known("12", SPAN), False, False, True),
        (known("-12", SPAN), True, False, True),
        (known("١٢", SPAN), False, False, False),
        (unknown(SPAN), True, True, False),
        (shaped(Shape.WORD, SPAN), False, False, False),
        (shaped(Shape.NUMBER, SPAN), False, False, True),
        (shaped(Shape.INTEGER, SPAN), True, False, True),
        (shaped(Shape.HASH, SPAN), False, False, False),
    ],
)
def test_questions_about_a_value(value: Value, option: bool, splits: bool, integer: bool) -> None:
    assert (value.may_be_option, value.may_split, value.is_integer) == (option, splits, integer)


def test_prefixes_and_digits() -> None:
    assert common_prefix(["abc", "abd", "ab"]) == "ab"
    assert common_prefix(["", "a"]) == ""
    assert is_integer("-3")
    assert not is_integer("²")
    assert not is_integer("-")
