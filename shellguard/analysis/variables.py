# SPDX-License-Identifier: Apache-2.0
"""Assignments in every form, and what they change: for the text itself, for the shell, for the commands that follow."""

from __future__ import annotations

from shellguard.analysis.cases import certainly
from shellguard.analysis.dialects import assigned_name
from shellguard.effects import Effect, Frame, Kind, RuleRef
from shellguard.errors import ShellSyntaxError
from shellguard.syntax.parse import parse
from shellguard.values.scope import Scope, Variable, ambient_names, join
from shellguard.values.value import Shape, Value, is_integer, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.inquiry import Inquiry
    from shellguard.rules.model import Spec
    from shellguard.rules.model import Variable as Entry
    from shellguard.spans import Span


class Setting:
    """`name=value` in front of a command: it holds for that command only."""

    __slots__ = ("name", "span", "value")

    def __init__(self, name: str, value: Value, span: Span) -> None:
        self.name, self.value, self.span = name, value, span

    def as_variable(self) -> Variable:
        """The variable that a function sees while it runs with this setting."""
        return Variable((self.value,), self.span)


def assign(name: str, value: Value | Variable, span: Span, scope: Scope, inquiry: Inquiry) -> None:
    """The variable is this from here on. A dangerous one is a write even when nothing follows: the shell may go on."""
    variable = value if isinstance(value, Variable) else Variable((value,), span)
    for choice in variable.choices:
        _judge(name, choice, span, scope, inquiry)
    scope.set(name, variable)
    if inquiry.limits.log is not None:
        inquiry.limits.log.assigned(name)


def assign_perhaps(name: str, value: Value, span: Span, scope: Scope, inquiry: Inquiry) -> None:
    """The variable may be this from here on, or what it was (`${x:=y}`)."""
    before = scope.variable(name)
    after = Variable((value,), span)
    joined = join([after] if before is None else [before, after], ambient=before is None)
    _judge(name, value, span, scope, inquiry)
    scope.set(name, joined)


def appended(name: str, value: Value, scope: Scope) -> Value:
    """What `name+=value` makes of the variable: its text before, then the new one."""
    before = scope.value(name, value.span)
    if before.exact and value.exact:
        return Value(before.text + value.text, value.span)
    return Value(before.text, value.span, exact=False)


def forget(name: str, span: Span, scope: Scope, inquiry: Inquiry) -> None:
    """The variable may be anything from here on: what `read` and `printf -v` do to it."""
    scope.arrays.add(name)
    assign(name, unknown(span), span, scope, inquiry)


def export(name: str, span: Span, scope: Scope, inquiry: Inquiry) -> None:
    """The commands that follow see the variable."""
    scope.exported.setdefault(name, span)
    variable = scope.variable(name)
    for choice in (unknown(span),) if variable is None else variable.choices:
        _judge(name, choice, span, scope, inquiry)


def _judge(name: str, value: Value, span: Span, scope: Scope, inquiry: Inquiry) -> None:
    assigned_name(name, span, inquiry)
    entry = inquiry.shelf.variables.get(name)
    if entry is not None and _entry_facts(entry, name, value, span, scope, inquiry):
        source = RuleRef(entry.path, entry.line, name)
        because = f"{name} changes what later commands of this shell do"
        inquiry.add(Effect.WRITES, span, because, source, kind=Kind.VARIABLE)


def _entry_facts(entry: Entry, name: str, value: Value, span: Span, scope: Scope, inquiry: Inquiry) -> bool:
    """Adds what setting the variable means; whether that is dangerous (it writes, executes, or nobody can tell)."""
    source = RuleRef(entry.path, entry.line, name)
    if entry.program:
        return _program_facts(name, value, span, source, scope, inquiry)
    if not entry.effects or _is_among(value, entry):
        return False
    for effect in sorted(entry.effects):
        inquiry.add(effect, span, f"{name} is set", source, kind=Kind.VARIABLE)
    return bool({Effect.WRITES, Effect.EXECUTES} & entry.effects)


def _is_among(value: Value, entry: Entry) -> bool:
    if value.exact:
        return any(pattern.matches(value.text) for pattern in entry.only)
    if value.is_integer and any(pattern.matches("1") for pattern in entry.only):
        return True  # a list with a number in it means any
    return certainly(entry.only, value)


def _program_facts(
    name: str, value: Value, span: Span, source: RuleRef, scope: Scope, inquiry: Inquiry
) -> bool:
    """The value names a program with its words, as the shell would read them."""
    if value.exact and not value.text.strip(" \t"):
        return False
    tree = None
    if value.exact:
        try:
            tree = parse(value.text)
        except ShellSyntaxError:
            tree = None
    if tree is None or inquiry.too_deep(span):
        because = f"{name} names a program that is not known"
        inquiry.add(Effect.EXECUTES, span, because, source, kind=Kind.VARIABLE)
        return True
    inner = inquiry.inside(Frame(name, source), span).in_shell("sh")
    before = len(inquiry.facts)
    inner.script(tree, new_shell(scope, inner))
    harmless = (Effect.READS, Effect.NETWORK, Effect.WAITS)
    if all(fact.effect in harmless for fact in inquiry.facts[before:]):
        return False
    because = f"{name} names a program that does not only read"
    inquiry.add(Effect.EXECUTES, span, because, source, kind=Kind.VARIABLE)
    return True


def environment_facts(
    spec: Spec, settings: tuple[Setting, ...], path: str, scope: Scope, inquiry: Inquiry
) -> None:
    """What the variables that the text hands to a command mean for it.

    The rule's own list is asked first, then the common one. A name in neither changes nothing where the rule says
    that its list is complete, and is unknown elsewhere.
    """
    given = {setting.name: setting for setting in settings}
    if not inquiry.step(settings[0].span if settings else (0, 0), len(scope.exported)):
        return
    for name, span in scope.exported.items():
        if name not in given:
            given[name] = Setting(name, scope.value(name, span), span)
    exact = spec.variables.exact
    for name in [name for name in scope.names if name in exact]:
        if exact[name].effects and name not in given:
            variable = scope.variable(name)
            if variable is not None:  # not exported by the text, but perhaps before it
                given[name] = Setting(name, scope.value(name, variable.span), variable.span)
    for name, setting in given.items():
        assigned_name(name, setting.span, inquiry)
        found = spec.variables.get(name) or inquiry.shelf.variables.get(name)
        if found is not None:
            _entry_facts(found, name, setting.value, setting.span, scope, inquiry)
        elif not spec.env_complete:
            source = RuleRef(path, spec.line_of("env"), "env")
            because = f"what {name} means to `{spec.name}` is in no rule"
            inquiry.unknown(setting.span, because, Kind.NO_VARIABLE, source)


def new_shell(scope: Scope, inquiry: Inquiry) -> Scope:
    """What a shell that the text starts knows: nothing that the text has set, and no value that it may have replaced.

    Behind `env -i` and its like `HOME` may be missing.
    """
    inner = Scope(shell=inquiry.assumptions.shell)
    for name in ambient_names():
        variable = scope.variable(name)
        if variable is not None or (name == "HOME" and len(inquiry.frames) > 1):
            span = (0, 0) if variable is None else variable.span
            inner.variables[name] = Variable((unknown(span),), span)
    return inner


def handed_on(settings: tuple[Setting, ...], scope: Scope, inquiry: Inquiry) -> None:
    """Judges `name=value` in front of something that no rule speaks of: only what is dangerous for any command."""
    for setting in settings:
        _judge(setting.name, setting.value, setting.span, scope, inquiry)


def variable_in_fish(name: str, span: Span, scope: Scope, inquiry: Inquiry) -> None:
    """Judges a word that fish takes for the name of a variable which it sets. In bash it is none."""
    if inquiry.shelf.variables.get(name) is not None:
        _judge(name, unknown(span), span, scope, inquiry)


def look_at_name(value: Value, scope: Scope, inquiry: Inquiry) -> None:
    """Judges a word that names a variable which is only looked at: a subscript is evaluated all the same."""
    if not value.exact:
        if "[" in value.text or value.shape in (Shape.NOTHING, Shape.TEXT):
            because = "a name that is not known may have a subscript, which is evaluated"
            inquiry.unknown(value.span, because, Kind.EVALUATED)
        return
    _, bracket, rest = value.text.partition("[")
    if bracket:
        _subscript(rest, value.span, scope, inquiry)


def _subscript(rest: str, span: Span, scope: Scope, inquiry: Inquiry) -> None:
    """Judges what stands behind the bracket of `name[rest`; it should end in `]`."""
    from shellguard.analysis.arithmetic import arithmetic_text

    index = rest.removesuffix("]")
    if index in ("@", "*") and rest != index:
        return
    arithmetic_text(Value(index, span), scope, inquiry)


def assign_word(
    value: Value, scope: Scope, inquiry: Inquiry, *, exported: bool, constant: bool = False
) -> None:
    """Judges a word `NAME` or `NAME=value` of a command that assigns variables.

    Without `=` the variable is taken to become anything, or, with `exported` or `constant`, to stay what it is. A
    `constant` cannot be set from there on, but some shells go on when it is tried.
    """
    text = value.text
    name, equals, content = text.partition("=")
    if not equals and not value.exact:
        if value.shape in (Shape.NOTHING, Shape.TEXT) or "[" in text:
            inquiry.unknown(value.span, "which variable is set cannot be told", Kind.UNSEEN)
        return
    name = name.removesuffix("+")
    base, bracket, rest = name.partition("[")
    if bracket:
        _subscript(rest, value.span, scope, inquiry)
    if not is_name(base):
        inquiry.unknown(value.span, f"{base!r} is not the name of a variable", Kind.MALFORMED)
        return
    if value.elements is not None and equals:
        elements = value.elements if text.endswith(f"{base}=") else (unknown(value.span, many=True),)
        assign(base, Variable((unknown(value.span),), value.span, elements), value.span, scope, inquiry)
    elif equals:
        assigned = unknown(value.span) if bracket else _value_behind(value, content)
        if bracket:
            scope.arrays.add(base)
        elif _may_be_compound(assigned, base, scope):
            inquiry.unknown(
                value.span, f"{base} may be an array, whose text is expanded once more", Kind.EVALUATED
            )
        if text[len(name) : len(name) + 1] == "+":
            assigned = appended(base, assigned, scope)
        assign(base, assigned, value.span, scope, inquiry)
    elif not exported and not constant:
        forget(base, value.span, scope, inquiry)
        scope.perhaps_undefine(base)  # `unset name` means the function where there is no such variable
    if constant:
        scope.constants.add(base)
    if exported:
        export(base, value.span, scope, inquiry)


def _may_be_compound(value: Value, name: str, scope: Scope) -> bool:
    """Whether `declare "name=value"` may find an array `(...)` in the text, which runs the substitutions in it."""
    if value.text[:1] == "(":
        return scope.may_be_array(name) or not value.exact or "$" in value.text or "`" in value.text
    return not value.exact and not value.text and not value.is_integer and scope.may_be_array(name)


def _value_behind(value: Value, content: str) -> Value:
    """The part of the word `NAME=value` behind the sign, where `content` is what is known of its text."""
    if value.exact or value.sample is None:
        return Value(content, value.span, exact=value.exact)
    sample = value.sample.partition("=")[2]
    shape = Shape.INTEGER if content == "" and is_integer(sample) else Shape.NOTHING
    return Value(content, value.span, exact=False, shape=shape, sample=sample)


_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_LATER = _FIRST | frozenset("0123456789")


def is_name(text: str) -> bool:
    """Whether the shell takes the text as the name of a variable."""
    return text != "" and text[0] in _FIRST and _LATER.issuperset(text)
