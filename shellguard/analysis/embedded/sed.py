# SPDX-License-Identifier: Apache-2.0
"""sed scripts: which commands they hold, and which of those write, run a program or read another file.

The seds of GNU, BSD, busybox and toybox read some texts differently. Where one of them may see a command that the
others do not, the script is not understood, or every reading counts: the end of a label, a backslash in brackets,
text that goes on in the next `-e`. A script that all of them refuse is not understood either.

Source: the manual of GNU sed 4.9, POSIX, FreeBSD's sed(1); each doubtful place by running GNU sed 4.9, busybox 1.35
and toybox 0.8.9. A delimiter inside a bracket expression ends nothing, for all of them.
"""

from __future__ import annotations

from shellguard.analysis.embedded import Finding, NotUnderstoodError
from shellguard.effects import Effect

_BLANKS = " \t"
_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_PLAIN_COMMANDS = frozenset("=dDgGhHnNpPxFz")
_NUMBER_COMMANDS = frozenset("lqQ")
_LABEL_COMMANDS = frozenset("btT")
_FLAGS = frozenset("gpiImM \t")
"""The harmless flags of `s`; blanks stand between flags for most seds."""

_OWN_OUTPUT = frozenset({"/dev/stdout", "/dev/stderr", "/dev/null"})


def read(text: str, found: list[Finding]) -> None:
    """Reads a whole script."""
    read_pieces([text], found)


def read_pieces(pieces: list[str], found: list[Finding]) -> None:
    """Reads the script that several `-e` make together, one line after the other."""
    text = "\n".join(pieces)
    borders = set()
    end = -1
    for piece in pieces[:-1]:
        end += 1 + len(piece)
        borders.add(end)
    reader = _Reader(text, borders, found, backslash_quotes=False)
    reader.script()
    if reader.backslash_seen:
        _Reader(text, borders, found, backslash_quotes=True).script()


class _Reader:
    """`borders` are the newlines between two `-e`. `backslash_quotes`: in brackets, `\\]` does not end them."""

    __slots__ = (
        "at",
        "backslash_quotes",
        "backslash_seen",
        "borders",
        "found",
        "label_line",
        "labels",
        "line_end",
        "open",
        "text",
        "wanted",
    )

    def __init__(self, text: str, borders: set[int], found: list[Finding], *, backslash_quotes: bool) -> None:
        self.text, self.borders, self.found, self.at = text, borders, found, 0
        self.backslash_quotes, self.backslash_seen = backslash_quotes, False
        self.label_line = -1  # the end of a line that is a label as a whole, for some
        self.line_end = -1  # the end of the line of the last label
        self.open = 0  # groups
        self.labels: set[str] = set()
        self.wanted: set[str] = set()

    def script(self) -> None:
        while True:
            self.skip(_BLANKS + "\n;")
            if self.at >= len(self.text):
                break
            addresses = self.address()
            self.command(addresses)
        if self.open:
            raise NotUnderstoodError("a group of the sed script is not closed")
        if not self.wanted <= self.labels:
            raise NotUnderstoodError("the sed script goes to a label that it does not have")

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
        text, at, end = self.text, self.at, len(self.text)
        while at < end and text[at] in chars:
            at += 1
        self.at = at

    def number(self) -> bool:
        """Past digits, if there are any."""
        text, start = self.text, self.at
        at, end = start, len(text)
        while at < end and text[at] in _DIGITS:
            at += 1
        self.at = at
        return at > start

    def rest_of_line(self) -> str:
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        line = self.text[self.at : end]
        self.at = end
        return line

    def no_return(self, text: str) -> str:
        """The same text. busybox ends a comment at a carriage return."""
        if "\r" in text:
            raise NotUnderstoodError("seds differ in what a carriage return ends")
        return text

    def continued(self) -> None:
        """The newline in front of `at` belongs to a construct. Not for all seds, behind a label or between two `-e`."""
        if self.at - 1 == self.label_line:
            raise NotUnderstoodError("seds differ in where this label of the script ends")
        if self.at - 1 in self.borders:
            raise NotUnderstoodError("seds differ in whether the next -e goes on with this text")

    # --- addresses --------------------------------------------------------------------------------------------------

    def address(self) -> int:
        """`1`, `1~2`, `$`, `/re/I`, `\\,re,`, two of them with a comma, then `!`. How many there are."""
        count = 0
        if self.one_address():
            count = 1
            self.skip(_BLANKS)
            if self.peek() == ",":
                count = 2
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
        return count

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
                self.escaped()
            elif char == "\n":
                raise NotUnderstoodError("a line ends inside a sed expression")
            elif char == "[":
                self.bracket()

    def escaped(self) -> None:
        """Past the character behind a backslash."""
        if self.next() == "\n":
            self.continued()

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
            if char == "\\" and self.peek() == "]":
                self.backslash_seen = True
                if self.backslash_quotes:
                    self.at += 1
            kind = self.peek()
            if char == "[" and kind in (":", ".", "=") and kind:
                self.class_name(kind)

    def class_name(self, kind: str) -> None:
        """Past `:alpha:]`, `.x.]` or `=x=]`. Seds differ in where any other text of this kind ends."""
        end = self.text.find(kind + "]", self.at + 1)
        name = self.text[self.at + 1 : end] if end >= 0 else ""
        plain = bool(name) and _LETTERS.issuperset(name.lower())
        if not plain or (kind != ":" and len(name) > 1):
            raise NotUnderstoodError("a character class that is not known")
        self.at = end + 2

    # --- commands ---------------------------------------------------------------------------------------------------

    def command(self, addresses: int) -> None:
        name = self.next()
        if addresses and name in ":}#":
            raise NotUnderstoodError(f"{name!r} of sed takes no address")
        if name == "{":
            self.open += 1
        elif name == "}":
            self.open -= 1
            if self.open < 0:
                raise NotUnderstoodError("a sed script closes a group that is not open")
            self.end()
        elif name == "#":
            self.no_return(self.rest_of_line())
        elif name in _PLAIN_COMMANDS:
            self.end()
        elif name in _NUMBER_COMMANDS:
            self.skip(_BLANKS)
            self.number()
            self.end()
        elif name in _LABEL_COMMANDS or name in ":v":
            self.label(name)
        elif name in "aic":
            self.appended_text()
        elif name in "rR":
            file = self.file_name()
            self.found.append(Finding(Effect.READS, f"{name} of sed reads {file!r}", file=file))
        elif name in "wW":
            self.written(self.file_name(), f"{name} of sed")
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

    def label(self, name: str) -> None:
        """GNU sed ends a label at a blank, `;` or `}`, others with its line. What follows is read as GNU sed does."""
        self.skip(_BLANKS)
        start = self.at
        while self.peek() and self.peek() not in ";\n} \t":
            self.at += 1
        label = self.no_return(self.text[start : self.at])
        if name == ":":
            if not label:
                raise NotUnderstoodError("a sed label without a name")
            self.labels.add(label)
        elif name != "v" and label:
            self.wanted.add(label)
        if self.line_end < self.at:
            end = self.text.find("\n", self.at)
            self.line_end = len(self.text) if end < 0 else end
        self.label_line = self.line_end
        self.end()
        if self.at == self.label_line:
            self.label_line = -1

    def appended_text(self) -> None:
        """The text of `a`, `i`, `c`: up to a newline that no backslash quotes."""
        self.skip(_BLANKS)
        if self.peek() in ("", "\n", "}"):
            raise NotUnderstoodError("a sed command without its text")
        introduced = self.peek() == "\\"
        first = self.at
        while self.peek():
            char = self.no_return(self.next())
            if char == "\\" and self.peek():
                self.at += 1
                if self.text[self.at - 1] == "\n":
                    if introduced and self.at - 2 == first:  # `a\`: its text may stand in the next -e
                        if self.at - 1 == self.label_line:
                            self.continued()
                    else:
                        self.continued()
            elif char == "\n":
                return

    def file_name(self) -> str:
        """A name takes the rest of its line, blanks at its end included."""
        self.skip(_BLANKS)
        name = self.no_return(self.rest_of_line())
        if not name:
            raise NotUnderstoodError("a sed command without its file")
        return name

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
            elif flag in _FLAGS:
                self.at += 1
            elif flag == "e":
                self.at += 1
                self.found.append(Finding(Effect.EXECUTES, "flag e of s runs the line as a command"))
            elif flag == "w":
                self.at += 1
                self.written(self.file_name(), "flag w of s")
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
                self.escaped()
            elif char == "\n":
                raise NotUnderstoodError("a line ends inside a sed replacement")

    def transliteration(self) -> None:
        delimiter = self.next()
        if delimiter in "\n\\":
            raise NotUnderstoodError("y of sed with a delimiter that cannot be one")
        for _ in range(2):
            start = self.at
            self.replacement(delimiter)
            if "[" in self.text[start : self.at]:
                raise NotUnderstoodError("seds differ in whether brackets in y hold a delimiter")
        self.end()
