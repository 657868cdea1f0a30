# SPDX-License-Identifier: Apache-2.0
"""Expressions of Miller's `put` and `filter`: what they start, and where they print.

Source: the manual of Miller 6, "DSL output statements"; seen in mlr 6.6.0: in `print 1 > 2` the `>` names a file, and
in parentheses it compares.
"""

from __future__ import annotations

from shellguard.analysis.embedded import Finding, NotUnderstoodError
from shellguard.effects import Effect

_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")
_PRINTING = frozenset(
    {"tee", "emit", "emit1", "emitp", "emitf", "print", "printn", "eprint", "eprintn", "dump", "edump"}
)
_LONGER = ("||", ">=", ">>>", "<=", "|=", ">>=", ">>>=", "||=", "<=>")
"""Operators that hold a sign of redirection and are none."""


def read(text: str, found: list[Finding]) -> None:
    """Reads a whole expression. A single word is none: it may be an option, or a verb that the rule should see."""
    if not text or _NAME.union("-").issuperset(text) or text[0] == "-":
        raise NotUnderstoodError("not an expression of mlr")
    printing = False
    depth = 0
    tokens = _tokens(text)
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else ""
        if token in _PRINTING:
            printing, depth = True, 0
        elif token == ";":
            printing = False
        elif token in ("(", "["):
            depth += 1
        elif token in (")", "]"):
            depth -= 1
        elif token in ("system", "exec"):
            found.append(Finding(Effect.EXECUTES, f"{token}() of mlr runs a command"))
        elif token in (">", ">>", "|") and printing and depth <= 0 and following not in ("stderr", "stdout"):
            if token == "|":
                found.append(Finding(Effect.EXECUTES, "| of mlr runs a command"))
            else:
                found.append(Finding(Effect.WRITES, f"{token} of mlr writes a file"))


def _tokens(text: str) -> list[str]:
    """Names, operators that matter, one character each else. Strings, comments and names of fields are left out."""
    tokens: list[str] = []
    index = 0
    while index < len(text):
        char = text[index]
        if char == '"':
            index = _behind(text, index + 1, '"')
        elif char == "#":
            end = text.find("\n", index)
            index = len(text) if end < 0 else end
        elif char in "$@*" and text[index + 1 : index + 2] == "{":
            index = _behind(text, index + 2, "}")
        elif char in _NAME:
            start = index
            while index < len(text) and text[index] in _NAME:
                index += 1
            if text[start - 1 : start] not in ("$", "@") or start == 0:
                tokens.append(text[start:index])
        else:
            longer = [each for each in _LONGER if text.startswith(each, index)]
            operator = max(longer, key=len) if longer else ">>" if text.startswith(">>", index) else char
            if operator not in " \t\r\n":
                tokens.append(operator)
            index += len(operator)
    return tokens


def _behind(text: str, index: int, end: str) -> int:
    while index < len(text):
        if text[index] == end:
            return index + 1
        index += 2 if text[index] == "\\" else 1
    raise NotUnderstoodError("something in the expression of mlr is not closed")
