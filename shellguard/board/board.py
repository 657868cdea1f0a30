# SPDX-License-Identifier: Apache-2.0
"""The board: every change of a card is one fenced statement, in one transaction with its run and its event.

Whoever comes too late changes nothing and is told so: the methods give back False or None. Rows are asked for by their
id. Every method raises BoardUnavailableError when the database did not answer. It may have taken what it was sent: the
same call, made again, then comes too late.
"""

from __future__ import annotations

import contextlib
import math
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, func, select, update
from sqlalchemy.exc import IntegrityError

from shellguard.board.model import (
    FAILURES,
    LANES,
    MAX_ERROR,
    BlockKind,
    BoardError,
    Card,
    EventKind,
    Outcome,
    Run,
    Status,
)
from shellguard.board.reading import Reader
from shellguard.board.statements import (
    card_from,
    clean,
    close,
    has_open_parent,
    lane_of,
    limit_of,
    locked,
    locked_by_run,
    moment_of,
    move,
    new_id,
    object_of,
    one,
    open_parents,
    open_parents_of,
    run_from,
    say,
)
from shellguard.board.tables import (
    address_of,
    cards,
    links,
    open_engine,
    runs,
    said_plainly,
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

_NO_CLAIM: dict[str, Any] = {"current_run": None, "claim_expires": None}
_NO_BLOCK: dict[str, Any] = {
    "block_kind": None,
    "block_recurrences": 0,
    "block_reason": None,
    "request": None,
}


class Board(Reader):
    """An open board, to change."""

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
        moment = moment_of(now)
        if not title.strip() or not profile.strip():
            raise BoardError("a card needs a title and a profile")
        if workspace is not None and repo is not None:
            raise BoardError("a card works in a folder, or in a work tree of a repository, not in both")
        lane = lane_of(phase)
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
            "title": clean(title),
            "body": clean(body),
            "profile": clean(profile),
            "phase": lane,
            "priority": priority,
            "created_at": moment,
            "updated_at": moment,
            "scheduled_at": at,
            "workspace": clean(workspace),
            "repo": clean(repo),
            "max_runtime": max_runtime,
            "max_retries": max_retries,
            "settings": dict(settings or {}),
            "consecutive_failures": 0,
            "block_recurrences": 0,
        }
        above = sorted(set(parents))
        for _ in range(20):
            name = new_id(moment)
            with contextlib.suppress(_TakenError), self._write() as connection:
                found = set(connection.execute(select(cards.c.id).where(cards.c.id.in_(above))).scalars())
                if missing := [each for each in above if each not in found]:
                    raise BoardError(f"there is no card {missing[0]!r}")
                begins = wanted
                if wanted in LANES and open_parents(connection, above):
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
                say(connection, name, None, EventKind.CREATED, payload, moment)
                row = connection.execute(select(cards).where(cards.c.id == name)).one()
                return card_from(row)
        raise BoardError("no name was free for the card: try again")

    def recompute(self, now: float | None = None) -> list[str]:
        """Moves on the cards whose parents are all done, and those whose time has come; names them."""
        moment = moment_of(now)
        with self._read() as connection:
            due = select(cards.c.id).where(cards.c.status == Status.SCHEDULED, cards.c.scheduled_at <= moment)
            free = select(cards.c.id).where(cards.c.status == Status.TODO, ~has_open_parent())
            names = sorted(connection.execute(due.union(free)).scalars())
        return [name for name in names if self._promote(name, moment)]

    def _promote(self, card: str, now: float) -> bool:
        with self._write() as connection:
            found = locked(connection, card)
            if found is None or found.status not in (Status.TODO, Status.SCHEDULED):
                return False
            if found.status is Status.SCHEDULED and (found.scheduled_at or 0) > now:
                return False
            waits = bool(open_parents_of(connection, card))
            if waits and found.status is Status.TODO:
                return False
            to = Status.TODO if waits else found.phase
            if not move(connection, found, now, status=to):
                return False
            say(connection, card, None, EventKind.PROMOTED, {"from": found.status, "to": to}, now)
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
        frozen: Mapping[str, Any],
        max_runtime: float | None = None,
        workspace: str | None = None,
        log: str | None = None,
        now: float | None = None,
    ) -> Run | None:
        """Takes a card that is ready, or in review: it runs from now on, and has a new open run.

        None when somebody else was faster, or a parent is open after all: the card is `todo` then.
        """
        moment = moment_of(now)
        with self._write() as connection:
            found = locked(connection, card)
            if found is None or found.status not in LANES:
                return None
            waiting = open_parents_of(connection, card)
            if waiting:
                if move(connection, found, moment, status=Status.TODO):
                    say(connection, card, None, EventKind.DEPENDENCY_WAIT, {"open": waiting}, moment)
                return None
            run, expires = uuid.uuid4().hex, moment + lease
            started = moment if found.started_at is None else found.started_at
            if not move(
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
                    profile=clean(profile),
                    phase=found.status,
                    status=Status.RUNNING,
                    host=clean(host),
                    dispatcher=clean(dispatcher),
                    claimed_at=moment,
                    claim_expires=expires,
                    max_runtime=max_runtime,
                    frozen=dict(frozen),
                    workspace=clean(workspace),
                    log=clean(log),
                )
            )
            payload = {"run": run, "host": clean(host), "source_status": found.status}
            say(connection, card, run, EventKind.CLAIMED, payload, moment)
            return run_from(connection.execute(select(runs).where(runs.c.id == run)).one())

    def begin(self, run: str, *, supervisor: str, now: float | None = None) -> Run | None:
        """A supervisor takes its run; None when another one has it, or it is not current any more. Time runs from here.

        `supervisor` is a process, as `BOOT:PID:START`.
        """
        moment = moment_of(now)
        with self._write() as connection:
            if locked_by_run(connection, run) is None:
                return None
            statement = (
                update(runs)
                .where(runs.c.id == run, runs.c.ended_at.is_(None), runs.c.supervisor.is_(None))
                .values(supervisor=supervisor, started_at=moment, heartbeat_at=moment)
            )
            if connection.execute(statement).rowcount != 1:
                return None
            return run_from(connection.execute(select(runs).where(runs.c.id == run)).one())

    def started(
        self, run: str, *, child: str | None, keeper: str | None = None, now: float | None = None
    ) -> bool:
        """Writes down the processes of a run, and that it started. False when it is not current any more."""
        moment = moment_of(now)
        with self._write() as connection:
            found = locked_by_run(connection, run)
            if found is None:
                return False
            statement = (
                update(runs)
                .where(runs.c.id == run, runs.c.ended_at.is_(None), runs.c.supervisor.is_not(None))
                .values(child=child, keeper=keeper)
            )
            if connection.execute(statement).rowcount != 1:
                return False
            row = run_from(connection.execute(select(runs).where(runs.c.id == run)).one())
            payload = {"pid": row.supervisor_pid, "child": row.child_pid}
            say(connection, found.id, run, EventKind.STARTED, payload, moment)
            return True

    def heartbeat(self, run: str, *, lease: float, note: str | None = None, now: float | None = None) -> bool:
        """A run lives: its lease counts from now. False when it is not current any more. Only a `note` is an event."""
        moment = moment_of(now)
        with self._write() as connection:
            found = _leased(connection, run, lease, moment, heartbeat_at=moment)
            if found is not None and note is not None:
                say(connection, found.id, run, EventKind.HEARTBEAT, {"note": clean(note)}, moment)
            return found is not None

    def extend(self, run: str, *, lease: float, now: float | None = None) -> bool:
        """The lease of a run counts from now, though it did not say that it lives. False when it is not current."""
        with self._write() as connection:
            return _leased(connection, run, lease, moment_of(now)) is not None

    def exited(self, run: str, status: int, *, now: float | None = None) -> bool:
        """Writes down how the supervisor of a run ended, once, as its last heartbeat. The card stays as it is."""
        moment = moment_of(now)
        with self._write() as connection:
            statement = (
                update(runs)
                .where(runs.c.id == run, runs.c.supervisor_exit.is_(None))
                .values(supervisor_exit=status, heartbeat_at=moment)
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
        moment, what = moment_of(now), EventKind(kind)
        with self._write() as connection:
            if connection.execute(select(cards.c.id).where(cards.c.id == card)).first() is None:
                return False
            say(connection, card, run, what, dict(payload or {}), moment)
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
        moment = moment_of(now)
        with self._write() as connection:
            found = locked(connection, card)
            if found is None or found.status not in COMPLETABLE or run not in (None, found.current_run):
                return False
            if not move(
                connection,
                found,
                moment,
                status=Status.DONE,
                completed_at=moment,
                consecutive_failures=0,
                last_error=None,
                result=clean(summary),
                **_NO_CLAIM,
                **_NO_BLOCK,
            ):
                return False
            close(
                connection,
                found,
                Outcome.COMPLETED,
                moment,
                summary=clean(summary),
                metadata=object_of(metadata),
                exit_code=exit_code,
            )
            payload = {"by": by, "summary": clean(summary), "exit_code": exit_code}
            say(connection, card, found.current_run, EventKind.COMPLETED, payload, moment)
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
        moment = moment_of(now)
        lacks = None if kind is None else BlockKind(kind)
        with self._write() as connection:
            found = locked(connection, card)
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
            if not move(
                connection,
                found,
                moment,
                status=to,
                block_kind=lacks,
                block_recurrences=recurrences,
                block_reason=clean(reason),
                request=clean(request),
                **_NO_CLAIM,
            ):
                return False
            close(
                connection,
                found,
                Outcome.BLOCKED,
                moment,
                summary=clean(reason),
                metadata=object_of(metadata),
                exit_code=exit_code,
            )
            payload = {
                "kind": lacks,
                "reason": clean(reason),
                "by": by,
                "exit_code": exit_code,
                "request": clean(request),
            }
            waits = to is Status.TODO
            said = EventKind.DEPENDENCY_WAIT if waits else EventKind.BLOCKED
            say(connection, card, found.current_run, said, payload, moment)
            if loops:
                loop = {"kind": lacks, "recurrences": recurrences}
                say(connection, card, found.current_run, EventKind.BLOCK_LOOP_DETECTED, loop, moment)
            return True

    def unblock(
        self, card: str, *, request: str | None = None, by: str = "operator", now: float | None = None
    ) -> bool:
        """blocked, scheduled -> its phase, or `todo` while a parent is open. With a `request`, only if it waits for it.

        The kind of the block is remembered, to know a loop by, unless a request was answered: that was no loop.
        """
        moment = moment_of(now)
        with self._write() as connection:
            found = locked(connection, card)
            if found is None or found.status not in UNBLOCKABLE or request not in (None, found.request):
                return False
            to = Status.TODO if open_parents_of(connection, card) else found.phase
            values = {"block_reason": None, "request": None} if request is None else _NO_BLOCK
            if not move(connection, found, moment, status=to, consecutive_failures=0, **values):
                return False
            payload = {"from": found.status, "to": to, "by": by, "request": request}
            say(connection, card, None, EventKind.UNBLOCKED, payload, moment)
            return True

    def retry(self, card: str, *, by: str = "operator", now: float | None = None) -> bool:
        """blocked, done, triage, archived -> its phase, or `todo` while a parent is open; as if it were new."""
        moment = moment_of(now)
        with self._write() as connection:
            found = locked(connection, card)
            if found is None or found.status not in RETRIABLE:
                return False
            to = Status.TODO if open_parents_of(connection, card) else found.phase
            if not move(
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
            say(connection, card, None, EventKind.RETRIED, payload, moment)
            return True

    def archive(self, card: str, *, by: str = "operator", now: float | None = None) -> bool:
        """any -> archived. A run that was open is closed as reclaimed; the dispatcher ends its worker."""
        moment = moment_of(now)
        with self._write() as connection:
            found = locked(connection, card)
            if found is None or found.status is Status.ARCHIVED:
                return False
            if not move(connection, found, moment, status=Status.ARCHIVED, **_NO_CLAIM):
                return False
            close(connection, found, Outcome.RECLAIMED, moment, summary="archived")
            payload = {"from": found.status, "by": by}
            say(connection, card, found.current_run, EventKind.ARCHIVED, payload, moment)
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
        moment, how = moment_of(now), Outcome(outcome)
        if how not in FAILURES:
            raise ValueError(f"{outcome} is no failure")
        with self._write() as connection:
            found = locked_by_run(connection, run)
            if found is None:
                return False
            failures = found.consecutive_failures + 1
            most, source = limit_of(found, limit)
            trips = failures >= most
            said = clean(error)
            values: dict[str, Any] = {"status": found.phase, **_NO_CLAIM}
            if trips:
                values |= _NO_BLOCK | {"status": Status.BLOCKED, "block_reason": said[:MAX_ERROR]}
            if not move(
                connection,
                found,
                moment,
                consecutive_failures=failures,
                last_error=said[:MAX_ERROR],
                **values,
            ):
                return False
            record = {**(payload or {}), "retry_status": found.phase}
            close(connection, found, how, moment, error=said, metadata=record, exit_code=exit_code)
            say(connection, found.id, run, EventKind(how.value), record, moment)
            if trips:
                tripped = {
                    "failures": failures,
                    "effective_limit": most,
                    "limit_source": source,
                    "error": said[:MAX_ERROR],
                    "trigger_outcome": how,
                    "retry_status": found.phase,
                }
                say(connection, found.id, run, EventKind.GAVE_UP, tripped, moment)
            return True

    def reclaim(
        self, run: str, *, reason: str, payload: Mapping[str, Any] | None = None, now: float | None = None
    ) -> bool:
        """Takes a card back from a run, which is no failure. False when the run is not current any more."""
        moment = moment_of(now)
        with self._write() as connection:
            found = locked_by_run(connection, run)
            if found is None or not move(connection, found, moment, status=found.phase, **_NO_CLAIM):
                return False
            close(connection, found, Outcome.RECLAIMED, moment, summary=clean(reason))
            record = {**(payload or {}), "reason": clean(reason), "retry_status": found.phase}
            say(connection, found.id, run, EventKind.RECLAIMED, record, moment)
            return True

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with said_plainly(), self.engine.connect() as connection:
            if self._sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            connection.commit()


class _TakenError(Exception):
    """The name of a new card belongs to another."""


def _leased(connection: Connection, run: str, lease: float, now: float, **values: Any) -> Card | None:
    """Lets the lease of a run count from now; its card, or None when the run is not current any more."""
    found = locked_by_run(connection, run)
    if found is None or not move(connection, found, now, claim_expires=now + lease):
        return None
    statement = (
        update(runs)
        .where(runs.c.id == run, runs.c.ended_at.is_(None))
        .values(claim_expires=now + lease, **values)
    )
    one(connection.execute(statement).rowcount)
    return found
