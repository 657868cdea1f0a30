# SPDX-License-Identifier: Apache-2.0
"""The folder of one run: what is done stays done when the run is killed.

    KEY/lock, KEY/split-N/{order,0,1,...}, KEY/unit-N.rows, KEY/unit-N.json

A file has its name only when it is whole. The folder goes when the run is over; folders that nobody came back to are
swept after a week.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from shellguard.places import BINARY, folder
from shellguard.replay.summary import Summary

MAX_AGE = 7 * 86_400.0
_KEY = re.compile("[0-9a-f]{32}")


class BusyError(Exception):
    """Another process is at the same run."""


class Workplace:
    """The folder of a run, whose key names inputs and options."""

    def __init__(self, key: str, base: str | None = None) -> None:
        """Raises BusyError where the same run is going on, and OSError where the folder cannot be made."""
        root = Path(base) if base is not None else Path(folder("cache")) / "replay"
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if base is None:
            _sweep(root)  # a folder that somebody named may hold what is not ours
        self.folder = root / key
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self._lock = _locked(self.folder / "lock")

    def rows_path(self, unit: int) -> Path:
        return rows_path(self.folder, unit)

    def split_path(self, number: int) -> Path:
        return self.folder / f"split-{number}"

    def is_done(self, unit: int) -> bool:
        """Whether a unit has its results: the summary is written after the rows."""
        return _summary_path(self.folder, unit).exists()

    def summary(self, unit: int) -> Summary:
        """The summary of a unit that is done."""
        state: dict[str, Any] = json.loads(_summary_path(self.folder, unit).read_text(encoding="ascii"))
        return Summary.from_state(state)

    def close(self, *, done: bool) -> None:
        """Gives the folder back; when the run is over it goes."""
        if done:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()


def rows_path(folder: Path, unit: int) -> Path:
    """Where the rows of a unit lie in the folder of a run."""
    return folder / f"unit-{unit}.rows"


def _summary_path(folder: Path, unit: int) -> Path:
    return folder / f"unit-{unit}.json"


def keep_summary(folder: Path, unit: int, state: dict[str, Any]) -> None:
    """Writes the summary of a unit, whose rows are written: with it the unit is done."""
    with whole(_summary_path(folder, unit)) as out:
        out.write(json.dumps(state).encode("ascii"))


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """A file for this user alone that has its name only when it is whole; readers see the old one or the new one.

    What goes wrong leaves nothing behind.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with private(part) as out:
            yield out
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def private(path: Path, buffering: int = 1 << 18) -> BinaryIO:
    """A new file for this user alone."""
    with suppress(FileNotFoundError):
        path.unlink()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY, 0o600)
    return os.fdopen(descriptor, "w+b", buffering=buffering)


def _locked(path: Path) -> IO[bytes] | None:
    try:
        import fcntl
    except ImportError:
        return None
    file = open(path, "ab")  # noqa: SIM115 - open as long as the run
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise BusyError(f"another process is at the same replay; its work lies in {path.parent}") from None
    return file


def _sweep(root: Path) -> None:
    for path in root.iterdir():
        if not _KEY.fullmatch(path.name):
            continue
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > MAX_AGE:
                shutil.rmtree(path, ignore_errors=True)
