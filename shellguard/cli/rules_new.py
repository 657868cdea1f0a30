# SPDX-License-Identifier: Apache-2.0
"""`shellguard rules new`: a first rule file for a tool, from what the tool says of itself."""

from __future__ import annotations

import rich_click as click

from shellguard.cli.shelves import say
from shellguard.explain import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.rules.told import Told


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

    from shellguard.cli.streams import read_text
    from shellguard.rules.draft import draft, version_in
    from shellguard.rules.load import load_text
    from shellguard.rules.told import from_help, from_manual

    if not _may_name(tool):
        raise click.UsageError(f"{visible(repr(tool))} cannot be the name of a command: no path, no blanks.")
    version = ""
    if source is None:
        told, version = _told_by(tool, deep)
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


def _told_by(tool: str, deep: bool) -> tuple[Told, str]:
    """What the tool's help, its manual page and its completion files say together; and what it says of its version."""
    from shellguard.cli.helptext import commands_for, completions_of, manual_at, program_of
    from shellguard.rules.told import from_bash, from_fish, from_help, from_manual

    program = program_of(tool)
    if program is None:
        raise click.UsageError(f"{tool} is not installed; `--from FILE` reads its help text from a file.")
    printed = {command[0]: _output_of(command) for command in commands_for(tool)}
    told = from_help(printed.pop(program, ""))
    for names, below in told.subcommands() if deep else ():
        said = from_help(_output_of([program, names[0], "--help"]))
        if not said.says_the_same(told):
            below.add(said)
    told.add(from_manual(manual_at("".join(printed.values()))))
    fish, bash = completions_of(tool)
    told.add(from_fish(fish, tool), sure=False)
    if not told.commands:  # it holds the options of all subcommands in one heap
        told.add(from_bash(bash), sure=False)
    return told, _output_of([program, "--version"])


def _output_of(command: list[str]) -> str:
    from shellguard.cli.helptext import TIME_LIMIT, output_of

    say(f"running: {' '.join(command)}   (empty folder, no input, at most {TIME_LIMIT:g} seconds)", err=True)
    try:
        return output_of(command)
    except OSError as error:
        say(f"{command[0]}: {error.strerror}", err=True)
        return ""
