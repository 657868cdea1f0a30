# SPDX-License-Identifier: Apache-2.0
"""Two replays of the same calls compared: what moved, milder moves first, and which of those were reviewed.

A verdict is milder when it was none of a read and becomes one. Such a move is a failure until somebody has looked at it
and recorded that: `reviewed` is a file of JSON Lines, one a command and move, `{"sha256", "from", "to", "why"}`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shellguard.replay.corpus import hash_of
from shellguard.verdict import READ

MILDER, STRICTER, OTHER = "milder", "stricter", "other"
KINDS = (MILDER, STRICTER, OTHER)
"""To a read; from a read; between write and unknown."""

MOST_MOVES = 100_000


@dataclass(frozen=True, slots=True)
class Move:
    """A call whose verdict moved. `rule` is the file behind the verdict that is no read, the newer one first."""

    kind: str
    id: str
    session: str
    index: int
    command: str
    before: str
    after: str
    rule: str
    because: str
    reviewed: bool

    @property
    def sha256(self) -> str:
        """What a review names the command by: the hash of its text, as the results hold it."""
        return hash_of(self.command)

    def as_reviewed(self) -> Move:
        """The move after its review; only a milder one needs any."""
        return replace(self, reviewed=True) if self.kind == MILDER else self

    def as_mapping(self) -> dict[str, Any]:
        """The move as JSON has it."""
        return {
            "kind": self.kind,
            "id": self.id,
            "session": self.session,
            "index": self.index,
            "command": self.command,
            "from": self.before,
            "to": self.after,
            "rule": self.rule,
            "because": self.because,
            "reviewed": self.reviewed,
        }


@dataclass(slots=True)
class Comparison:
    """What moved between two replays. `added` and `lost` are calls that only one of them has."""

    moves: list[Move]
    compared: int = 0
    added: int = 0
    lost: int = 0
    beyond: int = 0

    @property
    def unreviewed(self) -> list[Move]:
        """The milder moves that nobody has recorded a review of."""
        return [move for move in self.moves if move.kind == MILDER and not move.reviewed]

    def by_rule(self) -> list[tuple[str, list[Move]]]:
        """The moves by rule file: those with milder moves first, then by how many there are."""
        found: dict[str, list[Move]] = {}
        for move in self.moves:
            found.setdefault(move.rule, []).append(move)
        return sorted(
            found.items(),
            key=lambda item: (-sum(move.kind == MILDER for move in item[1]), -len(item[1]), item[0]),
        )

    def as_mapping(self) -> dict[str, Any]:
        """The comparison as JSON has it."""
        return {
            "compared": self.compared,
            "moved": len(self.moves) + self.beyond,
            **{kind: sum(move.kind == kind for move in self.moves) for kind in KINDS},
            "unreviewed": len(self.unreviewed),
            "added": self.added,
            "lost": self.lost,
            "moves": [move.as_mapping() for move in self.moves],
        }


def compared(
    before: Iterable[dict[str, Any]],
    after: Iterable[dict[str, Any]],
    reviewed: frozenset[tuple[str, str, str]] = frozenset(),
    place: str = "",
) -> Comparison:
    """What moved. The older rows are put into a database at `place` (in memory when it is empty), so that neither their
    number nor their order matters."""
    result = Comparison([])
    with closing(sqlite3.connect(place or ":memory:")) as base:
        base.execute("pragma journal_mode=off")
        base.execute("pragma synchronous=off")
        base.execute("create table old(id text, at integer, verdict text, rule text, met integer default 0)")
        base.executemany("insert into old(id, at, verdict, rule) values (?, ?, ?, ?)", _numbered(before))
        base.execute("create index by_id on old(id, at)")
        for identity, at, row in _shell_rows(after):
            found = base.execute(
                "select rowid, verdict, rule from old where id = ? and at = ?", (identity, at)
            ).fetchone()
            if found is None:
                result.added += 1
                continue
            base.execute("update old set met = 1 where rowid = ?", found[:1])
            result.compared += 1
            if found[1] == row["verdict"]:
                continue
            if len(result.moves) >= MOST_MOVES:
                result.beyond += 1
                continue
            result.moves.append(_move(row, found[1], found[2], reviewed))
        result.lost = base.execute("select count(*) from old where met = 0").fetchone()[0]
    result.moves.sort(key=lambda move: (KINDS.index(move.kind), move.rule, move.command, move.id))
    return result


def _shell_rows(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Rows with a verdict; two calls of one name are told apart by which of them comes first."""
    last, at = "", 0
    for row in rows:
        if row.get("verdict") is None:
            continue
        identity = str(row["id"])
        at = at + 1 if identity == last else 0
        last = identity
        yield identity, at, row


def _numbered(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, int, str, str]]:
    for identity, at, row in _shell_rows(rows):
        yield identity, at, str(row["verdict"]), _file(row.get("rule"))


def _file(rule: object) -> str:
    """The rule file of a place in it; the shell itself where no rule says it."""
    return rule.rpartition(":")[0] if isinstance(rule, str) else "(the shell itself)"


def _move(row: dict[str, Any], before: str, rule: str, reviewed: frozenset[tuple[str, str, str]]) -> Move:
    after = str(row["verdict"])
    kind = MILDER if after == READ else STRICTER if before == READ else OTHER
    command = str(row.get("command") or "")
    return Move(
        kind,
        str(row["id"]),
        str(row.get("session") or ""),
        int(row.get("index") or 0),
        command,
        before,
        after,
        rule if kind == MILDER and rule != _file(None) else _file(row.get("rule")),
        str(row.get("because") or ""),
        (hash_of(command), before, after) in reviewed,
    )


def reviews(path: Path) -> frozenset[tuple[str, str, str]]:
    """The moves that a file records as reviewed; none where there is no file. Raises ValueError for a damaged line."""
    if not path.exists():
        return frozenset()
    found = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            found.add((str(row["sha256"]), str(row["from"]), str(row["to"])))
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path}:{number}: no review: {error}") from None
    return frozenset(found)


def accept(path: Path, moves: Iterable[Move], why: str) -> int:
    """Records milder moves as reviewed, each command and move once; tells how many are new."""
    known = set(reviews(path))
    lines = []
    for move in moves:
        key = (move.sha256, move.before, move.after)
        if move.kind == MILDER and key not in known:
            known.add(key)
            lines.append(
                json.dumps({"sha256": key[0], "from": key[1], "to": key[2], "why": why}, ensure_ascii=True)
            )
    if lines:
        with path.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
    return len(lines)
