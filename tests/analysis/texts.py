# SPDX-License-Identifier: Apache-2.0
"""Texts for the laws: examples of the rule files, rows of shell tokens, commands with a few characters changed."""

from __future__ import annotations

from hypothesis import strategies as st

from shellguard.errors import ShellSyntaxError
from shellguard.rules.check import examples_of
from shellguard.rules.model import CommandRule
from shellguard.rules.shelf import Shelf
from shellguard.syntax.nodes import Simple
from shellguard.syntax.parse import parse


def _examples() -> list[tuple[str, str]]:
    """Kind and text of every example of the shipped rules."""
    shelf = Shelf.default()
    found: dict[str, str] = {}
    for name in shelf.names():
        rule = shelf.get(name)
        if isinstance(rule, CommandRule):
            found |= {example.text: example.kind for example in examples_of(rule)}
    return [(kind, text) for text, kind in found.items()]


EXAMPLES = _examples()


def _stands_alone(text: str) -> bool:
    """Whether the text is one simple command that sets nothing, so that what follows it means the same as before."""
    try:
        statements = parse(text).statements
    except ShellSyntaxError:
        return False
    if len(statements) != 1 or statements[0].background or not isinstance(statements[0].command, Simple):
        return False
    command = statements[0].command
    if not command.words or command.assignments or "<<" in text or "#" in text:
        return False
    return _changes_nothing(text.partition(" ")[0])


def _changes_nothing(name: str) -> bool:
    rule = Shelf.default().get(name)
    return (
        isinstance(rule, CommandRule)
        and not rule.spec.changes
        and (rule.spec.runs is None or not rule.spec.runs.joined)
    )


ALONE = [text for _, text in EXAMPLES if _stands_alone(text)]


def known_commands() -> st.SearchStrategy[str]:
    """Single simple commands that some rule speaks of."""
    return st.sampled_from(ALONE)


TOKENS = (
    *(
        "ls",
        "rm",
        "x",
        "f",
        "git",
        "sort",
        "-oout",
        "--",
        "-",
        "echo",
        "eval",
        "xargs",
        "find",
        "sed",
        "1p",
        "=",
        "a=b",
    ),
    *(
        " ",
        " ",
        " ",
        " ",
        "\n",
        "\t",
        ";",
        "&",
        "|",
        "&&",
        "||",
        "|&",
        ";;",
        ";&",
        "(",
        ")",
        "{",
        "}",
        "((",
        "))",
    ),
    *(
        "<",
        ">",
        ">>",
        "<<E",
        "<<<",
        "<(",
        ">(",
        "2>&1",
        "&>",
        "E\n",
        "'",
        '"',
        "\\",
        "`",
        "$",
        "$(",
        "${",
        "$((",
        "$'",
    ),
    *(
        "if",
        "then",
        "else",
        "fi",
        "while",
        "do",
        "done",
        "for",
        "in",
        "case",
        "esac",
        "function",
        "f()",
        "[[",
        "]]",
    ),
    *(
        "$x",
        '"$@"',
        "${x:-y}",
        "${x:=y}",
        "${a[0]}",
        "a[0]=1",
        "a=(1 2)",
        "x+=1",
        "*",
        "?",
        "[a]",
        "{a,b}",
        "~",
        "!",
    ),
    *(
        "time",
        "coproc",
        "select",
        "export",
        "PATH=x",
        "local",
        "read",
        "declare",
        "#",
        "\\\n",
        "é",
        "\x00",
        "\udc80",
    ),
)


def shell_tokens() -> st.SearchStrategy[str]:
    """Tokens of the shell in any order."""
    return st.lists(st.sampled_from(TOKENS), max_size=30).map("".join)


@st.composite
def mutated_texts(draw: st.DrawFn) -> str:
    """An example with a few pieces cut out or put in."""
    text = draw(st.sampled_from(EXAMPLES))[1]
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        length = draw(st.integers(0, 4))
        text = text[:start] + draw(st.sampled_from(("", *TOKENS))) + text[start + length :]
    return text


SED_PIECES = (
    *(
        "p",
        "d",
        "w out",
        "W out",
        "e",
        "s/a/b/",
        "s/[/]/x/",
        "w",
        "g",
        "1",
        "$",
        "/a/",
        "\\,a,",
        "!",
        "{",
        "}",
        ";",
    ),
    *(
        "\n",
        " ",
        "#",
        "a\\",
        "i x",
        "c\\\n",
        ":l",
        "b",
        "t",
        "bl",
        "y/a/b/",
        "r f",
        "q",
        "0~2",
        ",",
        "+1",
        "I",
        "\\",
    ),
    *(
        "/",
        "[",
        "]",
        "s",
        "y",
        "^",
        "[:alpha:]",
        "[:",
        "\nw out",
        "s|",
        "|",
        ";w out",
        "\r",
        "\\\n",
        "l",
        "=",
        "y/[/x/",
    ),
    *("s/a/b/w out", "]/y/", "n", "D", "\ne touch out", "}\nw out"),
)
"""Pieces of sed scripts."""
