# SPDX-License-Identifier: Apache-2.0
"""JSON for a process that lives one call: the C scanner and the C quoting behind `json`, without `re` and
`enum`.

Importing `json` costs a hook more than judging a command. Where the C half is not there (another Python), or
another release of Python wants something else of it, `json` itself is used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BLANKS = " \t\r\n"


class _Rules:
    """What the C scanner asks: how to make the values."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner wants the attribute

    @staticmethod
    def parse_constant(name: str) -> None:
        """NaN and the infinities are no JSON; they are nothing."""


def loads(text: str) -> Any:
    """The value of a JSON text. Raises ValueError for anything else, RecursionError for one nested too
    deeply.
    """
    start = 0
    while start < len(text) and text[start] in _BLANKS:
        start += 1
    try:
        from _json import make_scanner

        value, end = make_scanner(_Rules)(text, start)  # type: ignore[arg-type]
    except (StopIteration, SystemError):  # its own error stands in `json.decoder`, which is not loaded
        raise ValueError("this is no JSON") from None
    except (ImportError, AttributeError, TypeError):
        from json import loads as slow

        return slow(text, strict=False, parse_constant=_Rules.parse_constant)
    if text[end:].strip(_BLANKS):
        raise ValueError("something follows the JSON")
    return value


def dumps(value: object) -> str:
    """JSON on one line, ASCII only. Keys are text. Raises TypeError for what JSON cannot say."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise TypeError("this number cannot be written")
        return float.__repr__(value)
    if isinstance(value, dict):
        return "{" + ", ".join([f"{_quoted(str(key))}: {dumps(item)}" for key, item in value.items()]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join([dumps(item) for item in value]) + "]"
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")


def _quoted(text: str) -> str:
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json.encoder import encode_basestring_ascii
    quoted: str = encode_basestring_ascii(text)
    return quoted
