# SPDX-License-Identifier: Apache-2.0
"""Calls as lines that a person can compare with a fixture."""

from __future__ import annotations

import json

from shellguard.transcripts.model import Call, Problem


def shown(item: Call | Problem) -> str:
    """A call or a problem as one line; what is not known is left out."""
    if isinstance(item, Problem):
        where = "" if item.line is None else f" line {item.line}"
        return f"!{where}: {item.message.partition(':')[0]}"
    call = item
    run = f"{call.session}{'/' + call.agent if call.agent else ''}"
    did = f"$ {call.command!r}" if call.command is not None else json.dumps(call.args, sort_keys=True)
    facts: list[str] = []
    if call.exit_code is not None:
        facts.append(f"exit {call.exit_code}")
    if call.failed is not None:
        facts.append("failed" if call.failed else "ok")
    facts += [name for name in ("denied", "running", "truncated") if getattr(call, name)]
    if call.started_at is not None:
        facts.append(f"at {call.started_at:.3f}")
    if call.elapsed is not None:
        facts.append(f"took {call.elapsed:.3f}")
    if call.group:
        facts.append(f"group {call.group}")
    if call.cwd:
        facts.append(f"in {call.cwd}")
    if call.prompt is not None:
        facts.append(f"asked {call.prompt!r}")
    return f"{run} {call.turn}.{call.index} {call.tool} {did} -> {call.result!r} [{', '.join(facts)}]"
