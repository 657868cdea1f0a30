# SPDX-License-Identifier: Apache-2.0
"""The papers for users are true: links lead somewhere, commands and options exist, tables say what the code does."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import click
import pytest
import yaml

import shellguard
from shellguard.cli.main import cli
from shellguard.effects import EFFECTS, Fact
from shellguard.findings import find
from tests.cli.process import run
from tools.platforms import PAPER, SYSTEMS, promised, rows

ROOT = Path(__file__).resolve().parents[1]
PAPERS = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")])
NAMES = [path.relative_to(ROOT).as_posix() for path in PAPERS]
FACT = Fact("reads", (0, 1), "because")


def anchor(heading: str) -> str:
    """What GitHub makes of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    path = ROOT / name
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if target.startswith(("https://", "http://")):
            continue
        file, _, place = target.partition("#")
        found = (path.parent / file).resolve() if file else path
        assert found.exists(), target
        assert found.is_relative_to(ROOT), target
        if place:
            headings = re.findall(r"^#+ (.+)$", found.read_text(encoding="utf-8"), flags=re.MULTILINE)
            assert place in map(anchor, headings), target


def test_every_paper_is_found_from_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"]({name})" not in text and name != "README.md"] == []


@pytest.mark.parametrize("name", NAMES)
def test_commands_and_options_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for line in re.findall(
        r"(?<!from )shellguard ((?:[a-z]+|--[a-z-]+)(?: [^`|<>\n\"']*)?)", "\n".join(code_of(text))
    ):
        command: click.Command = cli
        options = {"-h", "--help"}
        for word in line.split():
            if word == "--":
                break  # what follows is a command of somebody else
            with click.Context(command, **command.context_settings) as context:
                options |= {option for each in command.get_params(context) for option in each.opts}
                if isinstance(command, click.Group) and re.fullmatch("[a-z]+", word):
                    found = command.get_command(context, word)
                    assert found is not None, f"shellguard {line}: there is no {word}"
                    command = found
                    continue
            if word.startswith("-") and word != "-":
                with click.Context(command, **command.context_settings) as context:
                    options |= {option for each in command.get_params(context) for option in each.opts}
                assert word.rstrip(")").split("=")[0] in options, f"shellguard {line}: there is no {word}"


def code_of(text: str) -> list[str]:
    """What stands in backquotes: blocks and pieces of a line."""
    blocks = re.findall(r"^```.*?^```$", text, flags=re.MULTILINE | re.DOTALL)
    rest = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [*blocks, *(piece.replace("\n", " ") for piece in re.findall(r"`([^`]+)`", rest))]


@pytest.mark.parametrize("name", NAMES)
def test_findings_exist(name: str) -> None:
    for code in re.findall(r"\bSG[0-9]{3}\b", (ROOT / name).read_text(encoding="utf-8")):
        assert find(code) is not None, code


@pytest.mark.parametrize("name", NAMES)
def test_no_paper_names_a_machine(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"/(work|root|home/\w+|Users/\w+)/", text)


def table(name: str, first: str) -> list[list[str]]:
    """The rows of the table of a paper whose header begins with `first`; each cell without its backquotes."""
    lines = (ROOT / name).read_text(encoding="utf-8").split("\n")
    start = next(index for index, line in enumerate(lines) if line.startswith(f"| {first} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows


def keys(rows: list[list[str]]) -> set[str]:
    return {key for row in rows for key in re.findall(r"`(\w+)`", row[0])}


def test_the_keys_of_the_answers_are_listed() -> None:
    text = (ROOT / "docs/stability.md").read_text(encoding="utf-8")
    answers, facts = text.split("\n## JSON\n")[1].split("\nA fact:\n")
    listed = keys([[cell] for cell in re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", answers, flags=re.MULTILINE)])
    [batch] = run("lint", "--batch", text='{"id": 1, "command": "rm x"}').stdout.splitlines()
    single = run("lint", "--stdin-filename", "f", "--output-format", "json", text="rm x").json()
    assert {*json.loads(batch), *single} == listed
    assert keys(
        [[cell] for cell in re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", facts, flags=re.MULTILINE)]
    ) == set(single["facts"][0])
    for effect in EFFECTS:
        assert f"`{effect}`" in text
    for key in set(run("explain", "--json", text="rm x").json()) - set(single):
        assert f"`{key}`" in text


def test_the_public_names_are_listed() -> None:
    text = (
        (ROOT / "docs/stability.md").read_text(encoding="utf-8").split("\n## Python\n")[1].split("\n## ")[0]
    )
    named = set(re.findall(r"`(\w+)`", text))
    assert set(shellguard.__all__) <= named
    verdict = shellguard.classify("ls")
    for name in named - set(shellguard.__all__) - {"shellguard"}:
        assert hasattr(verdict, name) or hasattr(FACT, name), name


@pytest.mark.parametrize(
    "arguments, text, status",
    [
        (("lint",), "ls", 0),
        (("lint",), "rm x", 1),
        (("lint", "--exit-zero"), "rm x", 0),
        (("lint", "none"), "", 2),
        (("lint", "--batch"), '{"command": "rm x"}', 0),
        (("explain",), "rm x", 0),
        (("report",), "rm x", 0),
        (("explain", "none"), "", 2),
        (("parse",), "ls", 0),
        (("parse",), "if", 1),
        (("parse", "none"), "", 2),
        (("rule", "SG204"), "", 0),
        (("rule", "none"), "", 1),
        (("rule", "--none"), "", 2),
        (("log",), "", 0),
        (("log", "--none"), "", 2),
        (("why", "none"), "", 1),
        (("config", "show"), "", 0),
        (("guard", "run"), "no\n", 0),
        (("guard", "run", "--config", "none"), "", 2),
        (("guard", "check", "none"), "", 2),
        (("guard", "release", "none", "--state", "none"), "", 2),
        (("replay", str(ROOT / "corpus" / "own.jsonl")), "", 0),
        (("replay", "none"), "", 2),
        (("corpus", "count", "--corpus", "none"), "", 2),
        (("approve", "check", "ls"), "", 0),
        (("approve", "check", "git push"), "", 1),
        (("approve", "check", "--none"), "", 2),
        (("rules", "check", "ls"), "", 0),
        (("rules", "check", "none"), "", 2),
        (("doctor", "claude"), "", 1),
        (("uninstall", "claude"), "", 0),
        (("install", "none"), "", 2),
    ],
)
def test_the_exit_statuses_are_those_of_the_table(
    arguments: tuple[str, ...], text: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "own"))
    assert run(*arguments, text=text).returncode == status


def test_the_places_are_those_of_the_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from shellguard.places import folder
    from shellguard.rules.overlay import PROJECT_FOLDER, user_folder
    from shellguard.rules.trust import store

    text = (ROOT / "docs/files.md").read_text(encoding="utf-8")
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path))
    for kind in ("config", "state", "cache"):
        assert folder(kind) == str(tmp_path / kind)
        assert f"`{kind}`" in text
    assert user_folder() == str(tmp_path / "config" / "rules")
    assert store() == str(tmp_path / "state" / "trusted-rules")
    assert f"`{PROJECT_FOLDER}`" in text


def test_the_rule_that_is_written_step_by_step_is_the_shipped_one() -> None:
    text = (ROOT / "docs/adding-a-rule.md").read_text(encoding="utf-8")
    blocks = [part.split("```")[0] for part in text.split("```yaml\n")[1:]]
    shipped = (ROOT / "rules/system/pmap.yaml").read_text(encoding="utf-8")
    assert "\n".join(blocks) == shipped


def test_the_rules_that_are_named_as_examples_are_there() -> None:
    text = (ROOT / "docs/adding-a-rule.md").read_text(encoding="utf-8")
    named = re.findall(r"`(rules/[a-z]+/[a-z]+\.yaml)`", text)
    assert len(named) > 8
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_the_settings_of_hooks_are_all_there_with_their_defaults() -> None:
    from shellguard.agents.settings import DEFAULTS

    text = (ROOT / "docs/agents.md").read_text(encoding="utf-8")
    [block] = [part.split("```")[0] for part in text.split("```toml\n")[1:]]
    shown: dict[str, object] = {}
    for key, value in tomllib.loads(block).items():
        pairs = {f"{key}.{below}": each for below, each in value.items()} if isinstance(value, dict) else {}
        shown |= pairs or {key: value}
    assert shown == {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in DEFAULTS.items()
        if key != "guard.options"  # a section of its own, in guard.md
    }


def test_the_ends_of_a_supervisor_and_their_reasons_are_all_there() -> None:
    from shellguard.approval.requests import DIFFERENCES
    from shellguard.workers.resume import EXIT_STATUS, REASONS

    name = "docs/approval.md"
    rows = table(name, "result")
    assert {row[0].strip("`"): int(row[1]) for row in rows} == EXIT_STATUS
    assert [row[0].strip("`") for row in table(name, "reason")] == list(DIFFERENCES)
    text = (ROOT / name).read_text(encoding="utf-8")
    assert [reason for reason in REASONS if f"`{reason}`" not in text] == []


def test_the_table_of_systems_is_held_by_the_hosted_job() -> None:
    """Each row names a test that there is; the job runs them on the three systems of the table."""
    found = rows(PAPER.read_text("utf-8"))
    for row in found:
        assert list(row.cells) == list(SYSTEMS.values())
        assert row.test or not any(cell == "yes" for cell in row.cells.values()), row.what
        if row.test:
            file, _, name = row.test.partition("::")
            assert f"\ndef {name}(" in (ROOT / file).read_text("utf-8"), row.test
    for system in SYSTEMS.values():
        assert promised(found, system)
    job = yaml.safe_load((ROOT / ".github/workflows/platforms.yml").read_text("utf-8"))["jobs"]["table"]
    assert job["strategy"]["matrix"]["system"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert "python -m tools.platforms" in [step.get("run") for step in job["steps"]]
