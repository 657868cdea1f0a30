# SPDX-License-Identifier: Apache-2.0
"""Programs derived from the grammar. Each that bash accepts is parsed, printed and parsed to the same tree.

The grammar cannot tell where a reserved word counts, so some of what it derives is another program than the derivation
says (`{ a }`: the brace is an argument), or none. Bash judges first, and no test compares a tree with the derivation.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given, settings
from hypothesis.extra.lark import from_lark
from hypothesis.strategies import SearchStrategy, just, sampled_from

from shellguard.syntax.parse import parse
from shellguard.syntax.printer import to_text
from tests.grammar import lark_parser
from tests.grammar.test_unsupported import needs_bash, refusal
from tools.bash_oracle import judge

EXAMPLES = 200

WORDS = (
    "a",
    "b",
    "-l",
    "'q u'",
    '"$x $(c)"',
    "$(d; e)",
    "`f`",
    "${g:-$(h)}",
    "{i,j}",
    "<(k)",
    "*.l",
    "$((m + 1))",
    "~/n",
)
SCANNED: dict[str, tuple[str, ...]] = {
    "WORD": (*WORDS, "fi", "in", "do", "time", "!", "}"),
    "ASSIGNMENT": ("A=1", "B+=$(c)", "C[1]=x", "D=(a [1]=$(b))", "E="),
    "REDIRECTION": (">a", "2>&1", "<b", "&>>c", "<<<d", "{fd}>e", "<<E", "<<-'E'", ">(f)"),
    "NAME": ("i", "in", "do"),
    "FUNCTION_HEAD": ("f()", "function g", "function h ( )", "i ( )"),
    "ARITHMETIC": ("((1))", "(( $(a) > x[1] ))"),
    "FOR_ARITHMETIC": ("((;;))", "((i = 0; i < $(a); i++))"),
    "CONDITION": ("[[ -f $x ]]", "[[ a == b* && ! ( $(c) < d ) ]]", "[[ a =~ ^(b|c)$ ]]"),
    "TIME": ("time", "time -p", "time --"),
    "NEWLINE": ("\n", "\n", "\nE\n", "# c\n"),
    "NOTHING": ("",),
}
"""What stands for the tokens of the scanner. `E` on a line of its own ends a here-document, or is a command."""

NOT_MODELLED = frozenset(
    (
        "a reserved word behind `coproc` that begins no command",
        "unexpected 'time'",  # behind `coproc`
        "unexpected '#'",  # behind a bare `!` or `time`
    )
)
"""Refusals of the hand-written parser that a generated program may meet; grammar/UNSUPPORTED.md has them all."""

NO_NAME = "the name of a coprocess must be a plain name"
"""The one refusal of the grammar that a generated program may meet; the hand-written parser has several for it."""

CLOSERS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}"))


def spellings() -> dict[str, SearchStrategy[str]]:
    """A strategy for each terminal. A blank behind each keeps words apart; a newline lets most closers count."""
    strategies: dict[str, SearchStrategy[str]] = {
        name: sampled_from([f"{text} " for text in texts]) for name, texts in SCANNED.items()
    }
    for terminal in lark_parser.LARK.terminals:
        text = str(terminal.pattern.value)
        closer = sampled_from([f"\n{text} ", f"\n{text} ", f"\n{text} ", f"{text} "])
        strategies[terminal.name] = closer if text in CLOSERS else just(f"{text} ")
    return strategies


@needs_bash
def test_generated_programs() -> None:
    judged: Counter[bool] = Counter()

    @settings(max_examples=EXAMPLES)
    @given(from_lark(lark_parser.LARK, start="program", explicit=spellings()))
    @example("f ( ) \n{ cat <<E \nE\n } >a | while time -p ! b \ndo (c & )\n done \n")
    def check(text: str) -> None:
        accepted = judge(text).accepts
        judged[accepted] += 1
        refused, refused_by_grammar = refusal(text), refusal(text, lark_parser.parse)
        if refused_by_grammar == NO_NAME:
            assert refused
        elif accepted and refused not in NOT_MODELLED:
            script = parse(text)
            assert parse(to_text(script)) == script
            assert lark_parser.parse(text) == script

    check()
    assert judged[True] > EXAMPLES // 2, f"too few programs to say something: {judged}"
