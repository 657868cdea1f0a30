# SPDX-License-Identifier: Apache-2.0
"""`shellguard lint` and `parse`: exit status, options, and what is printed as text and as JSON."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.process import SHELLGUARD, run


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
        ("lint", "."),
        ("lint", "--output-format", "nosuch"),
        ("lint", "--color", "blue"),
        ("lint", "--shell", "cmd"),
        ("explain", "nosuchfile"),
        ("parse", "nosuchfile"),
        ("completion", "cmd"),
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
        "code": "SG204",
        "name": "redirection-writes",
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


@pytest.mark.parametrize(
    "text",
    [
        "cd ~/repo && gh api repos/o/r/pulls/1/reviews 2>&1",
        "ls " + "a" * 150 + " 2>&1",
        "ls " + "b " * 900 + "2>&1",
    ],
)
def test_a_line_is_shown_whole(text: str) -> None:
    """Once the last character of the first line was cut off: `2>&` for `2>&1`."""
    lines = run("lint", "-v", text=text).stdout.splitlines()
    shown = [line for line in lines if line.startswith("read  ")]
    assert shown
    assert all(line.endswith(text) for line in shown)


def test_a_line_that_is_too_long_says_that_it_is_cut() -> None:
    text = "ls " + "a" * 3000 + " > " + "b" * 30 + " 2>&1 " + "c" * 3000
    head, carets = run("lint", text=text).stdout.splitlines()[:2]
    assert "  ..." in head
    assert head.endswith("c...")
    assert len(head) < 2500
    assert head[carets.index("^")] == ">"


def test_many_facts_are_counted() -> None:
    lines = run("lint", text="rm x\n" * 150).stdout.splitlines()
    assert lines[-1].strip() == "... and 50 facts more"
    assert len(run("lint", "--output-format", "json", text="rm x\n" * 150).json()["facts"]) == 150


@pytest.mark.parametrize(
    "text, caret",
    [
        ("echo 日本 > out", 10),
        ("echo e\u0301e\u0301 > out", 8),
        ("echo 🎉 > out", 8),
        ("echo \u200b > out", 12),
        ("echo \t > out", 8),
        ("echo x\u00a0y > out", 12),
    ],
)
def test_carets_stand_under_the_words(text: str, caret: int) -> None:
    """Columns are those of a terminal: two for a wide character, none for a combining one, an escape as it is shown."""
    first, second = run("lint", text=text).stdout.splitlines()[:2]
    assert second.index("^") == first.index("echo") + caret
    assert second.count("^") == 5


def test_a_read_that_the_policy_refuses_says_so() -> None:
    done = run("lint", "--policy", "strict", text="git status")
    assert done.returncode == 1
    assert "SG004" in done.stdout
    assert done.stdout.endswith("a read that the policy 'strict' does not allow\n")


def test_exit_zero(tmp_path: Path) -> None:
    assert run("lint", "--exit-zero", text="rm x").returncode == 0
    assert "SG201" in run("lint", "--exit-zero", text="rm x").stdout
    assert run("lint", "--exit-zero", str(tmp_path / "none")).returncode == 2


def test_a_file_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    bad = tmp_path / "bad.sh"
    bad.write_text("rm x")
    for arguments in (("none\x1b.sh", str(bad)), (str(bad), "none\x1b.sh")):
        done = run("lint", *arguments)
        assert done.returncode == 2
        assert "SG201" in done.stdout
        assert done.stderr == "none\\x1b.sh: No such file or directory\n"


def test_standard_input_may_have_a_name() -> None:
    assert run("lint", "--stdin-filename", "a/b.sh", text="rm x").stdout.startswith(
        "write  a/b.sh:1:1  rm x\n"
    )
    answer = run("lint", "--stdin-filename", "a.sh", "--output-format", "json", text="rm x").json()
    assert answer["file"] == "a.sh"
    assert run("lint", "--stdin-filename", "a\x1b[2J", text="rm x").stdout.startswith("write  a\\x1b[2J:1:1")


@pytest.mark.parametrize(
    "arguments, variables, colored",
    [
        ((), {}, False),
        (("--color", "always"), {}, True),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "0"}, False),
        ((), {"CLICOLOR_FORCE": "1"}, True),
        ((), {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
        ((), {"NO_COLOR": "", "FORCE_COLOR": "1"}, True),
    ],
)
def test_colours(arguments: tuple[str, ...], variables: dict[str, str], colored: bool) -> None:
    plain = run("lint", text="rm x").stdout
    output = run("lint", *arguments, text="rm x", **variables).stdout
    assert ("\x1b[" in output) == colored
    if not colored:
        assert output == plain


def test_colours_follow_the_terminal() -> None:
    pty = pytest.importorskip("pty", reason="a pseudo-terminal is wanted")
    for variables, colored in (
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({"NO_COLOR": "1"}, False),
    ):
        main, other = pty.openpty()
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE")
        }
        done = subprocess.run(
            [*SHELLGUARD, "lint"],
            input=b"rm x",
            stdout=other,
            env={**environment, "TERM": "xterm", **variables},
            timeout=60,
            check=False,
        )
        os.close(other)
        output = os.read(main, 65536)
        os.close(main)
        assert done.returncode == 1
        assert (b"\x1b[" in output) == colored


def test_no_rule_library_is_no_excuse(tmp_path: Path) -> None:
    """With an empty folder of rules nothing is a read, and every answer still says by which rules it was judged."""
    answer = run("lint", "--rules", str(tmp_path), "--output-format", "json", text="ls").json()
    assert answer["verdict"] == "unknown"
    assert answer["rules"]
    assert answer["rules"] != run("lint", "--output-format", "json", text="ls").json()["rules"]


@pytest.mark.parametrize(
    "arguments, text",
    [
        (("lint", "--output-format", "json"), "ls"),
        (("lint", "--output-format", "jsonl"), "rm x"),
        (("lint", "--batch"), '{"command": "ls"}'),
        (("lint", "--batch"), "no"),
        (("explain", "--json"), "ls"),
        (("parse", "--json"), "ls"),
        (("parse", "--json"), "if"),
        (("rule", "--json"), ""),
        (("rule", "SG204", "--json"), ""),
        (("--version", "--json"), ""),
    ],
)
def test_every_answer_in_json_says_its_form_and_its_rules(arguments: tuple[str, ...], text: str) -> None:
    done = run(*arguments, text=text)
    answer = done.json()
    assert answer["schema"] == 1
    assert len(answer["rules"]) == 32
    assert done.stdout.isascii()


def test_json_escapes_what_a_terminal_acts_on() -> None:
    hostile = "rm \x7f\x9b\x1b[2J\u202e\u2028\ud800"
    for output_format in ("json", "jsonl", "sarif"):
        output = run(
            "lint", "--output-format", output_format, text=hostile.encode("utf-8", "surrogatepass")
        ).stdout
        assert output.rstrip("\n").isprintable()
        assert output.isascii()
