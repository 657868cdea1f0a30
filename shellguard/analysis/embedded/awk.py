# SPDX-License-Identifier: Apache-2.0
"""awk programs: what they print is harmless, where they print it may not be.

The program is read as tokens. What writes or runs something shows in them: `>` behind print, a single `|`, `getline`,
`system`, `@`. The one hard question is whether `/` divides or begins a regular expression; where the token before it
does not tell, the program is not understood. Source: POSIX awk, "Lexical Conventions", and the gawk manual 5.2.
"""

from __future__ import annotations

from shellguard.analysis.embedded import Finding, NotUnderstoodError
from shellguard.effects import Effect

_NAME_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME_LATER = _NAME_FIRST | frozenset("0123456789")
_DIGITS = frozenset("0123456789.")
_OPERATORS = (
    *(
        "**=",
        "...",
        "||",
        "&&",
        "|&",
        ">>",
        "++",
        "--",
        "+=",
        "-=",
        "*=",
        "/=",
        "%=",
        "^=",
        "**",
        "==",
        "<=",
        ">=",
    ),
    *("!=", "!~"),
)
_SINGLE = frozenset("{}()[];,<>|+-*%^!~?:=$\n&")
_BEFORE_OPERAND = frozenset(
    {
        *(
            "print",
            "printf",
            "return",
            "in",
            "do",
            "else",
            "case",
            "delete",
            "exit",
            "BEGIN",
            "END",
            "next",
            "nextfile",
        ),
        "function",
    }
)
"""Words behind which an operand begins, or a statement ends: `/` begins an expression there."""

_CONDITION_WORDS = frozenset({"if", "while", "for", "switch"})
_OWN_OUTPUT = frozenset({'"/dev/stdout"', '"/dev/stderr"', '"/dev/null"'})


def read(text: str, found: list[Finding]) -> None:
    """Reads a whole program."""
    _judge(_tokens(text), found)


# --- tokens -----------------------------------------------------------------------------------------------------------


def _tokens(text: str) -> list[str]:
    """The tokens; a string keeps its quotes, a regular expression is `//`. Newlines are tokens, comments are none."""
    tokens: list[str] = []
    opened: list[bool] = []  # for each open parenthesis: does it hold the condition of a statement?
    closed_condition = False  # was the last token the `)` of one?
    index = 0
    while index < len(text):
        char = text[index]
        start = index
        if char in " \t\r":
            index += 1
            continue
        if char == "\\" and text[index + 1 : index + 2] == "\n":
            index += 2
            continue
        if char == "#":
            end = text.find("\n", index)
            index = len(text) if end < 0 else end
            continue
        if char == '"':
            index = _behind_string(text, index)
            token = text[start:index]
        elif char == "/" and _begins_expression(tokens, closed_condition):
            index = _behind_expression(text, index)
            token = "//"
        elif char in _NAME_FIRST:
            while index < len(text) and text[index] in _NAME_LATER:
                index += 1
            token = text[start:index]
        elif char in _DIGITS:
            while index < len(text) and text[index] in _NAME_LATER | _DIGITS:
                index += 1
            token = text[start:index]
        else:
            token = _operator(text, index)
            index += len(token)
        closed_condition = _track(token, tokens, opened)
        tokens.append(token)
    if opened:
        raise NotUnderstoodError("a parenthesis of the awk program is not closed")
    return tokens


def _track(token: str, tokens: list[str], opened: list[bool]) -> bool:
    """Keeps the stack of parentheses; whether this token closes the condition of a statement."""
    if token == "(":
        opened.append(bool(tokens) and tokens[-1] in _CONDITION_WORDS)
    elif token == ")":
        if not opened:
            raise NotUnderstoodError("a parenthesis of the awk program opens nothing")
        return opened.pop()
    return False


def _operator(text: str, index: int) -> str:
    for operator in _OPERATORS:
        if text.startswith(operator, index):
            return operator
    char = text[index]
    if char in _SINGLE or char == "/":
        return char
    if char == "@":
        raise NotUnderstoodError("@ in an awk program loads code or calls what a variable names")
    raise NotUnderstoodError(f"{char!r} in an awk program")


def _begins_expression(tokens: list[str], closed_condition: bool) -> bool:
    """Whether `/` begins a regular expression behind these tokens, and does not divide."""
    if not tokens or closed_condition:
        return True
    last = tokens[-1]
    if last in ("++", "--", "length", "getline"):
        raise NotUnderstoodError(f"whether / divides behind {last!r} cannot be told")
    if last in _BEFORE_OPERAND:
        return True
    return not (last[0] in _NAME_LATER or last[0] in '".)]' or last in ("//", "$"))


def _behind_string(text: str, index: int) -> int:
    index += 1
    while index < len(text) and text[index] != '"':
        if text[index] == "\n":
            raise NotUnderstoodError("a line ends inside a string of the awk program")
        index += 2 if text[index] == "\\" else 1
    if index >= len(text):
        raise NotUnderstoodError("a string of the awk program is not closed")
    return index + 1


def _behind_expression(text: str, index: int) -> int:
    """Behind a regular expression. A `/` in brackets ends it for some awks and not for others: not understood."""
    index += 1
    bracket = False
    while index < len(text):
        char = text[index]
        if char == "\n":
            break
        if char == "\\":
            index += 2
            continue
        if char == "/":
            if bracket:
                raise NotUnderstoodError("/ inside brackets of an awk expression")
            return index + 1
        if char == "[":
            bracket = True
        elif char == "]":
            bracket = False
        index += 1
    raise NotUnderstoodError("an expression of the awk program is not closed")


# --- what they do -----------------------------------------------------------------------------------------------------


def _judge(tokens: list[str], found: list[Finding]) -> None:
    printing = False
    depth = 0  # of parentheses and brackets since `print`: inside, `>` compares
    for index, token in enumerate(tokens):
        if token in ("print", "printf"):
            printing, depth = True, 0
        elif token in ("(", "["):
            depth += 1
        elif token in (")", "]"):
            depth -= 1
        elif token in (";", "}", "{"):
            printing = False
        elif token in (">", ">>"):
            if (printing and depth <= 0) or token == ">>":
                _printed_to(tokens[index + 1 : index + 3], token, found)
        elif token in ("|", "|&"):
            found.append(Finding(Effect.EXECUTES, f"{token} of awk runs a command"))
        elif token == "system":
            found.append(Finding(Effect.EXECUTES, "system() of awk runs a command"))
        elif token in ("getline", "ARGV", "ARGC"):
            found.append(Finding(Effect.UNKNOWN, f"{token} of awk reads from somewhere else"))


def _printed_to(following: list[str], operator: str, found: list[Finding]) -> None:
    target = following[0] if following else ""
    ends = len(following) < 2 or following[1] in (";", "}", "\n")
    if not (target in _OWN_OUTPUT and ends):
        found.append(Finding(Effect.WRITES, f"{operator} of awk writes a file"))
