# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of everything below the words: what a command may do, and how we know."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.spans import Span


class Effect:
    """The six things a command may do. String constants, not an enum: `enum` is paid for in every hook.

    They are members of a set, not steps of a scale: an order would hide `executes` under `writes`.
    """

    READS = "reads"
    """Looks at files or state."""
    WRITES = "writes"
    """Changes something that outlives the process, here or on another host."""
    EXECUTES = "executes"
    """Starts a program that the text does not name: a pager, an editor, a hook, a driver."""
    NETWORK = "network"
    """Talks to another host."""
    WAITS = "waits"
    """Pauses, or blocks until something changes."""
    UNKNOWN = "unknown"
    """Nothing proves what it does."""


EFFECTS = (Effect.READS, Effect.WRITES, Effect.EXECUTES, Effect.NETWORK, Effect.WAITS, Effect.UNKNOWN)
"""Every effect, in the order in which they are shown."""


class RuleRef:
    """A place in a rule file: `path` from the root of the project (`rules/vcs/git.yaml`), 1-based `line`, `place`.

    `place` is the path inside the file, as a person would say it: `subcommands.branch.cases[2]`.
    """

    __slots__ = ("line", "path", "place")
    __match_args__ = ("path", "line", "place")

    def __init__(self, path: str, line: int, place: str = "") -> None:
        self.path, self.line, self.place = path, line, place

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"

    def __repr__(self) -> str:
        return f"RuleRef({self.path!r}, {self.line!r}, {self.place!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RuleRef):
            return NotImplemented
        return (self.path, self.line, self.place) == (other.path, other.line, other.place)

    def __hash__(self) -> int:
        return hash((self.path, self.line, self.place))


class Frame:
    """One step on the way to a fact: a command that runs another (`xargs`), a function, a script in a word.

    `rule` is the line of the rule that says so, None where the shell itself does.
    """

    __slots__ = ("name", "rule")
    __match_args__ = ("name", "rule")

    def __init__(self, name: str, rule: RuleRef | None = None) -> None:
        self.name, self.rule = name, rule

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Frame({self.name!r}, {self.rule!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Frame):
            return NotImplemented
        return (self.name, self.rule) == (other.name, other.rule)

    def __hash__(self) -> int:
        return hash((self.name, self.rule))


class Fact:
    """One thing the text may do, where it says so, and why we think so.

    `effect` is one of `EFFECTS`. `span` is `(start, end)` in characters of the text that was judged, also for a
    command inside a word of another. `because` is a sentence without a full stop. `source` is the line of the rule,
    None where the shell itself decides (a redirection). `via` are the frames that led here, outermost first.
    `marks` are words a policy may refuse: `sensitive`, `privileged`, `remote`, `touches:git-index`, `config:repo`
    ...
    """

    __slots__ = ("because", "effect", "marks", "source", "span", "via")
    __match_args__ = ("effect", "span", "because", "source", "via", "marks")

    def __init__(
        self,
        effect: str,
        span: Span,
        because: str,
        source: RuleRef | None = None,
        via: tuple[Frame, ...] = (),
        marks: tuple[str, ...] = (),
    ) -> None:
        self.effect, self.span, self.because = effect, span, because
        self.source, self.via, self.marks = source, via, marks

    @property
    def rule(self) -> str | None:
        """`path:line` of the rule that says so, None where no rule does."""
        return None if self.source is None else str(self.source)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"Fact({fields})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fact):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__match_args__)

    def __hash__(self) -> int:
        return hash((self.effect, self.span, self.because, self.source, self.via, self.marks))
