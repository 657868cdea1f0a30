# SPDX-License-Identifier: Apache-2.0
"""Looks for texts that bash and our parser read differently, by changing real commands. Runs as long as it is told.

    python -m tools.fuzz --seconds 600 --seed 7 --corpora DIR

Texts come from `tests/syntax/trees.txt`, and from the corpora where they are. For each kind of finding the
smallest text that shows it is printed: `crash` (an exception that is no refusal), `hang`, `accepts` (bash refuses the
text), `differs` (bash prints another tree and no reason in `tools/reprint.py` explains it), `unstable` (our
own print is another tree). With --refusals also texts that only bash accepts, for the places where the parser
could learn more. Exit status 1 when a crash, a difference or an unstable text was found.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections import Counter
from functools import partial
from types import FrameType

from shellguard.errors import ShellSyntaxError
from shellguard.syntax.parse import parse
from shellguard.syntax.printer import to_text
from tests.syntax.cases import TREES, read_cases
from tools.bash_oracle import NoBashError, bash_version, judge
from tools.corpora import add_option, corpora_folder, read_corpus, sample
from tools.mutate import mutated, smallest
from tools.reprint import compare

SECONDS = 10
"""A parse that takes longer is a hang."""


def _on_alarm(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError


def verdict(text: str, *, refusals: bool = False) -> str:
    """The kind of finding; empty for none."""
    signal.alarm(SECONDS)
    try:
        script = parse(text)
    except ShellSyntaxError:
        signal.alarm(0)  # the time of bash is not ours
        return "refuses" if refusals and judge(text).accepts else ""
    except TimeoutError:
        return "hang"
    except Exception as error:  # noqa: BLE001 - a crash is what we look for
        return f"crash {type(error).__name__}"
    finally:
        signal.alarm(0)
    if not judge(text).accepts:
        return "" if judge(text, extglob=True).accepts else "accepts"
    try:
        if parse(to_text(script)) != script:
            return "unstable"
        if any(not difference.reason for difference in compare(text, inside=False)):
            return "differs"
    except ShellSyntaxError:
        return "unstable"
    return ""


def _is_of_kind(kind: str, refusals: bool, text: str) -> bool:
    return verdict(text, refusals=refusals) == kind


def texts_to_change(folder: str | None) -> list[str]:
    """Short texts to begin with."""
    texts = [case.text for case in read_cases(TREES)]
    corpora = corpora_folder(folder)
    if corpora is not None:
        for name in ("agent", "nl2bash"):
            texts += [text for text in sample(read_corpus(corpora, name), 3_000, 1) if len(text) < 300]
    return texts


def main() -> int:
    """Runs until the time is over and prints what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    add_option(parser)
    parser.add_argument("--refusals", action="store_true", help="also show what only bash accepts")
    args = parser.parse_args()
    try:
        print(f"bash {bash_version()}, seed {args.seed}", flush=True)
    except NoBashError as error:
        print(error, file=sys.stderr)
        return 2
    signal.signal(signal.SIGALRM, _on_alarm)
    chance = random.Random(args.seed)
    texts = texts_to_change(args.corpora)
    counts: Counter[str] = Counter()
    shown: set[str] = set()
    until = time.monotonic() + args.seconds
    while time.monotonic() < until:
        text = mutated(chance.choice(texts), chance, texts)
        counts["texts"] += 1
        kind = verdict(text, refusals=args.refusals)
        counts[kind or "fine"] += 1
        if kind:
            small = smallest(text, partial(_is_of_kind, kind, args.refusals))
            if small not in shown:
                shown.add(small)
                print(f"{kind}: {small!r}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    return 1 if any(kind.startswith(("crash", "hang", "differs", "unstable")) for kind in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
