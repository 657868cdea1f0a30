# SPDX-License-Identifier: Apache-2.0
"""The incident that started the project, and the useful work beside it, call by call."""

from __future__ import annotations

import random

import pytest

from shellguard.guard import GuardConfig
from tests.guard.replays import Call, Seen, Turn, config, play, sh, stopped, warned

READ = "cd ~/repo && gh api repos/o/r/pulls/7/reviews 2>&1"
WRITE = "cd ~/repo && gh api -X POST repos/o/r/pulls/7/reviews 2>&1"
EMPTY = '{"output":"[]","exit_code":0,"error":null}'
OTHERS = {
    "cd ~/repo && gh pr view 7": 89,
    "cd ~/repo && gh pr checks 7": 69,
    "cd ~/repo && git log --oneline -3": 38,
    "cd ~/repo && git status": 36,
    "cat notes.txt": 26,
}


def incident(repeated: str) -> list[Call]:
    """A turn of 828 calls: one 517 times, five others 89, 69, 38, 36 and 26 times, the rest distinct."""
    calls = [sh(repeated, EMPTY)] * 517
    for command, count in OTHERS.items():
        calls += [sh(command, f"result of {command}")] * count
    calls += [sh(f"cat part{number}", f"content {number}") for number in range(828 - len(calls))]
    assert len(calls) == 828
    return calls


def of(seen: list[Seen], command: str) -> list[Seen]:
    return [each for each in seen if each.call.args["command"] == command]


@pytest.mark.parametrize("limit", [5, 10])
@pytest.mark.parametrize("order", ["one after another", "mixed"])
def test_the_incident(limit: int, order: str) -> None:
    calls = incident(READ)
    if order == "mixed":
        random.Random(7).shuffle(calls)
    seen = of(play(calls, config(hard_stop_after_idempotent_no_progress=limit)), READ)
    assert (warned(seen), stopped(seen)) == (3, limit + 1)
    assert sum(each.ran for each in seen) == limit
    refused = seen[limit].before
    assert (refused.action, refused.code, refused.count) == ("block", "idempotent_no_progress_block", limit)
    assert refused.call_class == "read"


@pytest.mark.parametrize("order", ["one after another", "mixed"])
def test_the_incident_as_a_write(order: str) -> None:
    calls = incident(WRITE)
    if order == "mixed":
        random.Random(7).shuffle(calls)
    seen = of(play(calls), WRITE)
    assert (warned(seen), stopped(seen)) == (4, 13)
    refused = seen[12].before
    assert (refused.code, refused.count) == ("repeated_identical_result_block", 12)
    assert refused.call_class == "write"


def test_the_incident_without_hard_stops() -> None:
    seen = play(incident(READ), GuardConfig())
    assert warned(seen) == 3
    assert all(each.ran for each in seen)


def test_a_wait_for_checks() -> None:
    seen = play([sh("sleep 30 && gh pr checks 1", "build  pending", 8, 32)] * 20)
    assert not stopped(seen)
    assert warned(seen) == 20
    assert {each.before.call_class for each in seen} == {"wait"}


def test_a_wait_that_the_host_calls_failed() -> None:
    call = Call("terminal", {"command": "sleep 30 && gh pr checks 1"}, "pending", failed=True, exit_code=8)
    assert not stopped(play([call] * 20))


def test_a_wait_ends_after_an_hour_without_change() -> None:
    """It is told once, then refused; the turn goes on."""
    seen = play([sh("sleep 600 && gh pr checks 1", "pending", 8, 600)] * 12)
    end = stopped(seen)
    assert (warned(seen), end) == (7, 8)
    assert seen[end - 1].before.code == "wait_no_progress_block"
    assert {each.before.action for each in seen} == {"allow", "block"}


def test_a_wait_begins_anew_when_something_changes() -> None:
    calls = [sh("sleep 600 && gh pr checks 1", f"{number // 5} of 9 done", 8, 600) for number in range(40)]
    assert not stopped(play(calls))


def test_distinct_reads() -> None:
    seen = play([sh(f"cat src/file{number}.py", f"content of {number}") for number in range(30)])
    assert {each.before.action for each in seen} | {each.after.action for each in seen if each.after} == {
        "allow"
    }


def test_a_build_with_changing_output() -> None:
    seen = play([sh("make 2>&1 | tail -3", f"{number} of 30 built") for number in range(30)])
    assert not stopped(seen)
    assert not warned(seen)


@pytest.mark.parametrize("output", ["1 failed, 3 passed", "{} failed"])
def test_fix_and_retest(output: str) -> None:
    calls = []
    for number in range(12):
        calls.append(sh("pytest -q", output.format(number), 1))
        calls.append(Call("patch", {"path": "a.py", "text": f"try {number}"}, "patched"))
    seen = play(calls)
    assert not stopped(seen)
    assert not warned(seen)


def test_status_after_each_edit() -> None:
    calls = []
    for number in range(6):
        calls.append(Call("write_file", {"path": "a", "content": f"{number}"}, "written"))
        calls.append(sh("git status", " M a"))
    seen = play(calls)
    assert not stopped(seen)
    assert not warned(seen)


def test_limits_of_a_write() -> None:
    settings = config(warn_after_mutating_no_progress=2, hard_stop_after_mutating_no_progress=3)
    seen = play([sh("./deploy", "done")] * 5, settings)
    assert (warned(seen), stopped(seen)) == (2, 4)
    assert seen[1].after is not None
    assert seen[1].after.code == "mutating_no_progress_warning"
    assert (seen[3].before.code, seen[3].before.count) == ("repeated_identical_result_block", 3)


def test_a_read_in_between_does_not_reset() -> None:
    calls = [call for n in range(12) for call in (sh("pytest -q", "1 failed", 1), sh("ls", f"a{'b' * n}"))]
    assert stopped(play(calls)) == 11


def test_a_new_request_clears_and_a_bare_continue_does_not() -> None:
    half = [sh("cat a", "same")] * 3
    assert stopped(play([*half, Turn("continue"), *half])) == 6
    assert not stopped(play([*half, Turn("look at a again, please"), *half]))
    assert not stopped(play([*half, Turn(), *half]))
    assert stopped(play([*half, Turn("now b"), *half], config(carry_over_turns=True))) == 6


def test_the_same_envelope_again_is_no_new_request() -> None:
    """hermes#94035: a scheduler that repeats its message goes on with the turn before."""
    envelope = Turn("Check the queue and report what is in it.")
    assert stopped(play([envelope, *[sh("cat q", "empty")] * 3, envelope, *[sh("cat q", "empty")] * 3])) == 6


def test_waits_in_turn_are_no_cycle() -> None:
    lap = [
        sh("sleep 30 && gh pr checks 1", "pending", 8, 30),
        sh("sleep 30 && gh run list", "running", 0, 30),
    ]
    seen = play(lap * 19)
    assert not stopped(seen)
    assert not warned(seen)


@pytest.mark.parametrize("look", [sh("pytest -q", "1 failed", 1), sh("git status", " M a")])
def test_a_write_and_a_look_come_round_as_often_as_a_write_may(look: Call) -> None:
    """The same edit again and again is told like any cycle, and has the limit of writes."""
    seen = play([Call("patch", {"path": "a"}, "patched"), look] * 14)
    assert (warned(seen), stopped(seen)) == (6, 25)
    assert (seen[24].before.code, seen[24].before.count) == ("repeated_identical_result_block", 12)


def test_one_text_for_one_result() -> None:
    """At the third lap the row of a read and the cycle both have something to say."""
    seen = play([sh("cat a", "1"), sh("cat b", "2")] * 4)
    for each in seen:
        assert each.after is not None
        assert each.after.text.count(".") <= 3
        assert (each.after.text == "") == (each.after.action == "allow")


def test_what_is_too_old_does_not_count() -> None:
    settings = config(window_max_seconds=100.0, wait_spacing=0)
    assert stopped(play([sh("cat a", "same", seconds=40)] * 9, settings)) == 6
    assert not stopped(play([sh("cat a", "same", seconds=101)] * 9, settings))
    assert (
        stopped(play([sh("cat a", "same", seconds=101)] * 9, config(window_max_seconds=0.0, wait_spacing=0)))
        == 6
    )


def test_a_refused_call_counts_again_when_it_may_run_again() -> None:
    read, edit = sh("cat a", "same"), Call("edit", {"n": 1}, "ok")
    seen = play([*[read] * 6, edit, *[read] * 6])
    assert [number for number, each in enumerate(seen) if not each.ran] == [5, 12]


def test_another_call_that_succeeds_opens_the_way_for_one_more() -> None:
    fails = [sh(f"ls d{n}", f"ls: cannot access 'd{n}': No such file", 2) for n in range(16)]
    seen = play([*fails[:12], sh("pwd", "/x"), *fails[12:]])
    assert [number for number, each in enumerate(seen) if not each.ran] == [10, 11, 14, 15, 16]


def test_a_changing_result_is_told_with_its_count() -> None:
    seen = play([Call("search", {"q": "x"}, "a" * n) for n in range(17)])
    told = [each.after for each in seen if each.after is not None and each.after.action == "warn"]
    assert [(each.code, each.count, each.period) for each in told] == [
        ("changing_result_warning", 8, 0),
        ("changing_result_warning", 16, 0),
    ]
