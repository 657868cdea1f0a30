# SPDX-License-Identifier: Apache-2.0
"""What a builtin changes of the shell itself. Which builtins do is said by the rules (`changes`, `as`), not here."""

from __future__ import annotations

from shellguard.analysis.variables import assign_word, forget, look_at_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.call import Call
    from shellguard.analysis.inquiry import Inquiry
    from shellguard.values.scope import Scope
    from shellguard.values.value import Value

_IMPLIED = ("REPLY", "MAPFILE", "OPTARG", "OPTIND")
"""Variables that builtins set without being told their names."""


def change_state(call: Call, scope: Scope, inquiry: Inquiry) -> None:
    """Judges the words that name variables, functions or aliases, and follows what the call changes of them.

    Options of the shell change nothing that is known of a value: a glob, for one, is taken to be any number of words.
    """
    roles = _words_with_roles(call)
    for role, value in roles:
        _change(role, value, scope, inquiry)
    changes = call.leaf.spec.changes
    if not changes:
        return
    if "variables" in changes:
        if not any(role in ("variable", "exported") for role, _ in roles):
            scope.positional = None  # what it changes has no name: `shift`
        for name in _IMPLIED:
            if scope.variable(name) is not None:
                forget(name, call.span, scope, inquiry)
    if "options" in changes and call.leaf.operands:
        scope.positional = None  # `set -- a b`


def _words_with_roles(call: Call) -> list[tuple[str, Value]]:
    found: list[tuple[str, Value]] = []
    for level in call.levels:
        for use in level.uses:
            if use.option.role is not None:
                found += [(use.option.role, value) for value in use.values]
    for value, slots in call.placed:
        found += [(slot.role, value) for slot in slots if slot.role is not None]
    return found


def _change(role: str, value: Value, scope: Scope, inquiry: Inquiry) -> None:
    if role in ("variable", "exported"):
        assign_word(value, scope, inquiry, exported=role == "exported")
    elif role == "name":
        look_at_name(value, scope, inquiry)
    elif role == "function":
        _forget_function(value, scope, inquiry)
    elif role == "alias":
        _define_alias(value, scope, inquiry)


def _forget_function(value: Value, scope: Scope, inquiry: Inquiry) -> None:
    if not value.exact:
        inquiry.unknown(value.span, "which function this names cannot be told")
    else:
        scope.perhaps_undefine(value.text)


def _define_alias(value: Value, scope: Scope, inquiry: Inquiry) -> None:
    name, equals, _ = value.text.partition("=")
    if equals:
        scope.aliases.setdefault(name, value.span)
        inquiry.unknown(value.span, f"the alias {name!r} changes what later commands of this shell mean")
    elif not value.exact:
        inquiry.unknown(value.span, "which alias is defined cannot be told")
