# SPDX-License-Identifier: Apache-2.0
"""`shellguard report`: a text for an issue that holds what is wanted and no secret."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from shellguard.redact import MARK, redact, secrets_in
from tests.cli.process import run

TABLE = Path(__file__).with_name("redactions.txt")


def rows() -> list[tuple[str, str]]:
    found = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            text, _, shown = line.rpartition(" | ")
            found.append((text, text if shown == "=" else shown))
    return found


@pytest.mark.parametrize("text, shown", rows())
def test_secrets_are_taken_out(text: str, shown: str) -> None:
    assert redact(text.replace("\\n", "\n")) == shown
    assert redact(shown) == shown, "what was taken out is not taken out again"


def test_names_are_taken_out_where_they_stand_alone() -> None:
    assert redact("id ann; ls annex ann/x", ["ann"]) == "id REDACTED-user; ls annex REDACTED-user/x"


def test_a_part_is_judged_by_the_whole() -> None:
    known = secrets_in("PASSWORD=hunter2 x > hunter2; curl https://a:bcdefg@h")
    assert known == {"hunter2", "a:bcdefg", "bcdefg"}
    assert redact("> writes to 'hunter2'", known=known) == "> writes to 'REDACTED-secret'"


def test_a_secret_is_taken_out_wherever_it_stands() -> None:
    assert redact("PASSWORD=hunter2 x > hunter2") == "PASSWORD=REDACTED-secret x > REDACTED-secret"


@pytest.mark.parametrize(
    "piece", ["a", "a-", "_", "x-", "=", "token=", "eyJaaaaaaaaa.", "-----BEGIN A PRIVATE KEY-----"]
)
def test_it_takes_time_in_proportion(piece: str) -> None:
    text = (piece * 200_000)[:200_000]
    begin = time.monotonic()
    redact(text)
    assert time.monotonic() - begin < 20  # half a second on a quiet machine


SECRETS = ("hunter2", "abcdefghijklmnop", "ann@example.org", "/home/ann", "ghp_0123456789abcdefABCDEF")
COMMAND = (
    'curl -H "Authorization: Bearer abcdefghijklmnop" https://u:hunter2@x.org/ > /home/ann/hunter2; '
    "mail ann@example.org; echo ghp_0123456789abcdefABCDEF | frob ghp_0123456789abcdefABCDEF"
)


def test_a_report() -> None:
    output = run("report", COMMAND).stdout
    for secret in SECRETS:
        assert secret not in output
    versions = run("--version", "--json").json()
    assert output.startswith("## shellguard says `write`\n")
    assert (
        f"shellguard {versions['version']}, schema {versions['schema']}, rules {versions['rules']}" in output
    )
    assert f"Python {versions['python']}, {versions['system']}" in output
    assert "SG204 redirection-writes" in output
    assert "SG401 no-rule" in output
    assert "rules/shell/echo.yaml:" in output
    assert MARK in output


def test_a_report_reads_standard_input() -> None:
    assert run("report", text="rm x").stdout == run("report", "rm x").stdout


def test_the_command_stays_in_its_block() -> None:
    output = run("report", text="echo '```` # x'\n# heading\n<script>\x1b[2J\u202e").stdout
    assert output.count("`````") == 4, "both blocks repeat it"
    assert "\\x1b[2J\\u202e" in output
    inside = output.split("`````sh\n")[1].split("`````")[0]
    assert inside.splitlines()[1:] == ["# heading", "<script>\\x1b[2J\\u202e"]


def test_it_says_when_the_secret_decides() -> None:
    decided = run("report", text="echo password=a > b; TOKEN='`x' frob").stdout
    assert "the verdict is" not in decided
    assert (
        "with that taken out, the verdict is `read`" in run("report", text="echo Authorization: x > f").stdout
    )


def test_long_commands_are_cut() -> None:
    output = run("report", text="rm x;" * 20_000).stdout
    assert "characters more" in output
    assert "facts more" in output
    assert len(output) < 60_000
