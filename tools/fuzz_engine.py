# SPDX-License-Identifier: Apache-2.0
"""Gives the engine random and broken texts, and looks for exceptions, false spans and texts that take too long.

    python -m tools.fuzz_engine --texts 200000 --seed 1 --jobs 2

Half of the texts are examples of the rules and lines of the verdict tables with a few pieces cut out, put in, doubled
or joined, the rest are rows of shell tokens, some of them one short row over and over. Each must get a verdict whose
facts lie inside the text, must be `unknown` where the parser refuses it, and must not be a read for any shell where it
is none in bash. `slow` is a text that takes more than 50 ms of CPU for each 10 kB it has (or has begun); such a text is
tried three times, and is shown with the number of Python calls, which does not depend on the machine. Exit status 1
when anything was found.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from types import FrameType

from shellguard.analysis.inquiry import Assumptions
from shellguard.engine import classify
from shellguard.errors import ShellSyntaxError
from shellguard.rules.shelf import Shelf
from shellguard.syntax.parse import parse
from shellguard.verdict import READ, UNKNOWN
from tests.analysis.texts import EXAMPLES, TOKENS
from tests.analysis.verdict_lines import verdict_lines

SECONDS_PER_PIECE, PIECE = 0.05, 10_000
ANY = Assumptions("any")


@dataclass(frozen=True)
class Finding:
    """Something wrong with the verdict of a text."""

    kind: str
    text: str
    detail: str

    def __str__(self) -> str:
        shown = (
            repr(self.text)
            if len(self.text) < 300
            else f"{self.text[:200]!r}... ({len(self.text)} characters)"
        )
        return f"{self.kind}: {shown} {self.detail}"


def seeds() -> list[str]:
    """What is changed: examples of the rules, and the texts of the tables."""
    return [*(text for _, text in EXAMPLES), *(line.text for line in verdict_lines())]


def changed(chance: random.Random, texts: list[str]) -> str:
    """A text with a few pieces cut out, put in, doubled or moved, or joined to another."""
    text = chance.choice(texts)
    for _ in range(chance.randint(1, 5)):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.randint(0, 6))
        kind = chance.randrange(7)
        if kind < 3:
            text = text[:start] + chance.choice(TOKENS) + text[end:]
        elif kind == 3:
            text = text[:start] + text[end:]
        elif kind == 4:
            text = text[:end] + text[start:end] * chance.randint(1, 20) + text[end:]
        elif kind == 5:
            text += chance.choice((";", " | ", "\n", " && ", " ")) + chance.choice(texts)
        else:
            other = chance.choice(texts)
            text = text[:start] + other[chance.randint(0, len(other)) :]
    return text


def soup(chance: random.Random) -> str:
    """Tokens in any order; now and then a few of them many times."""
    row = "".join(chance.choice(TOKENS) for _ in range(chance.randint(1, 30)))
    if chance.random() < 0.02:
        row = row[: chance.randint(1, 40)]
        return row * (chance.choice((1_000, 10_000)) // max(len(row), 1))
    return row


def checked(text: str) -> Finding | None:
    """What is wrong with the verdict of one text."""
    shelf = Shelf.default()
    allowed = SECONDS_PER_PIECE * (1 + len(text) // PIECE)
    try:
        started = time.process_time()
        verdict = classify(text, shelf=shelf)
        took = time.process_time() - started
        other = classify(text, shelf=shelf, assumptions=ANY)
    except Exception:  # noqa: BLE001 - an exception is what is looked for
        return Finding("exception", text, traceback.format_exc(limit=-3))
    if any(not 0 <= fact.span[0] <= fact.span[1] <= len(text) for fact in verdict.facts):
        return Finding("span", text, str(verdict.facts))
    if other.kind == READ != verdict.kind:
        return Finding("milder", text, f"a read for any shell, {verdict.kind} in bash")
    try:
        parse(text)
    except ShellSyntaxError:
        if verdict.kind != UNKNOWN:
            return Finding("refused", text, f"the parser refuses it, and it is {verdict.kind}")
    if took > allowed and min(seconds(text) for _ in range(3)) > allowed:
        return Finding("slow", text, f"{took * 1000:.0f} ms, {calls(text)} calls")
    return None


def seconds(text: str) -> float:
    """The CPU time of one verdict."""
    started = time.process_time()
    classify(text, shelf=Shelf.default())
    return time.process_time() - started


def calls(text: str) -> int:
    """The number of Python functions that one verdict calls."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        classify(text, shelf=Shelf.default())
    finally:
        sys.setprofile(None)
    return count


def run(seed: int, count: int) -> tuple[dict[str, int], float, list[Finding]]:
    """The kinds of `count` verdicts, the most milliseconds that 10 kB took, and what was found."""
    chance = random.Random(seed)
    texts = seeds()
    kinds: dict[str, int] = {}
    worst = 0.0
    found = []
    for _ in range(count):
        text = changed(chance, texts) if chance.random() < 0.5 else soup(chance)
        finding = checked(text)
        if finding is not None:
            found.append(finding)
            continue
        started = time.process_time()
        kind = classify(text, shelf=Shelf.default()).kind
        worst = max(worst, (time.process_time() - started) * 1000 / (1 + len(text) // PIECE))
        kinds[kind] = kinds.get(kind, 0) + 1
    return kinds, worst, found


def main() -> int:
    """Prints what was found, and how many texts were which."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    started = time.monotonic()
    chunk = 2_000
    chunks = [(args.seed * 1_000_003 + index, chunk) for index in range((args.texts + chunk - 1) // chunk)]
    kinds: dict[str, int] = {}
    worst, findings = 0.0, 0
    with ProcessPoolExecutor(args.jobs) as pool:
        for some, most, found in pool.map(run, *zip(*chunks, strict=True)):
            for kind, number in some.items():
                kinds[kind] = kinds.get(kind, 0) + number
            worst = max(worst, most)
            findings += len(found)
            for finding in found:
                print(finding, flush=True)
    shown = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    took = time.monotonic() - started
    print(f"{shown}; {findings} findings; the slowest took {worst:.0f} ms for 10 kB or less; {took:.0f} s")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
