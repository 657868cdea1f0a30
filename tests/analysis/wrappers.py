# SPDX-License-Identifier: Apache-2.0
"""Every way in which the shipped rules say that a command runs another: a text with `{}` for each, made from the rules.

Nothing here names a command. A rule that gets a `runs`, or a script of a shell, is among them from then on.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from shellguard.rules.model import SHELLS, CommandRule
from shellguard.rules.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shellguard.rules.model import Operand, Spec


class Wrapper:
    """A command around another. `text` has `{}` where that one stands: its words, or, when `quoted`, its text as one.

    `fed`: other words are added to those of the command. `cut`: the text is cut into words without a shell.
    """

    def __init__(self, place: str, text: str, *, quoted: bool, fed: bool = False, cut: bool = False) -> None:
        self.place, self.text, self.quoted, self.fed, self.cut = place, text, quoted, fed, cut

    def around(self, command: str) -> str:
        """The text with `command` in it."""
        return self.text.replace("{}", shlex.quote(command) if self.quoted else command, 1)

    def __repr__(self) -> str:
        return f"{self.place}: {self.text}"


def wrappers() -> list[Wrapper]:
    """All of them, each once, whatever names its command has."""
    shelf = Shelf.default()
    rules = {id(rule): rule for name in shelf.names() if isinstance(rule := shelf.get(name), CommandRule)}
    return [found for rule in rules.values() for found in _of(rule.spec, rule.command.split(), rule.path)]


def _of(spec: Spec, words: list[str], path: str) -> Iterator[Wrapper]:
    here = " ".join(words)
    fillers = _fillers(spec.operands)
    if spec.runs is not None:
        place = f"{path}:{spec.runs.line}"
        # Without the dashes its options may stand among the words of the command.
        dashes = ["--"] if spec.style == "gnu" else []
        text = " ".join([here, *_options_that_take_slots(spec), *fillers, *dashes, "{}"])
        yield Wrapper(place, text, quoted=spec.runs.joined is not None, fed=spec.runs.adds)
    for option in spec.distinct_options():
        place = f"{path}:{option.line}"
        before, after = ("", " ".join(fillers)) if spec.style != "words" else (" ".join(fillers), "")
        for name in option.names:
            if option.runs_value:
                for end in option.ends:
                    tail = shlex.quote(end) if end and " " not in end else end
                    yield Wrapper(place, f"{here} {before} {name} {{}} {tail}", quoted=False, fed=True)
            elif (option.role == "script" and option.language in SHELLS) or option.program:
                yield Wrapper(place, f"{here} {before} {name} {{}} {after}", quoted=True)
            elif option.role == "words":
                yield Wrapper(place, f"{here} {name} {{}}", quoted=True, cut=True)
    for index, slot in enumerate(spec.operands):
        if (slot.role == "script" and slot.language in SHELLS) or slot.program:
            given = sorted(slot.present_with)[:1]
            text = " ".join([here, *given, *_fillers(spec.operands[:index]), "{}"])
            yield Wrapper(f"{path}:{slot.line}", text, quoted=True)
    for name, below in spec.subcommands.items():
        yield from _of(below, [*words, name], path)


def _options_that_take_slots(spec: Spec) -> list[str]:
    """An option for each slot that would take the first word of the command."""
    found: list[str] = []
    for slot in spec.operands:
        if slot.absent_with and not slot.many:
            option = spec.options[sorted(slot.absent_with)[0]]
            found += [option.name, "x"] if option.takes == "one" else [option.name]
    return found


def _fillers(slots: tuple[Operand, ...]) -> list[str]:
    return ["x" for slot in slots if not slot.many and not slot.absent_with and not slot.present_with]


WRAPPERS = wrappers()
