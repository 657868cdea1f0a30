# SPDX-License-Identifier: Apache-2.0
"""What the engine says about the reviewed commands in `corpus/`, beside what the reviewer said.

    python -m tools.corpus --corpora DIR
    python -m tools.corpus --corpora DIR --show agent-0001 agent-0002

Prints the rows by verdict, how many of the reads are recognised, the reads that are missed with their text and
the facts that stopped them (counted by cause first), and every row that is not a read but is called one. A row
holds the hash of a text; the text is found in the public corpora and leaves no trace here. Exit status 1 where a
read is false or fewer reads than wanted are recognised, 2 where there is nothing to look texts up in.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from shellguard import Verdict, classify
from shellguard.effects import Effect, Fact
from shellguard.verdict import READ, UNKNOWN, WRITE
from tools.corpora import NAMES, add_option, read_corpus, wanted_folder

FOLDER = Path(__file__).parents[1] / "corpus"
WANTED_RECALL = 0.99
VERDICTS = (READ, WRITE, UNKNOWN)
SOURCES = {f"{name}-commands": name for name in NAMES}
"""What a row of a public command names as its source, and the corpus that holds it."""

_FIELDS = {"id", "reason", "sha256", "source", "verdict"}
_STOPS = (Effect.WRITES, Effect.EXECUTES, Effect.UNKNOWN)


class RowError(ValueError):
    """A line of a corpus file that is no row; says where and why."""


@dataclass(frozen=True)
class Row:
    """A public command as the reviewer judged it, without its text."""

    id: str
    sha256: str
    verdict: str
    reason: str
    source: str


@dataclass(frozen=True)
class Judged:
    """A row, the text its hash belongs to, and the answer of the engine."""

    row: Row
    text: str
    verdict: Verdict

    @property
    def is_false_read(self) -> bool:
        return self.verdict.read_only and self.row.verdict != READ

    @property
    def is_missed(self) -> bool:
        return self.row.verdict == READ and not self.verdict.read_only

    def stops(self) -> list[Fact]:
        """The facts that keep the text from being a read."""
        return [fact for fact in self.verdict.facts if fact.effect in _STOPS]


@dataclass(frozen=True)
class Report:
    """All judged rows, and how many have a text that is not there."""

    judged: list[Judged]
    absent: list[Row]

    @property
    def reads(self) -> int:
        return sum(item.row.verdict == READ for item in self.judged)

    @property
    def missed(self) -> list[Judged]:
        return [item for item in self.judged if item.is_missed]

    @property
    def false_reads(self) -> list[Judged]:
        return [item for item in self.judged if item.is_false_read]

    @property
    def recall(self) -> float:
        """The share of the reads that are recognised; 1 where there are none."""
        return 1 - len(self.missed) / self.reads if self.reads else 1.0

    def summary(self) -> str:
        """The figures in one line; nothing of any text."""
        counts = Counter(item.row.verdict for item in self.judged)
        by_verdict = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
        return (
            f"{len(self.judged)} rows ({by_verdict}); {self.reads - len(self.missed)} of {self.reads} reads "
            f"recognised ({self.recall:.2%}); {len(self.false_reads)} false reads; {len(self.absent)} texts absent"
        )


# --- rows -----------------------------------------------------------------------------------------------------


def read_rows(path: Path) -> list[Row]:
    """The rows of one file. Raises RowError for a line that is none, and for an id or a text that comes again."""
    rows: list[Row] = []
    ids: set[str] = set()
    hashes: set[str] = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = _row(line)
            if row.id in ids or row.sha256 in hashes:
                raise RowError("the same id or the same text stands on a line above")
        except ValueError as error:
            raise RowError(f"{path}:{number}: {error}") from None
        ids.add(row.id)
        hashes.add(row.sha256)
        rows.append(row)
    return rows


def _row(line: str) -> Row:
    fields = json.loads(line)
    if not isinstance(fields, dict) or set(fields) != _FIELDS:
        raise RowError(f"a row has exactly the fields {', '.join(sorted(_FIELDS))}")
    if not all(isinstance(value, str) and value for value in fields.values()):
        raise RowError("every field is a text that is not empty")
    if not re.fullmatch("[0-9a-f]{64}", fields["sha256"]):
        raise RowError("sha256 is 64 hex digits in lower case")
    if fields["verdict"] not in VERDICTS:
        raise RowError(f"the verdict is one of {', '.join(VERDICTS)}")
    if fields["source"] not in SOURCES:
        raise RowError(f"the source is one of {', '.join(SOURCES)}")
    return Row(**fields)


def hash_of(text: str) -> str:
    """The hash a row keeps in place of the text."""
    return sha256(text.encode()).hexdigest()


def texts_of(folder: Path, sources: Iterable[str]) -> dict[str, str]:
    """The texts of the corpora with these sources, by hash."""
    return {hash_of(text): text for source in sources for text in read_corpus(folder, SOURCES[source])}


def judge(rows: list[Row], texts: dict[str, str]) -> Report:
    """Asks the engine about every row whose text is there."""
    judged = [
        Judged(row, texts[row.sha256], classify(texts[row.sha256])) for row in rows if row.sha256 in texts
    ]
    return Report(judged, [row for row in rows if row.sha256 not in texts])


# --- for people -----------------------------------------------------------------------------------------------


def _shown(text: str, most: int = 300) -> str:
    """A text on one line, with nothing a terminal would obey."""
    shown = repr(text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _print_fact(item: Judged, fact: Fact) -> None:
    start, end = fact.span
    words = _shown(item.text[start:end], 80)
    print(f"    {fact.effect}  {words}  {fact.because}  {fact.rule or ''}".rstrip())


def _print_item(item: Judged) -> None:
    print(f"{item.row.id}  {item.row.verdict}, the engine says {item.verdict.kind}: {item.row.reason}")
    print(f"    {_shown(item.text)}")
    for fact in item.stops():
        _print_fact(item, fact)


def _print_causes(missed: list[Judged]) -> None:
    """How many missed rows each cause takes part in, the most first."""
    causes = Counter(cause for item in missed for cause in {fact.because for fact in item.stops()})
    for cause, count in causes.most_common():
        print(f"{count:5}  {_shown(cause, 100)}")


def _print_report(report: Report) -> None:
    print(report.summary())
    if report.false_reads:
        print("\nFalse reads\n")
        for item in report.false_reads:
            _print_item(item)
    if report.missed:
        print("\nMissed, by cause\n")
        _print_causes(report.missed)
        print("\nMissed\n")
        for item in report.missed:
            _print_item(item)


def main(arguments: list[str] | None = None) -> int:
    """Prints the report, or the rows asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_option(parser)
    parser.add_argument("--show", nargs="+", metavar="ID", help="only these rows, with their text and facts")
    args = parser.parse_args(arguments)
    folder = wanted_folder(args.corpora)
    if folder is None:
        return 2
    rows = [row for path in sorted(FOLDER.glob("*-commands.jsonl")) for row in read_rows(path)]
    wanted = set(args.show or ())
    if unknown := wanted - {row.id for row in rows}:
        print(f"no such row: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    rows = [row for row in rows if not wanted or row.id in wanted]
    report = judge(rows, texts_of(folder, sorted({row.source for row in rows})))
    if wanted:
        for item in report.judged:
            _print_item(item)
        for row in report.absent:
            print(f"{row.id}  {row.verdict}: {row.reason}\n    the text is not in the corpora")
        return 0
    _print_report(report)
    return int(bool(report.false_reads) or report.recall < WANTED_RECALL)


if __name__ == "__main__":
    sys.exit(main())
