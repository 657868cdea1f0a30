# SPDX-License-Identifier: Apache-2.0
"""Our own JSON Lines: one call a line. Every other format can be written as it, and it is read like any of them.

    {"source", "session", "turn", "index", "tool", "args", "result_sha256", "result_len", "exit_code"}

`turn` and `exit_code` may be absent; `command`, `result`, `started_at` (seconds, or ISO 8601), `elapsed`, `group`,
`agent`, `call_id`, `cwd`, `failed`, `denied`, `running`, `truncated`, `prompt` and `prompts` may be there.
`docs/replay.md` explains them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from shellguard.transcripts.files import Source
from shellguard.transcripts.model import Call, Problem, number, seconds, text
from shellguard.transcripts.shells import command_of

NAME = "rows"
LACKS = (
    "turn, exit code and times where the line has none",
    "in `turn`, whether a user or the model is counted",
)


def is_record(record: dict[str, Any]) -> bool:
    """Whether a line looks like one of ours."""
    return isinstance(record.get("tool"), str) and (
        "session" in record or "args" in record or "command" in record
    )


def read(source: Source) -> Iterator[Call | Problem]:
    """The calls of a file, one a line, in its order."""
    counts: dict[tuple[str, str, str], int] = {}
    for line, record in source.records():
        yield record if isinstance(record, Problem) else call_of(record, source, line, counts)


def call_of(
    record: dict[str, Any], source: Source, line: int, counts: dict[tuple[str, str, str], int]
) -> Call | Problem:
    """The call of one line. `counts` gives an index to calls of a run that bring none."""
    tool = record.get("tool", "bash" if "command" in record else None)
    args = record.get("args", {})
    if not isinstance(tool, str) or not isinstance(args, dict):
        return source.problem('a call has "tool", a text, and "args", an object', line)
    session = record.get("session")
    session = session if isinstance(session, str) else source.stem if session is None else str(session)
    command = record.get("command")
    if not isinstance(command, str):
        command = command_of(tool, args)
    result = record.get("result")
    if result is not None and not isinstance(result, str):
        result = json.dumps(result, ensure_ascii=False)
    index = number(record.get("index"))
    if index is None:
        run = (text(record.get("source")), session, text(record.get("agent")))
        index = counts.get(run, 0)
        counts[run] = index + 1
    failed = record.get("failed", record.get("is_error"))
    length = number(record.get("result_len"))
    return Call(
        source=text(record.get("source")) or NAME,
        session=session,
        tool=tool,
        args=args,
        index=index,
        agent=text(record.get("agent")),
        turn=number(record.get("turn")),
        prompt=record["prompt"] if isinstance(record.get("prompt"), str) else None,
        call_id=text(record.get("call_id")),
        group=text(record.get("group")),
        command=command,
        cwd=text(record.get("cwd")),
        result=result,
        result_sha256=text(record.get("result_sha256")) or None,
        result_len=len(result) if length is None and result is not None else length,
        truncated=record.get("truncated") is True,
        exit_code=number(record.get("exit_code")),
        failed=failed if isinstance(failed, bool) else None,
        denied=record.get("denied") is True,
        running=record.get("running") is True,
        started_at=seconds(record.get("started_at")),
        elapsed=seconds(record.get("elapsed")),
        counts_replies=record.get("turn") is not None and "prompts" not in record,
    )


def row_of(call: Call) -> dict[str, Any]:
    """The call as one line of JSON: what is not known is left out."""
    row: dict[str, Any] = {"source": call.source, "session": call.session}
    if call.turn is not None:
        row["turn"] = call.turn
    row |= {"index": call.index, "tool": call.tool, "args": call.args}
    sha = call.result_sha256
    if sha is None and call.result is not None:
        sha = sha256(call.result.encode("utf-8", "surrogatepass")).hexdigest()
    optional: tuple[tuple[str, object], ...] = (
        ("result_sha256", sha),
        ("result_len", call.result_len),
        ("exit_code", call.exit_code),
        ("command", call.command),
        ("result", call.result),
        ("started_at", call.started_at),
        ("elapsed", call.elapsed),
        ("group", call.group or None),
        ("agent", call.agent or None),
        ("call_id", call.call_id or None),
        ("cwd", call.cwd or None),
        ("failed", call.failed),
        ("denied", call.denied or None),
        ("running", call.running or None),
        ("truncated", call.truncated or None),
        ("prompt", call.prompt),
        ("prompts", True if call.turn is not None and not call.counts_replies else None),
    )
    row |= {name: value for name, value in optional if value is not None}
    return row


def line_of(call: Call) -> str:
    """The line, without its end; ASCII only, so that lone surrogates and control characters survive any editor."""
    return json.dumps(row_of(call), ensure_ascii=True, separators=(", ", ": "))
