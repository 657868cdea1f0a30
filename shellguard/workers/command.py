# SPDX-License-Identifier: Apache-2.0
"""The supervisor of one run of a card: `python -P -I -m shellguard.workers.command`, started by the dispatcher.

It takes its run, starts the command that was frozen when the card was claimed, and reports what it observed:
`exited(n)` or `signalled(s)`. When it is told to stop it ends everything and says nothing about the card: what that
means (a timeout, a card that was taken back) only the dispatcher knows. It says nothing either where it does not know.

Its order comes on standard input as JSON, so that no other process can read it: {"board": ADDRESS, "run": ID, "record":
HASH, "token": TEXT, "environment": {NAME: VALUE}, "grace": SECONDS}. What is executed stands in the row of the run, and
nowhere else; `record` says what that row was when the dispatcher compared it with the profile.
"""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from shellguard.errors import ShellguardError
from shellguard.workers import cgroup, keeper, processes
from shellguard.workers.card_log import CardLog
from shellguard.workers.desk import Desk
from shellguard.workers.profiles import COMPLETIONS, GRACE, MAX_GRACE
from shellguard.workers.tree import ChangedError, Stop, Worker
from shellguard.workers.trusted import Frozen, TrustError, check

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Any, NoReturn

    from shellguard.board.board import Board
    from shellguard.board.model import Run
    from shellguard.workers.desk import Request

# How the supervisor itself ends. None of these says anything about the card; 75 and 78 are not among them, since they
# mean "try again" and "configuration" to those who run workers.

REPORTED = 0
"""The report is on the board, or the word of the worker (or of an operator who closed the run as it ended) is."""

WRONG_ORDER = 2
"""The order cannot be read. Nothing was started."""

STALE = 4
"""The run is not this supervisor's, or not any more. Nothing was written about the card."""

SPAWN_FAILED = 5
"""The command could not be started. The last line but one of the log says why."""

UNREPORTED = 6
"""The board did not take the report, or did not answer at the start. The dispatcher finds the run open."""

LOST = 7
"""The keeper was killed: the tree was ended, and nobody saw how the command ended."""

TORN_DOWN = 143
"""It was told to stop, and ended everything."""

HEARTBEAT_SECONDS = 5.0

AVAILABLE_SECONDS = 20.0
"""How long a board that does not answer is asked again, at the start and for the report."""

AFTERWARDS_SECONDS = 120.0
"""How long a command may go on after it moved its own card."""

WAITS = "worker_protocol_transition_required"
"""The reason of a block: a `self_reported` command ended with 0 and left its card where it was."""

WINDOWS = os.name == "nt"
"""Where a pipe cannot be waited for, and the worker writes to its log itself. Nothing of this has run there."""

DRAINED_BYTES = 8_000_000
"""Of output that is read after everything has ended; only a process that could not be ended writes more."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the dispatcher asks for."""

    board: str
    run: str
    record: str
    token: str
    environment: dict[str, str]
    grace: float = GRACE

    @classmethod
    def read(cls, text: bytes) -> Order:
        """The order of standard input. Raises: ValueError."""
        said = json.loads(text)
        if not isinstance(said, dict):
            raise ValueError("the order is no object")
        environment = said.get("environment")
        texts = [said.get(name) for name in ("board", "run", "record", "token")]
        if not isinstance(environment, dict) or not all(isinstance(each, str) and each for each in texts):
            raise ValueError("the order is not complete")
        if not all(isinstance(each, str) and "\0" not in each for each in environment.values()):
            raise ValueError("a variable of the environment is no text")
        grace = said.get("grace", GRACE)
        if isinstance(grace, bool) or not isinstance(grace, int | float) or not grace >= 0:
            raise ValueError("the grace is no number of seconds")
        board, run, record, token = (str(each) for each in texts)
        return cls(board, run, record, token, environment, min(float(grace), MAX_GRACE))


def record_of(run: Run) -> str:
    """A hash of what a run executes and where: who can write the board cannot change it behind the dispatcher."""
    record = [run.id, run.card, run.frozen, run.workspace, run.log]
    return sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def main() -> NoReturn:
    """Runs the run of the order on standard input, and ends with one of the statuses above."""
    with Stop() as stop:
        keeper.become_reaper(hidden=True)
        os.chdir(os.path.abspath(os.sep))
        try:
            order = Order.read(sys.stdin.buffer.read())
        except (ValueError, RecursionError) as error:
            _leave(WRONG_ORDER, f"the order cannot be read: {error}")
        status = _taken(order, stop)
    _leave(status)


def _leave(status: int, message: str = "") -> NoReturn:
    """Ends at once: a thread that waits for a database would hold the process for as long as that takes."""
    if message:
        _say(message)
    os._exit(status)


def _say(message: str) -> None:
    with suppress(OSError):
        os.write(2, f"{message}\n".encode("utf-8", "backslashreplace"))


def _taken(order: Order, stop: Stop) -> int:
    """Takes the run, if it still is to be had, and supervises it."""
    from shellguard.board.board import Board
    from shellguard.board.model import BoardError

    me = processes.identity()
    assert me is not None
    try:
        board = patiently(lambda: Board.open(order.board, make=False), stop)
        run = patiently(lambda: board.begin(order.run, supervisor=me), stop)
    except BoardError:
        return TORN_DOWN if stop.came() else UNREPORTED
    if run is None:
        # A call whose answer was lost may have taken it.
        with suppress(BoardError):
            found = board.run(order.run)
            run = found if found is not None and found.supervisor == me and found.ended_at is None else None
    if run is None:
        return STALE
    if record_of(run) != order.record:
        _say("the run is not what it was when it was started")
        return SPAWN_FAILED
    log = CardLog(run.log or os.devnull)
    supervisor = _Supervisor(order, stop, board, run, log)
    try:
        status = supervisor.run_it()
    except BaseException as error:
        log.say(f"[shellguard] the supervisor failed: {type(error).__name__}: {error}")
        log.exited(1)
        raise
    log.exited(status)  # first, since the board may be what does not answer
    if (
        status != REPORTED or supervisor.own_word is not None
    ):  # the board has its word, and not that it is over
        with suppress(BoardError):
            board.exited(run.id, status)
    return status


def patiently(call: Callable[[], Any], stop: Stop, seconds: float = AVAILABLE_SECONDS) -> Any:
    """Calls the board until it answers, for some seconds, ever more slowly.

    Raises: BoardError, when it does not, when it never will, or when we were told to stop meanwhile.
    """
    from shellguard.board.model import BoardUnavailableError

    limit, pause = time.monotonic() + seconds, 0.05
    while True:
        try:
            return call()
        except BoardUnavailableError:
            if time.monotonic() >= limit or stop.came():
                raise
        time.sleep(pause)
        pause = min(pause * 2, 2.0)
        if stop.came():
            raise BoardUnavailableError("told to stop")


class Clerk:
    """Speaks to the board in a thread of its own, one thing after the other, so that nobody waits who must not.

    `ready` can be read once something has an answer; `answers` gives them out, as they were asked.
    """

    def __init__(self) -> None:
        self.ready, self._write = os.pipe()
        if not WINDOWS:
            os.set_blocking(self.ready, False)
        self._asked: queue.SimpleQueue[tuple[object, Callable[[], Any]]] = queue.SimpleQueue()
        self._answered: queue.SimpleQueue[tuple[object, Any]] = queue.SimpleQueue()
        self.open = 0
        threading.Thread(target=self._work, daemon=True).start()

    def ask(self, about: object, call: Callable[[], Any]) -> None:
        """Has something done; its result, or the error that it raised, comes out with `about`."""
        self.open += 1
        self._asked.put((about, call))

    def answers(self) -> list[tuple[object, Any]]:
        """What has been answered."""
        with suppress(BlockingIOError):
            while not WINDOWS and os.read(self.ready, 100):
                pass
        found = []
        with suppress(queue.Empty):
            while True:
                found.append(self._answered.get_nowait())
                self.open -= 1
        return found

    def _work(self) -> None:
        while True:
            about, call = self._asked.get()
            try:
                result = call()
            except Exception as error:  # noqa: BLE001 - it is handed to who asked
                result = error
            self._answered.put((about, result))
            os.write(self._write, b"x")


class _Supervisor:
    """One run, from the moment that it is ours."""

    def __init__(self, order: Order, stop: Stop, board: Board, run: Run, log: CardLog) -> None:
        self.order, self.stop, self.board, self.run, self.log = order, stop, board, run, log
        self.lease = max(run.claim_expires - run.claimed_at, 4 * HEARTBEAT_SECONDS)
        self.clerk = Clerk()
        self.began = time.time()
        self.own_word: float | None = None
        self.confirmed = time.monotonic()
        self.stale = False
        self.asked = False

    def run_it(self) -> int:
        """Starts the command, watches it to its end, and reports. Gives back the exit status."""
        try:
            self.completion = _completion(self.run)
            frozen = Frozen.from_object(self.run.frozen)
            check(frozen, workspace=self.run.workspace)
        except TrustError as error:
            return self.failed(str(error))
        if self.stop.came():
            return TORN_DOWN
        try:
            self.desk = Desk(self.run.card, self.order.token)
        except OSError as error:
            return self.failed(f"no socket for the worker can be made: {error.strerror}")
        group = cgroup.make(self.run.id)
        read, write = self.log.duplicate() if WINDOWS else os.pipe()
        try:
            worker = Worker(
                frozen.argv,
                self.run.workspace or os.path.abspath(os.sep),
                self.environment(),
                files=frozen.files,
                output=write,
                grace=self.order.grace,
                hidden=True,
                cgroup=group,
                reaper=True,
            )
        except ChangedError as error:
            self.desk.close()
            return self.failed(f"{error.filename} changed right before it was to run")
        except (OSError, ValueError) as error:
            self.desk.close()
            reason = getattr(error, "strerror", None) or str(error)
            place = self.run.workspace if not os.path.isdir(self.run.workspace or "/") else frozen.argv[0]
            return self.failed(f"{place}: {reason}")
        finally:
            os.close(write)
        self.output: int | None = read
        if read is not None:
            os.set_blocking(read, False)
        child, kept = processes.identity(worker.pid), processes.identity(worker.keeper)
        self.clerk.ask("started", lambda: self.board.started(self.run.id, child=child, keeper=kept))
        self.watch(worker)
        self.last_words()
        worker.close()
        if worker.left:
            left = ", ".join(str(pid) for pid in worker.left)
            self.log.say(f"[shellguard] could not be ended: process {left}")
        return self.concluded(worker)

    def failed(self, reason: str) -> int:
        """Nothing was started. The dispatcher reads on our standard error why."""
        self.log.say(f"[shellguard] could not be started: {reason}")
        _say(reason)
        return SPAWN_FAILED

    def environment(self) -> dict[str, str]:
        """What the dispatcher built, with the address of the desk; card and run are those of the board."""
        return {
            **self.order.environment,
            "SHELLGUARD_CARD": self.run.card,
            "SHELLGUARD_RUN": self.run.id,
            "SHELLGUARD_BOARD": self.desk.address,
            "SHELLGUARD_TOKEN": self.order.token,
        }

    # --- while it runs ------------------------------------------------------------------------------------------------

    def watch(self, worker: Worker) -> None:
        """Until nothing of the worker is left."""
        beat = time.monotonic() + HEARTBEAT_SECONDS
        while worker.status is None:
            if self.stop.number is not None:
                self.end(worker, self.stop.number)
            elif self.stale or self.has_stayed_too_long() or self.has_lost_its_lease():
                self.end(worker, int(signal.SIGTERM))
            now = time.monotonic()
            if now >= beat:
                beat = now + HEARTBEAT_SECONDS
                if self.own_word is None and not self.asked and self.clerk.open == 0:
                    self.clerk.ask("heartbeat", lambda: self.board.heartbeat(self.run.id, lease=self.lease))
            self.look(worker, beat - now)

    def has_stayed_too_long(self) -> bool:
        return self.own_word is not None and time.monotonic() - self.own_word > AFTERWARDS_SECONDS

    def has_lost_its_lease(self) -> bool:
        """Whether the board was away for so long that somebody else may have the card by now."""
        self.stale = self.stale or (self.own_word is None and time.monotonic() - self.confirmed > self.lease)
        return self.stale

    def end(self, worker: Worker, number: int) -> None:
        """Asks the whole tree to end; the keeper sees to it that it does."""
        if not self.asked:
            self.asked = True
            worker.ask(number)

    def look(self, worker: Worker, seconds: float) -> None:
        """Waits for the next thing to happen, and does what it asks for."""
        if worker.watched is None:  # Windows, where only sockets can be waited for
            ready: list[Any] = select.select(self.desk.sockets, [], [], 0.05)[0]
            ready += [self.clerk.ready]
            worker.look()
        else:
            watched: list[Any] = [worker.watched, self.clerk.ready, *self.desk.sockets]
            if not self.asked:
                watched.append(self.stop.wake)
            if self.output is not None:
                watched.append(self.output)
            ready = select.select(watched, [], [], max(0.0, seconds))[0]
        if self.output in ready:
            self.pump()
        for each in ready:
            if not isinstance(each, int):
                self.serve(each)
        if self.clerk.ready in ready:
            for about, result in self.clerk.answers():
                self.answered(about, result)
        if worker.watched is not None and worker.watched in ready:
            worker.look()

    def pump(self, most: int = 1 << 20) -> bool:
        """Moves what was printed to the log; whether there may be more."""
        if self.output is None:
            return False
        for _ in range(max(1, most >> 16)):
            try:
                data = os.read(self.output, 1 << 16)
            except BlockingIOError:
                return False
            if not data:
                os.close(self.output)
                self.output = None
                return False
            self.log.write(data)
        return True

    def serve(self, caller: socket.socket) -> None:
        """Hears a worker at the desk."""
        request = self.desk.serve(caller)
        if request is None:
            return
        if request.do == "log":
            self.log.say(str(request.more["text"]))
            self.desk.answer(caller, {"ok": True})
            return
        if request.do in ("complete", "block") and self.own_word is not None:
            self.desk.answer(caller, {"ok": False, "error": "this run has moved its card already"})
            return
        self.clerk.ask((request, caller), lambda: patiently(lambda: self.do(request), self.stop))

    def do(self, request: Request) -> Any:
        """What the clerk does for a worker."""
        more, run, card = request.more, self.run.id, self.run.card
        if request.do == "show":
            return self.shown()
        if request.do == "heartbeat":
            return self.board.heartbeat(run, lease=self.lease, note=more.get("note"))
        if request.do == "complete":
            return self.board.complete(
                card,
                run=run,
                summary=more.get("summary") or "",
                metadata=more.get("metadata"),
                by="worker",
            )
        return self.board.block(
            card,
            run=run,
            kind=more.get("kind"),
            reason=more["reason"],
            metadata=more.get("metadata"),
            by="worker",
        )

    def shown(self) -> dict[str, Any]:
        """The card, as `cards show --json` has it."""
        card = self.board.card(self.run.card)
        found: dict[str, Any] = {} if card is None else card.as_object()
        found["runs"] = [each.as_object() for each in self.board.runs(self.run.card)]
        found["events"] = [each.as_object() for each in self.board.events(self.run.card)]
        return found

    def answered(self, about: object, result: Any) -> None:
        """The board has answered."""
        if about in ("started", "heartbeat"):
            # A board that is away is no sign that the run is not ours: the next heartbeat asks again.
            self.stale = self.stale or (result is False and self.own_word is None)
            if result is True:
                self.confirmed = time.monotonic()
            return
        assert isinstance(about, tuple)
        request, caller = about
        if isinstance(result, Exception):
            known = isinstance(result, ShellguardError)
            self.desk.answer(caller, {"ok": False, "error": str(result) if known else type(result).__name__})
        elif request.do == "show":
            self.desk.answer(caller, {"ok": True, "card": result})
        elif result:
            if request.do in ("complete", "block"):
                self.own_word = time.monotonic()
            self.desk.answer(caller, {"ok": True})
        else:
            self.stale = self.stale or self.own_word is None
            self.desk.answer(caller, {"ok": False, "error": "the card is not this run's any more"})

    # --- when it is over ----------------------------------------------------------------------------------------------

    def last_words(self) -> None:
        """What was printed and asked for before the end still counts. Nobody is there any more to add to it."""
        for _ in range(DRAINED_BYTES >> 20):
            if not self.pump():
                break
        while True:
            ready = select.select(self.desk.sockets, [], [], 0)[0]
            if not ready:
                break
            for each in ready:
                self.serve(each)
        while self.clerk.open and not self.stop.came():
            if WINDOWS:
                time.sleep(0.01)
            else:
                select.select([self.clerk.ready, self.stop.wake], [], [])
            for about, result in self.clerk.answers():
                self.answered(about, result)
        self.desk.close()
        if self.output is not None:
            os.close(self.output)

    def concluded(self, worker: Worker) -> int:
        """What is said about the run, by the table of docs/workers.md."""
        status = worker.status
        assert status is not None
        if self.stop.number is not None:
            self.log.say(f"[shellguard] torn down by {signal.Signals(self.stop.number).name}")
            return TORN_DOWN
        if self.own_word is not None:
            return REPORTED
        if self.stale:
            self.log.say("[shellguard] torn down: the run was closed by somebody else")
            return STALE
        if worker.lost:
            self.log.say("[shellguard] the keeper of the command was killed, and the command with it")
            return LOST
        return self.report(status, worker.left)

    def report(self, status: int, left: tuple[int, ...]) -> int:
        """Says how the command ended. A signal that comes before the transaction begins prevents it."""
        from shellguard.board.model import BoardError

        call = self.said_by(status, left)
        if self.stop.came():
            return TORN_DOWN
        self.clerk.ask("report", lambda: patiently(call, self.stop))
        answer: Any = None
        while self.clerk.open:
            if WINDOWS:
                time.sleep(0.01)
            else:
                select.select([self.clerk.ready], [], [])
            for about, result in self.clerk.answers():
                answer = result if about == "report" else answer
        if answer is True:
            return REPORTED
        if answer is False:
            # An answer that was lost on its way: the transaction was ours, and the card is where we moved it.
            with suppress(BoardError):
                if self.was_ours(status):
                    return REPORTED
            self.log.say("[shellguard] the report came too late: the run was closed by somebody else")
            return STALE
        if self.stop.came():
            return TORN_DOWN
        self.log.say(f"[shellguard] the board did not take the report: {answer}")
        return UNREPORTED

    def said_by(self, status: int, left: tuple[int, ...]) -> Callable[[], bool]:
        """The report of an exit status, to be made as one transaction."""
        card, run = self.run.card, self.run.id
        metadata: dict[str, Any] = {"worker": "command", "exit_code": status}
        if left:
            metadata["left"] = list(left)
        if status in (0, _deferred_status()):
            request = waiting_request(self.run.workspace, self.order.environment, card, self.began)
            if request is not None:
                name, folder = request
                metadata |= {"request": name, "store": folder}
                return lambda: self.board.block(
                    card,
                    run=run,
                    kind="needs_input",
                    reason=f"a command waits for a person: request {name}",
                    request=name,
                    exit_code=status,
                    metadata=metadata,
                    by="command",
                )
        if status == 0 and self.completion == "exit_code":
            return lambda: self.board.complete(
                card, run=run, summary="exit code 0", metadata=metadata, exit_code=0, by="command"
            )
        reason = WAITS if status == 0 else ended_by(status)
        return lambda: self.board.block(
            card, run=run, reason=reason, exit_code=status, metadata=metadata, by="command"
        )

    def was_ours(self, status: int) -> bool:
        """Whether the run was closed by a report of ours whose answer was lost."""
        events = self.board.events(self.run.card)
        return any(
            each.run == self.run.id
            and each.payload.get("by") == "command"
            and each.payload.get("exit_code") == status
            for each in events
        )


def _completion(run: Run) -> str:
    found = run.frozen.get("completion")
    if found not in COMPLETIONS:
        raise TrustError(f"the run does not say how its command reports: {found!r}")
    return str(found)


def ended_by(status: int) -> str:
    """How a command ended, in words: its exit code or the signal."""
    if status >= 0:
        return f"exit code {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = "signal"
    return f"signal {name} ({-status})"


def _deferred_status() -> int:
    from shellguard.approval.run import deferred_status

    return deferred_status()


def waiting_request(
    workspace: str | None, environment: dict[str, str], card: str, since: float
) -> tuple[str, str] | None:
    """The newest command of this card that waits for a person since then: its name, and the folder of its store.

    It lies where the worker keeps its state: below the git directory, or in the state folder of its own HOME.
    """
    from shellguard import places
    from shellguard.approval.files import FOLDER
    from shellguard.approval.requests import PENDING, requests
    from shellguard.approval.store import Store, StoreError

    if workspace is None or not os.path.isdir(workspace):
        return None
    stores: list[Store] = []
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update({name: value for name, value in environment.items() if name != "SHELLGUARD_HOME"})
    try:
        state = os.path.join(places.folder("state"), FOLDER)
        with suppress(OSError):
            stores += [Store(os.path.join(state, name)) for name in sorted(os.listdir(state))]
        if _is_in_repository(workspace):
            with suppress(StoreError):
                stores.append(Store.of(workspace))
    finally:
        os.environ.clear()
        os.environ.update(before)
    found = [
        (request.time, request.name, store.folder)
        for store in stores
        for request in requests(store)
        if request.session == card and request.state == PENDING and request.time >= since
    ]
    return None if not found else max(found)[1:]


def _is_in_repository(folder: str) -> bool:
    """Whether some folder above has a `.git`: asking git costs a process."""
    current = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(current, ".git")):
        if current == os.path.dirname(current):
            return False
        current = os.path.dirname(current)
    return True


if __name__ == "__main__":
    main()
