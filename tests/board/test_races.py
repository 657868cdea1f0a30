# SPDX-License-Identifier: Apache-2.0
"""Many at once: each card has one winner, on SQLite and on PostgreSQL, among threads and among processes."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `workers` is not installed")

from shellguard.board.board import Board
from tests.board.cards import NOW, PROCESS, add, again, check, claim, try_to_claim

if TYPE_CHECKING:
    from tests.board.servers import Server

ROOT = Path(__file__).resolve().parents[2]

AT_ONCE = 6


def at_once(tasks: list[Callable[[], object]]) -> list[object]:
    """What each task gave back, when all began together. Raises what one of them raised."""
    gate = threading.Barrier(len(tasks))
    found: list[object] = [None] * len(tasks)

    def one(place: int) -> None:
        gate.wait()
        try:
            found[place] = tasks[place]()
        except BaseException as error:  # noqa: BLE001 (raised again, in the thread of the test)
            found[place] = error

    threads = [threading.Thread(target=one, args=(place,)) for place in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in found:
        if isinstance(each, BaseException):
            raise each
    return found


@pytest.fixture
def others(board: Board) -> Iterator[list[Board]]:
    """The same board, as each of several programs has it open."""
    opened = [Board.open(board.address) for _ in range(AT_ONCE)]
    yield opened
    for each in opened:
        each.close()


def test_one_claims(board: Board, others: list[Board]) -> None:
    for _ in range(10):
        card = add(board)
        found = at_once([partial(try_to_claim, each, card.id) for each in others])
        assert sum(run is not None for run in found) == 1
        check(board)


def test_one_supervisor_begins(board: Board, others: list[Board]) -> None:
    for _ in range(10):
        run = claim(board, add(board).id, begin=False)
        found = at_once(
            [partial(each.begin, run.id, supervisor=f"boot:{pid}:1") for pid, each in enumerate(others)]
        )
        assert sum(each is not None for each in found) == 1


def test_one_word_counts_about_a_run(board: Board, others: list[Board]) -> None:
    """The end of a command, a timeout, an operator: whoever is first is right, and the others know they are not."""
    one, two, three, four, five, six = others
    for _ in range(10):
        run = claim(board, add(board).id)
        found = at_once(
            [
                partial(one.complete, run.card, run=run.id, by="command"),
                partial(two.block, run.card, run=run.id, reason="exit code 3", exit_code=3),
                partial(three.fail, run.id, outcome="timed_out", error="e"),
                partial(four.fail, run.id, outcome="crashed", error="e"),
                partial(five.reclaim, run.id, reason="r"),
                partial(six.complete, run.card, run=run.id, by="worker"),
            ]
        )
        assert found.count(True) == 1
        assert len(board.events(run.card)) == len(["created", "claimed", "the one word"])
        check(board)


def test_a_child_of_many_parents_is_promoted_once(board: Board, others: list[Board]) -> None:
    for _ in range(5):
        parents = [add(board).id for _ in others]
        children = [board.add("c", profile="p", parents=parents).id for _ in range(3)]
        done = at_once([partial(each.complete, card) for each, card in zip(others, parents, strict=True)])
        assert done == [True] * len(others)
        board.recompute()
        for child in children:
            assert again(board, child).status == "ready"
            assert [event.kind for event in board.events(child)] == ["created", "promoted"]


def test_names_of_cards_that_are_added_at_once_differ(board: Board, others: list[Board]) -> None:
    def some(each: Board) -> list[str]:
        return [add(each, now=NOW).id for _ in range(20)]

    at_once([partial(some, each) for each in others])
    assert len(board.cards()) == 20 * AT_ONCE


WORK = """
import sys
from shellguard.board.board import Board

with Board.open(sys.stdin.readline().strip()) as board:
    me = sys.argv[1]
    print("open", flush=True)
    sys.stdin.readline()
    done = 0
    while True:
        found = board.ready(3)
        if not found:
            break
        for card in found:
            run = board.claim(card.id, profile="p", host="h", dispatcher=me, lease=900, frozen={})
            if run is None:
                continue
            assert board.begin(run.id, supervisor=f"boot:{me}:1") is not None
            assert board.started(run.id, child=f"boot:{me}:2")
            assert board.heartbeat(run.id, lease=900)
            assert board.complete(card.id, run=run.id, by="command", exit_code=0)
            done += 1
    print(done, flush=True)
"""


def test_programs_share_the_work(address: str) -> None:
    """Four programs open a board that is not there yet, all at once, and do its cards: each is done once, by one."""
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", WORK, str(number)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(1, 5)
    ]
    try:
        for each in programs:
            assert each.stdin is not None
            each.stdin.write(f"{address}\n")
            each.stdin.flush()
        for each in programs:
            assert each.stdout is not None
            opened = each.stdout.readline()
            assert opened == "open\n", each.stderr and each.stderr.read()
        with Board.open(address) as board:
            for _ in range(60):
                add(board)

            for each in programs:
                assert each.stdin is not None
                each.stdin.write("\n")
                each.stdin.flush()
            done = []
            for each in programs:
                out, err = each.communicate(timeout=120)
                assert (each.returncode, err) == (0, "")
                done.append(int(out))
            assert sum(done) == 60
            assert board.counts() == {"done": 60}
            assert Counter(event.kind for event in board.events()) == {
                **dict.fromkeys(("created", "claimed", "started", "completed"), 60)
            }
            check(board)
    finally:
        for each in programs:
            each.kill()
            each.communicate()


def test_a_server_that_goes_and_comes_back(postgresql: Server) -> None:
    """Who had the board open is told that it is away, loses nothing, and goes on without opening it again."""
    from shellguard.board.model import BoardUnavailableError

    with Board.open(postgresql.fresh()) as board:
        run = claim(board, add(board).id)
        postgresql.stop()
        with pytest.raises(BoardUnavailableError):
            board.complete(run.card, run=run.id)
        postgresql.start()
        assert again(board, run.card).status == "running"
        assert board.complete(run.card, run=run.id)
        assert postgresql.kill_backends() >= 1
        while True:
            try:
                assert board.begin(run.id, supervisor=PROCESS) is None
                break
            except BoardUnavailableError:
                continue  # it restarts
        check(board)
