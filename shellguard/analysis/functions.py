# SPDX-License-Identifier: Apache-2.0
"""Functions of the text: defining one runs nothing, calling it runs its body where it is called."""

from __future__ import annotations

from shellguard.effects import Frame, Kind
from shellguard.values.scope import Definition, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.inquiry import Inquiry
    from shellguard.analysis.variables import Setting
    from shellguard.spans import Span
    from shellguard.syntax.nodes import Statement
    from shellguard.values.value import Value

_CALLED_BY_SHELLS = frozenset(
    {
        *("command_not_found_handle", "command_not_found_handler"),
        *("chpwd", "precmd", "preexec", "periodic", "zshaddhistory", "zshexit", "fish_prompt"),
    }
)
"""Functions that a shell (bash, zsh, fish) calls by itself: when a command is missing, after `cd`, before a prompt."""


def define(name: str, body: Statement, scope: Scope, inquiry: Inquiry) -> None:
    """From here on `name` runs `body`.

    The body is judged at once where the shell calls it by itself, and where it takes the place of a command that a
    rule knows: the shell may go on after this text, and later texts will mean the command.
    """
    scope.define(name, Definition(body, inquiry.origin))
    if name in _CALLED_BY_SHELLS or name.startswith("TRAP"):
        inquiry.limits.interrupted = True
        _run(
            name, Definition(body, inquiry.origin), Scope(shell=scope.shell, unseen=True), body.span, inquiry
        )
    elif inquiry.shelf.get(name) is not None:
        layer = scope.layer()
        layer.positional = None
        _run(name, Definition(body, inquiry.origin), layer, body.span, inquiry)


def call(
    name: str,
    body: Definition,
    arguments: list[Value],
    settings: tuple[Setting, ...],
    scope: Scope,
    inquiry: Inquiry,
) -> None:
    """Judges one call. What the body sets may hold afterwards or not: it may return early, and `local` ends."""
    span = arguments[0].span
    layer = scope.layer()
    for setting in settings:
        layer.set(setting.name, setting.as_variable())
    layer.positional = tuple(arguments[1:])
    _run(name, body, layer, span, inquiry)
    layer.positional = scope.positional
    scope.merge(layer)


def _run(name: str, body: Definition, layer: Scope, span: Span, inquiry: Inquiry) -> None:
    frame = Frame(f"{name}()")
    if inquiry.too_deep(span):
        return
    if sum(1 for each in inquiry.frames if each == frame) > 1:
        inquiry.unknown(span, f"{name} calls itself", Kind.STATE)
        return
    inner = inquiry.inside(frame)
    inner.origin = body.origin  # the body stands where it was written, not where it is called
    inner.statement(body.body, layer)
