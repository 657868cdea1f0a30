# SPDX-License-Identifier: Apache-2.0
"""Real bash about every case of this folder: does it accept what we accept, and does it read the same?

A case that departs from the rule carries a mark with its reason (`cases.py`). A mark that is no longer true
fails as well.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from shellguard.syntax.nodes import Script, Simple, Word
from shellguard.syntax.parse import parse
from shellguard.syntax.walk import walk
from tests.syntax.cases import REFUSALS, TREES, Case, read_cases
from tools import reprint as reprint_module
from tools.bash_oracle import NoBashError, bash_path, judge, to_bytes
from tools.confirm_bash import ask, broken_bounds, tally
from tools.corpora import NAMES, read_corpus, sample
from tools.reprint import as_printed, compare

try:
    bash_path()
    NO_BASH = ""
except NoBashError as error:
    NO_BASH = str(error)

needs_bash = pytest.mark.skipif(bool(NO_BASH), reason=NO_BASH)


def named(case: Case) -> str:
    return f"{case.line}:{case.title}"


# --- accept or refuse -----------------------------------------------------------------------------------------


@needs_bash
@pytest.mark.parametrize("case", read_cases(TREES), ids=named)
def test_bash_accepts_what_has_a_tree(case: Case) -> None:
    judgement = judge(case.text, extglob=case.extglob)
    assert judgement.accepts == ("bash refuses" not in case.marks), judgement.message


@needs_bash
@pytest.mark.parametrize("case", read_cases(REFUSALS), ids=named)
def test_bash_refuses_what_is_refused(case: Case) -> None:
    if "not asked" in case.marks:
        assert to_bytes(case.text) is None, "bash could be asked"
        return
    judgement = judge(case.text, extglob=case.extglob)
    assert judgement.accepts == ("bash accepts" in case.marks), judgement.message


@needs_bash
@pytest.mark.parametrize("case", [case for case in read_cases(TREES) if case.extglob], ids=named)
def test_the_extglob_mark_is_needed(case: Case) -> None:
    assert not judge(case.text).accepts


@needs_bash
def test_the_judge_sees_an_error_that_the_exit_status_hides() -> None:
    """`bash -n` returns 0 for an error inside `[[ ]]` that it reports."""
    text = "[[ a && ( b ]]"
    assert not judge(text).accepts
    assert judge(text).message


@needs_bash
def test_the_judge_takes_the_warning_about_a_here_document_for_none() -> None:
    judgement = judge("cat <<E\nhi")
    assert judgement.accepts
    assert "warning" in judgement.message


@needs_bash
@pytest.mark.parametrize("text", ["-n", "+x", "--version", "-c 'ls'", "--"])
def test_the_judge_takes_no_text_for_an_option(text: str) -> None:
    assert judge(text).accepts
    assert not judge(text + " (").accepts


# --- the same reading -----------------------------------------------------------------------------------------


@needs_bash
@pytest.mark.parametrize("case", read_cases(TREES), ids=named)
def test_bash_prints_the_same_tree(case: Case) -> None:
    if "bash refuses" in case.marks:
        return
    differences = compare(case.text, extglob=case.extglob)
    assert [difference for difference in differences if not difference.reason] == []
    assert bool(differences) == ("bash prints" in case.marks)


@needs_bash
@pytest.mark.parametrize(
    "text, other",
    [
        ("echo $(ls\nrm x)", "echo $(ls)"),
        ("if a; then b; elif c; then d; fi", "if a; then b; fi"),
        ("a && b || c", "a && { b || c; }"),
        ("ls >& f", "ls"),
        ("cat <<E\n$(rm x)\nE", "cat <<'E'\n$(rm x)\nE"),
    ],
)
def test_a_wrong_tree_is_noticed(text: str, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: a parser that read `text` as `other` would be found out."""

    def wrong(given: str) -> Script:
        return parse(other if given == text else given)

    monkeypatch.setattr(reprint_module, "parse", wrong)
    assert [difference.reason for difference in compare(text, inside=False)] == [""]


@pytest.mark.parametrize("case", read_cases(TREES), ids=named)
def test_what_bash_changes_is_changed_once(case: Case) -> None:
    once = as_printed(parse(case.text))
    assert as_printed(once) == once


# --- what runs ------------------------------------------------------------------------------------------------

HIDDEN = [case for case in read_cases(TREES) if case.title.startswith("hidden: ")]
SILENT = ("ls", "cat", "grep", "wc", "id", "xargs", "a", "b", "c", "d", "e", "f")
"""Commands that the cases name: functions that do nothing."""


def runs_rm(text: str, folder: Path, *, extglob: bool) -> bool:
    """Runs a text of ours in an empty folder, with an empty PATH and an `rm` that only leaves a note."""
    note = folder / "note"
    work = folder / "work"
    work.mkdir()
    environment = {"LC_ALL": "C.UTF-8", "PATH": "", "HOME": str(work), "NOTE": str(note)}
    environment |= {f"BASH_FUNC_{name}%%": "() { return 0; }" for name in SILENT}
    environment["BASH_FUNC_rm%%"] = '() { echo ran >> "$NOTE"; }'
    raw = to_bytes(text)
    assert raw is not None
    options = ["--norc", "--noprofile", *(["-O", "extglob"] if extglob else []), "-c", "--", os.fsdecode(raw)]
    with (work / "output").open(
        "wb"
    ) as output:  # no pipe: a coprocess may outlive the shell and hold it open
        process = subprocess.Popen(
            [bash_path(), *options],
            env=environment,
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            process.wait(timeout=1)
        except subprocess.TimeoutExpired:  # `for ((;;))`
            process.kill()
            process.wait()
    return note.exists()


def holds_rm(text: str) -> bool:
    """Is there a command in the tree whose name, quotes removed, may be `rm`?"""
    for node in walk(parse(text)):
        if isinstance(node, Simple):
            for word in node.words[:1]:
                if "rm" in _plain_texts(word):
                    return True
    return False


def _plain_texts(word: Word) -> str:
    return "".join(str(getattr(node, "text", getattr(node, "char", ""))) for node in walk(word))


@needs_bash
@pytest.mark.parametrize("case", HIDDEN, ids=named)
def test_what_bash_runs_is_in_the_tree(case: Case, tmp_path: Path) -> None:
    if runs_rm(case.text, tmp_path, extglob=case.extglob):
        assert holds_rm(case.text)


@needs_bash
def test_most_hidden_commands_do_run(tmp_path: Path) -> None:
    """The check above can fail: `rm` is found running in nearly all cases that hold it."""
    texts = [case for case in HIDDEN if holds_rm(case.text)][:40]
    ran = 0
    for number, case in enumerate(texts):
        folder = tmp_path / str(number)
        folder.mkdir()
        ran += runs_rm(case.text, folder, extglob=case.extglob)
    assert ran > 0.6 * len(texts)


# --- public commands ------------------------------------------------------------------------------------------


def check_corpora(folder: Path, most: int, seed: int) -> None:
    rows = []
    for name in NAMES:
        texts = sample(read_corpus(folder, name), most, seed)
        rows.append(tally(name, map(ask, texts)))
    shares = [sentence for sentence in broken_bounds(rows) if "of" in sentence and "refuse" in sentence]
    assert [sentence for sentence in broken_bounds(rows) if sentence not in shares] == []
    assert sum(len(row.refused) for row in rows) <= 0.003 * sum(row.accepted for row in rows) + 1, shares


@needs_bash
def test_sample_of_the_corpora(corpora: Path) -> None:
    check_corpora(corpora, 300, 2)


@needs_bash
@pytest.mark.slow
def test_large_sample_of_the_corpora(corpora: Path) -> None:
    check_corpora(corpora, 5_000, 3)


# --- the judge itself -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_a_text_that_bash_cannot_be_given(text: str) -> None:
    assert to_bytes(text) is None
    with pytest.raises(ValueError, match="cannot be given"):
        judge(text)
