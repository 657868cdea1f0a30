# SPDX-License-Identifier: Apache-2.0
"""What the nodes of words stand for, compared with what bash makes of the same text: braces, `$'...'`, and `((`.

Bash runs here, but only texts made of characters that can do no harm, with an empty PATH, in an empty folder.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest

from shellguard.errors import ShellSyntaxError
from shellguard.syntax.nodes import (
    AnsiC,
    Brace,
    BraceRange,
    Double,
    Escaped,
    Glob,
    Node,
    Simple,
    Single,
    Text,
    Word,
)
from shellguard.syntax.parse import parse
from shellguard.syntax.printer import to_text
from shellguard.syntax.walk import walk
from tests.syntax.test_bash import needs_bash
from tools.bash_oracle import bash_path, judge


def run(script: str, folder: Path, given: bytes = b"", environment: Mapping[str, str] | None = None) -> bytes:
    """What bash prints when it runs `script`."""
    answer = subprocess.run(
        [bash_path(), "--norc", "--noprofile", "-c", "--", script],
        env={"LC_ALL": "C.UTF-8", "PATH": "", **(environment or {})},
        input=given,
        capture_output=True,
        timeout=60,
        cwd=folder,
        check=False,
    )
    return answer.stdout


def argument(text: str) -> Word | None:
    """The only argument in `x text`; None if there is not exactly one, or the text is refused."""
    try:
        statements = parse(f"x {text}").statements
    except ShellSyntaxError:
        return None
    if len(statements) != 1 or statements[0].redirections or not isinstance(statements[0].command, Simple):
        return None
    words = statements[0].command.words
    return words[1] if len(words) == 2 else None


# --- braces ---------------------------------------------------------------------------------------------------


def expanded(parts: tuple[Node, ...]) -> list[str]:
    """The words that the braces of a word make, quotes removed, as the nodes say."""
    choices: list[list[str]] = []
    for part in parts:
        match part:
            case Brace(items):
                choices.append([text for item in items for text in expanded(item.parts)])
            case BraceRange(first, last, step):
                choices.append(counted(first, last, step))
            case Text(text) | Single(text) | AnsiC(text) | Glob(text):
                choices.append([text])
            case Escaped(char):
                choices.append([char])
            case Double(inner):
                choices.append(["".join(expanded(inner))])
            case _:
                raise AssertionError(f"{part} cannot come from these characters")
    return ["".join(combination) for combination in product(*choices)]


def counted(first: str, last: str, step: str) -> list[str]:
    """`{first..last..step}`."""
    width = abs(int(step)) if step and int(step) else 1
    if first.lstrip("+-").isdecimal():
        start, end = int(first), int(last)
        padded = any(len(text.lstrip("-")) > 1 and text.lstrip("-").startswith("0") for text in (first, last))
        digits = max(len(first), len(last)) if padded else 0
        numbers = range(start, end + 1, width) if start <= end else range(start, end - 1, -width)
        return [f"{number:0{digits}d}" if digits else str(number) for number in numbers]
    start, end = ord(first), ord(last)
    codes = range(start, end + 1, width) if start <= end else range(start, end - 1, -width)
    return [chr(code) for code in codes]


def brace_words(count: int, seed: int) -> list[str]:
    """Words that are likely to hold braces and everything that keeps them from being some."""
    chance = random.Random(seed)
    letters = '{{{}}},,..a1\\"'
    return ["".join(chance.choices(letters, k=chance.randint(1, 13))) for _ in range(count)]


@needs_bash
def test_braces_are_those_that_bash_expands(tmp_path: Path) -> None:
    """Bash gets one word a line and expands it by `eval`: the characters are braces, commas, dots, `a1\\"`."""
    words = {text: word for text in brace_words(6_000, 5) if (word := argument(text)) is not None}
    assert len(words) > 2_000
    assert (
        sum(any(isinstance(node, (Brace, BraceRange)) for node in walk(word)) for word in words.values())
        > 200
    )
    script = "while IFS= read -r line; do eval \"printf '[%s]' $line\"; echo; done"
    printed = run(script, tmp_path, "".join(f"{text}\n" for text in words).encode()).decode().split("\n")
    for (text, word), theirs in zip(words.items(), printed, strict=False):
        # An empty item makes no word unless quotes stand in it, which the nodes alone do not say.
        ours = "".join(f"[{one}]" for one in expanded(word.parts))
        assert ours.replace("[]", "") == theirs.replace("[]", ""), text


@pytest.mark.parametrize(
    "text, words",
    [
        ("{a,b}c", ["ac", "bc"]),
        ("{1..3}", ["1", "2", "3"]),
        ("{3..1}", ["3", "2", "1"]),
        ("{01..3}", ["01", "02", "03"]),
        ("{a..e..2}", ["a", "c", "e"]),
        ("x{,y{1,2}}", ["x", "xy1", "xy2"]),
        ('"{a,b}"', ["{a,b}"]),
    ],
)
def test_the_expansion_of_this_test(text: str, words: list[str]) -> None:
    word = argument(text)
    assert word is not None
    assert expanded(word.parts) == words


# --- $'...' ---------------------------------------------------------------------------------------------------

PIECES = (
    *(
        "\\a",
        "\\b",
        "\\e",
        "\\E",
        "\\f",
        "\\n",
        "\\r",
        "\\t",
        "\\v",
        "\\\\",
        "\\'",
        '\\"',
        "\\?",
        "\\z",
        "\\ ",
        "a",
        "1",
        "f",
        "é",
    ),
    *(
        "\\x",
        "\\x4",
        "\\x41",
        "\\xc3\\xa9",
        "\\xff",
        "\\x{41}",
        "\\1",
        "\\12",
        "\\101",
        "\\1011",
        "\\400",
        "\\8",
        "\\0",
        "\\x0",
    ),
    *(
        "\\u",
        "\\u4",
        "\\u41",
        "\\u00e9",
        "\\u20ac",
        "\\u20acc",
        "\\U",
        "\\U1f600",
        "\\U0001f600a",
        "\\cA",
        "\\c?",
        "\\c",
        '"',
        "$x",
    ),
)


@needs_bash
def test_escapes_stand_for_what_bash_makes_of_them(tmp_path: Path) -> None:
    chance = random.Random(8)
    texts = ["$'" + "".join(chance.choices(PIECES, k=chance.randint(1, 5))) + "'" for _ in range(4_000)]
    known = {text: word for text in texts if (word := argument(text)) is not None}
    assert len(known) > 1_500, "most escapes are modelled"
    script = "".join(f"printf '%s\\0' {text}\n" for text in known)
    path = tmp_path / "script"
    path.write_text(script, encoding="utf-8")
    printed = run(". ./script", tmp_path).split(b"\0")
    for (text, word), theirs in zip(known.items(), printed, strict=False):
        (part,) = word.parts
        assert isinstance(part, AnsiC)
        assert part.text.encode("utf-8", "surrogateescape") == theirs, text


@pytest.mark.parametrize("piece", PIECES)
def test_each_escape_prints_and_reads_back(piece: str) -> None:
    word = argument(f"$'{piece}'")
    if word is not None:
        assert argument(to_text(word)) == word


# --- ((  ------------------------------------------------------------------------------------------------------

AMBIGUOUS = [
    "((M); M)",
    "((M) )",
    "( (M))",
    "((M))",
    "(( M ))",
    "((M) | (M))",
    "((M) && (M))",
    "((M) && (M) )",
    "(((M)))",
    "(((M) ) )",
    "( ((M)) )",
    "((M)); M",
    "((1)) && M",
    "((0)) || M",
    "(( $(M) ))",
    "(( `M` ))",
    '((M ")") ; M)',
    "((M ')') ; M)",
    "((M \\)) ; M)",
    "((M # )\n) ; M)",
    "((case a in a) M;; esac) ; M)",
    ": $((M))",
    ": $((M) )",
    ": $( (M))",
    ": $((M); (M))",
    ": $((M); M)",
    ": $((1)); M",
    ": $((M)) $(M)",
    ": $(( $(M) + 1 ))",
    ": $((a[$(M)]))",
    ": $((1 + (M)))",
    ": $(((M)))",
    ': "$((M); M)"',
    ': "$((1))" ; M',
    ": `((M))`",
    ": `((M); M)`",
    ": ${x:-$((M); M)}",
    ": ${x:-$((M))}",
    "for ((M; M < 1; M++)); do break; done; M",
    "for ((;;)); do M; break; done",
    "((M)\n(M))",
    "((M)\n)",
    "(( 1 +\n1 )) && M",
]
"""Texts in which the command `M` leaves a note when it runs; as a variable it does nothing."""


def notes(text: str, folder: Path) -> bool:
    """Does `M` run?"""
    note = folder / "note"
    note.unlink(missing_ok=True)
    run(text, folder, environment={"NOTE": str(note), "BASH_FUNC_M%%": '() { : > "$NOTE"; }'})
    return note.exists()


def runs_m(text: str) -> bool | None:
    """Is there a command `M` in the tree? None for a refusal."""
    try:
        script = parse(text)
    except ShellSyntaxError:
        return None
    commands = (node for node in walk(script) if isinstance(node, Simple) and node.words)
    return any("M" in "".join(expanded_plainly(command.words[0])) for command in commands)


def expanded_plainly(word: Word) -> list[str]:
    """The literal texts of a word; an empty substitution beside them adds nothing."""
    return [node.text for node in walk(word) if isinstance(node, (Text, Single))]


@needs_bash
@pytest.mark.parametrize("text", AMBIGUOUS)
def test_double_parentheses_are_what_bash_makes_of_them(text: str, tmp_path: Path) -> None:
    ours = runs_m(text)
    assert ours is not None, "modelled"
    if judge(text).accepts:
        assert ours == notes(text, tmp_path)
    else:
        assert not notes(
            text, tmp_path
        )  # bash trips over a newline behind `((M)`; we may read what it refuses


@needs_bash
def test_no_command_hides_behind_double_parentheses(tmp_path: Path) -> None:
    """Random texts of parentheses, `M`, `;` and a few others: what bash runs is in our tree, or we refuse."""
    chance = random.Random(4)
    pieces = (
        "((",
        "))",
        "(",
        ")",
        "(M)",
        "M",
        "; ",
        " ",
        "\n",
        "1",
        "+",
        "$((",
        "$(",
        ": ",
        '")"',
        "`",
        "&& ",
    )
    ran = 0
    for _ in range(3_000):
        text = "".join(chance.choices(pieces, k=chance.randint(3, 9)))
        if runs_m(text) is False and "M" in text:
            assert not notes(text, tmp_path), text
        elif runs_m(text):
            ran += notes(text, tmp_path)
    assert ran > 5, "the texts are not all nonsense"
