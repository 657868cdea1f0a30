# SPDX-License-Identifier: Apache-2.0
"""What the commands share: how they are made, the options that say how to judge, colours, and errors about files.

rich draws the help and nothing else, so it is loaded when help is asked for.
"""

from __future__ import annotations

import os
import sys

import click

from shellguard.analysis.inquiry import Assumptions
from shellguard.engine import classify, policy_named
from shellguard.explain import plain, visible
from shellguard.rules.shelf import Shelf
from shellguard.verdict import DEFAULT_POLICY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from shellguard.explain import Paint
    from shellguard.verdict import Policy, Verdict

    F = TypeVar("F", bound=Callable[..., Any])

HELP_NAMES = ("-h", "--help")
SETTINGS = {"help_option_names": list(HELP_NAMES)}


def help_is_wanted() -> bool:
    """Whether this process was started to show help."""
    return len(sys.argv) < 2 or any(name in sys.argv[1:] for name in HELP_NAMES)


def command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Makes a function the command `name`."""
    if help_is_wanted():
        from rich_click import RichCommand

        return click.command(name, cls=RichCommand, context_settings=SETTINGS)
    return click.command(name, context_settings=SETTINGS)


FILE = click.Path(dir_okay=False, allow_dash=True)


class Judging:
    """How a text is judged: with which rules, what is taken for granted, and what a caller lets pass."""

    __slots__ = ("_shelf", "assumptions", "policy", "shelf")

    def __init__(self, policy: str, shell: str, trust: str, unknown_words: str, rules: str | None) -> None:
        """Raises click.BadParameter for a policy that there is not."""
        from shellguard.cli.shelves import chosen_shelf

        self._shelf = chosen_shelf(rules)
        self.shelf = Shelf.default() if self._shelf is None else self._shelf
        self.assumptions = Assumptions(shell, trust, unknown_words)
        self.policy = _policy(policy, self.shelf)

    def verdict(self, text: str) -> Verdict:
        """The verdict on a text."""
        return classify(text, shelf=self._shelf, assumptions=self.assumptions)


def _policy(name: str, shelf: Shelf) -> Policy:
    try:
        return policy_named(name, shelf)
    except KeyError:
        known = ", ".join(sorted({*shelf.policies, DEFAULT_POLICY.name}))
        raise click.BadParameter(f"{name!r} is none of {known}", param_hint="--policy") from None


_JUDGING = (
    click.option(
        "--policy", default="default", show_default=True, help="Which reads pass: strict, local, default."
    ),
    click.option(
        "--shell",
        type=click.Choice(["bash", "sh", "zsh", "any"]),
        default="bash",
        show_default=True,
        help="The shell that will run the text.",
    ),
    click.option(
        "--trust",
        type=click.Choice(["config", "words"]),
        default="config",
        show_default=True,
        help="Whether the machine's own configuration is trusted.",
    ),
    click.option(
        "--unknown-words",
        type=click.Choice(["worst", "operand"]),
        default="worst",
        show_default=True,
        help="What a word that nobody can see may be.",
    ),
    click.option(
        "--rules",
        type=click.Path(exists=True, file_okay=False),
        help="A folder with rules to use in place of all others.",
    ),
)


def judging_options(function: F) -> F:
    """Adds the options of `Judging`."""
    for option in reversed(_JUDGING):
        function = option(function)
    return function


color_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colours; auto asks NO_COLOR, FORCE_COLOR, TERM and whether a terminal shows the output.",
)

_COLORS = {"read": "green", "write": "red", "unknown": "yellow", "caret": "red", "place": "cyan"}


def paint_for(color: str) -> Paint:
    """What paints the text output, as `--color` and the environment have it."""
    return _painted if color == "always" or (color == "auto" and _wants_color()) else plain


def _wants_color() -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") != "0" or os.environ.get("CLICOLOR_FORCE", "0") != "0":
        return True
    return os.environ.get("TERM") != "dumb" and sys.stdout.isatty()


def _painted(text: str, role: str) -> str:
    return click.style(text, fg=_COLORS[role], bold=role != "place") if text else text


def say(text: str, *, err: bool = False) -> None:
    """Prints text that holds nothing hostile any more; colours in it stay, whoever reads it."""
    click.echo(text, err=err, color=True)


def unreadable(path: str, error: OSError) -> str:
    """A line about a file that could not be read."""
    return f"{visible(path)}: {error.strerror or 'it cannot be read'}"
