# SPDX-License-Identifier: Apache-2.0
"""Which rules a command of the command line judges with: the shipped ones, those of the user, those of the project."""

from __future__ import annotations

import os

from shellguard.rules.overlay import with_overlays
from shellguard.rules.shelf import Shelf


def chosen_shelf(rules: str | None = None, *, start: str | None = None) -> Shelf | None:
    """The rules to judge with. None stands for the shipped ones alone, for which `classify` remembers its answers.

    Args:
        rules: a folder that was asked for in place of all others (`--rules`).
        start: the folder whose project counts; the current one when it is left out.
    """
    if rules is not None:
        return Shelf(folder=rules)
    shipped = Shelf.default()
    shelf = with_overlays(shipped, current_folder() if start is None else start)
    return None if shelf is shipped else shelf


def current_folder() -> str | None:
    """The current folder; None when it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return None


def shelf_here() -> Shelf:
    """The rules that hold in the current folder."""
    return chosen_shelf() or Shelf.default()


def say(text: str, *, err: bool = False) -> None:
    """Prints one line; whatever a terminal would act on is made visible."""
    import rich_click as click

    from shellguard.explain import visible

    click.echo(visible(text), err=err)
