# SPDX-License-Identifier: Apache-2.0
"""The statements that a change of a card is made of, and what rows and words are turned into."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, and_, exists, select, update

from shellguard.board.model import (
    DEFAULT_LIMIT,
    LANES,
    BlockKind,
    BoardError,
    Card,
    Event,
    EventKind,
    Outcome,
    Run,
    Status,
)
from shellguard.board.tables import cards, events, links, runs

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_EPOCH = 1_577_836_800.0  # 2020, so that eight digits of milliseconds last until 2054


def locked(connection: Connection, card: str) -> Card | None:
    """A card that nobody else can change before this transaction ends. (SQLite has locked the whole board.)"""
    row = connection.execute(select(cards).where(cards.c.id == card).with_for_update()).first()
    return None if row is None else card_from(row)


def locked_by_run(connection: Connection, run: str) -> Card | None:
    """The card whose current run this is."""
    row = connection.execute(select(cards).where(cards.c.current_run == run).with_for_update()).first()
    return None if row is None else card_from(row)


def move(connection: Connection, card: Card, now: float, **values: Any) -> bool:
    """Changes a card, if it still is where it was seen, with the run that it was seen with."""
    statement = (
        update(cards)
        .where(
            cards.c.id == card.id,
            cards.c.status == card.status,
            cards.c.current_run.is_not_distinct_from(card.current_run),
        )
        .values(updated_at=now, **values)
    )
    return connection.execute(statement).rowcount == 1


def close(connection: Connection, card: Card, outcome: Outcome, now: float, **values: Any) -> None:
    """Closes the open run of a card that was just moved, where it had one."""
    if card.current_run is None:
        return
    statement = (
        update(runs)
        .where(runs.c.id == card.current_run, runs.c.ended_at.is_(None))
        .values(status=outcome, outcome=outcome, ended_at=now, **values)
    )
    one(connection.execute(statement).rowcount)


def one(rows: int) -> None:
    """Raises: BoardError, which takes the whole transaction back, when a run is not as its card says."""
    if rows != 1:
        raise BoardError("the board is damaged: a card names a run that is not open")


def say(
    connection: Connection, card: str, run: str | None, kind: EventKind, payload: dict[str, Any], now: float
) -> None:
    connection.execute(events.insert().values(card=card, run=run, kind=kind, payload=payload, at=now))


def has_open_parent() -> Any:
    """Whether a card has a parent that is not done. One that was archived after it was done counts as done."""
    parent = cards.alias("parent")
    return exists(
        select(links.c.parent)
        .join(parent, and_(parent.c.id == links.c.parent, parent.c.completed_at.is_(None)))
        .where(links.c.child == cards.c.id)
        .correlate(cards)
    )


def open_parents(connection: Connection, names: Sequence[str]) -> list[str]:
    """Those of some cards that are not done."""
    query = select(cards.c.id).where(cards.c.id.in_(names), cards.c.completed_at.is_(None))
    return sorted(connection.execute(query).scalars())


def open_parents_of(connection: Connection, card: str) -> list[str]:
    """The parents of a card that are not done."""
    query = (
        select(cards.c.id)
        .join(links, links.c.parent == cards.c.id)
        .where(links.c.child == card, cards.c.completed_at.is_(None))
        .order_by(cards.c.id)
    )
    return list(connection.execute(query).scalars())


def children_of(connection: Connection, card: str) -> list[str]:
    """The cards that wait for one."""
    query = select(links.c.child).where(links.c.parent == card).order_by(links.c.child)
    return list(connection.execute(query).scalars())


def limit_of(card: Card, of_profile: int | None) -> tuple[int, str]:
    """How many failures in a row block a card, and who says so."""
    if card.max_retries is not None:
        return card.max_retries, "card"
    return (DEFAULT_LIMIT, "default") if of_profile is None else (of_profile, "profile")


def card_from(row: Row[Any]) -> Card:
    values = dict(row._mapping)
    values["status"], values["phase"] = Status(values["status"]), Status(values["phase"])
    if values["block_kind"] is not None:
        values["block_kind"] = BlockKind(values["block_kind"])
    return Card(**values)


def run_from(row: Row[Any]) -> Run:
    values = dict(row._mapping)
    values["phase"] = Status(values["phase"])
    if values["outcome"] is not None:
        values["outcome"] = Outcome(values["outcome"])
    return Run(**values)


def event_from(row: Row[Any]) -> Event:
    values = dict(row._mapping)
    values["kind"] = EventKind(values["kind"])
    return Event(**values)


def moment_of(now: float | None) -> float:
    """The time that was given, else what the clock says."""
    return time.time() if now is None else now


def lane_of(phase: str) -> Status:
    """A phase. Raises: BoardError for another word."""
    if phase not in LANES:
        raise BoardError(f"the phase of a card is one of {', '.join(LANES)}, not {phase!r}")
    return Status(phase)


def object_of(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if value is None else dict(value)


def clean(value: Any) -> Any:
    """Text that every database takes: what is no Unicode, and the zero character, are written as escapes."""
    if value is None:
        return None
    return value.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def new_id(now: float) -> str:
    """`c-` and ten digits to the base 32: milliseconds, so that names sort by age, then two by chance."""
    number = (max(0, int((now - _ID_EPOCH) * 1000)) << 10 | uuid.uuid4().int & 1023) & (1 << 50) - 1
    digits = ""
    for _ in range(10):
        number, digit = divmod(number, 32)
        digits = _DIGITS[digit] + digits
    return f"c-{digits}"
