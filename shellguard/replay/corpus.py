# SPDX-License-Identifier: Apache-2.0
"""Reviewed rows, `{"id", "command", "expect", "why", "source"}`, and counts of them that cannot shrink unseen.

`COUNTS.json` beside the rows says how many rows each file has of each verdict. Fewer than that is a failure: a row goes
only together with its count, and so in a change that somebody reads.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from shellguard.redact import redact
from shellguard.replay.summary import KINDS

COUNTS = "COUNTS.json"
MAX_LENGTH = 4_000
"""Characters of a command that becomes a row; a longer one is of no use to a reader."""


def counts(folder: Path) -> dict[str, dict[str, int]]:
    """How many rows each file of a corpus has of each verdict. Raises ValueError for a line that is no row."""
    found: dict[str, dict[str, int]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        kinds: Counter[str] = Counter()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                row = json.loads(line)
                kind = row.get("expect", row.get("verdict"))
            except (ValueError, AttributeError):
                kind = None
            if kind not in KINDS:
                raise ValueError(f"{path}:{number}: no row: it says neither read, write nor unknown")
            kinds[kind] += 1
        found[path.name] = {kind: kinds[kind] for kind in KINDS}
    return found


def shrunk(folder: Path) -> list[str]:
    """What is less than `COUNTS.json` says, a line each; that there are no counts, too."""
    path = folder / COUNTS
    try:
        pinned = json.loads(path.read_text(encoding="utf-8"))
        found = counts(folder)
        lines = []
        for name, kinds in sorted(pinned.items()):
            for kind, count in sorted(kinds.items()):
                now = found.get(name, {}).get(kind, 0)
                if now < count:
                    lines.append(f"{name}: {now} rows expect {kind}, {COUNTS} says {count}")
        lines += [
            f"{name}: no counts in {COUNTS}; run `shellguard corpus count`"
            for name in sorted(found.keys() - pinned.keys())
        ]
        return lines
    except FileNotFoundError:
        return [f"there is no {COUNTS}; run `shellguard corpus count`"]
    except (ValueError, AttributeError, TypeError) as error:
        return [str(error)]


def write_counts(folder: Path) -> dict[str, dict[str, int]]:
    """Writes `COUNTS.json` as the rows are."""
    found = counts(folder)
    (folder / COUNTS).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return found


def is_corpus(folder: Path) -> bool:
    """Whether a folder is a corpus: it has counts, or rows that say what they expect."""
    if (folder / COUNTS).exists():
        return True
    for path in sorted(folder.glob("*.jsonl"))[:4]:
        with path.open("rb") as file:
            try:
                row = json.loads(file.readline())
            except ValueError:
                continue
        if isinstance(row, dict) and "tool" not in row and row.get("expect", row.get("verdict")) in KINDS:
            return True
    return False


def row_for(
    command: str, kind: str, source: str, why: str, names: Iterable[str] = ()
) -> dict[str, Any] | None:
    """The row of a command, secrets and personal details replaced; None for one that is too long.

    The id is made from the text that is kept, so a command that stands there already has the same one.
    """
    text = redact(command, names)
    if len(text) > MAX_LENGTH:
        return None
    return {
        "id": f"{source}-{hash_of(text)[:12]}",
        "command": text,
        "expect": kind,
        "why": why,
        "source": source,
    }


def hash_of(command: str) -> str:
    """What a row or a review names a command by that it does not hold: the SHA-256 of its text, in hex."""
    return sha256(command.encode("utf-8", "surrogatepass")).hexdigest()


def known(folder: Path) -> tuple[set[str], set[str]]:
    """The ids and the hashes of the commands that a corpus holds."""
    ids: set[str] = set()
    hashes: set[str] = set()
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict):
                ids.add(str(row.get("id")))
                command = row.get("command")
                if isinstance(command, str):
                    hashes.add(hash_of(command))
                hashes.add(str(row.get("sha256")))
    return ids, hashes
