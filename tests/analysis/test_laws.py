# SPDX-License-Identifier: Apache-2.0
"""What holds for every text: composition hides nothing, quoting says nothing, less knowledge is never milder."""

from __future__ import annotations

import random
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import assume, given
from hypothesis import strategies as st

from shellguard.analysis.inquiry import Assumptions
from shellguard.effects import Effect
from shellguard.engine import classify
from shellguard.errors import ShellSyntaxError
from shellguard.rules.model import BrokenRule
from shellguard.rules.shelf import Shelf
from shellguard.syntax.nodes import Simple, Text
from shellguard.syntax.parse import parse
from shellguard.verdict import READ, UNKNOWN, WRITE, Verdict
from tests.analysis.texts import EXAMPLES, known_commands, mutated_texts, shell_tokens

if TYPE_CHECKING:
    from shellguard.rules.model import Answer

SEVERITY = {READ: 0, UNKNOWN: 1, WRITE: 1}  # of the two that are no reads, neither is milder


def effects(text: str) -> frozenset[str]:
    return classify(text).effects


@given(
    a=known_commands(), b=known_commands(), join=st.sampled_from(["; ", " && ", " || ", " | ", "\n", " & "])
)
def test_joining_two_commands_adds_their_effects(a: str, b: str, join: str) -> None:
    """The effects of `a; b` are those of `a` and those of `b`: a law for texts that define nothing."""
    assert effects(a + join + b) == effects(a) | effects(b)


WRAPPINGS = (
    "( {} )",
    "{{ {}; }}",
    "if {}; then :; fi",
    "if :; then {}; fi",
    "if :; then :; else {}; fi",
    "while {}; do :; done",
    "until :; do {}; done",
    "for i in a; do {}; done",
    "case a in b) {};; esac",
    "case a in b) :;& c) {};; esac",
    "x=$({})",
    "echo $({})",
    'echo "${{y:-$({})}}"',
    "echo <({})",
    "cat <<E\n$({})\nE",
    "[[ -n $({}) ]]",
    "f() {{ {}; }}; f",
    "time {}",
    "! {}",
    "{} &",
    ": | {}",
    "{} | cat",
    "{} |& cat",
    "{{ {}; }} 2>&1 | head",
    "(cd src; {})",
    "select i in a; do {}; done",
    "for ((;;)); do {}; break; done",
    "x[$({})]=1",
    "cat <<< $({})",
    "cat < <({})",
    "echo ${{x#$({})}}",
    "echo {{a,$({})}}",
    "a=([0]=$({}))",
    ": > /dev/null $({})",
    "case $({}) in esac",
)


@given(command=known_commands(), wrapping=st.sampled_from(WRAPPINGS))
def test_wrapping_a_command_loses_no_effect(command: str, wrapping: str) -> None:
    assert effects(wrapping.format(command)) >= effects(command)


PREFIXES = (
    "env",
    "env -i",
    "command",
    "exec",
    "nice",
    "nice -n 5",
    "timeout 5",
    "timeout -k 1 5",
    "nohup",
    "command -p",
)


@given(command=known_commands(), prefix=st.sampled_from(PREFIXES))
def test_running_a_command_through_another_loses_no_effect(command: str, prefix: str) -> None:
    node = parse(command).statements[0].command
    assume(isinstance(node, Simple) and not node.assignments and node.words)
    name = node.words[0].parts[0] if isinstance(node, Simple) else None
    assume(isinstance(name, Text) and name.text not in ("time", "!", "{", "(", "[["))
    wrapped = f"{prefix} {command}"
    assert effects(wrapped) >= effects(command) - {Effect.READS}


@given(command=known_commands())
def test_a_shell_in_a_word_loses_no_effect(command: str) -> None:
    assume("\n" not in command)
    assert effects(f"bash -c {shlex.quote(command)}") >= effects(command)
    assert effects(f"eval {shlex.quote(command)}") >= effects(command)
    assert effects(f"sh -c {shlex.quote(command)}") >= effects(command)
    assert effects(f"trap {shlex.quote(command)} EXIT") >= effects(command)
    if "{}" not in command:
        assert effects(f"find . -exec sh -c {shlex.quote(command)} \\;") >= effects(command)


def plain_words(text: str) -> list[tuple[int, int, str]]:
    """Place and text of each word of a single simple command that is nothing but plain characters."""
    statements = parse(text).statements
    if len(statements) != 1 or not isinstance(statements[0].command, Simple):
        return []
    return [
        (*word.span, word.parts[0].text)
        for word in statements[0].command.words
        if len(word.parts) == 1
        and isinstance(word.parts[0], Text)
        and text[slice(*word.span)] == word.parts[0].text
    ]


@given(
    command=known_commands(),
    pick=st.integers(0, 20),
    style=st.sampled_from(["'{}'", '"{}"', "{}''", "$'{}'", '""{}', "\\{}", '$"{}"', "\\\n{}"]),
)
def test_quoting_a_literal_word_changes_nothing(command: str, pick: int, style: str) -> None:
    words = plain_words(command)
    assume(words and not set(words[pick % len(words)][2]) & set("'\"\\$`!"))
    start, end, text = words[pick % len(words)]
    quoted = command[:start] + style.format(text) + command[end:]
    assert (classify(quoted).kind, effects(quoted)) == (classify(command).kind, effects(command))


@given(command=known_commands(), pick=st.integers(0, 20), word=st.sampled_from(['"$x"', "$x", '"$(f)"', "*"]))
def test_a_word_that_nobody_can_see_is_never_milder(command: str, pick: int, word: str) -> None:
    """But for words that the rule does not know: `wc --nosuch` is unknown, `wc $x` can do no more than wc can."""
    words = plain_words(command)
    assume(words and classify(command).kind != UNKNOWN)
    start, end, _ = words[pick % len(words)]
    hidden = command[:start] + word + command[end:]
    assert SEVERITY[classify(hidden).kind] >= SEVERITY[classify(command).kind]


@given(
    command=known_commands(),
    pick=st.integers(0, 20),
    option=st.sampled_from(["--zzyzx", "-\u00e9", "--no-such=1"]),
)
def test_an_unlisted_option_is_never_milder(command: str, pick: int, option: str) -> None:
    words = plain_words(command)
    assume(words and " -- " not in command and words[0][2] not in ("[", "test"))  # where it may be an operand
    end = words[pick % len(words)][1]
    longer = f"{command[:end]} {option}{command[end:]}"
    assert SEVERITY[classify(longer).kind] >= SEVERITY[classify(command).kind]


@given(
    command=known_commands(),
    target=st.sampled_from(["> out", ">> out", "2> out", "&> out", ">| out", "<> out"]),
)
def test_a_redirection_is_never_overlooked(command: str, target: str) -> None:
    assume("\n" not in command and "#" not in command)
    assert classify(f"{command} {target}").kind == WRITE


EVERY = st.sampled_from(sorted(text for _, text in EXAMPLES))


@given(text=EVERY, shell=st.sampled_from(["bash", "sh", "zsh"]))
def test_a_read_for_any_shell_is_one_for_each(text: str, shell: str) -> None:
    if classify(text, assumptions=Assumptions("any")).read_only:
        assert classify(text, assumptions=Assumptions(shell)).read_only


@given(text=EVERY, shell=st.sampled_from(["bash", "any"]))
def test_what_is_taken_for_granted_only_makes_milder(text: str, shell: str) -> None:
    strict = Assumptions(shell, trust="words")
    assert SEVERITY[classify(text, assumptions=strict).kind] >= SEVERITY[judged(text, shell).kind]
    milder = Assumptions(shell, unknown_words="operand")
    assert SEVERITY[classify(text, assumptions=milder).kind] <= SEVERITY[judged(text, shell).kind]


def judged(text: str, shell: str) -> Verdict:
    return classify(text, assumptions=Assumptions(shell))


class Only:
    """The shipped rules of the commands that were asked for once; any other would fail to load now."""

    def __init__(self, names: set[str] | None = None) -> None:
        self.names, self.asked = names, set[str]()
        self.variables, self.paths = Shelf.default().variables, Shelf.default().paths

    def get(self, name: str) -> Answer:
        self.asked.add(name)
        if self.names is not None and name not in self.names:
            return BrokenRule(name, "rules/other.yaml", 1, "this rule must not be asked for")
        return Shelf.default().get(name)


@given(a=EVERY, b=EVERY, join=st.sampled_from(["; ", " | ", "\n"]))
def test_rules_of_other_commands_do_not_matter(a: str, b: str, join: str) -> None:
    """A verdict comes from the rules that were asked for, and those are the same when all others are broken."""
    text = a + join + b
    first = Only()
    verdict = classify(text, shelf=first)
    assert classify(text, shelf=Only(first.asked)) == verdict


def test_eight_threads_get_equal_verdicts() -> None:
    texts = [text for _, text in EXAMPLES][::3]
    shelf = Shelf()
    expected = [classify(text, shelf=shelf) for text in texts]
    fresh = Shelf()

    def run(seed: int) -> bool:
        order = list(range(len(texts)))
        random.Random(seed).shuffle(order)
        return all(
            classify(texts[index]) == expected[index] == classify(texts[index], shelf=fresh)
            for index in order
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(8)))


@given(st.text())
def test_any_text_gets_a_verdict(text: str) -> None:
    assert classify(text).kind in (READ, WRITE, UNKNOWN)


@given(st.text(st.characters(categories=None), max_size=200))
def test_surrogates_and_nul_get_a_verdict(text: str) -> None:
    assert classify(text).kind in (READ, WRITE, UNKNOWN)


@given(shell_tokens())
def test_any_row_of_shell_tokens_gets_a_verdict(text: str) -> None:
    check(text)


@given(mutated_texts())
def test_any_broken_command_gets_a_verdict(text: str) -> None:
    check(text)


def check(text: str) -> None:
    """What must hold for the verdict of any text."""
    verdict = classify(text)
    assert all(0 <= fact.span[0] <= fact.span[1] <= len(text) for fact in verdict.facts)
    try:
        parse(text)
    except ShellSyntaxError:
        assert verdict.kind == UNKNOWN
    if verdict.kind != READ:
        assert any(fact.effect not in (Effect.READS, Effect.NETWORK, Effect.WAITS) for fact in verdict.facts)


def test_the_texts_are_many_and_of_all_kinds() -> None:
    from tests.analysis.texts import EXAMPLES

    kinds = {kind for kind, _ in EXAMPLES}
    assert kinds == {READ, WRITE, UNKNOWN}
    assert len(EXAMPLES) > 500
    assert Path(__file__).with_name("tables").is_dir()
