# SPDX-License-Identifier: Apache-2.0
"""The state of the guard in a file, for processes that live for one call.

The file holds one record of fixed size for each event, appended under a lock; a state is what its records add up to.
So nothing is rewritten, a process that is killed loses at most the record it was writing, and processes that call at
the same time lose none. This is the only module of the guard that touches files.
"""

from __future__ import annotations

import os

from shellguard.guard.events import BEFORE
from shellguard.guard.model import BLOCK, HALT
from shellguard.guard.records import HEADER, SIZE, is_whole, packed, session_of, unpacked
from shellguard.guard.steps import step
from shellguard.guard.window import State, absorbed
from shellguard.places import BINARY, is_ours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.guard.config import GuardConfig
    from shellguard.guard.events import Event
    from shellguard.guard.model import Decision

MOST_RECORDS = 16_384
"""Records after which a file is written anew with its last ones."""
KEPT_RECORDS = 8_192
READ_RECORDS = 4_096
"""Records at the end of a file that a new process reads: some milliseconds."""
SUFFIX = ".calls"
PATIENCE = 5.0
"""Seconds that a lock is waited for."""
SWEPT_AFTER = 7 * 86_400
"""Seconds without a call after which the file of a session is removed."""


class _DamagedError(Exception):
    """The file is not what it should be."""


class Store:
    """The states in one file, for any number of sessions.

    Where the file cannot be read or written the guard goes on with what it has in memory, and `notes` says so: each
    note is a sentence for a person, said once. No method raises for what is wrong with the file.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.notes: list[str] = []
        self._file = -1
        self._place = (0, 0)
        self._read = 0
        self._states: dict[int, State] = {}
        self._waiting: dict[int, list[bytes]] = {}

    @classmethod
    def in_folder(cls, folder: str, session: int, now: float) -> Store:
        """The store of one session (`observe.session_name`), in a folder of such files. Old ones are swept."""
        path = os.path.join(folder, f"{session:016x}{SUFFIX}")
        if not os.path.exists(path):
            sweep(folder, now)
        return cls(path)

    def step(self, session: int, event: Event, config: GuardConfig) -> Decision:
        """`steps.step` on the state of a session, recorded. What it decides is what is in the file."""
        locked = self._lock()
        try:
            state = self._state(session, config)
            new, decision = step(state, event, config)
            self._states[session] = new
            if locked:
                refused = event.kind == BEFORE and decision.action in (BLOCK, HALT)
                self._append(packed(session, event, refused=refused, ends=new.halted and not state.halted))
        finally:
            self._unlock()
        return decision

    def state(self, session: int, config: GuardConfig) -> State:
        """The state of a session as the file has it now."""
        self._lock()
        try:
            return self._state(session, config)
        finally:
            self._unlock()

    def close(self) -> None:
        """Closes the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __del__(self) -> None:
        self.close()  # a controller for each session would use up the descriptors of its process

    # --- under the lock ---------------------------------------------------------------------------------------

    def _state(self, session: int, config: GuardConfig) -> State:
        state = self._states.get(session) or State()
        waiting = self._waiting.pop(session, None)
        if not waiting:
            return state
        for record in waiting[-(2 * config.window_max_calls + 64) :]:
            event, refused, ends = unpacked(record)
            state = absorbed(state, event, config, refused=refused, ends=ends)
        self._states[session] = state
        return state

    def _append(self, record: bytes) -> None:
        try:
            end = os.lseek(self._file, 0, os.SEEK_END)
            try:
                written = os.write(self._file, record)
                if written != len(record):
                    raise OSError(28, "no space left")
            except OSError:
                os.ftruncate(self._file, end)
                raise
            self._read = end + SIZE
            if self._read > MOST_RECORDS * SIZE:
                self._shorten()
        except OSError as error:
            self._say(f"{self.path} cannot be written: {error.strerror}; the counts are kept in memory only")

    def _shorten(self) -> None:
        """Writes the file anew with its last records. Who waits for the lock sees that the file is another."""
        os.lseek(self._file, -KEPT_RECORDS * SIZE, os.SEEK_END)
        data = _read_all(self._file)
        part = f"{self.path}.{os.getpid()}.part"
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY, 0o600)
        try:
            _write_all(descriptor, HEADER + data)
            os.replace(part, self.path)
            there = os.fstat(descriptor)
            self._place, self._read = (there.st_dev, there.st_ino), there.st_size
        except OSError:
            os.unlink(part)
            raise
        finally:
            os.close(descriptor)

    def _lock(self) -> bool:
        """Opens and locks the file and reads what others have added. False where that cannot be done."""
        try:
            for _ in range(100):
                if self._file < 0:
                    self._open()
                if not _locked(self._file):
                    self._say(f"{self.path} is locked by another process; this call is not recorded")
                    return False
                if self._is_current():
                    self._catch_up()
                    return True
                self.close()
            self._say(f"{self.path} is replaced all the time; this call is not recorded")
        except _DamagedError as error:
            self._set_aside(str(error))
            return self._file >= 0
        except OSError as error:
            self._say(f"{self.path} cannot be used: {error.strerror}; the counts are kept in memory only")
            self.close()
        return False

    def _open(self) -> None:
        folder = os.path.dirname(self.path)
        if folder:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | BINARY | getattr(os, "O_CLOEXEC", 0), 0o600)
        if not is_ours(self.path):
            self.close()
            raise OSError(1, "others may write to it")

    def _is_current(self) -> bool:
        """Whether the open file still is the one at the path."""
        mine = os.fstat(self._file)
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            return False
        if (mine.st_dev, mine.st_ino) != (there.st_dev, there.st_ino):
            return False
        if self._place != (mine.st_dev, mine.st_ino):
            self._place = (mine.st_dev, mine.st_ino)
            self._read = 0
            self._states, self._waiting = {}, {}
        return True

    def _catch_up(self) -> None:
        """Reads what was added since the last time: at most the last records, so that a long file costs no more."""
        size = os.fstat(self._file).st_size
        if self._read > size:
            raise _DamagedError("it became shorter")
        if self._read == 0:
            os.lseek(self._file, 0, os.SEEK_SET)
            begin = os.read(self._file, SIZE)
            if not HEADER.startswith(begin):
                raise _DamagedError("it does not begin as a file of the guard does")
            if len(begin) < SIZE:  # a new file, or one whose maker was killed
                size = self._begin()
            self._read = SIZE
        if size % SIZE:  # a process was killed while it wrote
            size -= size % SIZE
            os.ftruncate(self._file, size)
        start = max(self._read, size - READ_RECORDS * SIZE)
        if start < size:
            os.lseek(self._file, start, os.SEEK_SET)
            data = _read_all(self._file)
            for place in range(0, len(data) - SIZE + 1, SIZE):
                record = data[place : place + SIZE]
                if not is_whole(record):
                    raise _DamagedError("a record in it is damaged")
                self._waiting.setdefault(session_of(record), []).append(record)
        self._read = size

    def _begin(self) -> int:
        os.lseek(self._file, 0, os.SEEK_SET)
        try:
            _write_all(self._file, HEADER)
        except OSError:
            os.ftruncate(self._file, 0)
            raise
        return SIZE

    def _set_aside(self, why: str) -> None:
        """Moves the file out of the way and begins a new one. The lock on the new one is taken."""
        for number in range(1, 1000):
            aside = f"{self.path}.damaged-{number}"
            if not os.path.exists(aside):
                break
        self._states, self._waiting = {}, {}
        try:
            os.replace(self.path, aside)
            self._say(f"{self.path} is damaged ({why}); it lies at {aside} now, and counting begins anew")
            self._unlock()
            self.close()
            self._open()
            _locked(self._file)
            self._is_current()
            self._catch_up()
        except (OSError, _DamagedError) as error:
            self._say(f"{self.path} is damaged ({why}) and cannot be set aside: {error}")
            self.close()

    def _unlock(self) -> None:
        if self._file >= 0:
            _unlocked(self._file)

    def _say(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


def sweep(folder: str, now: float) -> int:
    """Removes the files of sessions without a call for a week; how many there were."""
    count = 0
    try:
        names = os.listdir(folder)
    except OSError:
        return 0
    for name in names:
        if not (name.endswith((SUFFIX, ".part")) or f"{SUFFIX}.damaged-" in name):
            continue
        path = os.path.join(folder, name)
        try:
            if now - os.stat(path).st_mtime > SWEPT_AFTER:
                os.unlink(path)
                count += 1
        except OSError:
            continue
    return count


def _read_all(descriptor: int) -> bytes:
    pieces = []
    while piece := os.read(descriptor, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _locked(descriptor: int) -> bool:
    """Takes the lock, or gives up after a while."""
    waited = 0.0
    while True:
        try:
            _take(descriptor)
        except OSError:
            if waited >= PATIENCE:
                return False
        else:
            return True
        from time import sleep

        sleep(0.002)
        waited += 0.002


try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    def _take(descriptor: int) -> None:
        os.lseek(descriptor, 1 << 40, os.SEEK_SET)  # a byte behind all records
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]

    def _unlocked(descriptor: int) -> None:
        os.lseek(descriptor, 1 << 40, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return

else:

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlocked(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
