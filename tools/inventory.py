# SPDX-License-Identifier: Apache-2.0
"""What installed tools know and their rules do not, and the reverse.

    python -m tools.inventory                      # every installed tool with a rule
    python -m tools.inventory sort gh --deep       # and, of tools that answer to it, `TOOL SUBCOMMAND --help`
    python -m tools.inventory --summary

For each tool its options and subcommands as `--help` and the manual page have them (`shellguard.rules.told`), beside
those of its rule. An option that the rule lacks is `unknown` where it is typed. Help texts and manuals have no grammar,
so a difference is a question, not a fault. What is a write unless some listed words make it a read needs no list of the
others; its options are not counted.
Exit status 1 when more than the wanted share of the options that a tool knows is unlisted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from shellguard.analysis.bind import bind
from shellguard.cli.helptext import commands_for, manual_at, output_of, program_of
from shellguard.effects import Kind
from shellguard.rules.library import entries
from shellguard.rules.model import CommandRule, Spec
from shellguard.rules.shelf import Shelf
from shellguard.rules.told import Told, from_help, from_manual
from shellguard.values.value import Value

MOST_UNLISTED = 0.05

HELP_OF_SUBCOMMANDS = frozenset(
    {
        *("gh", "glab", "docker", "docker-compose", "kubectl", "helm", "oc", "uv", "ruff", "cargo", "rustup"),
        *("pip", "poetry", "terraform", "hg", "flatpak", "yarn", "pnpm", "conda", "go", "restic", "rclone"),
        *("pre-commit", "tox", "nox", "hatch", "twine", "pipx", "virtualenv"),
    }
)
"""Tools that answer to `TOOL SUBCOMMAND --help` and do nothing else then. Of others no subcommand is run."""

MANUAL_OF_SUBCOMMANDS = frozenset(
    {"git", "npm", "cargo", "docker", "kubectl", "podman", "gh", "ip", "pip", "btrfs"}
)
"""Tools whose manual has a page `TOOL-SUBCOMMAND`."""

WORDLESS = ("--help", "--version", "-h", "-V", "-?", "--usage")
"""Options that nearly every tool has; a rule may leave them out."""


PLACEHOLDERS = frozenset({"-NUM", "-COLUMN", "-N", "-SIGNAL", "-number", "-#"})
"""How manuals write an option that is a number, or the name of a signal."""


NOT_OPTIONS = {
    "atq": frozenset(
        {"-m", "-M", "-u", "-f", "-t", "-l", "-r", "-d", "-b", "-v"}
    ),  # of `at`, told in one usage text
    # what the manual says of `test` and other builtins
    "bash": frozenset({"-d", "-g", "-w", "-G", "-L", "-N", "-S", "-R", "-z", "-q", "-X", "-A", "-F", "-W"}),
    "sh": frozenset({"-I", "-r", "-number", "-d", "-g", "-w", "-z", "-L", "-O", "-G", "-S", "-H"}),
    "curl": frozenset({"-500"}),
    "cut": frozenset({"-M"}),  # `N-M` of a list of fields
    "diff": frozenset({"--GTYPE-group-format", "--LTYPE-line-format"}),
    "last": frozenset({"-5days"}),
    "numfmt": frozenset({"-M"}),
    "bzless": frozenset(
        {"-d", "-z", "-k", "-f", "-t", "-c", "-q", "-v", "-L", "-s", "-1", "--fast", "--best"}
    ),  # bzip2's
    "lspci": frozenset({"-H1", "-H2"}),  # -H with its mode
    # of its subcommands
    "openssl": frozenset(
        {
            "-rand",
            "-writerand",
            "-engine",
            "-provider",
            "-provider-path",
            "-propquery",
            "-help",
            "-ssl3",
            "-tls1",
            "-tls1_1",
        }
        | {"-no_ssl3", "-no_tls1", "-no_tls1_1", "-no_tls1_2", "-no_tls1_3", "-dtls", "-dtls1", "-dtls1_2"}
    ),
    **dict.fromkeys(  # they say that they lack them
        ("zgrep", "zegrep", "zfgrep"),
        frozenset({"--exclude", "--exclude-from", "--exclude-dir", "--include", "--null"}),
    ),
}
"""What help texts and manuals seem to name, and the tool does not have."""


@dataclass
class Difference:
    """What one command or subcommand knows beside its rule. `anything`: it is a writer, whose options need no list."""

    name: str
    told: int = 0
    anything: bool = False
    complete: bool = False
    """The rule says that its list is complete; what is unlisted then has to be harmless."""
    unlisted: list[str] = field(default_factory=list)
    """Options that the tool names and the rule lacks, as `-o --output`."""
    surplus: list[str] = field(default_factory=list)
    """Options of the rule that the tool names nowhere."""
    unlike: list[str] = field(default_factory=list)
    """Options that take another number of words in the rule than in what is told."""
    unlisted_commands: list[str] = field(default_factory=list)
    surplus_commands: list[str] = field(default_factory=list)


def difference(spec: Spec, told: Told, name: str | None = None) -> Difference:
    """One spec beside what is told of its command, or of another `name` of it."""
    found = Difference(name or spec.name, anything=_is_never_read(spec), complete=spec.complete)
    named: set[str] = set(told.options)
    none_of = NOT_OPTIONS.get(name or spec.name, frozenset())
    for option in told.groups():
        if none_of.intersection(option.names):
            continue
        names = [
            each
            for each in option.names
            if (each not in PLACEHOLDERS or len(each) == 2)
            and not (spec.numeric and each[1:].isdigit())
            and each != "-#"  # so manuals call -1 to -9
        ]
        if not names or all(name in WORDLESS for name in names):
            continue
        found.told += 1
        missing = [name for name in names if name not in WORDLESS and not _lists(spec, name)]
        if missing:
            found.unlisted.append(" ".join(missing))
        for name in names:
            listed = spec.option(name)
            if listed is not None and {listed.takes, option.takes} == {"none", "one"}:
                found.unlike.append(f"{name} (rule: {listed.takes}, told: {option.takes})")
                break
    if named:
        found.surplus = [
            " ".join(listed.names)
            for listed in spec.distinct_options()
            if named.isdisjoint(listed.names) and not set(listed.names) & set(WORDLESS)
        ]
    if spec.subcommands and told.commands:
        found.unlisted_commands = [
            name for name in told.commands if name not in spec.subcommands and name != "help"
        ]
        found.surplus_commands = [name for name in spec.subcommands if name not in told.commands]
    return found


def _is_never_read(spec: Spec) -> bool:
    """Whether only words that the rule lists make it a read, if any do: a known writer needs no list."""
    otherwise = spec.effects or frozenset()
    if spec.cases:
        otherwise = spec.cases[-1].effects if spec.cases[-1].always else frozenset()
    return spec.accepts_anything or spec.runs_config == "clone" or bool({"writes", "executes"} & otherwise)


def _lists(spec: Spec, name: str) -> bool:
    """Whether the rule has a meaning for the word, here or below: help often tells of all options in one heap."""
    return _lists_here(spec, name) or any(
        _lists(below, name) for below in {id(below): below for below in spec.subcommands.values()}.values()
    )


def _lists_here(spec: Spec, name: str) -> bool:
    """As an option, or as several letters behind one dash."""
    if spec.option(name) is not None or spec.option(f"{name}=") is not None:
        return True
    if spec.style == "words" and spec.option(name.lstrip("-")) is not None:
        return True
    word = Value(name, (0, len(name)))
    levels = bind(spec, [word], word.span)[0]
    unknown = (Kind.NO_OPTION, Kind.NO_SUBCOMMAND)
    return all(problem.kind not in unknown for level in levels for problem in level.problems)


def differences(rule: CommandRule, *, deep: bool = False) -> Iterator[Difference]:
    """The tool of a rule, under each of its names, beside the rule.

    With `deep` its subcommands too, where asking for their help does nothing else.
    """
    seen: set[str] = set()
    for tool in (rule.command, *rule.aliases):
        program = program_of(tool)
        if program is None or os.path.realpath(program) in seen:
            continue
        seen.add(os.path.realpath(program))
        told = _told([program, "--help"], None if rule.spec.subcommands else tool)
        yield difference(rule.spec, told if told.options else _told(None, tool), tool)
        if deep and tool in HELP_OF_SUBCOMMANDS | MANUAL_OF_SUBCOMMANDS:
            yield from _below(rule.spec, [tool], tool in HELP_OF_SUBCOMMANDS)


def _below(spec: Spec, words: list[str], runs_help: bool) -> Iterator[Difference]:
    seen: set[int] = set()
    for name, below in spec.subcommands.items():
        if id(below) in seen or name.startswith("-"):
            continue
        seen.add(id(below))
        command = [program_of(words[0]) or words[0], *words[1:], name, "--help"] if runs_help else None
        page = "-".join([*words, name]) if words[0] in MANUAL_OF_SUBCOMMANDS else None
        told = _told(command, page)
        if told.options:
            yield difference(below, told)
        yield from _below(below, [*words, name], runs_help)


def _told(command: list[str] | None, page: str | None) -> Told:
    told = Told()
    if command is not None:
        told.add(from_help(output_of(command)))
    if page is not None:
        for asked in commands_for(page):
            if asked[-2:-1] == ["-w"]:
                told.add(from_manual(manual_at(output_of(asked))))
    return told


def installed(names: Iterable[str] = ()) -> list[CommandRule]:
    """The shipped rules whose tool is installed; of these names, when some are given."""
    wanted = set(names)
    rules = [entry.rule for entry in entries(Shelf.default()) if entry.rule is not None]
    return [
        rule
        for rule in rules
        if (not wanted or wanted & {rule.command, *rule.aliases})
        and any(program_of(name) for name in (rule.command, *rule.aliases))
    ]


# --- for people -----------------------------------------------------------------------------------------------


def _print_difference(found: Difference) -> None:
    parts = (
        (
            "not in the rule, which says it is complete" if found.complete else "not in the rule",
            found.unlisted if not found.anything else [],
        ),
        ("not in the tool", found.surplus),
        ("take another number of words", found.unlike),
        ("subcommands not in the rule", found.unlisted_commands),
        ("subcommands not in the tool", found.surplus_commands),
    )
    if any(names for _, names in parts):
        print(f"{found.name}  ({found.told} options told{', a writer' if found.anything else ''})")
    for label, names in parts:
        if names:
            print(f"    {label}: {', '.join(names)}")


def main(arguments: list[str] | None = None) -> int:
    """Prints the differences and the shares."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "tools", nargs="*", metavar="TOOL", help="only these; all that are installed otherwise"
    )
    parser.add_argument("--deep", action="store_true", help="subcommands too")
    parser.add_argument("--summary", action="store_true", help="one line a tool, the worst first")
    args = parser.parse_args(arguments)
    rules = installed(args.tools)
    told = unlisted = above = 0
    lines: list[tuple[float, str]] = []
    for rule in rules:
        shares: dict[str, tuple[int, int]] = {}
        for found in differences(rule, deep=args.deep):
            if not args.summary:
                _print_difference(found)
            if not found.anything:
                name = found.name.partition(" ")[0]
                before = shares.get(name, (0, 0))
                shares[name] = (before[0] + found.told, before[1] + len(found.unlisted))
        for name, (own_told, own_unlisted) in shares.items():
            told, unlisted = told + own_told, unlisted + own_unlisted
            share = own_unlisted / own_told if own_told else 0.0
            above += share > MOST_UNLISTED
            lines.append((share, f"{share:6.1%}  {own_unlisted:4} of {own_told:4}  {name}  {rule.path}"))
    if args.summary:
        for _, line in sorted(lines, key=lambda pair: -pair[0]):
            print(line)
    print(
        f"{len(lines)} tools: {unlisted} of {told} options are unlisted ({unlisted / told if told else 0.0:.1%}); "
        f"{above} tools have more than {MOST_UNLISTED:.0%}"
    )
    return int(above > 0)


if __name__ == "__main__":
    sys.exit(main())
