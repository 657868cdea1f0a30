# SPDX-License-Identifier: Apache-2.0
"""Items of OpenAI's Responses interface: in a list, in `input` and `output` of a stored answer, and in Codex' files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from shellguard.transcripts.files import Source
from shellguard.transcripts.model import (
    MAX_PROMPT,
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
from shellguard.transcripts.shells import command_of, unwrapped

NAME = "openai-responses"
LACKS = ("times", "the exit code, but where the output says it")

CALLS = frozenset(
    {
        *(
            "function_call",
            "local_shell_call",
            "shell_call",
            "custom_tool_call",
            "mcp_call",
            "web_search_call",
        ),
        *("computer_call", "file_search_call", "code_interpreter_call", "apply_patch_call"),
    }
)
OUTPUTS = frozenset(
    {
        *("function_call_output", "local_shell_call_output", "shell_call_output", "custom_tool_call_output"),
        *("computer_call_output", "mcp_tool_call_output", "apply_patch_call_output"),
    }
)
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,6})\s*$", re.MULTILINE)
_WALL = re.compile(r"^Wall time: ([0-9.]{1,12}) ?s", re.MULTILINE)
_RUNNING = re.compile(r"^Process running with session ID", re.MULTILINE)
_HEADER = re.compile(r"(?:^|\n)Output:\n")
_DENIED = ("exec command rejected by user", "rejected by user", "patch rejected by user", "aborted by user")


class Items:
    """Calls and results as they come: what Codex and stored answers have in common."""

    def __init__(self, name: str, session: str) -> None:
        self.run = Run(name, session)
        self.cwd = ""
        self.pairing = Pairing()
        self.seen: dict[str, bool] = {}
        self.group = 0
        self._called = False

    def new_turn(self, prompt: str | None) -> None:
        """A request of the user, or its second half: without a call in between it is the same turn."""
        if self._called or self.run.turn == 0:
            self.run.asked(None)
            self._called = False
        self.run.prompt = (prompt or "")[:MAX_PROMPT] or self.run.prompt

    def item(self, item: dict[str, Any], at: float | None) -> Iterator[Call]:
        """One item: a call, a result, or a message."""
        kind = text(item.get("type"))
        if kind in CALLS:
            yield from self._call_item(item, at)
        elif kind in OUTPUTS:
            self.group += 1
            call_id = text(item.get("call_id")) or text(item.get("id"))
            if not self.seen.get(call_id):
                self.seen[call_id] = True
                self.pairing.result(call_id, result_of(item.get("output"), at))
            yield from self.pairing.ready()
        elif kind in {"message", ""} and item.get("role") == "user":
            self.group += 1
            words = parts_text(item.get("content")) or ""
            # Codex puts what it tells the model of the machine into messages of the user.
            if not words.lstrip().startswith(("<environment_context>", "<user_instructions>", "# AGENTS.md")):
                self.new_turn(words)

    def call(
        self, call_id: str, tool: str, args: dict[str, Any], at: float | None, command: str | None = None
    ) -> Iterator[Call]:
        """A call was made; one that comes again is left out."""
        if call_id in self.seen:
            return
        if call_id:
            self.seen[call_id] = False
        yield from self.pairing.add(
            self.run.call(
                tool,
                args,
                command_of(tool, args) if command is None else command,
                call_id=call_id,
                group=f"{self.group}",
                cwd=text(args.get("workdir")) or self.cwd,
                started_at=at,
            )
        )
        self._called = True

    def finish(
        self,
        call_id: str,
        output: str | None,
        exit_code: int | None,
        failed: bool | None,
        at: float | None,
        *,
        denied: bool = False,
    ) -> None:
        """The result of a call whose fields are known one by one."""
        if not self.seen.get(call_id):
            self.seen[call_id] = True
            self.pairing.result(
                call_id, Result(output, exit_code=exit_code, failed=failed, denied=denied, at=at)
            )

    def second_result(
        self, call_id: str, output: str, exit_code: int | None, elapsed: float | None, at: float | None
    ) -> None:
        """A result that an event repeats: it counts where the item's own has not come."""
        if self.seen.get(call_id) is False:
            self.seen[call_id] = True
            self.pairing.result(
                call_id,
                Result(
                    output,
                    exit_code=exit_code,
                    failed=None if exit_code is None else exit_code != 0,
                    elapsed=elapsed,
                    at=at,
                ),
            )

    def _call_item(self, item: dict[str, Any], at: float | None) -> Iterator[Call]:
        kind = text(item.get("type"))
        call_id = text(item.get("call_id")) or text(item.get("id"))
        name, command = text(item.get("name")) or kind.removesuffix("_call"), None
        args: dict[str, Any]
        if kind in {"local_shell_call", "shell_call"}:
            args, name = mapping(item.get("action")), kind
            words = args.get("command", args.get("commands"))
            if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
                command = unwrapped(words) if kind == "local_shell_call" else "\n".join(words)
        elif kind == "custom_tool_call":
            args = {"input": item.get("input")}
        else:
            args = arguments_of(item.get("arguments", item.get("action")))
        yield from self.call(call_id, name, args, at, command)
        if kind in {"mcp_call", "code_interpreter_call", "file_search_call", "web_search_call"}:
            # These bring their result in the same item.
            status = item.get("status")
            output = parts_text(item.get("output", item.get("error")))
            self.finish(call_id, output, None, status == "failed" if isinstance(status, str) else None, None)
            yield from self.pairing.ready()


def arguments_of(value: object) -> dict[str, Any]:
    """The arguments of a call: an object, or its JSON as a text. What is neither stands under `input`."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {"input": value} if value else {}
    if isinstance(value, dict):
        return value
    return {} if value is None else {"input": value}


def result_of(output: object, at: float | None = None) -> Result:
    """What an output says: JSON with an exit code, a text with a header of its own, or a list of parts."""
    data: object = output
    if isinstance(output, str) and output.startswith("{"):
        try:
            data = json.loads(output)
        except (ValueError, RecursionError):
            data = output
    if isinstance(data, dict) and "output" in data:
        details = mapping(data.get("metadata"))
        exit_code = number(details.get("exit_code", data.get("exit_code")))
        return Result(
            parts_text(data["output"]),
            exit_code=exit_code,
            failed=None if exit_code is None else exit_code != 0,
            elapsed=seconds(details.get("duration_seconds")),
            at=at,
        )
    if isinstance(data, dict) and isinstance(data.get("content"), str):
        success = data.get("success")
        return Result(data["content"], failed=not success if isinstance(success, bool) else None, at=at)
    words = parts_text(output)
    if words is None:
        return Result(None if output is None else json.dumps(output, ensure_ascii=False), at=at)
    return _headed(words, at)


def _headed(words: str, at: float | None) -> Result:
    """A text with the header `Chunk ID`, `Wall time`, `Process exited with code N`, `Output:`, or without one."""
    start = _HEADER.search(words[:2_000])
    if start is None:
        denied = words.startswith(_DENIED)
        return Result(words, failed=True if denied else None, denied=denied, at=at)
    head, body = words[: start.start() + 1], words[start.end() :]
    code, wall = _EXIT.search(head), _WALL.search(head)
    exit_code = int(code[1]) if code else None
    try:
        elapsed = float(wall[1]) if wall else None
    except ValueError:
        elapsed = None
    return Result(
        body,
        exit_code=exit_code,
        failed=None if exit_code is None else exit_code != 0,
        running=_RUNNING.search(head) is not None,
        truncated="\nTotal output lines:" in head or "tokens truncated" in body,
        elapsed=elapsed,
        at=at,
    )


def is_document(document: object) -> bool:
    """Whether a document holds items: a list of them, or a stored answer with `input` and `output`."""
    return any(
        isinstance(item, dict) and text(item.get("type")) in CALLS | OUTPUTS for item in _items_of(document)
    )


def _items_of(document: object) -> list[Any]:
    if isinstance(document, dict):
        answer = mapping(document.get("response"))
        given = items(document.get("input")) or items(answer.get("input")) or items(document.get("items"))
        return [*given, *items(document.get("output")), *items(answer.get("output"))]
    return items(document)


def read(source: Source) -> Iterator[Call | Problem]:
    """The calls of a document in their order."""
    document = source.document()
    found = Items(NAME, text(mapping(document).get("id")) or source.stem)
    for item in _items_of(document):
        if isinstance(item, dict):
            yield from found.item(item, seconds(item.get("created_at")))
    yield from found.pairing.rest()
