# SPDX-License-Identifier: Apache-2.0
"""The shape of the package, read from its source: who imports whom, and what code calls that must not.

`tests/test_architecture.py` runs these checks on the package and on copies with a planted mistake.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = "shellguard"

BASE = ("_version", "spans", "errors")
SHELL = (*BASE, "syntax", "values")
ENGINE = (*SHELL, "effects", "rules", "analysis", "verdict", "findings", "explain", "engine")
OUTSIDE = ("guard", "transcripts", "agents", "adapters", "replay", "approval")

ORDER: dict[str, tuple[str, ...]] = {
    # layer: what it may import besides itself, which is always something above it in this table.
    # A layer is a module or a folder right below the package.
    "_version": (),
    "spans": (),
    "errors": ("spans",),
    "places": ("errors",),
    "board": (*BASE, "places"),
    # Two chains meet in `analysis`: the shell, which knows no command, and the rules, which know no shell.
    "syntax": BASE,
    "values": (*BASE, "syntax"),
    "effects": BASE,
    "rules": (*BASE, "effects", "places", "_version"),
    "analysis": (*SHELL, "effects", "rules"),
    "verdict": (*SHELL, "effects", "rules", "analysis"),
    "findings": (*BASE, "effects"),
    "explain": (*SHELL, "effects", "rules", "analysis", "verdict", "findings"),
    "engine": (*SHELL, "effects", "rules", "analysis", "verdict", "explain"),
    "advice": (*SHELL, "effects", "rules", "analysis", "verdict", "findings"),
    "redact": (),
    # The front door gives out public names, and knows nothing of what stands outside the engine.
    "__init__": ENGINE,
    # What stands outside calls the engine, and does not know its neighbours beyond what it composes.
    "guard": (*ENGINE, "places"),
    "transcripts": BASE,
    "agents": (*ENGINE, "guard", "places"),
    "adapters": (*ENGINE, "guard"),
    "replay": (*ENGINE, "guard", "transcripts", "redact", "places"),
    "approval": (*ENGINE, "places"),
    "workers": (*ENGINE, "places", *OUTSIDE, "board"),
    "cli": (*ENGINE, "places", "advice", "redact", "__init__", *OUTSIDE, "board", "workers"),
    "hook": ("cli",),
    "__main__": ("cli",),
}

PURE = (
    *("spans", "errors", "syntax", "values", "effects", "rules.model", "analysis", "verdict", "findings"),
    *("advice", "redact"),
    *(
        "guard.model",
        "guard.hashing",
        "guard.canonical",
        "guard.noise",
        "guard.digest",
        "guard.tools",
        "guard.keys",
        "guard.config",
    ),
    *(
        "guard.turns",
        "guard.events",
        "guard.window",
        "guard.texts",
        "guard.steps",
        "guard.snapshot",
        "guard.records",
    ),
    *("approval.flow", "approval.gate", "approval.inside", "approval.python_text", "approval.statements"),
    "workers.resume",
)
"""Modules whose answers depend on their arguments alone. A pure module imports only pure modules."""

HEAVY = frozenset(
    {
        *("argparse", "asyncio", "click", "collections", "dataclasses", "difflib", "enum"),
        *("functools", "hashlib", "inspect", "json", "lark", "logging", "pathlib"),
        *("random", "re", "rich", "site", "socket", "subprocess", "tempfile"),
        *("threading", "tomllib", "typing", "yaml"),
    }
)
"""What a hook cannot afford to import, or has no use for."""

IMPURE_MODULES = frozenset(
    {
        *(
            "asyncio",
            "builtins",
            "concurrent",
            "ctypes",
            "datetime",
            "fcntl",
            "fileinput",
            "getpass",
            "glob",
            "http",
        ),
        *(
            "importlib",
            "io",
            "logging",
            "multiprocessing",
            "nt",
            "ntpath",
            "os",
            "pathlib",
            "pkgutil",
            "platform",
        ),
        *(
            "posix",
            "posixpath",
            "random",
            "resource",
            "runpy",
            "secrets",
            "select",
            "shutil",
            "signal",
            "socket",
        ),
        *("sqlite3", "ssl", "subprocess", "tempfile", "threading", "time", "urllib", "uuid", "winreg"),
    }
)
IMPURE_NAMES = frozenset({"open", "input", "print", "exec", "eval", "compile", "__import__", "breakpoint"})
IMPURE_METHODS = frozenset({"read_text", "read_bytes", "write_text", "write_bytes"})
"""Of `Path`; no class of ours may give one of these names to something else."""

NEVER = {
    "bashlex": "it is under the GPL, and only a witness in the tests",
    "tree_sitter": "it is only a witness in the tests",
    "tree_sitter_bash": "it is only a witness in the tests",
    "tests": "the package must work without its tests",
    "tools": "the package must work without the tools",
}

ONLY_IN = {
    "sqlalchemy": ("board", "workers"),
    "psycopg": ("board", "workers"),
    "dbos": ("workers",),
    "psutil": ("workers",),
}
"""Libraries of the extra `workers`, and the layers that may import them: all else works without the extra."""

READERS_OF_SHELL_TEXT = ("syntax", "values", "analysis")

BLANK_TRAPS = frozenset({"split", "rsplit", "strip", "lstrip", "rstrip"})
UNICODE_TRAPS = frozenset(
    {
        *(
            "isspace",
            "isalnum",
            "isalpha",
            "isdigit",
            "isdecimal",
            "isnumeric",
            "isidentifier",
            "isprintable",
        ),
        *("islower", "isupper", "splitlines"),
    }
)


@dataclass(frozen=True)
class Import:
    """One imported module or name. `target` is absolute; `runs` is false where only the checker reads it."""

    target: str
    line: int
    runs: bool


def module_name(path: Path, package: Path) -> str:
    """`syntax/words.py` -> `syntax.words`, `syntax/__init__.py` -> `syntax`, `__init__.py` -> `__init__`."""
    parts = list(path.relative_to(package).with_suffix("").parts)
    if len(parts) > 1 and parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


def modules(package: Path) -> Iterator[tuple[str, Path, ast.Module]]:
    """Every source file below `package`: its name inside the package, its path, its tree."""
    for path in sorted(package.rglob("*.py")):
        yield module_name(path, package), path, _parsed(path.read_text(encoding="utf-8"))


@cache
def _parsed(source: str) -> ast.Module:
    """The same files are looked at again in every copy of the package."""
    return ast.parse(source)


def imports(tree: ast.Module, path: Path, package: Path) -> Iterator[Import]:
    """Every import of a module, wherever it stands: at the top, in a function, or for the checker only.

    A name taken from a module counts as `module.name`, since it may be a module of its own. `import_module`
    and `__import__` count when their argument is written out.
    """
    for node, runs in _nodes(tree):
        match node:
            case ast.Import(names):
                for alias in names:
                    yield Import(alias.name, node.lineno, runs)
            case ast.ImportFrom(module, names, level):
                base = _absolute(module or "", level, path, package)
                for alias in names:
                    yield Import(f"{base}.{alias.name}" if base else alias.name, node.lineno, runs)
            case ast.Call(func, [ast.Constant(str(name)), *_]) if _last_name(func) in {
                "import_module",
                "__import__",
            }:
                yield Import(name, node.lineno, runs)
            case _:
                pass


def layer_faults(package: Path) -> list[str]:
    """Imports against the order. Those for the checker count too: who names a type knows its module."""
    faults = []
    for name, path, tree in modules(package):
        layer = name.partition(".")[0]
        if layer not in ORDER:
            faults.append(f"{name}: no such layer in ORDER; say there where it stands")
            continue
        for found in imports(tree, path, package):
            root, _, rest = found.target.partition(".")
            if root in NEVER:
                faults.append(f"{name}:{found.line}: imports {root}: {NEVER[root]}")
            elif layer not in ONLY_IN.get(root, (layer,)):
                faults.append(f"{name}:{found.line}: imports {root}, which is of {ONLY_IN[root][0]}")
            elif root == PACKAGE:
                target = _layer_of(rest, package)
                if target not in (layer, *ORDER[layer]):
                    faults.append(f"{name}:{found.line}: {layer} may not import {target}")
    return faults


def purity_faults(package: Path) -> list[str]:
    """What makes a pure module depend on more than its arguments. Imports for the checker run nothing."""
    faults = []
    for name, path, tree in modules(package):
        if not _is_pure(name):
            continue
        for found in imports(tree, path, package):
            root, _, rest = found.target.partition(".")
            if not found.runs:
                continue
            if root in IMPURE_MODULES:
                faults.append(f"{name}:{found.line}: imports {root}")
            elif root == PACKAGE and not _is_pure(rest):
                faults.append(f"{name}:{found.line}: imports {found.target}, which is not pure")
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=used, ctx=ast.Load()) if used in IMPURE_NAMES:
                    faults.append(f"{name}:{node.lineno}: uses {used}")
                case ast.Attribute(attr=used) if used in IMPURE_METHODS:
                    faults.append(f"{name}:{node.lineno}: uses .{used}")
                case _:
                    pass
    return faults


def blank_faults(package: Path) -> list[str]:
    """Methods of `str` whose idea of a blank, a letter or a digit is that of Unicode and not that of a shell.

    `split` and `strip` are fine when told what to remove, the others behind `x.isascii() and`. Those are faults
    even where they are not called: they may be handed on.
    """
    faults = []
    for name, _, tree in modules(package):
        if name.partition(".")[0] not in READERS_OF_SHELL_TEXT:
            continue
        in_ascii = _questions_about_ascii(tree)
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(attr=used) if used in UNICODE_TRAPS and node not in in_ascii:
                    faults.append(f"{name}:{node.lineno}: .{used}")
                case ast.Call(ast.Attribute(attr=used), args, keywords) if used in BLANK_TRAPS:
                    told = [*args[:1], *(word.value for word in keywords if word.arg == "sep")]
                    if all(isinstance(value, ast.Constant) and value.value is None for value in told):
                        faults.append(f"{name}:{node.lineno}: .{used}() without an argument")
                case _:
                    pass
    return faults


def _questions_about_ascii(tree: ast.Module) -> set[ast.Attribute]:
    """Every `x.isdigit` that stands behind `x.isascii() and`, where Unicode has nothing left to say."""
    found = set()
    for node in ast.walk(tree):
        if not (isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And)):
            continue
        ascii_only: set[str] = set()
        for value in node.values:
            match value:
                case ast.Call(ast.Attribute(asked, "isascii")):
                    ascii_only.add(ast.dump(asked))
                case ast.Call(ast.Attribute(asked) as question) if ast.dump(asked) in ascii_only:
                    found.add(question)
                case _:
                    pass
    return found


def _is_pure(name: str) -> bool:
    return any(name == pure or name.startswith(f"{pure}.") for pure in PURE)


def _layer_of(name: str, package: Path) -> str:
    """The layer of `shellguard.<name>`; what is no module, such as `classify`, belongs to the front door."""
    layer = name.partition(".")[0]
    is_module = layer != "" and ((package / layer).is_dir() or (package / f"{layer}.py").is_file())
    return layer if is_module or layer in ORDER else "__init__"


def _absolute(module: str, level: int, path: Path, package: Path) -> str:
    """The dotted name behind `from <level dots><module> import ...` in the file at `path`."""
    if level == 0:
        return module
    inside = [PACKAGE, *path.relative_to(package).parent.parts]
    return ".".join([*inside[: len(inside) - level + 1], *([module] if module else [])])


def _last_name(func: ast.expr) -> str:
    match func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _nodes(tree: ast.Module) -> Iterator[tuple[ast.AST, bool]]:
    """Every node, and whether it runs: false inside the body of `if TYPE_CHECKING:`."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, True)]
    while waiting:
        node, runs = waiting.pop()
        yield node, runs
        hidden: list[ast.stmt] = []
        if isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING":
            hidden = node.body
        waiting.extend((child, runs and child not in hidden) for child in ast.iter_child_nodes(node))
