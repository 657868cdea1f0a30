# SPDX-License-Identifier: Apache-2.0
"""Shell text inside a text of which some words are not known: `bash -c "cd $x && git push"`, `echo .. | sh`.

The verdict of such a text is `unknown` and needs no more. A gate asks what is plainly written there: each part that is
not known is taken for a plain word. Pure.
"""

from __future__ import annotations

from shellguard.approval.gate import Calls, name_of, programs_of, values_of
from shellguard.errors import ShellSyntaxError
from shellguard.syntax.nodes import AnsiC, Double, Escaped, Glob, Simple, Single, Text, Tilde
from shellguard.syntax.parse import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from shellguard.analysis.seen import Log, Seen
    from shellguard.rules.gates import Gates
    from shellguard.spans import Span
    from shellguard.syntax.nodes import WordPart
    from shellguard.values.value import Value

PLACEHOLDER = "x"
"""What stands for a part that is not known."""

SHELL_TEXT = "shell text"
"""The frame of a text that a new shell runs: spans below it are not those of the whole text."""


def texts_inside(text: str, log: Log, gates: Gates) -> Iterator[tuple[str, Span]]:
    """Every shell text that a command of `text` is given, as far as it is written there, with the place of it."""
    calls = Calls(log, gates)
    yield from _aliases(calls)
    for seen, call, rule in calls.interpreters():
        if SHELL_TEXT in seen.via or "eval" in seen.via:
            continue
        if not rule.shell:
            if name_of(call).startswith(("python", "pypy")):
                yield from _python(text, seen, programs_of(rule, call), calls)
            continue
        programs = list(programs_of(rule, call))
        if rule.words:
            yield " ".join(_guess(text, program) for program in programs if program is not None), seen.span
            continue
        for program in programs:
            if program is None:
                yield from ((each, seen.span) for each in _input(text, seen, calls))
            elif program.span != seen.span:
                yield _guess(text, program), seen.span


def _aliases(calls: Calls) -> Iterator[tuple[str, Span]]:
    """What the aliases stand for that a call of git defines for itself: `git -c alias.p=push p`."""
    for seen in calls.named("git"):
        for setting in values_of(seen.words, ("-c",)):
            name, found, meaning = setting.text.partition("=")
            if found and name[:6].lower() == "alias.":
                yield meaning[1:] if meaning[:1] == "!" else f"git {meaning}", seen.span


def _python(
    text: str, seen: Seen, programs: Iterator[Value | None], calls: Calls
) -> Iterator[tuple[str, Span]]:
    from shellguard.approval.python_text import commands_in

    for program in programs:
        texts = list(_input(text, seen, calls)) if program is None else [_guess(text, program)]
        for each in texts:
            yield from ((command, seen.span) for command in commands_in(each))


def _input(text: str, seen: Seen, calls: Calls) -> Iterator[str]:
    """The texts on standard input that are written in `text`."""
    if seen.text is not None:
        yield _guess(text, seen.text)
    for before in calls.heard(seen):
        if before.text is not None:
            yield _guess(text, before.text)
        if name_of(before) in ("echo", "printf"):
            words = [word for word in before.words if word.text[:1] != "-"]
            yield " ".join(_guess(text, word) for word in words)
            for word in words:
                yield _guess(text, word)


def _guess(text: str, value: Value) -> str:
    """What a word says, with a plain word in the place of every part that is not known."""
    if value.exact:
        return value.text
    source = text[slice(*value.span)]
    try:
        tree = parse(f": {source}")
        command = tree.statements[0].command if len(tree.statements) == 1 else None
        if isinstance(command, Simple) and len(command.words) == 2:
            return "".join(_literal(part) for part in command.words[1].parts)
    except (ShellSyntaxError, RecursionError):
        pass
    return source


def _literal(part: WordPart) -> str:
    match part:
        case Text(text) | Single(text) | Glob(text):
            return text
        case Escaped(char):
            return char
        case Double(parts):
            return "".join(_literal(inner) for inner in parts)
        case AnsiC() | Tilde():
            return PLACEHOLDER
        case _:
            return PLACEHOLDER
