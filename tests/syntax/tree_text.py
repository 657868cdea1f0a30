# SPDX-License-Identifier: Apache-2.0
"""A syntax tree as text that a person can check: one S-expression a statement, without spans.

    "ls"                     a word of plain text            [(single "a") "b"]   a word of several parts; [] is empty
    (simple "ls" "-l")       a command                       (statement (simple "ls") (redirect ">" "f") +negated)
    name=...                 a field that may be missing     +background          a field that is true

A statement that carries nothing but its command is that command. Strings are written as in JSON, all but
ASCII escaped.
"""

from __future__ import annotations

import json
from typing import TypeAlias

from shellguard.syntax.nodes import AndOr, CommandSub, Node, Param, Pipeline, Script, Statement, Text, Word

Tree: TypeAlias = "str | list[Tree]"

WIDTH = 110

LABELLED = frozenset(
    (
        *(
            "index",
            "otherwise",
            "first",
            "condition",
            "step",
            "words",
            "descriptor",
            "prefix",
            "name",
            "expression",
        ),
        *("user", "last", "delimiter", "target", "terminator"),
    )
)
"""Fields written with their name: they may be missing, or their meaning is not plain from the place."""

PLAIN_NAME = frozenset(("Assignment", "Variable", "ForWords", "Select", "Function"))
PLAIN_TARGET = frozenset(("Redirect",))
PLAIN_CONDITION = frozenset(("IfArm", "While", "Conditional", "Ternary", "CondNot", "CondGroup"))


def tree_text(script: Script) -> str:
    """The statements of a script, each beginning on a line of its own; `(nothing)` for none."""
    return "\n".join(_folded(_tree(statement), 0) for statement in script.statements) or "(nothing)"


def _string(text: str) -> str:
    return json.dumps(text)


def _tree(node: Node) -> Tree:
    match node:
        case Text(text):
            return _string(text)
        case Word((Text(text),)):
            return _string(text)
        case Word(parts):
            return ["[", *(_tree(part) for part in parts)]
        case Statement(command, (), False, False):
            return _tree(command)
        case Pipeline(parts, pipes_stderr):
            joints = ["|&" if pipes else "|" for pipes in pipes_stderr]
            return ["pipeline", *_interleaved(parts, joints)]
        case AndOr(parts, operators):
            return ["and-or", *_interleaved(parts, list(operators))]
        case CommandSub(script, form):
            return ["command-sub", *([] if form == "$(" else [_string(form)]), *map(_tree, script.statements)]
        case Param(name, index, prefix, operator, arguments):
            tree: list[Tree] = ["param", *([_string(prefix)] if prefix else []), name]
            if index is not None:
                tree.append(["index=", _tree(index)])
            if operator:
                tree.append(_string(operator))
            return [*tree, *("-" if argument is None else _tree(argument) for argument in arguments)]
    return [_kebab(type(node).__name__), *_fields(node)]


def _interleaved(parts: tuple[Statement, ...], joints: list[str]) -> list[Tree]:
    tree: list[Tree] = [_tree(parts[0])]
    for joint, part in zip(joints, parts[1:], strict=True):
        tree += [joint, _tree(part)]
    return tree


def _fields(node: Node) -> list[Tree]:
    tree: list[Tree] = []
    kind = type(node).__name__
    for name in node.__match_args__:
        value = getattr(node, name)
        if name == "span" or value is None or value is False:
            continue
        if value is True:
            tree.append(f"+{name}")
            continue
        values = list(value) if isinstance(value, tuple) else [value]
        trees = [_tree(item) if isinstance(item, Node) else _string(item) for item in values]
        if _labelled(kind, name, value):
            tree.append([f"{name}=", *trees])
        else:
            tree += trees
    return tree


def _labelled(kind: str, name: str, value: object) -> bool:
    if name == "words" and kind == "Simple":
        return False
    if (name == "name" and kind in PLAIN_NAME) or (name == "target" and kind in PLAIN_TARGET):
        return False
    if name == "condition" and kind in PLAIN_CONDITION:
        return False
    if name == "expression" or (name == "first" and kind == "BraceRange"):
        return False
    if name in ("last", "step") and kind == "BraceRange":
        return bool(value) and name == "step"
    return name in LABELLED


def _kebab(name: str) -> str:
    return "".join(f"-{char.lower()}" if char.isupper() else char for char in name).lstrip("-")


def _flat(tree: Tree) -> str:
    if isinstance(tree, str):
        return tree
    head = tree[0]
    if head == "[":
        return "[" + " ".join(map(_flat, tree[1:])) + "]"
    if isinstance(head, str) and head.endswith("="):
        inner = " ".join(map(_flat, tree[1:]))
        return head + (inner if len(tree) == 2 else f"({inner})")
    return "(" + " ".join(map(_flat, tree)) + ")"


def _folded(tree: Tree, indent: int) -> str:
    """On one line if it fits, else the head with the plain strings behind it, and each child on a line of its own."""
    flat = _flat(tree)
    if isinstance(tree, str) or len(flat) + indent <= WIDTH:
        return flat
    head = tree[0]
    assert isinstance(head, str)
    if head.endswith("=") and len(tree) == 2:
        return head + _folded(tree[1], indent + len(head))
    opening, closing = (
        ("[", "]") if head == "[" else (f"{head}(", ")") if head.endswith("=") else (f"({head}", ")")
    )
    lines = [opening]
    for child in tree[1:]:
        if isinstance(child, str) and len(lines) == 1:
            lines[0] += f" {child}" if lines[0] != "[" else child
        else:
            lines.append(" " * (indent + 2) + _folded(child, indent + 2))
    return "\n".join(lines) + closing
