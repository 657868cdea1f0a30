# SPDX-License-Identifier: Apache-2.0
"""One analysis under way: what it may ask, what it has found, and how far it may still go."""

from __future__ import annotations

from shellguard.effects import Effect, Fact, Frame, Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, TypeAlias

    from shellguard.analysis.assigned import Known
    from shellguard.analysis.seen import Log
    from shellguard.analysis.variables import Setting
    from shellguard.effects import RuleRef
    from shellguard.rules.model import Answer, CredentialPaths, Option, Spec, Variables
    from shellguard.spans import Span
    from shellguard.syntax.nodes import Script, Statement
    from shellguard.values.scope import Scope
    from shellguard.values.value import Value

    class Shelf(Protocol):
        """What the analysis asks of the rules. `shellguard.rules.shelf.Shelf` is one; a test may bring its own."""

        def get(self, name: str) -> Answer:
            """The rule of a command."""

        @property
        def variables(self) -> Variables:
            """What is known of environment variables."""

        @property
        def paths(self) -> CredentialPaths:
            """Which files hold credentials."""

    Settings: TypeAlias = tuple[Setting, ...]
    RunScript: TypeAlias = Callable[[Script, Scope, "Inquiry"], Value | None]
    RunStatement: TypeAlias = Callable[[Statement, Scope, "Inquiry"], Value | None]
    RunCommand: TypeAlias = Callable[[list[Value], Scope, "Inquiry", Settings], Value | None]

MAX_FACTS = 20_000
"""More facts than this are not kept; the answer is `unknown` then. A text of 1 MB has fewer."""

INNER_TEXT_AT_LEAST = 4_000
"""Characters of shell text inside words (`eval`, `sh -c`) that are read even where the whole text is short."""

MAX_DEPTH = 20
"""Commands inside commands (functions, `sh -c`, `eval`, `xargs`) beyond this are not followed."""

STEPS_AT_LEAST = 1_000
"""Simple commands that may be judged in any text, however short: functions and loops are judged more than once."""


class Assumptions:
    """What an analysis takes for granted.

    `shell`: `bash`, `sh`, `zsh`, or `any` (a text must be harmless in each of them). `trust`: `config` trusts the
    machine's own configuration, `words` only what the text says. `unknown_words`: `worst`, or `operand` for people
    who accept that a word nobody can see may be an option.
    """

    __slots__ = ("has_posix", "has_zsh", "shell", "trust", "unknown_words")
    __match_args__ = ("shell", "trust", "unknown_words")

    def __init__(self, shell: str = "bash", trust: str = "config", unknown_words: str = "worst") -> None:
        self.shell, self.trust, self.unknown_words = shell, trust, unknown_words
        self.has_posix = shell in ("sh", "any")  # dash, or another shell that knows little more than POSIX
        self.has_zsh = shell in ("zsh", "any")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Assumptions):
            return NotImplemented
        return (self.shell, self.trust, self.unknown_words) == (other.shell, other.trust, other.unknown_words)

    def __hash__(self) -> int:
        return hash((self.shell, self.trust, self.unknown_words))


class Limits:
    """How much may still be done. When it is used up the rest of the text is not judged, and that is a fact `unknown`.

    `input_moved`: some command may have put another file in the place of standard input for those behind it
    (`exec < f`). `interrupted`: some text of the text may run, and print, wherever a command does (`trap`), and
    `sends_later`: one that runs a command on another host.
    `assigned` keeps, for each loop of the text, what it assigns, and `worst`, for each spec, what an option of it may
    do, so that both are looked for once (with the loop or spec, whose identity another could get otherwise). `log`
    takes every command with its words, where somebody wants them.
    """

    __slots__ = (
        *("assigned", "facts", "input_moved", "interrupted", "log", "said", "sends_later", "steps", "text"),
        "worst",
    )

    def __init__(self, length: int) -> None:
        """For a text of `length` characters."""
        self.facts = MAX_FACTS
        self.steps = STEPS_AT_LEAST + length // 2  # `a;a;a` has no more commands than that
        self.text = INNER_TEXT_AT_LEAST + 2 * length  # `eval eval eval ...` is read again at each level
        self.said = False
        self.input_moved = self.interrupted = self.sends_later = False
        self.assigned: Known = {}
        self.worst: dict[int, tuple[Spec, tuple[tuple[str, Option], ...]]] = {}
        self.log: Log | None = None


class Judges:
    """The functions by which the modules reach each other: words hold scripts, and commands run commands."""

    __slots__ = ("command", "script", "statement")

    def __init__(self, script: RunScript, statement: RunStatement, command: RunCommand) -> None:
        self.script, self.statement, self.command = script, statement, command


class Inquiry:
    """Where facts are collected, under the frames that led to the place that is judged.

    An inner inquiry (`inside`) shares everything with its parent but the frames, the depth and the origin. `origin`
    is the span of the word that holds the text which is judged, None for the text itself: facts about a text inside a
    word point at the word. `fed` is what is known of the words on standard input, None for nothing, and from the
    first command on that may have read some of it: what it leaves may begin within a word. `piped`: standard input is
    a file or what another command prints. `redirected`: it is not that of the shell, whatever it is. `typed`: the
    text on standard input, where the text that is judged holds it (a here-document), None for any other input.
    `marks` stand on every fact that is added: of the commands that led here, those that run another one elsewhere or
    as somebody else.
    """

    __slots__ = (
        "assumptions",
        "depth",
        "facts",
        "fed",
        "frames",
        "judges",
        "limits",
        "marks",
        "origin",
        "piped",
        "redirected",
        "shelf",
        "typed",
    )

    def __init__(self, shelf: Shelf, assumptions: Assumptions, limits: Limits, judges: Judges) -> None:
        self.shelf, self.assumptions, self.limits, self.judges = shelf, assumptions, limits, judges
        self.facts: list[Fact] = []
        self.frames: tuple[Frame, ...] = ()
        self.origin: Span | None = None
        self.depth = 0
        self.fed: Value | None = None
        self.piped = self.redirected = False
        self.marks: tuple[str, ...] = ()
        self.typed: Value | None = None

    def inside(self, frame: Frame | None, origin: Span | None = None, fed: Value | None = None) -> Inquiry:
        """The same inquiry one frame further in. `origin` is that of a word whose text is judged from here on."""
        inner = Inquiry.__new__(Inquiry)  # everything is taken over or set here
        inner.shelf, inner.assumptions, inner.limits = self.shelf, self.assumptions, self.limits
        inner.judges, inner.facts = self.judges, self.facts
        inner.frames = self.frames if frame is None else (*self.frames, frame)
        inner.origin = self.origin or origin
        inner.depth = self.depth if frame is None else self.depth + 1
        inner.fed, inner.typed = fed, None
        inner.piped, inner.redirected, inner.marks = self.piped, self.redirected, self.marks
        return inner

    def with_input(self, piped: bool) -> Inquiry:
        """The same inquiry about a command whose standard input is another file or pipe, or is none."""
        self.fed = None  # `< /dev/stdin` reads some of what the pipe brings
        inner = self.inside(None)
        inner.piped, inner.redirected = piped, True
        return inner

    def marked(self, marks: tuple[str, ...]) -> Inquiry:
        """The same inquiry where every fact has these marks too."""
        inner = self.inside(None, fed=self.fed)
        inner.typed, inner.marks = self.typed, tuple(sorted({*self.marks, *marks}))
        return inner

    def given(self, typed: Value | None) -> Inquiry:
        """The same inquiry about one command, with this text on its standard input."""
        inner = self.inside(None, fed=self.fed)
        inner.typed = typed
        return inner

    def in_shell(self, shell: str) -> Inquiry:
        """The same inquiry about a text that a shell of this kind runs."""
        inner = self.inside(None)
        inner.fed = self.fed
        if shell != self.assumptions.shell:
            inner.assumptions = Assumptions(shell, self.assumptions.trust, self.assumptions.unknown_words)
        return inner

    @property
    def seen(self) -> int:
        """How many commands the log holds so far; 0 without a log."""
        return 0 if self.limits.log is None else len(self.limits.log.commands)

    def script(self, tree: Script, scope: Scope) -> Value | None:
        """Judges a script here; what is known of its output."""
        return self.judges.script(tree, scope, self)

    def statement(self, node: Statement, scope: Scope) -> Value | None:
        """Judges a statement here; what is known of its output."""
        return self.judges.statement(node, scope, self)

    def command(self, words: list[Value], scope: Scope, settings: Settings = ()) -> Value | None:
        """Judges a command of which the words are known; what is known of its output."""
        return self.judges.command(words, scope, self, settings)

    def too_deep(self, span: Span) -> bool:
        """Whether nothing further in may be judged; says so as a fact."""
        if self.depth < MAX_DEPTH:
            return False
        self.unknown(span, f"commands inside commands are followed {MAX_DEPTH} deep, not further", Kind.LIMIT)
        return True

    def may_read(self, text: str, span: Span) -> bool:
        """Takes the characters of a text inside the text; False when too many were taken, which is then a fact."""
        self.limits.text -= len(text)
        return self.limits.text > 0 or self.step(span, self.limits.steps)

    def step(self, span: Span, steps: int = 1) -> bool:
        """Takes some steps; False when none is left, which is then a fact."""
        self.limits.steps -= steps
        if self.limits.steps > 0 and self.limits.facts > 0:
            return True
        if not self.limits.said:
            self.limits.said = True
            because = "the text does too much to be judged to its end"
            self.facts.append(Fact(Effect.UNKNOWN, self.place(span), because, kind=Kind.LIMIT))
        return False

    def place(self, span: Span) -> Span:
        """Where a span of the text that is judged here lies in the whole text."""
        return span if self.origin is None else self.origin

    def add(
        self,
        effect: str,
        span: Span,
        because: str,
        source: RuleRef | None = None,
        marks: tuple[str, ...] = (),
        kind: str = Kind.COMMAND,
    ) -> None:
        """One more fact. There is no way to take one back."""
        self.limits.facts -= 1
        if self.limits.facts > 0:
            place = span if self.origin is None else self.origin
            if self.marks:
                marks = (*marks, *[mark for mark in self.marks if mark not in marks])
            self.facts.append(Fact(effect, place, because, source, self.frames, marks, kind))
        else:
            self.step(span)

    def unknown(self, span: Span, because: str, kind: str, source: RuleRef | None = None) -> None:
        """One more thing that is not understood."""
        self.add(Effect.UNKNOWN, span, because, source, kind=kind)
