# SPDX-License-Identifier: Apache-2.0
"""`shellguard report`: the text of an issue about a verdict, ready to be read and pasted. Nothing is sent."""

from __future__ import annotations

import os

import click

from shellguard._version import __version__
from shellguard.cli.base import Judging, command, judging_options, say
from shellguard.cli.output import SCHEMA, rules_hash
from shellguard.explain import visible
from shellguard.findings import finding_of
from shellguard.redact import MARK, redact, secrets_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shellguard.verdict import Verdict

MAX_LENGTH = 20_000
"""Characters of the command that are shown."""

MAX_FACTS = 60

_NO_NAMES = frozenset({"root", "user", "home", "admin", "runner", "nobody", "guest", "ubuntu", "debian"})
"""Users of so many machines that they name nobody."""


@command("report")
@click.argument("text", required=False, metavar="[TEXT]")
@judging_options
def report(
    text: str | None, policy: str, shell: str, trust: str, unknown_words: str, rules: str | None
) -> None:
    """Print a text for an issue about a verdict, without secrets.

    TEXT is the command, one word for the shell you type this in; without it, standard input is read. Read what is
    printed before you show it to anybody: only what looks like a secret is taken out. Nothing is sent.
    """
    from shellguard.cli.streams import read_text

    judging = Judging(policy, shell, trust, unknown_words, rules)
    whole = read_text("-") if text is None else text
    for line in _lines(judging.verdict(whole), judging):
        say(line)


def _lines(verdict: Verdict, judging: Judging) -> Iterator[str]:
    import platform

    names = _names()
    known = secrets_in(verdict.text, names)
    redacted = redact(verdict.text, names, known=known)
    allowed = judging.policy.allows(verdict)
    taken = judging.assumptions
    yield f"## shellguard says `{verdict.kind}`"
    yield ""
    yield f"- policy {visible(judging.policy.name)}: {'allowed' if allowed else 'not allowed'}"
    yield f"- shell {taken.shell}, trust {taken.trust}, unknown words {taken.unknown_words}"
    yield f"- shellguard {__version__}, schema {SCHEMA}, rules {rules_hash(judging.shelf)}"
    yield f"- Python {platform.python_version()}, {platform.system()}"
    if redacted != verdict.text:
        yield f"- something was taken out of the command: `{MARK}...` stands for it"
        again = judging.verdict(redacted).kind
        if again != verdict.kind:
            yield f"- with that taken out, the verdict is `{again}`"
    yield ""
    yield "The command:"
    yield ""
    yield from _fenced(_shown(redacted), "sh")
    yield ""
    yield "What was found:"
    yield ""
    yield from _fenced(list(_facts(verdict, lambda part: redact(part, names, known=known))), "text")
    yield ""
    yield "What it does, and how that can be seen:"
    yield ""
    yield "..."


def _shown(text: str) -> list[str]:
    lines = [visible(line) for line in text[:MAX_LENGTH].split("\n")]
    return [*lines, f"... {len(text) - MAX_LENGTH} characters more"] if len(text) > MAX_LENGTH else lines


def _facts(verdict: Verdict, clean: Callable[[str], str]) -> Iterator[str]:
    for fact in verdict.facts[:MAX_FACTS]:
        finding = finding_of(fact)
        start, end = fact.span
        words = clean(verdict.text[start:end])
        yield f"{fact.effect}  {finding.code} {finding.name}: {visible(clean(fact.because))}"
        yield f"    words  {visible(words if len(words) <= 200 else words[:200] + '...')}"
        if fact.source is not None:
            yield f"    rule   {visible(clean(str(fact.source)))}  {visible(fact.source.place)}".rstrip(" ")
        if fact.via:
            yield f"    via    {visible(clean(' -> '.join(frame.name for frame in fact.via)))}"
        if fact.marks:
            yield f"    marks  {visible(', '.join(fact.marks))}"
    if len(verdict.facts) > MAX_FACTS:
        yield f"... {len(verdict.facts) - MAX_FACTS} facts more"


def _fenced(lines: list[str], language: str) -> Iterator[str]:
    """The lines as a block of Markdown that nothing in them can end."""
    longest, run = 0, 0
    for char in "\n".join(lines):
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    yield fence + language
    yield from lines
    yield fence


def _names() -> list[str]:
    """What the user of this machine is called."""
    found = {
        os.path.basename(os.path.expanduser("~")),
        os.environ.get("USER", ""),
        os.environ.get("LOGNAME", ""),
    }
    return sorted(name for name in found if len(name) > 2 and name.lower() not in _NO_NAMES)
