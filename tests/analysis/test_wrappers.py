# SPDX-License-Identifier: Apache-2.0
"""A command in another command loses no effect, whatever the other one is."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shellguard.effects import Effect
from shellguard.engine import classify
from shellguard.syntax.nodes import Simple, Text
from shellguard.syntax.parse import parse
from tests.analysis.texts import known_commands
from tests.analysis.wrappers import WRAPPERS, Wrapper

KEPT = {
    "rm a": Effect.WRITES,
    "git -c core.pager=./x log": Effect.EXECUTES,
    "curl -s http://localhost/": Effect.NETWORK,
    "tail -f log": Effect.WAITS,
    "./tool": Effect.UNKNOWN,
    "sh -c 'rm a'": Effect.WRITES,
    "env FOO=1 ./tool": Effect.UNKNOWN,
}
"""A command for each effect, with the effect that it must keep."""


@pytest.mark.parametrize("wrapper", WRAPPERS, ids=repr)
def test_each_effect_is_kept_by_each_wrapper(wrapper: Wrapper) -> None:
    for command, effect in KEPT.items():
        text = wrapper.around(command)
        assert effect in classify(text).effects, text


@given(wrapper=st.sampled_from(WRAPPERS), command=known_commands())
def test_wrapping_a_command_in_any_command_loses_no_effect(wrapper: Wrapper, command: str) -> None:
    """Words that are added may make a text of words one that nobody can see: that is `unknown`, and no read."""
    assume(_is_plain(command) and not (wrapper.cut and set(command) & set("$`*?\\")))
    text = wrapper.around(command)
    if wrapper.fed:
        assert classify(command).read_only or not classify(text).read_only, text
    else:
        lost = classify(command).effects - {Effect.READS} - classify(text).effects
        assert not lost, f"{text}: {lost}"


@given(outer=st.sampled_from(WRAPPERS), inner=st.sampled_from(WRAPPERS), command=st.sampled_from(list(KEPT)))
def test_wrapping_a_wrapped_command_loses_no_effect(outer: Wrapper, inner: Wrapper, command: str) -> None:
    text = outer.around(inner.around(command))
    assume(outer.quoted or not inner.fed)
    assert KEPT[command] in classify(text).effects, text


def _is_plain(command: str) -> bool:
    """Whether the first word is the name of a command wherever it stands: no keyword, no assignment, no redirection."""
    statement = parse(command).statements[0]
    node = statement.command
    if not isinstance(node, Simple) or node.assignments or not node.words or statement.redirections:
        return False
    name = node.words[0].parts[0]
    return isinstance(name, Text) and name.text not in ("time", "!", "{", "(", "[[")


def test_there_are_wrappers_of_each_kind() -> None:
    assert len(WRAPPERS) > 100
    assert {wrapper.quoted for wrapper in WRAPPERS} == {True, False}
