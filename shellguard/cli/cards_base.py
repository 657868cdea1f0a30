# SPDX-License-Identifier: Apache-2.0
"""What the commands of `shellguard cards` share: which board, how it is opened, and how they end."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

import click

from shellguard.cli.base import say
from shellguard.explain import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, NoReturn

    from shellguard.board.board import Board
    from shellguard.board.model import BoardError, Card

REFUSED, UNUSABLE = 1, 2
"""Exit statuses: the card is not where it would have to be for this; there is no such card, or no board."""

EXTRA = "cards need the extra `workers`: pip install 'shellguard-engine[workers]'"


def _remember(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Keeps the board for `chosen`. One that is named behind the verb comes before one that is named in front of it."""
    if value is not None:
        context.obj = value


def board_option() -> click.Option:
    """`--board`, which may stand before the verb and behind it. It is no argument of the function."""
    return click.Option(
        ["--board"],
        metavar="FILE_OR_URL",
        expose_value=False,
        callback=_remember,
        help="A file, or postgresql://...; else $SHELLGUARD_BOARD, else board.sqlite in the state folder.",
    )


json_option = click.option("--json", "as_json", is_flag=True, help="As one JSON object.")


def chosen() -> str | None:
    """The board that was named, None when there was none."""
    found: str | None = click.get_current_context().obj
    return found


def desk_of() -> str | None:
    """The address of the desk of a worker, where that stands in the place of a board."""
    from shellguard.workers.desk import is_desk

    address = chosen() or os.environ.get("SHELLGUARD_BOARD", "")
    return address if is_desk(address) else None


@contextmanager
def opened(*, make: bool = False) -> Iterator[Board]:
    """The board, open. Ends the command with a line and status 2 when it cannot be used."""
    try:
        from shellguard.board.board import Board
        from shellguard.board.model import BoardError
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("shellguard"):
            raise
        fail(EXTRA, UNUSABLE)
    try:
        with Board.open(chosen(), make=make) as found:
            yield found
    except BoardError as error:
        fail(said_of_board(error), UNUSABLE)


def said_of_board(error: BoardError) -> str:
    """A line about a board that cannot be used. It names the board, without a password."""
    from shellguard.board.tables import address_of, shown

    return f"{shown(address_of(chosen()))}: {error}"


def card_of(board: Board, name: str) -> Card:
    """A card. Ends the command with status 2 when there is none."""
    found = board.card(name)
    if found is None:
        fail(f"there is no card {name!r}", UNUSABLE)
    return found


def fail(message: str, status: int) -> NoReturn:
    """Ends the command with a line on standard error."""
    say(visible(f"shellguard: {message}"), err=True)
    sys.exit(status)


def print_json(value: Mapping[str, Any]) -> None:
    """Prints an answer."""
    from shellguard.cli.output import SCHEMA, dumps

    say(dumps({"schema": SCHEMA, **value}))


def moment(seconds: float | None) -> str:
    """A time for people, in their zone."""
    import time

    if seconds is None:
        return "-"
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return f"{seconds}"


def one_line(text: str, most: int = 200) -> str:
    """Text as one line of a list, with nothing in it that a terminal acts on."""
    words = " ".join(text.split())
    return visible(words if len(words) <= most else f"{words[: most - 3]}...")
