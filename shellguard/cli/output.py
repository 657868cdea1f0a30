# SPDX-License-Identifier: Apache-2.0
"""Verdicts as JSON, and the versions that stand in every JSON answer."""

from __future__ import annotations

import json

from shellguard._version import __version__
from shellguard.rules.shelf import Shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shellguard.effects import Fact
    from shellguard.verdict import Verdict

SCHEMA = 1
"""The version of the JSON answers. Fields are added without a new number, never renamed or dropped."""


def dumps(value: object) -> str:
    """JSON on one line, ASCII only: a lone surrogate or U+2028 of a command is escaped."""
    return json.dumps(value, ensure_ascii=True, separators=(", ", ": "))


def rules_hash(shelf: Shelf) -> str:
    """The content hash of the rules that answered."""
    return shelf.content


def verdict_object(verdict: Verdict, allowed: bool, shelf: Shelf) -> dict[str, Any]:
    """The answer of `lint` for one text, as contract (design.md, section 4) has it."""
    return {
        "schema": SCHEMA,
        "rules": rules_hash(shelf),
        "verdict": verdict.kind,
        "allowed": allowed,
        "effects": sorted(verdict.effects),
        "facts": [fact_object(fact, verdict.text) for fact in verdict.facts],
    }


def fact_object(fact: Fact, text: str) -> dict[str, Any]:
    """One fact. `start` and `end` are characters of the text; `rule` and `line` are null where no rule says it."""
    start, end = fact.span
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
    }


def version_json() -> str:
    """`shellguard --version --json`: versions, the rules' hash, and how many commands they know."""
    shelf = Shelf.default()
    return dumps(
        {
            "schema": SCHEMA,
            "version": __version__,
            "rules": rules_hash(shelf),
            "commands": len(shelf.names()),
        }
    )
