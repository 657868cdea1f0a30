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


class Kind:
    """What a fact is about: with the effect it says which finding it is (`findings.py`).

    The first nine may come with any effect, the others only with `unknown` (but `DIALECT`, which may write).
    """

    COMMAND = "command"
    """What a command does by itself."""
    OPTION = "option"
    """What an option adds."""
    OPERAND = "operand"
    """What a word does in its place."""
    REDIRECTION = "redirection"
    """What a redirection opens."""
    VARIABLE = "variable"
    """What setting a variable means."""
    CONFIGURATION = "configuration"
    """What files make a tool run that the text does not name."""
    SCRIPT = "script"
    """What a script inside a word says: sed, awk, SQL ..."""
    UNSEEN = "unseen"
    """What a word may be that nobody can see."""
    SENT = "sent"
    """What leaves the machine in an address, a header or a body."""

    SYNTAX = "syntax"
    """The text is refused by the parser."""
    EMPTY = "empty"
    """There is no command."""
    LIMIT = "limit"
    """It is too deep, or too much, to be judged to its end."""
    DIALECT = "dialect"
    """Another shell reads it as something else."""
    STATE = "state"
    """What it changes of the shell is not followed."""
    EVALUATED = "evaluated"
    """A value that is not known is evaluated: as arithmetic, a subscript, a prompt, a name."""
    NAME = "name"
    """Which command it is cannot be told."""
    PROGRAM = "program"
    """The command is a program by its path, which may be any."""
    NO_RULE = "no-rule"
    """No rule speaks of the command."""
    BROKEN_RULE = "broken-rule"
    """The rule of the command is wrong, or not trusted."""
    NO_OPTION = "no-option"
    """The rule does not list the option."""
    NO_SUBCOMMAND = "no-subcommand"
    """The rule does not list the subcommand."""
    NO_PLACE = "no-place"
    """The rule has no place for the word."""
    NO_VARIABLE = "no-variable"
    """No rule lists the variable."""
    MALFORMED = "malformed"
    """The call lacks something, or has too much, for what its rule says."""


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
    None where the shell itself decides (a redirection). `via` are the frames that led here, outermost first. `kind`
    is one of `Kind`.
    `marks` are words a policy may refuse: `sensitive`, `privileged`, `remote`, `touches:git-index`, `config:repo`
    ...
    """

    __slots__ = ("because", "effect", "kind", "marks", "source", "span", "via")
    __match_args__ = ("effect", "span", "because", "source", "via", "marks", "kind")

    def __init__(
        self,
        effect: str,
        span: Span,
        because: str,
        source: RuleRef | None = None,
        via: tuple[Frame, ...] = (),
        marks: tuple[str, ...] = (),
        kind: str = Kind.COMMAND,
    ) -> None:
        self.effect, self.span, self.because = effect, span, because
        self.source, self.via, self.marks, self.kind = source, via, marks, kind

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
        return hash((self.effect, self.span, self.because))
