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
    # Caps count calls, not results, and a result that never comes is no result that differs.
    off = {"loop_caps.max_web_searches": 0, "loop_caps.max_subagents": 0, "hard_stop_after.unanswered": 0}
    guard = Controller(GuardConfig({"hard_stop_enabled": True, **(off if differs else {})}))
    calls = [_call(drawn) for _ in range(drawn.choice([1, 1, 2, 3, 10]))]
    results = [_result(drawn) for _ in range(drawn.choice([1, 1, 2, 5]))]
    pauses = drawn.choice([(0.0,), (3.0,), (1.0, 200.0), (0.1, 60.0, 4000.0), (-5.0, 5.0)])
    in_turn = drawn.random() < 0.5
    now = 0.0
    seen: set[str] = set()
    for number in range(LENGTH):
        report.events += 1
        now += drawn.choice(pauses)
        call = calls[number // 2 % len(calls)] if in_turn else drawn.choice(calls)
        call.started_at = now
        call.call_id = drawn.choice([f"{number}", "1"]) if drawn.random() < 0.05 else ""
        try:
            if drawn.random() < 0.01:
                guard.new_turn(drawn.choice(["continue", "do more", None]), at=now)
                continue
            if number % 2 == 0:
                decision = guard.before(call)
            else:
                result = _new_result(drawn, seen) if differs else drawn.choice(results)
                result.ended_at = now
                decision = guard.after(call, result)
        except Exception as error:  # noqa: BLE001 - that none is raised is what is looked at
            report.faults.append(f"{call.tool} {call.args!r}: raised {error!r}")
            return
        report.warnings += decision.action == "warn"
        if not decision.allows:
            report.stops += 1
            if differs:
                report.faults.append(
                    f"{call.tool} {call.args!r}: {decision.code}, though every result differs"
                )


def _call(drawn: random.Random) -> ToolCall:
    tool = drawn.choice(TOOLS)
    args: Any = {"command": drawn.choice(COMMANDS)} if tool == "terminal" else {"path": drawn.choice("abc")}
    if drawn.random() < 0.05:
        args = drawn.choice([None, [], "x", {"command": None}, {"command": ["bash", "-lc", "ls"]}, {1: {2}}])
    return ToolCall(tool, args, group=drawn.choice(["", "", "a", "b"]), cwd=drawn.choice(["", "/p"]))


def _result(drawn: random.Random) -> ToolResult:
    content: Any = drawn.choice(
        ["", "same", "error: no", "12:30:45", None, {"a": 1}, [1], {"error": "x"}, "\ud800"]
    )
    return ToolResult(content, drawn.choice([None, None, True, False]), drawn.choice([None, 0, 0, 1, 8, 127]))


def _new_result(drawn: random.Random, seen: set[str]) -> ToolResult:
    """A result that no other is equal to when the noise is taken out."""
    while True:
        word = "".join([drawn.choice(LETTERS) for _ in range(12)])
        forms = (
            f"error: {word}",
            f'{{"a": "{word}"}}',
            f"{word} {drawn.random()}",
            f"{word} failed at 12:00:01",
        )
        text = drawn.choice(forms)
        if digest(text) not in seen:
            seen.add(digest(text))
            return ToolResult(
                text, drawn.choice([None, None, True, False]), drawn.choice([None, 0, 0, 1, 8, 127])
            )


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
