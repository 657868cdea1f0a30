# SPDX-License-Identifier: Apache-2.0
"""The few questions that the model itself answers: patterns, credential paths."""

from __future__ import annotations

import time

import pytest

from shellguard.rules.load import load_paths
from shellguard.rules.model import Pattern


@pytest.mark.parametrize(
    ("pattern", "value", "fits"),
    [
        ("cat", "cat", True),
        ("cat", "cat ", False),
        ("", "", True),
        ("", "x", False),
        ("*", "", True),
        ("*", "any\nthing", True),
        ("color.*", "color.ui=false", True),
        ("color.*", "core.color.ui", False),
        ("*=@*", "query=@file", True),
        ("*=@*", "query=x", False),
        ("*=@*", "=@", True),
        ("log.<word>=*", "log.date=iso", True),
        ("log.<word>=*", "log.=iso", False),
        ("log.<word>=*", "log.a b=iso", False),
        ("<word>", "", False),
        ("<word>", "de_DE.UTF-8", True),
        ("<word>", "../x", False),
        ("<number>", "12", True),
        ("<number>", "1x", False),
        ("<number>", "٣", False),  # a digit, but no ASCII digit
        ("a<number>b*c", "a1bxc", True),
        ("a<number>b*c", "a1bx", False),
        ("[x]?", "[x]?", True),
        ("[x]?", "xx", False),
        ("<b", "<b", True),
    ],
)
def test_patterns(pattern: str, value: str, fits: bool) -> None:
    assert Pattern(pattern).matches(value) is fits


def test_a_pattern_takes_no_time_for_ever() -> None:
    start = time.process_time()
    assert not Pattern("*a" * 30).matches("a" * 5_000 + "b")
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("pattern", "prefix", "fits"),
    [
        ("+*", "+%", True),
        ("+*", "", False),
        ("a", "a", False),
        ("a*b*", "aXb", False),
        ("*", "", True),
    ],
)
def test_what_is_known_of_a_prefix(pattern: str, prefix: str, fits: bool) -> None:
    assert Pattern(pattern).matches_all_after(prefix) is fits


PATHS = load_paths(
    'sensitive:\n  - .ssh/*\n  - id_rsa\n  - .env.*\n  - /etc/shadow*\nnot_sensitive: ["*.pub", .env.example]\n',
    "_paths.yaml",
)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("~/.ssh/config", 2),
        ("/home/u/.ssh/id_rsa", 2),
        (".ssh/x/y", 2),
        ("id_rsa", 3),
        ("keys/id_rsa", 3),
        ("id_rsa/", 3),
        ("id_rsa.pub", None),
        ("~/.ssh/id_rsa.pub", None),
        ("my.ssh/x", None),
        (".env.local", 4),
        ("a/.env.local", 4),
        (".env.example", None),
        ("/etc/shadow-", 5),
        ("etc/shadow", None),
        ("x/etc/shadow", None),
        ("", None),
    ],
)
def test_credential_paths(name: str, line: int | None) -> None:
    assert PATHS.line_for(name) == line
