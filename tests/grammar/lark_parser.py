# SPDX-License-Identifier: Apache-2.0
"""A second parser of the same language: `grammar/bash.lark`, run by Lark over tokens of the project's own scanner.

`parse(text)` gives the tree that `shellguard.syntax.parse.parse` must give too, or refuses as it must. Words,
assignments, redirections, arithmetic and conditions are read by the very functions that the hand-written parser uses,
so agreement says something about the command grammar only: the scanner has bash as its witness (tests/syntax).
The spans of command nodes are all NOWHERE; equality of nodes does not look at spans.

Three parts: `_Tokens` cuts a text into the terminals of the grammar, `Builder` makes nodes of what Lark has reduced,
and `_read_script` feeds one to the other and is what a word calls for the script of a substitution.
"""

from __future__ import annotations

from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedToken
from lark.lexer import Lexer

from shellguard.syntax import arith
from shellguard.syntax.assignments import read_assignment, read_declared_array
from shellguard.syntax.conditions import literal_text, read_condition
from shellguard.syntax.cursor import Cursor
from shellguard.syntax.expansions import read_expansion
from shellguard.syntax.nodes import (
    AndOr,
    ArithCommand,
    Case,
    CaseArm,
    Conditional,
    Coproc,
    ForArith,
    ForWords,
    Function,
    Group,
    If,
    IfArm,
    Pipeline,
    Script,
    Select,
    Simple,
    Statement,
    Subshell,
    Timed,
    While,
    Word,
)
from shellguard.syntax.redirects import read_newline, read_redirection, redirect_at
from shellguard.syntax.tokens import DECLARATIONS, END, NAME, NAME_START, RESERVED, WORD_END
from shellguard.syntax.words import ARGUMENT, PATTERN, read_word

if TYPE_CHECKING:
    from shellguard.syntax.nodes import Command

GRAMMAR = Path(__file__).parents[2] / "grammar" / "bash.lark"
STARTS = ("program", "substitution", "function_substitution")
NOWHERE = (0, 0)


def parse(text: str) -> Script:
    """The tree of a whole shell text. Raises ShellSyntaxError where scanner, token rules or grammar refuse it."""
    cursor = Cursor(text, _read_script, read_expansion)
    if END in text:
        raise cursor.error("a NUL character, which no command can hold", text.index(END))
    return _read_script(cursor)


# --- tokens -----------------------------------------------------------------------------------------------------------


class Place(Enum):
    """Where in a command the next token stands, as far as that decides how its characters are read.

    This is bash's own rule about reserved words, kept beside the grammar: `echo fi` and `fi` differ by what stands
    before.
    """

    COMMAND = auto()  # a command may begin or end: reserved words, assignments and function heads count
    COPROC = auto()  # behind `coproc`: as COMMAND, but no function can stand here
    COPROC_WORD = auto()  # behind `coproc word`: reserved words count, because `word` may be a name
    PREFIX = auto()  # behind an assignment or a redirection: assignments count, reserved words no longer
    ARGUMENT = auto()  # a word is a word
    LOOP_NAME = auto()  # behind `for` and `select`
    LOOP_HEAD = auto()  # behind the name of a loop: `in` and `do` count
    CASE_WORD = auto()  # behind `case`
    CASE_HEAD = auto()  # behind its word: `in` counts
    ARM = auto()  # an arm of a `case` may begin: `esac` counts
    PATTERN = auto()  # inside the patterns of an arm


_RESERVED_AT = {
    Place.COMMAND: RESERVED,
    Place.COPROC: RESERVED - {"time"},
    Place.COPROC_WORD: RESERVED - {"time"},
    Place.LOOP_HEAD: frozenset(("in", "do")),
    Place.CASE_HEAD: frozenset(("in",)),
    Place.ARM: frozenset(("esac",)),
}
_PLACE_AFTER = {
    "FOR": Place.LOOP_NAME,
    "SELECT": Place.LOOP_NAME,
    "NAME": Place.LOOP_HEAD,
    "CASE": Place.CASE_WORD,
    "COPROC": Place.COPROC,
    "ASSIGNMENT": Place.PREFIX,
    "BREAK": Place.ARM,
    "FALL_THROUGH": Place.ARM,
    "TEST_NEXT": Place.ARM,
}
_PLACE_AFTER_WORD = {
    Place.COPROC: Place.COPROC_WORD,
    Place.CASE_WORD: Place.CASE_HEAD,
    Place.ARM: Place.PATTERN,
    Place.PATTERN: Place.PATTERN,
}
_COMMAND_BEGINS = frozenset((Place.COMMAND, Place.COPROC, Place.COPROC_WORD))
_ASSIGNMENTS_COUNT = frozenset((Place.COMMAND, Place.COPROC, Place.PREFIX))
_PIPES = frozenset(("PIPE", "PIPE_BOTH"))
_REDIRECTION_START = frozenset("<>&{0123456789")
_JOINED_OPERATORS = frozenset("|&;>")


class _Tokens:
    """Cuts the text of a cursor into terminals of the grammar, one at a call of `next`.

    `place` is where the next one stands, `last` the kind of the one before it, newlines behind a pipe aside.
    `declares`: the command being read is one of DECLARATIONS, behind which `a=(1 2)` is a word. `in_case`: the `in` to
    come is that of a `case`.
    """

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.place = Place.COMMAND
        self.last = ""
        self.declares = False
        self.in_case = False

    def next(self) -> Token:
        token = self._read()
        kind = token.type
        if kind == "WORD":
            if self.place in _ASSIGNMENTS_COUNT:
                self.declares = literal_text(token.value) in DECLARATIONS
            self.place = _PLACE_AFTER_WORD.get(self.place, Place.ARGUMENT)
        elif kind == "REDIRECTION":
            self.place = Place.PREFIX if self.place in _ASSIGNMENTS_COUNT else Place.ARGUMENT
        elif kind == "IN":
            self.place = Place.ARM if self.in_case else Place.ARGUMENT
            self.declares = False
        elif self.place is Place.ARM and kind in ("NEWLINE", "LPAR"):
            self.place = Place.ARM if kind == "NEWLINE" else Place.PATTERN
        elif self.place is Place.PATTERN and kind == "PIPE":
            pass
        else:
            self.place = _PLACE_AFTER.get(kind, Place.COMMAND)
            if kind in ("CASE", "FOR", "SELECT"):
                self.in_case = kind == "CASE"
        if kind != "NEWLINE" or self.last not in _PIPES:
            self.last = kind
        return token

    def _read(self) -> Token:
        cursor = self.cursor
        self._skip_blanks_and_comment()
        char = cursor.text[cursor.pos]
        if self.last in ("BANG", "TIME") and self._at_end_of_command():
            return _token("NOTHING", None)
        if cursor.at_end():
            return _token("$END", None)
        if char == "\n":
            read_newline(cursor)
            return _token("NEWLINE", None)
        if char in _REDIRECTION_START:
            before = redirect_at(cursor)
            if before >= 0:
                return _token("REDIRECTION", read_redirection(cursor, before))
        if cursor.ends_word(cursor.pos):
            return self._read_operator()
        if self.place is Place.LOOP_NAME:
            return self._read_name()
        reserved = self._read_reserved_word()
        return self._read_word() if reserved is None else reserved

    def _skip_blanks_and_comment(self) -> None:
        cursor = self.cursor
        cursor.skip_blanks()
        if cursor.text[cursor.pos] == "#":
            end = cursor.text.find("\n", cursor.pos)
            cursor.pos = cursor.end if end < 0 else end

    def _at_end_of_command(self) -> bool:
        text, pos = self.cursor.text, self.cursor.pos
        return self.cursor.at_end() or text[pos] == "\n" or (text[pos] == ";" and text[pos + 1] not in ";&")

    def _read_operator(self) -> Token:
        cursor = self.cursor
        text, start = cursor.text, cursor.pos
        if text.startswith("((", start):
            if self.place is Place.LOOP_NAME:
                return self._read_for_arithmetic()
            arithmetic = arith.read_double_parentheses(cursor) if self.place in _COMMAND_BEGINS else None
            if arithmetic is not None:
                return _token("ARITHMETIC", arithmetic[0])
        operator = next((operator for operator in _OPERATORS if text.startswith(operator, start)), None)
        if operator is None:
            raise cursor.unexpected()
        cursor.pos += len(operator)
        if operator not in "()":
            self._refuse_continued_operator()
        return _token(_TERMINALS[operator], operator)

    def _refuse_continued_operator(self) -> None:
        r"""`&\<newline>&` is `&&` to bash. The scanner does not join operators, so neither parser may guess."""
        cursor = self.cursor
        end = cursor.pos
        while cursor.text.startswith("\\\n", end):
            end += 2
        if end > cursor.pos and cursor.text[end] in _JOINED_OPERATORS:
            raise cursor.error("a line continuation inside an operator is not modelled", cursor.pos, end)

    def _read_for_arithmetic(self) -> Token:
        cursor = self.cursor
        cursor.pos += 2
        first = arith.read_expression(cursor)
        cursor.expect(";", "the first part of `for ((`")
        condition = arith.read_expression(cursor)
        cursor.expect(";", "the second part of `for ((`")
        step = arith.read_expression(cursor)
        cursor.expect("))", "`for ((`")
        return _token("FOR_ARITHMETIC", (first, condition, step))

    def _read_name(self) -> Token:
        start = self.cursor.pos
        name = literal_text(read_word(self.cursor, ARGUMENT))
        if not _is_name(name) or self.cursor.text[start : self.cursor.pos] != name:
            raise self.cursor.error("the variable of a loop must be a plain name", start, self.cursor.pos)
        return _token("NAME", name)

    def _read_reserved_word(self) -> Token | None:
        cursor = self.cursor
        word = self._reserved_word(_RESERVED_AT.get(self.place, frozenset()))
        if not word or (word == "time" and self.last in _PIPES):
            return None
        cursor.pos += len(word)
        if word == "!" and cursor.text[cursor.pos] == "(":
            raise cursor.error(
                "`!(` is a subshell, or an extended glob if one is on", cursor.pos - 1, cursor.pos
            )
        if word == "time":
            return _token("TIME", self._read_time_options())
        if word == "function":
            cursor.skip_blanks()
            return self._read_function_head(read_word(cursor, PATTERN), bare=True)
        if word == "[[":
            condition = read_condition(cursor)
            cursor.expect("]]", "a condition")
            if not cursor.ends_word(cursor.pos):
                raise cursor.unexpected()
            return _token("CONDITION", condition)
        return _token(_TERMINALS.get(word, word), word)

    def _reserved_word(self, counting: frozenset[str]) -> str:
        """The word of `counting` whose characters stand at the cursor, unquoted and whole; empty if there is none."""
        cursor = self.cursor
        text, end = cursor.text, cursor.pos
        word = before_continuation = ""
        while text[end] not in WORD_END:
            if text.startswith("\\\n", end):
                before_continuation = before_continuation or word
                end += 2
            else:
                word += text[end]
                end += 1
        if word not in counting or not cursor.ends_word(end):
            return ""
        if before_continuation not in ("", word):
            raise cursor.error("a line continuation inside a reserved word is not modelled", cursor.pos, end)
        return word

    def _read_time_options(self) -> bool:
        """Past one `-p` and one `--`; whether one of them was there, since bash prints as POSIX wants behind both."""
        cursor = self.cursor
        posix = False
        for option in ("-p", "--"):
            cursor.skip_blanks()
            end = cursor.pos + len(option)
            if cursor.text[cursor.pos] == "-" and "\\\n" in cursor.text[cursor.pos : end + 2]:
                raise cursor.error(
                    "a line continuation in an option of `time` is not modelled", cursor.pos, end
                )
            if cursor.text.startswith(option, cursor.pos) and cursor.ends_word(end):
                cursor.pos = end
                posix = True
        return posix

    def _read_word(self) -> Token:
        cursor = self.cursor
        if self.place in _ASSIGNMENTS_COUNT:
            assignment = read_assignment(cursor)
            if assignment is not None:
                return _token("ASSIGNMENT", assignment)
        elif self.declares and self.place in (Place.ARGUMENT, Place.COPROC_WORD):
            array = read_declared_array(cursor)
            if array is not None:
                return _token("WORD", array)
        in_case = self.place in (Place.CASE_WORD, Place.ARM, Place.PATTERN)
        word = read_word(cursor, PATTERN if in_case else ARGUMENT)
        if self.place is Place.COMMAND:
            cursor.skip_blanks()
            if cursor.text[cursor.pos] == "(":
                return self._read_function_head(word, bare=False)
        return _token("WORD", word)

    def _read_function_head(self, word: Word, *, bare: bool) -> Token:
        """The head that begins with `word`. `bare`: it may lack parentheses, because `function` stands before it."""
        cursor = self.cursor
        name = literal_text(word)
        if not name or "=" in name:
            raise cursor.error("the name of a function must be plain text", *word.span)
        cursor.skip_blanks()
        before = cursor.pos
        if cursor.text[before] == "(":
            cursor.pos += 1
            cursor.skip_blanks()
            if cursor.text[cursor.pos] == ")":
                cursor.pos += 1
                return _token("FUNCTION_HEAD", name)
            cursor.pos = before  # `function name (`: the body is a subshell
        if not bare:
            raise cursor.unexpected()
        return _token("FUNCTION_HEAD", name)


def _is_name(text: str) -> bool:
    return bool(text) and text[0] in NAME_START and NAME.issuperset(text)


def _token(kind: str, value: object) -> Token:
    """A token whose value is what the scanner made: Lark's own would turn it into text."""
    token = Token(kind, "")
    token.value = value
    return token


# --- nodes ------------------------------------------------------------------------------------------------------------


class Builder(Transformer[Token, Script]):
    """One method a rule: the node made of what the rule holds.

    Literal tokens of the grammar (`"then"`, `";"`) are gone by then. So are rules whose name begins with an underscore:
    their content stands in the rule above.
    """

    def program(self, items: list[Any]) -> Script:
        (script,) = items
        assert isinstance(script, Script)
        return script

    substitution = function_substitution = program

    def script(self, items: list[Any]) -> Script:
        statements: list[Statement] = []
        for item in items:
            if isinstance(item, Statement):
                statements.append(item)
            elif item.type == "BACKGROUND":
                last = statements[-1]
                statements[-1] = Statement(last.command, last.redirections, last.negated, True, NOWHERE)
        return Script(tuple(statements), NOWHERE)

    body = script

    def and_or(self, items: list[Any]) -> Statement:
        parts, operators = _parts_and_operators(items)
        if not operators:
            return parts[0]
        spellings = tuple("&&" if operator == "AND" else "||" for operator in operators)
        return _statement(AndOr(parts, spellings, NOWHERE))

    def pipeline(self, items: list[Any]) -> Statement:
        *prefixes, inner = items
        if not isinstance(inner, Statement):  # NOTHING
            inner = _statement(Simple((), (), NOWHERE))
        if sum(prefix.type == "BANG" for prefix in prefixes) % 2:
            inner = Statement(inner.command, inner.redirections, True, False, NOWHERE)
        times = [prefix.value for prefix in prefixes if prefix.type == "TIME"]
        return _statement(Timed(inner, any(times), NOWHERE)) if times else inner

    def pipes(self, items: list[Any]) -> Statement:
        parts, operators = _parts_and_operators(items)
        if not operators:
            return parts[0]
        return _statement(Pipeline(parts, tuple(operator == "PIPE_BOTH" for operator in operators), NOWHERE))

    def simple(self, items: list[Any]) -> Statement:
        kinds: dict[str, list[Any]] = {"ASSIGNMENT": [], "WORD": [], "REDIRECTION": []}
        for token in items:
            kinds[token.type].append(token.value)
        command = Simple(tuple(kinds["ASSIGNMENT"]), tuple(kinds["WORD"]), NOWHERE)
        return Statement(command, tuple(kinds["REDIRECTION"]), False, False, NOWHERE)

    def compound(self, items: list[Any]) -> Statement:
        command, *redirections = items
        return Statement(command, tuple([token.value for token in redirections]), False, False, NOWHERE)

    def function(self, items: list[Any]) -> Statement:
        head, body = _without_newlines(items)
        return _statement(Function(head.value, body, NOWHERE))

    def coproc(self, items: list[Any]) -> Statement:
        *names, body = items
        name = literal_text(names[0].value) if names else None
        if name is not None and not _is_name(name):
            raise _RefusedError("the name of a coprocess must be a plain name")
        return _statement(Coproc(name, body, NOWHERE))

    def group(self, items: list[Any]) -> Command:
        (body,) = items
        return Group(body, NOWHERE)

    def subshell(self, items: list[Any]) -> Command:
        (body,) = items
        return Subshell(body, NOWHERE)

    def arithmetic(self, items: list[Any]) -> Command:
        return ArithCommand(items[0].value, NOWHERE)

    def conditional(self, items: list[Any]) -> Command:
        return Conditional(items[0].value, NOWHERE)

    def arm(self, items: list[Any]) -> IfArm:
        condition, body = items
        return IfArm(condition, body, NOWHERE)

    def while_(self, items: list[Any]) -> Command:
        condition, body = items
        return While(condition, body, False, NOWHERE)

    def until(self, items: list[Any]) -> Command:
        condition, body = items
        return While(condition, body, True, NOWHERE)

    def if_(self, items: list[Any]) -> Command:
        otherwise = items.pop() if isinstance(items[-1], Script) else None
        return If(tuple(items), otherwise, NOWHERE)

    def words(self, items: list[Any]) -> tuple[Word, ...]:
        return tuple([token.value for token in items])

    def for_(self, items: list[Any]) -> Command:
        name, words, body = _loop(items)
        return ForWords(name, words, body, NOWHERE)

    def select(self, items: list[Any]) -> Command:
        name, words, body = _loop(items)
        return Select(name, words, body, NOWHERE)

    def for_arithmetic(self, items: list[Any]) -> Command:
        head, body = _without_newlines(items)
        first, condition, step = head.value
        return ForArith(first, condition, step, body, NOWHERE)

    def case(self, items: list[Any]) -> Command:
        word, *arms = _without_newlines(items)
        return Case(word.value, tuple(arms), NOWHERE)

    def case_arm(self, items: list[Any]) -> CaseArm:
        *patterns, body, terminator = _without_newlines(items)
        return CaseArm(self.words(patterns), body, terminator.value, NOWHERE)

    def last_case_arm(self, items: list[Any]) -> CaseArm:
        *patterns, body = items
        return CaseArm(self.words(patterns), body, ";;", NOWHERE)


# Python keeps these names to itself; the grammar need not care.
for _rule in ("if", "for", "while"):
    setattr(Builder, _rule, getattr(Builder, f"{_rule}_"))


def _statement(command: Command) -> Statement:
    return Statement(command, (), False, False, NOWHERE)


def _without_newlines(items: list[Any]) -> list[Any]:
    return [item for item in items if not (isinstance(item, Token) and item.type == "NEWLINE")]


def _parts_and_operators(items: list[Any]) -> tuple[tuple[Statement, ...], tuple[str, ...]]:
    parts = tuple([item for item in items if isinstance(item, Statement)])
    return parts, tuple([item.type for item in _without_newlines(items) if isinstance(item, Token)])


def _loop(items: list[Any]) -> tuple[str, tuple[Word, ...] | None, Script]:
    name, *words, body = _without_newlines(items)
    return name.value, words[0] if words else None, body


# --- the parser -------------------------------------------------------------------------------------------------------


class _RefusedError(Exception):
    """A rule holds what bash would refuse only when it runs, or what is not modelled."""


class _NoLexer(Lexer):
    """Lark wants a lexer; tokens are fed from outside."""

    def __init__(self, _: object) -> None:
        pass

    def lex(self, *_: Any) -> Any:
        raise AssertionError("tokens are fed one at a time")


def load(grammar: str) -> Lark:
    """The grammar, compiled. `strict` makes any conflict an error; Lark would else settle it in silence."""
    return Lark(
        grammar,
        parser="lalr",
        lexer=_NoLexer,
        strict=True,
        start=list(STARTS),
        transformer=Builder(),
    )


LARK = load(GRAMMAR.read_text(encoding="utf-8"))
_TERMINALS = {terminal.pattern.value: terminal.name for terminal in LARK.terminals}
"""The terminals that have one spelling, reserved words and operators, as the grammar writes them."""
_OPERATORS = sorted(_TERMINALS.keys() - RESERVED, key=len, reverse=True)


def _read_script(cursor: Cursor) -> Script:
    """The script at the cursor. That of a substitution ends before its closer, which the caller takes."""
    cursor.enter(cursor.pos)
    outer, cursor.pending = cursor.pending, []
    before = cursor.text[cursor.pos - 1] if cursor.pos else ""
    start = "program" if not before else "substitution" if before == "(" else "function_substitution"
    tokens = _Tokens(cursor)
    parser = LARK.parse_interactive(start=start)
    result: Any = None
    begin = cursor.pos
    try:
        while result is None:
            begin = cursor.pos
            token = tokens.next()
            result = parser.feed_token(token)
            # Only the closer of the substitution itself leaves nothing to come but the end.
            if token.type in ("RPAR", "RBRACE") and parser.choices().keys() == {"$END"}:  # type: ignore[no-untyped-call]
                result = parser.feed_token(Token("$END", ""))
                cursor.pos -= 1
    except UnexpectedToken as error:
        raise cursor.error(
            f"the grammar has no place for {error.token.type} here", begin, cursor.pos
        ) from None
    except _RefusedError as error:
        raise cursor.error(str(error), cursor.pos) from None
    if cursor.pending and not cursor.at_end():
        raise cursor.error("a here-document whose body is missing at the end of a substitution", cursor.pos)
    cursor.pending = outer
    cursor.depth -= 1
    assert isinstance(result, Script)
    return result
