# SPDX-License-Identifier: Apache-2.0
"""The board: every change of a card is one fenced statement, in one transaction with its run and its event.

Whoever comes too late changes nothing and is told so: the methods give back False or None. Rows are asked for by their
id. Every method raises BoardUnavailableError when the database did not answer. It may have taken what it was sent: the
same call, made again, then comes too late.
"""

from __future__ import annotations

import contextlib
import math
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, Row, and_, exists, func, or_, select, update
from sqlalchemy.exc import IntegrityError

from shellguard.board.model import (
    DEFAULT_LIMIT,
    FAILURES,
    LANES,
    MAX_ERROR,
    BlockKind,
    BoardError,
    Card,
    Event,
    EventKind,
    History,
    Outcome,
    Run,
    Status,
)
from shellguard.board.tables import (
    address_of,
    cards,
    events,
    links,
    open_engine,
    runs,
    said_plainly,
    shown,
    url_of,
)

COMPLETABLE = (Status.RUNNING, Status.READY, Status.BLOCKED, Status.REVIEW)
BLOCKABLE = (Status.RUNNING, Status.READY, Status.REVIEW)
UNBLOCKABLE = (Status.BLOCKED, Status.SCHEDULED)
RETRIABLE = (Status.BLOCKED, Status.DONE, Status.TRIAGE, Status.ARCHIVED)
ADDABLE = (Status.TRIAGE, Status.TODO, Status.SCHEDULED, Status.READY, Status.REVIEW, Status.BLOCKED)

MOST = 1_000_000_000
"""No number that a card is given is larger."""

LOOP = 2
"""Blocks of one kind in a row after which somebody has to look at the card."""

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_EPOCH = 1_577_836_800.0  # 2020, so that eight digits of milliseconds last until 2054

_NO_CLAIM: dict[str, Any] = {"current_run": None, "claim_expires": None}
_NO_BLOCK: dict[str, Any] = {
    "block_kind": None,
    "block_recurrences": 0,
    "block_reason": None,
    "request": None,
}


class Board:
    """An open board. It may be used by several threads, and by as many processes as like."""

    def __init__(self, engine: Engine, address: str) -> None:
        self.engine, self.address, self.address_shown = engine, address, shown(address)
        self._sqlite = engine.dialect.name == "sqlite"

    @classmethod
    def open(cls, address: str | None = None, *, make: bool = True) -> Board:
        """Opens the board at an address (`tables.address_of`), making it where there is none. Raises: BoardError.

        Without `make` it is an error that there is none.
        """
        where = address_of(address)
        url = url_of(where)
        engine = open_engine(url, make=make)
        # Of a file the whole path: whoever is given it may stand in another folder.
        return cls(engine, url.database or "" if engine.dialect.name == "sqlite" else where)

    def close(self) -> None:
        """Ends all connections."""
        self.engine.dispose()

    def __enter__(self) -> Board:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- looking ------------------------------------------------------------------------------------------------------

    def card(self, card: str) -> Card | None:
        with self._read() as connection:
            row = connection.execute(select(cards).where(cards.c.id == card)).first()
            return None if row is None else _card(row)

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
            return [_card(row) for row in connection.execute(query)]

    def counts(self) -> dict[Status, int]:
        """How many cards stand in each status; statuses without a card are left out."""
        query = select(cards.c.status, func.count()).group_by(cards.c.status)
        with self._read() as connection:
            return {Status(status): number for status, number in connection.execute(query)}

    def runs(self, card: str) -> list[Run]:
        """The runs of a card, first attempt first."""
        query = select(runs).where(runs.c.card == card).order_by(runs.c.attempt)
        with self._read() as connection:
            return [_run(row) for row in connection.execute(query)]

    def run(self, run: str) -> Run | None:
        with self._read() as connection:
            row = connection.execute(select(runs).where(runs.c.id == run)).first()
            return None if row is None else _run(row)

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
                runs_of[row.card].append(_run(row))
            for row in connection.execute(all_events):
                events_of[row.card].append(_event(row))
            for row in connection.execute(all_links):
                above[row.child].append(row.parent)
                below[row.parent].append(row.child)
            for row in connection.execute(all_cards):
                found[row.id] = History(
                    _card(row),
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
            return [_run(row) for row in connection.execute(query)]

    def expired(self, now: float | None = None) -> list[Run]:
        """Open runs whose lease is over."""
        query = (
            select(runs)
            .where(runs.c.ended_at.is_(None), runs.c.claim_expires < _moment(now))
            .order_by(runs.c.claim_expires, runs.c.id)
        )
        with self._read() as connection:
            return [_run(row) for row in connection.execute(query)]

    def events(self, card: str | None = None, since: int = 0, limit: int | None = None) -> list[Event]:
        """Events behind the one numbered `since`, in order."""
        query = select(events).where(events.c.id > since).order_by(events.c.id).limit(limit)
        if card is not None:
            query = query.where(events.c.card == card)
        with self._read() as connection:
            return [_event(row) for row in connection.execute(query)]

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
            return _children(connection, card)

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
            return [_card(row) for row in connection.execute(query)]

    # --- adding, and coming of age ------------------------------------------------------------------------------------

    def add(
        self,
        title: str,
        *,
        profile: str,
        body: str = "",
        status: str | None = None,
        phase: str = Status.READY,
        priority: int = 0,
        workspace: str | None = None,
        repo: str | None = None,
        max_runtime: float | None = None,
        max_retries: int | None = None,
        settings: Mapping[str, Any] | None = None,
        parents: Sequence[str] = (),
        at: float | None = None,
        now: float | None = None,
    ) -> Card:
        """A new card: `scheduled` with `at`, `todo` while a parent is open, else in its phase. Raises: BoardError."""
        moment = _moment(now)
        if not title.strip() or not profile.strip():
            raise BoardError("a card needs a title and a profile")
        if workspace is not None and repo is not None:
            raise BoardError("a card works in a folder, or in a work tree of a repository, not in both")
        lane = _lane(phase)
        for name, number in (("max_runtime", max_runtime), ("at", at)):
            if number is not None and not (math.isfinite(number) and number > 0):
                raise BoardError(f"{name}: {number} is no number of seconds")
        for name, count, least in (("priority", priority, -MOST), ("max_retries", max_retries, 0)):
            if count is not None and not least <= count <= MOST:
                raise BoardError(f"{name}: it has to be from {least} to {MOST}")
        if status is not None and status not in ADDABLE:
            raise BoardError(f"a new card cannot be {status!r}, only one of {', '.join(ADDABLE)}")
        if status == Status.SCHEDULED and at is None:
            raise BoardError("a scheduled card needs a time")
        wanted = Status(status) if status is not None else lane if at is None else Status.SCHEDULED
        if wanted in LANES and status is not None:
            lane = wanted
        values: dict[str, Any] = {
            "title": _text(title),
            "body": _text(body),
            "profile": _text(profile),
            "phase": lane,
            "priority": priority,
            "created_at": moment,
            "updated_at": moment,
            "scheduled_at": at,
            "workspace": _text(workspace),
            "repo": _text(repo),
            "max_runtime": max_runtime,
            "max_retries": max_retries,
            "settings": dict(settings or {}),
            "consecutive_failures": 0,
            "block_recurrences": 0,
        }
        above = sorted(set(parents))
        for _ in range(20):
            name = _new_id(moment)
            with contextlib.suppress(_TakenError), self._write() as connection:
                found = set(connection.execute(select(cards.c.id).where(cards.c.id.in_(above))).scalars())
                if missing := [each for each in above if each not in found]:
                    raise BoardError(f"there is no card {missing[0]!r}")
                begins = wanted
                if wanted in LANES and _open_parents(connection, above):
                    begins = Status.TODO
                if connection.execute(select(cards.c.id).where(cards.c.id == name)).first() is not None:
                    raise _TakenError
                try:
                    connection.execute(cards.insert().values(id=name, status=begins, **values))
                except IntegrityError as error:
                    raise _TakenError from error
                if above:
                    connection.execute(links.insert(), [{"parent": each, "child": name} for each in above])
                payload = {"status": begins, "profile": values["profile"], "parents": above}
                _say(connection, name, None, EventKind.CREATED, payload, moment)
                row = connection.execute(select(cards).where(cards.c.id == name)).one()
                return _card(row)
        raise BoardError("no name was free for the card: try again")

    def recompute(self, now: float | None = None) -> list[str]:
        """Moves on the cards whose parents are all done, and those whose time has come; names them."""
        moment = _moment(now)
        with self._read() as connection:
            due = select(cards.c.id).where(cards.c.status == Status.SCHEDULED, cards.c.scheduled_at <= moment)
            free = select(cards.c.id).where(cards.c.status == Status.TODO, ~_waits())
            names = sorted(connection.execute(due.union(free)).scalars())
        return [name for name in names if self._promote(name, moment)]

    def _promote(self, card: str, now: float) -> bool:
        with self._write() as connection:
            found = _locked(connection, card)
            if found is None or found.status not in (Status.TODO, Status.SCHEDULED):
                return False
            if found.status is Status.SCHEDULED and (found.scheduled_at or 0) > now:
                return False
            waits = bool(_open_parents_of(connection, card))
            if waits and found.status is Status.TODO:
                return False
            to = Status.TODO if waits else found.phase
            if not _move(connection, found, now, status=to):
                return False
            _say(connection, card, None, EventKind.PROMOTED, {"from": found.status, "to": to}, now)
            return True

    def _promote_children(self, card: str, now: float) -> None:
        """In transactions of their own: who holds one card never waits for another. `recompute` does what is missed."""
        with contextlib.suppress(BoardError):
            for name in self.children(card):
                self._promote(name, now)

    # --- a run --------------------------------------------------------------------------------------------------------

    def claim(
        self,
        card: str,
        *,
        profile: str,
        host: str,
        dispatcher: str,
        lease: float,
        token_hash: str,
        frozen: Mapping[str, Any],
        max_runtime: float | None = None,
        workspace: str | None = None,
        log: str | None = None,
        now: float | None = None,
    ) -> Run | None:
        """Takes a card that is ready, or in review: it runs from now on, and has a new open run.

        None when somebody else was faster, or a parent is open after all: the card is `todo` then.
        """
        moment = _moment(now)
        with self._write() as connection:
            found = _locked(connection, card)
            if found is None or found.status not in LANES:
                return None
            waiting = _open_parents_of(connection, card)
            if waiting:
                if _move(connection, found, moment, status=Status.TODO):
                    _say(connection, card, None, EventKind.DEPENDENCY_WAIT, {"open": waiting}, moment)
                return None
            run, expires = uuid.uuid4().hex, moment + lease
            started = moment if found.started_at is None else found.started_at
            if not _move(
                connection,
                found,
                moment,
                status=Status.RUNNING,
                current_run=run,
                claim_expires=expires,
                started_at=started,
            ):
                return None
            last = connection.execute(select(func.max(runs.c.attempt)).where(runs.c.card == card)).scalar()
            connection.execute(
                runs.insert().values(
                    id=run,
                    card=card,
                    attempt=(last or 0) + 1,
                    profile=_text(profile),
                    phase=found.status,
                    status=Status.RUNNING,
                    host=_text(host),
                    dispatcher=_text(dispatcher),
                    claimed_at=moment,
                    claim_expires=expires,
                    max_runtime=max_runtime,
                    frozen=dict(frozen),
                    token_hash=token_hash,
                    workspace=_text(workspace),
                    log=_text(log),
                )
            )
            payload = {"run": run, "host": _text(host), "source_status": found.status}
            _say(connection, card, run, EventKind.CLAIMED, payload, moment)
            return _run(connection.execute(select(runs).where(runs.c.id == run)).one())

    def begin(self, run: str, *, supervisor: str, now: float | None = None) -> Run | None:
        """A supervisor takes its run; None when another one has it, or it is not current any more. Time runs from here.

        `supervisor` is a process, as `BOOT:PID:START`.
        """
        moment = _moment(now)
        with self._write() as connection:
            if _locked_by_run(connection, run) is None:
                return None
            statement = (
                update(runs)
                .where(runs.c.id == run, runs.c.ended_at.is_(None), runs.c.supervisor.is_(None))
                .values(supervisor=supervisor, started_at=moment, heartbeat_at=moment)
            )
            if connection.execute(statement).rowcount != 1:
                return None
            return _run(connection.execute(select(runs).where(runs.c.id == run)).one())

    def started(
        self, run: str, *, child: str | None, keeper: str | None = None, now: float | None = None
    ) -> bool:
        """Writes down the processes of a run, and that it started. False when it is not current any more."""
        moment = _moment(now)
        with self._write() as connection:
            found = _locked_by_run(connection, run)
            if found is None:
                return False
            statement = (
                update(runs)
                .where(runs.c.id == run, runs.c.ended_at.is_(None), runs.c.supervisor.is_not(None))
                .values(child=child, keeper=keeper)
            )
            if connection.execute(statement).rowcount != 1:
                return False
            row = _run(connection.execute(select(runs).where(runs.c.id == run)).one())
            payload = {"pid": row.supervisor_pid, "child": row.child_pid}
            _say(connection, found.id, run, EventKind.STARTED, payload, moment)
            return True

    def heartbeat(self, run: str, *, lease: float, note: str | None = None, now: float | None = None) -> bool:
        """A run lives: its lease counts from now. False when it is not current any more. Only a `note` is an event."""
        moment = _moment(now)
        with self._write() as connection:
            found = _locked_by_run(connection, run)
            if found is None or not _move(connection, found, moment, claim_expires=moment + lease):
                return False
            statement = (
                update(runs)
                .where(runs.c.id == run, runs.c.ended_at.is_(None))
                .values(heartbeat_at=moment, claim_expires=moment + lease)
            )
            _one(connection.execute(statement).rowcount)
            if note is not None:
                _say(connection, found.id, run, EventKind.HEARTBEAT, {"note": _text(note)}, moment)
            return True

    def extend(self, run: str, *, lease: float, now: float | None = None) -> bool:
        """The lease of a run counts from now, though it did not say that it lives. False when it is not current."""
        moment = _moment(now)
        with self._write() as connection:
            found = _locked_by_run(connection, run)
            if found is None or not _move(connection, found, moment, claim_expires=moment + lease):
                return False
            statement = (
                update(runs)
                .where(runs.c.id == run, runs.c.ended_at.is_(None))
                .values(claim_expires=moment + lease)
            )
            _one(connection.execute(statement).rowcount)
            return True

    def exited(self, run: str, status: int) -> bool:
        """Writes down how the supervisor of a run ended, once. It says nothing about the card."""
        with self._write() as connection:
            statement = (
                update(runs)
                .where(runs.c.id == run, runs.c.supervisor_exit.is_(None))
                .values(supervisor_exit=status)
            )
            return connection.execute(statement).rowcount == 1

    def note(
        self,
        card: str,
        kind: str,
        payload: Mapping[str, Any] | None = None,
        *,
        run: str | None = None,
        now: float | None = None,
    ) -> bool:
        """Writes an event that changes nothing. False when there is no such card."""
        moment, what = _moment(now), EventKind(kind)
        with self._write() as connection:
            if connection.execute(select(cards.c.id).where(cards.c.id == card)).first() is None:
                return False
            _say(connection, card, run, what, dict(payload or {}), moment)
            return True

    # --- words about a card -------------------------------------------------------------------------------------------

    def complete(
        self,
        card: str,
        *,
        run: str | None = None,
        summary: str = "",
        metadata: Mapping[str, Any] | None = None,
        exit_code: int | None = None,
        by: str = "operator",
        now: float | None = None,
    ) -> bool:
        """running, ready, blocked, review -> done. With a `run`, only while that is the current one."""
        moment = _moment(now)
        with self._write() as connection:
            found = _locked(connection, card)
            if found is None or found.status not in COMPLETABLE or run not in (None, found.current_run):
                return False
            if not _move(
                connection,
                found,
                moment,
                status=Status.DONE,
                completed_at=moment,
                consecutive_failures=0,
                last_error=None,
                result=_text(summary),
                **_NO_CLAIM,
                **_NO_BLOCK,
            ):
                return False
            _close(
                connection,
                found,
                Outcome.COMPLETED,
                moment,
                summary=_text(summary),
                metadata=_object(metadata),
                exit_code=exit_code,
            )
            payload = {"by": by, "summary": _text(summary), "exit_code": exit_code}
            _say(connection, card, found.current_run, EventKind.COMPLETED, payload, moment)
        self._promote_children(card, moment)
        return True

    def block(
        self,
        card: str,
        *,
        run: str | None = None,
        kind: str | None = None,
        reason: str,
        request: str | None = None,
        exit_code: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        by: str = "operator",
        now: float | None = None,
    ) -> bool:
        """running, ready, review -> blocked. With a `run`, only while that is the current one.

        A `dependency` goes to `todo`. The same kind a second time in a row goes to `triage`, unless an exit code says
        why. The worker of a running card is not ended by this, but by the dispatcher that sees it.
        """
        moment = _moment(now)
        lacks = None if kind is None else BlockKind(kind)
        with self._write() as connection:
            found = _locked(connection, card)
            if found is None or found.status not in BLOCKABLE or run not in (None, found.current_run):
                return False
            again = lacks is not None and lacks == found.block_kind
            recurrences = 0 if lacks is None else found.block_recurrences + 1 if again else 1
            loops = recurrences >= LOOP and exit_code is None
            to = Status.BLOCKED
            if loops:
                to = Status.TRIAGE
            elif lacks is BlockKind.DEPENDENCY:
                to = Status.TODO
            if not _move(
                connection,
                found,
                moment,
                status=to,
                block_kind=lacks,
                block_recurrences=recurrences,
                block_reason=_text(reason),
                request=_text(request),
                **_NO_CLAIM,
            ):
                return False
            _close(
                connection,
                found,
                Outcome.BLOCKED,
                moment,
                summary=_text(reason),
                metadata=_object(metadata),
                exit_code=exit_code,
            )
            payload = {
                "kind": lacks,
                "reason": _text(reason),
                "by": by,
                "exit_code": exit_code,
                "request": _text(request),
            }
            waits = to is Status.TODO
            said = EventKind.DEPENDENCY_WAIT if waits else EventKind.BLOCKED
            _say(connection, card, found.current_run, said, payload, moment)
            if loops:
                loop = {"kind": lacks, "recurrences": recurrences}
                _say(connection, card, found.current_run, EventKind.BLOCK_LOOP_DETECTED, loop, moment)
            return True

    def unblock(
        self, card: str, *, request: str | None = None, by: str = "operator", now: float | None = None
    ) -> bool:
        """blocked, scheduled -> its phase, or `todo` while a parent is open. With a `request`, only if it waits for it.

        The kind of the block is remembered, to know a loop by, unless a request was answered: that was no loop.
        """
        moment = _moment(now)
        with self._write() as connection:
            found = _locked(connection, card)
            if found is None or found.status not in UNBLOCKABLE or request not in (None, found.request):
                return False
            to = Status.TODO if _open_parents_of(connection, card) else found.phase
            values = {"block_reason": None, "request": None} if request is None else _NO_BLOCK
            if not _move(connection, found, moment, status=to, consecutive_failures=0, **values):
                return False
            payload = {"from": found.status, "to": to, "by": by, "request": request}
            _say(connection, card, None, EventKind.UNBLOCKED, payload, moment)
            return True

    def retry(self, card: str, *, by: str = "operator", now: float | None = None) -> bool:
        """blocked, done, triage, archived -> its phase, or `todo` while a parent is open; as if it were new."""
        moment = _moment(now)
        with self._write() as connection:
            found = _locked(connection, card)
            if found is None or found.status not in RETRIABLE:
                return False
            to = Status.TODO if _open_parents_of(connection, card) else found.phase
            if not _move(
                connection,
                found,
                moment,
                status=to,
                completed_at=None,
                consecutive_failures=0,
                last_error=None,
                result=None,
                **_NO_BLOCK,
            ):
                return False
            payload = {"from": found.status, "to": to, "by": by}
            _say(connection, card, None, EventKind.RETRIED, payload, moment)
            return True

    def archive(self, card: str, *, by: str = "operator", now: float | None = None) -> bool:
        """any -> archived. A run that was open is closed as reclaimed; the dispatcher ends its worker."""
        moment = _moment(now)
        with self._write() as connection:
            found = _locked(connection, card)
            if found is None or found.status is Status.ARCHIVED:
                return False
            if not _move(connection, found, moment, status=Status.ARCHIVED, **_NO_CLAIM):
                return False
            _close(connection, found, Outcome.RECLAIMED, moment, summary="archived")
            payload = {"from": found.status, "by": by}
            _say(connection, card, found.current_run, EventKind.ARCHIVED, payload, moment)
            return True

    # --- what the dispatcher alone says -------------------------------------------------------------------------------

    def fail(
        self,
        run: str,
        *,
        outcome: str,
        error: str,
        payload: Mapping[str, Any] | None = None,
        exit_code: int | None = None,
        limit: int | None = None,
        now: float | None = None,
    ) -> bool:
        """A run timed out, crashed or could not be started: its card goes back to its phase, one failure more.

        `limit` is that of the profile; the card's own comes first, `DEFAULT_LIMIT` last. At the limit the card is
        blocked, with a second event. False when the run is not current any more: then nothing is counted.
        """
        moment, how = _moment(now), Outcome(outcome)
        if how not in FAILURES:
            raise ValueError(f"{outcome} is no failure")
        with self._write() as connection:
            found = _locked_by_run(connection, run)
            if found is None:
                return False
            failures = found.consecutive_failures + 1
            most, source = _limit(found, limit)
            trips = failures >= most
            said = _text(error)
            values: dict[str, Any] = {"status": found.phase, **_NO_CLAIM}
            if trips:
                values |= _NO_BLOCK | {"status": Status.BLOCKED, "block_reason": said[:MAX_ERROR]}
            if not _move(
                connection,
                found,
                moment,
                consecutive_failures=failures,
                last_error=said[:MAX_ERROR],
                **values,
            ):
                return False
            record = {**(payload or {}), "retry_status": found.phase}
            _close(connection, found, how, moment, error=said, metadata=record, exit_code=exit_code)
            _say(connection, found.id, run, EventKind(how.value), record, moment)
            if trips:
                tripped = {
                    "failures": failures,
                    "effective_limit": most,
                    "limit_source": source,
                    "error": said[:MAX_ERROR],
                    "trigger_outcome": how,
                    "retry_status": found.phase,
                }
                _say(connection, found.id, run, EventKind.GAVE_UP, tripped, moment)
            return True

    def reclaim(
        self, run: str, *, reason: str, payload: Mapping[str, Any] | None = None, now: float | None = None
    ) -> bool:
        """Takes a card back from a run, which is no failure. False when the run is not current any more."""
        moment = _moment(now)
        with self._write() as connection:
            found = _locked_by_run(connection, run)
            if found is None or not _move(connection, found, moment, status=found.phase, **_NO_CLAIM):
                return False
            _close(connection, found, Outcome.RECLAIMED, moment, summary=_text(reason))
            record = {**(payload or {}), "reason": _text(reason), "retry_status": found.phase}
            _say(connection, found.id, run, EventKind.RECLAIMED, record, moment)
            return True

    # --- transactions -------------------------------------------------------------------------------------------------

    @contextmanager
    def _read(self, *, snapshot: bool = False) -> Iterator[Connection]:
        with said_plainly(), self.engine.connect() as connection:
            if self._sqlite:
                connection.exec_driver_sql("BEGIN")
            elif snapshot:
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with said_plainly(), self.engine.connect() as connection:
            if self._sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            connection.commit()


class _TakenError(Exception):
    """The name of a new card belongs to another."""


def _locked(connection: Connection, card: str) -> Card | None:
    """A card that nobody else can change before this transaction ends. (SQLite has locked the whole board.)"""
    row = connection.execute(select(cards).where(cards.c.id == card).with_for_update()).first()
    return None if row is None else _card(row)


def _locked_by_run(connection: Connection, run: str) -> Card | None:
    """The card whose current run this is."""
    row = connection.execute(select(cards).where(cards.c.current_run == run).with_for_update()).first()
    return None if row is None else _card(row)


def _move(connection: Connection, card: Card, now: float, **values: Any) -> bool:
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


def _close(connection: Connection, card: Card, outcome: Outcome, now: float, **values: Any) -> None:
    """Closes the open run of a card that was just moved, where it had one."""
    if card.current_run is None:
        return
    statement = (
        update(runs)
        .where(runs.c.id == card.current_run, runs.c.ended_at.is_(None))
        .values(status=outcome, outcome=outcome, ended_at=now, **values)
    )
    _one(connection.execute(statement).rowcount)


def _one(rows: int) -> None:
    """Raises: BoardError, which takes the whole transaction back, when a run is not as its card says."""
    if rows != 1:
        raise BoardError("the board is damaged: a card names a run that is not open")


def _say(
    connection: Connection, card: str, run: str | None, kind: EventKind, payload: dict[str, Any], now: float
) -> None:
    connection.execute(events.insert().values(card=card, run=run, kind=kind, payload=payload, at=now))


def _waits() -> Any:
    """Whether a card has a parent that is not done. One that was archived after it was done counts as done."""
    parent = cards.alias("parent")
    return exists(
        select(links.c.parent)
        .join(parent, and_(parent.c.id == links.c.parent, parent.c.completed_at.is_(None)))
        .where(links.c.child == cards.c.id)
        .correlate(cards)
    )


def _open_parents(connection: Connection, names: Sequence[str]) -> list[str]:
    query = select(cards.c.id).where(cards.c.id.in_(names), cards.c.completed_at.is_(None))
    return sorted(connection.execute(query).scalars())


def _open_parents_of(connection: Connection, card: str) -> list[str]:
    query = (
        select(cards.c.id)
        .join(links, links.c.parent == cards.c.id)
        .where(links.c.child == card, cards.c.completed_at.is_(None))
        .order_by(cards.c.id)
    )
    return list(connection.execute(query).scalars())


def _children(connection: Connection, card: str) -> list[str]:
    query = select(links.c.child).where(links.c.parent == card).order_by(links.c.child)
    return list(connection.execute(query).scalars())


def _limit(card: Card, of_profile: int | None) -> tuple[int, str]:
    if card.max_retries is not None:
        return card.max_retries, "card"
    return (DEFAULT_LIMIT, "default") if of_profile is None else (of_profile, "profile")


def _card(row: Row[Any]) -> Card:
    values = dict(row._mapping)
    values["status"], values["phase"] = Status(values["status"]), Status(values["phase"])
    if values["block_kind"] is not None:
        values["block_kind"] = BlockKind(values["block_kind"])
    return Card(**values)


def _run(row: Row[Any]) -> Run:
    values = dict(row._mapping)
    values["phase"] = Status(values["phase"])
    if values["outcome"] is not None:
        values["outcome"] = Outcome(values["outcome"])
    return Run(**values)


def _event(row: Row[Any]) -> Event:
    values = dict(row._mapping)
    values["kind"] = EventKind(values["kind"])
    return Event(**values)


def _moment(now: float | None) -> float:
    return time.time() if now is None else now


def _lane(phase: str) -> Status:
    if phase not in LANES:
        raise BoardError(f"the phase of a card is one of {', '.join(LANES)}, not {phase!r}")
    return Status(phase)


def _object(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if value is None else dict(value)


def _text(value: Any) -> Any:
    """Text that every database takes: what is no Unicode, and the zero character, are written as escapes."""
    if value is None:
        return None
    return value.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def _new_id(now: float) -> str:
    """`c-` and ten digits to the base 32: milliseconds, so that names sort by age, then two by chance."""
    number = (max(0, int((now - _ID_EPOCH) * 1000)) << 10 | uuid.uuid4().int & 1023) & (1 << 50) - 1
    digits = ""
    for _ in range(10):
        number, digit = divmod(number, 32)
        digits = _DIGITS[digit] + digits
    return f"c-{digits}"
