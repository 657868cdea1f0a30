# SPDX-License-Identifier: Apache-2.0
"""What hooks let pass, ask and refuse: the settings of the machine, the user and the project, laid over each
other.

Four places, from weak to strong where they loosen: the defaults, `/etc/shellguard/config.toml` (managed), the
user's `config.toml`, a project's `.shellguard/config.toml` that its owner trusts. Then come those that may
only tighten: a project's file that is not trusted, and the managed file again, for every key that it sets. A
file that cannot be read tightens to the end: nothing passes, and the answer is `on_error`.
"""

from __future__ import annotations

import os

from shellguard import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MANAGED = "/etc/shellguard/config.toml"
NAME = "config.toml"
PROJECT = ".shellguard/config.toml"

SHIPPED, MANAGED_BY, USER, TRUSTED, UNTRUSTED = (
    "default",
    "managed",
    "user",
    "project",
    "project (not trusted)",
)

ERRORS = ("abstain", "ask", "deny")
"""What a hook says when it fails, from mild to strict."""
MODES = ("observe", "enforce")
NEVER_PASS = ("sensitive", "privileged")
"""Marks with which nothing passes by itself, whatever a file says; a pattern of your own for the command
does.
"""

DEFAULTS: dict[str, Any] = {
    "mode": "enforce",
    "on_error": "ask",
    "shell": "any",
    "pass.effects": ("reads", "waits"),
    "pass.marks": ("touches:*", "config:*"),
    "pass.hosts": (),
    "commands.allow": (),
    "commands.ask": (),
    "commands.deny": (),
    "messages": {},
    "paths.sensitive": (),
    "guard.enabled": True,
    "guard.options": {},
    "log.enabled": True,
    "log.commands": False,
    "log.max_bytes": 4_000_000,
    "approval.checkpoint": False,
}
"""Every key with its default. `guard.options` is the section `tool_loop_guardrails`, as `guard defaults`
prints it.
"""

_LISTS = ("pass.effects", "pass.marks", "pass.hosts", "commands.allow", "commands.ask", "commands.deny")
_UNIONS = ("commands.ask", "commands.deny", "paths.sensitive")
_CHOICES = {
    "mode": MODES,
    "on_error": ERRORS,
    "shell": ("bash", "sh", "zsh", "any"),
}
_SECTION = "tool_loop_guardrails"


class Source:
    """One file: where it is, of which kind, what it says by dotted key, and what is wrong with it."""

    __slots__ = ("broken", "complaints", "kind", "path", "values")

    def __init__(
        self,
        kind: str,
        path: str,
        values: dict[str, Any] | None = None,
        complaints: list[str] | None = None,
        *,
        broken: str = "",
    ) -> None:
        self.kind, self.path, self.broken = kind, path, broken
        self.values: dict[str, Any] = {} if values is None else values
        self.complaints: list[str] = [] if complaints is None else complaints


class Settings:
    """The value of every key of `DEFAULTS`, and for each the files that made it what it is."""

    __slots__ = ("broken", "origins", "sources", "values")

    def __init__(self, sources: list[Source]) -> None:
        self.sources = sources
        self.values: dict[str, Any] = dict(DEFAULTS)
        self.origins: dict[str, list[str]] = {}
        self.broken = [f"{source.path}: {source.broken}" for source in sources if source.broken]
        for source in sources:
            if source.kind != UNTRUSTED:
                for key, value in source.values.items():
                    self._set(key, loosened(key, self.values[key], value), source)
        for kind in (UNTRUSTED, MANAGED_BY):
            for source in sources:
                if source.kind == kind:
                    for key, value in source.values.items():
                        self._set(key, tightened(key, self.values[key], value), source)

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def _set(self, key: str, value: object, source: Source) -> None:
        if value != self.values[key]:
            self.values[key] = value
            self.origins.setdefault(key, []).append(source.path)


def loosened(key: str, below: Any, value: Any) -> Any:
    """What a stronger file makes of a value: lists of commands, hosts and paths grow, all else is replaced."""
    if key in ("messages", "guard.options"):
        return {**below, **value}
    if key.startswith(("commands.", "paths.")) or key == "pass.hosts":
        return (*below, *[item for item in value if item not in below])
    return value


def tightened(key: str, below: Any, value: Any) -> Any:
    """The stricter of two values. Where a key has no stricter, what is there stays."""
    if key in ("mode", "on_error"):
        order = MODES if key == "mode" else ERRORS
        return max(below, value, key=order.index)
    if key == "shell":
        return below if below == value else "any"
    if key in _UNIONS:
        return (*below, *[item for item in value if item not in below])
    if key in ("pass.effects", "pass.marks", "pass.hosts", "commands.allow"):
        return tuple([item for item in below if item in value])
    if key in ("guard.enabled", "log.enabled", "approval.checkpoint"):
        return below or value
    return below  # words for the agent, sizes and options of the guard are no place to tighten


def sources_for(folder: str, managed: str = MANAGED) -> list[Source]:
    """The files that count in a folder (empty: in none), from weak to strong."""
    found = []
    if os.path.exists(managed):
        found.append(_source(MANAGED_BY, managed))
    own = os.path.join(places.folder("config"), NAME)
    if os.path.exists(own):
        found.append(_source(USER, own))
    for path in project_files(folder) if folder else []:
        if not os.path.exists(own) or not os.path.samefile(path, own):
            found.append(_project(path))
    return found


def settings_for(folder: str, managed: str = MANAGED) -> Settings:
    """The settings that hold in a folder. Never raises for what is wrong in a file."""
    return Settings(sources_for(folder, managed))


def project_files(folder: str) -> list[str]:
    """The files of the projects that a folder lies in, the outermost first; upwards to a repository's root or
    home.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    current = os.path.realpath(folder)
    found = []
    while True:
        path = os.path.join(current, ".shellguard", NAME)
        if os.path.lexists(path):
            found.append(path)
        parent = os.path.dirname(current)
        if parent == current or current == home or os.path.lexists(os.path.join(current, ".git")):
            return found[::-1]
        current = parent


def _project(path: str) -> Source:
    from shellguard.rules.trust import Trusted

    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        return Source(UNTRUSTED, path, broken=error.strerror or "it cannot be read")
    project = os.path.dirname(os.path.dirname(os.path.realpath(path)))
    state = os.path.realpath(places.folder("state"))
    inside = state == project or state.startswith(project.rstrip(os.sep) + os.sep)
    home = os.path.realpath(os.path.expanduser("~"))
    trusted = (project == home or not inside) and Trusted.read().holds(os.path.realpath(path), data)
    return _source(TRUSTED if trusted else UNTRUSTED, path)


def _source(kind: str, path: str) -> Source:
    """A file, from what was remembered of it when it was last read, where it has not changed since."""
    from shellguard.agents.jsontext import dumps, loads

    try:
        status = os.stat(path)
    except OSError as error:
        return Source(kind, path, broken=error.strerror or "it cannot be read")
    if kind == USER and not places.is_ours(os.path.realpath(path)):
        return Source(kind, path, broken="others may write to it")
    stamp = [status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev, FORMAT]
    kept = _kept_at(path)
    if places.is_ours(kept) and places.is_ours(os.path.dirname(kept)):
        try:
            with open(kept, encoding="ascii") as file:
                known = loads(file.read())
            if known["stamp"] == stamp and known["path"] == path:
                return Source(
                    kind, path, _as_tuples(known["values"]), known["complaints"], broken=known["broken"]
                )
        except (OSError, ValueError, KeyError, TypeError):
            pass
    values, complaints, broken = read(path)
    source = Source(kind, path, values, complaints, broken=broken)
    try:
        text = dumps(
            {"stamp": stamp, "path": path, "values": values, "complaints": complaints, "broken": broken}
        )
        places.write_private(kept, text.encode("ascii"))
    except (OSError, TypeError, ValueError, RecursionError):
        pass  # it is read again next time
    return source


FORMAT = 1
"""Of what is remembered of a file."""


def _kept_at(path: str) -> str:
    from _blake2 import blake2b

    name = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return os.path.join(places.folder("cache"), f"config-{name}.json")


def _as_tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}


def read(path: str) -> tuple[dict[str, Any], list[str], str]:
    """What a file says by dotted key, what is wrong in it, and why it cannot be read (empty where it can)."""
    import tomllib

    try:
        with open(path, "rb") as file:
            data = tomllib.loads(file.read(1_000_000).decode("utf-8-sig"))
    except OSError as error:
        return {}, [], error.strerror or "it cannot be read"
    except (ValueError, RecursionError) as error:
        return {}, [], str(error)
    return checked(data)


def checked(data: dict[str, Any]) -> tuple[dict[str, Any], list[str], str]:
    """The same of what TOML says. A value that is no value of its key makes the file count as broken."""
    values: dict[str, Any] = {}
    complaints: list[str] = []
    broken = ""
    for key, value in _flat(data, complaints).items():
        wrong = _wrong(key, value)
        if wrong:
            broken = broken or f"{key}: {wrong}"
            complaints.append(f"{key}: {wrong}")
        else:
            values[key] = tuple(value) if isinstance(value, list) else value
    for mark in values.get("pass.marks", ()):
        if mark in NEVER_PASS:
            complaints.append(f"pass.marks: {mark!r} never passes by itself; allow the command instead")
    return values, complaints, broken


def _flat(data: dict[str, Any], complaints: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in data.items():
        if name == _SECTION and isinstance(value, dict):
            found["guard.options"] = value
        elif name in DEFAULTS and "." not in name:
            found[name] = value
        elif isinstance(value, dict):
            for inner, item in value.items():
                key = f"{name}.{inner}"
                if key in DEFAULTS and key != "guard.options":
                    found[key] = item
                else:
                    complaints.append(f"{key}: there is no such key")
        else:
            complaints.append(f"{name}: there is no such key")
    return found


def _wrong(key: str, value: object) -> str:
    default = DEFAULTS[key]
    if key in _CHOICES:
        return "" if value in _CHOICES[key] else f"it is none of {', '.join(_CHOICES[key])}"
    if isinstance(default, bool):
        return "" if isinstance(value, bool) else "it is true or false"
    if isinstance(default, int):
        fine = isinstance(value, int) and not isinstance(value, bool) and value >= 10_000
        return "" if fine else "it is a whole number of at least 10000"
    if key == "messages":
        fine = isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
        return "" if fine else "it maps patterns to texts"
    if isinstance(default, dict):
        return "" if isinstance(value, dict) else "it is a table"
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return "it is a list of texts"
    if key.startswith("commands."):
        from shellguard.agents.patterns import pattern_words

        for item in value:
            if pattern_words(item) is None:
                return f"{item!r} is no command"
    if key == "pass.effects":
        for item in value:
            if item not in ("reads", "waits", "network"):
                return f"{item!r} is none of reads, waits, network"
    return ""
