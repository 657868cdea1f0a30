# SPDX-License-Identifier: Apache-2.0
"""Scripts inside words: `embedded.txt`, one line a test. And GNU sed as the judge of scripts made of its own pieces."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellguard.analysis.embedded import LANGUAGES, Finding, NotUnderstoodError, reader_of
from shellguard.effects import EFFECTS, Effect
from tests.analysis.texts import SED_PIECES

TABLE = Path(__file__).with_name("embedded.txt")


def rows() -> list[tuple[int, str, str, str]]:
    """Line, language, effects, script."""
    found = []
    for number, line in enumerate(TABLE.read_text(encoding="utf-8").split("\n"), 1):
        if line and not line.startswith("#"):
            head, _, script = line.partition(" |")
            language, effects = head.split(" ")
            found.append((number, language, effects, script.removeprefix(" ").replace("⏎", "\n")))
    return found


def effects_of(language: str, script: str) -> set[str]:
    reader = reader_of(language)
    assert reader is not None
    found: list[Finding] = []
    try:
        reader(script, found)
    except NotUnderstoodError as problem:
        found.append(Finding(Effect.UNKNOWN, str(problem)))
    return {finding.effect for finding in found}


@pytest.mark.parametrize("line, language, effects, script", rows(), ids=lambda value: None)
def test_script(line: int, language: str, effects: str, script: str) -> None:
    assert ",".join(sorted(effects_of(language, script))) == effects.removeprefix("-"), f"{TABLE.name}:{line}"


@pytest.mark.parametrize("language", [name for name in LANGUAGES if reader_of(name) is not None])
@given(text=st.text(max_size=200))
def test_any_text_is_read_or_not_understood(language: str, text: str) -> None:
    assert effects_of(language, text) <= set(EFFECTS)


@pytest.mark.skipif(shutil.which("sed") is None or os.name != "posix", reason="no sed here")
@given(pieces=st.lists(st.sampled_from(SED_PIECES), max_size=8))
def test_what_sed_would_write_is_never_harmless(
    pieces: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With --sandbox GNU sed refuses a script that writes, runs a command or reads another file, and does nothing."""
    script = "".join(pieces)
    run = subprocess.run(
        ["sed", "--sandbox", "-n", script], input=b"", capture_output=True, timeout=10, check=False
    )
    refused = b"commands disabled in sandbox mode" in run.stderr
    if refused:
        assert effects_of("sed", script), script


def test_a_language_without_a_reader() -> None:
    assert reader_of("cobol") is None
