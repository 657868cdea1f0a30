# SPDX-License-Identifier: Apache-2.0
"""Changes of shell texts that tend to confuse parsers, and the search for the smallest text that still does."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

TOKENS = (
    *(
        "rm x",
        "ls",
        "a=1",
        "a[0]=b",
        "a=(b c)",
        "x",
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "while",
    ),
    *(
        "until",
        "case",
        "esac",
        "select",
        "function",
        "f()",
        "time",
        "!",
        "{",
        "}",
        "[[",
        "]]",
        "((",
        "))",
        "coproc",
        "-p",
    ),
    *(
        ";",
        ";;",
        ";&",
        ";;&",
        "&",
        "&&",
        "|",
        "||",
        "|&",
        "\n",
        "(",
        ")",
        "<",
        ">",
        ">>",
        ">|",
        "<>",
        "&>",
        "&>>",
        ">&",
        "<&",
    ),
    *(
        "2>",
        "2>&1",
        ">&-",
        "{fd}>",
        "<<E",
        "<<-E",
        "<<'E'",
        "\nE\n",
        "<<<",
        "<(",
        ">(",
        "$(",
        "`",
        "$((",
        "${",
        "${x:-",
        "}",
    ),
    *(
        '"',
        "'",
        "$'",
        '$"',
        "\\",
        "\\\n",
        "\r",
        "\u00a0",
        "\t",
        " ",
        "#",
        "# it's\n",
        "$x",
        "${x}",
        "*",
        "?",
        "[a-z]",
        "~",
        "{a,b}",
    ),
    *(
        "{1..3}",
        "@(a|b)",
        "!(a)",
        "$[1]",
        "==",
        "=~",
        "-f",
        "-eq",
        "=",
        "+=",
        ",",
        "..",
        "\\'",
        '\\"',
        "\\`",
        "\\$",
        "export a=(",
    ),
)
"""What is put into a text: pieces on which the meaning of a command turns."""

_TOKEN = re.compile(
    r"[ \t]+|\n|[A-Za-z0-9_./-]+|&>>|<<<|<<-|&&|\|\||;;&|;;|;&|>>|<<|[<>]&|[<>]\(|\$\(\(|\$\(|\$\{|.",
    re.DOTALL,
)


def pieces(text: str) -> list[str]:
    """A text cut roughly where a shell would cut it; joined they give the text back."""
    return _TOKEN.findall(text)


def mutated(text: str, chance: random.Random, others: list[str]) -> str:
    """The text with one to four changes. `others` are texts of which parts may be put into it."""
    parts = pieces(text)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        place = chance.randrange(len(parts) + 1)
        end = min(len(parts), place + chance.choice((1, 1, 1, 2, 4)))
        match chance.randrange(9):
            case 0:
                del parts[place:end]
            case 1:
                parts[place:place] = parts[place:end]
            case 2 | 3 | 4:
                parts.insert(place, chance.choice(TOKENS))
            case 5:
                parts[place:end] = [chance.choice(TOKENS)]
            case 6:
                opening, closing = chance.choice(_AROUND)
                parts.insert(end, closing)
                parts.insert(place, opening)
            case 7:
                joined = "".join(parts)
                spot = chance.randrange(len(joined) + 1)
                parts = pieces(joined[:spot] + joined[spot + 1 :])
            case _:
                other = pieces(chance.choice(others))
                spot = chance.randrange(len(other) + 1)
                parts[place:end] = other[spot : spot + chance.choice((1, 2, 4, 8))]
    return "".join(parts)


_AROUND = (
    *(
        ("$(", ")"),
        ("`", "`"),
        ('"', '"'),
        ("'", "'"),
        ("(", ")"),
        ("{ ", "; }"),
        ("${x:-", "}"),
        ("$((", "))"),
        ("<(", ")"),
    ),
    *(
        ("[[ ", " ]]"),
        ("cat <<E\n", "\nE\n"),
        ("if ", "; then a; fi"),
        ("case a in ", ") b;; esac"),
        ("a=(", ")"),
        ("((", "))"),
    ),
)


def smallest(text: str, fails: Callable[[str], bool], most: int = 600) -> str:
    """A shorter text for which `fails` still holds, found by leaving out ever smaller parts; at most `most`
    trials."""
    size = max(1, len(text) // 2)
    trials = 0
    while size:
        place = 0
        shrunk = False
        while place < len(text) and trials < most:
            shorter = text[:place] + text[place + size :]
            trials += 1
            if fails(shorter):
                text = shorter
                shrunk = True
            else:
                place += size
        if trials >= most:
            break
        if not shrunk:
            size //= 2
    return text
