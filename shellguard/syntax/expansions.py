# SPDX-License-Identifier: Apache-2.0
"""What a `$` or a backtick begins: parameters, command substitution, arithmetic, `$'...'` and `$"..."`."""

from __future__ import annotations

from shellguard.errors import ShellSyntaxError
from shellguard.syntax import arith, params
from shellguard.syntax.ansi import decode_ansi
from shellguard.syntax.nodes import AnsiC, ArithSub, CommandSub, Param
from shellguard.syntax.tokens import NAME, NAME_START, SPECIAL_PARAMETERS
from shellguard.syntax.walk import moved, moved_span
from shellguard.syntax.words import read_double

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.syntax.cursor import Cursor
    from shellguard.syntax.nodes import WordPart


def read_expansion(cursor: Cursor, quoted: bool) -> WordPart | None:
    """The expansion at the cursor, which stands on `$` or a backtick; None for a `$` that is text.

    `quoted` tells that it stands between double quotes, in a here-document or in arithmetic.
    """
    text, start = cursor.text, cursor.pos
    if text[start] == "`":
        return _read_backticks(cursor, quoted)
    char = text[start + 1]
    if char in NAME_START:
        end = start + 2
        while text[end] in NAME:
            end += 1
        cursor.pos = end
        return Param(text[start + 1 : end], None, "", "", (), (start, end))
    if char == "(":
        if text[start + 2] == "(":
            cursor.pos = start + 1
            arithmetic = arith.read_double_parentheses(cursor)
            if arithmetic is not None:
                return ArithSub(arithmetic[0], (start, cursor.pos))
        cursor.pos = start + 2
        script = cursor.read_script(cursor)
        cursor.expect(")", "a command substitution")
        return CommandSub(script, "$(", (start, cursor.pos))
    if char == "{":
        return (
            _read_function_substitution(cursor)
            if text[start + 2] in " \t\n|"
            else params.read_param(cursor, quoted)
        )
    if char in SPECIAL_PARAMETERS:
        cursor.pos = start + 2
        return Param(char, None, "", "", (), (start, start + 2))
    if char == "[":
        cursor.pos = start + 2
        expression = arith.read_expression(cursor)
        cursor.expect("]", "an arithmetic expansion")
        return ArithSub(expression, (start, cursor.pos))
    if char == "\\" and text[start + 2] == "\n":
        raise cursor.error("a line continuation directly after `$` is not modelled", start, start + 3)
    if char == "`":
        raise cursor.error("a dollar sign directly before a backtick is not modelled", start, start + 2)
    if quoted:
        return None
    if char == "'":
        return _read_ansi(cursor)
    if char == '"':
        cursor.pos = start + 1
        return read_double(cursor, translated=True)
    return None


def _read_ansi(cursor: Cursor) -> AnsiC:
    text, start = cursor.text, cursor.pos
    end = start + 2
    while text[end] != "'":
        end += 2 if text[end] == "\\" else 1
        if end >= cursor.end:
            raise cursor.error("this $' quote is never closed", start)
    value = decode_ansi(text[start + 2 : end])
    if value is None:
        raise cursor.error("an escape inside $'...' that is not modelled", start, end + 1)
    cursor.pos = end + 1
    return AnsiC(value, (start, end + 1))


def _read_function_substitution(cursor: Cursor) -> CommandSub:
    """`${ script; }` and `${| script; }`: run in the shell itself by bash 5.3, ksh and mksh.

    Older bash refuses them when run.
    """
    start = cursor.pos
    form = "${|" if cursor.text[start + 2] == "|" else "${"
    cursor.pos = start + len(form)
    script = cursor.read_script(cursor)
    cursor.expect("}", "a function substitution")
    return CommandSub(script, form, (start, cursor.pos))


def _read_backticks(cursor: Cursor, quoted: bool) -> CommandSub:
    r"""A command substitution between backticks.

    Bash first takes the text up to the first backtick without a backslash, whatever quotes stand there. It removes
    every line continuation, and the backslashes before `` \ ` $ `` (and `"` where the whole is quoted). Then it
    reads the rest as a script.
    """
    text, start = cursor.text, cursor.pos
    removable = '\\`$"' if quoted else "\\`$"
    pieces: list[str] = []
    origins: list[int] = []  # the offset in `text` of each character that stays
    pos = start + 1
    while text[pos] != "`":
        if pos >= cursor.end:
            raise cursor.error("this backtick is never closed", start)
        if text[pos] == "\\":
            if text[pos + 1] == "\n":  # gone whatever quotes stand around it, single ones too
                pos += 2
                continue
            if text[pos + 1] in removable:
                pos += 1
        pieces.append(text[pos])
        origins.append(pos)
        pos += 1
    origins.append(pos)
    inner = cursor.within("".join(pieces))
    inner.enter(0)
    try:
        script = inner.read_script(inner)
        if not inner.at_end():
            raise inner.unexpected()
    except ShellSyntaxError as error:
        raise cursor.error(error.message, *moved_span(error.span, origins)) from None
    cursor.pos = pos + 1
    return CommandSub(moved(script, origins), "$(", (start, pos + 1))
