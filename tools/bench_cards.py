# SPDX-License-Identifier: Apache-2.0
"""What a card costs: many cards of `true` through one dispatcher and one SQLite board, many of them at once.

python -m tools.bench --cards 1000 --at-once 50
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

PACKAGES = ("sqlalchemy", "dbos", "psutil")


def report_cards(cards: int, at_once: int) -> bool:
    """Prints what a card costs; whether all were done at the first attempt, and nobody met a locked database."""
    if missing := [name for name in PACKAGES if importlib.util.find_spec(name) is None]:
        print(f"cards: skipped, {' and '.join(missing)} is not installed (extra `workers`)")
        return True
    from shellguard.board.board import Board

    with tempfile.TemporaryDirectory() as scratch:
        home, address = Path(scratch, "home"), str(Path(scratch, "board.sqlite"))
        (home / "profiles" / "true").mkdir(parents=True)
        (home / "profiles" / "true" / "config.yaml").write_text("worker: {command: ['true']}\n")
        with Board.open(address) as board:
            before = time.monotonic()
            for number in range(cards):
                board.add(f"card {number}", profile="true")
            adding = time.monotonic() - before
        words = ["dispatch", "--until-idle", "--json", "--max", str(at_once)]
        before, used = time.monotonic(), _cpu_seconds()
        done = subprocess.run(
            [sys.executable, "-m", "shellguard", "cards", "--board", address, *words],
            env={**os.environ, "SHELLGUARD_HOME": str(home)},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds, cpu = time.monotonic() - before, _cpu_seconds() - used
        with Board.open(address) as board:
            histories = board.history()
        said = [path.read_text("utf-8", "replace") for path in home.glob("state/cards/*/supervisor")]
        said += [path.read_text("utf-8", "replace") for path in home.glob("state/cards/*/log")]
    state = json.loads(done.stdout)["state"] if done.returncode == 0 else done.stderr
    first = sum(
        history.card.status == "done" and [str(run.outcome) for run in history.runs] == ["completed"]
        for history in histories
    )
    lives = [
        (run.ended_at or 0) - run.claimed_at for history in histories for run in history.runs if run.ended_at
    ]
    most = _most_at_once([(run.claimed_at, run.ended_at or 0) for each in histories for run in each.runs])
    locked = sum(len(re.findall(r"\b(locked|busy)\b", text)) for text in [*said, done.stderr, done.stdout])
    print(f"{cards} cards of `true`, {at_once} at once, one dispatcher on SQLite; {os.cpu_count()} cores")
    print(f"{1000 * adding / cards:.2f} ms to add one; {state} after {seconds:.1f} s")
    print(
        f"{1000 * seconds / cards:.1f} ms a card, {1000 * cpu / cards:.0f} ms CPU with supervisor and command"
    )
    print(
        f"from claim to report: median {median(lives):.2f} s, p99 {quantiles(lives, n=100)[98]:.2f} s; "
        f"{most} were running at once at most"
    )
    print(f"{first} done at the first attempt; {locked} words about a locked database")
    return first == cards and locked == 0


def _most_at_once(runs: list[tuple[float, float]]) -> int:
    moments = sorted([(began, 1) for began, _ in runs] + [(ended, -1) for _, ended in runs])
    now = most = 0
    for _, step in moments:
        now += step
        most = max(most, now)
    return most


def _cpu_seconds() -> float:
    """Of all processes that were started here and are over, and of all below them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
