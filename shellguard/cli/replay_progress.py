# SPDX-License-Identifier: Apache-2.0
"""How far a replay is, on standard error: a bar, calls a second, and the time that is left."""

from __future__ import annotations

import time
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from shellguard.explain import visible
from shellguard.replay.run import Progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class _Bar(Progress):
    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task = bars.add_task("looking", total=None, rate="")
        self._calls, self._since = 0, time.monotonic()

    def cutting(self, name: str) -> None:
        self._bars.update(self._task, description=f"cutting {visible(name)[-40:]}")

    def begin(self, units: int) -> None:
        self._since = time.monotonic()
        self._bars.update(self._task, description="replaying", total=units, completed=0)

    def tick(self, calls: int, units: int) -> None:
        self._calls += calls
        rate = self._calls / max(0.001, time.monotonic() - self._since)
        self._bars.update(self._task, advance=units, rate=f"{self._calls:,} calls, {rate:,.0f}/s")

    def writing(self) -> None:
        self._bars.update(self._task, description="writing")


@contextmanager
def bar() -> Iterator[Progress]:
    """A progress bar for a run."""
    with Bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bars:
        yield _Bar(bars)
