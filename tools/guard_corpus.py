# SPDX-License-Identifier: Apache-2.0
"""What the guard says over recorded sessions of agents: every warning and every block, for reading by hand.

    python -m tools.guard_corpus --corpora DIR
    python -m tools.guard_corpus --corpora DIR --list           # each, with the call
    python -m tools.guard_corpus --corpora DIR --list --code tool_call_cycle_warning

Hard stops are on. A refused call is counted and replayed no further: what the agent would have done then is not in the
record, so the rest of the session goes on as it was recorded. The texts are public data and leave no trace here.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from shellguard.guard import Controller, Decision, GuardConfig, ToolCall, ToolResult
from tools.corpora import add_option, wanted_folder

NAME = "agent-calls.jsonl.gz"
WANTED_RATE = 0.03
SECONDS_A_CALL = 10.0
"""The record has no times; about what a call and the reply before it take."""


@dataclass(frozen=True)
class Finding:
    """One warning or stop: where, at which call, and what was said."""

    session: str
    index: int
    call: str
    decision: Decision
    moment: str


@dataclass(frozen=True)
class Summary:
    """What came of all sessions."""

    sessions: int
    calls: int
    findings: list[Finding]

    def sessions_with(self, *actions: str) -> int:
        return len({each.session for each in self.findings if each.decision.action in actions})


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    """The recorded calls, session by session."""
    with gzip.open(folder / NAME, "rt", encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)


def replayed(records: Iterator[dict[str, Any]], config: GuardConfig) -> Summary:
    """What the guard says to each recorded call."""
    findings: list[Finding] = []
    sessions = calls = 0
    for session, group in groupby(records, key=lambda row: (row["source"], row["session"])):
        sessions += 1
        guard = Controller(config, clock=lambda: 0.0)
        name = f"{session[0]} {session[1]}"
        for row in group:
            calls += 1
            findings += _of_call(guard, name, row)
    return Summary(sessions, calls, findings)


def _of_call(guard: Controller, session: str, row: dict[str, Any]) -> Iterator[Finding]:
    args = row["args"] if isinstance(row["args"], dict) else {"args": row["args"]}
    at = row["index"] * SECONDS_A_CALL
    group = str(row["turn"]) if "turn" in row else ""
    call = ToolCall(row["tool"], args, started_at=at, group=group)
    shown = json.dumps(args, ensure_ascii=False)
    before = guard.before(call)
    if before.action != "allow":
        yield Finding(session, row["index"], shown, before, "before")
    if before.action == "halt":
        guard.new_turn(at=at)
    if not before.allows:
        return
    result = ToolResult(
        failed=row.get("is_error"),
        exit_code=row.get("exit_code"),
        sha256=row["result_sha256"],
        ended_at=at + 5,
    )
    after = guard.after(call, result)
    if after.action != "allow":
        yield Finding(session, row["index"], shown, after, "after")
    if after.action == "halt":
        guard.new_turn(at=at)


def main(argv: list[str] | None = None) -> int:
    """Prints the figures; exit status 1 where more sessions are warned than wanted, 2 without the record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_option(parser)
    parser.add_argument("--list", action="store_true", help="every warning and stop, with its call")
    parser.add_argument("--code", help="only those of this code")
    parser.add_argument("--preset", default="default", choices=["default", "hermes", "unattended"])
    args = parser.parse_args(argv)
    folder = wanted_folder(args.corpora)
    if folder is None:
        return 2
    config = GuardConfig.from_mapping({"preset": args.preset, "hard_stop_enabled": True})
    summary = replayed(rows(folder), config)
    if args.list:
        for each in summary.findings:
            if args.code in (None, each.decision.code):
                print(
                    f"{each.session} #{each.index} {each.moment} {each.decision.code} x{each.decision.count}"
                )
                print(f"    {each.call[:400]}")
    print(f"{summary.sessions} sessions, {summary.calls} calls")
    for code, count in Counter(each.decision.code for each in summary.findings).most_common():
        some = {each.session for each in summary.findings if each.decision.code == code}
        print(f"{count:6} {code} in {len(some)} sessions")
    warned, stopped = summary.sessions_with("warn"), summary.sessions_with("block", "halt")
    print(f"warned: {warned} sessions ({warned / summary.sessions:.1%}), stopped: {stopped}")
    return int(warned > WANTED_RATE * summary.sessions)


if __name__ == "__main__":
    sys.exit(main())
