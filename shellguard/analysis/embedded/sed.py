# SPDX-License-Identifier: Apache-2.0
"""sed scripts: which commands they hold, and which of those write, run a program or read another file.

Source: GNU sed manual 4.9, "sed scripts", and POSIX; where GNU and BSD read differently (the end of a label), the
reading that shows more commands is taken. Seen in GNU sed 4.9: a delimiter inside a bracket expression ends nothing.
"""

from __future__ import annotations

from shellguard.analysis.embedded import Finding, NotUnderstoodError
from shellguard.effects import Effect

_BLANKS = " \t"
_DIGITS = frozenset("0123456789")
_PLAIN_COMMANDS = frozenset("=dDgGhHnNpPxFz")
_NUMBER_COMMANDS = frozenset("lLqQ")
_LABEL_COMMANDS = frozenset("btT")
_OWN_OUTPUT = frozenset({"/dev/stdout", "/dev/stderr"})


def read(text: str, found: list[Finding]) -> None:
    """Reads a whole script, or one of the pieces of several `-e`."""
    _Reader(text, found).script()


class _Reader:
    __slots__ = ("at", "found", "text")

    def __init__(self, text: str, found: list[Finding]) -> None:
        self.text, self.found, self.at = text, found, 0

    def script(self) -> None:
        while True:
            self.skip(_BLANKS + "\n;")
            if self.at >= len(self.text):
                return
            self.address()
            self.command()

    # --- characters -------------------------------------------------------------------------------------------------

    def peek(self) -> str:
        """The next character, empty at the end."""
        return self.text[self.at : self.at + 1]

    def next(self) -> str:
        char = self.peek()
        if not char:
            raise NotUnderstoodError("the sed script ends where more is expected")
        self.at += 1
        return char

    def skip(self, chars: str) -> None:
        while self.at < len(self.text) and self.text[self.at] in chars:
            self.at += 1

    def number(self) -> bool:
        """Past digits, if there are any."""
        start = self.at
        while self.peek() in _DIGITS and self.peek():
            self.at += 1
        return self.at > start

    def rest_of_line(self) -> str:
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        line = self.text[self.at : end]
        self.at = end
        return line

    # --- addresses --------------------------------------------------------------------------------------------------

    def address(self) -> None:
        """`1`, `1~2`, `$`, `/re/I`, `\\,re,`, two of them with a comma, then `!`."""
        if self.one_address():
            self.skip(_BLANKS)
            if self.peek() == ",":
                self.at += 1
                self.skip(_BLANKS)
                if self.peek() in ("+", "~") and self.peek():
                    self.at += 1
                    if not self.number():
                        raise NotUnderstoodError("a sed address without its number")
                elif not self.one_address():
                    raise NotUnderstoodError("a sed address without its second part")
        self.skip(_BLANKS)
        while self.peek() == "!":
            self.at += 1
            self.skip(_BLANKS)

    def one_address(self) -> bool:
        char = self.peek()
        if self.number():
            if self.peek() == "~":
                self.at += 1
                if not self.number():
                    raise NotUnderstoodError("a sed address without its step")
            return True
        if char == "$":
            self.at += 1
            return True
        if char == "/" or char == "\\":
            self.at += 1
            delimiter = self.next() if char == "\\" else char
            self.pattern(delimiter)
            while self.peek() in ("I", "M") and self.peek():
                self.at += 1
            return True
        return False

    def pattern(self, delimiter: str) -> None:
        """Past a regular expression and the delimiter that ends it."""
        if delimiter in "\n\\":
            raise NotUnderstoodError("a sed expression with a delimiter that cannot be one")
        while True:
            char = self.next()
            if char == delimiter:
                return
            if char == "\\":
                self.next()
            elif char == "\n":
                raise NotUnderstoodError("a line ends inside a sed expression")
            elif char == "[":
                self.bracket()

    def bracket(self) -> None:
        """Past a bracket expression, behind its `[`. A `]` in front is a member; `[:alpha:]` and its kin nest."""
        if self.peek() == "^":
            self.at += 1
        if self.peek() == "]":
            self.at += 1
        while True:
            char = self.next()
            if char == "]":
                return
            if char == "\n":
                raise NotUnderstoodError("a line ends inside a bracket expression")
            kind = self.peek()
            if char == "[" and kind in (":", ".", "=") and kind:
                end = self.text.find(kind + "]", self.at + 1)
                if end < 0:
                    raise NotUnderstoodError("a character class without its end")
                self.at = end + 2

    # --- commands ---------------------------------------------------------------------------------------------------

    def command(self) -> None:
        name = self.next()
        if name in "{}":
            if name == "}":
                self.end()
        elif name == "#":
            self.rest_of_line()
        elif name in _PLAIN_COMMANDS:
            self.end()
        elif name in _NUMBER_COMMANDS:
            self.skip(_BLANKS)
            self.number()
            self.end()
        elif name in _LABEL_COMMANDS or name == ":":
            self.label()
        elif name in "aic":
            self.appended_text()
        elif name in "rR":
            self.found.append(Finding(Effect.READS, f"{name} reads {self.rest_of_line().strip(_BLANKS)!r}"))
        elif name in "wW":
            self.written(self.rest_of_line().strip(_BLANKS), f"{name} of sed")
        elif name == "e":
            self.rest_of_line()
            self.found.append(Finding(Effect.EXECUTES, "e of sed runs a command"))
        elif name == "s":
            self.substitution()
        elif name == "y":
            self.transliteration()
        else:
            raise NotUnderstoodError(f"{name!r} is no sed command that is known")

    def end(self) -> None:
        """A command ends here: at `;`, a newline, `}`, a comment, or the end."""
        self.skip(_BLANKS)
        char = self.peek()
        if char and char not in ";\n}#":
            raise NotUnderstoodError(f"{char!r} behind a sed command")

    def label(self) -> None:
        self.skip(_BLANKS)
        while self.peek() and self.peek() not in ";\n} \t":
            self.at += 1
        self.end()

    def appended_text(self) -> None:
        """The text of `a`, `i`, `c`: up to a newline that no backslash quotes."""
        while self.peek():
            char = self.next()
            if char == "\\" and self.peek():
                self.at += 1
            elif char == "\n":
                return

    def written(self, name: str, command: str) -> None:
        if name not in _OWN_OUTPUT:
            self.found.append(Finding(Effect.WRITES, f"{command} writes {name!r}"))

    def substitution(self) -> None:
        delimiter = self.next()
        self.pattern(delimiter)
        self.replacement(delimiter)
        while True:
            flag = self.peek()
            if flag in _DIGITS and flag:
                self.number()
            elif flag in ("g", "p", "i", "I", "m", "M") and flag:
                self.at += 1
            elif flag == "e":
                self.at += 1
                self.found.append(Finding(Effect.EXECUTES, "flag e of s runs the line as a command"))
            elif flag == "w":
                self.at += 1
                self.written(self.rest_of_line().strip(_BLANKS), "flag w of s")
                return
            else:
                break
        self.end()

    def replacement(self, delimiter: str) -> None:
        while True:
            char = self.next()
            if char == delimiter:
                return
            if char == "\\":
                self.next()
            elif char == "\n":
                raise NotUnderstoodError("a line ends inside a sed replacement")

    def transliteration(self) -> None:
        delimiter = self.next()
        if delimiter in "\n\\":
            raise NotUnderstoodError("y of sed with a delimiter that cannot be one")
        self.replacement(delimiter)
        self.replacement(delimiter)
        self.end()
