# SPDX-License-Identifier: Apache-2.0
"""A word that nobody can see may be an option that the rule does not list.

Only what a rule lists counts for such a word, so an option that does harm must be listed, even where "unlisted is
unknown" would do for the option itself. An example of a rule with an unlisted option shows that its author thought of
one: with `"$x"` in its place the call must not become a read.
"""

from __future__ import annotations

import pytest

from shellguard.effects import Effect, Kind
from shellguard.engine import classify
from shellguard.rules.check import examples_of
from tests.rules.examples import shipped_rules

NO_SUCH_OPTION = {
    *("-x", "-Z", "-hZ", "-nx", "-lx", "-nX", "-lé", "-sq", "-gz"),
    *("--outp=x", "--output=x", "--colo=always", "--col", "--suf", "--pre=cat"),
}
"""What the examples use for an option that the tool does not have, and abbreviations of harmless ones."""

HARMLESS = {
    ("bzip2", "-S"): "refused by bzip2",
    ("paste", "-o"): "refused by paste",
    ("zgrep", "-r"): "refused by zgrep",
    ("zipinfo", "-y"): "refused by zipinfo",
    ("zcat", "-S"): "names a suffix",
    ("pgrep", "--signal"): "only pkill sends signals",
    ("jq", "-i"): "refused by jq",
    ("git", "-F"): "reads the file",
}
"""Options that are not listed and do no harm, with the reason."""


def lines() -> list[object]:
    """Each example with an unlisted option, and the same with a word that is not known."""
    found: list[object] = []
    for rule in shipped_rules():
        for example in examples_of(rule):
            if example.kind == "read":
                continue
            for fact in classify(example.text).facts:
                start, end = fact.span
                word = example.text[start:end]
                own = fact.source is not None and fact.source.path == rule.path
                if not own or fact.kind != Kind.NO_OPTION or "frob" in word or word in NO_SUCH_OPTION:
                    continue
                if (rule.command, word) not in HARMLESS:
                    text = f'{example.text[:start]}"$x"{example.text[end:]}'
                    found.append(pytest.param(text, id=f"{rule.path}:{example.line}"))
    return found


@pytest.mark.parametrize("text", lines())
def test_an_unlisted_option_that_does_harm_is_thought_of_for_words_that_are_not_known(text: str) -> None:
    assert not classify(text).read_only


def test_the_reason_holds_for_a_command_without_such_options() -> None:
    assert classify('wc -l "$x"').effects == {Effect.READS}
