# SPDX-License-Identifier: Apache-2.0
"""The front door of the parser, and the one place where its recursion is tied."""

from __future__ import annotations

from shellguard.syntax.commands import read_script
from shellguard.syntax.cursor import Cursor
from shellguard.syntax.expansions import read_expansion
from shellguard.syntax.tokens import END

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.syntax.nodes import Script


def parse(text: str) -> Script:
    """The syntax tree of a shell text, read as `bash -c` reads it. An empty text has no statements.

    Raises ShellSyntaxError, with a span and a sentence, for what bash refuses and for what is not modelled
    (grammar/UNSUPPORTED.md). Takes time proportional to the length of the text.
    """
    cursor = Cursor(text, read_script, read_expansion)
    nul = text.find(END)
    if nul >= 0:
        raise cursor.error("a NUL character, which no command can hold", nul)
    try:
        script = read_script(cursor)
    except RecursionError:  # only where the caller has used up most of Python's stack before
        raise cursor.error("nested too deeply for the stack that is left", 0, len(text)) from None
    if not cursor.at_end():
        raise cursor.unexpected()
    return script
