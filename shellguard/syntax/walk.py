# SPDX-License-Identifier: Apache-2.0
"""The only generic traversal of the tree. It goes by `__match_args__`, so a new node cannot be left out."""

from __future__ import annotations

from shellguard.syntax.nodes import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

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


def moved(node: NodeType, place: Callable[[int], int]) -> NodeType:
    """A copy of `node` with each offset of each span replaced by `place(offset)`.

    For scripts that were read from a text of their own (backticks, here-documents) and belong into a larger one.
    """
    values = []
    for name in node.__match_args__:
        value = getattr(node, name)
        if name == "span":
            value = (place(value[0]), place(value[1]))
        elif isinstance(value, Node):
            value = moved(value, place)
        elif type(value) is tuple:
            value = tuple([moved(item, place) if isinstance(item, Node) else item for item in value])
        values.append(value)
    return type(node)(*values)
