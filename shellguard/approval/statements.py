# SPDX-License-Identifier: Apache-2.0
"""SQL, read as far as needed to tell whether a statement destroys: quotes and comments are not its words. Pure."""

from __future__ import annotations

_OPEN = {"'": "'", '"': '"', "`": "`", "[": "]"}


def destroys(text: str) -> str | None:
    """The first statement of `text` that removes tables, rows or databases, by its first words; None for none.

    DROP and TRUNCATE do, ALTER with DROP, DELETE and UPDATE without WHERE. Source: the SQL of PostgreSQL, MySQL and
    SQLite.
    """
    for words in _statements(text):
        if not words:
            continue
        first = words[0]
        if first == "EXPLAIN" or (first == "CREATE" and "SELECT" not in words):
            continue
        for index, word in enumerate(words):
            if word in ("DROP", "TRUNCATE") and index in (0, *_behind(words)):
                if word == "TRUNCATE" or index + 1 < len(words):
                    return " ".join(words[index : index + 2])
            if word == "DELETE" and words[index + 1 : index + 2] == ["FROM"] and "WHERE" not in words[index:]:
                return "DELETE without WHERE"
        if first == "UPDATE" and "SET" in words and "WHERE" not in words:
            return "UPDATE without WHERE"
        if first == "ALTER" and "DROP" in words:
            return "ALTER DROP"
    return None


def _behind(words: list[str]) -> tuple[int, ...]:
    """Where a statement may begin inside another: behind EXECUTE, BEGIN, DO, THEN."""
    return tuple(
        index + 1
        for index, word in enumerate(words)
        if word in ("BEGIN", "DO", "THEN", "EXECUTE", "IMMEDIATE")
    )


def _statements(text: str) -> list[list[str]]:
    """The words of each statement, in capitals, without quoted text, comments and what stands in neither."""
    found: list[list[str]] = [[]]
    index, word = 0, ""
    while index < len(text):
        char = text[index]
        if char.isascii() and (char.isalnum() or char == "_"):
            word += char.upper()
            index += 1
            continue
        if word:
            found[-1].append(word)
            word = ""
        if text.startswith("--", index) or (char == "#" and not found[-1]):
            end = text.find("\n", index)
            index = len(text) if end < 0 else end
        elif text.startswith("/*", index):
            end = text.find("*/", index + 2)
            index = len(text) if end < 0 else end + 2
        elif char in _OPEN:
            end = text.find(_OPEN[char], index + 1)
            index = len(text) if end < 0 else end + 1
            found[-1].append("")  # something stands here, and it is no keyword
        else:
            if char == ";":
                found.append([])
            index += 1
    if word:
        found[-1].append(word)
    return found
