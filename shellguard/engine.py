# SPDX-License-Identifier: Apache-2.0
"""Shell text in, verdict out: parse, analyse, decide. The whole program on one page."""

from __future__ import annotations

from shellguard.analysis.inquiry import Assumptions
from shellguard.analysis.script import facts_of
from shellguard.effects import Effect, Fact, Kind
from shellguard.errors import ShellSyntaxError
from shellguard.rules.shelf import Shelf
from shellguard.syntax.parse import parse
from shellguard.verdict import DEFAULT_POLICY, Policy, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.inquiry import Shelf as AnyShelf
    from shellguard.syntax.nodes import Script

REMEMBERED = 1024
"""Verdicts that are kept for texts of at most `MAX_REMEMBERED` characters. An agent repeats itself."""

MAX_REMEMBERED = 4096

_memo: dict[tuple[str, str, str, str], Verdict] = {}

_last: tuple[str, Script | None] = ("", None)

_PLAIN = Assumptions()


def classify(text: str, *, shelf: AnyShelf | None = None, assumptions: Assumptions | None = None) -> Verdict:
    """What running `text` would do.

    Args:
        text: any text at all; it is read as `bash -c` reads it. Nothing is run, and no file is looked at but rule
        files. shelf: the rules; the shipped ones when it is left out. assumptions: what is taken for granted; the
        defaults of `Assumptions` when they are left out.
    Never raises for any text. What is not understood, or too much to be judged, is a fact `unknown`.
    May be called by several threads.
    """
    taken = _PLAIN if assumptions is None else assumptions
    if shelf is not None:
        return _judged(text, shelf, taken)
    key = (text, taken.shell, taken.trust, taken.unknown_words)
    verdict = _memo.get(key)
    if verdict is None:
        verdict = _judged(text, Shelf.default(), taken)
        if len(text) <= MAX_REMEMBERED:
            if len(_memo) >= REMEMBERED:
                _memo.clear()
            _memo[key] = verdict
    return verdict


def tree_of(text: str) -> Script:
    """The syntax tree of `text`; the one at hand when it was judged just before. Raises ShellSyntaxError."""
    known, tree = _last
    return tree if tree is not None and known == text else parse(text)


def policy_named(name: str, shelf: Shelf | None = None) -> Policy:
    """The policy of that name in `rules/_policies.yaml`. Raises KeyError where there is none.

    `default` is known even when the file is broken: it lets pass what it always does, and reads only.
    """
    rules = Shelf.default() if shelf is None else shelf
    found = rules.policies.get(name)
    if found is not None:
        return Policy.from_rule(found)
    if name == DEFAULT_POLICY.name:
        return DEFAULT_POLICY
    raise KeyError(name)


def _judged(text: str, shelf: AnyShelf, assumptions: Assumptions) -> Verdict:
    return Verdict(text, _distinct(_facts(text, shelf, assumptions)))


def _distinct(facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """Each fact once. Loops and the like are judged more than once; most texts go straight on, and repeat nothing."""
    last = -1
    for fact in facts:
        start = fact.span[0]
        if start <= last:
            return tuple(dict.fromkeys(facts))
        last = start
    return facts


def _facts(text: str, shelf: AnyShelf, assumptions: Assumptions) -> tuple[Fact, ...]:
    global _last  # noqa: PLW0603 - one pair, replaced as a whole
    try:
        tree = parse(text)
        _last = (text, tree) if len(text) <= MAX_REMEMBERED else ("", None)
        if not tree.statements and "#" not in text:
            return (Fact(Effect.UNKNOWN, (0, len(text)), "there is no command", kind=Kind.EMPTY),)
        return facts_of(tree, len(text), shelf, assumptions)
    except ShellSyntaxError as error:
        return (Fact(Effect.UNKNOWN, error.span, error.message, kind=Kind.SYNTAX),)
    except RecursionError:
        return (Fact(Effect.UNKNOWN, (0, len(text)), "nested too deeply to be judged", kind=Kind.LIMIT),)
