# SPDX-License-Identifier: Apache-2.0
"""Verdicts by table: each line of `tables/*.txt` is a test.

A line is `verdict | text`, or `verdict: effects | text` where those effects must be among the facts, or
`verdict marks | text` for marks. `⏎` in the text is a newline. `name.any.txt` is judged as text for any shell.
No text is ever run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shellguard.analysis.inquiry import Assumptions
from shellguard.engine import classify

TABLES = Path(__file__).with_name("tables")


def lines() -> list[object]:
    found: list[object] = []
    for path in sorted(TABLES.glob("*.txt")):
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if line and not line.startswith("#"):
                expected, _, text = line.partition(" | ")
                shell = "any" if path.name.endswith(".any.txt") else "bash"
                place = f"{path.name}:{number}"
                found.append(pytest.param(expected, text.replace("⏎", "\n"), shell, id=place))
    return found


@pytest.mark.parametrize("expected, text, shell", lines())
def test_verdict(expected: str, text: str, shell: str) -> None:
    kinds, _, effects = expected.partition(": ")
    kind, *marks = kinds.split(" ")
    verdict = classify(text, assumptions=Assumptions(shell))
    if shell == "any":
        assert classify(text).read_only
    elif not verdict.read_only:  # for any shell, bash is one of those that may run it
        assert not classify(text, assumptions=Assumptions("any")).read_only
    assert verdict.kind == kind, [(fact.effect, fact.because) for fact in verdict.facts]
    assert set(effects.split(",")) - {""} <= verdict.effects
    assert set(marks) <= verdict.marks
