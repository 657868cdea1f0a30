# SPDX-License-Identifier: Apache-2.0
"""`shellguard cards`: a board of cards that workers do."""

from __future__ import annotations

import os

import click

from shellguard.board.model import Status
from shellguard.cli.base import SETTINGS, say
from shellguard.cli.cards_base import (
    REFUSED,
    UNUSABLE,
    board_option,
    card_of,
    desk_of,
    fail,
    json_option,
    moment,
    one_line,
    opened,
    print_json,
)
from shellguard.explain import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shellguard.board.board import Board
    from shellguard.board.model import Card, Event, History

ELSEWHERE = {
    "approve": "shellguard.cli.cards_approve",
    "dispatch": "shellguard.cli.cards_dispatch",
    "serve": "shellguard.cli.cards_serve",
    "watch": "shellguard.cli.cards_watch",
}
"""Commands that are not in this file, and the modules that hold them under their name."""


class _Lazy(click.Group):
    """A group that imports the commands of `ELSEWHERE` when they are needed. All of them take `--board`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *ELSEWHERE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if cmd_name in ELSEWHERE:
            from importlib import import_module

            command = getattr(import_module(ELSEWHERE[cmd_name]), cmd_name)
            assert isinstance(command, click.Command)
        if command is not None and all(parameter.name != "board" for parameter in command.params):
            command.params.append(board_option())
        return command


@click.group("cards", cls=_Lazy, params=[board_option()], context_settings=SETTINGS)
def cards() -> None:
    """Keep work as cards on a board, and have commands do it.

    A card names a profile; what that runs stands in the profile's own file on the host, never on the card. Exit
    status: 0 done; 1 the card is not where it would have to be; 2 there is no such card, no usable board, wrong usage.
    """


# --- adding -----------------------------------------------------------------------------------------------------------


@cards.command("add")
@click.option("--profile", required=True, metavar="NAME", help="Who does it.")
@click.option("--title", required=True, metavar="TEXT", help="What it is, in a line.")
@click.option(
    "--body", default="", metavar="TEXT", help="What there is to say about it; `-` reads standard input."
)
@click.option(
    "--status",
    type=click.Choice(["triage", "todo", "ready", "review", "blocked"]),
    help="Where it begins; `ready`, or `todo` while a card that it waits for is not done.",
)
@click.option(
    "--phase", type=click.Choice(["ready", "review"]), default="ready", show_default=True, help="Its lane."
)
@click.option("--priority", type=int, default=0, show_default=True, help="Higher ones are taken first.")
@click.option(
    "--parent",
    "parents",
    multiple=True,
    metavar="ID",
    help="A card that it waits for; more than one is fine.",
)
@click.option("--at", metavar="TIME", help="Not before: ISO 8601, or +SECONDS.")
@click.option("--workspace", type=click.Path(), metavar="FOLDER", help="The folder to work in.")
@click.option("--repo", type=click.Path(), metavar="FOLDER", help="The repository to make a work tree of.")
@click.option(
    "--max-runtime", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Seconds for one run."
)
@click.option(
    "--max-retries", type=click.IntRange(min=0), metavar="N", help="Failures in a row that block it."
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting for an agent.")
@json_option
def add_(
    profile: str,
    title: str,
    body: str,
    status: str | None,
    phase: str,
    priority: int,
    parents: tuple[str, ...],
    at: str | None,
    workspace: str | None,
    repo: str | None,
    max_runtime: float | None,
    max_retries: int | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Add a card, and print its id. The board is made where there is none."""
    if body == "-":
        from shellguard.cli.streams import read_text

        body = read_text("-")
    with opened(make=True) as found:
        card = found.add(
            title,
            profile=profile,
            body=body,
            status=status,
            phase=phase,
            priority=priority,
            parents=parents,
            at=None if at is None else _time(at),
            workspace=None if workspace is None else os.path.abspath(workspace),
            repo=None if repo is None else os.path.abspath(repo),
            max_runtime=max_runtime,
            max_retries=max_retries,
            settings=_settings(settings),
        )
    if as_json:
        print_json(card.as_object())
    else:
        say(card.id)


def _time(text: str) -> float:
    """Seconds since the epoch. Raises: click.BadParameter."""
    import math
    import time
    from datetime import datetime

    try:
        found = (
            time.time() + float(text[1:])
            if text.startswith("+")
            else datetime.fromisoformat(text).timestamp()
        )
    except (ValueError, OverflowError, OSError):
        found = math.nan
    if not math.isfinite(found):
        raise click.BadParameter(f"{text!r} is neither ISO 8601 nor +SECONDS", param_hint="--at")
    return found


def _settings(words: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{word!r} is not NAME=VALUE", param_hint="--set")
        if name in found:
            raise click.BadParameter(f"{name!r} is set twice", param_hint="--set")
        found[name] = value
    return found


# --- looking ----------------------------------------------------------------------------------------------------------


@cards.command("list")
@click.option(
    "--status",
    type=click.Choice([status.value for status in Status]),
    metavar="STATUS",
    help=f"Only cards of this status: {', '.join(Status)}.",
)
@click.option("--profile", metavar="NAME", help="Only cards of this profile.")
@click.option("--all", "everything", is_flag=True, help="Those that are archived, too.")
@json_option
def list_(status: str | None, profile: str | None, everything: bool, as_json: bool) -> None:
    """List the cards of a board, oldest first."""
    with opened() as found:
        shown = [
            card
            for card in found.cards(status=status, profile=profile)
            if everything or status is not None or card.status != "archived"
        ]
    if as_json:
        print_json({"cards": [card.as_object() for card in shown]})
        return
    for card in shown:
        say(line_of(card))


def line_of(card: Card) -> str:
    """A card in a line."""
    words = [card.id, f"{card.status:9}", one_line(card.profile, 20), one_line(card.title)]
    if card.consecutive_failures:
        words.append(f"({card.consecutive_failures} failed)")
    if card.block_reason is not None:
        words.append(f"[{one_line(card.block_reason, 80)}]")
    return "  ".join(words)


@cards.command("show")
@json_option
@click.argument("card_id", metavar="[ID]", required=False)
def show_(as_json: bool, card_id: str | None) -> None:
    """Show a card with its runs and events. Inside a worker, ID is its own card when it is left out."""
    name = _named(card_id)
    desk = desk_of()
    if desk is not None:
        print_json(_at_desk(desk, "show", name))
        return
    with opened() as found:
        history = found.history(name)
    if not history:
        fail(f"there is no card {name!r}", UNUSABLE)
    if as_json:
        print_json(history[0].as_object())
        return
    for line in lines_of(history[0]):
        say(line)


def lines_of(history: History) -> list[str]:
    """A card for people."""
    card = history.card
    lines = [line_of(card), f"added    {moment(card.created_at)}"]
    for name, value in (
        ("phase", card.phase),
        ("priority", card.priority or None),
        ("not before", moment(card.scheduled_at) if card.scheduled_at else None),
        ("folder", card.workspace),
        ("repo", card.repo),
        ("seconds", card.max_runtime),
        ("waits for request", card.request),
        ("result", card.result or None),
        ("last error", card.last_error),
        ("waits for", " ".join(history.parents) or None),
        ("is waited for by", " ".join(history.children) or None),
    ):
        if value is not None:
            lines.append(visible(f"{name:8} {value}"))
    lines += [f"  {visible(line)}" for line in card.body.split("\n") if card.body]
    for run in history.runs:
        words = [f"run {run.attempt}", run.id, run.status, moment(run.claimed_at)]
        if run.exit_code is not None:
            words.append(f"exit {run.exit_code}")
        words += [one_line(text) for text in (run.error, run.summary) if text]
        lines.append("  ".join(words))
    for event in history.events:
        lines.append(event_line(event))
    return lines


def event_line(event: Event, *, with_card: bool = False) -> str:
    """An event in a line."""
    from shellguard.cli.output import dumps

    said = {name: value for name, value in event.payload.items() if value not in (None, "", [])}
    words = [moment(event.at), event.card if with_card else "", event.kind, dumps(said) if said else ""]
    return "  ".join(word for word in words if word)


@cards.command("log")
@click.option("--run", "run_id", metavar="ID", help="The log of this run; of the last one when left out.")
@click.option("--lines", type=click.IntRange(min=1), metavar="N", help="Only the last N lines.")
@json_option
@click.argument("card_id", metavar="ID")
def log_(run_id: str | None, lines: int | None, as_json: bool, card_id: str) -> None:
    """Print what the workers of a card have printed.

    The file is kept by the host that the card ran on, up to 2 MiB and as much before that.
    """
    with opened() as found:
        card_of(found, card_id)
        runs = [run for run in found.runs(card_id) if run.log is not None and run_id in (None, run.id)]
    if not runs or runs[-1].log is None:
        fail(f"{card_id} has no log{'' if run_id is None else f' of a run {run_id}'}", REFUSED)
    path = runs[-1].log
    text = _log_text(path)
    if text is None:
        fail(f"{path}: it is not on this host ({runs[-1].host} has it), or it was removed", REFUSED)
    shown = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")
    if lines is not None:
        shown = shown[-lines:]
    if as_json:
        print_json({"card": card_id, "run": runs[-1].id, "log": path, "lines": shown})
        return
    for line in shown:
        say(visible(line.removesuffix("\r")))


def _log_text(path: str) -> str | None:
    """The log, with what was there before it grew too long. None where there is no file."""
    from shellguard.cli.streams import decoded

    parts = []
    for each in (f"{path}.1", path):
        try:
            with open(each, "rb") as file:
                parts.append(file.read())
        except OSError:
            continue
    return decoded(b"".join(parts)) if parts else None


@cards.command("export")
def export_() -> None:
    """Print the whole board as one JSON object: cards with their links, runs and events."""
    import time

    with opened() as found:
        print_json(
            {
                "board": found.address_shown,
                "exported_at": time.time(),
                "cards": [each.as_object() for each in found.history()],
            }
        )


# --- deciding ---------------------------------------------------------------------------------------------------------


@cards.command("complete")
@click.option("--summary", default="", metavar="TEXT", help="What came of it.")
@json_option
@click.argument("card_id", metavar="[ID]", required=False)
def complete_(summary: str, as_json: bool, card_id: str | None) -> None:
    """Say that a card is done. A worker says it about its own card, and leaves ID out."""
    name = _named(card_id)
    desk = desk_of()
    if desk is not None:
        _told(desk, "complete", name, as_json, summary=summary)
        return
    with opened() as found:
        card_of(found, name)
        done = found.complete(name, summary=summary)
        _finish(found, name, done, "completed", as_json)


@cards.command("block")
@click.option("--reason", required=True, metavar="TEXT", help="Why.")
@click.option(
    "--kind",
    type=click.Choice(["dependency", "needs_input", "capability", "transient"]),
    help="What it lacks. The same kind a second time in a row sends the card to triage.",
)
@json_option
@click.argument("card_id", metavar="[ID]", required=False)
def block_(reason: str, kind: str | None, as_json: bool, card_id: str | None) -> None:
    """Block a card, with a reason. A running one is ended by the dispatcher. A worker leaves ID out."""
    name = _named(card_id)
    desk = desk_of()
    if desk is not None:
        _told(desk, "block", name, as_json, reason=reason, kind=kind)
        return
    with opened() as found:
        card_of(found, name)
        _finish(found, name, found.block(name, kind=kind, reason=reason), "blocked", as_json)


@cards.command("heartbeat")
@click.option("--note", default="", metavar="TEXT", help="How far it is.")
@click.option(
    "--lease",
    type=click.FloatRange(min=1),
    default=900.0,
    show_default=True,
    help="Seconds until the next one.",
)
@json_option
@click.argument("card_id", metavar="[ID]", required=False)
def heartbeat_(note: str, lease: float, as_json: bool, card_id: str | None) -> None:
    """Say that the work at a running card goes on. A worker leaves ID out."""
    name = _named(card_id)
    desk = desk_of()
    if desk is not None:
        _told(desk, "heartbeat", name, as_json, note=note)
        return
    with opened() as found:
        run = card_of(found, name).current_run
        done = run is not None and found.heartbeat(run, lease=lease, note=note)
        _finish(found, name, done, "kept alive", as_json)


@cards.command("unblock")
@json_option
@click.argument("card_id", metavar="ID")
def unblock_(as_json: bool, card_id: str) -> None:
    """Let a blocked or scheduled card go on. What it counted as failures is forgotten."""
    with opened() as found:
        card_of(found, card_id)
        _finish(found, card_id, found.unblock(card_id), "unblocked", as_json)


@cards.command("retry")
@json_option
@click.argument("card_id", metavar="ID")
def retry_(as_json: bool, card_id: str) -> None:
    """Do a card again that is blocked, done, archived or in triage."""
    with opened() as found:
        card_of(found, card_id)
        _finish(found, card_id, found.retry(card_id), "done again", as_json)


@cards.command("archive")
@json_option
@click.argument("card_id", metavar="ID")
def archive_(as_json: bool, card_id: str) -> None:
    """Put a card away. One that is running is ended by the dispatcher."""
    with opened() as found:
        card_of(found, card_id)
        _finish(found, card_id, found.archive(card_id), "archived", as_json)


def _named(card: str | None) -> str:
    name = card or os.environ.get("SHELLGUARD_CARD")
    if not name:
        raise click.UsageError("name a card: outside of a worker there is no other way to know which one")
    return name


def _finish(board: Board, name: str, done: bool, what: str, as_json: bool) -> None:
    """Prints the card as it is now. Ends the command with status 1 when it could not be done."""
    card = card_of(board, name)
    if as_json:
        print_json(card.as_object())
    if not done:
        fail(f"{name} is {card.status}: it cannot be {what}", REFUSED)
    if not as_json:
        say(line_of(card))


def _told(desk: str, verb: str, card: str, as_json: bool, **values: Any) -> None:
    """Says something at the desk, and prints the card as it is then."""
    _at_desk(desk, verb, card, **values)
    if as_json:
        print_json(_at_desk(desk, "show", card))


def _at_desk(desk: str, verb: str, card: str, **values: Any) -> dict[str, Any]:
    """What the supervisor of this worker answers. Ends the command when it refuses, or is not there."""
    from shellguard.workers.desk import Client, DeskError

    client = Client(desk)
    try:
        found: dict[str, Any] | None = getattr(client, verb)(card, **values)
    except DeskError as error:
        fail(str(error), REFUSED)
    return found or {}
