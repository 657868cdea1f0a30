# SPDX-License-Identifier: Apache-2.0
"""Arithmetic. Bash evaluates the *values* of variables as arithmetic too, and a subscript in one may run commands.

So an operand is harmless only where its text is known to be a number. Source: bash manual, "Shell Arithmetic"; seen
in bash 5.2: `x='a[$(touch f)]'; ((x))` makes the file.
"""

from __future__ import annotations

from shellguard.effects import Kind
from shellguard.errors import ShellSyntaxError, assert_never
from shellguard.syntax.nodes import (
    ArithAssign,
    ArithCommand,
    ArithGroup,
    ArithWord,
    Binary,
    Number,
    Ternary,
    Unary,
    Variable,
)
from shellguard.syntax.parse import parse
from shellguard.values.resolve import single
from shellguard.values.value import Shape, is_integer, shaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.inquiry import Inquiry
    from shellguard.spans import Span
    from shellguard.syntax.nodes import Arith
    from shellguard.values.scope import Scope
    from shellguard.values.value import Value

MAX_LENGTH = 500
"""Characters. A longer text that is read as arithmetic is not looked into."""


class _Set:
    """To be done after the value on the right was judged: the variable is a number now."""

    __slots__ = ("certain", "name", "span")

    def __init__(self, name: str, span: Span, certain: bool) -> None:
        self.name, self.span, self.certain = name, span, certain


def arithmetic(expression: Arith, scope: Scope, inquiry: Inquiry) -> None:
    """Judges an expression and all it assigns. A loop, since chains of operators nest as deep as they are long."""
    pending: list[tuple[Arith, bool] | _Set] = [(expression, True)]
    while pending:
        item = pending.pop()
        if isinstance(item, _Set):
            _set_number(item, scope, inquiry)
        else:
            later = _operand(item[0], item[1], scope, inquiry)
            pending.extend(reversed(later))


def _operand(node: Arith, certain: bool, scope: Scope, inquiry: Inquiry) -> list[tuple[Arith, bool] | _Set]:
    """Judges one node and gives back what is left to do, in order. `certain`: the node is evaluated in any case."""
    later: list[tuple[Arith, bool] | _Set] = []
    match node:
        case Number():
            pass
        case Variable():
            _variable(node, scope, inquiry)
        case ArithWord(word):
            from shellguard.analysis.words import visit

            visit(word, scope, inquiry)
            arithmetic_text(single(word, scope), scope, inquiry)
        case Unary(operator, operand):
            later = [(operand, certain)]
            if operator in ("++", "--") and type(operand) is Variable:
                later.append(_Set(operand.name, node.span, certain))
        case Binary(operator, left, right):
            later = [(left, certain), (right, certain and operator not in ("&&", "||"))]
        case Ternary(condition, yes, no):
            later = [(condition, certain), (yes, False), (no, False)]
        case ArithAssign(operator, target, value):
            if type(target) is not Variable:
                inquiry.unknown(node.span, "the name that is assigned cannot be told", Kind.UNSEEN)
                later = [(target, certain), (value, certain)]
            elif target.index is not None or operator != "=":
                later = [(target, certain), (value, certain), _Set(target.name, node.span, certain)]
            else:
                later = [(value, certain), _Set(target.name, node.span, certain)]
        case ArithGroup(inner):
            later = [(inner, certain)]
        case _:
            assert_never(node)
    return later


def _set_number(item: _Set, scope: Scope, inquiry: Inquiry) -> None:
    from shellguard.analysis.variables import assign, assign_perhaps

    number = shaped(Shape.INTEGER, item.span)
    if item.certain:
        assign(item.name, number, item.span, scope, inquiry)
    else:
        assign_perhaps(item.name, number, item.span, scope, inquiry)


def _variable(node: Variable, scope: Scope, inquiry: Inquiry) -> None:
    if node.index is not None:
        from shellguard.analysis.words import visit_subscript

        visit_subscript(node.index, scope, inquiry)
        variable = scope.variable(node.name)
        elements = None if variable is None else variable.elements
        if elements is None or not all(_is_number(value) for value in elements):
            because = f"the elements of {node.name} are evaluated as arithmetic, and are not known"
            inquiry.unknown(node.span, because, Kind.EVALUATED)
    elif not _is_number(scope.value(node.name, node.span)):
        because = f"the value of {node.name} is evaluated as arithmetic, and is not known"
        inquiry.unknown(node.span, because, Kind.EVALUATED)


def _is_number(value: Value) -> bool:
    return value.is_integer or (value.exact and value.text == "")


def arithmetic_text(value: Value, scope: Scope, inquiry: Inquiry) -> None:
    """Judges a text that a command or the shell reads as arithmetic after it was expanded."""
    if _is_number(value):
        return
    text = value.sample
    if text is None:
        inquiry.unknown(value.span, "a text that is not known is evaluated as arithmetic", Kind.EVALUATED)
        return
    expression = _read(text)
    if expression is None:
        because = f"{text!r} is evaluated as arithmetic, and is none that can be read"
        inquiry.unknown(value.span, because, Kind.EVALUATED)
    else:
        arithmetic(expression, scope, inquiry.inside(None, value.span))


def number_for_zsh(value: Value, scope: Scope, inquiry: Inquiry) -> None:
    """Judges a text that zsh evaluates where bash reads a number, perhaps with a fraction."""
    if not (value.exact and is_integer(value.text.replace(".", "", 1))):
        arithmetic_text(value, scope, inquiry)


def _read(text: str) -> Arith | None:
    """The expression that `text` is, as `(( ))` reads it; None for anything else."""
    if len(text) > MAX_LENGTH:
        return None
    try:
        statements = parse(f"(({text}))").statements
    except ShellSyntaxError:
        return None
    if len(statements) != 1 or statements[0].redirections or statements[0].background:
        return None
    command = statements[0].command
    return command.expression if type(command) is ArithCommand else None
