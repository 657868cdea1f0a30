# SPDX-License-Identifier: Apache-2.0
"""A text that `env -S` cuts into words: quotes, escapes and `${NAME}` by rules of its own.

Source: https://www.gnu.org/software/coreutils/manual/html_node/env-invocation.html; FreeBSD, where it comes from, reads
it alike.
"""

from __future__ import annotations

from shellguard.values.value import Value, unknown

_BLANKS = frozenset(" \t\n\v\f\r")
_ESCAPES = {
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "#": "#",
    "$": "$",
    '"': '"',
    "'": "'",
    "\\": "\\",
}


def words_of(value: Value) -> list[Value]:
    """The words of the text; where some of them cannot be told, any number of words that nobody can see."""
    texts = _cut(value.text) if value.exact else None
    if texts is None:
        return [unknown(value.span, many=True)]
    return [Value(text, value.span) for text in texts]


def _cut(text: str) -> list[str] | None:
    """The words, None where env refuses the text or a word depends on the environment."""
    words: list[str] = []
    word: str | None = None  # None between words
    quote = ""
    index = 0
    while index < len(text):
        char = text[index]
        index += 1
        if char == "\\":
            escaped = text[index : index + 1]
            index += 1
            if quote == "'" and escaped not in ("\\", "'"):
                word = (word or "") + "\\" + escaped
            elif escaped == "c" and not quote:
                break
            elif escaped == "_" and not quote:
                if word is not None:
                    words.append(word)
                word = None
            elif escaped == "_" or (escaped and escaped in _ESCAPES):
                word = (word or "") + _ESCAPES.get(escaped, " ")
            else:
                return None
        elif char == quote:
            quote = ""
        elif not quote and char in "'\"":
            quote, word = char, word or ""
        elif char == "$" and quote != "'":
            return None
        elif not quote and char in _BLANKS:
            if word is not None:
                words.append(word)
            word = None
        elif char == "#" and word is None:
            break
        else:
            word = (word or "") + char
    if quote:
        return None
    return words if word is None else [*words, word]
