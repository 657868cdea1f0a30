# SPDX-License-Identifier: Apache-2.0
"""Perl one-liners that only compute and print; anything else is not understood.

A script is cut into tokens, and each of them must be on a list: operators, names that only compute, variables of the
script. What can reach code through data is refused as a whole: references and globs (`@$x` names any array, also
`@ARGV`, whose names `<>` opens as commands), `&`, methods, `eval`, `do FILE`, `(?{ })`, `@{[ ]}` in strings, special
variables that switch something on (`$^I` edits in place).

Source: perlop, perldata, perlvar, perlrun of perl 5.36; each refusal was tried (tests/analysis/small/perl.txt).
"""

from __future__ import annotations

from shellguard.analysis.embedded import Finding, NotUnderstoodError
from shellguard.analysis.embedded.names import names
from shellguard.effects import Effect

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_DIGITS = frozenset("0123456789")
_LATER = _LETTERS | _DIGITS
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_SPECIAL = frozenset('_&.,/\\;"!|0')
"""Punctuation that names a variable which tells or sets how text is read and printed, and no more."""

_PLAIN_AT = frozenset(("", *" .,;!?)]}\\/|*=<>\n"))
_END_OF_LINE = frozenset(("", *"|) \n"))
"""What stands behind an `@` in a string, or a `$` in a pattern, that begins no variable (toke.c of perl)."""

_PRINTS = frozenset({"print", "printf", "say"})
_QUOTES = frozenset({"m", "q", "qq", "qr", "qw", "s", "tr", "y"})
_NAMES = names(
    "abs and BEGIN chomp chop chr cmp cos defined delete die each else elsif END eof eq exists exit exp for "
    "foreach ge gmtime grep gt hex if index int join keys last lc lcfirst le length localtime log lt map my ne "
    "next not oct or ord our pos print printf push quotemeta rand redo ref return reverse rindex say scalar "
    "shift sin sort splice split sprintf sqrt srand STDERR STDIN STDOUT substr time uc ucfirst undef unless "
    "unshift until values wantarray warn while x xor first max maxstr min minstr pairs product shuffle sum "
    "sum0 uniq any all none notall"
)
_NO_NAMES = frozenset({"ARGV", "ARGVOUT", "SIG", "INC", "STDIN", "STDOUT", "STDERR", "ISA", "OVERLOAD"})
"""Variables of these names are not the script's own. `$ARGV`, the name of the file that is read, is told apart."""

_INFIX = frozenset({"and", "cmp", "eq", "ge", "gt", "le", "lt", "ne", "or", "x", "xor"})
"""Operators that are words: behind a value, and in front of one."""
_DOUBTFUL = names(
    "time wantarray STDERR STDIN STDOUT shift pop BEGIN END first max maxstr min minstr pairs product shuffle "
    "sum sum0 uniq any all none notall"
)
"""Names behind which it takes more to tell whether `/` opens a pattern. Behind all others a value begins."""

_OPERATORS = (
    *(
        "<=>",
        "**=",
        "||=",
        "//=",
        "&&=",
        "...",
        "==",
        "!=",
        "<=",
        ">=",
        "=~",
        "!~",
        "&&",
        "||",
        "//",
        "..",
        "++",
        "--",
    ),
    *(
        "+=",
        "-=",
        "*=",
        "/=",
        ".=",
        "%=",
        "x=",
        "=>",
        "**",
        "+",
        "-",
        "*",
        "/",
        "%",
        ".",
        "<",
        ">",
        "=",
        "!",
        "?",
        ":",
    ),
    *(",", ";"),
)
_BEFORE_A_VALUE = frozenset({"!", "+", "-", "++", "--", ";", ","})
_MAX_DEPTH = 20


def read(text: str, found: list[Finding]) -> None:
    """Reads a script of `-e`. It is refused where it could join what another `-e` says."""
    reader = _Reader(text, 0)
    reader.script()
    if reader.reads_files:
        found.append(Finding(Effect.READS, "the perl script reads its input"))


def read_operand(text: str, found: list[Finding]) -> None:
    """Reads a word that `<>` may open: `cmd|`, `>file` and their like are commands and outputs."""
    if any(char in text for char in "|<>&\0"):
        found.append(Finding(Effect.EXECUTES, "perl opens this word as a command or an output"))


class _Reader:
    __slots__ = ("depth", "doubt", "index", "last", "open", "reads_files", "term", "text")

    def __init__(self, text: str, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise NotUnderstoodError("a perl script inside perl scripts")
        self.text, self.depth, self.index = text, depth, 0
        self.open: list[str] = []  # the brackets that are open
        self.term = True  # whether a value is expected, so that `/` opens a pattern
        self.doubt = False  # whether perl may expect the other
        self.last = ""  # what the last token was: `variable`, `subscript`, `list` (an operator before a list), `` else
        self.reads_files = False

    def script(self) -> None:
        """Reads it to its end."""
        text = self.text
        while True:
            start = self.index
            self.blanks()
            if self.index >= len(text):
                break
            char, last = text[self.index], self.last
            doubt = self.doubt or (last == "handle" and self.index > start)
            if doubt and char in "/<?%&*.":
                raise NotUnderstoodError(
                    f"what {char} means in the perl script depends on what stands before it"
                )
            self.doubt, self.last = False, ""
            self.token(char, last, apart=self.index > start)
        if self.open:
            raise NotUnderstoodError("a bracket of the perl script is not closed")

    def blanks(self) -> None:
        text = self.text
        while self.index < len(text) and text[self.index] in " \t\n":
            if text[self.index] == "\n" and text[self.index + 1 : self.index + 2] == "=":
                raise NotUnderstoodError("a line of the perl script may begin documentation")
            self.index += 1
        if text[self.index : self.index + 1] == "#":
            end = text.find("\n", self.index)
            self.index = len(text) if end < 0 else end
            self.blanks()

    def token(self, char: str, last: str, *, apart: bool) -> None:
        if char in _LETTERS:
            self.name()
        elif char in _DIGITS or (
            char == "." and self.text[self.index + 1 : self.index + 2] in _DIGITS and self.term
        ):
            self.number()
        elif char == "$" or (char == "@" and self.term) or (char == "%" and self.term):
            self.variable(char)
            self.last = "handle" if last == "list" else "variable"
        elif char == '"':
            self.index += 1
            self.interpolated(self.delimited(char))
            self.term = False
        elif char == "'":
            self.index += 1
            self.delimited(char)
            self.term = False
        elif char == "/" and self.term:
            self.index += 1
            self.pattern(self.delimited("/"))
            self.flags("gimosxcn")
            self.term = False
        elif char == "<" and self.term:
            self.angle()
        elif char == "-" and self.term and self.filetest():
            pass
        elif char in "([{":
            self.bracket(char, last, apart=apart)
        elif char in ")]}":
            opened = self.open.pop() if self.open else " "
            if _CLOSING.get(opened[0]) != char:
                raise NotUnderstoodError("a bracket of the perl script is not opened")
            self.index += 1
            subscript = opened.endswith("s")
            self.term = char == "}" and not subscript
            self.doubt = self.term  # a block, or a subscript behind a blank
            self.last = "subscript" if subscript else ""
        else:
            self.operator()

    def operator(self) -> None:
        for operator in _OPERATORS:
            if self.text.startswith(operator, self.index):
                if self.text.startswith("::", self.index) or (self.term and operator not in _BEFORE_A_VALUE):
                    raise NotUnderstoodError(f"{operator} where a value of the perl script begins")
                self.index += len(operator)
                self.term = self.term or operator not in ("++", "--")
                return
        raise NotUnderstoodError(f"{self.text[self.index]!r} in a perl script")

    def bracket(self, char: str, last: str, *, apart: bool) -> None:
        if last == "subscript":
            raise NotUnderstoodError("a reference or a call in a perl script")  # `$h{a}[0]` follows any name
        subscript = char != "(" and last in ("variable", "handle") and not apart
        self.open.append(char + "s" if subscript else char)
        self.index += 1
        self.term = True

    # --- names -----------------------------------------------------------------------------------------------------

    def word(self) -> str:
        start = self.index
        while self.index < len(self.text) and self.text[self.index] in _LATER:
            self.index += 1
        if self.text.startswith(("::", "'"), self.index):
            raise NotUnderstoodError("a name of a package in a perl script")
        return self.text[start : self.index]

    def name(self) -> None:
        text, start = self.text, self.index
        while self.index < len(text) and text[self.index] in _LATER:
            self.index += 1
        name = text[start : self.index]
        following = text[self.index : self.index + 99].lstrip(" \t\n")
        if following.startswith("=>"):
            self.term = False
            return
        if text[start - 1 : start] == "{" and following.startswith("}") and self.in_subscript(start):
            self.term = False
            return
        if name in _QUOTES:
            self.quote_like(name)
            return
        if text.startswith(("::", "'"), self.index) or name not in _NAMES:
            raise NotUnderstoodError(f"{name} in a perl script")
        if name in _PRINTS and following.lstrip("(").lstrip(" \t\n").startswith("{"):
            raise NotUnderstoodError(f"{name} to a handle that is computed")
        if following.startswith("->"):
            raise NotUnderstoodError("a method in a perl script")
        self.reads_files = self.reads_files or name == "STDIN"
        if name in _INFIX:
            if self.term:
                raise NotUnderstoodError(f"{name} where a value of the perl script begins")
        else:
            self.last = "list"
        if name == "sort" and following.lstrip("(").lstrip(" \t\n").startswith("$"):
            raise NotUnderstoodError("a function of the perl script that sorts by a name")
        self.term = True
        self.doubt = name in _DOUBTFUL
        if name in ("time", "wantarray", "STDERR", "STDIN", "STDOUT"):
            self.term = self.doubt and name.startswith("STD")

    def in_subscript(self, start: int) -> bool:
        """Whether the `{` in front of `start` stands right behind a variable: `$h{name}`."""
        before = self.text[: start - 1]
        name = before.rstrip("".join(_LATER))
        return name.endswith("$") and len(name) < len(before)

    def quote_like(self, name: str) -> None:
        text = self.text
        blank = text[self.index : self.index + 1] in (" ", "\t", "\n")
        while text[self.index : self.index + 1] in (" ", "\t", "\n"):
            self.index += 1
        delimiter = text[self.index : self.index + 1]
        if not delimiter or delimiter in _LATER or (blank and delimiter == "#") or not delimiter.isascii():
            raise NotUnderstoodError(f"{name} in a perl script has no delimiter that is known")
        if delimiter in ",=;)" or text.startswith("=>", self.index):
            raise NotUnderstoodError(f"{name} in a perl script has a doubtful delimiter")
        self.index += 1
        first = self.delimited(delimiter)
        raw = delimiter == "'"
        if name in ("qq", "q", "qw"):
            if name == "qq" and not raw:
                self.interpolated(first)
        elif name in ("m", "qr"):
            self.pattern(first)
            self.flags("gimosxcn")
        else:
            if delimiter in _CLOSING:
                self.blanks()
                delimiter = text[self.index : self.index + 1]
                if not delimiter or delimiter in _LATER:
                    raise NotUnderstoodError("a substitution of the perl script has no end")
                self.index += 1
            second = self.delimited(delimiter)
            if name == "s":
                self.pattern(first)
                given = self.flags("gimosxner")
                if given.count("e") > 1:
                    raise NotUnderstoodError("a replacement of the perl script is evaluated twice")
                if "e" in given:
                    inner = _Reader(second, self.depth + 1)
                    inner.script()
                    self.reads_files = self.reads_files or inner.reads_files
                else:
                    self.interpolated(second)
            else:
                self.flags("cdsr")
        self.term = False

    def flags(self, allowed: str) -> str:
        start = self.index
        while self.text[self.index : self.index + 1] in _LATER:
            self.index += 1
        given = self.text[start : self.index]
        if not set(given) <= set(allowed):
            raise NotUnderstoodError(f"the flags {given} in a perl script")
        return given

    def delimited(self, opening: str) -> str:
        """The text up to the delimiter that closes, which may be nested; `index` stands behind the opening one."""
        text, start, depth = self.text, self.index, 1
        closing = _CLOSING.get(opening, opening)
        while self.index < len(text):
            char = text[self.index]
            self.index += 1
            if char == "\\":
                self.index += 1
            elif char == closing:
                depth -= 1
                if depth == 0:
                    return text[start : self.index - 1]
            elif char == opening:
                depth += 1
        raise NotUnderstoodError("a string or pattern of the perl script is not closed")

    # --- values ----------------------------------------------------------------------------------------------------

    def number(self) -> None:
        text = self.text
        while text[self.index : self.index + 1] in _LATER or (
            text[self.index : self.index + 1] == "." and text[self.index + 1 : self.index + 2] in _DIGITS
        ):
            self.index += 1
        self.term = False

    def variable(self, sigil: str) -> None:
        text = self.text
        self.index += 1
        if text.startswith("#", self.index) and sigil == "$":  # the last index of an array
            self.index += 1
        char = text[self.index : self.index + 1]
        if char in _LETTERS and char:
            name = self.word()
            behind = text[self.index : self.index + 1]
            own = sigil == "$" and name == "ARGV" and behind not in ("[", "{") and text[self.index - 5] == "$"
            if name in _NO_NAMES and not own:
                raise NotUnderstoodError(f"{sigil}{name} in a perl script")
        elif char in _DIGITS and char:
            while text[self.index : self.index + 1] in _DIGITS:
                self.index += 1
        elif sigil == "$" and char and char in _SPECIAL and text[self.index - 1] == "$":
            self.index += 1
        else:
            raise NotUnderstoodError(f"{text[self.index - 1 : self.index + 1]} in a perl script")
        if text[self.index : self.index + 99].lstrip(" \t\n").startswith("->"):
            raise NotUnderstoodError("a reference or a call in a perl script")
        self.term = False

    def angle(self) -> None:
        for handle in ("<STDIN>", "<>"):
            if self.text.startswith(handle, self.index):
                self.index += len(handle)
                self.reads_files = True
                self.term = False
                return
        raise NotUnderstoodError("< where a value of the perl script begins")

    def filetest(self) -> bool:
        """`-e $_`, `-s $f`: looks at a file."""
        text = self.text
        letter = text[self.index + 1 : self.index + 2]
        if letter == "" or letter not in _LETTERS:
            return False
        if letter not in "defrswxzlpSbcugkoRWXOTBAMC" or text[self.index + 2 : self.index + 3] in _LATER:
            raise NotUnderstoodError(f"-{letter} in a perl script")
        self.index += 2
        self.reads_files = True
        self.term = not text[self.index : self.index + 99].lstrip(" \t\n").startswith(("||", "&&"))
        self.doubt = self.term
        return True

    # --- strings ---------------------------------------------------------------------------------------------------

    def pattern(self, text: str) -> None:
        for code in ("(?{", "(??{", "(*{"):
            if code in text:
                raise NotUnderstoodError("code in a pattern of a perl script")
        self.interpolated(text, pattern=True)

    def interpolated(self, text: str, *, pattern: bool = False) -> None:
        """Looks at each variable in a string: its subscripts are code."""
        index = 0
        while index < len(text):
            char = text[index]
            if char == "\\":
                index += 2
                continue
            index += 1
            if char not in "$@":
                continue
            following = text[index : index + 1]
            if following and following in _LETTERS:
                start = index
                while text[index : index + 1] in _LATER and index < len(text):
                    index += 1
                name = text[start:index]
                if text.startswith(("::", "'"), index) or text.startswith("->", index):
                    raise NotUnderstoodError("a package or a reference in a string of a perl script")
                if name in _NO_NAMES and not (
                    char == "$" and name == "ARGV" and text[index : index + 1] not in ("[", "{")
                ):
                    raise NotUnderstoodError(f"{char}{name} in a string of a perl script")
                index = self.subscript(text, index)
            elif char == "$" and following and following in _DIGITS:
                while text[index : index + 1] in _DIGITS and index < len(text):
                    index += 1
                index = self.subscript(text, index)
            elif following in (_PLAIN_AT if char == "@" else _END_OF_LINE if pattern else ("",)):
                continue
            elif char == "$" and (following == "&" or (not pattern and following in "!,;./\\|")):
                index = self.subscript(text, index + 1)
            else:
                raise NotUnderstoodError(f"{char}{following} in a string of a perl script")

    def subscript(self, text: str, index: int) -> int:
        """Past `[0]`, `[-1]`, `[$i]`, `{name}`, `{$k}` behind a variable in a string."""
        opening = text[index : index + 1]
        if opening not in ("[", "{") or not opening:
            return index
        end = text.find(_CLOSING[opening], index)
        inner = text[index + 1 : end] if end > 0 else "?"
        plain = inner.removeprefix("-" if opening == "[" else "").removeprefix("$")
        if not plain or not set(plain) <= _LATER or plain in _NO_NAMES:
            raise NotUnderstoodError("a subscript in a string of a perl script")
        behind = text[end + 1 : end + 3]
        if behind.startswith(("[", "{", "->")):
            raise NotUnderstoodError("a subscript of a subscript in a string of a perl script")
        return end + 1
