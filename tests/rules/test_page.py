# SPDX-License-Identifier: Apache-2.0
"""Pages of rules: everything that the file says is there, and nothing of it acts on Markdown or HTML."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from shellguard.explain import visible
from shellguard.rules.load import load_text
from shellguard.rules.model import CommandRule
from shellguard.rules.page import Piece, _inline, blocks, markdown
from tests.rules.examples import shipped_rules

RULE = """\
command: frob
aliases: [gfrob]
summary: Frobs files | and <b>more</b>.
source: https://example.org/frob?a=1
checked: frob 1.0, 2026-11-30

runs_config: home
touches: [cache]
marks: [remote]
helpers: [sh]
options:
  -o --output: {takes: one, effect: writes, target: value}
  -x: {takes: one, program: true}
  -e: {takes: one, as: script, language: sed}
flags: -q
env:
  FROB_PAGER: program
  FROB_HOME: executes
  FROB_QUIET: {}
subcommands:
  list ls:
    summary: Lists them.
    judgement: nobody knows
    effect: reads
    accepts: anything
    examples:
      read: |
        frob list | cat     # a pipe
      write: |
        frob -o x list
  run:
    operands: [{name: file, many: true}]
    flags: -n
    values: -k
    cases:
      - {when: {operands: 0}, effect: reads}
      - {when: {operands: 2+, any: [-n], none: [-k]}, effect: [reads, network]}
      - {when: {first: [a*], value: {-k: [x]}}, effect: waits}
      - {effect: writes}
"""

PAGE = """\
# `frob`

Frobs files &#124; and &#60;b&#62;more&#60;/b&#62;.

Also: `gfrob`

Source: <https://example.org/frob?a=1>

Checked: frob 1.0, 2026-11-30

Rule: `rules/frob.yaml:1`

| options that matter | takes | effect | acts on |
| --- | --- | --- | --- |
| `-o`, `--output` | one | writes | its value |
| `-x` | one | its value is judged as a program |  |
| `-e` | one | its value is a sed script |  |

Options that change nothing: `-q`

Any other option makes a call unknown; so does a word that nobody can see.

| variables that matter | effect |
| --- | --- |
| `FROB_PAGER` | judged as a program |
| `FROB_HOME` | executes |

It trusts the configuration in the home folder, which can make it run code.

May touch: cache.

Marked: remote.

Starts for its own work: `sh`

## `frob list`

list is also written `ls`

Lists them.

Judgement: nobody knows

A plain call reads, whatever its words are.

|  | command | why |
| --- | --- | --- |
| reads | <code>frob list &#124; cat</code> | a pipe |
| writes | `frob -o x list` |  |

## `frob run`

| the first row that holds | effect |
| --- | --- |
| no operand | reads |
| operands: 2 or more; one of `-n`; none of `-k` | network, reads |
| first operand `a*`; `-k` with `x` | waits |
| otherwise | writes |

Options that change nothing: `-n`, `-k`

Any other option makes a call unknown; so does a word that nobody can see.
"""


def frob() -> CommandRule:
    return load_text(RULE, "rules/frob.yaml")


def test_a_page() -> None:
    assert markdown(blocks(frob()), visible) == PAGE


def test_the_page_of_a_subcommand() -> None:
    rule = frob()
    page = markdown(blocks(rule, rule.spec.subcommands["ls"]), visible)
    assert page.startswith("# `frob list`\n\nRule: `rules/frob.yaml:21`\n\nLists them.\n")
    assert "frob run" not in page


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.path) for rule in shipped_rules()])
def test_every_shipped_rule_has_a_page(rule: CommandRule) -> None:
    page = markdown(blocks(rule), visible)
    assert page.startswith(f"# `{rule.command}`\n")


class Collected(HTMLParser):
    """The tags of a text, and what a reader sees of it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(source: str) -> Collected:
    collected = Collected()
    collected.feed(MarkdownIt("commonmark").enable("table").render(source))
    return collected


HOSTILE = st.text(st.sampled_from(list("ab<>&*_`[](){}#|\\!~-+=:/.1 \n\t\x1b\u202e\"'")), max_size=30)


@given(HOSTILE)
def test_text_of_a_rule_stays_text(text: str) -> None:
    found = shown(f"x {_inline((Piece(text),), visible)} y")
    assert set(found.tags) <= {"p"}
    assert " ".join(found.text.split()) == " ".join(f"x {visible(text)} y".split())


@given(HOSTILE)
def test_so_does_a_command_in_a_table(text: str) -> None:
    cell = _inline((Piece(text, code=True),), visible, in_table=True)
    found = shown(f"| a | b |\n| --- | --- |\n| {cell} | z |")
    assert found.tags.count("td") == 2
    assert set(found.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "code"}
    assert "".join(found.text.split()) == f"ab{''.join(visible(text).split())}z"
