# SPDX-License-Identifier: Apache-2.0
"""What is said of a tool somewhere: the spellings of its options, how many words each takes, and its subcommands.

Sources differ in form, not in what is kept of them: help texts (`draft.options_in`), the source of manual pages
(`roff.tags_of`), the completion files of fish and of bash, and the npm package `@withfig/autocomplete`. Of none of them
a sentence is kept, and none of them is believed: they are for a draft, and for a comparison with a rule.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field

from shellguard.rules.draft import Found, options_in, subcommands_in
from shellguard.rules.roff import tags_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_DEPTH = 4
"""Subcommands inside subcommands that are followed."""

_RANK = {"none": 0, "one": 1, "maybe": 2}


@dataclass
class Told:
    """What one source, or several together, say of a command or subcommand.

    `options` by each of their spellings. `commands`: the subcommands by each of their names; names of one subcommand
    share a value. `unlike`: spellings of which two sources said different things, with what they said.
    """

    options: dict[str, Found] = field(default_factory=dict)
    commands: dict[str, Told] = field(default_factory=dict)
    unlike: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def groups(self) -> list[Found]:
        """Each option once, in the order in which they were told."""
        return list({id(option): option for option in self.options.values()}.values())

    def subcommands(self) -> list[tuple[tuple[str, ...], Told]]:
        """Each subcommand once, with all its names."""
        names: dict[int, list[str]] = {}
        below: dict[int, Told] = {}
        for name, told in self.commands.items():
            names.setdefault(id(told), []).append(name)
            below[id(told)] = told
        return [(tuple(names[key]), told) for key, told in below.items()]

    def add_option(self, names: Iterable[str], takes: str, *, sure: bool = True) -> None:
        """One option more. What is said of a known spelling joins what was said; with `sure` they are compared."""
        fresh = tuple(dict.fromkeys(names))
        known = [self.options[name] for name in fresh if name in self.options]
        if not known:
            found = Found(fresh, takes)
        else:
            first = known[0]
            spellings = tuple(dict.fromkeys((*first.names, *fresh)))
            free = tuple(name for name in spellings if name in first.names or name not in self.options)
            if sure and takes != first.takes:
                said = (*self.unlike.get(first.names[0], (first.takes,)), takes)
                self.unlike[first.names[0]] = tuple(dict.fromkeys(said))
            found = Found(free, max(first.takes, takes if sure else "none", key=_RANK.__getitem__))
        for name in found.names:
            self.options[name] = found

    def add_command(self, names: Iterable[str]) -> Told:
        """The subcommand of these names, made where there is none."""
        spellings = tuple(names)
        told = next((self.commands[name] for name in spellings if name in self.commands), None) or Told()
        for name in spellings:
            self.commands.setdefault(name, told)
        return told

    def add(self, other: Told, *, sure: bool = True, depth: int = 0) -> None:
        """What another source says too. Without `sure` it is heard for names only, not for what they take."""
        for option in other.groups():
            self.add_option(option.names, option.takes, sure=sure)
        if depth < MAX_DEPTH:
            for names, below in other.subcommands():
                self.add_command(names).add(below, sure=sure, depth=depth + 1)

    def says_the_same(self, other: Told) -> bool:
        """Whether another source names the same options and subcommands, as where one help text is for all of them."""
        return self.options.keys() == other.options.keys() and self.commands.keys() == other.commands.keys()


def from_help(text: str) -> Told:
    """What a help text says."""
    told = Told()
    for option in options_in(text):
        told.add_option(option.names, option.takes)
    for names in subcommands_in(text):
        told.add_command(names)
    return told


def from_manual(source: str) -> Told:
    """What the roff source of a manual page says."""
    told = Told()
    for option in options_in(tags_of(source)):
        told.add_option(option.names, option.takes)
    return told


# --- completion files -------------------------------------------------------------------------------------------------

_BELOW = re.compile(r"(?:seen_subcommand_from|using_(?:sub)?command)(?:_?\w*)? ([A-Za-z0-9 _:-]+)")
_TOP = re.compile(r"(?:use_subcommand|needs_(?:sub)?command|no_subcommand)")
_NAME = re.compile(r"[a-z][A-Za-z0-9_:-]{0,40}")


def from_fish(text: str, tool: str) -> Told:
    """What a completion file of fish says: its `complete -c TOOL` lines. Source: fish's manual of `complete`."""
    told = Told()
    for line in text.split("\n"):
        if not line.lstrip().startswith("complete ") or len(line) > 4_000:
            continue
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            continue
        _fish_line(words[1:], tool, told)
    return told


_FISH_LONG = {
    "--exclusive": "x",
    "--require-parameter": "r",
    "--no-files": "f",
    "--force-files": "F",
    "--keep-order": "k",
    "--erase": "e",
    "--command": "c",
    "--short-option": "s",
    "--long-option": "l",
    "--old-option": "o",
    "--arguments": "a",
    "--condition": "n",
    "--description": "d",
    "--wraps": "w",
    "--path": "p",
}
_FISH_FLAGS = frozenset("xrfFke")


def _fish_options(words: list[str]) -> Iterator[tuple[str, str]]:
    """The options of a line as (letter, value); a word that is none is a command, as with `-c`."""
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if not word.startswith("-"):
            yield "c", word
            continue
        name, equals, value = word.partition("=")
        letters = _FISH_LONG.get(name, "?") if word.startswith("--") else word[1:]
        while letters and letters[0] in _FISH_FLAGS:
            yield letters[0], ""
            letters = letters[1:]
        if not letters:
            continue
        if not (word.startswith("--") and equals):
            value = letters[1:]
            if not value and position < len(words):
                value = words[position]
                position += 1
        yield letters[0], value


def _fish_line(words: list[str], tool: str, told: Told) -> None:
    names: list[str] = []
    commands: list[str] = []
    offered = condition = ""
    takes = "none"
    for letter, value in _fish_options(words):
        if letter in "xr":
            takes = "one"
        elif letter == "c":
            commands.append(value)
        elif letter in "so":
            names.append(f"-{value}")
        elif letter == "l":
            names.append(f"--{value}")
        elif letter == "a":
            offered = value
        elif letter == "n":
            condition = value
    if tool not in commands:
        return
    below = _BELOW.search(condition)
    if names:
        places = (
            [told.add_command((name,)) for name in below[1].split(" ") if _NAME.fullmatch(name)]
            if below is not None and "not" not in condition.split(" ")
            else [told]
        )
        for place in places:
            place.add_option([name for name in names if "$" not in name and "(" not in name], takes)
    elif _TOP.search(condition):
        for name in offered.split():
            if _NAME.fullmatch(name.partition("\t")[0]):
                told.add_command((name.partition("\t")[0],))


_LIST = re.compile(r"""-W[ \t\n\\]*(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)")""")
_OPTION = re.compile(r"(?:--[a-z0-9][A-Za-z0-9-]*=?|-[A-Za-z0-9])")


def from_bash(text: str) -> Told:
    """The options in the word lists of a completion file of bash (`compgen -W '--all -v'`).

    The file is a program, so which subcommand a list belongs to cannot be told, nor what its variables hold.
    """
    told = Told()
    for match in _LIST.finditer(text[:500_000]):
        for word in (match["single"] or match["double"] or "").split():
            if _OPTION.fullmatch(word):
                told.add_option((word.rstrip("="),), "one" if word.endswith("=") else "none")
    return told


# --- @withfig/autocomplete --------------------------------------------------------------------------------------------


def from_fig(spec: object, depth: int = 0) -> Told:
    """What a spec of `@withfig/autocomplete` says, as JSON has it.

    A spec has `options` and `subcommands`; each of them a `name` (one or a list), an option `args` where it takes some.
    Source: the types of `@withfig/autocomplete-types`.
    """
    told = Told()
    if not isinstance(spec, dict):
        return told
    for option in _items(spec.get("options")):
        names = [
            name for name in _names(option) if name.startswith("-") and " " not in name and "=" not in name
        ]
        args = option.get("args")
        first = args[0] if isinstance(args, list) and args else args
        takes = "none"
        if isinstance(first, dict) and first:
            takes = "maybe" if first.get("isOptional") is True else "one"
        if names:
            told.add_option(names, takes)
    if depth < MAX_DEPTH:
        for command in _items(spec.get("subcommands")):
            names = [
                name for name in _names(command) if name and not name.startswith("-") and " " not in name
            ]
            if names:
                told.add_command(names).add(from_fig(command, depth + 1))
    return told


def _items(value: object) -> Iterator[dict[str, object]]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def _names(item: dict[str, object]) -> list[str]:
    name = item.get("name")
    names = name if isinstance(name, list) else [name]
    return [each for each in names if isinstance(each, str)]
