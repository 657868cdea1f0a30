# SPDX-License-Identifier: Apache-2.0
"""One pass over the tree in program order: what each statement does, and what it changes for the statements after it.

Every statement is visited, whether or not it would be reached: nobody runs the conditions here. What a branch sets is
kept apart and joined with what was there before (`Scope.merge`).
"""

from __future__ import annotations

from shellguard.analysis.arithmetic import arithmetic
from shellguard.analysis.assigned import assigned_in
from shellguard.analysis.conditions import condition
from shellguard.analysis.dialects import (
    cut_by_ampersand,
    files_of_zsh,
    may_have_keyword,
    redirected_words,
    refused,
)
from shellguard.analysis.functions import define
from shellguard.analysis.inquiry import Assumptions, Inquiry, Judges, Limits
from shellguard.analysis.redirects import input_of, leaves_output, redirection, typed_by
from shellguard.analysis.simple import command, simple
from shellguard.analysis.variables import assign, is_name
from shellguard.analysis.words import visit
from shellguard.effects import Effect, Kind
from shellguard.errors import assert_never
from shellguard.syntax.nodes import (
    AndOr,
    ArithCommand,
    Case,
    Conditional,
    Coproc,
    ForArith,
    ForWords,
    Function,
    Group,
    If,
    Pipeline,
    Select,
    Simple,
    Subshell,
    Timed,
    While,
)
from shellguard.values.resolve import fields, has_extensions, without_extensions
from shellguard.values.scope import MAX_CHOICES, Scope, Variable
from shellguard.values.value import Value, shaped, unknown, widen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shellguard.analysis.inquiry import Shelf
    from shellguard.analysis.seen import Log
    from shellguard.effects import Fact
    from shellguard.spans import Span
    from shellguard.syntax.nodes import Command, Node, Script, Statement, Word

MAX_PASSES = 3
"""A loop body is judged again while it changes what its own beginning meets, but not more often than this."""


def facts_of(tree: Script, length: int, shelf: Shelf, assumptions: Assumptions) -> tuple[Fact, ...]:
    """Everything that running `tree`, a text of `length` characters, may do. Order is program order.

    Raises RecursionError for a tree that needs more of Python's stack than there is.
    """
    inquiry = Inquiry(shelf, assumptions, Limits(length), _JUDGES)
    script(tree, Scope(shell=assumptions.shell), inquiry)
    return tuple(inquiry.facts)


def commands_of(tree: Script, length: int, shelf: Shelf, assumptions: Assumptions) -> tuple[Log, bool]:
    """Every command that running `tree` may run, and whether the text could be judged to its end.

    The home folder is `~` here, however it is spelled. Raises RecursionError as `facts_of` does.
    """
    from shellguard.analysis.seen import Log

    inquiry = Inquiry(shelf, assumptions, Limits(length), _JUDGES)
    log = inquiry.limits.log = Log()
    scope = Scope(shell=assumptions.shell)
    scope.variables["HOME"] = Variable((Value("~", (0, 0)),), (0, 0))
    script(tree, scope, inquiry)
    return log, not inquiry.limits.said


def script(tree: Script, scope: Scope, inquiry: Inquiry) -> Value | None:
    """Judges the statements in turn. Gives back what is known of the output of a single one, else None."""
    output: Value | None = None
    for each in tree.statements:
        if inquiry.assumptions.has_posix and cut_by_ampersand(each):
            layer = scope.layer()  # a shell without `&>` runs it in the background
            statement(each, layer, inquiry)
            scope.merge(layer)
            output = None
        else:
            output = statement(each, scope, inquiry)
    return output if len(tree.statements) == 1 else None


def statement(node: Statement, scope: Scope, inquiry: Inquiry) -> Value | None:
    """Judges one statement with its redirections. Gives back what is known of its output."""
    if node.background:
        scope = scope.layer()  # a copy of the shell runs beside it
    if not node.redirections:
        inner = node.command
        return simple(inner, scope, inquiry) if type(inner) is Simple else _command(inner, scope, inquiry)
    log = inquiry.limits.log
    if log is None:
        return _redirected(node, scope, inquiry)
    mark = log.mark()
    output = _redirected(node, scope, inquiry)
    log.back(mark)
    return output


def _redirected(node: Statement, scope: Scope, inquiry: Inquiry) -> Value | None:
    log = inquiry.limits.log
    for each in node.redirections:
        start = 0 if log is None else len(log.commands)
        redirection(each, scope, inquiry)
        if log is not None:
            log.redirected(each, start)
    if inquiry.assumptions.has_posix:
        redirected_words(node, inquiry)
    if inquiry.assumptions.has_zsh:
        files_of_zsh(node, inquiry)
    piped = input_of(node.redirections)
    if piped is not None:
        inquiry = inquiry.with_input(piped)
    if type(node.command) is Simple:
        output = simple(node.command, scope, inquiry, typed_by(node.redirections, scope))
    else:
        output = _command(node.command, scope, inquiry)
    return output if all(leaves_output(each) for each in node.redirections) else None


_JUDGES = Judges(script, statement, command)


def _command(node: Command, scope: Scope, inquiry: Inquiry) -> Value | None:
    match node:
        case Simple():
            return simple(node, scope, inquiry)
        case Pipeline():
            return _pipeline(node, scope, inquiry)
        case AndOr():
            return _and_or(node, scope, inquiry)
        case Timed(inner):
            return statement(inner, scope, inquiry)
        case Group(body):
            return script(body, scope, inquiry)
        case Subshell(body):
            return script(body, scope.layer(), inquiry)
        case If():
            _if(node, scope, inquiry)
        case While():
            _repeat(node, scope, inquiry, lambda inner: _while(node, inner, inquiry))
        case ForWords(name, words, body) | Select(name, words, body):
            _for_words(node, name, words, body, scope, inquiry)
        case ForArith():
            refused(node.span, "for ((", inquiry)
            if node.first is not None:
                arithmetic(node.first, scope, inquiry)
            _repeat(node, scope, inquiry, lambda inner: _for_arith(node, inner, inquiry))
        case Case():
            _case(node, scope, inquiry)
        case Function(name, body):
            define(name, body, scope, inquiry)
            if not is_name(name):
                refused(node.span, f"a function of the name {name!r}", inquiry)
            if inquiry.assumptions.has_posix and may_have_keyword(node):
                refused(node.span, "function", inquiry)
                layer = scope.layer()
                statement(body, layer, inquiry)
                scope.merge(layer)
        case Conditional(inner_condition):
            start = inquiry.seen
            condition(inner_condition, scope, inquiry)
            if inquiry.limits.log is not None:
                inquiry.limits.log.filled("BASH_REMATCH", start, node)
        case ArithCommand():
            _arithmetic_command(node, scope, inquiry)
        case Coproc(name, body):
            because = "what a coprocess does beside the shell is not followed"
            inquiry.unknown(node.span, because, Kind.STATE)
            log, start = inquiry.limits.log, inquiry.seen
            mark = None if log is None else log.fed_by_any()
            statement(body, scope.layer(), inquiry)
            if log is not None and mark is not None:
                log.back(mark)
                log.filled(name or "COPROC", start)
        case _:
            assert_never(node)
    return None


def _arithmetic_command(node: ArithCommand, scope: Scope, inquiry: Inquiry) -> None:
    if inquiry.assumptions.has_posix:
        because = "a shell without (( )) runs this as a command in two subshells"
        inquiry.unknown(node.span, because, Kind.DIALECT)
    if node.expression is not None:
        arithmetic(node.expression, scope, inquiry)


def _pipeline(node: Pipeline, scope: Scope, inquiry: Inquiry) -> Value | None:
    """Every part is a subshell of its own, but the last may be this shell (zsh, `lastpipe`)."""
    output: Value | None = None
    last = scope
    if any(node.pipes_stderr):
        refused(node.span, "|&", inquiry)
    log = inquiry.limits.log
    mark = None if log is None else log.mark()
    for index, part in enumerate(node.parts):
        if log is not None and mark is not None and index > 0:
            log.back(mark)
            log.text = None
            log.input_since(mark[0])
        last = scope.layer()
        fed = inquiry
        if index > 0:
            fed = inquiry.inside(None, fed=output)
            fed.piped = True
        output = statement(part, last, fed)
        if index < len(node.pipes_stderr) and node.pipes_stderr[index]:
            output = None  # messages are mixed into it
    if log is not None and mark is not None:
        log.back(mark)
    scope.merge(last)
    return output


def _and_or(node: AndOr, scope: Scope, inquiry: Inquiry) -> Value | None:
    """The first part runs. Behind `&&` all before has succeeded; behind `||` any of it may have run."""
    outputs = [statement(node.parts[0], scope, inquiry)]
    branch: Scope | None = None
    for operator, part in zip(node.operators, node.parts[1:], strict=True):
        if branch is None:
            branch = scope.layer()
        elif operator == "||":
            before, branch = branch, scope.layer()
            branch.merge(before)
        outputs.append(statement(part, branch, inquiry))
    if branch is not None:
        scope.merge(branch)
    return _any_of(outputs)


def _any_of(outputs: list[Value | None]) -> Value | None:
    """What is known of the words that some of these outputs print one behind the other."""
    known = [output for output in outputs if output is not None]
    if len(known) < len(outputs):
        return None
    common = widen(known, known[0].span)
    return (
        Value(common.text, common.span, exact=False, many=True, shape=common.shape) if common.shape else None
    )


def _if(node: If, scope: Scope, inquiry: Inquiry) -> None:
    """The first condition runs in this shell; each later one only when those before it failed."""
    branches: list[Scope] = []
    tested = scope
    for index, arm in enumerate(node.arms):
        if index == 1:
            tested = scope.layer()  # one for all: where a condition runs, those before it have run
            branches.append(tested)
        script(arm.condition, tested, inquiry)
        body = tested.layer()
        script(arm.body, body, inquiry)
        branches.append(body)
    if node.otherwise is not None:
        body = tested.layer()
        script(node.otherwise, body, inquiry)
        branches.append(body)
    scope.merge(*branches)


def _case(node: Case, scope: Scope, inquiry: Inquiry) -> None:
    visit(node.word, scope, inquiry)
    branches: list[Scope] = []
    falls_from: Scope | None = None
    for arm in node.arms:
        for pattern in arm.patterns:
            visit(pattern, scope, inquiry)
        branch = scope.layer()
        if falls_from is not None:
            branch.merge(falls_from)
        script(arm.body, branch, inquiry)
        branches.append(branch)
        if arm.terminator != ";;":
            refused(arm.span, arm.terminator, inquiry)
        falls_from = branch if arm.terminator != ";;" else None
    scope.merge(*branches)


# --- loops ------------------------------------------------------------------------------------------------------------


def _for_words(
    node: ForWords | Select,
    name: str,
    words: tuple[Word, ...] | None,
    body: Script,
    scope: Scope,
    inquiry: Inquiry,
) -> None:
    log, start = inquiry.limits.log, inquiry.seen
    if words is None:
        choices = _loop_values(scope.positional, node.span)
    else:
        found: list[Value] = []
        for word in words:
            visit(word, scope, inquiry)
            found.extend(fields(word, scope))
        if inquiry.assumptions.has_posix and has_extensions(words):
            found += without_extensions(words, scope)
        choices = _loop_values(tuple(found), node.span)
    if type(node) is Select:
        refused(node.span, "select", inquiry)
        inquiry.add(Effect.WAITS, node.span, "select waits for an answer on standard input")
        choices = (*choices, Value("", node.span))
        assign("REPLY", unknown(node.span), node.span, scope, inquiry)

    if log is not None:
        log.filled(name, start, *(() if words is None else words))
        if words is None:
            log.assigned(name, log.held.get("", ()))

    def once(inner: Scope) -> None:
        assign(name, Variable(choices, node.span), node.span, inner, inquiry)
        script(body, inner, inquiry)

    _repeat(node, scope, inquiry, once)


def _loop_values(values: tuple[Value, ...] | None, span: Span) -> tuple[Value, ...]:
    """What a loop variable may hold when the loop runs over these words; at least one value."""
    if not values:
        return (unknown(span),)
    choices = tuple(dict.fromkeys(_one_word(value) for value in values))
    return choices if len(choices) <= MAX_CHOICES else (widen(choices, span),)


def _one_word(value: Value) -> Value:
    """What one of the words that `value` stands for is known to be."""
    if not value.many:
        return value
    return Value(value.text, value.span, exact=False, shape=value.shape, sample=value.sample)


def _while(node: While, scope: Scope, inquiry: Inquiry) -> None:
    script(node.condition, scope, inquiry)
    script(node.body, scope, inquiry)


def _for_arith(node: ForArith, scope: Scope, inquiry: Inquiry) -> None:
    if node.condition is not None:
        arithmetic(node.condition, scope, inquiry)
    script(node.body, scope, inquiry)
    if node.step is not None:
        arithmetic(node.step, scope, inquiry)


def _repeat(node: Node, scope: Scope, inquiry: Inquiry, once: Callable[[Scope], None]) -> None:
    """Judges what runs zero or more times, so that its end is also what its beginning meets.

    First everything the loop is seen to assign is taken to be any value; then it is judged. If it has changed
    something else (a function, a variable through a command), it is judged again with that in mind.
    """
    inquiry.fed = None  # a turn may leave some of it to the next one
    seen: set[str] = set()
    for name, stays_number in assigned_in(node, inquiry.limits.assigned).items():
        _forget(name, stays_number, node.span, scope)
        seen.add(name)
    for _ in range(MAX_PASSES):
        branch = scope.layer()
        marked = _marks(scope, inquiry)
        once(branch)
        changed = [name for name in branch.history if name not in seen and scope.variable(name) is not None]
        shifted = branch.positional != scope.positional
        marks = _marks(scope, inquiry) > marked
        defined = any(
            body not in scope.definitions(name)
            for name, bodies in branch.functions.items()
            for body in bodies
        )
        scope.merge(branch)
        if not (changed or defined or shifted or marks):
            return
        seen.update(changed)
        for name in changed:
            _forget(name, False, node.span, scope)
    because = "what this loop leaves for its next turn cannot be followed"
    inquiry.unknown(node.span, because, Kind.STATE)


def _marks(scope: Scope, inquiry: Inquiry) -> int:
    """How much is said of all that follows, and never taken back."""
    limits = inquiry.limits
    return len(scope.arrays) + len(scope.constants) + limits.input_moved + limits.interrupted


def _forget(name: str, stays_number: bool, span: Span, scope: Scope) -> None:
    """From here on the variable may be anything; with `stays_number`, any number if it is one now."""
    before = scope.variable(name)
    number = (
        stays_number
        and before is not None
        and before.elements is None
        and all(choice.is_integer for choice in before.choices)
    )
    value = shaped("integer", span) if number else unknown(span)
    scope.set(name, Variable((value,), span))
