# SPDX-License-Identifier: Apache-2.0
"""The table of commands. A command's module is imported when it is the one that is run."""

from __future__ import annotations

import sys

import click

from shellguard._version import __version__
from shellguard.cli.base import SETTINGS, help_is_wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "approve": "shellguard.cli.approve",
    "cards": "shellguard.cli.cards",
    "completion": "shellguard.cli.completion",
    "config": "shellguard.cli.hooks",
    "corpus": "shellguard.cli.corpus",
    "doctor": "shellguard.cli.hooks",
    "explain": "shellguard.cli.explain",
    "guard": "shellguard.cli.guard",
    "hook": "shellguard.cli.hooks",
    "install": "shellguard.cli.hooks",
    "lint": "shellguard.cli.lint",
    "log": "shellguard.cli.hooks",
    "man": "shellguard.cli.man",
    "parse": "shellguard.cli.parse",
    "replay": "shellguard.cli.replay",
    "report": "shellguard.cli.report",
    "rule": "shellguard.cli.rule",
    "rules": "shellguard.cli.rules",
    "supervise": "shellguard.cli.supervise",
    "uninstall": "shellguard.cli.hooks",
    "why": "shellguard.cli.hooks",
}
"""Name of a command, and the module that holds it under that name."""


class _Lazy(click.Group):
    """A group whose commands are named in `COMMANDS` and imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        from importlib import import_module

        command = getattr(import_module(COMMANDS[cmd_name]), cmd_name)
        assert isinstance(command, click.Command)
        return command


def _group() -> type[click.Group]:
    """The class of the whole command: with rich's help where help is wanted."""
    if not help_is_wanted():
        return _Lazy
    from rich_click import RichGroup

    return type("_RichLazy", (_Lazy, RichGroup), {})


@click.group(cls=_group(), invoke_without_command=True, context_settings=SETTINGS)
@click.option("--version", "show_version", is_flag=True, help="Show the version and exit.")
@click.option(
    "--json", "as_json", is_flag=True, help="With --version: as JSON, with the rules' hash and counts."
)
@click.pass_context
def cli(context: click.Context, show_version: bool, as_json: bool) -> None:
    """Tells what a shell command would do, without running it: read, write or unknown, with the reason."""
    if show_version:
        from shellguard.cli.output import version_json

        click.echo(version_json() if as_json else f"shellguard {__version__}")
        context.exit(0)
    elif context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point. Exits with the status of the command; a pipe that is closed early is no error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    cli.main(args=None if arguments is None else list(arguments), prog_name="shellguard")
