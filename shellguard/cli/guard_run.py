# SPDX-License-Identifier: Apache-2.0
"""`guard run`: an event as JSON has it, and the answer to it."""

from __future__ import annotations

import json
from math import isfinite

from shellguard.cli.output import dumps, stamp
from shellguard.guard.controller import Controller
from shellguard.guard.model import Decision, ToolCall, ToolResult
from shellguard.rules.shelf import Shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from shellguard.guard.config import GuardConfig
    from shellguard.guard.store import Store

EVENTS = ("before", "after", "new_turn")
_HEX = frozenset("0123456789abcdefABCDEF")


class EventError(ValueError):
    """A line that is no event. The message names what is wrong."""


class Runner:
    """Answers lines, one after another."""

    def __init__(self, config: GuardConfig, store: Store | None = None) -> None:
        self._guard = Controller(config, store=store)
        self._stamp = stamp(Shelf.default())

    def answer(self, line: str) -> str:
        """One line of JSON for a line. A bad one is answered with an error; the counts stay as they were."""
        try:
            decision = self._decide(_event(line))
        except EventError as error:
            return dumps({"error": str(error), **self._stamp})
        return dumps({**decision.as_mapping(), **self._stamp})

    def _decide(self, event: dict[str, Any]) -> Decision:
        kind = _one_of(event, "event", EVENTS)
        session, agent = _name(event, "session"), _name(event, "agent")
        at = _number(event, "at")
        if kind == "new_turn":
            self._guard.new_turn(_text(event, "text"), session, agent, at)
            return Decision()
        tool = _text(event, "tool")
        if not tool:
            raise EventError('"tool": a name is expected')
        call = ToolCall(
            tool,
            _args(event),
            call_id=_name(event, "call_id"),
            session=session,
            agent=agent,
            cwd=_text(event, "cwd") or "",
            started_at=at,
            group=_name(event, "group"),
            read_only=_flag(event, "read_only") is True,
        )
        if kind == "before":
            return self._guard.before(call)
        result = ToolResult(
            event.get("result"),
            failed=_flag(event, "failed"),
            exit_code=_whole(event, "exit_code"),
            elapsed=_number(event, "elapsed"),
            sha256=_hash(event),
            ended_at=at,
        )
        return self._guard.after(call, result)


def _event(line: str) -> dict[str, Any]:
    try:
        event = json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise EventError(f"not JSON: {error}") from None
    if not isinstance(event, dict):
        raise EventError('an object with "event" is expected')
    return event


def _no_number(name: str) -> NoReturn:
    """JSON has no such number, whatever Python reads."""
    raise ValueError(f"{name} is no number")


def _one_of(event: dict[str, Any], key: str, known: tuple[str, ...]) -> str:
    value = event.get(key)
    if not isinstance(value, str) or value not in known:
        raise EventError(f'"{key}": one of {", ".join(known)} is expected')
    return value


def _text(event: dict[str, Any], key: str) -> str | None:
    value = event.get(key)
    if value is not None and not isinstance(value, str):
        raise EventError(f'"{key}": a text is expected')
    return value


def _name(event: dict[str, Any], key: str) -> str:
    """A name: a text, or a number, as some hosts have it."""
    value = event.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return hex(value)
    if value is not None and not isinstance(value, str):
        raise EventError(f'"{key}": a text or a whole number is expected')
    return value or ""


def _number(event: dict[str, Any], key: str) -> float | None:
    value = event.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e15:
        raise EventError(f'"{key}": a number of seconds is expected')
    if not isfinite(value):
        raise EventError(f'"{key}": a finite number is expected')
    return float(value)


def _whole(event: dict[str, Any], key: str) -> int | None:
    value = event.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 1 << 32:
        raise EventError(f'"{key}": a whole number is expected')
    return value


def _flag(event: dict[str, Any], key: str) -> bool | None:
    value = event.get(key)
    if value is not None and not isinstance(value, bool):
        raise EventError(f'"{key}": true or false is expected')
    return value


def _args(event: dict[str, Any]) -> dict[str, Any]:
    value = event.get("args")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise EventError('"args": an object is expected')
    return value


def _hash(event: dict[str, Any]) -> str:
    value = _text(event, "result_sha256") or ""
    if value and (len(value) != 64 or not _HEX.issuperset(value)):
        raise EventError('"result_sha256": 64 hexadecimal digits are expected')
    return value
