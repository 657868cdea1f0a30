# SPDX-License-Identifier: Apache-2.0
"""TRAE agent: trajectory documents whose steps hold calls and results side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shellguard.transcripts.files import Source
from shellguard.transcripts.model import Call, Problem, Result, Run, items, mapping, number, seconds, text
from shellguard.transcripts.responses import arguments_of
from shellguard.transcripts.shells import command_of

NAME = "trae"
LACKS = ("the exit code: only whether the call succeeded",)


def is_document(document: object) -> bool:
    """Whether a document is a trajectory of it."""
    record = mapping(document)
    return isinstance(record.get("agent_steps"), list) and ("llm_interactions" in record or "task" in record)


def read(source: Source) -> Iterator[Call | Problem]:
    """The calls of a document in their order."""
    document = mapping(source.document())
    run = Run(NAME, source.stem)
    for at, step in enumerate(items(document.get("agent_steps"))):
        step = mapping(step)
        results = [result for result in items(step.get("tool_results")) if isinstance(result, dict)]
        calls = [call for call in items(step.get("tool_calls")) if isinstance(call, dict)]
        for place, record in enumerate(calls):
            call_id = text(record.get("call_id")) or text(record.get("id"))
            found = next((result for result in results if call_id and result.get("call_id") == call_id), None)
            if found is None and len(results) == len(calls):
                found = results[place]
            tool, args = text(record.get("name")), arguments_of(record.get("arguments"))
            call = run.call(
                tool,
                args,
                command_of(tool, args),
                call_id=call_id,
                group=str(number(step.get("step_number")) or at + 1),
                started_at=seconds(step.get("timestamp")),
            )
            if found is not None:
                _result(found).give(call)
            yield call


def _result(found: dict[str, Any]) -> Result:
    success = found.get("success")
    output, error = text(found.get("result")), text(found.get("error"))
    failed = not success if isinstance(success, bool) else None
    return Result("\n".join(filter(None, (output, error))), failed=failed)
