# SPDX-License-Identifier: Apache-2.0
"""A word that nobody can see may be an option that the rule does not list, unless its list is said to be complete."""

from __future__ import annotations

import pytest

from shellguard.engine import classify
from shellguard.rules.load import load_text
from shellguard.rules.shelf import Shelf

RULE = """\
command: frob
summary: s
effect: reads
{complete}
{style}
flags: -a --all
values: -n
options:
  -w --wait: {{effect: waits}}
operands: [{{name: file, many: true}}]
subcommands:
  sub:
    effect: reads
    flags: -q
    operands: [{{name: file, many: true}}]
"""

UNSEEN = ['frob "$x"', "frob $x", "frob *", 'frob -a "$x"', 'frob "$1"', 'frob -n 1 "$x" y']
SEEN = ['frob -- "$x"', "frob src/*", 'frob -n "$x"', "frob f", "frob -a f", 'frob "./$x"']


def kind_of(text: str, complete: str, style: str = "") -> str:
    source = RULE.format(complete=complete, style=style)
    if "open" in style or "plain" in style or "gnu" in style:
        source = source.partition("subcommands:")[0]
    if "plain" in style:
        source = "\n".join(
            line for line in source.split("\n") if not line.startswith(("flags", "values", "options", "  -"))
        )
    return classify(text, shelf=Shelf({"frob": load_text(source, "frob.yaml")})).kind


@pytest.mark.parametrize("text", UNSEEN)
def test_an_unseen_word_is_an_option_that_nobody_listed(text: str) -> None:
    assert kind_of(text, "", "style: gnu") == "unknown"
    assert kind_of(text, "complete: false", "style: gnu") == "unknown"
    assert kind_of(text, "complete: true", "style: gnu") == "read"


@pytest.mark.parametrize("text", SEEN)
def test_a_word_that_can_be_no_option_is_none(text: str) -> None:
    assert kind_of(text, "", "style: gnu") == "read"


@pytest.mark.parametrize("style", ["style: open", "style: plain"])
def test_where_no_other_word_is_an_option_the_list_is_complete(style: str) -> None:
    assert kind_of('frob "$x"', "", style) == "read"


def test_a_subcommand_says_it_for_itself() -> None:
    assert kind_of('frob sub "$x"', "complete: true") == "unknown"
    rule = RULE.format(complete="complete: true", style="").replace(
        "    flags: -q", "    complete: true\n    flags: -q"
    )
    assert classify('frob sub "$x"', shelf=Shelf({"frob": load_text(rule, "frob.yaml")})).kind == "read"
