# SPDX-License-Identifier: Apache-2.0
"""The table of commands. A command's module is imported when it is the one that is run."""

from __future__ import annotations

import sys

import rich_click as click

from shellguard._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "lint": ("shellguard.cli.lint", "Judge shell text: does it only read?"),
    "parse": ("shellguard.cli.parse", "Show the syntax tree of a shell text."),
    "rules": ("shellguard.cli.rules", "Show, check, draft and trust rules."),
}
"""Name of a command, the module that holds it under that name, and its line in `--help`."""


class _Lazy(click.RichGroup):
    """A group whose commands are named in `COMMANDS` and imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        from importlib import import_module

        command = getattr(import_module(COMMANDS[cmd_name][0]), cmd_name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_Lazy, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
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
    elif context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point. Exits with the status of the command; a pipe that is closed early is no error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    cli.main(args=None if arguments is None else list(arguments), prog_name="shellguard")
