# SPDX-License-Identifier: Apache-2.0
"""`shellguard completion`: what makes a shell complete the commands and options of shellguard."""

from __future__ import annotations

import os
import sys

import click

from shellguard.cli.base import command, say
from shellguard.explain import visible

TOLD = {
    "bash": "bash-completion loads it by itself; without that package, source it in ~/.bashrc",
    "zsh": "put `fpath+=({folder})` before `compinit` into ~/.zshrc, where it is not there yet",
    "fish": "fish loads it by itself",
}
"""Shell -> what is left to do for a person, with the folder of the file."""


@command("completion")
@click.argument("shell", type=click.Choice(list(TOLD)))
@click.option("--install", "wish", flag_value="install", help="Write them where the shell looks for them.")
@click.option("--uninstall", "wish", flag_value="uninstall", help="Remove what --install has written.")
def completion(shell: str, wish: str | None) -> None:
    """Print the completions for a SHELL, or install them in a file of their own.

    No file of yours is edited; `shellguard uninstall --all` removes them too. Exit status 0: done, or nothing to do;
    1: it cannot be done, and why.
    """
    script = _script(shell)
    if wish is None:
        say(script.rstrip("\n"))
        return
    from shellguard.agents.install import InstallError, apply, completion_installation, removal_of

    path = _place(shell)
    try:
        if wish == "install":
            change = completion_installation(path, script)
        else:
            change = removal_of("completion", path)
        apply(change)
    except InstallError as error:
        say(visible(str(error)), err=True)
        sys.exit(1)
    if not change.changes:
        say(f"{visible(path)}: nothing to do")
        return
    say(f"{wish}ed: {visible(path)}")
    if wish == "install":
        say(TOLD[shell].format(folder=visible(os.path.dirname(path))))


def _script(shell: str) -> str:
    from click.shell_completion import ShellComplete, get_completion_class

    from shellguard.cli.main import cli

    found = get_completion_class(shell)
    assert found is not None
    # `ShellComplete.source` is asked, since that of bash starts a bash to ask for its version.
    return ShellComplete.source(found(cli, {}, "shellguard", "_SHELLGUARD_COMPLETE")).strip("\n") + "\n"


def _place(shell: str) -> str:
    """Where a shell looks for the completions of a user (zsh: the place that its users give to such files)."""
    home = os.path.expanduser("~")
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return {
        "bash": os.path.join(data, "bash-completion", "completions", "shellguard"),
        "zsh": os.path.join(data, "zsh", "site-functions", "_shellguard"),
        "fish": os.path.join(config, "fish", "completions", "shellguard.fish"),
    }[shell]
