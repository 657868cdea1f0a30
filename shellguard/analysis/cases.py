# SPDX-License-Identifier: Apache-2.0
"""The base effect of a call: `effect`, or the first of the `cases` that holds.

A case may hold, may not hold, or (where a word is not known) perhaps hold. One that perhaps holds adds its effects,
and the next is asked too.
"""

from __future__ import annotations

from shellguard.effects import Effect, Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.bind import Bound
    from shellguard.rules.model import Case, Pattern, Prints
    from shellguard.values.value import Value


class Possible:
    """One base effect that the call may have."""

    __slots__ = ("because", "effects", "kind", "line", "place", "prints", "stdin")

    def __init__(
        self,
        effects: frozenset[str],
        line: int,
        place: str,
        because: str,
        prints: Prints | None = None,
        kind: str = Kind.COMMAND,
        stdin: str | None = None,
    ) -> None:
        self.effects, self.line, self.place, self.because = effects, line, place, because
        self.prints, self.kind, self.stdin = prints, kind, stdin


def base_of(bound: Bound) -> list[Possible]:
    """Every base effect that the cases of the rule give the call; `unknown` is one where no case certainly holds."""
    spec = bound.spec
    if bound.any_subcommand:
        return []
    if not spec.cases:
        return [Possible(_UNKNOWN, spec.line, "", f"what `{spec.name}` alone does is in no rule")]
    found: list[Possible] = []
    for index, case in enumerate(spec.cases):
        held = holds(case, bound)
        if held is not False:
            because = f"`{spec.name}`" if held else f"`{spec.name}`, as a word that is not known may have it"
            kind = Kind.COMMAND if held else Kind.UNSEEN
            place = f"cases[{index}]"
            found.append(Possible(case.effects, case.line, place, because, case.prints, kind, case.stdin))
        if held:
            return found
    found.append(
        Possible(_UNKNOWN, spec.line_of("cases"), "cases", f"no case of `{spec.name}` speaks of these words")
    )
    return found


_UNKNOWN = frozenset({Effect.UNKNOWN})


def holds(case: Case, bound: Bound) -> bool | None:
    """Whether all that the case asks for is so; None when that depends on a word nobody can see."""
    certain = True
    for asked, answer in (
        (case.minimum is not None or case.maximum is not None, _count),
        (case.any_of is not None, _any_of),
        (case.none_of is not None, _none_of),
        (case.first is not None, _first),
        (case.values is not None, _values),
    ):
        if asked:
            held = answer(case, bound)
            if held is False:
                return False
            certain = certain and held is True
    return True if certain else None


def _count(case: Case, bound: Bound) -> bool | None:
    least, most = bound.minimum, bound.maximum
    low = 0 if case.minimum is None else case.minimum
    high = case.maximum
    if (most is not None and most < low) or (high is not None and least > high):
        return False
    certain = least >= low and (high is None or (most is not None and most <= high))
    return True if certain else None


def _any_of(case: Case, bound: Bound) -> bool | None:
    if not (case.any_of or frozenset()).isdisjoint(bound.certain):
        return True
    return None if bound.loose else False


def _none_of(case: Case, bound: Bound) -> bool | None:
    if not (case.none_of or frozenset()).isdisjoint(bound.certain):
        return False
    return None if bound.loose else True


def _first(case: Case, bound: Bound) -> bool | None:
    if not bound.operands:
        return None if bound.loose else False
    answer = _like(case.first or (), bound.operands[0])
    if bound.loose or bound.operands[0].many:
        return None
    return answer


def _values(case: Case, bound: Bound) -> bool | None:
    """For each option: it is given, and each value it has is one of these."""
    answers: list[bool | None] = []
    for name, patterns in (case.values or {}).items():
        uses = [use for use in bound.uses if use.option.name == name]
        if not uses:
            answers.append(None if bound.loose else False)
        for use in uses:
            answers += [_like(patterns, value) for value in use.values] or [False]
        if bound.loose:
            answers.append(None)
    if False in answers:
        return False
    return None if None in answers else True


def _like(patterns: tuple[Pattern, ...], value: Value) -> bool | None:
    if certainly(patterns, value):
        return True
    return False if value.exact else None


def certainly(patterns: tuple[Pattern, ...], value: Value) -> bool:
    """Whether the word has one of these shapes, whatever it turns out to be."""
    if value.exact:
        return any(pattern.matches(value.text) for pattern in patterns)
    if value.optional and not any(pattern.matches("") for pattern in patterns):
        return False
    return any(pattern.matches_all_after(value.text) for pattern in patterns)
