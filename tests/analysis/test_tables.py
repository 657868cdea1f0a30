# SPDX-License-Identifier: Apache-2.0
"""Verdicts by table: each line of `tables/*.txt` is a test. No text is ever run."""

from __future__ import annotations

import pytest

from shellguard.analysis.inquiry import Assumptions
from shellguard.engine import classify
from tests.analysis.verdict_lines import verdict_lines


@pytest.mark.parametrize(
    "expected, text, shell",
    [pytest.param(line.expected, line.text, line.shell, id=line.place) for line in verdict_lines()],
)
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
