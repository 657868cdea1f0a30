# SPDX-License-Identifier: Apache-2.0
"""The format of printf: the conversion `%n` assigns to the variable that an argument names."""

from __future__ import annotations

from shellguard.analysis.embedded import Finding
from shellguard.effects import Effect

_FLAGS = frozenset("#0- +'*.123456789$hlLjzt")


def read(text: str, found: list[Finding]) -> None:
    """Looks at each conversion of the format."""
    index = 0
    while True:
        index = text.find("%", index) + 1
        if index == 0:
            return
        while index < len(text) and text[index] in _FLAGS:
            index += 1
        if text[index : index + 1] == "(":  # %(format)T
            index = text.find(")", index) + 1 or len(text)
        conversion = text[index : index + 1]
        if conversion == "n":
            found.append(Finding(Effect.UNKNOWN, "%n assigns to a variable"))
        elif conversion and conversion not in "diouxXfFeEgGaAcsbqQT%":
            found.append(Finding(Effect.UNKNOWN, f"%{conversion} is no conversion that is known"))
        index += 1
