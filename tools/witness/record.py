# SPDX-License-Identifier: Apache-2.0
"""`rules/witness.lock`: what was seen of each command, on which version of its tool, under which text of its rule.

Written here, read by `shellguard.rules.proof` too, which says how its lines are meant.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from shellguard.rules.proof import HEADER, LOCK, Proof, read_lock

ROOT = Path(__file__).parents[2]
PATH = ROOT / "rules" / LOCK


@dataclass(frozen=True)
class Run:
    """One line of the record: the outcome of one command, the classes seen, and the reason where it is not `ok`."""

    group: str
    key: str
    outcome: str
    classes: tuple[str, ...]
    reason: str = ""

    def line(self) -> str:
        """As it stands in the file."""
        parts = [
            "run",
            self.group,
            self.outcome,
            ",".join(self.classes) or "-",
            json.dumps(self.key),
        ]
        return "\t".join([*parts, self.reason] if self.reason else parts)


def read(path: Path = PATH) -> tuple[dict[str, Proof], list[Run]]:
    """The tools and the runs of a record; nothing where there is none yet."""
    if not path.is_file():
        return {}, []
    proofs, rest = read_lock(path.read_text(encoding="utf-8"))
    runs = []
    for fields in rest:
        _, group, outcome, classes, key, *reason = fields
        names = () if classes == "-" else tuple(classes.split(","))
        runs.append(Run(group, json.loads(key), outcome, names, reason[0] if reason else ""))
    return proofs, runs


def write(proofs: Iterable[Proof], runs: Iterable[Run], path: Path = PATH) -> None:
    """The whole record, sorted: two runs of the same thing give the same file."""
    lines = [HEADER]
    lines += sorted(proof.line() for proof in proofs)
    lines += sorted({run.line() for run in runs})
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def merged(
    old: tuple[dict[str, Proof], list[Run]], proofs: dict[str, Proof], runs: list[Run]
) -> tuple[list[Proof], list[Run]]:
    """The record after a run of some groups: what is new replaces what was known of the same group.

    A command that was skipped because its tool is absent here keeps what was seen elsewhere, if that says anything.
    """
    old_proofs, old_runs = old
    known = {(run.group, run.key): run for run in old_runs}
    fresh = {run.group for run in runs}
    kept = [run for run in old_runs if run.group not in fresh]
    for run in runs:
        before = known.get((run.group, run.key))
        elsewhere = before is not None and before.outcome not in ("skipped", "inconclusive")
        kept.append(before if before is not None and elsewhere and run.outcome == "skipped" else run)
    return [*{**old_proofs, **proofs}.values()], kept
