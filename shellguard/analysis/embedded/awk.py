# SPDX-License-Identifier: Apache-2.0
"""awk programs: what they print is harmless; where they print it, what they start and where they read may not be.

One pass over the characters with a stack of what is open. It always knows whether an operand or an operator comes
next, and so whether `/` begins a regular expression or divides, and whether `>` compares or writes. The awks differ in
two places: for some, brackets of a regular expression hold a `/`; for mawk, one behind `++`, `--` or `length` begins an
expression. A program with such a place is read in each way; a way that leaves brackets or quotes open is refused by an
awk that reads so, which then does nothing at all.

Source: POSIX awk, the manuals of gawk 5.2 and mawk 1.3.4; each doubtful place by running gawk 5.2.1, mawk 1.3.4, the
awk of Kernighan (2012, which macOS has) and busybox 1.35.
"""

from __future__ import annotations

from shellguard.analysis.embedded import Finding, NotUnderstoodError
from shellguard.effects import Effect

_NAME_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_DIGITS = frozenset("0123456789")
_NAME_LATER = _NAME_FIRST | _DIGITS

_ASSIGNING = ("**=", "+=", "-=", "*=", "/=", "%=", "^=", "=")
_BINARY = ("||", "&&", "**", "==", "<=", ">=", "!=", "!~", "<", "+", "-", "*", "/", "%", "^", "~", "?")
_OPERATORS = tuple(
    sorted((*_ASSIGNING, *_BINARY, "++", "--", "|&", "|", ">>", ">", ":"), key=len, reverse=True)
)

_CONDITIONS = frozenset({"if", "while", "for", "switch"})
_STATEMENTS = frozenset(
    {
        "break",
        "continue",
        "next",
        "nextfile",
        "exit",
        "return",
        "delete",
        "print",
        "printf",
        "else",
        "do",
        "case",
    }
)
_KEYWORDS = _CONDITIONS | _STATEMENTS | {"default", "function", "func", "getline", "in"}
_PATTERNS = frozenset({"BEGIN", "END", "BEGINFILE", "ENDFILE"})
_FUNCTIONS = frozenset(
    {
        *(
            "atan2",
            "cos",
            "exp",
            "int",
            "log",
            "rand",
            "sin",
            "sqrt",
            "srand",
            "substr",
            "index",
            "length",
            "match",
        ),
        *(
            "split",
            "sprintf",
            "sub",
            "gsub",
            "gensub",
            "tolower",
            "toupper",
            "close",
            "fflush",
            "system",
            "strftime",
        ),
        *(
            "systime",
            "mktime",
            "patsplit",
            "asort",
            "asorti",
            "strtonum",
            "and",
            "or",
            "xor",
            "compl",
            "lshift",
        ),
        *("rshift", "isarray", "typeof", "mkbool", "bindtextdomain", "dcgettext", "dcngettext"),
    }
)
_SETTING = frozenset({"sub", "gsub", "split", "patsplit", "match", "asort", "asorti", "call"})
"""Functions that may set a variable that they get."""

_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}
_OWN_OUTPUT = frozenset({"/dev/stdout", "/dev/stderr", "/dev/null"})

MAX_DEPTH = 200


def read(text: str, found: list[Finding]) -> None:
    """Reads a whole program."""
    understood = False
    seen: set[tuple[str, str, str | None]] = set()
    problem = "the awk program is not understood"
    readings = [(True, False)]
    for brackets, as_mawk in readings:  # grows while it is read
        program = _Program(text, brackets=brackets, as_mawk=as_mawk)
        try:
            program.read()
            understood = True
        except _RefusedError as refused:
            problem = str(refused)
        finally:
            for finding in program.found:
                key = (finding.effect, finding.because, finding.command)
                if key not in seen:
                    seen.add(key)
                    found.append(finding)
        if len(readings) == 1:
            if program.bracket_seen:
                readings.append((False, False))
            if program.slash_seen:
                readings += [(each, True) for each in ((True, False) if program.bracket_seen else (True,))]
    if not understood:
        raise NotUnderstoodError(problem)


class _RefusedError(NotUnderstoodError):
    """Every awk that reads the program in this way refuses it before anything is run."""


class _Open:
    """Something that is open: `(`, `[` or `{`. `what` says what it holds, `ternaries` counts its `?` without a `:`."""

    __slots__ = ("bracket", "ternaries", "what")

    def __init__(self, bracket: str, what: str) -> None:
        self.bracket, self.what, self.ternaries = bracket, what, 0


class _Program:
    __slots__ = (
        "as_mawk",
        "at",
        "bracket_seen",
        "brackets",
        "called",
        "closed",
        "commands",
        "defined",
        "environment",
        "found",
        "fresh",
        "getlines",
        "in_case",
        "last",
        "lvalue",
        "may_be_empty",
        "mentioned",
        "operand_next",
        "print_depth",
        "set_name",
        "slash_seen",
        "stack",
        "statement_start",
        "targets",
        "text",
        "wants_block",
    )

    def __init__(self, text: str, *, brackets: bool, as_mawk: bool) -> None:
        self.text, self.brackets, self.as_mawk = text, brackets, as_mawk
        self.at = 0
        self.found: list[Finding] = []
        self.bracket_seen = self.slash_seen = False
        self.stack: list[_Open] = []
        self.operand_next = True
        self.lvalue = False  # may `++` stand behind the last operand?
        self.statement_start = True
        self.fresh = True  # does an expression begin here?
        self.may_be_empty = True  # may the statement end here?
        self.wants_block = False  # behind BEGIN and END
        self.in_case = False
        self.print_depth = -1  # how much was open at `print`; -1 outside of one
        self.getlines: set[int] = set()  # how much was open at each `getline` that may still get its file
        self.last = ""  # the name or operator just read, empty behind anything else
        self.set_name = ""  # the variable or array that an assignment would set
        self.commands: list[tuple[str, str]] = []  # literal commands, with what starts them
        self.environment = False
        self.mentioned: dict[str, int] = {}  # how often each variable stands in the program,
        self.targets: dict[str, int] = {}  # how often behind `getline <`,
        self.closed: dict[str, int] = {}  # and how often in `close()`
        self.called: set[str] = set()
        self.defined: set[str] = set()

    # --- tokens -----------------------------------------------------------------------------------------------------

    def read(self) -> None:
        text = self.text
        while self.at < len(text):
            char = text[self.at]
            if char in " \t":
                self.at += 1
                continue
            if char == "\\" and text[self.at + 1 : self.at + 2] == "\n":
                self.at += 2
                continue
            if char == "#":
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
                continue
            self.last = self.token(char)
        self.terminator("\n")
        if self.stack or self.wants_block:
            raise _RefusedError("something in the awk program is not closed")
        if not self.called <= self.defined:
            raise _RefusedError("the awk program calls a function that it does not have")
        self.judge_commands()
        self.judge_targets()

    def token(self, char: str) -> str:
        """Past one token, of which `char` is the first character. Gives it back when it is a name or an operator."""
        text, start = self.text, self.at
        second = text[start + 1 : start + 2]
        if char in _NAME_FIRST:
            self.name()
            return text[start : self.at]
        if char == "\n" or char == ";":
            self.at += 1
            self.terminator(char)
        elif char == '"':
            self.string()
        elif char in _DIGITS or (char == "." and second in _DIGITS and second):
            self.number()
        elif char in "([{":
            self.opening(char)
        elif char in ")]}":
            self.closing(char)
        elif char == ",":
            self.comma()
        elif char == "$" or (char == "!" and second not in ("=", "~")):
            self.begin_operand()
            self.at += 1
            self.operand_next = True
            return char
        elif char == "/" and self.slash_begins_expression():
            self.expression()
        else:
            return self.operator()
        return ""

    def following(self, start: int) -> str:
        """The character behind blanks, from `start` on."""
        while self.text[start : start + 1] in (" ", "\t") and start < len(self.text):
            start += 1
        return self.text[start : start + 1]

    def string_at(self, start: int) -> tuple[str | None, int]:
        """The value of the string that begins at `start` (None where escapes are not plain), and what is behind it."""
        parts: list[str] | None = []
        index = start + 1
        text = self.text
        while index < len(text) and text[index] != '"':
            char = text[index]
            if char == "\n":
                raise _RefusedError("a line ends inside a string of the awk program")
            if char == "\\":
                index += 1
                escaped = text[index : index + 1]
                char = _ESCAPES.get(escaped, "")
                if not char:
                    parts = None
            if parts is not None:
                parts.append(char)
            index += 1
        if index >= len(text):
            raise _RefusedError("a string of the awk program is not closed")
        return (None if parts is None else "".join(parts)), index + 1

    def string(self) -> None:
        fresh = self.fresh and self.operand_next
        value, end = self.string_at(self.at)
        self.constant()
        self.at = end
        self.operand()
        if fresh and value is not None:
            index = end
            while self.text[index : index + 1] in (" ", "\t") and index < len(self.text):
                index += 1
            if self.text[index : index + 1] == "|" and self.text[index + 1 : index + 2] not in ("|", "&"):
                if self.print_depth < 0 or len(self.stack) > self.print_depth:
                    self.commands.append((value, "| getline"))
                    self.at = index + 1
                    self.piped_getline()

    def number(self) -> None:
        self.constant()
        text = self.text
        self.digits()
        if text[self.at : self.at + 1] == ".":
            self.at += 1
            self.digits()
        if text[self.at : self.at + 1] in ("e", "E"):
            first = self.at + 2 if text[self.at + 1 : self.at + 2] in ("+", "-") else self.at + 1
            if text[first : first + 1] in _DIGITS:
                self.at = first
                self.digits()
        if text[self.at : self.at + 1] in _NAME_LATER and self.at < len(text):
            raise NotUnderstoodError("a number of the awk program that a name follows")
        self.operand(lvalue=self.last == "$")

    def digits(self) -> None:
        while self.text[self.at : self.at + 1] in _DIGITS and self.at < len(self.text):
            self.at += 1

    def constant(self) -> None:
        """An operand begins here that is no variable."""
        if self.last in ("++", "--") and self.operand_next:
            raise _RefusedError("an awk program that counts what is no variable")
        self.begin_operand()

    def slash_begins_expression(self) -> bool:
        """Whether a regular expression begins here. `/` is the next character."""
        if self.operand_next:
            return True
        if self.last in ("++", "--", "length"):
            self.slash_seen = True
            return self.as_mawk
        return False

    def expression(self) -> None:
        """Past a regular expression."""
        self.constant()
        index = self.at + 1
        inside = quoted = False
        text = self.text
        while index < len(text):
            char = text[index]
            if char == "\n":
                break
            if char == "\\":
                quoted = inside
                index += 2
                continue
            if char == "/":
                if not inside:
                    self.at = index + 1
                    self.operand()
                    return
                self.bracket_seen = True
                if not self.brackets:
                    self.at = index + 1
                    self.operand()
                    return
                if quoted:
                    raise NotUnderstoodError("a backslash and / in brackets of an awk expression")
            elif char == "[" and not inside:
                inside, quoted = True, False
                index += 1
                if text[index : index + 1] == "^":
                    index += 1
                if text[index : index + 1] == "]":
                    index += 1
                continue
            elif char == "[":
                end = text.find(":]", index + 2, index + 20)
                if (
                    text[index + 1 : index + 2] != ":"
                    or not _NAME_FIRST.issuperset(text[index + 2 : end])
                    or end < 0
                ):
                    raise NotUnderstoodError("awks differ in where such brackets of an expression end")
                index = end + 2
                continue
            elif char == "]":
                inside = False
            index += 1
        raise _RefusedError("an expression of the awk program is not closed")

    # --- operands and operators -------------------------------------------------------------------------------------

    def begin_operand(self) -> None:
        """An operand begins here: the next of an expression, or one that is joined to the last."""
        if self.wants_block:
            raise _RefusedError("an action of the awk program is missing")
        self.statement_start = self.fresh = self.may_be_empty = False

    def operand(self, *, lvalue: bool = False) -> None:
        """An operand has ended."""
        self.operand_next = self.fresh = False
        self.lvalue = lvalue
        if not lvalue:
            self.set_name = ""

    def start_statement(self) -> None:
        self.operand_next = self.statement_start = self.fresh = self.may_be_empty = True
        self.lvalue = self.in_case = False
        self.print_depth = -1
        self.getlines.clear()

    def name(self) -> None:
        text, start = self.text, self.at
        while self.at < len(text) and text[self.at] in _NAME_LATER:
            self.at += 1
        name = text[start : self.at]
        if text.startswith("::", self.at):
            raise NotUnderstoodError("a namespace of gawk")
        if name in _PATTERNS:
            if self.stack or not self.statement_start:
                raise _RefusedError(f"{name} inside an action of the awk program")
            self.wants_block = True
            self.statement_start = False
        elif name in ("function", "func") and not self.stack and self.statement_start:
            self.definition()
        elif name in _KEYWORDS:
            self.keyword(name)
        elif name in _FUNCTIONS:
            self.function(name)
        else:
            self.variable(name)

    def variable(self, name: str) -> None:
        self.begin_operand()
        following = self.text[self.at : self.at + 1]
        if following == "(":
            self.called.add(name)
            self.at += 1
            self.push("(", "call")
            return
        self.mentioned[name] = self.mentioned.get(name, 0) + 1
        if self.stack and self.stack[-1].what == "close":
            self.closed[name] = self.closed.get(name, 0) + 1
        if name == "ENVIRON":
            self.environment = True
        if name == "ARGV":
            self.arguments()
        self.operand(lvalue=True)
        self.set_name = name

    def arguments(self) -> None:
        """`ARGV` names the files that are read next: to look at it, or to empty a place of it, changes nothing."""
        whole = self.following(self.at) != "[" and self.last not in ("in", "delete")
        sets = self.last in ("++", "--", "getline") or any(opened.what in _SETTING for opened in self.stack)
        if whole or sets:
            raise NotUnderstoodError("an awk program that may change ARGV")

    def function(self, name: str) -> None:
        self.begin_operand()
        if self.following(self.at) != "(":
            if name != "length":
                raise _RefusedError(f"{name} of awk without its parentheses")
            self.operand()
            return
        self.at = self.text.index("(", self.at) + 1
        if name == "system":
            self.system()
        self.push("(", name)

    def system(self) -> None:
        start = self.at
        while self.text[start : start + 1] in (" ", "\t") and start < len(self.text):
            start += 1
        if self.text[start : start + 1] == '"':
            value, end = self.string_at(start)
            if value is not None and self.following(end) == ")":
                self.commands.append((value, "system()"))
                return
        self.found.append(Finding(Effect.EXECUTES, "system() of awk runs a command"))

    def definition(self) -> None:
        """`function name(a, b)`, up to its body."""
        text = self.text
        end = text.find("(", self.at)
        name = text[self.at : end].strip(" \t") if end >= 0 else ""
        close = text.find(")", end)
        known = name in _FUNCTIONS or name in _KEYWORDS
        if not name or known or not _NAME_LATER.issuperset(name) or name[0] in _DIGITS or close < 0:
            raise _RefusedError("a function of the awk program without its name")
        parameters = text[end + 1 : close]
        if not (_NAME_LATER | set(" \t\n,")).issuperset(parameters):
            raise NotUnderstoodError("parameters of an awk function that are not plain")
        self.defined.add(name)
        for parameter in parameters.split(","):
            name = parameter.strip(" \t\n")
            self.mentioned[name] = self.mentioned.get(name, 0) + 1
        self.at = close + 1
        while text[self.at : self.at + 1] in (" ", "\t", "\n") and self.at < len(text):
            self.at += 1
        if text[self.at : self.at + 1] != "{":
            raise _RefusedError("a function of the awk program without its body")
        self.statement_start, self.wants_block = True, False

    def keyword(self, name: str) -> None:
        if name == "in":
            if self.operand_next:
                raise _RefusedError("in of awk without an operand")
            self.operand_next, self.lvalue = True, False
            return
        if name == "getline":
            self.begin_operand()
            self.operand()
            self.getlines.add(len(self.stack))
            self.found.append(Finding(Effect.READS, "getline of awk reads a record"))
            return
        if not self.stack or not self.statement_start:
            raise _RefusedError(f"{name!r} of awk at a place where it cannot stand")
        if name in _CONDITIONS:
            if self.following(self.at) != "(":
                raise _RefusedError(f"{name!r} of awk without its condition")
            self.at = self.text.index("(", self.at) + 1
            self.push("(", name)
            return
        self.statement_start = name in ("else", "do")
        self.operand_next = self.fresh = self.may_be_empty = True
        if name in ("print", "printf"):
            self.print_depth = len(self.stack)
        elif name in ("case", "default"):
            self.in_case = True
            self.operand_next = name == "case"

    def push(self, bracket: str, what: str) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise NotUnderstoodError("the awk program is nested too deeply")
        self.stack.append(_Open(bracket, what))
        self.operand_next = self.fresh = True
        self.statement_start = self.may_be_empty = self.lvalue = False

    def opening(self, char: str) -> None:
        if char == "{":
            inside_parentheses = bool(self.stack) and self.stack[-1].bracket != "{"
            if inside_parentheses or (
                self.operand_next and not self.statement_start and not self.wants_block
            ):
                raise _RefusedError("a block of the awk program at a place where it cannot stand")
            if self.stack and not self.statement_start:
                raise _RefusedError("a block of the awk program behind an expression")
            self.push("{", "block")
            self.wants_block = False
            self.start_statement()
        elif char == "(":
            self.begin_operand()
            self.push("(", "group")
        else:
            if self.operand_next or not self.lvalue:
                raise _RefusedError("a subscript of the awk program without its array")
            self.push("[", self.set_name)
        self.at += 1

    def closing(self, char: str) -> None:
        if not self.stack or self.stack[-1].bracket + char not in ("()", "[]", "{}"):
            raise _RefusedError("a bracket of the awk program opens nothing")
        if char == "}":
            self.terminator(";")
            self.stack.pop()
            self.start_statement()
            self.at += 1
            return
        closed = self.stack.pop()
        if self.operand_next and not (self.fresh and closed.what in ("call", "for", *_FUNCTIONS)):
            raise _RefusedError("an operand of the awk program is missing")
        self.getlines = {depth for depth in self.getlines if depth <= len(self.stack)}
        self.at += 1
        if closed.what in _CONDITIONS and char == ")":
            self.start_statement()
            return
        self.operand(lvalue=char == "]" or closed.what == "group")
        self.set_name = closed.what if char == "]" else ""

    def comma(self) -> None:
        if self.operand_next:
            raise _RefusedError("an operand of the awk program is missing")
        self.at += 1
        self.getlines.discard(len(self.stack))
        self.operand_next = self.fresh = True
        self.lvalue = self.may_be_empty = False
        self.skip_newlines()

    def skip_newlines(self) -> None:
        text = self.text
        while self.at < len(text):
            if text[self.at] in " \t\n":
                self.at += 1
            elif text[self.at] == "#":
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            else:
                return

    def terminator(self, char: str) -> None:
        """A statement ends, at a newline or `;`."""
        opened = self.stack[-1] if self.stack else None
        if opened is not None and opened.bracket != "{":
            if char == ";" and opened.what == "for":
                self.operand_next = self.fresh = True
                return
            raise _RefusedError("a parenthesis of the awk program is open where its statement ends")
        if self.wants_block:
            raise _RefusedError("an action of the awk program is missing")
        if self.operand_next and not self.may_be_empty:
            raise _RefusedError("an operand of the awk program is missing")
        self.start_statement()

    def operator(self) -> str:
        """Past an operator, which it gives back."""
        text = self.text
        symbol = next((each for each in _OPERATORS if text.startswith(each, self.at)), "")
        if not symbol:
            char = text[self.at]
            if char == "@":
                if text.startswith("@/", self.at) and self.operand_next:
                    self.at += 1
                    return ""
                raise NotUnderstoodError("@ in an awk program loads code or calls what a variable names")
            raise NotUnderstoodError(f"{char!r} in an awk program")
        self.at += len(symbol)
        if symbol in ("++", "--"):
            if self.set_name == "ARGV" and not self.operand_next:
                raise NotUnderstoodError("an awk program that may change ARGV")
            if not self.operand_next and self.lvalue:
                self.lvalue = False  # behind its operand
            else:
                self.begin_operand()
                self.operand_next = True
            return symbol
        printing = self.print_depth >= 0 and len(self.stack) == self.print_depth
        plain_print = printing and self.may_be_empty and symbol in (">", ">>", "|", "|&")
        if self.operand_next and not plain_print:
            if symbol in ("+", "-"):
                self.begin_operand()
                return symbol
            raise _RefusedError(f"{symbol!r} of awk without an operand")
        self.may_be_empty = False
        if symbol == ":":
            self.colon()
            return symbol
        if symbol in ("|", "|&"):
            self.pipe(symbol, printing)
        elif symbol == ">>" or (symbol == ">" and printing):
            if not printing:
                raise _RefusedError(">> of awk outside of print")
            self.printed_to(symbol)
        elif symbol == "<" and len(self.stack) in self.getlines:
            self.read_from()
        elif symbol in _ASSIGNING:
            self.assignment()
        self.getlines.discard(len(self.stack))
        if symbol == "?" and self.stack:
            self.stack[-1].ternaries += 1
        self.operand_next, self.lvalue = True, False
        self.fresh = symbol in _ASSIGNING
        if symbol in ("||", "&&", "?"):
            self.skip_newlines()
        return symbol

    def assignment(self) -> None:
        if not self.lvalue:
            raise _RefusedError("an awk program that sets what is no variable")
        if self.set_name == "ARGV" and self.literal_behind()[0] != "":
            raise NotUnderstoodError("an awk program that may change ARGV")

    def colon(self) -> None:
        opened = self.stack[-1] if self.stack else None
        if opened is not None and opened.ternaries:
            opened.ternaries -= 1
        elif self.in_case:
            self.start_statement()
            return
        elif opened is not None:
            raise _RefusedError(": of awk without its ?")
        self.operand_next, self.lvalue, self.fresh = True, False, False
        self.skip_newlines()

    # --- what goes elsewhere ----------------------------------------------------------------------------------------

    def pipe(self, symbol: str, printing: bool) -> None:
        if symbol == "|" and printing:
            value, end = self.literal_behind()
            if value is not None and self.ends_statement(end):
                self.commands.append((value, "print |"))
                return
        elif not printing:
            self.skip_blanks()
            if not self.text.startswith("getline", self.at):
                raise _RefusedError("a pipe of the awk program without getline")
        self.found.append(Finding(Effect.EXECUTES, f"{symbol} of awk runs a command"))
        self.fresh = False

    def piped_getline(self) -> None:
        self.skip_blanks()
        if not self.text.startswith("getline", self.at):
            raise _RefusedError("a pipe of the awk program without getline")
        self.operand_next, self.fresh, self.lvalue = True, False, False

    def printed_to(self, symbol: str) -> None:
        value, end = self.literal_behind()
        if not (value in _OWN_OUTPUT and self.ends_statement(end)):
            self.found.append(Finding(Effect.WRITES, f"{symbol} of awk writes a file"))

    def read_from(self) -> None:
        """`getline < file`. gawk opens `/inet/...` as a connection, and looks up the host that the name holds."""
        self.skip_blanks()
        start = self.at
        while self.text[start : start + 1] in ("(", " ") and start < len(self.text):
            start += 1
        if self.text[start : start + 1] == '"':
            value, _ = self.string_at(start)
            if value and not value.startswith("/inet") and not "/inet".startswith(value):
                self.found.append(Finding(Effect.READS, f"getline of awk reads {value!r}", file=value))
                return
        elif self.text.startswith("ARGV[", start):
            return
        end = start
        while self.text[end : end + 1] in _NAME_LATER and end < len(self.text):
            end += 1
        name = self.text[start:end]
        if (
            start == self.at
            and name
            and name[0] in _NAME_FIRST
            and self.text[end : end + 1] not in ("[", "(")
        ):
            self.targets[name] = self.targets.get(name, 0) + 1
            return
        self.found.append(Finding(Effect.UNKNOWN, "which file getline of awk reads cannot be told"))

    def skip_blanks(self) -> None:
        while self.text[self.at : self.at + 1] in (" ", "\t") and self.at < len(self.text):
            self.at += 1

    def literal_behind(self) -> tuple[str | None, int]:
        self.skip_blanks()
        if self.text[self.at : self.at + 1] != '"':
            return None, self.at
        return self.string_at(self.at)

    def ends_statement(self, index: int) -> bool:
        return self.following(index) in ("", ";", "}", "\n", "#")

    def judge_commands(self) -> None:
        for command, how in self.commands:
            if self.environment:
                self.found.append(
                    Finding(Effect.EXECUTES, f"{how} of awk runs a command in another environment")
                )
            elif command.strip(" \t\n"):
                self.found.append(Finding(Effect.EXECUTES, f"{how} of awk", command))

    def judge_targets(self) -> None:
        """A variable that the program only reads from has its value from the words of the command (`-v file=a`)."""
        for name, count in self.targets.items():
            others = self.mentioned.get(name, 0) - count - self.closed.get(name, 0)
            if others or "SYMTAB" in self.mentioned or name in _KEYWORDS or name in _FUNCTIONS:
                self.found.append(Finding(Effect.UNKNOWN, "which file getline of awk reads cannot be told"))
