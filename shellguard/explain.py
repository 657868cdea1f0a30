# SPDX-License-Identifier: Apache-2.0
"""A verdict as text for people: the words it is about, with carets, and the lines of the rules that say so.

Shown text is hostile: characters that a terminal would act on, or that a person cannot see, are made visible.
"""

from __future__ import annotations

from shellguard.effects import EFFECTS, Effect
from shellguard.findings import finding_of
from shellguard.spans import line_at, position

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from shellguard.effects import Fact
    from shellguard.verdict import Verdict

    Paint: TypeAlias = Callable[[str, str], str]

_SELDOM_ALLOWED = (Effect.WRITES, Effect.EXECUTES, Effect.UNKNOWN)

MAX_WIDTH = 2_000
"""Characters. A longer line of the text is shown in part."""

AROUND = 200
"""Characters that are shown on either side of the words, where the line is too long to be shown whole."""

MAX_SHOWN = 100
"""Facts of one text that are shown; the rest is counted. JSON has all of them."""

# --- what a terminal would act on -----------------------------------------------------------------------------------

_BLANKS_TO_THE_EYE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_VARIATION_SELECTORS = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def visible(text: str) -> str:
    """The text with each character as an escape that a terminal acts on, or that looks like none or like a blank.

    Those are the characters of control, of direction and of formatting, every blank but the space, halves of pairs,
    and whatever Unicode has not assigned.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(char) if _acts(char) else char for char in text)


def _acts(char: str) -> bool:
    """`isprintable` is false for the categories C* and Z*, but for the space."""
    if not char.isprintable():
        return True
    code = ord(char)
    return char in _BLANKS_TO_THE_EYE or any(first <= code <= last for first, last in _VARIATION_SELECTORS)


def _escape(char: str) -> str:
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# --- text -----------------------------------------------------------------------------------------------------------


def plain(text: str, _role: str) -> str:
    """Paints nothing. A `Paint` is given a text and its role: `read`, `write`, `unknown`, `caret` or `place`."""
    return text


def summary(
    verdict: Verdict,
    name: str = "",
    *,
    everything: bool = False,
    facts: Sequence[Fact] | None = None,
    note: str = "",
    paint: Paint = plain,
) -> str:
    """The verdict with the facts that decide it.

    Args:
        name: what stands in front of places: the name of a file.
        everything: shows all facts, in program order.
        facts: shows these instead.
        note: what is said behind the first line, in brackets.
    """
    if facts is None:
        facts = [fact for fact in verdict.facts if everything or fact.effect in _SELDOM_ALLOWED]
    shown = list(facts) or list(verdict.facts)
    if not everything:
        shown.sort(key=lambda fact: EFFECTS.index(fact.effect))
    lines = []
    for fact in shown[:MAX_SHOWN]:
        lines += fact_lines(fact, verdict, name, paint)
    if len(shown) > MAX_SHOWN:
        lines.append(f"{' ' * 7}... and {len(shown) - MAX_SHOWN} facts more")
    if not lines:
        lines = [f"{paint(verdict.kind, verdict.kind)}  {visible(name)}".rstrip(" ")]
    if note:
        lines.append(f"{' ' * 7}{note}")
    return "\n".join(lines)


def fact_lines(fact: Fact, verdict: Verdict, name: str = "", paint: Paint = plain) -> list[str]:
    """One fact: the line of the text, carets under its words with the reason, then the rules that say so."""
    start, end = fact.span
    place = f"{visible(name)}:{position(verdict.text, start)}" if name else str(position(verdict.text, start))
    head = f"{verdict.kind}  {place}  "
    before, words, behind = _shown_line(verdict.text, start, end)
    indent = " " * (width(head) + width(before))
    carets = "^" * max(1, width(words))
    lines = [
        f"{paint(verdict.kind, verdict.kind)}{head[len(verdict.kind) :]}{before}{paint(words, 'caret')}{behind}",
        f"{indent}{paint(carets, 'caret')} {finding_of(fact).code} {visible(fact.because)}: {fact.effect}",
    ]
    for frame in reversed(fact.via):
        if frame.rule is not None:
            rule = paint(visible(str(frame.rule)), "place")
            lines.append(f"{' ' * 7}{rule}  {visible(frame.rule.place)}  ({visible(frame.name)})")
    if fact.source is not None:
        rule = paint(visible(str(fact.source)), "place")
        marks = f"  {', '.join(fact.marks)}" if fact.marks else ""
        lines.append(f"{' ' * 7}{rule}  {visible(fact.source.place)}{marks}".rstrip(" "))
    return lines


def _shown_line(text: str, start: int, end: int) -> tuple[str, str, str]:
    """The line that holds `start`, in three parts: before the words, the words as far as they are in it, behind them.

    A line of more than `MAX_WIDTH` characters is cut, which dots say.
    """
    line_start, line_end = line_at(text, start)
    end = min(max(start, end), line_end)
    first, last = line_start, line_end
    if line_end - line_start > MAX_WIDTH:
        first = max(line_start, start - AROUND)
        end = min(end, first + MAX_WIDTH - AROUND)
        last = min(line_end, end + AROUND)
    before = ("..." if first > line_start else "") + visible(text[first:start])
    behind = visible(text[end:last]) + ("..." if last < line_end else "")
    return before, visible(text[start:end]), behind


def width(text: str) -> int:
    """Columns that the text takes on a terminal: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
