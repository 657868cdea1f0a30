# SPDX-License-Identifier: Apache-2.0
"""Findings as a SARIF 2.1.0 log, as GitHub's code scanning and other viewers read it.

Columns are 1-based and count UTF-16 code units (`columnKind`). Files below the current folder are named relative to
`%SRCROOT%`, so that a log does not depend on the machine.
Source: OASIS Standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import os

from shellguard._version import __version__
from shellguard.cli.columns import Columns
from shellguard.cli.output import dumps, stamp
from shellguard.effects import Effect
from shellguard.explain import visible
from shellguard.findings import FINDINGS, finding_of
from shellguard.spans import line_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shellguard.cli.lint import Answer
    from shellguard.effects import Fact
    from shellguard.findings import Finding
    from shellguard.rules.shelf import Shelf

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

STDIN = "stdin"
"""How the text on standard input is called when nobody names it."""


def log(answers: list[Answer], failures: list[str], everything: bool, shelf: Shelf) -> str:
    """The whole log, as one line of JSON."""
    results: list[dict[str, Any]] = []
    seen: dict[tuple[str, str], int] = {}
    for answer in answers:
        columns, lines = Columns(answer.verdict.text, utf16=True), _Lines(answer.verdict.text)
        results += [_result(fact, answer, columns, lines, seen) for fact in answer.shown(everything)]
    run = {
        "tool": {
            "driver": {
                "name": "shellguard",
                "semanticVersion": __version__,
                "rules": [_rule(finding) for finding in FINDINGS],
                "properties": stamp(shelf),
            }
        },
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {
            "%SRCROOT%": {"description": {"text": "The folder shellguard was started in."}}
        },
        "automationDetails": {"id": "shellguard/"},
        "invocations": [
            {
                "executionSuccessful": not failures,
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": failure}} for failure in failures
                ],
            }
        ],
        "results": results,
    }
    return dumps({"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]})


def _rule(finding: Finding) -> dict[str, Any]:
    example = f" Example: {finding.example}" if finding.example.strip(" ") else ""
    return {
        "id": finding.code,
        "name": finding.name,
        "shortDescription": {"text": finding.name.replace("-", " ")},
        "fullDescription": {"text": finding.meaning},
        "help": {"text": f"{finding.meaning} {finding.advice}{example}"},
        "defaultConfiguration": {"level": _level(finding.effects[0])},
        "properties": {"tags": ["shell", *finding.effects]},
    }


def _level(effect: str) -> str:
    if effect in (Effect.WRITES, Effect.EXECUTES):
        return "error"
    return "warning" if effect == Effect.UNKNOWN else "note"


_INDEX = {finding.code: index for index, finding in enumerate(FINDINGS)}


def _result(
    fact: Fact, answer: Answer, columns: Columns, lines: _Lines, seen: dict[tuple[str, str], int]
) -> dict[str, Any]:
    finding = finding_of(fact)
    level = _level(fact.effect)
    if level == "note" and answer.objected_to(fact):
        level = "warning"
    line = lines.name_of(fact.span[0])
    count = seen[answer.name, line] = seen.get((answer.name, line), 0) + 1
    return {
        "ruleId": finding.code,
        "ruleIndex": _INDEX[finding.code],
        "level": level,
        "message": {"text": f"{visible(fact.because)}: {fact.effect}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _artifact(answer.name),
                    "region": _region(fact, columns),
                }
            }
        ],
        "partialFingerprints": {"primaryLocationLineHash": f"{line}:{count}"},
        "properties": {
            "verdict": answer.verdict.kind,
            "effect": fact.effect,
            "rule": fact.rule,
            "via": [frame.name for frame in fact.via],
            "marks": list(fact.marks),
        },
    }


def _region(fact: Fact, columns: Columns) -> dict[str, int]:
    (start_line, start_column), (end_line, end_column) = columns.at(fact.span[0]), columns.at(fact.span[1])
    return {
        "startLine": start_line,
        "startColumn": start_column,
        "endLine": end_line,
        "endColumn": end_column,
    }


def _artifact(name: str) -> dict[str, str]:
    """Where the text lies. A path below the current folder is relative to it."""
    from urllib.parse import quote

    if not name:
        return {"uri": STDIN, "uriBaseId": "%SRCROOT%"}
    try:
        relative = os.path.relpath(name)
    except (OSError, ValueError):
        relative = name  # the current folder was removed, or it lies on another drive
    if os.path.isabs(relative) or relative.split(os.sep, 1)[0] == os.pardir:
        from pathlib import Path

        return {"uri": Path(os.path.abspath(name)).as_uri()}
    return {"uri": quote(os.fsencode(relative.replace(os.sep, "/"))), "uriBaseId": "%SRCROOT%"}


class _Lines:
    """A name for each line of a text. It stays the same when lines before it come or go."""

    __slots__ = ("_known", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[int, str] = {}  # by where the line begins

    def name_of(self, offset: int) -> str:
        """The name of the line that holds `offset`: 16 hex digits."""
        from _blake2 import blake2b

        start, end = line_at(self._text, offset)
        name = self._known.get(start)
        if name is None:
            line = self._text[start:end].encode("utf-8", "surrogatepass")
            name = self._known[start] = blake2b(line, digest_size=8).hexdigest()
        return name
