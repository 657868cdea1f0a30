# SPDX-License-Identifier: Apache-2.0
"""`shellguard rules` as a process: what it prints, its exit status, and what it leaves alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shellguard.rules.proof import hash_of_rule, proofs_in

ROOT = Path(__file__).parents[2]
LABEL = ".shellguard/rules"
GOOD = (
    "command: frob\nsummary: s\nsource: s\nchecked: frob 1, 2020-01-01\neffect: reads\n"
    "examples:\n  read: |\n    frob\n  unknown: |\n    frob -x\n"
)


class Place:
    """A home folder, a project below it, and the command run there."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = self.home / "project"
        self.rules = self.project / LABEL
        self.own = folder / "own"
        self.path = folder / "bin"
        (self.project / ".git").mkdir(parents=True)
        self.path.mkdir()

    def put(self, name: str, text: str) -> Path:
        file = self.rules / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def tool(self, name: str, script: str) -> None:
        (self.path / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.path / name).chmod(0o755)

    def run(
        self, *arguments: str, text: str = "", where: Path | None = None, status: int | None = 0
    ) -> subprocess.CompletedProcess[str]:
        environment = {
            **{
                key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "SHELLGUARD_"))
            },
            "HOME": str(self.home),
            "SHELLGUARD_HOME": str(self.own),
            "PATH": f"{self.path}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "200",
        }
        done = subprocess.run(
            [sys.executable, "-m", "shellguard", *arguments],
            input=text,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
            cwd=where or self.project,
            env=environment,
        )
        assert "Traceback" not in done.stderr, done.stderr
        if status is not None:
            assert done.returncode == status, (done.stdout, done.stderr)
        return done


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# --- list, show, page -------------------------------------------------------------------------------------------------


def test_list_is_a_line_a_command(place: Place) -> None:
    place.put("frob.yaml", GOOD)
    lines = place.run("rules", "list", status=None).stdout.splitlines()
    rows = {line.split("\t")[0]: line.split("\t") for line in lines}
    assert len(rows) > 90
    assert rows["frob"] == [
        "frob",
        "project",
        "0",
        "0",
        "2",
        "2020-01-01",
        f"{LABEL}/frob.yaml (not trusted)",
    ]
    assert (rows["git"][1], rows["git"][6]) == ("vcs", "rules/vcs/git.yaml")
    assert int(rows["git"][2]) > 100


def test_list_as_json_has_everything(place: Place) -> None:
    place.put("frob.yaml", GOOD)
    place.put("bad.yaml", "command: bad\nefect: reads\n")
    answer = json.loads(place.run("rules", "list", "--json", status=1).stdout)
    assert answer["schema"] == 1
    assert len(answer["rules"]) == 32
    commands = {(each["command"], each["origin"]): each for each in answer["commands"]}
    frob = commands["frob", "project"]
    assert (frob["trusted"], frob["file"], frob["effects"]) == (False, f"{LABEL}/frob.yaml", ["reads"])
    assert frob["examples"][0] == {"kind": "read", "text": "frob", "expects": [], "comment": "", "line": 8}
    git = commands["git", "shipped"]
    branch = next(each for each in git["subcommands"] if each["name"] == "branch")
    delete = next(option for option in branch["options"] if "-D" in option["names"])
    assert delete["effects"] == ["writes"]
    assert branch["examples"]
    assert {"file": f"{LABEL}/bad.yaml", "line": 2}.items() <= answer["broken"][-1].items()


def test_stale_rules(place: Place) -> None:
    place.put("frob.yaml", GOOD)
    place.put("never.yaml", GOOD.replace("frob", "never").replace("2020-01-01", ""))
    place.put("fresh.yaml", GOOD.replace("frob", "fresh").replace("2020-01-01", "2999-01-01"))
    names = [
        line.split("\t")[0]
        for line in place.run("rules", "list", "--stale", "36500", status=None).stdout.splitlines()
    ]
    assert names == ["never"]
    names = [
        line.split("\t")[0]
        for line in place.run("rules", "list", "--stale", "365", status=None).stdout.splitlines()
    ]
    assert {"frob", "never"} <= set(names)
    assert "fresh" not in names


def test_rules_that_changed_since_they_were_tried(place: Place) -> None:
    """A rule of the project was never tried by us; of the shipped ones those whose text the record does not know."""
    place.put("frob.yaml", GOOD)
    place.run("rules", "list", "--stale", "-1", status=2)
    listed = place.run("rules", "list", "--stale", status=None).stdout.splitlines()
    names = {line.split("\t")[0] for line in listed}
    assert "frob" in names
    proofs = proofs_in(str(ROOT / "rules"))
    assert proofs, "rules/witness.lock is missing or empty"
    fresh = [
        proof
        for path, proof in proofs.items()
        if (ROOT / path).is_file() and hash_of_rule((ROOT / path).read_bytes()) == proof.hash
    ]
    assert not names & {proof.command for proof in fresh}
    shown = next(iter(proofs.values()))
    page = place.run("rules", "page", shown.command).stdout
    assert f"Seen on {shown.command} {shown.version}, {shown.date}" in page.replace("\\", "")


def test_show_and_page(place: Place) -> None:
    shown = place.run("rules", "show", "git", "branch").stdout
    assert "git branch" in shown
    assert "cannot tell" in shown
    assert "--list must not hide -D" in shown
    assert "git commit" not in shown
    page = place.run("rules", "page", "uniq").stdout
    assert page.startswith("# `uniq`\n\n")
    assert "| writes | `uniq in out` |" in page


def test_the_whole_reference(place: Place) -> None:
    place.put("frob.yaml", GOOD)
    place.put("bad.yaml", "command: bad\nefect: reads\n")
    folder = place.project / "reference"
    said = place.run("rules", "page", "--output", str(folder), status=1).stderr
    assert "efect" in said
    index = (folder / "README.md").read_text(encoding="utf-8")
    assert "[`git`](<vcs/git.md>)" in index
    assert "[`frob`](<project/frob.md>)" in index
    links = re.findall(r"\(<([^>]*)>\)", index)
    assert len(links) > 400
    assert sorted(links) == sorted(str(path.relative_to(folder)) for path in folder.glob("*/*.md"))
    page = (folder / "vcs" / "git.md").read_text(encoding="utf-8")
    assert page.startswith("# `git`\n")
    assert "## `git branch`" in page
    place.run("rules", "page", "--output", str(folder / "README.md" / "x"), status=1)


def test_show_has_a_page_for_each_file(place: Place) -> None:
    place.put("ls.yaml", "command: ls\neffect: writes\n")
    page = place.run("rules", "page", "ls").stdout
    assert page.count("# `ls`") == 2
    assert f"Rule: `{LABEL}/ls.yaml:1`" in page


def test_what_is_shown_does_not_act_on_the_terminal(place: Place) -> None:
    place.put("frob.yaml", GOOD.replace("summary: s", 'summary: "a\\e[31m\\u202e[bold]b"'))
    for command in ("show", "page"):
        shown = place.run("rules", command, "frob").stdout
        assert "\x1b[31m" not in shown
        assert "\u202e" not in shown
        assert "x1b" in shown
    assert "[bold]b" in place.run("rules", "show", "frob").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "nosuch"),
        ("show", "git", "nosuch"),
        ("page",),
        ("page", "git", "--output", "x"),
        ("check", "nosuch"),
        ("check", "nosuch.yaml"),
        ("new", "nosuch"),
        ("new", "../ls"),
        ("new", "-x"),
        ("new", "x", "--from", "nosuch"),
        ("compile", "--rules", "nosuch"),
        ("trust",),
        ("trust", "nosuch"),
        ("trust", "--list", "--revoke"),
        ("list", "--stale", "x"),
        ("nosuch",),
    ],
)
def test_wrong_usage_is_2(place: Place, arguments: tuple[str, ...]) -> None:
    assert place.run("rules", *arguments, status=2).stdout == ""


# --- check ------------------------------------------------------------------------------------------------------------


def test_check_names_place_and_fault(place: Place) -> None:
    file = place.put("frob.yaml", GOOD.replace("  unknown: |", "  write: |"))
    for target in (f"{LABEL}/frob.yaml", str(file), "frob"):
        done = place.run("rules", "check", target, status=1)
        assert done.stdout == f"{LABEL}/frob.yaml:10: this is a unknown, not a write: frob -x\n"
    file.write_text(GOOD)
    done = place.run("rules", "check", "frob")
    assert (done.stdout, done.stderr) == ("", "1 rules, 2 examples: nothing to say\n")


def test_check_of_a_file_that_is_in_no_library(place: Place) -> None:
    file = place.home / "frob.yaml"
    file.write_text(GOOD)
    place.run("rules", "check", str(file))
    file.write_text(GOOD.replace("effect: reads", "effect: raeds"))
    done = place.run("rules", "check", "../frob.yaml", status=1)
    assert done.stdout.startswith("../frob.yaml:5: `effect` cannot be `raeds`")
    (place.home / "_env.yaml").write_text("variables: {X: raeds}\n")
    assert place.run("rules", "check", "../_env.yaml", status=1).stdout.startswith("../_env.yaml:1: ")


def test_check_of_everything_names_every_broken_file(place: Place) -> None:
    place.put("frob.yaml", GOOD)
    place.put("gfrob.yaml", GOOD.replace("command: frob", "command: gfrob\naliases: [frob]"))
    place.put("bad.yaml", "command: bad\nefect: reads\n")
    place.put("_paths.yaml", "sensitiv: []\n")
    (place.rules / "link.yaml").symlink_to("/etc/passwd")
    (place.rules / "folder.yaml").mkdir()
    places = {line.partition(": ")[0] for line in place.run("rules", "check", status=1).stdout.splitlines()}
    for expected in ("bad.yaml:2", "_paths.yaml:1", "link.yaml:1", "folder.yaml:1", "gfrob.yaml:1"):
        assert f"{LABEL}/{expected}" in places


# --- new --------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="the tools are shell scripts")
def test_new_says_what_it_runs_and_runs_it_in_an_empty_folder(place: Place) -> None:
    place.tool(
        "frob",
        'ls -A; pwd; read -r line && echo "got $line"; echo "  -o, --output=FILE   out"; touch left; touch "$HOME/x"',
    )
    done = place.run("rules", "new", "frob", text="input\n")
    first = done.stderr.splitlines()[0]
    assert first.startswith(
        f"running: {place.path}/frob --help   (empty folder, no input, at most 5 seconds)"
    )
    assert "  -o --output: {takes: one, effect: unknown}\n" in done.stdout
    assert "got" not in done.stdout
    assert sorted(path.name for path in place.home.iterdir()) == ["project"]
    assert sorted(path.name for path in place.project.iterdir()) == [".git"]


@pytest.mark.skipif(os.name == "nt", reason="the tools are shell scripts")
@pytest.mark.parametrize(
    "script",
    [
        pytest.param("sleep 60", marks=pytest.mark.slow),
        "sleep 60 & exec sleep 61",
        "yes",
        pytest.param("trap '' TERM; while :; do :; done", marks=pytest.mark.slow),
    ],
)
def test_new_waits_for_no_tool(place: Place, script: str) -> None:
    place.tool("frob", script)
    start = time.monotonic()
    done = place.run("rules", "new", "frob")
    assert time.monotonic() - start < 30
    assert "effect: unknown" in done.stdout


def test_new_from_a_file_runs_nothing(place: Place) -> None:
    place.tool("frob", f"touch {place.home}/ran")
    done = place.run("rules", "new", "frob", "--from", "-", text="  -v, --verbose  say more\n")
    assert "  -v --verbose: {effect: unknown}\n" in done.stdout
    assert done.stderr == ""
    assert not (place.home / "ran").exists()


def test_new_overwrites_nothing(place: Place) -> None:
    target = place.home / "frob.yaml"
    place.run("rules", "new", "frob", "--from", "-", "--output", str(target))
    assert "command: frob\n" in target.read_text()
    target.write_text("mine")
    place.run("rules", "new", "frob", "--from", "-", "--output", str(target), status=2)
    assert target.read_text() == "mine"


def test_an_unfilled_draft_is_no_rule_yet(place: Place) -> None:
    place.put("frob.yaml", place.run("rules", "new", "frob", "--from", "-", text="  -v  say more\n").stdout)
    place.run("rules", "trust", f"{LABEL}/frob.yaml")
    for text in ("frob", "frob -v", "frob x"):
        place.run("lint", text=text, status=1)


# --- compile ----------------------------------------------------------------------------------------------------------


def test_compile_into_the_cache_and_into_a_file(place: Place) -> None:
    place.put("frob.yaml", GOOD)
    paths = place.run("rules", "compile", status=None).stdout.splitlines()
    assert [Path(path).parent for path in paths] == [place.own / "cache"] * 2
    assert all(os.stat(path).st_mode & 0o777 == 0o600 for path in paths)
    target = place.home / "out.rules"
    place.run(
        "rules", "compile", "--rules", str(place.rules), "--output", str(target), status=1
    )  # no _env.yaml there
    assert target.read_bytes().startswith(b"shellguard-rules ")


# --- trust ------------------------------------------------------------------------------------------------------------


def test_trust_from_the_outside(place: Place) -> None:
    file = place.put("frob.yaml", GOOD)
    text = "frob"
    done = place.run("lint", text=text, status=1)
    assert "shellguard rules trust .shellguard/rules/frob.yaml" in done.stdout
    deep = place.project / "a" / "b"
    deep.mkdir(parents=True)
    # As the message has it, also from further in.
    assert (
        place.run("rules", "trust", f"{LABEL}/frob.yaml", where=deep).stdout
        == f"trusted  {LABEL}/frob.yaml\n"
    )
    place.run("lint", text=text)
    place.run("lint", text=text, where=deep)
    state = place.own / "state" / "trusted-rules"
    assert state.stat().st_mode & 0o777 == 0o600
    assert place.run("rules", "trust", "--list").stdout == f"trusted  {file}\n"
    file.write_text(GOOD + "# changed\n")
    place.run("lint", text=text, status=1)
    assert place.run("rules", "trust", "--list").stdout == f"changed  {file}\n"
    place.run("rules", "trust")
    place.run("lint", text=text)
    assert place.run("rules", "trust", "--revoke", f"{LABEL}/frob.yaml").stdout == f"revoked  {file}\n"
    place.run("lint", text=text, status=1)
    place.run("rules", "trust", "--revoke", f"{LABEL}/frob.yaml", status=1)
    place.run("rules", "trust")
    file.unlink()
    assert place.run("rules", "trust", "--list").stdout == f"gone     {file}\n"


def test_a_file_that_is_broken_or_a_link_is_not_trusted(place: Place) -> None:
    place.put("frob.yaml", GOOD)
    place.put("bad.yaml", "command: bad\n")
    (place.home / "out.yaml").write_text("command: out\neffect: reads\n")
    (place.rules / "out.yaml").symlink_to(place.home / "out.yaml")
    done = place.run("rules", "trust", status=1)
    assert done.stdout == f"trusted  {LABEL}/frob.yaml\n"
    assert f"{LABEL}/bad.yaml:1: " in done.stderr
    assert f"{LABEL}/out.yaml:1: the file is a link that leaves the rules folder" in done.stderr
    outside = place.home / "x.yaml"
    outside.write_text(GOOD)
    place.run("rules", "trust", str(outside), status=2)


def test_a_project_cannot_hold_the_list_of_what_is_trusted_in_it(place: Place) -> None:
    place.own = place.project / "own"
    place.put("frob.yaml", GOOD)
    assert "lies inside the project" in place.run("rules", "trust", status=2).stderr


def test_lint_with_a_folder_of_rules_knows_no_overlay(place: Place) -> None:
    place.put("ls.yaml", "command: ls\neffect: writes\n")
    place.run("lint", text="ls", status=1)
    place.run("lint", "--rules", str(ROOT / "rules"), text="ls")


def test_answers_say_which_rules_judged(place: Place) -> None:
    before = json.loads(place.run("lint", "--output-format", "json", text="ls").stdout)
    place.put("ls.yaml", "command: ls\neffect: writes\n")
    after = json.loads(place.run("lint", "--output-format", "json", text="ls", status=1).stdout)
    assert before["rules"] != after["rules"]
    assert {fact["rule"] for fact in after["facts"]} == {"rules/coreutils/ls.yaml", f"{LABEL}/ls.yaml"}
