# SPDX-License-Identifier: Apache-2.0
"""`shellguard rule`: what a finding means. (`shellguard rules` is about the rule files.)"""

from __future__ import annotations

import sys

import click

from shellguard.cli.base import command, say
from shellguard.explain import visible
from shellguard.findings import FINDINGS, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from shellguard.findings import Finding


@command("rule")
@click.argument("finding", required=False, metavar="[CODE|NAME]")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def rule(finding: str | None, as_json: bool) -> None:
    """Say what a finding means, by its CODE or NAME; without one, list them all.

    Exit status 0; 1: there is no such finding.
    """
    chosen = find(finding) if finding is not None else None
    if finding is not None and chosen is None:
        say(f"no finding is called {visible(finding)}; `shellguard rule` lists them", err=True)
        sys.exit(1)
    if as_json:
        from shellguard.cli.output import dumps, stamp
        from shellguard.rules.shelf import Shelf

        rows: dict[str, Any] = (
            {"findings": [_object(each) for each in FINDINGS]} if chosen is None else _object(chosen)
        )
        say(dumps({**stamp(Shelf.default()), **rows}))
    elif chosen is None:
        for each in FINDINGS:
            say(f"{each.code}  {each.name:<24}{each.meaning}")
    else:
        for line in _lines(chosen):
            say(line)


def _object(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "effects": list(finding.effects),
        "meaning": finding.meaning,
        "example": finding.example,
        "advice": finding.advice,
    }


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.code} {finding.name}"
    yield ""
    yield finding.meaning
    if finding.example.strip(" "):
        yield ""
        yield f"Example:     {finding.example}"
    yield ""
    yield f"What to do:  {finding.advice}"
