# SPDX-License-Identifier: Apache-2.0
"""The engine as `rules.check` wants it, and the shipped rules."""

from __future__ import annotations

from shellguard.engine import classify
from shellguard.rules.check import Judgement
from shellguard.rules.model import CommandRule
from shellguard.rules.shelf import read_rule, rule_files, shipped_folder


def judge(text: str) -> Judgement:
    verdict = classify(text)
    marks = {mark.rpartition(":")[2] for mark in verdict.marks}
    places = set()
    for fact in verdict.facts:
        if fact.rule is not None:
            path, _, line = fact.rule.rpartition(":")
            places.add((path, int(line)))
    return Judgement(verdict.kind, frozenset(verdict.effects | verdict.marks | marks), frozenset(places))


def shipped_rules() -> list[CommandRule]:
    folder = shipped_folder()
    answers = (read_rule(path, folder, path) for path in rule_files(folder))
    return [answer for answer in answers if isinstance(answer, CommandRule)]
