# SPDX-License-Identifier: Apache-2.0
"""A first rule file for a tool, from what it says of itself: the spellings of its options and how many words they take.

A draft says of nothing that it is harmless. The tool, its subcommands and each option are `unknown`, operands have no
place: a draft that nobody fills in makes nothing a read. Here help text becomes a draft; `cli/rules.py` gets the text.

Help texts have no grammar. What is read is the layout that most tools share: an option at the beginning of a line, its
other spellings behind commas, a metavariable behind a blank or `=`, and then two blanks and a sentence.
"""

from __future__ import annotations

import re
import textwrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from shellguard.rules.told import Told

MAX_LINES = 5_000
MAX_WORDS = 600
"""Options, and subcommands, that a draft lists at most."""

_NAME = r"-{1,2}[A-Za-z0-9?@#](?:[A-Za-z0-9_.+-]*[A-Za-z0-9_+])?"
_VALUE = (
    r"(?:\[?=?<[^>\n]{1,40}>\]?|\[=[^\]\n]{1,40}\]|\[[A-Za-z][^\]\n]{0,40}\]|=\S{1,40}|[A-Z][A-Z0-9_.|:-]*\b)"
)
_SPELLING = re.compile(rf"(?P<name>{_NAME})(?P<gap> ?)(?P<value>{_VALUE})?")
_EITHER = re.compile(r"--\[no-\]([a-z0-9][a-z0-9-]*)")
_LOWER_VALUE = re.compile(r" (?P<value>[a-z][a-z0-9_-]{0,30})(?=  |$|, )")
_HEADING = re.compile(r"^[A-Za-z][A-Za-z /-]{0,40}:?$")
_COMMANDS = re.compile(r"\bcommands?:?$", re.IGNORECASE)
_METAVARIABLE = r"(?:\[[^\]\n]{1,60}\]|<[^>\n]{1,40}>|[A-Z][A-Z0-9_|-]*|{[^}\n]{1,60}})(?:\.\.\.|…)?"
_COMMAND = re.compile(
    r"^ {2,8}(?P<names>[a-z][a-z0-9_-]{0,40}(?:, [a-z][a-z0-9_-]{0,40})*)"
    rf"(?: {_METAVARIABLE}){{0,6}}:?(?: {{2,}}\S.*)?$"
)
_SEPARATORS = (", ", " | ", "|", "/", ",", " ")
_VERSION_NOISE = re.compile(r"\b(?:version|from)\b", re.IGNORECASE)
_OVERSTRIKE = re.compile(r".\x08")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\x1b\][^\x07]*\x07")


class Found:
    """One option of a help text: its spellings, and what it takes: `none`, `one` or `maybe`."""

    __slots__ = ("names", "takes")

    def __init__(self, names: tuple[str, ...], takes: str) -> None:
        self.names, self.takes = names, takes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Found) and (self.names, self.takes) == (other.names, other.takes)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Found({self.names!r}, {self.takes!r})"


def plain(text: str) -> list[str]:
    """The lines of a help text or manual without overstrikes, colours and tabs."""
    text = _COLOUR.sub("", _OVERSTRIKE.sub("", text)).replace("\r", "")
    return [line.expandtabs(8).rstrip() for line in text.split("\n")[:MAX_LINES]]


def options_in(text: str) -> list[Found]:
    """The options that the lines of a help text begin with, each spelling once, in order."""
    found: list[Found] = []
    known: set[str] = set()
    for line in plain(text):
        for option in _options_of(line):
            names = tuple(dict.fromkeys(name for name in option.names if name not in known))
            if names and len(found) < MAX_WORDS:
                known.update(names)
                found.append(Found(names, option.takes))
    return found


def _options_of(line: str) -> list[Found]:
    """The options at the beginning of a line: `-o, --output=FILE` is one, `-amin N -anewer FILE` are two."""
    line = _EITHER.sub(r"--\1, --no-\1", line)
    position = len(line) - len(line.lstrip(" "))
    found: list[Found] = []
    apart = True
    while (match := _SPELLING.match(line, position)) is not None:
        name, value = match["name"], match["value"]
        position = match.end("name") if value is None else match.end()
        if value is None and (lower := _LOWER_VALUE.match(line, match.end("name"))) is not None:
            value, position = lower["value"], lower.end()
        takes = "none" if value is None else "maybe" if value.startswith("[") else "one"
        if apart:
            found.append(Found((name,), takes))
        else:
            last = found[-1]
            if name in last.names and last.takes == "none" != takes:  # `-c, --check, --check=HOW`
                takes = "maybe"
            names = last.names if name in last.names else (*last.names, name)
            found[-1] = Found(names, takes if last.takes == "none" else last.takes)
        separator = next((mark for mark in _SEPARATORS if line.startswith(mark + "-", position)), None)
        if separator is None:
            break
        apart = separator == " " and (value is not None or (len(name) > 2 and name[1] != "-"))
        position += len(separator)
    return found


def subcommands_in(text: str) -> list[tuple[str, ...]]:
    """The subcommands under headings such as `Commands:`, each with its other names."""
    found: list[tuple[str, ...]] = []
    known: set[str] = set()
    inside = False
    for line in plain(text):
        if line and not line.startswith(" "):
            inside = bool(_COMMANDS.search(line)) and _HEADING.match(line) is not None
        elif inside and (match := _COMMAND.match(line)) is not None and "-" not in match["names"][:1]:
            names = tuple(name for name in match["names"].split(", ") if name not in known)
            if names and len(found) < MAX_WORDS:
                known.update(names)
                found.append(names)
    return found


def draft(command: str, told: Told, version: str = "", date: str = "") -> str:
    """The text of a rule file for `command`, from what is told of it. The loader accepts it.

    `version` is how the tool names itself and its version, `date` today's; both may be empty.
    """
    single_dash = any(len(name) > 2 and not name.startswith("--") for name in _spellings(told))
    checked = f"{version or 'TODO its version'}, {date}" if date else "TODO the version you tried, and when"
    lines = [
        f"command: {_scalar(command)}",
        "summary: TODO what it does, in a sentence",
        "source: TODO the address of its manual",
        f"checked: {_quoted(checked)}",
        "",
        "# A draft: everything is unknown until you say what it does. docs/adding-a-rule.md goes through it.",
        "effect: unknown                         # what a plain call does: reads, writes, [reads, network] ...",
    ]
    if single_dash:
        lines.append("style: words                            # it has options such as -name")
    lines += _spec_lines(told, "", MAX_WORDS)
    lines += [
        "# operands: [{name: file, many: true, effect: reads}]",
        "",
        "examples:",
        "  unknown: |",
        f"    {command}",
        "  # read: |",
        "  # write: |",
        "",
    ]
    return "\n".join(lines)


def version_in(text: str) -> str:
    """How a tool names itself and its version: the first line of `TOOL --version` that has a number, cut short."""
    for line in plain(text)[:20]:
        words = " ".join(_VERSION_NOISE.sub(" ", line).split())
        if any(char.isdigit() for char in words) and words.isascii() and words.isprintable():
            return words[:60].rstrip(" ,.:;")
    return ""


def _spellings(told: Told) -> Iterator[str]:
    yield from (name for name in told.options if not _is_repeated(name, told))
    for below in told.commands.values():
        yield from _spellings(below)


def _spec_lines(told: Told, indent: str, most: int) -> list[str]:
    lines: list[str] = []
    options = [
        option
        for option in told.groups()
        if all(_may_stand(name) for name in option.names)
        and not all(_is_repeated(name, told) for name in option.names)
    ][:most]
    if options:
        lines += _ready(options, indent)
        lines.append(f"{indent}options:")
    for option in options:
        takes = "" if option.takes == "none" else f"takes: {option.takes}, "
        said = told.unlike.get(option.names[0])
        remark = "" if said is None else f"     # the sources differ: {' or '.join(said)}"
        lines.append(f"{indent}  {_key(option.names)}: {{{takes}effect: unknown}}{remark}")
    commands = [(names, below) for names, below in told.subcommands() if all(map(_may_stand, names))][:most]
    if commands:
        lines.append(f"{indent}subcommands:")
    for names, below in commands:
        inner = _spec_lines(below, f"{indent}    ", max(most // 4, 20)) if len(indent) < 16 else []
        if inner:
            lines += [f"{indent}  {_key(names)}:", f"{indent}    effect: unknown", *inner]
        else:
            lines.append(f"{indent}  {_key(names)}: {{effect: unknown}}")
    return lines


def _is_repeated(name: str, told: Told) -> bool:
    """Whether it is an option of one letter, given twice or more: `-XX`."""
    return len(name) > 2 and name[1] != "-" and len(set(name[1:])) == 1 and name[:2] in told.options


_READY = (("flags", "none"), ("values", "one"), ("maybe", "maybe"))


def _ready(options: list[Found], indent: str) -> list[str]:
    """The options as a rule lists those that change nothing, as remarks: nobody has decided that yet."""
    lines = [
        f"{indent}# Take these over in place of `options`; there stay those that write, run, send or wait.",
    ]
    for word, takes in _READY:
        groups = ["\0".join(option.names) for option in options if option.takes == takes]
        if groups:
            lines.append(f"{indent}# {word}:")
            lines += [
                f"{indent}#   {line}".replace("\0", " ")
                for line in textwrap.wrap(
                    ", ".join(groups), 110 - len(indent), break_long_words=False, break_on_hyphens=False
                )
            ]
    return lines


def _quoted(text: str) -> str:
    """A text as a YAML scalar; in quotes where something in it might be read as more."""
    plain_text = all(char.isalnum() or char in " .,+()-_/" for char in text) and text[:1].isalnum()
    return text if plain_text else '"' + text.replace("\\", "/").replace('"', "'") + '"'


def _may_stand(name: str) -> bool:
    """Whether the loader takes it for a spelling."""
    return (
        name.isascii()
        and name.isprintable()
        and not set(name) & set(" ,=\"\\'{}[]")
        and name not in ("-", "--")
    )


def _key(names: tuple[str, ...]) -> str:
    text = " ".join(names)
    return f'"{text}"' if set(text) & set("?@#:!%&*|>`") else text


def _scalar(text: str) -> str:
    bare = text.replace("-", "").replace("_", "").replace(".", "").replace("+", "")
    if bare.isascii() and bare.isalnum() and text[0].isalpha():
        return text
    return f'"{text}"'
