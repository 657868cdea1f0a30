# SPDX-License-Identifier: Apache-2.0
"""What a profile of the host has its worker execute: the part `worker:` of `profiles/NAME/config.yaml`.

The file is read directly, each time, and either it is right as a whole or it raises: no default, no last good copy, no
other place. Nothing of a card, a workspace or a project is asked. Only who owns the profile can write it.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass

from shellguard import places
from shellguard.errors import RuleError, ShellguardError
from shellguard.rules import tree
from shellguard.workers import trusted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from shellguard.rules.tree import Node

FOLDER, FILE = "profiles", "config.yaml"

ROOT_FILES = ("config.yaml", "config.yml", "config.toml", "config/config.toml", "config/config.yaml")
"""Files of the root in which somebody may think to declare a worker: there it would count for every profile."""

COMPLETIONS = ("exit_code", "self_reported")
KINDS = ("command", "agent")
WORKSPACES = ("scratch", "worktree", "dir")
HOMES = ("private", "own")

MAX_GRACE = 4.0
"""Seconds. The dispatcher kills the supervisor 5 s after it asked, and the tree has to be gone by then."""

GRACE = 3.0
MAX_CONCURRENCY = 1000

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}\Z")

OURS = frozenset({"PATH", "HOME", "TMPDIR", "TMP", "TEMP", "USERPROFILE", "PWD"})
"""Variables that the supervisor sets; so are all that begin with SHELLGUARD_."""

LOADERS = frozenset(
    {
        *("LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH"),
        *("BASH_ENV", "ENV", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT", "NODE_OPTIONS", "PYTHONHOME"),
    }
)
"""Variables that put code into a program that was frozen. A script may set them; a profile does not pass them on."""


class ProfileError(ShellguardError):
    """A profile is not right. `path` is the file, `line` is 1-based, `message` says what to change."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(path, line, message)
        self.path, self.line, self.message = path, line, message

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class Profile:
    """What a profile says. Times are seconds; `max_runtime`, `max_retries` None: the board decides.

    `environment`: names that are taken from the dispatcher. `search`: the trusted path, None for the default one.
    `home` is `private` or `own` (that of the user), `workspace` one of `WORKSPACES` (`workspaces.py` makes them).
    """

    name: str
    path: str
    argv: tuple[str, ...]
    completion: str = "exit_code"
    is_agent: bool = False
    max_runtime: float | None = None
    grace: float = GRACE
    environment: tuple[str, ...] = ()
    workspace: str = "scratch"
    concurrency: int | None = None
    search: tuple[str, ...] | None = None
    home: str = "private"
    max_retries: int | None = None


def root(home: str | None = None) -> str:
    """The real path of the folder that holds `profiles`. A `home` that is itself a profile means the root above it.

    `home`: `SHELLGUARD_HOME`, else the folder for configuration, when it is not given.
    """
    found = home or os.environ.get("SHELLGUARD_HOME") or places.folder("config")
    real = os.path.realpath(found)
    above = os.path.dirname(real)
    return os.path.dirname(above) if os.path.basename(above) == FOLDER else real


def load(home: str | None, name: str) -> Profile:
    """The profile of a name. Raises: ProfileError."""
    top = root(home)
    path = os.path.join(top, FOLDER, name, FILE)
    if not NAME.match(name):
        raise ProfileError(path, 1, f"{name!r} is no name of a profile: use letters, digits, `.`, `_`, `-`")
    _refuse_root_declaration(top)
    real = os.path.realpath(path)
    if not os.path.lexists(path):
        raise ProfileError(path, 1, f"there is no profile {name!r}: make this file")
    if real != path:
        raise ProfileError(
            path, 1, f"it is really {real}: a profile is a plain file below {FOLDER}/, no link"
        )
    try:
        if os.name != "nt":
            trusted.refuse_if_open(real)
            trusted.refuse_if_open(os.path.dirname(real))
    except trusted.TrustError as error:
        raise ProfileError(path, 1, f"{error}; whoever writes it says what is executed") from error
    except OSError as error:
        raise ProfileError(path, 1, f"cannot be read: {error.strerror}") from error
    return _profile(_tree(real, path), name, path)


def _tree(real: str, path: str) -> Node:
    try:
        text = tree.read_file(real, os.path.dirname(real), path)
        return tree.tree(tree.checked_text(text, path), path)
    except RuleError as error:
        raise ProfileError(path, error.line, error.message) from error


def _refuse_root_declaration(top: str) -> None:
    """A worker that is declared for every profile is refused for every profile; so is a root that cannot be read."""
    for name in ROOT_FILES:
        path = os.path.join(top, name)
        if not os.path.lexists(path):
            continue
        line = _declared_in_toml(path) if name.endswith(".toml") else _declared_in_yaml(path)
        if line is not None:
            raise ProfileError(
                path, line, f"a worker belongs to one profile: move this to {FOLDER}/NAME/{FILE}"
            )


def _declared_in_yaml(path: str) -> int | None:
    try:
        node = _tree(os.path.realpath(path), path)
    except ProfileError as error:
        if error.message == "the file is empty":
            return None
        raise
    if not isinstance(node.value, dict) or "worker" not in node.value:
        return None
    return node.value["worker"][0]


def _declared_in_toml(path: str) -> int | None:
    import tomllib

    try:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8")
        found = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise ProfileError(path, 1, f"cannot be read: {error}") from error
    if "worker" not in found:
        return None
    lines = [number for number, line in enumerate(text.split("\n"), 1) if "worker" in line]
    return lines[0] if lines else 1


# --- the words of `worker:` -------------------------------------------------------------------------------------------


class _Words:
    """The words below `worker:`, each read once."""

    def __init__(self, node: Node, path: str) -> None:
        self.path = path
        if not isinstance(node.value, dict):
            self.wrong(node.line, "`worker` must be a mapping, with `command: [PROGRAM, WORD, ...]` in it")
        self.words = dict(node.value)

    def wrong(self, line: int, message: str) -> NoReturn:
        raise ProfileError(self.path, line, message)

    def text(self, node: Node, name: str) -> str:
        """A word that YAML takes for text as well: not `3`, `yes` or `null`."""
        if not isinstance(node.value, str):
            self.wrong(node.line, f"`{name}` must be text")
        if not node.value:
            self.wrong(node.line, f"`{name}` has an empty word")
        if node.raw and _kind(node.value) != "str":
            self.wrong(node.line, f"`{name}` has {node.value}, which is no text in YAML: put it in quotes")
        return node.value

    def list_of(self, name: str) -> tuple[int, list[Node]] | None:
        """The list below a word, with its line."""
        found = self.words.pop(name, None)
        if found is None:
            return None
        line, node = found
        if not isinstance(node.value, list):
            self.wrong(line, f"`{name}` must be a list: [WORD, WORD]")
        return line, node.value

    def one_of(self, name: str, allowed: tuple[str, ...]) -> str | None:
        """One of some words."""
        found = self.words.pop(name, None)
        if found is None:
            return None
        line, node = found
        if not isinstance(node.value, str) or node.value not in allowed:
            self.wrong(line, f"`{name}` must be one of {', '.join(allowed)}")
        return node.value

    def number(self, name: str, lowest: float, highest: float, *, whole: bool = False) -> float | None:
        """A number between two others."""
        found = self.words.pop(name, None)
        if found is None:
            return None
        line, node = found
        value = node.value if isinstance(node.value, str) and node.raw else ""
        try:
            number = float(value) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", value) else math.nan
        except ValueError:
            number = math.nan
        if not lowest <= number <= highest or (whole and number != int(number)):
            what = "a whole number" if whole else "a number"
            self.wrong(line, f"`{name}` must be {what} from {lowest:g} to {highest:g}")
        return number


def _kind(value: str) -> str:
    """What YAML takes a plain word for: `str`, `int`, `bool`, `null`, ..."""
    import yaml

    resolver: Any = yaml.SafeLoader("")
    try:
        tag: str = resolver.resolve(yaml.ScalarNode, value, (True, False))
    finally:
        resolver.dispose()
    return tag.rpartition(":")[2]


def _profile(node: Node, name: str, path: str) -> Profile:
    if not isinstance(node.value, dict) or "worker" not in node.value:
        raise ProfileError(
            path, node.line, "it declares no worker: add `worker: {command: [PROGRAM, WORD, ...]}`"
        )
    line, worker = node.value["worker"]
    words = _Words(worker, path)
    command = words.list_of("command")
    if command is None:
        words.wrong(line, "`worker` has no command: add `command: [PROGRAM, WORD, ...]`")
    if not command[1]:
        words.wrong(command[0], "`command` is empty: its first word is the program")
    argv = tuple(words.text(each, "command") for each in command[1])
    grace = words.number("grace", 0, 3600)
    concurrency = words.number("concurrency", 1, MAX_CONCURRENCY, whole=True)
    retries = words.number("max_retries", 1, MAX_CONCURRENCY, whole=True)
    search = words.list_of("search")
    profile = Profile(
        name,
        path,
        argv,
        words.one_of("completion", COMPLETIONS) or "exit_code",
        words.one_of("kind", KINDS) == "agent",
        words.number("max_runtime", 0.1, 31_536_000),
        GRACE if grace is None else min(grace, MAX_GRACE),
        _variables(words),
        words.one_of("workspace", WORKSPACES) or "scratch",
        None if concurrency is None else int(concurrency),
        None if search is None else tuple(words.text(each, "search") for each in search[1]),
        words.one_of("home", HOMES) or "private",
        None if retries is None else int(retries),
    )
    for unknown, (at, _) in words.words.items():
        words.wrong(at, f"`{unknown}` is no word of `worker`: {', '.join(WORDS)}")
    if search is not None and not profile.search:
        words.wrong(search[0], "`search` is empty: leave it out, or name folders")
    return profile


def _variables(words: _Words) -> tuple[str, ...]:
    found = words.list_of("environment")
    if found is None:
        return ()
    names = []
    for node in found[1]:
        name = words.text(node, "environment")
        if not VARIABLE.match(name):
            words.wrong(node.line, f"{name!r} is no name of a variable: the value comes from the dispatcher")
        if name.upper() in OURS or name.upper().startswith("SHELLGUARD_"):
            words.wrong(node.line, f"{name} is set for every worker: leave it out")
        if name.upper() in LOADERS:
            words.wrong(node.line, f"{name} puts other code into the program: leave it out")
        names.append(name)
    return tuple(names)


WORDS = (
    *("command", "kind", "completion", "max_runtime", "grace", "environment", "workspace", "concurrency"),
    *("search", "home", "max_retries"),
)
"""Every word of `worker:`."""
