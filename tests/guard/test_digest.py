# SPDX-License-Identifier: Apache-2.0
"""Results that say the same have one name, whatever the noise; results that do not have two."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellguard.guard import ToolResult
from shellguard.guard.canonical import canonical, parsed
from shellguard.guard.digest import EMPTY_SHA256, digest, outcome_of
from shellguard.guard.noise import LIMIT, without_noise
from shellguard.guard.turns import is_bare

TABLE = Path(__file__).with_name("digests.txt")


def rows() -> list[tuple[int, str, str, str]]:
    found = []
    for number, line in enumerate(TABLE.read_text(encoding="utf-8").splitlines(), 1):
        if line and not line.startswith("#"):
            same, one, two = (part.strip() for part in line.replace("\\|", "\x00").split("|"))
            found.append((number, same, _read(one), _read(two)))
    return found


def _read(text: str) -> str:
    for written, char in (("\\n", "\n"), ("\\r", "\r"), ("\\t", "\t"), ("\\e", "\x1b"), ("\\x07", "\x07")):
        text = text.replace(written, char)
    return text.replace("\x00", "|")


@pytest.mark.parametrize(
    "number, same, one, two", rows(), ids=lambda value: value if isinstance(value, int) else ""
)
def test_the_table(number: int, same: str, one: str, two: str) -> None:
    assert (digest(one) == digest(two)) == (same == "same"), f"{without_noise(one)!r}, {without_noise(two)!r}"


words = st.sampled_from(["alpha", "beta:", "(gamma)", "delta=", "error,", "ok.", "x/y.py", "-"])
moments = st.datetimes(datetime(1990, 1, 1), datetime(2099, 1, 1))
NOISE = (
    moments.map(lambda at: at.strftime("%Y-%m-%d %H:%M:%S")),
    moments.map(lambda at: at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")),
    moments.map(lambda at: at.strftime("%H:%M:%S")),
    moments.map(lambda at: at.strftime("%a %b %d %H:%M:%S UTC %Y")),
    st.floats(0.001, 500).map(lambda seconds: f"{seconds:.3f}s"),
    st.integers(1, 99_999).map(lambda number: f"pid={number}"),
    st.uuids().map(str),
    st.integers(0x100000, 2**47).map(lambda number: f"0x{number:x}"),
)


@st.composite
def noisy_twice(draw: st.DrawFn) -> tuple[str, str]:
    """One text twice, with the same kinds of noise at the same places and other values."""
    one: list[str] = []
    two: list[str] = []
    for _ in range(draw(st.integers(1, 8))):
        word = draw(words)
        one.append(word)
        two.append(word)
        kind = draw(st.sampled_from(NOISE))
        one.append(draw(kind))
        two.append(draw(kind))
    return " ".join(one), " ".join(two)


@given(noisy_twice())
def test_times_and_ids_do_not_matter(texts: tuple[str, str]) -> None:
    assert digest(texts[0]) == digest(texts[1])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.sampled_from(["a", "b c", ""]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    ),
    max_leaves=12,
)


def shuffled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shuffled(item) for key, item in reversed(value.items())}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


@given(st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), json_values, min_size=1))
def test_the_order_of_keys_and_blanks_do_not_matter(value: dict[str, Any]) -> None:
    assert digest(json.dumps(value)) == digest(json.dumps(shuffled(value), indent=3))


@given(st.text())
def test_any_text_has_a_digest(text: str) -> None:
    assert digest(text) == digest(text)
    assert len(digest(text)) == 16


@given(st.text(alphabet="0123456789:-./ []()tmpTZ+sm|%=#\r\b\x1b", max_size=60))
def test_what_is_nearly_noise_has_a_digest(text: str) -> None:
    assert len(digest(text)) == 16


@pytest.mark.parametrize(
    "text", ["\ud800", "\x1b", "\x1b[", "\x1b]", "\r", "\b\b", "[" * 9, "{", "1" * 5000, "\x9b1"]
)
def test_broken_texts_have_a_digest(text: str) -> None:
    assert len(digest(text * 50)) == 16


def test_only_the_ends_of_a_long_text_count() -> None:
    begin, end = "begin " * 2000, " end" * 3000
    assert digest(begin + "x" * 50_000 + end) == digest(begin + "y" * 90_000 + end)
    assert digest("a" * LIMIT + "x" + "b" * LIMIT) == digest("a" * LIMIT + "y" + "b" * LIMIT)
    assert digest("x" + "a" * 3 * LIMIT) != digest("y" + "a" * 3 * LIMIT)


@given(json_values)
def test_json_is_read_as_json_does(value: Any) -> None:
    expected = value if isinstance(value, dict | list) else None
    assert parsed(f" {json.dumps(value)}\n") == expected


@pytest.mark.parametrize(
    "text", ["{", "[1,]", "{}x", "[" * 100_000 + "]" * 100_000, '{"a":1}{', "[NaN", "nul", ""]
)
def test_what_is_no_json_is_none(text: str) -> None:
    assert parsed(text) is None


def test_canonical_values() -> None:
    assert canonical({"b": 1, "a": None}) == canonical({"b": 1.0})
    assert canonical({"a": [1, "1"]}) != canonical({"a": ["1", 1]})
    assert canonical("a") != canonical(["a"])
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert canonical(deep)
    circle: dict[str, Any] = {}
    circle["a"] = circle
    assert canonical(circle)
    assert canonical({1: 2, "a": {3, 4}, "b": b"x"})
    assert canonical(10**5000) != canonical(10**5000 + 1)


@pytest.mark.parametrize(
    "result, shell, failed",
    [
        (ToolResult("", exit_code=0), True, False),
        (ToolResult("", exit_code=1), True, True),
        (ToolResult('{"output": "", "exit_code": 2, "error": null}'), True, True),
        (ToolResult('{"output": "[]", "exit_code": 0, "error": null}'), True, False),
        (ToolResult("Error: no", exit_code=0), True, False),
        (ToolResult("Error: no"), False, True),
        (ToolResult("KeyError: 'a'"), False, True),
        (ToolResult("The error is on line 3"), False, False),
        (ToolResult({"error": "x"}), False, True),
        (ToolResult({"error": None}), False, False),
        (ToolResult({"success": False}), False, True),
        (ToolResult({"isError": True, "content": []}), False, True),
        (ToolResult({"error": "x", "guardrail_refusal": True}), False, False),
        (ToolResult([{"type": "text", "text": "Error: no"}]), False, True),
        (ToolResult("ok", failed=True), False, True),
        (ToolResult({"error": "x"}, failed=False), False, False),
    ],
)
def test_failures_are_worked_out(result: ToolResult, shell: bool, failed: bool) -> None:
    assert outcome_of(result, shell=shell, reads=False).failed is failed


@pytest.mark.parametrize(
    "one, two, same",
    [
        ("ls: cannot access 'd1': No such file", "ls: cannot access 'd1': No such file", True),
        (
            "Traceback (most recent call last):\n  x 3\nKeyError: 'a'",
            "Traceback (most recent call last):\n  y 9\nKeyError: 'a'",
            True,
        ),
        ("error: 812345678 at 12:00:01", "error: 998877665 at 13:00:01", True),
        ("error: line 3", "error: line 4", False),
        ("error: a", "fatal: a", False),
    ],
)
def test_a_failure_is_named_by_the_line_that_says_it(one: str, two: str, same: bool) -> None:
    first, second = (
        outcome_of(ToolResult(text, True, 1), shell=True, reads=False).digest for text in (one, two)
    )
    assert (first == second) == same


def test_the_exit_code_is_part_of_the_result() -> None:
    codes = {outcome_of(ToolResult("x", exit_code=code), shell=True, reads=True).digest for code in (0, 1, 2)}
    assert len(codes) == 3


def test_words_of_the_arguments_say_nothing_new() -> None:
    names = {
        outcome_of(
            ToolResult(f"cat: {name}: No such file", exit_code=1),
            shell=True,
            reads=True,
            words=frozenset(["cat", name]),
        ).digest
        for name in ("alpha.txt", "beta.txt")
    }
    assert len(names) == 1


def test_the_hash_of_nothing_is_nothing() -> None:
    assert outcome_of(ToolResult(sha256=EMPTY_SHA256), shell=True, reads=True).vain
    assert not outcome_of(ToolResult(sha256="0" * 64), shell=True, reads=True).vain


@pytest.mark.parametrize(
    "text", ["continue", "Continue.", " please  continue! ", "go on", "OK", "yes", "weiter"]
)
def test_bare_turns(text: str) -> None:
    assert is_bare(text)
    assert is_bare(
        "This session is being continued from a previous conversation that ran out of context. ..."
    )


@pytest.mark.parametrize(
    "text", ["continue with the tests", "no", "stop", "", "ok, but use the other file", "x" * 10**6]
)
def test_other_turns(text: str) -> None:
    assert not is_bare(text)


@pytest.mark.parametrize(
    "content, reads, vain",
    [
        ({"items": [], "total": 0}, True, True),
        ({"items": [], "groups": {}}, True, True),
        ({"items": [], "total": 0}, False, False),  # a write may well answer so
        ({"items": [], "name": "x"}, True, False),
        ({"items": [1], "groups": []}, True, False),
        ({"total": 0}, True, False),
        ("No files found", True, True),
        ("0 matches found", False, True),
        ("10 matches found", True, False),
        ("No replacement was performed, old_str `a` did not appear verbatim in f.", False, True),
        ("The edit did not result in any changes to the file.", False, True),
        ("The file was updated.", False, False),
    ],
)
def test_what_came_to_nothing(content: object, reads: bool, vain: bool) -> None:
    assert outcome_of(ToolResult(content), shell=False, reads=reads).vain is vain


def test_a_label_of_the_command_is_no_part_of_its_result() -> None:
    names = {
        outcome_of(ToolResult(f"{label}\nthe text"), shell=True, reads=True, labels=frozenset([label])).digest
        for label in ("== a ==", "once more")
    }
    assert len(names) == 1
