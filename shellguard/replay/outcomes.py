# SPDX-License-Identifier: Apache-2.0
"""One call -> one row of the results: verdict, reason, what the guard said. Its text is redacted unless wanted raw."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

from shellguard.redact import redact, secrets_in
from shellguard.replay.cleaning import clean
from shellguard.replay.judge import Judged
from shellguard.replay.options import MAX_COMMAND
from shellguard.replay.sessions import Said
from shellguard.transcripts.model import Call

FIELDS = (
    *(
        "id",
        "source",
        "session",
        "agent",
        "turn",
        "index",
        "tool",
        "command",
        "verdict",
        "allowed",
        "effects",
    ),
    *("because", "rule", "class", "action", "code", "count", "saved", "call", "exit_code", "failed"),
    *("started_at", "elapsed", "expect"),
)
"""The fields of a row, in their order. `verdict` to `rule` are null for a call of a tool that is no shell."""


def row_of(call: Call, judged: Judged | None, said: Said, raw: bool) -> dict[str, Any]:
    """The row of a call. `call` in it names the call for the guard: equal for calls that are the same."""
    command = None if call.command is None else clean(call.command[:MAX_COMMAND], raw)
    because = None if judged is None else judged.because
    if because is not None and command != call.command and call.command is not None and not raw:
        # A part of the command may hold the secret without what tells that it is one.
        because = redact(because, known=secrets_in(call.command))
    return {
        "id": identity(call),
        "source": call.source,
        "session": clean(call.session, raw),
        "agent": call.agent,
        "turn": call.turn,
        "index": call.index,
        "tool": call.tool,
        "command": command,
        "verdict": None if judged is None else judged.kind,
        "allowed": None if judged is None else judged.allowed,
        "effects": None if judged is None else list(judged.effects),
        "because": because,
        "rule": None if judged is None else judged.rule,
        "class": said.call_class,
        "action": said.action,
        "code": said.code,
        "count": said.count,
        "saved": said.saved,
        "call": said.signature,
        "exit_code": call.exit_code,
        "failed": call.failed,
        "started_at": call.started_at,
        "elapsed": call.elapsed,
        "expect": call.args.get("expect") if call.source == "corpus" else None,
    }


def identity(call: Call) -> str:
    """A name for a call that is the same in every replay of the same transcript: 16 hexadecimal digits.

    It does not depend on paths, rules or options, so results of two runs are compared by it.
    """
    what = call.command if call.command is not None else json.dumps(call.args, sort_keys=True, default=str)
    parts = (call.source, call.session, call.agent, str(call.index), call.tool, what)
    text = "".join([f"{len(part)}:{part}" for part in parts])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


_line = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


def line_of(row: dict[str, Any]) -> str:
    """The row as a line of JSON, ASCII only, without its end."""
    return _line(row)
