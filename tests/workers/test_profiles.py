# SPDX-License-Identifier: Apache-2.0
"""Profiles: what is right, and everything that raises, with its file and line."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from shellguard.workers import profiles
from shellguard.workers.profiles import ProfileError, load

RIGHT = """
worker:
  command: [make, '3', "-j", all]
"""


def write(home: Path, text: str, name: str = "p") -> Path:
    """A profile of this text."""
    file = home / "profiles" / name / "config.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    for folder in (home, home / "profiles", file.parent):
        folder.chmod(0o755)
    file.write_text(text)
    file.chmod(0o644)
    return file


def problem(home: Path, text: str, name: str = "p") -> ProfileError:
    """How a profile of this text is wrong."""
    write(home, text, name)
    with pytest.raises(ProfileError) as caught:
        load(str(home), name)
    return caught.value


def test_what_is_left_out_has_the_documented_value(tmp_path: Path) -> None:
    file = write(tmp_path, RIGHT)
    found = load(str(tmp_path), "p")
    assert found == profiles.Profile("p", str(file), ("make", "3", "-j", "all"))
    assert (found.completion, found.is_agent, found.home, found.grace) == ("exit_code", False, "private", 3.0)


def test_everything_can_be_said(tmp_path: Path) -> None:
    text = """
model: something else of the profile
worker:
  command: [/bin/true]
  kind: agent
  completion: self_reported
  max_runtime: 90
  grace: 1.5
  environment: [API_KEY, CC]
  workspace: worktree
  concurrency: 2
  search: [/usr/bin, /bin]
  home: own
  max_retries: 5
"""
    file = write(tmp_path, text)
    assert load(str(tmp_path), "p") == profiles.Profile(
        "p",
        str(file),
        ("/bin/true",),
        "self_reported",
        True,
        90.0,
        1.5,
        ("API_KEY", "CC"),
        "worktree",
        2,
        ("/usr/bin", "/bin"),
        "own",
        5,
    )


def test_the_grace_stays_below_the_window_of_the_dispatcher(tmp_path: Path) -> None:
    write(tmp_path, f"{RIGHT}  grace: 60\n")
    assert load(str(tmp_path), "p").grace == profiles.MAX_GRACE < 5


@pytest.mark.parametrize(
    "command",
    [
        *("make all", "", "null", "~", "{make: all}", "[]", "5", "true"),
        *("[make, 3]", "[make, null]", "[make, yes]", "[make, 1.5]", "[make, '']", "['']", "[make, ]x"),
        *("[make, [all]]", "[make, {a: b}]", "[make, !!str all]", "[make, 2026-11-30]", "[make, ~]", "[3]"),
        *("\n    - make\n    -", "|\n    make all", "[make, 0x10]", "[make, *x]", "[make, .inf]"),
    ],
)
def test_a_command_that_is_no_list_of_texts_raises(tmp_path: Path, command: str) -> None:
    error = problem(tmp_path, f"a: 1\nworker:\n  command: {command}\n")
    assert error.line >= 2
    assert error.path == str(tmp_path / "profiles/p/config.yaml")


@pytest.mark.parametrize(
    "text, line, part",
    [
        ("", 1, "empty"),
        ("a: 1\n", 1, "declares no worker"),
        ("worker:\n", 1, "mapping"),
        ("worker: null\n", 1, "mapping"),
        ("worker: [make]\n", 1, "mapping"),
        ("worker: make\n", 1, "mapping"),
        ("worker: {}\n", 1, "no command"),
        ("worker:\n  command: [a]\n  command: [b]\n", 3, "second time"),
        ("worker: {command: [a]}\nworker: {command: [b]}\n", 2, "second time"),
        ("worker:\n  command: [a]\n  commands: [b]\n", 3, "no word of `worker`"),
        ("worker:\n  command: [a]\n  completion: maybe\n", 3, "exit_code, self_reported"),
        ("worker:\n  command: [a]\n  completion:\n", 3, "exit_code, self_reported"),
        ("worker:\n  command: [a]\n  kind: both\n", 3, "command, agent"),
        ("worker:\n  command: [a]\n  max_runtime: soon\n", 3, "a number"),
        ("worker:\n  command: [a]\n  max_runtime: 0\n", 3, "a number"),
        ("worker:\n  command: [a]\n  max_runtime: .nan\n", 3, "a number"),
        ("worker:\n  command: [a]\n  max_runtime: '5'\n", 3, "a number"),
        ("worker:\n  command: [a]\n  grace: -1\n", 3, "a number"),
        ("worker:\n  command: [a]\n  concurrency: 1.5\n", 3, "a whole number"),
        ("worker:\n  command: [a]\n  concurrency: 0\n", 3, "a whole number"),
        ("worker:\n  command: [a]\n  max_retries: [1]\n", 3, "a whole number"),
        ("worker:\n  command: [a]\n  environment: API_KEY\n", 3, "a list"),
        ("worker:\n  command: [a]\n  environment:\n    - 'A=b'\n", 4, "no name of a variable"),
        ("worker:\n  command: [a]\n  environment:\n    - PATH\n", 4, "set for every worker"),
        ("worker:\n  command: [a]\n  environment: [home]\n", 3, "set for every worker"),
        ("worker:\n  command: [a]\n  environment: [SHELLGUARD_TOKEN]\n", 3, "set for every worker"),
        ("worker:\n  command: [a]\n  environment: [SHELLGUARD_DEFERRED_STATUS]\n", 3, "set for every worker"),
        ("worker:\n  command: [a]\n  environment: [LD_PRELOAD]\n", 3, "other code"),
        ("worker:\n  command: [a]\n  search: []\n", 3, "empty"),
        ("worker:\n  command: [a]\n  search: /bin\n", 3, "a list"),
        ("worker:\n  command: [a]\n  home: shared\n", 3, "private, own"),
        ("worker:\n  command: [a]\n  workspace: /tmp\n", 3, "scratch, worktree, dir"),
        ("worker: {command: [a\n", 2, "not YAML"),
        ("worker: {command: !!python/name:os.system [a]}\n", 1, "tag"),
        ("---\nworker: {command: [a]}\n---\nworker: {command: [b]}\n", 4, "second document"),
        ("worker:\n\tcommand: [a]\n", 2, "tab"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, line: int, part: str) -> None:
    error = problem(tmp_path, text)
    assert error.line == line
    assert part in error.message
    assert str(error).startswith(f"{error.path}:{line}: ")


def test_no_setting_of_a_profile_switches_a_gate_off(tmp_path: Path) -> None:
    """Words that somebody may try; each is refused, and the profile does not load without it either."""
    tries = (
        *(
            "approve: always",
            "approvals: {mode: off}",
            "gate: off",
            "policy: allow",
            "trust: [git]",
            "yolo: true",
        ),
        *("environment: [SHELLGUARD_HOME]", "environment: [SHELLGUARD_DEFERRED_STATUS]", "deferred: 0"),
        *("environment: [shellguard_session]", "rules: ./rules", "allow: ['*']", "unattended: approve"),
    )
    for each in tries:
        assert problem(tmp_path, f"{RIGHT}  {each}\n").line == 4, each
    assert set(profiles.WORDS) == {
        *("command", "kind", "completion", "max_runtime", "grace", "environment", "workspace"),
        *("concurrency", "search", "home", "max_retries"),
    }


def test_the_paper_names_every_word() -> None:
    paper = (Path(__file__).resolve().parents[2] / "docs/workers.md").read_text()
    table = paper.partition("## Profiles")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(profiles.WORDS)


# --- where a declaration may stand ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", profiles.ROOT_FILES)
def test_a_worker_of_the_root_raises_for_every_profile(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    is_toml = name.endswith(".toml")
    file.write_text("a = 1\n[worker]\ncommand = ['x']\n" if is_toml else "a: 1\nworker: {command: [x]}\n")
    error = problem(tmp_path, RIGHT)
    assert (error.path, error.line) == (str(file), 2)
    file.write_text("a = 1\n" if is_toml else "a: 1\n")
    assert load(str(tmp_path), "p").argv[0] == "make"
    file.write_text("a = [" if is_toml else "a: [")
    assert problem(tmp_path, RIGHT).path == str(file)


def test_an_empty_file_of_the_root_declares_nothing(tmp_path: Path) -> None:
    write(tmp_path, RIGHT)
    (tmp_path / "config.yaml").write_text("# nothing yet\n")
    assert load(str(tmp_path), "p").argv[0] == "make"


def test_the_root_is_guarded_inside_a_profile_home_too(tmp_path: Path) -> None:
    """The home of a dispatcher may be that of a profile: its own file is then no root file, and the root above is."""
    write(tmp_path, RIGHT)
    write(tmp_path, "worker: {command: [other]}\n", "q")
    for home in (tmp_path / "profiles" / "p", tmp_path / "profiles" / "q", tmp_path):
        assert load(str(home), "p").argv[0] == "make"
        assert load(str(home), "q").argv == ("other",)
    (tmp_path / "config.yaml").write_text("worker: {command: [x]}\n")
    for home in (tmp_path / "profiles" / "p", tmp_path):
        with pytest.raises(ProfileError) as caught:
            load(str(home), "q")
        assert caught.value.path == str(tmp_path / "config.yaml")


def test_a_link_to_the_home_is_judged_by_its_real_path(tmp_path: Path) -> None:
    write(tmp_path / "real", RIGHT)
    (tmp_path / "link").symlink_to(tmp_path / "real/profiles/p")
    assert load(str(tmp_path / "link"), "p").argv[0] == "make"
    (tmp_path / "real/config.yaml").write_text("worker: {command: [x]}\n")
    with pytest.raises(ProfileError):
        load(str(tmp_path / "link"), "p")


@pytest.mark.parametrize("what", ["file", "folder", "profiles"])
def test_a_profile_that_is_reached_through_a_link_raises(tmp_path: Path, what: str) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    write(other, RIGHT)
    write(home, RIGHT, "q")
    if what == "file":
        (home / "profiles/p").mkdir()
        (home / "profiles/p/config.yaml").symlink_to(other / "profiles/p/config.yaml")
    elif what == "folder":
        (home / "profiles/p").symlink_to(home / "profiles/q")
    else:
        home = tmp_path / "third"
        home.mkdir()
        (home / "profiles").symlink_to(other / "profiles")
    with pytest.raises(ProfileError, match="it is really"):
        load(str(home), "p")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../q", "a/b", "/etc", "-p", ".p", "p\n", "p\0", "x" * 65, "é"]
)
def test_a_name_that_is_a_path_raises(tmp_path: Path, name: str) -> None:
    write(tmp_path, RIGHT)
    with pytest.raises(ProfileError):
        load(str(tmp_path), name)


def test_a_profile_that_is_not_there_raises(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="there is no profile"):
        load(str(tmp_path), "p")


@pytest.mark.parametrize("where", ["profiles/p/config.yaml", "profiles/p", "profiles", "."])
@pytest.mark.parametrize("mode", [0o002, 0o020])
def test_what_others_may_write_raises(tmp_path: Path, where: str, mode: int) -> None:
    file = write(tmp_path, RIGHT)
    path = tmp_path / where
    path.chmod(path.stat().st_mode | mode)
    os.chown(path, -1, 1 if os.geteuid() == 0 else -1)
    if mode == 0o020 and os.geteuid() != 0:
        pytest.skip("only root may give a file to another group")
    with pytest.raises(ProfileError, match="may be written by"):
        load(str(tmp_path), "p")
    assert file.exists()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root may give a file away")
@pytest.mark.parametrize("where", ["profiles/p/config.yaml", "profiles/p", "profiles"])
def test_what_belongs_to_somebody_else_raises(tmp_path: Path, where: str) -> None:
    write(tmp_path, RIGHT)
    os.chown(tmp_path / where, 12345, -1)
    with pytest.raises(ProfileError, match="belongs to another user"):
        load(str(tmp_path), "p")


def test_a_pipe_and_a_folder_are_no_profile(tmp_path: Path) -> None:
    write(tmp_path, RIGHT)
    file = tmp_path / "profiles/p/config.yaml"
    file.unlink()
    os.mkfifo(file, 0o600)
    with pytest.raises(ProfileError):
        load(str(tmp_path), "p")
    file.unlink()
    file.mkdir()
    with pytest.raises(ProfileError):
        load(str(tmp_path), "p")
