# SPDX-License-Identifier: Apache-2.0
"""What a builtin changes of the shell itself. Which builtins do is said by the rules (`changes`, `as`), not here."""

from __future__ import annotations

from shellguard.analysis.embedded import NEW_SHELL
from shellguard.analysis.variables import assign_word, look_at_name, variable_in_fish
from shellguard.effects import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.call import Call
    from shellguard.analysis.inquiry import Inquiry
    from shellguard.analysis.variables import Setting
    from shellguard.values.scope import Scope
    from shellguard.values.value import Value


def does_nothing_somewhere(changes: frozenset[str], inquiry: Inquiry) -> bool:
    """Whether what a builtin changes may also stay as it is: it is missing in a shell that may read the text, or works
    in functions only and stands in none."""
    if "extension" in changes and inquiry.assumptions.has_posix:
        return True
    if "function" not in changes:
        return False
    for frame in reversed(inquiry.frames):
        if frame.name.endswith("()"):
            return False
        if frame.name == NEW_SHELL:
            break
    return True


def change_state(call: Call, scope: Scope, inquiry: Inquiry, settings: tuple[Setting, ...]) -> None:
    """Judges the words that name variables, functions or aliases, and follows what the call changes of them.

    Options of the shell change nothing that is known of a value: a glob, for one, is taken to be any number of words.
    """
    roles = _words_with_roles(call)
    for role, value in roles:
        _change(role, value, scope, inquiry)
    changes = call.leaf.spec.changes
    if not changes:
        return
    if "settings" in changes:
        for setting in settings:
            scope.set(setting.name, setting.as_variable())
        if inquiry.limits.log is not None:
            inquiry.limits.log.stays()
    if "variables" in changes:
        if not any(role in ("variable", "exported", "constant") for role, _ in roles):
            _change_unnamed(scope, inquiry)  # `shift`
    if "options" in changes and call.leaf.operands:
        _change_unnamed(scope, inquiry)  # `set -- a b`
        if inquiry.assumptions.shell == "any" and call.leaf.operands[0].exact:  # fish sets the variable a
            variable_in_fish(call.leaf.operands[0].text, call.span, scope, inquiry)


def _change_unnamed(scope: Scope, inquiry: Inquiry) -> None:
    scope.positional = None
    if inquiry.limits.log is not None:
        inquiry.limits.log.assigned("")


def _words_with_roles(call: Call) -> list[tuple[str, Value]]:
    found: list[tuple[str, Value]] = []
    for level in call.levels:
        for use in level.uses if level.acts else ():
            if use.option.role is not None:
                found += [(use.option.role, value) for value in use.values]
    for value, slots in call.placed:
        found += [(slot.role, value) for slot in slots if slot.role is not None]
    return found


def _change(role: str, value: Value, scope: Scope, inquiry: Inquiry) -> None:
    if role in ("variable", "exported", "constant"):
        assign_word(value, scope, inquiry, exported=role == "exported", constant=role == "constant")
    elif role == "name":
        look_at_name(value, scope, inquiry)
    elif role == "function":
        _forget_function(value, scope, inquiry)
    elif role == "alias":
        _define_alias(value, scope, inquiry)


def _forget_function(value: Value, scope: Scope, inquiry: Inquiry) -> None:
    if not value.exact:
        inquiry.unknown(value.span, "which function this names cannot be told", Kind.UNSEEN)
    else:
        scope.perhaps_undefine(value.text)


def _define_alias(value: Value, scope: Scope, inquiry: Inquiry) -> None:
    name, equals, _ = value.text.partition("=")
    if equals:
        scope.aliases.setdefault(name, value.span)
        because = f"the alias {name!r} changes what later commands of this shell mean"
        inquiry.unknown(value.span, because, Kind.STATE)
    elif not value.exact:
        inquiry.unknown(value.span, "which alias is defined cannot be told", Kind.UNSEEN)
