# SPDX-License-Identifier: Apache-2.0
"""One run of a card with a real supervisor, as a dispatcher starts it."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from shellguard.board.board import Board
from shellguard.board.model import Card, Event, Run
from shellguard.workers import command, environment, keeper, processes, trusted
from shellguard.workers.profiles import Profile

SUPERVISOR = (sys.executable, "-P", "-I", "-m", "shellguard.workers.command")

SECONDS = 60.0
"""How long anything may take on a busy machine before a test gives up."""


def until(found: Callable[[], Any], seconds: float = SECONDS) -> Any:
    """The first true answer; fails when there is none in time."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        answer = found()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError("it did not come in time")


class Attempt:
    """A claimed run and its supervisor."""

    def __init__(self, bench: Bench, card: Card, run: Run, order: dict[str, Any]) -> None:
        self.bench, self.card_id, self.id, self.order = bench, card.id, run.id, order
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, variables: dict[str, str] | None = None) -> Attempt:
        """Starts the supervisor. `variables`: what its environment holds besides."""
        self.process = subprocess.Popen(
            SUPERVISOR,
            cwd="/",
            env={**environment.for_supervisor(), processes.RUN: self.id, **(variables or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        with self.process.stdin:
            self.process.stdin.write(json.dumps(self.order).encode())
        self.process.stdin = None
        return self

    def wait(self, seconds: float = SECONDS) -> int:
        """The exit status of the supervisor."""
        assert self.process is not None
        _, self.said = self.process.communicate(timeout=seconds)
        return self.process.returncode

    def send(self, number: int = signal.SIGTERM) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    @property
    def card(self) -> Card:
        found = self.bench.board.card(self.card_id)
        assert found is not None
        return found

    @property
    def run(self) -> Run:
        found = self.bench.board.run(self.id)
        assert found is not None
        return found

    @property
    def events(self) -> list[Event]:
        return self.bench.board.events(self.card_id)

    @property
    def kinds(self) -> list[str]:
        return [str(each.kind) for each in self.events]

    @property
    def log(self) -> str:
        path = Path(self.order["environment"]["SHELLGUARD_LOG"])
        return path.read_text(errors="replace") if path.exists() else ""

    def started(self) -> Run:
        """The run, once it is on the board that its command runs."""
        until(lambda: "started" in self.kinds)
        return self.run

    def left(self) -> list[int]:
        """Processes of this run that there still are, but for the supervisor."""
        assert self.process is not None
        return processes.of_runs((self.process.pid,)).get(self.id, [])


class Bench:
    """A board, and folders for one card after the other."""

    def __init__(self, top: Path, address: str | None = None) -> None:
        self.top = top
        self.address = address or str(top / "state" / "board.sqlite")
        self.board = Board.open(self.address)
        for name in ("workspace", "home", "tmp"):
            (top / name).mkdir(mode=0o700, exist_ok=True)
        self.workspace = top / "workspace"
        self.attempts: list[Attempt] = []

    def claim(self, *argv: str, profile: Profile | None = None, **order: Any) -> Attempt:
        """A claimed run that executes these words."""
        chosen = replace(profile or Profile("p", "/x", ()), argv=argv)
        card = self.board.add("a card", profile=chosen.name)
        return self.claim_again(card, chosen, **order)

    def claim_again(self, card: Card, profile: Profile, **order: Any) -> Attempt:
        """Claims a card that there is."""
        frozen = trusted.resolve(profile.argv, profile.search, workspace=str(self.workspace)).as_object()
        frozen |= {"completion": profile.completion, "is_agent": profile.is_agent}
        log = str(self.top / f"{card.id}.log")
        run = self.board.claim(
            card.id,
            profile=profile.name,
            host=processes.host(),
            dispatcher="test",
            lease=900,
            frozen=frozen,
            workspace=str(self.workspace),
            log=log,
        )
        assert run is not None
        token = secrets.token_urlsafe(16)
        built = environment.build(
            profile,
            card=card.id,
            run=run.id,
            workspace=str(self.workspace),
            token=token,
            log=log,
            home=str(self.top / "home"),
            tmp=str(self.top / "tmp"),
        )
        whole = {"board": self.address, "run": run.id, "token": token, "environment": built, "grace": 1.0}
        whole["record"] = command.record_of(run)
        self.attempts.append(Attempt(self, card, run, {**whole, **order}))
        return self.attempts[-1]

    def close(self) -> None:
        """Ends what a test that failed has left; nothing, after one that did not."""
        for attempt in self.attempts:
            if attempt.process is not None and attempt.process.poll() is None:
                attempt.process.kill()
                attempt.wait()
            processes.sweep(attempt.id)
        self.board.close()

    def do(self, *argv: str, profile: Profile | None = None, **order: Any) -> tuple[int, Attempt]:
        """Runs a command to its end."""
        attempt = self.claim(*argv, profile=profile, **order).start()
        return attempt.wait(), attempt

    def python(self, text: str) -> tuple[str, ...]:
        """The words that run a text of Python."""
        return (sys.executable, "-I", "-c", text)


def alive(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    return processes.identity(pid) is not None


def tree_of(pid: int) -> list[int]:
    """Everything below a process."""
    return [each for each in keeper.below(pid, None) if alive(each)]


def pids_in(folder: Path) -> list[int]:
    """The numbers that the processes of a test wrote into files of this folder."""
    return sorted(int(name) for name in os.listdir(folder) if name.isdigit())
