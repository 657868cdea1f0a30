# SPDX-License-Identifier: Apache-2.0
"""Redirections: what they open. A target that is not known exactly is a file that is written."""

from __future__ import annotations

from shellguard.analysis.dialects import numbered_by_name, refused
from shellguard.analysis.paths import marks_of, sensitive
from shellguard.analysis.variables import assign
from shellguard.analysis.words import visit
from shellguard.effects import Effect, Kind
from shellguard.errors import assert_never
from shellguard.syntax.nodes import Escaped, HereDoc, HereString, Redirect, Single, Text
from shellguard.values.resolve import fields, has_extensions, single
from shellguard.values.value import Shape, Value, shaped, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.inquiry import Inquiry
    from shellguard.syntax.nodes import Redirection
    from shellguard.values.scope import Scope

_NULL_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_SOCKETS = ("/dev/tcp/", "/dev/udp/")
_INPUT = ("<", "<>", "<&")


def harmless_target(value: Value, *, dash: bool = False) -> bool:
    """Whether writing to this changes nothing: exactly /dev/null, /dev/stdout, /dev/stderr, /dev/tty or /dev/fd/N.

    `dash`: `-` is standard output.
    """
    if not value.exact:
        return False
    text = value.text
    if text in _NULL_TARGETS or (dash and text == "-"):
        return True
    number = text.removeprefix("/dev/fd/")
    return number != text and number.isascii() and number.isdigit()


def redirection(node: Redirection, scope: Scope, inquiry: Inquiry) -> None:
    """Judges one redirection and everything its words expand."""
    match node:
        case HereDoc(_, _, _, _, body):
            visit(body, scope, inquiry)
            if inquiry.limits.log is not None:
                inquiry.limits.log.text = single(body, scope)
        case HereString(_, word):
            refused(node.span, "<<<", inquiry)
            visit(word, scope, inquiry)
            if inquiry.limits.log is not None:
                inquiry.limits.log.text = single(word, scope)
        case Redirect():
            visit(node.target, scope, inquiry)
            _redirect(node, scope, inquiry)
        case _:
            assert_never(node)
    numbered_by_name(node, inquiry)
    descriptor = node.descriptor
    if descriptor is not None and descriptor[0] == "{":
        assign(descriptor[1:-1], shaped(Shape.NUMBER, node.span), node.span, scope, inquiry)


def leaves_output(node: Redirection) -> bool:
    """Whether standard output is still what the command prints, and nothing but that: input, or errors thrown away."""
    if isinstance(node, HereDoc | HereString) or node.operator == "<":
        return node.descriptor in (None, "0")
    target = node.target.parts
    null = len(target) == 1 and isinstance(target[0], Text) and target[0].text == "/dev/null"
    return node.operator in (">", ">>") and node.descriptor == "2" and null


def input_of(nodes: tuple[Redirection, ...]) -> bool | None:
    """Whether standard input is local data: a file, or text that is expanded. None: what it was before."""
    found = [_is_local(node) for node in nodes if _is_input(node)]
    return any(found) if found else None


def _is_input(node: Redirection) -> bool:
    """Whether it is standard input that is redirected: `<`, and with its number also `0>&3` and `00<`."""
    if node.descriptor is not None:
        return node.descriptor.strip("0") == ""
    return not isinstance(node, Redirect) or node.operator in _INPUT


def _is_local(node: Redirection) -> bool:
    if isinstance(node, HereDoc | HereString):
        word = node.body if isinstance(node, HereDoc) else node.word
        return any(type(part) not in (Text, Single, Escaped) for part in word.parts)
    target = node.target.parts
    return not (len(target) == 1 and isinstance(target[0], Text) and target[0].text == "/dev/null")


def typed_by(nodes: tuple[Redirection, ...], scope: Scope) -> Value | None:
    """The text on standard input where one here-document or here-string is all that is redirected to it.

    None where any other redirection could reach descriptor 0, or the last characters are not certain.
    """
    found: Value | None = None
    for node in nodes:
        if isinstance(node, Redirect):
            if node.operator in _INPUT or node.descriptor not in (None, "1", "2"):
                return None
        elif found is not None or node.descriptor not in (None, "0"):
            return None
        elif isinstance(node, HereDoc):
            found = single(node.body, scope)
        else:
            value = single(node.word, scope)
            found = Value(value.text + "\n", node.span) if value.exact else unknown(node.span)
    return found


def _redirect(node: Redirect, scope: Scope, inquiry: Inquiry) -> None:
    values = fields(node.target, scope)
    target = values[0] if len(values) == 1 else Value("", node.target.span, exact=False)
    if inquiry.assumptions.has_posix and has_extensions((node.target,)):
        target = Value("", node.target.span, exact=False)
    if _duplicates(node.operator, target):
        return
    if (target.text or single(node.target, scope).text).startswith(_SOCKETS):
        because = "bash opens a connection for this name"
        inquiry.add(Effect.NETWORK, node.span, because, kind=Kind.REDIRECTION)
        because = "what is sent over a connection of the shell is not followed"
        inquiry.unknown(node.span, because, Kind.REDIRECTION)
    if inquiry.limits.log is not None and node.operator in ("<", "<>"):
        inquiry.limits.log.source(target, node.span, inquiry)
    if node.operator == "<":
        _opened_for_reading(node, target, inquiry)
    elif node.operator == "<&":
        pass  # a descriptor whose number is not known: another name for one that is open
    elif not harmless_target(target):
        if inquiry.limits.log is not None:
            inquiry.limits.log.target(target, node.span)
        name = repr(target.text) if target.exact else "a file whose name is not known"
        because = f"{node.operator} writes to {name}"
        inquiry.add(Effect.WRITES, node.span, because, kind=Kind.REDIRECTION)


def _duplicates(operator: str, target: Value) -> bool:
    """Whether `n>&m`, `n<&m`, `n>&-` or `n>&m-`: descriptors that are copied, moved or closed."""
    if operator not in (">&", "<&"):
        return False
    if not target.exact:
        return target.is_integer and target.shape == Shape.NUMBER and not target.many
    digits = target.text.removesuffix("-")
    return target.text == "-" or (digits.isascii() and digits.isdigit())


def _opened_for_reading(node: Redirect, target: Value, inquiry: Inquiry) -> None:
    line = sensitive(target, inquiry)
    because = "< reads a file" if line is None else "< reads a file that may hold credentials"
    inquiry.add(Effect.READS, node.span, because, line, marks_of(line), Kind.REDIRECTION)
