# SPDX-License-Identifier: Apache-2.0
"""The tools that measure the parser: what they count, and that they do report what they are there to find."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from shellguard.syntax.nodes import Script
from shellguard.syntax.parse import parse
from tests.syntax.test_bash import needs_bash
from tools import confirm_bash, fuzz
from tools.bench import SUBJECTS, measure_commands
from tools.confirm_bash import Finding, ask, broken_bounds, tally
from tools.corpora import NAMES, read_corpus, sample
from tools.mutate import TOKENS, mutated, pieces, smallest
from tools.reprint import Difference

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """Three small corpora in the shape of the public ones."""
    for name in NAMES:
        with gzip.open(tmp_path / f"{name}-commands.jsonl.gz", "wt", encoding="utf-8") as stream:
            for command in ("ls -l", "echo $(pwd)", "ls -l", "if a; then b; fi", "ls ("):
                stream.write(json.dumps({"command": command}) + "\n")
    return tmp_path


def test_a_corpus_is_read_without_repetitions(corpora: Path) -> None:
    assert read_corpus(corpora, "agent") == ["ls -l", "echo $(pwd)", "if a; then b; fi", "ls ("]


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    texts = [str(number) for number in range(100)]
    assert sample(texts, 10, 3) == sample(texts, 10, 3) != sample(texts, 10, 4)
    assert sample(texts, 100, 3) == texts


@needs_bash
def test_confirm_prints_the_table(corpora: Path) -> None:
    command = [sys.executable, "-m", "tools.confirm_bash", "--corpora", str(corpora), "--workers", "1"]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    lines = answer.stdout.splitlines()
    assert [line.split()[0] for line in lines[2:6]] == ["agent", "tldr", "nl2bash", "all"]
    assert lines[5].split()[1:4] == ["12", "9", "0"]


@pytest.mark.parametrize(
    "finding, broken",
    [
        (Finding("x", True, refusal="no"), "1 of 1 texts refused"),
        (Finding("x", False), "1 of 1 texts that bash refuses are accepted"),
        (Finding("x", True, crash="IndexError"), "1 crashes"),
        (Finding("x", True, round_trip=False), "not printed back"),
        (Finding("x", True, differences=(Difference("x", "y", ""),)), "1 differences"),
        (Finding("x", True, differences=(Difference("x", "y", "known"),)), ""),
        (Finding("x", False, refusal="no"), ""),
        (Finding("x", True), ""),
    ],
)
def test_each_bound_can_break(finding: Finding, broken: str) -> None:
    sentences = broken_bounds([tally("agent", iter([finding]))])
    assert len(sentences) == bool(broken)
    assert broken in "".join(sentences)


@needs_bash
def test_a_crash_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(_text: str) -> Script:
        raise IndexError("planted")

    monkeypatch.setattr(confirm_bash, "parse", crash)
    assert ask("ls").crash == "IndexError: planted"
    monkeypatch.setattr(fuzz, "parse", crash)
    assert fuzz.verdict("ls") == "crash IndexError"


@needs_bash
@pytest.mark.parametrize("text, other, kind", [("ls (", "ls", "accepts"), ("ls; rm x", "ls", "differs")])
def test_the_fuzzer_finds(text: str, other: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(given: str) -> Script:
        return parse(other if given == text else given)

    monkeypatch.setattr(fuzz, "parse", wrong)
    monkeypatch.setattr("tools.reprint.parse", wrong)
    assert fuzz.verdict(text) == kind
    assert fuzz.verdict("pwd") == ""


def test_pieces_give_the_text_back() -> None:
    for text in (*TOKENS, "", "ls -l | grep 'a b' > $(x) && y\n", "é\x00\r"):
        assert "".join(pieces(text)) == text


def test_changes_depend_on_the_seed_only() -> None:
    texts = [mutated("ls -l | cat > f", random.Random(seed), ["a b; c"]) for seed in range(50)]
    assert texts == [mutated("ls -l | cat > f", random.Random(seed), ["a b; c"]) for seed in range(50)]
    assert len(set(texts)) > 40


def test_the_smallest_text_still_fails() -> None:
    assert smallest("aaaa(bbbb)cccc", lambda text: "(" in text and ")" in text) == "()"


def test_the_bench_measures_what_is_accepted() -> None:
    times = measure_commands(SUBJECTS[0], ["ls -l", "ls ("], 1)
    assert times[0] is not None
    assert times[0] > 0
    assert times[1] is None
