# SPDX-License-Identifier: Apache-2.0
"""`shellguard approve check`, as a person and a script see it."""

from __future__ import annotations

import pytest

from tests.cli.process import run


@pytest.mark.parametrize("text, status", [("ls", 0), ("git push", 1), ("git push -n", 0), ("if", 1), ("", 0)])
def test_the_status_says_whether_it_is_gated(text: str, status: int) -> None:
    assert run("approve", "check", text).returncode == status


def test_the_command_may_stand_on_standard_input() -> None:
    assert run("approve", "check", "-", text="sudo ls").returncode == 1


def test_no_command_is_wrong_usage() -> None:
    assert run("approve", "check").returncode == 2


def test_as_json() -> None:
    answer = run("approve", "check", "--json", "xargs rm").json()
    assert answer["schema"] == 1
    assert answer["gated"] is True
    assert answer["verdict"] == "write"
    [gate] = answer["gates"]
    assert (gate["gate"], gate["severity"], gate["text"], gate["via"]) == (
        "removal",
        "critical",
        "rm",
        ["xargs"],
    )


def test_for_people_hostile_text_is_made_visible() -> None:
    shown = run("approve", "check", "rm -rf '\x1b[2J\u202e'").stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "Instead: Name single files" in shown
