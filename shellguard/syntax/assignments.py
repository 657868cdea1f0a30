# SPDX-License-Identifier: Apache-2.0
"""Assignments and arrays. Source: bash manual, "Shell Parameters" and "Arrays"."""

from __future__ import annotations

from shellguard.syntax.nodes import Array, ArrayElement, Assignment, Text, Word
from shellguard.syntax.redirects import read_newline
from shellguard.syntax.tokens import NAME, NAME_START, WORD_END
from shellguard.syntax.words import ARGUMENT, VALUE, read_parts, read_subscript, read_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.syntax.cursor import Cursor


def read_assignment(cursor: Cursor) -> Assignment | None:
    """The assignment at the cursor; None, and the cursor where it was, if there is none."""
    text, start = cursor.text, cursor.pos
    if text[start] not in NAME_START:
        return None
    pos = start + 1
    while text[pos] in NAME:
        pos += 1
    char = text[pos]
    if char == "\\" and text[pos + 1] == "\n":
        _refuse_continued_assignment(cursor, pos)
        return None
    if char not in "=+[":
        return None
    name = text[start:pos]
    cursor.pos = pos
    index = None
    if char == "[":
        index = read_subscript(cursor)
    append = text[cursor.pos] == "+" and text[cursor.pos + 1] == "="
    if not append and text[cursor.pos] != "=":
        _refuse_odd_word(cursor, index)
        cursor.pos = start
        return None
    cursor.pos += 2 if append else 1
    begin = cursor.pos
    value: Word | Array
    if text[begin] == "(":
        if index is not None:
            raise cursor.error("an array inside an array element", begin)
        value = read_array(cursor)
    else:
        value = Word(tuple(read_parts(cursor, VALUE)), (begin, cursor.pos))
    return Assignment(name, index, append, value, (start, cursor.pos))


def _refuse_continued_assignment(cursor: Cursor, pos: int) -> None:
    """Bash joins `na\\<newline>me=1` into an assignment before it looks at it; too rare to model."""
    text = cursor.text
    end = pos
    while text[end] in NAME or (text[end] == "\\" and text[end + 1] == "\n"):
        end += 2 if text[end] == "\\" else 1
    if text[end] in "=[" or text.startswith("+=", end):
        raise cursor.error(
            "a line continuation inside the name of an assignment is not modelled", pos, pos + 2
        )


def _refuse_odd_word(cursor: Cursor, index: Word | None) -> None:
    """`a[1 2]`, without `=` behind it, is one word to bash where a command may stand; nobody writes that in earnest."""
    if index is not None and any(char in WORD_END for char in cursor.text[index.span[0] : index.span[1]]):
        raise cursor.error("brackets around blanks or operators, and no assignment", *index.span)


def read_array(cursor: Cursor) -> Array:
    """`(a [1]=b)`, the cursor on the parenthesis. Newlines and comments may stand between the elements."""
    text, start = cursor.text, cursor.pos
    cursor.enter(start)
    cursor.pos = start + 1
    elements: list[ArrayElement] = []
    while True:
        cursor.skip_blanks()
        char = text[cursor.pos]
        if char == ")":
            break
        if char == "\n":
            if cursor.pending:
                raise cursor.error("a here-document that begins before an array is not modelled", cursor.pos)
            read_newline(cursor)
        elif char == "#":
            cursor.pos = _line_end(cursor)
        else:
            elements.append(_read_element(cursor))
    cursor.pos += 1
    cursor.depth -= 1
    if not cursor.ends_word(cursor.pos):
        raise cursor.error("text directly after an array is not modelled", cursor.pos)
    return Array(tuple(elements), (start, cursor.pos))


def _line_end(cursor: Cursor) -> int:
    end = cursor.text.find("\n", cursor.pos)
    return cursor.end if end < 0 else end


def _read_element(cursor: Cursor) -> ArrayElement:
    text, start = cursor.text, cursor.pos
    index = None
    append = False
    if text[start] == "[":
        index = read_subscript(cursor)
        append = text[cursor.pos] == "+" and text[cursor.pos + 1] == "="
        if append or text[cursor.pos] == "=":
            cursor.pos += 2 if append else 1
            begin = cursor.pos
            value = Word(tuple(read_parts(cursor, VALUE)), (begin, cursor.pos))
            return ArrayElement(index, append, value, (start, cursor.pos))
        _refuse_odd_word(cursor, index)
        cursor.pos = start
    value = read_word(cursor, ARGUMENT)
    return ArrayElement(None, False, value, value.span)


def read_declared_array(cursor: Cursor) -> Word | None:
    """`name=(...)` as an argument of `declare` and its kin: a word of a Text and an Array.

    None if something else stands there.
    """
    text, start = cursor.text, cursor.pos
    if text[start] not in NAME_START:
        return None
    pos = start + 1
    while text[pos] in NAME:
        pos += 1
    if text[pos] == "[":
        return None
    if text[pos] == "+":
        pos += 1
    if text[pos] != "=" or text[pos + 1] != "(":
        return None
    cursor.pos = pos + 1
    array = read_array(cursor)
    return Word((Text(text[start : pos + 1], (start, pos + 1)), array), (start, cursor.pos))
