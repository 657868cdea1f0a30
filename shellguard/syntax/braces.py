# SPDX-License-Identifier: Apache-2.0
"""Brace expansion: which braces of a word the shell expands.

Follows the search that bash makes (`brace_gobbler` of bash 5.2): an opening brace pairs with the first closing one
of its level that a comma or `..` precedes; what does not pair is text. A test compares the outcome with bash on
generated words.
"""

from __future__ import annotations

from shellguard.syntax.nodes import Brace, BraceRange, Text, Word
from shellguard.syntax.tokens import DIGIT, LETTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from shellguard.syntax.cursor import Cursor
    from shellguard.syntax.nodes import WordPart

    Item: TypeAlias = "WordPart | Mark"

_MAX_MARKS = 500
"""Braces and commas in one word. The search is quadratic in them, as in bash; a word with more is refused."""


class Mark:
    """An unquoted `{`, `,` or `}`, not yet known to be text or part of an expansion."""

    __slots__ = ("char", "span")

    def __init__(self, char: str, pos: int) -> None:
        self.char, self.span = char, (pos, pos + 1)


def fold_braces(cursor: Cursor, items: list[Item]) -> list[WordPart]:
    """The parts of a word, its marks replaced by Brace and BraceRange, or by text where the shell expands nothing."""
    if sum(type(item) is Mark for item in items) > _MAX_MARKS:
        raise cursor.error(
            f"more than {_MAX_MARKS} braces and commas in one word", items[0].span[0], items[-1].span[1]
        )
    return _fold(cursor, items)


def _fold(cursor: Cursor, items: list[Item]) -> list[WordPart]:
    parts: list[WordPart] = []
    begin = index = 0
    while index < len(items):
        item = items[index]
        index += 1
        if not _is(item, "{"):
            _add(parts, item)
            continue
        following = items[index] if index < len(items) else None
        alone = index - 1 == begin and (
            following is None or _is(following, "}")
        )  # `{}` at the start of a word
        close = None if alone else _closing(items, index)
        if close is None:
            _add(parts, item)
            continue
        parts.extend(_pair(cursor, items, index, close))
        begin = index = close + 1
    return parts


def _closing(items: list[Item], index: int) -> int | None:
    """Where the brace that was opened before `index` is closed."""
    level = 0
    divided = False  # has a comma or `..` been seen at this level?
    for place in range(index, len(items)):
        item = items[place]
        if type(item) is Mark:
            if item.char == "{":
                level += 1
            elif item.char == "," and not level:
                divided = True
            elif item.char == "}":
                if divided and not level:
                    return place
                level = max(level - 1, 0)
        elif type(item) is Text and not level and not divided:
            dots = item.text.find("..")
            ends = dots + 2 == len(item.text) and place + 1 < len(items) and _is(items[place + 1], "}")
            divided = dots >= 0 and not ends
    return None


def _pair(cursor: Cursor, items: list[Item], index: int, close: int) -> list[WordPart]:
    """What the shell makes of the braces around `items[index:close]`."""
    span = (items[index - 1].span[0], items[close].span[1])
    choices: list[Word] = []
    level = 0
    begin = index
    for place in range(index, close + 1):
        item = items[place]
        if type(item) is not Mark:
            continue
        if not level and (item.char == "," or place == close):
            start = items[begin - 1].span[1]
            cursor.enter(start)
            choices.append(Word(tuple(_fold(cursor, items[begin:place])), (start, item.span[0])))
            cursor.depth -= 1
            begin = place + 1
        elif item.char == "{":
            level += 1
        elif item.char == "}":
            level = max(level - 1, 0)
    if len(choices) > 1:
        return [Brace(tuple(choices), span)]
    inside = items[index:close]
    if len(inside) == 1 and type(inside[0]) is Text:
        ends = inside[0].text.split("..")
        if _is_range(ends):
            return [BraceRange(ends[0], ends[1], ends[2] if len(ends) == 3 else "", span)]
    parts: list[WordPart] = []
    for item in items[index - 1 : close + 1]:
        _add(parts, item)
    return parts


def _is_range(ends: list[str]) -> bool:
    if len(ends) == 3 and not _is_integer(ends[2]):
        return False
    if len(ends) not in (2, 3):
        return False
    letters = all(len(end) == 1 and end in LETTERS for end in ends[:2])
    return letters or all(_is_integer(end) for end in ends[:2])


def _is_integer(text: str) -> bool:
    digits = text[1:] if text[:1] in ("-", "+") else text
    return 0 < len(digits) < 19 and all(char in DIGIT for char in digits)


def _is(item: Item, char: str) -> bool:
    return type(item) is Mark and item.char == char


def _add(parts: list[WordPart], item: Item) -> None:
    """Adds an item as it stands: a mark is text, and text joins the text before it."""
    if type(item) is Mark:
        item = Text(item.char, item.span)
    assert not isinstance(item, Mark)
    if type(item) is Text and parts and type(parts[-1]) is Text:
        last = parts[-1]
        assert isinstance(last, Text)
        parts[-1] = Text(last.text + item.text, (last.span[0], item.span[1]))
    else:
        parts.append(item)
