# SPDX-License-Identifier: Apache-2.0
"""What a reader gives: calls in the order in which they were made, and what could not be read."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

MAX_PROMPT = 400
"""Characters of a user's words that are kept: enough to tell a bare "continue" from a request."""

MAX_OPEN = 4_096
"""Calls that wait for their result at the same time. Beyond it the oldest goes on without one."""


@dataclass(slots=True)
class Call:
    """One tool call of a recorded run, with what it returned.

    `session` and `agent` name the run: a sub-agent is one of its own. `index` counts the calls of the run from 0.
    `turn` counts the requests of the user from 1; with `counts_replies` it may count the replies of the model instead.
    `prompt` is the beginning of the user's words, on the first call of a turn. `group` is the reply of the model that
    made the call. `command` is the shell text, None when the tool is no shell. A result that is not known is None;
    `truncated` says that the record holds a part of it. `exit_code` is never guessed. `started_at` is in seconds since
    1970, `elapsed` in seconds.
    """

    source: str
    session: str
    tool: str
    args: dict[str, Any]
    index: int = 0
    agent: str = ""
    turn: int | None = None
    prompt: str | None = None
    call_id: str = ""
    group: str = ""
    command: str | None = None
    cwd: str = ""
    result: str | None = None
    result_sha256: str | None = None
    result_len: int | None = None
    truncated: bool = False
    exit_code: int | None = None
    failed: bool | None = None
    denied: bool = False
    running: bool = False
    started_at: float | None = None
    elapsed: float | None = None
    counts_replies: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read: the file, the line (from 1; None where there are no lines), and why.

    `voids` says that nothing of the file counts, what was read of it before included.
    """

    path: str
    line: int | None
    message: str
    voids: bool = False

    def __str__(self) -> str:
        return (
            f"{self.path}:{self.line}: {self.message}"
            if self.line is not None
            else f"{self.path}: {self.message}"
        )


@dataclass(slots=True)
class Result:
    """What a call returned. `at` is when, in seconds since 1970. Fields that are not known stay as they are."""

    text: str | None = None
    exit_code: int | None = None
    failed: bool | None = None
    denied: bool = False
    running: bool = False
    truncated: bool = False
    at: float | None = None
    elapsed: float | None = None

    def give(self, call: Call) -> None:
        """Writes the result into its call."""
        call.result = self.text
        call.result_len = None if self.text is None else len(self.text)
        call.exit_code, call.failed = self.exit_code, self.failed
        call.denied, call.running, call.truncated = self.denied, self.running, self.truncated
        call.elapsed = self.elapsed
        if call.elapsed is None and self.at is not None and call.started_at is not None:
            call.elapsed = max(0.0, round(self.at - call.started_at, 3))


@dataclass(slots=True)
class Run:
    """A run while it is read: its names, how many calls it has, and what the user asked for last."""

    source: str
    session: str
    agent: str = ""
    index: int = 0
    turn: int = 0
    prompt: str | None = None

    def asked(self, words: str | None) -> None:
        """A request of the user: with it a turn begins."""
        self.turn, self.prompt = self.turn + 1, None if words is None else words[:MAX_PROMPT]

    def call(
        self,
        tool: str,
        args: dict[str, Any],
        command: str | None,
        *,
        call_id: str = "",
        group: str = "",
        cwd: str = "",
        started_at: float | None = None,
    ) -> Call:
        """The next call of the run. The first of a turn has the prompt; calls before any request are of turn 1."""
        call = Call(
            source=self.source,
            session=self.session,
            tool=tool,
            args=args,
            index=self.index,
            agent=self.agent,
            turn=max(self.turn, 1),
            prompt=self.prompt,
            call_id=call_id,
            group=group,
            command=command,
            cwd=cwd,
            started_at=started_at,
        )
        self.index, self.prompt = self.index + 1, None
        return call


@dataclass(slots=True)
class _Open:
    call: Call
    done: bool = False


@dataclass(slots=True)
class Pairing:
    """Joins calls with results that come later, earlier or never, and gives the calls back in their order."""

    most: int = MAX_OPEN
    _queue: deque[_Open] = field(default_factory=deque)
    _open: dict[str, _Open] = field(default_factory=dict)
    _early: OrderedDict[str, Result] = field(default_factory=OrderedDict)

    def add(self, call: Call) -> Iterator[Call]:
        """A call was made. Yields the calls that wait for nothing any more."""
        waiting = _Open(call)
        self._queue.append(waiting)
        early = self._early.pop(call.call_id, None) if call.call_id else None
        if early is not None:
            early.give(call)
            waiting.done = True
        elif call.call_id:
            self._open[call.call_id] = waiting
        while len(self._queue) > self.most:
            yield self._first()
        yield from self.ready()

    def result(self, call_id: str, result: Result) -> bool:
        """A result came. False when no call waits for it (it is kept for one that may still come)."""
        waiting = self._open.pop(call_id, None)
        if waiting is None:
            self._early[call_id] = result
            if len(self._early) > self.most:
                self._early.popitem(last=False)
            return False
        result.give(waiting.call)
        waiting.done = True
        return True

    def oldest(self, tool: str | None = None) -> str | None:
        """The id of the oldest call that waits, for formats whose results name no call."""
        for waiting in self._queue:
            if not waiting.done and (tool is None or waiting.call.tool == tool):
                return waiting.call.call_id
        return None

    def ready(self) -> Iterator[Call]:
        """The calls at the front that have their result."""
        while self._queue and self._queue[0].done:
            yield self._first()

    def rest(self) -> Iterator[Call]:
        """All calls that are left; who waits goes without a result."""
        while self._queue:
            yield self._first()

    def _first(self) -> Call:
        waiting = self._queue.popleft()
        self._open.pop(waiting.call.call_id, None)
        return waiting.call


def mapping(value: object) -> dict[str, Any]:
    """The value when it is a JSON object, else an empty one: records are read by what they hold, not by a promise."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """The value when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    """The value when it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int | None:
    """The value when it is a whole number that other programs can hold too, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 1 << 53 else None


def seconds(value: object) -> float | None:
    """A time of a record in seconds since 1970: ISO 8601 (UTC without a zone), seconds, milli- or microseconds."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 1e17:
        return None
    if abs(value) > 1e14:
        return value / 1e6
    return value / 1e3 if abs(value) > 1e11 else float(value)


def parts_text(value: object) -> str | None:
    """The text of a content: a text, or a list of parts of which those with a text count. None when there is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return parts_text(value.get("text", value.get("content")))
    if isinstance(value, list):
        found = [part for part in map(parts_text, value) if part is not None]
        return "\n".join(found) if found or not value else None
    return None
