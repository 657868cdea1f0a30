# SPDX-License-Identifier: Apache-2.0
"""Lists of names, for the readers of languages that have many."""

from __future__ import annotations

COMMON = (
    "acc count data doc idx item items json key line lines memo name num nums out result row rows str sum text total "
    "val value word words"
)
"""Names of variables that are no function or module of ruby and node: those of two letters are taken apart."""


def is_own(name: str) -> bool:
    """Whether a variable of this name hides nothing: outside of its block the name could mean a function or module."""
    return name in names(COMMON) or (len(name) <= 2 and name not in ("fs", "os", "vm", "v8", "p", "pp", "$_"))


def names(text: str) -> frozenset[str]:
    """The words of a text with one blank between them."""
    return frozenset(text.split(" "))
