# SPDX-License-Identifier: Apache-2.0
"""Every command that a text runs, with its words as they were read: for those who ask more than what it does.

The facts say what a text may do, not with which words. A log is kept only where somebody asks for one; a verdict does
not depend on it.
"""

from __future__ import annotations

from shellguard.syntax.nodes import Param
from shellguard.syntax.walk import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from shellguard.analysis.inquiry import Inquiry
    from shellguard.spans import Span
    from shellguard.syntax.nodes import Node
    from shellguard.values.value import Value

    Ranges: TypeAlias = tuple[tuple[int, int], ...]


EVERYTHING: Ranges = ((0, 1 << 60),)
"""A range that holds all commands, also those that are seen later."""


MAX_RANGES = 16
"""More ranges than this become one that holds them all."""


class Seen:
    """One command, in one way to read its words.

    `name` is the first word, empty where it is not known; `path` are the command and the subcommands that its rule
    knows (`("git", "push")`), `words` what stands behind them. `written` are words that the rule says are written to,
    `folder` the one that it says becomes the current folder. `within`: it stands in a text that is a word of another
    command, and `span` is that of the word.
    `via` are the commands that run this one, outermost first. `words_from` and `input_from` are ranges of the log: the
    commands whose output is part of a word, and those whose output is its standard input. `text` is the here-document
    or here-string that it reads, None where there is none.
    """

    __slots__ = (
        *("folder", "input_from", "name", "path", "span", "text", "via", "within", "words", "words_from"),
        "written",
    )

    def __init__(
        self,
        name: str,
        path: tuple[str, ...],
        words: tuple[Value, ...],
        span: Span,
        log: Log,
        inquiry: Inquiry,
        written: tuple[Value, ...],
        folder: Value | None,
    ) -> None:
        self.name, self.path, self.words, self.written, self.folder = name, path, words, written, folder
        self.span, self.via = inquiry.place(span), tuple(frame.name for frame in inquiry.frames)
        self.within = inquiry.origin is not None
        self.words_from, self.input_from, self.text = log.words_from, log.input_from, log.text

    def renamed(self, name: str, words: tuple[Value, ...], via: str | None = None) -> Seen:
        """The same call as one of another command; `via`: that it is run by this one."""
        other = Seen.__new__(Seen)
        other.name, other.path, other.words, other.written = name, (name,), words, self.written
        other.span, other.text, other.within, other.folder = self.span, self.text, self.within, self.folder
        other.via = self.via if via is None else (*self.via, via)
        other.words_from, other.input_from = self.words_from, self.input_from
        return other


class Written:
    """A file that a redirection opens for writing. `input_from` as in `Seen`: whose output it gets is not told."""

    __slots__ = ("at", "span", "target")

    def __init__(self, target: Value, span: Span, at: int) -> None:
        self.target, self.span, self.at = target, span, at


class Log:
    """What is seen while a text is judged. `words_from` and the like are those of the command that is judged now."""

    __slots__ = ("commands", "input_from", "text", "variables", "words_from", "written")

    def __init__(self) -> None:
        self.commands: list[Seen] = []
        self.written: list[Written] = []
        self.words_from: Ranges = ()
        self.input_from: Ranges = ()
        self.text: Value | None = None
        self.variables: dict[str, Ranges] = {}

    def mark(self) -> tuple[int, Ranges, Ranges, Value | None]:
        """What is needed to go back to this place."""
        return len(self.commands), self.words_from, self.input_from, self.text

    def words_since(self, start: int) -> None:
        """The next command has words that the commands since `start` print."""
        if len(self.commands) > start:
            self.words_from = (*self.words_from, (start, len(self.commands)))

    def input_since(self, start: int) -> None:
        """The next command reads what the commands since `start` print."""
        if len(self.commands) > start:
            self.input_from = (*self.input_from, (start, len(self.commands)))

    def assigned(self, name: str, start: int) -> None:
        """The variable may hold what the commands since `start` print."""
        if len(self.commands) > start:
            found = (*self.variables.get(name, ()), (start, len(self.commands)))
            if len(found) > MAX_RANGES:
                found = ((found[0][0], found[-1][1]),)
            self.variables[name] = found

    def held_by(self, node: Node) -> Ranges:
        """The commands whose output the variables hold that a word names."""
        if not self.variables:
            return ()
        names = {part.name for part in walk(node) if isinstance(part, Param)}
        found = tuple(ranges for name in sorted(names) for ranges in self.variables.get(name, ()))
        if len(found) > MAX_RANGES:
            return ((min(start for start, _ in found), max(end for _, end in found)),)
        return found

    def back(self, mark: tuple[int, Ranges, Ranges, Value | None]) -> None:
        """The command that was judged since `mark` is over."""
        _, self.words_from, self.input_from, self.text = mark

    def command(self, words: list[Value], inquiry: Inquiry) -> None:
        """A command of which no rule speaks, or whose name is not known."""
        head = words[0]
        name = head.text if head.exact and not head.many else ""
        span = (head.span[0], max([word.span[1] for word in words]))
        self.call(name, (name,), tuple(words[1:]), span, inquiry)

    def call(
        self,
        name: str,
        path: tuple[str, ...],
        words: tuple[Value, ...],
        span: Span,
        inquiry: Inquiry,
        written: tuple[Value, ...] = (),
        folder: Value | None = None,
    ) -> None:
        """A command that its rule has bound."""
        self.commands.append(Seen(name, path, words, span, self, inquiry, written, folder))

    def target(self, target: Value, span: Span) -> None:
        """A redirection that writes."""
        self.written.append(Written(target, span, len(self.commands)))
