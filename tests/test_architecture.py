# SPDX-License-Identifier: Apache-2.0
"""The package keeps its shape: one direction, pure where it says so, and light on the path of a hook.

Every check runs twice: on the package, where it must find nothing, and on a copy with one planted mistake,
where it must find exactly that.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.architecture import HEAVY, ORDER, PURE, blank_faults, layer_faults, purity_faults

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "shellguard"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package somewhere else, to plant mistakes in."""
    return shutil.copytree(PACKAGE, tmp_path / "shellguard", ignore=shutil.ignore_patterns("__pycache__"))


def plant(package: Path, module: str, source: str) -> None:
    """Adds `source` as a new file, so that it does not depend on what stands in the real ones."""
    path = package / f"{module.replace('.', '/')}.py"
    assert not path.exists(), f"{module} exists: choose another name to plant"
    path.parent.mkdir(exist_ok=True)
    path.write_text(source, encoding="utf-8")


def planted(check: Callable[[Path], list[str]], package: Path, module: str, source: str) -> list[str]:
    """What `check` finds in the package only after `source` was planted."""
    before = check(package)
    plant(package, module, source)
    return [fault for fault in check(package) if fault not in before]


def test_the_order_is_one_way() -> None:
    """Each row of the table names only rows above it, so no chain of imports comes back to where it began."""
    above: set[str] = set()
    for layer, names in ORDER.items():
        assert set(names) <= above, f"{layer} may import something below it"
        above.add(layer)
    assert {name.partition(".")[0] for name in PURE} <= above


def test_imports_follow_the_order() -> None:
    assert layer_faults(PACKAGE) == []


@pytest.mark.parametrize(
    "module, source, fault",
    [
        ("syntax.planted", "import shellguard.engine\n", "planted:1: syntax may not import engine"),
        ("syntax.planted", "from shellguard import engine\n", "planted:1: syntax may not import engine"),
        ("syntax.planted", "from shellguard import classify\n", "planted:1: syntax may not import __init__"),
        ("syntax.planted", "from ..rules import model\n", "planted:1: syntax may not import rules"),
        (
            "rules.planted",
            "def late():\n    from shellguard.syntax.parse import parse\n",
            "planted:2: rules may not import syntax",
        ),
        (
            "guard.planted",
            "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from shellguard.agents.model import Call\n",
            "planted:3: guard may not import agents",
        ),
        (
            "approval.planted",
            'import importlib\nimportlib.import_module("shellguard.workers.cards")\n',
            "planted:2: approval may not import workers",
        ),
        ("cli.planted", "import bashlex.ast\n", "planted:1: imports bashlex"),
        (
            "guard.planted",
            "from shellguard.board.board import Board\n",
            "planted:1: guard may not import board",
        ),
        ("replay.planted", "from shellguard import workers\n", "planted:1: replay may not import workers"),
        (
            "cli.planted",
            "def late():\n    import sqlalchemy.exc\n",
            "planted:2: imports sqlalchemy, which is of board",
        ),
        ("board.planted", "from dbos import DBOS\n", "planted:1: imports dbos, which is of workers"),
        ("cli.planted", "from tests.architecture import ORDER\n", "planted:1: imports tests"),
        ("cli.planted", "def late():\n    import tools.bench\n", "planted:2: imports tools"),
        ("planted", "", "planted: no such layer"),
    ],
)
def test_a_planted_import_is_found(copy: Path, module: str, source: str, fault: str) -> None:
    [found] = planted(layer_faults, copy, module, source)
    assert fault in found


def test_pure_code_is_pure() -> None:
    assert purity_faults(PACKAGE) == []


@pytest.mark.parametrize(
    "module, source, fault",
    [
        ("syntax.planted", "import os\n", "planted:1: imports os"),
        ("values.planted", "def late():\n    from time import monotonic\n", "planted:2: imports time"),
        ("analysis.planted", "from pathlib import Path\n", "planted:1: imports pathlib"),
        ("analysis.planted", "def late(name):\n    return open(name)\n", "planted:2: uses open"),
        ("analysis.planted", "def late(path):\n    return path.read_text()\n", "planted:2: uses .read_text"),
        (
            "analysis.planted",
            "from shellguard.rules.load import load\n",
            "rules.load.load, which is not pure",
        ),
    ],
)
def test_a_planted_impurity_is_found(copy: Path, module: str, source: str, fault: str) -> None:
    [found] = planted(purity_faults, copy, module, source)
    assert fault in found


def test_what_only_the_checker_reads_is_not_impure(copy: Path) -> None:
    source = "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from os import PathLike\n"
    assert planted(purity_faults, copy, "syntax.planted", source) == []


def test_shell_text_is_never_asked_about_unicode() -> None:
    assert blank_faults(PACKAGE) == []


@pytest.mark.parametrize(
    "expression, fault",
    [
        ("text.split()", ".split()"),
        ("text.split(maxsplit=1)", ".split()"),
        ("text.rstrip(None)", ".rstrip()"),
        ("text.strip()", ".strip()"),
        ("text.isspace()", ".isspace"),
        ("all(map(str.isalnum, text))", ".isalnum"),
        ("text.isidentifier()", ".isidentifier"),
        ("text.splitlines()", ".splitlines"),
        ("other.isascii() and text.isdigit()", ".isdigit"),
        ("text.isascii() or text.isdigit()", ".isdigit"),
    ],
)
def test_a_planted_question_about_unicode_is_found(copy: Path, expression: str, fault: str) -> None:
    source = f"def words(text, other):\n    return {expression}\n"
    [found] = planted(blank_faults, copy, "syntax.planted", source)
    assert f"planted:2: {fault}" in found


@pytest.mark.parametrize(
    "source",
    [
        'words = "a b".split(" "), "a".strip(" \\t"), "a:b".split(sep=":", maxsplit=1)\n',
        "def digits(text):\n    return text.isascii() and text.isdigit()\n",
    ],
)
def test_what_cannot_meet_unicode_is_fine(copy: Path, source: str) -> None:
    assert planted(blank_faults, copy, "syntax.planted", source) == []


HOOK_PATH = """
import sys
sys.path.insert(0, sys.argv[1])
import shellguard.engine
from shellguard import classify
from shellguard.analysis.embedded import LANGUAGES
from shellguard.rules.model import CommandRule, Operand, Option, Spec
from shellguard.rules.shelf import Shelf

reads, writes = frozenset({"reads"}), frozenset({"writes"})
output = Option(("-o",), line=1, takes="one", effects=writes, target="value")
files = Operand("file", line=1, many=True, effects=reads)
specs = {"show": Spec("show", line=1, effects=reads, options={"-o": output}, operands=(files,))}
for language in LANGUAGES:
    script = Operand("script", line=1, role="script", language=language)
    specs[language] = Spec(language, line=1, effects=reads, operands=(script, files))
shelf = Shelf({name: CommandRule(name, path="rule.yaml", spec=spec) for name, spec in specs.items()})
print(*(classify(text, shelf=shelf).kind for text in sys.argv[2].split("\x1e")))
print(*(name for name in sys.argv[3:] if name in sys.modules))
"""
"""Judges texts with a shelf that is a plain dict, then prints the verdicts and what was loaded on the way."""

MANY_CONSTRUCTS = r"""
x=1 cmd "$x" ${x:-$(ls)} `ls` $((1 + x)) <(ls) a{b,c} *.txt ~ $'\t' >out 2>&1 <<END; a=(1 2)
$x $(ls)
END
f() { for i in 1 2; do case $i in 1) echo;; *) break;; esac; done | while read -r y; do :; done; }; f & ! f
[[ -n $x && $x == a* ]] || ((x++))
"""
JUDGED = {
    MANY_CONSTRUCTS: "write",  # >out
    "show a b | show; show -- x 2>&1 >/dev/null": "read",
    "show -oout": "write",
    "show $(show a)": "write",  # the word may be -oout
    "other a": "unknown",
    "arithmetic 1+1 && awk '{print $1}' && graphql 'query={a}' && jq .a && printf %s && sed -- s/a/b/g": "read",
    "shell 'show a' && sql 'select a from b'": "read",
    "if": "unknown",
}


def loaded_on_the_hook_path(root: Path) -> set[str]:
    """What judging loads in an interpreter that is started as a hook's is: alone, without `site` and its folders."""
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", HOOK_PATH, str(root), "\x1e".join(JUDGED), *HEAVY],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    verdicts, loaded, _ = run.stdout.split("\n")
    assert verdicts.split(" ") == list(JUDGED.values())
    return set(loaded.split())


def test_the_hook_path_is_light() -> None:
    assert loaded_on_the_hook_path(ROOT) == set()


@pytest.mark.parametrize(
    "module, heavy", [("verdict", "json"), ("syntax/parse", "re"), ("engine", "dataclasses")]
)
def test_a_planted_heavy_import_is_found(copy: Path, module: str, heavy: str) -> None:
    path = copy / f"{module}.py"
    first = "from __future__ import annotations\n"
    text = path.read_text(encoding="utf-8")
    assert first in text
    path.write_text(text.replace(first, f"{first}import {heavy}\n", 1), encoding="utf-8")
    assert heavy in loaded_on_the_hook_path(copy.parent)


LICENCE = "# SPDX-License-Identifier: Apache-2.0"


def unlicensed(root: Path) -> list[str]:
    """Source files whose first line is not their licence. A line that names an interpreter may precede it."""
    faults = []
    for folder in ("shellguard", "tools", "tests", ".ci"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".py", ".sh"} and path.name != "run":
                continue
            lines = path.read_text(encoding="utf-8").split("\n")
            if lines[0].startswith("#!"):
                del lines[0]
            if lines[:1] != [LICENCE]:
                faults.append(path.relative_to(root).as_posix())
    return faults


def test_every_source_file_says_its_licence() -> None:
    assert unlicensed(ROOT) == []


def test_a_file_without_its_licence_is_found(copy: Path) -> None:
    before = unlicensed(copy.parent)
    plant(copy, "planted", '"""A module."""\n')
    (copy / "planted.sh").write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    found = [path for path in unlicensed(copy.parent) if path not in before]
    assert found == ["shellguard/planted.py", "shellguard/planted.sh"]
