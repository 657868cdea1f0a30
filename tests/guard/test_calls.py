# SPDX-License-Identifier: Apache-2.0
"""What a call is: its class, and whether two calls are one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellguard.guard import Event, GuardConfig, ToolCall
from shellguard.guard.command import read_command
from shellguard.guard.observe import event_before
from shellguard.guard.tools import looks_by_name
from tests.guard.replays import config

HERE = Path(__file__).parent


def lines(name: str) -> list[tuple[int, str]]:
    text = (HERE / name).read_text(encoding="utf-8")
    return [(number, line) for number, line in enumerate(text.splitlines(), 1) if line and line[0] != "#"]


def number_of(value: object) -> str:
    return str(value) if isinstance(value, int) else ""


def event(tool: str, args: object = None, settings: GuardConfig | None = None, **more: Any) -> Event:
    return event_before(ToolCall(tool, args, **more), settings or config(), 0.0)


@pytest.mark.parametrize("number, line", lines("commands.txt"), ids=number_of)
def test_commands(number: int, line: str) -> None:
    kind, pause, head, text = (part.strip() for part in line.split("|", 3))
    found = read_command(text)
    assert (found.kind, found.head) == (kind, head)
    if kind == "wait":
        assert found.pause == (-1 if pause == "-" else float(pause))


@pytest.mark.parametrize("number, line", lines("spellings.txt"), ids=number_of)
def test_spellings(number: int, line: str) -> None:
    texts = line.removeprefix("not ").split(" ||| ")
    keys = {event("terminal", {"command": text}).key for text in texts}
    assert len(keys) == (len(texts) if line.startswith("not ") else 1)


@given(st.text(max_size=40))
def test_any_command_is_a_call(text: str) -> None:
    assert event("terminal", {"command": text}).key == event("terminal", {"command": text}).key


@pytest.mark.parametrize(
    "text", ["\ud800", "\x00", "(" * 10_000, "a " * 50_000, "$(" * 3000, "'", "<<E\n" * 500]
)
def test_broken_commands_are_calls(text: str) -> None:
    assert event("terminal", {"command": text}).call_class in ("unknown", "write", "read")


CLASSES: list[tuple[str, str, dict[str, Any]]] = [
    ("read", "read_file", {"path": "a"}),
    ("read", "Read", {"file_path": "a"}),
    ("read", "mcp_filesystem_read_text_file", {}),
    ("read", "web_search", {"query": "a"}),
    ("write", "write_file", {"path": "a"}),
    ("write", "Edit", {}),
    ("write", "terminal", {}),
    ("write", "send_message", {}),
    ("unknown", "frobnicate", {}),
    ("unknown", "mcp__x__read_file", {}),
    ("wait", "job_poll", {}),
    ("wait", "task_get_result", {}),
    ("wait", "BashOutput", {"bash_id": "1"}),
    ("wait", "status", {"job": 1}),
    ("wait", "GetJobStatus", {"job": 1}),
    ("wait", "WaitForJob", {"job": 1}),
    ("wait", "mcp__ci__get_job_status", {"job": 1}),
    ("read", "WebFetch", {"url": "u"}),
    ("unknown", "statusbar", {}),
    ("wait", "write_stdin", {"session_id": 1, "chars": ""}),
    ("wait", "write_stdin", {"session_id": 1}),
    ("write", "write_stdin", {"session_id": 1, "chars": "y\n"}),
    ("wait", "terminal", {"command": ""}),
    ("wait", "terminal", {"command": "  \n"}),
    ("wait", "process", {"action": "poll"}),
    ("read", "process", {"action": "list"}),
    ("write", "process", {"action": "kill"}),
    ("write", "process", {}),
    ("read", "str_replace_based_edit_tool", {"command": "view", "path": "a"}),
    ("write", "str_replace_based_edit_tool", {"command": "create", "path": "a"}),
    ("read", "cronjob_manage", {"action": "list"}),
    ("read", "bash", {"command": ["bash", "-lc", "ls | head"]}),
    ("read", "shell", {"command": ["ls", "-l", "a b"]}),
    ("write", "shell", {"command": ["rm", "-rf", "a b"]}),
    ("read", "exec_command", {"cmd": "ls"}),
    ("write", "bash", {"command": 5}),
    ("read", "terminal", {"command": "sleep 0.2 && cat a"}),
    ("wait", "terminal", {"command": "sleep 2 && cat a"}),
]


@pytest.mark.parametrize("kind, tool, args", CLASSES)
def test_classes(kind: str, tool: str, args: dict[str, Any]) -> None:
    assert event(tool, args).call_class == ("unknown" if (tool, args) == ("bash", {"command": 5}) else kind)


def test_hints_of_a_server_count_where_they_are_trusted() -> None:
    assert event("mcp__x__list", read_only=True).call_class == "unknown"
    assert (
        event("mcp__x__list", read_only=True, settings=config(trust_read_only_hints=True)).call_class
        == "read"
    )
    terminal = event("terminal", {"command": "rm a"}, config(trust_read_only_hints=True), read_only=True)
    assert terminal.call_class == "write", "a command speaks for itself"


SAME: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("terminal", {"command": "ls", "timeout": 5}, {"command": "ls", "timeout": 60}),
    ("terminal", {"command": "ls", "description": "a"}, {"description": "look again", "command": "ls"}),
    ("terminal", {"command": "ls", "thought": "hm"}, {"command": "ls"}),
    ("shell", {"command": ["bash", "-lc", "ls"]}, {"command": "ls"}),
    ("read_file", {"path": "a/"}, {"path": "./a"}),
    ("read_file", {"path": "a", "limit": None}, {"path": "a"}),
    ("read_file", {"path": "a", "line": 1.0}, {"line": 1, "path": "a"}),
    ("query", {"q": "a", "cursor": "xyz"}, {"q": "a"}),
]
OTHER: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("read_file", {"path": "a", "offset": 1}, {"path": "a", "offset": 2}),
    ("read_file", {"path": "a"}, {"path": "b"}),
    ("edit", {"old": "a", "new": "b"}, {"old": "a", "new": "c"}),
    ("edit", {"a": "1"}, {"a": 1}),
    ("edit", {"a": ["b", "c"]}, {"a": ["c", "b"]}),
    ("terminal", {"command": "ls", "background": True}, {"command": "ls"}),
]


@pytest.mark.parametrize("tool, one, two", SAME)
def test_one_call(tool: str, one: dict[str, Any], two: dict[str, Any]) -> None:
    assert event(tool, one).key == event(tool, two).key


@pytest.mark.parametrize("tool, one, two", OTHER)
def test_two_calls(tool: str, one: dict[str, Any], two: dict[str, Any]) -> None:
    assert event(tool, one).key != event(tool, two).key


def test_the_folder_is_part_of_a_command() -> None:
    here = event("terminal", {"command": "ls"}, cwd="/a/b")
    assert here.key == event("terminal", {"command": "cd b && ls"}, cwd="/a").key
    assert here.key == event("terminal", {"command": "cd /a/b && ls"}, cwd="/x").key
    assert here.key != event("terminal", {"command": "ls"}, cwd="/a").key


def test_ignored_arguments_can_be_configured() -> None:
    settings = config(arguments_ignored=("offset",))
    one, two = ({"path": "a", "offset": number} for number in (1, 2))
    assert event("read_file", one, settings).key == event("read_file", two, settings).key


@pytest.mark.parametrize(
    "args", [None, [], "ls", 7, {"command": None}, {1: 2}, {"a": object()}, {"a": {"b": {1, 2}}}]
)
def test_any_arguments_are_arguments(args: object) -> None:
    assert event("terminal", args).key
    assert event("other", args).key


READERS = {
    "mcp__github__list_issues": True,
    "github.listIssues": True,
    "mcp_linear_get_issue": True,
    "getWeather": True,
    "search-code": True,
    "mcp__linear__create_list": False,
    "mcp_linear_create_list": False,
    "get_or_create_user": False,
    "mcp__queue__get_next_job": False,
    "find_and_replace": False,
    "listen": False,
    "mcp": False,
    "": False,
}


@pytest.mark.parametrize("name", READERS)
def test_readers_that_stand_in_no_list(name: str) -> None:
    """They keep the class of an unknown tool; their answers are no progress."""
    assert looks_by_name(name) == READERS[name]
    if name:
        found = event(name, {})
        assert (found.call_class, found.inert) == ("unknown", READERS[name])
