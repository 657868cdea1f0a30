# SPDX-License-Identifier: Apache-2.0
"""The checker against small files with one fault each. The engine is a table here."""

from __future__ import annotations

from shellguard.rules.check import Judgement, check
from shellguard.rules.load import load_text

HEADER = "command: x\nsummary: s\nsource: s\nchecked: s\n"


def judged(kind: str, *words: str, lines: tuple[int, ...] = ()) -> Judgement:
    return Judgement(kind, frozenset(words), frozenset(("x.yaml", line) for line in lines))


def problems(text: str, answers: dict[str, Judgement] | None = None) -> list[str]:
    judge = None if answers is None else lambda line: answers[line.split("  #")[0]]
    return [str(problem) for problem in check(load_text(text, "x.yaml"), judge)]


def test_a_rule_says_where_its_knowledge_is_from() -> None:
    assert problems("command: x\neffect: reads\nsummary: s\nexamples:\n  read: |\n    x\n") == [
        "x.yaml:1: `source` is missing: every rule says where its knowledge is from",
        "x.yaml:1: `checked` is missing: every rule says where its knowledge is from",
    ]


def test_every_spec_has_an_example_that_names_it() -> None:
    text = (
        HEADER
        + "subcommands:\n  a: {effect: reads}\n  b, c: {effect: reads}\n  d: {effect: reads}\n  e f: {effect: reads}\n"
        "examples:\n  read: |\n    x -v a\n    x c\n    x f\n  unknown: |\n    x d\n"
    )
    assert problems(text) == ["x.yaml:8: `x d` has no example: add a `read` or a `write`"]


def test_examples_are_tried() -> None:
    text = HEADER + "effect: reads\nexamples:\n  read network: |\n    x 1\n    x 2\n    x 3  # why\n"
    answers = {"x 1": judged("read", "network"), "x 2": judged("write", "network"), "x 3": judged("read")}
    assert problems(text, answers) == [
        "x.yaml:9: this is a write, not a read: x 2",
        "x.yaml:10: its heading names network, but no fact does: x 3  # why",
    ]


def test_cases_and_options_are_reached() -> None:
    text = (
        HEADER + "flags: -a, -z\noptions:\n  -b, -c: {effect: writes}\n  -d: {effect: writes}\ncases:\n"
        "  - {when: {any: [-a]}, effect: reads}\n  - {effect: writes}\n"
        "examples:\n  read: |\n    x -a\n  write: |\n    x -b\n"
    )
    answers = {"x -a": judged("read", lines=(10,)), "x -b": judged("write", lines=(7, 99))}
    assert problems(text, answers) == [
        "x.yaml:8: no example uses -d, which has an effect",
        "x.yaml:11: no example of `x` takes case 2",
    ]
