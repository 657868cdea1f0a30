# SPDX-License-Identifier: Apache-2.0
"""Inside `[[ ]]`. Source: bash manual, "Conditional Constructs" and "Bash Conditional Expressions"."""

from __future__ import annotations

from shellguard.syntax.nodes import CondAndOr, CondBinary, CondGroup, CondNot, CondUnary, CondWord, Text
from shellguard.syntax.tokens import BINARY_TESTS, UNARY_TESTS
from shellguard.syntax.words import PATTERN, REGEX, read_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.syntax.cursor import Cursor
    from shellguard.syntax.nodes import Condition, Word


def read_condition(cursor: Cursor) -> Condition:
    """The condition at the cursor; it is left before the `]]` or `)` that ends it."""
    left = _read_and(cursor)
    while cursor.text.startswith("||", cursor.pos):
        cursor.pos += 2
        right = _read_and(cursor)
        left = CondAndOr("||", left, right, (left.span[0], right.span[1]))
    return left


def _read_and(cursor: Cursor) -> Condition:
    left = _read_term(cursor)
    while cursor.text.startswith("&&", cursor.pos):
        cursor.pos += 2
        right = _read_term(cursor)
        left = CondAndOr("&&", left, right, (left.span[0], right.span[1]))
    return left


def _read_term(cursor: Cursor) -> Condition:
    """One test and the space behind it."""
    _skip_space(cursor)
    start = cursor.pos
    if cursor.text[start] == "(":
        cursor.enter(start)
        cursor.pos += 1
        condition = read_condition(cursor)
        cursor.expect(")", "a group of conditions")
        cursor.depth -= 1
        group = CondGroup(condition, (start, cursor.pos))
        _skip_space(cursor)
        return group
    if cursor.text.startswith("!(", start):  # no extended glob where a term begins
        cursor.pos += 1
        condition = _read_term(cursor)
        return CondNot(condition, (start, condition.span[1]))
    word = read_word(cursor, PATTERN)
    literal = literal_text(word)
    cursor.skip_blanks()
    _refuse_comment(cursor)
    if literal == "!":
        cursor.enter(start)
        condition = _read_term(cursor)
        cursor.depth -= 1
        return CondNot(condition, (start, condition.span[1]))
    if literal == "]]":
        raise cursor.error("a condition is missing before `]]`", *word.span)
    term: Condition
    if literal in UNARY_TESTS:
        operand = _read_operand(cursor, literal)
        term = CondUnary(literal, operand, (start, operand.span[1]))
    else:
        term = _read_rest(cursor, word)
    _skip_space(cursor)
    return term


def _read_rest(cursor: Cursor, left: Word) -> Condition:
    """A comparison that begins with `left`, or `left` alone."""
    text, pos = cursor.text, cursor.pos
    if text[pos] in "<>":
        operator = text[pos]
        cursor.pos += 1
    elif text[pos] in "=!-":
        operator = literal_text(read_word(cursor, PATTERN))
        if operator not in BINARY_TESTS:
            raise cursor.error("not an operator of `[[ ]]`", pos, cursor.pos)
    else:
        if text[pos] == "\n":
            raise cursor.unexpected()  # bash looks for an operator on the line of a lone word
        return CondWord(left, left.span)
    right = _read_operand(cursor, operator)
    return CondBinary(operator, left, right, (left.span[0], right.span[1]))


def _read_operand(cursor: Cursor, operator: str) -> Word:
    cursor.skip_blanks()
    _refuse_comment(cursor)
    word = read_word(cursor, REGEX if operator == "=~" else PATTERN)
    if literal_text(word) == "]]":
        raise cursor.error(f"an operand is missing after {operator!r}", *word.span)
    return word


def literal_text(word: Word) -> str:
    """The text of a word that is nothing but plain characters; else empty."""
    return word.parts[0].text if len(word.parts) == 1 and type(word.parts[0]) is Text else ""


def _skip_space(cursor: Cursor) -> None:
    """Past blanks and newlines.

    Comments are not modelled here, nor a here-document that is named before such a newline.
    """
    cursor.skip_blanks()
    while cursor.text[cursor.pos] == "\n":
        if cursor.pending:
            raise cursor.error("a here-document that begins inside `[[ ]]` is not modelled", cursor.pos)
        cursor.pos += 1
        cursor.skip_blanks()
    _refuse_comment(cursor)


def _refuse_comment(cursor: Cursor) -> None:
    if cursor.text[cursor.pos] == "#":
        raise cursor.error("a comment inside `[[ ]]` is not modelled", cursor.pos)
