# SPDX-License-Identifier: Apache-2.0
"""`shellguard supervise`: runs a worker, says how it ended, resumes it, and hands its work to the foreman.

Before an attempt and when it is over, with everything below it ended, the files are saved: what they were at the end is
what the foreman compares with. Every state is one file that is written in one piece, so that a supervisor which is
killed leaves a record to go on from.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace

from shellguard.approval import checkpoint
from shellguard.approval.requests import PENDING, requests
from shellguard.approval.run import deferred_status
from shellguard.approval.snapshot import SnapshotError
from shellguard.approval.store import Store, StoreError
from shellguard.workers import foreman, resume
from shellguard.workers.resume import End, Observation, Result, Step
from shellguard.workers.tree import Stop, Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from shellguard.approval.checkpoint import Manifest
    from shellguard.workers.foreman import Settings, Verdict

KIND = "supervised"
SCHEMA = 1

RESUME = "SHELLGUARD_RESUME"
"""In the environment of a worker from its second attempt on; the others are those of `checkpoint.py`."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a supervisor was asked to do."""

    argv: tuple[str, ...]
    cwd: str
    session: str = "default"
    step: int = 0
    max_aborts: int = resume.MAX_ABORTS
    timeout: float | None = None
    resume_args: tuple[str, ...] = ()
    bare_interrupt: bool = False
    settings: Settings = field(default_factory=foreman.Settings)


@dataclass(frozen=True, slots=True)
class Report:
    """What came of it: the object that is printed last. `reason` is a code, `detail` is for people."""

    result: str
    attempts: int
    committed: bool = False
    commit: str | None = None
    reason: str | None = None
    detail: str = ""
    session: str = "default"
    step: int = 0
    end: str | None = None
    status: int | None = None
    requests: tuple[str, ...] = ()
    checkpoint: str | None = None
    checked: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    not_saved: tuple[str, ...] = ()

    def as_object(self) -> dict[str, Any]:
        """The report as JSON has it."""
        return {"schema": SCHEMA, **asdict(self), "exit": self.exit_status}

    @property
    def exit_status(self) -> int:
        """The exit status of `shellguard supervise`."""
        if self.result == Result.DEFERRED:
            return deferred_status()
        return resume.EXIT_STATUS[self.result]


def supervise(order: Order, *, attempts: int = 0, aborts: int = 0) -> Report:
    """Runs a worker until it has an end that nothing follows. One supervisor at a time works on a tree.

    `attempts` and `aborts` are those of an earlier supervisor that this one goes on for (`approve grant`).
    """
    try:
        store = Store.of(order.cwd)
        with store.lock("supervisor") as mine:
            if not mine:
                return Report(Result.HARD_FAILURE, 0, reason="locked", session=order.session, step=order.step)
            return _Supervisor(order, store, attempts, aborts).run()
    except StoreError as error:
        return Report(
            Result.HARD_FAILURE,
            0,
            reason="out-of-space",
            detail=str(error),
            session=order.session,
            step=order.step,
        )


class _Supervisor:
    def __init__(self, order: Order, store: Store, attempts: int, aborts: int) -> None:
        self.order, self.store = order, store
        self.attempts, self.aborts = attempts, aborts
        self.name = store.fresh(KIND)
        self.last: Manifest | None = None

    def run(self) -> Report:
        with Stop() as stop:
            self.last = self.save()
            if self.last is None:
                report = Report(
                    Result.HARD_FAILURE, self.attempts, reason="not-saved", session=self.order.session
                )
                return replace(report, step=self.order.step, detail=resume.REASONS["not-saved"])
            while True:
                self.attempts += 1
                self.record("running")
                seen, status = self.attempt(stop)
                end = resume.end_of(
                    seen, deferred_status=deferred_status(), bare_interrupt=self.order.bare_interrupt
                )
                self.aborts += end == End.APPROVAL_ABORT
                step = resume.follows(end, seen, self.aborts, self.order.max_aborts)
                if step.action == "resume" and stop.number is not None:
                    end, step = End.INTERRUPTED, Step("stop", Result.INTERRUPTED, "interrupted-supervisor")
                if step.action == "resume":
                    self.decided()
                    continue
                return self.finished(end, step, seen, status)

    def attempt(self, stop: Stop) -> tuple[Observation, int | None]:
        """Runs the worker once, and says what was seen."""
        before = None if self.last is None else _left_as(self.last)
        marker = checkpoint.newest(self.store)
        known = {request.name for request in requests(self.store)}
        argv = resume.argv_for(self.order.argv, self.attempts, self.order.resume_args, self.order.session)
        timed_out = False
        try:
            worker = Worker(argv, self.order.cwd, self.environment())
        except (OSError, ValueError):
            return Observation(None), None
        try:
            over = worker.wait(stop, self.order.timeout)
            timed_out = over == "timeout"
        finally:
            worker.end()
        self.last = self.save()
        waiting = tuple(
            request.name
            for request in requests(self.store)
            if request.name not in known
            and request.state == PENDING
            and request.session == self.order.session
        )
        seen = Observation(
            worker.status,
            checkpoint.waiting(self.store, self.order.session, marker) is not None,
            waiting,
            before is None or self.last is None or _left_as(self.last) != before,
            timed_out,
            over == "stopped",
        )
        return seen, worker.status

    def save(self) -> Manifest | None:
        """Saves what is there; None when it cannot be."""
        try:
            return checkpoint.pre_approval_checkpoint(
                self.order.cwd,
                session=self.order.session,
                step=self.order.step,
                language=self.order.settings.language,
                compile_command=self.order.settings.compile_command,
                attempts=self.attempts,
                store=self.store,
                signals=False,
            )
        except (SnapshotError, StoreError):
            return None

    def decided(self) -> None:
        """The worker that waited is gone: its marker must not count for the next one."""
        manifest = checkpoint.waiting(self.store, self.order.session)
        if manifest is not None:
            checkpoint.answered(manifest, self.store, "aborted")

    def environment(self) -> Mapping[str, str]:
        found = dict(os.environ)
        found[checkpoint.SESSION] = self.order.session
        found[checkpoint.STEP] = str(self.order.step)
        found[checkpoint.ATTEMPT] = str(self.attempts)
        found.pop(RESUME, None)
        if self.attempts > 1:
            found[RESUME] = "1"
        return found

    def finished(self, end: str, step: Step, seen: Observation, status: int | None) -> Report:
        """What is said, after the foreman where it is his turn."""
        report = Report(
            step.result or "",
            self.attempts,
            reason=step.reason,
            detail="" if step.reason is None else resume.REASONS.get(step.reason, ""),
            session=self.order.session,
            step=self.order.step,
            end=end,
            status=status,
            requests=seen.requests,
            checkpoint=None if self.last is None else self.last.name,
            not_saved=() if self.last is None else self.last.not_saved,
        )
        if step.action == "commit":
            self.record("committing")
            report = self.handed_over(report)
        if end == End.APPROVAL_ABORT:
            self.decided()
        self.record(report.result, report)
        return report

    def handed_over(self, report: Report) -> Report:
        if self.last is None or self.last.tree is None:
            return replace(report, result=Result.NOT_COMMITTED, reason="not-saved", detail="")
        message = resume.subject(self.order.session, self.order.step, self.aborts)
        made: Verdict = foreman.commit(self.order.cwd, self.last.snapshot, message, self.order.settings)
        detail = resume.REASONS.get(made.reason or "", "")
        if made.detail:
            detail = f"{detail}: {made.detail}" if detail else made.detail
        if made.commit is not None:
            checkpoint.update(self.last, self.store, committed=made.commit)
        return replace(
            report,
            result=Result.NOT_COMMITTED if made.commit is None else Result.COMMITTED,
            committed=made.commit is not None,
            commit=made.commit,
            reason=made.reason,
            detail=detail,
            checked=made.checked,
            skipped=made.skipped,
        )

    def record(self, state: str, report: Report | None = None) -> None:
        """Writes down where this supervisor is, for whoever goes on. A full disk must not cost what it found out."""
        with suppress(StoreError):
            self.store.write(
                KIND,
                self.name,
                {
                    "schema": SCHEMA,
                    "state": state,
                    "order": asdict(self.order),
                    "attempts": self.attempts,
                    "aborts": self.aborts,
                    "report": None if report is None else report.as_object(),
                    "pid": os.getpid(),
                    "time": time.time(),
                },
            )


def prune(store: Store, *, days: float, now: float | None = None) -> list[str]:
    """Forgets records of supervisors that are older than `days`, but for those that wait for a grant; names them."""
    moment = time.time() if now is None else now
    gone = []
    for name in store.names(KIND):
        try:
            record = store.read(KIND, name)
            if record["state"] == Result.DEFERRED or moment - float(record["time"]) <= days * 86_400:
                continue
        except (StoreError, KeyError, TypeError, ValueError):
            continue
        store.remove(KIND, name)
        gone.append(name)
    return gone


def _left_as(manifest: Manifest) -> tuple[object, ...] | None:
    """What files and HEAD were when a checkpoint was taken."""
    found = checkpoint.identity_of(manifest)
    return None if found is None else (found, manifest.head)


def left_deferred(store: Store, session: str) -> tuple[str, Order, int, int] | None:
    """The newest supervisor of a session, if it stopped because commands were deferred: its record, order, counts."""
    for name in reversed(store.names(KIND)):
        try:
            record = store.read(KIND, name)
            order = dict(record["order"])
            if order["session"] != session:
                continue
            if record["state"] != Result.DEFERRED:
                return None
            order["argv"], order["resume_args"] = tuple(order["argv"]), tuple(order["resume_args"])
            order["settings"] = foreman.Settings(**order["settings"])
            return name, Order(**order), int(record["attempts"]), int(record["aborts"])
        except (StoreError, KeyError, TypeError):
            continue
    return None
