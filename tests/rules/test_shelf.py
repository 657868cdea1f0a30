# SPDX-License-Identifier: Apache-2.0
"""The shelf: names and aliases, broken files, threads; and the shipped rules as a whole."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shellguard.rules.load import load_text
from shellguard.rules.model import BrokenRule, CommandRule
from shellguard.rules.shelf import Shelf, read_rule, rule_files, shipped_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "family").mkdir()
    (tmp_path / "family" / "ls.yaml").write_text("command: ls\naliases: [dir, gls]\neffect: reads\n")
    (tmp_path / "cat.yaml").write_text("command: cat\neffect: reads\n")
    (tmp_path / "bad.yaml").write_text("command: bad\naliases: [worse]\neffect: reads\nflag: -x\n")
    (tmp_path / "_other.yaml").write_text("command: other\neffect: reads\n")
    return tmp_path


def test_a_command_and_its_aliases(folder: Path) -> None:
    shelf = Shelf(folder=str(folder))
    rule = shelf.get("ls")
    assert isinstance(rule, CommandRule)
    assert rule.path == "rules/family/ls.yaml"
    assert shelf.get("dir") == shelf.get("gls") == rule
    assert shelf.get("ls") is rule
    assert shelf.names() == ("bad", "cat", "dir", "gls", "ls", "worse")


@pytest.mark.parametrize(
    "name", ["nothing", "_other", "other", "", "family", "family/ls", "ls.yaml", "../ls", "LS"]
)
def test_no_rule(folder: Path, name: str) -> None:
    assert Shelf(folder=str(folder)).get(name) is None


@pytest.mark.parametrize("name", ["bad", "worse"])
def test_a_broken_file_says_so(folder: Path, name: str) -> None:
    answer = Shelf(folder=str(folder)).get(name)
    assert isinstance(answer, BrokenRule)
    assert (answer.command, answer.path, answer.line) == (name, "rules/bad.yaml", 4)
    assert "flags" in answer.message


def test_a_link_out_of_the_folder_is_broken(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "x.yaml"
    elsewhere.write_text("command: x\neffect: reads\n")
    (folder / "x.yaml").symlink_to(elsewhere)
    (folder / "far").symlink_to(elsewhere.parent)
    answer = Shelf(folder=str(folder)).get("x")
    assert isinstance(answer, BrokenRule)
    assert "link" in answer.message


def test_two_files_for_one_name(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "ls.yaml").write_text("command: ls\neffect: reads\n")
    (folder / "tree.yaml").write_text("command: tree\naliases: [dir]\neffect: reads\n")
    shelf = Shelf(folder=str(folder))
    for name in ("ls", "dir"):
        answer = shelf.get(name)
        assert isinstance(answer, BrokenRule)
        assert "more than one file" in answer.message


def test_a_missing_folder_knows_nothing(tmp_path: Path) -> None:
    shelf = Shelf(folder=str(tmp_path / "none"))
    assert shelf.get("ls") is None
    assert shelf.names() == ()
    # What would have been said of variables and files is then the strictest that can be said.
    everything = shelf.variables.get("LANG")
    assert everything is not None
    assert everything.effects == {"unknown"}
    assert shelf.paths.line_for("README") is not None
    assert shelf.policies == {}
    assert [problem.path for problem in shelf.problems] == [
        "rules/_env.yaml",
        "rules/_paths.yaml",
        "rules/_policies.yaml",
    ]


def test_rules_from_a_dict() -> None:
    rule = load_text("command: x\neffect: reads\n", "x.yaml")
    shelf = Shelf({"x": rule})
    assert shelf.get("x") is rule
    assert shelf.get("ls") is None
    assert shelf.names() == ("x",)
    assert shelf.variables.get("PATH") is None


def test_threads_share_a_shelf() -> None:
    shelf = Shelf()
    names = ("git", "ls", "egrep", "nothing", "gh") * 20
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(shelf.get, names))
    for name, answer in zip(names, answers, strict=True):
        assert answer is shelf.get(name)


def test_a_hook_does_not_import_the_loader() -> None:
    """The model and the shelf stand on the hook path: neither may bring a heavy module."""
    script = (
        f"import sys; sys.path.insert(0, {str(_ROOT)!r}); before = set(sys.modules)\n"
        "import shellguard.rules.shelf\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    command = [sys.executable, "-I", "-S", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    heavy = {
        "re",
        "yaml",
        "typing",
        "dataclasses",
        "enum",
        "json",
        "pathlib",
        "threading",
        "shellguard.rules.load",
    }
    assert not heavy & set(done.stdout.split())


_ROOT = Path(__file__).parents[2]


# --- the shipped rules ------------------------------------------------------------------------------------------


def test_every_shipped_rule_loads() -> None:
    folder = shipped_folder()
    answers = [read_rule(path, folder, path) for path in rule_files(folder)]
    assert [f"{a.path}:{a.line}: {a.message}" for a in answers if isinstance(a, BrokenRule)] == []
    shelf = Shelf()
    assert len(shelf.variables.entries()) > 100
    assert set(shelf.policies) == {"strict", "local", "default"}
    assert shelf.paths.line_for("~/.ssh/id_ed25519") is not None
    assert shelf.problems == []


def test_no_two_shipped_rules_claim_a_name() -> None:
    shelf = Shelf()
    broken = {name: answer for name in shelf.names() if isinstance(answer := shelf.get(name), BrokenRule)}
    claimed: dict[str, str] = {}
    twice = []
    for path in rule_files(shipped_folder()):
        rule = read_rule(path, shipped_folder(), path)
        assert isinstance(rule, CommandRule)
        for name in (rule.command, *rule.aliases):
            if name in claimed:
                twice.append((name, claimed[name], path))
            claimed[name] = path
    assert (broken, twice) == ({}, [])
