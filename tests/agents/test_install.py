# SPDX-License-Identifier: Apache-2.0
"""Installing, uninstalling and installing again leaves every settings file what it was, but for our entry."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shellguard.agents import HOSTS
from shellguard.agents.edit import EditError, parsed
from shellguard.agents.install import (
    InstallError,
    apply,
    argv_for,
    installation,
    installed,
    plugin_installation,
    plugin_removal,
    removal,
    removal_of,
)

ALL = sorted(HOSTS)
EDITED = [name for name in ALL if name not in ("copilot", "vscode", "opencode", "kiro", "hermes")]

ODD = {
    "empty": b"",
    "blank": b"\n\n",
    "empty object": b"{}",
    "empty object, spread": b"{\n}\n",
    "no newline at the end": b'{"a": 1}',
    "tabs": b'{\n\t"a": {\n\t\t"b": [1, 2]\n\t}\n}\n',
    "CRLF": b'{\r\n  "a": 1,\r\n  "hooks": {}\r\n}\r\n',
    "BOM": b'\xef\xbb\xbf{\n  "a": 1\n}\n',
    "comments": b'// mine\n{\n  // why\n  "a": 1, /* x */\n  "hooks": { // none yet\n  }\n}\n// end\n',
    "comma at the end": b'{\n  "a": [1, 2,],\n  "hooks": {"Stop": [],},\n}\n',
    "unicode": '{"ключ": "значение", "e": "\\u00e9\\ud83d\\ude00"}\n'.encode(),
    "others are there": (
        b'{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}],\n'
        b'"BeforeTool": [], "preToolUse": [ ], "PostToolUse": [{"hooks": []}]}, "z": true}'
    ),
    "strange blanks": b'\n\n  {  "hooks"  :  {  "PreToolUse"  :  [  ]  }  }  \n\n',
    "one line": b'{"a":"}],{","hooks":{"PostToolUse":[{"hooks":[]}],"PostToolUseFailure":[{"hooks":[]}]}}',
}
REFUSED = {
    "no JSON": b"{a: 1}",
    "cut": b'{"hooks": {',
    "a list": b"[]",
    "hooks is a list": b'{"hooks": []}',
    "twice": b'{"hooks": {}, "hooks": {}}',
    "no UTF-8": b'{"a": "\xff"}',
    "something behind": b"{} {}",
}
ODD_YAML = {
    "empty": b"",
    "plain": b"model: x # mine\nlist:\n- a\n",
    "no newline": b"model: x",
    "CRLF": b"model: x\r\nhooks:\r\n  other:\r\n    - command: y\r\n",
    "hooks": b"hooks:\n  # mine\n  pre_tool_call:\n    - command: y\n      timeout: 3\nmodel: x\n",
    "hooks at the end": b"model: x\nhooks:\n  post_tool_call:\n    - command: y\n",
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "ours"))
    for name in ("HOME", "USERPROFILE"):  # what Windows looks at
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "HERMES_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def settings(name: str) -> Path:
    return Path(installation(name).path)


def round_trip(name: str, path: Path, before: bytes | None) -> bytes:
    """Install twice, uninstall twice, install, uninstall; what was written."""
    apply(installation(name))
    first = path.read_bytes()
    again = installation(name)
    assert not again.changes
    apply(again)
    apply(removal(name))
    assert (path.read_bytes() if path.exists() else None) == before
    assert not removal(name).changes
    apply(installation(name))
    assert path.read_bytes() == first
    [found] = [change for change in installed() if change[1] == os.path.realpath(path)]
    apply(removal_of(*found))
    assert (path.read_bytes() if path.exists() else None) == before
    return first


@pytest.mark.parametrize("name", ALL)
def test_a_file_that_was_not_there_goes_again(name: str, home: Path) -> None:
    path = settings(name)
    first = round_trip(name, path, None)
    assert b"shellguard/hook.py" in first
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("name", EDITED)
@pytest.mark.parametrize("what", ODD)
def test_odd_files_come_back_byte_by_byte(name: str, what: str) -> None:
    path = settings(name)
    path.parent.mkdir(parents=True)
    path.write_bytes(ODD[what])
    first = round_trip(name, path, ODD[what])
    node = parsed(first.decode("utf-8"))
    before = parsed(ODD[what].decode("utf-8"))
    assert node is not None
    if before is not None:
        for key, value in before.value.items():
            if key != "hooks":
                assert node.value[key] == value
        for event, entries in before.value.get("hooks", {}).items():
            assert node.value["hooks"][event][: len(entries)] == entries
    if b"\r\n" in ODD[what]:
        assert first.count(b"\n") == first.count(b"\r\n")


@pytest.mark.parametrize("what", ODD_YAML)
def test_odd_yaml_comes_back_byte_by_byte(what: str) -> None:
    path = settings("hermes")
    path.parent.mkdir(parents=True)
    path.write_bytes(ODD_YAML[what])
    round_trip("hermes", path, ODD_YAML[what])


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_edited_is_left_alone(what: str) -> None:
    path = settings("claude")
    path.parent.mkdir(parents=True)
    path.write_bytes(REFUSED[what])
    with pytest.raises(InstallError, match=r"settings\.json: "):
        installation("claude")
    assert path.read_bytes() == REFUSED[what]


def test_a_link_stays_a_link_and_modes_stay(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_bytes(b'{"a": 1}\n')
    real.chmod(0o640)
    (home / ".claude").mkdir()
    link = home / ".claude" / "settings.json"
    link.symlink_to(real)
    apply(installation("claude"))
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    apply(removal("claude"))
    assert real.read_bytes() == b'{"a": 1}\n'


def test_a_file_that_is_read_only_is_refused(home: Path) -> None:
    path = settings("claude")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{}")
    path.chmod(0o444)
    with pytest.raises(InstallError, match="read-only"):
        apply(installation("claude"))
    assert path.read_bytes() == b"{}"
    assert sorted(each.name for each in path.parent.iterdir()) == ["settings.json"]


def test_what_the_user_adds_in_between_stays(home: Path) -> None:
    path = settings("claude")
    path.parent.mkdir(parents=True)
    path.write_text('{"a": 1}\n')
    apply(installation("claude"))
    path.write_text(path.read_text().replace('{"a": 1', '{"b": 2, "a": 1'))
    apply(removal("claude"))
    assert path.read_text() == '{"b": 2, "a": 1}\n'


def test_a_file_that_was_written_anew_loses_only_our_entries(home: Path) -> None:
    path = settings("claude")
    path.parent.mkdir(parents=True)
    path.write_text('{"hooks": {"PreToolUse": [{"matcher": "X", "hooks": []}]}}')
    apply(installation("claude"))
    path.write_text(json.dumps(json.loads(path.read_text()), separators=(",", ":")))
    apply(removal("claude"))
    left = json.loads(path.read_text())
    assert left["hooks"]["PreToolUse"] == [{"matcher": "X", "hooks": []}]
    assert "shellguard" not in path.read_text()


def test_another_interpreter_replaces_the_entry(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = settings("claude")
    apply(installation("claude"))
    monkeypatch.setattr("sys.executable", "/opt/other/python")
    apply(installation("claude"))
    text = path.read_text()
    assert text.count("/opt/other/python") == 5
    assert argv_for("claude")[0] == "/opt/other/python"
    assert text.count("hook.py") == 5


def test_the_line_says_nothing_of_a_release() -> None:
    """Codex and Hermes trust a hook by its text: a release must not change it."""
    python, *flags, hook, host = argv_for("codex")
    assert os.path.isabs(python)
    assert os.path.isabs(hook)
    assert (flags, host) == (["-I", "-S"], "codex")
    assert Path(hook).name == "hook.py"
    assert Path(hook).parent.name == "shellguard"


@pytest.mark.parametrize(
    "text", ["[1,", '{"a" 1}', "/* x", '{"a": 1 2}', "[" * 300 + "]" * 300, "nul", '{"a": }']
)
def test_what_is_no_json_is_an_error(text: str) -> None:
    with pytest.raises(EditError):
        parsed(text)


def test_the_plugin_for_hermes_comes_and_goes(home: Path) -> None:
    apply(plugin_installation())
    folder = home / ".hermes" / "plugins" / "shellguard"
    assert sorted(path.name for path in folder.iterdir()) == ["__init__.py", "plugin.yaml"]
    assert not plugin_installation().changes
    (folder / "plugin.yaml").write_text("name: shellguard\n")
    assert plugin_installation().changes
    apply(plugin_installation())
    apply(plugin_removal())
    assert list(home.iterdir()) == []
    apply(plugin_installation())
    for found in reversed(installed()):
        apply(removal_of(*found))
    assert list(home.iterdir()) == []


def test_the_plugin_for_hermes_refuses_and_asks(home: Path, tmp_path: Path) -> None:
    (tmp_path / "ours" / "config").mkdir(parents=True)
    (tmp_path / "ours" / "config" / "config.toml").write_text(
        '[commands]\nask = ["git push *"]\ndeny = ["dd *"]\n'
    )
    apply(plugin_installation())
    names: dict[str, Any] = {}
    exec((home / ".hermes" / "plugins" / "shellguard" / "__init__.py").read_text(), names)
    hooks: dict[str, Any] = {}
    names["register"](SimpleNamespace(register_hook=hooks.__setitem__))
    before = hooks["pre_tool_call"]
    told = {"tool_name": "terminal", "session_id": "s", "task_id": "t", "tool_call_id": "c"}
    assert before(args={"command": "ls"}, **told) is None
    assert before(args={"command": "git push origin x"}, **told)["action"] == "approve"
    assert before(args={"command": "dd if=a of=b"}, **told)["action"] == "block"
    assert before(tool_name="read_file", args={"path": "x"}) is None
    assert hooks["post_tool_call"](args={"command": "ls"}, result="x", **told) is None
