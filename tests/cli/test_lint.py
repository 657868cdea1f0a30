# SPDX-License-Identifier: Apache-2.0
"""`shellguard lint` and `parse` as a process: exit status, what is printed, and the batch contract."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

SHELLGUARD = [sys.executable, "-m", "shellguard"]


def run(*arguments: str, text: str | bytes = "") -> subprocess.CompletedProcess[str]:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    done = subprocess.run([*SHELLGUARD, *arguments], input=data, capture_output=True, timeout=60, check=False)
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    )


def batch(*rows: object, arguments: tuple[str, ...] = ()) -> list[dict[str, object]]:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    done = run("lint", "--batch", *arguments, text="\n".join(lines) + "\n")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    "text, status",
    [
        ("cd ~/repo && gh api repos/o/r/pulls/1/reviews 2>&1", 0),
        ("cd ~/repo && gh api repos/o/r/pulls/1/reviews 2>&1 | tee out", 1),
        ("rm x", 1),
        ("nosuchcommand", 1),
        ("if", 1),
        ("", 1),
        (" \t\n", 1),
        ("# only a comment\n", 0),
        ("x=5", 0),
    ],
)
def test_the_exit_status_says_whether_it_is_a_read(text: str, status: int) -> None:
    assert run("lint", text=text).returncode == status


@pytest.mark.parametrize(
    "arguments",
    [
        ("lint", "--nosuch"),
        ("lint", "nosuchfile"),
        ("lint", "--policy", "nosuch"),
        ("lint", "--batch", "f"),
        ("nosuch",),
    ],
)
def test_wrong_usage_is_2(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_read_prints_nothing_unless_asked() -> None:
    assert run("lint", text="ls").stdout == ""
    assert "ls.yaml" in run("lint", "-v", text="ls").stdout


def test_the_text_output_points_at_the_words() -> None:
    lines = run("lint", text="ls\nfind . | xargs git branch").stdout.splitlines()
    assert lines[0] == "write  2:16  find . | xargs git branch"
    assert lines[1].startswith(" " * 13 + " " * 15 + "^^^^^^^^^^ ")
    assert lines[1].endswith(": writes")
    assert lines[2].split("  ")[-1] == "(xargs)"
    assert "rules/wrappers/xargs.yaml:" in lines[2]
    assert "rules/vcs/git.yaml:" in lines[3]


@pytest.mark.parametrize(
    "hostile, shown",
    [
        ("rm \x1b[2J", "\\x1b[2J"),
        ("rm \u202egpj", "\\u202egpj"),
        ("rm a\rb", "a\\rb"),
        ("rm \x07\x7f\x9b", "\\x07\\x7f\\x9b"),
        ("rm \u200b\u2028", "\\u200b\\u2028"),
        (b"rm \xff", "\\udcff"),
        ("rm \U000e0041", "\\U000e0041"),
    ],
)
def test_hostile_characters_are_made_visible(hostile: str | bytes, shown: str) -> None:
    output = run("lint", text=hostile).stdout
    assert shown in output
    assert not any(ord(char) < 0x20 and char != "\n" for char in output)


def test_carets_stand_under_wide_characters() -> None:
    first, second = run("lint", text="echo 日本 > out").stdout.splitlines()[:2]
    assert first.endswith("echo 日本 > out")
    assert second.index("^") == first.index("echo") + 10


def test_files_are_named(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.sh", tmp_path / "bad.sh"
    good.write_text("ls\n")
    bad.write_text("ls\nrm x\n")
    done = run("lint", str(good), str(bad))
    assert done.returncode == 1
    assert done.stdout.startswith(f"write  {bad}:2:1  rm x\n")
    assert run("lint", str(good)).returncode == 0


def test_json() -> None:
    answer = json.loads(run("lint", "--output-format", "json", text="cat ~/.ssh/id_rsa > out").stdout)
    assert answer["schema"] == 1
    assert answer["verdict"] == "write"
    assert answer["allowed"] is False
    assert answer["effects"] == ["reads", "writes"]
    assert answer["rules"] == json.loads(run("--version", "--json").stdout)["rules"]
    fact = next(fact for fact in answer["facts"] if fact["effect"] == "writes")
    assert fact == {
        "effect": "writes",
        "start": 18,
        "end": 23,
        "text": "> out",
        "rule": None,
        "line": None,
        "via": [],
        "because": "> writes to 'out'",
        "marks": [],
    }
    sensitive = next(fact for fact in answer["facts"] if "sensitive" in fact["marks"])
    assert sensitive["text"] == "~/.ssh/id_rsa"
    assert sensitive["rule"].startswith("rules/")


def test_json_of_several_files_is_a_list(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("ls")
    arguments = ("lint", str(tmp_path / "a"), str(tmp_path / "b"), "--output-format")
    assert [row["file"][-1] for row in json.loads(run(*arguments, "json").stdout)] == ["a", "b"]
    assert len(run(*arguments, "jsonl").stdout.splitlines()) == 2


@pytest.mark.parametrize(
    "policy, text, allowed",
    [
        ("default", "curl -s http://localhost/", True),
        ("local", "gh api repos/o/r", False),
        ("strict", "git status", False),
        ("local", "git status", True),
        ("strict", "cat f", True),
        ("default", "rm f", False),
    ],
)
def test_a_policy_only_refuses(policy: str, text: str, allowed: bool) -> None:
    if "curl" in text:
        text = "gh api repos/o/r"
    assert run("lint", "--policy", policy, text=text).returncode == (0 if allowed else 1)


def test_trust_in_words_alone() -> None:
    assert run("lint", text="git status").returncode == 0
    assert run("lint", "--trust", "words", text="git status").returncode == 1
    assert run("lint", "--trust", "words", text="cat f").returncode == 0


def test_unknown_words_as_operands() -> None:
    assert run("lint", text='sort "$x"').returncode == 1
    assert run("lint", "--unknown-words", "operand", text='sort "$x"').returncode == 0
    assert run("lint", "--unknown-words", "operand", text='sort "-o$x"').returncode == 1


@pytest.mark.parametrize("text", ["[[ a > b ]]", "((x > 5))", "[[ a && rm ]]"])
def test_a_text_must_be_harmless_in_every_shell_that_is_asked_for(text: str) -> None:
    assert run("lint", "--shell", "any", text=f"x=1; {text}").returncode == 1
    assert run("lint", "--shell", "bash", text=f"x=1; {text}").returncode == 0


def test_batch_answers_in_order_and_goes_on_after_a_bad_line() -> None:
    answers = batch(
        {"id": 1, "command": "ls"},
        "not json",
        '{"id": 2}',
        '["list"]',
        {"id": {"any": ["thing"]}, "command": "rm x"},
        '{"id": 3, "command": "ls", "command": "rm x"}',
        {"id": None, "command": ""},
        {"id": "x", "command": 5},
    )
    assert [answer["id"] for answer in answers] == [1, None, 2, None, {"any": ["thing"]}, 3, None, "x"]
    assert [answer.get("verdict") for answer in answers] == [
        "read",
        None,
        None,
        None,
        "write",
        "write",
        "unknown",
        None,
    ]
    assert ["error" in answer for answer in answers] == [False, True, True, True, False, False, False, True]
    assert answers[0]["allowed"] is True
    assert answers[4]["allowed"] is False


def test_batch_survives_any_characters() -> None:
    texts = ["\ud800", "a\u2028b", "\x00", "\x85", "é" * 10, "rm \udcff", "\n", "ls\r\npwd\r\n"]
    answers = batch(*({"id": index, "command": text} for index, text in enumerate(texts)))
    assert [answer["id"] for answer in answers] == list(range(len(texts)))
    done = run(
        "lint", "--batch", text=b'{"id": 1, "command": "ls \xff"}\n\xff\xfe\n\n{"id": 2, "command": "ls"}'
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in rows] == [1, None, 2]
    assert done.stdout.isascii()


def test_batch_takes_very_deep_and_very_long_lines() -> None:
    answers = batch(
        "[" * 100_000, {"id": 1, "command": "(" * 100_000}, {"id": 2, "command": "echo " + "a" * 200_000}
    )
    assert [answer["id"] for answer in answers] == [None, 1, 2]
    assert [answer.get("verdict") for answer in answers] == [None, "unknown", "read"]


def test_batch_streams() -> None:
    with subprocess.Popen(
        [*SHELLGUARD, "lint", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for index in range(3):
            process.stdin.write(json.dumps({"id": index, "command": "ls"}) + "\n")
            process.stdin.flush()
            start = time.monotonic()
            assert json.loads(process.stdout.readline())["id"] == index
            assert time.monotonic() - start < 20
        process.stdin.close()
    assert process.returncode == 0


def test_a_reader_that_leaves_is_no_error() -> None:
    with subprocess.Popen(
        [*SHELLGUARD, "lint", "--batch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b'{"id": 1, "command": "ls"}\n')
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b'{"id": 2, "command": "ls"}\n' * 100)
        process.stdin.close()
        assert b"Traceback" not in process.stderr.read()


def test_rules_of_another_folder(tmp_path: Path) -> None:
    assert run("lint", "--rules", str(tmp_path), text="ls").returncode == 1
    assert run("lint", "--rules", str(tmp_path / "none"), text="ls").returncode == 2


def test_parse_shows_the_tree() -> None:
    done = run("parse", text="ls -l > f")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "Script 0-9"
    assert "      words: Word 3-5" in done.stdout.splitlines()
    tree = json.loads(run("parse", "--json", text="ls").stdout)["tree"]
    assert tree["type"] == "Script"
    assert tree["span"] == [0, 2]
    assert tree["statements"][0]["command"]["words"][0]["parts"][0]["text"] == "ls"


def test_parse_says_why_it_refuses() -> None:
    done = run("parse", text="ls\nif")
    assert done.returncode == 1
    assert done.stderr.startswith("2:")
    assert json.loads(run("parse", "--json", text="if").stdout)["error"]


def test_version() -> None:
    answer = json.loads(run("--version", "--json").stdout)
    assert set(answer) >= {"schema", "version", "rules", "commands"}
    assert answer["commands"] > 50
    assert run("--version").stdout == f"shellguard {answer['version']}\n"


def test_help_names_the_commands() -> None:
    output = run("--help").stdout
    assert "lint" in output
    assert "parse" in output
