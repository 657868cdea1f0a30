# SPDX-License-Identifier: Apache-2.0
"""Whatever is done to a board, in any order and too late: what holds of it holds, and who is refused wrote nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `workers` is not installed")

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from shellguard.board.board import Board
from shellguard.board.model import BlockKind, Status
from tests.board.cards import NOW, check, dump, try_to_claim


class Boards(RuleBasedStateMachine):
    """One board. Cards and runs are drawn from all that ever were, so that most words come too late."""

    names = Bundle("names")
    runs = Bundle("runs")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.board = Board.open(str(Path(self.folder.name) / "board.sqlite"))
        self.now = NOW
        self.begun: set[str] = set()

    def teardown(self) -> None:
        self.board.close()
        self.folder.cleanup()

    def said(self, before: dict[str, Any], done: object) -> None:
        """A word that was refused has changed nothing, and one that was taken something."""
        assert bool(done) == (dump(self.board) != before)

    @rule(
        target=names,
        parents=st.lists(names, max_size=2),
        phase=st.sampled_from(["ready", "review"]),
        status=st.sampled_from([None, None, None, "triage", "todo", "blocked"]),
        at=st.sampled_from([None, None, NOW + 3]),
        retries=st.sampled_from([None, 0, 3]),
    )
    def add(
        self, parents: list[str], phase: str, status: str | None, at: float | None, retries: int | None
    ) -> str:
        card = self.board.add(
            "t",
            profile="p",
            parents=parents,
            phase=phase,
            status=status,
            at=at,
            max_retries=retries,
            now=self.now,
        )
        return card.id

    @rule(target=runs, card=names)
    def claim(self, card: str) -> str:
        before, found = dump(self.board), self.board.card(card)
        assert found is not None
        run = try_to_claim(self.board, card, now=self.now)
        if run is None:
            later = self.board.card(card)
            assert later is not None
            if later.status == found.status:
                assert dump(self.board) == before
            else:
                assert later.status is Status.TODO
            return "0" * 32
        assert found.status in ("ready", "review")
        return run.id

    @rule(run=runs)
    def begin(self, run: str) -> None:
        before = dump(self.board)
        done = self.board.begin(run, supervisor="boot:1:1", now=self.now)
        self.said(before, done)
        if done is not None:
            assert run not in self.begun, "one run had two supervisors"
            self.begun.add(run)

    @rule(run=runs)
    def started(self, run: str) -> None:
        before = dump(self.board)
        self.said(before, self.board.started(run, child="boot:2:1", now=self.now))

    @rule(run=runs)
    def heartbeat(self, run: str) -> None:
        before = dump(self.board)
        self.now += 1
        self.said(before, self.board.heartbeat(run, lease=5, now=self.now))

    @rule(card=names, run=st.none() | runs)
    def complete(self, card: str, run: str | None) -> None:
        before = dump(self.board)
        self.said(before, self.board.complete(card, run=run, now=self.now))

    @rule(
        card=names,
        run=st.none() | runs,
        kind=st.none() | st.sampled_from(list(BlockKind)),
        code=st.sampled_from([None, 3]),
    )
    def block(self, card: str, run: str | None, kind: BlockKind | None, code: int | None) -> None:
        before = dump(self.board)
        done = self.board.block(card, run=run, kind=kind, reason="r", exit_code=code, now=self.now)
        self.said(before, done)

    @rule(card=names, verb=st.sampled_from(["unblock", "retry", "archive"]))
    def decide(self, card: str, verb: str) -> None:
        before = dump(self.board)
        self.said(before, getattr(self.board, verb)(card, now=self.now))

    @rule(run=runs, outcome=st.sampled_from(["timed_out", "crashed", "spawn_failed"]))
    def fail(self, run: str, outcome: str) -> None:
        before = dump(self.board)
        self.said(before, self.board.fail(run, outcome=outcome, error="e", now=self.now))

    @rule(run=runs)
    def reclaim(self, run: str) -> None:
        before = dump(self.board)
        self.said(before, self.board.reclaim(run, reason="r", now=self.now))

    @rule(later=st.sampled_from([0, 1, 5]))
    def recompute(self, later: int) -> None:
        self.now += later
        before = dump(self.board)
        self.said(before, self.board.recompute(self.now))

    @invariant()
    def holds(self) -> None:
        check(self.board)


Boards.TestCase.settings = settings(max_examples=40, stateful_step_count=40)
test_a_board_holds = Boards.TestCase
