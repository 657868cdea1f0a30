# SPDX-License-Identifier: Apache-2.0
"""Places in a text: what a span is, and how a person reads one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

Span: "TypeAlias" = tuple[int, int]
"""`(start, end)`, half open, in characters (code points) of the text. A plain tuple: one is made for every node."""


class Position:
    """Where a character stands for a person: `line` and `column`, both 1-based, counted in characters.

    Lines end at a newline only, as they do for bash; a carriage return is an ordinary character.
    """

    __slots__ = ("column", "line")
    __match_args__ = ("line", "column")

    def __init__(self, line: int, column: int) -> None:
        self.line, self.column = line, column

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


def position(text: str, offset: int) -> Position:
    """The position of `offset` in `text`. Offsets past the end count as the end."""
    offset = min(max(offset, 0), len(text))
    start_of_line = text.rfind("\n", 0, offset) + 1
    return Position(text.count("\n", 0, offset) + 1, offset - start_of_line + 1)


def line_at(text: str, offset: int) -> Span:
    """The span of the line that holds `offset`, without its newline."""
    offset = min(max(offset, 0), len(text))
    end = text.find("\n", offset)
    return text.rfind("\n", 0, offset) + 1, len(text) if end < 0 else end
