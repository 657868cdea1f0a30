# SPDX-License-Identifier: Apache-2.0
"""Rules of a user and of a project, laid over the shipped ones.

Two kinds of folders hold them: `rules` in the user's config folder, and `.shellguard/rules` of a project. Nothing here
is found by `classify`; the command line asks for it (`with_overlays`).

*Stricter is free.* Where a file of an overlay speaks of a command that has a rule, both judge (`model.Overlaid`). The
same holds for `_env.yaml` (of two entries for a variable the stricter parts of both), for `_paths.yaml` (what any list
calls sensitive is) and for `_policies.yaml` (what both policies let pass).

*Milder needs trust.* A file is trusted when it lies in the user's config folder and nobody else can write to it, or
when its owner has trusted this content of it (`trust.py`). From a file that is not trusted nothing can become a read:
a command, a variable without a shipped entry stays `unknown`, a new policy does not exist.

*Against what is shipped* a trusted file is heard alone only when it says `replaces: yes`. It replaces the shipped
rule, entry or policy and never what another overlay says.

All files of a folder are read once, when the overlay is made: what was hashed is what judges. Links that leave the
folder, pipes, devices, files too large are refused, each by its line in `problems`; a folder that cannot be listed
makes every command `unknown`, because nobody knows what it would have said.
"""

from __future__ import annotations

import os

from shellguard import places
from shellguard.errors import RuleError
from shellguard.rules.compiled import COMMON, Compiled
from shellguard.rules.model import (
    BrokenRule,
    CommandRule,
    CredentialPaths,
    Overlaid,
    Pattern,
    PolicyRule,
    Variable,
    Variables,
)
from shellguard.rules.shelf import Shelf, rule_files
from shellguard.rules.trust import Trusted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from shellguard.rules.gates import Gates
    from shellguard.rules.model import Answer

PROJECT_FOLDER = ".shellguard/rules"
MAX_FILES = 2_000
"""More files than this in one folder are not read, and the folder counts as one that cannot be listed."""

MAX_TOTAL = 4_000_000
"""Bytes of all files of one folder; the same."""


# --- one folder -------------------------------------------------------------------------------------------------------


class Layer:
    """The rules of one folder, as its files were when the layer was made.

    Args:
        files: path relative to the folder -> bytes, with `_env.yaml` and the like among them.
        label: how paths in the model begin, such as `.shellguard/rules`.
        trusted: which of the files are.
        refused: relative path -> what is wrong with a file that could not be read.
        unlisted: set when the folder itself could not be read in full.
        folder: where the files are, for those who show them; empty for a layer that was made from values.
        own: the folder is the user's, not a project's.

    Compiled rules are kept in the user's cache by a hash of the files, so a call does not read YAML again.
    """

    def __init__(
        self,
        files: dict[str, bytes],
        label: str,
        *,
        trusted: frozenset[str] = frozenset(),
        refused: dict[str, RuleError] | None = None,
        unlisted: RuleError | None = None,
        folder: str = "",
        own: bool = False,
    ) -> None:
        self.files, self.label, self.trusted, self.folder, self.own = files, label, trusted, folder, own
        self.refused = {} if refused is None else refused
        self.unlisted = unlisted
        self.content = self._hash()
        self.problems: list[RuleError] = [*self.refused.values(), *([] if unlisted is None else [unlisted])]
        """What could not be read, and, once they were asked for, what is wrong with `_env.yaml` and the like."""
        self._names: dict[str, tuple[str, ...]] | None = None  # any name that a file answers to -> its paths
        self._compiled: Compiled | None = None
        self._looked = False

    def __repr__(self) -> str:
        return f"Layer({self.label!r}, {len(self.files)} files)"

    def _hash(self) -> str:
        from _blake2 import blake2b

        digest = blake2b(self.label.encode("utf-8", "surrogateescape") + b"\0", digest_size=16)
        for path, data in sorted(self.files.items()):
            digest.update(f"{path}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
            digest.update(data)
        for path, error in sorted(self.refused.items()):
            digest.update(f"{path}\0!{error.message}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def rule_paths(self) -> list[str]:
        """Every rule file, the refused ones too, without `_env.yaml` and the like."""
        return sorted(path for path in {*self.files, *self.refused} if path not in COMMON)

    def is_trusted(self, path: str) -> bool:
        """Whether a file is trusted; `path` as the model has it, with the label."""
        return path.removeprefix(f"{self.label}/") in self.trusted

    # What it says.

    def get(self, name: str) -> CommandRule | BrokenRule | None:
        """The rule that this folder has for a command. Never raises."""
        if self.unlisted is not None:
            return BrokenRule(name, self.unlisted.path, self.unlisted.line, self.unlisted.message)
        compiled = self._ready()
        return self.parsed(name) if compiled is None else compiled.get(name)

    def names(self) -> tuple[str, ...]:
        """Every name that some file answers to, sorted."""
        return tuple(sorted(self._index()))

    def parsed(self, name: str) -> CommandRule | BrokenRule | None:
        """`get`, from the YAML text."""
        paths = self._index().get(name)
        if not paths:
            return None
        if len(paths) > 1:
            message = f"`{name}` is spoken of by more than one file: {', '.join(paths)}"
            return BrokenRule(name, f"{self.label}/{paths[0]}", 1, message)
        try:
            return self.load(paths[0])
        except RuleError as error:
            return BrokenRule(name, error.path, error.line, error.message)

    def load(self, path: str) -> CommandRule:
        """The rule of one file. Raises RuleError."""
        from shellguard.rules.load import load_named

        return load_named(self._text(path), f"{self.label}/{path}")

    def _text(self, path: str) -> str:
        from shellguard.rules.tree import decoded

        refused = self.refused.get(path)
        if refused is not None:
            raise refused
        return decoded(self.files[path], f"{self.label}/{path}")

    def _index(self) -> dict[str, tuple[str, ...]]:
        if self._names is None:
            from shellguard.rules.load import names_in

            names: dict[str, tuple[str, ...]] = {}
            for path in self.rule_paths():
                stem = path.rpartition("/")[2].removesuffix(".yaml")
                answers = {stem, *names_in(self.files.get(path, b"").decode("utf-8", "replace"))}
                for name in answers:
                    if name and name.isprintable() and "/" not in name:
                        names[name] = (*names.get(name, ()), path)
            self._names = names
        return self._names

    # Its compiled form.

    def _ready(self) -> Compiled | None:
        """The compiled rules from the cache, put there when they are not. None: the YAML is read."""
        if self.folder and not self._looked:
            self._looked = True
            from shellguard.rules import cache

            self._compiled = cache.compiled_rules(self.content)
            if self._compiled is None and not self._common_is_broken():
                try:
                    cache.keep_bytes(self.content, self.compile())
                except OSError:
                    return None  # there is no place for a cache
                self._compiled = cache.compiled_rules(self.content)
        return self._compiled

    def _common_is_broken(self) -> bool:
        """Whether one of the files without a command is: what is wrong with it would not be in the compiled form."""
        return any(isinstance(self._common(name), RuleError) for name in COMMON)

    def compile(self) -> bytes:
        """The compiled file of this folder. A broken file becomes a broken rule in it."""
        from shellguard.rules.compiled import compiled_text

        rules = {name: rule for name in self.names() if (rule := self.parsed(name)) is not None}
        return compiled_text(rules, self.variables, self.paths, self.policies, self.content)

    # The files that belong to no command.

    @property
    def variables(self) -> Variables:
        """What `_env.yaml` says; nothing when there is none, everything is unknown when it is broken."""
        found = self._common(COMMON[0])
        if isinstance(found, RuleError):
            unknown = frozenset({"unknown"})
            return Variables((Variable(Pattern("*"), path=found.path, line=found.line, effects=unknown),))
        return Variables() if found is None else found

    @property
    def paths(self) -> CredentialPaths:
        """What `_paths.yaml` says; nothing when there is none, every file is sensitive when it is broken."""
        found = self._common(COMMON[1])
        if isinstance(found, RuleError):
            return CredentialPaths(found.path, ((Pattern("*"), found.line),), (), found.line)
        return CredentialPaths("", (), (), 1) if found is None else found

    @property
    def policies(self) -> dict[str, PolicyRule]:
        """What `_policies.yaml` says; nothing when there is none. When it is broken, under `*`: nothing passes."""
        found = self._common(COMMON[2])
        if isinstance(found, RuleError):
            return {"*": PolicyRule("*", frozenset(), (Pattern("*"),), found.message, found.line)}
        return {} if found is None else found

    def _common(self, name: str) -> Any:
        """What one of these files says: None when there is none, the error when it is broken."""
        if name not in self.files and name not in self.refused:
            return None
        compiled = self._ready()
        try:
            if compiled is not None:
                return compiled.common(name)
            from shellguard.rules.load import load_common

            return load_common(name, self._text(name), f"{self.label}/{name}")
        except RuleError as error:
            if str(error) not in [str(known) for known in self.problems]:
                self.problems.append(error)
            return error


def read_layer(folder: str, label: str, trusts: Callable[[str, bytes], bool], *, own: bool = False) -> Layer:
    """The layer of a folder.

    Args:
        folder: an absolute path.
        label: see `Layer`.
        trusts: asked for each file: its absolute real path, its bytes.
    Never raises: what cannot be read is refused in the layer.
    """
    from shellguard.rules.tree import read_bytes

    real = os.path.realpath(folder)
    unlisted: list[str] = []
    if not os.path.isdir(real):
        unlisted.append("not a folder")
    found = rule_files(real, unlisted, MAX_FILES)
    found += [name for name in COMMON if os.path.lexists(os.path.join(real, name))]
    files: dict[str, bytes] = {}
    refused: dict[str, RuleError] = {}
    trusted: set[str] = set()
    total = 0
    for path in found:
        file = os.path.join(real, path)
        try:
            files[path] = data = read_bytes(file, real, f"{label}/{path}")
        except RuleError as error:
            refused[path] = error
            continue
        total += len(data)
        if total > MAX_TOTAL:
            unlisted.append(f"its files are larger than {MAX_TOTAL} bytes together")
            break
        if trusts(os.path.realpath(file), data):
            trusted.add(path)
    problem = RuleError(label, 1, f"the folder cannot be used: {unlisted[0]}") if unlisted else None
    return Layer(
        files,
        label,
        trusted=frozenset(trusted),
        refused=refused,
        unlisted=problem,
        folder=real,
        own=own,
    )


# --- all folders ------------------------------------------------------------------------------------------------------


class Overlays(Shelf):
    """A shelf with layers laid over it, the user's before those of projects. Asked like any other shelf."""

    def __init__(self, base: Shelf, layers: tuple[Layer, ...]) -> None:
        super().__init__({})
        self.base, self.layers = base, layers
        self._answers: dict[str, Answer] = {}
        self._merged: tuple[Variables, CredentialPaths, dict[str, PolicyRule]] | None = None

    def get(self, name: str) -> Answer:
        """The rule of a command; `Overlaid` when more than one file speaks of it."""
        with self._lock:
            if name not in self._answers:
                self._answers[name] = self._all(name)
            return self._answers[name]

    def _all(self, name: str) -> Answer:
        base = self.base.get(name)
        assert not isinstance(base, Overlaid)
        # `egrep` is grep under another name: what an overlay says of grep holds for it too.
        command = base.command if isinstance(base, CommandRule) else name
        shipped = [] if base is None else [base]
        certain: list[CommandRule | BrokenRule] = []
        doubtful: list[CommandRule | BrokenRule] = []
        for layer in self.layers:
            rule = layer.get(name)
            if rule is None and command != name:
                rule = layer.get(command)
            if rule is None:
                continue
            if not (isinstance(rule, CommandRule) and layer.is_trusted(rule.path)):
                doubtful.append(rule)
                continue
            certain.append(rule)
            if rule.replaces and name in (rule.command, *rule.aliases):
                shipped = []
        answers = [*shipped, *certain]
        if not answers and doubtful:
            first = doubtful[0]
            if isinstance(first, CommandRule):
                message = (
                    f"only a rule that is not trusted speaks of `{name}`: look at it, then "
                    f"`shellguard rules trust {first.path}`"
                )
                answers.append(BrokenRule(name, first.path, 1, message))
        answers += doubtful
        if len(answers) > 1:
            return Overlaid(tuple(answers))
        return answers[0] if answers else None

    @property
    def content(self) -> str:
        """A hash of everything the rules say, and of what is trusted: 32 hex digits."""
        from _blake2 import blake2b

        digest = blake2b(self.base.content.encode(), digest_size=16)
        for layer in self.layers:
            digest.update(f"\0{layer.content}\0{'?' if layer.unlisted else ''}".encode())
            digest.update("\0".join(sorted(layer.trusted)).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def names(self) -> tuple[str, ...]:
        """Every name that some rule answers to, sorted."""
        known = set(self.base.names())
        for layer in self.layers:
            known.update(layer.names())
        return tuple(sorted(known))

    @property
    def variables(self) -> Variables:
        """What is known of environment variables that belong to no single command."""
        return self._common_files()[0]

    @property
    def paths(self) -> CredentialPaths:
        """Which files hold credentials."""
        return self._common_files()[1]

    @property
    def gates(self) -> Gates:
        """The shipped ones: what somebody may do unasked is no matter of a project."""
        return self.base.gates

    @property
    def policies(self) -> dict[str, PolicyRule]:
        """The policies by name."""
        return self._common_files()[2]

    def _common_files(self) -> tuple[Variables, CredentialPaths, dict[str, PolicyRule]]:
        with self._lock:
            if self._merged is None:
                base, layers = self.base, self.layers
                variables = [(layer.variables, COMMON[0] in layer.trusted) for layer in layers]
                paths = [(layer.paths, COMMON[1] in layer.trusted) for layer in layers]
                policies = [(layer.policies, COMMON[2] in layer.trusted) for layer in layers]
                self._merged = (
                    _OverlaidVariables(base.variables, variables),
                    _OverlaidPaths(base.paths, paths),
                    _overlaid_policies(base.policies, policies),
                )
                self.problems = [*base.problems, *(error for layer in layers for error in layer.problems)]
            return self._merged


class _OverlaidVariables(Variables):
    """Lists of variables, the shipped one first, each of the others with whether it is trusted."""

    __slots__ = ("_base", "_known", "_layers")

    def __init__(self, base: Variables, layers: list[tuple[Variables, bool]]) -> None:
        super().__init__(base.entries())
        self._base, self._layers = base, layers
        self._known: dict[str, Variable | None] = {}

    def get(self, name: str) -> Variable | None:
        """The entry for `name`: the stricter parts of all entries that count."""
        if name not in self._known:
            if len(self._known) > 4096:
                self._known = {}
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> Variable | None:
        shipped = self._base.get(name)
        listed = shipped is not None
        found: list[Variable] = []
        for variables, trusted in self._layers:
            entry = variables.get(name)
            if entry is None:
                continue
            found.append(entry)
            listed = listed or trusted
            if trusted and entry.replaces:
                shipped = None
        if shipped is not None:
            found.insert(0, shipped)
        if not found:
            return None
        known = found[0]
        for entry in found[1:]:
            known = stricter(known, entry)
        return known if listed else _not_milder_than_unlisted(known)

    def entries(self) -> tuple[Variable, ...]:
        """All entries, the shipped ones first."""
        return (*self._base.entries(), *(entry for layer, _ in self._layers for entry in layer.entries()))


def stricter(first: Variable, second: Variable) -> Variable:
    """An entry that is at least as strict as each of two entries for one variable."""
    effects = first.effects | second.effects
    program = first.program or second.program
    only: tuple[Pattern, ...] = ()
    if first.program != second.program and effects:
        # One judges the value, the other names effects: taken together the value is not looked at.
        effects, program = effects | {"executes"}, False
    elif not program:
        if not first.effects or not second.effects:
            only = first.only if first.effects else second.only
        else:
            texts = {pattern.text for pattern in second.only}
            only = tuple(pattern for pattern in first.only if pattern.text in texts)
    adds = bool(second.effects - first.effects) or (second.program and not first.program)
    place = second if adds else first
    return Variable(
        place.pattern, path=place.path, line=place.line, effects=effects, program=program, only=only
    )


def _not_milder_than_unlisted(entry: Variable) -> Variable:
    """An entry of which nobody is sure, for a variable of which nothing else is known."""
    effects = entry.effects | {"unknown"}
    if entry.program:
        effects |= {"executes"}
    return Variable(entry.pattern, path=entry.path, line=entry.line, effects=effects)


class _OverlaidPaths(CredentialPaths):
    """Lists of credential files, the shipped one first, each of the others with whether it is trusted."""

    __slots__ = ("_base", "_layers")

    def __init__(self, base: CredentialPaths, layers: list[tuple[CredentialPaths, bool]]) -> None:
        super().__init__(base.path, base.sensitive, base.not_sensitive, base.line)
        self._base, self._layers = base, layers

    def line_for(self, name: str) -> int | None:
        """The line of the pattern that calls the file sensitive; `place_for` also says in which file."""
        place = self.place_for(name)
        return None if place is None else place[1]

    def place_for(self, name: str) -> tuple[str, int] | None:
        """The file and line that call `name` sensitive: the shipped list, unless it is taken back, or any other."""
        place = self._base.place_for(name)
        if place is not None and any(
            trusted and paths.replaces and paths.takes_back(name) for paths, trusted in self._layers
        ):
            place = None
        for paths, _ in self._layers:
            place = place or paths.place_for(name)
        return place


def _overlaid_policies(
    base: dict[str, PolicyRule], layers: list[tuple[dict[str, PolicyRule], bool]]
) -> dict[str, PolicyRule]:
    """The policies by name: what all that count let pass, and refuse what any of them refuses."""
    merged = dict(base)
    own: dict[str, PolicyRule] = {}  # what overlays said so far
    for policies, trusted in layers:
        for name in policies if "*" not in policies else (*merged, *policies):
            rule = policies.get(name) or policies["*"]
            if name in own:
                own[name] = _both(own[name], rule)
            elif name in base and not (trusted and rule.replaces):
                own[name] = _both(base[name], rule)
            elif name in base or trusted:
                own[name] = rule
            if name in own:
                merged[name] = own[name]
    merged.pop("*", None)
    return merged


def _both(first: PolicyRule, second: PolicyRule) -> PolicyRule:
    refuses = {pattern.text: pattern for pattern in (*first.refuses, *second.refuses)}
    return PolicyRule(
        first.name, first.effects & second.effects, tuple(refuses.values()), first.summary, first.line
    )


# --- where they are ---------------------------------------------------------------------------------------------------


def user_folder() -> str:
    """The folder of the user's own rules. It need not exist."""
    return os.path.join(places.folder("config"), "rules")


def project_folders(start: str) -> list[tuple[str, str]]:
    """The rule folders of the project that `start` lies in: (project root, folder), the outermost first.

    Looked for from `start` upwards to the root of the repository, the home folder, or the root of the file system. All
    of them count, so that a folder inside a project cannot take back what the project says.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    current = os.path.realpath(start)
    found = []
    while True:
        folder = os.path.join(current, *PROJECT_FOLDER.split("/"))
        if os.path.lexists(folder):
            found.append((current, folder))
        parent = os.path.dirname(current)
        if parent == current or current == home or os.path.lexists(os.path.join(current, ".git")):
            return found[::-1]
        current = parent


def layers_for(start: str | None) -> list[Layer]:
    """The user's layer and those of the project that `start` lies in (None: of none), where there are any."""
    projects = [] if start is None else project_folders(start)
    own = user_folder()
    has_own = os.path.lexists(own)
    if not projects and not has_own:
        return []
    home = os.path.realpath(os.path.expanduser("~"))
    roots = [root for root, _ in projects if root != home]
    trusted = Trusted() if _is_below(places.folder("state"), roots) else Trusted.read()
    layers = []
    if has_own:
        keep = os.path.realpath(own)
        by_place = (
            not _is_below(keep, roots) and places.is_ours(keep) and places.is_ours(os.path.dirname(keep))
        )

        def trusts(path: str, data: bytes) -> bool:
            return (by_place and _only_ours(path, keep)) or trusted.holds(path, data)

        layers.append(read_layer(keep, _shown(own), trusts, own=True))
    for root, folder in projects:
        outer = projects[0][0]
        label = PROJECT_FOLDER if root == outer else f"{os.path.relpath(root, outer)}/{PROJECT_FOLDER}"
        label = label.replace(os.sep, "/")
        if _is_below(folder, [root]):
            layers.append(read_layer(folder, label, trusted.holds))
        else:
            problem = RuleError(label, 1, "the folder is a link that leaves the project")
            layers.append(Layer({}, label, unlisted=problem, folder=folder))
    return layers


def with_overlays(base: Shelf, start: str | None) -> Shelf:
    """`base` with the rules of the user and of the project that `start` lies in; `base` itself when there are none."""
    layers = layers_for(start)
    return Overlays(base, tuple(layers)) if layers else base


def _is_below(path: str, roots: list[str]) -> bool:
    real = os.path.realpath(path)
    return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in roots)


def _only_ours(path: str, folder: str) -> bool:
    """Whether nobody else can write to a file, or to a folder between it and `folder`."""
    while path != folder:
        if not places.is_ours(path):
            return False
        parent = os.path.dirname(path)
        if parent == path:
            return False
        path = parent
    return True


def _shown(folder: str) -> str:
    """The folder as people write it: below the home folder with a tilde."""
    home = os.path.expanduser("~").rstrip(os.sep)
    return f"~{folder[len(home) :]}" if home and folder.startswith(home + os.sep) else folder
