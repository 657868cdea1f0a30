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
    help="Read a help text, or the source of a manual page, from a file or standard input (-); run nothing.",
)
@click.option(
    "--output", type=click.Path(dir_okay=False), help="Write the draft here; no file is overwritten."
)
@click.option(
    "--deep", is_flag=True, help="Also run `TOOL SUBCOMMAND --help` for each subcommand that its help names."
)
def new(tool: str, source: str | None, output: str | None, deep: bool) -> None:
    """Draft a rule from what TOOL says of itself.

    Runs `TOOL --help`, `TOOL --version` and `man -w TOOL`, each in an empty folder, without input, for five seconds at
    most, and says so first. Reads the source of the manual page and the completion files that are installed. Everything
    in a draft is unknown until you say what it does, so a draft makes no command a read.
    """
    import datetime

    from shellguard.cli.helptext import program_of, told_of
    from shellguard.cli.streams import read_text
    from shellguard.rules.draft import draft, version_in
    from shellguard.rules.load import load_text
    from shellguard.rules.told import from_help, from_manual

    if not _may_name(tool):
        raise click.UsageError(f"{visible(repr(tool))} cannot be the name of a command: no path, no blanks.")
    version = ""
    if source is None:
        program = program_of(tool)
        if program is None:
            raise click.UsageError(f"{tool} is not installed; `--from FILE` reads its help text from a file.")
        told, version = told_of(tool, _output_of, depth=int(deep)), _output_of([program, "--version"])
    else:
        text = read_text(source)
        told = from_manual(text) if text.lstrip().startswith((".", "'\\\"")) else from_help(text)
    text = draft(tool, told, version_in(version), datetime.date.today().isoformat() if version else "")
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


def _output_of(command: list[str]) -> str:
    from shellguard.cli.helptext import TIME_LIMIT, output_of

    say(f"running: {' '.join(command)}   (empty folder, no input, at most {TIME_LIMIT:g} seconds)", err=True)
    try:
        return output_of(command)
    except OSError as error:
        say(f"{command[0]}: {error.strerror}", err=True)
        return ""
