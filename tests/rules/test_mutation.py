# SPDX-License-Identifier: Apache-2.0
"""A rule file says nothing that could be lost unseen: see `tools/mutate_rules.py`, which tries every entry."""

from __future__ import annotations

import pytest

from shellguard.rules.tree import tree
from tools.mutate_rules import Subject, _changed_files, _without_name, entries, run_file, run_sample

SAMPLE, SEED = 500, 20261130
LIMIT = 150
"""Entries of a changed file that are tried; of a longer one a part is drawn."""


def test_a_deleted_entry_makes_nothing_milder_unseen() -> None:
    """500 entries of all files, always the same ones."""
    tried, found = run_sample(SAMPLE, SEED)
    assert tried > SAMPLE * 0.9
    assert [str(finding) for finding in found] == []


@pytest.mark.parametrize("file", _changed_files())
def test_nor_does_one_of_a_file_that_is_changed(file: str) -> None:
    tried, found = run_file(file) if len(Subject(file).entries) < LIMIT else run_sample(LIMIT, SEED, [file])
    assert tried
    assert [str(finding) for finding in found] == []


RULE = """\
command: x
summary: s
flags: -a --all, -b
options:
  -o --out: {takes: one, effect: [writes, reads]}
  -v: {}
operands:
  - {name: a, absent_with: [-a]}
subcommands:
  c, d:
    effect: reads
"""


def test_every_entry_is_found_but_documentation() -> None:
    places = [entry.place for entry in entries(tree(RULE, "x.yaml"))]
    assert "summary" not in places
    assert places == [
        *("flags", "flags (-a)", "flags (--all)", "flags (-b)"),
        *("options", "options.-o --out", "options.-o --out (-o)", "options.-o --out (--out)"),
        *("options.-o --out.takes", "options.-o --out.effect"),
        *("options.-o --out.effect[writes]", "options.-o --out.effect[reads]", "options.-v"),
        *("operands", "operands[0]", "operands[0].name", "operands[0].absent_with"),
        "operands[0].absent_with[-a]",
        *("subcommands", "subcommands.c, d", "subcommands.c, d (c)", "subcommands.c, d (d)"),
        "subcommands.c, d.effect",
    ]


def test_a_deletion_is_undone() -> None:
    root = tree(RULE, "x.yaml")
    before = [entry.place for entry in entries(root)]
    for entry in entries(root):
        undo = entry.delete()
        assert [each.place for each in entries(root)] != before
        undo()
        assert [each.place for each in entries(root)] == before


@pytest.mark.parametrize(
    "text, name, left",
    [
        ("-a --all, -b", "-a", "--all, -b"),
        ("-a --all, -b", "-b", "-a --all"),
        ("c, d", "c", "d"),
        ("-a", "-a", ""),
    ],
)
def test_a_name_goes_with_its_comma(text: str, name: str, left: str) -> None:
    assert _without_name(text, name) == left
