# SPDX-License-Identifier: Apache-2.0
"""One text for a value whatever the order of its keys, and JSON read without the modules that `json` loads.

`json` loads `re` and `enum`, which costs a hook more than its answer. The scanner in C behind it needs neither.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAX_DEPTH = 48
"""Deeper values all count as the same."""


def canonical(
    value: object, text_of: Callable[[str], str] = str, dropped: frozenset[str] = frozenset()
) -> str:
    """One text for a value of JSON's kinds: keys sorted, nulls dropped from objects, `1.0` as `1`.

    `text_of` is applied to every string that is no key; keys in `dropped` (lower case) are left out at any depth.
    Values of other kinds count by their type. Never raises, whatever the depth.
    """
    out: list[str] = []
    _write(value, out, text_of, dropped, 0)
    return "".join(out)


def _write(
    value: object, out: list[str], text_of: Callable[[str], str], dropped: frozenset[str], depth: int
) -> None:
    if isinstance(value, str):
        text = text_of(value)
        out.append(f'"{len(text)}:{text}"')  # the length keeps apart what quotes inside would blur
    elif value is None or value is True or value is False:
        out.append(str(value))
    elif isinstance(value, int):
        out.append(_whole(value))
    elif isinstance(value, float):
        out.append(_whole(int(value)) if value.is_integer() else repr(value))
    elif depth >= MAX_DEPTH:
        out.append("...")
    elif isinstance(value, dict):
        out.append("{")
        pairs = [(key if isinstance(key, str) else repr(type(key)), item) for key, item in value.items()]
        pairs.sort(key=_first)
        for key, item in pairs:
            if item is not None and not (dropped and _is_dropped(key, item, dropped)):
                out.append(f"{len(key)}:{key}=")
                _write(item, out, text_of, dropped, depth + 1)
                out.append(",")
        out.append("}")
    elif isinstance(value, list | tuple):
        out.append("[")
        for item in value:
            _write(item, out, text_of, dropped, depth + 1)
            out.append(",")
        out.append("]")
    else:
        out.append(f"<{type(value).__name__}>")


def _whole(value: int) -> str:
    """A whole number in decimal, so that its digits can be left out; `str` refuses more than 4,300 of them."""
    return str(value) if -_MOST_DECIMAL < value < _MOST_DECIMAL else hex(value)


_MOST_DECIMAL = 1 << 512


def _first(pair: tuple[str, object]) -> str:
    return pair[0]


MOST_SMALL_ID = 9_999
"""An `id` up to here may be a number that counts, such as that of an issue. A larger one, or a text, is made up."""


def _is_dropped(key: str, item: object, dropped: frozenset[str]) -> bool:
    low = key.lower()
    if low == "id" and "id" in dropped:
        return isinstance(item, str) or (isinstance(item, int) and abs(item) > MOST_SMALL_ID)
    if low in dropped:
        return True
    # `fetchedAt`, but not `format`.
    return "id" in dropped and (low.endswith(_VOLATILE_ENDINGS) or key.endswith(("At", "Ms")))


_VOLATILE_ENDINGS = ("_at", "_ms", "_secs", "_seconds", "_timestamp", "requestid", "traceid", "_nonce")
"""Ends of keys that say when, and how long it took."""


class _Context:
    """What the scanner of `_json` asks for."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float

    def __init__(self) -> None:
        self.memo: dict[str, str] = {}


def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    try:
        from _json import make_scanner

        return make_scanner(_Context())  # type: ignore[arg-type]  # it asks for no more than these
    except ImportError:  # another Python than CPython
        import json

        return json.JSONDecoder(strict=False).raw_decode


_SCAN = _scanner()


def parsed(text: str) -> object:
    """The object or list that a text holds as JSON; None where it is no such text."""
    bare = text.strip(" \t\r\n")
    if not ((bare[:1] == "{" and bare[-1:] == "}") or (bare[:1] == "[" and bare[-1:] == "]")):
        return None
    try:
        value, end = _SCAN(bare, 0)
    except (StopIteration, ValueError, RecursionError):
        return None
    return value if end == len(bare) and isinstance(value, dict | list) else None
