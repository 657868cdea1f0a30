# SPDX-License-Identifier: Apache-2.0
"""`shellguard cards dispatch`: takes cards that are ready and has them done."""

from __future__ import annotations

import sys

import click

from shellguard.cli.base import command, say
from shellguard.cli.cards_base import EXTRA, UNUSABLE, chosen, fail, said_of_board
from shellguard.explain import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from shellguard.workers.dispatcher import Dispatcher

SCHEMA = 1


@command("dispatch")
@click.option("--once", is_flag=True, help="One pass. Workers may still run when it is over.")
@click.option("--until-idle", is_flag=True, help="Until no card is ready or running; scheduled ones may be.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="With --until-idle: seconds after which it leaves.",
)
@click.option(
    "--interval",
    type=click.FloatRange(min=0.05, max=3600),
    default=1.0,
    show_default=True,
    help="Seconds between two passes, when nothing happens.",
)
@click.option(
    "--max",
    "at_once",
    type=click.IntRange(min=1, max=1000),
    help="Workers at once; twice the cores, 8 at most, when left out.",
)
@click.option("--json", "as_json", is_flag=True, help="Only one object, at the end.")
def dispatch(
    once: bool,
    until_idle: bool,
    timeout: float | None,
    interval: float,
    at_once: int | None,
    as_json: bool,
) -> None:
    """Take cards that are ready, start their workers, and book those that crash or take too long.

    Without --once and --until-idle it goes on until it is interrupted. Workers are processes of their own: they go on
    when a dispatcher leaves, and the next one finds them. Exit status: 0 done, or another dispatcher has the board;
    1 the time was over; 2 the board cannot be used, wrong usage; 130 or 143 interrupted.
    """
    if once and until_idle:
        raise click.UsageError("--once and --until-idle exclude each other")
    if timeout is not None and not until_idle:
        raise click.UsageError("--timeout needs --until-idle")
    try:
        from shellguard.board.board import Board
        from shellguard.board.model import BoardError
        from shellguard.workers.dispatcher import Dispatcher, LockedError, serve
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("shellguard"):
            raise
        fail(EXTRA, UNUSABLE)
    from shellguard.cli.output import dumps
    from shellguard.workers.keeper import hide
    from shellguard.workers.tree import Stop

    hide()  # workers run as the same user, and are not to read what stands in our environment

    def tell(line: str) -> None:
        if not as_json:
            say(visible(line))

    def end(state: str, status: int, dispatcher: Dispatcher | None = None) -> NoReturn:
        if as_json:
            did = {} if dispatcher is None else dispatcher.did.as_object()
            say(dumps({"schema": SCHEMA, "state": state, "exit": status, **did}))
        sys.exit(status)

    with Stop() as stop:
        try:
            with Board.open(chosen(), make=False) as board:
                dispatcher = Dispatcher(board, at_once=at_once, say=tell)
                try:
                    dispatcher.open()
                except LockedError:
                    tell("skipped_locked: another dispatcher works on this board")
                    end("skipped_locked", 0)
                try:
                    if once:
                        dispatcher.once()
                        state = "done"
                    else:
                        state = serve(
                            dispatcher, stop, interval=interval, until_idle=until_idle, timeout=timeout
                        )
                finally:
                    dispatcher.close()
                running = len(board.open_runs(dispatcher.host))
        except BoardError as error:
            say(f"shellguard: {visible(said_of_board(error))}", err=True)
            end("unusable", UNUSABLE)
    if running and state in ("stopped", "timeout"):
        tell(f"{running} workers go on; the next dispatcher looks after them")
    if state == "stopped":
        end(state, 128 + (stop.number or 2), dispatcher)
    end(state, 1 if state == "timeout" else 0, dispatcher)
