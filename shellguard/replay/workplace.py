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
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from shellguard.places import folder
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

    def summary_path(self, unit: int) -> Path:
        return self.folder / f"unit-{unit}.json"

    def rows_path(self, unit: int) -> Path:
        return self.folder / f"unit-{unit}.rows"

    def split_path(self, number: int) -> Path:
        return self.folder / f"split-{number}"

    def is_done(self, unit: int) -> bool:
        """Whether a unit has its results: the summary is written after the rows."""
        return self.summary_path(unit).exists()

    def summary(self, unit: int) -> Summary:
        """The summary of a unit that is done."""
        state: dict[str, Any] = json.loads(self.summary_path(unit).read_text(encoding="ascii"))
        return Summary.from_state(state)

    def close(self, *, done: bool) -> None:
        """Gives the folder back; when the run is over it goes."""
        if done:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()


def finish(path: Path, part: Path) -> None:
    """Gives a file that is whole its name."""
    os.replace(part, path)


def private(path: Path, buffering: int = 1 << 18) -> BinaryIO:
    """A new file for this user alone."""
    with suppress(FileNotFoundError):
        path.unlink()
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b", buffering=buffering)


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
