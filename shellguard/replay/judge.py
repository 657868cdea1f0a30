# SPDX-License-Identifier: Apache-2.0
"""A command -> what is kept of its verdict. An agent repeats itself, so answers are remembered."""

from __future__ import annotations

from dataclasses import dataclass

from shellguard.analysis.inquiry import Assumptions
from shellguard.effects import Effect, Fact, Kind
from shellguard.engine import classify
from shellguard.replay.cleaning import clean
from shellguard.replay.options import Options
from shellguard.rules.shelf import Shelf
from shellguard.verdict import READ, UNKNOWN, WRITE, Verdict

REMEMBERED = 4_096
MAX_REMEMBERED = 4_096
MAX_HEAD = 80


@dataclass(frozen=True, slots=True)
class Judged:
    """What is kept of a verdict.

    `because` and `rule` (file and line) are those of the fact that decides: the first that writes or executes,
    else the first unknown one, else the first. `heads` are the commands that nothing is known of, `missing` those of
    them that no rule speaks of. `verdict` is the whole of it where it is not the one that the guard would come to.
    """

    kind: str
    allowed: bool
    effects: tuple[str, ...]
    because: str
    rule: str | None
    heads: tuple[str, ...]
    missing: tuple[str, ...]
    verdict: Verdict | None = None


class Judge:
    """Judges commands with one set of rules. Used by one thread."""

    def __init__(self, options: Options) -> None:
        shelf = options.shelf()
        self.shelf = shelf
        self._given: Shelf | None = None if shelf is Shelf.default() else shelf
        self._assumptions = options.assumptions()
        self._policy = options.chosen_policy(shelf)
        self._is_own = self._given is not None or self._assumptions != Assumptions()
        self._raw = options.raw
        self._known: dict[str, Judged] = {}

    def judged(self, command: str) -> Judged:
        """What is known of a command."""
        found = self._known.get(command)
        if found is None:
            found = self._of(classify(command, shelf=self._given, assumptions=self._assumptions))
            if len(command) <= MAX_REMEMBERED:
                if len(self._known) >= REMEMBERED:
                    self._known.clear()
                self._known[command] = found
        return found

    def _of(self, verdict: Verdict) -> Judged:
        fact = _deciding(verdict)
        heads: list[str] = []
        missing: list[str] = []
        if verdict.kind != READ:
            for each in verdict.facts:
                if each.effect == Effect.UNKNOWN and (verdict.kind == UNKNOWN or each.kind == Kind.NO_RULE):
                    heads.append(clean(_head(each, verdict.text), self._raw))
                    if each.kind == Kind.NO_RULE:
                        missing.append(heads[-1])
        return Judged(
            verdict.kind,
            self._policy.allows(verdict),
            tuple(sorted(verdict.effects)),
            "" if fact is None else fact.because,
            None if fact is None else fact.rule,
            tuple(dict.fromkeys(heads)),
            tuple(dict.fromkeys(missing)),
            verdict if self._is_own else None,
        )


def _deciding(verdict: Verdict) -> Fact | None:
    wanted = {WRITE: (Effect.WRITES, Effect.EXECUTES), UNKNOWN: (Effect.UNKNOWN,)}.get(verdict.kind, ())
    for fact in verdict.facts:
        if not wanted or fact.effect in wanted:
            return fact
    return None


def _head(fact: Fact, text: str) -> str:
    """The command that a fact is about, as a rule would name it."""
    if fact.kind == Kind.SYNTAX:
        return "(not parsed)"
    if fact.kind in {Kind.EMPTY, Kind.LIMIT}:
        return f"({fact.kind})"
    if fact.kind not in {Kind.NO_RULE, Kind.PROGRAM} and fact.source is not None:
        return fact.source.path.rpartition("/")[2].removesuffix(".yaml")[:MAX_HEAD]
    words = text[fact.span[0] : fact.span[1]].lstrip(" \t\r\n")
    for at, char in enumerate(words):
        if char in " \t\r\n;&|<>()":
            words = words[:at]
            break
    return (words.rpartition("/")[2] or words or "(unclear)")[:MAX_HEAD]
