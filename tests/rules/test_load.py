# SPDX-License-Identifier: Apache-2.0
"""The loader: what it refuses, with which line, and what it makes of a good file."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml

from shellguard.errors import RuleError
from shellguard.rules.load import load_file, load_paths, load_policies, load_text, load_variables, names_in

ERRORS = Path(__file__).with_name("errors.txt")


def _blocks() -> list[tuple[str, str, str]]:
    blocks = []
    for block in ERRORS.read_text(encoding="utf-8").split("\n=== ")[1:]:
        title, _, rest = block.partition("\n")
        text, _, expected = rest.rpartition("---\n")
        blocks.append((title, text.replace("\n---- second\n", "\n---\n"), expected.strip()))
    return blocks


@pytest.mark.parametrize(("text", "expected"), [pytest.param(t, e, id=i) for i, t, e in _blocks()])
def test_a_wrong_file_is_named_with_line_and_remedy(text: str, expected: str) -> None:
    with pytest.raises(RuleError) as error:
        load_text(text, "rules/x.yaml")
    assert str(error.value) == f"rules/x.yaml:{expected}"


GOOD = """\
# a comment first
command: x
aliases: ["[", y]
summary: Does x.

effect: [reads, network]
language: sed
flags:
  -a --all, -b,
  -c
values: -n --number
maybe: --color
runs_config: repo
shapes:
  shown:
    effect: reads
    flags: --json
    touches: [cache]
options:
  -o --output: {takes: one, effect: writes, target: value, dash: stdout}
  -e, -f: {takes: one, as: script}
env:
  A_*: executes
  B: {effect: writes, only: ["", <number>]}
operands:
  - {name: script, as: script, absent_with: [-f]}
  - {name: file, many: true, effect: reads}
subcommands:
  one, two:
    like: shown
    flags: -q
    runs_config: home
    touches: [tmp]
    env: {B: reads}
    examples:
      read cache: |
        x one     # why

        # only a remark
        x two
"""


def test_a_good_file() -> None:
    rule = load_text(GOOD, "rules/x.yaml")
    spec = rule.spec
    assert (rule.command, rule.aliases, rule.summary, rule.path) == (
        "x",
        ("[", "y"),
        "Does x.",
        "rules/x.yaml",
    )
    assert spec.effects == frozenset({"reads", "network"})
    assert spec.line_of("effect") == 6
    assert spec.line_of("touches") == spec.line == 2

    every = spec.options["-a"]
    assert every is spec.options["--all"]
    assert (every.name, every.takes, every.line, every.harmless) == ("-a", "none", 9, True)
    assert spec.options["-c"].line == 10
    assert (spec.options["--number"].takes, spec.options["--color"].takes) == ("one", "maybe")
    output = spec.options["--output"]
    assert (output.effects, output.target, output.dash, output.harmless) == (
        frozenset({"writes"}),
        "value",
        True,
        False,
    )
    assert spec.options["-f"].language == "sed"
    assert spec.options["-e"] is not spec.options["-f"]
    assert spec.option("--al") is None
    assert len(spec.distinct_options()) == 8

    script, file = spec.operands
    assert (script.role, script.language, script.absent_with, script.many) == (
        "script",
        "sed",
        frozenset({"-f"}),
        False,
    )
    assert (file.many, file.effects) == (True, frozenset({"reads"}))

    one, two = spec.subcommands["one"], spec.subcommands["two"]
    assert (one.name, one.where, two.name) == ("x one", "subcommands.one", "x two")
    assert set(one.options) == {"--json", "-q"}
    assert one.touches == frozenset({"cache", "tmp"})
    assert one.runs_config == "repo"  # the least trusted place of all levels
    assert one.line_of("runs_config") == 13
    own = one.variables.get("B")
    assert own is not None
    assert own.effects == frozenset({"reads"})
    above = one.variables.get("A_1")
    assert above is not None
    assert above.effects == frozenset({"executes"})
    assert [(e.text, e.line, e.comment, e.expects) for e in one.examples] == [
        ("x one     # why", 37, "why", frozenset({"cache"})),
        ("x two", 40, "", frozenset({"cache"})),
    ]


def test_scalars_are_strings() -> None:
    rule = load_text("command: no\neffect: reads\nvalues: -1\nsummary: 12:30\nchecked: 1.10\n", "x.yaml")
    assert (rule.command, rule.summary, rule.checked) == ("no", "12:30", "1.10")


def test_anchors_are_allowed_and_bounded() -> None:
    rule = load_text("command: x\nsubcommands:\n  a: &a {effect: reads}\n  b: *a\n", "x.yaml")
    assert rule.spec.subcommands["b"].effects == frozenset({"reads"})

    bomb = ["command: x", "a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    bomb += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(RuleError, match="once its aliases are followed"):
        load_text("\n".join(bomb), "x.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "command: x\neffect: " + "[" * 100_000,
        "command: x\neffect: " + "[" * 30 + "]" * 30,
        "command: x\n" + "".join(f"{' ' * i}a:\n" for i in range(1, 200)),
        "command: x\neffect:\n  " + "- " * 10_000 + "x",
    ],
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(RuleError):
        load_text(text, "x.yaml")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("command: x\neffect:\treads\n", 2, "a tab"),
        ("command: x\rf: x\n", 1, "a lone carriage return"),
        ("command: x\neffect: re\x00ads\n", 2, "a NUL"),
        ("\ufeffcommand: x\n", 1, "a byte order mark"),
        ("command: x\n# \x85\n", 2, "a next-line"),
        ("command: x\n\n# \u2028\n", 3, "a line separator"),
        ("command: x\neffect: re\x07ads\n", 1, "not YAML"),
    ],
)
def test_characters_that_hide_lines_are_refused(text: str, line: int, what: str) -> None:
    with pytest.raises(RuleError, match=what) as error:
        load_text(text, "x.yaml")
    assert error.value.line == line


def test_windows_line_ends_are_fine() -> None:
    rule = load_text(GOOD.replace("\n", "\r\n"), "x.yaml")
    assert rule == load_text(GOOD, "x.yaml")


def test_a_file_that_is_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"command: x\neffect: reads\nsummary: \xff\n")
    with pytest.raises(RuleError, match=r"^rules/x\.yaml:3: byte 0xff is not UTF-8"):
        load_file(str(tmp_path / "x.yaml"), str(tmp_path), "rules/x.yaml")


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"command: x\neffect: reads\n" + b"# filler\n" * 120_000)
    with pytest.raises(RuleError, match="larger than 1000000 bytes"):
        load_file(str(tmp_path / "x.yaml"), str(tmp_path), "rules/x.yaml")


def test_a_link_that_leaves_the_folder(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "x.yaml").write_text("command: x\neffect: reads\n")
    (tmp_path / "rules" / "x.yaml").symlink_to(tmp_path / "x.yaml")
    with pytest.raises(RuleError, match="a link that leaves the rules folder"):
        load_file(str(tmp_path / "rules" / "x.yaml"), str(tmp_path / "rules"), "rules/x.yaml")


def test_a_folder_instead_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").mkdir()
    with pytest.raises(RuleError, match="not a regular file"):
        load_file(str(tmp_path / "x.yaml"), str(tmp_path), "rules/x.yaml")
    with pytest.raises(RuleError, match="not a regular file"):
        load_file(str(tmp_path / "y.yaml"), str(tmp_path), "rules/y.yaml")


def test_a_file_named_otherwise_than_its_command(tmp_path: Path) -> None:
    (tmp_path / "y.yaml").write_text("command: x\neffect: reads\n")
    with pytest.raises(RuleError, match=r"the file is named y\.yaml but speaks of `x`"):
        load_file(str(tmp_path / "y.yaml"), str(tmp_path), "rules/y.yaml")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("command: x\n", ("x",)),
        ("# remark\n\ncommand: x  # remark\naliases: [a, \"[\", ':']\n", ("x", "a", "[", ":")),
        ('command: "."\naliases: [source]   # remark\n', (".", "source")),
        ("command: x\nsummary: y\naliases: [z]\n", ("x",)),
        ("summary: x\n", ()),
        ("", ()),
    ],
)
def test_names_are_read_without_yaml(text: str, names: tuple[str, ...]) -> None:
    assert names_in(text) == names


def test_variables() -> None:
    variables = load_variables(
        "variables:\n  LC_*, LANG: {effect: unknown, only: [<word>]}\n  LC_ALL: {}\n  LESS, *PAGER: program\n"
        "  LD_*: executes\n  LD_DEBUG_*: [writes]\n",
        "_env.yaml",
    )
    found = {
        name: variables.get(name) for name in ("LC_ALL", "LC_TIME", "GIT_PAGER", "LD_X", "LD_DEBUG_OUT", "X")
    }
    assert found["X"] is None
    lines = {name: entry and (entry.line, entry.effects, entry.program) for name, entry in found.items()}
    assert lines == {
        "LC_ALL": (3, frozenset(), False),
        "LC_TIME": (2, {"unknown"}, False),
        "GIT_PAGER": (4, frozenset(), True),
        "LD_X": (5, {"executes"}, False),
        "LD_DEBUG_OUT": (6, {"writes"}, False),
        "X": None,
    }


def test_the_files_without_a_command_name_their_errors() -> None:
    with pytest.raises(RuleError, match=r"^_env\.yaml:1: the file needs `variables:`"):
        load_variables("{}", "_env.yaml")
    with pytest.raises(RuleError, match=r"^_paths\.yaml:1: the file has no word `secret`"):
        load_paths("secret: []", "_paths.yaml")
    with pytest.raises(RuleError, match=r"^_policies\.yaml:2: the policy mine needs `effects`"):
        load_policies("\nmine: {summary: x}", "_policies.yaml")


def test_the_slow_parser_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML built without libyaml has no CSafeLoader."""
    fast = load_text(GOOD, "x.yaml")
    monkeypatch.delattr(yaml, "CSafeLoader")
    slow = load_text(GOOD, "x.yaml")
    assert slow == fast
    assert [option.line for option in slow.spec.options.values()] == [
        option.line for option in fast.spec.options.values()
    ]


def _names(letter: str, count: int) -> str:
    return ", ".join(f"{letter}{number}" for number in range(count))


_SLOTS = ", ".join(f"{{name: n{number}}}" for number in range(500))
_SHAPES = "".join(f"  s{i}: {{subcommands: {{'{_names('a', 20)}': {{like: s{i + 1}}}}}}}\n" for i in range(6))
AMPLIFIED = {
    # Three lists of names inside each other: a million subcommands in 2 kB.
    "names": f"""\
command: x
subcommands:
  {_names("a", 100)}:
    subcommands:
      {_names("b", 100)}:
        subcommands:
          {_names("c", 100)}: {{effect: reads}}
""",
    # The same with shapes.
    "shapes": f"command: x\nshapes:\n{_SHAPES}  s6: {{effect: reads}}\nsubcommands: {{y: {{like: s0}}}}\n",
    # Many slots, each time anew.
    "operands": f"""\
command: x
shapes:
  s: {{effect: reads, operands: [{_SLOTS}]}}
subcommands:
  ? {_names("a", 5000)}
  : {{like: s}}
""",
    # Many variables, in a list of its own for each subcommand.
    "variables": f"""\
command: x
env:
  ? {_names("A", 2000)}
  : reads
subcommands:
  ? {_names("a", 5000)}
  : {{effect: reads, env: {{B: reads}}}}
""",
}


@pytest.mark.parametrize("text", AMPLIFIED.values(), ids=AMPLIFIED)
def test_a_small_file_that_says_too_much_is_refused(text: str) -> None:
    assert len(text) < 60_000
    start = time.process_time()
    with pytest.raises(RuleError, match=r"more than (20000 subcommands|200000 things)"):
        load_text(text, "x.yaml")
    assert time.process_time() - start < 10


def test_specs_of_one_kind_share_their_options_and_variables() -> None:
    text = "command: x\nenv: {A: reads}\nsubcommands:\n  b, c: {effect: reads, flags: -a, maybe: -o}\n"
    below = load_text(text, "x.yaml").spec.subcommands
    assert below["b"].options is below["c"].options
    assert below["b"].variables is below["c"].variables
    assert set(below["b"].options) == {"-a", "-o"}
