# SPDX-License-Identifier: Apache-2.0
"""Lists, pipelines, simple and compound commands, functions.

Source: bash manual, "Shell Commands" and "Shell Functions".
"""

from __future__ import annotations

from shellguard.syntax import arith
from shellguard.syntax.assignments import read_assignment, read_declared_array
from shellguard.syntax.conditions import literal_text, read_condition
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
)
from shellguard.syntax.redirects import read_newline, read_redirection, redirect_at
from shellguard.syntax.tokens import (
    CLOSERS,
    DECLARATIONS,
    NAME,
    NAME_START,
    RESERVED,
    RESERVED_CHARS,
    RESERVED_START,
)
from shellguard.syntax.words import ARGUMENT, PATTERN, read_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shellguard.syntax.cursor import Cursor
    from shellguard.syntax.nodes import Assignment, Command, Redirection, Word

_REDIRECT_START = frozenset("<>&{0123456789")


# --- lists ------------------------------------------------------------------------------------------------------------


def read_script(cursor: Cursor) -> Script:
    """Statements up to what cannot begin one: the end of the text, `)`, `;;`, or a reserved word that closes a
    construct.

    The caller checks that it is the end it waits for. A here-document named outside keeps its body outside.
    """
    start = cursor.pos
    cursor.enter(start)
    outer, cursor.pending = cursor.pending, []
    script = _read_list(cursor)
    if cursor.pending:
        if not cursor.at_end():
            raise cursor.error(
                "a here-document whose body is missing at the end of a substitution", *cursor.pending[0].span
            )
        cursor.pending = []  # the end of the text ends it, with an empty body
    cursor.pending = outer
    cursor.depth -= 1
    return script


def _read_list(cursor: Cursor) -> Script:
    text, start = cursor.text, cursor.pos
    statements: list[Statement] = []
    _skip_newlines(cursor)
    while not _at_list_end(cursor):
        statement = _read_and_or(cursor)
        cursor.skip_blanks()
        char = text[cursor.pos]
        if char == "&":
            cursor.pos += 1
            statement = Statement(
                statement.command,
                statement.redirections,
                statement.negated,
                True,
                (statement.span[0], cursor.pos),
            )
        elif char == ";" and text[cursor.pos + 1] not in ";&":
            cursor.pos += 1
        elif char not in "\n#" and not _at_list_end(cursor):
            raise cursor.unexpected()
        statements.append(statement)
        if char not in "&;\n#":
            break
        _skip_newlines(cursor)
    end = statements[-1].span[1] if statements else start
    return Script(tuple(statements), (statements[0].span[0] if statements else start, end))


def _at_list_end(cursor: Cursor) -> bool:
    char = cursor.text[cursor.pos]
    if char == ")":
        return True
    if char == ";":
        return cursor.text[cursor.pos + 1] in ";&"
    return cursor.at_end() or (char in RESERVED_START and _reserved_at(cursor) in CLOSERS)


def _skip_newlines(cursor: Cursor) -> None:
    """Past blanks, newlines and comments.

    The cursor stands where a comment may begin: behind a blank or an operator.
    """
    text = cursor.text
    while True:
        cursor.skip_blanks()
        char = text[cursor.pos]
        if char == "\n":
            read_newline(cursor)
        elif char == "#":
            end = text.find("\n", cursor.pos)
            cursor.pos = cursor.end if end < 0 else end
        else:
            return


def _read_and_or(cursor: Cursor) -> Statement:
    first = _read_pipeline(cursor)
    parts = [first]
    operators: list[str] = []
    while True:
        cursor.skip_blanks()
        operator = cursor.text[cursor.pos : cursor.pos + 2]
        if operator != "&&" and operator != "||":
            break
        cursor.pos += 2
        operators.append(operator)
        _skip_newlines(cursor)
        parts.append(_read_pipeline(cursor))
    if not operators:
        return first
    span = (first.span[0], parts[-1].span[1])
    return Statement(AndOr(tuple(parts), tuple(operators), span), (), False, False, span)


# --- pipelines --------------------------------------------------------------------------------------------------------


def _read_pipeline(cursor: Cursor) -> Statement:
    """A pipeline with the `!` and `time` before it.

    Bash keeps those as flags: any order means the same, two `!` cancel out.
    """
    start = cursor.pos
    negated = timed = posix = False
    while True:
        word = _reserved_at(cursor)
        if word == "!":
            cursor.pos += 1
            negated = not negated
            if cursor.text[cursor.pos] == "(":
                raise cursor.error(
                    "`!(` begins a subshell, or an extended glob if one is on", start, cursor.pos + 1
                )
        elif word == "time":
            cursor.pos += len(word)
            timed = True
            posix = _read_time_options(cursor) or posix
        else:
            break
        cursor.skip_blanks()
    if cursor.pos == start:
        return _read_pipe_parts(cursor)
    begin = cursor.pos
    if (
        cursor.at_end()
        or cursor.text[begin] == "\n"
        or (cursor.text[begin] == ";" and cursor.text[begin + 1] not in ";&")
    ):
        inner = Statement(Simple((), (), (begin, begin)), (), False, False, (begin, begin))
    else:
        inner = _read_pipe_parts(cursor)
    if negated:
        span = inner.span if timed else (start, inner.span[1])
        inner = Statement(inner.command, inner.redirections, True, False, span)
    if not timed:
        return inner
    span = (start, inner.span[1])
    return Statement(Timed(inner, posix, span), (), False, False, span)


def _read_time_options(cursor: Cursor) -> bool:
    """Past `-p` and `--` behind `time`; whether one was there. Bash 5.2 takes the second for the first."""
    posix = False
    for option in ("-p", "--"):
        cursor.skip_blanks()
        pos = cursor.pos
        if cursor.text[pos] == "-" and "\\\n" in cursor.text[pos : pos + 4]:
            raise cursor.error("a line continuation in an option of `time` is not modelled", pos, pos + 3)
        if cursor.text.startswith(option, pos) and cursor.ends_word(pos + len(option)):
            cursor.pos += len(option)
            posix = True
    return posix


def _read_pipe_parts(cursor: Cursor) -> Statement:
    text = cursor.text
    first = _read_statement(cursor)
    cursor.skip_blanks()
    if text[cursor.pos] != "|" or text[cursor.pos + 1] == "|":
        _refuse_continued_operator(cursor)
        return first
    parts = [first]
    pipes_stderr: list[bool] = []
    while text[cursor.pos] == "|" and text[cursor.pos + 1] != "|":
        _refuse_continued_operator(cursor)
        pipes_stderr.append(text[cursor.pos + 1] == "&")
        cursor.pos += 2 if pipes_stderr[-1] else 1
        begin = cursor.pos
        _skip_newlines(cursor)
        reserved = _reserved_at(cursor)
        # Bash knows `time` for a command here only on the line of the pipe, or on the next one if that is no `|&`.
        lines = 1 if pipes_stderr[-1] else 2
        if reserved == "!" or (reserved == "time" and text.count("\n", begin, cursor.pos) >= lines):
            raise cursor.unexpected()
        parts.append(_read_statement(cursor))
        cursor.skip_blanks()
    _refuse_continued_operator(cursor)
    span = (first.span[0], parts[-1].span[1])
    return Statement(Pipeline(tuple(parts), tuple(pipes_stderr), span), (), False, False, span)


def _refuse_continued_operator(cursor: Cursor) -> None:
    r"""Bash joins `&\<newline>&` into `&&`; not modelled where the character behind would change the operator."""
    text, pos = cursor.text, cursor.pos
    if text[pos] in "|&;" and text.startswith("\\\n", pos + 1):
        end = pos + 1
        while text.startswith("\\\n", end):
            end += 2
        if text[end] in "|&;>":
            raise cursor.error("a line continuation inside an operator is not modelled", pos, end)


# --- commands ---------------------------------------------------------------------------------------------------------


def _reserved_at(cursor: Cursor) -> str:
    """The reserved word at the cursor, which stands where one counts; empty if there is none."""
    text, pos = cursor.text, cursor.pos
    if text[pos] not in RESERVED_START:
        return ""
    end = pos + 1
    while text[end] in RESERVED_CHARS:
        end += 1
    if text[end] == "\\" and text[end + 1] == "\n":
        return _refuse_continued_reserved_word(cursor, end)
    return text[pos:end] if text[pos:end] in RESERVED and cursor.ends_word(end) else ""


def _refuse_continued_reserved_word(cursor: Cursor, pos: int) -> str:
    """The reserved word before a line continuation. One that has the continuation inside it is refused."""
    text, start = cursor.text, cursor.pos
    end = pos
    word = text[start:pos]
    while text.startswith("\\\n", end) or text[end] in RESERVED_CHARS:
        if text[end] == "\\":
            end += 2
        else:
            word += text[end]
            end += 1
    if word not in RESERVED or not cursor.ends_word(end):
        return ""
    if word == text[start:pos]:
        return word
    raise cursor.error("a line continuation inside a reserved word is not modelled", pos, pos + 2)


def _read_statement(cursor: Cursor) -> Statement:
    """One command with its redirections."""
    start = cursor.pos
    if cursor.text[start] == "(":
        return _finish_compound(cursor, start, _read_parentheses(cursor))
    word = _reserved_at(cursor)
    if not word or word == "time":  # inside a pipeline, `time` is a command like others
        return _read_simple(cursor)
    read = _COMPOUND.get(word)
    if read is None:
        raise cursor.error(f"unexpected {word!r}", start, start + len(word))
    cursor.enter(start)
    cursor.pos += len(word)
    command = read(cursor, start)
    cursor.depth -= 1
    if isinstance(command, (Function, Coproc)):
        return Statement(command, (), False, False, command.span)  # redirections belong to their bodies
    return _finish_compound(cursor, start, command)


def _finish_compound(cursor: Cursor, start: int, command: Command) -> Statement:
    redirections = []
    end = cursor.pos
    while True:
        cursor.skip_blanks()
        before = redirect_at(cursor)
        if before < 0:
            break
        redirections.append(read_redirection(cursor, before))
        end = cursor.pos
    ended = cursor.at_end() or cursor.text[cursor.pos] in ";&|)\n#"
    if not ended and (redirections or _reserved_at(cursor) not in CLOSERS):
        raise cursor.unexpected()  # behind a word, and be it the target of a redirection, no closer counts
    return Statement(command, tuple(redirections), False, False, (start, end))


def _read_simple(cursor: Cursor) -> Statement:
    text, start = cursor.text, cursor.pos
    assignments: list[Assignment] = []
    words: list[Word] = []
    redirections: list[Redirection] = []
    end = start
    declares = False
    while True:
        char = text[cursor.pos]
        if char in _REDIRECT_START:
            before = redirect_at(cursor)
            if before >= 0:
                redirections.append(read_redirection(cursor, before))
                end = cursor.pos
                cursor.skip_blanks()
                continue
        if char == "#" or cursor.ends_word(cursor.pos):
            break
        if not words:
            assignment = read_assignment(cursor)
            if assignment is not None:
                assignments.append(assignment)
                end = cursor.pos
                cursor.skip_blanks()
                continue
        word = (read_declared_array(cursor) if declares else None) or read_word(cursor, ARGUMENT)
        if not words:
            declares = literal_text(word) in DECLARATIONS
        words.append(word)
        end = cursor.pos
        cursor.skip_blanks()
    if char == "(":
        if len(words) == 1 and not assignments and not redirections:
            return _read_function_after_name(cursor, words[0])
        raise cursor.unexpected()
    if end == start:
        raise cursor.unexpected()
    command = Simple(tuple(assignments), tuple(words), (start, end))
    return Statement(command, tuple(redirections), False, False, (start, end))


def _read_parentheses(cursor: Cursor) -> Command:
    text, start = cursor.text, cursor.pos
    if text[start + 1] == "(":
        arithmetic = arith.read_double_parentheses(cursor)
        if arithmetic is not None:
            return ArithCommand(arithmetic[0], (start, cursor.pos))
    cursor.pos = start + 1
    body = _read_body(cursor)
    cursor.expect(")", "a subshell")
    return Subshell(body, (start, cursor.pos))


def _read_body(cursor: Cursor) -> Script:
    """The statements inside a compound command: at least one. They share the here-documents of the line."""
    cursor.enter(cursor.pos)
    script = _read_list(cursor)
    cursor.depth -= 1
    if not script.statements:
        raise cursor.unexpected()
    return script


def _take_reserved(cursor: Cursor, word: str) -> None:
    """Past `word`, which must stand at the cursor in command position."""
    if _reserved_at(cursor) != word:
        raise cursor.error(f"{word!r} expected", cursor.pos)
    cursor.pos += len(word)


# --- compound commands: each reads what follows its reserved word, which begins at `start`
# ------------------------------


def _read_group(cursor: Cursor, start: int) -> Command:
    body = _read_body(cursor)
    _take_reserved(cursor, "}")
    return Group(body, (start, cursor.pos))


def _read_if(cursor: Cursor, start: int) -> Command:
    arms = []
    begin = start
    while True:
        condition = _read_body(cursor)
        _take_reserved(cursor, "then")
        body = _read_body(cursor)
        arms.append(IfArm(condition, body, (begin, body.span[1])))
        begin = cursor.pos
        if _reserved_at(cursor) != "elif":
            break
        cursor.pos += len("elif")
    otherwise = None
    if _reserved_at(cursor) == "else":
        cursor.pos += len("else")
        otherwise = _read_body(cursor)
    _take_reserved(cursor, "fi")
    return If(tuple(arms), otherwise, (start, cursor.pos))


def _read_while(cursor: Cursor, start: int) -> Command:
    until = cursor.text[start] == "u"
    condition = _read_body(cursor)
    body = _read_do(cursor)
    return While(condition, body, until, (start, cursor.pos))


def _read_do(cursor: Cursor) -> Script:
    _take_reserved(cursor, "do")
    body = _read_body(cursor)
    _take_reserved(cursor, "done")
    return body


def _read_for(cursor: Cursor, start: int) -> Command:
    cursor.skip_blanks()
    if cursor.text.startswith("((", cursor.pos):
        return _read_for_arith(cursor, start)
    name, words = _read_loop_head(cursor)
    body = _read_loop_body(cursor)
    return ForWords(name, words, body, (start, cursor.pos))


def _read_select(cursor: Cursor, start: int) -> Command:
    cursor.skip_blanks()
    name, words = _read_loop_head(cursor)
    body = _read_loop_body(cursor)
    return Select(name, words, body, (start, cursor.pos))


def _read_name(cursor: Cursor, what: str) -> str:
    text, start = cursor.text, cursor.pos
    end = start
    while text[end] in NAME:
        end += 1
    if text[start] not in NAME_START or not cursor.ends_word(end):
        raise cursor.error(f"{what} must be a plain name", start, end)
    cursor.pos = end
    return text[start:end]


def _read_loop_head(cursor: Cursor) -> tuple[str, tuple[Word, ...] | None]:
    """`name in words;` or `name`, up to where `do` or `{` must stand."""
    name = _read_name(cursor, "the variable of a loop")
    cursor.skip_blanks()
    if _reserved_at(cursor) == "{":
        raise cursor.unexpected()
    words: list[Word] | None = None
    if cursor.text[cursor.pos] != ";":
        _skip_newlines(cursor)
        if _reserved_at(cursor) != "in":
            return name, None
        cursor.pos += 2
        words = []
        cursor.skip_blanks()
        while cursor.text[cursor.pos] not in ";\n#" and not cursor.at_end():
            words.append(read_word(cursor, ARGUMENT))
            cursor.skip_blanks()
    if cursor.text[cursor.pos] == ";":
        cursor.pos += 1
    _skip_newlines(cursor)
    return name, None if words is None else tuple(words)


def _read_loop_body(cursor: Cursor) -> Script:
    """`do body done` or `{ body }`."""
    if _reserved_at(cursor) != "{":
        return _read_do(cursor)
    cursor.pos += 1
    body = _read_body(cursor)
    _take_reserved(cursor, "}")
    return body


def _read_for_arith(cursor: Cursor, start: int) -> Command:
    cursor.pos += 2
    first = arith.read_expression(cursor)
    cursor.expect(";", "the first part of `for ((`")
    condition = arith.read_expression(cursor)
    cursor.expect(";", "the second part of `for ((`")
    step = arith.read_expression(cursor)
    cursor.expect("))", "`for ((`")
    cursor.skip_blanks()
    if cursor.text[cursor.pos] == ";":
        cursor.pos += 1
    _skip_newlines(cursor)
    body = _read_loop_body(cursor)
    return ForArith(first, condition, step, body, (start, cursor.pos))


def _read_case(cursor: Cursor, start: int) -> Command:
    word = _read_pattern(cursor)
    _skip_newlines(cursor)
    _take_reserved(cursor, "in")
    _skip_newlines(cursor)
    arms: list[CaseArm] = []
    while _reserved_at(cursor) != "esac":
        arms.append(_read_case_arm(cursor))
        _skip_newlines(cursor)
    cursor.pos += len("esac")
    return Case(word, tuple(arms), (start, cursor.pos))


def _read_case_arm(cursor: Cursor) -> CaseArm:
    text, start = cursor.text, cursor.pos
    if text[start] == "(":
        cursor.pos += 1
    patterns = [_read_pattern(cursor)]
    while text[cursor.pos] == "|":
        cursor.pos += 1
        patterns.append(_read_pattern(cursor))
    cursor.expect(")", "the patterns of a case")
    cursor.enter(start)
    body = _read_list(cursor)
    cursor.depth -= 1
    cursor.skip_blanks()
    end = cursor.pos
    terminator = next((mark for mark in (";;&", ";;", ";&") if text.startswith(mark, end)), "")
    if not terminator and _reserved_at(cursor) != "esac":
        raise cursor.unexpected()
    cursor.pos += len(terminator)
    return CaseArm(tuple(patterns), body, terminator or ";;", (start, cursor.pos if terminator else end))


def _read_pattern(cursor: Cursor) -> Word:
    """One pattern, or another word where a comment cannot stand, and the blanks around it."""
    cursor.skip_blanks()
    if cursor.text[cursor.pos] == "#":
        raise cursor.error("a comment where a word must stand", cursor.pos)
    pattern = read_word(cursor, PATTERN)
    cursor.skip_blanks()
    return pattern


def _read_conditional(cursor: Cursor, start: int) -> Command:
    condition = read_condition(cursor)
    if not cursor.text.startswith("]]", cursor.pos) or not cursor.ends_word(cursor.pos + 2):
        raise cursor.unexpected()
    cursor.pos += 2
    return Conditional(condition, (start, cursor.pos))


def _read_function(cursor: Cursor, start: int) -> Command:
    name = _function_name(cursor, _read_pattern(cursor))
    if cursor.text[cursor.pos] == "(":
        after = cursor.pos + 1
        while cursor.text[after] in " \t":
            after += 1
        if cursor.text[after] == ")":
            cursor.pos = after + 1
    return _read_function_body(cursor, name, start)


def _read_function_after_name(cursor: Cursor, word: Word) -> Statement:
    """`name ( ) body`, the cursor on the parenthesis."""
    name = _function_name(cursor, word)
    cursor.pos += 1
    cursor.skip_blanks()
    cursor.expect(")", "the head of a function")
    function = _read_function_body(cursor, name, word.span[0])
    return Statement(function, (), False, False, function.span)


def _function_name(cursor: Cursor, word: Word) -> str:
    name = literal_text(word)
    if not name or "=" in name or name[0] == "~":
        raise cursor.error("the name of a function must be plain text", *word.span)
    return name


def _read_function_body(cursor: Cursor, name: str, start: int) -> Function:
    _skip_newlines(cursor)
    if cursor.text[cursor.pos] != "(" and _reserved_at(cursor) not in _BODIES:
        raise cursor.error("the body of a function must be a compound command", cursor.pos)
    cursor.enter(start)
    body = _read_statement(cursor)
    cursor.depth -= 1
    return Function(name, body, (start, body.span[1]))


def _read_coproc(cursor: Cursor, start: int) -> Command:
    cursor.skip_blanks()
    name = None
    if _reserved_at(cursor) in RESERVED - _BODIES:
        raise cursor.unexpected()
    if cursor.text[cursor.pos] != "(" and not _reserved_at(cursor):
        name = _name_before_compound(cursor)
    body = _read_statement(cursor)
    if isinstance(body.command, Function):
        raise cursor.error("a function inside `coproc` is not modelled", *body.span)
    if isinstance(body.command, Simple) and any(
        literal_text(word) in RESERVED for word in body.command.words[:2]
    ):
        raise cursor.error("a reserved word behind `coproc` that begins no command", *body.span)
    return Coproc(name, body, (start, body.span[1]))


def _name_before_compound(cursor: Cursor) -> str | None:
    """The name in `coproc name { ...; }`: a name only if a compound command follows, else it is the command."""
    text, start = cursor.text, cursor.pos
    end = start
    while text[end] in NAME:
        end += 1
    if end == start or text[start] not in NAME_START or text[end] not in " \t":
        return None
    cursor.pos = end
    cursor.skip_blanks()
    if text[cursor.pos] == "(" or _reserved_at(cursor) in _BODIES:
        return text[start:end]
    cursor.pos = start
    return None


_COMPOUND: dict[str, Callable[[Cursor, int], Command]] = {
    "{": _read_group,
    "[[": _read_conditional,
    "case": _read_case,
    "coproc": _read_coproc,
    "for": _read_for,
    "function": _read_function,
    "if": _read_if,
    "select": _read_select,
    "until": _read_while,
    "while": _read_while,
}
_BODIES = frozenset(_COMPOUND) - {"coproc", "function"}
