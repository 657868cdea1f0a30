# SPDX-License-Identifier: Apache-2.0
"""What holds for every text: a tree or a refusal, spans that fit, a print that reads back, bash's own
reading, work in proportion."""

from __future__ import annotations

import random
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import FrameType
from typing import SupportsIndex, overload

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellguard.errors import ShellSyntaxError
from shellguard.syntax import cursor as cursor_module
from shellguard.syntax.cursor import MAX_DEPTH
from shellguard.syntax.nodes import (
    Array,
    Assignment,
    CommandSub,
    HereDoc,
    Node,
    Param,
    ProcessSub,
    Script,
    Simple,
    Statement,
)
from shellguard.syntax.parse import parse
from shellguard.syntax.printer import to_text
from shellguard.syntax.walk import children, walk
from tests.syntax.cases import TREES, read_cases
from tests.syntax.test_bash import needs_bash
from tools.bash_oracle import judge, to_bytes
from tools.mutate import TOKENS, mutated, smallest
from tools.reprint import compare

CASES = [case.text for case in read_cases(TREES)]

soup = st.lists(st.sampled_from((*TOKENS, " ", " ", " ", "\n", ";", "\0", "\ud800", "é")), max_size=14).map(
    "".join
)
"""Pieces of shell text in any order."""

changed_cases = st.builds(
    lambda text, seed: mutated(text, random.Random(seed), CASES),
    st.sampled_from(CASES),
    st.integers(0, 2**32),
)
"""Texts close to correct ones."""


def tree_or_none(text: str) -> Script | None:
    try:
        return parse(text)
    except ShellSyntaxError as refusal:
        error = refusal
    start, end = error.span
    assert 0 <= start <= end <= len(text)
    assert error.message
    assert str(error)[0] in "0123456789"
    return None


# --- any text -------------------------------------------------------------------------------------------------


@given(st.text())
def test_any_text_gives_a_tree_or_a_refusal(text: str) -> None:
    tree_or_none(text)


@given(st.text(alphabet=st.sampled_from("$(){}[]<>`'\"\\|&;#!~*?= \t\n\r\0ax1-:,.\u00a0")))
def test_any_text_of_special_characters_gives_a_tree_or_a_refusal(text: str) -> None:
    script = tree_or_none(text)
    if script is not None:
        check_spans(text, script)
        assert parse(to_text(script)) == script


@given(soup)
def test_any_soup_of_tokens_gives_a_tree_or_a_refusal(text: str) -> None:
    script = tree_or_none(text)
    if script is not None:
        check_spans(text, script)
        assert parse(to_text(script)) == script


@given(changed_cases)
def test_changed_cases_give_a_tree_or_a_refusal(text: str) -> None:
    script = tree_or_none(text)
    if script is not None:
        check_spans(text, script)
        assert parse(to_text(script)) == script


@pytest.mark.parametrize("text", ["\0", "a\0b", "'\0'", "$(\0)", "cat <<E\n\0\nE", "# \0"])
def test_a_nul_is_refused_where_it_stands(text: str) -> None:
    with pytest.raises(ShellSyntaxError) as caught:
        parse(text)
    assert caught.value.span == (text.index("\0"), text.index("\0") + 1)


@given(st.text(alphabet=st.sampled_from("\ud800\udc80\udfff\r\u2028 a'\"$`\n")))
def test_lone_surrogates_and_odd_line_ends_are_ordinary_characters(text: str) -> None:
    plain = text.translate({0xD800: "b", 0xDC80: "b", 0xDFFF: "b", 0x0D: "b", 0x2028: "b"})
    assert (tree_or_none(text) is None) == (tree_or_none(plain) is None)


def test_the_parser_leaves_the_stack_as_it_found_it() -> None:
    """Deep in somebody's recursion the answer is a refusal as well."""

    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)
        else:
            tree_or_none("echo " + "$(" * 40 + "a" + ")" * 40)

    here = 0
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        here += 1
        frame = frame.f_back
    for room in (20, 60, 150, 400):
        deep(sys.getrecursionlimit() - here - room)


# --- spans ----------------------------------------------------------------------------------------------------

ORDERED = (
    "statements",
    "parts",
    "words",
    "assignments",
    "redirections",
    "arms",
    "patterns",
    "items",
    "elements",
    "arguments",
)
"""Fields whose nodes stand in the text in the order of the tuple."""


def check_spans(text: str, script: Script) -> None:
    assert script.span[1] <= len(text)
    for node in walk(script):
        start, end = node.span
        assert 0 <= start <= end <= len(text), node
        for child in children(node):
            if not (isinstance(node, HereDoc) and child is node.body):
                holds_body = any(isinstance(below, HereDoc) for below in walk(child))
                assert start <= child.span[0], (text, node, child)
                assert child.span[1] <= end or holds_body, (text, node, child)
        for name in ORDERED:
            row = getattr(node, name, None)
            if isinstance(row, tuple):
                places = [item.span for item in row if isinstance(item, Node)]
                for (_, before), (after, _) in pairwise(places):
                    assert before <= after, (text, node)


def nodes_as_written(node: Node, text: str) -> Iterator[Node]:
    """The nodes whose span is a text that can be read alone: not those in backticks, which have a spelling of
    their own, and not those with a here-document, whose body stands elsewhere."""
    for child in children(node):
        if isinstance(child, CommandSub) and text.startswith("`", child.span[0]):
            continue
        if isinstance(child, HereDoc):
            continue
        if not any(isinstance(below, HereDoc) for below in walk(child)):
            yield child
        yield from nodes_as_written(child, text)


def check_slices(text: str, script: Script) -> None:
    """What a span cuts out of the text says the same alone."""
    for node in nodes_as_written(script, text):
        source = text[node.span[0] : node.span[1]]
        match node:
            case Statement() if source and not source.startswith(
                ("time", "!")
            ):  # which count in some places only
                if node.negated and "!" not in source:
                    continue  # in `! time a` it stands before the `time`
                assert parse(source).statements == (node,), (text, source)
            case Simple(_, words) if words:
                for word in words:
                    piece = text[word.span[0] : word.span[1]]
                    if any(isinstance(part, Array) for part in word.parts):
                        continue
                    command = parse(f"x {piece}").statements[0].command
                    assert isinstance(command, Simple)
                    assert command.words[1:] == (word,), (text, piece)
            case Param() | CommandSub() | ProcessSub():
                assert node in [*parts_of(f"x {source}"), *parts_of(f'x "{source}"')], (text, source)
            case Assignment():
                command = parse(source).statements[0].command
                assert command == Simple((node,), (), node.span), (text, source)


def parts_of(text: str) -> list[Node]:
    """The nodes of a text; none for what is refused."""
    script = tree_or_none(text)
    return [] if script is None else list(walk(script))


@pytest.mark.parametrize("text", CASES)
def test_spans_of_the_cases(text: str) -> None:
    script = parse(text)
    check_spans(text, script)
    check_slices(text, script)


def test_a_wrong_span_is_noticed() -> None:
    text = "ls -l; pwd"
    script = parse(text)
    statement = script.statements[0]
    moved = Statement(statement.command, (), False, False, (3, 5))
    with pytest.raises(AssertionError):
        check_spans(text, Script((moved, script.statements[1]), script.span))


# --- bash as the judge of changed commands --------------------------------------------------------------------

MOST_WRONGLY_ACCEPTED = 0.02
"""Share of the texts that bash refuses and we accept, among changed cases. Bash runs nothing of a line that it refuses,
so such a text hides no command."""


def check_against_bash(texts: list[str]) -> None:
    refused = accepted_wrongly = 0
    for text in texts:
        script = tree_or_none(text)
        if to_bytes(text) is None:
            continue
        if not judge(text).accepts:
            refused += 1
            if script is not None and not judge(text, extglob=True).accepts:
                accepted_wrongly += 1
        elif script is not None:
            if any(not difference.reason for difference in compare(text, inside=False)):
                raise AssertionError(f"bash reads another tree: {smallest(text, _differs)!r}")
    assert accepted_wrongly <= MOST_WRONGLY_ACCEPTED * refused, f"{accepted_wrongly} of {refused}"


def _differs(text: str) -> bool:
    try:
        found = judge(text).accepts and compare(text, inside=False)
    except ShellSyntaxError:
        return False
    return any(not difference.reason for difference in found or ())


@needs_bash
def test_changed_commands_are_read_as_bash_reads_them() -> None:
    chance = random.Random(11)
    check_against_bash([mutated(chance.choice(CASES), chance, CASES) for _ in range(1_500)])


@needs_bash
@pytest.mark.slow
def test_many_changed_commands_are_read_as_bash_reads_them() -> None:
    chance = random.Random(12)
    check_against_bash([mutated(chance.choice(CASES), chance, CASES) for _ in range(40_000)])


INSERTED = (
    "\\\n",
    "\\",
    "\r",
    "\n",
    ";",
    "&",
    "|",
    "'",
    '"',
    "`",
    "$",
    "$(",
    "(",
    "{",
    "}",
    "#",
    "~",
    "=",
    "!",
    "[",
    ">",
    "<<E\n",
)
"""What is put at every place of every case. The continued line matters most: bash joins before it tokenizes."""


def with_inserted(piece: str) -> list[str]:
    return [text[:place] + piece + text[place:] for text in CASES for place in range(len(text) + 1)]


@needs_bash
def test_a_piece_put_anywhere_is_read_as_bash_reads_it() -> None:
    chance = random.Random(13)
    continued = chance.sample(with_inserted("\\\n"), 600)
    others = [chance.choice(with_inserted(piece)) for piece in INSERTED for _ in range(20)]
    check_against_bash(continued + others)


@needs_bash
@pytest.mark.slow
@pytest.mark.parametrize("piece", INSERTED)
def test_a_piece_put_everywhere_is_read_as_bash_reads_it(piece: str) -> None:
    check_against_bash(with_inserted(piece))


# --- work in proportion to the length -------------------------------------------------------------------------


class CountingText(str):
    """A text that counts how many of its characters are looked at, by indexing, slicing and searching."""

    __slots__ = ()
    seen = 0

    @overload
    def __getitem__(self, place: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> str: ...
    def __getitem__(self, place: SupportsIndex | slice) -> str:
        result = str.__getitem__(self, place)
        CountingText.seen += len(result)
        return result

    def find(self, sub: str, start: SupportsIndex | None = None, end: SupportsIndex | None = None) -> int:
        begin = int(start or 0)
        result = str.find(self, sub, begin, end)
        CountingText.seen += (result if result >= 0 else min(len(self), int(end or len(self)))) - begin + 1
        return result

    def count(self, sub: str, start: SupportsIndex | None = None, end: SupportsIndex | None = None) -> int:
        CountingText.seen += len(self)
        return str.count(self, sub, start, end)


MOST_WORK = 3_000_000


class TooMuchWorkError(Exception):
    """Raised instead of counting on, so that a test of exponential work ends."""


def work(text: str) -> int:
    """Characters looked at, plus calls of Python and of C functions, while `text` is parsed."""
    calls = 0

    def on_event(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")
        if calls + CountingText.seen > MOST_WORK:
            raise TooMuchWorkError(f"more than {MOST_WORK:,} steps for {len(text)} characters")

    CountingText.seen = 0
    sys.setprofile(on_event)
    try:
        parse(text)
    except ShellSyntaxError:
        pass
    finally:
        sys.setprofile(None)
    return CountingText.seen + calls


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """`work`, with cursors whose text counts."""
    plain = cursor_module.Cursor.__init__

    def counting(self: cursor_module.Cursor, *args: object) -> None:
        plain(self, *args)  # type: ignore[arg-type]
        self.text = CountingText(self.text)

    monkeypatch.setattr(cursor_module.Cursor, "__init__", counting)
    return work


FAMILIES: dict[str, Callable[[int], str]] = {
    # what opens and never closes
    "parentheses": lambda n: "(" * n,
    "parentheses apart": lambda n: "( " * n,
    "substitutions": lambda n: "$(" * n,
    "quoted substitutions": lambda n: '"$(' * n,
    "backticks": lambda n: "`" * n,
    "braces": lambda n: "{" * n,
    "groups": lambda n: "{ " * n,
    "brackets": lambda n: "echo " + "[" * n,
    "array elements": lambda n: "a[" * n,
    "arithmetic commands": lambda n: "((" * n,
    "arithmetic": lambda n: "$((" * n,
    "arithmetic with a space": lambda n: "$(( " * n,
    "old arithmetic": lambda n: "$[" * n,
    "here-documents": lambda n: "<<E " * n,
    "here-documents and bodies": lambda n: "<<E " * n + "\n" + "a\n" * n,
    "defaults": lambda n: "${x:-" * n,
    "quoted defaults": lambda n: '"${x:-' * n,
    "replacements": lambda n: "${x/" * n,
    "brace expansions": lambda n: "echo " + "{a," * n,
    "tildes": lambda n: "~" * n,
    "tildes in a value": lambda n: "a=" + ":~" * n,
    "double quotes": lambda n: 'echo "' * n,
    "single quotes": lambda n: "'a' '" * n,
    "backslashes": lambda n: "\\" * n,
    "continuations": lambda n: "\\\n" * n,
    "continuations after an operator": lambda n: "a &" + "\\\n" * n + "b",
    "continued words": lambda n: "a\\\n" * n,
    "extended globs": lambda n: "ls " + "@(a|" * n,
    "process substitutions": lambda n: "cat " + "<(" * n,
    "ifs": lambda n: "if " * n,
    "cases": lambda n: "case a in b) " * n,
    "functions": lambda n: "f() " * n,
    "conditions": lambda n: "[[ " + "( " * n,
    "negations": lambda n: "! " * n,
    "times": lambda n: "time " * n,
    "negated conditions": lambda n: "[[ " + "! " * n + "a ]]",
    "arrays": lambda n: "a=(" * n,
    # long and correct
    "words": lambda n: "a " * n,
    "a long word": lambda n: "a" * n,
    "quoted parts": lambda n: "'a'\"b\"" * n,
    "escapes": lambda n: "\\a" * n,
    "statements": lambda n: "a;" * n,
    "lines": lambda n: "a\n" * n,
    "pipeline": lambda n: "a | " * n + "b",
    "and-or": lambda n: "a && " * n + "b",
    "comments": lambda n: "# it's\n" * n,
    "assignments": lambda n: "a=b " * n,
    "redirections": lambda n: ">a " * n,
    "closed here-documents": lambda n: "cat <<E\nb\nE\n" * n,
    "here-documents of one line": lambda n: "<<E " * n + "\n" + "E\n" * n,
    "a long here-document": lambda n: "cat <<E\n" + "a $x `b`\n" * n + "E",
    "a here-document with tabs": lambda n: "cat <<-E\n" + "\ta $x\n" * n + "E",
    "a continued here-document": lambda n: "cat <<E\n" + "a\\\n" * n + "\nE",
    "small backticks": lambda n: "`a` " * n,
    "small substitutions": lambda n: "$(a) " * n,
    "small subshells": lambda n: "(a);" * n,
    "two subshells": lambda n: "((a); b);" * n,
    "small arithmetic": lambda n: "$((1+2)) " * n,
    "a sum": lambda n: "echo $((" + "1+" * n + "1))",
    "assignments in arithmetic": lambda n: "((" + "a=" * n + "1))",
    "choices in arithmetic": lambda n: "((" + "a?b:" * n + "1))",
    "signs in arithmetic": lambda n: "((" + "- " * n + "1))",
    "arithmetic groups": lambda n: "((" + "(" * n + "1" + ")" * n + "))",
    "arms": lambda n: "case a in " + "b) c;; " * n + "esac",
    "patterns": lambda n: "case a in " + "b|" * n + "c) d;; esac",
    "elifs": lambda n: "if a; then b; " + "elif c; then d; " * n + "fi",
    "array": lambda n: "a=(" + "b " * n + ")",
    "array of elements": lambda n: "a=(" + "[b]=c " * n + ")",
    "parameters": lambda n: "$a" * n,
    "quoted parameters": lambda n: 'echo "' + "${a:-b} " * n + '"',
    "dollars": lambda n: "$ " * n,
    "globs": lambda n: "*?" * n,
    "bracket expressions": lambda n: "ls " + "[a]" * n,
    "brackets cut by quotes": lambda n: "ls " + "['" * n,
    "open brackets with text": lambda n: "ls " + "[a" * n,
    "classes": lambda n: "ls [" + "[:" * n,
    "small braces": lambda n: "{a,b} " * n,
    "numbers before a redirection": lambda n: "1" * n + ">a",
    "names in braces": lambda n: "{a" * n + "}>b",
    "conditions joined": lambda n: "[[ " + "a && " * n + "b ]]",
    "a regular expression": lambda n: "[[ a =~ " + "(a|b)" * n + " ]]",
    "ANSI-C escapes": lambda n: "echo $'" + "\\x41" * n + "'",
    "carriage returns": lambda n: "a\r\n" * n,
    "unbalanced closers": lambda n: "echo " + "}" * n,
    "quotes in a parameter": lambda n: '"${x:-' + "'a'" * n + '}"',
    "reserved words": lambda n: "echo " + "if then fi " * n,
    "function-like words": lambda n: "ls " + "a( " * n,
    "coprocesses": lambda n: "coproc " * n,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_work_grows_with_the_length_and_no_faster(family: str, counted: Callable[[str], int]) -> None:
    """Twice the text takes at most three times the work. Counted, not timed: equal on every machine."""
    make = FAMILIES[family]
    small, large = 400, 800
    once, twice = counted(make(small)), counted(make(large))
    assert twice < 3 * once, f"{once} for {len(make(small))} characters, {twice} for {len(make(large))}"


NESTS: dict[str, Callable[[int], str]] = {
    "arithmetic": lambda k: "echo " + "$((" * k + "1" + "))" * k,
    "sums": lambda k: "echo " + "$((1+" * k + "1" + "))" * k,
    "quoted arithmetic": lambda k: "echo " + '$(("' * k + "1" + '"))' * k,
    "subscripts": lambda k: "echo " + "$((a[" * k + "1" + "]))" * k,
    "substitutions in arithmetic": lambda k: "echo " + "$(( $(" * k + "a" + ") ))" * k,
    "arithmetic commands": lambda k: "(( $(" * k + ":" + ") ))" * k,
    "subshells": lambda k: "((" * k + "a" + "); b)" * k,
    "subshells in substitutions": lambda k: "echo " + "$((" * k + "a" + "); b)" * k,
    "both": lambda k: "echo " + "$(( $((a); " * k + "1" + ") + 1 ))" * k,
    "offsets": lambda k: "echo " + "${x:$((" * k + "1" + "))}" * k,
    "defaults in arithmetic": lambda k: "echo " + "$((${x:-" * k + "1" + "}))" * k,
    "arithmetic in backticks": lambda k: "echo `echo " + "$((" * k + "1" + "))" * k + "`",
    "arithmetic in a here-document": lambda k: "cat <<E\n" + "$((" * k + "1" + "))" * k + "\nE",
    "arithmetic that is wrong": lambda k: "echo " + "$((1 " * k + "1" + "))" * k,
    "arithmetic closed apart": lambda k: "echo " + "$((1 " * k + "1" + ") )" * k,
    "arithmetic closed once": lambda k: "echo " + "$((" * k + "1" + ")" * k,
    "open quotes in arithmetic": lambda k: "echo " + '$(("$(' * k,
    "open subscripts in arithmetic": lambda k: "echo " + "$((a[$(" * k,
    "wrong inside": lambda k: "echo " + "$((" * k + "1 2" + "))" * k,
    "wrong inside commands": lambda k: "((" * k + "1 2" + "))" * k,
    "wrong inside both": lambda k: "(( $((" * k + "1 2" + ")) ))" * k,
    "commands and expansions": lambda k: "(( $(( " * k + "1" + " )) ))" * k,
    "wrong substitutions in arithmetic": lambda k: "echo " + "$(( $(" * k + ";;" + ") ))" * k,
    "wrong offsets": lambda k: "echo " + "${x:$((" * k + "1 2" + "))}" * k,
    "braces": lambda k: "echo " + "{a," * k + "b" + "}" * k,
    "extended globs": lambda k: "ls " + "@(a|" * k + "b" + ")" * k,
    "quoted substitutions": lambda k: "echo " + '"$(echo ' * k + "a" + ')"' * k,
    "defaults": lambda k: "echo " + '"${x:-' * k + "a" + '}"' * k,
    "groups": lambda k: "{ " * k + "a;" + " }" * k,
    "functions": lambda k: "f() { " * k + "a;" + " };" * k,
    "conditions": lambda k: "[[ " + "$([[ " * k + "a" + " ]])" * k + " ]]",
    "arrays": lambda k: "a=($(" * k + "b" + "))" * k,
    "process substitutions": lambda k: "cat " + "<(cat " * k + "a" + ")" * k,
}
"""Nests of the given depth that are closed."""


@pytest.mark.parametrize("nest", NESTS)
def test_nesting_costs_no_exponential_work(nest: str, counted: Callable[[str], int]) -> None:
    """Three times as deep: quadratic were 9 times the work; reading all twice a level makes it 2 ** 8 times."""
    make = NESTS[nest]
    shallow, deep = counted(make(4)), counted(make(12))
    assert deep < 30 * shallow, f"{shallow} for depth 4, {deep} for depth 12"


@pytest.mark.parametrize("nest", NESTS)
@pytest.mark.parametrize("depth", [16, 24, MAX_DEPTH // 2, MAX_DEPTH - 1, MAX_DEPTH])
def test_the_deepest_nests_end(nest: str, depth: int, counted: Callable[[str], int]) -> None:
    """`counted` gives up long before a person would."""
    counted(NESTS[nest](depth))


@pytest.mark.parametrize("family", FAMILIES)
def test_no_text_takes_more_than_its_length_allows(family: str, counted: Callable[[str], int]) -> None:
    """A family that is refused early at every size could still be slow before: so the absolute work is
    bounded as well."""
    text = FAMILIES[family](400)
    assert counted(text) < 3_000 * (MAX_DEPTH + len(text))


def test_the_count_sees_quadratic_work(counted: Callable[[str], int]) -> None:
    def quadratic(n: int) -> int:
        CountingText.seen = 0
        text = CountingText("a" * n)
        for place in range(n):
            text.find("b", place)
        return CountingText.seen

    assert quadratic(800) > 3 * quadratic(400)
    assert counted("a " * 800) > 1.5 * counted("a " * 400)


MEGABYTE = 1_000_000

LONG = {
    "plain": "ls -l aaaaaaaaaaaa " * (MEGABYTE // 19),
    "one word": "a" * MEGABYTE,
    "one quoted word": "echo '" + "a" * MEGABYTE + "'",
    "an open quote": '"' + "a" * MEGABYTE,
    "lines": ("ls " + "a" * 96 + "\n") * (MEGABYTE // 100),
    "an open here-document": "cat <<E\n" + "a\n" * (MEGABYTE // 2),
    "a binary file": "\x7fELF\x01\x02" * (MEGABYTE // 6),
    "NULs": "\0" * MEGABYTE,
    "CRLF": ("ls " + "a" * 95 + "\r\n") * (MEGABYTE // 100),
    "surrogates": "\ud800" * MEGABYTE,
    "parentheses": "(" * MEGABYTE,
    "backticks": "`" * MEGABYTE,
    "braces": "{" * MEGABYTE,
}


@pytest.mark.parametrize("name", LONG)
def test_a_megabyte_of_anything_gives_a_tree_or_a_refusal(name: str) -> None:
    tree_or_none(LONG[name])


@pytest.mark.parametrize("nest", NESTS)
@pytest.mark.parametrize("depth", [MAX_DEPTH // 4, 2 * MAX_DEPTH])
def test_a_refusal_inside_a_long_text_keeps_no_copy_of_it(nest: str, depth: int) -> None:
    """What is tried and read again is refused many times on the way; each refusal once held the text anew."""
    text = NESTS[nest](depth) + "\n" + "a" * 200_000
    tracemalloc.start()
    tree_or_none(text)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 10 * len(text)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_megabyte_of_each_family(family: str) -> None:
    make = FAMILIES[family]
    tree_or_none(make(MEGABYTE // len(make(1))))
