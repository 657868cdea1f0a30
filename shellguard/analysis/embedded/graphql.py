# SPDX-License-Identifier: Apache-2.0
"""GraphQL documents, which read unless they hold a mutation: a whole word, or what stands behind `query=` in it.

Source: GraphQL specification (October 2021), sections 2.1 and 2.3. A document is a list of definitions; what runs
is one of its operations, and nobody here knows which.
"""

from __future__ import annotations

from shellguard.analysis.embedded import Finding, NotUnderstoodError
from shellguard.effects import Effect

_NAME_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME_LATER = _NAME_FIRST | frozenset("0123456789")
_KEY = _NAME_LATER | frozenset(".-[]")
_OPENING = {"{": "}", "(": ")", "[": "]"}
_IGNORED = " \t\r\n,\ufeff"


def read(text: str, found: list[Finding]) -> None:
    """Reads a document or `key=value`. A key other than `query` is a variable of the document."""
    key, equals, value = text.partition("=")
    if not equals or not _KEY.issuperset(key):
        _document(text, found)
    elif key == "query":
        if value.startswith("@"):
            raise NotUnderstoodError("a GraphQL document in a file")
        _document(value, found)


def _document(text: str, found: list[Finding]) -> None:
    """The keywords at the outermost level say what each definition is."""
    depth: list[str] = []
    expects_definition = True
    for token in _tokens(text):
        if token in _OPENING:
            depth.append(_OPENING[token])
            expects_definition = False
        elif depth and token == depth[-1]:
            depth.pop()
            expects_definition = token == "}" and not depth
        elif token in ("}", ")", "]"):
            raise NotUnderstoodError(f"{token!r} closes nothing in this GraphQL document")
        elif not depth and expects_definition:
            _definition(token, found)
            expects_definition = False
    if depth:
        raise NotUnderstoodError("the GraphQL document is not closed")


def _definition(keyword: str, found: list[Finding]) -> None:
    if keyword == "mutation":
        found.append(Finding(Effect.WRITES, "a GraphQL mutation"))
    elif keyword not in ("query", "fragment"):
        raise NotUnderstoodError(f"{keyword!r} begins no GraphQL query")


def _tokens(text: str) -> list[str]:
    """Names and punctuation; strings, numbers and comments are left out."""
    tokens: list[str] = []
    index = 0
    while index < len(text):
        char = text[index]
        if char in _IGNORED:
            index += 1
        elif char == "#":
            end = text.find("\n", index)
            index = len(text) if end < 0 else end
        elif char == '"':
            index = _behind_string(text, index)
        elif char in _NAME_FIRST:
            start = index
            while index < len(text) and text[index] in _NAME_LATER:
                index += 1
            tokens.append(text[start:index])
        elif char in "{}()[]":
            tokens.append(char)
            index += 1
        elif char in "0123456789$!:=|&@.-+":
            index += 1
        else:
            raise NotUnderstoodError(f"{char!r} in a GraphQL document")
    return tokens


def _behind_string(text: str, index: int) -> int:
    if text.startswith('"""', index):
        end = text.find('"""', index + 3)
        if end < 0:
            raise NotUnderstoodError("a block string without its end")
        return end + 3
    index += 1
    while index < len(text) and text[index] not in '"\n':
        index += 2 if text[index] == "\\" else 1
    if text[index : index + 1] != '"':
        raise NotUnderstoodError("a string without its end")
    return index + 1
