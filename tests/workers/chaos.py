# SPDX-License-Identifier: Apache-2.0
"""Kills dispatchers, supervisors and servers at random moments while cards are done, and looks at what came of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from shellguard.board.model import BoardError
from shellguard.workers import processes
from tests.board.servers import Server
from tests.workers.yard import Yard, shell


@dataclass
class Figures:
    """What a run of chaos did, for the report of a test."""

    cards: int
    seconds: float = 0.0
    kills: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    attempts: Counter[int] = field(default_factory=Counter)

    def __str__(self) -> str:
        kills = ", ".join(f"{number} {what}" for what, number in sorted(self.kills.items()))
        outcomes = ", ".join(f"{number} {what}" for what, number in sorted(self.outcomes.items()))
        attempts = ", ".join(f"{number} cards in {count}" for count, number in sorted(self.attempts.items()))
        return f"{self.cards} cards in {self.seconds:.0f} s; killed: {kills}; runs: {outcomes}; attempts: {attempts}"


def worker(yard: Yard) -> str:
    """A profile whose command holds a lock for as long as anything of it lives, and fails loudly when it is held.

    The lock is one of the kernel, on an open file that children inherit: a file made with O_EXCL would outlive a
    command that is killed, and not notice a child that is left.
    """
    locks = yard.folder / "locks"
    locks.mkdir()
    return yard.profile(
        "locked",
        *shell(
            f"exec 9>>{locks}/$SHELLGUARD_CARD",
            f"flock -n 9 || {{ echo $SHELLGUARD_CARD >> {yard.folder}/twice; exit 99; }}",
            f"echo $SHELLGUARD_CARD >> {yard.folder}/begun",
            "setsid sleep 300 &",
            "sleep 1",  # longer than it takes to start the next attempt, so that two at once would meet
            f"echo $SHELLGUARD_CARD >> {yard.folder}/finished",
        ),
    )


def chaos(
    yard: Yard,
    *,
    cards: int,
    kills: int,
    seed: int,
    dispatchers: int = 1,
    server: Server | None = None,
    at_once: int = 8,
    longest_pause: float = 1.2,
    seconds: float = 900.0,
) -> Figures:
    """Has cards done while something is killed again and again; everything must come to its end all the same."""
    chance = random.Random(seed)
    figures = Figures(cards)
    profile = worker(yard)
    names = [yard.add(profile, max_retries=10_000) for _ in range(cards)]
    words = ("--max", str(at_once), "--interval", "0.2")
    running = [yard.start(*words) for _ in range(dispatchers)]
    began = time.monotonic()
    while figures.kills.total() < kills:
        assert time.monotonic() - began < seconds, f"it takes too long: {figures}"
        time.sleep(chance.uniform(0.0, longest_pause))
        for place, process in enumerate(running):
            if process.poll() is not None:
                said = process.communicate()[0]
                # One that starts while there is no server says so, and leaves.
                expected = {-signal.SIGKILL} if server is None else {-signal.SIGKILL, 2}
                assert process.returncode in expected, f"a dispatcher ended by itself: {said}"
                running[place] = yard.start(*words)
        try:
            what = _kill(yard, running, server, chance)
            if what:
                figures.kills[what] += 1
        except BoardError:
            continue  # a server that starts again
    for process in running:
        process.kill()
        process.communicate()
    yard.wait(lambda: _answers(yard))
    yard.until_idle(at_once=at_once, seconds=seconds)
    figures.seconds = time.monotonic() - began
    check(yard, names, figures)
    return figures


def _kill(
    yard: Yard, running: list[subprocess.Popen[str]], server: Server | None, chance: random.Random
) -> str:
    """Kills one thing; what it was, empty when there was none to kill."""
    dice = chance.random()
    if server is not None and dice < 0.1:
        return "backends" if server.kill_backends() else ""
    if dice < 0.3:
        chance.choice(running).kill()
        return "dispatcher"
    runs = yard.board.open_runs()
    if dice < 0.9:
        # Also one that has not taken its run yet, where it can be seen (not by a user who is not root); none of
        # another board.
        ours = processes.of_runs()
        seen = {
            processes.identity(pid) for run in runs for pid in ours.get(run.id, []) if _is_supervisor(pid)
        }
        found = sorted({run.supervisor for run in runs} | seen, key=str)
        return "supervisor" if found and processes.send(chance.choice(found), processes.KILL) else ""
    keepers = [run.keeper for run in runs if run.keeper is not None]
    return "keeper" if keepers and processes.send(chance.choice(keepers), processes.KILL) else ""


def _is_supervisor(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"shellguard.workers.command" in file.read()
    except OSError:
        return False


def _answers(yard: Yard) -> bool:
    try:
        yard.board.counts()
    except BoardError:
        return False
    return True


def check(yard: Yard, names: list[str], figures: Figures) -> None:
    """No card is lost, none stuck, and no two attempts at one were there at once."""
    twice = yard.folder / "twice"
    assert not twice.exists(), twice.read_text()
    found = {card.id: card for card in yard.board.cards()}
    assert sorted(found) == sorted(names)
    assert {str(card.status) for card in found.values()} == {"done"}
    assert yard.board.open_runs() == []
    finished = set((yard.folder / "finished").read_text().split())
    assert finished == set(names)
    for history in yard.board.history():
        runs = history.runs
        figures.attempts[len(runs)] += 1
        figures.outcomes.update(str(run.outcome) for run in runs)
        assert [run.attempt for run in runs] == list(range(1, len(runs) + 1))
        assert [str(run.outcome) for run in runs].count("completed") == 1
        assert runs[-1].outcome == "completed"
        for earlier, later in pairwise(runs):
            assert earlier.ended_at is not None
            assert earlier.ended_at <= later.claimed_at
        # At least once, and visibly so: each attempt that was lost is an event that says how.
        kinds = Counter(str(event.kind) for event in history.events)
        assert kinds["claimed"] == len(runs)
        lost = kinds["crashed"] + kinds["spawn_failed"] + kinds["reclaimed"]
        assert lost == len(runs) - 1
        assert history.card.consecutive_failures == 0
    yard.wait(lambda: not yard.all_processes(), 20)
    assert os.listdir(yard.folder / "locks")
