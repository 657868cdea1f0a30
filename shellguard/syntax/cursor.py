# SPDX-License-Identifier: Apache-2.0
"""A reading position over a text, shared by all parts of the parser."""

from __future__ import annotations

from shellguard.errors import ShellSyntaxError
from shellguard.syntax.tokens import END, NAME, PLAIN, WORD_END

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from shellguard.spans import Span
    from shellguard.syntax.nodes import HereDoc, Script, WordPart

    ReadScript: TypeAlias = Callable[["Cursor"], Script]
    ReadExpansion: TypeAlias = Callable[["Cursor", bool], WordPart | None]

_LOOKAHEAD = 4
"""How many END stand behind a text: the parser looks at most three characters ahead without a check."""

_SPACE = frozenset(" \t\n")
_NO_OPERATOR = frozenset(PLAIN | frozenset("}]\"'`"))
"""Behind these, what follows a continuation could be part of the same word."""

MAX_DEPTH = 50
"""Nesting beyond this is refused. Agents stay below 10; Python's own limit of 1,000 frames allows about 80."""


class Reread:
    """How many characters may be read a second time, in one text and in all that is taken out of it.

    Only `((` without arithmetic is read again. Agents write a few in a thousand commands; a text that nests them
    is refused rather than read for ever.
    """

    __slots__ = ("left",)

    def __init__(self, length: int) -> None:
        self.left = 10 * length + 1_000

    def spend(self, cursor: Cursor, start: int, end: int) -> None:
        self.left -= end - start
        if self.left < 0:
            raise cursor.error("too many `((` that begin no arithmetic", start, start + 2)


class Cursor:
    """`text[pos]` is the next character, `text[:end]` what is read, which is `source`; behind it stand a few END.

    `pending` are the here-documents named since the last newline. `decided` are the places of a `((` that are known
    to open two subshells (None) or to be refused. `read_script` and `read_expansion` tie the recursion between the
    modules: words hold scripts, and scripts hold words. `parse.py` sets them.
    """

    __slots__ = (
        *("decided", "depth", "end", "pending", "pos"),
        *("read_expansion", "read_script", "reread", "source", "text"),
    )

    def __init__(self, text: str, read_script: ReadScript, read_expansion: ReadExpansion) -> None:
        self.source = text
        self.text = text + END * _LOOKAHEAD
        self.end = len(text)
        self.pos = 0
        self.depth = 0
        self.pending: list[HereDoc] = []
        self.decided: dict[int, ShellSyntaxError | None] = {}
        self.reread = Reread(len(text))
        self.read_script = read_script
        self.read_expansion = read_expansion

    def within(self, text: str) -> Cursor:
        """A cursor over a text that was taken out of this one: a here-document body, what stands between backticks."""
        inner = Cursor(text, self.read_script, self.read_expansion)
        inner.depth, inner.reread = self.depth, self.reread
        return inner

    def at_end(self) -> bool:
        return self.pos >= self.end

    def error(self, message: str, start: int, end: int | None = None) -> ShellSyntaxError:
        """The refusal of `text[start:end]`.

        Without `end`, of the one character at `start` (the end of the text has none).
        """
        span: Span = (min(start, self.end), min(start + 1 if end is None else end, self.end))
        return ShellSyntaxError(message, span, self.source)

    def unexpected(self) -> ShellSyntaxError:
        """The refusal of the next character, or of the name that begins there."""
        if self.at_end():
            return self.error("the text ends where more is expected", self.pos)
        if self.text[self.pos] == "\n":
            return self.error("a line ends where more is expected", self.pos)
        end = self.pos + 1
        if self.text[self.pos] in NAME:
            while self.text[end] in NAME:
                end += 1
        return self.error(f"unexpected {self.text[self.pos : min(end, self.pos + 40)]!r}", self.pos, end)

    def enter(self, start: int) -> None:
        """One level deeper.

        The one who enters takes one off `depth` when done (a refusal ends the parse, so not then).
        """
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"nested deeper than {MAX_DEPTH} levels", start)

    def ends_word(self, pos: int) -> bool:
        """Whether an unquoted word ends before `pos`: at a metacharacter that begins no process substitution."""
        char = self.text[pos]
        return char in WORD_END and not ((char == "<" or char == ">") and self.text[pos + 1] == "(")

    def skip_blanks(self) -> None:
        """Past spaces, tabs and line continuations."""
        text, pos = self.text, self.pos
        while True:
            char = text[pos]
            if char == " " or char == "\t":
                pos += 1
            elif char == "\\" and text[pos + 1] == "\n":
                pos = self.continuation_end(pos, text[pos - 1] not in _NO_OPERATOR)
            else:
                self.pos = pos
                return

    def continuation_end(self, pos: int, joins: bool) -> int:
        """Past the line continuations at `pos`.

        Bash removes them before it looks for tokens, so one between two characters may make one token of them. That is
        refused, unless a blank or the end stands on either side, or `joins` tells that the character before goes with a
        plain one behind.
        """
        text = self.text
        before = text[pos - 1] if pos else "\n"
        end = pos
        while text[end] == "\\" and text[end + 1] == "\n":
            end += 2
        after = text[end]
        apart = before in _SPACE or after in _SPACE or end >= self.end
        if not apart and not (joins and after in PLAIN):
            raise self.error(
                "a line continuation between two characters that bash may join is not modelled", pos, end
            )
        return end

    def expect(self, token: str, what: str) -> None:
        """Past `token`, or a refusal that says `what` it would have ended."""
        if not self.text.startswith(token, self.pos):
            if self.at_end():
                raise self.error(f"the text ends inside {what}: {token!r} is missing", self.pos)
            raise self.error(f"{token!r} expected to end {what}", self.pos)
        self.pos += len(token)
