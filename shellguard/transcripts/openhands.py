# SPDX-License-Identifier: Apache-2.0
"""OpenHands: events of version 0 (a list, `output.jsonl`, or one file an event) and of the agent SDK (version 1).

Version 0 pairs an observation with its action by `cause`, by `tool_call_id`, or by standing behind it; the oldest files
hold pairs. An exit code of -1 means that the command is still running; an empty command asks for more of its output.
Sources: recorded runs of 0.9 to 0.60; the source of the SDK.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from shellguard.transcripts import files
from shellguard.transcripts.files import Source, UnreadableError
from shellguard.transcripts.model import (
    Call,
    Pairing,
    Problem,
    Result,
    Run,
    items,
    mapping,
    number,
    parts_text,
    seconds,
    text,
)
from shellguard.transcripts.responses import arguments_of
from shellguard.transcripts.shells import command_of

NAME = "openhands"
LACKS = ("in version 0, one way of pairing; in version 1, sometimes the exit code",)

NO_CALLS = frozenset(
    {
        *(
            "message",
            "system",
            "recall",
            "null",
            "change_agent_state",
            "condensation",
            "condensation_request",
        ),
        *(
            "start",
            "stop",
            "pause",
            "resume",
            "summarize",
            "push",
            "send_pr",
            "change_task_state",
            "loop_recovery",
        ),
    }
)
"""Actions that are no call of a tool: talk, and what steers the agent."""

_KINDS = frozenset(
    {"ActionEvent", "ObservationEvent", "UserRejectObservation", "AgentErrorEvent", "MessageEvent"}
)


def is_event(record: object) -> bool:
    """Whether something is an event of either version."""
    if not isinstance(record, dict):
        return False
    if text(record.get("kind")) in _KINDS or text(record.get("kind")) in {
        "SystemPromptEvent",
        "ConversationStateUpdateEvent",
    }:
        return True
    return ("action" in record or "observation" in record) and (
        "source" in record or "args" in record or "extras" in record
    )


def is_document(document: object) -> bool:
    """Whether a document is a list of events or of pairs, or one event, or has such a `history`."""
    if is_event(document):
        return True
    found = (
        document
        if isinstance(document, list)
        else items(mapping(document).get("history", mapping(document).get("events")))
    )
    return any(is_event(item) or (isinstance(item, list) and any(map(is_event, item))) for item in found[:10])


def read_document(source: Source) -> Iterator[Call | Problem]:
    """The calls of a document, or of a folder of events, in their order."""
    session = source.stem
    if len(source.files) > 1:
        yield from _folder(source, session)
        return
    document = source.document()
    record = mapping(document)
    history = document if isinstance(document, list) else items(record.get("history", record.get("events")))
    yield from _Reading(text(record.get("instance_id")) or session).events(_flat(history or [document]))


def _folder(source: Source, session: str) -> Iterator[Call | Problem]:
    reading = _Reading(session)
    for path in source.files:
        try:
            event = mapping(files.read_document(path))
        except (OSError, UnreadableError) as error:
            yield Problem(path, None, str(error))
            continue
        yield from reading.event(event)
    yield from reading.pairing.rest()


def read(source: Source) -> Iterator[Call | Problem]:
    """The calls of a file of lines: each line a run with its `history`, or one event of a single run."""
    reading = _Reading(source.stem)
    for number_, record in source.records():
        if isinstance(record, Problem):
            yield record
        elif isinstance(record.get("history"), list):
            session = text(record.get("instance_id")) or f"{source.stem}:{number_}"
            yield from _Reading(session).events(_flat(record["history"]))
        else:
            yield from reading.event(record)
    yield from reading.pairing.rest()


def _flat(history: list[Any]) -> Iterator[dict[str, Any]]:
    """The events one by one: the oldest files keep pairs of an action and its observation."""
    for at, entry in enumerate(history):
        if isinstance(entry, list):
            for event in entry:
                if isinstance(event, dict):
                    yield {"_pair": f"pair#{at}", **event}
        elif isinstance(entry, dict):
            yield entry


class _Reading:
    def __init__(self, session: str) -> None:
        self.run = Run(NAME, session)
        self.pairing = Pairing()
        self.last: str | None = None
        self.by_tool_call: dict[str, str] = {}
        self.seen: set[str] = set()

    def events(self, events: Iterable[dict[str, Any]]) -> Iterator[Call]:
        """The calls of all events."""
        for event in events:
            yield from self.event(event)
        yield from self.pairing.rest()

    def event(self, event: dict[str, Any]) -> Iterator[Call]:
        """What one event brings."""
        kind = event.get("kind")
        if isinstance(kind, str):
            yield from self.event_of_sdk(kind, event)
        elif isinstance(event.get("action"), str):
            yield from self.action(event)
        elif isinstance(event.get("observation"), str):
            self.observation(event)
            yield from self.pairing.ready()

    # --- version 0

    def action(self, event: dict[str, Any]) -> Iterator[Call]:
        name, args, source = text(event["action"]), mapping(event.get("args")), text(event.get("source"))
        if name in NO_CALLS:
            if name == "message" and source == "user":
                self.run.asked(text(args.get("content")))
            return
        if source in {"user", "environment"}:
            return
        tool_call = mapping(event.get("tool_call_metadata"))
        call_id = _key(event)
        if call_id in self.seen:
            return
        self.seen.add(call_id)
        if text(tool_call.get("tool_call_id")):
            self.by_tool_call[text(tool_call["tool_call_id"])] = call_id
        tool = text(tool_call.get("function_name")) or name
        given = {
            key: value
            for key, value in args.items()
            if key not in {"thought", "confirmation_state", "hidden"}
        }
        if name != "run":
            # The action names what the tool was asked for; the tool's own arguments say it in its words.
            given = _arguments(tool_call) or given
        self.last = call_id
        reply = mapping(tool_call.get("model_response"))
        yield from self.pairing.add(
            self.run.call(
                tool,
                given,
                command_of("run", given) if name == "run" else None,
                call_id=call_id,
                group=text(reply.get("id")) or call_id,
                started_at=seconds(event.get("timestamp")),
            )
        )

    def observation(self, event: dict[str, Any]) -> None:
        cause = number(event.get("cause"))
        tool_call = text(mapping(event.get("tool_call_metadata")).get("tool_call_id"))
        if "_pair" in event:
            call_id: str | None = text(event["_pair"])
        elif cause is not None and f"event#{cause}" in self.seen:
            call_id = f"event#{cause}"
        elif tool_call in self.by_tool_call:
            call_id = self.by_tool_call[tool_call]
        else:
            call_id = (
                self.last
                if cause is None and text(event.get("observation")) not in {"null", "agent_state_changed"}
                else None
            )
        if call_id is None:
            return
        extras = mapping(event.get("extras"))
        details = mapping(extras.get("metadata"))
        exit_code = number(details.get("exit_code", extras.get("exit_code")))
        denied = event.get("observation") == "user_rejected"
        self.pairing.result(
            call_id,
            _with_code(
                parts_text(event.get("content")),
                exit_code,
                event.get("observation") == "error",
                denied,
                event,
            ),
        )

    # --- version 1

    def event_of_sdk(self, kind: str, event: dict[str, Any]) -> Iterator[Call]:
        if kind == "ActionEvent":
            call_id = text(event.get("tool_call_id")) or text(event.get("id"))
            if call_id in self.seen:
                return
            self.seen.add(call_id)
            action = mapping(event.get("action"))
            tool = text(event.get("tool_name")) or text(action.get("kind"))
            given = {key: value for key, value in action.items() if key != "kind"}
            self.by_tool_call[text(event.get("id"))] = call_id
            yield from self.pairing.add(
                self.run.call(
                    tool,
                    given,
                    command_of(tool, given),
                    call_id=call_id,
                    group=text(event.get("llm_response_id")) or call_id,
                    started_at=seconds(event.get("timestamp")),
                )
            )
        elif kind in {"ObservationEvent", "UserRejectObservation", "AgentErrorEvent"}:
            call_id = text(event.get("tool_call_id")) or self.by_tool_call.get(
                text(event.get("action_id")), ""
            )
            observation = mapping(event.get("observation"))
            details = mapping(observation.get("metadata"))
            exit_code = number(observation.get("exit_code", details.get("exit_code")))
            shown = parts_text(observation.get("content", observation.get("output")))
            if shown is None:
                shown = text(event.get("error")) or text(event.get("rejection_reason")) or None
            wrong = kind == "AgentErrorEvent" or observation.get("is_error") is True
            self.pairing.result(
                call_id, _with_code(shown, exit_code, wrong, kind == "UserRejectObservation", event)
            )
            yield from self.pairing.ready()
        elif kind == "MessageEvent" and event.get("source") == "user":
            self.run.asked(parts_text(mapping(event.get("llm_message")).get("content")) or "")


def _arguments(tool_call: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call as the model wrote them; empty where the record does not hold them."""
    for choice in items(mapping(tool_call.get("model_response")).get("choices")):
        for call in items(mapping(mapping(choice).get("message")).get("tool_calls")):
            if mapping(call).get("id") == tool_call.get("tool_call_id"):
                found = arguments_of(mapping(mapping(call).get("function")).get("arguments"))
                return {key: value for key, value in found.items() if key != "security_risk"}
    return {}


def _key(event: dict[str, Any]) -> str:
    if "_pair" in event:
        return text(event["_pair"])
    identity = number(event.get("id"))
    return f"event#{identity}" if identity is not None else f"action#{id(event)}"


def _with_code(
    shown: str | None, exit_code: int | None, wrong: bool, denied: bool, event: dict[str, Any]
) -> Result:
    running = exit_code == -1
    return Result(
        shown,
        exit_code=None if running else exit_code,
        failed=True if wrong or denied else None if running or exit_code is None else exit_code != 0,
        denied=denied,
        running=running,
        at=seconds(event.get("timestamp")),
    )
