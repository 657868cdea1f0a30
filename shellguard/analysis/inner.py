# SPDX-License-Identifier: Apache-2.0
"""The command inside a command (`env`, `xargs`, `find -exec`, `eval`). Which words it is, the rule says (`runs`)."""

from __future__ import annotations

from shellguard.analysis.bind import assigned, exists
from shellguard.analysis.output import found_under
from shellguard.analysis.variables import Setting, is_name
from shellguard.effects import Frame, Kind
from shellguard.values.value import Value, beginning, is_plain, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.bind import Bound, Use
    from shellguard.analysis.call import Call
    from shellguard.analysis.inquiry import Inquiry
    from shellguard.effects import RuleRef
    from shellguard.rules.model import Operand, Runs
    from shellguard.spans import Span
    from shellguard.values.scope import Scope


MAX_UNSEEN = 8
"""Words that are not known in front of a command inside a command; with more of them nothing further is judged."""


def inner_commands(call: Call, scope: Scope, inquiry: Inquiry, settings: tuple[Setting, ...]) -> None:
    """Judges every command that the call runs and that its words name."""
    for level in call.levels:
        for use in level.uses if level.acts else ():
            if use.option.runs_value:
                source = call.ref(level.spec, use.option.line, f"options.{use.option.name}")
                _run(_words_of(use, call), use.span, call, source, settings, scope, inquiry)
    runs = call.leaf.spec.runs
    if runs is not None:
        _runs(runs, call, scope, inquiry, settings)


def _words_of(use: Use, call: Call) -> list[Value]:
    """The words of the command that an option runs, with what is filled in or added."""
    option = use.option
    many = use.many or option.adds == "words"
    words = list(use.values)
    filled = any(text in word.text or not word.exact for text in option.fills for word in words)
    for text in option.fills:
        words = _filled(words, text, found_under(call), many=many)
    if option.adds is not None and not (filled and all(word.exact for word in use.values)):
        words.append(unknown(call.span, many=many or filled))
    return words


def _runs(runs: Runs, call: Call, scope: Scope, inquiry: Inquiry, settings: tuple[Setting, ...]) -> None:
    bound = call.leaf
    source = call.ref(bound.spec, runs.line, "runs")
    if not runs.absent_with.isdisjoint(bound.certain):
        return
    unseen = sum(1 for value in bound.operands if not value.exact and value.text == "") if bound.loose else 0
    if unseen > MAX_UNSEEN:
        because = (
            f"where the command of `{bound.spec.name}` begins cannot be told: too many words are not known"
        )
        inquiry.unknown(call.span, because, Kind.LIMIT, source)
        return
    if bound.loose and any(value.many for value in bound.operands):
        because = f"where the command of `{bound.spec.name}` begins cannot be told"
        inquiry.unknown(call.span, because, Kind.UNSEEN, source)
    for words in _readings(runs, bound):
        if runs.joined is not None:
            _joined(runs.joined, words, call, source, scope, inquiry)
        else:
            _run_words(runs, words, call, source, scope, inquiry, settings)


def _run_words(
    runs: Runs,
    words: list[Value],
    call: Call,
    source: RuleRef,
    scope: Scope,
    inquiry: Inquiry,
    settings: tuple[Setting, ...],
) -> None:
    inner_settings = list(settings)
    while runs.assignments and words and _is_assignment(words[0]):
        inner_settings.append(_setting(words.pop(0)))
    if not words:
        if runs.default is None:
            return
        words = [Value(runs.default, call.span)]
    filled = _fills(runs, call.leaf)
    fed = inquiry.fed if _takes_input_as_it_is(call.leaf, runs) and not inquiry.limits.input_moved else None
    words = _filled(words, filled, fed)
    if runs.adds and filled is None:
        words.append(_fed_words(call.span, fed))
    typed = None if runs.adds else inquiry.typed
    _run(words, call.span, call, source, tuple(inner_settings), scope, inquiry, typed)


def _readings(runs: Runs, bound: Bound) -> list[list[Value]]:
    """The words of the inner command, once for each way to read the call.

    A word that may be an option is no operand then, and may take the next one as its value: all that follows moves up.
    It may also be one that gives the call another slot.
    """
    there = [(slot, exists(slot, bound)) for slot in bound.spec.operands]
    certain = [slot for slot, exists_here in there if exists_here]
    possible = [slot for slot, exists_here in there if exists_here is not False]
    operands = bound.operands
    readings = [_words(runs, certain, operands)]
    if bound.loose:
        readings.append(_words(runs, possible, operands))
        for index, value in enumerate(operands):
            if not value.exact and value.text == "":
                for taken in (1, 2):
                    readings.append(_words(runs, certain, operands[:index] + operands[index + taken :]))
    elif any(value.may_be_absent for value in operands[: len(certain)]):
        readings.append(_words(runs, certain, [value for value in operands if not value.may_be_absent]))
    return [words for index, words in enumerate(readings) if words or not index]


def _words(runs: Runs, slots: list[Operand], operands: list[Value]) -> list[Value]:
    """The words that the inner command has: those of the slot that the rule names, or those that no slot takes."""
    wanted = None if runs.words == "operands" else runs.words
    names = [None if slot is None else slot.name for slot in assigned(slots, len(operands))]
    return [value for value, name in zip(operands, names, strict=True) if name == wanted]


def _is_assignment(word: Value) -> bool:
    name, equals, _ = word.text.partition("=")
    return bool(equals) and is_name(name) and not word.many


def _setting(word: Value) -> Setting:
    name, _, text = word.text.partition("=")
    return Setting(name, Value(text, word.span, exact=word.exact), word.span)


def _fills(runs: Runs, bound: Bound) -> str | None:
    """The text that is replaced inside the command, None where nothing is."""
    text: str | None = None
    for use in bound.uses:
        if use.option.name in runs.fills:
            value = use.values[0] if use.values else None
            text = "{}" if value is None else value.text if value.exact else ""
    return text


def _takes_input_as_it_is(bound: Bound, runs: Runs) -> bool:
    """Whether the words are those of standard input: no option but those of `fills` has a value that is no number.

    Another value may be a delimiter that cuts the words, or a file that is read in place of the input.
    """
    return all(
        value.is_integer for use in bound.uses if use.option.name not in runs.fills for value in use.values
    )


def _fed_words(span: Span, fed: Value | None) -> Value:
    """What standard input adds: any words, or, where its shape is known, words that begin so."""
    if fed is None:
        return unknown(span, many=True)
    return Value(fed.text, span, exact=False, many=True, shape=fed.shape)


def _filled(
    words: list[Value], text: str | None, filling: Value | None, *, many: bool = False
) -> list[Value]:
    """The words with every `text` in them replaced: by a word like `filling`, or by one that is not known at all.

    `many`: each such word becomes any number of words.
    """
    if text is None:
        return words
    return [_fill(word, text, filling, many) for word in words]


def _fill(word: Value, text: str, filling: Value | None, many: bool) -> Value:
    if text == "":
        return unknown(word.span, many=many)
    at = word.text.find(text)
    if at < 0:
        return word
    before = word.text[:at]
    if filling is None or not filling.shape:
        return beginning(before, word.span, many=many)
    if before.startswith("-") or not is_plain(before + "x"):
        return beginning(before + filling.text, word.span, many=many)
    shape = filling.shape if word.text == text else ""
    return Value(before + filling.text, word.span, exact=False, many=many, shape=shape)


def _run(
    words: list[Value],
    span: Span,
    call: Call,
    source: RuleRef,
    settings: tuple[Setting, ...],
    scope: Scope,
    inquiry: Inquiry,
    typed: Value | None = None,
) -> None:
    """Judges one inner command. No function is meant by its name: `command` and every program look past them."""
    if not words:
        inquiry.unknown(span, f"`{call.leaf.spec.name}` names no command", Kind.MALFORMED, source)
        return
    if inquiry.too_deep(span) or not inquiry.step(span, 1 + len(words) // 4):
        return  # a word that is not known gives several readings, and each level of commands multiplies them
    inner = inquiry.inside(Frame(_place_of(call), source))
    inner.typed = typed
    layer = scope.layer()
    head = words[0]
    if head.exact:
        layer.define(head.text, None)
    inner.command(words, layer, settings)
    if layer.functions.get(head.text) == (None,):
        del layer.functions[head.text]
    scope.merge(layer)


def _place_of(call: Call) -> str:
    """The name of the command that runs another; where that is elsewhere, with the host or container."""
    name = call.leaf.spec.name
    if "remote" not in call.leaf.spec.marks or not call.placed:
        return name
    value, slots = call.placed[0]
    return f"{name} {value.text}" if value.exact and slots else name


def _joined(
    language: str, words: list[Value], call: Call, source: RuleRef, scope: Scope, inquiry: Inquiry
) -> None:
    """The words, joined by spaces, are shell text: for this shell or for a new one."""
    from shellguard.analysis.embedded.shell import run_text, shell_facts

    if not words:
        return
    span = (words[0].span[0], words[-1].span[1])
    if any(not word.exact for word in words):
        because = f"`{call.leaf.spec.name}` runs a text that is not known"
        inquiry.unknown(span, because, Kind.UNSEEN, source)
        return
    text = Value(" ".join(word.text for word in words), span)
    if language == "shell":
        run_text(text, scope, inquiry.inside(Frame(call.leaf.spec.name, source), span), source)
    else:
        inner = inquiry.inside(Frame(_place_of(call), source))
        shell_facts(language, text, source, scope, inner, same_shell=False)
