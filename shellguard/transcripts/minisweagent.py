# SPDX-License-Identifier: Apache-2.0
"""mini-swe-agent: documents of the formats `mini-swe-agent-1` and `mini-swe-agent-1.1`.

In 1 the action is the one fence of the model's text; the next message of the user holds its result. In 1.1 actions and
results are fields of `extra`, several a reply. Every command runs in a shell of its own, so `cd` does not last.
Sources: recorded runs of 1; runs of version 2.4.6 for 1.1, with each of its three ways to call a tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from shellguard.transcripts.files import Source
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

NAME = "mini-swe-agent"
LACKS = ("call ids in format 1", "the middle of long results in format 1")

_FENCE = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```", re.DOTALL)
_CODE = re.compile(r"<returncode>\s*(-?\d{1,9})\s*</returncode>")
_OUTPUT = re.compile(r"<output>\n?(.*?)\n?</output>", re.DOTALL)
_HEAD = re.compile(r"<output_head>\n?(.*?)\n?</output_head>", re.DOTALL)
_TAIL = re.compile(r"<output_tail>\n?(.*?)\n?</output_tail>", re.DOTALL)


def is_document(document: object) -> bool:
    """Whether a document is a trajectory of it."""
    record = mapping(document)
    if not isinstance(record.get("messages"), list):
        return False
    info = mapping(record.get("info"))
    return text(record.get("trajectory_format")).startswith("mini-swe-agent") or (
        "exit_status" in info and ("mini_version" in info or "model_stats" in info)
    )


def read(source: Source) -> Iterator[Call | Problem]:
    """The calls of a document in their order."""
    document = mapping(source.document())
    session = (
        text(document.get("instance_id"))
        or text(mapping(document.get("info")).get("instance_id"))
        or source.stem
    )
    messages = [message for message in items(document.get("messages")) if isinstance(message, dict)]
    if any("actions" in mapping(message.get("extra")) for message in messages):
        yield from _with_actions(messages, Run(NAME, session))
    else:
        yield from _with_fences(messages, Run(NAME, session))


def _with_fences(messages: list[dict[str, Any]], run: Run) -> Iterator[Call]:
    for at, message in enumerate(messages):
        if message.get("role") != "assistant":
            continue
        actions = _FENCE.findall(parts_text(message.get("content")) or "")
        if len(actions) != 1:
            continue  # the agent answers with an error of the format and runs nothing
        command = actions[0].strip()
        if not command:
            continue
        call = _call(run, command, "", message, at)
        following = messages[at + 1] if at + 1 < len(messages) else {}
        if text(following.get("role")) in {"user", "tool"}:
            _result(parts_text(following.get("content")) or "").give(call)
        yield call


def _call(run: Run, command: str, call_id: str, message: dict[str, Any], at: int) -> Call:
    extra = mapping(message.get("extra"))
    created = mapping(extra.get("response")).get("created", extra.get("timestamp", message.get("timestamp")))
    return run.call(
        "bash",
        {"command": command},
        command,
        call_id=call_id,
        group=str(at),
        started_at=seconds(created),
    )


def _result(shown: str) -> Result:
    code, output = _CODE.search(shown), _OUTPUT.search(shown)
    head, tail = _HEAD.search(shown), _TAIL.search(shown)
    exit_code = int(code[1]) if code else None
    failed = None if exit_code is None else exit_code != 0
    if output is not None:
        return Result(output[1], exit_code=exit_code, failed=failed)
    if head is not None:
        return Result(
            f"{head[1]}\n{tail[1] if tail else ''}", exit_code=exit_code, failed=failed, truncated=True
        )
    late = "timed out" in shown[:400]
    return Result(shown, exit_code=exit_code, failed=True if late else failed, truncated=late)


def _with_actions(messages: list[dict[str, Any]], run: Run) -> Iterator[Call]:
    pairing, count = Pairing(), 0
    for at, message in enumerate(messages):
        extra = mapping(message.get("extra"))
        for action in items(extra.get("actions")):
            command = text(mapping(action).get("command")) if isinstance(action, dict) else text(action)
            if command:
                given = text(mapping(action).get("tool_call_id")) if isinstance(action, dict) else ""
                yield from pairing.add(_call(run, command, given or f"#{run.index}", message, at))
        if "returncode" in extra or "raw_output" in extra:
            given = text(message.get("tool_call_id")) or text(message.get("call_id")) or f"#{count}"
            count += 1
            exit_code, output = number(extra.get("returncode")), extra.get("raw_output")
            result = Result(
                output if isinstance(output, str) else parts_text(message.get("content")),
                exit_code=exit_code,
                failed=bool(extra.get("exception_info")) or (None if exit_code is None else exit_code != 0),
                at=seconds(extra.get("timestamp")),
            )
            open_id = given if not given.startswith("#") else pairing.oldest()
            if open_id is not None:
                pairing.result(open_id, result)
            yield from pairing.ready()
    yield from pairing.rest()
