# SPDX-License-Identifier: Apache-2.0
"""The variables that a piece of the tree is seen to assign: what a loop may change for its own start."""

from __future__ import annotations

from shellguard.syntax.nodes import (
    ArithAssign,
    ArithSub,
    Assignment,
    Double,
    ForArith,
    ForWords,
    Param,
    Select,
    Text,
    Unary,
    Variable,
    While,
    Word,
)
from shellguard.syntax.walk import children
from shellguard.values.value import is_integer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from shellguard.syntax.nodes import Array, Node

    Known: TypeAlias = dict[int, tuple[Node, dict[str, bool]]]

_LOOPS = (While, ForWords, ForArith, Select)


def assigned_in(loop: Node, known: Known) -> dict[str, bool]:
    """Each name that `loop` assigns, with whether it stays a number if it is one.

    `known` holds the answers by identity, so that nested loops are walked once (with the loop itself, whose identity
    another could get otherwise).
    """
    kept = known.get(id(loop))
    if kept is not None:
        return kept[1]
    found: dict[str, bool] = {}
    pending = list(children(loop))
    if isinstance(loop, ForWords | Select):
        found[loop.name] = False
    while pending:
        node = pending.pop()
        if isinstance(node, _LOOPS):
            for name, number in assigned_in(node, known).items():
                found[name] = found.get(name, True) and number
            continue
        for name, number in _assigned_by(node):
            found[name] = found.get(name, True) and number
        pending.extend(children(node))
    known[id(loop)] = (loop, found)
    return found


def _assigned_by(node: Node) -> list[tuple[str, bool]]:
    """What one node assigns by itself."""
    kind = type(node)
    if kind is Assignment:
        return [(node.name, node.index is None and not node.append and _is_number(node.value))]  # type: ignore[attr-defined]
    if kind is ArithAssign and type(node.target) is Variable:  # type: ignore[attr-defined]
        return [(node.target.name, True)]  # type: ignore[attr-defined]
    if kind is Unary and node.operator in ("++", "--") and type(node.operand) is Variable:  # type: ignore[attr-defined]
        return [(node.operand.name, True)]  # type: ignore[attr-defined]
    if kind is Param and node.operator in ("=", ":="):  # type: ignore[attr-defined]
        return [(node.name, False)]  # type: ignore[attr-defined]
    return []


def _is_number(value: Word | Array) -> bool:
    """Whether an assigned word is a number in any case: digits, or an arithmetic expansion."""
    if not isinstance(value, Word) or len(value.parts) != 1:
        return False
    part = value.parts[0]
    if type(part) is Double and len(part.parts) == 1:
        part = part.parts[0]
    return type(part) is ArithSub or (type(part) is Text and is_integer(part.text))
