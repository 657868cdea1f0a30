# SPDX-License-Identifier: Apache-2.0
"""Every example line of every shipped rule is a test of its own, named after its place: `rules/vcs/git.yaml:74`."""

from __future__ import annotations

import pytest

from shellguard.rules.check import check, example_problem, examples_of
from shellguard.rules.model import CommandRule, Example
from tests.rules.examples import judge, shipped_rules

RULES = shipped_rules()


def _examples() -> list[object]:
    return [
        pytest.param(rule.path, example, id=f"{rule.path}:{example.line}")
        for rule in RULES
        for example in examples_of(rule)
    ]


@pytest.mark.parametrize(("path", "example"), _examples())
def test_example(path: str, example: Example) -> None:
    problem = example_problem(path, example, judge)
    assert problem is None, str(problem)


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.path) for rule in RULES])
def test_no_line_without_an_example(rule: CommandRule) -> None:
    """Each spec is named by an example, each row of `cases` is taken, each option with an effect is used."""
    problems = [str(problem) for problem in check(rule, judge)]
    broken = {f"{rule.path}:{example.line}" for example in examples_of(rule)}
    assert [problem for problem in problems if problem.partition(": ")[0] not in broken] == []


def test_every_rule_has_examples_of_both_sides() -> None:
    lacking = []
    for rule in RULES:
        kinds = {example.kind for example in examples_of(rule)}
        if not kinds & {"write", "unknown"} or (
            "read" not in kinds and not {"writes", "executes"} & (rule.spec.effects or frozenset())
        ):
            lacking.append(rule.path)
    assert lacking == []
