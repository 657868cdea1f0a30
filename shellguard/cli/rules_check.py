# SPDX-License-Identifier: Apache-2.0
"""`shellguard rules check` and `compile`: that rule files load and that their examples hold, and their fast form."""

from __future__ import annotations

import os
import sys

import rich_click as click

from shellguard.cli.shelves import say, shelf_here
from shellguard.errors import RuleError
from shellguard.explain import visible
from shellguard.rules.compiled import COMMON, GATES
from shellguard.rules.shelf import Shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.rules.check import Judge, Judgement
    from shellguard.rules.library import Entry
    from shellguard.rules.model import CommandRule
    from shellguard.rules.overlay import Layer


@click.command()
@click.argument("targets", nargs=-1, metavar="[FILE|NAME]...")
def check(targets: tuple[str, ...]) -> None:
    """Check rule files: that they load, and that each of their examples holds.

    All files that are known, or those that are named, by path or by command. An overlay is judged as it will be once
    it is trusted. Prints `path:line: what to change`. Exit status 0: nothing to say; 1: something is wrong; 2: no such
    file or command.
    """
    from shellguard.rules.check import examples_of
    from shellguard.rules.library import all_trusted, common_problems, entries

    shelf = all_trusted(shelf_here())
    problems: list[RuleError] = []
    checked: list[tuple[CommandRule, Shelf | None]] = []
    if targets:
        for target in targets:
            for each in _targets(target, shelf):
                if isinstance(each, RuleError):
                    problems.append(each)
                else:
                    checked.append(each)
    else:
        problems += common_problems(shelf)
        for entry in entries(shelf):
            if entry.rule is None:
                assert entry.problem is not None
                problems.append(entry.problem)
            else:
                checked.append((entry.rule, None if entry.layer is None else shelf))
        problems += _claimed_twice([(rule, judged_by) for rule, judged_by in checked])
    from shellguard.rules.check import check as check_rule

    examples = 0
    for rule, judged_by in checked:
        examples += len(examples_of(rule))
        problems += check_rule(rule, _judge_with(judged_by))
    for line in dict.fromkeys(str(problem) for problem in problems):
        say(line)
    if not problems:
        say(f"{len(checked)} rules, {examples} examples: nothing to say", err=True)
    sys.exit(1 if problems else 0)


def _targets(target: str, shelf: Shelf) -> list[tuple[CommandRule, Shelf | None] | RuleError]:
    """What one argument names: rules, each with the shelf its examples are judged with, or what is wrong."""
    from shellguard.rules.library import entries_for, entry_at

    is_path = "/" in target or target.endswith(".yaml") or os.sep in target
    if not is_path:
        found = entries_for(target, shelf)
        if not found:
            raise click.UsageError(f"No rule speaks of {visible(repr(target))}, and it is no path.")
        return [_judged(entry, shelf) for entry in found]
    if not os.path.lexists(target):
        raise click.UsageError(f"{visible(target)}: no such file.")
    if os.path.basename(target) in (*COMMON, GATES):
        return _common_target(target)
    entry = entry_at(target, shelf)
    if entry is not None:
        return [_judged(entry, shelf)]
    return [_lone_file(target, shelf)]


def _judged(entry: Entry, shelf: Shelf) -> tuple[CommandRule, Shelf | None] | RuleError:
    if entry.rule is None:
        assert entry.problem is not None
        return entry.problem
    return entry.rule, (None if entry.layer is None else shelf)


def _common_target(target: str) -> list[tuple[CommandRule, Shelf | None] | RuleError]:
    from shellguard.rules.load import load_common
    from shellguard.rules.load_gates import load_gates
    from shellguard.rules.tree import read_file

    try:
        text = read_file(target, os.path.dirname(target) or ".", target)
        if os.path.basename(target) == GATES:
            load_gates(text, target)
        else:
            load_common(os.path.basename(target), text, target)
    except RuleError as error:
        return [error]
    return []


def _lone_file(target: str, shelf: Shelf) -> tuple[CommandRule, Shelf | None] | RuleError:
    """A file that is no part of any library, such as a draft: judged as if it were the only rule of its command."""
    from shellguard.rules.library import Alone
    from shellguard.rules.load import load_file

    try:
        rule = load_file(target, os.path.dirname(target) or ".", target.replace(os.sep, "/"))
    except RuleError as error:
        return error
    return rule, Alone(rule, shelf)


def _claimed_twice(checked: list[tuple[CommandRule, Shelf | None]]) -> list[RuleError]:
    """Names that two files of one folder answer to. Such a command is `unknown`."""
    claimed: dict[tuple[str, str], str] = {}
    problems = []
    for rule, _ in checked:
        folder = rule.path.partition("rules/")[0]
        for name in (rule.command, *rule.aliases):
            other = claimed.setdefault((folder, name), rule.path)
            if other != rule.path:
                problems.append(RuleError(rule.path, 1, f"`{name}` is also spoken of by {other}: keep one"))
    return problems


def _judge_with(shelf: Shelf | None) -> Judge:
    """The engine as `rules.check` asks it."""
    from shellguard.engine import classify
    from shellguard.rules.check import Judgement

    def judge(text: str) -> Judgement:
        verdict = classify(text, shelf=shelf)
        marks = {mark.rpartition(":")[2] for mark in verdict.marks}
        sources = [fact.source for fact in verdict.facts if fact.source is not None]
        places = frozenset((source.path, source.line) for source in sources)
        return Judgement(verdict.kind, frozenset(verdict.effects | verdict.marks | marks), places)

    return judge


@click.command("compile")
@click.option(
    "--rules",
    "folder",
    type=click.Path(exists=True, file_okay=False),
    help="The folder to compile; the shipped rules and those of user and project when it is left out.",
)
@click.option("--output", type=click.Path(dir_okay=False), help="Write here instead of the cache.")
def compile_(folder: str | None, output: str | None) -> None:
    """Compile rules into one file each folder, so that a verdict reads no YAML.

    Prints where the files are. They are made by themselves where they are missing; a broken rule is compiled as one
    that makes its command unknown, is named, and makes the exit status 1.
    """
    from shellguard.rules import cache
    from shellguard.rules.overlay import Overlays
    from shellguard.rules.shelf import shipped_folder

    shelf = shelf_here()
    plain = Shelf(folder=folder or shipped_folder())
    layers: list[Layer] = list(shelf.layers) if isinstance(shelf, Overlays) and folder is None else []
    problems = _broken_in(plain)
    try:
        if output is not None:
            from shellguard.places import write_private

            write_private(os.path.abspath(output), cache.compile_rules(plain))
            say(output)
        else:
            say(cache.keep(plain))
            for layer in layers:
                say(cache.keep_bytes(layer.content, layer.compile()))
    except OSError as error:
        raise click.ClickException(f"cannot be written: {error}") from error
    for layer in layers:
        problems += [str(problem) for problem in layer.problems]
        problems += [line for name in layer.names() if (line := _broken_line(layer.parsed(name)))]
    for line in dict.fromkeys([*problems, *(str(problem) for problem in plain.problems)]):
        say(line, err=True)
    sys.exit(1 if problems or plain.problems else 0)


def _broken_in(shelf: Shelf) -> list[str]:
    return [line for name in shelf.names() if (line := _broken_line(shelf.get(name)))]


def _broken_line(answer: object) -> str:
    from shellguard.rules.model import BrokenRule

    return f"{answer.path}:{answer.line}: {answer.message}" if isinstance(answer, BrokenRule) else ""
