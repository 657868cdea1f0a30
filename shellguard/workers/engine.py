# SPDX-License-Identifier: Apache-2.0
"""What starts a claimed run, and goes on with it when the dispatcher that began is gone: DBOS, in the board's database.

A run is one workflow whose id is that of the run, started directly and not by a queue (a queue looks once a second). It
has two steps: the workspace is made, the supervisor is started. DBOS writes down each step that is over; one that a
dispatcher was killed in is done again, so that both are done at least once. That is harmless: a workspace is made where
it is missing, and the second supervisor of a run is refused by the board. The tables hold nothing but ids, process
names and errors: neither the token nor the environment of a worker.

There is no server and no telemetry; what DBOS logs goes nowhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import threading
import time
from dataclasses import dataclass
from functools import cache
from typing import Any

from shellguard.board.model import BoardError
from shellguard.board.tables import said_plainly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shellguard.board.board import Board

VERSION = "cards-1"
"""Of the workflow below: DBOS goes on with a workflow only where its version is the same."""

THREADS = 16


@dataclass(frozen=True, slots=True)
class Start:
    """How far a start has come: its supervisor as a process, or why there is none; neither while it is under way."""

    supervisor: str | None = None
    error: str | None = None

    @property
    def is_over(self) -> bool:
        return self.supervisor is not None or self.error is not None


class Engine:
    """DBOS for one dispatcher; there is one in a process.

    `prepare` makes the workspace of a run, `spawn` starts its supervisor and gives back its process; both may raise
    BoardError, and whatever of `problems` they raise is the error of the run.
    """

    def __init__(
        self,
        board: Board,
        *,
        host: str,
        executor: str,
        prepare: Callable[[str], None],
        spawn: Callable[[str], str],
        problems: tuple[type[Exception], ...] = (),
    ) -> None:
        self.board, self.host, self.executor = board, host, executor
        self.prepare, self.spawn = prepare, spawn
        self.problems: tuple[type[Exception], ...] = (*problems, BoardError, OSError)
        self._starts: dict[str, Start] = {}
        self._lock = threading.Lock()

    def launch(self) -> None:
        """Makes the tables of DBOS where they are missing, and its threads. Raises: BoardError."""
        # They would name a service to connect to, another version or another executor.
        for name in [name for name in os.environ if name.startswith("DBOS_")]:
            del os.environ[name]
        log = logging.getLogger("dbos")
        log.propagate = False
        if not log.handlers:
            log.addHandler(logging.NullHandler())
        from dbos import DBOS

        workflow()
        DBOS(
            config={
                # By host: what is gone on with runs where its folders are.
                "name": f"cards-{hashlib.sha256(self.host.encode()).hexdigest()[:16]}",
                "system_database_engine": self.board.engine,
                "application_version": VERSION,
                "executor_id": self.executor,
                "serializer": _serializer(),
                "log_level": "CRITICAL",
                "enable_otlp": False,
                "use_listen_notify": False,
                "scheduler_polling_interval_sec": 3600.0,
                # The thread that does this is waited for at the end.
                "notification_listener_polling_interval_sec": 0.25,
                "max_executor_threads": THREADS,
            }
        )
        _ENGINES.append(self)
        try:
            with said_plainly():
                DBOS.launch()
        except BoardError:
            DBOS.destroy()
            raise
        except Exception as error:
            DBOS.destroy()
            raise BoardError(f"DBOS cannot use the board: {type(error).__name__}") from error

    def start(self, run: str, *, fresh: bool = False) -> None:
        """Starts a run, or goes on where a dispatcher that is gone has stopped. What came of it, `state` says.

        `fresh`: nobody can have tried before. Raises: BoardError.
        """
        from dbos import DBOS, SetWorkflowID

        with self._lock:
            self._starts[run] = Start()
        try:
            with said_plainly():
                found = None if fresh else DBOS.get_workflow_status(run)
                if found is None:
                    with SetWorkflowID(run):
                        DBOS.start_workflow(workflow(), run)
                elif found.status in ("SUCCESS", "ERROR"):
                    self._came(run, _start_of(found))
                else:
                    DBOS.resume_workflow(run)
        except BaseException:
            self.forget(run)  # so that it is tried again
            raise

    def state(self, run: str) -> Start | None:
        """How far a start of this process has come; None when this process has not started it."""
        with self._lock:
            return self._starts.get(run)

    def forget(self, run: str) -> None:
        """Nobody will ask about a run again."""
        with self._lock:
            self._starts.pop(run, None)

    def under_way(self) -> list[str]:
        """The runs whose start is not over yet."""
        with self._lock:
            return [run for run, start in self._starts.items() if not start.is_over]

    def settle(self, seconds: float) -> bool:
        """Waits until no start is under way; False when one still is."""
        limit = time.monotonic() + seconds
        while self.under_way():
            if time.monotonic() > limit:
                return False
            time.sleep(0.01)
        return True

    def close(self) -> None:
        """Ends the threads of DBOS. Starts under way go on when a dispatcher launches again."""
        from dbos import DBOS

        DBOS.destroy()

    def do(self, run: str, step: Callable[[str], str | None]) -> dict[str, Any]:
        """Does a step; what it raises is its result."""
        try:
            return {"supervisor": step(run)}
        except self.problems as error:
            return {"error": str(error) or type(error).__name__}

    def came(self, run: str, result: dict[str, Any]) -> None:
        """A start is over."""
        self._came(run, Start(result.get("supervisor"), result.get("error")))

    def _came(self, run: str, start: Start) -> None:
        with self._lock:
            self._starts[run] = start


_ENGINES: list[Engine] = []


def _current() -> Engine:
    """The engine that was launched last: DBOS is one thing in a process, and calls the steps below by their names."""
    return _ENGINES[-1]


@cache
def workflow() -> Any:
    """The workflow of a run, made known to DBOS once in a process."""
    from dbos import DBOS

    @DBOS.step(name="prepare")
    def prepare(run: str) -> dict[str, Any]:
        return _current().do(run, _current().prepare)

    @DBOS.step(name="spawn")
    def spawn(run: str) -> dict[str, Any]:
        return _current().do(run, _current().spawn)

    @DBOS.workflow(name="run")
    def start(run: str) -> dict[str, Any]:
        result = {"error": "it was not started"}
        try:
            result = prepare(run)
            if "error" not in result:
                result = spawn(run)
        except BaseException as error:
            result = {"error": f"the engine could not start it: {type(error).__name__}"}
            raise
        finally:
            _current().came(run, result)
        return result

    return start


@cache
def _serializer() -> Any:
    from dbos import Serializer

    class Json(Serializer):  # type: ignore[misc,unused-ignore]
        """JSON, so that reading the board can never run anything, which pickles could."""

        def serialize(self, data: Any) -> str:
            return json.dumps(data, default=repr)

        def deserialize(self, serialized_data: str) -> Any:
            return json.loads(serialized_data)

        def name(self) -> str:
            return "json"

    return Json()


def _start_of(found: Any) -> Start:
    """What came of a workflow that another dispatcher has brought to its end."""
    with contextlib.suppress(AttributeError):
        if found.status == "SUCCESS" and isinstance(found.output, dict):
            return Start(found.output.get("supervisor"), found.output.get("error"))
    return Start(error="the engine could not start it")
