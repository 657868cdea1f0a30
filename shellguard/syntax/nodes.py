# SPDX-License-Identifier: Apache-2.0
"""The syntax tree: every node type, in one closed set.

Invariants, each held by a test:

1. Every node has a `span` (characters of the text). Children lie inside the span of their parent; the one exception is
   the body of a here-document, which stands after the line that names it.
2. `parse(print(tree)) == tree`. Equality compares everything but spans: two trees are equal when they say the same.
3. Whatever the shell would expand is a node. A substitution holds a parsed `Script` wherever it stands: in words,
   subscripts, here-documents, `case` patterns, arithmetic, redirection targets. No node keeps shell text to be read
   later.
4. Nothing assigns to a node after it was made, but the parser, which fills `HereDoc.body` when it meets the newline
   behind which the body stands, before the tree is handed out.

The unions at the end (`Command`, `WordPart`, `Redirection`, `Arith`, `Condition`, `AnyNode`) are what a `match` runs
over; it ends in `assert_never`, so that mypy names the place that forgets a new node.

Sources: bash manual (5.2), chapters "Shell Syntax" and "Basic Shell Features", and bash itself as the judge of each
form.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from shellguard.spans import Span


class Node:
    """Base of all nodes: structural equality without spans, and a readable `repr`."""

    __slots__ = ("span",)
    __match_args__: tuple[str, ...] = ("span",)

    span: Span

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            getattr(self, name) == getattr(other, name) for name in self.__match_args__ if name != "span"
        )

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in self.__match_args__ if name != "span")))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__name__}({fields})"


# --- scripts and statements -------------------------------------------------------------------------------------------


class Script(Node):
    """Statements in the order they are read: a whole text, the body of a compound command or of a substitution.

    `statements` is empty for a text without commands, an empty `$( )` and an empty `case` arm.
    """

    __slots__ = ("statements",)
    __match_args__ = ("statements", "span")

    def __init__(self, statements: tuple[Statement, ...], span: Span) -> None:
        self.statements, self.span = statements, span


class Statement(Node):
    """A command with what any command may carry: redirections, a leading `!`, a closing `&`.

    `redirections` are in the order they are written; those of a simple command may stand between its words.
    `negated` is the outcome of all leading `!` (two cancel out).
    """

    __slots__ = ("background", "command", "negated", "redirections")
    __match_args__ = ("command", "redirections", "negated", "background", "span")

    def __init__(
        self,
        command: Command,
        redirections: tuple[Redirection, ...],
        negated: bool,
        background: bool,
        span: Span,
    ) -> None:
        self.command, self.redirections = command, redirections
        self.negated, self.background, self.span = negated, background, span


# --- commands ---------------------------------------------------------------------------------------------------------


class Simple(Node):
    """`A=1 ls -l`: assignments, then words. Both are empty for `> file`, a bare `!` and a bare `time`."""

    __slots__ = ("assignments", "words")
    __match_args__ = ("assignments", "words", "span")

    def __init__(self, assignments: tuple[Assignment, ...], words: tuple[Word, ...], span: Span) -> None:
        self.assignments, self.words, self.span = assignments, words, span


class Pipeline(Node):
    """`a | b |& c`: two or more commands joined by pipes.

    `pipes_stderr[i]` tells whether the pipe after `parts[i]` is `|&`, so it is one shorter than `parts`.
    A single command is never wrapped in a Pipeline.
    """

    __slots__ = ("parts", "pipes_stderr")
    __match_args__ = ("parts", "pipes_stderr", "span")

    def __init__(self, parts: tuple[Statement, ...], pipes_stderr: tuple[bool, ...], span: Span) -> None:
        self.parts, self.pipes_stderr, self.span = parts, pipes_stderr, span


class AndOr(Node):
    """`a && b || c`: two or more statements, read from the left. `operators[i]` (`&&` or `||`) follows `parts[i]`."""

    __slots__ = ("operators", "parts")
    __match_args__ = ("parts", "operators", "span")

    def __init__(self, parts: tuple[Statement, ...], operators: tuple[str, ...], span: Span) -> None:
        self.parts, self.operators, self.span = parts, operators, span


class Timed(Node):
    """`time pipeline`, the reserved word. `posix` for `time -p`; the statement may be an empty `Simple`."""

    __slots__ = ("posix", "statement")
    __match_args__ = ("statement", "posix", "span")

    def __init__(self, statement: Statement, posix: bool, span: Span) -> None:
        self.statement, self.posix, self.span = statement, posix, span


class Group(Node):
    """`{ a; b; }`: runs in the shell that reads it."""

    __slots__ = ("body",)
    __match_args__ = ("body", "span")

    def __init__(self, body: Script, span: Span) -> None:
        self.body, self.span = body, span


class Subshell(Node):
    """`( a; b )`: runs in a copy of the shell; what it defines ends with it."""

    __slots__ = ("body",)
    __match_args__ = ("body", "span")

    def __init__(self, body: Script, span: Span) -> None:
        self.body, self.span = body, span


class If(Node):
    """`if a; then b; elif c; then d; else e; fi`. At least one arm; `otherwise` is the `else` part or None."""

    __slots__ = ("arms", "otherwise")
    __match_args__ = ("arms", "otherwise", "span")

    def __init__(self, arms: tuple[IfArm, ...], otherwise: Script | None, span: Span) -> None:
        self.arms, self.otherwise, self.span = arms, otherwise, span


class IfArm(Node):
    """One condition of an `if` or `elif` and what it runs."""

    __slots__ = ("body", "condition")
    __match_args__ = ("condition", "body", "span")

    def __init__(self, condition: Script, body: Script, span: Span) -> None:
        self.condition, self.body, self.span = condition, body, span


class While(Node):
    """`while a; do b; done`, and `until` with `until` true."""

    __slots__ = ("body", "condition", "until")
    __match_args__ = ("condition", "body", "until", "span")

    def __init__(self, condition: Script, body: Script, until: bool, span: Span) -> None:
        self.condition, self.body, self.until, self.span = condition, body, until, span


class ForWords(Node):
    """`for name in words; do body; done`. `words` is None where `in` is left out (the positional parameters)."""

    __slots__ = ("body", "name", "words")
    __match_args__ = ("name", "words", "body", "span")

    def __init__(self, name: str, words: tuple[Word, ...] | None, body: Script, span: Span) -> None:
        self.name, self.words, self.body, self.span = name, words, body, span


class ForArith(Node):
    """`for ((first; condition; step)); do body; done`. Each of the three is None where it is left out."""

    __slots__ = ("body", "condition", "first", "step")
    __match_args__ = ("first", "condition", "step", "body", "span")

    def __init__(
        self, first: Arith | None, condition: Arith | None, step: Arith | None, body: Script, span: Span
    ) -> None:
        self.first, self.condition, self.step = first, condition, step
        self.body, self.span = body, span


class Select(Node):
    """`select name in words; do body; done`; `words` as in ForWords. Reads a choice from standard input."""

    __slots__ = ("body", "name", "words")
    __match_args__ = ("name", "words", "body", "span")

    def __init__(self, name: str, words: tuple[Word, ...] | None, body: Script, span: Span) -> None:
        self.name, self.words, self.body, self.span = name, words, body, span


class Case(Node):
    """`case word in pattern) body;; esac`. `arms` may be empty."""

    __slots__ = ("arms", "word")
    __match_args__ = ("word", "arms", "span")

    def __init__(self, word: Word, arms: tuple[CaseArm, ...], span: Span) -> None:
        self.word, self.arms, self.span = word, arms, span


class CaseArm(Node):
    """One arm of a `case`: at least one pattern. `terminator` is `;;`, `;&` or `;;&`.

    A last arm without one has `;;`.
    """

    __slots__ = ("body", "patterns", "terminator")
    __match_args__ = ("patterns", "body", "terminator", "span")

    def __init__(self, patterns: tuple[Word, ...], body: Script, terminator: str, span: Span) -> None:
        self.patterns, self.body, self.terminator, self.span = patterns, body, terminator, span


class Function(Node):
    """`name() body` or `function name body`. The redirections of `body` are done at each call."""

    __slots__ = ("body", "name")
    __match_args__ = ("name", "body", "span")

    def __init__(self, name: str, body: Statement, span: Span) -> None:
        self.name, self.body, self.span = name, body, span


class Conditional(Node):
    """`[[ condition ]]`."""

    __slots__ = ("condition",)
    __match_args__ = ("condition", "span")

    def __init__(self, condition: Condition, span: Span) -> None:
        self.condition, self.span = condition, span


class ArithCommand(Node):
    """`(( expression ))`; None when it is empty."""

    __slots__ = ("expression",)
    __match_args__ = ("expression", "span")

    def __init__(self, expression: Arith | None, span: Span) -> None:
        self.expression, self.span = expression, span


class Coproc(Node):
    """`coproc [name] command`: runs beside the shell, joined to it by two pipes.

    `name` is None where it is left out.
    """

    __slots__ = ("body", "name")
    __match_args__ = ("name", "body", "span")

    def __init__(self, name: str | None, body: Statement, span: Span) -> None:
        self.name, self.body, self.span = name, body, span


# --- assignments and redirections -------------------------------------------------------------------------------------


class Assignment(Node):
    """`name=value`, `name+=value`, `name[index]=value`, `name=(elements)`, before a command or on their own.

    `index` is the text between the brackets, None without them. `name=` has an empty Word.
    """

    __slots__ = ("append", "index", "name", "value")
    __match_args__ = ("name", "index", "append", "value", "span")

    def __init__(self, name: str, index: Word | None, append: bool, value: Word | Array, span: Span) -> None:
        self.name, self.index, self.append = name, index, append
        self.value, self.span = value, span


class Redirect(Node):
    """`2> file`, `<&3`, `{fd}>file`. `descriptor` is the digits or `{name}` before the operator, None without one.

    `operator` is one of `< > >> >| <> <& >& &> &>>`. For `<&` and `>&` the target may be digits, `-`, digits and `-`,
    or (`>&` only) a file.
    """

    __slots__ = ("descriptor", "operator", "target")
    __match_args__ = ("descriptor", "operator", "target", "span")

    def __init__(self, descriptor: str | None, operator: str, target: Word, span: Span) -> None:
        self.descriptor, self.operator, self.target, self.span = descriptor, operator, target, span


class HereDoc(Node):
    """`<<E`, `<<-E`, `<<'E'` with its body.

    `delimiter` is after quote removal; `quoted` tells that a part of it was quoted, so that the body is literal.
    `strips_tabs` for `<<-`; the body holds the lines without them. `span` is operator and delimiter; the body stands
    after the line. A body that the end of the text ends is accepted, as bash does (it warns).
    """

    __slots__ = ("body", "delimiter", "descriptor", "quoted", "strips_tabs")
    __match_args__ = ("descriptor", "delimiter", "quoted", "strips_tabs", "body", "span")

    def __init__(
        self, descriptor: str | None, delimiter: str, quoted: bool, strips_tabs: bool, body: Word, span: Span
    ) -> None:
        self.descriptor, self.delimiter, self.quoted = descriptor, delimiter, quoted
        self.strips_tabs, self.body, self.span = strips_tabs, body, span


class HereString(Node):
    """`<<< word`."""

    __slots__ = ("descriptor", "word")
    __match_args__ = ("descriptor", "word", "span")

    def __init__(self, descriptor: str | None, word: Word, span: Span) -> None:
        self.descriptor, self.word, self.span = descriptor, word, span


# --- words ------------------------------------------------------------------------------------------------------------


class Word(Node):
    """A word: its parts side by side. No parts where the shell reads an empty text (`a=`, `${x:-}`).

    Never two Text in a row.
    """

    __slots__ = ("parts",)
    __match_args__ = ("parts", "span")

    def __init__(self, parts: tuple[WordPart, ...], span: Span) -> None:
        self.parts, self.span = parts, span


class Text(Node):
    """Literal characters as they stand, without quotes. Line continuations are gone, so the span may be longer."""

    __slots__ = ("text",)
    __match_args__ = ("text", "span")

    def __init__(self, text: str, span: Span) -> None:
        self.text, self.span = text, span


class Escaped(Node):
    """A backslash and the one character it quotes. A backslash that ends the text quotes itself."""

    __slots__ = ("char",)
    __match_args__ = ("char", "span")

    def __init__(self, char: str, span: Span) -> None:
        self.char, self.span = char, span


class Single(Node):
    """`'text'`."""

    __slots__ = ("text",)
    __match_args__ = ("text", "span")

    def __init__(self, text: str, span: Span) -> None:
        self.text, self.span = text, span


class AnsiC(Node):
    r"""`$'text'`, with its escapes already replaced. Bytes that are no UTF-8 are lone surrogates (PEP 383)."""

    __slots__ = ("text",)
    __match_args__ = ("text", "span")

    def __init__(self, text: str, span: Span) -> None:
        self.text, self.span = text, span


class Double(Node):
    """`"parts"`; `translated` for `$"parts"`."""

    __slots__ = ("parts", "translated")
    __match_args__ = ("parts", "translated", "span")

    def __init__(self, parts: tuple[WordPart, ...], translated: bool, span: Span) -> None:
        self.parts, self.translated, self.span = parts, translated, span


class Param(Node):
    """A parameter expansion in any form.

    `name` is an identifier, digits, or one of `@ * # ? - $ !`. `index` is the subscript. `prefix` is empty, `#`
    (length) or `!` (indirection, or names where `operator` says so). `operator` is one of PARAM_OPERATORS. `arguments`:
    one Word for `- = ? +` (with and without colon), `# ## % %%` and the case operators; one or two for the `/` family
    (pattern, replacement if there is a `/`); one or two Arith for `:` (offset, length), None where one is empty;
    none else.
    """

    __slots__ = ("arguments", "index", "name", "operator", "prefix")
    __match_args__ = ("name", "index", "prefix", "operator", "arguments", "span")

    def __init__(
        self,
        name: str,
        index: Word | None,
        prefix: str,
        operator: str,
        arguments: tuple[Word | Arith | None, ...],
        span: Span,
    ) -> None:
        self.name, self.index, self.prefix = name, index, prefix
        self.operator, self.arguments, self.span = operator, arguments, span


class CommandSub(Node):
    """`$(script)` and backticks; `form` is `$(`, or `${` for `${ script; }` and `${|` for `${| script.

    }` (bash 5.3, ksh).
    """

    __slots__ = ("form", "script")
    __match_args__ = ("script", "form", "span")

    def __init__(self, script: Script, form: str, span: Span) -> None:
        self.script, self.form, self.span = script, form, span


class ProcessSub(Node):
    """`<(script)` or `>(script)`; `direction` is `<` or `>`."""

    __slots__ = ("direction", "script")
    __match_args__ = ("script", "direction", "span")

    def __init__(self, script: Script, direction: str, span: Span) -> None:
        self.script, self.direction, self.span = script, direction, span


class ArithSub(Node):
    """`$((expression))` or `$[expression]`; None when it is empty."""

    __slots__ = ("expression",)
    __match_args__ = ("expression", "span")

    def __init__(self, expression: Arith | None, span: Span) -> None:
        self.expression, self.span = expression, span


class Glob(Node):
    """`*`, `?`, or a bracket expression. A bracket that quotes or expansions cut up is the single character `[`."""

    __slots__ = ("text",)
    __match_args__ = ("text", "span")

    def __init__(self, text: str, span: Span) -> None:
        self.text, self.span = text, span


class ExtGlob(Node):
    """`@(a|b)` and its kin; `operator` is one of `? * + @ !`. Only with `shopt -s extglob`, or in `[[ == ]]`.

    Else bash refuses it.
    """

    __slots__ = ("arms", "operator")
    __match_args__ = ("operator", "arms", "span")

    def __init__(self, operator: str, arms: tuple[Word, ...], span: Span) -> None:
        self.operator, self.arms, self.span = operator, arms, span


class Brace(Node):
    """`{a,b}`: at least two items, each becoming a word of its own with what stands around."""

    __slots__ = ("items",)
    __match_args__ = ("items", "span")

    def __init__(self, items: tuple[Word, ...], span: Span) -> None:
        self.items, self.span = items, span


class BraceRange(Node):
    """`{1..9}`, `{a..e..2}`: `first`, `last` and `step` as written; `step` is empty when left out."""

    __slots__ = ("first", "last", "step")
    __match_args__ = ("first", "last", "step", "span")

    def __init__(self, first: str, last: str, step: str, span: Span) -> None:
        self.first, self.last, self.step, self.span = first, last, step, span


class Tilde(Node):
    """`~` or `~user` where the shell replaces it; `user` is what follows the tilde, up to `/` (or `:`)."""

    __slots__ = ("user",)
    __match_args__ = ("user", "span")

    def __init__(self, user: str, span: Span) -> None:
        self.user, self.span = user, span


class Array(Node):
    """`(a [1]=b)` after the `=` of an assignment; as a word part in `declare a=(...)`."""

    __slots__ = ("elements",)
    __match_args__ = ("elements", "span")

    def __init__(self, elements: tuple[ArrayElement, ...], span: Span) -> None:
        self.elements, self.span = elements, span


class ArrayElement(Node):
    """One element of an array: a word, or `[index]=word` (`append` for `[index]+=word`)."""

    __slots__ = ("append", "index", "value")
    __match_args__ = ("index", "append", "value", "span")

    def __init__(self, index: Word | None, append: bool, value: Word, span: Span) -> None:
        self.index, self.append, self.value, self.span = index, append, value, span


# --- arithmetic -------------------------------------------------------------------------------------------------------


class Number(Node):
    """A constant as written: `10`, `0x1f`, `2#101`."""

    __slots__ = ("text",)
    __match_args__ = ("text", "span")

    def __init__(self, text: str, span: Span) -> None:
        self.text, self.span = text, span


class Variable(Node):
    """A variable named without `$`.

    Bash evaluates its *value* as arithmetic, again and again: a value may run commands.
    """

    __slots__ = ("index", "name")
    __match_args__ = ("name", "index", "span")

    def __init__(self, name: str, index: Word | None, span: Span) -> None:
        self.name, self.index, self.span = name, index, span


class ArithWord(Node):
    """An operand with expansions or quotes in it (`$x`, `16#$x`, `"$y"`): bash reads its text once it is expanded."""

    __slots__ = ("word",)
    __match_args__ = ("word", "span")

    def __init__(self, word: Word, span: Span) -> None:
        self.word, self.span = word, span


class Unary(Node):
    """`-x`, `!x`, `~x`, `++x`, `x++`. `postfix` tells the last from the others."""

    __slots__ = ("operand", "operator", "postfix")
    __match_args__ = ("operator", "operand", "postfix", "span")

    def __init__(self, operator: str, operand: Arith, postfix: bool, span: Span) -> None:
        self.operator, self.operand, self.postfix, self.span = operator, operand, postfix, span


class Binary(Node):
    """`left operator right`, the comma included."""

    __slots__ = ("left", "operator", "right")
    __match_args__ = ("operator", "left", "right", "span")

    def __init__(self, operator: str, left: Arith, right: Arith, span: Span) -> None:
        self.operator, self.left, self.right, self.span = operator, left, right, span


class Ternary(Node):
    """`condition ? yes : no`."""

    __slots__ = ("condition", "no", "yes")
    __match_args__ = ("condition", "yes", "no", "span")

    def __init__(self, condition: Arith, yes: Arith, no: Arith, span: Span) -> None:
        self.condition, self.yes, self.no, self.span = condition, yes, no, span


class ArithAssign(Node):
    """`target operator value`, operator `=`, `+=` .

    The target is a Variable, or an ArithWord whose text will name one.
    """

    __slots__ = ("operator", "target", "value")
    __match_args__ = ("operator", "target", "value", "span")

    def __init__(self, operator: str, target: Arith, value: Arith, span: Span) -> None:
        self.operator, self.target, self.value, self.span = operator, target, value, span


class ArithGroup(Node):
    """`(expression)`."""

    __slots__ = ("expression",)
    __match_args__ = ("expression", "span")

    def __init__(self, expression: Arith, span: Span) -> None:
        self.expression, self.span = expression, span


# --- conditions of [[ ]] ----------------------------------------------------------------------------------------------


class CondWord(Node):
    """A word alone: true when it is not empty."""

    __slots__ = ("word",)
    __match_args__ = ("word", "span")

    def __init__(self, word: Word, span: Span) -> None:
        self.word, self.span = word, span


class CondUnary(Node):
    """`-f word` and its kin."""

    __slots__ = ("operand", "operator")
    __match_args__ = ("operator", "operand", "span")

    def __init__(self, operator: str, operand: Word, span: Span) -> None:
        self.operator, self.operand, self.span = operator, operand, span


class CondBinary(Node):
    """`left operator right`: `= == != =~ < >` and the dashed ones (`-eq`, `-nt` ...)."""

    __slots__ = ("left", "operator", "right")
    __match_args__ = ("operator", "left", "right", "span")

    def __init__(self, operator: str, left: Word, right: Word, span: Span) -> None:
        self.operator, self.left, self.right, self.span = operator, left, right, span


class CondNot(Node):
    """`! condition`."""

    __slots__ = ("condition",)
    __match_args__ = ("condition", "span")

    def __init__(self, condition: Condition, span: Span) -> None:
        self.condition, self.span = condition, span


class CondAndOr(Node):
    """`a && b` or `a || b`; `operator` is `&&` or `||`."""

    __slots__ = ("left", "operator", "right")
    __match_args__ = ("operator", "left", "right", "span")

    def __init__(self, operator: str, left: Condition, right: Condition, span: Span) -> None:
        self.operator, self.left, self.right, self.span = operator, left, right, span


class CondGroup(Node):
    """`( condition )`."""

    __slots__ = ("condition",)
    __match_args__ = ("condition", "span")

    def __init__(self, condition: Condition, span: Span) -> None:
        self.condition, self.span = condition, span


# --- the closed sets --------------------------------------------------------------------------------------------------

if TYPE_CHECKING:
    Command: TypeAlias = (
        Simple
        | Pipeline
        | AndOr
        | Timed
        | Group
        | Subshell
        | If
        | While
        | ForWords
        | ForArith
        | Select
        | Case
        | Function
        | Conditional
        | ArithCommand
        | Coproc
    )
    Redirection: TypeAlias = Redirect | HereDoc | HereString
    WordPart: TypeAlias = (
        Text
        | Escaped
        | Single
        | AnsiC
        | Double
        | Param
        | CommandSub
        | ProcessSub
        | ArithSub
        | Glob
        | ExtGlob
        | Brace
        | BraceRange
        | Tilde
        | Array
    )
    Arith: TypeAlias = Number | Variable | ArithWord | Unary | Binary | Ternary | ArithAssign | ArithGroup
    Condition: TypeAlias = CondWord | CondUnary | CondBinary | CondNot | CondAndOr | CondGroup
    AnyNode: TypeAlias = (
        Script
        | Statement
        | Command
        | IfArm
        | CaseArm
        | Assignment
        | Redirection
        | Word
        | WordPart
        | ArrayElement
        | Arith
        | Condition
    )

PARAM_OPERATORS = (
    *("", "-", ":-", "=", ":=", "?", ":?", "+", ":+", ":", "#", "##", "%", "%%", "/", "//", "/#", "/%"),
    *(
        "^",
        "^^",
        ",",
        ",,",
        "~",
        "~~",
        "@Q",
        "@E",
        "@P",
        "@A",
        "@K",
        "@a",
        "@k",
        "@u",
        "@U",
        "@L",
        "names*",
        "names@",
    ),
)
"""Every operator of a `Param`. `names*` and `names@` are `${!prefix*}` and `${!prefix@}`."""
