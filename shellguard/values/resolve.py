# SPDX-License-Identifier: Apache-2.0
"""Word and scope to values: quote removal, braces, tilde, variables, splitting, globs, without running anything.

Order as in the bash manual, "Shell Expansions": braces first, then tilde, parameters, substitutions and arithmetic
from the left, then word splitting, then file names.
"""

from __future__ import annotations

from shellguard.errors import assert_never
from shellguard.syntax.nodes import (
    AnsiC,
    ArithSub,
    Array,
    Brace,
    BraceRange,
    CommandSub,
    Double,
    Escaped,
    ExtGlob,
    Glob,
    Param,
    ProcessSub,
    Single,
    Text,
    Tilde,
)
from shellguard.values.braces import expand_braces
from shellguard.values.parameters import lists, parameter
from shellguard.values.value import Shape, Value, common_prefix, is_plain, shaped, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.spans import Span
    from shellguard.syntax.nodes import ArrayElement, Word, WordPart
    from shellguard.values.scope import Scope


def arguments(words: tuple[Word, ...], scope: Scope) -> list[Value]:
    """The words of a command after expansion and splitting: what the command will find as its arguments."""
    found: list[Value] = []
    for word in words:
        parts = word.parts
        if len(parts) == 1:  # nearly every word is plain, or in quotes
            part = parts[0]
            if type(part) is Double and len(part.parts) == 1:
                part = part.parts[0]
            if type(part) is Text or type(part) is Single:
                found.append(Value(part.text, word.span))
                continue
        found.extend(fields(word, scope))
    return found


def fields(word: Word, scope: Scope) -> list[Value]:
    """The words that one word becomes: none, one or several. An unknown number of them is one value with `many`."""
    parts = word.parts
    if any(type(part) is Brace or type(part) is BraceRange for part in parts):
        expanded = expand_braces(parts)
        if expanded is None:
            return [unknown(word.span, many=True)]
        return [value for each in expanded for value in _split(each, word.span, scope)]
    return _split(parts, word.span, scope)


def single(word: Word, scope: Scope) -> Value:
    """The one text that a word becomes where nothing is split and no file is looked for: `x=word`, `case`, `[[ ]]`."""
    builder = _Builder(word.span, "", scope.shell)
    _add_all(builder, word.parts, scope, quoted=True)
    return builder.joined()


def has_extensions(words: tuple[Word, ...]) -> bool:
    """Whether a shell that knows only POSIX (dash) reads other words here than bash: braces, `$'...'`, `$"..."`."""
    return any(_is_extension(part) for word in words for part in word.parts)


def _is_extension(part: WordPart) -> bool:
    return isinstance(part, Brace | BraceRange | AnsiC) or (isinstance(part, Double) and part.translated)


def without_extensions(words: tuple[Word, ...], scope: Scope) -> list[Value]:
    """The words of a command as such a shell reads them."""
    found: list[Value] = []
    for word in words:
        builder = _Builder(word.span, scope.separators(), scope.shell)
        for part in word.parts:
            if isinstance(part, AnsiC):  # a dollar sign, and quotes in which escapes mean nothing
                builder.literal("$")
                builder.hole(unknown(part.span))
            else:
                if isinstance(part, Double) and part.translated:
                    builder.literal("$")
                _add(builder, part, scope, quoted=False)
        builder.finish()
        found += builder.fields
    return found


def _split(parts: tuple[WordPart, ...], span: Span, scope: Scope) -> list[Value]:
    builder = _Builder(span, scope.separators(), scope.shell)
    _add_all(builder, parts, scope, quoted=False)
    builder.finish()
    return builder.fields


def _add_all(builder: _Builder, parts: tuple[WordPart, ...], scope: Scope, *, quoted: bool) -> None:
    last = -2  # where a bracket expression may end last; looked for when one may begin
    for index, part in enumerate(parts):
        if type(part) is Glob and part.text == "[" and not quoted:
            if last == -2:
                last = _last_close(parts)
            if index < last:
                _add(builder, part, scope, quoted=quoted)
            else:
                builder.literal("[")
        elif type(part) is Param and scope.has_zsh and goes_on_in_zsh(part, parts[index + 1 : index + 2]):
            builder.value(unknown(part.span), quoted=quoted)
        else:
            _add(builder, part, scope, quoted=quoted)


def goes_on_in_zsh(part: Param, following: tuple[WordPart, ...]) -> str:
    """How zsh reads on behind `$x` where bash does not: `[` for a subscript, `:` for a modifier, empty for neither."""
    if not following or part.span[1] - part.span[0] != len(part.name) + 1:  # `${x}`
        return ""
    after = following[0]
    text = after.text if isinstance(after, Text | Glob) else ""
    if text[:1] == "[":
        return "["
    return ":" if text[:1] == ":" and (text[1:2] in _MODIFIERS or text == ":") else ""


_MODIFIERS = tuple("aAcCeFfghlpPqQrsStuUwWxX&")


def _last_close(parts: tuple[WordPart, ...]) -> int:
    """The last part in which a bracket expression that begins before it may end; -1 for none."""
    for index in range(len(parts) - 1, -1, -1):
        part = parts[index]
        if (
            "]" in part.text
            if isinstance(part, Text | Single | AnsiC)
            else not isinstance(part, Glob | Escaped)
        ):
            return index
    return -1


def _add(builder: _Builder, part: WordPart, scope: Scope, *, quoted: bool) -> None:
    match part:
        case Text(text):
            builder.literal(text)
        case Escaped(char):
            builder.literal(char)
        case Single(text) | AnsiC(text):
            builder.quoted(text)
        case Double(parts):
            if len(parts) != 1 or type(parts[0]) is not Param:  # `"$@"` alone may be no word at all
                builder.quoted("")
            _add_all(builder, parts, scope, quoted=True)
        case Param():
            values = parameter(part, scope, single)
            if not quoted:
                builder.split(values)
            elif lists(part):
                builder.whole(values)
            else:
                builder.hole(values[0], quoted=True)
        case CommandSub():
            builder.value(scope.output_of(part), quoted=quoted)
        case ArithSub():
            builder.value(shaped(Shape.INTEGER, part.span), quoted=quoted)
        case ProcessSub():
            builder.literal("/dev/fd/")
            builder.hole(shaped(Shape.NUMBER, part.span))
        case Glob(text):
            if quoted:
                builder.literal(text)  # a pattern of `case` or `[[ ]]`, or a value: no file is looked for
            else:
                builder.glob()
        case ExtGlob():
            if quoted:
                builder.hole(unknown(part.span))
            else:
                builder.glob()
        case Tilde(user):
            builder.literal("~" + user)
        case Brace(items):  # only where braces are not expanded: text as it stands
            builder.literal("{")
            for index, item in enumerate(items):
                if index:
                    builder.literal(",")
                for inner in item.parts:
                    _add(builder, inner, scope, quoted=quoted)
            builder.literal("}")
        case BraceRange(first, last, step):
            builder.literal("{" + first + ".." + last + (".." + step if step else "") + "}")
        case Array(elements):
            builder.array(elements, scope)
        case _:
            assert_never(part)


_GLOBS = frozenset("*?[\\")
_BLANKS = " \t\n"
_WORDS = (Shape.WORD, Shape.HASH, Shape.NUMBER)


class _Builder:
    """Words under construction. The current one is `text`, then (when `open`) something that is not known.

    `separators` are the characters at which an unquoted expansion is split, None when nobody knows them.
    `blank`: all there is of the word so far may be empty, and `text` and `shape` hold only where it is not. `gone`:
    then there is no word. `lines`: it is one quoted text that would be many words without the quotes. `drops`: fish,
    which may read this too, drops a word with a part that is nothing (`dropped`).
    """

    __slots__ = (
        "blank",
        "dropped",
        "drops",
        "elements",
        "fields",
        "gone",
        "lines",
        "many",
        "open",
        "sample",
        "separators",
        "shape",
        "span",
        "started",
        "text",
    )

    def __init__(self, span: Span, separators: str | None, shell: str) -> None:
        self.span, self.separators = span, separators
        self.drops = shell == "any"
        self.fields: list[Value] = []
        self._begin()

    def _begin(self) -> None:
        self.text = ""
        self.sample: str | None = ""
        self.shape = Shape.NOTHING
        self.open = self.many = self.started = self.blank = self.gone = self.dropped = self.lines = False
        self.elements: tuple[Value, ...] | None = None

    def literal(self, text: str) -> None:
        """Characters that are there in any case."""
        if text:
            self.quoted(text)

    def quoted(self, text: str) -> None:
        """Characters in quotes: a word stands here even when there are none."""
        self.started = True
        self.gone = False
        if not self.open:
            self.text += text
        elif self.blank:
            if text:
                self._settle(text, is_plain(text))
        elif text:
            self.shape = self._continued(is_plain(text))
        if self.sample is not None:
            self.sample += text

    def array(self, elements: tuple[ArrayElement, ...], scope: Scope) -> None:
        """The array of `name=(...)`. One with subscripts is any number of words, nothing known of them."""
        found: list[Value] = []
        for element in elements:
            found += (
                [unknown(self.span, many=True)] if element.index is not None else fields(element.value, scope)
            )
        self.hole(unknown(self.span))
        self.elements = tuple(found)

    def _continued(self, plain: bool) -> str:
        """The shape of a word that had one and goes on."""
        self.lines = False
        if self.shape == Shape.TEXT:
            return Shape.TEXT
        if not plain or self.shape == Shape.NOTHING:
            return Shape.NOTHING
        return Shape.SIGNED if self.shape in (Shape.INTEGER, Shape.SIGNED) else Shape.WORD

    def _settle(self, text: str, plain: bool) -> None:
        """Behind what is perhaps empty stands a text that begins with `text`: the word begins with one or the other."""
        shaped_so = (*_WORDS, Shape.TEXT) if text else _WORDS
        known = self.shape in shaped_so and text[:1] != "-" and (plain or text != "")
        word = plain and self.shape in _WORDS and not self.lines
        self.text = common_prefix([self.text, text])
        self.shape = (Shape.WORD if word else Shape.TEXT) if known else Shape.NOTHING
        self.blank = self.lines = False

    def value(self, value: Value, *, quoted: bool) -> None:
        """The one value of an expansion."""
        if quoted:
            self.hole(value, quoted=True)
        else:
            self.split([value])

    def hole(self, value: Value, *, quoted: bool = False) -> None:
        """A text that is one piece of one word. What is `quoted` stays one, where it would be split into many too."""
        if value.exact:
            self.quoted(value.text)
            return
        if quoted and value.many:
            if value.shape == Shape.NOTHING:
                value = Value(
                    value.text if value.text and not value.optional else "", value.span, exact=False
                )
            elif self.started and (self.text or self.open):
                value = Value(value.text, value.span, exact=False, shape=Shape.TEXT, optional=True)
            else:
                self.lines = True
        if self.blank:
            self._settle(value.text, value.shape in _WORDS)
            self.blank = value.optional or value.many
        elif self.open:
            self.shape = self._continued(value.shape not in (Shape.NOTHING, Shape.TEXT))
        elif not self.text:
            self.text, self.shape = value.text, value.shape
            self.blank = value.optional or value.many
        else:
            plain = value.shape not in (Shape.NOTHING, Shape.TEXT) and is_plain(self.text)
            plain = plain and self.text[0] != "-"
            if not value.optional:
                self.text += value.text
            self.shape = Shape.WORD if plain else Shape.NOTHING
        self.sample = None if self.sample is None or value.sample is None else self.sample + value.sample
        self.started = self.open = True
        self.many = self.many or (value.many and not self.lines)

    def whole(self, values: list[Value]) -> None:
        """A quoted expansion; `"$@"` and `"${a[@]}"` are a word for each value, joined to what stands around."""
        for index, value in enumerate(values):
            if index:
                self.finish()
            self.started = True
            if value.many and not value.text and not value.shape:
                self._unknown_words()
            else:
                self.hole(value)

    def split(self, values: list[Value]) -> None:
        """An unquoted expansion: blanks end words, and glob characters look for files."""
        for index, value in enumerate(values):
            if index:
                self.finish()
            self.dropped = self.dropped or (self.drops and not value.exact)
            if self._stays_whole(value):
                first = not self.started
                self.hole(value)
                self.gone = self.gone or (first and value.optional)
            elif value.exact and self.separators is not None and self._only_blanks(value.text):
                self._split_text(value.text, self.separators)
            else:
                if not value.many and not value.optional and self.separators is not None:
                    self.literal(_plain_start(value.text, self.separators))
                self._unknown_words()

    def _stays_whole(self, value: Value) -> bool:
        if self.separators is None or (value.many and value.shape == Shape.NOTHING):
            return False
        if self.separators == _BLANKS:
            return not value.may_split
        if value.exact:
            return (
                value.text != "" and _GLOBS.isdisjoint(value.text) and not _holds(value.text, self.separators)
            )
        return (
            not value.may_split
            and not value.text
            and value.is_integer
            and not _holds("-0123456789", self.separators)
        )

    def _only_blanks(self, text: str) -> bool:
        """Whether all separators in `text` are blanks: others do not only end words, they make empty ones too."""
        return all(
            char in _BLANKS for char in text if self.separators is not None and char in self.separators
        )

    def _split_text(self, text: str, separators: str) -> None:
        piece = ""
        for char in text:
            if char in separators:
                self._piece(piece)
                piece = ""
                self.finish()
            else:
                piece += char
        self._piece(piece)

    def _piece(self, piece: str) -> None:
        for index, char in enumerate(piece):
            if char in _GLOBS:
                self.literal(piece[:index])
                self.glob()
                return
        self.literal(piece)

    def glob(self) -> None:
        """File names stand here: any number of words that begin as this one does."""
        self.started = self.open = self.many = True
        self.shape = Shape.NOTHING
        self.sample = None

    def _unknown_words(self) -> None:
        """An expansion that may be no word, or end this one and begin others."""
        if self.started and self.text:
            self.open = True
            self.shape, self.sample = Shape.NOTHING, None
            self.finish()
        self.text = ""
        self.started = self.open = self.many = True
        self.shape, self.sample = Shape.NOTHING, None

    def finish(self) -> None:
        """Ends the current word, if there is one."""
        if self.started:
            self.fields.append(self._value())
        self._begin()

    def _value(self) -> Value:
        if not self.open:
            return Value(self.text, self.span)
        if self.dropped and self.many and self.text[:1] != "-":  # how an option begins is the worst it can be
            return unknown(self.span, many=True)
        gone = self.dropped or (self.gone and self.blank)
        return Value(
            self.text,
            self.span,
            exact=False,
            many=self.many or gone,
            shape=Shape.TEXT if self.lines else self.shape,
            sample=self.sample,
            elements=self.elements,
            optional=not self.many and (self.blank or gone),
        )

    def joined(self) -> Value:
        """The one text of a place where nothing is split."""
        if self.fields:
            return Value(self.fields[0].text, self.span, exact=False)
        if self.many:
            return Value(self.text, self.span, exact=False)
        if self.lines:
            return Value(self.text, self.span, exact=False, many=True, shape=self.shape)
        return self._value()


def _holds(text: str, separators: str) -> bool:
    return any(char in separators for char in text)


def _plain_start(text: str, separators: str) -> str:
    """The part of a value up to its first separator or glob character."""
    for index, char in enumerate(text):
        if char in separators or char in _GLOBS:
            return text[:index]
    return text
