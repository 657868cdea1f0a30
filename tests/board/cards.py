# SPDX-License-Identifier: Apache-2.0
"""Cards in every status, and all that is written on a board, for tests. Imported only where the extra is there."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from shellguard.board.board import Board
from shellguard.board.model import Card, Run, Status
from shellguard.board.tables import metadata

NOW = 1_800_000_000.0
"""When tests happen, unless they say."""

PROCESS = "boot:4242:77"


def add(board: Board, status: str = "ready", **values: Any) -> Card:
    """A card that stands in a status, having come there in an everyday way."""
    values.setdefault("now", NOW)
    if status in ("triage", "todo", "ready", "blocked", "review"):
        return board.add("a card", profile="p", status=status, **values)
    if status == "scheduled":
        return board.add("a card", profile="p", at=NOW + 60, **values)
    card = board.add("a card", profile="p", **values)
    if status == "running":
        claim(board, card.id)
    elif status == "done":
        assert board.complete(card.id, now=NOW)
    else:
        assert status == "archived"
        assert board.archive(card.id, now=NOW)
    return again(board, card.id)


def again(board: Board, card: str) -> Card:
    """The card as it is now."""
    found = board.card(card)
    assert found is not None
    return found


def claim(board: Board, card: str, *, now: float = NOW, begin: bool = True) -> Run:
    """An open run of a card, taken by a supervisor."""
    run = try_to_claim(board, card, now=now)
    assert run is not None
    if begin:
        begun = board.begin(run.id, supervisor=PROCESS, now=now)
        assert begun is not None
        return begun
    return run


def try_to_claim(board: Board, card: str, *, now: float = NOW) -> Run | None:
    return board.claim(
        card,
        profile="p",
        host="h",
        dispatcher="d",
        lease=900,
        frozen={"argv": ["/x"]},
        now=now,
    )


def dump(board: Board) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table."""
    with board.engine.connect() as connection:
        return {
            name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for name, table in metadata.tables.items()
        }


def check(board: Board) -> None:
    """What holds on every board at any time. Raises: AssertionError."""
    for history in board.history():
        card, runs = history.card, history.runs
        unclosed = [run.id for run in runs if run.ended_at is None]
        assert unclosed == ([] if card.current_run is None else [card.current_run])
        assert (card.status is Status.RUNNING) == (card.current_run is not None)
        assert (card.claim_expires is None) == (card.current_run is None)
        assert [run.attempt for run in runs] == list(range(1, len(runs) + 1))
        for run in runs:
            assert run.status == (Status.RUNNING if run.ended_at is None else run.outcome)
        kinds = [event.kind for event in history.events]
        assert kinds[0] == "created"
        assert kinds.count(kinds[0]) == 1
        assert sum(kind == "claimed" for kind in kinds) == len(runs)
        assert card.phase in (Status.READY, Status.REVIEW)
        assert card.status in (card.phase, *(set(Status) - {Status.READY, Status.REVIEW}))
        assert (card.block_kind is None) == (card.block_recurrences == 0)
        if card.status is Status.DONE:
            assert card.completed_at is not None
            assert card.consecutive_failures == 0
