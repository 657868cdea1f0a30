# SPDX-License-Identifier: Apache-2.0
"""What makes a rule file wrong although it loads: examples that do not hold, and lines that no example speaks of.

`check` knows the engine only as a function that it is given, so that rules stay below analysis. Without it only what
can be seen in the file itself is checked.
"""

from __future__ import annotations

from shellguard.errors import RuleError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from shellguard.rules.model import CommandRule, Example, Spec

    Words: TypeAlias = tuple[tuple[str, ...], ...]
    Judge: TypeAlias = Callable[[str], "Judgement"]


class Judgement:
    """What the engine says of one example.

    `kind` is the verdict; `words` are its effects and marks, the marks also without what stands before their colon
    (`git-index` for `touches:git-index`); `places` are the (path, line) that its facts come from.
    """

    __slots__ = ("kind", "places", "words")

    def __init__(self, kind: str, words: frozenset[str], places: frozenset[tuple[str, int]]) -> None:
        self.kind, self.words, self.places = kind, words, places


def check(rule: CommandRule, judge: Judge | None = None) -> list[RuleError]:
    """Everything that is wrong with `rule`, in the order of its lines; empty when nothing is.

    With `judge` every example is tried, each row of `cases` must be the source of a fact of some example, and so must
    each entry of `options` that has an effect.
    """
    problems = [
        RuleError(
            rule.path, rule.spec.line, f"`{word}` is missing: every rule says where its knowledge is from"
        )
        for word in ("summary", "source", "checked")
        if not getattr(rule, word)
    ]
    specs = list(_specs(rule.spec, ((rule.command, *rule.aliases),)))
    examples = [example for spec, _ in specs for example in spec.examples]
    telling = [example.text.split() for example in examples if example.kind != "unknown"]
    silent: dict[
        int, str
    ] = {}  # line -> name; `am, commit: ..` makes two specs of one line, one example will do
    shown: set[int] = set()
    for spec, words in specs:
        if spec.effects is None and not spec.cases:
            continue
        if any(_names(words, text) for text in telling):
            shown.add(spec.line)
        else:
            silent.setdefault(spec.line, spec.name)
    for line, name in silent.items():
        if line not in shown:
            problems.append(RuleError(rule.path, line, f"`{name}` has no example: add a `read` or a `write`"))
    if judge is not None:
        problems += _tried(rule, [spec for spec, _ in specs], examples, judge)
    return sorted(problems, key=lambda problem: problem.line)


def example_problem(path: str, example: Example, judge: Judge) -> RuleError | None:
    """What is wrong with one example, or None."""
    judgement = judge(example.text)
    return _compared(path, example, judgement)


def examples_of(rule: CommandRule) -> list[Example]:
    """Every example of the file, in the order of its lines."""
    found = [example for spec, _ in _specs(rule.spec, ((rule.command,),)) for example in spec.examples]
    return sorted(found, key=lambda example: example.line)


def _tried(
    rule: CommandRule, specs: list[Spec], examples: list[Example], judge: Judge
) -> Iterator[RuleError]:
    reached: set[int] = set()
    for example in examples:
        judgement = judge(example.text)
        reached.update(line for path, line in judgement.places if path == rule.path)
        problem = _compared(rule.path, example, judgement)
        if problem is not None:
            yield problem
    wanted: dict[int, str] = {}
    for spec in specs:
        for number, case in enumerate(spec.cases, 1):
            wanted[case.line] = f"no example of `{spec.name}` takes case {number}"
        for option in spec.distinct_options():
            if option.effects:
                wanted.setdefault(option.line, f"no example uses {option.name}, which has an effect")
    for line, message in wanted.items():
        if line not in reached:
            yield RuleError(rule.path, line, message)


def _compared(path: str, example: Example, judgement: Judgement) -> RuleError | None:
    if judgement.kind != example.kind:
        return RuleError(
            path, example.line, f"this is a {judgement.kind}, not a {example.kind}: {example.text}"
        )
    missing = example.expects - judgement.words
    if missing:
        words = ", ".join(sorted(missing))
        return RuleError(path, example.line, f"its heading names {words}, but no fact does: {example.text}")
    return None


def _specs(spec: Spec, words: Words) -> Iterator[tuple[Spec, Words]]:
    """`spec` and all below it, each once, with the words that lead to it: for each level all its spellings."""
    yield spec, words
    spellings: dict[int, list[str]] = {}
    below: dict[int, Spec] = {}
    for name, subcommand in spec.subcommands.items():
        spellings.setdefault(id(subcommand), []).append(name)
        below[id(subcommand)] = subcommand
    for key, subcommand in below.items():
        yield from _specs(subcommand, (*words, tuple(spellings[key])))


def _names(words: Words, text: list[str]) -> bool:
    """Whether the words of an example name this spec: a spelling of each level, in order."""
    position = 0
    for spellings in words:
        while position < len(text) and text[position].rpartition("/")[2].strip("\"'`$();") not in spellings:
            position += 1
        if position == len(text):
            return False
        position += 1
    return True
