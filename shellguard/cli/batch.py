# SPDX-License-Identifier: Apache-2.0
"""`lint --batch`: JSON Lines in, one answer a line out, in the same order, each as soon as it is known."""

from __future__ import annotations

import json

from shellguard.cli.output import dumps, verdict_object
from shellguard.engine import classify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shellguard.analysis.inquiry import Assumptions
    from shellguard.rules.shelf import Shelf
    from shellguard.verdict import Policy


def answers(
    lines: Iterable[str], policy: Policy, shelf: Shelf | None, assumptions: Assumptions
) -> Iterator[str]:
    """One line of JSON for each line of `lines` that is not blank. A bad line is answered with an error."""
    for line in lines:
        if line.strip(" \t\r"):
            yield _answer(line, policy, shelf, assumptions)


def _answer(line: str, policy: Policy, shelf: Shelf | None, assumptions: Assumptions) -> str:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return dumps({"id": None, "error": f"not JSON: {error}"})
    if not isinstance(row, dict) or not isinstance(row.get("command"), str):
        identity = row.get("id") if isinstance(row, dict) else None
        return dumps({"id": identity, "error": 'an object with "command", a string, is expected'})
    verdict = classify(row["command"], shelf=shelf, assumptions=assumptions)
    from shellguard.rules.shelf import Shelf as AnyShelf

    answered = AnyShelf.default() if shelf is None else shelf
    return dumps({"id": row.get("id"), **verdict_object(verdict, policy.allows(verdict), answered)})
