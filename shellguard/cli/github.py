# SPDX-License-Identifier: Apache-2.0
"""Findings as annotations of GitHub Actions: one workflow command a line.

Source: GitHub's documentation, "Workflow commands for GitHub Actions"; the escapes are those of actions/toolkit.
"""

from __future__ import annotations

from shellguard.cli.columns import Columns
from shellguard.effects import Effect
from shellguard.explain import visible
from shellguard.findings import finding_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from shellguard.cli.lint import Answer
    from shellguard.effects import Fact

MAX_WORDS = 200
"""Characters of the text that an annotation repeats."""

_LEVELS = {Effect.WRITES: "error", Effect.EXECUTES: "error", Effect.UNKNOWN: "warning"}


def lines_for(answer: Answer, everything: bool) -> Iterator[str]:
    """The lines for one text."""
    columns = Columns(answer.verdict.text)
    for fact in answer.shown(everything):
        yield _annotation(fact, answer, columns)


def _annotation(fact: Fact, answer: Answer, columns: Columns) -> str:
    (line, column), (end_line, end_column) = columns.at(fact.span[0]), columns.at(fact.span[1])
    finding = finding_of(fact)
    properties = {"title": f"shellguard ({finding.code} {finding.name})"}
    if answer.name:
        properties["file"] = answer.name
    properties |= {"line": str(line), "endLine": str(end_line)}
    if end_line == line:  # GitHub takes no columns for an annotation over several lines
        properties |= {"col": str(column), "endColumn": str(end_column)}
    joined = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    level = _LEVELS.get(fact.effect, "warning" if answer.objected_to(fact) else "notice")
    where = f" ({fact.rule})" if fact.rule is not None else ""
    words = answer.verdict.text[fact.span[0] : fact.span[1]]
    shown = words if len(words) <= MAX_WORDS else words[:MAX_WORDS] + "..."
    return f"::{level} {joined}::{_data(f'{fact.because}: {fact.effect}{where}: {shown}')}"


def _data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
