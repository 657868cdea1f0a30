# SPDX-License-Identifier: Apache-2.0
"""Scripts of perl, ruby, node and php made of their own pieces: the real interpreter judges what is harmless."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
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


@pytest.mark.parametrize("language", PIECES)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_removes_a_file_is_not_understood(language: str, data: st.DataObject, tmp_path: Path) -> None:
    first, second, own = PIECES[language]
    if shutil.which(first[0]) is None:
        pytest.skip(f"{first[0]} is not installed")
    script = "".join(data.draw(st.lists(st.sampled_from((*SHARED, *own)), max_size=9)))
    if "Z" not in script or not understood(language, script):
        return
    marker = tmp_path / "Z"
    for command in (first, second):
        marker.touch()
        subprocess.run(
            [*command, script], cwd=tmp_path, input=b"a b\n", capture_output=True, timeout=10, check=False
        )
        assert marker.exists(), script
