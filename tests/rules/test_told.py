# SPDX-License-Identifier: Apache-2.0
"""What manuals and completion files say of a tool: spellings, arity, subcommands; nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellguard.rules.roff import tags_of
from shellguard.rules.told import Told, from_bash, from_fig, from_fish, from_help, from_manual

TAGS = [
    (".TP\n\\fB\\-a\\fR, \\fB\\-\\-all\\fR\ndo not ignore", "  -a, --all"),
    (".TP\n\\fB\\-\\-block\\-size\\fR=\\fISIZE\\fR\nscale", "  --block-size=<SIZE>"),
    (".TP\n\\fB\\-\\-color\\fR[=\\fIWHEN\\fR]\nx", "  --color[=<WHEN>]"),
    ('.TP\n.BR \\-o ", " \\-\\-output = \\fIFILE\nx', "  -o, --output=<FILE>"),
    ('.TP\n.BI \\-d " delim"\nx', "  -d <delim>"),
    (".TP 8\n.B \\-v\nx", "  -v"),
    (".TP\n.B \\-one\n.TQ\n.B \\-two\nx", "  -one\n  -two"),
    ('.IP "\\fB\\-c\\fR \\fIcommand\\fR" 4\nx', "  -c <command>"),
    (".PP\n\\fB\\-n\\fR, \\fB\\-\\-lines=\\fR\\fB\\fINUM\\fR\\fR\n.RS 4\nx\n.RE", "  -n, --lines=<NUM>"),
    (".PP\n\\-\\-no\\-pager\n.RS 4\nx", "  --no-pager"),
    (".It Fl i Ar identity_file\nx", "  -i <identity_file>"),
    (".It Fl v , Fl -verbose\nx", "  -v, --verbose"),
    (".It Fl Fl mime-type Ar type\nx", "  --mime-type <type>"),
    (".It Fl b , Fl Fl brief\nx", "  -b, --brief"),
    (".It Fl -color Ns = Ns Ar when\nx", "  --color=<when>"),
    (".SH DESCRIPTION\n.PP\n\\-x is mentioned in a sentence of many words, as here\n", ""),
    (".TP\nnot an option\n", ""),
    (".SH OPTIONS\nplain text\n\\-x\n", ""),
    ('.\\" .TP\n.\\" \\-c a comment\n', ""),
]


@pytest.mark.parametrize("source, expected", TAGS)
def test_tags_of_a_manual(source: str, expected: str) -> None:
    assert tags_of(source) == expected


@given(st.text(max_size=300))
def test_any_source_of_a_manual_can_be_read(text: str) -> None:
    for line in tags_of(f".TP\n{text}").split("\n"):
        assert line == "" or line.startswith("  -")


def shown(told: Told) -> list[str]:
    """Options and subcommands as lines, those below with their subcommand before them."""
    lines = [f"{' '.join(option.names)}: {option.takes}" for option in told.groups()]
    for names, below in told.subcommands():
        lines += [" ".join(names), *(f"{names[0]} {line}" for line in shown(below))]
    return lines


FISH = """\
# complete -c frob -s z
complete -c frob -s a -l all -d 'all of -l it'
complete -c frob -l depth -x -a '1 2'
complete -xc frob -s o
complete -c other -s q
complete -c frob -n __fish_use_subcommand -a 'add remove' -d 'x'
complete -c frob -n '__fish_seen_subcommand_from add' -s f -r
complete -c frob -n 'not __fish_seen_subcommand_from add' -l top
complete -c frob -l broken 'quote
"""


def test_fish() -> None:
    assert shown(from_fish(FISH, "frob")) == [
        "-a --all: none",
        "--depth: one",
        "-o: one",
        "--top: none",
        "add",
        "add -f: one",
        "remove",
    ]


BASH = """\
_frob() {
    # --comment
    case $prev in --file) COMPREPLY=( $(compgen -f -- "$cur") ) ;; esac
    COMPREPLY=( $(compgen -W '--all --depth= -v --x-y' -- "$cur") )
}
"""


def test_bash() -> None:
    assert shown(from_bash(BASH)) == ["--all: none", "--depth: one", "-v: none", "--x-y: none"]


def test_fig() -> None:
    spec = {
        "name": "frob",
        "options": [
            {"name": ["-a", "--all"]},
            {"name": "--depth", "args": {"name": "n"}},
            {"name": "--color", "args": [{"name": "when", "isOptional": True}]},
            {"name": "--no-args", "args": []},
            {"name": "--file=", "args": {"name": "f"}},
            {"name": 7},
            "text",
        ],
        "subcommands": [{"name": ["add", "a"], "options": [{"name": "-f"}]}, {"name": "-x"}, {}],
    }
    assert shown(from_fig(spec)) == [
        "-a --all: none",
        "--depth: one",
        "--color: maybe",
        "--no-args: none",
        "add a",
        "add -f: none",
    ]
    others: tuple[object, ...] = (None, [], "x", {"options": {}, "subcommands": None})
    for other in others:
        assert shown(from_fig(other)) == []


def test_sources_are_joined_and_compared() -> None:
    told = from_help("  -a, --all\n  -o FILE\n  --big=N\n\nCommands:\n  add  Add\n")
    told.add(from_manual('.TP\n.BR \\-a ", " \\-\\-almost\n.TP\n.B \\-o\n'))
    told.add(from_fish("complete -c frob -s b -l big\ncomplete -c frob -s n -r\n", "frob"), sure=False)
    assert shown(told) == ["-a --all --almost: none", "-o: one", "--big -b: one", "-n: one", "add"]
    assert told.unlike == {"-o": ("one", "none")}


NAMES = st.lists(st.sampled_from(["-a", "-b", "--all", "--both", "-c"]), min_size=1, max_size=3)


@given(st.lists(st.tuples(NAMES, st.sampled_from(["none", "one", "maybe"]), st.booleans()), max_size=8))
def test_each_spelling_belongs_to_one_option(options: list[tuple[list[str], str, bool]]) -> None:
    told = Told()
    for names, takes, sure in options:
        told.add_option(names, takes, sure=sure)
        assert all(name in told.options for name in names)
    for name, found in told.options.items():
        assert name in found.names
    spellings = [name for found in told.groups() for name in found.names]
    assert sorted(spellings) == sorted(told.options)
