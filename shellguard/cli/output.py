# SPDX-License-Identifier: Apache-2.0
"""Verdicts as JSON, and the versions that stand in every JSON answer."""

from __future__ import annotations

import json

from shellguard._version import __version__
from shellguard.findings import FINDINGS, finding_of
from shellguard.rules.shelf import Shelf, rule_files, shipped_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shellguard.effects import Fact
    from shellguard.verdict import Verdict

SCHEMA = 1
"""The version of the JSON answers. Fields are added without a new number, never renamed or dropped."""


def dumps(value: object) -> str:
    """JSON on one line, printable ASCII only: whatever a terminal acts on is escaped. Raises ValueError for NaN."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(", ", ": "))


def rules_hash(shelf: Shelf) -> str:
    """The content hash of the rules that answered."""
    return shelf.content


def stamp(shelf: Shelf) -> dict[str, Any]:
    """What every JSON answer begins with: the version of its form, and the hash of the rules."""
    return {"schema": SCHEMA, "rules": rules_hash(shelf)}


def verdict_object(verdict: Verdict, allowed: bool, shelf: Shelf) -> dict[str, Any]:
    """The answer of `lint` for one text, as the contract (docs/stability.md) has it."""
    return {
        **stamp(shelf),
        "verdict": verdict.kind,
        "allowed": allowed,
        "effects": sorted(verdict.effects),
        "facts": [fact_object(fact, verdict.text) for fact in verdict.facts],
    }


def fact_object(fact: Fact, text: str) -> dict[str, Any]:
    """One fact. `start` and `end` are characters of the text; `rule` and `line` are null where no rule says it."""
    start, end = fact.span
    finding = finding_of(fact)
    return {
        "effect": fact.effect,
        "start": start,
        "end": end,
        "text": text[start:end],
        "rule": None if fact.source is None else fact.source.path,
        "line": None if fact.source is None else fact.source.line,
        "via": [frame.name for frame in fact.via],
        "because": fact.because,
        "marks": list(fact.marks),
        "code": finding.code,
        "name": finding.name,
    }


def version_json() -> str:
    """`shellguard --version --json`: versions, the rules' hash, and how much they know.

    `commands` counts the names that a rule answers to, `counts.files` the rule files of the package.
    """
    import platform

    shelf = Shelf.default()
    names = len(shelf.names())
    return dumps(
        {
            **stamp(shelf),
            "version": __version__,
            "python": platform.python_version(),
            "system": platform.system(),
            "commands": names,
            "counts": {
                "files": len(rule_files(shipped_folder())),
                "names": names,
                "policies": len(shelf.policies),
                "findings": len(FINDINGS),
            },
        }
    )
