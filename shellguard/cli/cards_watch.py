# SPDX-License-Identifier: Apache-2.0
"""`shellguard cards watch`: the board as it changes. At a terminal it is drawn anew, else each event is a line."""

from __future__ import annotations

import sys
import time

import click

from shellguard.cli.base import SETTINGS, say
from shellguard.cli.cards_base import moment, one_line, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.console import RenderableType

    from shellguard.board.board import Board
    from shellguard.board.model import Card, Event

ORDER = ("running", "blocked", "triage", "ready", "review", "scheduled", "todo", "done")
"""What is shown first: what moves, then what needs somebody."""

COLORS = {
    "running": "cyan",
    "blocked": "red",
    "triage": "magenta",
    "done": "green",
    "ready": "yellow",
    "review": "yellow",
}

LATE = 200
"""Events are numbered when they are written and seen when that is over, so that a lower number may come later."""

EVENTS = 8
"""Of the newest events, how many are shown."""


@click.command("watch", context_settings=SETTINGS)
@click.option(
    "--interval",
    type=click.FloatRange(min=0.05, max=3600),
    default=1.0,
    show_default=True,
    help="Seconds between two looks.",
)
@click.option("--once", is_flag=True, help="Show the board as it is now, and leave.")
def watch(interval: float, once: bool) -> None:
    """Watch a board until Ctrl-C: at a terminal as a picture, else each new event as a line."""
    with opened() as board:
        try:
            if sys.stdout.isatty() or once:
                _draw(board, interval, once)
            else:
                _follow(board, interval)
        except KeyboardInterrupt:
            pass  # the way to leave


def _follow(board: Board, interval: float) -> None:
    from shellguard.cli.cards import event_line

    news = News(board)
    while True:
        for event in news.look():
            say(event_line(event, with_card=True))
        sys.stdout.flush()
        time.sleep(interval)


class News:
    """The events of a board from now on, each once, also those that are seen late."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._newest = board.last_event()
        self._told = {event.id for event in board.events(since=self._newest - LATE)}

    def look(self) -> list[Event]:
        """What there is that was not there before."""
        found = self._board.events(since=self._newest - LATE)
        new = [event for event in found if event.id not in self._told]
        self._newest = max([self._newest, *(event.id for event in new)])
        self._told = {event.id for event in found}
        return new


def _draw(board: Board, interval: float, once: bool) -> None:
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False, markup=False, emoji=False)
    if once:
        console.print(picture(board, None))
        return
    with Live(console=console, screen=console.is_terminal, auto_refresh=False) as live:
        while True:
            live.update(picture(board, console.height), refresh=True)
            time.sleep(interval)


def picture(board: Board, height: int | None) -> RenderableType:
    """The board for a terminal of so many lines: counts, cards, and the newest events."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    now = time.time()
    counts = board.counts()
    cards = sorted(
        (card for card in board.cards() if card.status in ORDER),
        key=lambda card: (ORDER.index(card.status), -card.updated_at),
    )
    newest = board.events(since=max(0, board.last_event() - EVENTS))
    room = len(cards) if height is None else max(3, height - len(newest) - 5)
    table = Table(box=None, pad_edge=False, expand=False)
    for name in ("card", "status", "profile", "since", "title", ""):
        table.add_column(name, no_wrap=True, overflow="ellipsis")
    for card in cards[:room]:
        table.add_row(
            card.id,
            Text(card.status, style=COLORS.get(card.status, "")),
            Text(one_line(card.profile, 20)),
            _ago(now - card.updated_at),
            Text(one_line(card.title, 80)),
            Text(_why(card), style="dim"),
        )
    head = "  ".join(f"{status} {counts[status]}" for status in sorted(counts, key=_place)) or "no cards"
    parts: list[RenderableType] = [
        Text(f"{one_line(board.address_shown, 120)}   {moment(now)}", style="bold")
    ]
    parts += [Text(head), table]
    if len(cards) > room:
        parts.append(Text(f"and {len(cards) - room} more", style="dim"))
    parts += [Text(_event(event), style="dim", no_wrap=True, overflow="ellipsis") for event in newest]
    return Group(*parts)


def _event(event: Event) -> str:
    from shellguard.cli.cards import event_line

    return event_line(event, with_card=True)


def _place(status: str) -> int:
    return ORDER.index(status) if status in ORDER else len(ORDER)


def _why(card: Card) -> str:
    if card.block_reason is not None:
        return one_line(card.block_reason, 80)
    return f"{card.consecutive_failures} failed" if card.consecutive_failures else ""


def _ago(seconds: float) -> str:
    """A length of time in its largest unit."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{int(seconds // length)}{unit}"
    return f"{max(0, int(seconds))}s"
