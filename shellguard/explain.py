# SPDX-License-Identifier: Apache-2.0
"""A verdict as text for people: the words it is about, with carets, and the lines of the rules that say so.

Shown text is hostile: characters that a terminal would act on are made visible.
"""

from __future__ import annotations

from shellguard.effects import EFFECTS, Effect
from shellguard.spans import line_at, position

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.effects import Fact
    from shellguard.verdict import Verdict

_ALLOWED_SELDOM = (Effect.WRITES, Effect.EXECUTES, Effect.UNKNOWN)

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2028\u2029\u2060\ufeff\ufff9\ufffa\ufffb")

MAX_SHOWN = 200
"""Characters of one line of the text that are shown."""


def visible(text: str) -> str:
    """The text with each control, bidirectional, invisible and lone surrogate character as an escape."""
    return "".join(_escape(char) if _acts(char) else char for char in text)


def _acts(char: str) -> bool:
    code = ord(char)
    return (
        code < 0x20
        or 0x7F <= code <= 0x9F
        or char in _BIDI
        or char in _INVISIBLE
        or 0xD800 <= code <= 0xDFFF
        or 0xE0000 <= code <= 0xE007F
    )


def _escape(char: str) -> str:
    code = ord(char)
    if char == "\t":
        return "\\t"
    if char == "\n":
        return "\\n"
    if char == "\r":
        return "\\r"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def summary(verdict: Verdict, name: str = "", *, everything: bool = False) -> str:
    """The verdict with the facts that decide it, or all of them with `everything`. `name` stands in front of places."""
    facts = [fact for fact in verdict.facts if everything or fact.effect in _ALLOWED_SELDOM]
    if not facts:
        facts = list(verdict.facts)
    facts.sort(key=lambda fact: EFFECTS.index(fact.effect) if not everything else 0)
    lines = []
    for fact in facts:
        lines += fact_lines(fact, verdict, name)
    return "\n".join(lines) if lines else f"{verdict.kind}  {visible(name)}".rstrip(" ")


def fact_lines(fact: Fact, verdict: Verdict, name: str = "") -> list[str]:
    """One fact: the line of the text, carets under its words with the reason, then the rules that say so."""
    start, end = fact.span
    place = f"{visible(name)}:{position(verdict.text, start)}" if name else str(position(verdict.text, start))
    head = f"{verdict.kind}  {place}  "
    before, marked = _shown_line(verdict.text, start, end)
    indent = " " * len(head)
    lines = [head + before + marked[0] + marked[1]]
    reason = visible(fact.because)
    lines.append(f"{indent}{' ' * _width(before)}{'^' * max(1, _width(marked[0]))} {reason}: {fact.effect}")
    for frame in reversed(fact.via):
        if frame.rule is not None:
            lines.append(f"{' ' * 7}{frame.rule}  {visible(frame.rule.place)}  ({visible(frame.name)})")
    if fact.source is not None:
        marks = f"  {', '.join(fact.marks)}" if fact.marks else ""
        lines.append(f"{' ' * 7}{fact.source}  {visible(fact.source.place)}{marks}")
    return lines


def _shown_line(text: str, start: int, end: int) -> tuple[str, tuple[str, str]]:
    """The line that holds `start`, cut to what is worth showing: before the words, the words, behind them."""
    line_start, line_end = line_at(text, start)
    first = max(line_start, start - MAX_SHOWN // 2)
    last = min(line_end, max(end, start), first + MAX_SHOWN)
    before = ("..." if first > line_start else "") + visible(text[first:start])
    behind = visible(text[last : min(line_end, last + 40)])
    return before, (visible(text[start:last]), behind)


def _width(text: str) -> int:
    """Columns that the text takes on a terminal."""
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)
