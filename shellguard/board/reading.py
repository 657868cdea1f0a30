# SPDX-License-Identifier: Apache-2.0
"""What there is on a board: cards, runs, events and links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from sqlalchemy import Connection, Engine, func, or_, select

from shellguard.board.model import LANES, Card, Event, History, Run, Status
from shellguard.board.statements import card_from, children_of, event_from, run_from
from shellguard.board.tables import cards, events, links, runs, said_plainly, shown


class Reader:
    """An open board, to look at. It may be used by several threads, and by as many processes as like."""

    def __init__(self, engine: Engine, address: str) -> None:
        self.engine, self.address, self.address_shown = engine, address, shown(address)
        self._sqlite = engine.dialect.name == "sqlite"

    def close(self) -> None:
        """Ends all connections."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def card(self, card: str) -> Card | None:
        with self._read() as connection:
            row = connection.execute(select(cards).where(cards.c.id == card)).first()
            return None if row is None else card_from(row)

    def cards(
        self, *, status: str | None = None, profile: str | None = None, limit: int | None = None
    ) -> list[Card]:
        """Cards, oldest first."""
        query = select(cards).order_by(cards.c.created_at, cards.c.id).limit(limit)
        if status is not None:
            query = query.where(cards.c.status == status)
        if profile is not None:
            query = query.where(cards.c.profile == profile)
        with self._read() as connection:
            return [card_from(row) for row in connection.execute(query)]

    def counts(self) -> dict[Status, int]:
        """How many cards stand in each status; statuses without a card are left out."""
        query = select(cards.c.status, func.count()).group_by(cards.c.status)
        with self._read() as connection:
            return {Status(status): number for status, number in connection.execute(query)}

    def runs(self, card: str) -> list[Run]:
        """The runs of a card, first attempt first."""
        query = select(runs).where(runs.c.card == card).order_by(runs.c.attempt)
        with self._read() as connection:
            return [run_from(row) for row in connection.execute(query)]

    def run(self, run: str) -> Run | None:
        with self._read() as connection:
            row = connection.execute(select(runs).where(runs.c.id == run)).first()
            return None if row is None else run_from(row)

    def history(self, card: str | None = None) -> list[History]:
        """One card, or all, oldest first, each with its links, runs and events: all as they were at one moment."""
        which: list[Any] = [] if card is None else [card]
        found: dict[str, History] = {}
        runs_of, events_of = defaultdict[str, list[Run]](list), defaultdict[str, list[Event]](list)
        above, below = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
        with self._read(snapshot=True) as connection:
            all_cards = select(cards).order_by(cards.c.created_at, cards.c.id)
            all_runs = select(runs).order_by(runs.c.attempt)
            all_events = select(events).order_by(events.c.id)
            all_links = select(links).order_by(links.c.parent, links.c.child)
            for name in which:
                all_cards = all_cards.where(cards.c.id == name)
                all_runs = all_runs.where(runs.c.card == name)
                all_events = all_events.where(events.c.card == name)
                all_links = all_links.where(or_(links.c.parent == name, links.c.child == name))
            for row in connection.execute(all_runs):
                runs_of[row.card].append(run_from(row))
            for row in connection.execute(all_events):
                events_of[row.card].append(event_from(row))
            for row in connection.execute(all_links):
                above[row.child].append(row.parent)
                below[row.parent].append(row.child)
            for row in connection.execute(all_cards):
                found[row.id] = History(
                    card_from(row),
                    tuple(above[row.id]),
                    tuple(below[row.id]),
                    tuple(runs_of[row.id]),
                    tuple(events_of[row.id]),
                )
        return list(found.values())

    def open_runs(self, host: str | None = None) -> list[Run]:
        """Runs that nobody has closed, of one host or of all."""
        query = select(runs).where(runs.c.ended_at.is_(None)).order_by(runs.c.claimed_at, runs.c.id)
        if host is not None:
            query = query.where(runs.c.host == host)
        with self._read() as connection:
            return [run_from(row) for row in connection.execute(query)]

    def events(self, card: str | None = None, since: int = 0, limit: int | None = None) -> list[Event]:
        """Events behind the one numbered `since`, in order."""
        query = select(events).where(events.c.id > since).order_by(events.c.id).limit(limit)
        if card is not None:
            query = query.where(events.c.card == card)
        with self._read() as connection:
            return [event_from(row) for row in connection.execute(query)]

    def last_event(self) -> int:
        """The number of the newest event, 0 when there is none."""
        with self._read() as connection:
            return connection.execute(select(func.max(events.c.id))).scalar() or 0

    def parents(self, card: str) -> list[str]:
        """The cards that one waits for."""
        with self._read() as connection:
            query = select(links.c.parent).where(links.c.child == card).order_by(links.c.parent)
            return list(connection.execute(query).scalars())

    def children(self, card: str) -> list[str]:
        """The cards that wait for one."""
        with self._read() as connection:
            return children_of(connection, card)

    def ready(self, limit: int | None = None, *, without: Sequence[str] = ()) -> list[Card]:
        """Cards that can be claimed: those of a higher priority first, then the older. `without`: profiles to leave."""
        query = (
            select(cards)
            .where(cards.c.status.in_(LANES))
            .order_by(cards.c.priority.desc(), cards.c.created_at, cards.c.id)
            .limit(limit)
        )
        if without:
            query = query.where(cards.c.profile.not_in(without))
        with self._read() as connection:
            return [card_from(row) for row in connection.execute(query)]

    @contextmanager
    def _read(self, *, snapshot: bool = False) -> Iterator[Connection]:
        with said_plainly(), self.engine.connect() as connection:
            if self._sqlite:
                connection.exec_driver_sql("BEGIN")
            elif snapshot:
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection
