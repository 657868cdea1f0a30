# SPDX-License-Identifier: Apache-2.0
"""The table of findings: it is frozen, it is complete, and its examples are true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from shellguard import classify
from shellguard.analysis.inquiry import Assumptions
from shellguard.effects import EFFECTS, Effect, Fact, Kind
from shellguard.findings import BY_CODE, BY_NAME, FINDINGS, RETIRED, Finding, find, finding_of
from shellguard.rules.model import BrokenRule
from shellguard.rules.shelf import Shelf
from tests.cli.process import run

ROOT = Path(__file__).parents[2]
FROZEN = Path(__file__).with_name("findings.txt")
KINDS = sorted(value for name, value in vars(Kind).items() if not name.startswith("_"))
ONLY_UNKNOWN = {
    *(Kind.SYNTAX, Kind.EMPTY, Kind.LIMIT, Kind.STATE, Kind.EVALUATED, Kind.NAME, Kind.PROGRAM, Kind.NO_RULE),
    *(Kind.BROKEN_RULE, Kind.NO_OPTION, Kind.NO_SUBCOMMAND, Kind.NO_PLACE, Kind.NO_VARIABLE, Kind.MALFORMED),
}


def test_the_table_is_frozen() -> None:
    """Codes and names are promised: a new one is a new line at the end of its group, none is changed or given away.

    One that falls out of use moves to `RETIRED` and keeps its line, with `retired` behind it.
    """
    rows = [line.split() for line in FROZEN.read_text(encoding="utf-8").splitlines() if line]
    now = [[finding.code, finding.name] for finding in FINDINGS]
    assert [row for row in rows if len(row) == 2] == now
    assert {row[0] for row in rows if row[2:] == ["retired"]} == RETIRED
    assert len({row[0] for row in rows}) == len({row[1] for row in rows}) == len(rows)


def test_codes_and_names_have_one_form() -> None:
    assert [finding.code for finding in FINDINGS] == sorted(finding.code for finding in FINDINGS)
    for finding in FINDINGS:
        assert re.fullmatch(r"SG[0-9]{3}", finding.code)
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", finding.name)
        assert finding.meaning.endswith(".")
        assert finding.advice.endswith(".")
        assert not finding.code.startswith("SG9"), "kept for the loops of the guard"
    assert not RETIRED & BY_CODE.keys()


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_fact_is_exactly_one_finding(effect: str, kind: str) -> None:
    fact = Fact(effect, (0, 1), "because", kind=kind)
    finding = finding_of(fact)
    assert effect in finding.effects
    rows = [row for row in FINDINGS if kind in row.kinds and effect in row.effects]
    if effect in (Effect.READS, Effect.NETWORK, Effect.WAITS):
        assert rows == []
    elif kind in ONLY_UNKNOWN and effect != Effect.UNKNOWN:
        assert rows == []  # there is no such fact; it would be the most general one of its effect
    else:
        assert rows in ([], [finding])


@pytest.mark.parametrize(
    "marks, code",
    [
        ((), "SG001"),
        (("config:repo",), "SG001"),
        (("touches:cache",), "SG004"),
        (("touches:cache", "privileged"), "SG003"),
        (("privileged", "sensitive"), "SG002"),
    ],
)
def test_the_marks_of_a_read_say_which_it_is(marks: tuple[str, ...], code: str) -> None:
    assert finding_of(Fact(Effect.READS, (0, 1), "because", marks=marks)).code == code


def codes(text: str) -> set[str]:
    """The codes of a text, also of what another shell would make of it."""
    found = {finding_of(fact).code for fact in classify(text).facts}
    return found | {finding_of(fact).code for fact in classify(text, assumptions=Assumptions("any")).facts}


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: str(finding.code))
def test_the_example_has_the_finding(finding: Finding) -> None:
    if finding.code == "SG403":
        broken = Shelf({"x": BrokenRule("x", "rules/x.yaml", 1, "it is wrong")})
        [fact] = classify("x", shelf=broken).facts
        assert finding_of(fact) is finding
        assert finding.example == ""
        return
    assert finding.code in codes(finding.example)


def test_every_kind_that_the_analysis_gives_is_one_of_the_table() -> None:
    """`Kind` is the only source of kinds: nowhere in the engine a text stands in its place."""
    used: set[str] = set()
    for path in [*(ROOT / "shellguard/analysis").rglob("*.py"), ROOT / "shellguard/engine.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Attribute(ast.Name("Kind"), name):
                    used.add(getattr(Kind, name))
                case ast.keyword("kind", ast.Constant()):
                    raise AssertionError(f"{path.name}:{node.value.lineno}: a kind as a text")
                case _:
                    pass
    assert used == set(KINDS)


@pytest.mark.parametrize("word", ["SG204", "sg204", "redirection-writes", "Redirection-Writes"])
def test_a_finding_is_found_by_code_and_name(word: str) -> None:
    assert find(word) is BY_CODE["SG204"] is BY_NAME["redirection-writes"]
    assert run("rule", word).stdout.startswith("SG204 redirection-writes\n")


def test_rule_explains() -> None:
    output = run("rule", "SG204").stdout
    finding = BY_CODE["SG204"]
    for part in (finding.meaning, finding.example, finding.advice):
        assert part in output
    answer = run("rule", "SG204", "--json").json()
    assert (answer["code"], answer["name"], answer["effects"]) == ("SG204", "redirection-writes", ["writes"])


def test_rule_lists_them_all() -> None:
    lines = run("rule").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [finding.code for finding in FINDINGS]
    assert len(run("rule", "--json").json()["findings"]) == len(FINDINGS)


def test_rule_knows_no_other() -> None:
    done = run("rule", "SG999\x1b")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "SG999\\x1b" in done.stderr
