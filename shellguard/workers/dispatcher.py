# SPDX-License-Identifier: Apache-2.0
"""The dispatcher: takes cards that are ready, starts their supervisors, and books what no supervisor can say itself.

One pass looks after every open run of this host (crashed, over its time, its lease over, claimed and never begun), ends
workers that outlive a closed run, moves waiting cards on, and claims up to the limits. It alone books `timed_out`,
`crashed` and `spawn_failed`, and only when everything that was started for the run is gone. Each word is fenced by the
board, so several dispatchers may work on one PostgreSQL; a SQLite board has one at a time.

Workers are processes of their own: a dispatcher may leave, or be killed, and the next one finds them.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from functools import cache

from shellguard.approval.store import locked
from shellguard.board.model import BoardError, BoardUnavailableError, EventKind, Outcome, Status
from shellguard.board.tables import url_of
from shellguard.errors import ShellguardError
from shellguard.workers import cgroup, command, environment, keeper, processes, profiles, trusted, workspaces
from shellguard.workers.engine import Engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from shellguard.board.board import Board
    from shellguard.board.model import Card, Run
    from shellguard.workers.profiles import Profile
    from shellguard.workers.tree import Stop

LEASE_SECONDS = 900.0
"""How long a claim lasts without a heartbeat."""

SILENCE_SECONDS = 3600.0
"""A supervisor of this host that runs, but wrote no heartbeat for so long, is ended."""

LAUNCH_SECONDS = 30.0
"""For starts that are under way, when a dispatcher leaves; the next one goes on with what is not over by then."""

PREPARE_SECONDS = 600.0
"""For a start: the work tree of a large repository takes its time."""

BEGIN_SECONDS = 120.0
"""For a supervisor that runs, to take its run: many may be starting at once."""

TERM_SECONDS = 5.0
"""Between asking a supervisor to end and making it (10 looks of 0.5 s, as upstream)."""

OWN_WORD_SECONDS = 120.0
"""How long a command may go on after it moved its own card."""

LEAVING_SECONDS = 10.0
"""How long a supervisor may take to leave after its report."""

NOTICE_SECONDS = 15.0
"""In which a supervisor of another host has seen that its run is closed, and has ended its command."""

SCAN_SECONDS = 1.0
"""Between two looks at all processes of the host."""

PAUSE_SECONDS = 0.05

UNAVAILABLE_SECONDS = 60.0
"""How long a pass waits for a board that does not answer."""

WORDS = "supervisor"
"""What the supervisor of a card says about itself, beside the folders of the card; it says nothing when all is well."""

PASSWORD = "PGPASSWORD"

SUPERVISOR = (sys.executable, "-P", "-I", "-m", "shellguard.workers.command")


class LockedError(ShellguardError):
    """Another dispatcher works on this board."""


@dataclass(slots=True)
class Pass:
    """What one pass did: ids of cards."""

    claimed: list[str] = field(default_factory=list)
    completed: list[str] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)
    timed_out: list[str] = field(default_factory=list)
    crashed: list[str] = field(default_factory=list)
    spawn_failed: list[str] = field(default_factory=list)
    reclaimed: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    promoted: list[str] = field(default_factory=list)

    def as_object(self) -> dict[str, Any]:
        """The pass as JSON has it."""
        return asdict(self)


@dataclass(slots=True)
class Ending:
    """A supervisor that was asked to end, and what is booked when its tree is gone (None: nothing)."""

    run: Run
    outcome: str | None
    elapsed: int
    since: float
    killed: bool = False


def default_at_once() -> int:
    """How many workers run at once where nobody says a number."""
    return max(2, min(8, 2 * (os.cpu_count() or 1)))


class Dispatcher:
    """A dispatcher of one board. `home` is the folder with `profiles`; `say` is told a line for each thing done."""

    def __init__(
        self,
        board: Board,
        *,
        home: str | None = None,
        at_once: int | None = None,
        lease: float = LEASE_SECONDS,
        supervisor: Sequence[str] = SUPERVISOR,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.board, self.home, self.lease, self.say = board, home, lease, say
        self.at_once = default_at_once() if at_once is None else at_once
        self.supervisor = tuple(supervisor)
        self.host = processes.host()
        name = processes.identity()
        assert name is not None
        self.name = name
        self.engine = Engine(
            board,
            host=self.host,
            executor=name,
            prepare=self._prepare,
            spawn=self._spawn,
            problems=(ShellguardError,),
        )
        self.did = Pass()
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._files: dict[str, int] = {}
        self._left: dict[str, int] = {}
        self._to_tell: list[str] = []
        self._endings: dict[str, Ending] = {}
        self._unbegun: dict[str, float] = {}
        self._begins: dict[str, float] = {}
        self._scanned = 0.0
        self._event = 0
        self._next = 0.0
        self._lock: int | None = None

    def __enter__(self) -> Dispatcher:
        self.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def open(self) -> None:
        """Takes the board. Raises: LockedError, BoardError."""
        self._lock = take_lock(self.board)
        try:
            self._event = self._patiently(self.board.last_event)
            self._patiently(self._tidy_all)
            self._patiently(self.engine.launch)
        except BaseException:
            self._unlock()
            raise

    def close(self) -> None:
        """Leaves the board; workers go on."""
        self.engine.settle(LAUNCH_SECONDS)
        self.engine.close()
        self._reap()
        for run, child in self._children.items():
            child.returncode = 0  # nobody waits for it any more, and that is meant
            if run in self._files:
                os.close(self._files.pop(run))
        self._children.clear()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def hear_out(self, seconds: float = 1.0) -> None:
        """Waits a little for supervisors that have reported, to tell what they said."""
        limit = time.monotonic() + seconds
        while self._children and time.monotonic() < limit:
            time.sleep(processes.POLL_SECONDS)
            self._reap()
        self._patiently(self._tell)

    def pause(self, interval: float) -> float:
        """How long to wait before the next pass: until a worker is over its time, `interval` at most."""
        if self._endings:
            return min(interval, PAUSE_SECONDS)
        interval = max(PAUSE_SECONDS, min(interval, self._next - time.time()))
        return (
            interval if hasattr(os, "pidfd_open") or not self._children else min(interval, 4 * PAUSE_SECONDS)
        )

    def leaving(self) -> list[int]:
        """Files that become readable when a supervisor of this dispatcher leaves."""
        return list(self._files.values())

    # --- a pass -------------------------------------------------------------------------------------------------------

    def once(self) -> Pass:
        """One pass, to its end: what it has asked to end is gone, what it has claimed is started."""
        self.one_pass()
        self.engine.settle(PREPARE_SECONDS)
        while self._endings:
            time.sleep(processes.POLL_SECONDS)
            self._patiently(self._look_after_endings)
        return self.did

    def one_pass(self) -> None:
        """One pass. It waits for nothing; what it has begun to end is looked after in the next one."""
        self._patiently(self._pass)

    def is_idle(self) -> bool:
        """Whether nothing is ready or running, on any host, and nothing of ours is under way."""
        if self._endings or self.engine.under_way():
            return False
        counts = self._patiently(self.board.counts)
        return not any(counts.get(each) for each in (Status.READY, Status.REVIEW, Status.RUNNING))

    def _pass(self) -> None:
        self._reap()
        self._tell()
        now = time.time()
        open_runs = self.board.open_runs()
        self._next = min((_deadline(run) for run in open_runs if run.host == self.host), default=math.inf)
        for run in open_runs:
            if run.host == self.host:
                self._look_after(run, now)
            elif run.claim_expires < now:
                self._reclaim(run, "its host does not answer, and its lease is over")
        self._look_after_endings()
        self._end_outlived({run.id for run in open_runs})
        self._tidy()
        self.did.promoted += self.board.recompute(now)
        self._claim()

    def _patiently(self, work: Callable[[], Any]) -> Any:
        """Does some work on the board, again while the board does not answer. Raises: BoardUnavailableError."""
        limit, pause = time.monotonic() + UNAVAILABLE_SECONDS, 0.1
        while True:
            try:
                return work()
            except BoardUnavailableError as error:
                if time.monotonic() > limit:
                    raise
                self.say(f"the board does not answer, trying again: {error}")
                time.sleep(pause)
                pause = min(2 * pause, 5.0)

    def _reap(self) -> None:
        for run, child in list(self._children.items()):
            if child.poll() is not None:
                self._left[run] = child.returncode
                self._to_tell.append(run)
                del self._children[run]
                if run in self._files:
                    os.close(self._files.pop(run))

    def _tell(self) -> None:
        """Tells what the supervisors of this dispatcher have reported. What it books itself is told there."""
        while self._to_tell:
            run = self.board.run(self._to_tell[-1])
            self._to_tell.pop()
            if run is None or run.outcome not in (Outcome.COMPLETED, Outcome.BLOCKED):
                continue
            (self.did.completed if run.outcome is Outcome.COMPLETED else self.did.blocked).append(run.card)
            self.say(f"{run.card}: {run.outcome}{', ' if run.summary else ''}{run.summary or ''}")
            self._forget(run)

    # --- runs of this host --------------------------------------------------------------------------------------------

    def _look_after(self, run: Run, now: float) -> None:
        if run.id in self._endings:
            return
        if run.supervisor is None:
            self._look_after_unbegun(run, now)
        elif not processes.is_running(run.supervisor):
            self._book_gone(run)
        elif now >= _deadline(run):
            self._end(run, Outcome.TIMED_OUT, now)
        elif run.claim_expires < now:
            # By leases that were extended and not by the clock, which a host that was asleep finds far ahead.
            if run.claim_expires - (run.heartbeat_at or run.claimed_at) > max(SILENCE_SECONDS, self.lease):
                self._end(run, Outcome.RECLAIMED, now)
            else:
                self.board.extend(run.id, lease=self.lease)

    def _look_after_unbegun(self, run: Run, now: float) -> None:
        """A run that no supervisor has taken yet: it is under way, its start failed, or its dispatcher is gone."""
        start = self.engine.state(run.id)
        if start is None:
            if run.dispatcher != self.name and processes.is_running(run.dispatcher):
                if run.claim_expires < now:
                    self._reclaim(run, "its dispatcher did not start it, and its lease is over")
                return
            self.say(f"{run.card}: claimed and not started, going on with run {run.id}")
            self.engine.start(run.id)
        elif start.error is not None:
            self._fail(run, Outcome.SPAWN_FAILED, start.error)
        elif start.supervisor is not None:
            since = self._begins.setdefault(run.id, time.monotonic())
            if not processes.is_running(start.supervisor):
                self._book_gone(run)
            elif time.monotonic() - since > BEGIN_SECONDS:
                processes.send(start.supervisor, processes.KILL)
        elif time.monotonic() - self._unbegun.setdefault(run.id, time.monotonic()) > PREPARE_SECONDS:
            self._fail(run, Outcome.SPAWN_FAILED, f"it was not started in {PREPARE_SECONDS:.0f} s")

    def _book_gone(self, run: Run) -> None:
        """Books a run whose supervisor is gone, when everything else of it is gone as well."""
        self._reap()
        found = self.board.run(run.id)
        if found is None or found.ended_at is not None:
            self._forget(run)
            return
        if not self._is_gone(found):
            return
        status = self._left.get(run.id, found.supervisor_exit)
        lasted = (found.heartbeat_at or 0.0) - (found.started_at or 0.0)
        if status == command.TORN_DOWN and lasted >= (found.max_runtime or math.inf):
            # Another dispatcher of this host asked it to end, or one that was killed over it.
            self._book_ending(Ending(found, Outcome.TIMED_OUT, int(lasted), 0.0))
        elif status == command.SPAWN_FAILED:
            self._fail(found, Outcome.SPAWN_FAILED, _last_words(found) or "it could not be started")
        else:
            error = _how(status)
            payload = {"error": error, "pid": found.supervisor_pid, "supervisor_exit": status}
            self._fail(found, Outcome.CRASHED, error, payload=payload)

    def _is_gone(self, run: Run) -> bool:
        """Ends what is left of a run whose supervisor is gone; whether nothing is."""
        # A keeper that is killed too early leaves what it was about to end; its worker may have stopped it.
        processes.wake(run.keeper)
        processes.wait_gone((run.keeper,), keeper.STUCK_SECONDS + 2)
        for name in (run.keeper, run.child):
            processes.send(name, processes.KILL)
        cgroup.end(run.id)
        gone = processes.sweep(run.id) and processes.wait_gone((run.keeper, run.child), 1.0)
        if not gone:
            self.say(f"{run.card}: something of its last attempt does not end; it stays as it is")
        return gone

    def _end(self, run: Run, outcome: str | None, now: float) -> None:
        processes.send(run.supervisor, signal.SIGTERM)
        processes.wake(run.supervisor)  # its worker may have stopped it
        elapsed = int(now - (run.started_at or now))
        self._endings[run.id] = Ending(run, outcome, elapsed, time.monotonic())

    def _look_after_endings(self) -> None:
        self._reap()
        for name, ending in list(self._endings.items()):
            run = ending.run
            if processes.is_running(run.supervisor):
                if not ending.killed and time.monotonic() - ending.since >= TERM_SECONDS:
                    ending.killed = processes.send(run.supervisor, processes.KILL)
                continue
            # Its processes may have become known while it was ending.
            if not self._is_gone(self.board.run(run.id) or run):
                continue
            self._book_ending(ending)
            del self._endings[name]
            self._forget(run)

    def _book_ending(self, ending: Ending) -> None:
        run, limit = ending.run, int(ending.run.max_runtime or 0)
        payload: dict[str, Any]
        if ending.outcome == Outcome.TIMED_OUT:
            payload = {
                "pid": run.supervisor_pid,
                "elapsed_seconds": ending.elapsed,
                "limit_seconds": limit,
                "sigkill": ending.killed,
            }
            error = f"elapsed {ending.elapsed}s > limit {limit}s"
            self._fail(run, Outcome.TIMED_OUT, error, payload=payload)
        elif ending.outcome == Outcome.RECLAIMED:
            self._reclaim(run, "its supervisor was silent for too long")
        else:
            payload = {"pid": run.supervisor_pid, "by": "dispatcher", "sigkill": ending.killed}
            self.board.note(run.card, EventKind.TORN_DOWN, payload, run=run.id)
            self.did.ended.append(run.card)
            self.say(f"{run.card}: its worker was ended, the card had moved on")

    def _end_outlived(self, known: set[str]) -> None:
        """Ends the workers of runs that are closed."""
        if time.monotonic() - self._scanned < SCAN_SECONDS:
            return
        self._scanned = time.monotonic()
        for name, pids in processes.of_runs().items():
            if name in known or name in self._endings:
                continue
            run = self.board.run(name)
            if run is None or run.ended_at is None or run.host != self.host:
                continue
            if time.time() - run.ended_at < self._may_stay(run):
                continue
            if processes.is_running(run.supervisor):
                self._end(run, None, time.time())
            elif processes.sweep(run.id):
                payload = {"processes": len(pids), "by": "dispatcher"}
                self.board.note(run.card, EventKind.TORN_DOWN, payload, run=run.id)
                self.did.ended.append(run.card)
                self.say(f"{run.card}: {len(pids)} processes of a closed run were ended")

    def _may_stay(self, run: Run) -> float:
        """How long the worker of a closed run may stay: long where the word was its own, not at all for others."""
        return {"worker": OWN_WORD_SECONDS, "command": LEAVING_SECONDS}.get(self._closed_by(run), 0.0)

    def _closed_by(self, run: Run) -> str:
        """Whose word closed a run; nobody's where the dispatcher did."""
        for event in reversed(self.board.events(run.card)):
            if event.run == run.id and "by" in event.payload:
                return str(event.payload["by"])
        return ""

    # --- words for the board ------------------------------------------------------------------------------------------

    def _fail(
        self,
        run: Run,
        outcome: str,
        error: str,
        *,
        payload: dict[str, Any] | None = None,
    ) -> None:
        limit = run.frozen.get("profile", {}).get("max_retries")
        known = {"error": error} if payload is None else payload
        if self.board.fail(run.id, outcome=outcome, error=error, payload=known, limit=limit):
            getattr(self.did, str(outcome)).append(run.card)
            self.say(f"{run.card}: {outcome}, {error}")
        self._forget(run)

    def _reclaim(self, run: Run, reason: str) -> None:
        if self.board.reclaim(run.id, reason=reason):
            self.did.reclaimed.append(run.card)
            self.say(f"{run.card}: reclaimed, {reason}")
        self._forget(run)

    def _forget(self, run: Run) -> None:
        self.engine.forget(run.id)
        self._unbegun.pop(run.id, None)
        self._begins.pop(run.id, None)
        self._left.pop(run.id, None)

    # --- claiming -----------------------------------------------------------------------------------------------------

    def _claim(self) -> None:
        """Claims cards as long as there is room for their workers, then starts them: a start takes the processor."""
        claimed: list[str] = []
        try:
            self._claim_as_many(claimed)
        finally:
            for run in claimed:
                self.engine.start(run, fresh=True)

    def _claim_as_many(self, claimed: list[str]) -> None:
        open_runs = self.board.open_runs()
        of_profile: dict[str, int] = {}
        for run in open_runs:
            of_profile[run.profile] = of_profile.get(run.profile, 0) + 1
        room = self.at_once - max(sum(run.host == self.host for run in open_runs), len(self._children))
        loaded: dict[str, Profile | ShellguardError] = {}
        now_of_runs = cache(processes.of_runs)
        full: set[str] = set()
        seen: set[str] = set()
        while room > 0:
            # A card that could not be started is ready again, and has its next try in the next pass.
            ready = self.board.ready(limit=room + len(seen), without=sorted(full))
            found = [card for card in ready if card.id not in seen][:room]
            if not found:
                return
            for card in found:
                if card.profile not in loaded:
                    loaded[card.profile] = self._load(card.profile)
                profile = loaded[card.profile]
                most = None if isinstance(profile, ShellguardError) else profile.concurrency
                if most is not None and of_profile.get(card.profile, 0) >= most:
                    full.add(card.profile)
                    continue
                seen.add(card.id)
                if card.started_at is not None and self._still_works(card, now_of_runs):
                    continue
                taken = self._claim_card(card, profile)
                if taken is not None:
                    claimed.append(taken)
                    of_profile[card.profile] = of_profile.get(card.profile, 0) + 1
                    room -= 1

    def _still_works(self, card: Card, of_runs: Callable[[], dict[str, list[int]]]) -> bool:
        """Whether an earlier run of a card that is ready again was closed by a word, and its worker is not gone yet."""
        for run in self.board.runs(card.id):
            if run.host == self.host:
                works = _has_processes(run) or run.id in of_runs()
            else:
                works = run.supervisor_exit is None and time.time() < (run.ended_at or 0) + self._notices(run)
            if works:
                return True
        return False

    def _notices(self, run: Run) -> float:
        """How long a closed run of another host may still have a worker. It has none where nobody else closed it."""
        if run.supervisor is None or run.outcome not in (
            Outcome.COMPLETED,
            Outcome.BLOCKED,
            Outcome.RECLAIMED,
        ):
            return 0.0
        return {"worker": OWN_WORD_SECONDS + NOTICE_SECONDS, "operator": NOTICE_SECONDS}.get(
            self._closed_by(run), 0.0
        )

    def _load(self, name: str) -> Profile | ShellguardError:
        try:
            return profiles.load(self.home, name)
        except ShellguardError as error:
            return error

    def _claim_card(self, card: Card, profile: Profile | ShellguardError) -> str | None:
        """Claims a card, and gives back the run to start; None where somebody was faster, or it cannot be started."""
        problem: ShellguardError | None = None
        frozen: dict[str, Any] = {}
        folders = None
        if isinstance(profile, ShellguardError):
            problem = profile
        else:
            frozen = {"completion": profile.completion, "profile": asdict(profile)}
            try:
                folders = workspaces.folders_of(card, profile.workspace)
                frozen |= trusted.resolve(
                    profile.argv, profile.search, workspace=folders.workspace
                ).as_object()
            except ShellguardError as error:
                problem = error
        limit = card.max_runtime
        if limit is None and not isinstance(profile, ShellguardError):
            limit = profile.max_runtime
        run = self.board.claim(
            card.id,
            profile=card.profile,
            host=self.host,
            dispatcher=self.name,
            lease=self.lease,
            frozen=frozen,
            max_runtime=limit,
            workspace=None if folders is None else folders.workspace,
            log=None if folders is None else folders.log,
        )
        if run is None:
            return None
        self.did.claimed.append(card.id)
        if problem is not None:
            self._fail(run, Outcome.SPAWN_FAILED, str(problem))
            return None
        if card.settings and not frozen["profile"]["is_agent"]:
            payload = {"settings": sorted(card.settings), "because": "its worker is a command"}
            self.board.note(card.id, EventKind.SETTINGS_IGNORED, payload, run=run.id)
            self.say(f"{card.id}: settings for agents are ignored, its worker is a command")
        self.say(f"{card.id}: claimed, run {run.id}")
        return run.id

    def _prepare(self, name: str) -> None:
        """The first step of a start: the folders of the card."""
        _, card, profile, _ = self._open(name)
        workspaces.prepare(card, profile.workspace)

    def _spawn(self, name: str) -> str:
        """The second step of a start: its supervisor, as a process of its own. Gives back its name."""
        run, card, profile, folders = self._open(name)
        token = secrets.token_urlsafe(32)
        order = {
            "board": _whole_address(self.board.address),
            "run": run.id,
            "record": command.record_of(run),
            "token": token,
            "grace": profile.grace,
            "environment": environment.build(
                profile,
                card=card.id,
                run=run.id,
                workspace=folders.workspace,
                token=token,
                log=folders.log,
                home=folders.home,
                tmp=folders.tmp,
                settings=json.dumps(card.settings) if card.settings else None,
            ),
        }
        with open(os.path.join(folders.top, WORDS), "wb", opener=_private) as words:
            child = subprocess.Popen(
                self.supervisor,
                cwd=os.path.abspath(os.sep),
                env={**environment.for_supervisor(), **_of_postgresql(), processes.RUN: run.id},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=words,
                start_new_session=True,
            )
        # As long as nobody waits for it, its number is its own.
        started = processes.identity(child.pid)
        if hasattr(os, "pidfd_open"):
            self._files[run.id] = os.pidfd_open(child.pid)
        self._children[run.id] = child
        assert child.stdin is not None
        with contextlib.suppress(OSError), child.stdin:  # one that is gone by now is found by the next pass
            child.stdin.write(json.dumps(order).encode())
        return started or f"{processes.boot()}:{child.pid}:0"

    def _open(self, name: str) -> tuple[Run, Card, Profile, workspaces.Folders]:
        """A run with what it belongs to. Raises: ShellguardError where it is closed, or not as its profile says."""
        run = self._patiently(lambda: self.board.run(name))
        card = None if run is None else self._patiently(lambda: self.board.card(run.card))
        if run is None or card is None or run.ended_at is not None:
            raise BoardError("its run is closed")
        profile = profiles.load(self.home, card.profile)
        folders = workspaces.folders_of(card, profile.workspace)
        if not _is_of_profile(run, profile, folders):
            raise BoardError(f"{profile.path} does not say any more what it said when the card was taken")
        return run, card, profile, folders

    # --- archived cards -----------------------------------------------------------------------------------------------

    def _tidy(self) -> None:
        """Removes the folders of cards that were archived, once nothing works in them."""
        for event in self.board.events(since=self._event, limit=1000):
            if event.kind is EventKind.ARCHIVED and not self._remove(event.card):
                return
            self._event = event.id

    def _tidy_all(self) -> None:
        """The same for cards that were archived while there was no dispatcher."""
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(workspaces.root()):
                self._remove(name)

    def _remove(self, name: str) -> bool:
        """Removes the folders of a card, if it is archived; False while a worker is in them."""
        card = self.board.card(name)
        if card is None or card.status is not Status.ARCHIVED:
            return True
        runs = self.board.runs(name)
        if any(run.host == self.host and _has_processes(run) for run in runs):
            return False
        if not processes.of_runs().keys().isdisjoint(run.id for run in runs):
            return False
        kept = workspaces.remove(card)
        if kept is not None:
            self.say(f"{name}: its workspace stays, {kept}")
        return True


def serve(
    dispatcher: Dispatcher,
    stop: Stop,
    *,
    interval: float,
    until_idle: bool = False,
    timeout: float | None = None,
) -> str:
    """Passes until a signal came (`stopped`), nothing is to do any more (`idle`) or the time is over (`timeout`).

    Workers that run are left running.
    """
    limit = None if timeout is None else time.monotonic() + timeout
    while True:
        dispatcher.one_pass()
        if stop.number is not None:
            return "stopped"
        if until_idle and dispatcher.is_idle():
            dispatcher.hear_out()
            return "idle"
        left = dispatcher.pause(interval)
        if limit is not None:
            left = min(left, limit - time.monotonic())
            if left <= 0:
                return "timeout"
        if os.name == "nt":
            time.sleep(left)
            continue
        # A supervisor that leaves makes room; several often leave together.
        if select.select([stop.wake, *dispatcher.leaving()], [], [], left)[0]:
            time.sleep(PAUSE_SECONDS)


def take_lock(board: Board) -> int | None:
    """The lock of a SQLite board as an open file, which goes with this process; None where the board needs none.

    Raises: LockedError, BoardError.
    """
    url = url_of(board.address)
    if url.get_backend_name() != "sqlite":
        return None
    path = f"{os.path.realpath(str(url.database))}.dispatcher"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise BoardError(f"{path}: {error.strerror or error}") from error
    if not locked(descriptor):
        os.close(descriptor)
        raise LockedError("another dispatcher works on this board")
    return descriptor


def _of_postgresql() -> dict[str, str]:
    """What the environment says about PostgreSQL, for a supervisor; not the password, which others could read there."""
    return {name: value for name, value in os.environ.items() if name.startswith("PG") and name != PASSWORD}


def _whole_address(address: str) -> str:
    """The address of the board with the password of the environment, if that is where it stands."""
    url = url_of(address)
    known = url.password is not None or "password" in url.query
    if url.get_backend_name() == "sqlite" or known or PASSWORD not in os.environ:
        return address
    # In the query, since an address without a user has no other place for it.
    return url.update_query_dict({"password": os.environ[PASSWORD]}).render_as_string(hide_password=False)


def _frozen_profile(run: Run) -> Profile:
    """The profile as it was when the card was claimed."""
    words: dict[str, Any] = dict(run.frozen["profile"])
    for name, value in words.items():
        if isinstance(value, list):
            words[name] = tuple(value)
    return profiles.Profile(**words)


def _is_of_profile(run: Run, profile: Profile, folders: workspaces.Folders) -> bool:
    """Whether a run is what this host would make of its card. A board can be written by others: it decides nothing."""
    try:
        frozen = trusted.Frozen.from_object(run.frozen)
        known = _frozen_profile(run)
    except (ShellguardError, KeyError, TypeError):
        return False
    search = trusted.default_search() if profile.search is None else profile.search
    found: tuple[str, ...] = (profile.argv[0],)
    if not os.path.isabs(profile.argv[0]):
        found = tuple(os.path.join(folder, profile.argv[0]) for folder in search)
    if sys.platform == "win32":
        found = tuple(path + ending for path in found for ending in ("", *trusted.WINDOWS_ENDINGS))
    return (
        known == profile
        and run.profile == profile.name
        and frozen.argv[0] in found
        and (frozen.argv[1:], frozen.search) == (profile.argv[1:], search)
        and run.frozen.get("completion") == profile.completion
        and (run.workspace, run.log) == (folders.workspace, folders.log)
    )


def _has_processes(run: Run) -> bool:
    """Whether one of the processes that a run of this host has named still runs, whatever it did to its environment."""
    return any(processes.is_running(each) for each in (run.supervisor, run.keeper, run.child))


def _deadline(run: Run) -> float:
    """When a run is over its time. Time counts from when its supervisor took it."""
    if run.max_runtime is None or run.started_at is None:
        return math.inf
    return run.started_at + run.max_runtime


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _last_words(run: Run) -> str:
    """The last line that the supervisor of a run said about itself."""
    if run.log is None:
        return ""
    try:
        with open(os.path.join(os.path.dirname(run.log), WORDS), "rb") as file:
            lines = file.read(100_000).decode("utf-8", "replace").rstrip("\n").split("\n")
    except OSError:
        return ""
    return lines[-1][:500]


def _how(status: int | None) -> str:
    """How a supervisor ended, in words."""
    if status is None:
        return "its supervisor is gone, and nobody saw how it ended"
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"its supervisor was ended by {signal.Signals(-status).name}"
        return f"its supervisor was ended by signal {-status}"
    return f"its supervisor ended with status {status} and no report"
