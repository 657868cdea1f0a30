# SPDX-License-Identifier: Apache-2.0
"""Every reader on fixtures of the real shape of its format, made by hand, and what it must give.

The fixtures hold the odd ones too: a cut line, calls in parallel whose results come in another order or never, a
record of a kind that nobody knows, a session that repeats another, a refusal, a call that still runs.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from shellguard.transcripts.detect import calls_of, reader_of
from shellguard.transcripts.discover import discovered
from shellguard.transcripts.files import Source
from shellguard.transcripts.model import Call, Problem
from shellguard.transcripts.rows import line_of
from tests.transcripts.calls_text import shown

FIXTURES = Path(__file__).with_name("fixtures")
EXPECTED = Path(__file__).with_name("expected")
FORMATS = {
    "anthropic/lines.jsonl": "anthropic",
    "anthropic/messages.json": "anthropic",
    "atif/trajectory.json": "atif",
    "chat/conversations.jsonl": "openai-chat",
    "chat/messages.json": "openai-chat",
    "chat/old.json": "openai-chat",
    "claude/resumed.jsonl": "claude",
    "claude/session.jsonl": "claude",
    "claude/stream.jsonl": "claude",
    "codex/exec.jsonl": "codex",
    "codex/old.jsonl": "codex",
    "codex/rollout.jsonl": "codex",
    "corpus/rows.jsonl": "corpus",
    "gemini/checkpoint.json": "gemini",
    "gemini/old.json": "gemini",
    "gemini/session.jsonl": "gemini",
    "hermes/state.sql": "hermes",
    "hermes/trajectories.jsonl": "hermes",
    "inspect/log.json": "inspect",
    "minisweagent/v1.traj.json": "mini-swe-agent",
    "minisweagent/v11.traj.json": "mini-swe-agent",
    "opencode/export.json": "opencode",
    "opencode/opencode.sql": "opencode",
    "opencode/storage": "opencode",
    "openhands/output.jsonl": "openhands",
    "openhands/sdk.jsonl": "openhands",
    "openhands/sessions": "openhands",
    "responses/items.json": "openai-responses",
    "rows/calls.jsonl": "rows",
    "sweagent/task.traj": "swe-agent",
    "trae/trajectory.json": "trae",
}


def source_of(name: str, folder: Path) -> Source:
    """The fixture as a source; one that is SQL becomes a database in `folder`."""
    path = FIXTURES / name
    if path.suffix == ".sql":
        database = folder / f"{path.stem}.db"
        with sqlite3.connect(database) as connection:
            connection.executescript(path.read_text(encoding="utf-8"))
        connection.close()
        path = database
    [source] = discovered([str(path)])
    assert isinstance(source, Source)
    return source


@pytest.mark.parametrize("name", FORMATS)
def test_a_reader_gives_what_the_fixture_holds(name: str, tmp_path: Path) -> None:
    source = source_of(name, tmp_path)
    found = reader_of(source)
    assert found is not None
    assert found[0] == FORMATS[name]
    given = [shown(item) for item in calls_of(source)]
    expected = EXPECTED / f"{name.replace('/', '-')}.txt"
    assert given == expected.read_text(encoding="utf-8").splitlines()


def test_every_fixture_is_read() -> None:
    files = {path.relative_to(FIXTURES).as_posix() for path in FIXTURES.rglob("*") if path.is_file()}
    unread = {
        name for name in files if not any(name == known or name.startswith(f"{known}/") for known in FORMATS)
    }
    assert unread == set()


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_reader_gives_survives_our_own_lines(name: str, tmp_path: Path) -> None:
    """Written as our JSON Lines and read again, a call is the same but for what the lines do not carry."""
    calls = [item for item in calls_of(source_of(name, tmp_path)) if isinstance(item, Call)]
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(f"{line_of(call)}\n" for call in calls), encoding="utf-8")
    again = list(calls_of(Source(str(path))))
    assert [problem for problem in again if isinstance(problem, Problem)] == []
    assert [line_of(call) for call in again if isinstance(call, Call)] == [line_of(call) for call in calls]
    for call, other in zip(calls, again, strict=True):
        assert isinstance(other, Call)
        other.result_sha256 = call.result_sha256
        assert shown(other) == shown(call)
