# SPDX-License-Identifier: Apache-2.0
"""Scripts inside arguments: one module for each language, imported when a word is in it.

A reader takes the text of the script and gives back what it may do. It answers only for what it models; anything else
is `unknown`. No reader knows which command the script belongs to.
"""

from __future__ import annotations

from shellguard.effects import Effect, Kind
from shellguard.rules.model import SHELLS
from shellguard.values.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shellguard.analysis.inquiry import Inquiry
    from shellguard.effects import RuleRef
    from shellguard.values.scope import Scope

LANGUAGES = (
    *("arithmetic", "awk", "bash", "graphql", "javascript", "jq", "login", "mlr", "perl", "perl-file", "php"),
    *("printf", "python", "python-isolated", "ruby", "sed", "sh", "shell"),
    *("duckdb", "mysql", "postgres", "sql", "sqlite", "sqlite-readonly", "zsh-arithmetic"),
)
"""Every language that has a reader. Any other is `unknown` as a whole.

`shell` is text for the shell that reads the whole text, `bash` and `sh` for a new one of that kind, `login` for a new
one of any kind. `zsh-arithmetic` is what zsh evaluates and bash takes for a number or refuses. `perl-file` is a word
that perl opens as it likes to.
"""

WHOLE = frozenset({"python", "python-isolated"})
"""Languages in which digits do not read alike everywhere: no sample stands for a text that is not known."""

CONFIGURED = "config:repo"
"""The mark of what files that lie beside the call may change."""

NEW_SHELL = "shell text"
"""The frame of a text that a new shell runs."""


class Finding:
    """One thing that an embedded script may do. `command` is the shell text that it starts, where that is known.

    `marks` as those of a fact; `config:repo` where files of the current folder may stand in for what is read. `file`:
    the name of the file that is read, None where it is not known; it is compared with those that hold credentials.
    """

    __slots__ = ("because", "command", "effect", "file", "marks")
    __match_args__ = ("effect", "because", "command", "marks", "file")

    def __init__(
        self,
        effect: str,
        because: str,
        command: str | None = None,
        *,
        marks: tuple[str, ...] = (),
        file: str | None = None,
    ) -> None:
        self.effect, self.because, self.command = effect, because, command
        self.marks, self.file = marks, file

    def __repr__(self) -> str:
        return f"Finding({self.effect!r}, {self.because!r})"


class NotUnderstoodError(Exception):
    """Raised inside a reader for what it does not model. `str()` is a sentence for people."""


def script_facts(
    language: str, value: Value, source: RuleRef, scope: Scope, inquiry: Inquiry, *, same_shell: bool = False
) -> None:
    """Judges a word that is a script. `same_shell`: shell text that the shell of the whole text will run itself."""
    if language in SHELLS:
        from shellguard.analysis.embedded.shell import shell_facts

        shell_facts(language, value, source, scope, inquiry, same_shell=same_shell)
    elif language == "zsh-arithmetic" and not inquiry.assumptions.has_zsh:
        pass
    elif language in ("arithmetic", "zsh-arithmetic"):
        from shellguard.analysis.arithmetic import arithmetic_text, number_for_zsh

        evaluate = arithmetic_text if language == "arithmetic" else number_for_zsh
        evaluate(value, scope, inquiry)
    elif value.sample is None or (not value.exact and language in WHOLE):
        inquiry.unknown(value.span, f"a {language} script that is not known", Kind.UNSEEN, source)
    else:
        _read(language, value.sample, value, source, scope, inquiry)


JOINED = frozenset({"sed"})
"""Languages of which several words (`sed -e a -e b`) make one script, one line after the other."""


def pieces_facts(values: list[Value], source: RuleRef, inquiry: Inquiry) -> None:
    """Judges several words that are one sed script together. All of them are known."""
    from shellguard.analysis.embedded import sed

    found: list[Finding] = []
    try:
        sed.read_pieces([value.sample or "" for value in values], found)
    except NotUnderstoodError as problem:
        found.append(Finding(Effect.UNKNOWN, str(problem)))
    whole = Value("", (values[0].span[0], max(value.span[1] for value in values)))
    for finding in found:
        _add(finding, whole, source, inquiry)


def _read(language: str, text: str, value: Value, source: RuleRef, scope: Scope, inquiry: Inquiry) -> None:
    reader = reader_of(language)
    if reader is None:
        inquiry.unknown(value.span, f"nothing here reads {language}", Kind.SCRIPT, source)
        return
    found: list[Finding] = []
    try:
        reader(text, found)
    except NotUnderstoodError as problem:
        found.append(Finding(Effect.UNKNOWN, str(problem)))
    for finding in found:
        if finding.command is None or not value.exact:
            _add(finding, value, source, inquiry)
        else:
            script_facts("sh", Value(finding.command, value.span), source, scope, inquiry)


def _add(finding: Finding, value: Value, source: RuleRef, inquiry: Inquiry) -> None:
    marks = finding.marks
    if finding.file is not None:
        from shellguard.analysis.paths import marks_of, sensitive

        marks += marks_of(sensitive(Value(finding.file, value.span), inquiry))
    inquiry.add(finding.effect, value.span, finding.because, source, marks, Kind.SCRIPT)
    if CONFIGURED in marks and inquiry.assumptions.trust == "words":
        because = f"{finding.because}, which a file of the current folder may stand in for"
        inquiry.add(Effect.EXECUTES, value.span, because, source, kind=Kind.CONFIGURATION)


def reader_of(language: str) -> Callable[[str, list[Finding]], None] | None:
    """The function that reads a text of `language` and appends what it finds, or raises NotUnderstoodError."""
    match language:
        case "awk":
            from shellguard.analysis.embedded.awk import read
        case "graphql":
            from shellguard.analysis.embedded.graphql import read
        case "javascript":
            from shellguard.analysis.embedded.javascript import read
        case "jq":
            from shellguard.analysis.embedded.jq import read
        case "mlr":
            from shellguard.analysis.embedded.mlr import read
        case "perl":
            from shellguard.analysis.embedded.perl import read
        case "perl-file":
            from shellguard.analysis.embedded.perl import read_operand as read
        case "php":
            from shellguard.analysis.embedded.php import read
        case "printf":
            from shellguard.analysis.embedded.printf import read
        case "python":
            from shellguard.analysis.embedded.python import read
        case "python-isolated":
            from shellguard.analysis.embedded.python import read_isolated as read
        case "ruby":
            from shellguard.analysis.embedded.ruby import read
        case "sed":
            from shellguard.analysis.embedded.sed import read
        case "sql" | "sqlite" | "sqlite-readonly" | "postgres" | "mysql" | "duckdb":
            from shellguard.analysis.embedded.sql import READERS

            return READERS[language]
        case _:
            return None
    return read
