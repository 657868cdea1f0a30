# SPDX-License-Identifier: Apache-2.0
"""`run`: every command that is called a read, tried in the plain world and, if wanted, in the hostile one."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from shellguard import classify
from shellguard.effects import Effect
from shellguard.rules.library import entries
from shellguard.rules.proof import Proof, hash_of_rule
from shellguard.rules.shelf import Shelf
from tools.witness import examples, record
from tools.witness.client import NAMESPACES, Witness
from tools.witness.examples import Example
from tools.witness.judge import OUTCOMES, classes_of, judge
from tools.witness.versions import place_of, version_of

TIMEOUT_S = 6.0
SLOW_S = 25.0
SLOW = frozenset({"az", "gcloud", "gsutil", "pip", "aws", "ansible", "npm"})
"""Tools that take seconds to say their version, and what they get."""
WAITING_S = 2.0
"""What a command gets that is known to wait."""
SOURCES = ("rules", "tests", "corpus")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `run` may be told."""
    parser.add_argument(
        "rules", nargs="*", metavar="RULE", help="a command, a rule file or a folder of rules (default: all)"
    )
    parser.add_argument(
        "--from",
        dest="sources",
        default=None,
        help=f"of {','.join(SOURCES)}; default rules, or all without RULE",
    )
    parser.add_argument("--file", type=Path, help="reads of a file of cases, in place of the sources")
    parser.add_argument("--quick", action="store_true", help=f"the {examples.QUICK} commonest examples")
    parser.add_argument("--world", choices=("plain", "hostile"), default="plain")
    parser.add_argument("--tty", action="store_true", help="on a terminal")
    parser.add_argument(
        "--state", type=Path, help="results are kept here, and what is there is not run again"
    )
    parser.add_argument("--slice", metavar="N/M", help="only every Mth example, beginning with the Nth")
    parser.add_argument("--write", action="store_true", help="into rules/witness.lock")
    parser.add_argument("--show", default="refuted", help=f"outcomes to list, of {','.join(OUTCOMES)}")
    parser.add_argument(
        "--twice", action="store_true", help="each command a second time: are the classes the same?"
    )


def chosen(args: argparse.Namespace) -> list[Example]:
    """The examples that the arguments name, each once, in a fixed order."""
    if args.file:
        found = list(examples.of_file(args.file))
    else:
        sources = (args.sources or ("rules" if args.rules or args.quick else ",".join(SOURCES))).split(",")
        found = []
        if "rules" in sources:
            found += examples.of_rules(tuple(args.rules))
        if "tests" in sources:
            found += examples.of_tests()
        if "corpus" in sources:
            found += examples.of_corpus()
    if args.quick:
        found = examples.quick(found)
    if args.slice:
        first, step = (int(part) for part in args.slice.split("/"))
        found = found[first - 1 :: step]
    return list({(example.group, example.key): example for example in found}.values())


def main(args: argparse.Namespace) -> int:
    """Runs the examples; gives 1 where a read is refuted."""
    wanted = chosen(args)
    done = _known(args.state)
    results: list[dict[str, Any]] = []
    begun = time.monotonic()
    with Witness(timeout=TIMEOUT_S, backend=NAMESPACES if args.write else args.backend) as witness:
        if witness.limits:
            print(witness.limits, file=sys.stderr)
        for example in wanted:
            result = done.get((example.group, example.key))
            if result is None:
                result = _result(example, witness, args)
                if args.state:
                    with args.state.open("a", encoding="utf-8") as stream:
                        print(json.dumps(result), file=stream)
            results.append(result)
        if args.write:
            _write(results, witness)
    _print_summary(results, time.monotonic() - begun, args)
    return int(any(result["outcome"] == "refuted" for result in results))


def _known(state: Path | None) -> dict[tuple[str, str], dict[str, Any]]:
    if state is None or not state.is_file():
        return {}
    rows = [json.loads(line) for line in state.read_text(encoding="utf-8").splitlines()]
    return {(row["group"], row["key"]): row for row in rows}


def _result(example: Example, witness: Witness, args: argparse.Namespace) -> dict[str, Any]:
    """One example tried: its outcome, and what is worth keeping of the report."""
    verdict = classify(example.text)
    result: dict[str, Any] = {
        "group": example.group,
        "key": example.key,
        "classes": [],
        "reasons": [],
        "ms": 0.0,
    }
    names = _names().get(example.group)
    if absent := _absent(example.text, names):
        return result | {"outcome": "skipped", "reasons": [absent]}
    if not verdict.read_only:
        return result | {"outcome": "skipped", "reasons": [f"the engine calls it {verdict.kind}"]}
    if Effect.WAITS in verdict.effects:
        limit = WAITING_S
    else:
        limit = (SLOW_S if example.group in SLOW else TIMEOUT_S) * _crowding()
    tty = args.tty
    report = witness.run(example.text, world=args.world, tty=tty, timeout=limit)
    judgement = judge(report, verdict)
    if judgement.outcome == "inconclusive" and not tty and _NO_TERMINAL.search(report.stderr):
        tty = True
        report = witness.run(example.text, world=args.world, tty=tty, timeout=limit)
        judgement = judge(report, verdict)
    result |= {
        "outcome": judgement.outcome,
        "reasons": judgement.reasons,
        "classes": classes_of(report),
        "markers": judgement.markers,
        "ms": report.ms,
        "total_ms": report.total_ms,
        "execs": sorted({words[0] for words in report.execs}),
    }
    if args.twice:
        again = witness.run(example.text, world=args.world, tty=tty, timeout=limit)
        result["same"] = classes_of(again) == result["classes"]
    return result


def _crowding() -> float:
    """How much longer things take since others use the machine, too: from 1 to 4."""
    return min(4.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1) / 2))


_NO_TERMINAL = re.compile(
    r"inappropriate ioctl|not a (tty|terminal)|/dev/tty: No such device|cannot open terminal", re.IGNORECASE
)
_ELSEWHERE = re.compile(r"#.*\b(BSD|macOS)\b")
_PLUGINS = re.compile(r"\bdocker (compose|buildx)\b")
_PLUGIN_FOLDERS = (
    "/usr/libexec/docker/cli-plugins",
    "/usr/lib/docker/cli-plugins",
    "/usr/local/lib/docker/cli-plugins",
)


def _absent(text: str, names: tuple[str, ...] | None) -> str:
    """Why an example cannot be tried with the tools of this machine; empty where it can."""
    if names is not None and place_of(names) is None:
        return "the tool is not installed"
    if _ELSEWHERE.search(text):
        return "a spelling of another system"
    plugin = _PLUGINS.search(text)
    if plugin and not any(Path(folder, f"docker-{plugin[1]}").exists() for folder in _PLUGIN_FOLDERS):
        return f"the plugin {plugin[1]} is not installed"
    return ""


def _names() -> dict[str, tuple[str, ...]]:
    """Of each rule the names that its tool may have."""
    if not _NAMES:
        for entry in entries(Shelf.default()):
            if entry.rule is not None:
                _NAMES[entry.rule.command] = (entry.rule.command, *entry.rule.aliases)
    return _NAMES


_NAMES: dict[str, tuple[str, ...]] = {}


def _write(results: list[dict[str, Any]], witness: Witness) -> None:
    """Puts the results into the record. A tool that is absent here keeps what was seen elsewhere."""
    today = datetime.date.today().isoformat()
    groups = {result["group"] for result in results if result["outcome"] != "skipped"}
    proofs: dict[str, Proof] = {}
    for entry in entries(Shelf.default()):
        rule = entry.rule
        if rule is None or rule.command not in groups:
            continue
        version = version_of((rule.command, *rule.aliases), witness)
        content = Path(entry.file).read_bytes()
        proofs[entry.path] = Proof(rule.command, version, entry.path, hash_of_rule(content), today)
    old = record.read()
    for path, proof in proofs.items():
        before = old[0].get(path)
        if before is not None and (before.version, before.hash) == (proof.version, proof.hash):
            proofs[path] = before  # the date is that of the first such run, or every run would be a diff
    runs = [
        record.Run(
            result["group"],
            result["key"],
            result["outcome"],
            tuple(result["classes"]),
            "; ".join(result["reasons"]).replace("\t", " ").replace("\n", " ")[:120]
            if result["group"] != "corpus"
            else "",
        )
        for result in results
    ]
    proofs_kept, runs_kept = record.merged(old, proofs, runs)
    known = {(each.group, each.key) for each in (*examples.of_rules(), *examples.of_tests())}
    record.write(
        proofs_kept, [run for run in runs_kept if run.group == "corpus" or (run.group, run.key) in known]
    )


def _print_summary(results: list[dict[str, Any]], seconds: float, args: argparse.Namespace) -> None:
    for outcome in args.show.split(","):
        for result in results:
            if result["outcome"] == outcome:
                print(f"{outcome}\t{result['group']}\t{result['key']!r}\t{'; '.join(result['reasons'])}")
    counts = Counter(result["outcome"] for result in results)
    ran = [result for result in results if "total_ms" in result]
    print(f"{len(results)} examples: " + ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES))
    if ran:
        added = statistics.median(result["total_ms"] - result["ms"] for result in ran)
        whole = statistics.median(result["total_ms"] for result in ran)
        print(
            f"{seconds:.0f} s; median of a command {whole:.1f} ms, of which the witness added {added:.1f} ms"
        )
    if args.twice:
        same = sum(result.get("same", True) for result in results)
        print(f"the same classes in a second run: {same} of {len(results)}")
        for result in results:
            if not result.get("same", True):
                print(f"differs\t{result['group']}\t{result['key']!r}\t{','.join(result['classes'])}")
    sys.stdout.flush()
