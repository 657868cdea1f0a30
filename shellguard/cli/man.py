# SPDX-License-Identifier: Apache-2.0
"""`shellguard man`: the manual page, made from the same commands and options that are run."""

from __future__ import annotations

import click

from shellguard._version import __version__
from shellguard.cli.base import command, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command("man")
def man() -> None:
    """Print the manual page.

    `shellguard man | man -l -` shows it; a package puts it into share/man/man1/shellguard.1.
    """
    from shellguard.cli.main import cli

    with click.Context(cli, None, "shellguard", **cli.context_settings) as context:
        for line in page(cli, context):
            say(line)


def page(root: click.Group, context: click.Context) -> Iterator[str]:
    """The lines of the page, in the language of man(7)."""
    yield f'.TH SHELLGUARD 1 "" "shellguard {_roff(__version__)}" "User Commands"'
    yield ".SH NAME"
    yield "shellguard \\- tells what a shell command would do, without running it"
    yield ".SH SYNOPSIS"
    yield f"\\fBshellguard\\fR {_roff(' '.join(root.collect_usage_pieces(context)))}"
    yield ".SH DESCRIPTION"
    yield from _paragraphs(root.help)
    yield ".SH OPTIONS"
    yield from _options(root, context)
    yield ".SH COMMANDS"
    yield from _commands(root, context, "shellguard")
    yield ".SH EXIT STATUS"
    yield "0: what was asked for was done; for"
    yield "\\fBlint\\fR:"
    yield "every text is a read that the policy allows. 1: some text is not, or nothing was found. 2: wrong usage."
    yield ".SH ENVIRONMENT"
    for name, meaning in _ENVIRONMENT:
        yield ".TP"
        yield f"\\fB{name}\\fR"
        yield _roff(meaning)


_ENVIRONMENT = (
    ("SHELLGUARD_HOME", "A folder in which all files of shellguard lie, in place of the usual ones."),
    ("NO_COLOR", "No colours, when it is set to anything."),
    ("FORCE_COLOR, CLICOLOR_FORCE", "Colours also where no terminal shows the output."),
)


def _commands(group: click.Group, context: click.Context, path: str) -> Iterator[str]:
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if found is None or found.hidden:
            continue
        with click.Context(found, context, name, **found.context_settings) as inner:
            yield f'.SS "{_roff(f"{path} {name}")} {_roff(" ".join(found.collect_usage_pieces(inner)))}"'
            yield from _paragraphs(found.help)
            yield from _options(found, inner)
            if isinstance(found, click.Group):
                yield from _commands(found, inner, f"{path} {name}")


def _options(found: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in found.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1]:  # an argument stands in the synopsis
            yield ".TP"
            yield f"\\fB{_roff(record[0])}\\fR"
            yield _roff(record[1])


def _paragraphs(text: str | None) -> Iterator[str]:
    for paragraph in (text or "").strip("\n").split("\n\n"):
        yield ".PP"
        yield _roff(" ".join(line.strip(" ") for line in paragraph.split("\n")))


def _roff(text: str) -> str:
    """The text as it shall be read: no line of it is a request, no character an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq").replace("\n", " ")
    return "\\&" + text if text.startswith((".", "'")) else text
