# SPDX-License-Identifier: Apache-2.0
"""Drafts from help texts: the spellings and the arity, and never a read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellguard import classify
from shellguard.rules.draft import Found, draft, options_in, subcommands_in, version_in
from shellguard.rules.load import load_text
from shellguard.rules.shelf import Shelf
from shellguard.rules.told import Told, from_help, from_manual


@pytest.mark.parametrize(
    "line, expected",
    [
        ("  -a, --all                  do not ignore entries", [(("-a", "--all"), "none")]),
        ("      --author               with -l, print the author", [(("--author",), "none")]),
        ("      --block-size=SIZE      with -l, scale sizes", [(("--block-size",), "one")]),
        ("      --color[=WHEN]         color the output", [(("--color",), "maybe")]),
        ("  -f, --file=ARCHIVE         use it", [(("-f", "--file"), "one")]),
        ("  -n, --max-count NUM        stop", [(("-n", "--max-count"), "one")]),
        ("  -o FILE                    output", [(("-o",), "one")]),
        ("  -o <file>                  output", [(("-o",), "one")]),
        ("  -o file                    output", [(("-o",), "one")]),
        ("  -o, --output <file>  Write to file", [(("-o", "--output"), "one")]),
        ("  -q, --quiet, --silent      be quiet", [(("-q", "--quiet", "--silent"), "none")]),
        ("  -i[SUFFIX], --in-place[=SUFFIX]", [(("-i", "--in-place"), "maybe")]),
        ("  -h|--help                  help", [(("-h", "--help"), "none")]),
        ("  -amin N -anewer FILE", [(("-amin",), "one"), (("-anewer",), "one")]),
        ("      -depth -mount", [(("-depth",), "none"), (("-mount",), "none")]),
        ("  --config string      Location of files", [(("--config",), "one")]),
        ("-v   verbose", [(("-v",), "none")]),
        ("\x1b[1m  -v\x1b[0m   verbose", [(("-v",), "none")]),
        ("  -\b-v\bv   verbose as man prints it", [(("-v",), "none")]),
        ("  -c, --check, --check=HOW", [(("-c", "--check"), "maybe")]),
        (
            "  --[no-]mailmap, --[no-]use-mailmap",
            [(("--mailmap", "--no-mailmap", "--use-mailmap", "--no-use-mailmap"), "none")],
        ),
        ("  see -x for more", []),
        ("  ---", []),
        ("  - item of a list", []),
        ("Usage: x [-a] FILE", []),
    ],
)
def test_options_of_a_line(line: str, expected: list[tuple[tuple[str, ...], str]]) -> None:
    assert options_in(line) == [Found(names, takes) for names, takes in expected]


def test_a_spelling_is_taken_once() -> None:
    assert options_in("  -a, --all\n  -a, --any\n  --all") == [
        Found(("-a", "--all"), "none"),
        Found(("--any",), "none"),
    ]


def test_subcommands_with_their_operands() -> None:
    text = (
        "Commands:\n  list [PATTERN...]      List\n  show LINK      Show\n  set <name> [VALUE...]   Set\n"
        "  up DEVICES...\n  renew DEVICE|ALL...  Renew\n  a sentence of text   no\n"
    )
    assert subcommands_in(text) == [("list",), ("show",), ("set",), ("up",), ("renew",)]


def test_subcommands() -> None:
    text = "Usage: x\n\nAvailable Commands:\n  list, ls    List\n  run:   Run\n  a b  no\n\nOptions:\n  not    this\n"
    assert subcommands_in(text) == [("list", "ls"), ("run",)]


HELP = """\
Usage: frob [OPTION]... FILE

Commands:
  list      List them
  remove    Remove them

Options:
  -a, --all          all of it
  -o, --output=FILE  write there
      --color[=WHEN] colour
  -?, --help         this
"""


def test_a_draft() -> None:
    told = from_help(HELP)
    told.add(from_help("  -a, --all\n  -o, --output\n  -z     from the manual\n"))
    told.commands["list"].add(from_help("  -l, --long\n"))
    told.add(from_help("  -q   quiet\n  -qq  more so\n"))
    text = draft("frob", told, "frob 1.0", "2026-11-30")
    assert "checked: frob 1.0, 2026-11-30\n" in text
    assert "style: words" not in text
    assert "\n# Take these over in place of `options`" in text
    assert text.split("there stay those that write, run, send or wait.\n", 1)[1] == (
        "# flags:\n"
        "#   -a --all, -? --help, -z, -q\n"
        "# values:\n"
        "#   -o --output\n"
        "# maybe:\n"
        "#   --color\n"
        "options:\n"
        "  -a --all: {effect: unknown}\n"
        "  -o --output: {takes: one, effect: unknown}     # the sources differ: one or none\n"
        "  --color: {takes: maybe, effect: unknown}\n"
        '  "-? --help": {effect: unknown}\n'
        "  -z: {effect: unknown}\n"
        "  -q: {effect: unknown}\n"
        "subcommands:\n"
        "  list:\n"
        "    effect: unknown\n"
        "    # Take these over in place of `options`; there stay those that write, run, send or wait.\n"
        "    # flags:\n"
        "    #   -l --long\n"
        "    options:\n"
        "      -l --long: {effect: unknown}\n"
        "  remove: {effect: unknown}\n"
        "# operands: [{name: file, many: true, effect: reads}]\n"
        "\n"
        "examples:\n"
        "  unknown: |\n"
        "    frob\n"
        "  # read: |\n"
        "  # write: |\n"
    )


@pytest.mark.parametrize(
    "text, expected",
    [
        ("frob (GNU coreutils) 9.1\nmore 3\n", "frob (GNU coreutils) 9.1"),
        ("\nfrob version 2.0.\n", "frob 2.0"),
        ("frob: invalid option -- '-'\n", ""),
        ("frób 1\nusage 2\n", "usage 2"),
        ("", ""),
        ("x" * 100 + " 1", "x" * 60),
    ],
)
def test_the_version_of_a_tool(text: str, expected: str) -> None:
    assert version_in(text) == expected


@given(version=st.text(max_size=60), date=st.sampled_from(["", "2026-11-30"]))
def test_any_version_can_stand_in_a_draft(version: str, date: str) -> None:
    said = version_in(version)
    rule = load_text(draft("frob", Told(), said, date), "frob.yaml")
    assert rule.checked.endswith(date)


WORDS = ["-a", "--all", "-long", "-?", "=FILE", "[=X]", "<x>", "Commands:\n", "list", "no"]
MARKS = [
    "  ",
    " ",
    "\n",
    ", ",
    "#",
    ": ",
    "\t",
    "-\b-",
    "{",
    "&a",
    "\n.TP\n",
    "\n.It Fl ",
    "\n.IP ",
    "\\fI",
    "\\fR",
    "\\-",
]
PIECES = st.lists(st.sampled_from(WORDS + MARKS), max_size=40)


@given(text=st.one_of(PIECES.map("".join), st.text(max_size=200)), manual=PIECES.map("".join))
def test_a_draft_loads_and_makes_nothing_a_read(text: str, manual: str) -> None:
    told = from_help(text)
    told.add(from_manual(manual))
    source = draft("frob", told)
    rule = load_text(source, "frob.yaml")
    shelf = Shelf({"frob": rule})
    words = [*rule.spec.options, *rule.spec.subcommands, "x", "--help"]
    for call in (
        "frob",
        *(f"frob '{word}'" for word in words[:12]),
        *(f"frob {word} x" for word in words[:12]),
    ):
        assert not classify(call, shelf=shelf).read_only, call


@pytest.mark.parametrize("command", ["[", "a.b", "g++", "7z", "no", "true", "x-y", "@x", "%", "!"])
def test_any_name_of_a_command_can_be_drafted(command: str) -> None:
    assert load_text(draft(command, from_help(HELP)), f"{command}.yaml").command == command


def test_a_huge_help_text_is_cut() -> None:
    text = "\n".join(f"  --option-{number}" for number in range(20_000))
    assert len(options_in(text)) == 600
    load_text(draft("frob", from_help(text)), "frob.yaml")
    assert load_text(draft("frob", Told()), "frob.yaml").command == "frob"
