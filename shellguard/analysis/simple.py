# SPDX-License-Identifier: Apache-2.0
"""One simple command: assignments, words, and who is meant by its name."""

from __future__ import annotations

from shellguard.analysis.evaluate import invocation
from shellguard.analysis.functions import call
from shellguard.analysis.variables import Setting, appended, assign, assign_perhaps, handed_on
from shellguard.analysis.words import visit, visit_array, visit_subscript
from shellguard.effects import Kind, RuleRef
from shellguard.rules.model import BrokenRule, CommandRule, Overlaid
from shellguard.syntax.nodes import Array, Single, Text
from shellguard.values.resolve import arguments, fields, has_extensions, single, without_extensions
from shellguard.values.scope import MAX_CHOICES, Variable
from shellguard.values.value import Value, unknown, widen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.inquiry import Inquiry
    from shellguard.analysis.seen import Log
    from shellguard.syntax.nodes import Assignment, Simple, Word
    from shellguard.values.scope import Scope

SYSTEM_FOLDERS = frozenset(
    {"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/usr/lib/git-core"}
)
"""Where a path names the tool of that name. Any other folder may hold any program under any name."""


_INERT = (Text, Single)  # in bash; fish and zsh may find something in them


def simple(node: Simple, scope: Scope, inquiry: Inquiry, typed: Value | None = None) -> Value | None:
    """Judges a simple command. Gives back what is known of its output. `typed`: the text on its standard input."""
    if not inquiry.step(node.span):
        return None
    log = inquiry.limits.log
    if log is None:
        output = _simple(node, scope, inquiry, typed)
    else:
        mark = log.mark()
        output = _simple(node, scope, inquiry, typed, log)
        log.back(mark)
    if node.words:
        inquiry.fed = None
    return output


def _simple(
    node: Simple, scope: Scope, inquiry: Inquiry, typed: Value | None, log: Log | None = None
) -> Value | None:
    start = 0 if log is None else len(log.commands)
    if not node.words:
        for assignment in node.assignments:
            _visit_assignment(assignment, scope, inquiry)
            _assign(assignment, scope, inquiry)
            if log is not None:
                log.filled(assignment.name, start, assignment)
        return None
    for assignment in node.assignments:
        _visit_assignment(assignment, scope, inquiry)
    for word in node.words:
        if scope.has_zsh or len(word.parts) != 1 or type(word.parts[0]) not in _INERT:
            visit(word, scope, inquiry)
    if log is not None:
        log.words_since(start)
        for word in node.words:
            log.words_from = (*log.words_from, *log.held_by(word))
    if typed is not None:
        inquiry = inquiry.given(typed)  # what a substitution in its words runs has another input
    readings = _readings(node, scope)
    if inquiry.assumptions.has_posix and has_extensions(node.words):
        readings.append((without_extensions(node.words, scope), _settings(node, scope)))
    if len(readings) == 1:
        return command(readings[0][0], scope, inquiry, readings[0][1])
    return _common_output([command(words, scope, inquiry, settings) for words, settings in readings])


def _common_output(outputs: list[Value | None]) -> Value | None:
    known = [output for output in outputs if output is not None]
    return widen(known, known[0].span) if known and len(known) == len(outputs) else None


# --- assignments ------------------------------------------------------------------------------------------------------


def _visit_assignment(assignment: Assignment, scope: Scope, inquiry: Inquiry) -> None:
    if assignment.index is not None:
        visit_subscript(assignment.index, scope, inquiry)
    if isinstance(assignment.value, Array):
        visit_array(assignment.value, scope, inquiry)
    else:
        visit(assignment.value, scope, inquiry)


def _assign(assignment: Assignment, scope: Scope, inquiry: Inquiry) -> None:
    """An assignment that stands alone, and stays."""
    span = assignment.span
    if isinstance(assignment.value, Array):
        assign(assignment.name, _array(assignment, assignment.value, scope), span, scope, inquiry)
        return
    scope.branching.clear()
    value = single(assignment.value, scope)
    if assignment.index is not None:
        scope.arrays.add(assignment.name)
        value = unknown(span)
    elif inquiry.assumptions.has_posix and has_extensions((assignment.value,)):
        value = unknown(span)
    elif assignment.append and inquiry.assumptions.has_posix:  # no assignment in dash
        assign_perhaps(assignment.name, appended(assignment.name, value, scope), span, scope, inquiry)
        return
    elif assignment.append:
        value = appended(assignment.name, value, scope)
    elif scope.branching:
        choices = _choices(assignment.value, scope)
        if choices is not None:
            assign(assignment.name, Variable(choices, span), span, scope, inquiry)
            return
    assign(assignment.name, value, span, scope, inquiry)


def _choices(word: Word, scope: Scope) -> tuple[Value, ...] | None:
    """Each text that the word may be, where it holds one variable with several choices."""
    names = list(scope.branching)
    scope.branching.clear()
    if len(names) != 1:
        return None
    variable = scope.variable(names[0])
    if variable is None:
        return None
    found = []
    for choice in variable.choices:
        scope.pinned[names[0]] = choice
        found.append(single(word, scope))
    scope.pinned.clear()
    return tuple(dict.fromkeys(found))


def _array(assignment: Assignment, array: Array, scope: Scope) -> Variable:
    """What `name=(...)` makes of the variable: its elements where they are plain words."""
    span = assignment.span
    before = scope.variable(assignment.name)
    elements: list[Value] = []
    scope.arrays.add(assignment.name)
    if assignment.append:
        if before is None or before.elements is None:
            return Variable((unknown(span),), span)
        elements += before.elements
    for element in array.elements:
        if element.index is not None:
            return Variable((unknown(span),), span)
        elements += fields(element.value, scope)
    return Variable((unknown(span),), span, tuple(elements))


# --- words ------------------------------------------------------------------------------------------------------------


def _readings(node: Simple, scope: Scope) -> list[tuple[list[Value], tuple[Setting, ...]]]:
    """The words and settings of the command, once for each combination of values that its variables may have."""
    scope.branching.clear()
    readings = [(arguments(node.words, scope), _settings(node, scope) if node.assignments else ())]
    if scope.branching:
        names = list(scope.branching)
        combinations: list[dict[str, Value]] = [{}]
        for name in names:
            variable = scope.variable(name)
            if variable is None or len(combinations) * len(variable.choices) > MAX_CHOICES:
                continue  # known by what its values have in common
            combinations = [{**pins, name: choice} for pins in combinations for choice in variable.choices]
        readings = []
        for pins in combinations:
            scope.pinned.update(pins)
            readings.append((arguments(node.words, scope), _settings(node, scope)))
            scope.pinned.clear()
        scope.branching.clear()
    return readings


def _settings(node: Simple, scope: Scope) -> tuple[Setting, ...]:
    return tuple(
        Setting(
            assignment.name,
            _setting(assignment, scope),
            assignment.span,
        )
        for assignment in node.assignments
    )


def _setting(assignment: Assignment, scope: Scope) -> Value:
    word = assignment.value
    if isinstance(word, Array) or assignment.append or assignment.index is not None:
        return unknown(assignment.span)
    if scope.shell in ("sh", "any") and has_extensions((word,)):
        return unknown(assignment.span)
    return single(word, scope)


# --- the name ---------------------------------------------------------------------------------------------------------


def command(
    words: list[Value], scope: Scope, inquiry: Inquiry, settings: tuple[Setting, ...] = ()
) -> Value | None:
    """Judges a command of which the words are known as far as they are. Gives back what is known of its output."""
    if not words:
        for setting in settings:
            assign(setting.name, setting.value, setting.span, scope, inquiry)
        return None
    if scope.aliases:
        _meet_aliases(words, scope, inquiry)
    head = words[0]
    if not head.exact or head.many:
        handed_on(settings, scope, inquiry)
        if inquiry.limits.log is not None:
            inquiry.limits.log.command(words, inquiry)
        inquiry.unknown(head.span, "the name of this command cannot be told", Kind.NAME)
        return None
    if not settings and head.text not in scope.defined:  # nearly every command
        return _tool(words, scope, inquiry, ())
    output: Value | None = None
    for definition in scope.definitions(head.text):
        if definition is None and settings:
            layer = scope.layer()
            for setting in settings:  # a builtin and a subscript see them; they do not stay, so no history
                layer.variables[setting.name] = setting.as_variable()
                layer.names.add(setting.name)
            output = _tool(words, layer, inquiry, settings)
            scope.merge(layer)
        elif definition is None:
            output = _tool(words, scope, inquiry, settings)
        else:
            handed_on(settings, scope, inquiry)
            call(head.text, definition, words, settings, scope, inquiry)
            output = None
    return output


def _meet_aliases(words: list[Value], scope: Scope, inquiry: Inquiry) -> None:
    """An alias replaces a command's name, in zsh also any word; what it then reads as is not followed."""
    for word in words:
        if word.exact and word.text in scope.aliases:
            because = f"{word.text!r} may stand for the alias that is defined before"
            inquiry.unknown(word.span, because, Kind.STATE)


def _tool(words: list[Value], scope: Scope, inquiry: Inquiry, settings: tuple[Setting, ...]) -> Value | None:
    """The command of that name, as its rule has it."""
    head = words[0]
    name = _name_of(head.text)
    answer = None if name is None else inquiry.shelf.get(name)
    if (
        inquiry.limits.log is not None
        and type(answer) is not CommandRule
        and not isinstance(answer, Overlaid)
    ):
        inquiry.limits.log.command(words, inquiry)
    if answer is None:
        handed_on(settings, scope, inquiry)
        because = f"no rule speaks of {head.text!r}" if name else f"{head.text!r} may be any program"
        inquiry.unknown(head.span, because, Kind.NO_RULE if name else Kind.PROGRAM)
        return None
    if type(answer) is CommandRule:
        return invocation(answer, words, scope, inquiry, settings)
    if not isinstance(answer, Overlaid):
        return _judged_by(answer, words, scope, inquiry, settings)
    first, *others = answer.rules
    output = _judged_by(first, words, scope, inquiry, settings)
    # The others only add: what is printed the first one says, and what they change may be so too.
    for other in others:
        if inquiry.step(head.span):
            layer = scope.layer()
            _judged_by(other, words, layer, inquiry, settings)
            scope.merge(layer)
    return output


def _judged_by(
    rule: CommandRule | BrokenRule,
    words: list[Value],
    scope: Scope,
    inquiry: Inquiry,
    settings: tuple[Setting, ...],
) -> Value | None:
    if isinstance(rule, BrokenRule):
        handed_on(settings, scope, inquiry)
        inquiry.unknown(words[0].span, rule.message, Kind.BROKEN_RULE, RuleRef(rule.path, rule.line))
        return None
    return invocation(rule, words, scope, inquiry, settings)


def _name_of(text: str) -> str | None:
    """The command's name without its folder; None for a program that is not the system's."""
    if "/" not in text:
        return text
    folder, _, name = text.rpartition("/")
    return name if folder in SYSTEM_FOLDERS else None
