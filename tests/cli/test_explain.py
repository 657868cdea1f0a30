# SPDX-License-Identifier: Apache-2.0
"""`shellguard explain`: every fact, and suggestions that were checked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellguard import classify
from shellguard.advice import suggestions
from shellguard.engine import policy_named
from shellguard.explain import visible, width
from tests.cli.process import run


def explain(text: str, *arguments: str) -> Any:
    return run("explain", "--json", *arguments, text=text).json()


def test_an_explanation() -> None:
    lines = run("explain", text='find . -name "*.py" | xargs git branch').stdout.splitlines()
    head = next(index for index, line in enumerate(lines) if line.endswith("SG201 `git branch`: writes"))
    assert lines[head - 1] == 'write  1:29  find . -name "*.py" | xargs git branch'
    assert lines[head].index("^") == lines[head - 1].index("git branch")
    assert lines[head + 1].lstrip().startswith("rules/wrappers/xargs.yaml:")
    assert lines[head + 2].lstrip().startswith("rules/vcs/git.yaml:")
    assert "effects  reads, writes" in lines
    assert "marks    config:repo" in lines
    assert "through  xargs -> git branch" in lines
    assert "policy   default: not allowed" in lines
    assert any(line.startswith("SG201 command-writes: ") for line in lines)
    assert lines[-1] == '      find . -name "*.py"'


def test_a_read_needs_nothing() -> None:
    done = run("explain", text="ls")
    assert done.returncode == 0
    assert done.stdout.endswith("policy   default: allowed\n")
    answer = explain("ls")
    assert (answer["allowed"], answer["suggestions"], answer["objections"]) == (True, [], [])


SUGGESTED = [
    ("ls > out", "ls"),
    ("ls >> a.txt | wc -l", "ls | wc -l"),
    ("sort -o out in", "sort in"),
    ('sort "$x"', 'sort -- "$x"'),
    ("GIT_PAGER=./x git log", "git log"),
    ("FROB=1 git log", "git log"),
    ("sort --frob x", "sort x"),
    ("git branch -D x", "git branch"),
    ("cat f | tee out", "cat f | tee"),
    ("cat f | tee out", "cat f"),
    ("ls && rm x", "ls"),
    ("rm x; ls", "ls"),
    ("ls\nfrob\npwd", "ls\npwd"),
    ("if true; then rm x; ls; fi", "if true; then ls; fi"),
    ("find . -name x -delete", "find . -name x"),
    ('for f in *.py; do sed -i s/a/b/ "$f"; done', 'for f in *.py; do sed s/a/b/ -- "$f"; done'),
    ("cat > f <<E\na\nE", "cat <<E\na\nE"),
    ("echo 日本 > out", "echo 日本"),
]


@pytest.mark.parametrize("text, suggested", SUGGESTED)
def test_a_suggestion(text: str, suggested: str) -> None:
    found = [each["text"] for each in explain(text)["suggestions"]]
    assert suggested in found
    assert f"      {suggested.split(chr(10))[0]}\n" in run("explain", text=text).stdout


@pytest.mark.parametrize("text", ["rm x", "frob", "", "if", "echo $((", "x=1 frob", "# c\nfrob", "(" * 500])
def test_nothing_is_suggested_where_nothing_passes(text: str) -> None:
    assert explain(text)["suggestions"] == []
    assert "No text near this one passes." in run("explain", text=text).stdout


def test_a_suggestion_follows_the_policy() -> None:
    assert explain("gh api repos/o/r && ls")["suggestions"] == []
    found = [each["text"] for each in explain("gh api repos/o/r && ls", "--policy", "local")["suggestions"]]
    assert found[-1] == "ls"
    assert explain("gh api repos/o/r && ls", "--policy", "local")["objections"][0]["code"] in (
        "SG004",
        "SG005",
    )


PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "ls",
                "rm x",
                'sort "$x"',
                "git branch",
                "> f",
                "| tee out",
                "; frob",
                "&& cat a",
                "-o",
                "'",
                '"',
            ),
            *(
                "$(rm y)",
                "2>&1",
                "\n",
                "# c",
                "<<E\nls\nE",
                "FOO=1 ",
                "xargs grep",
                "if",
                "\\",
                "日本",
                "\x1b",
            ),
        ]
    ),
    max_size=7,
).map(" ".join)


@given(PIECES)
def test_whatever_is_suggested_passes(text: str) -> None:
    policy = policy_named("default")
    verdict = classify(text)
    for suggestion in suggestions(verdict, policy, classify):
        assert policy.allows(classify(suggestion.text))
        assert suggestion.text.strip()
        assert suggestion.does


def test_a_long_text_is_explained_without_trials() -> None:
    done = run("explain", text="rm x;" * 10_000 + "ls")
    assert "No text near this one passes." in done.stdout


@pytest.mark.parametrize(
    "text, shown",
    [
        ("", ""),
        ("ls -l 日本 e\u0301 🎉", "ls -l 日本 e\u0301 🎉"),
        ("\t\n\r", "\\t\\n\\r"),
        ("\x00\x1b\x7f\x9b", "\\x00\\x1b\\x7f\\x9b"),
        ("\u202e\u2066\u200f\u061c", "\\u202e\\u2066\\u200f\\u061c"),
        ("\u200b\u200d\u2060\ufeff\u00ad\u180e", "\\u200b\\u200d\\u2060\\ufeff\\xad\\u180e"),
        ("\u00a0\u2003\u3000\u2028\u2029\u1680", "\\xa0\\u2003\\u3000\\u2028\\u2029\\u1680"),
        ("\ufe0f\u3164\u115f\u034f\u2800", "\\ufe0f\\u3164\\u115f\\u034f\\u2800"),
        ("\U000e0041\U000e0100\udcff\ud800", "\\U000e0041\\U000e0100\\udcff\\ud800"),
        ("\ue000\uffff\U0010ffff", "\\ue000\\uffff\\U0010ffff"),
    ],
)
def test_hostile_characters_are_made_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_what_is_shown_can_be_printed(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert width(shown) >= 0
