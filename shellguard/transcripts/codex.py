# SPDX-License-Identifier: Apache-2.0
"""Codex CLI: rollout files, old ones without an envelope too, and `codex exec --json`.

Items of the Responses interface in lines of `{timestamp, type, payload}`. The event `exec_command_end` repeats a result
and is used where the item itself brings none. Source: the models of the program, 2025 and 2026; no recorded file was at
hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shellguard.transcripts.files import Source
from shellguard.transcripts.model import Call, Problem, mapping, number, parts_text, seconds, text
from shellguard.transcripts.responses import Items
from shellguard.transcripts.shells import command_of, without_wrapper

NAME = "codex"
LACKS = ("nothing; `codex exec --json` has no times",)

ENVELOPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
EXEC_EVENTS = frozenset(
    {
        *("thread.started", "turn.started", "turn.completed", "turn.failed"),
        *("item.started", "item.updated", "item.completed"),
    }
)
ITEMS = frozenset(
    {
        *("message", "reasoning", "function_call", "function_call_output", "local_shell_call"),
        *("local_shell_call_output", "custom_tool_call", "custom_tool_call_output", "web_search_call"),
    }
)


def is_record(record: dict[str, Any]) -> bool:
    """Whether a line looks like one of a rollout, of an old one, or of `codex exec --json`."""
    kind = text(record.get("type"))
    if kind in ENVELOPES:
        return "payload" in record
    return (
        kind in EXEC_EVENTS
        or kind in ITEMS - {"message", "reasoning"}
        or {"id", "timestamp", "instructions"} <= record.keys()
    )


def read(source: Source) -> Iterator[Call | Problem]:
    """The calls of a file in their order."""
    found = Items(NAME, source.stem)
    for _, record in source.records():
        if isinstance(record, Problem):
            yield record
            continue
        kind, at = text(record.get("type")), seconds(record.get("timestamp"))
        payload = mapping(record.get("payload"))
        if kind == "session_meta":
            found.run.session = text(payload.get("id")) or found.run.session
            found.cwd = text(payload.get("cwd"))
        elif kind == "turn_context":
            found.cwd = text(payload.get("cwd")) or found.cwd
        elif kind == "event_msg":
            yield from _event(payload, at, found)
        elif kind == "response_item":
            yield from found.item(payload, at)
        elif kind in EXEC_EVENTS:
            yield from _exec_event(record, at, found)
        elif kind in ITEMS:
            yield from found.item(record, at)
        elif not kind and "instructions" in record:
            found.run.session = text(record.get("id")) or found.run.session
    yield from found.pairing.rest()


def _event(payload: dict[str, Any], at: float | None, found: Items) -> Iterator[Call]:
    kind = text(payload.get("type"))
    if kind in {"task_started", "turn_started"}:
        found.new_turn(None)
    elif kind == "user_message":
        found.new_turn(text(payload.get("message")))
    elif kind == "exec_command_end":
        output = payload.get("aggregated_output")
        if not isinstance(output, str):
            output = text(payload.get("stdout")) + text(payload.get("stderr"))
        exit_code = number(payload.get("exit_code"))
        found.second_result(
            text(payload.get("call_id")), output, exit_code, _duration(payload.get("duration")), at
        )
        yield from found.pairing.ready()


def _duration(value: object) -> float | None:
    """A duration as Rust writes it: seconds and nanoseconds, or a text such as `1.2s`."""
    if isinstance(value, dict):
        whole, rest = number(value.get("secs")), number(value.get("nanos"))
        return None if whole is None else whole + (rest or 0) / 1e9
    if isinstance(value, str):
        for suffix, factor in (("ms", 1e-3), ("s", 1.0)):
            if value.endswith(suffix):
                try:
                    found = float(value.removesuffix(suffix)) * factor
                except ValueError:
                    return None
                return found if 0 <= found < 1e12 else None
    return None


def _exec_event(record: dict[str, Any], at: float | None, found: Items) -> Iterator[Call]:
    kind, item = text(record["type"]), mapping(record.get("item"))
    if kind == "thread.started":
        found.run.session = text(record.get("thread_id")) or found.run.session
    elif kind == "turn.started":
        found.new_turn(None)
    elif item:
        if kind == "item.completed" or text(item.get("id")) not in found.seen:
            yield from _exec_item(item, kind == "item.completed", at, found)


def _exec_item(item: dict[str, Any], done: bool, at: float | None, found: Items) -> Iterator[Call]:
    call_id = text(item.get("id"))
    kind = text(item.get("item_type")) or text(item.get("type"))
    if kind not in {"command_execution", "mcp_tool_call", "file_change", "web_search", "collab_tool_call"}:
        return
    if call_id not in found.seen:
        args: dict[str, Any]
        command = None
        if kind == "command_execution":
            args = {"command": item.get("command")}
            command = command_of(kind, args)
            command = None if command is None else without_wrapper(command)
        elif kind == "mcp_tool_call":
            args = mapping(item.get("arguments"))
        else:
            args = {key: item[key] for key in ("changes", "query", "prompt") if key in item}
        tool = (
            kind if kind != "mcp_tool_call" else f"mcp__{text(item.get('server'))}__{text(item.get('tool'))}"
        )
        yield from found.call(call_id, tool, args, at, command)
    if done:
        status = text(item.get("status"))
        output = item.get("aggregated_output", item.get("result"))
        found.finish(
            call_id,
            parts_text(output),
            number(item.get("exit_code")),
            status in {"failed", "declined"} if status else None,
            at,
            denied=status == "declined",
        )
        yield from found.pairing.ready()
