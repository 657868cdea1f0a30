# SPDX-License-Identifier: Apache-2.0
"""`shellguard corpus`: reviewed commands, taken from transcripts without what is secret or personal in them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from shellguard.cli.base import SETTINGS, Judging, command, help_is_wanted, judging_options, say
from shellguard.explain import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from shellguard.verdict import Verdict


def _group() -> type[click.Group]:
    if not help_is_wanted():
        return click.Group
    from rich_click import RichGroup

    return RichGroup


@click.group("corpus", cls=_group(), context_settings=SETTINGS)
def corpus() -> None:
    """Keep commands whose verdict somebody has reviewed."""


folder_option = click.option(
    "--corpus",
    "folder",
    type=click.Path(file_okay=False),
    default="corpus",
    show_default=True,
    help="The folder of the corpus.",
)


@command("add")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@folder_option
@click.option("--file", "name", default="own.jsonl", show_default=True, help="The file that gets the rows.")
@click.option(
    "--verdict",
    type=click.Choice(["read", "write", "unknown", "any"]),
    default="any",
    show_default=True,
    help="Only commands with this verdict.",
)
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many rows.")
@click.option("--source", default="own", show_default=True, help="Where the commands come from.")
@click.option("--why", default="", help="Why the verdict is right [default: the reason that was found].")
@click.option("--dry-run", is_flag=True, help="Print the rows and write nothing.")
@judging_options
def add(
    paths: tuple[str, ...],
    folder: str,
    name: str,
    verdict: str,
    limit: int,
    source: str,
    why: str,
    dry_run: bool,
    policy: str,
    shell: str,
    trust: str,
    unknown_words: str,
    rules: str | None,
) -> None:
    """Take commands from transcripts as rows of the corpus.

    Secrets and personal details are replaced. A command that is there already is left out. Read every row before you
    keep it: it expects what the rules say now, and what looks like no secret stays.

    Exit status 0: done; 2: nothing that could be read.
    """
    from shellguard.replay import corpus as rows

    judging = Judging(policy, shell, trust, unknown_words, rules)
    place = Path(folder)
    ids, hashes = rows.known(place) if place.is_dir() else (set(), set())
    lines: list[str] = []
    failed = read = False
    for item in _commands(paths):
        if item is None:
            failed = True
            continue
        read = True
        row = _row(item, judging, verdict, source, why)
        if row is None or row["id"] in ids or rows.hash_of(item) in hashes:
            continue
        ids.add(row["id"])
        lines.append(json.dumps(row, ensure_ascii=True))
        if len(lines) >= limit:
            break
    if dry_run:
        for line in lines:
            say(line)
    elif lines:
        place.mkdir(parents=True, exist_ok=True)
        with (place / name).open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
        rows.write_counts(place)
        say(f"{visible(str(place / name))}: {len(lines)} rows more; read them before you keep them")
    else:
        say("nothing that is not there already")
    sys.exit(2 if failed and not read else 0)


@command("count")
@folder_option
def count(folder: str) -> None:
    """Write COUNTS.json as the rows are. Below that a replay of the corpus fails.

    Exit status 0: done; 2: a row is wrong, or the folder cannot be written to.
    """
    from shellguard.replay import corpus as rows

    try:
        found = rows.write_counts(Path(folder))
    except (OSError, ValueError) as error:
        say(visible(str(error)), err=True)
        sys.exit(2)
    for name, kinds in found.items():
        say(f"{visible(name)}: {', '.join(f'{number} {kind}' for kind, number in kinds.items())}")


corpus.add_command(add)
corpus.add_command(count)


def _commands(paths: tuple[str, ...]) -> Iterator[str | None]:
    """The shell commands of transcripts; None for what cannot be read, which is said."""
    from shellguard.transcripts.detect import calls_of
    from shellguard.transcripts.discover import discovered
    from shellguard.transcripts.model import Problem

    for source in discovered(paths):
        for item in (source,) if isinstance(source, Problem) else calls_of(source):
            if isinstance(item, Problem):
                say(visible(str(item)), err=True)
                yield None
            elif item.command is not None:
                yield item.command


def _row(text: str, judging: Judging, wanted: str, source: str, why: str) -> dict[str, Any] | None:
    from shellguard.replay import corpus as rows

    row = rows.row_for(text, "", source, why)
    if row is None:
        return None
    # What was taken out may be what the verdict was about: the row holds that of the text it holds.
    verdict = judging.verdict(row["command"])
    if wanted not in ("any", verdict.kind):
        return None
    row["expect"] = verdict.kind
    row["why"] = why or _reason(verdict)
    return row


def _reason(verdict: Verdict) -> str:
    decides = {"write": ("writes", "executes"), "unknown": ("unknown",)}.get(verdict.kind, ())
    for fact in verdict.facts:
        if not decides or fact.effect in decides:
            return f"{fact.effect}: {fact.because}"
    return "nothing in it changes anything"
