# SPDX-License-Identifier: Apache-2.0
"""How much of what people and agents type the rules know, and which rule files are worth writing next.

    python -m tools.coverage --corpora DIR
    python -m tools.coverage --corpora DIR --files 250 --next 50

A simple command is counted where its name can be told from the text and names no function of it. Its tool is
*installable* when a rule speaks of it, the machine has a program of that name, or tldr has a page about it; any other
name (a project's script, a function of another file) is nobody's to know. Of the installable ones:

- *head*: a rule speaks of the command;
- *subcommand*: and, where the rule has subcommands and the command names one, it is in the rule;
- *options*: and every option is in the rule, too.

*Weighted* counts a text as often as it was run (agent commands; the other collections have each text once).
Prints names of tools, subcommands and options, never a text.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from shellguard import classify
from shellguard.analysis.bind import bind
from shellguard.analysis.simple import SYSTEM_FOLDERS
from shellguard.effects import Kind
from shellguard.errors import ShellSyntaxError
from shellguard.rules.model import CommandRule
from shellguard.rules.shelf import Shelf
from shellguard.syntax.nodes import Function, Simple
from shellguard.syntax.parse import parse
from shellguard.syntax.walk import walk
from shellguard.values.resolve import arguments
from shellguard.values.scope import Scope
from shellguard.verdict import READ, UNKNOWN, WRITE
from tools.corpora import NAMES, add_option, wanted_folder

LEVELS = ("head", "subcommand", "options")
VERDICTS = (READ, WRITE, UNKNOWN)
PLATFORMS = ("common", "linux")
"""The platforms of tldr that count: what the other pages speak of does not install here."""


@dataclass(frozen=True)
class Text:
    """A text of a corpus, and how often it was run."""

    command: str
    count: int = 1


@dataclass(frozen=True)
class Seen:
    """What the rules know of one simple command. `path` is the rule file, None without one; `missing` what it lacks:
    `("subcommand" | "option" | "operand", "tool words")`."""

    tool: str
    path: str | None
    missing: tuple[tuple[str, str], ...] = ()

    def knows(self, level: str) -> bool:
        """Whether the rules know it down to this level."""
        kinds = {kind for kind, _ in self.missing}
        if level == "options" and "option" in kinds:
            return False
        return self.path is not None and not (level != "head" and "subcommand" in kinds)


@dataclass
class Tally:
    """The figures of one corpus, once by text and once by run."""

    name: str
    texts: Counter[str] = field(default_factory=Counter)
    """`all`, `refused`, and the verdicts, by text; the same with ` weighted` behind it."""
    commands: Counter[str] = field(default_factory=Counter)
    """`all`, `installable` and the levels, by simple command; the same with ` weighted` behind it."""
    tools: Counter[str] = field(default_factory=Counter)
    """Runs of each installable tool."""
    files: Counter[str] = field(default_factory=Counter)
    missing: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Runs that lack something, by `("head", tool)`, `("subcommand", words)`, `("option", words)`."""

    def share(self, level: str, *, weighted: bool) -> float:
        """The share of the commands of installable tools that is known down to a level; 1 where there are none."""
        mark = " weighted" if weighted else ""
        whole = self.commands["installable" + mark]
        return self.commands[level + mark] / whole if whole else 1.0

    def add(self, text: Text, tldr: frozenset[str]) -> None:
        """One text more. `tldr` are the names that tldr has a page for."""
        kind = classify(text.command).kind
        try:
            found = list(simple_commands(text.command))
        except (ShellSyntaxError, RecursionError):
            found = []
            _count(self.texts, "refused", text.count)
        for label in ("all", kind):
            _count(self.texts, label, text.count)
        for seen in found:
            _count(self.commands, "all", text.count)
            if seen.path is None and not (seen.tool in tldr or has_program(seen.tool)):
                continue
            self.tools[seen.tool] += text.count
            for label in ("installable", *(level for level in LEVELS if seen.knows(level))):
                _count(self.commands, label, text.count)
            if seen.path is None:
                self.missing["head", seen.tool] += text.count
            else:
                self.files[seen.path] += text.count
            for lack in seen.missing:
                self.missing[lack] += text.count


def _count(counter: Counter[str], label: str, runs: int) -> None:
    counter[label] += 1
    counter[f"{label} weighted"] += runs


@cache
def has_program(name: str) -> bool:
    """Whether this machine has a program of that name."""
    return shutil.which(name) is not None


def read_texts(folder: Path, name: str) -> tuple[list[Text], frozenset[str]]:
    """The distinct texts of a corpus, and the names of its pages. Of tldr only the pages for `PLATFORMS`."""
    counts: Counter[str] = Counter()
    pages: set[str] = set()
    with gzip.open(folder / f"{name}-commands.jsonl.gz", "rt", encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line)
            if row.get("platform", PLATFORMS[0]) in PLATFORMS:
                counts[row["command"]] += row.get("count", 1) if name == "agent" else 1
                pages.add(row.get("page", ""))
    if name != "agent":
        counts = Counter(dict.fromkeys(counts, 1))
    return [Text(command, count) for command, count in counts.items()], frozenset(pages - {""})


def simple_commands(text: str) -> Iterator[Seen]:
    """Every simple command of a text whose name can be told, wherever it stands. Raises what the parser raises."""
    nodes = list(walk(parse(text)))
    functions = {node.name for node in nodes if isinstance(node, Function)}
    for node in nodes:
        if isinstance(node, Simple) and node.words:
            seen = _seen(node)
            if seen is not None and seen.tool not in functions:
                yield seen


def _seen(node: Simple) -> Seen | None:
    words = arguments(node.words, Scope())
    if not words or not words[0].exact or not words[0].text:
        return None
    folder, slash, name = words[0].text.rpartition("/")
    if slash and folder not in SYSTEM_FOLDERS:
        return None
    rule = Shelf.default().get(name)
    if not isinstance(rule, CommandRule):
        return Seen(name, None)
    missing: list[tuple[str, str]] = []
    for level in bind(rule.spec, words[1:], words[0].span)[0]:
        for problem in level.problems:
            word = next((value.text for value in words if value.span == problem.span), "")
            if problem.kind == Kind.NO_SUBCOMMAND:
                missing.append(("subcommand", f"{level.spec.name} {word}"))
            elif problem.kind == Kind.NO_OPTION:
                named = problem.because.split("`")[1]
                missing.append(("option", f"{level.spec.name} {named}"))
    return Seen(name, rule.path, tuple(dict.fromkeys(missing)))


def measure(folder: Path, names: Iterable[str] = NAMES) -> list[Tally]:
    """The figures of each corpus."""
    tldr = read_texts(folder, "tldr")[1]
    tallies = []
    for name in names:
        tally = Tally(name)
        for text in read_texts(folder, name)[0]:
            tally.add(text, tldr)
        tallies.append(tally)
    return tallies


def _weights(tallies: Iterable[Tally], of: str) -> Counter[str]:
    """Tools or files by their weight: the mean of their shares of each corpus, in parts of a million."""
    found: Counter[str] = Counter()
    chosen = list(tallies)
    for tally in chosen:
        counter: Counter[str] = getattr(tally, of)
        whole = sum(counter.values()) or 1
        for name, runs in counter.items():
            found[name] += round(1_000_000 * runs / whole / len(chosen))
    return found


def heaviest_files(tallies: Iterable[Tally]) -> list[tuple[str, int]]:
    """Rule files by weight over all corpora, the heaviest first."""
    return sorted(_weights(tallies, "files").items(), key=lambda pair: (-pair[1], pair[0]))


def worth_writing(tallies: Iterable[Tally], kind: str) -> list[tuple[str, int]]:
    """What is missing, of one kind (`head`, `subcommand`, `option`), by weight, the heaviest first."""
    found: Counter[str] = Counter()
    chosen = list(tallies)
    for tally in chosen:
        whole = tally.commands["installable weighted"] or 1
        for (lacking, words), runs in tally.missing.items():
            if lacking == kind:
                found[words] += round(1_000_000 * runs / whole / len(chosen))
    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))


# --- for people -----------------------------------------------------------------------------------------------


def _print_tally(tally: Tally) -> None:
    for weighted in (False, True):
        mark = " weighted" if weighted else ""
        texts, commands = tally.texts, tally.commands
        whole = texts["all" + mark] or 1
        verdicts = ", ".join(f"{kind} {texts[kind + mark] / whole:.1%}" for kind in VERDICTS)
        levels = ", ".join(f"{level} {tally.share(level, weighted=weighted):.2%}" for level in LEVELS)
        print(
            f"{tally.name}{mark}: {texts['all' + mark]} texts ({verdicts}; {texts['refused' + mark]} refused); "
            f"{commands['all' + mark]} simple commands, {commands['installable' + mark]} of installable tools: {levels}"
        )


def main(arguments: list[str] | None = None) -> int:
    """Prints the figures and what is worth writing next."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_option(parser)
    parser.add_argument("--only", choices=NAMES, action="append", help="only this corpus; may be repeated")
    parser.add_argument("--next", type=int, default=50, metavar="N", help="how many missing things to list")
    parser.add_argument("--files", type=int, default=0, metavar="N", help="list the N heaviest rule files")
    args = parser.parse_args(arguments)
    folder = wanted_folder(args.corpora)
    if folder is None:
        return 2
    tallies = measure(folder, args.only or NAMES)
    for tally in tallies:
        _print_tally(tally)
    for kind, title in (
        ("head", "Commands without a rule"),
        ("subcommand", "Subcommands that a rule lacks"),
        ("option", "Options that a rule lacks"),
    ):
        print(f"\n{title}, by weight in parts of a million\n")
        for words, weight in worth_writing(tallies, kind)[: args.next]:
            print(f"{weight:7}  {words}")
    if args.files:
        print("\nRule files, by weight in parts of a million\n")
        for path, weight in heaviest_files(tallies)[: args.files]:
            print(f"{weight:7}  {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
