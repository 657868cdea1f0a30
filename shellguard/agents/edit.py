# SPDX-License-Identifier: Apache-2.0
"""Adding something to a settings file as text, so that every other byte of it stays what it is.

JSON is read with what editors allow in settings: comments, a comma at the end, a byte order mark. An addition
is one piece of text at one place; taking it out again gives the file that was there before, whatever it looks
like.
"""

from __future__ import annotations

from json import dumps, loads
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

Path = tuple[str, ...]
Addition = tuple[int, str]
"""Where a text is put in, and the text."""


class EditError(ValueError):
    """The file is not what can be edited. The message says why."""


class Node:
    """One value of a JSON text: `value`, and where it begins and ends. `children` are those of an object, by
    name, or of a list, by number.
    """

    __slots__ = ("children", "end", "start", "value")

    def __init__(self, start: int) -> None:
        self.start, self.end = start, start
        self.value: Any = None
        self.children: dict[Any, Node] = {}


def parsed(text: str) -> Node | None:
    """The value of a JSON text with its places; None when there is nothing in it. Raises EditError."""
    place = _blank(text, 0)
    if place == len(text):
        return None
    try:
        node = _value(text, place, 0)
    except (ValueError, IndexError) as error:
        raise EditError(f"it is no JSON: {error}") from None
    if _blank(text, node.end) != len(text):
        raise EditError("something follows the JSON")
    return node


def _blank(text: str, place: int) -> int:
    """The first place that is no blank and no comment."""
    while place < len(text):
        if text[place] in " \t\r\n\ufeff":
            place += 1
        elif text.startswith("//", place):
            end = text.find("\n", place)
            place = len(text) if end < 0 else end
        elif text.startswith("/*", place):
            end = text.find("*/", place + 2)
            if end < 0:
                raise EditError("a comment has no end")
            place = end + 2
        else:
            break
    return place


def _value(text: str, place: int, depth: int) -> Node:
    if depth > 200:
        raise EditError("it is nested too deeply")
    node = Node(place)
    char = text[place]
    if char in "{[":
        _container(text, node, depth)
    elif char == '"':
        node.value, node.end = scanstring(text, place + 1, False)
    else:
        end = place
        while end < len(text) and text[end] not in ",]}/ \t\r\n":
            end += 1
        node.value, node.end = loads(text[place:end]), end
    return node


def _container(text: str, node: Node, depth: int) -> None:
    is_object = text[node.start] == "{"
    close = "}" if is_object else "]"
    found: dict[str, Any] = {}
    items: list[Any] = []
    place = _blank(text, node.start + 1)
    while text[place] != close:
        if is_object:
            if text[place] != '"':
                raise EditError("a name is expected")
            key, place = scanstring(text, place + 1, False)
            place = _blank(text, place)
            if text[place] != ":":
                raise EditError("a colon is expected")
            place = _blank(text, place + 1)
        child = _value(text, place, depth + 1)
        if is_object:
            if key in found:
                raise EditError(f"it names {key!r} twice")
            found[key] = child.value
            node.children[key] = child
        else:
            node.children[len(items)] = child
            items.append(child.value)
        place = _blank(text, child.end)
        if text[place] == ",":
            place = _blank(text, place + 1)
        elif text[place] != close:
            raise EditError("a comma is expected")
    node.value, node.end = (found if is_object else items), place + 1


def addition(text: str, path: Path, entry: object) -> Addition:
    """What puts `entry` at the end of the list at `path`, which is made where it is missing. Raises
    EditError.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    node = parsed(text)
    if node is None:
        return len(text), _shown(_nested(path, [entry]), 0, newline) + newline
    for depth, name in enumerate(path):
        if not isinstance(node.value, dict):
            raise EditError(f"{'.'.join(path[:depth]) or 'the whole'} is no object")
        child = node.children.get(name)
        if child is None:
            return _into(text, node, depth, newline, dumps(name) + ": ", _nested(path[depth + 1 :], [entry]))
        node = child
    if not isinstance(node.value, list):
        raise EditError(f"{'.'.join(path)} is no list")
    return _into(text, node, len(path), newline, "", entry)


def _nested(path: Path, value: object) -> object:
    for name in reversed(path):
        value = {name: value}
    return value


def _into(text: str, node: Node, depth: int, newline: str, name: str, value: object) -> Addition:
    """Behind the last child of a container, or at its beginning where it has none."""
    pad = "  " * (depth + 1)
    shown = newline + pad + name + _shown(value, depth + 1, newline)
    if node.children:
        return list(node.children.values())[-1].end, f",{shown}"
    rest = newline + "  " * depth if _blank(text, node.start + 1) == node.start + 1 else ""
    return node.start + 1, f"{shown}{rest}"


def _shown(value: object, depth: int, newline: str) -> str:
    return dumps(value, indent=2).replace("\n", newline + "  " * depth)


def with_addition(text: str, added: Addition) -> str:
    """The text with it."""
    place, piece = added
    return text[:place] + piece + text[place:]


def without(text: str, pieces: list[str]) -> str | None:
    """The text without pieces that were added to it, the last first; None where one is not there any more."""
    for piece in reversed(pieces):
        before, found, after = text.rpartition(piece)
        if not found:
            return None
        text = before + after
    return text


def without_entries(text: str, path: Path, mark: str) -> str:
    """The text without the entries below `path` in which some text holds `mark`. Raises EditError."""
    node = parsed(text)
    for name in path:
        node = None if node is None else node.children.get(name)
    lists = [] if node is None else list(node.children.values())
    cuts = []
    for each in lists:
        items = list(each.children.values()) if isinstance(each.value, list) else []
        for number, item in enumerate(items):
            if mark in dumps(item.value):
                start = items[number - 1].end if number else item.start
                end = item.end
                if number == 0 and len(items) > 1:
                    end = items[1].start
                cuts.append((start, end))
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    return text


def yaml_addition(text: str, path: Path, entry: object) -> Addition:
    """The same for a YAML file of block mappings. Raises EditError for a place that is written in another
    way.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    outer, inner = path
    lines = text.split(newline)
    at = _line_of(lines, outer, 0, len(lines))
    items = (
        "".join(
            f"{'    ' if number else '  - '}{key}: {dumps(item)}{newline}"
            for number, (key, item) in enumerate(entry.items())
        )
        if isinstance(entry, dict)
        else ""
    )
    if at is None:
        start = "" if not text or text.endswith("\n") else newline
        return len(text), f"{start}{outer}:{newline}  {inner}:{newline}{_indented(items, newline)}"
    if lines[at].partition("#")[0].rstrip() != f"{outer}:":
        raise EditError(f"`{outer}` is not written as a block")
    end = at + 1
    while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t#"):
        end += 1
    where = _line_of(lines, inner, at + 1, end)
    if where is None:
        block = f"  {inner}:{newline}{_indented(items, newline)}"
        return _start_of(lines, at + 1, newline, text), block
    if lines[where].partition("#")[0].rstrip() != f"  {inner}:":
        raise EditError(f"`{outer}.{inner}` is not written as a block of two spaces")
    follows = lines[where + 1] if where + 1 < len(lines) else ""
    dash = len(follows) - len(follows.lstrip(" "))
    if not follows.lstrip(" ").startswith("- "):
        raise EditError(f"`{outer}.{inner}` does not begin with a list")
    shifted = "".join(
        f"{' ' * (dash - 2) if dash > 2 else ''}{line}{newline}" for line in items.split(newline)[:-1]
    )
    return _start_of(lines, where + 1, newline, text), shifted


def _indented(items: str, newline: str) -> str:
    return "".join(f"  {line}{newline}" for line in items.split(newline)[:-1])


def _line_of(lines: list[str], name: str, start: int, end: int) -> int | None:
    found = [
        number
        for number in range(start, end)
        if lines[number].lstrip(" ").startswith(f"{name}:") and (start > 0 or lines[number].startswith(name))
    ]
    if len(found) > 1:
        raise EditError(f"`{name}` stands there more than once")
    return found[0] if found else None


def _start_of(lines: list[str], number: int, newline: str, text: str) -> int:
    return min(len(text), sum(len(line) + len(newline) for line in lines[:number]))
