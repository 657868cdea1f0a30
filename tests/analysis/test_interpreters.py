# SPDX-License-Identifier: Apache-2.0
"""Scripts of perl, ruby, node and php made of their own pieces: the real interpreter judges what is harmless."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shellguard.analysis.embedded import Finding, NotUnderstoodError, reader_of

if TYPE_CHECKING:
    from collections.abc import Sequence

SHARED = (
    *(
        "a",
        "x ",
        "1",
        "+",
        "-",
        "*",
        "/",
        "%",
        "=",
        "==",
        "=~ ",
        "<",
        ">",
        "?",
        ":",
        "::",
        ",",
        ";",
        ".",
        "!",
        "&",
        "|",
    ),
    *(
        "&&",
        "||",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        "`",
        "#",
        "\\",
        " ",
        "\n",
        "$",
        "@",
        "~",
        "->",
        "=>",
        "${",
        "#{",
    ),
)

PIECES: dict[str, tuple[Sequence[str], Sequence[str], tuple[str, ...]]] = {
    "perl": (
        ("perl", "-e"),
        ("perl", "-ne"),
        (
            *(
                "print ",
                "length ",
                "shift ",
                "$x",
                "$h{a}",
                "$x[0]",
                "@x",
                "%h",
                "$_",
                "-s ",
                "s",
                "y",
                "m",
                "q",
                "qq",
                "tr",
            ),
            *(
                "time ",
                "STDERR ",
                "sum ",
                "map ",
                "sort ",
                "keys ",
                "if ",
                "and ",
                "split ",
                "my ",
                "for ",
                "++",
                "@{",
                "$1",
            ),
            *(
                "unlink q(Z);",
                "unlink q(Z)",
                'unlink q(Z);#"',
                "unlink q(Z) #/",
                "{unlink q(Z)}",
                "[unlink q(Z)]",
            ),
        ),
    ),
    "ruby": (
        ("ruby", "-e"),
        ("ruby", "-ne"),
        (
            *(
                "puts ",
                "p ",
                "x",
                "x = 1;",
                "[1]",
                "$_",
                "$F",
                "ARGV",
                "if ",
                "and ",
                "do ",
                "|x|",
                "%w(",
                "(&:",
                "#{",
                ".map",
            ),
            *(
                "File.delete(%q(Z))",
                "File.delete %q(Z)",
                '#"',
                "#/",
                "{File.delete(%q(Z))}",
                "File.delete 'Z';",
                ".size",
            ),
        ),
    ),
    "javascript": (
        ("node", "-e"),
        ("node", "-p"),
        (
            *(
                "console.log(",
                "x",
                "let x=1;",
                "x=>",
                "[1]",
                "process.argv",
                "if(1)",
                "return ",
                "typeof ",
                ".map",
                "`",
                "<!--",
            ),
            *(
                "fs.unlinkSync('Z')",
                "fs.unlinkSync('Z');",
                "${fs.unlinkSync('Z')}",
                '//"',
                "/*",
                "*/",
                ".length",
                "fs",
                "['Z']",
            ),
        ),
    ),
    "php": (
        ("php", "-r"),
        ("php", "-r"),
        (
            *(
                "echo ",
                "$x",
                "$x=1;",
                "[1]",
                "PHP_EOL",
                "if(1)",
                "strlen(",
                "count(",
                "?>",
                "<?php ",
                "//",
                "/*",
                "*/",
                "<<<",
            ),
            *("unlink('Z')", "unlink('Z');", "{$x}", '#"', "'unlink'", "('Z')", "new ", "fn()=>", "@"),
        ),
    ),
}
"""Two ways to run a script of the language, and pieces of it; some of them remove the file Z."""


def understood(language: str, script: str) -> bool:
    """Whether the reader says that the script only reads."""
    reader = reader_of(language)
    assert reader is not None
    found: list[Finding] = []
    try:
        reader(script, found)
    except NotUnderstoodError:
        return False
    return all(finding.effect == "reads" for finding in found)


TABLES = {"perl": "perl", "ruby": "ruby", "javascript": "node", "php": "php"}


def read_scripts(language: str) -> list[str]:
    """The scripts of the commands that the table of the language calls a read: the longest word of each."""
    table = Path(__file__).parent / "small" / f"{TABLES[language]}.txt"
    rows = [line for line in table.read_text("utf-8").split("\n") if line.startswith("read - | ")]
    return [max(shlex.split(row.partition(" | ")[2])[1:], key=len) for row in rows]


@pytest.mark.parametrize("language", PIECES)
def test_what_removes_a_file_is_not_understood(language: str, tmp_path: Path) -> None:
    """Pieces in any order are seldom understood, so most scripts are a read of the table with pieces put in."""
    first, second, own = PIECES[language]
    if shutil.which(first[0]) is None:
        pytest.skip(f"{first[0]} is not installed")
    pieces = st.sampled_from((*SHARED, *own))
    removing = st.sampled_from([piece for piece in own if "Z" in piece])
    marker = tmp_path / "Z"
    tried = set()

    @settings(max_examples=500)
    @given(
        begun=st.one_of(st.just(""), st.sampled_from(read_scripts(language))),
        put_in=st.tuples(removing, st.lists(pieces, max_size=9)),
        data=st.data(),
    )
    def check(begun: str, put_in: tuple[str, list[str]], data: st.DataObject) -> None:
        script, most = begun, 2 if begun else 9
        for piece in (put_in[0], *put_in[1][:most]):
            place = data.draw(st.integers(0, len(script)))
            script = script[:place] + piece + script[place:]
        if "Z" not in script or not understood(language, script):
            return
        tried.add(script)
        for command in (first, second):
            marker.touch()
            subprocess.run(
                [*command, script], cwd=tmp_path, input=b"a b\n", capture_output=True, timeout=10, check=False
            )
            assert marker.exists(), script

    check()
    assert len(tried) > 10
