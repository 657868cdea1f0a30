# SPDX-License-Identifier: Apache-2.0
"""What a word does while the shell expands it: substitutions run, parameters are assigned, subscripts are evaluated.

What the word *becomes* is not asked here but in `values.resolve`, which finds what is known of each substitution's
output in the scope, where `visit` has put it.
"""

from __future__ import annotations

from shellguard.analysis.arithmetic import arithmetic, arithmetic_text
from shellguard.analysis.dialects import equals_in_zsh, modifier_in_zsh, refused, subscript_in_zsh
from shellguard.analysis.variables import assign_perhaps
from shellguard.effects import Kind
from shellguard.errors import assert_never
from shellguard.syntax.nodes import (
    AnsiC,
    ArithSub,
    Array,
    Brace,
    BraceRange,
    CommandSub,
    Double,
    Escaped,
    ExtGlob,
    Glob,
    Param,
    ProcessSub,
    Single,
    Text,
    Tilde,
    Word,
)
from shellguard.values.parameters import certainly_set
from shellguard.values.resolve import goes_on_in_zsh, single

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.inquiry import Inquiry
    from shellguard.syntax.nodes import WordPart
    from shellguard.values.scope import Scope


def visit(word: Word, scope: Scope, inquiry: Inquiry) -> None:
    """Judges everything that expanding `word` runs or sets."""
    for part in word.parts:
        if type(part) is not Text:
            _part(part, scope, inquiry)
    if scope.has_zsh:
        if word.parts:
            equals_in_zsh(word.parts[0], inquiry)
        _visit_for_zsh(word.parts, inquiry)


def _visit_for_zsh(parts: tuple[WordPart, ...], inquiry: Inquiry) -> None:
    """Judges what zsh finds in words beyond what bash does."""
    for index, part in enumerate(parts):
        if type(part) is Double:
            _visit_for_zsh(part.parts, inquiry)
        elif type(part) is Param:
            if goes_on_in_zsh(part, parts[index + 1 : index + 2]) == "[":
                subscript_in_zsh(part, parts[index + 1 :], inquiry)
            if part.operator == ":":
                modifier_in_zsh(part, inquiry)


def visit_pattern(word: Word, scope: Scope, inquiry: Inquiry) -> None:
    """Judges a pattern of `[[ == ]]`, where extended globs are always on."""
    for part in word.parts:
        if type(part) is ExtGlob:
            refused(part.span, "an extended pattern", inquiry)
            for arm in part.arms:
                visit_pattern(arm, scope, inquiry)
        elif type(part) is not Text:
            _part(part, scope, inquiry)


def visit_array(array: Array, scope: Scope, inquiry: Inquiry) -> None:
    """Judges the elements of `name=(...)`."""
    refused(array.span, "an array", inquiry)
    for element in array.elements:
        if element.index is not None:
            visit(element.index, scope, inquiry)
            arithmetic_text(single(element.index, scope), scope, inquiry)
        visit(element.value, scope, inquiry)


def _part(part: WordPart, scope: Scope, inquiry: Inquiry) -> None:
    match part:
        case Text() | AnsiC() | Glob() | Tilde() | BraceRange():
            pass
        case Escaped(char):
            if char in _FISH_ESCAPES and inquiry.assumptions.shell == "any":
                inquiry.unknown(part.span, f"fish makes another character of \\{char}", Kind.DIALECT)
        case Single(text):
            if text.endswith("\\") and inquiry.assumptions.shell == "any":
                inquiry.unknown(part.span, "fish does not end the quotes behind a backslash", Kind.DIALECT)
        case Double(parts):
            for inner in parts:
                _part(inner, scope, inquiry)
        case Param():
            _parameter(part, scope, inquiry)
        case CommandSub():
            _command_substitution(part, scope, inquiry)
        case ProcessSub():
            refused(part.span, "a process substitution", inquiry)
            _process_substitution(part, scope, inquiry)
        case ArithSub(expression):
            if expression is not None:
                arithmetic(expression, scope, inquiry)
        case ExtGlob(_, words):
            because = "bash refuses this unless extglob is on, and zsh reads it in a way of its own"
            inquiry.unknown(part.span, because, Kind.DIALECT)
            for word in words:
                visit(word, scope, inquiry)
        case Brace(words):
            for word in words:
                visit(word, scope, inquiry)
        case Array():
            visit_array(part, scope, inquiry)
        case _:
            assert_never(part)


def _process_substitution(part: ProcessSub, scope: Scope, inquiry: Inquiry) -> None:
    inquiry.fed = None
    log = inquiry.limits.log
    mark = log.fed_by_any() if log is not None and part.direction == ">" else None
    inquiry.inside(None).script(part.script, scope.layer())
    if log is not None and mark is not None:
        log.back(mark)


_FISH_ESCAPES = frozenset("abcefnrtvxXuUo01234567")


def _command_substitution(part: CommandSub, scope: Scope, inquiry: Inquiry) -> None:
    inquiry.fed = None
    if part.form == "$(":
        output = inquiry.inside(None).script(part.script, scope.layer())
        scope.keep_output(part, output if output is None or output.many else output.or_nothing())
        return
    because = f"{part.form} ...}} runs commands in new shells and is refused by older ones"
    inquiry.unknown(part.span, because, Kind.DIALECT)
    inquiry.inside(None).script(part.script, scope)


_HARMLESS = frozenset(
    {
        *("", "-", ":-", "?", ":?", "+", ":+", ":", "#", "##", "%", "%%", "/", "//", "/#", "/%"),
        *(
            "^",
            "^^",
            ",",
            ",,",
            "~",
            "~~",
            "@Q",
            "@E",
            "@A",
            "@K",
            "@a",
            "@k",
            "@u",
            "@U",
            "@L",
            "names*",
            "names@",
        ),
    }
)
"""Operators that only make another text of the value. `@P` reads it as a prompt, which may run commands."""


_NOT_IN_ZSH = frozenset(
    {"^", "^^", ",", ",,", "~", "~~", "@Q", "@E", "@A", "@K", "@a", "@k", "@u", "@U", "@L"}
)


def _parameter(part: Param, scope: Scope, inquiry: Inquiry) -> None:
    operator = part.operator
    assigns = operator in ("=", ":=")
    start = inquiry.seen if assigns else 0
    if part.index is not None:
        visit(part.index, scope, inquiry)
        _subscript(part.index, scope, inquiry)
    for argument in part.arguments:
        if isinstance(argument, Word):
            visit(argument, scope, inquiry)
        elif argument is not None:
            arithmetic(argument, scope, inquiry)
    if assigns:
        word = part.arguments[0]
        assert isinstance(word, Word)
        if part.index is not None or not certainly_set(scope.value(part.name, part.span)):
            assign_perhaps(part.name, single(word, scope), part.span, scope, inquiry)
        if inquiry.limits.log is not None:
            inquiry.limits.log.filled(part.name, start, word)
    elif operator in _NOT_IN_ZSH and scope.has_zsh:
        inquiry.unknown(part.span, f"zsh refuses ${{{part.name}{operator}}}", Kind.DIALECT)
    elif operator not in _HARMLESS:
        inquiry.unknown(part.span, f"${{{part.name}{operator}}} may run what the value says", Kind.EVALUATED)
    if part.prefix == "!" and not operator.startswith("names") and not _lists_keys(part):
        because = f"${{!{part.name}}} reads whatever variable the value names"
        inquiry.unknown(part.span, because, Kind.EVALUATED)


def _lists_keys(part: Param) -> bool:
    """Whether this is `${!a[@]}` or `${!a[*]}`: the keys of an array, and no indirection."""
    return part.operator == "" and part.index is not None and _whole_array(part.index)


def _subscript(index: Word, scope: Scope, inquiry: Inquiry) -> None:
    """`[index]`: arithmetic, but for `@` and `*`."""
    if not _whole_array(index):
        arithmetic_text(single(index, scope), scope, inquiry)


def _whole_array(index: Word) -> bool:
    if len(index.parts) != 1:
        return False
    part = index.parts[0]
    return (type(part) is Text or type(part) is Glob) and part.text in ("@", "*")


def visit_subscript(index: Word, scope: Scope, inquiry: Inquiry) -> None:
    """Judges the subscript of an assignment, `name[index]=`."""
    visit(index, scope, inquiry)
    _subscript(index, scope, inquiry)
