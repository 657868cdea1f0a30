# SPDX-License-Identifier: Apache-2.0
"""Large and deep texts: a verdict in time proportional to the length, and `unknown` where a limit is hit."""

from __future__ import annotations

import sys
import time

import pytest

from shellguard.engine import classify
from shellguard.verdict import READ, UNKNOWN

SIZE = 100_000


def large(size: int) -> dict[str, str]:
    """Texts of about `size` characters, each large in a way of its own."""
    return {
        "one word": "echo " + "a" * size,
        "words": "echo " + "a " * (size // 2),
        "commands": "ls;" * (size // 3),
        "lines": "ls\n" * (size // 3),
        "assignments": "".join(f"x{i}=1;" for i in range(size // 10)),
        "one variable": "x=1;" * (size // 4),
        "exports": "".join(f"export x{i}=1; ls;" for i in range(size // 20)),
        "uses": "x=1;" + "echo $x;" * (size // 8),
        "pipes": "ls" + "|cat" * (size // 4),
        "and": "ls" + "&&ls" * (size // 4),
        "or": "x=1" + "||x=1" * (size // 5),
        "subshells": "(ls);" * (size // 5),
        "functions": "".join(f"f{i}(){{ ls; }};" for i in range(size // 15)),
        "one function": "f(){ ls; };" + "f;" * (size // 2),
        "loops": "for i in a b;do ls;done;" * (size // 24),
        "substitutions": "echo " + "$(ls)" * (size // 5),
        "arithmetic": "echo $((1" + "+1" * (size // 2) + "))",
        "conditions": "[[ a" + " && a" * (size // 5) + " ]]",
        "case arms": "case x in " + "a) ls;; " * (size // 8) + "esac",
        "elif": "if ls; then ls; " + "elif ls; then ls; " * (size // 18) + "fi",
        "redirections": "ls" + " >/dev/null" * (size // 11),
        "here-document": "cat <<E\n" + "$x\n" * (size // 3) + "E",
        "braces": "echo " + "{a,b}" * 1000,
        "spaces": " " * size,
        "comment": "#" + "a" * size,
        "parentheses": "(" * size,
        "quotes": "'" * (size - 1),
        "dollars": "$" * size,
        "backslashes": "\\" * size,
        "sed script": "sed '" + "s/a/b/;" * (size // 7) + "' f",
        "awk program": "awk '" + "{print}" * (size // 7) + "' f",
        "jq filter": "jq '" + ".a|" * (size // 3) + ".' f",
        "options": "ls " + "-l " * (size // 3),
        "surrogates": "\ud800" * size,
        "nul": "\x00" * size,
    }


@pytest.mark.parametrize("name", large(1))
def test_a_large_text_is_judged_in_time(name: str) -> None:
    text = large(SIZE)[name]
    start = time.process_time()
    classify(text)
    assert time.process_time() - start < 4


@pytest.mark.slow
@pytest.mark.parametrize("name", large(1))
def test_a_megabyte_takes_ten_times_as_long(name: str) -> None:
    text = large(10 * SIZE)[name]
    start = time.process_time()
    classify(text)
    assert time.process_time() - start < 40


def nested(before: str, inside: str, after: str, depth: int) -> str:
    return before * depth + inside + after * depth


DEEP = {
    "subshells": ("(", "ls", ")"),
    "groups": ("{ ", "ls", ";}"),
    "substitutions": ("echo $(", "ls", ")"),
    "quoted substitutions": ('echo "$(', "ls", ')"'),
    "ifs": ("if ls; then ", "ls", "; fi"),
    "loops": ("while ls; do ", "ls", "; done"),
    "assigning loops": ("for i in a b; do x=$y; ", "ls", "; done"),
    "reading loops": ("y=a; while read y; do ", "ls $y", "; done"),
    "cases": ("case a in a) ", "ls", ";; esac"),
    "functions": ("f() { ", "ls", "; }; f"),
    "parameters": ("echo ${x:-", "a", "}"),
    "arithmetic": ("echo $((", "1", "))"),
    "braces": ("echo {a,", "b", "}"),
    "conditions": ("[[ ( ", "a", " ) ]]"),
}


@pytest.mark.parametrize("depth", [5, 20, 40, 10_000])
@pytest.mark.parametrize("before, inside, after", DEEP.values(), ids=DEEP)
def test_nesting_is_judged_or_refused(before: str, inside: str, after: str, depth: int) -> None:
    text = nested(before, inside, after, depth)
    start = time.process_time()
    verdict = classify(text)
    assert time.process_time() - start < 10
    assert depth < 10_000 or verdict.kind == UNKNOWN


@pytest.mark.parametrize("depth", [3, 50])
def test_shells_in_shells(depth: int) -> None:
    text = "ls"
    for _ in range(depth):
        text = "eval " + "'" + text.replace("'", "'\\''") + "'" if len(text) < 10_000 else text
    assert classify(text).kind in (READ, UNKNOWN)


def test_functions_that_double_each_time_end() -> None:
    text = "f0() { ls; }; " + "; ".join(f"f{i}() {{ f{i - 1}; f{i - 1}; }}" for i in range(1, 60)) + "; f59"
    start = time.process_time()
    verdict = classify(text)
    assert time.process_time() - start < 5
    assert verdict.kind == UNKNOWN


def test_a_caller_deep_in_the_stack_gets_a_verdict() -> None:
    text = nested("(", "ls", ")", 40)

    def deeper(depth: int) -> str:
        return classify(text).kind if depth == 0 else deeper(depth - 1)

    limit = sys.getrecursionlimit()
    assert deeper(limit - 150) in (READ, UNKNOWN)


def test_a_repeated_text_is_answered_from_memory() -> None:
    assert classify("git log --oneline -3") is classify("git log --oneline -3")
