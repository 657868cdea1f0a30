# SPDX-License-Identifier: Apache-2.0
"""What is known about one word of a command after the shell has expanded it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shellguard.spans import Span


class Shape:
    """What is known of a text whose characters are not. String constants; the empty text stands for nothing known.

    Every shape but NOTHING and TEXT is one word however it is quoted: not empty, without blanks and glob characters.
    """

    NOTHING = ""
    WORD = "word"
    """Does not begin with `-`."""
    HASH = "hash"
    """Hexadecimal digits."""
    NUMBER = "number"
    """Decimal digits."""
    INTEGER = "integer"
    """Decimal digits, perhaps behind one `-`."""
    SIGNED = "signed"
    """Begins as an integer does, and goes on."""
    TEXT = "text"
    """Does not begin with `-`; may hold anything behind that, as several lines do."""


SAMPLES = {Shape.NUMBER: "1", Shape.INTEGER: "1", Shape.HASH: "\0"}
"""A text that stands for any of the shape where a small language is read (`5p`, `$1`). Digits read alike everywhere;
a hash may be read as anything, so a reader meets a character there that it refuses outside of strings."""


class Value:
    """One word of a command, as far as it is known.

    `text` is all of it when `exact`, else how it begins (perhaps nothing). `many`: stands for zero or more words,
    each of them as described (a glob, an unquoted `$x`); for the value of a variable, what it is split into. `shape`
    says what an inexact value is made of. `sample` is a text of the same shape for readers of small languages, None
    where there is none; for an exact value it is `text`. `span` is where the word stands. `elements` are those of the
    array in a word `name=(...)`, of which `text` is the part in front. `optional`: all that is said may be so, or the
    text is empty (what a command prints that failed); with `many` it is one word or none.
    """

    __slots__ = ("elements", "exact", "many", "optional", "sample", "shape", "span", "text")
    __match_args__ = ("text", "exact", "many", "shape", "sample", "span")

    def __init__(
        self,
        text: str,
        span: Span,
        *,
        exact: bool = True,
        many: bool = False,
        shape: str = Shape.NOTHING,
        sample: str | None = None,
        elements: tuple[Value, ...] | None = None,
        optional: bool = False,
    ) -> None:
        self.text, self.span, self.exact, self.many = text, span, exact, many
        self.shape, self.elements, self.optional = shape, elements, optional
        self.sample = text if exact else sample

    @property
    def may_be_option(self) -> bool:
        """Whether a word like this could begin with `-` and say more than that."""
        if self.exact:
            return len(self.text) > 1 and self.text[0] == "-"
        if self.text:
            return self.text[0] == "-"
        return self.shape in (Shape.NOTHING, Shape.INTEGER, Shape.SIGNED)

    @property
    def may_be_absent(self) -> bool:
        """Whether it may be that no word stands here at all. A glob without a match stays as it is."""
        return self.many and (self.optional or not self.text)

    @property
    def may_split(self) -> bool:
        """Whether the shell makes something else than this one word of it where it stands without quotes."""
        return (
            not is_plain(self.text)
            if self.exact
            else self.shape in (Shape.NOTHING, Shape.TEXT) or not is_plain(self.text + "x")
        )

    @property
    def is_integer(self) -> bool:
        """Whether arithmetic can only read it as a number: it names no variable and holds no subscript."""
        return (
            is_integer(self.text)
            if self.exact
            else not self.text and self.shape in (Shape.NUMBER, Shape.INTEGER)
        )

    def at(self, span: Span) -> Value:
        """The same knowledge about a word at another place."""
        return Value(
            self.text,
            span,
            exact=self.exact,
            many=self.many,
            shape=self.shape,
            sample=self.sample,
            optional=self.optional,
        )

    def or_nothing(self) -> Value:
        """This text, or the empty one. Small languages read an absent number in other ways than a number."""
        if self.exact or (self.shape == Shape.NOTHING and not self.text):
            return self
        return Value(
            self.text, self.span, exact=False, many=self.many, shape=self.shape, sample=None, optional=True
        )

    def __repr__(self) -> str:
        mark = "" if self.exact else f", {self.shape or 'unknown'}"
        many = ", many" if self.many else ""
        return f"Value({self.text!r}{mark}{many}{', optional' if self.optional else ''})"

    def __eq__(self, other: object) -> bool:
        """The same knowledge; the place does not count."""
        if not isinstance(other, Value):
            return NotImplemented
        return (self.text, self.exact, self.many, self.shape, self.sample, self.optional) == (
            other.text,
            other.exact,
            other.many,
            other.shape,
            other.sample,
            other.optional,
        )

    def __hash__(self) -> int:
        return hash((self.text, self.exact, self.many, self.shape))


def known(text: str, span: Span) -> Value:
    """Exactly this text."""
    return Value(text, span)


def beginning(prefix: str, span: Span, *, many: bool = False) -> Value:
    """A word that begins with `prefix`, which may be empty."""
    return Value(prefix, span, exact=False, many=many)


def shaped(shape: str, span: Span, prefix: str = "") -> Value:
    """A word of a shape. `prefix` is how it begins, where that is known too."""
    return Value(prefix, span, exact=False, shape=shape, sample=None if prefix else SAMPLES.get(shape))


def unknown(span: Span, *, many: bool = False) -> Value:
    """Any text at all."""
    return Value("", span, exact=False, many=many)


_BLANKS_AND_GLOBS = frozenset(" \t\n*?[\\")


def is_plain(text: str) -> bool:
    """Whether the text stays one word, and no glob, where it is the value of an unquoted expansion."""
    return text != "" and _BLANKS_AND_GLOBS.isdisjoint(text)


def is_integer(text: str) -> bool:
    """Whether the text is a decimal integer, as arithmetic reads one (ASCII digits only)."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    return digits.isascii() and digits.isdigit()


def widen(values: Iterable[Value], span: Span) -> Value:
    """One value that covers each of `values` (at least one): what they have in common, and no more."""
    distinct = list(dict.fromkeys(values))
    if len(distinct) == 1:
        return distinct[0].at(span)
    prefix = common_prefix([value.text for value in distinct])
    shape = _common_shape(distinct)
    sample = SAMPLES.get(shape) if not prefix else None
    many = any(value.many for value in distinct)
    optional = any(value.optional for value in distinct)
    if shape == Shape.NUMBER or shape == Shape.INTEGER:
        prefix, sample = "", SAMPLES[shape]  # a number as a whole says more than how it begins
    if optional:
        sample = None
    return Value(prefix, span, exact=False, many=many, shape=shape, sample=sample, optional=optional)


def _common_shape(values: list[Value]) -> str:
    if all(value.is_integer for value in values):
        signs = any(value.shape == Shape.INTEGER or value.text[:1] in ("-", "+") for value in values)
        return Shape.INTEGER if signs else Shape.NUMBER
    if any(value.may_be_option or value.may_split or value.many or value.text == "-" for value in values):
        return Shape.NOTHING
    return Shape.WORD


def common_prefix(texts: list[str]) -> str:
    """The longest text with which each of `texts` begins."""
    first, last = min(texts), max(texts)
    for index, char in enumerate(first):
        if index >= len(last) or char != last[index]:
            return first[:index]
    return first
