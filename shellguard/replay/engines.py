# SPDX-License-Identifier: Apache-2.0
"""Where units are replayed: in this process, in a pool of processes, or by Dask. All give the same bytes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from io import BytesIO
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from shellguard.replay.options import Options
from shellguard.replay.units import Unit, Worker
from shellguard.replay.workplace import keep_summary, rows_path, whole

Tick = Callable[[int, int], None]
"""Told how many calls, and how many units, are done since it was told last."""

_worker: Worker | None = None


class EngineError(Exception):
    """An engine that cannot be used: a package is missing, or nobody answers at the address."""


def here(units: Sequence[Unit], options: Options, folder: Path, tick: Tick) -> None:
    """Replays the units one after the other in this process."""
    worker = Worker(options)
    for unit in units:
        replay_into(worker, unit, folder, lambda calls: tick(calls, 0))
        tick(0, 1)


def pool(units: Sequence[Unit], options: Options, folder: Path, tick: Tick, jobs: int) -> None:
    """Replays the units in so many processes."""
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_begin, initargs=(options, os.getpid())
    ) as executor:
        pending: set[Future[int]] = set()
        try:
            for unit in units:
                # Few units wait: a plan of a million units is no million futures.
                if len(pending) >= 3 * jobs:
                    pending = _collected(pending, tick)
                pending.add(executor.submit(_replay, unit, str(folder)))
            while pending:
                pending = _collected(pending, tick)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


def _collected(pending: set[Future[int]], tick: Tick) -> set[Future[int]]:
    done, rest = wait(pending, return_when=FIRST_COMPLETED)
    for future in done:
        tick(future.result(), 1)
    return rest


def _begin(options: Options, parent: int) -> None:
    global _worker  # noqa: PLW0603 - a process of a pool has one set of options
    _worker = Worker(options)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """Ends this process when the one that started it is gone: a killed run leaves nobody behind."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _replay(unit: Unit, folder: str) -> int:
    assert _worker is not None
    return replay_into(_worker, unit, Path(folder), None)


def replay_into(worker: Worker, unit: Unit, folder: Path, tick: Callable[[int], None] | None) -> int:
    """Replays a unit and tells how many calls it has. Rows and summary get their names when they are whole."""
    if worker.options.rows:
        with whole(rows_path(folder, unit.number)) as out:
            summary = worker.replay(unit, out, tick)
    else:
        summary = worker.replay(unit, None, tick)
    keep_summary(folder, unit.number, summary.as_state())
    return summary.calls


# --- Dask ------------------------------------------------------------------------------------------------------


def dask(
    units: Sequence[Unit],
    options: Options,
    stamp: dict[str, Any],
    folder: Path,
    tick: Tick,
    scheduler: str | None,
    jobs: int,
) -> None:
    """Replays the units with the scheduler at an address, or with a cluster of this machine without one.

    Workers must come to the same `stamp`. They read the files by the paths that stand in the units; results come back
    over the network.
    """
    try:
        from distributed import Client, LocalCluster, as_completed
    except ImportError:
        raise EngineError("Dask: install shellguard-engine[corpora] to use it") from None
    cluster = None
    if scheduler is None:
        cluster = LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=None, processes=True)
    try:
        client = Client(scheduler if cluster is None else cluster, timeout="20s", set_as_default=False)
    except OSError as error:
        raise EngineError(f"no Dask scheduler answers at {scheduler}: {error}") from None
    try:
        waiting: Iterator[Unit] = iter(units)
        completed = as_completed(loop=client.loop, with_results=True)
        for unit in islice(waiting, 3 * max(1, len(client.scheduler_info()["workers"]))):
            completed.add(client.submit(_remote, unit, options, stamp, pure=False, retries=2))
        for future, (number, rows, summary) in completed:
            future.release()
            if rows is not None:
                with whole(rows_path(folder, number)) as out:
                    out.write(rows)
            keep_summary(folder, number, summary)
            tick(summary["calls"], 1)
            following = next(waiting, None)
            if following is not None:
                completed.add(client.submit(_remote, following, options, stamp, pure=False, retries=2))
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


_served: tuple[Options, dict[str, Any]] | None = None
_one_at_a_time = threading.Lock()


def _remote(unit: Unit, options: Options, stamp: dict[str, Any]) -> tuple[int, bytes | None, dict[str, Any]]:
    """A unit on a worker of Dask: its number, its rows, its summary.

    Raises EngineError where the worker has another version or other rules than who asks.
    """
    global _worker, _served
    # A worker of Dask may have several threads and serve several runs, and the guard remembers commands for one
    # set of rules. Threads would gain nothing: this is work for the processor.
    with _one_at_a_time:
        if _worker is None or _served != (options, stamp):
            if options.stamp(options.shelf()) != stamp:
                raise EngineError("a worker of Dask has another version of shellguard, or other rules")
            _worker, _served = Worker(options), (options, stamp)
        out = BytesIO() if options.rows else None
        summary = _worker.replay(unit, out)
    return unit.number, None if out is None else out.getvalue(), summary.as_state()


def default_jobs() -> int:
    """How many processes may be used: as many as there are processors for this one."""
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return os.cpu_count() or 1 if affinity is None else max(1, len(affinity(0)))
