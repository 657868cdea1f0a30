# SPDX-License-Identifier: Apache-2.0
"""What a tool says of itself beside its rule (`tools/inventory.py`), and drafts from what is installed."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest

from shellguard.rules.load import load_text
from shellguard.rules.told import from_help
from tools import draft_rules, inventory
from tools.inventory import Difference, difference

RULE = """\
command: frob
summary: s
effect: reads
numeric: true
flags: -a --all, -b, -s
values: -n --lines
subcommands:
  list ls: {effect: reads}
  gone: {effect: reads}
"""

HELP = """\
Options:
  -a, --all      all
  -n, --lines    really a number
  -o, --output F write
  -5             five
  --help         this

Commands:
  list     List
  add      Add
  help     Help
"""


def test_a_rule_beside_a_help_text() -> None:
    assert difference(load_text(RULE, "frob.yaml").spec, from_help(HELP)) == Difference(
        "frob",
        told=3,
        unlisted=["-o --output"],
        surplus=["-b", "-s"],
        unlike=["-n (rule: one, told: none)"],
        unlisted_commands=["add"],
        surplus_commands=["ls", "gone"],
    )


@pytest.mark.parametrize(
    "words, anything",
    [
        ("effect: writes", True),
        ("effect: [reads, executes]", True),
        ("effect: reads\naccepts: anything", True),
        ("effect: reads\nruns_config: clone", True),
        ("effect: reads\nruns_config: home", False),
        ("effect: unknown", False),
        ("cases: [{when: {operands: 0}, effect: writes}, {effect: reads}]", False),
        ("cases: [{when: {operands: 0}, effect: reads}, {effect: executes}]", True),
        ("cases: [{when: {operands: 0}, effect: writes}]", False),
    ],
)
def test_the_options_of_a_writer_need_no_list(words: str, anything: bool) -> None:
    spec = load_text(f"command: frob\nsummary: s\n{words}\n", "frob.yaml").spec
    assert difference(spec, from_help("  -x  x\n")).anything is anything


@pytest.fixture
def frob(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed tool that tells of itself, and of its subcommands."""
    program = tmp_path / "bin" / "frob"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        "  add) printf '  -f, --force  do it\\n' ;;\n"
        f"  *) cat <<'END'\n{HELP}END\n"
        "esac\n",
        encoding="utf-8",
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return program


def test_drafts_of_what_is_installed(frob: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert draft_rules.main(["--deep", "--output", str(tmp_path), "frob"]) == 0
    rule = load_text((tmp_path / "frob.yaml").read_text(encoding="utf-8"), "frob.yaml")
    assert rule.spec.options["--output"].takes == "one"
    assert "--force" in rule.spec.subcommands["add"].options
    assert draft_rules.main(["--output", str(tmp_path), "frob", "no-such-tool"]) == 1
    said = capsys.readouterr().err
    assert "frob.yaml is there already" in said
    assert "no-such-tool: nothing that is installed" in said


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_drafts_from_completion_specs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = {"name": "grob", "options": [{"name": ["-q", "--quiet"]}], "subcommands": [{"name": "add"}]}
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (tmp_path / "grob.js").write_text(f"export default {json.dumps(spec)};\n", encoding="utf-8")
    (tmp_path / "trob.js").write_text("throw new Error('no');\n", encoding="utf-8")
    assert draft_rules.main(["--fig", str(tmp_path), "grob"]) == 0
    printed = capsys.readouterr().out
    assert "  -q --quiet: {effect: unknown}\n" in printed
    assert "  add: {effect: unknown}\n" in printed
    assert draft_rules.main(["--fig", str(tmp_path), "trob"]) == 1


def test_the_summary_and_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert inventory.main(["cat", "no-such-tool", "--summary"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split()[4:] == ["cat", "rules/coreutils/cat.yaml"]
