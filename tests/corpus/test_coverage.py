# SPDX-License-Identifier: Apache-2.0
"""How much of a corpus the rules know (`tools/coverage.py`): figures over a small corpus of our own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tools import coverage
from tools.coverage import Seen, heaviest_files, main, measure, simple_commands, worth_writing


def corpus(folder: Path, name: str, rows: list[dict[str, object]]) -> None:
    with gzip.open(folder / f"{name}-commands.jsonl.gz", "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(coverage, "has_program", lambda name: False)
    corpus(
        tmp_path,
        "agent",
        [
            {"command": "git log && cat f", "count": 8},
            {"command": "git frobnicate", "count": 1},
            {"command": "frobtool x; submit", "count": 1},
        ],
    )
    corpus(
        tmp_path,
        "tldr",
        [
            {"page": "frobtool", "platform": "common", "command": "frobtool -x"},
            {"page": "frobtool", "platform": "linux", "command": "sort --frob f"},
            {"page": "other", "platform": "windows", "command": "other"},
        ],
    )
    corpus(tmp_path, "nl2bash", [{"command": "f() { ls; }; f | wc -l"}, {"command": "echo 'a"}])
    return tmp_path


@pytest.mark.parametrize(
    "text, expected",
    [
        ("cat f", [Seen("cat", "rules/coreutils/cat.yaml")]),
        ("/usr/bin/cat f", [Seen("cat", "rules/coreutils/cat.yaml")]),
        ("bin/cat f", []),
        ('"$x" f', []),
        ("frobtool", [Seen("frobtool", None)]),
        ("f() { cat; }; f", [Seen("cat", "rules/coreutils/cat.yaml")]),
        ("if cat; then x=$(frobtool); fi", [Seen("cat", "rules/coreutils/cat.yaml"), Seen("frobtool", None)]),
        ("git frob x", [Seen("git", "rules/vcs/git.yaml", (("subcommand", "git frob"),))]),
        ("git log --frob=x", [Seen("git", "rules/vcs/git.yaml", (("option", "git log --frob"),))]),
        ("wc -lé", [Seen("wc", "rules/coreutils/wc.yaml", (("option", "wc -é"),))]),
    ],
)
def test_simple_commands_of_a_text(text: str, expected: list[Seen]) -> None:
    assert list(simple_commands(text)) == expected


def test_figures(folder: Path) -> None:
    agent, tldr, nl2bash = measure(folder)
    assert agent.commands["all weighted"] == 19  # `submit` is counted, and nobody's to know
    assert agent.commands["installable weighted"] == 18
    assert agent.share("head", weighted=True) == 17 / 18
    assert agent.share("subcommand", weighted=True) == 16 / 18
    assert agent.share("subcommand", weighted=False) == 2 / 4
    assert (agent.texts["read weighted"], agent.texts["unknown weighted"]) == (8, 2)
    assert tldr.texts["all"] == 2
    assert (tldr.share("subcommand", weighted=False), tldr.share("options", weighted=False)) == (0.5, 0.0)
    assert (nl2bash.commands["all"], nl2bash.texts["refused"]) == (2, 1)


def test_what_is_worth_writing(folder: Path) -> None:
    tallies = measure(folder)
    assert worth_writing(tallies, "head") == [
        ("frobtool", round(1_000_000 / 18 / 3) + round(1_000_000 / 2 / 3))
    ]
    assert worth_writing(tallies, "subcommand") == [("git frobnicate", round(1_000_000 / 18 / 3))]
    assert worth_writing(tallies, "option") == [("sort --frob", round(1_000_000 / 2 / 3))]
    assert heaviest_files(tallies)[0][0] == "rules/coreutils/sort.yaml"


def test_the_report_names_no_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--corpora", str(folder), "--files", "2"]) == 0
    printed = capsys.readouterr().out
    assert "frobtool" in printed
    assert "rules/coreutils/sort.yaml" in printed
    assert "git log && cat f" not in printed


def test_without_corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHELLGUARD_CORPORA", raising=False)
    assert main([]) == 2
