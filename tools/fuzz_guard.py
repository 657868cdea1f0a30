# SPDX-License-Identifier: Apache-2.0
"""Random events for the guard: it must never raise, and never stop what gives another result each time.

    python -m tools.fuzz_guard                      # a million events, some minutes
    python -m tools.fuzz_guard --events 50000 --seed 7

Half of the sequences repeat calls and results as they like. In the other half every result differs from all before it,
after the noise is taken out; there nothing may be refused and no turn ended.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from shellguard.guard import Controller, GuardConfig, ToolCall, ToolResult
from shellguard.guard.digest import digest

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LENGTH = 200
"""Events of one sequence."""
TOOLS = (
    "terminal",
    "read_file",
    "edit",
    "status",
    "plan",
    "web_search",
    "fetch",
    "write_stdin",
    "memory",
    "x_poll",
)
COMMANDS = (
    *(
        "cat a",
        "cat a | head -3",
        "git status",
        "make",
        "rm -rf x",
        "sleep 30 && gh pr checks 1",
        "sleep 5",
        "",
    ),
    *(
        "cd p && ls",
        "echo a1",
        "until curl -sf x; do sleep 2; done",
        "$(",
        "\ud800",
        "for i in 1; do",
        "pytest -q",
    ),
)


@dataclass
class Report:
    """How many events there were, and what went wrong."""

    events: int = 0
    stops: int = 0
    warnings: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


def fuzz(events: int, seed: int) -> Report:
    """Plays at least so many events."""
    drawn = random.Random(seed)
    report = Report()
    started = time.perf_counter()
    while report.events < events:
        _sequence(drawn, report)
    report.seconds = time.perf_counter() - started
    return report


def _sequence(drawn: random.Random, report: Report) -> None:
    differs = drawn.random() < 0.5
    # What an agent may do in one turn is no loop by its results.
    config = GuardConfig(
        {"hard_stop_enabled": True, "loop_caps.max_web_searches": 0, "loop_caps.max_subagents": 0}
    )
    guard = Controller(config)
    now = 0.0
    seen: set[str] = set()
    for number in range(LENGTH):
        report.events += 1
        now += drawn.choice([0.1, 3.0, 60.0, 4000.0])
        call = _call(drawn, number, now)
        try:
            kind = drawn.random()
            if kind < 0.02:
                guard.new_turn(drawn.choice(["continue", "do more", None]), at=now)
                continue
            if kind < 0.5:
                decision = guard.before(call)
            else:
                result = _result(drawn, differs, now)
                if differs:
                    text = result.content
                    assert isinstance(text, str)
                    if digest(text) in seen:
                        continue
                    seen.add(digest(text))
                decision = guard.after(call, result)
        except Exception as error:  # noqa: BLE001 - that none is raised is what is looked at
            report.faults.append(f"{call.tool} {call.args!r}: raised {error!r}")
            return
        report.warnings += decision.action == "warn"
        if not decision.allows:
            report.stops += 1
            # A result that never comes is no result that differs.
            if differs and decision.code != "unanswered_block":
                report.faults.append(
                    f"{call.tool} {call.args!r}: {decision.code}, though every result differs"
                )


def _call(drawn: random.Random, number: int, now: float) -> ToolCall:
    tool = drawn.choice(TOOLS)
    args: Any = {"command": drawn.choice(COMMANDS)} if tool == "terminal" else {"path": drawn.choice("abc")}
    if drawn.random() < 0.02:
        args = drawn.choice([None, [], "x", {"command": None}, {"command": ["bash", "-lc", "ls"]}, {1: {2}}])
    return ToolCall(
        tool,
        args,
        call_id=drawn.choice(["", f"{number}", "1"]) if drawn.random() < 0.1 else "",
        started_at=now,
        group=drawn.choice(["", "", "a", "b"]),
        cwd=drawn.choice(["", "/p"]),
    )


def _result(drawn: random.Random, differs: bool, now: float) -> ToolResult:
    failed = drawn.choice([None, None, True, False])
    code = drawn.choice([None, 0, 0, 1, 8, 127])
    if differs:
        kind = drawn.random()
        word = "".join(drawn.choice(LETTERS) for _ in range(12))
        text = (
            f"error: {word}"
            if kind < 0.3
            else f'{{"a": "{word}"}}'
            if kind < 0.5
            else f"{word} {drawn.random()}"
        )
        return ToolResult(text, failed, code, ended_at=now)
    content: Any = drawn.choice(
        ["", "same", "error: no", "12:30:45", None, {"a": 1}, [1], {"error": "x"}, "\ud800"]
    )
    return ToolResult(content, failed, code, ended_at=now)


def main(argv: list[str] | None = None) -> int:
    """Prints what happened; exit status 1 where something went wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    report = fuzz(args.events, args.seed)
    for fault in report.faults[:20]:
        print(fault)
    print(
        f"{report.events} events in {report.seconds:.0f} s: {report.warnings} warnings, {report.stops} stops, "
        f"{len(report.faults)} faults"
    )
    return int(bool(report.faults))


if __name__ == "__main__":
    sys.exit(main())
