# SPDX-License-Identifier: Apache-2.0
"""`shellguard parse`: the syntax tree of a shell text, with spans."""

from __future__ import annotations

import sys

import click

from shellguard.cli.base import FILE, command, say, unreadable
from shellguard.cli.streams import read_text
from shellguard.errors import ShellSyntaxError
from shellguard.explain import visible
from shellguard.rules.shelf import Shelf
from shellguard.spans import line_at
from shellguard.syntax.nodes import Node
from shellguard.syntax.parse import parse as parse_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command("parse")
@click.argument("file", default="-", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print the tree as one JSON object.")
def parse(file: str, as_json: bool) -> None:
    """Show the syntax tree of a shell text.

    Reads FILE, or standard input. Exit status 0: it was parsed; 1: it was refused, with the place and the reason.
    """
    try:
        text = read_text(file)
    except OSError as error:
        raise click.UsageError(unreadable(file, error)) from error
    try:
        tree = parse_text(text)
    except ShellSyntaxError as error:
        _refused(error, as_json)
        sys.exit(1)
    if as_json:
        from shellguard.cli.output import dumps, stamp

        say(dumps({**stamp(Shelf.default()), "tree": _object(tree)}))
    else:
        for line in _lines(tree, "", 0):
            say(line)


def _refused(error: ShellSyntaxError, as_json: bool) -> None:
    if as_json:
        from shellguard.cli.output import dumps, stamp

        start, end = error.span
        say(dumps({**stamp(Shelf.default()), "error": error.message, "start": start, "end": end}))
        return
    say(visible(str(error)), err=True)
    start, end = line_at(error.text, error.span[0])
    say("  " + visible(error.text[start:end]), err=True)


def _object(value: object) -> object:
    """A node as a JSON object: `type`, `span`, and its fields in the order of the class."""
    if isinstance(value, Node):
        fields = {name: _object(getattr(value, name)) for name in value.__match_args__ if name != "span"}
        return {"type": type(value).__name__, "span": list(value.span), **fields}
    if isinstance(value, tuple):
        return [_object(item) for item in value]
    return value


def _lines(node: Node, label: str, depth: int) -> Iterator[str]:
    """The tree as indented lines: field, type, span, then what is plain on the same line."""
    names = [name for name in node.__match_args__ if name != "span"]
    plain = [(name, getattr(node, name)) for name in names if not _holds_nodes(getattr(node, name))]
    shown = "".join(f" {name}={visible(repr(value))}" for name, value in plain if value not in (None, ()))
    yield f"{'  ' * depth}{label}{type(node).__name__} {node.span[0]}-{node.span[1]}{shown}"
    for name in names:
        value = getattr(node, name)
        if isinstance(value, Node):
            yield from _lines(value, f"{name}: ", depth + 1)
        elif _holds_nodes(value):
            for item in value:
                if isinstance(item, Node):
                    yield from _lines(item, f"{name}: ", depth + 1)


def _holds_nodes(value: object) -> bool:
    return isinstance(value, Node) or (
        isinstance(value, tuple) and any(isinstance(item, Node) for item in value)
    )
