# SPDX-License-Identifier: Apache-2.0
"""Every rule file that is known, in full, for those who show and check rules: examples and prose are not compiled.

Reads YAML; a verdict never comes here.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from shellguard.errors import RuleError
from shellguard.rules.compiled import COMMON, GATES
from shellguard.rules.load import load_common, load_file
from shellguard.rules.load_gates import load_gates
from shellguard.rules.model import BrokenRule, CommandRule, Overlaid
from shellguard.rules.overlay import Layer, Overlays
from shellguard.rules.shelf import RULES_FOLDER, Shelf, rule_files, shipped_folder
from shellguard.rules.tree import decoded, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from shellguard.rules.model import Answer


@dataclass(frozen=True, slots=True)
class Entry:
    """One rule file: what it says, or what is wrong with it.

    `path` is the one of the model, `file` where it really is, `layer` None for a shipped one. `trusted`: it may make
    verdicts milder.
    """

    path: str
    file: str
    layer: Layer | None
    trusted: bool
    rule: CommandRule | None
    problem: RuleError | None = None

    @property
    def family(self) -> str:
        """The folder of a shipped file (`vcs`); `user` or `project` for the others."""
        if self.layer is not None:
            return self.origin
        return self.path.removeprefix(f"{RULES_FOLDER}/").rpartition("/")[0] or "other"

    @property
    def last_check(self) -> str:
        """The last date in `checked`, as it stands there (`2026-11-30`); empty where there is none."""
        dates = re.findall(r"\d{4}-\d{2}-\d{2}", self.rule.checked if self.rule is not None else "")
        return dates[-1] if dates else ""

    @property
    def origin(self) -> str:
        """`shipped`, `user` or `project`."""
        if self.layer is None:
            return "shipped"
        return "user" if self.layer.own else "project"


def entries(shelf: Shelf) -> Iterator[Entry]:
    """Every rule file of a shelf, the shipped ones first."""
    folder = shipped_folder()
    for path in rule_files(folder):
        yield shipped_entry(folder, path)
    if isinstance(shelf, Overlays):
        for layer in shelf.layers:
            for path in layer.rule_paths():
                yield layer_entry(layer, path)


def entry_at(file: str, shelf: Shelf) -> Entry | None:
    """The rule file at this path, None when it belongs to no folder of the shelf."""
    real = os.path.realpath(file)
    folder = shipped_folder()
    for path in rule_files(folder):
        if os.path.realpath(os.path.join(folder, path)) == real:
            return shipped_entry(folder, path)
    for layer in shelf.layers if isinstance(shelf, Overlays) else ():
        for path in layer.rule_paths():
            if os.path.realpath(os.path.join(layer.folder, path)) == real:
                return layer_entry(layer, path)
    return None


def shipped_entry(folder: str, path: str) -> Entry:
    """A file of the shipped rules, by its path relative to their folder."""
    file, shown = os.path.join(folder, path), f"{RULES_FOLDER}/{path}"
    try:
        return Entry(shown, file, None, True, load_file(file, folder, shown))
    except RuleError as error:
        return Entry(shown, file, None, True, None, error)


def layer_entry(layer: Layer, path: str) -> Entry:
    """A file of an overlay, by its path relative to the folder of the layer."""
    file, shown = os.path.join(layer.folder, path), f"{layer.label}/{path}"
    trusted = path in layer.trusted
    try:
        return Entry(shown, file, layer, trusted, layer.load(path))
    except RuleError as error:
        return Entry(shown, file, layer, trusted, None, error)


def entries_for(name: str, shelf: Shelf) -> list[Entry]:
    """The files that speak of a command, in the order in which they are asked."""
    answer = shelf.get(name)
    if answer is None:
        return []
    rules = answer.rules if isinstance(answer, Overlaid) else (answer,)
    found: dict[str, Entry] = {}
    for rule in rules:
        if rule.path not in found:
            entry = _entry_of(rule, shelf)
            if entry is not None:
                found[rule.path] = entry
    return list(found.values())


def _entry_of(rule: CommandRule | BrokenRule, shelf: Shelf) -> Entry | None:
    for layer in shelf.layers if isinstance(shelf, Overlays) else ():
        path = rule.path.removeprefix(f"{layer.label}/")
        if path != rule.path and path in layer.rule_paths():
            return layer_entry(layer, path)
    path = rule.path.removeprefix(f"{RULES_FOLDER}/")
    if path in rule_files(shipped_folder()):
        return shipped_entry(shipped_folder(), path)
    if isinstance(rule, BrokenRule):
        problem = RuleError(rule.path, rule.line, rule.message)
        return Entry(rule.path, rule.path, None, False, None, problem)
    return None


def common_problems(shelf: Shelf) -> list[RuleError]:
    """What is wrong with `_env.yaml` and the like of every folder, and with the folders themselves."""
    problems = []
    folder = shipped_folder()
    for name in COMMON:
        try:
            shown = f"{RULES_FOLDER}/{name}"
            load_common(name, read_file(os.path.join(folder, name), folder, shown), shown)
        except RuleError as error:
            problems.append(error)
    try:
        shown = f"{RULES_FOLDER}/{GATES}"
        load_gates(read_file(os.path.join(folder, GATES), folder, shown), shown)
    except RuleError as error:
        problems.append(error)
    for layer in shelf.layers if isinstance(shelf, Overlays) else ():
        problems += layer.refused.values()
        if layer.unlisted is not None:
            problems.append(layer.unlisted)
        for name in COMMON:
            if name in layer.files:
                try:
                    shown = f"{layer.label}/{name}"
                    load_common(name, decoded(layer.files[name], shown), shown)
                except RuleError as error:
                    problems.append(error)
    return problems


class Alone(Shelf):
    """A shelf on which one rule stands in front of all others: what its examples are judged with."""

    def __init__(self, rule: CommandRule, base: Shelf) -> None:
        super().__init__(dict.fromkeys((rule.command, *rule.aliases), rule))
        self._base = base
        self._variables, self._paths, self._policies = base.variables, base.paths, base.policies

    def get(self, name: str) -> Answer:
        """That rule for its own names, else what the others say."""
        return super().get(name) or self._base.get(name)


def all_trusted(shelf: Shelf) -> Shelf:
    """The same shelf as it is once every file is trusted: what the author of an overlay means."""
    if not isinstance(shelf, Overlays):
        return shelf
    layers = [
        Layer(
            layer.files,
            layer.label,
            trusted=frozenset(layer.files),
            refused=layer.refused,
            unlisted=layer.unlisted,
            folder=layer.folder,
            own=layer.own,
        )
        for layer in shelf.layers
    ]
    return Overlays(shelf.base, tuple(layers))
