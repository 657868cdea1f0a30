# SPDX-License-Identifier: Apache-2.0
"""Where rules are found: command name -> rule, read when it is asked for.

Compiled rules (`compiled.py`) are one file with an index. Without them, a name is found by listing the folder, since
a file is named after its command; aliases stand in the first lines of a file (`load.names_in`), which are read
without YAML when a name is not the name of a file.
"""

from __future__ import annotations

import os
from _thread import RLock

from shellguard.errors import RuleError
from shellguard.rules.compiled import COMMON, GATES, Compiled
from shellguard.rules.model import (
    BrokenRule,
    CommandRule,
    CredentialPaths,
    Pattern,
    PolicyRule,
    Variable,
    Variables,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar, cast

    from shellguard.rules.gates import Gates
    from shellguard.rules.model import Answer

    T = TypeVar("T")
else:

    def cast(kind: object, value: object) -> object:
        """That of `typing`, which a hook must not load."""
        return value


RULES_FOLDER = "rules"
"""How paths in the model begin, wherever the folder really lies."""


MAX_FOLDERS = 4
"""Folders inside folders of a rules folder beyond this are not looked into."""


class Shelf:
    """All rules. `get` answers with the rule of a command, with a `BrokenRule`, or with None: no rule.

    Args:
        rules: the rules themselves, by name; for tests. No folder is read then, and `variables` and the like
            are those given.
        folder: the folder with the rule files; the shipped one when neither is given.
        compiled: the compiled rules of that folder, which are asked in place of its files.

    A shelf may be shared by threads. It never raises for a broken file: the rule is broken then, and what a
    broken `_env.yaml` or `_paths.yaml` would have said is the strictest it can say.
    """

    def __init__(
        self,
        rules: Mapping[str, CommandRule | BrokenRule] | None = None,
        *,
        folder: str | None = None,
        compiled: Compiled | None = None,
        variables: Variables | None = None,
        paths: CredentialPaths | None = None,
        policies: dict[str, PolicyRule] | None = None,
    ) -> None:
        self._rules: dict[str, CommandRule | BrokenRule | None] = dict(rules or {})
        self._folder = shipped_folder() if folder is None and rules is None else folder
        self._compiled = compiled
        self._content: str | None = None if compiled is None else compiled.content
        self._lock = RLock()
        self._files: dict[str, tuple[str, ...]] | None = None  # name of a file without `.yaml` -> paths
        self._aliases: dict[str, tuple[str, ...]] | None = None  # any name a file answers to -> paths
        self._variables, self._paths, self._policies = variables, paths, policies
        self._gates: Gates | None = None
        self.problems: list[RuleError] = []
        """What was wrong with `_env.yaml`, `_paths.yaml` and `_policies.yaml`, as far as they were read."""

    @staticmethod
    def default() -> Shelf:
        """The shelf of the shipped rules, one for the process."""
        with _shipped_lock:
            if not _shipped:
                _shipped.append(_shelf_of(shipped_folder()))
            return _shipped[0]

    def get(self, name: str) -> Answer:
        """The rule of the command `name` (a command's name or an alias, without a folder)."""
        try:
            return self._rules[name]
        except KeyError:
            pass
        if self._folder is None:
            return None
        with self._lock:
            if name not in self._rules:
                self._rules[name] = self._find(name, self._folder)
            return self._rules[name]

    @property
    def content(self) -> str:
        """A hash of everything the rules say: 32 hex digits; empty for a shelf that was made from values."""
        if self._content is None:
            from shellguard.rules.cache import content_of

            with self._lock:
                self._content = (
                    "" if self._folder is None else content_of(self._folder, all_files(self._folder))
                )
        return self._content

    def names(self) -> tuple[str, ...]:
        """Every name that some rule answers to, aliases included, sorted."""
        known = {name for name, rule in list(self._rules.items()) if rule is not None}
        if self._compiled is not None:
            known.update(self._compiled.names())
        elif self._folder is not None:
            with self._lock:
                known.update(self._stems(self._folder), self._index(self._folder))
        return tuple(sorted(known))

    def _find(self, name: str, folder: str) -> CommandRule | BrokenRule | None:
        if self._compiled is not None:
            return self._compiled.get(name)
        paths = self._stems(folder).get(name) or self._index(folder).get(name, ())
        if not paths:
            return None
        if len(paths) > 1:
            message = f"`{name}` is spoken of by more than one file: {', '.join(paths)}"
            return BrokenRule(name, f"{RULES_FOLDER}/{paths[0]}", 1, message)
        return read_rule(name, folder, paths[0])

    def _stems(self, folder: str) -> dict[str, tuple[str, ...]]:
        if self._files is None:
            self._files = {}
            for path in rule_files(folder):
                stem = path.rpartition("/")[2].removesuffix(".yaml")
                self._files[stem] = (*self._files.get(stem, ()), path)
        return self._files

    def _index(self, folder: str) -> dict[str, tuple[str, ...]]:
        if self._aliases is None:
            from shellguard.rules.load import names_in
            from shellguard.rules.tree import read_file

            aliases: dict[str, tuple[str, ...]] = {}
            for stem, paths in self._stems(folder).items():
                for path in paths:
                    try:
                        text = read_file(os.path.join(folder, path), folder, path)
                    except RuleError:
                        continue  # it answers to its own name, and says there what is wrong
                    for name in names_in(text):
                        if name != stem:
                            aliases[name] = (*aliases.get(name, ()), path)
            self._aliases = aliases
        return self._aliases

    # The files that belong to no command.

    @property
    def variables(self) -> Variables:
        """What is known of environment variables that belong to no single command."""
        if self._variables is None:

            def everything(error: RuleError) -> Variables:
                unknown = frozenset({"unknown"})
                return Variables((Variable(Pattern("*"), path=error.path, line=error.line, effects=unknown),))

            self._variables = self._common(COMMON[0], everything, Variables())
        return self._variables

    @property
    def paths(self) -> CredentialPaths:
        """Which files hold credentials."""
        if self._paths is None:

            def everything(error: RuleError) -> CredentialPaths:
                return CredentialPaths(error.path, ((Pattern("*"), error.line),), (), error.line)

            self._paths = self._common(COMMON[1], everything, CredentialPaths("", (), (), 1))
        return self._paths

    @property
    def policies(self) -> dict[str, PolicyRule]:
        """The policies by name; empty when their file is broken, so that no policy allows anything."""
        if self._policies is None:
            nothing: dict[str, PolicyRule] = {}
            self._policies = self._common(COMMON[2], lambda error: nothing, nothing)
        return self._policies

    @property
    def gates(self) -> Gates:
        """Which commands need a person. Raises RuleError when the file is broken: then nobody can tell."""
        if self._gates is None:
            from shellguard.rules import gates

            if self._folder is None:
                self._gates = gates.NO_GATES
            elif self._compiled is not None:
                found = self._compiled.common(gates.NAME)
                assert isinstance(found, gates.Gates)
                self._gates = found
            else:
                from shellguard.rules.load_gates import load_gates
                from shellguard.rules.tree import read_file

                path = f"{RULES_FOLDER}/{gates.NAME}"
                text = read_file(os.path.join(self._folder, gates.NAME), self._folder, path)
                self._gates = load_gates(text, path)
        return self._gates

    def _common(self, name: str, otherwise: Callable[[RuleError], T], without_folder: T) -> T:
        if self._folder is None:
            return without_folder
        path = f"{RULES_FOLDER}/{name}"
        with self._lock:
            try:
                if self._compiled is not None:
                    return cast("T", self._compiled.common(name))
                from shellguard.rules.load import load_common
                from shellguard.rules.tree import read_file

                text = read_file(os.path.join(self._folder, name), self._folder, path)
                return cast("T", load_common(name, text, path))
            except RuleError as error:
                self.problems.append(error)
                return otherwise(error)


_shipped: list[Shelf] = []
_shipped_lock = RLock()


def shipped_folder() -> str:
    """The folder of the rules that came with the package: inside the wheel, else beside the package in the checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    inside = os.path.join(package, "_rules")
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(package), RULES_FOLDER)


def _shelf_of(folder: str) -> Shelf:
    """The shelf of a folder that this user trusts, from compiled rules where there are some."""
    from shellguard.rules import cache

    try:
        return Shelf(folder=folder, compiled=Compiled(os.path.join(folder, cache.COMPILED_NAME)))
    except RuleError:
        pass  # a checkout: the rules are as they are edited, and compiled only by `rules compile`
    content = cache.content_of(folder, all_files(folder))
    return Shelf(folder=folder, compiled=cache.compiled_rules(content))


def all_files(folder: str) -> list[str]:
    """Every file of a rules folder that a verdict or a gate may depend on."""
    gates = [GATES] if os.path.lexists(os.path.join(folder, GATES)) else []
    return [*COMMON, *gates, *rule_files(folder)]


def read_rule(name: str, folder: str, path: str) -> CommandRule | BrokenRule:
    """The rule in `path` of `folder`, asked for as `name`. Whatever is wrong becomes a `BrokenRule`."""
    from shellguard.rules.load import load_file

    try:
        return load_file(os.path.join(folder, path), folder, f"{RULES_FOLDER}/{path}")
    except RuleError as error:
        return BrokenRule(name, error.path, error.line, error.message)


def rule_files(folder: str, problems: list[str] | None = None, limit: int | None = None) -> list[str]:
    """Every rule file below `folder` as a path relative to it, with `/`, sorted.

    Files and folders whose names begin with `_` or `.` are none. A folder that is a link is not entered, and one whose
    name ends in `.yaml` is listed as the file it pretends to be. `problems` takes what could not be listed, and, with a
    `limit`, that there are more files.
    """
    found: list[str] = []
    pending = [("", 0)]
    while pending:
        relative, depth = pending.pop()
        try:
            entries = list(os.scandir(os.path.join(folder, relative)))
        except OSError as error:
            if problems is not None:
                problems.append(f"{relative or 'it'} cannot be listed: {error.strerror}")
            continue
        if limit is not None and len(found) + len(entries) > limit:
            if problems is not None:
                problems.append(f"it holds more than {limit} files")
            break
        for entry in entries:
            path = f"{relative}/{entry.name}" if relative else entry.name
            if entry.name.startswith(("_", ".")):
                continue
            if entry.is_dir(follow_symlinks=False) and not entry.name.endswith(".yaml"):
                if depth < MAX_FOLDERS:
                    pending.append((path, depth + 1))
                elif problems is not None:
                    problems.append(f"{path} is nested deeper than {MAX_FOLDERS} folders")
            elif entry.name.endswith(".yaml"):
                found.append(path)
    return sorted(found)
