# SPDX-License-Identifier: Apache-2.0
"""ATIF, the trajectories of Harbor: versions 1.0 to 1.8. Call and result stand in the same step.

The names of the tools are those of the agent that ran. Steps that were copied from another trajectory count there only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shellguard.transcripts.files import Source
from shellguard.transcripts.model import (
    Call,
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

NAME = "atif"
LACKS = ("the exit code, but for some agents", "often times")


def is_document(document: object) -> bool:
    """Whether a document says that it is one."""
    record = mapping(document)
    return text(record.get("schema_version")).startswith("ATIF") and isinstance(record.get("steps"), list)


def read(source: Source) -> Iterator[Call | Problem]:
    """The calls of a document and of its sub-agents, in their order."""
    document = mapping(source.document())
    session = text(document.get("session_id")) or text(document.get("trajectory_id")) or source.stem
    yield from _trajectory(document, session, "", 0)


def _trajectory(document: dict[str, Any], session: str, agent: str, depth: int) -> Iterator[Call]:
    run = Run(NAME, session, agent)
    for at, step in enumerate(items(document.get("steps"))):
        step = mapping(step)
        if step.get("is_copied_context") is True:
            continue
        if step.get("source") == "user":
            run.asked(parts_text(step.get("message")) or "")
        calls = [call for call in items(step.get("tool_calls")) if isinstance(call, dict)]
        results = [
            result
            for result in items(mapping(step.get("observation")).get("results"))
            if isinstance(result, dict)
        ]
        for place, record in enumerate(calls):
            call_id = text(record.get("tool_call_id"))
            tool, args = text(record.get("function_name")), arguments_of(record.get("arguments"))
            call = run.call(
                tool,
                args,
                command_of(tool, args),
                call_id=call_id,
                group=str(number(step.get("step_id")) or at + 1),
                started_at=seconds(step.get("timestamp")),
            )
            found = [result for result in results if call_id and result.get("source_call_id") == call_id]
            if not found and len(results) == len(calls) and results[place].get("source_call_id") is None:
                found = [results[place]]
            if not found and len(calls) == 1 and len(results) == 1:
                found = results
            if found:
                _result(found).give(call)
            yield call
    if depth < 8:
        for number_, child in enumerate(items(document.get("subagent_trajectories"))):
            name = text(mapping(child).get("trajectory_id")) or f"{agent}sub-agent {number_ + 1}"
            yield from _trajectory(mapping(child), session, name, depth + 1)


def _result(results: list[dict[str, Any]]) -> Result:
    words = [
        shown for shown in (parts_text(result.get("content")) for result in results) if shown is not None
    ]
    extra: dict[str, Any] = {}
    for result in results:
        extra |= mapping(result.get("extra"))
    exit_code = number(extra.get("exit_code", extra.get("returncode")))
    wrong = extra.get("is_error", extra.get("tool_result_is_error"))
    failed = wrong if isinstance(wrong, bool) else None if exit_code is None else exit_code != 0
    return Result("\n".join(words) if words else None, exit_code=exit_code, failed=failed)
