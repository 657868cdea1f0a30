# SPDX-License-Identifier: Apache-2.0
"""Every command that a text runs, with its words as they were read: for those who ask more than what it does.

The facts say what a text may do, not with which words. A log is kept only where somebody asks for one; a verdict does
not depend on it.
"""

from __future__ import annotations

from shellguard.syntax.nodes import Param, Redirect, Text
from shellguard.syntax.walk import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from shellguard.analysis.inquiry import Inquiry
    from shellguard.spans import Span
    from shellguard.syntax.nodes import Node, Redirection
    from shellguard.values.value import Value

    Ranges: TypeAlias = tuple[tuple[int, int], ...]
    Mark: TypeAlias = tuple[int, Ranges, Ranges, Value | None, Ranges, int]


END = 1 << 60
"""Behind every command, also those that are seen later."""

EVERYTHING: Ranges = ((0, END),)

OPENED = "<"
"""The name under which a file that is opened for reading stands in the log: it prints what the file holds."""

MAX_RANGES = 16
"""More ranges than this become one that holds them all."""


def _number(text: str) -> str:
    """The number that the text ends with, without zeros in front; empty where there is none."""
    digits = text[len(text.rstrip("0123456789")) :]
    return digits.lstrip("0") or digits[:1]


def _few(ranges: Ranges) -> Ranges:
    """The same ranges, or one that holds them all."""
    if len(ranges) <= MAX_RANGES:
        return ranges
    return ((min(start for start, _ in ranges), max(end for _, end in ranges)),)


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
        self.words_from, self.text = log.words_from, log.text
        self.input_from = (*log.input_from, *log.standing)

    def renamed(self, name: str, words: tuple[Value, ...], via: str | None = None) -> Seen:
        """The same call as one of another command; `via`: that it is run by this one."""
        other = Seen.__new__(Seen)
        other.name, other.path, other.words, other.written = name, (name,), words, self.written
        other.span, other.text, other.within, other.folder = self.span, self.text, self.within, self.folder
        other.via = self.via if via is None else (*self.via, via)
        other.words_from, other.input_from = self.words_from, self.input_from
        return other


class Written:
    """A file that a redirection opens for writing: the commands of the log from `at` to `end` print into it."""

    __slots__ = ("at", "end", "span", "target")

    def __init__(self, target: Value, span: Span, at: int) -> None:
        self.target, self.span, self.at = target, span, at
        self.end: int | None = None  # still open


class Log:
    """What is seen while a text is judged. `words_from` and the like are those of the command that is judged now.

    `held` are the commands whose output a variable may hold (`x`), one that a builtin sets without naming it (the
    empty name), or an open descriptor (`&3`). `opened` is what the redirections of this statement give to standard
    input, `standing` what it is from here on (`exec < <(..)`). Nothing is taken back: it may not have been replaced.
    """

    __slots__ = ("commands", "held", "input_from", "opened", "standing", "text", "words_from", "written")

    def __init__(self) -> None:
        self.commands: list[Seen] = []
        self.written: list[Written] = []
        self.words_from: Ranges = ()
        self.input_from: Ranges = ()
        self.text: Value | None = None
        self.opened: Ranges = ()
        self.standing: Ranges = ()
        self.held: dict[str, Ranges] = {}

    def mark(self) -> Mark:
        """What is needed to go back to this place."""
        return len(self.commands), self.words_from, self.input_from, self.text, self.opened, len(self.written)

    def back(self, mark: Mark) -> None:
        """The command that was judged since `mark` is over."""
        _, self.words_from, self.input_from, self.text, self.opened, start = mark
        for each in self.written[start:]:
            if each.end is None:
                each.end = len(self.commands)

    def fed_by_any(self) -> Mark:
        """The next command reads what others print that may be seen later. Gives back the place to go back to."""
        mark = self.mark()
        self.input_from = EVERYTHING
        return mark

    def since(self, start: int) -> Ranges:
        """The commands since `start`, as what prints something."""
        return ((start, len(self.commands)),) if len(self.commands) > start else ()

    def words_since(self, start: int) -> None:
        """The next command has words that the commands since `start` print."""
        self.words_from = (*self.words_from, *self.since(start))

    def input_since(self, start: int) -> None:
        """The next command reads what the commands since `start` print."""
        self.input_from = (*self.input_from, *self.since(start))

    def assigned(self, name: str, ranges: Ranges | None = None) -> None:
        """The variable may hold what these commands print. None: what the command of now has words and input from."""
        found = (*self.words_from, *self.input_from, *self.standing) if ranges is None else ranges
        if found:
            self.held[name] = _few((*self.held.get(name, ()), *found))

    def filled(self, name: str, start: int, *nodes: Node) -> None:
        """The variable may hold what the commands since `start` print, or the variables that the nodes name."""
        self.assigned(name, (*self.since(start), *self.held_by(*nodes)))

    def redirected(self, node: Redirection, start: int) -> None:
        """A redirection, whose words ran the commands since `start`."""
        found = (*self.since(start), *self.held_by(node))
        source = node.target.parts if isinstance(node, Redirect) and node.operator == "<&" else ()
        if len(source) == 1 and isinstance(source[0], Text):
            found = (*found, *self.held.get(f"&{_number(source[0].text.removesuffix('-'))}", ()))
        self.input_from = (*self.input_from, *found)
        descriptor = node.descriptor or "0"
        number = _number(descriptor)
        if number == "0":
            self.opened = (*self.opened, *found)
        self.assigned(f"&{number}" if number else descriptor.strip("{}"), found)

    def stays(self) -> None:
        """What the redirections of this statement have opened is so for all that follow."""
        self.standing = _few((*self.standing, *self.opened))
        for each in reversed(self.written):
            if each.end is not None:
                break
            each.end = END

    def held_by(self, *nodes: Node) -> Ranges:
        """The commands whose output the variables hold that some nodes name."""
        if not self.held:
            return ()
        names = {part.name for node in nodes for part in walk(node) if isinstance(part, Param)}
        unnamed = self.held.get("", ())
        return _few(tuple(each for name in sorted(names) for each in self.held.get(name, unnamed)))

    def _read_by(self, words: tuple[Value, ...]) -> Ranges:
        """The commands whose output is at the descriptors that the words may name: `-u 3`, `/dev/fd/3`."""
        if not self.held:
            return ()
        numbers = sorted({_number(word.text) for word in words})
        return _few(tuple(each for number in numbers for each in self.held.get(f"&{number}", ())))

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
        self.input_from = (*self.input_from, *self._read_by(words))
        self.commands.append(Seen(name, path, words, span, self, inquiry, written, folder))

    def source(self, target: Value, span: Span, inquiry: Inquiry) -> None:
        """A redirection that reads."""
        self.commands.append(Seen(OPENED, (OPENED,), (target,), span, self, inquiry, (), None))

    def target(self, target: Value, span: Span) -> None:
        """A redirection that writes."""
        self.written.append(Written(target, span, len(self.commands)))
