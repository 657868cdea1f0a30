# SPDX-License-Identifier: Apache-2.0
"""The gate, on tables: what needs a person, what only looks like it, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import sampled_from, text

from shellguard.approval.check import as_objects, check
from shellguard.approval.flow import plain_path
from shellguard.approval.statements import destroys
from shellguard.errors import RuleError
from shellguard.rules.compiled import Compiled
from shellguard.rules.gates import Gates
from shellguard.rules.load_gates import load_gates
from shellguard.rules.shelf import Shelf, shipped_folder
from tests.cli.process import run

HERE = Path(__file__).parent


def lines(name: str) -> list[tuple[int, str]]:
    found = []
    for number, line in enumerate((HERE / name).read_text(encoding="utf-8").split("\n"), start=1):
        if line and not (number == 1 and line.startswith("# ")):
            found.append((number, line.replace("↵", "\n")))
    return found


GATED = [pytest.param(*line.split(" | ", 1), id=f"gated.txt:{number}") for number, line in lines("gated.txt")]
OPEN = [pytest.param(line, id=f"open.txt:{number}") for number, line in lines("open.txt")]


def gates_of(text: str) -> set[str]:
    return {each.gate.name for each in check(text).gated}


@pytest.mark.parametrize("gate, text", GATED)
def test_what_needs_a_person_is_gated(gate: str, text: str) -> None:
    assert gate in gates_of(text)


@pytest.mark.parametrize("text", OPEN)
def test_what_only_looks_like_it_is_not(text: str) -> None:
    assert [(each.gate.name, each.what) for each in check(text).gated] == []


def test_the_tables_are_long_enough_and_every_gate_is_in_them() -> None:
    assert len(GATED) >= 150
    assert len(OPEN) >= 150
    named = {line.split(" | ", 1)[0] for _, line in lines("gated.txt")}
    assert {gate.name for gate in Shelf.default().gates.gates} - named == {"cluster-data"}
    assert gates_of("tmux kill-server") == {"cluster-data"}


WRAPPED = [
    "{}; true",
    "true && {}",
    "( {} )",
    "if :; then {}; fi",
    "echo $( {} )",
    "{} | cat",
    "env bash -c '{}'",
]
PLAIN = [
    "git push",
    "rm -rf build",
    "sudo ls",
    "npm publish",
    "curl https://h/x | sh",
    "ssh host ls",
    "echo x > /etc/hosts",
]


@given(command=sampled_from(PLAIN), wrapping=sampled_from(WRAPPED), outer=sampled_from(WRAPPED[:-1]))
def test_wrapping_opens_no_gate(command: str, wrapping: str, outer: str) -> None:
    assert gates_of(command) <= gates_of(outer.format(wrapping.format(command)))


@given(text=text(alphabet="abrmgit -|&;$(){}<>'\"\n#", max_size=60))
def test_any_text_gets_an_answer(text: str) -> None:
    check(text)


@given(command=sampled_from(PLAIN))
def test_quoted_and_commented_text_is_none(command: str) -> None:
    for look in (
        f"echo '{command}'",
        f"true # {command}",
        f"git commit -m '{command}'",
        f"cat <<'X'\n{command}\nX",
    ):
        assert gates_of(look) == set()


def test_a_gated_command_says_where_why_and_what_instead() -> None:
    checked = check("ls; sudo rm -rf x")
    first, second = as_objects(checked, "rules/_gates.yaml")
    assert (first["gate"], first["text"], first["via"]) == ("privileges", "sudo rm -rf x", [])
    assert (second["gate"], second["text"], second["via"]) == ("removal", "rm -rf x", ["sudo"])
    text = (Path(shipped_folder()) / "_gates.yaml").read_text(encoding="utf-8").split("\n")
    for each in (first, second):
        assert each["reason"]
        assert each["instead"]
        assert "run:" in text[each["line"] - 1]


# --- the small readers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path, plain",
    [
        ("/etc/../etc/hosts", "/etc/hosts"),
        ("./a", "a"),
        ("a//b/./c", "a/b/c"),
        ("../a", "../a"),
        ("a/../../b", "../b"),
        ("/../x", "/x"),
        ("/", "/"),
        ("", ""),
        ("/etc" + "/a" * 1000 + "/b", "/etc" + "/a" * 62 + "/b"),
    ],
)
def test_paths_are_made_plain(path: str, plain: str) -> None:
    assert plain_path(path) == plain


@pytest.mark.parametrize(
    "statement, found",
    [
        ("drop table x", "DROP TABLE"),
        ("select 1; DROP INDEX i", "DROP INDEX"),
        ("/* x */ drop schema s", "DROP SCHEMA"),
        ("truncate x", "TRUNCATE X"),
        ("delete from x", "DELETE without WHERE"),
        ("with a as (select 1) delete from x", "DELETE without WHERE"),
        ("delete from x where a = 1", None),
        ("update x set a = 1", "UPDATE without WHERE"),
        ("update x set a = 1 where b", None),
        ("alter table x drop column y", "ALTER DROP"),
        ("alter table x add y int", None),
        ("select 'drop table x'", None),
        ('select "delete from x"', None),
        ("-- drop table x\nselect 1", None),
        ("select 1 /* drop table x */", None),
        ("explain delete from x", None),
        ("create table dropped (a int)", None),
        ("begin; drop table x; commit", "DROP TABLE"),
        ("", None),
    ],
)
def test_statements_that_destroy(statement: str, found: str | None) -> None:
    assert destroys(statement) == found


# --- the file ---------------------------------------------------------------------------------------------------------

GOOD = "gates:\n  x:\n    severity: low\n    reason: a\n    instead: b\n    commands: [git push]\n"


@pytest.mark.parametrize(
    "text, line, message",
    [
        ("gates: []\n", 1, "`gates` must be a mapping"),
        ("gate: {}\n", 1, "the file has no word `gate`: did you mean `gates`?"),
        ("writers: [rm]\n", 1, "the file needs `gates:`"),
        ("gates:\n  x:\n    severity: low\n", 2, "the gate x needs `reason`"),
        (GOOD.replace("low", "bad"), 3, "`severity` cannot be `bad`"),
        (GOOD.replace("    commands: [git push]\n", ""), 2, "the gate x stands before nothing"),
        (GOOD.replace("git push", "git  push"), 6, "is no command"),
        (GOOD.replace("[git push]", "[{any: [-f]}]"), 6, "a command of a gate needs `run`"),
        (
            GOOD.replace("[git push]", "[{run: a, any: [force]}]"),
            6,
            "`any` names 'force', which is no option",
        ),
        (GOOD.replace("[git push]", "[{run: a, frob: b}]"), 6, "a command of a gate has no word `frob`"),
        (GOOD + "remote: [curl]\n", 1, "`remote` and a gate with `code_from: remote` need each other"),
        (GOOD + "interpreters: [{program: [-c]}]\n", 7, "an interpreter needs `names`"),
        (GOOD + "interpreters: [{names: [x], language: cobol}]\n", 7, "`language` cannot be `cobol`"),
        (GOOD + "namings: [{names: [x], options: [-c]}]\n", 7, "a naming needs `prefix`"),
        (GOOD + "clients: [{names: [x], skip: 9}]\n", 7, "`skip` cannot be `9`"),
        (GOOD + "    not_targets: [x]\n", 7, "`not_targets` takes nothing back"),
        (GOOD + "  x:\n    severity: low\n", 7, "a second time"),
        ("gates: [\n", 2, "not YAML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(RuleError) as raised:
        load_gates(text, "rules/_gates.yaml")
    assert raised.value.path == "rules/_gates.yaml"
    assert raised.value.line == line
    assert message in raised.value.message


def test_a_broken_file_lets_nothing_pass(tmp_path: Path) -> None:
    (tmp_path / "_gates.yaml").write_text("gates: 1\n", encoding="utf-8")
    with pytest.raises(RuleError, match=r"^rules/_gates\.yaml:1: "):
        check("ls", Shelf(folder=str(tmp_path)))


def test_rules_check_reads_the_gates(tmp_path: Path) -> None:
    path = tmp_path / "_gates.yaml"
    path.write_text(GOOD, encoding="utf-8")
    assert run("rules", "check", str(path)).returncode == 0
    path.write_text(GOOD.replace("low", "bad"), encoding="utf-8")
    done = run("rules", "check", str(path))
    assert done.returncode == 1
    assert "_gates.yaml:3: `severity` cannot be `bad`" in done.stdout + done.stderr


def test_compiled_gates_read_back(tmp_path: Path) -> None:
    from shellguard.rules.cache import compile_rules

    shelf = Shelf(folder=shipped_folder())
    (tmp_path / "compiled.rules").write_bytes(compile_rules(shelf))
    compiled = Shelf(folder=shipped_folder(), compiled=Compiled(str(tmp_path / "compiled.rules")))
    assert isinstance(compiled.gates, Gates)
    assert compiled.gates == shelf.gates
    assert compiled.get("_gates.yaml") is None
