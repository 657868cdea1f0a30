# SPDX-License-Identifier: Apache-2.0
"""Tree -> text, in one canonical spelling: `parse(to_text(tree)) == tree`.

Statements stand on lines of their own, so that a here-document can follow the line that names it wherever it stands.
Comments, line continuations and the spelling of substitutions (`$( )` for backticks, `${x}` for `$x`) are not kept.
"""

from __future__ import annotations

from shellguard.errors import assert_never
from shellguard.syntax.ansi import encode_ansi
from shellguard.syntax.nodes import (
    AndOr,
    AnsiC,
    ArithAssign,
    ArithCommand,
    ArithGroup,
    ArithSub,
    ArithWord,
    Array,
    ArrayElement,
    Assignment,
    Binary,
    Brace,
    BraceRange,
    Case,
    CaseArm,
    CommandSub,
    CondAndOr,
    CondBinary,
    CondGroup,
    Conditional,
    CondNot,
    CondUnary,
    CondWord,
    Coproc,
    Double,
    Escaped,
    ExtGlob,
    ForArith,
    ForWords,
    Function,
    Glob,
    Group,
    HereDoc,
    HereString,
    If,
    IfArm,
    Number,
    Param,
    Pipeline,
    ProcessSub,
    Redirect,
    Script,
    Select,
    Simple,
    Single,
    Statement,
    Subshell,
    Ternary,
    Text,
    Tilde,
    Timed,
    Unary,
    Variable,
    While,
    Word,
)
from shellguard.syntax.tokens import RESERVED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.syntax.nodes import AnyNode, Arith, Command, Condition, Redirection, WordPart


def to_text(node: AnyNode) -> str:
    """The canonical text of a node. A script ends in a newline unless it is empty.

    Bodies of here-documents are included.
    """
    printer = _Printer()
    match node:
        case Script():
            printer.script(node)
        case Statement():
            printer.statement(node)
        case IfArm(condition, body):
            printer.block("if", condition)
            printer.block("then", body)
        case CaseArm():
            printer.case_arm(node)
        case Assignment():
            printer.assignment(node)
        case ArrayElement():
            printer.element(node)
        case Word():
            printer.word(node)
        case Redirect() | HereDoc() | HereString():
            printer.redirection(node)
        case (
            Simple()
            | Pipeline()
            | AndOr()
            | Timed()
            | Group()
            | Subshell()
            | If()
            | While()
            | ForWords()
            | ForArith()
            | Select()
            | Case()
            | Function()
            | Conditional()
            | ArithCommand()
            | Coproc()
        ):
            printer.command(node)
        case (
            Text()
            | Escaped()
            | Single()
            | AnsiC()
            | Double()
            | Param()
            | CommandSub()
            | ProcessSub()
            | ArithSub()
            | Glob()
            | ExtGlob()
            | Brace()
            | BraceRange()
            | Tilde()
            | Array()
        ):
            printer.part(node)
        case (
            Number()
            | Variable()
            | ArithWord()
            | Unary()
            | Binary()
            | Ternary()
            | ArithAssign()
            | ArithGroup()
        ):
            printer.arith(node)
        case CondWord() | CondUnary() | CondBinary() | CondNot() | CondAndOr() | CondGroup():
            printer.condition(node)
        case _:
            assert_never(node)
    return printer.finish()


class _Printer:
    """Text so far, and the here-documents whose bodies must follow the next newline."""

    __slots__ = ("_indent", "_out", "_pending")

    def __init__(self) -> None:
        self._out: list[str] = []
        self._indent = ""
        self._pending: list[HereDoc] = []

    def finish(self) -> str:
        if self._pending:
            self.newline()
        return "".join(self._out)

    def write(self, text: str) -> None:
        self._out.append(text)

    def newline(self) -> None:
        self.write("\n")
        pending, self._pending = self._pending, []
        for document in pending:
            self._body(document)
        self.write(self._indent)

    def _body(self, document: HereDoc) -> None:
        outer, self._indent = self._indent, " "  # so that no line of a substitution can be the delimiter
        for part in document.body.parts:
            if document.quoted and isinstance(part, Text):
                self.write(part.text)
            else:
                self.part(part)
        self._indent = outer
        self.write(document.delimiter + "\n")

    # --- statements and commands ---

    def script(self, script: Script) -> None:
        for statement in script.statements:
            self.statement(statement)
            self.newline()

    def block(self, opening: str, script: Script) -> None:
        """A reserved word and the statements behind it, each on a line of its own."""
        self.write(opening)
        self.newline()
        self.script(script)

    def statement(self, statement: Statement) -> None:
        if statement.negated:
            self.write("! ")
        elif _is_empty(statement):
            self.write("! !")
        first = _begins_reserved(statement.command) and bool(statement.redirections)
        if not first:
            self.command(statement.command)
        for index, redirection in enumerate(statement.redirections):
            self.write("" if first and not index else " ")
            self.redirection(redirection)
        if first:
            self.write(" ")
            self.command(statement.command)
        if statement.background:
            self.write(" &")

    def command(self, command: Command) -> None:
        match command:
            case Simple(assignments, words):
                self._simple(assignments, words)
            case Pipeline(parts, pipes_stderr):
                self.statement(parts[0])
                for part, pipes in zip(parts[1:], pipes_stderr, strict=True):
                    self.write(" |& " if pipes else " | ")
                    self.statement(part)
            case AndOr(parts, operators):
                self.statement(parts[0])
                for part, operator in zip(parts[1:], operators, strict=True):
                    self.write(f" {operator} ")
                    self.statement(part)
            case Timed(statement, posix):
                self.write("time -p " if posix else "time ")
                if statement.negated or not _is_empty(statement):
                    self.statement(statement)
            case Group(body):
                self.block("{", body)
                self.write("}")
            case Subshell(body):
                self.block("(", body)
                self.write(")")
            case If(arms, otherwise):
                for index, if_arm in enumerate(arms):
                    self.block("elif" if index else "if", if_arm.condition)
                    self.block("then", if_arm.body)
                if otherwise is not None:
                    self.block("else", otherwise)
                self.write("fi")
            case While(condition, body, until):
                self.block("until" if until else "while", condition)
                self._loop_body(body)
            case ForWords(name, words, body):
                self._loop_head(f"for {name}", words, body)
            case Select(name, words, body):
                self._loop_head(f"select {name}", words, body)
            case ForArith(first, condition, step, body):
                self._for_arith(first, condition, step, body)
            case Case(word, arms):
                self.write("case ")
                self.word(word)
                self.write(" in")
                self.newline()
                for arm in arms:
                    self.case_arm(arm)
                self.write("esac")
            case Function(name, body):
                self.write(f"function {name} ()")
                self.newline()
                self.statement(body)
            case Conditional(condition):
                self.write("[[ ")
                self.condition(condition)
                self.write(" ]]")
            case ArithCommand(expression):
                self._parenthesized("((", expression)
            case Coproc(name, body):
                self.write(f"coproc {name} " if name else "coproc ")
                self.statement(body)
            case _:
                assert_never(command)

    def _simple(self, assignments: tuple[Assignment, ...], words: tuple[Word, ...]) -> None:
        for index, assignment in enumerate(assignments):
            self.write(" " if index else "")
            self.assignment(assignment)
        for index, word in enumerate(words):
            self.write(" " if index or assignments else "")
            self.word(word)

    def _loop_head(self, head: str, words: tuple[Word, ...] | None, body: Script) -> None:
        self.write(head)
        if words is not None:
            self.write(" in")
            for word in words:
                self.write(" ")
                self.word(word)
        self.newline()
        self._loop_body(body)

    def _loop_body(self, body: Script) -> None:
        self.block("do", body)
        self.write("done")

    def _for_arith(
        self, first: Arith | None, condition: Arith | None, step: Arith | None, body: Script
    ) -> None:
        self.write("for ((")
        for index, expression in enumerate((first, condition, step)):
            self.write("; " if index else "")
            if expression is not None:
                self.arith(expression)
        self.write("))")
        self.newline()
        self._loop_body(body)

    def case_arm(self, arm: CaseArm) -> None:
        for index, pattern in enumerate(arm.patterns):
            self.write(" | " if index else "(")
            self.word(pattern)
        self.write(")")
        self.newline()
        self.script(arm.body)
        self.write(arm.terminator)
        self.newline()

    # --- assignments and redirections ---

    def assignment(self, assignment: Assignment) -> None:
        self.write(assignment.name)
        self._index(assignment.index)
        self.write("+=" if assignment.append else "=")
        if isinstance(assignment.value, Array):
            self.part(assignment.value)
        else:
            self.word(assignment.value)

    def element(self, element: ArrayElement) -> None:
        if element.index is not None:
            self._index(element.index)
            self.write("+=" if element.append else "=")
        self.word(element.value)

    def _index(self, index: Word | None) -> None:
        if index is not None:
            self.write("[")
            self.word(index)
            self.write("]")

    def redirection(self, redirection: Redirection) -> None:
        self.write(redirection.descriptor or "")
        match redirection:
            case Redirect(_, operator, target):
                self.write(operator)
                if not (target.parts and isinstance(target.parts[0], (Text, Escaped, Single, Double, Param))):
                    self.write(" ")  # `> >(x)`: side by side they would be another operator
                self.word(target)
            case HereString(_, word):
                self.write("<<< ")
                self.word(word)
            case HereDoc(_, delimiter, quoted, strips_tabs):
                self.write("<<-" if strips_tabs else "<< " if delimiter[:1] == "-" else "<<")
                self.write(_quoted(delimiter) if quoted else delimiter)
                self._pending.append(redirection)
            case _:
                assert_never(redirection)

    # --- words ---

    def word(self, word: Word) -> None:
        for part in word.parts:
            self.part(part)

    def part(self, part: WordPart) -> None:
        match part:
            case Text(text) | Glob(text):
                self.write(text)
            case Escaped(char):
                self.write(f"\\{char}")
            case Single(text):
                self.write(f"'{text}'")
            case AnsiC(text):
                self.write(encode_ansi(text))
            case Double(parts, translated):
                self.write('$"' if translated else '"')
                for inner in parts:
                    self.part(inner)
                self.write('"')
            case Param():
                self._param(part)
            case CommandSub(script, form):
                self.write(form if form != "${" else "${ ")
                self._substituted(script)
                self.write(")" if form == "$(" else "}")
            case ProcessSub(script, direction):
                self.write(f"{direction}(")
                self._substituted(script)
                self.write(")")
            case ArithSub(expression):
                self._parenthesized("$((", expression)
            case ExtGlob(operator, arms):
                self.write(operator)
                for index, arm in enumerate(arms):
                    self.write("|" if index else "(")
                    self.word(arm)
                self.write(")")
            case Brace(items):
                for index, item in enumerate(items):
                    self.write("," if index else "{")
                    self.word(item)
                self.write("}")
            case BraceRange(first, last, step):
                self.write(f"{{{first}..{last}..{step}}}" if step else f"{{{first}..{last}}}")
            case Tilde(user):
                self.write(f"~{user}")
            case Array(elements):
                self.write("(")
                for index, element in enumerate(elements):
                    self.write(" " if index else "")
                    self.element(element)
                self.write(")")
            case _:
                assert_never(part)

    def _substituted(self, script: Script) -> None:
        """The script of a substitution. Its here-documents end inside it; those of the line around it come later."""
        outer, self._pending = self._pending, []
        if script.statements:
            self.newline()
        self.script(script)
        self._pending = outer

    def _param(self, param: Param) -> None:
        self.write("${" + param.prefix + param.name)
        self._index(param.index)
        operator = param.operator
        self.write(operator.removeprefix("names"))
        for index, argument in enumerate(param.arguments):
            if index:
                self.write(":" if operator == ":" else "/")
            if isinstance(argument, Word):
                self.word(argument)
            elif argument is not None:
                self.write(" ")  # `${x: -1}` is no default value
                self.arith(argument)
        self.write("}")

    # --- arithmetic and conditions ---

    def _parenthesized(self, opening: str, expression: Arith | None) -> None:
        self.write(opening)
        if expression is not None:
            self.write(" ")
            self.arith(expression)
            self.write(" ")
        self.write("))")

    def arith(self, expression: Arith) -> None:
        match expression:
            case Number(text):
                self.write(text)
            case Variable(name, index):
                self.write(name)
                self._index(index)
            case ArithWord(word):
                self.word(word)
            case Unary(operator, operand, postfix):
                self.write("" if postfix else operator)
                if not postfix and isinstance(operand, Unary) and not operand.postfix:
                    self.write(" ")  # `- -x` is no `--x`
                self.arith(operand)
                self.write(operator if postfix else "")
            case Binary(operator, left, right):
                self.arith(left)
                self.write(f" {operator} ")
                self.arith(right)
            case Ternary(condition, yes, no):
                self.arith(condition)
                self.write(" ? ")
                self.arith(yes)
                self.write(" : ")
                self.arith(no)
            case ArithAssign(operator, target, value):
                self.arith(target)
                self.write(f" {operator} ")
                self.arith(value)
            case ArithGroup(inner):
                self.write("(")
                self.arith(inner)
                self.write(")")
            case _:
                assert_never(expression)

    def condition(self, condition: Condition) -> None:
        match condition:
            case CondWord(word):
                self.word(word)
            case CondUnary(operator, operand):
                self.write(f"{operator} ")
                self.word(operand)
            case CondBinary(operator, left, right):
                self.word(left)
                self.write(f" {operator} ")
                self.word(right)
            case CondNot(inner):
                self.write("! ")
                self.condition(inner)
            case CondAndOr(operator, left, right):
                self.condition(left)
                self.write(f" {operator} ")
                self.condition(right)
            case CondGroup(inner):
                self.write("( ")
                self.condition(inner)
                self.write(" )")
            case _:
                assert_never(condition)


def _is_empty(statement: Statement) -> bool:
    """Whether nothing stands in the statement: it was two `!`, which cancel out, or the pipeline of a bare `time`."""
    command = statement.command
    return isinstance(command, Simple) and not (
        command.assignments or command.words or statement.redirections
    )


def _begins_reserved(command: Command) -> bool:
    """Whether a simple command begins with a word that would be reserved, were it not for the redirection before it."""
    if not isinstance(command, Simple) or command.assignments or not command.words:
        return False
    parts = command.words[0].parts
    return len(parts) == 1 and isinstance(parts[0], Text) and parts[0].text in RESERVED


def _quoted(delimiter: str) -> str:
    """A here-document delimiter in single quotes.

    One that holds such a quote, with a backslash before each character.
    """
    return f"'{delimiter}'" if "'" not in delimiter else "".join(f"\\{char}" for char in delimiter)
