# SPDX-License-Identifier: Apache-2.0
"""Arithmetic: inside `$(( ))`, `(( ))`, `$[ ]`, `for (( ))`, and the offsets of `${x:offset:length}`.

A refusal here is stricter than bash, which looks at an expression only when it runs. Source: bash manual, "Shell
Arithmetic".
"""

from __future__ import annotations

from shellguard.errors import ShellSyntaxError
from shellguard.syntax.nodes import (
    ArithAssign,
    ArithGroup,
    ArithWord,
    Binary,
    Number,
    Ternary,
    Text,
    Unary,
    Variable,
    Word,
)
from shellguard.syntax.tokens import DIGIT, NAME, NAME_START
from shellguard.syntax.words import add_text, read_double, read_subscript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.syntax.cursor import Cursor
    from shellguard.syntax.nodes import Arith, WordPart

_LEVELS = ((1, ","), (4, "||"), (5, "&&"), (6, "|"), (7, "^"), (8, "&"), (9, "== !="), (10, "< > <= >="))
_TIGHTER = ((11, "<< >>"), (12, "+ -"), (13, "* / %"), (14, "**"))
_BINARY = {operator: power for power, operators in (*_LEVELS, *_TIGHTER) for operator in operators.split(" ")}
"""The binding power of each binary operator."""
_ASSIGNING = 2  # the binding power of assignment and of `?:` stands between the comma and the rest
_TERNARY = 3
_ASSIGNMENTS = frozenset(("=", "*=", "/=", "%=", "+=", "-=", "<<=", ">>=", "&=", "^=", "|="))
_OPERATORS = sorted({*_BINARY, *_ASSIGNMENTS, "?"}, key=len, reverse=True)
_OPERATOR_START = frozenset(operator[0] for operator in _OPERATORS)
_OPERAND = NAME | frozenset("#@.")
_FRAGMENTS = frozenset('$`"')


def read_double_parentheses(cursor: Cursor) -> tuple[Arith | None] | None:
    """What stands in `((...))`, the cursor on the first parenthesis; it is left behind the last.

    None, and the cursor where it was, if they open a subshell inside a subshell or a substitution. As bash does it:
    pair up the parentheses, quotes aside; it is arithmetic if the one that closes the inner parenthesis is directly
    followed by another. What turns out to be none is read again as commands: that is remembered, and bounded, so that
    nesting costs no exponential time.
    """
    opening = cursor.pos
    if opening in cursor.decided:
        known = cursor.decided[opening]
        if known is None:
            return None
        raise known
    depth, pending = cursor.depth, cursor.pending
    cursor.pos = opening + 2
    refused: ShellSyntaxError | None = None
    try:
        expression = read_expression(cursor)
        if cursor.text.startswith("))", cursor.pos):
            cursor.pos += 2
            return (expression,)
    except ShellSyntaxError as error:
        refused = error
    stopped = cursor.pos
    cursor.reread.spend(cursor, opening, stopped)
    cursor.pos, cursor.depth, cursor.pending = opening + 2, depth, pending
    try:
        if _closes_twice(cursor):
            cursor.pos = stopped
            raise refused or cursor.unexpected()
    except ShellSyntaxError as error:
        cursor.decided[opening] = error
        raise
    cursor.reread.spend(cursor, opening, cursor.pos)
    cursor.pos, cursor.depth, cursor.pending = opening, depth, pending
    cursor.decided[opening] = None
    return None


def _closes_twice(cursor: Cursor) -> bool:
    """Pairs up parentheses from inside `((` on."""
    text = cursor.text
    opening = cursor.pos
    level = 0
    while True:
        pos = cursor.pos
        char = text[pos]
        if char == "(":
            level += 1
        elif char == ")":
            if not level:
                if text.startswith("\\\n", pos + 1):
                    cursor.continuation_end(pos + 1, False)
                return text[pos + 1] == ")"
            level -= 1
        elif char == "\\":
            cursor.pos += 1
        elif char == "'":
            cursor.pos = text.find("'", pos + 1)
            if cursor.pos < 0:
                raise cursor.error("this single quote is never closed", pos)
        elif char == '"':
            read_double(cursor)
            continue
        elif char == "$" or char == "`":
            if cursor.read_expansion(cursor, True) is not None:
                continue
        if cursor.at_end():
            raise cursor.error("these parentheses are never closed", opening - 2, opening)
        cursor.pos += 1


def read_expression(cursor: Cursor) -> Arith | None:
    """The expression at the cursor, up to what cannot continue it; None where there is none.

    Blanks around it are skipped.
    """
    _skip_space(cursor)
    char = cursor.text[cursor.pos]
    if char in ")];:}" or cursor.at_end():
        return None
    return _read_binary(cursor, 0)


def _read_binary(cursor: Cursor, least: int) -> Arith:
    """An expression of operators that bind at least as tightly as `least`."""
    start = cursor.pos
    cursor.enter(start)
    left = _read_operand(cursor)
    while True:
        operator = _operator_at(cursor)
        power = _BINARY.get(operator, _TERNARY if operator == "?" else _ASSIGNING if operator else -1)
        if power < least:
            break
        cursor.pos += len(operator)
        _skip_space(cursor)
        if operator == "?":
            yes = _read_binary(cursor, 0)
            if cursor.text[cursor.pos] != ":":
                raise cursor.unexpected()
            cursor.pos += 1
            _skip_space(cursor)
            no = _read_binary(cursor, _ASSIGNING)
            left = Ternary(left, yes, no, (start, no.span[1]))
        elif operator in _BINARY:
            right = _read_binary(cursor, power if operator == "**" else power + 1)
            left = Binary(operator, left, right, (start, right.span[1]))
        else:
            if not isinstance(left, (Variable, ArithWord)):
                raise cursor.error("an assignment to what is no variable", *left.span)
            value = _read_binary(cursor, _ASSIGNING)
            left = ArithAssign(operator, left, value, (start, value.span[1]))
    cursor.depth -= 1
    return left


def _operator_at(cursor: Cursor) -> str:
    text, pos = cursor.text, cursor.pos
    if text[pos] in _OPERATOR_START:
        for operator in _OPERATORS:
            if text.startswith(operator, pos):
                return operator
    return ""


def _read_operand(cursor: Cursor) -> Arith:
    """One operand with the unary operators around it, and the space behind."""
    text, start = cursor.text, cursor.pos
    char = text[start]
    if char in "!~+-":
        operator = char * 2 if char in "+-" and text[start + 1] == char else char
        cursor.pos += len(operator)
        _skip_space(cursor)
        cursor.enter(start)
        operand = _read_operand(cursor)
        cursor.depth -= 1
        return Unary(operator, operand, False, (start, operand.span[1]))
    if char == "(":
        cursor.pos += 1
        _skip_space(cursor)
        expression = _read_binary(cursor, 0)
        if text[cursor.pos] != ")":
            raise cursor.unexpected()
        cursor.pos += 1
        operand = ArithGroup(expression, (start, cursor.pos))
    else:
        operand = _read_primary(cursor)
    _skip_space(cursor)
    following = text[cursor.pos : cursor.pos + 2]
    if following in ("++", "--") and isinstance(operand, (Variable, ArithWord)):
        cursor.pos += 2
        operand = Unary(following, operand, True, (start, cursor.pos))
        _skip_space(cursor)
    return operand


def _read_primary(cursor: Cursor) -> Arith:
    """A number, a variable with its subscript, or fragments of both, expansions and quotes side by side."""
    text, start = cursor.text, cursor.pos
    end = start
    while text[end] in _OPERAND:
        end += 1
    cursor.pos = end
    if text[end] not in _FRAGMENTS:
        if end == start:
            raise cursor.unexpected()
        if text[start] in DIGIT:
            return Number(text[start:end], (start, end))
        if text[start] not in NAME_START or any(char not in NAME for char in text[start:end]):
            raise cursor.error("neither a number nor a variable", start, end)
        index = read_subscript(cursor) if text[end] == "[" else None
        return Variable(text[start:end], index, (start, cursor.pos))
    parts: list[WordPart] = [Text(text[start:end], (start, end))] if end > start else []
    while True:
        pos = end = cursor.pos
        if text[pos] == '"':
            parts.append(read_double(cursor))
        elif text[pos] in _FRAGMENTS:
            part = cursor.read_expansion(cursor, True)
            if part is None:
                raise cursor.unexpected()
            parts.append(part)
        elif text[pos] in _OPERAND or text[pos] == "[":
            while text[end] in _OPERAND or text[end] == "[" or text[end] == "]":
                end += 1
            add_text(parts, text[pos:end], pos, end)
            cursor.pos = end
        else:
            word = Word(tuple(parts), (start, pos))
            return ArithWord(word, word.span)


def _skip_space(cursor: Cursor) -> None:
    """Past blanks, newlines and line continuations; one between two characters of an operand or operator is refused."""
    text, pos = cursor.text, cursor.pos
    begin = pos
    while True:
        char = text[pos]
        if char == " " or char == "\t" or char == "\n":
            pos += 1
        elif char == "\\" and text[pos + 1] == "\n":
            if pos == begin and text[pos + 2] not in " \t\n":
                raise cursor.error(
                    "a line continuation inside arithmetic is not modelled without blanks", pos, pos + 2
                )
            pos += 2
        else:
            cursor.pos = pos
            return
