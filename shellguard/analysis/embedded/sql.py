# SPDX-License-Identifier: Apache-2.0
"""SQL: scripts of statements that only ask, as one tool reads them (sqlite3, psql, mysql, duckdb).

A statement is a read when it is a query (SELECT, VALUES, TABLE, WITH), EXPLAIN, SHOW, DESCRIBE, a pragma that is
listed, or the begin or end of a transaction, when it says none of the words with which statements write, and when each
function it calls is listed. Everything else is a write or not understood.

The same language stands on a page in `grammar/sql.lark`, which derives exactly the scripts that are reads; a test holds
the two together. This reader is used and not the page: to import Lark and to make the parser takes 68 ms of the
processor in each process, this module 4 ms (both measured), and a hook is a process. The standalone form of Lark's
parsers is under another licence, and its cache is a file that somebody else may write.

What the tools read differently is refused where it matters: a backslash before a quote in a string (an escape in MySQL,
and in PostgreSQL as it is configured), `/*!` (runs in MySQL), `--` without a blank (no comment in MySQL), `#`.
"""

from __future__ import annotations

from shellguard.analysis.embedded import Finding, NotUnderstoodError
from shellguard.analysis.embedded.sql_names import (
    BACKSLASH,
    BEFORE_PAREN,
    COMMON,
    DIALECTS,
    DOT,
    DOT_HARM,
    FILE_SUFFIXES,
    FILES,
    FUNCTIONS,
    OTHER_SUFFIXES,
    PRAGMAS,
    PRAGMAS_OF,
    QUERY_WORDS,
    TYPES,
    WAITING,
    WRITE_WORDS,
    WRITING,
)
from shellguard.effects import Effect

MAX_LENGTH = 200_000
"""Characters; a longer script is not read."""

MAX_DEPTH = 50
"""Parentheses inside parentheses, and queries inside EXPLAIN, that are followed."""

_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_DIGITS = frozenset("0123456789")
_LATER = _FIRST | _DIGITS | frozenset("$")
_BLANKS = frozenset(" \t\n\r")
_OPERATORS = frozenset("+-*/<>=~!%^&|?@.,:[]{}")
_PLAIN = _FIRST | _DIGITS | frozenset(".*%-_+ ")


class Token:
    """One token. `kind`: `word` (a bare word, in lower case), `name` (a quoted one), `text`, `number`, `(`, `)`, `;`,
    or `sign` for anything else."""

    __slots__ = ("kind", "text")
    __match_args__ = ("kind", "text")

    def __init__(self, kind: str, text: str) -> None:
        self.kind, self.text = kind, text

    def __repr__(self) -> str:
        return f"Token({self.kind!r}, {self.text!r})"


def read(text: str, found: list[Finding]) -> None:
    """Reads a script for a tool that nobody knows: it must be a read for each."""
    for dialect in DIALECTS:
        script(text, dialect, found)


def read_sqlite(text: str, found: list[Finding]) -> None:
    """Reads a script, or one command of the shell, for sqlite3."""
    script(text, "sqlite", found)


def read_sqlite_readonly(text: str, found: list[Finding]) -> None:
    """Reads the same for `sqlite3 -readonly`, which refuses what would write to the database."""
    script(text, "sqlite", found, readonly=True)


def read_postgres(text: str, found: list[Finding]) -> None:
    """Reads a script, or one command with a backslash, for psql."""
    script(text, "postgres", found)


def read_mysql(text: str, found: list[Finding]) -> None:
    """Reads a script for mysql and mariadb."""
    script(text, "mysql", found)


def read_duckdb(text: str, found: list[Finding]) -> None:
    """Reads a script, or one command of the shell, for duckdb."""
    script(text, "duckdb", found)


def script(text: str, dialect: str, found: list[Finding], *, readonly: bool = False) -> None:
    """Reads a whole word or input."""
    if len(text) > MAX_LENGTH:
        raise NotUnderstoodError(f"an SQL script of more than {MAX_LENGTH} characters")
    rest = _own_commands(text, dialect, found)
    statement: list[Token] = []
    for token in tokens(rest, dialect):
        if token.kind == ";":
            _statement(statement, dialect, found, readonly)
            statement = []
        else:
            statement.append(token)
    _statement(statement, dialect, found, readonly)


def _own_commands(text: str, dialect: str, found: list[Finding]) -> str:
    """Judges the lines that are commands of the tool's own shell, and gives back the text without them.

    Such a line has only plain words: then it does not matter if it stands inside of a string after all.
    """
    if dialect == "mysql" or not any(mark in text for mark in (".", "\\")):
        return text
    mark = "\\" if dialect == "postgres" else "."
    kept: list[str] = []
    for line in text.split("\n"):
        if line[:1] == mark and (dialect != "duckdb" or line[1:2] in _FIRST):
            _own_command(line, dialect, found)
        else:
            kept.append(line)
    return "\n".join(kept)


def _own_command(line: str, dialect: str, found: list[Finding]) -> None:
    words = [word for word in line.replace("\t", " ").split(" ") if word]
    head = words[0]
    if dialect == "postgres":
        known = head.rstrip("+") in BACKSLASH or head.rstrip("+S") in BACKSLASH
        if not known or len(words) > 2:
            raise NotUnderstoodError(f"what {head} does in psql is not known")
    elif head in DOT_HARM:
        found.append(Finding(DOT_HARM[head], f"{head} in a script"))
    elif head not in DOT:
        raise NotUnderstoodError(f"what {head} does in a script is not known")
    if not _PLAIN.issuperset(line[1:]):
        raise NotUnderstoodError(f"a word of {head} in a script is not plain")


# --- tokens -----------------------------------------------------------------------------------------------------------


def tokens(text: str, dialect: str) -> list[Token]:
    """The tokens of a script without its comments. Raises NotUnderstoodError for what the dialects read differently."""
    found: list[Token] = []
    index, length = 0, len(text)
    while index < length:
        char = text[index]
        if char in _BLANKS:
            index += 1
        elif char == "-" and text.startswith("--", index):
            if dialect == "mysql" and text[index + 2 : index + 3] not in ("", " ", "\t", "\n"):
                raise NotUnderstoodError("-- without a blank behind it in SQL")
            end = text.find("\n", index)
            index = length if end < 0 else end
        elif char == "/" and text.startswith("/*", index):
            index = _behind_comment(text, index)
        elif char == "'" or (char == '"' and dialect == "mysql"):
            start = index
            index = _behind(text, index, char)
            found.append(Token("text", text[start + 1 : index - 1]))
        elif char == '"' or (char == "`" and dialect in ("mysql", "sqlite")):
            end = _behind(text, index, char)
            found.append(Token("name", text[index + 1 : end - 1].lower()))
            index = end
        elif char == "[" and dialect == "sqlite":
            end = text.find("]", index)
            if end < 0:
                raise NotUnderstoodError("a name in SQL is not closed")
            found.append(Token("name", text[index + 1 : end].lower()))
            index = end + 1
        elif char == "$" and dialect in ("postgres", "duckdb"):
            index = _behind_dollar(text, index)
            found.append(Token("text", ""))
        elif char in _FIRST:
            start = index
            while index < length and text[index] in _LATER:
                index += 1
            word = text[start:index].lower()
            if text[index : index + 1] in ("'", "&") and word in _PREFIXES:
                index = _behind_prefixed(text, index, word, dialect)
                found.append(Token("text", ""))
            else:
                found.append(Token("word", word))
        elif char in _DIGITS:
            start = index
            while index < length and (text[index] in _FIRST or text[index] in _DIGITS or text[index] == "."):
                index += 1
            found.append(Token("number", text[start:index]))
        elif char in "();":
            found.append(Token(char, char))
            index += 1
        elif char in _OPERATORS:
            found.append(Token("sign", char))
            index += 1
        elif char == "\\" and dialect == "mysql" and text[index + 1 : index + 2] in ("G", "g"):
            found.append(Token(";", ";"))
            index += 2
        else:
            raise NotUnderstoodError(f"{char!r} in SQL")
    return found


_PREFIXES = frozenset({"b", "e", "n", "u", "x"})
"""What may stand before a string: `x'00'`, `E'a\\n'`, `U&'a'`."""


def _behind_comment(text: str, index: int) -> int:
    """Behind `/* ... */`. One in another ends differently in different tools, and some have a meaning in MySQL."""
    end = text.find("*/", index + 2)
    inside = text[index + 2 : end]
    if end < 0 or "/*" in inside or inside.startswith(("!", "+", "M!")):
        raise NotUnderstoodError("a comment in SQL that not every tool reads alike")
    return end + 2


def _behind(text: str, index: int, quote: str) -> int:
    """Behind a string or name; a doubled quote stands for itself. A backslash may escape what is behind it."""
    index += 1
    while True:
        end = text.find(quote, index)
        if end < 0:
            raise NotUnderstoodError("a string of the SQL text is not closed")
        backslash = text.find("\\", index, end)
        while backslash >= 0:
            if text[backslash + 1] in ("\\", quote):
                raise NotUnderstoodError("a backslash in a string of SQL that may escape its end")
            backslash = text.find("\\", backslash + 1, end)
        if text[end + 1 : end + 2] != quote:
            return end + 1
        index = end + 2


def _behind_prefixed(text: str, index: int, prefix: str, dialect: str) -> int:
    """Behind a string with a prefix that stands before `index`."""
    if text[index] == "&":
        if prefix != "u" or dialect != "postgres" or text[index + 1 : index + 2] != "'":
            raise NotUnderstoodError("a string of SQL with a prefix that is not known")
        index += 1
    elif prefix == "e" and dialect not in ("postgres", "duckdb"):
        raise NotUnderstoodError("a string of SQL with a prefix that is not known")
    return _behind(text, index, "'")


def _behind_dollar(text: str, index: int) -> int:
    """Behind `$tag$ ... $tag$`, or a parameter `$1`."""
    end = index + 1
    if text[end : end + 1] in _DIGITS:
        while end < len(text) and text[end] in _DIGITS:
            end += 1
        return end
    while end < len(text) and (text[end] in _FIRST or text[end] in _DIGITS):
        end += 1
    close = text.find(text[index : end + 1], end + 1) if text[end : end + 1] == "$" else -1
    if close < 0:
        raise NotUnderstoodError("a dollar sign in SQL")
    return close + end + 1 - index


# --- statements -------------------------------------------------------------------------------------------------------

_QUERIES = frozenset({"select", "values", "with", "table"})
_CHANGES = frozenset({"insert", "update", "delete", "replace", "merge"})
_REFUSED = _CHANGES | {"create", "drop", "alter", "reindex", "analyze"}
"""What an SQLite database that is open for reading refuses."""

_TRANSACTIONS = frozenset(
    {
        *(
            ("begin",),
            ("begin", "transaction"),
            ("begin", "read", "only"),
            ("begin", "transaction", "read", "only"),
        ),
        *(
            ("start", "transaction"),
            ("start", "transaction", "read", "only"),
            ("commit",),
            ("rollback",),
            ("end",),
        ),
    }
)


def _statement(
    statement: list[Token], dialect: str, found: list[Finding], readonly: bool, depth: int = 0
) -> None:
    if not statement:
        return
    first = 0
    while first < len(statement) and statement[first].kind == "(":
        first += 1
    head = statement[first].text if first < len(statement) and statement[first].kind == "word" else ""
    if head in _QUERIES or (head == "from" and dialect == "duckdb"):
        _query(statement, dialect, found)
    elif first:
        raise NotUnderstoodError("parentheses without a query in SQL")
    elif head == "explain" or (head in ("describe", "desc") and dialect in ("mysql", "duckdb")):
        _explain(statement, dialect, found, depth)
    elif head == "show" and dialect != "sqlite":
        _calls(statement, dialect, found)
    elif head == "summarize" and dialect == "duckdb":
        _query(statement, dialect, found)
    elif head == "pragma" and dialect in PRAGMAS:
        _pragma(statement, dialect)
    elif _changes_the_session(statement, dialect):
        pass  # for this session only
    elif (
        readonly
        and head in _REFUSED
        and not any(token.text in ("temp", "temporary", "into") for token in statement[:3])
    ):
        _calls(statement, dialect, found)
    elif head in WRITE_WORDS:
        found.append(Finding(Effect.WRITES, f"{head.upper()} in SQL"))
        _calls(statement, dialect, found)
    else:
        raise NotUnderstoodError(f"what {head.upper() or 'this'} does in SQL is not known")


def _changes_the_session(statement: list[Token], dialect: str) -> bool:
    """`USE database`, or the begin or end of a transaction."""
    words = tuple(token.text for token in statement)
    if words[0] == "use" and len(words) == 2 and dialect in ("mysql", "duckdb"):
        return statement[1].kind in ("word", "name", "text")
    return words in _TRANSACTIONS


def _query(statement: list[Token], dialect: str, found: list[Finding]) -> None:
    """A query: no word in it writes, and every function is known."""
    if len(statement) == 1:
        raise NotUnderstoodError("a query of one word in SQL")
    before = ""
    for index, token in enumerate(statement):
        if (
            token.kind == "word"
            and token.text in QUERY_WORDS
            and before != "."
            and not _is_called(statement, index)
        ):
            found.append(Finding(Effect.WRITES, f"{token.text.upper()} in a query"))
        before = token.text if token.kind in ("word", "sign") else ""
    _calls(statement, dialect, found)


def _is_called(statement: list[Token], index: int) -> bool:
    return index + 1 < len(statement) and statement[index + 1].kind == "("


def _calls(statement: list[Token], dialect: str, found: list[Finding]) -> None:
    """Every function that is called, and whether the parentheses are closed."""
    if dialect == "duckdb":
        _files(statement)
    depth = 0
    before = ""
    for index, token in enumerate(statement):
        sequence = token.text == "nextval" or (token.text == "value" and before == "next")
        if dialect == "mysql" and token.kind in ("word", "name") and sequence:
            found.append(Finding(Effect.WRITES, "the next value of a sequence in SQL"))
        before = token.text
        if token.kind == ")":
            depth -= 1
            if depth < 0:
                raise NotUnderstoodError("a parenthesis too many in SQL")
        elif token.kind == "(":
            depth += 1
            if depth > MAX_DEPTH:
                raise NotUnderstoodError(f"more than {MAX_DEPTH} parentheses inside each other in SQL")
        elif is_call(statement, index, dialect):
            if index and statement[index - 1].kind == "sign" and statement[index - 1].text == ".":
                if index < 2 or statement[index - 2].text != "pg_catalog":
                    raise NotUnderstoodError(f"what {token.text}() of some schema does in SQL is not known")
            _call(token.text, statement[index + 2 : index + 3], dialect, found)
    if depth:
        raise NotUnderstoodError("a parenthesis in SQL is not closed")


def is_call(statement: list[Token], index: int, dialect: str) -> bool:
    """Whether the token is the name of a function that is called, and no keyword or name with columns behind it."""
    token = statement[index]
    if token.kind not in ("word", "name") or not _is_called(statement, index):
        return False
    if token.kind == "word" and token.text in BEFORE_PAREN and token.text not in FUNCTIONS[dialect]:
        return False
    close = index + 2
    while close < len(statement) and (
        statement[close].kind in ("word", "name") or statement[close].text == ","
    ):
        close += 1
    if close == len(statement) or statement[close].kind != ")" or close == index + 2:
        return True
    if index and statement[index - 1].kind == "word" and statement[index - 1].text == "as":
        return False  # `(select ..) as name (column, column)`
    behind = [
        each.text for each in statement[close + 1 : close + 5] if each.text not in ("not", "materialized")
    ]
    return not (
        behind[:2] == ["as", "("] and behind[2:] and behind[2] in _QUERIES | _CHANGES
    )  # `with name (column) as (`


def _files(statement: list[Token]) -> None:
    """Files in place of tables: DuckDB may first install what it needs to read one, and a name may be an address."""
    clause = before = ""
    for index, token in enumerate(statement):
        if token.kind in ("text", "name") and "://" in token.text:
            raise NotUnderstoodError("an address in SQL")
        table = before in ("from", "join", "describe", "summarize") or (before == "," and clause == "from")
        if table and token.kind in ("text", "name") and not token.text.endswith(FILE_SUFFIXES):
            if token.kind == "text" or not _LATER.issuperset(token.text):
                raise NotUnderstoodError("a file in place of a table, of a kind that is not known")
        if before == "." and token.text in OTHER_SUFFIXES and index > 2 and statement[index - 3].text != ".":
            raise NotUnderstoodError("a file in place of a table, of a kind that is not known")
        if token.kind == "word" and token.text in _CLAUSES:
            clause = token.text
        before = token.text if token.kind in ("word", "sign") else ""


_CLAUSES = frozenset(
    {
        *(
            "from",
            "group",
            "having",
            "join",
            "limit",
            "on",
            "order",
            "qualify",
            "select",
            "union",
            "using",
            "values",
        ),
        *("where", "window"),
    }
)


def _call(name: str, argument: list[Token], dialect: str, found: list[Finding]) -> None:
    """One call of a function. `argument` is the token behind its parenthesis."""
    if name in WRITING[dialect]:
        found.append(Finding(WRITING[dialect][name], f"{name}() in SQL"))
    elif name in WAITING[dialect]:
        found.append(Finding(Effect.WAITS, f"{name}() in SQL"))
    elif name in FILES[dialect]:
        found.append(
            Finding(Effect.READS, f"{name}() in SQL reads beyond the database", marks=("sensitive",))
        )
    elif name not in COMMON and name not in TYPES and name not in FUNCTIONS[dialect]:
        raise NotUnderstoodError(f"what {name}() does in SQL is not known")
    elif dialect == "duckdb" and name.startswith("read_") and argument and argument[0].kind == "text":
        found.append(Finding(Effect.READS, f"{name}() in SQL", file=argument[0].text))


def _explain(statement: list[Token], dialect: str, found: list[Finding], depth: int) -> None:
    """EXPLAIN and its options, then a statement that runs only with ANALYZE; or a table (DESCRIBE)."""
    if depth:
        raise NotUnderstoodError("EXPLAIN of EXPLAIN in SQL")
    index, runs = 1, False
    while index < len(statement):
        kind, word = statement[index].kind, statement[index].text
        if kind == "word" and (
            word in _QUERIES or word in _CHANGES or (word == "from" and dialect == "duckdb")
        ):
            break
        if kind == "name" or (kind == "sign" and word == ".") or (kind == "word" and word not in _OPTIONS):
            if index > 1:
                raise NotUnderstoodError("options of EXPLAIN in front of a table in SQL")
            _table(statement, dialect)
            _calls(statement[1:], dialect, found)
            return
        runs = runs or word in ("analyze", "analyse")
        index += 1
    options, explained = statement[1:index], statement[index:]
    while options and options[-1].kind == "(":
        explained.insert(0, options.pop())
    _calls(options, dialect, found)
    if not explained:
        raise NotUnderstoodError("EXPLAIN without a statement in SQL")
    if runs:
        _statement(explained, dialect, found, False, depth + 1)
    else:
        _calls(explained, dialect, found)


_OPTIONS = frozenset(
    {
        *(
            "analyse",
            "analyze",
            "buffers",
            "codegen",
            "costs",
            "extended",
            "false",
            "format",
            "generic_plan",
            "json",
        ),
        *(
            "off",
            "on",
            "partitions",
            "plan",
            "query",
            "settings",
            "summary",
            "text",
            "timing",
            "traditional",
            "tree",
        ),
        *("true", "verbose", "wal", "xml", "yaml"),
    }
)
"""What may stand between EXPLAIN and a statement."""


def _table(statement: list[Token], dialect: str) -> None:
    """`DESCRIBE table`, `DESC table column`, in MySQL also `EXPLAIN table`."""
    words = [token for token in statement[1:] if token.text != "."]
    if dialect != "mysql" and (dialect != "duckdb" or statement[0].text == "explain"):
        raise NotUnderstoodError(f"EXPLAIN of {statement[1].text.upper()} in SQL")
    if len(words) > 3 or any(
        token.kind not in ("word", "name") or token.text in WRITE_WORDS for token in words
    ):
        raise NotUnderstoodError("what is described in SQL is not known")


def _pragma(statement: list[Token], dialect: str) -> None:
    """`PRAGMA name`, `PRAGMA schema.name`, `PRAGMA name(word)`."""
    words = statement[1:]
    if len(words) > 2 and words[1].text == "." and words[0].kind in ("word", "name"):
        words = words[2:]
    if len(words) == 1 and words[0].kind == "word" and words[0].text in PRAGMAS[dialect]:
        return
    if (
        len(words) == 4
        and words[0].kind == "word"
        and words[0].text in PRAGMAS_OF[dialect]
        and words[1].kind == "("
        and words[2].kind in ("word", "name", "text", "number")
        and words[3].kind == ")"
    ):
        return
    raise NotUnderstoodError("a PRAGMA that may change something")


READERS = {
    "sql": read,
    "sqlite": read_sqlite,
    "sqlite-readonly": read_sqlite_readonly,
    "postgres": read_postgres,
    "mysql": read_mysql,
    "duckdb": read_duckdb,
}
"""The reader of each language."""
