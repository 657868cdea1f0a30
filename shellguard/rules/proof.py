# SPDX-License-Identifier: Apache-2.0
"""The record of the witness (`rules/witness.lock`): which version of a tool each rule was tried on, and when.

Lines of fields with a tab between them, sorted:

    tool  COMMAND  VERSION  FILE  HASH  DATE       the rule file as it was when its examples were run
    run   GROUP  OUTCOME  CLASSES  KEY  [REASON]   one command: what was seen, `-` for nothing

GROUP is the command of a rule, or `tests`, or `corpus`; KEY is the text as a JSON string, for rows of
public data their id.
`python -m tools.witness run --write` writes it. It is shown and never obeyed: no verdict depends on it.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

LOCK = "witness.lock"
HEADER = "# Written by `python -m tools.witness run --write`; docs/witness.md says what it means."


@dataclass(frozen=True, slots=True)
class Proof:
    """That the examples of a rule were run: on which version of the tool, with which text of the rule, when."""

    command: str
    version: str
    path: str
    hash: str
    date: str

    def line(self) -> str:
        """As it stands in the file."""
        return f"tool\t{self.command}\t{self.version}\t{self.path}\t{self.hash}\t{self.date}"


def hash_of_rule(content: bytes) -> str:
    """Twelve hex digits that name the text of a rule file."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()[:12]


def read_lock(text: str) -> tuple[dict[str, Proof], list[list[str]]]:
    """The tools by the path of their rule file, and the fields of every run. A line of another form is left out."""
    proofs: dict[str, Proof] = {}
    runs: list[list[str]] = []
    for line in text.split("\n"):
        fields = line.split("\t")
        if fields[0] == "tool" and len(fields) == 6:
            proofs[fields[3]] = Proof(*fields[1:])
        elif fields[0] == "run" and len(fields) in (5, 6):
            runs.append(fields)
    return proofs, runs


def proofs_in(folder: str) -> dict[str, Proof]:
    """The record beside the rules of a folder, by the path of the rule file; empty where there is none."""
    try:
        with open(os.path.join(folder, LOCK), encoding="utf-8") as stream:
            return read_lock(stream.read())[0]
    except (OSError, UnicodeDecodeError):
        return {}


def is_stale(proof: Proof | None, file: str) -> bool:
    """Whether a rule was never run, or was changed since."""
    if proof is None:
        return True
    try:
        with open(file, "rb") as stream:
            return hash_of_rule(stream.read()) != proof.hash
    except OSError:
        return True
