# SPDX-License-Identifier: Apache-2.0
"""One call of a tool: its words, bound to the levels of its rule."""

from __future__ import annotations

from shellguard.analysis.bind import slots_of
from shellguard.effects import RuleRef

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.bind import Bound
    from shellguard.rules.model import Spec
    from shellguard.spans import Span
    from shellguard.values.value import Value


class Call:
    """One call of a tool: its rule, all its words (the name first), and what they were bound to.

    `leaf` is the level that says what is done: the last subcommand. `placed` are its operands with the slots that they
    may fill.
    """

    __slots__ = ("leaf", "levels", "path", "placed", "span", "words")

    def __init__(self, path: str, words: list[Value], levels: list[Bound]) -> None:
        self.path, self.words, self.levels = path, words, levels
        self.span: Span = (words[0].span[0], max(words[0].span[1], words[-1].span[1]))
        self.leaf = levels[-1]
        self.placed = slots_of(self.leaf)

    def ref(self, spec: Spec, line: int, place: str) -> RuleRef:
        """A place in the rule file."""
        return RuleRef(self.path, line, f"{spec.where}.{place}" if spec.where else place)
