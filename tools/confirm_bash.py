# SPDX-License-Identifier: Apache-2.0
"""Confirms the parser against real bash over public commands, and prints the table.

    python -m tools.confirm_bash --corpora DIR

For each corpus: what bash accepts and we refuse, what bash refuses and we accept, crashes, and texts that
bash prints back as another tree. Exit status 1 when a bound is broken: 0.3 % of the agent commands refused, 1
% of the others, 3 % of what bash refuses accepted, a crash, or a difference that no reason in
`tools/reprint.py` explains.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from shellguard.errors import ShellSyntaxError
from shellguard.syntax.parse import parse
from shellguard.syntax.printer import to_text
from tools.bash_oracle import NoBashError, bash_version, judge
from tools.corpora import NAMES, add_option, read_corpus, sample, wanted_folder
from tools.reprint import Difference, compare

MOST_REFUSED = {"agent": 0.003, "tldr": 0.01, "nl2bash": 0.01}
"""Share of the texts that bash accepts and we may refuse."""

MOST_WRONGLY_ACCEPTED = 0.03
"""Share of the texts that bash refuses and we may accept, over all corpora together."""


@dataclass(frozen=True)
class Finding:
    """What came out for one text. `refusal` is our message or empty, `crash` the exception that was none of ours."""

    text: str
    bash_accepts: bool
    bash_message: str = ""
    refusal: str = ""
    crash: str = ""
    round_trip: bool = True
    differences: tuple[Difference, ...] = ()


@dataclass
class Row:
    """The counts of one corpus."""

    name: str
    total: int = 0
    accepted: int = 0
    refused: list[Finding] = field(default_factory=list)
    rejected: int = 0
    wrongly_accepted: list[Finding] = field(default_factory=list)
    crashes: list[Finding] = field(default_factory=list)
    unstable: list[Finding] = field(default_factory=list)
    compared: int = 0
    differences: list[Difference] = field(default_factory=list)


def ask(text: str) -> Finding:
    """Bash and our parser about one text. Never raises: a crash is what we are looking for."""
    judgement = judge(text)
    accepts = judgement.accepts
    message = "" if accepts else judgement.message.strip().splitlines()[0][:120]
    try:
        script = parse(text)
        if not accepts:
            return Finding(text, False, message)
        stable = parse(to_text(script)) == script
        return Finding(text, True, round_trip=stable, differences=tuple(compare(text)))
    except ShellSyntaxError as error:
        return Finding(text, accepts, message, refusal=f"{error.message}")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is reported as a crash
        return Finding(text, accepts, message, crash=f"{type(error).__name__}: {error}")


class Cache:
    """Answers kept between runs, in one file under the system's temporary folder; only where it was asked for.

    The key holds the version of bash and the content of the parser and of this tool, so that no answer outlives them.
    """

    def __init__(self, wanted: bool) -> None:
        self._known: dict[str, Finding] = {}
        self._path: Path | None = None
        if wanted:
            root = Path(__file__).resolve().parents[1]
            sources = sorted([*(root / "shellguard/syntax").glob("*.py"), *(root / "tools").glob("*.py")])
            state = hashlib.sha256(bash_version().encode())
            for source in sources:
                state.update(source.read_bytes())
            self._path = Path(tempfile.gettempdir()) / f"shellguard-confirm-{state.hexdigest()[:16]}.jsonl"
            if self._path.exists():
                for line in self._path.read_text("utf-8").splitlines():
                    row = json.loads(line)
                    row["differences"] = tuple(Difference(**one) for one in row["differences"])
                    self._known[row["text"]] = Finding(**row)

    def findings(self, texts: list[str], workers: int) -> Iterator[Finding]:
        """One finding a text, in order."""
        fresh = [text for text in texts if text not in self._known]
        with ProcessPoolExecutor(workers) as pool:
            for finding in pool.map(ask, fresh, chunksize=50):
                self._known[finding.text] = finding
        if self._path is not None and fresh:
            with self._path.open("a", encoding="utf-8") as stream:
                stream.writelines(json.dumps(asdict(self._known[text])) + "\n" for text in fresh)
        return (self._known[text] for text in texts)


def tally(name: str, findings: Iterator[Finding]) -> Row:
    """The row of the table for one corpus."""
    row = Row(name)
    for finding in findings:
        row.total += 1
        row.accepted += finding.bash_accepts
        row.rejected += not finding.bash_accepts
        if finding.crash:
            row.crashes.append(finding)
        elif finding.bash_accepts and finding.refusal:
            row.refused.append(finding)
        elif not finding.bash_accepts and not finding.refusal:
            row.wrongly_accepted.append(finding)
        elif finding.bash_accepts:
            row.compared += 1
            row.differences += finding.differences
            if not finding.round_trip:
                row.unstable.append(finding)
    return row


def broken_bounds(rows: list[Row]) -> list[str]:
    """A sentence for each bound that does not hold."""
    broken = []
    for row in rows:
        if len(row.refused) > MOST_REFUSED[row.name] * row.accepted:
            broken.append(
                f"{row.name}: {len(row.refused)} of {row.accepted} texts refused, bound {MOST_REFUSED[row.name]:.1%}"
            )
        if row.crashes:
            broken.append(f"{row.name}: {len(row.crashes)} crashes")
        if row.unstable:
            broken.append(f"{row.name}: {len(row.unstable)} texts are not printed back as the same tree")
        unexplained = sum(not difference.reason for difference in row.differences)
        if unexplained:
            broken.append(f"{row.name}: {unexplained} differences from bash's print without a reason")
    rejected = sum(row.rejected for row in rows)
    accepted = sum(len(row.wrongly_accepted) for row in rows)
    if accepted > MOST_WRONGLY_ACCEPTED * rejected:
        broken.append(
            f"{accepted} of {rejected} texts that bash refuses are accepted, bound {MOST_WRONGLY_ACCEPTED:.0%}"
        )
    return broken


def print_table(rows: list[Row]) -> None:
    """The table, one line a corpus and one for all."""
    heads: tuple[str, ...] = (
        "corpus",
        "texts",
        "bash accepts",
        "refused",
        "share",
        "bash rejects",
        "accepted",
        "share",
    )
    heads += ("crashes", "reprinted", "explained", "unexplained")
    table: list[tuple[str, ...]] = [heads]
    for row in [*rows, _sum(rows)]:
        explained = sum(bool(difference.reason) for difference in row.differences)
        table.append(
            (
                *(
                    row.name,
                    f"{row.total:,}",
                    f"{row.accepted:,}",
                    str(len(row.refused)),
                    _share(row.refused, row.accepted),
                ),
                *(
                    f"{row.rejected:,}",
                    str(len(row.wrongly_accepted)),
                    _share(row.wrongly_accepted, row.rejected),
                ),
                *(
                    str(len(row.crashes)),
                    f"{row.compared:,}",
                    str(explained),
                    str(len(row.differences) - explained),
                ),
            )
        )
    widths = [max(len(line[column]) for line in table) for column in range(len(heads))]
    for line in table:
        print(
            "  ".join(
                cell.rjust(width) if index else cell.ljust(width)
                for index, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
        )


def _share(part: list[Finding], whole: int) -> str:
    return f"{len(part) / whole:.2%}" if whole else "-"


def _sum(rows: list[Row]) -> Row:
    total = Row("all")
    for row in rows:
        total.total += row.total
        total.accepted += row.accepted
        total.rejected += row.rejected
        total.compared += row.compared
        total.refused += row.refused
        total.wrongly_accepted += row.wrongly_accepted
        total.crashes += row.crashes
        total.unstable += row.unstable
        total.differences += row.differences
    return total


def print_details(rows: list[Row], most: int) -> None:
    """Reasons and examples behind the counts."""
    total = _sum(rows)
    _print_group("refused although bash accepts", [(one.refusal, one.text) for one in total.refused], most)
    _print_group(
        "accepted although bash refuses",
        [(one.bash_message, one.text) for one in total.wrongly_accepted],
        most,
    )
    _print_group("crashes", [(one.crash, one.text) for one in total.crashes], most)
    _print_group("not printed back as the same tree", [("", one.text) for one in total.unstable], most)
    explained = [(one.reason, one.text) for one in total.differences if one.reason]
    _print_group("bash prints another tree, explained", explained, most)
    for one in total.differences:
        if not one.reason:
            print(f"\n# bash prints another tree, no reason known\n{one.text!r}\n  printed: {one.printed!r}")


def _print_group(title: str, pairs: list[tuple[str, str]], most: int) -> None:
    if not pairs:
        return
    print(f"\n# {title}: {len(pairs)}")
    for reason, count in Counter(reason for reason, _ in pairs).most_common():
        print(f"{count:6}  {reason}")
        for text in [text for other, text in pairs if other == reason][:most]:
            print(f"        {text[:200]!r}")


def main() -> int:
    """Runs the comparison; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_option(parser)
    parser.add_argument("--only", choices=NAMES, action="append", help="only this corpus; may be repeated")
    parser.add_argument(
        "--sample", type=int, metavar="N", help="only N commands of each corpus, chosen by --seed"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=3, metavar="N", help="texts shown for each reason")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    parser.add_argument(
        "--cache", action="store_true", help="keep the answers in a temporary file for the next run"
    )
    args = parser.parse_args()
    folder = wanted_folder(args.corpora)
    if folder is None:
        return 2
    try:
        print(f"bash {bash_version()}")
    except NoBashError as error:
        print(error, file=sys.stderr)
        return 2
    cache = Cache(args.cache)
    rows = []
    for name in args.only or NAMES:
        texts = read_corpus(folder, name)
        if args.sample:
            texts = sample(texts, args.sample, args.seed)
        rows.append(tally(name, cache.findings(texts, args.workers)))
    print_table(rows)
    print_details(rows, args.examples)
    broken = broken_bounds(rows)
    for sentence in broken:
        print(f"BROKEN: {sentence}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
