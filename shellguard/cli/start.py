# SPDX-License-Identifier: Apache-2.0
"""How a process begins: a hook without everything it can do without, all else with the whole command line.

Most of what a hook costs is finding and reading some eighty small files of bytecode. Their code is kept in
one of them, that of `shellguard.cli.bundle`, together with the time and size of each source, as every `.pyc`
has it: where one of them is another, the code is not used, and kept anew when the call is answered. What is
in it is what Python would have loaded, it lies where Python keeps the bytecode of this package, and Python
itself reads it: who can write there can write the package.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import TypeAlias

    Kept: TypeAlias = tuple[CodeType, str, bool]


def main() -> None:
    """The entry point `shellguard`. A hook is told apart before anything is imported."""
    if sys.argv[1:2] == ["hook"] and sys.argv[2:] not in (["-h"], ["--help"]):
        hook(sys.argv[2:])
    from shellguard.cli.main import main as whole

    whole()


def hook(arguments: list[str]) -> None:
    """Answers one call of a hook and ends the process. What goes wrong is one line, never a traceback."""
    import gc
    import os

    gc.disable()  # the process is over before anything could be collected
    status = 1
    try:
        kept = _use()
        known = set(sys.modules)
        _without_compiled_rules()
        from shellguard.cli.hook import main as answer

        status = answer(arguments)
        if not kept:
            _try_to_keep(known)
    except BaseException as error:  # noqa: BLE001 - see above
        _complain(f"shellguard failed to start: {type(error).__name__}\n")
    os._exit(status)


def _try_to_keep(known: set[str]) -> None:
    try:
        _load_common()
        keep(known)
    except Exception:  # noqa: BLE001 - the answer is given; the next call takes the long way too
        return


def _load_common() -> None:
    """Loads what most calls need, also where the first one was about a tool that is no shell, or a turn."""
    import shellguard.agents.audit
    import shellguard.agents.policy
    import shellguard.guard.controller
    import shellguard.guard.observe
    import shellguard.guard.store  # noqa: F401
    from shellguard.engine import classify

    classify('cd a && ls -l | head -n 3; for f in *; do [ -f "$f" ] && echo "${f%.c}" $((1 + 2)) 2>&1; done')


def _complain(text: str) -> None:
    import os

    try:
        os.write(2, text.encode())
    except OSError:
        return  # nobody listens


def _without_compiled_rules() -> None:
    """In a checkout rules may have to be read as YAML, which lies in the folders that `-S` leaves out."""
    import os

    rules = os.path.join(
        os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_rules", "compiled.rules"
    )
    if sys.flags.no_site and not os.path.exists(rules):
        import site

        site.main()


# --- the code of many modules in one file -------------------------------------------------------------------------


class _Finder:
    """Finds a module that is kept and was asked for before its turn came."""

    def __init__(self, kept: dict[str, Kept]) -> None:
        self.kept = kept

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """As `importlib.abc.MetaPathFinder` has it."""
        found = self.kept.get(name)
        if found is None:
            return None
        from _frozen_importlib import ModuleSpec

        spec = ModuleSpec(name, self, origin=found[1], is_package=found[2])  # type: ignore[arg-type]
        spec.has_location = True
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(_folder_of(found[1]))
        return spec

    def create_module(self, spec: object) -> None:
        """Python makes the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Runs the code of a module."""
        exec(self.kept[module.__name__][0], module.__dict__)


def _folder_of(source: str) -> str:
    return source.replace("\\", "/").rpartition("/")[0]


def _use() -> bool:
    """Loads all that is kept, where it is what the sources say. Whatever else is found there is not used.

    The modules are made here, each after those that it imports: that costs half of what the import system costs.
    """
    import os

    try:
        from shellguard.cli.bundle import KEPT

        if KEPT is None:
            return False
        stamps, kept = KEPT
        if stamps[0][0] != __file__:
            return False  # the package was copied to another place, with its bytecode
        stat = os.stat
        for source, mtime, size in stamps:
            status = stat(source)
            if status.st_mtime_ns != mtime or status.st_size != size:
                return False
    except Exception:  # noqa: BLE001 - a file of bytecode that is damaged may raise anything
        return False
    sys.meta_path.insert(
        0, _Finder({name: (code, source, is_package) for name, code, source, is_package in kept})
    )
    modules, make = sys.modules, type(sys)
    for name, code, source, is_package in kept:
        if name in modules:
            continue
        module = make(name)
        module.__file__ = source
        parent, _, last = name.rpartition(".")
        module.__package__ = name if is_package else parent
        if is_package:
            module.__path__ = [_folder_of(source)]
        modules[name] = module
        exec(code, module.__dict__)
        if parent:
            setattr(modules[parent], last, module)
    return True


LEFT_OUT = (
    "shellguard.analysis.embedded.",
    "shellguard.approval",
    "shellguard.rules.overlay",
    "shellguard.rules.load",
)
"""Modules that few calls need: where the first call needed them, the others shall not pay for it."""


def keep(known: set[str]) -> None:
    """Keeps the code of all modules of ours that were loaded since `known`, where Python would keep it too."""
    import os
    from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader, cache_from_source
    from marshal import dumps

    bundle = os.path.join(os.path.dirname(__file__), "bundle.py")
    path = cache_from_source(bundle)
    if sys.dont_write_bytecode or not os.access(os.path.dirname(path), os.W_OK):
        return
    found: dict[str, Kept] = {}
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        source = getattr(module, "__file__", None)
        loader = getattr(module, "__loader__", None)
        if name in known or name.startswith(LEFT_OUT) or spec is None or spec.name != name:
            continue
        if name.partition(".")[0] not in ("shellguard", "struct"):
            continue  # of the library, the first call may have needed what the others do not: to read settings, say
        if source and source.endswith(".py") and loader is not None and hasattr(loader, "get_code"):
            code = loader.get_code(name)
            if code is not None:
                found[name] = (without_lines(code), source, hasattr(module, "__path__"))
    kept: dict[str, Kept] = {}
    for name in found:
        _put(name, found, kept, set())
    stamps = []
    for source in (__file__, *(source for _, source, _ in kept.values())):
        status = os.stat(source)
        stamps.append((source, status.st_mtime_ns, status.st_size))
    code = compile("KEPT = 'here'", bundle, "exec")
    whole = (tuple(stamps), tuple((name, *kept[name]) for name in kept))
    code = code.replace(co_consts=tuple(whole if each == "here" else each for each in code.co_consts))
    status = os.stat(bundle)
    head = (0, int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)  # see PEP 552
    data = MAGIC_NUMBER + b"".join(field.to_bytes(4, "little") for field in head) + dumps(code)
    SourceFileLoader("shellguard.cli.bundle", bundle).set_data(path, data, _mode=0o644)


def without_lines(code: CodeType) -> CodeType:
    """The same code without what only people and debuggers read, a third of it: lines, and what functions document."""
    consts = [without_lines(each) if isinstance(each, type(code)) else each for each in code.co_consts]
    if code.co_flags & _FUNCTION == _FUNCTION and code.co_name[:1] != "<" and isinstance(consts[0], str):
        from opcode import hasconst

        pairs = code.co_code
        if not any(pairs[at] in hasconst and pairs[at + 1] == 0 for at in range(0, len(pairs), 2)):
            consts[0] = None  # nothing in the function uses a constant that is equal to its docstring
    return code.replace(co_consts=tuple(consts), co_linetable=b"")


_FUNCTION = 3 if sys.version_info < (3, 14) else 3 | 0x4000000
"""Flags of the code of a function whose first constant, where it is text, is its docstring (`inspect.CO_*`)."""


def _put(name: str, found: dict[str, Kept], kept: dict[str, Kept], above: set[str]) -> None:
    """Puts a module behind those that its code names in an import."""
    if name in kept or name in above:
        return
    above.add(name)
    parts = name.split(".")
    for size in range(
        1, len(parts)
    ):  # a package names its modules for the checker only, and comes before them
        parent = ".".join(parts[:size])
        if parent in found:
            kept.setdefault(parent, found[parent])
    if name in kept:
        return
    for needed in found[name][0].co_names:
        if needed in found:
            _put(needed, found, kept, above)
    kept[name] = found[name]
