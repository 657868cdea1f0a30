# SPDX-License-Identifier: Apache-2.0
"""Lines and columns for reports with many places: a long text is not counted again for each of them."""

from __future__ import annotations

from bisect import bisect_right


class Columns:
    """The places of one text. Lines end at a newline only; both numbers are 1-based.

    `utf16`: columns count UTF-16 code units, not characters.
    """

    __slots__ = ("_known", "_starts", "_text", "_utf16")

    def __init__(self, text: str, *, utf16: bool = False) -> None:
        self._text, self._utf16 = text, utf16 and not text.isascii()
        self._starts = [0]
        self._known = (0, 0)  # an offset, and the units between the start of its line and it
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)

    def at(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset; one past the end counts as the end."""
        offset = min(max(offset, 0), len(self._text))
        line = bisect_right(self._starts, offset)
        start = self._starts[line - 1]
        if not self._utf16:
            return line, offset - start + 1
        known, units = self._known
        if not start <= known <= offset:
            known, units = start, 0
        units += len(self._text[known:offset].encode("utf-16-le", "surrogatepass")) // 2
        self._known = (offset, units)
        return line, units + 1
