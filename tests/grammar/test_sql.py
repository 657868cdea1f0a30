# SPDX-License-Identifier: Apache-2.0
"""`grammar/sql.lark` and `analysis/embedded/sql.py` call the same scripts reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Lark, Token
from lark.exceptions import UnexpectedInput
from lark.lexer import Lexer

from shellguard.analysis.embedded import Finding, NotUnderstoodError
from shellguard.analysis.embedded import sql as reader
from shellguard.analysis.embedded.sql_names import PRAGMAS, PRAGMAS_OF, QUERY_WORDS, WRITE_WORDS
from tests.analysis.test_sql import ROWS, effects_of, is_read

GRAMMAR = Path(__file__).parents[2] / "grammar" / "sql.lark"
KEYWORDS = {
    *(
        "select",
        "values",
        "with",
        "table",
        "explain",
        "describe",
        "show",
        "pragma",
        "use",
        "begin",
        "transaction",
    ),
    *("read", "only", "start", "commit", "rollback", "end"),
}
DIALECTS = ("sqlite", "postgres", "mysql", "duckdb")


class _Tokens(Lexer):
    """The tokens that `sql.py` makes, as terminals; the functions that it does not know are none."""

    def __init__(self, conf: object) -> None:
        pass

    def lex(self, data: tuple[str, str]):  # type: ignore[no-untyped-def, override]
        dialect, text = data
        statement: list[reader.Token] = []
        for token in [*reader.tokens(text, dialect), reader.Token(";", ";")]:
            if token.kind != ";":
                statement.append(token)
                continue
            if dialect == "duckdb":
                reader._files(statement)
            for index in range(len(statement)):
                yield Token(_terminal(statement, index, dialect), statement[index].text)
            yield Token("SEMICOLON", ";")
            statement = []


def _terminal(statement: list[reader.Token], index: int, dialect: str) -> str:
    kind, text = statement[index].kind, statement[index].text
    is_pragma = statement[0].text == "pragma" and dialect in PRAGMAS
    starts = reader._QUERIES | reader._CHANGES
    before = [token.text for token in statement[:index]]
    explains = statement[0].text in ("explain", "describe", "desc") and starts.isdisjoint(before)
    explains = explains and (not index or text in reader._OPTIONS)
    heads = kind == "word" and text == "values"  # which MySQL also has as a function
    if not explains and not heads and not is_pragma and reader.is_call(statement, index, dialect):
        found: list[Finding] = []
        schema = [token.text for token in statement[max(index - 2, 0) : index]]
        if schema[1:] == ["."] and schema[0] != "pg_catalog":
            raise NotUnderstoodError("a function of a schema")
        reader._call(text, statement[index + 2 : index + 3], dialect, found)
        return "CALL" if is_read({finding.effect for finding in found}) else "NO_READ"
    if kind == "name" and text == "nextval" and dialect == "mysql":
        return "NO_READ"
    if kind != "word":
        names = {"name": "NAME", "text": "TEXT", "number": "NUMBER", "(": "LPAR", ")": "RPAR"}
        return names.get(kind, "DOT" if text == "." else "SIGN")
    return _keyword(statement, index, dialect)


def _keyword(statement: list[reader.Token], index: int, dialect: str) -> str:
    text = statement[index].text
    before = [token.text for token in statement[:index]]
    if before[:1] == ["pragma"] and dialect in PRAGMAS and (index == 1 or (index == 3 and before[2] == ".")):
        called = index + 1 < len(statement) and statement[index + 1].kind == "("
        if text in (PRAGMAS_OF if called else PRAGMAS)[dialect]:
            return "PRAGMA_OF" if called else "PRAGMA_NAME"
    if dialect == "mysql" and (text == "nextval" or (text == "value" and before[-1:] == ["next"])):
        return "NO_READ"
    if before[:1] in (["describe"], ["desc"], ["explain"]) and text in WRITE_WORDS:
        if _names_a_table(statement[1:], dialect):
            return "NO_READ"
    dotted = index and statement[index - 1].kind == "sign" and before[-1] == "."
    if text in QUERY_WORDS and not dotted and not reader._is_called(statement, index):
        return "CHANGE" if text in reader._CHANGES else "INTO"
    if text == "explain" and not index and dialect == "mysql" and _names_a_table(statement[1:], dialect):
        return "EXPLAIN_TABLE"
    if text in ("describe", "desc"):
        return "DESCRIBE" if dialect in ("mysql", "duckdb") else "WORD"
    if text in ("from", "summarize"):
        return text.upper() if dialect == "duckdb" else "WORD"
    if text in ("show", "pragma", "use"):
        there = {
            "show": dialect != "sqlite",
            "pragma": dialect in PRAGMAS,
            "use": dialect in ("mysql", "duckdb"),
        }
        return text.upper() if there[text] else "WORD"
    if text in KEYWORDS:
        return text.upper()
    if text in ("analyze", "analyse"):
        return "ANALYZE"
    return "OPTION" if text in reader._OPTIONS else "WORD"


def _names_a_table(tokens: list[reader.Token], dialect: str) -> bool:
    """Whether a table is the first thing behind EXPLAIN that is no option."""
    for token in tokens[:1]:
        if token.kind == "name" or (token.kind == "word" and token.text not in reader._OPTIONS):
            queries = reader._QUERIES | reader._CHANGES | ({"from"} if dialect == "duckdb" else set())
            return token.kind == "name" or token.text not in queries
    return False


PARSER = Lark(GRAMMAR.read_text(encoding="utf-8"), parser="lalr", lexer=_Tokens, start="script", strict=True)


def derived(dialect: str, text: str) -> bool:
    """Whether the grammar derives the script."""
    try:
        PARSER.parse((dialect, text))
    except (UnexpectedInput, NotUnderstoodError):
        return False
    return True


SCRIPTS = [
    (line, dialect, text)
    for line, dialect, _, text in ROWS
    if dialect in DIALECTS and not any(row.startswith((".", "\\")) for row in text.split("\n"))
]


@pytest.mark.parametrize("line, dialect, text", SCRIPTS, ids=lambda value: None)
def test_the_same_scripts_are_reads(line: int, dialect: str, text: str) -> None:
    assert derived(dialect, text) == is_read(effects_of(dialect, text)), f"sql.txt:{line}"


@given(row=st.sampled_from(SCRIPTS), dialect=st.sampled_from(DIALECTS))
def test_also_for_another_tool(row: tuple[int, str, str], dialect: str) -> None:
    assert derived(dialect, row[2]) == is_read(effects_of(dialect, row[2]))


PIECES = [
    word for _, _, text in SCRIPTS for word in text.replace("(", " ( ").replace(")", " ) ").split(" ") if word
]


@given(words=st.lists(st.sampled_from(PIECES), max_size=8), dialect=st.sampled_from(DIALECTS))
def test_also_for_rows_of_words(words: list[str], dialect: str) -> None:
    text = " ".join(words)
    if not any(row.startswith((".", "\\")) for row in text.split("\n")):
        assert derived(dialect, text) == is_read(effects_of(dialect, text))


WORDS = {
    **{word.upper(): (word,) for word in KEYWORDS | {"from", "summarize"}},
    "EXPLAIN_TABLE": ("explain",),
    "OPTION": ("query", "plan", "format", "json"),
    "ANALYZE": ("analyze",),
    "CHANGE": ("delete", "insert"),
    "INTO": ("into", "share"),
    "CALL": ("count", "lower", "max"),
    "PRAGMA_NAME": ("user_version", "database_list"),
    "PRAGMA_OF": ("table_info",),
    "WORD": ("a", "where", "as", "t"),
    "NAME": ('"a"', '"from"'),
    "TEXT": ("'a'", "'it''s'"),
    "NUMBER": ("1", "2.5"),
    "SIGN": ("+", ",", "*"),
    "DOT": (".",),
}
DERIVED = from_lark(
    Lark(GRAMMAR.read_text(encoding="utf-8"), start="script"),
    explicit={name: st.sampled_from([f"{word} " for word in words]) for name, words in WORDS.items()},
)


@given(text=DERIVED, dialect=st.sampled_from(DIALECTS))
def test_also_for_what_the_grammar_derives(text: str, dialect: str) -> None:
    """A derivation may be another script than it says (`a (`: a call), or none in a dialect: it is read again."""
    assert derived(dialect, text) == is_read(effects_of(dialect, text))
