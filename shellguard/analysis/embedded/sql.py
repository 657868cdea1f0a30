# SPDX-License-Identifier: Apache-2.0
"""SQL: one SELECT statement that calls nothing but functions known to read. Everything else is not understood."""

from __future__ import annotations

from shellguard.analysis.embedded import Finding, NotUnderstoodError
from shellguard.effects import Effect

_NAME_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME_LATER = _NAME_FIRST | frozenset("0123456789$")
_PUNCTUATION = frozenset(".,()*+-/%<>=!|[]? \t\r\n")
_FUNCTIONS = frozenset(
    {
        *(
            "abs",
            "avg",
            "cast",
            "ceil",
            "char_length",
            "coalesce",
            "concat",
            "count",
            "date",
            "datetime",
            "exists",
        ),
        *(
            "floor",
            "group_concat",
            "hex",
            "ifnull",
            "iif",
            "in",
            "instr",
            "json_extract",
            "julianday",
            "length",
        ),
        *(
            "lower",
            "ltrim",
            "max",
            "min",
            "now",
            "nullif",
            "over",
            "printf",
            "replace",
            "round",
            "row_number",
            "rtrim",
        ),
        *(
            "strftime",
            "string_agg",
            "substr",
            "substring",
            "sum",
            "time",
            "to_char",
            "total",
            "trim",
            "typeof",
        ),
        *(
            "unixepoch",
            "upper",
            "values",
            "using",
            "and",
            "or",
            "not",
            "select",
            "from",
            "where",
            "as",
            "on",
            "by",
        ),
        *(
            "when",
            "then",
            "else",
            "case",
            "join",
            "all",
            "any",
            "distinct",
            "between",
            "like",
            "union",
            "having",
        ),
    }
)
"""Words that may stand before a parenthesis: functions that only compute, and keywords."""

_CHANGING = frozenset(
    {
        *(
            "insert",
            "update",
            "delete",
            "replace",
            "create",
            "drop",
            "alter",
            "attach",
            "detach",
            "vacuum",
            "reindex",
        ),
        *(
            "truncate",
            "merge",
            "grant",
            "revoke",
            "call",
            "exec",
            "execute",
            "copy",
            "load",
            "lock",
            "set",
            "do",
        ),
        *(
            "into",
            "outfile",
            "dumpfile",
            "pragma",
            "begin",
            "commit",
            "rollback",
            "analyze",
            "explain",
            "share",
        ),
    }
)
"""Words with which a statement changes something, or which make a SELECT write (`into`, `for update`)."""


def read(text: str, found: list[Finding]) -> None:
    """Reads a text that should be a single SELECT."""
    if text[:1] in (".", "\\"):
        raise NotUnderstoodError("a command of the database's own shell")
    words = _words(text)
    if not words or words[0][0] not in ("select", "values"):
        raise NotUnderstoodError("not a SELECT")
    for index, (word, called) in enumerate(words):
        if word in _CHANGING and not called and index:
            found.append(Finding(Effect.WRITES, f"{word.upper()} in a SELECT"))
        elif called and word not in _FUNCTIONS:
            raise NotUnderstoodError(f"what {word}() does in SQL is not known")


def _words(text: str) -> list[tuple[str, bool]]:
    """Every word in lower case, with whether a parenthesis follows; strings and quoted names are left out."""
    words: list[tuple[str, bool]] = []
    index = 0
    while index < len(text):
        char = text[index]
        if char in "'\"":
            index = _behind_quote(text, index)
        elif text.startswith(("--", "/*"), index):
            raise NotUnderstoodError("a comment in SQL")
        elif char in _NAME_FIRST:
            start = index
            while index < len(text) and text[index] in _NAME_LATER:
                index += 1
            words.append((text[start:index].lower(), text[index:].lstrip(" \t\r\n")[:1] == "("))
        elif char == ";":
            if text[index + 1 :].strip(" \t\r\n;"):
                raise NotUnderstoodError("more than one SQL statement")
            index += 1
        elif char in _PUNCTUATION or char in "0123456789":
            index += 1
        else:
            raise NotUnderstoodError(f"{char!r} in SQL")
    return words


def _behind_quote(text: str, index: int) -> int:
    """Behind a string. A backslash in one escapes in some databases only: not understood."""
    quote = text[index]
    end = text.find(quote, index + 1)
    if end < 0:
        raise NotUnderstoodError("a string of the SQL text is not closed")
    if "\\" in text[index:end]:
        raise NotUnderstoodError("a backslash in a string of SQL")
    return end + 1
