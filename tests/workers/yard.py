# SPDX-License-Identifier: Apache-2.0
"""A board with profiles, dispatchers as processes of their own, and what is left of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from shellguard.board.board import Board
from shellguard.board.model import Card, Event, Run
from shellguard.workers import processes
from shellguard.workers.dispatcher import Dispatcher, Pass, serve
from shellguard.workers.tree import Stop

ROOT = Path(__file__).resolve().parents[2]
CARDS = (sys.executable, "-m", "shellguard", "cards")

PATIENCE_SECONDS = 60.0


class Yard:
    """A home with profiles in `folder`, and a board: a file there, or the database at `address`."""

    def __init__(self, folder: Path, address: str | None = None) -> None:
        self.home = folder / "home"
        (self.home / "profiles").mkdir(parents=True, mode=0o700)
        self.home.chmod(0o700)
        self.address = address or str(folder / "board.sqlite")
        self.board = Board.open(self.address)
        self.folder = folder
        self.said: list[str] = []
        self._dispatchers: list[subprocess.Popen[str]] = []

    @property
    def database(self) -> str:
        """The name of the database, of a board that is no file."""
        return self.address.rpartition("/")[2]

    def profile(self, name: str, *command: str, **words: Any) -> str:
        """Writes a profile; `command` is its argv, a single word is a script for the shell."""
        argv = ["/bin/sh", "-c", *command] if len(command) == 1 and " " in command[0] else list(command)
        file = self.home / "profiles" / name / "config.yaml"
        file.parent.mkdir(mode=0o755, exist_ok=True)
        file.write_text(json.dumps({"worker": {"command": argv, **words}}))
        return name

    def add(self, profile: str, **fields: Any) -> str:
        """A new card; its id."""
        return self.board.add(fields.pop("title", "t"), profile=profile, **fields).id

    def card(self, card: str) -> Card:
        found = self.board.card(card)
        assert found is not None
        return found

    def run(self, card: str) -> Run:
        """The last run of a card."""
        return self.board.runs(card)[-1]

    def events(self, card: str) -> list[Event]:
        return self.board.events(card)

    def kinds(self, card: str) -> list[str]:
        """The kinds of the events of a card, heartbeats left out."""
        return [str(event.kind) for event in self.events(card) if event.kind != "heartbeat"]

    def event(self, card: str, kind: str) -> Event:
        """The last event of a kind."""
        return [event for event in self.events(card) if event.kind == kind][-1]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "SHELLGUARD_HOME": str(self.home), "SHELLGUARD_BOARD": self.address}

    def start(self, *words: str) -> subprocess.Popen[str]:
        """A dispatcher that goes on until it is told to stop."""
        process = subprocess.Popen(
            [*CARDS, "dispatch", *words],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._dispatchers.append(process)
        return process

    def dispatch(self, *words: str, status: int = 0, timeout: float = PATIENCE_SECONDS) -> str:
        """What a dispatcher said until it ended."""
        process = self.start(*words)
        try:
            said = process.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            said = process.communicate()[0]
            raise AssertionError(f"the dispatcher does not end: {said}") from None
        assert process.returncode == status, said
        return said

    def dispatcher(self, **words: Any) -> Dispatcher:
        """A dispatcher in this process; what it says goes to `said`."""
        return Dispatcher(self.board, home=str(self.home), say=self.said.append, **words)

    def once(self, **words: Any) -> Pass:
        """One pass, and nothing after it."""
        with self.dispatcher(**words) as dispatcher:
            return dispatcher.once()

    def until_idle(self, *, seconds: float = PATIENCE_SECONDS, **words: Any) -> Pass:
        """Passes until nothing is ready or running."""
        with self.dispatcher(**words) as dispatcher, Stop() as stop:
            state = serve(dispatcher, stop, interval=1.0, until_idle=True, timeout=seconds)
            assert state == "idle", self.said[-20:]
            return dispatcher.did

    def wait(self, what: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
        """Waits until something is so, and gives it back."""
        limit = time.monotonic() + seconds
        while not (found := what()):
            assert time.monotonic() < limit, "it did not come"
            time.sleep(0.02)
        return found

    def wait_for(self, card: str, *statuses: str) -> Card:
        """Waits until a card has one of these statuses."""
        self.wait(lambda: self.card(card).status in statuses)
        return self.card(card)

    def wait_started(self, card: str) -> Run:
        """Waits until the command of a card runs."""
        self.wait(lambda: "started" in self.kinds(card)[-1:] and self.run(card).child)
        return self.run(card)

    def processes_of(self, card: str) -> list[int]:
        """Every process that was started for a run of a card and is still there."""
        found = processes.of_runs()
        return [pid for run in self.board.runs(card) for pid in found.get(run.id, [])]

    def all_processes(self) -> list[int]:
        """Every process that was started for a run of this board."""
        return [
            pid
            for run, pids in processes.of_runs().items()
            if self.board.run(run) is not None
            for pid in pids
        ]

    def close(self) -> None:
        """Ends everything that was started here."""
        for process in self._dispatchers:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        try:
            for run in self.board.open_runs():
                processes.send(run.supervisor, processes.KILL)
            for name in processes.of_runs():
                if self.board.run(name) is not None:
                    processes.sweep(name)
        finally:
            self.board.close()


def shell(*lines: str) -> Sequence[str]:
    """The argv of a script."""
    return ("/bin/sh", "-c", "\n".join(lines))
