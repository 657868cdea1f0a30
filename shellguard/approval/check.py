# SPDX-License-Identifier: Apache-2.0
"""Text in, gates out: what `shellguard approve check` says, and what everything else here asks first."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shellguard.analysis.inquiry import Assumptions
from shellguard.analysis.script import commands_of
from shellguard.analysis.seen import OPENED, Log
from shellguard.approval.gate import Gated, gated
from shellguard.approval.inside import texts_inside
from shellguard.engine import classify
from shellguard.errors import ShellSyntaxError
from shellguard.rules.shelf import Shelf
from shellguard.syntax.parse import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shellguard.verdict import Verdict


GATES_PATH = "rules/_gates.yaml"
"""The file of the gates, as answers name it."""

MAX_DEPTH = 4
"""Shell text inside shell text beyond this is not looked into."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A text, what it would do, the gates that stand before it, and the names of all commands that it runs."""

    verdict: Verdict
    gated: tuple[Gated, ...]
    names: tuple[str, ...] = ()


def check(text: str, shelf: Shelf | None = None, assumptions: Assumptions | None = None) -> Checked:
    """Which commands of `text` need a person. Any text gets an answer; one that cannot be read is gated.

    Raises RuleError when `_gates.yaml` is broken, with its file and line.
    """
    rules = Shelf.default() if shelf is None else shelf
    taken = Assumptions() if assumptions is None else assumptions
    return _check(text, shelf, taken, rules, 0)


def _check(text: str, shelf: Shelf | None, taken: Assumptions, rules: Shelf, depth: int) -> Checked:
    gates = rules.gates
    verdict = classify(text, shelf=shelf, assumptions=taken)
    log, complete = Log(), True
    try:
        log, complete = commands_of(parse(text), len(text), rules, taken)
    except ShellSyntaxError:
        pass  # the verdict has the fact
    except RecursionError:
        complete = False
    found = list(gated(log, complete, verdict.facts, gates, rules.paths))
    if depth < MAX_DEPTH:
        for inner, span in dict.fromkeys(texts_inside(text, log, gates)):
            for each in _check(inner, shelf, taken, rules, depth + 1).gated:
                # A guess need not be a text, and what the engine has read itself is there already.
                if not each.gate.unread and all(
                    (each.gate.name, each.what) != (known.gate.name, known.what) for known in found
                ):
                    found.append(replace(each, span=span))
    unique = {(each.gate.name, each.span, each.what): each for each in found}
    names = dict.fromkeys(seen.name for seen in log.commands if seen.name not in ("", OPENED))
    return Checked(verdict, tuple(unique.values()), tuple(names))


def as_objects(checked: Checked, path: str) -> list[dict[str, Any]]:
    """What is gated, as JSON has it."""
    text = checked.verdict.text
    return [
        {
            "gate": each.gate.name,
            "severity": each.gate.severity,
            "reason": each.gate.reason,
            "instead": each.gate.instead,
            "what": each.what,
            "start": each.span[0],
            "end": each.span[1],
            "text": text[slice(*each.span)],
            "via": list(each.via),
            "rule": path,
            "line": each.line,
        }
        for each in checked.gated
    ]
