# SPDX-License-Identifier: Apache-2.0
"""The log of a card: what its commands print, kept to a size, with one older part beside it (`NAME.1`).

A new run writes behind the one before. The last line of a run says how its supervisor ended, for who did not see it.
"""

from __future__ import annotations

import os

MAX_BYTES = 2 * 1024 * 1024
"""Of one part. A log takes twice as much at most."""

EXIT = "[shellguard-worker-exit] rc="

TAIL_BYTES = 4096


class CardLog:
    """A log that is open for writing. A disk that is full costs the log and nothing else."""

    def __init__(self, path: str, limit: int = MAX_BYTES) -> None:
        self.path, self.limit = path, limit
        self._size, self._at_start = 0, True
        self._descriptor: int | None = None
        self._open()

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            self._descriptor = os.open(self.path, flags, 0o600)
            self._size = os.fstat(self._descriptor).st_size
            if self._size:
                os.lseek(self._descriptor, -1, os.SEEK_END)
                self._at_start = os.read(self._descriptor, 1) == b"\n"
        except OSError:
            self._descriptor = None

    def write(self, data: bytes) -> None:
        """Adds what was printed."""
        while data and self._descriptor is not None:
            if self._size >= self.limit:
                self._rotate()
                continue
            part, data = data[: self.limit - self._size], data[self.limit - self._size :]
            try:
                written = os.write(self._descriptor, part)
            except OSError:
                return
            self._size += written
            data = part[written:] + data
            self._at_start = part[written - 1 : written] == b"\n"

    def say(self, line: str) -> None:
        """Adds a line of the supervisor's own."""
        start = b"" if self._at_start else b"\n"
        self.write(start + line.encode("utf-8", "backslashreplace") + b"\n")

    def exited(self, status: int) -> None:
        """Adds the last line, and closes."""
        self.say(f"{EXIT}{status}")
        self.close()

    def duplicate(self) -> tuple[None, int]:
        """Nothing to read from, and the file itself to write to: it is then not kept to its size."""
        return None, os.open(os.devnull, os.O_WRONLY) if self._descriptor is None else os.dup(
            self._descriptor
        )

    def close(self) -> None:
        """Lets go of the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _rotate(self) -> None:
        self.close()
        try:
            os.replace(self.path, f"{self.path}.1")
        except OSError:
            return
        self._at_start = True
        self._open()


def exit_status(path: str) -> int | None:
    """How the last supervisor that wrote to a log ended; None when its last line does not say so.

    A command can print such a line too: it counts only as the very last one, which the supervisor writes.
    """
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            lines = file.read().rstrip(b"\n").split(b"\n")
    except OSError:
        return None
    text = lines[-1].decode("ascii", "replace")
    number = text.removeprefix(EXIT)
    return int(number) if text.startswith(EXIT) and number.isascii() and number.isdigit() else None
