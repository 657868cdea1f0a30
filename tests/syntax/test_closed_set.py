# SPDX-License-Identifier: Apache-2.0
"""A node type cannot be added halfway: it is in the unions, printed, walked, in the grammar, and in the frozen trees.

Each check runs on the nodes of the package, where it must find nothing, and once more with one planted class
that it must find.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from shellguard.syntax import nodes, printer
from shellguard.syntax.nodes import Node, Script, Simple, Statement, Text, Word
from shellguard.syntax.parse import parse
from shellguard.syntax.printer import to_text
from shellguard.syntax.walk import children, moved, walk
from tests.syntax.cases import TREES, Case, read_cases

ROOT = Path(__file__).resolve().parents[2]
UNIONS = ("Command", "Redirection", "WordPart", "Arith", "Condition", "AnyNode")


def node_types() -> dict[str, type[Node]]:
    """Every class of nodes.py that is a node, by name."""
    return {
        name: value
        for name, value in vars(nodes).items()
        if isinstance(value, type) and issubclass(value, Node) and value is not Node
    }


def unions() -> dict[str, set[str]]:
    """The members of each union in the `if TYPE_CHECKING` part of nodes.py, unions inside unions resolved."""
    tree = ast.parse(Path(nodes.__file__ or "").read_text("utf-8"))
    found: dict[str, set[str]] = {}
    for block in tree.body:
        if isinstance(block, ast.If):
            for line in block.body:
                if (
                    isinstance(line, ast.AnnAssign)
                    and isinstance(line.target, ast.Name)
                    and line.value is not None
                ):
                    names = {node.id for node in ast.walk(line.value) if isinstance(node, ast.Name)}
                    found[line.target.id] = names
    for name in found:
        while nested := found[name] & found.keys():
            for other in nested:
                found[name] = found[name] - {other} | found[other]
    return found


def missing_in_unions(types: dict[str, type[Node]]) -> set[str]:
    return set(types) ^ unions()["AnyNode"]


def missing_in_cases(types: dict[str, type[Node]]) -> set[str]:
    seen = {type(node).__name__ for case in read_cases(TREES) for node in walk(parse(case.text))}
    return set(types) - seen


def missing_in_printer(types: dict[str, type[Node]]) -> set[str]:
    """Types that no `case` in printer.py names."""
    tree = ast.parse(Path(printer.__file__ or "").read_text("utf-8"))
    named = {
        node.cls.id
        for node in ast.walk(tree)
        if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name)
    }
    return set(types) - named


GRAMMAR = {
    "Script": "script",
    "Statement": "pipes",
    "Simple": "simple",
    "Pipeline": "pipes",
    "AndOr": "and_or",
    "Timed": "TIME",
    "Group": "group",
    "Subshell": "subshell",
    "If": "if",
    "IfArm": "arm",
    "While": "while",
    "ForWords": "for",
    "ForArith": "for_arithmetic",
    "Select": "select",
    "Case": "case",
    "CaseArm": "case_arm",
    "Function": "function",
    "Conditional": "conditional",
    "ArithCommand": "arithmetic",
    "Coproc": "coproc",
    "Assignment": "ASSIGNMENT",
    "Array": "ASSIGNMENT",
    "ArrayElement": "ASSIGNMENT",
    **dict.fromkeys(("Redirect", "HereDoc", "HereString"), "REDIRECTION"),
    **dict.fromkeys(
        ("Word", "Text", "Escaped", "Single", "AnsiC", "Double", "Param", "CommandSub", "ProcessSub"), "WORD"
    ),
    **dict.fromkeys(("ArithSub", "Glob", "ExtGlob", "Brace", "BraceRange", "Tilde"), "WORD"),
    **dict.fromkeys(("Number", "Variable", "ArithWord", "Unary", "Binary", "Ternary"), "ARITHMETIC"),
    **dict.fromkeys(("ArithAssign", "ArithGroup"), "ARITHMETIC"),
    **dict.fromkeys(
        ("CondWord", "CondUnary", "CondBinary", "CondNot", "CondAndOr", "CondGroup"), "CONDITION"
    ),
}
"""Where grammar/bash.lark says each node: the rule that gives it, or the token of the scanner in which it stands."""


def missing_in_grammar(types: dict[str, type[Node]]) -> set[str]:
    """Types without an entry in GRAMMAR, or whose entry names no rule and no token of the grammar."""
    grammar = (ROOT / "grammar" / "bash.lark").read_text("utf-8")
    defined = set(re.findall(r"^(?:%declare )?([A-Za-z_]+)\b(?=:| )", grammar, re.MULTILINE))
    return {name for name in types if GRAMMAR.get(name) not in defined} | GRAMMAR.keys() - types.keys()


class Planted(Node):
    """A node type that somebody forgot everywhere."""

    __slots__ = ("word",)
    __match_args__ = ("word", "span")

    def __init__(self, word: Word, span: tuple[int, int]) -> None:
        self.word, self.span = word, span


PLANTED: dict[str, type[Node]] = {"Planted": Planted}


def test_every_node_is_in_the_unions() -> None:
    assert set(unions()) == set(UNIONS)
    assert missing_in_unions(node_types()) == set()
    assert missing_in_unions(node_types() | PLANTED) == {"Planted"}


def test_every_node_occurs_in_the_frozen_trees() -> None:
    assert missing_in_cases(node_types()) == set()
    assert missing_in_cases(node_types() | PLANTED) == {"Planted"}


def test_every_node_is_named_by_the_printer() -> None:
    assert missing_in_printer(node_types()) == set()
    assert missing_in_printer(node_types() | PLANTED) == {"Planted"}


@pytest.mark.parametrize("name", sorted(node_types()))
def test_every_node_prints_on_its_own(name: str) -> None:
    found = next(
        node for case in read_cases(TREES) for node in walk(parse(case.text)) if type(node).__name__ == name
    )
    assert isinstance(to_text(found), str)  # type: ignore[arg-type]  # that it is in AnyNode has a test above


def test_the_printer_refuses_what_it_does_not_know() -> None:
    with pytest.raises(AssertionError):
        to_text(Planted(Word((), (0, 0)), (0, 0)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(node_types()))
def test_fields_are_slots_and_match_arguments_alike(name: str) -> None:
    """The generic functions go by `__match_args__`: a slot that is missing there would be lost by all of them."""
    kind = node_types()[name]
    assert {*kind.__slots__, "span"} == set(kind.__match_args__)
    assert kind.__match_args__[-1] == "span"
    arguments = kind.__init__.__code__.co_varnames[1 : kind.__init__.__code__.co_argcount]
    assert arguments == kind.__match_args__, "moved() builds a node by position"


def nodes_by_hand(node: Node) -> set[int]:
    """The ids of all nodes reachable through any attribute, found without `children`."""
    found = {id(node)}
    for kind in type(node).__mro__:
        for slot in getattr(kind, "__slots__", ()):
            value = getattr(node, slot)
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Node):
                    found |= nodes_by_hand(item)
    return found


@pytest.mark.parametrize("case", read_cases(TREES), ids=lambda case: f"{case.line}:{case.title}")
def test_walk_reaches_every_node(case: Case) -> None:
    script = parse(case.text)
    assert {id(node) for node in walk(script)} == nodes_by_hand(script)


def test_a_forgotten_field_would_be_noticed() -> None:
    class Forgetful(Node):
        __slots__ = ("hidden", "word")
        __match_args__ = ("word", "span")

        def __init__(self, word: Word, hidden: Word) -> None:
            self.word, self.hidden, self.span = word, hidden, (0, 0)

    node = Forgetful(Word((), (0, 0)), Word((), (0, 0)))
    assert {id(below) for below in walk(node)} != nodes_by_hand(node)


def test_walk_goes_in_order() -> None:
    texts = [node.text for node in walk(parse("a b; c $(d e) f")) if isinstance(node, Text)]
    assert texts == ["a", "b", "c", "d", "e", "f"]


def test_moved_moves_every_span() -> None:
    for case in read_cases(TREES):
        script = parse(case.text)
        shifted = moved(script, [place + 7 for place in range(len(case.text) + 1)])
        assert shifted == script
        for before, after in zip(walk(script), walk(shifted), strict=True):
            assert after.span == (before.span[0] + 7, before.span[1] + 7)


def test_equality_and_hash_leave_spans_out() -> None:
    one, other = parse("ls  -l"), parse(" ls -l;")
    assert one == other
    assert hash(one) == hash(other)
    assert one != parse("ls -la")
    assert one.__eq__("ls") is NotImplemented
    assert list(children(one)) == [one.statements[0]]
    assert isinstance(one, Script)
    assert isinstance(one.statements[0], Statement)
    assert isinstance(one.statements[0].command, Simple)
    assert eval(repr(one), dict(vars(nodes))) == one, "a node shows how it is made"


def test_every_node_is_in_the_grammar() -> None:
    assert missing_in_grammar(node_types()) == set()
    assert missing_in_grammar(node_types() | PLANTED) == {"Planted"}
