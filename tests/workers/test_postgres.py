# SPDX-License-Identifier: Apache-2.0
"""The same on PostgreSQL: two dispatchers at one board, a server that goes away, and no word of its password."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `workers` is not installed", exc_type=ImportError)
pytest.importorskip("psycopg", reason="the extra `workers` is not installed", exc_type=ImportError)

if TYPE_CHECKING:
    from tests.board.servers import Server
    from tests.workers.yard import Yard

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("flock") is None, reason="needs Linux and flock"
)


@pytest.mark.slow
def test_two_dispatchers_do_each_card_once(shared_yard: Yard) -> None:
    yard = shared_yard
    done = yard.folder / "done"
    yard.profile("p", f"echo $SHELLGUARD_CARD >> {done}; sleep 0.3")
    cards = [yard.add("p") for _ in range(20)]
    both = [yard.start("--until-idle", "--timeout", "100", "--max", "2") for _ in range(2)]
    for process in both:
        said = process.communicate(timeout=120)[0]
        assert process.returncode == 0, said
        assert "skipped_locked" not in said
    assert sorted(done.read_text().split()) == cards
    assert {str(card.status) for card in yard.board.cards()} == {"done"}
    assert {len(yard.board.runs(card)) for card in cards} == {1}
    assert len({yard.run(card).dispatcher for card in cards}) == 2


def test_a_run_that_was_claimed_and_never_started_is_gone_on_with_by_another_dispatcher(
    shared_yard: Yard,
) -> None:
    """Its dispatcher was killed between the claim and the start; the run stays the same."""
    yard = shared_yard
    card = yard.add(yard.profile("p", "true"))
    program = (
        "import os, sys; from shellguard.board.board import Board; from shellguard.workers import dispatcher\n"
        "board = Board.open(os.environ['SHELLGUARD_BOARD'])\n"
        "made = dispatcher.Dispatcher(board, home=os.environ['SHELLGUARD_HOME'])\n"
        "made.open(); made.engine.start = lambda run, **more: os._exit(9); made.once()\n"
    )
    killed = subprocess.run([sys.executable, "-c", program], env=yard.environment, timeout=60, check=False)
    assert killed.returncode == 9
    assert yard.card(card).status == "running"
    first = yard.run(card)
    yard.until_idle()
    assert yard.card(card).status == "done"
    assert [run.id for run in yard.board.runs(card)] == [first.id]
    assert any("going on with run" in line for line in yard.said)


def test_a_server_that_is_away_at_the_report_is_asked_again(shared_yard: Yard, postgresql: Server) -> None:
    yard = shared_yard
    go = yard.folder / "go"
    card = yard.add(yard.profile("p", f"while [ ! -e {go} ]; do sleep 0.05; done"))
    yard.once()
    yard.wait_started(card)
    postgresql.stop()
    go.touch()
    time.sleep(3)
    postgresql.start()
    yard.wait_for(card, "done")
    assert (yard.card(card).consecutive_failures, len(yard.board.runs(card))) == (0, 1)


@pytest.mark.slow
def test_a_report_that_no_server_took_is_left_to_the_dispatcher(
    shared_yard: Yard, postgresql: Server
) -> None:
    """The supervisor gives up; the dispatcher finds the run open and its supervisor gone, and the card runs again."""
    yard = shared_yard
    go = yard.folder / "go"
    card = yard.add(yard.profile("p", f"while [ ! -e {go} ]; do sleep 0.05; done"))
    yard.once()
    run = yard.wait_started(card)
    postgresql.stop()
    try:
        go.touch()
        from shellguard.workers import processes

        assert processes.wait_gone([run.supervisor], 60)
    finally:
        postgresql.start()
    log = Path(run.log or "").read_text()
    assert "the board did not take the report" in log
    assert yard.card(card).status == "running"
    yard.until_idle()
    assert yard.card(card).status == "done"
    assert [str(run.outcome) for run in yard.board.runs(card)] == ["crashed", "completed"]
    assert yard.kinds(card)[-1] == "completed"


def test_the_password_is_in_no_environment_no_argument_and_no_row(
    shared_yard: Yard, postgresql: Server
) -> None:
    yard = shared_yard
    go = yard.folder / "go"
    card = yard.add(yard.profile("p", f"env > env.txt; : > ready; while [ ! -e {go} ]; do sleep 0.05; done"))
    yard.once()
    run = yard.wait_started(card)
    yard.wait(lambda: Path(run.workspace or "", "ready").exists())
    seen = 0
    for pid in yard.processes_of(card):
        for name in ("cmdline", "environ"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a sleep that is over by now
                assert postgresql.password.encode() not in Path("/proc", str(pid), name).read_bytes()
                seen += 1
    assert seen >= 2
    go.touch()
    yard.wait_for(card, "done")
    for folder, _, files in os.walk(yard.home):
        for file in files:
            assert postgresql.password.encode() not in Path(folder, file).read_bytes()
    token = (
        Path(run.workspace or "", "env.txt").read_text().partition("SHELLGUARD_TOKEN=")[2].partition("\n")[0]
    )
    rows = "".join(
        str(row)
        for schema, table in postgresql.sql(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('public', 'dbos')",
            yard.database,
        )
        for row in postgresql.sql(f'SELECT * FROM "{schema}"."{table}"', yard.database)
    )
    assert run.id in rows
    for secret in (token, postgresql.password):
        assert len(secret) > 20
        assert secret not in rows
    assert postgresql.password not in "\n".join(yard.said)


def test_a_password_of_the_environment_reaches_the_supervisor_and_no_worker(
    shared_yard: Yard, postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shellguard.board.board import Board

    yard = shared_yard
    card = yard.add(yard.profile("p", "env > env.txt"))
    monkeypatch.setenv("PGPASSWORD", postgresql.password)
    monkeypatch.setenv("PGHOST", "127.0.0.1")
    monkeypatch.setenv("PGPORT", str(postgresql.port))
    monkeypatch.setenv("PGUSER", "boss")
    yard.board.close()
    yard.board = Board.open(f"postgresql:///{yard.database}")
    yard.until_idle()
    assert yard.card(card).status == "done", (yard.run(card).error, yard.said)
    found = Path(yard.run(card).workspace or "", "env.txt").read_text()
    assert "SHELLGUARD_CARD=" in found
    assert not [line for line in found.split("\n") if line.startswith("PG")]
    assert postgresql.password not in found


def test_a_few_kills_with_two_dispatchers(shared_yard: Yard, postgresql: Server) -> None:
    from tests.workers.chaos import chaos

    print(chaos(shared_yard, cards=12, kills=6, seed=2, dispatchers=2, server=postgresql))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3])
def test_100_kills_over_200_cards_with_two_dispatchers(
    shared_yard: Yard, postgresql: Server, seed: int
) -> None:
    from tests.workers.chaos import chaos

    figures = chaos(shared_yard, cards=200, kills=100, seed=seed, dispatchers=2, server=postgresql)
    print(figures)
    assert figures.kills.total() == 100
