# SPDX-License-Identifier: Apache-2.0
"""612 recorded sessions of agents: what the guard says over them. Every warning and stop was read by hand once.

The sessions are not part of the project; SHELLGUARD_CORPORA names the folder that holds them. `python -m
tools.guard_corpus --list` prints each finding with its call.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shellguard.guard import GuardConfig
from tools.guard_corpus import NAME, WANTED_RATE, Summary, main, replayed, rows

STOPPED = {
    # session: what goes round in it
    "2025-11-05_16-46-20/vllm_core-0007": "nine edits that never match, tried again one after the other",
    "2025-11-05_17-16-42/vllm_core-0003": "two edits that fail and a view, 19 times",
    "2025-11-05_17-16-42/vllm_core-0004": "an edit that fails, in rows of five, four and three",
    "2025-11-05_17-16-42/vllm_core-0006": "an edit that fails with small changes, eight times",
}
"""The sessions with a block or a halt. Each is a genuine loop."""


@pytest.fixture(scope="module")
def summary(corpora: Path) -> Summary:
    if not (corpora / NAME).exists():
        pytest.skip(f"{NAME} is not among the recorded sessions")
    return replayed(rows(corpora), GuardConfig({"hard_stop_enabled": True}))


def test_few_sessions_are_warned(summary: Summary) -> None:
    assert (summary.sessions, summary.calls) == (612, 23_571)
    assert 0 < summary.sessions_with("warn") <= WANTED_RATE * summary.sessions


def test_only_genuine_loops_are_stopped(summary: Summary) -> None:
    stopped = {each.session for each in summary.findings if each.decision.action in ("block", "halt")}
    assert len(stopped) == len(STOPPED)
    for known in STOPPED:
        assert any(known in session for session in stopped), known


def test_the_tool_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SHELLGUARD_CORPORA", raising=False)
    assert main([]) == 2
    assert "SHELLGUARD_CORPORA" in capsys.readouterr().err
