# SPDX-License-Identifier: Apache-2.0
"""Patterns of your own, on commands as they are parsed: `git push origin *`.

A pattern is the words of a command. `*` as its last word is any number of words, also none; `*` inside a word
is any run of characters in one word. Nothing else is special.

To *allow* is strict: word by word, on a command whose every word is plain text, without assignments and
redirections. To *ask*, *deny* or explain is wide: the words occur in this order, whatever stands between
them, the program by its last part, a word that nobody can see may be any; also in commands that another runs
(`sudo`, `xargs`, `bash -c`).
"""

from __future__ import annotations

from shellguard.errors import ShellSyntaxError
from shellguard.rules.model import Pattern
from shellguard.syntax.nodes import Simple, Statement, Word
from shellguard.syntax.parse import parse
from shellguard.syntax.walk import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shellguard.effects import Fact
    from shellguard.spans import Span
    from shellguard.syntax.nodes import Script

ANY = "*"


class Seen:
    """One simple command of a text: its words (None for one that nobody can see), its place, and whether it
    is plain: no assignments, no redirections, and every word is text.
    """

    __slots__ = ("plain", "span", "words")

    def __init__(self, words: tuple[str | None, ...], span: Span, *, plain: bool) -> None:
        self.words, self.span, self.plain = words, span, plain


def pattern_words(pattern: str) -> tuple[str, ...] | None:
    """The words of a pattern; None when it is none."""
    words = tuple([word for word in pattern.replace("\t", " ").split(" ") if word])
    return words if words and words[0] != ANY else None


def commands_in(tree: Script) -> list[Seen]:
    """Every simple command of a text, wherever it stands."""
    from shellguard.guard.command import literal

    redirected = {
        id(node.command) for node in walk(tree) if isinstance(node, Statement) and node.redirections
    }
    found = []
    for node in walk(tree):
        if isinstance(node, Simple) and node.words:
            words = tuple([_text(word, literal(word)) for word in node.words])
            plain = not node.assignments and id(node) not in redirected and None not in words
            found.append(Seen(words, node.span, plain=plain))
    return found


def _text(word: Word, text: str | None) -> str | None:
    """The text of a word; None where the shell would make something else of it: a glob, a brace, a tilde."""
    if text is None:
        return None
    if any(char in text for char in "*?[{~") and word.span[1] - word.span[0] == len(text):
        return None
    return text


def inner_commands(text: str, facts: Iterable[Fact]) -> list[Seen]:
    """The commands that other commands of the text run, as far as the facts tell where they stand."""
    spans = {fact.span for fact in facts if fact.via}
    found = []
    for start, end in sorted(spans):
        inner = _commands_of(text[start:end])
        for seen in inner:
            word = seen.words[0]
            if len(seen.words) == 1 and word is not None and not set(word).isdisjoint(" \t\n;&|"):
                found.extend(_commands_of(word))  # a script in quotes, as behind `bash -c`
        found.extend(inner)
    return found


def _commands_of(text: str) -> list[Seen]:
    try:
        return commands_in(parse(text))
    except (ShellSyntaxError, RecursionError):
        return []


def allows(patterns: Iterable[str], seen: Seen) -> bool:
    """Whether one of the patterns is exactly this command."""
    if not seen.plain:
        return False
    return any(_same(words, seen.words) for pattern in patterns if (words := pattern_words(pattern)))


def _same(pattern: tuple[str, ...], words: tuple[str | None, ...]) -> bool:
    if pattern[-1] == ANY:
        pattern = pattern[:-1]
        if len(words) < len(pattern):
            return False
        words = words[: len(pattern)]
    elif len(words) != len(pattern):
        return False
    return all(
        word is not None and _matches(wanted, word) for wanted, word in zip(pattern, words, strict=True)
    )


def first_that_meets(patterns: Iterable[str], commands: Iterable[Seen]) -> str | None:
    """The first pattern that one of the commands may meet."""
    seen = list(commands)
    for pattern in patterns:
        words = pattern_words(pattern)
        if words is not None and any(_meets(words, each.words) for each in seen):
            return pattern
    return None


def _meets(pattern: tuple[str, ...], words: tuple[str | None, ...]) -> bool:
    first = words[0]
    if (
        first is not None
        and not _matches(pattern[0], first.rpartition("/")[2])
        and not _matches(pattern[0], first)
    ):
        return False
    rest = pattern[1:-1] if pattern[-1] == ANY else pattern[1:]
    waiting = iter(words[1:])
    return all(any(word is None or _matches(wanted, word) for word in waiting) for wanted in rest)


def _matches(wanted: str, word: str) -> bool:
    return wanted == word if "*" not in wanted else Pattern(wanted.replace("<", "")).matches(word)
