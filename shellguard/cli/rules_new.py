# SPDX-License-Identifier: Apache-2.0
"""`shellguard rules new`: a first rule file for a tool, from what the tool says of itself."""

from __future__ import annotations

import rich_click as click

from shellguard.cli.shelves import say
from shellguard.explain import visible


@click.command()
@click.argument("tool")
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="Read the help text from a file, or from standard input (-), and run nothing.",
)
@click.option(
    "--output", type=click.Path(dir_okay=False), help="Write the draft here; no file is overwritten."
)
def new(tool: str, source: str | None, output: str | None) -> None:
    """Draft a rule from what TOOL says of itself.

    Runs `TOOL --help` and `man TOOL`, each in an empty folder, without input, for five seconds at most, and says so
    first. Everything in a draft is unknown until you say what it does, so a draft makes no command a read.
    """
    from shellguard.cli.streams import read_text
    from shellguard.rules.draft import draft
    from shellguard.rules.load import load_text

    if not _may_name(tool):
        raise click.UsageError(f"{visible(repr(tool))} cannot be the name of a command: no path, no blanks.")
    if source is not None:
        help_text, manual = read_text(source), ""
    else:
        help_text, manual = _told_by(tool)
    text = draft(tool, help_text, manual)
    load_text(text, f"{tool}.yaml")  # a draft that does not load is a bug of ours, and seen at once
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        with open(output, "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise click.UsageError(f"{visible(output)}: {error.strerror}") from error
    say(f"wrote {output}: fill it in, then `shellguard rules check {output}`", err=True)


def _may_name(tool: str) -> bool:
    return (
        tool != ""
        and tool.isprintable()
        and tool.isascii()
        and not set(tool) & set(" /\\\"'`#,{}")
        and not tool.startswith(("-", "."))
    )


def _told_by(tool: str) -> tuple[str, str]:
    """The help of the tool and its manual page, each empty when there is none."""
    from shellguard.cli.helptext import TIME_LIMIT, commands_for, output_of, program_of

    program = program_of(tool)
    if program is None:
        raise click.UsageError(f"{tool} is not installed; `--from FILE` reads its help text from a file.")
    told = {}
    for command in commands_for(tool):
        say(
            f"running: {' '.join(command)}   (empty folder, no input, at most {TIME_LIMIT:g} seconds)",
            err=True,
        )
        try:
            told[command[0]] = output_of(command)
        except OSError as error:
            say(f"{command[0]}: {error.strerror}", err=True)
    help_text = told.pop(program, "")
    return help_text, "\n".join(told.values())
