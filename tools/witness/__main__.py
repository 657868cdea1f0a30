# SPDX-License-Identifier: Apache-2.0
"""The witness on the command line.

    python -m tools.witness try 'git status' [--world plain|hostile] [--tty] [--json]
    python -m tools.witness run [RULE...] [--quick] [--write] [--world hostile]
    python -m tools.witness fuzz TOOL...

`try` runs one command, `run` the examples of rules, tests and corpus, `fuzz` the options of a tool. Exit status
0: nothing refuted; 1: something is; 2: wrong usage; 3: this machine cannot contain a command, with the reason.
"""

from __future__ import annotations

import argparse
import json
import sys

from tools.witness import campaign, fuzz
from tools.witness.client import COPIED, NAMESPACES, TIMEOUT_S, Report, UnavailableError, Witness
from tools.witness.judge import Judgement, judge
from tools.witness.worlds import NAMES

CANNOT = 3


def main(argv: list[str] | None = None) -> int:
    """Parses the command line; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.witness", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("try", help="run one command and say what it did")
    one.add_argument("text", help="the command, as bash -c reads it")
    one.add_argument("--world", choices=NAMES, default="plain")
    one.add_argument("--tty", action="store_true", help="on a terminal of 80 by 24")
    one.add_argument("--stdin", help="text on standard input (without: /dev/null)")
    one.add_argument("--timeout", type=float, default=TIMEOUT_S, metavar="SECONDS")
    one.add_argument("--json", action="store_true")
    campaign.add_arguments(commands.add_parser("run", help="run examples and say which reads are refuted"))
    fuzz.add_arguments(commands.add_parser("fuzz", help="try every option of a tool"))
    for each in commands.choices.values():
        each.add_argument(
            "--backend",
            choices=(NAMESPACES, COPIED),
            help="how to contain commands (default: the first that works)",
        )
    args = parser.parse_args(argv)
    try:
        if args.command == "run":
            return campaign.main(args)
        if args.command == "fuzz":
            return fuzz.main(args)
        with Witness(timeout=args.timeout, backend=args.backend) as witness:
            if witness.limits:
                print(witness.limits, file=sys.stderr)
            report = witness.run(args.text, world=args.world, tty=args.tty, stdin=args.stdin)
    except UnavailableError as reason:
        if args.command == "try" and args.json:
            print(json.dumps({"outcome": "skipped", "reasons": [str(reason)]}))
        else:
            print(f"skipped: {reason}", file=sys.stderr)
        return CANNOT
    judgement = judge(report)
    print(json.dumps(as_json(report, judgement)) if args.json else _as_text(report, judgement))
    return int(judgement.outcome == "refuted")


def as_json(report: Report, judgement: Judgement) -> dict[str, object]:
    """The answer of `try --json`; `attempts`, `effects`, `execs` and `net` are as in `Report`."""
    return {
        "outcome": judgement.outcome,
        "reasons": judgement.reasons,
        "exit_code": report.exit_code,
        "exercised": judgement.exercised,
        "attempts": report.attempts,
        "effects": report.effects,
        "execs": report.execs,
        "net": report.net,
        "left": report.left,
        "markers": judgement.markers,
        "timed_out": report.timed_out,
        "stdout": report.stdout,
        "stderr": report.stderr,
        "ms": report.ms,
        "total_ms": report.total_ms,
    }


def _as_text(report: Report, judgement: Judgement) -> str:
    lines = [judgement.outcome, *(f"  {reason}" for reason in judgement.reasons)]
    lines.append(
        f"exit code {report.exit_code}, {report.ms} ms" + (", exercised" if judgement.exercised else "")
    )
    for title, entries in (("attempt", report.attempts), ("effect", report.effects)):
        lines += [f"{title}: {entry['class']}: {entry['kind']} {entry['path']}" for entry in entries]
    lines += [f"exec: {' '.join(words[1:])}" for words in report.execs[1:]]
    lines += [f"net: {entry['kind']} {entry.get('method', '')} {entry['address']}" for entry in report.net]
    lines += [f"left running: {name}" for name in report.left]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
