# SPDX-License-Identifier: Apache-2.0
"""The answer: what facts add up to, and what a caller lets pass."""

from __future__ import annotations

from shellguard.effects import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.effects import Fact
    from shellguard.rules.model import PolicyRule

READ, WRITE, UNKNOWN = "read", "write", "unknown"


def kind_of(facts: tuple[Fact, ...]) -> str:
    """`write` when a fact writes or executes, else `unknown` when one is, else `read`. No fact at all is a read."""
    effects = {fact.effect for fact in facts}
    if Effect.WRITES in effects or Effect.EXECUTES in effects:
        return WRITE
    return UNKNOWN if Effect.UNKNOWN in effects else READ


class Verdict:
    """What is known of a shell text: `kind` (`read`, `write`, `unknown`), and the facts, in program order."""

    __slots__ = ("facts", "kind", "text")
    __match_args__ = ("kind", "facts", "text")

    def __init__(self, text: str, facts: tuple[Fact, ...]) -> None:
        self.text, self.facts = text, facts
        self.kind = kind_of(facts)

    @property
    def read_only(self) -> bool:
        """Whether the text is proved to change nothing. `unknown` is not."""
        return self.kind == READ

    @property
    def effects(self) -> frozenset[str]:
        """Every effect that some fact has."""
        return frozenset(fact.effect for fact in self.facts)

    @property
    def marks(self) -> frozenset[str]:
        """Every mark that some fact has."""
        return frozenset(mark for fact in self.facts for mark in fact.marks)

    def __repr__(self) -> str:
        return f"Verdict({self.kind!r}, effects={sorted(self.effects)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Verdict):
            return NotImplemented
        return (self.text, self.facts) == (other.text, other.facts)

    def __hash__(self) -> int:
        return hash((self.text, self.facts))


class Policy:
    """Which reads a caller lets pass. A policy only refuses: what is not a read passes none.

    `effects` are those that a read may have, `refuses` the marks it may not have; `touches:*` stands for all of its
    kind.
    """

    __slots__ = ("effects", "name", "refuses")
    __match_args__ = ("name", "effects", "refuses")

    def __init__(self, name: str, effects: frozenset[str], refuses: tuple[str, ...] = ()) -> None:
        self.name, self.effects, self.refuses = name, effects, refuses

    @classmethod
    def from_rule(cls, rule: PolicyRule) -> Policy:
        """The policy that an entry of `_policies.yaml` describes."""
        return cls(rule.name, rule.effects, tuple(pattern.text for pattern in rule.refuses))

    def allows(self, verdict: Verdict) -> bool:
        """Whether the text may run without asking anybody."""
        return verdict.read_only and not self.objections(verdict)

    def objections(self, verdict: Verdict) -> tuple[Fact, ...]:
        """The facts for which the text may not run without asking, in program order; none when it may."""
        return tuple(fact for fact in verdict.facts if self._objects_to(fact))

    def _objects_to(self, fact: Fact) -> bool:
        if kind_of((fact,)) != READ or fact.effect not in self.effects:
            return True
        return any(self._refuses(mark) for mark in fact.marks)

    def _refuses(self, mark: str) -> bool:
        for pattern in self.refuses:
            if pattern == mark or (pattern.endswith("*") and mark.startswith(pattern[:-1])):
                return True
        return False

    def __repr__(self) -> str:
        return f"Policy({self.name!r}, {sorted(self.effects)!r}, {self.refuses!r})"


DEFAULT_POLICY = Policy("default", frozenset({Effect.READS, Effect.WAITS, Effect.NETWORK}))
"""What is used where nobody chose one: reads and waits, also over the network."""
