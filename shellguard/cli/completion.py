# SPDX-License-Identifier: Apache-2.0
"""`shellguard completion`: what makes a shell complete the commands and options of shellguard."""

from __future__ import annotations

import click

from shellguard.cli.base import command, say


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completions for a SHELL.

    bash: put `eval "$(shellguard completion bash)"` into ~/.bashrc; zsh: the same into ~/.zshrc;
    fish: `shellguard completion fish > ~/.config/fish/completions/shellguard.fish`.
    """
    from click.shell_completion import ShellComplete, get_completion_class

    from shellguard.cli.main import cli

    found = get_completion_class(shell)
    assert found is not None
    # `ShellComplete.source` is asked, since that of bash starts a bash to ask for its version.
    say(ShellComplete.source(found(cli, {}, "shellguard", "_SHELLGUARD_COMPLETE")).strip("\n"))
