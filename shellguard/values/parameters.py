# SPDX-License-Identifier: Apache-2.0
"""The value of a parameter expansion: `$x`, `${x:-y}`, `${x##*/}`, `$@`."""

from __future__ import annotations

from shellguard.syntax.nodes import Glob, Text, Word
from shellguard.values.value import Shape, Value, shaped, unknown, widen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from shellguard.spans import Span
    from shellguard.syntax.nodes import Param
    from shellguard.values.scope import Scope

    Single: TypeAlias = Callable[[Word, Scope], Value]

_NUMBERS = frozenset("?#$")
_LISTS = frozenset("@*")


def parameter(part: Param, scope: Scope, single: Single) -> list[Value]:
    """What the expansion gives: one value, or one for each element of `$@` and `${a[@]}`.

    A list that is not known is one value with `many`. `single` reads the word of `${x:-word}` (it is passed in, since
    words hold parameters).
    """
    if part.prefix == "#":
        return [shaped(Shape.NUMBER, part.span)]
    if part.prefix == "!":
        return [_names(part)]
    base = _base(part, scope)
    operator = part.operator
    if operator == "":
        return base
    if len(base) != 1 or base[0].many:
        return [unknown(part.span, many=lists(part))]
    return [_operated(part, base[0], scope, single)]


def lists(part: Param) -> bool:
    """Whether the expansion may be several words even in quotes: `$@`, `${a[@]}`, `${!x}` of such a one."""
    if part.prefix == "!":
        return True
    if part.index is not None:
        return _literal(part.index) in ("@", "*")
    return part.name in _LISTS


def _names(part: Param) -> Value:
    """`${!a[@]}`, `${!x}`: the keys of an array may be any text, and so may what another variable names."""
    return unknown(part.span, many=True)


def _base(part: Param, scope: Scope) -> list[Value]:
    name, span = part.name, part.span
    if part.index is not None:
        return _element(name, part.index, span, scope)
    if name in _LISTS:
        return _positional(scope, span)
    if name in _NUMBERS:
        return [shaped(Shape.NUMBER, span)]
    if name.isascii() and name.isdigit():
        return [_argument(int(name), span, scope)]
    if name == "!":  # the number of the last job; nothing at all before the first one
        return [Value("", span, exact=False, shape=Shape.NUMBER, optional=True)]
    if name == "-":
        return [unknown(span)]
    return [scope.value(name, span)]


def _positional(scope: Scope, span: Span) -> list[Value]:
    if scope.positional is None:
        return [unknown(span, many=True)]
    return [value.at(span) for value in scope.positional]


def _argument(number: int, span: Span, scope: Scope) -> Value:
    """`$1` and on. A list with an unknown number of words tells nothing about the places behind it."""
    if number == 0 or scope.positional is None:
        return unknown(span)
    values = scope.positional
    for value in values[:number]:
        if value.many:
            return unknown(span)
    return values[number - 1].at(span) if number <= len(values) else Value("", span)


def _element(name: str, index: Word, span: Span, scope: Scope) -> list[Value]:
    variable = scope.variable(name)
    elements = None if variable is None else variable.elements
    place = _literal(index)
    if elements is None:
        return [unknown(span, many=place in ("@", "*"))]
    if place in ("@", "*"):
        return [value.at(span) for value in elements]
    if any(value.many for value in elements):
        return [unknown(span)]
    if not scope.has_zsh and place.isascii() and place.isdigit() and len(place) < 10:
        number = int(place)
        return [elements[number].at(span)] if number < len(elements) else [Value("", span)]
    return [widen((*elements, Value("", span)), span)]  # zsh counts from 1


def _literal(word: Word) -> str:
    """The text of a word of plain characters, empty for any other."""
    if len(word.parts) == 1:
        part = word.parts[0]
        if type(part) is Text or type(part) is Glob:
            return part.text
    return ""


def _operated(part: Param, value: Value, scope: Scope, single: Single) -> Value:
    """`value` behind an operator, where the outcome can be told; else unknown."""
    operator, span = part.operator, part.span
    if operator in ("?", ":?"):
        return value
    if operator in ("-", ":-", "=", ":="):
        if certainly_set(value):
            return value
        other = single(_word(part), scope)
        if value.exact and operator[0] == ":":
            return other.at(span)
        if value.optional and operator[0] == ":":
            value = Value(value.text, span, exact=False, shape=value.shape)
        return widen((value, other), span)
    if operator in ("+", ":+"):
        other = single(_word(part), scope)
        return widen((Value("", span), other), span)
    if operator in _TRIMMERS and value.exact:
        trimmed = _trim(value.text, operator, _word(part))
        return unknown(span) if trimmed is None else Value(trimmed, span)
    if operator in _CASES and value.exact and value.text.isascii() and not _has_pattern(part):
        return Value(_CASES[operator](value.text), span)
    if operator in _TRIMMERS and value.is_integer and not value.exact:
        return unknown(span)
    return unknown(span)


def certainly_set(value: Value) -> bool:
    """Whether the value is not empty in any case, so that `${x:=y}` leaves it alone."""
    if value.optional:
        return False
    return value.text != "" or (value.shape != Shape.NOTHING and not value.many)


def _has_pattern(part: Param) -> bool:
    """Whether `${x^pattern}` changes only some characters."""
    return any(isinstance(word, Word) and word.parts for word in part.arguments)


def _word(part: Param) -> Word:
    word = part.arguments[0]
    assert isinstance(word, Word)  # as each operator that is asked for here has one
    return word


_TRIMMERS = frozenset({"#", "##", "%", "%%"})


def _upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


_CASES: dict[str, Callable[[str], str]] = {
    "^": _upper_first,
    "^^": str.upper,
    ",": _lower_first,
    ",,": str.lower,
    "@u": _upper_first,
    "@U": str.upper,
    "@L": str.lower,
}


def _trim(text: str, operator: str, pattern: Word) -> str | None:
    """`${text#pattern}` for a pattern of plain text with at most one `*` at its outer end; None for any other.

    `##*/` and `%.py` are the ones that people write.
    """
    pieces = pattern.parts
    if any(type(piece) is not Text and not (type(piece) is Glob and piece.text == "*") for piece in pieces):
        return None
    stars = [index for index, piece in enumerate(pieces) if type(piece) is Glob]
    literal = "".join(piece.text for piece in pieces if type(piece) is Text)
    if operator[0] == "#":
        return _trim_front(text, literal, stars, longest=operator == "##")
    mirrored = [len(pieces) - 1 - index for index in stars]
    trimmed = _trim_front(text[::-1], literal[::-1], mirrored, longest=operator == "%%")
    return None if trimmed is None else trimmed[::-1]


def _trim_front(text: str, literal: str, stars: list[int], *, longest: bool) -> str | None:
    if not stars:
        return text[len(literal) :] if text.startswith(literal) else text
    if stars != [0] or not literal:
        return None
    at = text.rfind(literal) if longest else text.find(literal)
    return text if at < 0 else text[at + len(literal) :]
