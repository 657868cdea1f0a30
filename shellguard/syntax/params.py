# SPDX-License-Identifier: Apache-2.0
"""What stands inside `${ }`. Source: bash manual, "Shell Parameter Expansion"."""

from __future__ import annotations

from shellguard.syntax import arith
from shellguard.syntax.nodes import Param, Word
from shellguard.syntax.tokens import DIGIT, END, NAME, NAME_START, SPECIAL_PARAMETERS
from shellguard.syntax.words import (
    PARAM_PATTERN,
    PARAM_WORD,
    read_parts,
    read_quoted_argument,
    read_subscript,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.syntax.cursor import Cursor
    from shellguard.syntax.nodes import Arith
    from shellguard.syntax.words import Context

_DEFAULTS = frozenset("-=?+")
_TRANSFORMATIONS = frozenset("QEPAKakuUL")
_PATTERN_STOP = frozenset("/}" + END)
_WORD_STOP = frozenset("}" + END)


def read_param(cursor: Cursor, quoted: bool) -> Param:
    """`${...}`, the cursor on the dollar sign. `quoted` as for `read_expansion`."""
    start = cursor.pos
    cursor.enter(start)
    cursor.pos = start + 2
    prefix = _read_prefix(cursor)
    name = _read_name(cursor)
    index = read_subscript(cursor) if cursor.text[cursor.pos] == "[" and name[0] in NAME_START else None
    if prefix == "!" and index is None and cursor.text[cursor.pos : cursor.pos + 2] in ("*}", "@}"):
        operator = "names" + cursor.text[cursor.pos]
        cursor.pos += 1
        arguments: tuple[Word | Arith | None, ...] = ()
    else:
        operator, arguments = _read_operation(cursor, quoted)
    cursor.expect("}", "a parameter expansion")
    cursor.depth -= 1
    return Param(name, index, prefix, operator, arguments, (start, cursor.pos))


def _read_prefix(cursor: Cursor) -> str:
    """`#` or `!`, unless it is the parameter itself, as in `${#}` and `${!:-x}`."""
    text, pos = cursor.text, cursor.pos
    following = text[pos + 1]
    alone = {"#": "}:-=?+%#/", "!": "}:-=?+%/"}.get(text[pos], following)
    if following not in alone:
        cursor.pos = pos + 1
        return text[pos]
    if text[pos] == "#" and following in "-?#" and text[pos + 2] == "}":
        cursor.pos = pos + 1  # the length of `$-`, `$?`, `$#`
        return "#"
    return ""


def _read_name(cursor: Cursor) -> str:
    text, start = cursor.text, cursor.pos
    end = start + 1
    if text[start] in NAME_START:
        while text[end] in NAME:
            end += 1
    elif text[start] in DIGIT:
        while text[end] in DIGIT:
            end += 1
    elif text[start] not in SPECIAL_PARAMETERS:
        raise cursor.unexpected()
    cursor.pos = end
    return text[start:end]


def _read_operation(cursor: Cursor, quoted: bool) -> tuple[str, tuple[Word | Arith | None, ...]]:
    """The operator and its arguments; the cursor is left on the closing brace."""
    text, pos = cursor.text, cursor.pos
    char = text[pos]
    if char == "}":
        return "", ()
    double = text[pos : pos + 2]
    if char in _DEFAULTS or (char == ":" and text[pos + 1] in _DEFAULTS):
        operator = double if char == ":" else char
        cursor.pos = pos + len(operator)
        return operator, (_read_argument(cursor, quoted, PARAM_WORD, _WORD_STOP),)
    if char == ":":
        cursor.pos = pos + 1
        return ":", _read_slice(cursor)
    if char in "#%^,~":
        operator = double if text[pos + 1] == char else char
        cursor.pos = pos + len(operator)
        return operator, (_read_argument(cursor, quoted, PARAM_WORD, _WORD_STOP),)
    if char == "/":
        operator = double if text[pos + 1] in "/#%" else char
        cursor.pos = pos + len(operator)
        pattern = _read_argument(cursor, quoted, PARAM_PATTERN, _PATTERN_STOP)
        if text[cursor.pos] != "/":
            return operator, (pattern,)
        cursor.pos += 1
        return operator, (pattern, _read_argument(cursor, quoted, PARAM_WORD, _WORD_STOP))
    if char == "@" and text[pos + 1] in _TRANSFORMATIONS:
        cursor.pos = pos + 2
        return double, ()
    raise cursor.unexpected()


def _read_argument(cursor: Cursor, quoted: bool, context: Context, stop: frozenset[str]) -> Word:
    start = cursor.pos
    parts = read_quoted_argument(cursor, stop) if quoted else read_parts(cursor, context)
    return Word(tuple(parts), (start, cursor.pos))


def _read_slice(cursor: Cursor) -> tuple[Arith | None, ...]:
    """`offset` or `offset:length`, after the first colon."""
    offset = arith.read_expression(cursor)
    if cursor.text[cursor.pos] != ":":
        return (offset,)
    cursor.pos += 1
    return offset, arith.read_expression(cursor)
