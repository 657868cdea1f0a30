# SPDX-License-Identifier: Apache-2.0
"""jq filters: they read their input and print; the few that look elsewhere are named here."""

from __future__ import annotations

from shellguard.analysis.embedded import Finding, NotUnderstoodError
from shellguard.effects import Effect

_NAME_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME_LATER = _NAME_FIRST | frozenset("0123456789:")
_PUNCTUATION = frozenset(".,|:;()[]{}?=<>!+-*/%@$&#\\'^~ \t\r\n0123456789")


def read(text: str, found: list[Finding]) -> None:
    """Looks for what leaves the input: the environment, modules."""
    for name in _names(text):
        if name in ("import", "include", "modulemeta", "get_search_list"):
            found.append(Finding(Effect.UNKNOWN, f"{name} of jq reads a module"))
        elif name == "$ENV" or name == "env":
            found.append(Finding(Effect.READS, "the jq filter looks at the environment"))


def _names(text: str) -> list[str]:
    """Every name that is not behind a dot, with its `$`. The text of strings is left out, but for interpolations."""
    names: list[str] = []
    index = 0
    strings: list[int] = []  # for each string that is open: the parentheses of its interpolation
    while index < len(text):
        char = text[index]
        if char == '"':
            index = _string(text, index + 1, strings)
            continue
        if char == "#":
            end = text.find("\n", index)
            index = len(text) if end < 0 else end
            continue
        if char in _NAME_FIRST:
            start = index
            while index < len(text) and text[index] in _NAME_LATER:
                index += 1
            before = text[start - 1 : start]
            if before == "$":
                names.append("$" + text[start:index])
            elif before != ".":
                names.append(text[start:index])
            continue
        if strings and char == "(":
            strings[-1] += 1
        elif strings and char == ")":
            strings[-1] -= 1
            if strings[-1] == 0:
                strings.pop()
                index = _string(text, index + 1, strings)
                continue
        elif char not in _PUNCTUATION:
            raise NotUnderstoodError(f"{char!r} in a jq filter")
        index += 1
    return names


def _string(text: str, index: int, strings: list[int]) -> int:
    """Past the text of a string, to its end or into an interpolation, which `strings` then remembers."""
    while index < len(text):
        if text[index] == '"':
            return index + 1
        if text.startswith("\\(", index):
            strings.append(1)
            return index + 2
        index += 2 if text[index] == "\\" else 1
    raise NotUnderstoodError("a string of the jq filter is not closed")
