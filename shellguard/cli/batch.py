# SPDX-License-Identifier: Apache-2.0
"""`lint --batch`: JSON Lines in, one answer a line out, in the same order, each as soon as it is known."""

from __future__ import annotations

import json

from shellguard.cli.output import dumps, stamp, verdict_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import NoReturn

    from shellguard.cli.base import Judging


def answers(lines: Iterable[str], judging: Judging) -> Iterator[str]:
    """One line of JSON for each line of `lines` that is not blank. A bad line is answered with an error."""
    for line in lines:
        if line.strip(" \t\r"):
            yield _answer(line, judging)


def _answer(line: str, judging: Judging) -> str:
    try:
        row = json.loads(line, parse_constant=_no_number)
        if not isinstance(row, dict) or not isinstance(row.get("command"), str):
            return _bad('an object with "command", a string, is expected', judging)
        identity = {"id": row.get("id")}
        dumps(identity)  # what cannot be written again is refused before it is judged
    except (ValueError, RecursionError) as error:
        return _bad(f"not JSON: {error}", judging)
    verdict = judging.verdict(row["command"])
    return dumps({**identity, **verdict_object(verdict, judging.policy.allows(verdict), judging.shelf)})


def _bad(message: str, judging: Judging) -> str:
    return dumps({"id": None, "error": message, **stamp(judging.shelf)})


def _no_number(name: str) -> NoReturn:
    """JSON has no such number, whatever Python reads."""
    raise ValueError(f"{name} is no number")
