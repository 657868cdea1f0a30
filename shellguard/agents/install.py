# SPDX-License-Identifier: Apache-2.0
"""Our entry in the settings of a host: put in, found, taken out again, with the rest untouched.

What was put in is remembered as text, in the state folder, so that taking it out gives the file that was
there. The line that a host runs names an absolute interpreter and an absolute file, and stays the same from
one release to the next.
"""

from __future__ import annotations

import os
import shlex
import stat
import sys
from dataclasses import dataclass, field
from json import dumps, loads
from pathlib import Path
from typing import Any

from shellguard import places
from shellguard.agents import HOSTS, host_named
from shellguard.agents.edit import (
    EditError,
    addition,
    parsed,
    with_addition,
    without,
    without_entries,
    yaml_addition,
)

MARK = "shellguard/hook.py"
"""What every line of ours holds."""
SECONDS = 10
_CLAUDE_EVENTS = ("PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit")


class InstallError(Exception):
    """It cannot be done; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where the entry of a host belongs. `kind`: `json`, `yaml`, or `own` for a file that is ours as a whole."""

    path: str
    kind: str = "json"
    entries: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = ()
    content: str = ""
    head: dict[str, Any] = field(default_factory=dict)
    promises: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What an installation or its removal does to one file, and to one `beside` it where the host wants two.

    `before` is None for a file that is not there, `after` for one that goes.
    """

    host: str
    path: str
    argv: tuple[str, ...]
    before: bytes | None
    after: bytes | None
    pieces: tuple[str, ...] = ()
    promises: str = ""
    beside: Change | None = None

    @property
    def changes(self) -> bool:
        return self.before != self.after or (self.beside is not None and self.beside.changes)


def argv_for(host: str, *, fail_closed: bool = False) -> list[str]:
    """The command line that a host shall run."""
    hook = Path(__file__).resolve().parent.parent / "hook.py"
    line = [os.path.abspath(sys.executable), "-I", "-S", hook.as_posix(), host]
    return [*line, "--fail-closed"] if fail_closed else line


def target_for(host: str, project: str | None, *, fail_closed: bool = False) -> Target:
    """Where the entry belongs: in the user's settings, or in those of a project. Raises InstallError."""
    argv = argv_for("copilot" if host == "vscode" else host, fail_closed=fail_closed)
    home = os.path.expanduser("~")
    base = home if project is None else project
    line = shlex.join(argv)
    switch = host_named(host).fails_closed
    promise = (
        ""
        if switch
        else "This host has no switch for it: where our hook cannot be started, the call goes on."
    )
    if host == "claude":
        folder = os.environ.get("CLAUDE_CONFIG_DIR") if project is None else None
        path = os.path.join(folder or os.path.join(base, ".claude"), "settings.json")
        handler: dict[str, Any] = {
            "type": "command",
            "command": argv[0],
            "args": argv[1:],
            "timeout": SECONDS,
        }
        return Target(
            path,
            entries=tuple(
                (
                    ("hooks", event),
                    {
                        **({} if event == "UserPromptSubmit" else {"matcher": "Bash"}),
                        "hooks": [{**handler, **({"onFailure": "block"} if event == "PreToolUse" else {})}],
                    },
                )
                for event in (
                    "PreToolUse",
                    "PermissionRequest",
                    "PostToolUse",
                    "PostToolUseFailure",
                    "UserPromptSubmit",
                )
            ),
            promises="Claude Code before 2.1.295 does not know onFailure: there a hook that dies lets the call go on.",
        )
    if host in ("codex", "qwen", "gemini", "droid", "openhands"):
        return _by_matcher(host, base, line, promise)
    if host == "cursor":
        closed = {"failClosed": True} if fail_closed else {}
        shell = {"command": line, "matcher": "Shell"}
        return Target(
            os.path.join(base, ".cursor", "hooks.json"),
            entries=(
                (("hooks", "preToolUse"), {**shell, **closed}),
                (("hooks", "postToolUse"), shell),
                (("hooks", "postToolUseFailure"), shell),
                (("hooks", "beforeSubmitPrompt"), {"command": line}),
            ),
            head={"version": 1},
            promises=""
            if fail_closed
            else "Without --fail-closed a hook that dies lets the call go on. With it, all but proven reads is asked.",
        )
    if host in ("copilot", "vscode"):
        folder = (
            os.path.join(home, ".copilot", "hooks")
            if project is None
            else os.path.join(base, ".github", "hooks")
        )
        entry = {"type": "command", "exec": argv[0], "args": argv[1:], "timeoutSec": SECONDS}
        text = dumps({"version": 1, "hooks": {event: [entry] for event in _CLAUDE_EVENTS}}, indent=2) + "\n"
        told = "A hook that takes too long lets the call go on; one that dies denies it."
        return Target(os.path.join(folder, "shellguard.json"), "own", content=text, promises=told)
    if host == "opencode":
        folder = (
            os.path.join(home, ".config", "opencode") if project is None else os.path.join(base, ".opencode")
        )
        return Target(
            os.path.join(folder, "plugins", "shellguard.js"),
            "own",
            content=_template("opencode_plugin.js", argv),
        )
    if host == "hermes":
        path = os.path.join(_hermes_home(), "config.yaml")
        if project is not None:
            raise InstallError("Hermes reads hooks from its home folder only: leave --project out")
        entry = {"command": line, "matcher": "terminal", "timeout": SECONDS}
        return Target(
            path,
            "yaml",
            (
                (("hooks", "pre_tool_call"), {**entry, "fail_closed": True}),
                (("hooks", "post_tool_call"), entry),
            ),
            promises="Hermes asks once for your consent to the new line.",
        )
    assert host == "kiro"
    folder = os.path.join(base, ".kiro", "hooks")
    entry = {"command": line, "matcher": "execute_bash", "timeout_ms": SECONDS * 1000}
    text = dumps({"hooks": {event: [entry] for event in ("preToolUse", "postToolUse")}}, indent=2) + "\n"
    return Target(os.path.join(folder, "shellguard.json"), "own", content=text, promises=promise)


_PLACES = {
    "codex": (".codex", "hooks.json", "Bash", 1),
    "qwen": (".qwen", "settings.json", "run_shell_command", 1000),
    "gemini": (".gemini", "settings.json", "run_shell_command", 1000),
    "droid": (".factory", "settings.json", "Execute", 1),
    "openhands": (".openhands", "hooks.json", "terminal", 1),
}
"""Host -> folder, file, name of the shell tool, and how many units of a time limit make a second."""


def _by_matcher(host: str, base: str, line: str, promise: str) -> Target:
    folder, name, tool, units = _PLACES[host]
    events = [
        event for event in host_named(host).events if event not in ("PermissionRequest",) or host != "droid"
    ]
    handler: dict[str, Any] = {"type": "command", "command": line, "timeout": SECONDS * units}
    if host == "gemini":
        handler = {
            "type": "command",
            "name": "shellguard",
            **{key: handler[key] for key in ("command", "timeout")},
        }
    if host == "codex":
        events = [event for event in events if event != "PostToolUseFailure"]
        promise += " Codex asks you to trust the new hooks: open /hooks once."
    turns = ("UserPromptSubmit", "BeforeAgent")
    return Target(
        os.path.join(base, folder, name),
        entries=tuple(
            (("hooks", event), {**({} if event in turns else {"matcher": tool}), "hooks": [handler]})
            for event in events
        ),
        promises=promise.strip(),
    )


def _template(name: str, argv: list[str]) -> str:
    text = (Path(__file__).parent / name).read_text("utf-8")
    return text.replace("@ARGV@", dumps(argv))


# --- what to change ---------------------------------------------------------------------------------------------------


def installation(host: str, project: str | None = None, *, fail_closed: bool = False) -> Change:
    """What installing does. Raises InstallError."""
    target = target_for(host, project, fail_closed=fail_closed)
    argv = tuple(argv_for("copilot" if host == "vscode" else host, fail_closed=fail_closed))
    path = os.path.realpath(target.path)
    before = _read(path)
    if target.kind == "own":
        after = target.content.encode()
        return Change(host, path, argv, before, after, (target.content,), target.promises)
    text = "" if before is None else _decoded(before, path)
    if MARK in text.replace("\\\\", "/"):
        if _is_wired(text, target):
            return Change(host, path, argv, before, before, (), target.promises)
        text = _taken_out(text, host, path)
    pieces = []
    try:
        if not text.strip("\ufeff \t\r\n") and target.head:
            added = (len(text), dumps(target.head, indent=2) + "\n")
            text, pieces = with_addition(text, added), [added[1]]
        for where, entry in target.entries:
            make = yaml_addition if target.kind == "yaml" else addition
            added = make(text, where, entry)
            text = with_addition(text, added)
            pieces.append(added[1])
    except EditError as error:
        raise InstallError(f"{path}: {error}") from None
    if not _is_wired(text, target):
        raise InstallError(f"{path}: it is written in a way that cannot be edited safely; see docs/agents.md")
    return Change(host, path, argv, before, _encoded(text), tuple(pieces), target.promises)


def plugin_installation() -> Change:
    """What installing the plugin for Hermes does: it can ask, which a shell hook cannot."""
    argv = argv_for("hermes")
    folder = os.path.realpath(os.path.join(_hermes_home(), "plugins", "shellguard"))
    manifest = "name: shellguard\nversion: 1.0.0\ndescription: Judges commands, by shellguard/hook.py\n"
    told = "Enable it once: hermes plugins enable shellguard"
    return _whole_file(
        os.path.join(folder, "__init__.py"),
        _template("hermes_plugin.txt", argv),
        argv,
        told,
        _whole_file(os.path.join(folder, "plugin.yaml"), manifest, argv, ""),
    )


def _whole_file(path: str, content: str, argv: list[str], told: str, beside: Change | None = None) -> Change:
    return Change("hermes", path, tuple(argv), _read(path), content.encode(), (content,), told, beside)


def _hermes_home() -> str:
    return os.environ.get("HERMES_HOME") or os.path.join(os.path.expanduser("~"), ".hermes")


def plugin_removal() -> Change:
    """What taking the plugin for Hermes out does."""
    made = plugin_installation()
    assert made.beside is not None
    return _gone(made.path, _gone(made.beside.path))


def _gone(path: str, beside: Change | None = None) -> Change:
    before = _read(path)
    after = None if before is None or MARK.encode() in before else before
    return Change("hermes", path, (), before, after, beside=beside)


def removal(host: str, project: str | None = None) -> Change:
    """What taking our entry out does. Raises InstallError."""
    target = target_for(host, project)
    path = os.path.realpath(target.path)
    before = _read(path)
    if before is None:
        return Change(host, path, (), None, None)
    if target.kind == "own":
        return Change(host, path, (), before, None if MARK.encode() in before else before)
    text = _decoded(before, path)
    if MARK not in text:
        return Change(host, path, (), before, before)
    kept = _kept().get(path, {})
    text = _taken_out(text, host, path)
    gone = kept.get("created") and not text.strip("\ufeff \t\r\n")
    return Change(host, path, (), before, None if gone else _encoded(text))


def _taken_out(text: str, host: str, path: str) -> str:
    kept = _kept().get(path, {})
    pieces = kept.get("pieces")
    if isinstance(pieces, list):
        found = without(text, pieces)
        if found is not None and MARK not in found:
            return found
    try:
        found = text if host == "hermes" else without_entries(text, ("hooks",), MARK)
    except EditError as error:
        raise InstallError(f"{path}: {error}") from None
    if MARK in found:
        raise InstallError(f"{path}: our entry was changed by hand; take out what names {MARK}")
    return found


def _is_wired(text: str, target: Target) -> bool:
    """Whether each entry stands where it belongs, and is what it should be."""
    try:
        if target.kind == "yaml":
            import yaml

            value = yaml.safe_load(text.lstrip("\ufeff"))
        else:
            node = parsed(text)
            value = None if node is None else node.value
    except EditError:
        return False
    except Exception:  # noqa: BLE001 - the base of yaml's errors has no better name
        return False
    for path, entry in target.entries:
        found = value
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        if not isinstance(found, list) or found.count(entry) != 1:
            return False
    return True


def apply(change: Change) -> None:
    """Does it. A file keeps its mode, and a link stays a link. Raises InstallError when one cannot be written."""
    if change.beside is None:
        _apply(change)
        return
    pair = (change, change.beside)
    for each in (
        pair if change.after is not None else reversed(pair)
    ):  # the first made the folders, and removes them
        _apply(each)


def _apply(change: Change) -> None:
    kept = _kept()
    entry = kept.pop(change.path, {})
    try:
        if change.after is None:
            if change.before is not None:
                os.unlink(change.path)
                for folder in reversed(entry.get("folders", [])):
                    _remove_empty(folder)
        elif change.before != change.after:
            folders = _missing_folders(os.path.dirname(change.path))
            _write(change.path, change.after)
            if change.pieces:
                kept[change.path] = {
                    "host": change.host,
                    "pieces": list(change.pieces),
                    "created": change.before is None or bool(entry.get("created")),
                    "folders": folders or entry.get("folders", []),
                }
        elif entry:
            kept[change.path] = entry
        _keep(kept)
    except OSError as error:
        raise InstallError(f"{change.path}: {error.strerror}") from None


def _missing_folders(folder: str) -> list[str]:
    missing: list[str] = []
    while not os.path.isdir(folder):
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    return missing


def _remove_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        return


def _write(path: str, data: bytes) -> None:
    mode = 0o600
    if os.path.exists(path):
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if not mode & stat.S_IWUSR:
            raise InstallError(f"{path}: it is read-only; make it writable, or install for a project")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    part = f"{path}.{os.getpid()}.part"
    with open(part, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(part, mode)
    os.replace(part, path)


def _read(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InstallError(f"{path}: {error.strerror}") from None


def _decoded(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InstallError(f"{path}: it is no UTF-8") from None


def _encoded(text: str) -> bytes:
    return text.encode("utf-8")


def _kept_path() -> str:
    return os.path.join(places.folder("state"), "installed.json")


def _kept() -> dict[str, Any]:
    try:
        value = loads(Path(_kept_path()).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _keep(kept: dict[str, Any]) -> None:
    places.write_private(_kept_path(), (dumps(kept, indent=1) + "\n").encode())


COMPLETION = "completion"
"""What stands for a host where the completions of a shell were installed."""
_COMPLETES = "_SHELLGUARD_COMPLETE"


def completion_installation(path: str, script: str) -> Change:
    """What installing the completions of a shell does. Raises InstallError where the file is somebody else's."""
    before = _read(path)
    if before is not None and _COMPLETES.encode() not in before:
        raise InstallError(f"{path}: it is there, and not ours")
    return Change(COMPLETION, path, (), before, script.encode(), (script,))


def installed() -> list[tuple[str, str]]:
    """What is remembered: host (or `completion`) and file of each installation."""
    known = (*HOSTS, COMPLETION)
    return [(str(entry.get("host")), path) for path, entry in _kept().items() if entry.get("host") in known]


def removal_of(host: str, path: str) -> Change:
    """What taking out one remembered installation does, wherever it is. Raises InstallError."""
    before = _read(path)
    if before is None:
        return Change(host, path, (), None, None)
    entry = _kept().get(path, {})
    if entry.get("pieces") == [before.decode("utf-8", "replace")]:
        return Change(host, path, (), before, None)
    if host == COMPLETION:  # of another release, or somebody else's
        return Change(host, path, (), before, None if _COMPLETES.encode() in before else before)
    text = _taken_out(_decoded(before, path), host, path)
    gone = entry.get("created") and not text.strip("\ufeff \t\r\n")
    return Change(host, path, (), before, None if gone else _encoded(text))
