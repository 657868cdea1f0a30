# SPDX-License-Identifier: Apache-2.0
"""`[[ ]]`: file tests read, the number tests evaluate both sides as arithmetic, `-v` evaluates a subscript."""

from __future__ import annotations

from shellguard.analysis.arithmetic import arithmetic_text
from shellguard.analysis.dialects import refused, regular_expression
from shellguard.analysis.variables import look_at_name
from shellguard.analysis.words import visit, visit_pattern
from shellguard.effects import Effect, Kind
from shellguard.errors import assert_never
from shellguard.syntax.nodes import CondAndOr, CondBinary, CondGroup, CondNot, CondUnary, CondWord
from shellguard.values.resolve import single

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.inquiry import Inquiry
    from shellguard.syntax.nodes import Condition
    from shellguard.values.scope import Scope

_NUMERIC = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_FILES = frozenset("abcdefghkprstuwxLNOSG")
_NAMES = frozenset({"-v", "-R"})


def condition(node: Condition, scope: Scope, inquiry: Inquiry) -> None:
    """Judges every part of a condition, whether or not it would be reached."""
    pending: list[Condition] = [node]
    while pending:
        current = pending.pop()
        match current:
            case CondWord(word):
                visit(word, scope, inquiry)
            case CondUnary(operator, operand):
                visit(operand, scope, inquiry)
                value = single(operand, scope)
                if operator in _NAMES:
                    look_at_name(value, scope, inquiry)
                elif operator == "-t" and inquiry.assumptions.has_zsh:
                    arithmetic_text(value, scope, inquiry)
                elif operator[1:] in _FILES:
                    inquiry.add(Effect.READS, current.span, f"{operator} looks at a file")
            case CondBinary(operator, left, right):
                visit(left, scope, inquiry)
                visit_pattern(right, scope, inquiry)
                if operator in _NUMERIC:
                    arithmetic_text(single(left, scope), scope, inquiry)
                    arithmetic_text(single(right, scope), scope, inquiry)
                elif operator == "=~":
                    regular_expression(right, inquiry)
                elif operator == ">" and inquiry.assumptions.has_posix:
                    because = "a shell without [[ ]] writes to the file behind >"
                    inquiry.add(Effect.WRITES, current.span, because, kind=Kind.DIALECT)
            case CondGroup(inner):
                refused(current.span, "this", inquiry)
                pending.append(inner)
            case CondNot(inner):
                pending.append(inner)
            case CondAndOr(_, left, right):
                if inquiry.assumptions.has_posix and isinstance(right, CondWord | CondBinary):
                    because = "a shell without [[ ]] runs this as a command of its own"
                    inquiry.unknown(right.span, because, Kind.DIALECT)
                pending += [right, left]
            case _:
                assert_never(current)
