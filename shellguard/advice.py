# SPDX-License-Identifier: Apache-2.0
"""What would make a text pass: nearby texts that are judged again, so that nothing is claimed that was not checked.

A suggestion is made by taking something out of the text (a redirection, an option, a word, a whole command) or by
putting `--` before a word that nobody can see. Only one that passes is shown; it is another command than the one that
was typed, and whether it still says what was meant is for the reader to judge.
"""

from __future__ import annotations

from shellguard.effects import Kind
from shellguard.errors import ShellSyntaxError
from shellguard.findings import finding_of
from shellguard.syntax.nodes import AndOr, Pipeline, Script, Simple, Single, Text
from shellguard.syntax.parse import parse
from shellguard.syntax.walk import children

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shellguard.findings import Finding
    from shellguard.spans import Span
    from shellguard.syntax.nodes import Node, Word
    from shellguard.verdict import Policy, Verdict

MAX_LENGTH = 4_000
"""Characters. For a longer text nothing is tried."""

MAX_SUGGESTIONS = 3
MAX_ROUNDS = 6
"""Changes that are put together, where no single one is enough."""

MAX_TRIALS = 200
"""Texts that are judged for one answer."""

MAX_SHOWN = 40
"""Characters of the text that a description of a change repeats."""


_NO_WORD = ("", " ", "\t", "\n", ";", "&", "|", ")")


class Suggestion:
    """A text that passes. `does` says how it differs: `without > out`."""

    __slots__ = ("does", "text")

    def __init__(self, text: str, does: str) -> None:
        self.text, self.does = text, does

    def __repr__(self) -> str:
        return f"Suggestion({self.text!r}, {self.does!r})"


class _Edit:
    """One change of a text: `span` is replaced by `new`."""

    __slots__ = ("does", "new", "span")

    def __init__(self, span: Span, does: str, new: str = "") -> None:
        self.span, self.does, self.new = span, does, new

    def of(self, text: str) -> str:
        """The text with the change, without a blank that is left over, and without those around it."""
        start, end = self.span
        if not self.new and text[end : end + 1] in _NO_WORD and text[start - 1 : start] == " ":
            if text[start - 2 : start - 1] != "\\":
                start -= 1
        return _tidy(text[:start] + self.new + text[end:])


def suggestions(verdict: Verdict, policy: Policy, judge: Callable[[str], Verdict]) -> list[Suggestion]:
    """Texts near this one that `policy` allows, best first; none when it is allowed itself, or nothing was found.

    Args:
        judge: classifies a text as the verdict was made.
    """
    if policy.allows(verdict) or len(verdict.text) > MAX_LENGTH:
        return []
    search = _Search(policy, judge)
    found: list[Suggestion] = []
    for edit in _small_edits(verdict, policy):
        search.add(edit, verdict.text, found)
    if not found:
        found = search.several(verdict)
    before = len(found)
    for edit in _command_edits(verdict, policy):
        if len(found) == before:  # one that leaves out more than that is no better
            search.add(edit, verdict.text, found)
    return found[:MAX_SUGGESTIONS]


def needed(verdict: Verdict, policy: Policy) -> list[Finding]:
    """What stands in the way, each kind once, in program order."""
    return list(dict.fromkeys(finding_of(fact) for fact in policy.objections(verdict)))


class _Search:
    """Judges texts, but not more of them than `MAX_TRIALS`."""

    __slots__ = ("judge", "policy", "trials")

    def __init__(self, policy: Policy, judge: Callable[[str], Verdict]) -> None:
        self.policy, self.judge, self.trials = policy, judge, 0

    def judged(self, text: str) -> Verdict | None:
        """The verdict on a text that somebody could type; None when there is none, or too many were judged."""
        self.trials += 1
        if self.trials > MAX_TRIALS or not _says_something(text):
            return None
        return self.judge(text)

    def passes(self, text: str) -> bool:
        verdict = self.judged(text)
        return verdict is not None and self.policy.allows(verdict)

    def add(self, edit: _Edit, text: str, found: list[Suggestion]) -> None:
        """Appends what the edit makes of the text, if it passes and there is room for it."""
        new = edit.of(text)
        if len(found) < MAX_SUGGESTIONS and new not in [each.text for each in found] and self.passes(new):
            found.append(Suggestion(new, edit.does))

    def several(self, verdict: Verdict) -> list[Suggestion]:
        """One change after the other, each time the one that leaves the fewest objections."""
        done: list[str] = []
        for _ in range(MAX_ROUNDS):
            before = len(self.policy.objections(verdict))
            best: tuple[int, _Edit, Verdict] | None = None
            for edit in _small_edits(verdict, self.policy):
                after = self.judged(edit.of(verdict.text))
                if after is not None:
                    left = len(self.policy.objections(after))
                    if left < before and (best is None or left < best[0]):
                        best = (left, edit, after)
            if best is None:
                return []
            left, edit, verdict = best
            done.append(edit.does)
            if self.policy.allows(verdict):
                return [Suggestion(verdict.text, ", ".join(done))]
        return []


def _says_something(text: str) -> bool:
    """Whether the text still runs a command: a comment, or an assignment alone, is no suggestion."""
    tree = _tree(text)
    return tree is not None and any(node.words for node in _nodes(tree) if isinstance(node, Simple))


def _nodes(tree: Node) -> Iterator[Node]:
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(children(node))


# --- what may be changed ----------------------------------------------------------------------------------------------

_WORDS_OF_THEIR_OWN = frozenset(
    {
        Kind.OPTION,
        Kind.OPERAND,
        Kind.REDIRECTION,
        Kind.VARIABLE,
        Kind.NO_OPTION,
        Kind.NO_PLACE,
        Kind.NO_VARIABLE,
        Kind.MALFORMED,
    }
)
"""Kinds whose span is the very thing that is in the way."""


def _small_edits(verdict: Verdict, policy: Policy) -> list[_Edit]:
    """Changes of single words that are worth trying: first what a fact points at, then any word of its command."""
    tree = _tree(verdict.text)
    if tree is None:
        return []
    facts = policy.objections(verdict)
    edits = [
        _Edit(fact.span, _without(fact.span, verdict.text))
        for fact in facts
        if fact.kind in _WORDS_OF_THEIR_OWN
    ]
    for span in dict.fromkeys(fact.span for fact in facts):
        edits += _word_edits(span, tree, verdict.text)
    return list({(edit.span, edit.new): edit for edit in edits}.values())


def _tree(text: str) -> Script | None:
    try:
        return parse(text)
    except ShellSyntaxError:
        return None


def _word_edits(span: Span, tree: Script, text: str) -> Iterator[_Edit]:
    """For the command that a fact is about: `--` before a word that is not literal, then each word left out."""
    for node in _nodes(tree):
        if not isinstance(node, Simple) or not _overlap(node.span, span):
            continue
        for word in node.words[1:]:
            if not _is_literal(word):
                start = word.span[0]
                yield _Edit((start, start), f"with -- before {_cut(text[slice(*word.span)])}", "-- ")
        for word in reversed(node.words[1:]):
            if _overlap(word.span, span):
                yield _Edit(word.span, _without(word.span, text))


def _is_literal(word: Word) -> bool:
    return all(isinstance(part, Text | Single) for part in word.parts)


def _command_edits(verdict: Verdict, policy: Policy) -> list[_Edit]:
    """Whole commands left out of their lists and pipelines, the shortest first."""
    tree = _tree(verdict.text)
    if tree is None:
        return []
    edits: list[_Edit] = []
    for span in dict.fromkeys(fact.span for fact in policy.objections(verdict)):
        edits += _left_out(span, tree, verdict.text)
    return sorted(edits, key=lambda edit: edit.span[1] - edit.span[0])


def _left_out(span: Span, tree: Script, text: str) -> Iterator[_Edit]:
    for node in _nodes(tree):
        if isinstance(node, Script):
            parts = node.statements
        elif isinstance(node, Pipeline | AndOr):
            parts = node.parts
        else:
            continue
        for index, part in enumerate(parts):
            if len(parts) > 1 and part.span[0] <= span[0] and span[1] <= part.span[1]:
                if index:
                    gone = (parts[index - 1].span[1], part.span[1])
                else:
                    gone = (part.span[0], parts[1].span[0])
                yield _Edit(gone, _without(part.span, text))


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _without(span: Span, text: str) -> str:
    return f"without {_cut(text[slice(*span)])}"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def _tidy(text: str) -> str:
    """The text without the blanks and line ends around it. A blank that is quoted by a backslash stays."""
    trimmed = text.rstrip(" \t\n")
    return text.lstrip(" \t\n") if trimmed.endswith("\\") else trimmed.lstrip(" \t\n")
