# SPDX-License-Identifier: Apache-2.0
"""`shellguard guard run`: events in, decisions out, from any language."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.process import run, start

CALL = {"tool": "terminal", "args": {"command": "cd ~/repo && gh api repos/o/r/pulls/7/reviews 2>&1"}}


def lines(*events: dict[str, Any] | str) -> str:
    return "".join(f"{event if isinstance(event, str) else json.dumps(event)}\n" for event in events)


def answers(*events: dict[str, Any] | str, arguments: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    done = run("guard", "run", *arguments, text=lines(*events))
    assert done.returncode == 0
    return [json.loads(line) for line in done.stdout.splitlines()]


def stops(tmp_path: Path, section: str = "  hard_stop_enabled: true\n") -> tuple[str, str]:
    path = tmp_path / "guard.yaml"
    path.write_text(f"tool_loop_guardrails:\n{section}", encoding="utf-8")
    return "--config", str(path)


def once(call: dict[str, Any], **result: Any) -> list[dict[str, Any]]:
    return [{"event": "before", **call}, {"event": "after", **call, "result": "[]", **result}]


def test_a_read_is_refused_at_the_sixth(tmp_path: Path) -> None:
    found = answers(*[event for _ in range(6) for event in once(CALL)], arguments=stops(tmp_path))
    assert [each["action"] for each in found[::2]] == ["allow"] * 5 + ["block"]
    assert [each["action"] for each in found[1::2]] == ["allow", "allow", "warn", "warn", "warn", "allow"]
    assert found[10]["code"] == "idempotent_no_progress_block"
    assert (found[10]["count"], found[10]["class"]) == (5, "read")
    assert "5 times" in found[10]["text"]
    assert {"action", "code", "text", "count", "class", "signature", "schema", "rules"} <= set(found[0])


def test_each_event_has_one_answer_in_its_order_as_it_comes() -> None:
    done = start("guard", "run", text=lines({"event": "new_turn"}, "", {"event": "before", **CALL}, "{"))
    assert done.stderr == ""
    first, second, third = map(json.loads, done.stdout.splitlines())
    assert (first["action"], second["class"]) == ("allow", "read")
    assert third["error"].startswith("not JSON")


@pytest.mark.parametrize(
    "event, named",
    [
        ({"event": "during"}, '"event"'),
        ({}, '"event"'),
        ({"event": 1}, '"event"'),
        ({"event": ["before"]}, '"event"'),
        ({"event": "before"}, '"tool"'),
        ({"event": "before", "tool": ""}, '"tool"'),
        ({"event": "before", "tool": None}, '"tool"'),
        ({"event": "before", "tool": {"a": 1}}, '"tool"'),
        ({"event": "before", "tool": "x", "args": 5}, '"args"'),
        ({"event": "before", "tool": "x", "args": [1]}, '"args"'),
        ({"event": "before", "tool": "x", "args": "ls"}, '"args"'),
        ({"event": "before", "tool": "x", "call_id": []}, '"call_id"'),
        ({"event": "before", "tool": "x", "session": True}, '"session"'),
        ({"event": "before", "tool": "x", "agent": 1.5}, '"agent"'),
        ({"event": "before", "tool": "x", "group": {}}, '"group"'),
        ({"event": "before", "tool": "x", "cwd": 1}, '"cwd"'),
        ({"event": "before", "tool": "x", "at": "now"}, '"at"'),
        ({"event": "before", "tool": "x", "at": True}, '"at"'),
        ({"event": "before", "tool": "x", "at": 10**400}, '"at"'),
        ({"event": "after", "tool": "x", "failed": "no"}, '"failed"'),
        ({"event": "after", "tool": "x", "failed": 1}, '"failed"'),
        ({"event": "after", "tool": "x", "exit_code": "0"}, '"exit_code"'),
        ({"event": "after", "tool": "x", "exit_code": 1.5}, '"exit_code"'),
        ({"event": "after", "tool": "x", "elapsed": "1s"}, '"elapsed"'),
        ({"event": "after", "tool": "x", "result_sha256": "abc"}, '"result_sha256"'),
        ({"event": "after", "tool": "x", "result_sha256": 7}, '"result_sha256"'),
        ({"event": "new_turn", "text": ["hi"]}, '"text"'),
        ("[]", "an object"),
        ("null", "an object"),
        ("7", "an object"),
        ("{", "not JSON"),
        ('{"event": "before", "tool": "x", "at": NaN}', "NaN"),
        ('{"event": "before", "tool": "x", "at": 1e999}', '"at"'),
        ("[" * 5000, "not JSON"),
        ('{"event": "before", "tool": "x", "args": {"a": ' + "[" * 3000 + "]" * 3000 + "}}", "not JSON"),
        ("\x00", "not JSON"),
    ],
)
def test_what_is_no_event_is_named_and_the_run_goes_on(event: dict[str, Any] | str, named: str) -> None:
    bad, good = answers(event, {"event": "before", **CALL})
    assert named in bad["error"]
    assert "action" not in bad
    assert good["action"] == "allow"


def test_a_bad_event_counts_for_nothing(tmp_path: Path) -> None:
    events: list[dict[str, Any] | str] = []
    for _ in range(5):
        events += [*once(CALL), {"event": "after", **CALL, "exit_code": "x"}, "{"]
    found = answers(*events, {"event": "before", **CALL}, arguments=stops(tmp_path))
    assert found[-1]["count"] == 5


@pytest.mark.parametrize(
    "event",
    [
        {"event": "before", "tool": "\ud800", "args": {"\udfff": "\ud800"}},
        {"event": "before", "tool": "terminal", "args": {"command": "\x00 \ud800 $("}},
        {"event": "before", "tool": "terminal", "args": {"command": ["bash", 5]}},
        {"event": "before", "tool": "terminal", "args": {"command": None}},
        {"event": "before", "tool": "terminal", "args": None},
        {"event": "before", "tool": "x" * 100_000, "args": {}},
        {"event": "after", "tool": "x", "result": {"a": [1, None, {"b": 1e308}]}},
        {"event": "after", "tool": "x", "result": [{"type": "text", "text": 5}, {"type": "image"}]},
        {"event": "after", "tool": "x", "result": "y" * 200_000},
        {"event": "after", "tool": "x"},
        {"event": "before", "tool": "x", "session": 12, "agent": 3, "group": 4, "call_id": 5},
        {"event": "before", "tool": "x", "at": -5},
        {"event": "before", "tool": "delegate_task", "args": {"tasks": [1] * 1000}},
    ],
)
def test_any_event_gets_a_decision(event: dict[str, Any]) -> None:
    [found] = answers(event)
    assert found["action"] in ("allow", "block")


def test_a_hash_stands_for_a_text(tmp_path: Path) -> None:
    name = hashlib.sha256(b"some text").hexdigest()
    event = {"event": "after", "tool": "read_file", "args": {"path": "a"}, "result_sha256": name}
    found = answers(
        *[event] * 3, {"event": "after", **event, "result_sha256": name.upper()}, arguments=stops(tmp_path)
    )
    assert [each["count"] for each in found] == [0, 0, 3, 4]


def test_time_can_be_simulated(tmp_path: Path) -> None:
    wait = {"tool": "bash", "args": {"command": "sleep 300 && gh pr checks 1"}}
    events = [
        {"event": kind, **wait, "result": "pending", "exit_code": 8, "failed": True, "at": 300 * number}
        for number in range(14)
        for kind in ("before", "after")
    ]
    found = answers(*events, arguments=stops(tmp_path))
    assert [each["action"] for each in found[:24]].count("warn") == 0
    assert found[25]["code"] == "wait_no_progress_warning"
    assert found[26]["code"] == "wait_no_progress_block"


def test_state_goes_from_one_run_to_the_next(tmp_path: Path) -> None:
    arguments = (*stops(tmp_path), "--state", str(tmp_path / "state"))
    found = [answers(*once(CALL), arguments=arguments)[0] for _ in range(6)]
    assert [each["action"] for each in found] == ["allow"] * 5 + ["block"]
    released = run("guard", "release", found[0]["signature"], "--state", str(tmp_path / "state"))
    assert (released.returncode, released.stdout) == (0, "")
    assert answers(*once(CALL), arguments=arguments)[0]["action"] == "allow"


def test_a_damaged_state_is_said_on_the_other_stream(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_bytes(b"something else entirely")
    state.chmod(0o600)
    done = run("guard", "run", "--state", str(state), text=lines({"event": "before", **CALL}))
    assert json.loads(done.stdout)["action"] == "allow"
    assert "is damaged" in done.stderr
    assert done.returncode == 0


def test_release_wants_a_signature(tmp_path: Path) -> None:
    done = run("guard", "release", "nothing", "--state", str(tmp_path / "state"))
    assert done.returncode == 2
    assert "is no signature" in done.stderr


def test_sub_agents_and_sessions_count_apart(tmp_path: Path) -> None:
    events = [
        event
        for number in range(4)
        for who in ({"session": "a"}, {"session": "b"}, {"session": "a", "agent": "x"})
        for event in once({**CALL, **who})
    ]
    assert {each["action"] for each in answers(*events, arguments=stops(tmp_path))} == {"allow", "warn"}


def test_the_same_call_seen_twice_counts_once(tmp_path: Path) -> None:
    events = [
        {**event, "call_id": f"c{number}"} for number in range(5) for event in (*once(CALL), *once(CALL))
    ]
    found = answers(*events, {"event": "before", **CALL}, arguments=stops(tmp_path))
    assert found[-1]["count"] == 5
    assert [each["action"] for each in found].count("warn") == 3


def test_the_platform_arms_hard_stops() -> None:
    events = [event for _ in range(6) for event in once(CALL)]
    assert answers(*events)[10]["action"] == "allow"
    assert answers(*events, arguments=("--platform", "cron"))[10]["action"] == "block"


@pytest.mark.parametrize("name", ["guard.yaml", "guard.toml"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    done = run("guard", "run", "--config", str(path))
    assert (done.returncode, name in done.stderr) == (2, True)
    path.write_text("a: [", encoding="utf-8")
    done = run("guard", "run", "--config", str(path))
    assert (done.returncode, name in done.stderr) == (2, True)
    assert "Traceback" not in done.stderr


def test_what_is_wrong_in_the_configuration_is_said_and_the_rest_counts(tmp_path: Path) -> None:
    arguments = stops(tmp_path, "  hard_stop_enabled: true\n  hard_stop_afer: {cycle: 3}\n")
    done = run("guard", "run", *arguments, text=lines(*[event for _ in range(6) for event in once(CALL)]))
    assert "hard_stop_afer: there is no such key; did you mean hard_stop_after?" in done.stderr
    assert json.loads(done.stdout.splitlines()[10])["action"] == "block"
