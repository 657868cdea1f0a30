# SPDX-License-Identifier: Apache-2.0
"""Words: quotes, globs, tilde, and the text between. Expansions are read by `expansions.py`, through the cursor."""

from __future__ import annotations

from shellguard.syntax.braces import Mark, fold_braces
from shellguard.syntax.nodes import (
    Double,
    Escaped,
    ExtGlob,
    Glob,
    Param,
    ProcessSub,
    Single,
    Text,
    Tilde,
    Word,
)
from shellguard.syntax.tokens import END, NAME, NAME_START, PLAIN, QUOTING, WORD_END

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.syntax.braces import Item
    from shellguard.syntax.cursor import Cursor
    from shellguard.syntax.nodes import WordPart


class Context:
    """How unquoted text is read in one kind of place.

    `stop` ends the word. `braces`: `{a,b}` is an expansion. `colon_tildes`: a tilde counts after each `:` too.
    `groups`: parentheses hold whatever stands between them, as in the operand of `=~`. `process_subs`: `<( )` is one.
    """

    __slots__ = ("braces", "colon_tildes", "groups", "in_braces", "process_subs", "special", "stop")

    def __init__(
        self,
        stop: frozenset[str],
        *,
        braces: bool = False,
        colon_tildes: bool = False,
        groups: bool = False,
        process_subs: bool = True,
    ) -> None:
        self.stop = stop
        self.braces, self.colon_tildes = braces, colon_tildes
        self.groups, self.process_subs = groups, process_subs
        self.special = stop | QUOTING | frozenset("*?[(<>" + END)
        if groups:
            self.special |= {")"}
        if braces:
            self.special |= {"{"}
        if colon_tildes:
            self.special |= {":"}
        self.in_braces = self.special | {",", "}"}


ARGUMENT = Context(WORD_END, braces=True)
VALUE = Context(WORD_END, colon_tildes=True)
ARGUMENT_VALUE = Context(WORD_END, braces=True, colon_tildes=True)
PATTERN = Context(WORD_END)
REGEX = Context(frozenset(" \t\n;&<>)" + END), groups=True)
EXTGLOB_ARM = Context(frozenset("|)}" + END), process_subs=False)  # bash ends a `${ }` at a `}`, even here
PARAM_WORD = Context(frozenset("}" + END), process_subs=False)
PARAM_PATTERN = Context(frozenset("/}" + END), process_subs=False)

_PARENTHESES = frozenset("(<>")
_EXTGLOB_OPERATORS = frozenset("?*+@!")
_DOUBLE_STOP = frozenset('"' + END)
_DOUBLE_ESCAPES = frozenset('$`"\\')
_BODY_STOP = frozenset(END)
_BODY_ESCAPES = frozenset("$`\\")
_PAIRED = frozenset("\"'<>")
_QUOTED_ARGUMENT_ESCAPES = frozenset('$`"\\}')


def read_word(cursor: Cursor, context: Context = ARGUMENT) -> Word:
    """The word whose first character is at the cursor. Refuses an empty one."""
    start = cursor.pos
    parts = read_parts(cursor, context)
    if not parts:
        raise cursor.unexpected()
    if context is ARGUMENT and cursor.text.find("~", start + 1, cursor.pos) > 0:
        parts = _with_value_tildes(cursor, start, parts)
    return Word(tuple(parts), (start, cursor.pos))


def _with_value_tildes(cursor: Cursor, start: int, parts: list[WordPart]) -> list[WordPart]:
    """The parts of `name=~/x` as an argument: bash replaces the tilde there as it does in an assignment."""
    text, end = cursor.text, cursor.pos
    joint = text.find("\\\n", start, end)
    if joint >= 0:
        raise cursor.error("a line continuation in a word with a tilde is not modelled", joint, joint + 2)
    pos = start
    while text[pos] in NAME:
        pos += 1
    if text[start] not in NAME_START or text[pos] not in "=+[":
        return parts
    if text[pos] == "[":
        raise cursor.error(
            "a tilde in an argument that looks like an array element is not modelled", start, end
        )
    pos += 1 if text[pos] == "=" else 2
    if text[pos - 1] != "=":
        return parts
    cursor.pos = pos
    name: list[WordPart] = [Text(text[start:pos], (start, pos))]
    value = read_parts(cursor, ARGUMENT_VALUE)
    if value and type(value[0]) is Text:
        add_text(name, value[0].text, *value[0].span)
        value = value[1:]
    return name + value


def read_parts(cursor: Cursor, context: Context) -> list[WordPart]:
    """The parts up to a character of `context.stop`, at which the cursor is left; empty when it is there already."""
    text = cursor.text
    start = pos = cursor.pos
    special = context.special
    while text[pos] not in special:
        pos += 1
    char = text[pos]
    if char in context.stop and char not in _PARENTHESES and text[start] != "~":
        cursor.pos = pos  # the common word: plain characters only
        return [Text(text[start:pos], (start, pos))] if pos > start else []
    return _read_mixed_parts(cursor, context)


def _read_mixed_parts(cursor: Cursor, context: Context) -> list[WordPart]:
    text = cursor.text
    parts: list[WordPart] = []
    items: list[Item] = []  # what stands before the last mark of a brace expansion, marks included
    special = context.special
    brackets = _Brackets(context)
    groups = 0  # parentheses open in an operand of `=~`
    if text[cursor.pos] == "~":
        _read_tilde(cursor, context, parts)
    while True:
        start = pos = cursor.pos
        while text[pos] not in special:
            pos += 1
        if pos > start:
            add_text(parts, text[start:pos], start, pos)
            cursor.pos = pos
        char = text[pos]
        if char == "$" or char == "`":
            part = cursor.read_expansion(cursor, False)
            if part is None:  # a dollar sign that expands nothing
                add_text(parts, char, pos, pos + 1)
                cursor.pos = pos + 1
            else:
                parts.append(part)
        elif char == '"':
            parts.append(read_double(cursor))
        elif char == "'":
            parts.append(read_single(cursor))
        elif char == "\\" and text[pos + 1] == "\n":
            plain = bool(parts) and type(parts[-1]) is Text and text[pos - 1] in PLAIN and not items
            cursor.pos = cursor.continuation_end(pos, plain)
        elif char == "\\":
            _read_escape(cursor, parts)
        elif char in _PARENTHESES and _read_parenthesized(cursor, context, parts):
            pass
        elif char in context.stop and not (groups and char != END):
            break
        elif char == END:
            raise cursor.unexpected()
        elif char == "*" or char == "?":
            parts.append(Glob(char, (pos, pos + 1)))
            cursor.pos = pos + 1
        elif char == "[":
            bracket = brackets.read(cursor)
            if type(bracket) is Text:
                add_text(parts, char, pos, pos + 1)
            else:
                parts.append(bracket)
        elif (char == "{" and context.braces) or (items and (char == "," or char == "}")):
            special = context.in_braces
            items += parts
            items.append(Mark(char, pos))
            parts.clear()
            cursor.pos = pos + 1
        else:
            if context.groups:
                groups += (char == "(") - (char == ")")
            add_text(parts, char, pos, pos + 1)
            cursor.pos = pos + 1
            if char == ":" and context.colon_tildes and text[pos + 1] == "~":
                _read_tilde(cursor, context, parts)
    return fold_braces(cursor, [*items, *parts]) if items else parts


def add_text(parts: list[WordPart], text: str, start: int, end: int) -> None:
    """Adds literal characters, joined to a Text that stands last, so that no two Text follow each other."""
    if parts:
        last = parts[-1]
        if type(last) is Text:
            parts[-1] = Text(last.text + text, (last.span[0], end))
            return
    parts.append(Text(text, (start, end)))


def _read_escape(cursor: Cursor, parts: list[WordPart]) -> None:
    """A backslash outside quotes, and the character it quotes."""
    pos = cursor.pos
    char = cursor.text[pos + 1]
    if pos + 1 == cursor.end:
        parts.append(
            Escaped("\\", (pos, pos + 1))
        )  # `bash -c 'echo a\'` keeps a backslash that ends the text
        cursor.pos = pos + 1
    else:
        parts.append(Escaped(char, (pos, pos + 2)))
        cursor.pos = pos + 2


def read_single(cursor: Cursor) -> Single:
    """`'text'`."""
    start = cursor.pos
    end = cursor.text.find("'", start + 1)
    if end < 0:
        raise cursor.error("this single quote is never closed", start)
    cursor.pos = end + 1
    return Single(cursor.text[start + 1 : end], (start, end + 1))


def read_double(cursor: Cursor, *, translated: bool = False) -> Double:
    """`"parts"`, the cursor on the opening quote. With `translated`, a dollar sign stands before it."""
    opening = cursor.pos
    start = opening - 1 if translated else opening
    text = cursor.text
    cursor.pos = opening + 1
    end = text.find('"', cursor.pos)
    if end < 0:
        raise cursor.error("this double quote is never closed", opening)
    plain = text[opening + 1 : end]
    if "\\" not in plain and "$" not in plain and "`" not in plain:
        cursor.pos = end + 1
        parts: tuple[WordPart, ...] = (Text(plain, (opening + 1, end)),) if plain else ()
        return Double(parts, translated, (start, end + 1))
    cursor.enter(opening)
    parts = tuple(read_quoted_parts(cursor, _DOUBLE_STOP, _DOUBLE_ESCAPES))
    cursor.depth -= 1
    if cursor.at_end():
        raise cursor.error("this double quote is never closed", opening)
    cursor.pos += 1
    return Double(parts, translated, (start, cursor.pos))


def read_body(cursor: Cursor) -> list[WordPart]:
    """The whole text of the cursor as the body of a here-document whose delimiter is not quoted."""
    return read_quoted_parts(cursor, _BODY_STOP, _BODY_ESCAPES)


def read_quoted_argument(cursor: Cursor, stop: frozenset[str]) -> list[WordPart]:
    """The argument of a `${ }` that stands in double quotes, up to a character of `stop`; quotes inside it pair up."""
    return read_quoted_parts(cursor, stop | _PAIRED, _QUOTED_ARGUMENT_ESCAPES, quotes=True)


def read_quoted_parts(
    cursor: Cursor, stop: frozenset[str], escapes: frozenset[str], *, quotes: bool = False
) -> list[WordPart]:
    """Parts as between double quotes, up to a character of `stop`.

    A backslash quotes the characters of `escapes` and removes a newline; before others it is text. With `quotes`,
    `"` opens a nested Double and `'` is text, refused where bash's versions disagree about what it would hide.
    """
    text = cursor.text
    special = stop | {"$", "`", "\\", END}
    parts: list[WordPart] = []
    while True:
        start = pos = cursor.pos
        while text[pos] not in special:
            pos += 1
        if pos > start:
            add_text(parts, text[start:pos], start, pos)
            cursor.pos = pos
        char = text[pos]
        if char == "\\" and pos + 1 < cursor.end:
            following = text[pos + 1]
            cursor.pos = pos + 2
            if following in escapes:
                parts.append(Escaped(following, (pos, pos + 2)))
            elif following == "\n" and parts and type(parts[-1]) is Param and text[pos - 1] in NAME:
                cursor.continuation_end(pos, text[pos + 2] not in NAME)
            elif following != "\n":
                add_text(parts, char + following, pos, pos + 2)
        elif char == "$" or char == "`":
            part = cursor.read_expansion(cursor, True)
            if part is not None:
                parts.append(part)
            elif (quotes and text[pos + 1] == "'") or (
                '"' in stop and stop is not _DOUBLE_STOP and text[pos + 1] == '"'
            ):
                # To bash these are quotes here, but not elsewhere between double quotes.
                raise cursor.error(
                    "$' and $\" inside a quoted ${ } or a subscript are not modelled", pos, pos + 2
                )
            else:
                add_text(parts, char, pos, pos + 1)
                cursor.pos = pos + 1
        elif quotes and char == '"':
            parts.append(read_double(cursor))
        elif quotes and (char == "<" or char == ">"):
            if text[pos + 1] == "(":  # bash looks for its end, though it is text
                raise cursor.error("`<(` and `>(` inside a quoted ${ } are not modelled", pos, pos + 2)
            add_text(parts, char, pos, pos + 1)
            cursor.pos = pos + 1
        elif quotes and char == "'":
            _read_single_in_quoted_argument(cursor, parts)
        elif char == "\\":
            add_text(parts, char, pos, pos + 1)
            cursor.pos = pos + 1
        else:
            return parts


def _read_single_in_quoted_argument(cursor: Cursor, parts: list[WordPart]) -> None:
    """`'text'` inside `"${x...}"`. Whether it quotes depends on the operator and on the version of bash.

    Both readings agree about where the expansion ends when nothing between the quotes is special, and only that is
    modelled.
    """
    start = cursor.pos
    quoted = read_single(cursor)
    for char in quoted.text:
        if char in '"`$\\{}':
            raise cursor.error(
                "single quotes around special characters inside a quoted ${ } are not modelled",
                start,
                cursor.pos,
            )
    add_text(parts, f"'{quoted.text}'", start, cursor.pos)


def read_subscript(cursor: Cursor) -> Word:
    """`[index]` of an array element, the cursor on the bracket: what stands between, read as between double quotes.

    A bare `}` is refused: inside `${ }`, bash ends the expansion there, brackets or not.
    """
    opening = cursor.pos
    text = cursor.text
    cursor.pos = opening + 1
    cursor.enter(opening)
    parts: list[WordPart] = []
    brackets = 1
    stop = frozenset("[]}\"'" + END)
    while True:
        for part in read_quoted_parts(cursor, stop, _DOUBLE_ESCAPES):
            if type(part) is Text:
                add_text(parts, part.text, *part.span)
            else:
                parts.append(part)
        pos = cursor.pos
        char = text[pos]
        if cursor.at_end():
            raise cursor.error("this bracket is never closed", opening)
        if char == "}":
            raise cursor.error("a closing brace inside the brackets of an array element is not modelled", pos)
        if char == '"':
            parts.append(read_double(cursor))
            continue
        if char == "'":
            parts.append(read_single(cursor))
            continue
        brackets += 1 if char == "[" else -1
        cursor.pos = pos + 1
        if not brackets:
            break
        add_text(parts, char, pos, pos + 1)
    cursor.depth -= 1
    return Word(tuple(parts), (opening + 1, cursor.pos - 1))


def _read_tilde(cursor: Cursor, context: Context, parts: list[WordPart]) -> None:
    """A tilde where the shell would replace one: alone it is if nothing quoted or expanded follows before `/`."""
    text, start = cursor.text, cursor.pos
    pos = start + 1
    ends = context.special | {"/"}
    while text[pos] not in ends:
        pos += 1
    char = text[pos]
    if char == "\\" and text[pos + 1] == "\n":
        raise cursor.error("a line continuation behind a tilde is not modelled", pos, pos + 2)
    if char == "/" or (char in context.stop and char != "(") or (char == ":" and context.colon_tildes):
        parts.append(Tilde(text[start + 1 : pos], (start, pos)))
        cursor.pos = pos
    else:
        add_text(parts, "~", start, start + 1)
        cursor.pos = start + 1


class _Brackets:
    """Reads `[` in one word.

    Remembers where a search for the closing bracket failed, so that a word takes linear time.
    """

    __slots__ = ("_cut", "_ends", "_failed")

    def __init__(self, context: Context) -> None:
        self._ends = (context.in_braces if context.braces else context.special) - {"[", "*", "?", ":"}
        self._failed = 0  # no bracket expression that begins before here is complete ...
        self._cut = False  # ... because quotes or expansions stand in it, where the shell may still find one

    def read(self, cursor: Cursor) -> WordPart:
        text, start = cursor.text, cursor.pos
        cursor.pos = start + 1
        if start >= self._failed:
            pos = start + 1
            if text[pos] == "!" or text[pos] == "^":
                pos += 1
            if text[pos] == "]":
                pos += 1
            while text[pos] != "]" and text[pos] not in self._ends:
                pos = self._class_end(text, pos) if text[pos] == "[" else pos + 1
            if text[pos] == "]":
                cursor.pos = pos + 1
                return Glob(text[start : pos + 1], (start, pos + 1))
            if text.startswith("\\\n", pos):
                raise cursor.error("a line continuation between brackets is not modelled", pos, pos + 2)
            self._failed = pos
            self._cut = text[pos] not in WORD_END
        return Glob("[", (start, start + 1)) if self._cut else Text("[", (start, start + 1))

    def _class_end(self, text: str, pos: int) -> int:
        """Past `[:alpha:]`, `[.x.]` or `[=x=]` inside a bracket expression; past the bracket if there is none."""
        kind = text[pos + 1]
        if kind in ":.=":
            end = pos + 2
            while text[end] not in self._ends and text[end] not in "[]":
                end += 1
            if text[end] == "]" and text[end - 1] == kind and end > pos + 2:
                return end + 1
        return pos + 1


def _read_parenthesized(cursor: Cursor, context: Context, parts: list[WordPart]) -> bool:
    """`<( )`, `>( )` or an extended glob, if that is what stands at the cursor."""
    text, pos = cursor.text, cursor.pos
    if text[pos] != "(":
        if text[pos + 1] != "(":
            return False
        if not context.process_subs:
            raise cursor.error("process substitution is not modelled here", pos, pos + 2)
        cursor.pos = pos + 2
        script = cursor.read_script(cursor)
        cursor.expect(")", "a process substitution")
        parts.append(ProcessSub(script, text[pos], (pos, cursor.pos)))
        return True
    operator = _take_extglob_operator(parts, pos)
    if not operator:
        return False
    cursor.pos = pos + 1
    cursor.enter(pos)
    arms = []
    while True:
        start = cursor.pos
        arms.append(Word(tuple(read_parts(cursor, EXTGLOB_ARM)), (start, cursor.pos)))
        if text[cursor.pos] != "|":
            break
        cursor.pos += 1
    cursor.expect(")", "an extended glob")
    cursor.depth -= 1
    parts.append(ExtGlob(operator, tuple(arms), (pos - 1, cursor.pos)))
    return True


def _take_extglob_operator(parts: list[WordPart], pos: int) -> str:
    """Removes the operator of an extended glob, directly before `pos`, from the parts read so far.

    Empty if there is none.
    """
    if not parts or parts[-1].span[1] != pos:
        return ""
    last = parts[-1]
    if not isinstance(last, (Text, Glob)) or last.text[-1] not in _EXTGLOB_OPERATORS:
        return ""
    operator = last.text[-1]
    parts.pop()
    if len(last.text) > 1:
        parts.append(Text(last.text[:-1], (last.span[0], pos - 1)))
    return operator
