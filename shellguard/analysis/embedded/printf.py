# SPDX-License-Identifier: Apache-2.0
"""The format of printf: the conversion `%n` assigns to the variable that an argument names."""

from __future__ import annotations

from shellguard.analysis.embedded import Finding
from shellguard.effects import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FLAGS = frozenset("#0- +'*.123456789$hlLjzt")


def read(text: str, found: list[Finding]) -> None:
    """Looks at each conversion of the format."""
    for flags, conversion in _conversions(text):
        if conversion == "n":
            found.append(Finding(Effect.UNKNOWN, "%n assigns to a variable"))
        elif conversion and conversion not in "diouxXfFeEgGaAcsbqQT%":
            found.append(Finding(Effect.UNKNOWN, f"%{flags}{conversion} is no conversion that is known"))


def takes_numbers(text: str) -> bool:
    """Whether some conversion of the format reads a word as a number, which zsh evaluates."""
    return any("*" in flags or conversion not in "csbqQ%" for flags, conversion in _conversions(text))


def _conversions(text: str) -> Iterator[tuple[str, str]]:
    """The flags and the letter of each conversion; an empty letter where the text ends before it."""
    index = 0
    while True:
        index = text.find("%", index) + 1
        if index == 0:
            return
        start = index
        while index < len(text) and text[index] in _FLAGS:
            index += 1
        flags = text[start:index]
        if text[index : index + 1] == "(":  # %(format)T
            index = text.find(")", index) + 1 or len(text)
        yield flags, text[index : index + 1]
        index += 1
