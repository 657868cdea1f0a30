# SPDX-License-Identifier: Apache-2.0
"""The errors a user of shellguard can meet: one base and its children. Each names a place and says what to change."""

from __future__ import annotations

from shellguard.spans import position

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from shellguard.spans import Span


class ShellguardError(Exception):
    """Base of every error that shellguard raises on purpose."""


class ShellSyntaxError(ShellguardError):
    """Shell text that the parser refuses: bash refuses it too, or the parser does not model it.

    Raised by `parse`; `classify` turns it into one `unknown` fact. `message` is a sentence, `span` says where in
    `text` (characters), `str()` begins with `line:column`.
    """

    def __init__(self, message: str, span: Span, text: str) -> None:
        super().__init__(message, span, text)
        self.message, self.span, self.text = message, span, text

    def __str__(self) -> str:
        return f"{position(self.text, self.span[0])}: {self.message}"


class RuleError(ShellguardError):
    """A rule file is wrong. It never lets a command pass: the command it describes is `unknown`.

    `path` is relative to the rules folder, `line` is 1-based, `message` says what to change.
    """

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(path, line, message)
        self.path, self.line, self.message = path, line, message

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def assert_never(value: NoReturn) -> NoReturn:
    """Ends a `match` over a closed set: the type checker names the member that was forgotten.

    Our own, because the one of `typing` would load `typing` in every hook.
    """
    raise AssertionError(f"not handled: {value!r}")
