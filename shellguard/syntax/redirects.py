# SPDX-License-Identifier: Apache-2.0
"""Redirections and here-documents. Source: bash manual, "Redirections"."""

from __future__ import annotations

from shellguard.errors import ShellSyntaxError
from shellguard.syntax.nodes import Double, Escaped, HereDoc, HereString, Redirect, Single, Text, Word
from shellguard.syntax.tokens import DIGIT, NAME, NAME_START, REDIRECT_OPERATORS
from shellguard.syntax.walk import moved, moved_span
from shellguard.syntax.words import ARGUMENT, PATTERN, VALUE, read_body, read_parts, read_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.spans import Span
    from shellguard.syntax.cursor import Cursor
    from shellguard.syntax.nodes import Redirection, WordPart

_MAX_DESCRIPTOR_DIGITS = 9
"""A longer number is no descriptor for bash (it exceeds an int), and not modelled."""


def redirect_at(cursor: Cursor) -> int:
    """The length of what stands before the operator of a redirection at the cursor: 0, digits or `{name}`.

    -1 if there is none.
    """
    text, pos = cursor.text, cursor.pos
    char = text[pos]
    if char == "<" or char == ">":
        return 0 if text[pos + 1] != "(" else -1
    if char == "&":
        return 0 if text[pos + 1] == ">" else -1
    end = pos
    if char in DIGIT:
        while text[end] in DIGIT:
            end += 1
        if end - pos > _MAX_DESCRIPTOR_DIGITS and text[end] in "<>":
            raise cursor.error("a file descriptor of this size is not modelled", pos, end)
    elif char == "{" and text[pos + 1] in NAME_START:
        end += 1
        while text[end] in NAME:
            end += 1
        if text[end] != "}":
            return -1
        end += 1
    else:
        return -1
    return end - pos if text[end] in "<>" and text[end + 1] != "(" else -1


def read_redirection(cursor: Cursor, before: int) -> Redirection:
    """The redirection at the cursor; `before` as `redirect_at` gave it.

    The body of a here-document comes with the next newline.
    """
    text, start = cursor.text, cursor.pos
    descriptor = text[start : start + before] or None
    pos = start + before
    operator = next(operator for operator in REDIRECT_OPERATORS if text.startswith(operator, pos))
    cursor.pos = pos + len(operator)
    if text.startswith("\\\n", cursor.pos) and text[cursor.pos + 2] in "<>&|-(":
        raise cursor.error(
            "a line continuation inside an operator is not modelled", cursor.pos, cursor.pos + 2
        )
    cursor.skip_blanks()
    further = redirect_at(cursor)
    if cursor.text[cursor.pos] == "#" or (
        further > 0 and not (operator[-1] == "&" and text[cursor.pos] in DIGIT)
    ):
        raise cursor.unexpected()  # a comment, or the descriptor of a further redirection
    if operator == "<<" or operator == "<<-":
        return _read_here_document(cursor, descriptor, operator == "<<-", start)
    if operator == "<<<":
        word = read_word(cursor, VALUE)
        return HereString(descriptor, word, (start, cursor.pos))
    pos = cursor.pos
    if operator in ("<&", ">&") and text[pos] == "-":
        cursor.pos = pos + 1  # what follows is a word of its own: `>& -b` closes, and passes `b`
        target = Word((Text("-", (pos, pos + 1)),), (pos, pos + 1))
    else:
        target = read_word(cursor, ARGUMENT)
    return Redirect(descriptor, operator, target, (start, cursor.pos))


def _read_here_document(cursor: Cursor, descriptor: str | None, strips_tabs: bool, start: int) -> HereDoc:
    begin = cursor.pos
    parts = read_parts(cursor, PATTERN)
    if not parts:
        raise cursor.unexpected()
    delimiter = ""
    quoted = False
    for part in parts:
        literal = _delimiter_text(part)
        if literal is None or "\n" in literal:
            raise cursor.error("this here-document delimiter is not modelled", begin, cursor.pos)
        delimiter += literal
        quoted = quoted or type(part) is not Text
    if cursor.text.find("\\\n", begin, cursor.pos) >= 0:
        raise cursor.error(
            "a line continuation in a here-document delimiter is not modelled", begin, cursor.pos
        )
    body = Word((), (cursor.pos, cursor.pos))
    document = HereDoc(descriptor, delimiter, quoted, strips_tabs, body, (start, cursor.pos))
    cursor.pending.append(document)
    return document


def _delimiter_text(part: WordPart) -> str | None:
    """The part of a delimiter after quote removal; None for what bash treats in ways of its own."""
    match part:
        case Text(text) | Single(text):
            return text
        case Escaped(char):
            return char
        case Double((Text(text),), False):
            return text
        case Double((), False):
            return ""
    return None


def read_newline(cursor: Cursor) -> None:
    """Past the newline at the cursor, and past the bodies of the here-documents that were named before it."""
    cursor.pos += 1
    if cursor.pending:
        pending, cursor.pending = cursor.pending, []
        for document in pending:
            _read_body(cursor, document)


def _read_body(cursor: Cursor, document: HereDoc) -> None:
    """Takes the lines up to the delimiter and fills `document.body`."""
    start = body_end = cursor.pos
    pieces: list[Span] = []
    cut = False  # does the end of the text end the body in the middle of a line?
    while cursor.pos < cursor.end:
        line = _read_line(cursor, joins=not document.quoted)
        whole = _joined(cursor.text, line)
        cut = whole != "" and whole[-1] != "\n"
        if document.strips_tabs:
            line = _without_tabs(cursor.text, line)
        if _joined(cursor.text, line).removesuffix("\n") == document.delimiter:
            cut = False
            break
        pieces += line
        body_end = cursor.pos
    content = _joined(cursor.text, pieces)
    if cut:
        if not document.quoted and content[-1:] == "\\":
            raise cursor.error("a here-document that ends in a backslash is not modelled", body_end - 1)
        content += "\n"  # bash adds it
    if document.quoted or ("$" not in content and "`" not in content and "\\" not in content):
        parts: tuple[WordPart, ...] = (
            (Text(content, (pieces[0][0] if pieces else start, body_end)),) if content else ()
        )
    else:
        parts = _read_expanded_body(cursor, content, pieces)
    document.body = Word(parts, (start, body_end))


def _joined(text: str, spans: list[Span]) -> str:
    return "".join([text[begin:end] for begin, end in spans])


def _read_line(cursor: Cursor, *, joins: bool) -> list[Span]:
    """The spans of one line with its newline. With `joins`, a line that ends in a backslash goes on behind it.

    Bash joins lines before it strips tabs and before it looks for the delimiter.
    """
    text = cursor.text
    line: list[Span] = []
    while True:
        begin = cursor.pos
        newline = text.find("\n", begin)
        cursor.pos = cursor.end if newline < 0 else newline + 1
        backslashes = newline - begin - len(text[begin:newline].rstrip("\\"))
        if newline < 0 or not joins or backslashes % 2 == 0:
            line.append((begin, cursor.pos))
            return line
        line.append((begin, newline - 1))


def _without_tabs(text: str, line: list[Span]) -> list[Span]:
    """A line without the tabs that begin it, also those behind a joint."""
    for index, (begin, end) in enumerate(line):
        first = begin
        while first < end and text[first] == "\t":
            first += 1
        if first < end:
            return [(first, end), *line[index + 1 :]]
    return []


def _read_expanded_body(cursor: Cursor, content: str, pieces: list[Span]) -> tuple[WordPart, ...]:
    origins = [offset for begin, end in pieces for offset in range(begin, end)]
    origins += [pieces[-1][1]] * (len(content) - len(origins) + 1)
    inner = cursor.within(content)
    try:
        return tuple([moved(part, origins) for part in read_body(inner)])
    except ShellSyntaxError as error:
        raise cursor.error(error.message, *moved_span(error.span, origins)) from None
