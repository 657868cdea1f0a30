# SPDX-License-Identifier: Apache-2.0
"""Python texts: `python.txt`, one a line, judged and run. And laws about any text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellguard import classify
from shellguard.analysis.embedded import CONFIGURED, Finding, NotUnderstoodError
from shellguard.analysis.embedded.python import read, read_isolated
from shellguard.analysis.inquiry import Assumptions
from shellguard.effects import Effect
from tests.analysis.python_witness import harm_of

TABLE = Path(__file__).with_name("python.txt")
READS = ("read", "waits", "network")


def rows() -> list[tuple[int, str, str]]:
    """Line, kind, text."""
    found = []
    for number, line in enumerate(TABLE.read_text(encoding="utf-8").split("\n"), 1):
        if line and not line.startswith("#"):
            kind, _, text = line.partition(" | ")
            found.append((number, kind, text.replace("⏎", "\n").replace("⇥", "    ")))
    return found


ROWS = rows()


def effects_of(text: str) -> set[str]:
    found: list[Finding] = []
    try:
        read(text, found)
    except NotUnderstoodError as problem:
        found.append(Finding(Effect.UNKNOWN, str(problem)))
    return {finding.effect for finding in found}


@pytest.mark.parametrize("line, kind, text", ROWS, ids=lambda value: None)
def test_what_is_said(line: int, kind: str, text: str) -> None:
    wanted = {"read": {"reads"}, "waits": {"reads", "waits"}, "network": {"reads", "network"}}.get(kind)
    effects = effects_of(text)
    if wanted is None:
        assert Effect.UNKNOWN in effects, f"{TABLE.name}:{line}"
    else:
        assert effects == wanted, f"{TABLE.name}:{line}"


@pytest.mark.skipif(os.name != "posix", reason="the texts name programs of Unix")
@pytest.mark.parametrize(
    "line, kind, text", [row for row in ROWS if row[1] in ("read", "waits", "harm")], ids=lambda value: None
)
def test_what_a_run_does(line: int, kind: str, text: str, tmp_path: Path) -> None:
    """A read changes nothing and fails only if it says so; a harm does harm, else the row shows nothing."""
    harm, run = harm_of(text, tmp_path)
    assert bool(harm) == (kind == "harm"), f"{TABLE.name}:{line}: {harm} {run.stderr.decode()[-500:]}"
    if kind != "harm" and "sys.exit(" not in text:
        assert run.returncode == 0, f"{TABLE.name}:{line}: {run.stderr.decode()[-500:]}"


# --- laws ------------------------------------------------------------------------------------------------

READ_TEXTS = [text for _, kind, text in ROWS if kind == "read"]
HARM_TEXTS = [text for _, kind, text in ROWS if kind == "harm"]


@given(text=st.sampled_from(HARM_TEXTS), before=st.sampled_from(READ_TEXTS))
def test_a_harm_is_seen_behind_a_read(text: str, before: str) -> None:
    assert Effect.UNKNOWN in effects_of(f"{before}\n{text}")


@given(text=st.sampled_from(HARM_TEXTS))
def test_a_harm_is_seen_inside_of_other_statements(text: str) -> None:
    inner = "".join(f"\n    {line}" for line in text.split("\n"))
    for head in ("if 0:", "def f(self):", "class A:", "while x:", "for i in a:", "with a as b:", "try:"):
        tail = "\nfinally: pass" if head == "try:" else ""
        assert Effect.UNKNOWN in effects_of(f"x = a = 1\n{head}{inner}{tail}")


@given(text=st.sampled_from(READ_TEXTS), at=st.integers(0, 400), more=st.text(max_size=3))
def test_what_python_refuses_is_unknown(text: str, at: int, more: str) -> None:
    changed = text[:at] + more + text[at:]
    try:
        compile(changed, "changed", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        assert effects_of(changed) == {Effect.UNKNOWN}


@pytest.mark.parametrize(
    "text",
    [
        "(" * 1_000 + ")" * 1_000,
        "-" * 50_000 + "1",
        "a" + ".b" * 20_000,
        "f" + "()" * 20_000,
        "lambda: " * 7_000 + "1",
        "1 if 1 else " * 4_000 + "1",
        "".join(" " * depth + "if 1:\n" for depth in range(300)),
        "from pathlib import Path\ns = 'a'\n" + "s = s.replace('a', 'b')\ns += s\n" * 1_000,
        "x = 1\n" * 10_000,
        "\0",
        "\ud800",
        "\r\n",
        "",
        "1" * 50_000,
        "f'{" * 200,
    ],
    ids=lambda text: repr(text[:10]),
)
def test_any_text_gets_an_answer(text: str) -> None:
    assert effects_of(text) <= {Effect.READS, Effect.UNKNOWN}


# --- the folder ------------------------------------------------------------------------------------------


def test_the_mark_of_the_folder() -> None:
    for reader, marks in ((read, (CONFIGURED,)), (read_isolated, ())):
        found: list[Finding] = []
        reader("import json", found)
        assert [finding.marks for finding in found] == [marks]


@pytest.mark.parametrize("option", ["-c", "-I -c", "-Ic", "-P -c"])
def test_a_module_of_the_folder_is_found_or_not(option: str, tmp_path: Path) -> None:
    """What the mark says is so: an isolated interpreter does not look for `colorsys` in the folder."""
    (tmp_path / "colorsys.py").write_text("print('mine')", encoding="ascii")
    command = [sys.executable, *option.split(" "), "import colorsys"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    verdict = classify(f"python3 {option} 'import colorsys'", assumptions=Assumptions(trust="words"))
    assert (run.returncode, run.stdout) == (0, "" if verdict.read_only else "mine\n")
    assert classify(f"python3 {option} 'import colorsys'").read_only


@pytest.mark.parametrize(
    "text, read_only",
    [
        ("python3 - <<'E'\nprint(1)\nE", True),
        ("python3 <<E\nprint(1)\nE", True),
        ("python3 -u - a b <<-E\n\tprint(1)\n\tE", True),
        ("cd x && env LC_ALL=C timeout 5 python3 - 2>&1 <<'E' | head\nprint(1)\nE", True),
        ("python3 -c 'print(1)' <<E\nimport os; os.remove('a')\nE", True),  # it reads none of it
        ("python3 <<'E'\nimport os; os.remove('a')\nE", False),
        ("python3 <<E\nprint($x)\nE", False),
        ("python3 <<E\nprint('`ls`')\nE", False),
        ("python3 <<< 'print(1)' < script.py", False),
        ("python3 < script.py <<< 'print(1)'", False),
        ("python3 <<< 'print(1)' <<< 'open(\"a\", \"w\")'", False),
        ("python3 3<<< 'print(1)'", False),
        ("python3 <<< 'print(1)' 0<&3", False),
        ("{ python3; } <<< 'print(1)'", False),  # what else reads of it is not followed
        ("python3 x.py <<< 'print(1)'", False),
        ("xargs python3 <<< 'print(1)'", False),
        ("echo $(python3) <<< 'print(1)'", False),
        ("python3 -c \"$x\" <<< 'print(1)'", False),
        ("python3 -c 'print(1)'\"$x\"", False),
        ('for n in 1 2; do python3 -c "print($n)"; done', True),
        ('for n in 1 os.remove; do python3 -c "import os; print($n)"; done', False),
        ('n=$((1 + $x)); python3 -c "print($n)"', False),
    ],
)
def test_the_text_on_standard_input(text: str, read_only: bool) -> None:
    assert classify(text).read_only is read_only
