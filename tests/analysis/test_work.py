# SPDX-License-Identifier: Apache-2.0
"""Work in proportion to the length, counted in calls of Python functions and not in seconds.

Each row is a short text many times over: the densest texts there are, and those in which a word that is not known
could be read in many ways, one level of commands inside another.
"""

from __future__ import annotations

import pytest

from tests.analysis.test_limits import large
from tools.fuzz_engine import calls, checked

SIZE = 4_000
CALLS_PER_CHARACTER = 60
GROWTH = 2.6

ROWS = {
    **{name: text for name, text in large(SIZE).items() if len(text) > SIZE // 2 and name != "quotes"},
    "no commands": ":;" * (SIZE // 2),
    "writers": "rm x;" * (SIZE // 5),
    "subcommands": "git log;" * (SIZE // 8),
    "unknown words": "ls " + "$x " * (SIZE // 3),
    "unknown words before options": "git log $x;" * (SIZE // 11),
    "global options": "git " + "-c a " * (SIZE // 5),
    "actions": "find . " + "-exec ls {} \\; " * (SIZE // 15),
    "tests": "[ " + "$x = y -o " * (SIZE // 10) + " a ]",
    "wrappers": "env " * (SIZE // 4) + "ls",
    "wrappers that add words": "xargs " * (SIZE // 6) + "ls",
    "wrappers and unknown words": "xargs $x " * (SIZE // 9),
    "durations that are not known": "timeout $x " * (SIZE // 11),
    "options of wrappers": "nice -n $x " * (SIZE // 11),
    "many unknown words": "command " + "$x " * (SIZE // 3),
    "actions and wrappers": "find . -exec xargs " * (SIZE // 19) + "ls {} +",
    "evals": "eval ls;" * (SIZE // 8),
    "brackets without an end": "a\\ [[-" * (SIZE // 6),
    "evals inside evals": "eval " * (SIZE // 5) + "ls",
    "settings": "a=b ls;" * (SIZE // 7),
    "optional words": "sort " + "$(pwd) " * (SIZE // 7),
    "choices": "for x in a b c d; do ls $x; done;" * (SIZE // 33),
    "arrays": "x=(a b);" * (SIZE // 8),
    "constants": "readonly x;" * (SIZE // 11),
    "names of Python that may be builtins": "python3 -c 'f = lambda file: (" + "file," * (SIZE // 5) + ")'",
    "lists of texts in Python": 'python3 -c \'import pathlib\ny=""\n'
    + "".join(f'x{n}=y.split()\nx{n}[0].replace("a", "b")\n' for n in range(SIZE // 40))
    + "'",
}


@pytest.mark.parametrize("name", ROWS)
def test_a_dense_text_costs_a_bounded_number_of_calls(name: str) -> None:
    text = ROWS[name]
    checked("ls")  # so that the rules are loaded
    once = calls(text)
    assert once / len(text) < CALLS_PER_CHARACTER
    assert calls(text + "\n" + text) < GROWTH * once + 2_000


@pytest.mark.parametrize("name", ROWS)
def test_nothing_is_wrong_with_its_verdict(name: str) -> None:
    finding = checked(ROWS[name])
    assert finding is None or finding.kind == "slow", finding
