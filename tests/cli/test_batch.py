# SPDX-License-Identifier: Apache-2.0
"""`shellguard lint --batch`: one answer for each line, in order, as soon as it is known, whatever the line holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.process import SHELLGUARD, run, start

ROOT = Path(__file__).parents[2]
KEYS = {"id", "schema", "rules", "verdict", "allowed", "effects", "facts"}
FACT = {"effect", "start", "end", "text", "rule", "line", "via", "because", "marks", "code", "name"}


def batch(*rows: object, arguments: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    done = run("lint", "--batch", *arguments, text="\n".join(lines) + "\n")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_an_answer_has_these_keys() -> None:
    [answer] = batch({"id": 7, "command": "xargs grep x | tee out"})
    assert set(answer) == KEYS
    assert all(set(fact) == FACT for fact in answer["facts"])
    assert answer["id"] == 7
    assert (answer["verdict"], answer["allowed"], answer["effects"]) == ("write", False, ["reads", "writes"])
    inner = next(fact for fact in answer["facts"] if fact["via"])
    assert inner["via"] == ["xargs"]
    assert inner["text"] == "grep x"


@pytest.mark.parametrize(
    "identity",
    [0, -1, 1.5, 10**30, "x", "", None, True, [1, [2]], {"any": ["thing"]}, "\u2028\x7f", "e\u0301"],
)
def test_an_id_comes_back_as_it_was(identity: object) -> None:
    assert batch({"id": identity, "command": "ls"})[0]["id"] == identity


def test_an_id_may_be_left_out() -> None:
    assert batch({"command": "ls"})[0]["id"] is None


def test_of_two_equal_keys_the_last_counts() -> None:
    assert batch('{"id": 3, "command": "ls", "command": "rm x"}')[0]["verdict"] == "write"


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "{",
        '{"id": 2}',
        '["list"]',
        '"text"',
        "5",
        "null",
        '{"id": "x", "command": 5}',
        '{"id": 1, "command": null}',
        '{"id": 1, "command": ["ls"]}',
        '{"id": NaN, "command": "ls"}',
        '{"id": Infinity, "command": "ls"}',
        '{"id": 1e999, "command": "ls"}',
        '{"id": ' + "9" * 5000 + ', "command": "ls"}',
        '{"id": 1, "command": "ls"} {"id": 2, "command": "ls"}',
        '{"id": 1, "command": "ls\t"}',
        "{'id': 1}",
        "[" * 100_000,
        '{"id": ' + "[" * 100_000 + "]" * 100_000 + ', "command": "ls"}',
        "\ufeff",
        "\x00",
        "\u2028",
        "\x0b",
    ],
)
def test_a_bad_line_is_answered_and_the_run_goes_on(line: str) -> None:
    before, bad, after = batch({"id": 1, "command": "ls"}, line, {"id": 3, "command": "rm x"})
    assert (before["id"], before["verdict"]) == (1, "read")
    assert (after["id"], after["verdict"]) == (3, "write")
    assert set(bad) == {"id", "error", "schema", "rules"}
    assert bad["id"] is None
    assert bad["error"]


def test_blank_lines_are_passed_over() -> None:
    row = '{"id": 1, "command": "ls"}'
    done = run("lint", "--batch", text=f"\n \t\r\n{row}\r\n\n{row}")
    assert len(done.stdout.splitlines()) == 2
    assert run("lint", "--batch", text="").stdout == ""


@pytest.mark.parametrize(
    "text",
    [
        "\ud800",
        "a\u2028b",
        "\x00",
        "\x85",
        "é" * 10,
        "rm \udcff",
        "\n",
        "ls\r\npwd\r\n",
        "\x7f",
        "\U000e0041",
    ],
)
def test_any_character_is_judged_and_comes_back(text: str) -> None:
    [answer] = batch({"id": text, "command": f"frob {text}"})
    assert answer["id"] == text
    assert answer["verdict"] == "unknown"


def test_bytes_that_are_no_text() -> None:
    lines = b'{"id": 1, "command": "ls \xff"}\n\xff\xfe\n\n{"id": 2, "command": "ls"}'
    done = run("lint", "--batch", text=lines)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in rows] == [1, None, 2]
    assert [row.get("verdict") for row in rows] == ["read", None, "read"]
    assert done.stdout.isascii()


def test_a_raw_line_separator_inside_a_line_ends_no_line() -> None:
    done = run("lint", "--batch", text='{"id": 1, "command": "echo a\u2028b\u0085c"}\n')
    assert len(done.stdout.splitlines()) == 1
    assert json.loads(done.stdout)["verdict"] == "read"


def test_very_deep_and_very_long_lines() -> None:
    deep, long, spread = batch(
        {"id": 1, "command": "(" * 100_000},
        {"id": 2, "command": "echo " + "a" * 1_000_000},
        {"id": 3, "command": "echo a; " * 20_000},
    )
    assert (deep["verdict"], long["verdict"]) == ("unknown", "read")
    assert spread["verdict"] in ("read", "unknown")


def test_options_hold_for_every_line() -> None:
    rows = ({"id": 1, "command": "git status"}, {"id": 2, "command": 'sort "$x"'})
    assert [answer["allowed"] for answer in batch(*rows)] == [True, False]
    assert [answer["allowed"] for answer in batch(*rows, arguments=("--policy", "strict"))] == [False, False]
    operands = ("--unknown-words", "operand")
    assert [answer["allowed"] for answer in batch(*rows, arguments=operands)] == [True, True]
    words = batch(*rows, arguments=("--trust", "words"))
    assert words[0]["verdict"] == "write"


def test_the_exit_status_says_nothing_about_the_lines() -> None:
    assert start("lint", "--batch", text='{"command": "rm x"}\nno\n').returncode == 0


def test_an_answer_does_not_wait_for_the_next_line() -> None:
    with subprocess.Popen(
        [*SHELLGUARD, "lint", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for index, command in enumerate(("ls", "rm x", "frob")):
            process.stdin.write(json.dumps({"id": index, "command": command}) + "\n")
            process.stdin.flush()
            begin = time.monotonic()
            assert json.loads(process.stdout.readline())["id"] == index
            assert time.monotonic() - begin < 20
        process.stdin.close()
    assert process.returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("lint", "--batch"),
        ("lint", "-v"),
        ("rules", "list"),
        ("rule",),
        ("man",),
        ("replay", str(ROOT / "corpus" / "own.jsonl")),
        ("replay", "--json", str(ROOT / "corpus" / "own.jsonl")),
    ],
)
def test_a_reader_that_leaves_is_no_error(arguments: tuple[str, ...]) -> None:
    """`| head -1` ends the command without a word, as it does for any tool."""
    read, write = os.pipe()
    with subprocess.Popen(
        [*SHELLGUARD, *arguments], stdin=subprocess.PIPE, stdout=write, stderr=subprocess.PIPE
    ) as process:
        os.close(write)
        os.close(read)
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            process.stdin.write(b'{"id": 2, "command": "ls"}\n' * 1000)
            process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended before it was told everything
        assert process.stderr.read() == b""
    assert process.returncode != 0


MOST_MEMORY = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A program between, so that it is not the memory of whoever started it, nor that of a child before."""


def memory_for(path: Path, count: int) -> int:
    """The most memory of a batch of so many lines, no two of them alike."""
    path.write_text("".join(f'{{"id": {index}, "command": "ls {index}"}}\n' for index in range(count)))
    with path.open("rb") as file:
        command = [sys.executable, "-c", MOST_MEMORY, *SHELLGUARD, "lint", "--batch"]
        done = subprocess.run(command, stdin=file, stdout=subprocess.PIPE, timeout=120, check=True)
    return int(done.stdout)


@pytest.mark.skipif(os.name != "posix", reason="only POSIX says how much memory was used")
def test_nothing_is_kept_of_a_long_run(tmp_path: Path) -> None:
    """Memory does not grow with the number of lines."""
    path = tmp_path / "rows"
    assert memory_for(path, 20_000) < 1.2 * memory_for(path, 2_000)
