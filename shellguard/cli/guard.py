# SPDX-License-Identifier: Apache-2.0
"""`shellguard guard`: the guard against loops from the command line and from any language."""

from __future__ import annotations

import os
import sys

import click

from shellguard.cli.base import SETTINGS, command, help_is_wanted, say, unreadable
from shellguard.cli.streams import read_lines, read_text
from shellguard.explain import visible
from shellguard.guard.config import GuardConfig
from shellguard.guard.keys import PRESETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.guard.store import Store

FILE = click.Path(dir_okay=False)


def _group() -> type[click.Group]:
    if not help_is_wanted():
        return click.Group
    from rich_click import RichGroup

    return RichGroup


@click.group("guard", cls=_group(), context_settings=SETTINGS)
def guard() -> None:
    """Stop an agent that goes in circles."""


def add(each: click.Command) -> click.Command:
    """Makes a command one of `guard`."""
    guard.add_command(each)
    return each


config_option = click.option(
    "--config", type=FILE, help="YAML or TOML with the section tool_loop_guardrails."
)
platform_option = click.option(
    "--platform", default="", help="Where the agent runs; where nobody watches, hard stops are on."
)


@add
@command("run")
@config_option
@click.option("--state", type=FILE, help="A file that keeps the counts from one run to the next.")
@platform_option
def run(config: str | None, state: str | None, platform: str) -> None:
    """Answer events: JSON Lines on standard input, one decision a line.

    Exit status 0: the input came to its end; 2: wrong usage, or a configuration that cannot be read.
    """
    from shellguard.cli.guard_run import Runner

    store = _store(state)
    runner = Runner(_config(config, platform), store)
    said = 0
    for line in read_lines(sys.stdin.buffer):
        if not line.strip(" \t\r"):
            continue
        sys.stdout.write(runner.answer(line) + "\n")
        sys.stdout.flush()
        said = _say_notes(store, said)


@add
@command("defaults")
@click.option("--preset", type=click.Choice(list(PRESETS)), default="default", show_default=True)
def defaults(preset: str) -> None:
    """Print a commented configuration with every key and its default."""
    from shellguard.guard.complaints import template

    say(template(preset).rstrip("\n"))


@add
@command("check")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
def check(file: str) -> None:
    """Tell what is wrong in a configuration.

    Exit status 0: nothing; 1: something, and each is named; 2: the file cannot be read.
    """
    from shellguard.guard.complaints import complaints

    found = complaints(read_config(file))
    for complaint in found:
        say(f"{visible(file)}: {visible(complaint)}")
    if not found:
        say(f"{visible(file)}: every key is known and has a value of its kind")
    sys.exit(1 if found else 0)


@add
@command("release")
@click.argument("signature")
@click.option("--state", type=FILE, required=True, help="The file that keeps the counts.")
@click.option("--session", default="", help="The session whose call it is.")
@click.option("--agent", default="", help="The sub-agent whose call it is.")
@config_option
def release(signature: str, state: str, session: str, agent: str, config: str | None) -> None:
    """Let a refused call start anew. SIGNATURE is what the decision said.

    Exit status 0: done; 2: wrong usage, or a file that cannot be used.
    """
    from shellguard.guard.controller import Controller

    store = _store(state)
    controller = Controller(_config(config, ""), store=store)
    try:
        controller.release(signature, session, agent)
    except ValueError:
        raise click.BadParameter(f"{signature!r} is no signature", param_hint="SIGNATURE") from None
    if _say_notes(store, 0):
        sys.exit(2)


def _store(path: str | None) -> Store | None:
    if path is None:
        return None
    from shellguard.guard.store import Store

    return Store(os.path.abspath(path))


def _say_notes(store: Store | None, said: int) -> int:
    """Prints what the store has to say and has not said yet; how much it has said."""
    if store is None:
        return 0
    for note in store.notes[said:]:
        say(visible(note), err=True)
    return len(store.notes)


def _config(path: str | None, platform: str) -> GuardConfig:
    if path is None:
        return GuardConfig.from_mapping({}, platform)
    from shellguard.guard.complaints import complaints

    mapping = read_config(path)
    for complaint in complaints(mapping):
        say(f"{visible(path)}: {visible(complaint)}", err=True)
    return GuardConfig.from_mapping(mapping, platform)


def read_config(path: str) -> object:
    """What a file says, as TOML by its ending, else as YAML. Exits with 2 where it cannot be read."""
    try:
        text = read_text(path)
    except OSError as error:
        say(unreadable(path, error), err=True)
        sys.exit(2)
    try:
        if path.endswith(".toml"):
            import tomllib

            return tomllib.loads(text)
        import yaml

        loaded: object = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (ValueError, RecursionError) as error:
        say(f"{visible(path)}: it cannot be read: {visible(str(error))}", err=True)
        sys.exit(2)
    except Exception as error:  # noqa: BLE001 - the base of yaml's errors has no better name
        say(f"{visible(path)}: it cannot be read: {visible(' '.join(str(error).split()))}", err=True)
        sys.exit(2)
    return {} if loaded is None else loaded
