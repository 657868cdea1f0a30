# SPDX-License-Identifier: Apache-2.0
"""Characters, operators and reserved words of bash, as tables.

Every class of characters is written out: the predicates of `str` follow Unicode, and bash does not.
Source: bash manual, "Definitions", "Reserved Words", "Bash Conditional Expressions".
"""

from __future__ import annotations

END = "\0"
"""Stands behind the last character of a cursor's text, so that no scan needs a bounds check. Never part of a text."""

DIGITS = "0123456789"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
NAME_START = frozenset(LETTERS + "_")
NAME = frozenset(LETTERS + "_" + DIGITS)
DIGIT = frozenset(DIGITS)
PLAIN = NAME | frozenset("./-,:%@")
"""Characters that are nothing but themselves in any word."""

SPECIAL_PARAMETERS = frozenset("@*#?-$!" + DIGITS)

WORD_END = frozenset(" \t\n;&|()<>" + END)
"""The metacharacters: each of them, unquoted, ends a word."""

QUOTING = frozenset("\\'\"`$")

RESERVED = frozenset(
    (
        *(
            "!",
            "{",
            "}",
            "[[",
            "]]",
            "case",
            "coproc",
            "do",
            "done",
            "elif",
            "else",
            "esac",
            "fi",
            "for",
            "function",
        ),
        *("if", "in", "select", "then", "time", "until", "while"),
    )
)
RESERVED_START = frozenset(word[0] for word in RESERVED)
RESERVED_CHARS = frozenset("".join(RESERVED))

CLOSERS = frozenset(("}", "do", "done", "elif", "else", "esac", "fi", "then"))
"""Reserved words that end a list of statements; anywhere else in command position they are an error."""

DECLARATIONS = frozenset(("alias", "declare", "eval", "export", "let", "local", "readonly", "typeset"))
"""Builtins behind which bash also reads `name=(...)` as an array (bash 5.2, parse.y: PST_ASSIGNOK)."""

UNARY_TESTS = frozenset(f"-{letter}" for letter in "abcdefghknoprstuvwxzGLNORS")
BINARY_TESTS = frozenset(
    ("=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"),
)

REDIRECT_OPERATORS = ("<<<", "<<-", "&>>", "<<", "<&", "<>", ">>", ">&", ">|", "&>", "<", ">")
"""Longest first."""
