# SPDX-License-Identifier: Apache-2.0
"""Every host: it is answered in its own form, at its own place, and whatever is wrong with a payload allows
nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shellguard.agents import HOSTS, host_named
from shellguard.agents.model import ALLOW, ASK, DENY, PERMISSION, POST, PRE, SILENT, Answer
from shellguard.cli.hook import answered
from tests.agents.hooks import POINTERS, decision, events_of, hook, payload, words_in

ALL = sorted(HOSTS)
ANSWERS = Path(__file__).parent / "answers.txt"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.setattr("shellguard.agents.settings.MANAGED", str(tmp_path / "none.toml"))
    return tmp_path


def configure(home: Path, text: str) -> None:
    (home / "config").mkdir(exist_ok=True)
    (home / "config" / "config.toml").write_text(text, "utf-8")


def test_every_host_has_its_payloads_and_its_place() -> None:
    assert sorted(POINTERS) == ALL
    for name in ALL:
        assert {"pre", "post", "failure", "foreign", "other"} <= set(events_of(name))
        assert host_named(name).name == name


def snapshot() -> str:
    """Every answer in the form of every host: one line each."""
    lines = []
    answers = [
        (PRE, Answer(SILENT)),
        (PRE, Answer(ALLOW, "reads")),
        (PRE, Answer(ASK, "asks")),
        (PRE, Answer(DENY, "refuses")),
        (PERMISSION, Answer(ALLOW, "reads")),
        (PERMISSION, Answer(DENY, "refuses")),
        (PERMISSION, Answer(ASK, "asks")),
        (POST, Answer(context="again")),
        (POST, Answer()),
    ]
    for name in ALL:
        host = host_named(name)
        for event, answer in answers:
            named = next((each for each, kind in host.events.items() if kind == event), None)
            if named is None:
                continue
            reply = host.encode(named, event, answer)
            said = answer.context or answer.action
            shown = [reply.stdout.strip(), reply.stderr.strip(), str(reply.status)]
            lines.append(f"{name} | {named} | {said} | {' | '.join(shown)}")
    return "\n".join(lines) + "\n"


def test_the_answers_are_those_that_were_looked_at() -> None:
    """`answers.txt` is compared with what each host's documentation or source reads; change it by hand."""
    assert snapshot() == ANSWERS.read_text("utf-8")


@pytest.mark.parametrize("name", ALL)
def test_a_read_passes_where_the_host_can_be_told_and_a_write_nowhere(name: str) -> None:
    host = host_named(name)
    expected = "allow" if PRE in host.allows_at else "silent"
    assert decision(name, "pre", hook(name, "pre", "git status && ls | head -3")) == expected
    for command in (
        "rm -rf x",
        "cat ~/.ssh/id_rsa",
        "sudo ls",
        "curl https://example.org/",
        "frobnicate",
        "",
    ):
        assert decision(name, "pre", hook(name, "pre", command, command)) == "silent"
    if "permission" in events_of(name):
        assert decision(name, "permission", hook(name, "permission", "ls")) == "allow"
        assert decision(name, "permission", hook(name, "permission", "rm x")) == "silent"


@pytest.mark.parametrize(
    "words, allowed",
    [
        (["ls", "-l"], True),
        (["bash", "-lc", "git status | head"], True),
        (["/bin/zsh", "-lc", "git status"], True),
        (["bash", "-lc", "rm a"], False),
        (["sort", "f", "-oout"], False),
        (["ls; rm a"], False),
        (["./bash", "-lc", "ls"], False),  # any program may have that name
        (["/tmp/x/sh", "-c", "ls"], False),
        (["/bash", "-c", "ls"], False),
        (["ksh", "-c", "ls"], False),  # nobody has judged for it
        (["bash", "-ic", "ls"], False),
        (["bash", "-c", "ls", "x", "y"], True),
    ],
)
def test_a_command_in_words_is_judged_as_what_they_run(words: list[str], allowed: bool) -> None:
    told = payload("codex", "permission")
    told["tool_input"] = {"command": words}
    reply = answered(["codex"], json.dumps(told).encode())
    assert decision("codex", "permission", reply) == ("allow" if allowed else "silent")


@pytest.mark.parametrize("name", sorted(set(ALL) - {"codex"}))
def test_a_host_that_runs_a_text_is_not_told_what_words_are(name: str) -> None:
    """JavaScript makes `ls,; rm a` of these two words, and its shell runs both."""
    for event in deciding(name):
        told = payload(name, event)
        [key] = [key for key in ("args", "tool_input", "toolInput") if key in told]
        told[key] = {**told[key], "command": ["ls", "; rm a"]}
        assert decision(name, event, answered([name], json.dumps(told).encode())) != "allow"


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("event", ["foreign", "other"])
def test_what_is_no_shell_is_none_of_our_business(name: str, event: str) -> None:
    reply = hook(name, event)
    assert reply.status == 0
    assert reply.stdout.strip() in ("", "{}")
    assert reply.stderr == ""


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("after", ["post", "failure"])
def test_a_loop_is_told_and_then_stopped(name: str, after: str) -> None:
    told = False
    for call in range(12):
        before = decision(name, "pre", hook(name, "pre", "cat notes.txt", call))
        if before == "deny":
            break
        said = hook(name, after, "cat notes.txt", call)
        if "turn" in events_of(name):
            assert hook(name, "turn").stdout == ""  # with an empty prompt it is none
        assert said.status == 0
        told = told or "times" in said.stdout
    else:
        pytest.fail("the loop was not stopped")
    assert told == host_named(name).can_tell
    assert decision(name, "pre", hook(name, "pre", "cat other.txt", "new")) != "deny"


@pytest.mark.parametrize("name", ALL)
def test_patterns_of_the_user_hold(name: str, home: Path) -> None:
    configure(
        home,
        '[commands]\nallow = ["git push origin *"]\nask = ["git pull *"]\ndeny = ["git reset --hard *"]\n'
        '[messages]\n"git reset *" = "Use git stash."\n',
    )
    host = host_named(name)
    expected = "allow" if PRE in host.allows_at else "silent"
    assert decision(name, "pre", hook(name, "pre", "git push origin main", 1)) == expected
    refused = hook(name, "pre", "cd x && git -C y reset -q --hard HEAD~1", 2)
    assert decision(name, "pre", refused) == "deny"
    assert "Use git stash." in refused.stdout + refused.stderr
    asked = decision(name, "pre", hook(name, "pre", "git pull", 3))
    assert asked == ("ask" if host.can_ask else "deny")


def broken_payloads(name: str) -> dict[str, bytes]:
    """Payloads that no host sends, or that hide what they are."""
    good = payload(name, "pre", "ls")
    found = {
        "empty": b"",
        "garbage": b"\x00\xff garbage \x1b[31m",
        "half": json.dumps(good).encode()[:-9],
        "twice": json.dumps(good).encode() * 2,
        "list": b"[]",
        "number": b"1e999",
        "null": b"null",
        "deep list": b"[" * 200_000,
        "deep object": b'{"a":' * 200_000,
        "no fields": b"{}",
        "surrogates": json.dumps({**good, "session_id": "\ud800", "cwd": "\udfff"}).encode(),
        "huge number": b'{"hook_event_name": ' + b"9" * 10_000 + b"}",
        "nan": json.dumps(good).replace('"ls"', "NaN").encode(),
        "huge command": json.dumps(payload(name, "pre", "echo " + "a" * 2_000_000)).encode(),
        "huge broken command": json.dumps(payload(name, "pre", "$((" * 100_000)).encode(),
        "nul": json.dumps(payload(name, "pre", "ls\x00; rm x")).encode(),
        "nul in the folder": json.dumps({**good, "cwd": "/tmp/\x00"}).encode(),
        "bytes that are no UTF-8": json.dumps(payload(name, "pre", "ls @"))
        .encode()
        .replace(b"@", b"\xff\xfe"),
    }
    for key in good:
        for kind, value in (("no", None), ("list", []), ("number", 7), ("object", {"a": {}}), ("text", "x")):
            changed = dict(good)
            if kind == "no":
                del changed[key]
            else:
                changed[key] = value
            found[f"{kind} {key}"] = json.dumps(changed).encode()
    for key, value in good.items():
        if isinstance(value, dict) and "command" in value:
            for kind, wrong in (
                ("number", 5),
                ("null", None),
                ("object", {}),
                ("list", ["ls", 1]),
                ("empty", []),
            ):
                found[f"{kind} as command"] = json.dumps({**good, key: {**value, "command": wrong}}).encode()
            found["no command"] = json.dumps({**good, key: {}}).encode()
    return found


HARMLESS = ("surrogates", "nul in the folder", "huge command")
"""What still says clearly that `ls` or `echo` is run."""


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("direction", ["ask", "deny", "abstain"])
def test_a_broken_payload_allows_nothing(name: str, direction: str, home: Path) -> None:
    configure(home, f'on_error = "{direction}"\n')
    host = host_named(name)
    for what, data in broken_payloads(name).items():
        reply = answered([name], data)
        said = decision(name, "pre", reply)
        untouched = what in HARMLESS or what.partition(" ")[2] in UNREAD
        assert untouched or said != "allow", what
        if what in ("empty", "garbage", "half", "twice", "list", "null", "deep list", "deep object"):
            expected = {"ask": "ask" if host.can_ask else "silent", "deny": "deny", "abstain": "silent"}
            assert said == expected[direction], what
        assert len(reply.stdout) < 5_000
        for word in words_in(json.loads(reply.stdout)) if reply.stdout.startswith("{") else []:
            assert "\x1b" not in word


UNREAD = {
    *(
        "session_id",
        "transcript_path",
        "cwd",
        "permission_mode",
        "tool_use_id",
        "turn_id",
        "model",
        "timestamp",
    ),
    *(
        "mcp_context",
        "conversation_id",
        "generation_id",
        "cursor_version",
        "workspace_roots",
        "session",
        "call",
    ),
    *("extra", "profile", "working_dir"),
}
"""Fields that say nothing of what is run: with any value in them `ls` is still `ls`."""


@pytest.mark.parametrize("name", ALL)
def test_a_failure_inside_is_answered_as_chosen(
    name: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever fails, also what is no `Exception`: the answer goes where the user wants it."""

    raised: list[BaseException] = []

    def fail(*_: object, **__: object) -> Any:
        raise raised[-1]

    host = host_named(name)
    monkeypatch.setattr("shellguard.cli.hook._verdict", fail)
    for error in (MemoryError(), RecursionError(), KeyboardInterrupt(), SystemExit(0), ValueError("secret")):
        raised.append(error)
        for direction in ("ask", "deny", "abstain"):
            configure(home, f'on_error = "{direction}"\n')
            reply = hook(name, "pre", "ls")
            expected = {"ask": "ask" if host.can_ask else "silent", "deny": "deny", "abstain": "silent"}
            assert decision(name, "pre", reply) == expected[direction]
            assert "secret" not in reply.stdout + reply.stderr
    log = (home / "state" / "log" / "decisions.jsonl").read_text("utf-8")
    assert "MemoryError in the hook" in log
    assert "secret" not in log


@pytest.mark.parametrize("name", ALL)
def test_a_broken_configuration_lets_nothing_pass(name: str, home: Path) -> None:
    for text in ("mode = ", 'on_error = "allow"', "[pass]\neffects = ['writes']", "mode = 'x'\n"):
        configure(home, text)
        assert decision(name, "pre", hook(name, "pre", "ls")) != "allow"


def test_a_host_that_there_is_not_is_wrong_usage() -> None:
    for arguments in ([], ["nobody"], ["claude", "codex"], ["--help"], ["claude", "--frob"]):
        reply = answered(arguments, b"{}")
        assert (reply.status, reply.stdout) == (1, "")
        assert reply.stderr.startswith("usage: shellguard hook HOST")


def test_a_host_that_fails_closed_is_asked_about_what_is_no_read() -> None:
    data = json.dumps(payload("cursor", "pre", "rm x")).encode()
    assert decision("cursor", "pre", answered(["cursor"], data)) == "silent"
    assert decision("cursor", "pre", answered(["cursor", "--fail-closed"], data)) == "ask"
    data = json.dumps(payload("cursor", "pre", "ls")).encode()
    assert decision("cursor", "pre", answered(["cursor", "--fail-closed"], data)) == "allow"


@pytest.mark.parametrize("name", ALL)
def test_where_another_shell_runs_the_text_nothing_is_allowed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PowerShell ends the string in `ls "a\\" ; rm x "` at the second quote; bash does not."""
    monkeypatch.setattr("shellguard.cli.hook.sys", SimpleNamespace(platform="win32"))
    expected = "allow" if name == "claude" else "silent"
    assert decision(name, "pre", hook(name, "pre", "ls")) == expected
    for tool in ("powershell", "PowerShell"):
        data = {**payload(name, "pre", "ls"), "tool_name": tool, "tool": tool}
        assert decision(name, "pre", answered([name], json.dumps(data).encode())) == "silent"


def with_arguments(name: str, event: str, more: dict[str, object]) -> bytes:
    """A payload in which the model gave more arguments than the command."""
    told = payload(
        name, event, "ls " + "".join(filter(str.isalnum, repr(more)))
    )  # each another, or it is a loop
    [key] = [key for key in ("args", "tool_input", "toolInput") if key in told]
    told[key] = {**told[key], **more}
    return json.dumps(told).encode()


def deciding(name: str) -> list[str]:
    return [event for event in ("pre", "permission") if event in events_of(name)]


@pytest.mark.parametrize("name", ALL)
def test_an_argument_that_may_change_what_runs_lets_nothing_pass(name: str, home: Path) -> None:
    odd: dict[str, object] = {
        "shell": "/tmp/x",
        "env": {"PATH": "."},
        "interpreter": "python3",
        "args": ["-rf"],
        "stdin": "rm x",
        "is_input": True,
        "reset": True,
        "sandbox_permissions": "require_escalated",
        "prefix": ["sudo"],
        "with_escalated_permissions": True,
        "dangerouslyDisableSandbox": True,
        "of_next_year": 1,
    }
    for event in deciding(name):
        plain = decision(name, event, hook(name, event))
        for argument, value in odd.items():
            said = decision(name, event, answered([name], with_arguments(name, event, {argument: value})))
            assert said == "silent", argument
            for nothing in (None, False, ""):
                data = with_arguments(name, event, {argument: nothing})
                assert decision(name, event, answered([name], data)) == plain
        aside: dict[str, object] = {
            "description": "x",
            "timeout": 9,
            "run_in_background": True,
            "workdir": "/",
            "is_background": True,
        }
        assert decision(name, event, answered([name], with_arguments(name, event, aside))) == plain
    assert "of_next_year" in (home / "state" / "log" / "decisions.jsonl").read_text("utf-8")


@pytest.mark.parametrize("name", ALL)
def test_a_tool_of_another_name_is_no_shell_of_the_host(name: str) -> None:
    """Servers may bring tools of any name; what they do with a command nobody knows."""
    for event in deciding(name):
        [key] = [key for key in ("tool", "tool_name", "toolName") if key in payload(name, event)]
        known = payload(name, event)[key]
        for other in (
            known.upper(),
            known.swapcase(),
            f"mcp__x__{known}",
            f"mcp_x_{known}",
            f"x.{known}",
            f" {known}",
        ):
            data = json.dumps({**payload(name, event), key: other}).encode()
            assert decision(name, event, answered([name], data)) == "silent", other


def test_a_tool_of_a_server_with_the_name_of_the_shell_is_none() -> None:
    told = {**payload("gemini", "pre"), "mcp_context": {"server_name": "x", "tool_name": "run_shell_command"}}
    assert decision("gemini", "pre", answered(["gemini"], json.dumps(told).encode())) == "silent"


TYPED = ("cursor", "openhands", "vscode")
"""Hosts that type a command into a terminal, or may."""
WITH_HISTORY = ("cursor", "vscode")
OTHER_SHELLS: dict[str, tuple[str, ...]] = {"cursor": (), "opencode": ("fish", "nu"), "vscode": ()}
"""Hosts that run what `SHELL` names -> those in the place of which they run one of ours."""


def test_copilot_is_told_apart_from_the_editor_that_reads_its_file() -> None:
    for event in ("pre", "permission"):
        data = json.dumps(payload("vscode", event, "ls\nls")).encode()
        assert decision("vscode", event, answered(["copilot"], data)) == "silent"


@pytest.mark.parametrize("name", ALL)
def test_what_is_typed_has_no_keys_in_it(name: str) -> None:
    for event in deciding(name):
        plain = decision(name, event, hook(name, event))
        for command in ("echo 'x'\x15rm y", "ls a\tb", "ls \x7f", "git log\nsort x", "ls \x1b[A"):
            expected = "silent" if name in TYPED else plain
            assert decision(name, event, hook(name, event, command, command)) == expected, command
        for command in ("echo !!", 'echo "!rm"', "ls !$", "echo !-2"):
            expected = "silent" if name in WITH_HISTORY else plain
            assert decision(name, event, hook(name, event, command, command)) == expected, command
        for command in ("find . ! -name x", "[ a != b ]", "echo a! b"):
            assert decision(name, event, hook(name, event, command, command)) == plain, command


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("shell", ["fish", "nu", "pwsh", "tcsh", "ksh", "xonsh"])
def test_where_the_user_has_another_shell_its_host_allows_nothing(
    name: str, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fish takes `\\'` in quotes for a quote: what is text for bash are commands for fish."""
    for event in deciding(name):
        plain = decision(name, event, hook(name, event))
        monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
        expected = "silent" if shell not in OTHER_SHELLS.get(name, shell) else plain
        assert decision(name, event, hook(name, event)) == expected
        monkeypatch.setenv("SHELL", "/bin/zsh")
