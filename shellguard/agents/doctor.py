# SPDX-License-Identifier: Apache-2.0
"""Is the hook of a host in order? The line that is installed is run as the host would run it, and timed."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from json import dumps, loads
from typing import Any

from shellguard.agents import host_named
from shellguard.agents.edit import EditError, parsed
from shellguard.agents.install import MARK, InstallError, argv_for, installation, plugin_installation
from shellguard.agents.settings import settings_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENTS = {
    "claude": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "qwen": "qwen",
    "cursor": "cursor-agent",
    "copilot": "copilot",
    "opencode": "opencode",
    "hermes": "hermes",
    "kiro": "kiro-cli",
    "droid": "droid",
}
"""Host -> the program whose version is asked for."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`level` is `ok`, `note` or `wrong`."""

    level: str
    text: str


_SAMPLES = {
    # host: the keys of event, session, tool and arguments, and what stands below the first and the third
    "gemini": ("hook_event_name", "session_id", "tool_name", "tool_input", "BeforeTool", "run_shell_command"),
    "qwen": ("hook_event_name", "session_id", "tool_name", "tool_input", "PreToolUse", "run_shell_command"),
    "cursor": ("hook_event_name", "conversation_id", "tool_name", "tool_input", "preToolUse", "Shell"),
    "opencode": ("event", "session", "tool", "args", "tool.execute.before", "bash"),
    "hermes": ("hook_event_name", "session_id", "tool_name", "tool_input", "pre_tool_call", "terminal"),
    "openhands": ("event_type", "session_id", "tool_name", "tool_input", "PreToolUse", "terminal"),
    "kiro": ("hook_event_name", "session_id", "tool_name", "tool_input", "preToolUse", "execute_bash"),
    "droid": ("hook_event_name", "session_id", "tool_name", "tool_input", "PreToolUse", "Execute"),
}
_CLAUDE = ("hook_event_name", "session_id", "tool_name", "tool_input", "PreToolUse", "Bash")


def sample(host: str, command: str = "ls") -> dict[str, Any]:
    """A payload as the host sends it before a call."""
    event, session, tool, args, named, shell = _SAMPLES.get(host, _CLAUDE)
    return {event: named, session: "doctor", "cwd": os.sep, tool: shell, args: {"command": command}}


def findings(host: str, folder: str) -> Iterator[Finding]:
    """What is in order with a host and what is not, for a project in `folder` and for its user."""
    known = host_named(host)
    yield Finding("ok", f"{known.title}: checked {known.checked}")
    if not known.fails_closed:
        yield Finding(
            "note", "this host has no switch for it: where our hook cannot be started, the call goes on"
        )
    yield from _places(host, folder)
    yield from _client(host)
    yield from _settings(folder)
    yield from _calls(host)


def _places(host: str, folder: str) -> Iterator[Finding]:
    wired = []
    for project in (None, folder):
        try:
            change = installation(host, project)
        except InstallError as error:
            if "--project" not in str(error):
                yield Finding("wrong", str(error))
            continue
        text = (change.before or b"").decode("utf-8", "replace")
        if MARK in text:
            wired.append(change.path)
            if change.changes:
                yield Finding(
                    "wrong", f"{change.path}: the entry is not what `install` writes now; install again"
                )
            else:
                yield Finding("ok", f"{change.path}: the entry is there")
        yield from _bypasses(host, text, change.path)
    if host == "hermes":
        plugin = plugin_installation()
        if plugin.before is not None:
            wired.append(plugin.path)
            level, told = "ok", "the plugin is there"
            if plugin.changes:
                level, told = "wrong", "it is not what `install --plugin` writes now; install again"
            yield Finding(level, f"{plugin.path}: {told}")
    if not wired:
        yield Finding("wrong", f"nothing is installed; `shellguard install {host}`")
    if len(set(wired)) > 1:
        yield Finding(
            "note", "it is installed twice (for the user and the project, say): each call is checked twice"
        )
    if host in ("copilot", "vscode"):
        try:
            if MARK.encode() in (installation("claude").before or b""):
                yield Finding(
                    "note", "it also reads Claude Code's settings, where shellguard is too: checked twice"
                )
        except InstallError:
            return


def _bypasses(host: str, text: str, path: str) -> Iterator[Finding]:
    if host != "claude" or not text:
        return
    try:
        node = parsed(text)
    except EditError:
        return
    for name in ("disableAllHooks", "allowManagedHooksOnly"):
        if node is not None and isinstance(node.value, dict) and node.value.get(name):
            yield Finding("wrong", f"{path}: {name} is set: our hook is not run")


def _client(host: str) -> Iterator[Finding]:
    program = shutil.which(CLIENTS.get(host, ""))
    if program is None:
        yield Finding("note", "the client is not on the path: its version is not known")
        return
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=False)
        yield Finding("ok", f"{program}: {(done.stdout or done.stderr).strip()[:80]}")
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding("note", f"{program}: its version cannot be asked: {type(error).__name__}")


def _settings(folder: str) -> Iterator[Finding]:
    settings = settings_for(folder)
    for source in settings.sources:
        level = "wrong" if source.broken else "ok"
        yield Finding(level, f"{source.path}: {source.broken or 'read as ' + source.kind}")
        for complaint in source.complaints:
            yield Finding("note", f"{source.path}: {complaint}")
    if settings["mode"] == "observe":
        yield Finding(
            "note", "mode is observe: everything is decided and logged, nothing is said to the host"
        )


def _calls(host: str) -> Iterator[Finding]:
    argv = argv_for(host)
    shim = os.sep + "shims" + os.sep
    if shim in argv[0]:
        yield Finding("wrong", f"{argv[0]} is a shim: each call starts a shell first")
    if not os.access(argv[0], os.X_OK):
        yield Finding("wrong", f"{argv[0]} cannot be run")
        return
    times = []
    payload = dumps(sample(host)).encode()
    done = None
    for _ in range(6):
        start = time.perf_counter()
        try:
            done = subprocess.run(argv, input=payload, capture_output=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            yield Finding("wrong", f"the hook cannot be run: {type(error).__name__}")
            return
        times.append(time.perf_counter() - start)
    assert done is not None
    fine = (
        done.returncode == 0 and not done.stderr and (not done.stdout or isinstance(loads(done.stdout), dict))
    )
    if fine:
        yield Finding("ok", f"a call of `ls` is answered: {done.stdout.decode().strip() or '(silence)'}")
    else:
        yield Finding(
            "wrong", f"a call ends with {done.returncode}: {done.stderr.decode('utf-8', 'replace').strip()}"
        )
    yield Finding("ok", f"{min(times[1:]) * 1000:.0f} ms a call (the first: {times[0] * 1000:.0f} ms)")
    broken = subprocess.run(argv, input=b"{", capture_output=True, timeout=30, check=False)
    if b"allow" in broken.stdout:
        yield Finding("wrong", "a payload that cannot be read is allowed")
