# SPDX-License-Identifier: Apache-2.0
"""`shellguard approve`: commands that need a person, and the work that is kept before they are asked about."""

from __future__ import annotations

import sys

import click

from shellguard.cli.base import SETTINGS, say
from shellguard.errors import RuleError
from shellguard.explain import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.approval.check import Checked


@click.group(context_settings=SETTINGS)
def approve() -> None:
    """Decide about commands that need a person, and get work back.

    Work in progress is kept before such a command is asked about, so that nothing is lost when the session ends there.
    """


def checked_text(text: str) -> Checked:
    """The gates before a text. Ends the command with status 2 when `_gates.yaml` is broken."""
    from shellguard.approval.check import check
    from shellguard.cli.shelves import chosen_shelf

    try:
        return check(text, chosen_shelf())
    except RuleError as error:
        raise click.UsageError(visible(str(error))) from error


@approve.command("check")
@click.argument("command_text", metavar="COMMAND")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def check_(command_text: str, as_json: bool) -> None:
    """Say whether a COMMAND needs a person, and why. `-` reads it from standard input.

    Exit status 0: no gate stands before it; 1: one does; 2: wrong usage.
    """
    from shellguard.cli.streams import read_text

    checked = checked_text(read_text("-") if command_text == "-" else command_text)
    if as_json:
        from shellguard.cli.output import dumps, stamp
        from shellguard.rules.shelf import Shelf

        say(dumps({**stamp(Shelf.default()), **gated_object(checked)}))
    else:
        for line in gated_lines(checked):
            say(line)
    sys.exit(1 if checked.gated else 0)


def gated_object(checked: Checked) -> dict[str, object]:
    """What is gated, as JSON has it."""
    from shellguard.approval.check import GATES_PATH, as_objects

    return {
        "verdict": checked.verdict.kind,
        "gated": bool(checked.gated),
        "gates": as_objects(checked, GATES_PATH),
    }


def gated_lines(checked: Checked) -> list[str]:
    """What is gated, for people."""
    from shellguard.approval.check import GATES_PATH

    text = checked.verdict.text
    lines = []
    for each in checked.gated:
        words = " ".join(text[slice(*each.span)].split("\n"))
        via = f" (by way of {', '.join(each.via)})" if each.via else ""
        lines += [
            f"{each.gate.severity}  {each.gate.name}: {visible(words if len(words) <= 200 else words[:197] + '...')}",
            f"       {visible(each.what)}{visible(via)}, {GATES_PATH}:{each.line}",
            f"       {visible(each.gate.reason)}",
            f"       Instead: {visible(each.gate.instead)}",
        ]
    return lines or ["no gate stands before it"]
