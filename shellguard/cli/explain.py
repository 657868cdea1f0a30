# SPDX-License-Identifier: Apache-2.0
"""`shellguard explain`: the verdict with all its facts, and what would make the text pass."""

from __future__ import annotations

import click

from shellguard.cli.base import (
    FILE,
    Judging,
    color_option,
    command,
    judging_options,
    paint_for,
    say,
    unreadable,
)
from shellguard.cli.streams import read_text
from shellguard.explain import summary, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from shellguard.advice import Suggestion
    from shellguard.explain import Paint
    from shellguard.findings import Finding
    from shellguard.verdict import Verdict


@command("explain")
@click.argument("file", default="-", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
@judging_options
@color_option
def explain(
    file: str,
    as_json: bool,
    policy: str,
    shell: str,
    trust: str,
    unknown_words: str,
    rules: str | None,
    color: str,
) -> None:
    """Say what a text would do, and what would make it a read.

    Reads FILE, or standard input. Every suggestion was judged, and passes; whether it still does what was meant is for
    you to say. Exit status 0, whatever the verdict is; 2: wrong usage.
    """
    judging = Judging(policy, shell, trust, unknown_words, rules)
    try:
        text = read_text(file)
    except OSError as error:
        raise click.UsageError(unreadable(file, error)) from error
    from shellguard.advice import needed, suggestions

    verdict = judging.verdict(text)
    found = suggestions(verdict, judging.policy, judging.verdict)
    wanted = needed(verdict, judging.policy)
    if as_json:
        say(_json(verdict, found, wanted, judging))
    else:
        for line in _lines(verdict, found, wanted, judging, paint_for(color)):
            say(line)


def _json(verdict: Verdict, found: list[Suggestion], wanted: list[Finding], judging: Judging) -> str:
    from shellguard.cli.output import dumps, verdict_object

    return dumps(
        {
            **verdict_object(verdict, judging.policy.allows(verdict), judging.shelf),
            "policy": judging.policy.name,
            "marks": sorted(verdict.marks),
            "objections": [
                {"code": each.code, "name": each.name, "meaning": each.meaning, "advice": each.advice}
                for each in wanted
            ],
            "suggestions": [{"text": each.text, "does": each.does} for each in found],
        }
    )


def _lines(
    verdict: Verdict, found: list[Suggestion], wanted: list[Finding], judging: Judging, paint: Paint
) -> Iterator[str]:
    yield summary(verdict, everything=True, paint=paint)
    allowed = judging.policy.allows(verdict)
    yield ""
    yield f"effects  {', '.join(sorted(verdict.effects)) or 'none'}"
    if verdict.marks:
        yield f"marks    {visible(', '.join(sorted(verdict.marks)))}"
    for frames in _frames(verdict):
        yield f"through  {visible(frames)}"
    yield f"policy   {judging.policy.name}: {'allowed' if allowed else 'not allowed'}"
    if allowed:
        return
    yield ""
    for finding in wanted:
        yield f"{finding.code} {finding.name}: {finding.meaning} {finding.advice}"
    yield ""
    if not found:
        yield "No text near this one passes."
        return
    yield "These pass:"
    for suggestion in found:
        yield f"  {visible(suggestion.does)}:"
        for line in suggestion.text.split("\n"):
            yield f"      {visible(line)}"


def _frames(verdict: Verdict) -> list[str]:
    """Each way through commands that run others, once: `xargs -> git branch x`."""
    ways = []
    for fact in verdict.facts:
        if fact.via:
            start, end = fact.span
            words = verdict.text[start:end]
            shown = words if len(words) <= 60 else words[:57] + "..."
            ways.append(" -> ".join([*(frame.name for frame in fact.via), shown]))
    return list(dict.fromkeys(ways))
