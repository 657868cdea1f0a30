# SPDX-License-Identifier: Apache-2.0
"""Shell text inside a text of which some words are not known: `bash -c "cd $x && git push"`, `echo .. | sh`.

The verdict of such a text is `unknown` and needs no more. A gate asks what is plainly written there: each part that is
not known is taken for a plain word. Pure.
"""

from __future__ import annotations

from shellguard.approval.gate import Calls, programs_of, values_of
from shellguard.errors import ShellSyntaxError
from shellguard.syntax.nodes import Double, Escaped, Glob, Simple, Single, Text
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


def texts_inside(text: str, log: Log, gates: Gates) -> Iterator[tuple[str, Span]]:
    """Every shell text that a command of `text` is given, as far as it is written there, with the place of it."""
    calls = Calls(log, gates)
    yield from _named(calls)
    for seen, call, rule in calls.interpreters():
        if rule.language is None or (seen.within and rule.language == "shell"):
            continue  # what is known of a shell text inside another one has been read with it
        source = "" if seen.within else text
        for each in _programs(source, seen, programs_of(rule, call), calls, as_line=rule.words):
            if rule.language == "python":
                yield from ((command, seen.span) for command in _commands_in(each))
            else:
                yield each, seen.span


def _named(calls: Calls) -> Iterator[tuple[str, Span]]:
    """What the names stand for that a call defines for itself: `git -c alias.p=push p`."""
    for naming in calls.gates.namings:
        for name in naming.names:
            for seen in calls.named(name):
                for setting in values_of(seen.words, naming.options):
                    key, found, meaning = setting.text.partition("=")
                    if found and key.lower().startswith(naming.prefix):
                        yield meaning[1:] if meaning[:1] == "!" else f"{name} {meaning}", seen.span


def _commands_in(program: str) -> Iterator[str]:
    from shellguard.approval.python_text import commands_in

    return commands_in(program)


def _programs(
    text: str, seen: Seen, programs: Iterator[Value | None], calls: Calls, *, as_line: bool
) -> Iterator[str]:
    """The programs, as far as they are known or written in `text`. `as_line`: they are the words of one."""
    if as_line:
        yield " ".join(_guess(text, program) for program in programs if program is not None)
        return
    for program in programs:
        if program is None:
            yield from _input(text, seen, calls)
        elif program.exact or program.span != seen.span:
            yield _guess(text, program)


def _input(text: str, seen: Seen, calls: Calls) -> Iterator[str]:
    """The texts on standard input that are written in `text`."""
    if seen.text is not None:
        yield _guess(text, seen.text)
    for before in calls.heard(seen):
        if before.text is not None:
            yield _guess(text, before.text)
        if calls.prints(before):
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
        case _:
            return PLACEHOLDER
