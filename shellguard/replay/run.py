# SPDX-License-Identifier: Apache-2.0
"""A whole replay: plan, cut, replay, put together in the order of the input."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shellguard.replay import engines
from shellguard.replay.options import Options
from shellguard.replay.summary import Summary
from shellguard.replay.units import Plan, Split, Unit, planned, split
from shellguard.replay.workplace import Workplace
from shellguard.transcripts.files import UnreadableError
from shellguard.transcripts.model import Problem

IN_PROCESS = 1 << 20
"""Bytes of input up to which starting other processes costs more than it saves."""


@dataclass(frozen=True, slots=True)
class How:
    """Where and how the work is done; nothing of it changes a result."""

    engine: str = "local"
    scheduler: str | None = None
    jobs: int | None = None
    work: str | None = None


class Progress:
    """What a run tells while it goes on; this one is silent."""

    def cutting(self, name: str) -> None:
        """A large file is cut into parts."""

    def begin(self, units: int) -> None:
        """So many units are to be replayed."""

    def tick(self, calls: int, units: int) -> None:
        """So many calls and units more are done."""

    def writing(self) -> None:
        """All units are done; what was asked for is written."""


class Replay:
    """A replay that is done: its summary, and its rows as long as `close` was not called."""

    def __init__(
        self, plan: Plan, options: Options, place: Workplace, summary: Summary, skipped: frozenset[int]
    ) -> None:
        self.plan, self.options, self.summary = plan, options, summary
        self.stamp = plan.stamp
        self._place, self._skipped = place, skipped

    def lines(self) -> Iterator[bytes]:
        """The rows as lines of JSON with their newline, in the order of the input."""
        for item in self.plan.work:
            if item.number in self._skipped:
                continue
            if isinstance(item, Split):
                yield from _woven(item, self._place)
            else:
                with open(self._place.rows_path(item.number), "rb", buffering=1 << 18) as rows:
                    yield from rows

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows, in the order of the input."""
        return map(json.loads, self.lines())

    def scratch(self, name: str) -> Path:
        """A place for a file that goes with the run."""
        path = self._place.folder / name
        path.unlink(missing_ok=True)
        return path

    def close(self, *, done: bool = True) -> None:
        """Ends the run: with `done` its folder goes."""
        self._place.close(done=done)


def replay(paths: Sequence[str], options: Options, how: How, progress: Progress | None = None) -> Replay:
    """Replays transcripts. The caller closes what it gets.

    A run that was killed and is started again with the same input and options goes on where it was.
    Raises EngineError, BusyError, OSError; content that cannot be read is in the summary.
    """
    tell = Progress() if progress is None else progress
    plan = planned(paths, options)
    place = Workplace(plan.key, how.work)
    try:
        jobs = how.jobs or engines.default_jobs()
        units, void = _units(plan, place, tell)
        waiting = [unit for unit in units if not place.is_done(unit.number)]
        tell.begin(len(waiting))
        if how.engine == "dask":
            if waiting:
                engines.dask(waiting, options, plan.stamp, place.folder, tell.tick, how.scheduler, jobs)
        elif jobs == 1 or len(waiting) < 2 or plan.bytes <= IN_PROCESS:
            engines.here(waiting, options, place.folder, tell.tick)
        else:
            engines.pool(waiting, options, place.folder, tell.tick, min(jobs, len(waiting)))
        tell.writing()
        summary = Summary()
        for problem in plan.problems:
            summary.problem(problem)
        for item in plan.work:
            if item.number in void:
                summary.problem(void[item.number])
            for number in range(item.number, item.number + _count(item)) if item.number not in void else ():
                summary.add(place.summary(number))
    except BaseException:
        place.close(done=False)
        raise
    return Replay(plan, options, place, summary, frozenset(void))


def _count(item: Unit | Split) -> int:
    return item.shards if isinstance(item, Split) else 1


def _units(plan: Plan, place: Workplace, tell: Progress) -> tuple[list[Unit], dict[int, Problem]]:
    """All units, large files cut; and what is wrong with those that cannot be, by the number of their first unit."""
    units: list[Unit] = []
    void: dict[int, Problem] = {}
    for item in plan.work:
        if isinstance(item, Unit):
            units.append(item)
            continue
        folder = place.split_path(item.number)
        if not folder.exists():
            tell.cutting(item.source)
            part = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(mode=0o700)
            try:
                split(item, str(part))
            except (UnreadableError, OSError) as error:
                reason = str(error) if isinstance(error, UnreadableError) else error.strerror
                void[item.number] = Problem(item.source, None, reason or "it cannot be read", voids=True)
                shutil.rmtree(part, ignore_errors=True)
                continue
            os.replace(part, folder)
        source = ((item.source, (item.source,), True),)
        units += [
            Unit(item.number + shard, source, shard=str(folder / f"{shard}")) for shard in range(item.shards)
        ]
    return units, void


def _woven(item: Split, place: Workplace) -> Iterator[bytes]:
    """The rows of a file that was cut, in the order of its lines."""
    with ExitStack() as stack:
        order = stack.enter_context(open(Path(place.split_path(item.number)) / "order", "rb"))
        shards = [
            stack.enter_context(open(place.rows_path(item.number + shard), "rb", buffering=1 << 14))
            for shard in range(item.shards)
        ]
        while chunk := order.read(1 << 16):
            for at in range(0, len(chunk), 2):
                row = shards[chunk[at] << 8 | chunk[at + 1]].readline()
                if row != b"\n":
                    yield row
