# SPDX-License-Identifier: Apache-2.0
"""Lists of names, for the readers of languages that have many."""

from __future__ import annotations


def names(text: str) -> frozenset[str]:
    """The words of a text with one blank between them."""
    return frozenset(text.split(" "))
