# SPDX-License-Identifier: Apache-2.0
"""The grammar itself: no conflict, the words of the scanner, and a place for every node of the tree."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from lark.exceptions import GrammarError

from shellguard.errors import ShellSyntaxError
from shellguard.syntax import nodes
from shellguard.syntax.nodes import Node, Script
from shellguard.syntax.tokens import RESERVED
from shellguard.syntax.walk import walk
from tests.grammar import lark_parser
from tests.grammar.test_same_tree import PROGRAMS, reading
from tests.syntax.cases import read_cases

WITHIN_ONE_TOKEN = {"[[", "]]", "function", "time"}
"""Reserved words that the scanner takes together with what follows them: CONDITION, FUNCTION_HEAD, TIME."""


def trees() -> list[Script]:
    """What the grammar makes of the programs that it accepts."""
    read = (reading(lark_parser.parse, case.text) for case in read_cases(PROGRAMS))
    return [tree for tree in read if tree is not None]


def node_types() -> set[type[Node]]:
    """Every type of node that nodes.py defines."""
    found = {value for value in vars(nodes).values() if isinstance(value, type) and issubclass(value, Node)}
    return found - {Node}


def without_a_place(types: Iterable[type[Node]], scripts: Iterable[Script]) -> set[str]:
    """The names of those types that occur in none of the scripts."""
    seen = {type(node) for script in scripts for node in walk(script)}
    return {kind.__name__ for kind in types if kind not in seen}


def test_every_node_has_a_place_in_the_grammar() -> None:
    """Nodes of commands are made by the rules of the grammar, all others by the scanner inside its tokens."""
    missing = without_a_place(node_types(), trees())
    assert not missing, "add it to bash.lark, to lark_parser.py and to programs.txt"


def test_a_node_without_a_place_is_noticed() -> None:
    class Loop(Node):
        """A node somebody adds to nodes.py and to nothing else."""

    assert without_a_place({*node_types(), Loop}, trees()) == {"Loop"}


def test_a_rule_that_is_lost_is_noticed() -> None:
    loops = [tree for tree in trees() if not any(type(node) is nodes.Select for node in walk(tree))]
    assert without_a_place(node_types(), loops) == {"Select"}


def test_every_rule_makes_a_node() -> None:
    rules = {rule.origin.name for rule in lark_parser.LARK.rules if not rule.origin.name.startswith("_")}
    methods = {name for name in vars(lark_parser.Builder) if not name.startswith("_")}
    assert rules == {name for name in methods if not name.endswith("_")}


def test_reserved_words_are_those_of_the_scanner() -> None:
    spellings = {terminal.pattern.value for terminal in lark_parser.LARK.terminals}
    operators = {spelling for spelling in spellings if set(spelling) <= set(";&|()")}
    assert spellings - operators == RESERVED - WITHIN_ONE_TOKEN


def test_a_conflict_is_an_error() -> None:
    """Lark would settle a conflict in silence if it were not strict."""
    text = lark_parser.GRAMMAR.read_text("utf-8")
    line = "last_case_arm:  _patterns script\n"
    assert line in text
    planted = (
        line + '              | _patterns script "(" body ")"\n'
    )  # is the parenthesis the last command of `script`?
    with pytest.raises(GrammarError, match="conflict"):
        lark_parser.load(text.replace(line, planted))


def test_a_refusal_names_the_place() -> None:
    with pytest.raises(ShellSyntaxError, match=r"^2:1: the grammar has no place for FI here$"):
        lark_parser.parse("a\nfi")
