# SPDX-License-Identifier: Apache-2.0
"""`shellguard cards approve`: runs the one command that a card waits for, and lets the card go on."""

from __future__ import annotations

import os
import sys

import click

from shellguard.cli.base import SETTINGS, say
from shellguard.cli.cards_base import REFUSED, UNUSABLE, card_of, fail, json_option, opened, print_json
from shellguard.errors import ShellguardError
from shellguard.explain import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.approval.requests import Request
    from shellguard.approval.store import Store
    from shellguard.board.model import Card, Run


@click.command("approve", context_settings=SETTINGS)
@json_option
@click.argument("card_id", metavar="ID")
def approve(as_json: bool, card_id: str) -> None:
    """Grant the one command that a card waits for, and unblock the card when it succeeded.

    The command is shown, and runs here and now, if files, command, folder and programs are what they were. Nothing else
    is granted. Exit status: 0 it succeeded, now or before; that of the command; 1 with a reason, and nothing ran.
    """
    from shellguard.approval.requests import DENIED, DIFFERENCES, DONE, grant, request_named

    with opened() as board:
        card = card_of(board, card_id)
        runs = board.runs(card_id)
    if card.request is None:
        fail(f"{card_id} is {card.status}, and waits for no command", REFUSED)
    store = _store(card, runs)
    try:
        request = request_named(store, card.request)
        _show(request)
        refused: tuple[str, ...] = ()
        if request.state != DONE:
            done = grant(store, request.name)
            request, refused = done.request, done.refused
    except (ShellguardError, OSError) as error:
        fail(str(error), REFUSED)
    if request.state == DENIED:
        fail(f"request {request.name} was denied: {request.reason or 'without a reason'}", REFUSED)
    for code in refused:
        say(f"not run: {code}: {DIFFERENCES[code]}", err=True)
    moved = False
    if not refused and request.status == 0:
        with opened() as board:
            moved = board.unblock(card_id, request=card.request)
            card = card_of(board, card_id)
    if as_json:
        print_json(
            {
                "card": card.as_object(),
                "request": request.name,
                "refused": list(refused),
                "status": request.status,
                "unblocked": moved,
            }
        )
    if refused or request.status is None:
        sys.exit(REFUSED)
    if request.status != 0:
        fail(f"the command ended with status {request.status}: {card_id} stays {card.status}", request.status)
    if not moved:
        fail(f"{card_id} is {card.status}, and does not wait for request {request.name} any more", REFUSED)
    if not as_json:
        say(f"{card_id}  {card.status}")


def _store(card: Card, runs: list[Run]) -> Store:
    """Where the request of a card is kept: where its last run says, else in the folder that it worked in."""
    from shellguard.approval.store import Store

    last = runs[-1] if runs else None
    folder = None if last is None else (last.metadata or {}).get("store")
    if isinstance(folder, str) and os.path.isabs(folder):
        return Store(folder)
    if last is None or last.workspace is None:
        fail(f"{card.id} has no run with a folder: nobody knows where request {card.request} is", REFUSED)
    try:
        return Store.of(last.workspace)
    except (ShellguardError, OSError) as error:
        fail(f"{last.workspace}: {error}", UNUSABLE)


def _show(request: Request) -> None:
    say(visible(f"request {request.name} in {request.cwd}"), err=True)
    for line in request.command.split("\n"):
        say(visible(f"command  {line}"), err=True)
    for gate in request.gates:
        say(visible(f"{gate['severity']}  {gate['gate']}: {gate['reason']}"), err=True)
