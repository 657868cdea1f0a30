# SPDX-License-Identifier: Apache-2.0
"""`shellguard replay` and `shellguard corpus` as a person uses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.process import Done, run
from tests.cli.test_offline import forbidden
from tests.replay.calls import incident, lines_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a transcript, and a home of ours that is empty."""
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "home"))
    calls = [
        {
            "session": "s",
            "index": at,
            "tool": "bash",
            "args": {"command": command},
            "result": f"{at}",
            "exit_code": 0,
        }
        for at, command in enumerate(["ls", "git status", "rm x", "frobnicate", "sort a"])
    ]
    (tmp_path / "calls.jsonl").write_text(lines_of(calls), encoding="utf-8")
    return tmp_path


def replay(folder: Path, *arguments: str) -> Done:
    return run("replay", str(folder / "calls.jsonl"), "--jobs", "1", *arguments)


def test_json_is_the_contract(folder: Path) -> None:
    done = replay(folder, "--json")
    assert done.returncode == 0
    found = done.json()
    assert found["calls"] == 5
    assert found["sessions"] == 1
    assert found["shell_commands"] == 5
    assert found["verdicts"] == {"read": 3, "write": 1, "unknown": 1}
    assert found["unknown_commands"] == [["frobnicate", 1]]
    assert (found["loops"], found["warnings"], found["blocks"], found["errors"]) == ([], 0, 0, 0)
    assert {"schema", "rules", "version", "options"} <= found.keys()
    assert done.stdout.count("\n") == 1


def test_the_incident_in_words(folder: Path) -> None:
    (folder / "calls.jsonl").write_text(lines_of(incident()), encoding="utf-8")
    (folder / "guard.yaml").write_text(
        "tool_loop_guardrails:\n  hard_stop_after:\n    idempotent_no_progress: 10\n", encoding="utf-8"
    )
    done = replay(folder, "--config", str(folder / "guard.yaml"))
    assert "517 x read    stopped at 11, saves 507 calls and 45 min" in done.stdout
    loop = replay(folder, "--config", str(folder / "guard.yaml"), "--json").json()["loops"][0]
    assert {"session", "tool", "class", "count", "stopped_at", "saved_calls", "saved_seconds"} <= loop.keys()


@pytest.mark.parametrize(
    "words, status",
    [
        ("milder", 0),
        ("write", 1),
        ("unknown", 1),
        ("block,warning,error", 0),
        ("error,write", 1),
        ("write,never", 0),
        ("stricter,moved,shrunk", 0),
    ],
)
def test_the_exit_status_goes_by_what_is_asked(folder: Path, words: str, status: int) -> None:
    assert replay(folder, "--fail-on", words).returncode == status


def test_wrong_usage_is_named(folder: Path) -> None:
    done = replay(folder, "--fail-on", "frob")
    assert done.returncode == 2
    assert "frob is none of milder" in done.stderr
    assert replay(folder, "--accept").returncode == 2
    assert replay(folder, "--scheduler", "tcp://localhost:1").returncode == 2
    assert replay(folder, "--policy", "nosuch").returncode == 2
    assert replay(folder, "--config", str(folder / "none.yaml")).returncode == 2
    assert run("replay", str(folder / "nosuch")).returncode == 2
    assert replay(folder, "--out", str(folder / "none" / "out.jsonl")).returncode == 2


def test_input_of_which_nothing_can_be_read_is_no_success(folder: Path) -> None:
    (folder / "bad.json").write_text('{"trajectory": [', encoding="utf-8")
    (folder / "empty").mkdir()
    for name in ("bad.json", "empty"):
        assert run("replay", str(folder / name), "--fail-on", "never").returncode == 2
    assert replay(folder, str(folder / "bad.json")).returncode == 0


def test_results_say_how_they_came_to_be(folder: Path) -> None:
    assert replay(folder, "--out", str(folder / "out.jsonl")).returncode == 0
    first, *rows = [
        json.loads(line) for line in (folder / "out.jsonl").read_text(encoding="ascii").splitlines()
    ]
    assert {"schema", "rules", "version", "options"} == first["shellguard"].keys()
    assert [(row["command"], row["verdict"], row["class"]) for row in rows][2:4] == [
        ("rm x", "write", "write"),
        ("frobnicate", "unknown", "unknown"),
    ]
    assert rows[2]["rule"].startswith("rules/coreutils/rm.yaml:")


def test_parquet_holds_the_same(folder: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed (extra corpora)")
    replay(folder, "--out", str(folder / "out.jsonl"))
    assert replay(folder, "--out", str(folder / "out.parquet")).returncode == 0
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text(encoding="ascii").splitlines()][1:]
    assert parquet.read_table(folder / "out.parquet").to_pylist() == rows
    first = (folder / "out.parquet").read_bytes()
    replay(folder, "--out", str(folder / "out.parquet"))
    assert (folder / "out.parquet").read_bytes() == first


def test_calls_in_parquet_are_read(folder: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra corpora)")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed (extra corpora)")
    rows = [{"session": "s", "tool": "bash", "args": json.dumps({"command": f"cat {at}"})} for at in range(3)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "calls.parquet")
    assert run("replay", str(folder / "calls.parquet"), "--json").json()["verdicts"]["read"] == 3


def test_nothing_is_connected_to_and_nothing_started(folder: Path) -> None:
    done = forbidden("replay", str(folder / "calls.jsonl"), "--jobs", "1", "--json", text="")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["calls"] == 5


def rules(folder: Path, effect: str) -> str:
    """A rule library of two commands; `frobnicate` has this effect."""
    place = folder / f"rules-{effect}"
    place.mkdir()
    for name, does, kind in (
        ("frobnicate", effect, "read" if effect == "reads" else "write"),
        ("ls", "reads", "read"),
    ):
        (place / f"{name}.yaml").write_text(
            f"command: {name}\nsummary: Does.\nsource: https://example.com\nchecked: 1\neffect: {does}\n"
            f"examples:\n  {kind}: |\n    {name}\n",
            encoding="utf-8",
        )
    return str(place)


def test_a_milder_move_fails_until_it_is_reviewed(folder: Path) -> None:
    """The mistake that CI must catch, planted: a rule calls a write a read."""
    before, after, base = rules(folder, "writes"), rules(folder, "reads"), str(folder / "base.jsonl")
    assert replay(folder, "--rules", before, "--out", base).returncode == 0
    same = replay(folder, "--rules", before, "--baseline", base, "--json")
    assert same.returncode == 0
    assert same.json()["baseline"]["moved"] == 0

    moved = replay(folder, "--rules", after, "--baseline", base, "--json")
    assert moved.returncode == 1
    found = moved.json()["baseline"]
    assert (found["compared"], found["moved"], found["milder"], found["unreviewed"]) == (5, 1, 1, 1)
    [move] = found["moves"]
    assert (move["command"], move["from"], move["to"]) == ("frobnicate", "write", "read")
    assert move["rule"].endswith("frobnicate.yaml")
    assert "! write -> read: frobnicate" in replay(folder, "--rules", after, "--baseline", base).stdout

    assert (
        replay(folder, "--rules", after, "--baseline", base, "--accept", "--why", "it only prints").returncode
        == 0
    )
    [review] = [
        json.loads(line) for line in Path(f"{base}.reviewed").read_text(encoding="utf-8").splitlines()
    ]
    assert review["why"] == "it only prints"
    assert replay(folder, "--rules", after, "--baseline", base).returncode == 0

    stricter = str(folder / "reads.jsonl")
    replay(folder, "--rules", after, "--out", stricter)
    done = replay(folder, "--rules", before, "--baseline", stricter, "--json")
    assert done.returncode == 0
    assert done.json()["baseline"]["stricter"] == 1
    assert replay(folder, "--rules", before, "--baseline", stricter, "--fail-on", "stricter").returncode == 1


def test_a_baseline_that_is_none_is_named(folder: Path) -> None:
    (folder / "x").write_text("{}\n", encoding="utf-8")
    done = replay(folder, "--baseline", str(folder / "x"))
    assert done.returncode == 2
    assert "no results" in done.stderr
    (folder / "base.jsonl.reviewed").write_text("broken\n", encoding="utf-8")
    replay(folder, "--out", str(folder / "base.jsonl"))
    assert "no review" in replay(folder, "--baseline", str(folder / "base.jsonl")).stderr


def test_a_baseline_of_another_kind_is_told(folder: Path) -> None:
    base = folder / "base.jsonl"
    replay(folder, "--out", str(base))
    done = replay(folder, "--trust", "words", "--baseline", str(base))
    assert "made with other options (trust)" in done.stderr
    base.write_text(base.read_text(encoding="ascii").replace('"schema": 1', '"schema": 99'), encoding="ascii")
    done = replay(folder, "--baseline", str(base))
    assert done.returncode == 2
    assert "results of schema 99" in done.stderr


def test_a_parquet_baseline_is_compared(folder: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra corpora)")
    base = str(folder / "base.parquet")
    replay(folder, "--out", base)
    assert replay(folder, "--baseline", base, "--json").json()["baseline"]["compared"] == 5
    assert replay(folder, "--baseline", base, "--policy", "strict", "--json").json()["baseline"]["moved"] == 0


def test_calls_that_only_one_side_has_are_counted(folder: Path) -> None:
    base = str(folder / "base.jsonl")
    replay(folder, "--out", base)
    lines = (folder / "calls.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "calls.jsonl").write_text(
        "".join([*lines[1:], lines[0].replace('"ls"', '"pwd"')]), encoding="utf-8"
    )
    found = replay(folder, "--baseline", base, "--json").json()["baseline"]
    assert (found["compared"], found["added"], found["lost"], found["moved"]) == (4, 1, 1, 0)


# --- the corpus ------------------------------------------------------------------------------------------------


def test_our_corpus_holds() -> None:
    """What CI runs: no row is milder than its reviewer said, and there are not fewer rows than were counted."""
    done = run("replay", str(ROOT / "corpus"), "--json")
    assert done.returncode == 0, done.stdout
    found = done.json()
    assert (found["milder"], found["stricter"], found["errors"]) == (0, 0, 0)
    assert sum(found["expected"].values()) >= 83


def test_a_milder_row_and_a_lost_row_fail(folder: Path) -> None:
    corpus = folder / "corpus"
    corpus.mkdir()
    rows = [{"id": "a", "command": "ls", "expect": "write", "why": "", "source": "own"}]
    rows += [{"id": "b", "command": "pwd", "expect": "read", "why": "", "source": "own"}]
    (corpus / "own.jsonl").write_text(lines_of(rows), encoding="utf-8")
    assert run("corpus", "count", "--corpus", str(corpus)).returncode == 0
    assert run("replay", str(corpus)).returncode == 1
    (corpus / "own.jsonl").write_text(lines_of(rows[1:]), encoding="utf-8")
    done = run("replay", str(corpus), "--json")
    assert done.returncode == 1
    assert "0 rows expect write, COUNTS.json says 1" in done.json()["shrunk"][0]
    run("corpus", "count", "--corpus", str(corpus))
    assert run("replay", str(corpus)).returncode == 0
    (corpus / "COUNTS.json").unlink()
    assert run("replay", str(corpus)).returncode == 1


def test_rows_come_from_a_transcript_without_secrets(folder: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    with (folder / "calls.jsonl").open("a", encoding="utf-8") as file:
        file.write(
            lines_of(
                [
                    {
                        "session": "s",
                        "tool": "bash",
                        "args": {"command": f"cat /home/somebody/a; nosuch {secret}"},
                    }
                ]
            )
        )
    corpus = folder / "corpus"
    arguments = ("corpus", "add", str(folder / "calls.jsonl"), "--corpus", str(corpus))
    assert "frobnicate" in run(*arguments, "--dry-run").stdout
    assert not corpus.exists()
    assert run(*arguments).returncode == 0
    text = (corpus / "own.jsonl").read_text(encoding="utf-8")
    assert secret not in text
    assert "somebody" not in text
    rows = [json.loads(line) for line in text.splitlines()]
    assert all(row.keys() == {"id", "command", "expect", "why", "source"} for row in rows)
    assert len({row["id"] for row in rows}) == len(rows) == 6
    assert run("replay", str(corpus)).returncode == 0
    assert run(*arguments).stdout.startswith("nothing that is not there already")
    assert run("corpus", "add", str(folder / "none"), "--corpus", str(corpus)).returncode == 2


LOADED = """
import sys
from shellguard.cli.main import cli
try:
    cli.main(sys.argv[1:], standalone_mode=False)
except SystemExit:
    pass
ours = ("shellguard.replay", "shellguard.transcripts", "jinja2")
print("loaded:", *(name for name in sys.modules if name.startswith(ours)), sep="")
"""


@pytest.mark.parametrize("arguments", [("lint",), ("lint", "--batch"), ("guard", "run"), ("explain",)])
def test_other_commands_load_nothing_of_it(arguments: tuple[str, ...]) -> None:
    done = forbidden(*arguments, text="", code=LOADED)
    assert done.stdout.splitlines()[-1] == "loaded:", done.stdout
