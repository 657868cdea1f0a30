# SPDX-License-Identifier: Apache-2.0
"""Shell text inside a word: `sh -c`, `eval`, `trap`."""

from __future__ import annotations

from shellguard.analysis.embedded import NEW_SHELL
from shellguard.analysis.variables import new_shell
from shellguard.effects import Frame, Kind
from shellguard.errors import ShellSyntaxError
from shellguard.syntax.parse import parse
from shellguard.values.scope import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.inquiry import Inquiry
    from shellguard.effects import RuleRef
    from shellguard.values.value import Value


_KINDS = {"bash": "bash", "login": "any"}
"""The shell that runs a text of this language, as `Assumptions` name it; any other is a shell of POSIX."""


def shell_facts(
    language: str, value: Value, source: RuleRef, scope: Scope, inquiry: Inquiry, *, same_shell: bool
) -> None:
    """Judges a text that a new shell runs: nothing that this text set is known there. `language` is one of `SHELLS`.

    `same_shell`: this shell runs it, at a time nobody knows (`trap`), when every variable may have changed. And it must
    not set anything that the rest of the text could meet.
    """
    if not value.exact:
        inquiry.unknown(value.span, "a shell text that is not known", Kind.UNSEEN, source)
        return
    if inquiry.too_deep(value.span):
        return
    if same_shell:
        later = Scope(shell=scope.shell, unseen=True)
        start = len(inquiry.facts)
        run_text(value, later, inquiry.inside(Frame("shell text", source), value.span), source)
        inquiry.limits.interrupted = True
        if any("remote" in fact.marks for fact in inquiry.facts[start:]):
            inquiry.limits.sends_later = True
    else:
        inner = inquiry.inside(Frame(NEW_SHELL, source), value.span).in_shell(_KINDS.get(language, "sh"))
        later = new_shell(scope, inner)
        run_text(value, later, inner, source)
    if same_shell and (later.variables or later.functions):
        because = "a text that runs at some other time sets variables or functions"
        inquiry.unknown(value.span, because, Kind.STATE, source)


def run_text(value: Value, scope: Scope, inquiry: Inquiry, source: RuleRef) -> None:
    """Judges an exact value as shell text that runs in `scope`. `inquiry` is inside the word already."""
    if not inquiry.may_read(value.text, value.span):
        return
    try:
        tree = parse(value.text)
    except ShellSyntaxError as error:
        because = f"this shell text is not understood: {error.message}"
        inquiry.unknown(value.span, because, Kind.SYNTAX, source)
        return
    inquiry.script(tree, scope)
