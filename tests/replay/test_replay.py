# SPDX-License-Identifier: Apache-2.0
"""What a replay says: verdicts, loops and what stopping them saves, whatever the order and the size of the input."""

from __future__ import annotations

import gzip
import json
import os
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from shellguard.replay import engines, units
from shellguard.replay.options import Options
from shellguard.replay.run import How, replay
from shellguard.replay.workplace import BusyError
from shellguard.transcripts import files
from tests.replay.calls import EMPTY, START, incident, lines_of, replayed
from tests.transcripts.test_odd import IN_JSON, changed
from tests.transcripts.test_readers import FIXTURES

LIMIT_10 = {"tool_loop_guardrails": {"hard_stop_after": {"idempotent_no_progress": 10}}}


def call(command: str, result: str = "same", **fields: Any) -> dict[str, Any]:
    return {
        "session": "s",
        "tool": "bash",
        "args": {"command": command},
        "result": result,
        "exit_code": 0,
        **fields,
    }


def written(path: Path, calls: list[dict[str, Any]]) -> Path:
    path.write_text(lines_of(calls), encoding="utf-8")
    return path


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "work"


def test_the_incident_is_stopped_at_the_eleventh_call(tmp_path: Path, work: Path) -> None:
    path = written(tmp_path / "incident.jsonl", incident())
    found, rows = replayed(path, work=work, guard=LIMIT_10)
    worst = found["loops"][0]
    assert (worst["count"], worst["stopped_at"], worst["saved_calls"]) == (517, 11, 507)
    assert worst["saved_seconds"] == pytest.approx(507 * 5.34, abs=0.01)
    assert (worst["session"], worst["tool"], worst["class"]) == ("incident", "terminal", "read")
    assert [loop["count"] for loop in found["loops"]] == [517, 89, 69, 38, 36, 26]
    assert found["calls"] == len(rows) == 828
    assert found["blocks"] == found["saved_calls"] == sum(json.loads(row)["saved"] for row in rows) == 715
    assert found["verdicts"] == {"read": 828, "write": 0, "unknown": 0}


def test_the_default_stops_at_the_sixth_and_off_means_off(tmp_path: Path, work: Path) -> None:
    path = written(tmp_path / "incident.jsonl", incident())
    found, _ = replayed(path, work=work)
    assert [loop["stopped_at"] for loop in found["loops"]] == [6] * 6
    found, _ = replayed(path, work=work, guard={"hard_stop_enabled": False})
    assert found["blocks"] == found["saved_calls"] == 0
    assert [loop["stopped_at"] for loop in found["loops"]] == [None] * 6
    assert found["warnings"] > 700


def test_results_known_by_their_hash_are_enough(tmp_path: Path, work: Path) -> None:
    calls = [call("git status", turn=1, index=at) for at in range(8)]
    for each in calls:
        del each["result"]
        each["result_sha256"] = "ab" * 32
    found, _ = replayed(written(tmp_path / "a.jsonl", calls), work=work)
    assert [(loop["count"], loop["stopped_at"]) for loop in found["loops"]] == [(8, 6)]


def test_without_any_result_nothing_is_called_the_same(tmp_path: Path, work: Path) -> None:
    calls = [call("git status", index=at) for at in range(8)]
    for each in calls:
        del each["result"]
    found, _ = replayed(written(tmp_path / "a.jsonl", calls), work=work)
    assert found["blocks"] == 0


def test_a_request_of_the_user_begins_anew_and_a_bare_word_does_not(tmp_path: Path, work: Path) -> None:
    def turns(prompt: str) -> Path:
        calls = [
            call(
                "git status",
                turn=at // 4,
                index=at,
                prompts=True,
                **({"prompt": prompt} if at % 4 == 0 else {}),
            )
            for at in range(8)
        ]
        return written(tmp_path / f"{len(prompt)}.jsonl", calls)

    assert replayed(turns("now look at the other branch"), work=work)[0]["blocks"] == 0
    assert replayed(turns("continue"), work=work)[0]["blocks"] == 3


def test_a_turn_that_counts_replies_is_no_request(tmp_path: Path, work: Path) -> None:
    """Recorded steps often number the replies of the model: with one call each, nobody asked for anything new."""
    calls = [call("git status", turn=at, index=at) for at in range(8)]
    assert replayed(written(tmp_path / "a.jsonl", calls), work=work)[0]["blocks"] == 3
    calls = [call("git status", turn=at // 4, index=at) for at in range(8)]
    assert replayed(written(tmp_path / "b.jsonl", calls), work=work)[0]["blocks"] == 0


def test_a_write_in_between_is_progress(tmp_path: Path, work: Path) -> None:
    calls = []
    for at in range(12):
        calls += [call("git status"), call(f"echo {at} > f{at}", f"done {at}")]
    found, _ = replayed(written(tmp_path / "a.jsonl", calls), work=work)
    assert found["blocks"] == 0


def test_saved_time_ends_where_a_person_was_away(tmp_path: Path, work: Path) -> None:
    times = [START + at for at in range(6)] + [START + 50_000.0]
    calls = [call("git status", started_at=at, elapsed=0.5) for at in times]
    found, _ = replayed(written(tmp_path / "a.jsonl", calls), work=work)
    [loop] = found["loops"]
    assert (loop["saved_calls"], loop["saved_seconds"]) == (1, 600.5)


def test_an_ended_turn_saves_what_is_left_of_it(tmp_path: Path, work: Path) -> None:
    calls = [
        {
            "session": "s",
            "tool": "edit",
            "args": {"file": f"f{at}"},
            "result": "Error: no match",
            "failed": True,
        }
        for at in range(12)
    ]
    found, rows = replayed(written(tmp_path / "a.jsonl", calls), work=work)
    [loop] = found["loops"]
    assert loop["code"] == "same_tool_failure_halt"
    assert (loop["count"], loop["stopped_at"], loop["saved_calls"]) == (12, 9, 4)
    assert [json.loads(row)["action"] for row in rows][7:] == ["halt"] * 5


def test_sub_agents_are_runs_of_their_own(tmp_path: Path, work: Path) -> None:
    calls = [call("git status", agent=f"a{at % 2}", index=at) for at in range(10)]
    found, _ = replayed(written(tmp_path / "a.jsonl", calls), work=work)
    assert found["blocks"] == 0
    assert found["sessions"] == 1


def test_unknown_commands_come_by_frequency(tmp_path: Path, work: Path) -> None:
    calls = [call(f"frobnicate {at}") for at in range(3)]
    calls += [call("ls; nosuch a | frobnicate"), call("nosuch > out"), call("python3 x.py"), call("./tool")]
    found, _ = replayed(written(tmp_path / "a.jsonl", calls), work=work)
    assert found["unknown_commands"] == [["frobnicate", 4], ["nosuch", 2], ["python3", 1], ["tool", 1]]
    assert found["missing_rules"] == [["frobnicate", 4], ["nosuch", 2]]


def test_what_cannot_be_read_is_named_and_the_rest_counts(tmp_path: Path, work: Path) -> None:
    good = written(tmp_path / "good.jsonl", [call("ls")])
    (tmp_path / "bad.json").write_text('{"trajectory": [', encoding="utf-8")
    (tmp_path / "half.jsonl").write_text(
        lines_of([call("ls")]) + '{"session"\n' + lines_of([call("pwd")]), encoding="utf-8"
    )
    found, _ = replayed(tmp_path / "bad.json", good, tmp_path / "half.jsonl", tmp_path / "none", work=work)
    assert (found["calls"], found["errors"]) == (3, 3)
    assert {(Path(problem["path"]).name, problem["line"]) for problem in found["problems"]} == {
        ("none", None),
        ("bad.json", None),
        ("half.jsonl", 2),
    }


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name here")
def test_a_pipe_is_named_and_not_waited_for(tmp_path: Path, work: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    found, _ = replayed(tmp_path / "pipe", written(tmp_path / "good.jsonl", [call("ls")]), work=work)
    assert (found["calls"], found["errors"]) == (1, 1)


def test_nothing_of_a_bomb_counts(tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FREE_EXPANSION", 1 << 16)
    with gzip.open(tmp_path / "bomb.jsonl.gz", "wb") as stream:
        stream.write(lines_of([call("ls")]).encode() * 30_000)
    found, rows = replayed(
        tmp_path / "bomb.jsonl.gz", written(tmp_path / "good.jsonl", [call("ls")]), work=work
    )
    assert (found["calls"], len(rows), found["errors"]) == (1, 1, 1)


def many(sessions: int = 40, calls: int = 60) -> list[dict[str, Any]]:
    """Calls of many sessions that take turns line by line, some of them in loops."""
    rows = []
    for at in range(calls):
        for session in range(sessions):
            command = "git status" if session % 7 == 0 else f"cat file{session}-{at}.txt"
            rows.append(
                call(command, EMPTY, session=f"session-{session}", index=at, exit_code=0, padding="x" * 300)
            )
    return rows


def test_a_large_file_is_cut_by_session_and_put_together_again(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = many()
    path = written(tmp_path / "a.jsonl", rows)
    with path.open("a", encoding="utf-8") as file:
        file.write('not json\n\n{"session": 5, "tool": "bash", "args": {"command": "pwd"}}\n')
    whole = replayed(path, work=work)
    monkeypatch.setattr(units, "SHARD_BYTES", 1 << 17)
    with gzip.open(tmp_path / "a.jsonl.gz", "wb") as stream:
        stream.write(path.read_bytes())
    cut = replayed(path, work=work)
    assert units.planned([str(path)], Options()).units > 5
    assert cut[1] == whole[1]
    for same in ("problems", "formats"):
        assert sorted(map(str, cut[0].pop(same))) == sorted(map(str, whole[0].pop(same)))
    assert cut[0] == whole[0]
    assert replayed(tmp_path / "a.jsonl.gz", work=work)[1] == whole[1]


def test_processes_give_the_same_bytes(tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "SHARD_BYTES", 1 << 18)
    path = written(tmp_path / "a.jsonl", many(calls=80))
    alone = replayed(path, FIXTURES, work=work)
    together = replayed(path, FIXTURES, work=work, jobs=2)
    assert together == alone


def test_the_order_of_sessions_does_not_matter(tmp_path: Path, work: Path) -> None:
    rows = many(sessions=10, calls=10)
    apart = sorted(rows, key=lambda row: str(row["session"]))
    first = replayed(written(tmp_path / "a.jsonl", rows), work=work)[1]
    second = replayed(written(tmp_path / "b.jsonl", apart), work=work)[1]
    assert sorted(first) == sorted(second)


def test_a_session_that_two_files_hold_counts_once(work: Path) -> None:
    found, rows = replayed(FIXTURES / "claude", work=work)
    assert found["calls"] == len(rows) == 9  # 7, 1 of the resumed one, 1 of the stream
    assert [json.loads(row)["command"] for row in rows].count("gh pr checks 1") == 1


def test_files_of_one_name_are_sessions_of_their_own(tmp_path: Path, work: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "agent").mkdir(parents=True)
        data = (FIXTURES / "trae/trajectory.json").read_bytes()
        (tmp_path / name / "agent" / "trajectory.json").write_bytes(data)
    found, rows = replayed(tmp_path / "one", tmp_path / "two", work=work)
    assert (found["calls"], found["sessions"]) == (8, 2)
    assert {json.loads(row)["session"] for row in rows} == {"one/agent/trajectory", "two/agent/trajectory"}


def test_every_fixture_is_replayed(work: Path) -> None:
    found, _ = replayed(FIXTURES, work=work)
    assert found["calls"] == sum(found["formats"].values()) > 80
    assert found["lacks"]["swe-agent"] == ["the exit code", "time stamps", "call ids"]
    assert {"claude", "codex", "gemini", "opencode", "openhands", "swe-agent", "trae", "atif"} <= found[
        "formats"
    ].keys()


def test_secrets_and_people_are_replaced_unless_raw(tmp_path: Path, work: Path) -> None:
    secret, home = "ghp_" + "a1B2" * 9, "/home/somebody/x"
    path = written(
        tmp_path / "a.jsonl", [call(f"curl -H 'Authorization: Bearer {secret}' -o {home} h; nosuch {secret}")]
    )
    clean = b"".join(replayed(path, work=work)[1])
    assert secret.encode() not in clean
    assert b"somebody" not in clean
    assert secret.encode() in b"".join(replayed(path, work=work, raw=True)[1])


def frobnicate(folder: Path, effect: str) -> str:
    """A rule library of one command, which has this effect."""
    kind = {"reads": "read", "writes": "write"}[effect]
    folder.mkdir(exist_ok=True)
    (folder / "frobnicate.yaml").write_text(
        f"command: frobnicate\nsummary: Does.\nsource: https://example.com\nchecked: 1\neffect: {effect}\n"
        f"examples:\n  {kind}: |\n    frobnicate\n",
        encoding="utf-8",
    )
    return str(folder)


def test_other_rules_are_used(tmp_path: Path, work: Path) -> None:
    rules = frobnicate(tmp_path / "rules", "reads")
    path = written(tmp_path / "a.jsonl", [call("frobnicate"), *[call("ls")] * 2] * 7)
    found, _ = replayed(path, work=work, rules=rules)
    assert found["verdicts"] == {"read": 7, "write": 0, "unknown": 14}
    assert found["classes"] == {"read": 7, "unknown": 14}  # the guard goes by the same rules
    assert replayed(path, work=work)[0]["classes"] == {"read": 14, "unknown": 7}


def test_a_worker_of_dask_keeps_the_rules_of_two_runs_apart(tmp_path: Path) -> None:
    """One process serves a run with the shipped rules, one with others, and one after those have changed."""
    path = written(tmp_path / "a.jsonl", [call("frobnicate")])
    unit = units.Unit(0, ((str(path), (str(path),), True),))

    def classes(options: Options) -> Any:
        return engines._remote(unit, options, options.stamp(options.shelf()))[2]["classes"]

    shipped, other = Options(), Options(rules=frobnicate(tmp_path / "rules", "reads"))
    assert [classes(options) for options in (shipped, other, shipped)] == [
        {"unknown": 1},
        {"read": 1},
        {"unknown": 1},
    ]
    classes(other)
    frobnicate(tmp_path / "rules", "writes")
    assert classes(other) == {"write": 1}
    with pytest.raises(engines.EngineError, match="other rules"):
        engines._remote(unit, other, shipped.stamp(shipped.shelf()))


def test_work_that_is_done_is_not_done_again(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(units, "BATCH_FILES", 1)
    for name in "abcd":
        written(tmp_path / f"{name}.jsonl", [call(f"cat {name}")])
    done: list[int] = []
    original = units.Worker.replay

    def counting(self: units.Worker, unit: units.Unit, *rest: Any) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(unit.number)
        return original(self, unit, *rest)

    monkeypatch.setattr(units.Worker, "replay", counting)
    paths = [str(tmp_path / f"{name}.jsonl") for name in "abcd"]
    with pytest.raises(KeyboardInterrupt):
        replay(paths, Options(), How(jobs=1, work=str(work)))
    monkeypatch.setattr(units.Worker, "replay", original)
    seen: list[int] = []

    def noting(self: units.Worker, unit: units.Unit, *rest: Any) -> Any:
        seen.append(unit.number)
        return original(self, unit, *rest)

    monkeypatch.setattr(units.Worker, "replay", noting)
    second = replay(paths, Options(), How(jobs=1, work=str(work)))
    assert seen == [2, 3]
    assert [row["command"] for row in second.rows()] == [f"cat {name}" for name in "abcd"]
    second.close()
    assert list(work.iterdir()) == []


def test_a_large_file_that_is_damaged_counts_for_nothing(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(units, "SHARD_BYTES", 1 << 14)
    packed = gzip.compress(lines_of(many(sessions=4, calls=40)).encode())
    (tmp_path / "a.jsonl.gz").write_bytes(packed[:-20])
    good = written(tmp_path / "good.jsonl", [call("ls")])
    found, rows = replayed(tmp_path / "a.jsonl.gz", good, work=work)
    assert (found["calls"], len(rows), found["errors"]) == (1, 1, 1)
    assert "cut" in found["problems"][0]["message"]


def test_only_our_own_old_folders_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "home"))
    path = written(tmp_path / "a.jsonl", [call("ls")])
    ours = tmp_path / "home" / "cache" / "replay"
    for folder in (ours / ("0" * 32), ours / "notes", tmp_path / "named" / ("0" * 32)):
        folder.mkdir(parents=True)
        os.utime(folder, (1, 1))
    for work in (None, str(tmp_path / "named")):
        replay([str(path)], Options(), How(jobs=1, work=work)).close()
    assert [folder.name for folder in ours.iterdir()] == ["notes"]
    assert [folder.name for folder in (tmp_path / "named").iterdir()] == ["0" * 32]


def test_the_same_replay_is_not_done_twice_at_a_time(tmp_path: Path, work: Path) -> None:
    path = written(tmp_path / "a.jsonl", [call("ls")])
    first = replay([str(path)], Options(), How(jobs=1, work=str(work)))
    with pytest.raises(BusyError):
        replay([str(path)], Options(), How(jobs=1, work=str(work)))
    first.close()
    assert work.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", IN_JSON)
def test_no_change_of_a_record_makes_a_replay_fail(name: str, tmp_path: Path) -> None:
    """From the file to the row: whatever stands in a record, there is a row or a problem, and never an exception."""
    path = tmp_path / Path(name).name
    worker = units.Worker(Options())
    for text in changed(name, 15):
        path.write_text(text, encoding="utf-8")
        out = BytesIO()
        summary = worker.replay(units.Unit(0, ((str(path), (str(path),), True),)), out)
        assert summary.calls == len(out.getvalue().splitlines())
        json.dumps(summary.as_contract(), allow_nan=False)
