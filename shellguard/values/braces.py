# SPDX-License-Identifier: Apache-2.0
"""Brace expansion: one word becomes several, before anything else is expanded."""

from __future__ import annotations

from shellguard.syntax.nodes import Brace, BraceRange, Text
from shellguard.values.value import is_integer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.syntax.nodes import WordPart

MAX_WORDS = 1000
"""A word that would become more is not expanded: any number of words, nothing known of them."""


def expand_braces(parts: tuple[WordPart, ...]) -> list[tuple[WordPart, ...]] | None:
    """The words of `parts`, each without braces, in the order bash gives them; None when there are too many or any."""
    words: list[tuple[WordPart, ...]] = [()]
    for part in parts:
        if type(part) is Brace:
            items: list[tuple[WordPart, ...]] = []
            for item in part.items:
                expanded = expand_braces(item.parts)
                if expanded is None or len(items) + len(expanded) > MAX_WORDS:
                    return None
                items += expanded
        elif type(part) is BraceRange:
            texts = _range(part)
            if texts is None:
                return None
            items = [(Text(text, part.span),) for text in texts]
        else:
            words = [(*word, part) for word in words]
            continue
        if len(words) * len(items) > MAX_WORDS:
            return None
        words = [(*word, *item) for word in words for item in items]
    return words


def _range(part: BraceRange) -> list[str] | None:
    first, last = part.first, part.last
    if part.step and not _is_small(part.step):
        return None
    step = int(part.step) if part.step else 0
    if is_integer(first) and is_integer(last):
        if not (_is_small(first) and _is_small(last)):
            return None
        padded = any(_has_padding(text) for text in (first, last))
        width = max(len(first), len(last)) if padded else 0
        numbers = _steps(int(first), int(last), step)
        return None if numbers is None else [_pad(number, width) for number in numbers]
    if len(first) == 1 and len(last) == 1 and _same_case(first, last):
        codes = _steps(ord(first), ord(last), step)
        return None if codes is None else [chr(code) for code in codes]
    return None  # `{a..Z}` runs through characters that mean something to the shell


def _is_small(text: str) -> bool:
    return len(text) < 10 and is_integer(text)


def _has_padding(text: str) -> bool:
    digits = text.lstrip("+-")
    return len(digits) > 1 and digits[0] == "0"


def _same_case(first: str, last: str) -> bool:
    return ("a" <= first <= "z" and "a" <= last <= "z") or ("A" <= first <= "Z" and "A" <= last <= "Z")


def _steps(first: int, last: int, step: int) -> range | None:
    """From first to last, both included; the sign of `step` is that of the direction, and 0 counts as 1."""
    size = abs(step) or 1
    if abs(last - first) // size >= MAX_WORDS:
        return None
    return range(first, last + 1, size) if first <= last else range(first, last - 1, -size)


def _pad(number: int, width: int) -> str:
    sign = "-" if number < 0 else ""
    return sign + str(abs(number)).rjust(width - len(sign), "0") if width else str(number)
