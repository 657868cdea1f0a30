# SPDX-License-Identifier: Apache-2.0
"""Where what some commands print goes: through pipes, words and files, to the commands that print it again. Pure."""

from __future__ import annotations

from bisect import bisect_left

from shellguard.analysis.seen import END

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from shellguard.analysis.seen import Ranges, Seen, Written
    from shellguard.approval.gate import Calls
    from shellguard.values.value import Value


class Flow:
    """The commands of a text that print what its sources gave, and the files that hold it.

    `sources` are the identities of commands. `_places` are places in the log, sorted, `_files` says since which place
    a file holds it: a path as it is written, without `.` and `..`.
    """

    __slots__ = ("_before", "_calls", "_files", "_places", "_sources")

    def __init__(self, calls: Calls, sources: set[int]) -> None:
        self._calls, self._sources = calls, sources
        self._before: list[int] = []
        self._places: list[int] = []
        self._files: dict[str, int] = {}
        self._walk()
        self._before, self._places = self._places, []
        self._walk()  # what `>(..)` reads is printed by a command that is seen later

    def reaches(self, ranges: Ranges) -> bool:
        """Whether one of these commands prints what a source gave."""
        return _within(self._places, ranges) or _within(self._before, ranges)

    def is_in(self, path: str, index: int) -> bool:
        """Whether the file holds it before the command at this place."""
        since = self._files.get(plain_path(path))
        return since is not None and since < index

    def _walk(self) -> None:
        log = self._calls.log
        still_open: list[Written] = []
        opened = 0
        for index, seen in enumerate(log.commands):
            while opened < len(log.written) and log.written[opened].at <= index:
                still_open.append(log.written[opened])
                opened += 1
            while still_open and _end(still_open[-1]) <= index:
                still_open.pop()
            in_words = self.reaches(seen.words_from)
            if self._prints(seen, index, in_words):
                self._places.append(index)
                for path in self._kept_by(seen):
                    self._keep(path, index)
            elif not in_words:
                continue
            for written in still_open:
                if _end(written) > index:
                    self._keep(written.target.text, index)
            still_open.clear()

    def _prints(self, seen: Seen, index: int, in_words: bool) -> bool:
        return (
            id(seen) in self._sources
            or (in_words and self._calls.prints(seen))
            or self.reaches(seen.input_from)
            or (bool(self._files) and any(self._is_read(word, index) for word in seen.words))
        )

    def _is_read(self, word: Value, index: int) -> bool:
        """Whether the word names a file that holds it: `f`, `if=f`."""
        return word.exact and self.is_in(word.text.rpartition("=")[2], index)

    def _kept_by(self, seen: Seen) -> Iterator[str]:
        """The files into which the call puts what it reads, or, of a source, which its addresses name."""
        folders = [word.text for word in self._calls.written_by(seen)]
        yield from folders
        for word in seen.words:
            path = word.text.partition("?")[0].rstrip("/")
            name = path.rpartition("/")[2]
            if id(seen) not in self._sources:
                for folder in folders[:1]:
                    yield f"{folder}/{name}"  # `cp f folder`
            elif "/" in path:
                yield name

    def _keep(self, path: str, index: int) -> None:
        plain = plain_path(path)
        if plain:
            self._files.setdefault(plain, index)


def _end(written: Written) -> int:
    return END if written.end is None else written.end


def _within(places: list[int], ranges: Ranges) -> bool:
    """Whether one of the sorted places lies in one of the ranges."""
    for start, end in ranges:
        at = bisect_left(places, start)
        if at < len(places) and places[at] < end:
            return True
    return False


MAX_PARTS = 64
"""Of a path with more parts the middle is left out: no system opens it, and each of its tails is looked at."""


def plain_path(path: str) -> str:
    """A path without `.`, `..` and empty parts; no file is looked at."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", ".") and not (part == ".." and path[:1] == "/"):
            parts.append(part)
    if len(parts) > MAX_PARTS:
        parts[MAX_PARTS // 2 : -MAX_PARTS // 2] = []
    return ("/" if path[:1] == "/" else "") + "/".join(parts)
