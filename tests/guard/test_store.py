# SPDX-License-Identifier: Apache-2.0
"""The store: processes that live one call share their counts, and nothing that happens to the file stops the guard."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellguard.guard import Controller, Decision, Event, GuardConfig, Store, ToolCall, ToolResult
from shellguard.guard.events import KINDS
from shellguard.guard.model import CLASSES
from shellguard.guard.observe import session_name
from shellguard.guard.records import HEADER, SIZE, is_whole, packed, session_of, unpacked
from shellguard.guard.store import KEPT_RECORDS, MOST_RECORDS, SWEPT_AFTER, sweep
from tests.guard.replays import config

CALL = ToolCall("terminal", {"command": "cat a"}, started_at=0.0)
RESULT = ToolResult("same", exit_code=0, ended_at=0.0)


def once(
    path: Path, call: ToolCall = CALL, settings: GuardConfig | None = None
) -> tuple[Decision, list[str]]:
    """One call as a process of its own would make it, and what the store had to say."""
    store = Store(str(path))
    guard = Controller(settings or config(), store=store)
    decision = guard.before(call)
    if decision.allows:
        guard.after(call, RESULT)
    store.close()
    return decision, store.notes


def test_calls_of_many_processes_add_up(tmp_path: Path) -> None:
    path = tmp_path / "state" / "calls"
    answers = [once(path) for _ in range(7)]
    assert [decision.action for decision, _ in answers] == ["allow"] * 5 + ["block"] * 2
    assert not any(notes for _, notes in answers)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert b"cat a" not in path.read_bytes()


def test_a_store_that_nobody_holds_has_closed_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[int] = []
    close = os.close

    def noted(descriptor: int) -> None:
        closed.append(descriptor)
        close(descriptor)

    monkeypatch.setattr(os, "close", noted)
    guard = Controller(config(), store=Store(str(tmp_path / "calls")))
    guard.before(CALL)
    assert not closed
    del guard
    assert len(closed) == 1


def test_the_file_says_the_same_as_memory(tmp_path: Path) -> None:
    """A state that was read from records is the state that wrote them, decision by decision."""
    drawn = random.Random(5)
    kept, memory = None, Controller(config(), clock=lambda: 0.0)
    path = tmp_path / "calls"
    for number in range(400):
        kept = Controller(config(), store=Store(str(path)), clock=lambda: 0.0)
        tool = drawn.choice(["terminal", "edit", "read_file", "status", "web_search", "delegate_task"])
        command = drawn.choice(["cat a", "make", "sleep 5", "git status"])
        call = ToolCall(tool, {"command": command}, call_id=f"{number // 2}", started_at=number * 3.0)
        if drawn.random() < 0.5:
            assert kept.before(call) == memory.before(call)
        elif drawn.random() < 0.95:
            result = ToolResult(
                drawn.choice(["a", "b", "Error: x"]), drawn.choice([None, True]), ended_at=number * 3.0
            )
            assert kept.after(call, result) == memory.after(call, result)
        else:
            text = drawn.choice(["continue", "something new"])
            kept.new_turn(text, at=number * 3.0)
            memory.new_turn(text, at=number * 3.0)


@given(
    st.sampled_from(KINDS),
    st.sampled_from(CLASSES),
    st.floats(allow_nan=False),
    st.lists(st.integers(0, 2**64 - 1), min_size=10, max_size=10),
    st.lists(st.booleans(), min_size=11, max_size=11),
    st.integers(-(2**62), 2**62),
)
def test_a_record_holds_its_event(
    kind: str, call_class: str, at: float, names: list[int], flags: list[bool], agents: int
) -> None:
    event = Event(kind, at, call_class=call_class, agents=agents)
    event.key, event.tool, event.head, event.near, event.digest, event.loose, *names = names
    event.near_digest, event.call_id, event.group, session = names
    event.pauses, event.shell, event.tolerant, event.inert, event.search, event.failed, *flags = flags
    event.vain, event.refusal, event.bare, refused, ends = flags
    record = packed(session, event, refused=refused, ends=ends)
    assert (len(record), session_of(record), is_whole(record)) == (SIZE, session, True)
    found, *rest = unpacked(record)
    assert rest == [refused, ends]
    assert {name: getattr(found, name) for name in Event.__slots__} == {
        name: getattr(event, name) for name in Event.__slots__
    }


def test_release_reaches_other_processes(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    for _ in range(5):
        once(path)
    refused, _ = once(path)
    assert refused.action == "block"
    Controller(config(), store=Store(str(path))).release(refused.signature)
    assert once(path)[0].action == "allow"


def test_sessions_in_one_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    for session in ("a", "b"):
        for _ in range(4):
            call = ToolCall("terminal", {"command": "cat a"}, session=session, agent="x", started_at=0.0)
            assert once(path, call)[0].action == "allow"


WORKER = """
import sys
from shellguard.guard import Controller, GuardConfig, Store, ToolCall, ToolResult
path, name, count = sys.argv[1:]
for number in range(int(count)):
    store = Store(path)
    guard = Controller(GuardConfig(), store=store)
    call = ToolCall("terminal", {"command": f"cat {name}"}, session=name)
    guard.before(call)
    guard.after(call, ToolResult(f"result", exit_code=0))
    store.close()
    assert not store.notes, store.notes
    print(number, flush=True)
"""


def worker(path: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(path), name, str(count)], stdout=subprocess.PIPE
    )


def records(path: Path) -> int:
    size = path.stat().st_size
    assert size % SIZE == 0
    return size // SIZE - 1


def test_two_processes_lose_no_record(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    workers = [worker(path, name, 60) for name in ("a", "a", "b")]
    assert [each.wait(timeout=60) for each in workers] == [0, 0, 0]
    assert records(path) == 3 * 60 * 2
    for name, count in (("a", 120), ("b", 60)):
        guard = Controller(config(), store=Store(str(path)))
        assert guard.state(session=name).entries[0].run == count
    for each in workers:
        assert each.stdout is not None
        each.stdout.close()


def test_killed_processes_lose_nothing_that_was_answered(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    answered = 0
    for _ in range(6):
        process = worker(path, "a", 100_000)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        answered += 1 + len(process.stdout.read().splitlines())
        process.stdout.close()
        process.wait(timeout=60)
    store = Store(str(path))
    state = Controller(config(), store=store).state(session="a")
    assert not store.notes
    assert state.entries[0].run >= min(answered, 256)


def test_a_record_that_was_half_written_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    once(path)
    once(path)
    with path.open("ab") as file:
        file.write(b"\x01" * (SIZE // 2))
    for _ in range(3):
        decision, notes = once(path)
        assert (decision.action, notes) == ("allow", [])
    assert once(path)[0].action == "block"
    assert records(path) == 11


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: 2 * SIZE] + bytes([data[2 * SIZE] ^ 1]) + data[2 * SIZE + 1 :],
        lambda data: data[: 3 * SIZE + 20] + b"\xff" * 40 + data[3 * SIZE + 60 :],
        lambda data: b"not ours" + data[8:],
        lambda data: b"{}",
        lambda data: b"\x00" * 4096,
        lambda data: b"\x00" * (4 * SIZE),
    ],
    ids=["one bit", "a hole", "another header", "short", "zeros", "records of zeros"],
)
def test_a_damaged_file_is_set_aside_and_said_so(tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    path = tmp_path / "calls"
    for _ in range(5):
        once(path)
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    decision, notes = once(path)
    assert decision.action == "allow"
    [note] = notes
    assert "is damaged" in note
    assert str(path) in note
    aside = tmp_path / "calls.damaged-1"
    assert aside.read_bytes()[: len(damaged) // SIZE * SIZE] == damaged[: len(damaged) // SIZE * SIZE]
    for _ in range(4):
        assert once(path) == (once_allowed(), [])
    assert once(path)[0].action == "block"


def once_allowed() -> Decision:
    guard = Controller(config())
    return guard.before(CALL)


def test_an_empty_file_is_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    path.touch(mode=0o600)
    assert once(path) == (once_allowed(), [])
    assert path.read_bytes().startswith(HEADER)


FULL = """
import resource, signal, sys
from shellguard.guard import Controller, GuardConfig, Store, ToolCall, ToolResult
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
store = Store(sys.argv[1])
guard = Controller(GuardConfig({"hard_stop_enabled": True}), store=store)
call = ToolCall("terminal", {"command": "cat a"})
for number in range(8):
    decision = guard.before(call)
    print(decision.action)
    if decision.allows:
        guard.after(call, ToolResult("same", exit_code=0))
print(len(store.notes), store.notes)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no RLIMIT_FSIZE")
@pytest.mark.parametrize("room", [0, 50, SIZE, 3 * SIZE + 40, 100 * SIZE])
def test_on_a_full_disk_the_guard_goes_on_in_memory(tmp_path: Path, room: int) -> None:
    path = tmp_path / "calls"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path), str(room)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    *actions, notes = done.stdout.splitlines()
    assert actions == ["allow"] * 5 + ["block"] * 3
    assert notes.startswith("0" if room > 50 * SIZE else "1 "), notes
    if path.exists():
        assert path.stat().st_size % SIZE == 0


@pytest.mark.parametrize("place", ["a folder", "below a file"])
def test_a_file_that_cannot_be_made_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    path = tmp_path if place == "a folder" else tmp_path / "file" / "calls"
    store = Store(str(path))
    guard = Controller(config(), store=store)
    actions = []
    for _ in range(7):
        actions.append(guard.before(CALL).action)
        guard.after(CALL, RESULT)
    assert actions[5:] == ["block", "block"]
    [note] = store.notes
    assert str(path) in note


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such permissions")
def test_a_file_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    once(path)
    path.chmod(0o666)
    _, [note] = once(path)
    assert "others may write" in note


def test_a_lock_that_is_held_for_ever_does_not_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr("shellguard.guard.store.PATIENCE", 0.01)
    path = tmp_path / "calls"
    once(path)
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        decision, [note] = once(path)
    assert decision.action == "allow"
    assert "locked" in note


def test_a_long_file_is_written_anew_with_its_last_records(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    once(path)
    record = path.read_bytes()[-SIZE:]
    with path.open("ab") as file:
        file.write(record * (MOST_RECORDS - 2))
    other = Store(str(path))
    late = Controller(config(), store=other)
    late.state()
    assert once(path)[1] == []
    assert records(path) <= KEPT_RECORDS + 2
    late.before(CALL)  # the file it had open is not the one at the path any more
    assert other.notes == []
    assert records(path) <= KEPT_RECORDS + 3
    assert [each.name for each in tmp_path.iterdir()] == ["calls"]


def test_old_sessions_are_swept(tmp_path: Path) -> None:
    now = time.time()
    for age, name in ((0, "1.calls"), (SWEPT_AFTER + 60, "2.calls"), (SWEPT_AFTER + 60, "notes.txt")):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (now - age, now - age))
    store = Store.in_folder(str(tmp_path), session_name("s", ""), now)
    Controller(config(), store=store).before(CALL)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        ["1.calls", "notes.txt", f"{session_name('s', ''):016x}.calls"]
    )
    assert sweep(str(tmp_path / "none"), now) == 0
