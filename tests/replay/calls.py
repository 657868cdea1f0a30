# SPDX-License-Identifier: Apache-2.0
"""Recorded calls for the tests, as lines of our own format, and a replay of them without a process."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from shellguard.replay.options import Options
from shellguard.replay.run import How, replay

INCIDENT = "cd ~/repo && gh api repos/o/r/pulls/1/reviews 2>&1"
EMPTY = json.dumps({"output": "[]", "exit_code": 0, "error": None})
START = 1_760_000_000.0


def lines_of(calls: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(call) + "\n" for call in calls)


def incident() -> list[dict[str, Any]]:
    """One turn of 828 calls in about 74 minutes: 517 of one read, further repeats, the rest distinct."""
    commands = [f"sed -n {10 * at + 1},{10 * at + 9}p src/file{at}.py" for at in range(53)]
    commands += [INCIDENT] * 517
    for at, count in enumerate((89, 69, 38, 36, 26)):
        commands += [f"cd ~/repo && gh api repos/o/r/issues/{at} 2>&1"] * count
    return [
        {
            "source": "hermes",
            "session": "incident",
            "turn": 1,
            "index": at,
            "tool": "terminal",
            "args": {"command": command},
            "result": EMPTY if "gh api" in command else f"text of {command}",
            "exit_code": 0,
            "started_at": START + 5.34 * at,
            "elapsed": 1.2,
        }
        for at, command in enumerate(commands)
    ]


def replayed(
    *paths: Path, work: Path, jobs: int = 1, engine: str = "local", **options: Any
) -> tuple[dict[str, Any], list[bytes]]:
    """The summary of a replay, and its rows."""
    how = How(engine=engine, jobs=jobs, work=str(work))
    with closing(replay([str(path) for path in paths], Options(**options), how)) as done:
        return done.summary.as_contract(), list(done.lines()) if done.options.rows else []
