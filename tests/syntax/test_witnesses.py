# SPDX-License-Identifier: Apache-2.0
"""Two other parsers about the frozen cases: bashlex and tree-sitter-bash. Where they see other commands, the
reason is on a list.

`witnesses.txt` holds the list: `witness | title of the case | reason`. A difference that is not on it fails,
and so does a line that is no difference any more. A text that a witness refuses says nothing.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from shellguard.syntax.nodes import CommandSub, Node, ProcessSub, Simple
from shellguard.syntax.parse import parse
from shellguard.syntax.walk import walk
from tests.syntax.cases import TREES, read_cases
from tests.syntax.witness import WITNESSES, spelled

HERE = Path(__file__).parent
LIST = HERE / "witnesses.txt"
PACKAGES = {"bashlex": ("bashlex",), "tree-sitter": ("tree_sitter", "tree_sitter_bash")}
MOST_REFUSED = {"bashlex": 0.55, "tree-sitter": 0.2}
"""Share of the cases that a witness may refuse before it is of no use."""


def our_commands(text: str) -> set[tuple[str, ...]]:
    """The words of each simple command, as they stand in the text."""
    found = set()
    for node in walk(parse(text)):
        if isinstance(node, Simple) and node.words:
            found.add(tuple(_spelled(text, word) for word in node.words))
    return found


def _spelled(text: str, word: Node) -> str:
    holes = [node.span for node in walk(word) if isinstance(node, (CommandSub, ProcessSub))]
    return spelled(text, *word.span, holes)


def known_differences() -> dict[tuple[str, str], str]:
    known = {}
    for line in LIST.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            witness, title, reason = (field.strip() for field in line.split(" | ", 2))
            assert reason, line
            known[witness, title] = reason
    return known


@pytest.mark.parametrize("witness", WITNESSES)
def test_a_witness_sees_the_same_commands(witness: str) -> None:
    missing = [package for package in PACKAGES[witness] if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} is not installed (extra `oracle`)")
    cases = read_cases(TREES)
    texts = [case.text for case in cases]
    command = [sys.executable, str(HERE / "witness.py"), witness]
    answer = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True)
    answers = json.loads(answer.stdout)
    refused = sum(theirs is None for theirs in answers)
    print(f"{witness}: {refused} of {len(cases)} cases refused")
    assert refused <= MOST_REFUSED[witness] * len(cases)
    differing = {}
    for case, theirs in zip(cases, answers, strict=True):
        if theirs is not None:
            ours = our_commands(case.text)
            seen = {tuple(words) for words in theirs}
            if ours != seen:
                differing[case.title] = (
                    f"only we: {sorted(ours - seen)}; only {witness}: {sorted(seen - ours)}"
                )
    known = {title for name, title in known_differences() if name == witness}
    assert {title: what for title, what in differing.items() if title not in known} == {}, "not on the list"
    assert known - differing.keys() == set(), "on the list, and no difference"
