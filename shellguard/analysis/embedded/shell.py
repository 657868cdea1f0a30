# SPDX-License-Identifier: Apache-2.0
"""Shell text inside a word: `sh -c`, `eval`, `trap`."""

from __future__ import annotations

from shellguard.effects import Effect, Frame
from shellguard.errors import ShellSyntaxError
from shellguard.syntax.parse import parse
from shellguard.values.scope import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.inquiry import Inquiry
    from shellguard.effects import RuleRef
    from shellguard.values.value import Value


def shell_facts(value: Value, source: RuleRef, inquiry: Inquiry, *, same_shell: bool) -> None:
    """Judges a text that a new shell runs: nothing that this text set is known there.

    `same_shell`: this shell runs it, at a time nobody knows (`trap`). Then it must not set anything that the rest
    of the text could meet.
    """
    if not value.exact:
        inquiry.unknown(value.span, "a shell text that is not known", source)
        return
    if inquiry.too_deep(value.span):
        return
    scope = Scope()
    run_text(value, scope, inquiry.inside(Frame("shell text", source), value.span), source)
    if same_shell and (scope.variables or scope.functions):
        inquiry.unknown(value.span, "a text that runs at some other time sets variables or functions", source)


def run_text(value: Value, scope: Scope, inquiry: Inquiry, source: RuleRef) -> None:
    """Judges an exact value as shell text that runs in `scope`. `inquiry` is inside the word already."""
    try:
        tree = parse(value.text)
    except ShellSyntaxError as error:
        inquiry.add(Effect.UNKNOWN, value.span, f"this shell text is not understood: {error.message}", source)
        return
    inquiry.script(tree, scope)
