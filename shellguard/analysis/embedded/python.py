# SPDX-License-Identifier: Apache-2.0
"""Python in a word or on standard input (`-c`, `-`): what its text can reach is listed, and nothing else is a read.

No value is followed. A text begins with the names of `python_names.py` and gets further values by calling them, by
asking for listed attributes, and from functions of its own. None of these writes, starts a program or hands out what
would, whatever it is given: then it does not matter what is called with what, through how many aliases, operators or
containers. A class, a decorator or an attribute that is set could change what listed names do (an `==` of its own,
`__reduce_ex__`), so a text with one is no read; none of the 50 texts with which agents were seen to read has any. So
three things are looked at, each where it stands:

- a name or attribute that is loaded: is it listed?
- a function for which it depends on the arguments (`open`): is it called on the spot, with arguments that are seen?
- a module: is it only asked for listed names? It is never a value, and neither is what changes imports (`sys.path`);

An attribute that writes on one type only (`replace`: of a path, not of a string) counts where the module of that type
is imported, unless the value is certainly a text.

The folder: without `-I` or `-P` the current folder is searched first for modules (`''` in `sys.path`), since 3.13 also
for the one that prints an error. The listed modules are taken for those of the library, and the mark says so; anything
else that is imported is not a read. The tree is that of the Python that runs this; a text that an older or newer one
refuses does nothing there. Python 2 reads the listed names alike.
"""

from __future__ import annotations

import ast
import warnings

from shellguard.analysis.embedded import CONFIGURED, Finding, NotUnderstoodError
from shellguard.analysis.embedded.python_names import (
    ASKED,
    ATTRIBUTES,
    BOUND,
    BUILTINS,
    CHECKED,
    CODECS,
    DUNDERS,
    LATENT,
    LIST_METHODS,
    LOOKERS,
    MODES,
    MODULES,
    MUTE,
    NAMED_AT_RUN_TIME,
    OPEN_TYPES,
    PACKAGES,
    SEALED,
    TEXT_METHODS,
    WRITES_WITH,
)
from shellguard.effects import Effect

MAX_LENGTH = 60_000
"""Characters; a longer text is not read. The longest that was seen an agent write had 50,000."""

MAX_DEPTH, MAX_STEPS = 12, 20_000
"""How far the question whether a value is a text is followed, and how much of it in a whole text."""

_NODES = (
    *(ast.Module, ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.Delete, ast.Pass),
    *(ast.For, ast.While, ast.If, ast.With, ast.withitem, ast.Try, ast.ExceptHandler, ast.Raise, ast.Assert),
    *(
        ast.Break,
        ast.Continue,
        ast.Import,
        ast.ImportFrom,
        ast.alias,
        ast.FunctionDef,
        ast.Lambda,
    ),
    *(ast.arguments, ast.arg, ast.Return, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal, ast.BoolOp),
    *(ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp),
    *(
        ast.GeneratorExp,
        ast.comprehension,
        ast.Compare,
        ast.Call,
        ast.keyword,
        ast.FormattedValue,
        ast.JoinedStr,
    ),
    *(ast.Constant, ast.Attribute, ast.Subscript, ast.Starred, ast.Name, ast.List, ast.Tuple, ast.Slice),
    *(ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop),
)
"""What a text may be made of. Not: classes, `async`, and `match`, whose class patterns ask for
attributes."""


def read(text: str, found: list[Finding]) -> None:
    """Reads a text that may import what lies in the current folder."""
    _read(text, found, (CONFIGURED,))


def read_isolated(text: str, found: list[Finding]) -> None:
    """Reads a text that an interpreter runs with `-I` or `-P`."""
    _read(text, found, ())


def _read(text: str, found: list[Finding], marks: tuple[str, ...]) -> None:
    tree = _tree(text)
    nodes, parents = _walk(tree)
    _Judge(nodes, parents, found).judge()
    found.append(Finding(Effect.READS, "the Python text only computes, reads and prints", marks=marks))


def _tree(text: str) -> ast.Module:
    if len(text) > MAX_LENGTH:
        raise NotUnderstoodError(f"a Python text of more than {MAX_LENGTH} characters")
    if any(char < " " and char not in "\t\n" for char in text) or "\ufeff" in text:
        raise NotUnderstoodError("a control character in a Python text")
    head = text.split("\n", 2)[:2]
    if any(line.lstrip(" \t")[:1] == "#" and "coding" in line for line in head):
        raise NotUnderstoodError("a Python text that names its encoding")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an escape that means nothing
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        raise NotUnderstoodError("a Python text that Python refuses") from None


def _walk(tree: ast.Module) -> tuple[list[ast.AST], dict[ast.AST, ast.AST]]:
    """Every node, and the one that holds it."""
    nodes: list[ast.AST] = [tree]
    parents: dict[ast.AST, ast.AST] = {}
    for node in nodes:
        if not isinstance(node, _NODES):
            raise NotUnderstoodError(f"{type(node).__name__} in Python")
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)):
                nodes.append(child)  # the others are shared by all nodes that have them
                parents[child] = node
    return nodes, parents


class _Judge:
    """The names of one text, of all its scopes together, and what may be done with them.

    `modules`: names of imported modules. `taken`: names of what was imported from one, with its full name. `bound`:
    names that the text binds itself, with the expressions where one is the whole value, None for any other value;
    `elements`: with what is iterated over. `imported`: the modules whose types there may be. `unsettled`: names that a
    function shares with the scopes around it, or that are deleted. `places` and `binders` are kept by `stays` and
    `is_bound_at`, which are asked again and again.
    """

    def __init__(self, nodes: list[ast.AST], parents: dict[ast.AST, ast.AST], found: list[Finding]) -> None:
        self.nodes, self.parents, self.found = nodes, parents, found
        self.modules: dict[str, str] = {}
        self.taken: dict[str, str] = {}
        self.bound: dict[str, list[ast.expr | None]] = {}
        self.elements: dict[str, list[ast.expr]] = {}
        self.imported: set[str] = set()
        self.names: dict[ast.AST, str | None] = {}
        self.assumed: set[str] = set()
        self.kept: dict[str, bool] = {}
        self.places: dict[str, list[ast.expr]] | None = None
        self.unsettled: set[str] = set()
        self.binders: dict[ast.AST, tuple[frozenset[str], frozenset[ast.AST]]] = {}
        self.steps = MAX_STEPS

    def judge(self) -> None:
        for node in self.nodes:
            self.collect(node)
        for name in (*self.modules, *self.taken):
            self.allow_name(name)
            if name in self.bound or (name in self.modules and name in self.taken):
                raise NotUnderstoodError(f"{name!r} stands for more than one thing in a Python text")
        for node in self.nodes:
            self.check(node)

    # --- what the text binds --------------------------------------------------------------------------------------

    def collect(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names):
                for alias in names:
                    self.imports(alias.name)
                    if alias.asname is not None:
                        self.module(alias.asname, alias.name)
                    else:
                        self.module(alias.name.partition(".")[0], alias.name.partition(".")[0])
            case ast.ImportFrom(module, names, level):
                if level or module is None:
                    raise NotUnderstoodError("a Python module of the project")
                for alias in names:
                    self.imports_from(module, alias)
            case ast.FunctionDef(name):
                if node.decorator_list:
                    raise NotUnderstoodError("a decorator in a Python text")
                self.bind(name, None)
            case ast.arg(name):
                self.bind(name, None)
            case ast.ExceptHandler(_, str(name)):
                self.bind(name, None)
            case ast.Name(name, ast.Store()):
                self.bind_target(node, name)
            case ast.Name(name, ast.Del()):
                self.unsettled.add(name)
            case ast.Attribute(_, name, ast.Store() | ast.Del()):
                raise NotUnderstoodError(f"an attribute is changed in a Python text: .{name}")
            case ast.Global(names) | ast.Nonlocal(names):
                self.unsettled.update(names)
                for name in names:
                    self.bind(name, None)

    def imports(self, name: str) -> None:
        if name not in MODULES and name not in PACKAGES:
            raise NotUnderstoodError(f"the Python module {name!r} is not listed")
        self.imported.add(name)

    def module(self, name: str, module: str) -> None:
        if self.modules.setdefault(name, module) != module:
            raise NotUnderstoodError(f"{name!r} stands for two modules in a Python text")

    def imports_from(self, module: str, alias: ast.alias) -> None:
        self.imports(module)
        full, name = f"{module}.{alias.name}", alias.asname or alias.name
        if full in MODULES or full in PACKAGES:
            self.imports(full)
            self.module(name, full)
        elif alias.name in MODULES.get(module, ()) or full in CHECKED:
            if self.taken.setdefault(name, full) != full:
                raise NotUnderstoodError(f"{name!r} stands for two things in a Python text")
        else:
            raise NotUnderstoodError(f"what {full} does in Python is not listed")

    def bind(self, name: str, value: ast.expr | None) -> None:
        self.allow_name(name)
        self.bound.setdefault(name, []).append(value)

    def bind_target(self, node: ast.AST, name: str) -> None:
        parent = self.parents[node]
        match parent:
            case ast.Assign(_, value) | ast.AnnAssign(_, _, ast.expr() as value) | ast.NamedExpr(_, value):
                self.bind(name, value)
            case ast.AugAssign(_, operator, value):
                self.bind(name, ast.BinOp(ast.Name(name, ast.Load()), operator, value))
            case ast.withitem(value):
                self.bind(name, value)
            case ast.For(_, iterated) | ast.comprehension(_, iterated):
                self.bound.setdefault(name, [])
                self.allow_name(name)
                self.elements.setdefault(name, []).append(iterated)
            case _:
                self.bind(name, None)

    def allow_name(self, name: str) -> None:
        if name.startswith("__") and name not in BOUND:
            raise NotUnderstoodError(f"{name} is assigned in a Python text")

    # --- what the text does ---------------------------------------------------------------------------------------

    def check(self, node: ast.AST) -> None:
        match node:
            case ast.Name(name, ast.Load()):
                self.check_name(node, name)
            case ast.Attribute(value, name, ast.Load()):
                self.check_attribute(node, value, name)

    def check_name(self, node: ast.AST, name: str) -> None:
        if name in self.modules:
            if not self.is_base(node) and not self.is_looked_at(node):
                raise NotUnderstoodError(f"the module {name!r} is handed on in a Python text")
            return
        full = self.taken.get(name)
        if full is not None:
            self.use(node, full)
            return
        if name in CHECKED and "." not in name:
            self.use(node, name)
        elif name not in self.bound and name not in BUILTINS:
            raise NotUnderstoodError(f"what {name!r} is in a Python text is not known")
        elif name in LATENT and not self.is_bound_at(node, name):
            raise NotUnderstoodError(f"whether {name!r} is bound in a Python text is not known")
        elif name in ("str", "bytes", "bytearray"):
            parent = self.parents[node]
            if (
                isinstance(parent, ast.Call)
                and parent.func is node
                and len(parent.args) + len(parent.keywords) > 1
            ):
                self.check_codec(parent, 1)

    def full_name(self, node: ast.AST) -> str | None:
        """The full name of what a name or attribute stands for, where it is a module or comes out of one."""
        chain: list[ast.Attribute] = []
        inner = node
        while inner not in self.names and isinstance(inner, ast.Attribute):
            chain.append(inner)
            inner = inner.value
        if inner in self.names:
            full = self.names[inner]
        elif isinstance(inner, ast.Name):
            full = self.modules.get(inner.id) or self.taken.get(inner.id)
        else:
            full = None
        for link in reversed(chain):
            if full is not None:
                is_module = full in MODULES or full in PACKAGES
                full = f"{full}.{link.attr}" if is_module else None
            self.names[link] = full
        return full

    def check_attribute(self, node: ast.Attribute, value: ast.expr, name: str) -> None:
        full = self.full_name(node)
        if full is not None:
            self.check_member(node, full, name)
            return
        if name in WRITES_WITH:
            self.check_writing(node, value, name)
        elif name in ("encode", "decode"):
            call = self.called(node, name)
            self.allow(call, f".{name}", 2, ("encoding", "errors"))
            self.check_codec(call, 0)
        elif name.startswith("__"):
            self.check_dunder(node, name)
        elif name in ATTRIBUTES:
            pass
        else:
            raise NotUnderstoodError(f"what .{name} does in a Python text is not known")

    def check_member(self, node: ast.AST, full: str, name: str) -> None:
        """Something that is taken out of a module."""
        module = full[: -len(name) - 1]
        if full in MODULES or full in PACKAGES:
            if full in MODULES and full not in self.imported and full != "os.path":
                raise NotUnderstoodError(f"{full} is not imported in a Python text")
            if not self.is_base(node) and not self.is_looked_at(node):
                raise NotUnderstoodError(f"the module {full} is handed on in a Python text")
        elif full in SEALED:
            if not self.is_looked_at(node):
                raise NotUnderstoodError(f"{full} is handed on in a Python text")
        elif full in CHECKED or name in MODULES.get(module, ()):
            self.use(node, full)
        elif name not in DUNDERS and name != "__file__":
            raise NotUnderstoodError(f"what {full} does in Python is not listed")

    def use(self, node: ast.AST, full: str) -> None:
        """A function or value of the library, by its full name."""
        if full == "time.sleep":
            self.found.append(Finding(Effect.WAITS, "time.sleep() in a Python text"))
        if full not in CHECKED:
            return
        if full in ("copy.copy", "copy.deepcopy"):
            if not self.imported.isdisjoint(NAMED_AT_RUN_TIME):
                raise NotUnderstoodError(f"{full} may do what an object says in a Python text")
            return
        call = self.called(node, full)
        if any(isinstance(arg, ast.Starred) for arg in call.args) or any(
            keyword.arg is None for keyword in call.keywords
        ):
            raise NotUnderstoodError(f"what {full} is given in a Python text is not known")
        match full:
            case "getattr" | "hasattr":
                self.check_getattr(call, full)
            case "type":
                self.check_type(call)
            case "dir":
                self.allow(call, full, 1, ())
            case "codecs.encode" | "codecs.decode":
                self.check_codec(call, 1)
            case "inspect.signature":
                self.allow(call, full, 1, ())
            case "importlib.util.find_spec":
                self.allow(call, full, 1, ())
                if not call.args or _text_of(call.args[0]) is None or "." in (_text_of(call.args[0]) or "."):
                    raise NotUnderstoodError("find_spec() may import in a Python text")
            case "urllib.request.urlopen":
                self.check_address(call)
            case _:
                self.check_open(call, full)

    def called(self, node: ast.AST, name: str) -> ast.Call:
        parent = self.parents[node]
        if not isinstance(parent, ast.Call) or parent.func is not node:
            raise NotUnderstoodError(f"{name} is handed on in a Python text")
        return parent

    def allow(self, call: ast.Call, name: str, count: int, keywords: tuple[str, ...]) -> None:
        if len(call.args) > count or any(keyword.arg not in keywords for keyword in call.keywords):
            raise NotUnderstoodError(f"what {name} is given in a Python text is not known")

    # --- functions for which it depends on the arguments --------------------------------------------------------------

    def check_open(self, call: ast.Call, full: str) -> None:
        """`open(file, mode, ...)` and its relatives."""
        keywords = ("file", "filename", "name", "mode", "encoding", "errors", "newline")
        self.allow(call, full, 1 if full == "tokenize.open" else 2, keywords)
        modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] + call.args[1:2]
        if any(_text_of(mode) not in MODES for mode in modes):
            if any(not set(_text_of(mode) or "").isdisjoint("wax+") for mode in modes):
                self.found.append(Finding(Effect.WRITES, f"{full} opens a file to write it"))
            raise NotUnderstoodError(f"{full} opens a file in a Python text, and not only to read it")
        self.check_codec(call, 9)
        names = [keyword.value for keyword in call.keywords if keyword.arg in ("file", "filename", "name")]
        for name in (*names, *call.args[:1]):
            file = _text_of(name)
            if file is not None:
                self.found.append(Finding(Effect.READS, f"it reads {file!r}", file=file))

    def check_codec(self, call: ast.Call, position: int) -> None:
        given = [keyword.value for keyword in call.keywords if keyword.arg == "encoding"]
        if any(keyword.arg is None for keyword in call.keywords) or any(
            isinstance(arg, ast.Starred) for arg in call.args
        ):
            raise NotUnderstoodError("an encoding in a Python text is not known")
        for encoding in (*given, *call.args[position : position + 1]):
            if isinstance(encoding, ast.Constant) and encoding.value is None:
                continue
            if (_text_of(encoding) or "").lower() not in CODECS:
                raise NotUnderstoodError("an encoding in a Python text is not known, and may be any module")

    def check_address(self, call: ast.Call) -> None:
        self.allow(call, "urlopen", 1, ("timeout",))
        address = _text_of(call.args[0]) if call.args else None
        if address is None or not address.startswith(("http://", "https://")):
            raise NotUnderstoodError("what a Python text sends over the network is not known")
        self.found.append(Finding(Effect.NETWORK, f"it asks {address!r}"))

    def check_getattr(self, call: ast.Call, full: str) -> None:
        if call.keywords or len(call.args) < 2:
            raise NotUnderstoodError(f"{full} without its words in a Python text")
        if full == "hasattr":
            return
        name = _text_of(call.args[1])
        base = self.full_name(call.args[0])
        if base is not None and (base in MODULES or base in PACKAGES):
            if name not in MODULES.get(base, ()) and name not in DUNDERS:
                raise NotUnderstoodError(f"what getattr takes out of {base} in a Python text is not listed")
        elif name is None or name not in ATTRIBUTES | DUNDERS or name in WRITES_WITH:
            raise NotUnderstoodError("what getattr takes in a Python text is not known")

    def check_type(self, call: ast.Call) -> None:
        """The type of a value could be called, to make another of its kind: it is only named."""
        if len(call.args) != 1 or call.keywords:
            raise NotUnderstoodError("type() makes a class in a Python text")
        parent = self.parents[call]
        if isinstance(parent, ast.Attribute) and parent.attr in DUNDERS:
            return
        if isinstance(parent, ast.Compare) and self.has_no_open_type():
            return
        if not self.is_looked_at(call):
            raise NotUnderstoodError("type() is handed on in a Python text")

    # --- attributes ---------------------------------------------------------------------------------------------------

    def check_dunder(self, node: ast.Attribute, name: str) -> None:
        parent = self.parents[node]
        asked = name == "__class__" and isinstance(parent, ast.Attribute) and parent.attr in DUNDERS
        if not asked and name not in DUNDERS:
            raise NotUnderstoodError(f"{name} in a Python text")

    def check_writing(self, node: ast.Attribute, value: ast.expr, name: str) -> None:
        """An attribute that writes on the types of some module."""
        if name == "open":
            call = self.called(node, ".open")
            self.allow(call, ".open", 1, ("mode", "encoding", "errors", "newline"))
            modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
            modes += call.args if "pathlib" in self.imported else []
            if any(_text_of(mode) not in MODES for mode in modes) or any(
                isinstance(arg, ast.Starred) for arg in call.args
            ):
                raise NotUnderstoodError(".open in a Python text, and not only to read")
            self.check_codec(call, 9)
        elif self.imported.isdisjoint(WRITES_WITH[name]) or self.is_text(value):
            pass
        elif self.full_name(value) not in ("sys.stdout", "sys.stderr"):
            raise NotUnderstoodError(f"what .{name} does in a Python text is not known")

    def is_bound_at(self, node: ast.AST, name: str) -> bool:
        """Whether the name has a value of the text here: inside of the loop, function or `with` that binds it."""
        if name in self.unsettled:
            return False
        inner, outer = node, self.parents.get(node)
        while outer is not None:
            if outer not in self.binders:
                self.binders[outer] = _binds_inside(outer)
            names, parts = self.binders[outer]
            if name in names and inner in parts:
                return True
            inner, outer = outer, self.parents.get(outer)
        return False

    def is_builtin(self, name: str) -> bool:
        """Whether the name can only stand for the builtin."""
        return not (name in self.bound or name in self.modules or name in self.taken)

    def is_base(self, node: ast.AST) -> bool:
        parent = self.parents[node]
        return isinstance(parent, ast.Attribute) and parent.value is node

    def is_looked_at(self, node: ast.AST) -> bool:
        """Whether nothing but texts and numbers come of the value at this place."""
        parent = self.parents[node]
        match parent:
            case ast.Call(ast.Name(name), args) if self.is_builtin(name):
                full = self.full_name(node)
                if name == "getattr":
                    return args[:1] == [node] and (full in MODULES or full in PACKAGES)
                if name == "isinstance" and not self.has_no_open_type():
                    return False  # the second word may be an object that is asked whether the first is one
                return node in args and (name in LOOKERS or (name == "dict" and full == "os.environ"))
            case ast.Attribute(_, name, ast.Load()):
                return name in ASKED and self.full_name(node) == "os.environ"
            case ast.For(_, iterated) | ast.comprehension(_, iterated):
                return iterated is node and isinstance(node, ast.Attribute)
            case ast.FormattedValue():
                return True
            case ast.Subscript(value, _, ast.Load()):
                return value is node and self.full_name(node) in ("os.environ", "sys.path")
            case ast.Compare(left, [ast.In() | ast.NotIn()], [right]):
                return right is node and isinstance(left, ast.Constant)
        return False

    # --- texts --------------------------------------------------------------------------------------------------------

    def is_text(self, node: ast.AST | None, steps: int = MAX_DEPTH) -> bool:
        """Whether the value is certainly a `str` or `bytes`."""
        self.steps -= 1
        if steps < 0 or self.steps < 0 or node is None:
            return False
        match node:
            case ast.Constant(value):
                return isinstance(value, str | bytes)
            case ast.JoinedStr():
                return True
            case ast.BinOp(left, ast.Add(), right) if self.has_no_open_type():
                return self.is_text(right, steps - 1) or self.is_text(left, steps - 1)
            case ast.BinOp(left, ast.Mod() | ast.Mult(), _) if self.has_no_open_type():
                return self.is_text(left, steps - 1)
            case ast.Call(ast.Name("str" | "repr" | "chr" | "ascii" | "format" as name)):
                return self.is_builtin(name) and self.has_no_open_type()
            case ast.Call(ast.Attribute(value, name)):
                if name == "replace":
                    return self.is_text(value, steps - 1)
                return name in TEXT_METHODS and self.has_no_open_type()
            case ast.Subscript(value):
                return self.is_text(value, steps - 1) or self.is_texts(value, steps - 1)
            case ast.IfExp(_, first, second):
                return self.is_text(first, steps - 1) and self.is_text(second, steps - 1)
            case ast.Name(name):
                values, iterated = self.bound.get(name), self.elements.get(name, [])
                if values is None or name in self.modules or name in self.taken:
                    return False
                if name in self.assumed:
                    return True  # what a text was before makes it a text again
                self.assumed.add(name)
                answer = all(self.is_text(value, steps - 1) for value in values) and all(
                    self.is_text(each, steps - 1) or self.is_texts(each, steps - 1) for each in iterated
                )
                self.assumed.discard(name)
                return answer
        return False

    def has_no_open_type(self) -> bool:
        """Whether each method of a known name is that of the library."""
        return self.imported.isdisjoint(OPEN_TYPES)

    def is_texts(self, node: ast.AST | None, steps: int) -> bool:
        """Whether the value is certainly a list of texts, or a file that is read."""
        self.steps -= 1
        if steps < 0 or self.steps < 0 or node is None:
            return False
        match node:
            case ast.Call(ast.Attribute(_, name)):
                return name in LIST_METHODS and self.has_no_open_type()
            case ast.Call(ast.Name("open" as name)):
                return self.is_builtin(name)
            case ast.Call(ast.Name("sorted" | "list" | "reversed" | "set" as name), [value]):
                return self.is_builtin(name) and self.is_texts(value, steps - 1)
            case ast.Subscript(value, ast.Slice()):
                return self.is_texts(value, steps - 1)
            case ast.Attribute():
                full = self.full_name(node)
                return full == "sys.stdin" or (full == "sys.argv" and self.stays(full))
            case ast.Name(name):
                values = self.bound.get(name)
                return (
                    bool(values)
                    and name not in self.elements
                    and all(self.is_texts(value, steps - 1) for value in values or ())
                    and self.stays(name)
                )
        return False

    def stays(self, name: str) -> bool:
        """Whether a list keeps the elements that it had, wherever its name stands."""
        if name not in self.kept:
            if self.places is None:
                self.places = self.places_of_names()
            self.kept[name] = all(self.is_left_alone(node) for node in self.places.get(name, ()))
        return self.kept[name]

    def places_of_names(self) -> dict[str, list[ast.expr]]:
        """Where each name stands, and each full name of what comes out of a module."""
        places: dict[str, list[ast.expr]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Attribute | ast.Name):
                own = node.id if isinstance(node, ast.Name) else None
                for name in {own, self.full_name(node)}:
                    if name is not None:
                        places.setdefault(name, []).append(node)
        return places

    def is_left_alone(self, node: ast.expr) -> bool:
        """Whether nothing can put another element into the list that stands here, or give it a second name."""
        match self.parents[node]:
            case ast.Assign(targets):
                return node in targets
            case ast.AnnAssign(target) | ast.NamedExpr(target):
                return node is target
            case ast.Subscript(value, _, ast.Load()):
                return node is value
            case ast.For(_, iterated) | ast.comprehension(_, iterated):
                return node is iterated
            case ast.Call(ast.Name(name)):
                return name in MUTE and self.is_builtin(name)
            case ast.Call(ast.Attribute(_, "join")):
                return True
            case ast.If() | ast.While() | ast.Compare() | ast.FormattedValue() | ast.Starred():
                return True
            case ast.withitem(_, variable):
                return node is variable
        return False


def _text_of(node: ast.AST) -> str | None:
    """The text of a literal."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _binds_inside(node: ast.AST) -> tuple[frozenset[str], frozenset[ast.AST]]:
    """The names that `node` binds for some of its parts, and these parts."""
    match node:
        case ast.For(target, _, body):
            return _stored_in(target), frozenset(body)
        case ast.With(items, body):
            variables = [item.optional_vars for item in items if item.optional_vars is not None]
            return _stored_in(*variables), frozenset(body)
        case ast.FunctionDef(_, arguments, body):
            return _taken_by(arguments), frozenset(body)
        case ast.Lambda(arguments, result):
            return _taken_by(arguments), frozenset({result})
        case ast.ListComp(element, loops) | ast.SetComp(element, loops) | ast.GeneratorExp(element, loops):
            return _stored_in(*(loop.target for loop in loops)), frozenset({element})
    return frozenset(), frozenset()


def _stored_in(*targets: ast.AST) -> frozenset[str]:
    return frozenset(
        inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)
    )


def _taken_by(arguments: ast.arguments) -> frozenset[str]:
    return frozenset(inner.arg for inner in ast.iter_child_nodes(arguments) if isinstance(inner, ast.arg))
