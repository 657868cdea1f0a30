# SPDX-License-Identifier: Apache-2.0
"""The YAML text of a rule file as a small tree, every node with its line.

Rule files may come from anywhere, so they are hostile input: their size, nesting and aliases are bounded, no
tag is obeyed, every scalar is a string, and a file outside the rules folder is not read. The YAML library is
imported when the first file is read, never by a hook that has compiled rules.

The events of the parser are taken, not its composed tree: the composer of PyYAML recurses as deep as the file
nests before anybody can count.
"""

from __future__ import annotations

import os

from shellguard.errors import RuleError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 1_000_000
MAX_DEPTH = 24
MAX_NODES = 60_000
"""How many nodes a file may have once every alias is replaced by what it stands for."""


class Node:
    """A node of the YAML tree: a str, a list of nodes, or a dict of key -> (line of the key, node).

    `line` is 1-based. `size` counts the nodes below it, aliases resolved. `literal` tells a block written
    with `|`. `raw` is the text as it stands in the file, for scalars without quotes: its newlines tell on
    which line each part is.
    """

    __slots__ = ("line", "literal", "raw", "size", "value")

    def __init__(self, value: str | list[Node] | dict[str, tuple[int, Node]], line: int) -> None:
        self.value, self.line = value, line
        self.size, self.literal, self.raw = 1, False, ""


def tree(text: str, path: str) -> Node:
    """The YAML text as a tree."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    lines = text.split("\n")
    anchors: dict[str, Node] = {}
    open_nodes: list[tuple[Node, str | None]] = []
    keys: list[tuple[str, int] | None] = []  # for each open mapping: the key whose value comes next
    root: Node | None = None

    def place(node: Node) -> None:
        nonlocal root
        if not open_nodes:
            if root is not None:
                raise RuleError(path, node.line, "a second document begins here: one file holds one rule")
            root = node
            return
        parent, _ = open_nodes[-1]
        parent.size += node.size
        if parent.size > MAX_NODES:
            raise RuleError(
                path, node.line, f"the file has more than {MAX_NODES} nodes once its aliases are followed"
            )
        if isinstance(parent.value, list):
            parent.value.append(node)
            return
        assert isinstance(parent.value, dict)
        key = keys[-1]
        if key is None:
            if not isinstance(node.value, str):
                raise RuleError(path, node.line, "a key must be plain text")
            if node.value in parent.value:
                first = parent.value[node.value][0]
                raise RuleError(
                    path,
                    node.line,
                    f"`{node.value}` stands here a second time (first on line {first}): join them",
                )
            keys[-1] = (node.value, node.line)
        else:
            parent.value[key[0]] = (key[1], node)
            keys[-1] = None

    try:
        events: Any = yaml.parse(text, Loader=loader)
        for event in events:
            line = event.start_mark.line + 1
            if getattr(event, "tag", None) is not None:
                raise RuleError(
                    path, line, f"the tag {event.tag} is not allowed: every scalar here is a string"
                )
            match event:
                case yaml.AliasEvent():
                    node = anchors.get(event.anchor or "")
                    if node is None:
                        raise RuleError(path, line, f"*{event.anchor} names nothing that stands above it")
                    place(node)
                case yaml.ScalarEvent():
                    node = Node(event.value, line)
                    node.literal = event.style == "|"
                    if not event.style:  # plain: None or empty, by loader
                        node.raw = _slice(lines, event.start_mark, event.end_mark)
                    if event.anchor:
                        anchors[event.anchor] = node
                    place(node)
                case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                    if len(open_nodes) >= MAX_DEPTH:
                        raise RuleError(path, line, f"nested deeper than {MAX_DEPTH} levels")
                    mapping = isinstance(event, yaml.MappingStartEvent)
                    open_nodes.append((Node({} if mapping else [], line), event.anchor))
                    keys.append(None)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    node, anchor = open_nodes.pop()
                    keys.pop()
                    if anchor:  # only now: an alias to a node that is still open would be endless
                        anchors[anchor] = node
                    place(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = error.problem or error.context or "not YAML"
        raise RuleError(path, mark.line + 1 if mark else 1, f"not YAML: {what}") from None
    except yaml.YAMLError as error:
        raise RuleError(path, 1, f"not YAML: {error}") from None
    if root is None:
        raise RuleError(path, 1, "the file is empty")
    return root


def _slice(lines: list[str], start: Any, end: Any) -> str:
    if start.line == end.line:
        line: str = lines[start.line]
        return line[start.column : end.column]
    middle = lines[start.line + 1 : end.line]
    return "\n".join((lines[start.line][start.column :], *middle, lines[end.line][: end.column]))


def checked_text(text: str, path: str) -> str:
    """`text` with plain line ends. Refuses characters that make YAML count lines its own way."""
    text = text.replace("\r\n", "\n")
    for char, name in (
        ("\t", "a tab: write spaces"),
        ("\r", "a lone carriage return"),
        ("\x00", "a NUL character"),
        ("\ufeff", "a byte order mark"),
        ("\x85", "a next-line character"),
        ("\u2028", "a line separator"),
        ("\u2029", "a paragraph separator"),
    ):
        index = text.find(char)
        if index >= 0:
            raise RuleError(path, text.count("\n", 0, index) + 1, f"the file holds {name}")
    return text


def read_file(file: str, folder: str, path: str) -> str:
    """The text of a rule file.

    Raises: RuleError when it is too big, no UTF-8, not readable, or outside `folder`.
    """
    return decoded(read_bytes(file, folder, path), path)


def read_bytes(file: str, folder: str, path: str) -> bytes:
    """The bytes of a rule file. Waits for no pipe, and opens no device.

    Raises: RuleError when it is too big, not readable, no regular file, or outside `folder`.
    """
    try:
        real, real_folder = os.path.realpath(file), os.path.realpath(folder)
        if os.path.commonpath((real, real_folder)) != real_folder:
            raise RuleError(path, 1, "the file is a link that leaves the rules folder: copy it there")
        if not os.path.isfile(real):
            raise RuleError(path, 1, "not a regular file")
        with open(real, "rb", opener=_open_at_once) as stream:
            if not os.path.isfile(stream.fileno()):  # it was changed in between
                raise RuleError(path, 1, "not a regular file")
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise RuleError(path, 1, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MAX_BYTES:
        raise RuleError(path, 1, f"larger than {MAX_BYTES} bytes")
    return data


def _open_at_once(name: str, flags: int) -> int:
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def decoded(data: bytes, path: str) -> str:
    """The text of these bytes. Raises: RuleError, with the line, when they are no UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RuleError(
            path, line, f"byte {data[error.start]:#04x} is not UTF-8: save the file as UTF-8"
        ) from None
