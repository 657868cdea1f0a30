# SPDX-License-Identifier: Apache-2.0
"""Other shells than bash: what `--shell any` calls a read, dash and zsh accept, and it changes nothing in them either.

`reads.txt` holds the texts. They run in a folder of their own and only when they are reads for any shell; nothing
hostile is in the list. Texts that another shell reads as something worse are in `tables/shells.any.txt`, and each of
their kinds is tried here with the real shell and a harmless write.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from shellguard.analysis.inquiry import Assumptions
from shellguard.engine import classify
from shellguard.verdict import READ

TEXTS = [
    line.replace("⏎", "\n")
    for line in Path(__file__).with_name("reads.txt").read_text(encoding="utf-8").split("\n")
    if (line and not line.startswith("# ")) or line.startswith("# a comment with")
]
ANY = Assumptions("any")
SHELLS = {"bash": ["bash", "--norc", "-c"], "dash": ["dash", "-c"], "zsh": ["zsh", "-fc"]}
CHECKS = {"dash": ["dash", "-n", "-c"], "zsh": ["zsh", "-fnc"]}

needs = {
    name: pytest.mark.skipif(shutil.which(name) is None, reason=f"no {name} here: tools/install-debian.sh")
    for name in SHELLS
}


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
    }
    return subprocess.run(
        command,
        check=False,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("reads")
    for name, text in {
        "a.txt": "one\ntwo\ntwo\n",
        "b.csv": "a,1\nb,2\n",
        "d.json": '{"name": "x", "list": [2, 1]}\n',
        "list": "a.txt\nb.csv\n",
        "src/m.py": "import os\n",
        "src/n.py": "x = 1\n",
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    if shutil.which("git"):
        user = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
        for words in (["init", "-q", "-b", "main"], ["add", "."], [*user, "commit", "-q", "-m", "first"]):
            run(["git", *words], root)
    return root


def state(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def test_the_list_is_long_and_of_reads() -> None:
    assert len(TEXTS) >= 200
    assert [text for text in TEXTS if classify(text).kind != READ] == []
    assert sum(classify(text, assumptions=ANY).read_only for text in TEXTS) > 0.95 * len(TEXTS)


@pytest.mark.parametrize("shell", [pytest.param(name, marks=needs[name]) for name in CHECKS])
def test_a_read_for_any_shell_is_accepted_by_it(shell: str, folder: Path) -> None:
    refused = [
        text
        for text in TEXTS
        if classify(text, assumptions=ANY).read_only and run([*CHECKS[shell], text], folder).stderr
    ]
    assert refused == []


LESS = {
    "dash": {
        *(
            "[[ -f a.txt ]] && echo yes",
            "[[ a == a* ]] && echo yes",
            "[[ ab =~ ^a ]] && echo yes",
        ),  # no [[ ]]
        *("x=abc; echo ${x^^}", "x=abc; echo ${x:1}"),
        "set -euo pipefail; ls src | head -1",
        "cat {a,b}.txt",
        "time ls src > /dev/null",
        "cat a.txt &>/dev/null",
        "hash -r; ls src",
    },
    "zsh": {
        'grep -r "import os" src --include=*.py',  # an option with a star is a pattern without a match
        "umask | wc -c",
        "alias | wc -l",
    },
}
"""Texts of which another shell does less, or prints something else: it lacks a construct."""


@pytest.mark.parametrize("shell", [pytest.param(name, marks=[needs[name], needs["bash"]]) for name in CHECKS])
def test_a_read_for_any_shell_means_the_same_in_it(shell: str, folder: Path) -> None:
    before = state(folder)
    different = []
    for text in TEXTS:
        if not classify(text, assumptions=ANY).read_only:
            continue
        theirs = run([*SHELLS[shell], text], folder)
        ours = run([*SHELLS["bash"], text], folder)
        assert state(folder) == before, text
        same = (theirs.returncode == 0, theirs.stdout) == (ours.returncode == 0, ours.stdout)
        if not same and text not in LESS[shell]:
            different.append((text, theirs.stdout, theirs.stderr, ours.stdout))
    assert different == []


WORSE = [
    ("dash", "uniq a.txt {-c,-d}"),
    ("dash", "uniq a.txt $'-c'"),
    ("dash", "[[ a > out ]]"),
    ("dash", "[[ a || touch out ]]"),
    ("dash", "[[ x =~ a|touch ]]"),
    ("dash", "x=1; ((x > 5))"),
    ("dash", "echo a &>/dev/null touch out"),
    ("dash", "x=touch; x=ls &>/dev/null; $x out"),
    ("dash", "function f {\ntouch out\n}"),
    ("dash", "uniq a.txt {fd}>/dev/null"),
    ("dash", "x=--; x+=version; git tag $x new"),
    ("dash", "x=-oout; declare x=a.txt; sort $x a.txt"),
    ("dash", "x=-oout; let x=1; sort $x a.txt"),
    ("dash", "x=a; x=-oout :; sort $x a.txt"),
    ("dash", 'sort "$UID"-oout a.txt'),
    ("dash", "IFS=$'\\n'; x=a.txtn-oout; sort $x"),
    ("zsh", "a=(a.txt -oout); sort $a"),
    ("zsh", "a=(-oout a.txt); sort ${a[1]}"),
    ("zsh", "x=/-oout; sort $x:t a.txt"),
    ("zsh", 'x=a; sort "$x:s/a/-oout/" a.txt'),
    ("zsh", "x='path[$(touch out)]'; exit $x"),
    ("zsh", "x='path[$(touch out)]'; printf %d $x"),
    ("zsh", "x='path[$(touch out)]'; [ -t $x ]"),
    ("zsh", "x='path[$(touch out)]'; read -t $x y"),
    ("zsh", "x='path[$(touch out)]'; echo $y[$x]"),
    ("zsh", "x='path[$(touch out)]'; echo \"$y[x]\""),
    ("zsh", "SECONDS='path[$(touch out)]'"),
    ("zsh", "typeset -F x='path[$(touch out)]'"),
    ("zsh", "chpwd() { touch out; }; cd src; cd .."),
    ("zsh", "f() { touch out; }; chpwd_functions=(f); cd src; cd .."),
    ("zsh", "zshexit() { touch out; }"),
    ("zsh", "x=a.txt; TRAPEXIT() { sort $x a.txt; }; x=-oout"),
    ("zsh", "functions[ls]='touch out'; ls"),
    ("zsh", "aliases[ls]='touch out'; eval ls"),
    ("zsh", "commands[ls]=/usr/bin/touch; ls out"),
    ("zsh", "MATCH=a.txt; [[ -oout =~ .* ]]; sort $MATCH a.txt"),
    ("zsh", "argv=(-oout); sort $1 a.txt"),
    ("zsh", "ls > /dev/null > out"),
    ("zsh", "ls >! out"),
    ("zsh", "ls >& out"),
    ("zsh", "ls <> out"),
    ("zsh", "ls {fd}> out"),
    ("zsh", "ls *(e:'touch out':)"),
    ("zsh", "=touch out"),
    ("zsh", "noglob touch out"),
    ("zsh", "ls &| touch out"),
    ("zsh", "ls &! touch out"),
    ("zsh", "cat =(touch out)"),
    ("zsh", "repeat 1 touch out"),
    ("zsh", "for i (a b) touch out"),
    ("zsh", "echo ${(e):-'$(touch out)'}"),
    ("zsh", "alias -g G='; touch out'\neval ls G"),
]
"""Each writes in its shell: bash would not, or reads it as something else."""

FISH = (
    *(
        "ls; and touch out",
        "ls; or touch out",
        "begin; touch out; end",
        "if true; touch out; end",
        "not touch out",
    ),
    *(
        "echo (touch out)",
        "set x (touch out)",
        "ls >? out",
        "ls ^ out; touch b",
        "sort \\x2doout",
        "echo 'a\\'; rm b;'",
    ),
    *("for i in a; touch out; end", "while true; touch out; break; end", "switch a; case a; touch out; end"),
    *(
        "function ls; touch out; end",
        "eval (echo touch out)",
        "ls | psub",
        "set -x PATH ./bin",
        "source (x | psub)",
    ),
)
"""Texts that write in fish."""


@pytest.mark.parametrize("text", [text for _, text in WORSE] + list(FISH))
def test_a_text_that_another_shell_reads_as_a_write_is_no_read(text: str) -> None:
    assert not classify(text, assumptions=ANY).read_only


@pytest.mark.parametrize("shell, text", [pytest.param(*row, marks=needs[row[0]]) for row in WORSE])
def test_and_the_other_shell_does_write(shell: str, text: str, tmp_path: Path) -> None:
    """The tables are not hearsay: each of these texts leaves a file or a tag behind."""
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "src").mkdir()
    if "git" in text:
        run(["git", "init", "-q", "-b", "main"], tmp_path)
        run(
            [
                "git",
                "-c",
                "user.name=A",
                "-c",
                "user.email=a@b.c",
                "commit",
                "-q",
                "--allow-empty",
                "-m",
                "x",
            ],
            tmp_path,
        )
    before = state(tmp_path)
    run([*SHELLS[shell], text], tmp_path)
    assert state(tmp_path) != before
