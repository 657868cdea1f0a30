# SPDX-License-Identifier: Apache-2.0
"""The only generic traversal of the tree. It goes by `__match_args__`, so a new node cannot be left out."""

from __future__ import annotations

from shellguard.syntax.nodes import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeVar

    from shellguard.spans import Span

    NodeType = TypeVar("NodeType", bound=Node)


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below `node`, in the order of its fields."""
    for name in node.__match_args__:
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif type(value) is tuple:
            for item in value:
                if isinstance(item, Node):
                    yield item


def walk(node: Node) -> Iterator[Node]:
    """`node` and all below it, parents before children, siblings in order."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(list(children(top))))


def moved(node: NodeType, origins: list[int]) -> NodeType:
    """A copy of `node` with its spans moved into the text from which its own text was taken.

    `origins[i]` is where character `i` stood there; it has one entry more, for the end. For scripts that were read from
    a text of their own (backticks, here-documents) and belong into a larger one.
    """
    values = []
    for name in node.__match_args__:
        value = getattr(node, name)
        if name == "span":
            value = moved_span(value, origins)
        elif isinstance(value, Node):
            value = moved(value, origins)
        elif type(value) is tuple:
            value = tuple([moved(item, origins) if isinstance(item, Node) else item for item in value])
        values.append(value)
    return type(node)(*values)


def moved_span(span: Span, origins: list[int]) -> Span:
    """The span of the same characters in the larger text: it ends behind the last of them, not before the next."""
    start, end = span
    return (origins[start], origins[end - 1] + 1 if end > start else origins[start])
