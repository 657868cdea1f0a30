# SPDX-License-Identifier: Apache-2.0
"""A rule as its documentation page: blocks that the command line shows, and the same blocks as Markdown.

Everything on the page stands in the rule file once. A rule file may be anybody's, so its text is shown, never obeyed:
Markdown escapes what Markdown or HTML would act on, and control characters are the printer's business
(`explain.visible`).
"""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from shellguard.rules.model import Case, CommandRule, Option, Spec, Variable
    from shellguard.rules.proof import Proof

    Text: TypeAlias = "tuple[Piece, ...]"
    Block: TypeAlias = "Heading | Paragraph | Table"


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text of a page; `code` is shown as it would be typed. `link`: the path of another page that it leads to."""

    text: str
    code: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; the page itself has level 1."""

    level: int
    text: Text


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of one line."""

    text: Text


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a header."""

    header: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]


SIDES = {"read": "reads", "write": "writes", "unknown": "cannot tell"}
"""How the three kinds of examples are named on a page."""

_PLACES = {
    "clone": "Files that arrive with a clone can make it run code, so no call of it is a read.",
    "repo": "It trusts the configuration of the repository it is run in, which can make it run code.",
    "home": "It trusts the configuration in the home folder, which can make it run code.",
}


def blocks(rule: CommandRule, spec: Spec | None = None, proof: Proof | None = None) -> list[Block]:
    """The page of a rule, or of one of its subcommands with all below it.

    `proof` is what the record of the witness says of its file.
    """
    found = list(_spec_blocks(rule.spec if spec is None else spec, rule, 1))
    head: list[Block] = [found[0]]
    if spec is None or spec is rule.spec:
        if rule.summary:
            head.append(Paragraph(_plain(rule.summary)))
        if rule.aliases:
            head.append(Paragraph((*_plain("Also: "), *_codes(rule.aliases))))
        if rule.source:
            head.append(Paragraph((*_plain("Source: "), *_plain(rule.source))))
        if rule.checked:
            head.append(Paragraph(_plain(f"Checked: {rule.checked}")))
        if proof is not None:
            head.append(Paragraph(_plain(f"Seen on {proof.command} {proof.version}, {proof.date}.")))
        if rule.replaces:
            head.append(Paragraph(_plain("It replaces the shipped rule where it is trusted.")))
    head.append(Paragraph((*_plain("Rule: "), *_codes([f"{rule.path}:{(spec or rule.spec).line}"]))))
    return head + found[1:]


def _spec_blocks(spec: Spec, rule: CommandRule, level: int) -> Iterator[Block]:
    yield Heading(min(level, 6), _codes([spec.name]))
    if spec is not rule.spec and spec.summary:
        yield Paragraph(_plain(spec.summary))
    if spec.judgement:
        yield Paragraph(_plain(f"Judgement: {spec.judgement}"))
    if spec.effects is not None:
        anything = ", whatever its words are" if spec.accepts_anything else ""
        yield Paragraph(_plain(f"A plain call {_said(spec.effects)}{anything}."))
    if spec.cases:
        rows = tuple((_when(case), _plain(_done(case))) for case in spec.cases)
        yield Table(("the first row that holds", "effect"), rows)
    if spec.examples:
        yield Table(
            ("", "command", "why"),
            tuple(
                (_plain(SIDES[kind]), _codes([_shell_of(example.text)]), _plain(example.comment))
                for kind in SIDES
                for example in spec.examples
                if example.kind == kind
            ),
        )
    mattering = [option for option in spec.distinct_options() if not option.harmless]
    if mattering:
        yield Table(
            ("options that matter", "takes", "effect", "acts on"),
            tuple(_option_row(option) for option in mattering),
        )
    harmless = [" ".join(option.names) for option in spec.distinct_options() if option.harmless]
    if harmless:
        yield Paragraph((*_plain("Options that change nothing: "), *_codes(harmless)))
    if spec.complete:
        yield Paragraph(
            _plain("These are all the options it has, so a word that nobody can see is no other.")
        )
    elif spec.options and not spec.accepts_anything:
        yield Paragraph(_plain("Any other option makes a call unknown; so does a word that nobody can see."))
    variables = [entry for entry in spec.variables.entries() if entry.effects or entry.program]
    if variables and spec is rule.spec:
        yield Table(("variables that matter", "effect"), tuple(_variable_row(entry) for entry in variables))
    if spec is rule.spec or spec.runs_config != rule.spec.runs_config:
        if spec.runs_config is not None:
            yield Paragraph(_plain(_PLACES[spec.runs_config]))
    if spec.touches and (spec is rule.spec or spec.touches != rule.spec.touches):
        yield Paragraph(_plain(f"May touch: {', '.join(sorted(spec.touches))}."))
    if spec.marks and (spec is rule.spec or spec.marks != rule.spec.marks):
        yield Paragraph(_plain(f"Marked: {', '.join(sorted(spec.marks))}."))
    if spec.helpers:
        yield Paragraph((*_plain("Starts for its own work: "), *_codes(spec.helpers)))
    for names, below in subcommands(spec):
        name, *others = names
        inner = list(_spec_blocks(below, rule, level + 1))
        yield inner[0]
        if others:
            yield Paragraph((*_plain(f"{name} is also written "), *_codes(others)))
        yield from inner[1:]


def subcommands(spec: Spec) -> list[tuple[tuple[str, ...], Spec]]:
    """The subcommands of a spec, each once, with all its spellings."""
    spellings: dict[int, list[str]] = {}
    below: dict[int, Spec] = {}
    for name, subcommand in spec.subcommands.items():
        spellings.setdefault(id(subcommand), []).append(name)
        below[id(subcommand)] = subcommand
    return [(tuple(spellings[key]), subcommand) for key, subcommand in below.items()]


def _said(effects: frozenset[str]) -> str:
    verbs = sorted(effects & {"reads", "writes", "executes", "waits"})
    said = [*verbs, *(["uses the network"] if "network" in effects else [])]
    if "unknown" in effects:
        said.append("does what nobody can tell")
    return " and ".join(said) if said else "does nothing that counts"


def _done(case: Case) -> str:
    effects = ", ".join(sorted(case.effects))
    return effects if case.stdin is None else f"{effects}; standard input is a {case.stdin} script"


def _when(case: Case) -> Text:
    asked: list[Text] = []
    if case.minimum is not None:
        if case.maximum == case.minimum:
            asked.append(_plain("no operand" if not case.minimum else f"operands: {case.minimum}"))
        elif case.maximum is None:
            asked.append(_plain(f"operands: {case.minimum} or more"))
        else:
            asked.append(_plain(f"operands: {case.minimum} to {case.maximum}"))
    if case.any_of is not None:
        asked.append((*_plain("one of "), *_codes(sorted(case.any_of))))
    if case.none_of is not None:
        asked.append((*_plain("none of "), *_codes(sorted(case.none_of))))
    if case.first is not None:
        asked.append((*_plain("first operand "), *_codes([shape.text for shape in case.first])))
    for name, shapes in (case.values or {}).items():
        asked.append((*_codes([name]), *_plain(" with "), *_codes([shape.text for shape in shapes])))
    if not asked:
        return _plain("otherwise")
    pieces: list[Piece] = []
    for number, text in enumerate(asked):
        pieces += [*(_plain("; ") if number else ()), *text]
    return tuple(pieces)


def _option_row(option: Option) -> tuple[Text, ...]:
    effects = sorted(option.effects)
    if option.role is not None:
        effects.append(f"its value is a {option.language or ''} {option.role}".replace("  ", " "))
    if option.program:
        effects.append("its value is judged as a program")
    if option.runs_value:
        effects.append("its value is judged as a command")
    takes = {"none": "", "maybe": "perhaps one, attached"}.get(option.takes, option.takes)
    return (
        _codes(option.names),
        _plain(f"{takes} {' '.join(option.ends)}".strip()),
        _plain(", ".join(effects)),
        _plain("its value" if option.target == "value" else option.target or ""),
    )


def _variable_row(entry: Variable) -> tuple[Text, ...]:
    effect = "judged as a program" if entry.program else ", ".join(sorted(entry.effects))
    return _codes([entry.pattern.text]), _plain(effect)


def _shell_of(text: str) -> str:
    """An example without the remark at its end, which has a cell of its own."""
    before, mark, _ = text.rpartition("  # ")
    return before.rstrip(" ") if mark and before.strip(" ") else text


def _plain(text: str) -> Text:
    return (Piece(text),) if text else ()


def _codes(names: Iterator[str] | tuple[str, ...] | list[str]) -> Text:
    pieces: list[Piece] = []
    for name in names:
        pieces += [*([Piece(", ")] if pieces else []), Piece(name, code=True)]
    return tuple(pieces)


# --- Markdown ---------------------------------------------------------------------------------------------------------


def markdown(page: list[Block], visible: Callable[[str], str]) -> str:
    """The page as GitHub-flavoured Markdown. `visible` makes control characters visible (`explain.visible`)."""
    parts = []
    for block in page:
        if isinstance(block, Heading):
            parts.append(f"{'#' * block.level} {_inline(block.text, visible)}")
        elif isinstance(block, Paragraph):
            parts.append(_inline(block.text, visible))
        else:
            lines = [f"| {' | '.join(block.header)} |", f"|{' --- |' * len(block.header)}"]
            lines += [
                f"| {' | '.join(_inline(cell, visible, in_table=True) for cell in row)} |"
                for row in block.rows
            ]
            parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


_SPECIAL = frozenset("\\`*_{}[]<>#|~&")
"""Characters that Markdown or HTML may act on wherever they stand."""

_ADDRESS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?#@!$&()*+,;=%")


def _inline(text: Text, visible: Callable[[str], str], *, in_table: bool = False) -> str:
    return "".join(_piece(piece, visible, in_table=in_table) for piece in text)


def _piece(piece: Piece, visible: Callable[[str], str], *, in_table: bool) -> str:
    if piece.link:
        shown = _piece(Piece(piece.text, piece.code), visible, in_table=in_table)
        return f"[{shown}](<{_address(visible(piece.link))}>)"
    text = visible(piece.text)
    if piece.code:
        return _code_span(text, in_table=in_table)
    if text.startswith(("https://", "http://")) and _ADDRESS.issuperset(text):
        return f"<{text}>"
    first = "\\" if text[:1] in ("+", "-", "=") else ""
    return first + "".join(f"&#{ord(char)};" if char in _SPECIAL else char for char in text)


def _address(path: str) -> str:
    """A path as the destination of a link, in which nothing ends it or acts."""
    return "".join(char if char in _ADDRESS and char not in "%&*" else _percent(char) for char in path)


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))


def _code_span(text: str, *, in_table: bool) -> str:
    if in_table and "|" in text:  # a bar would end the cell, in a code span too
        inside = "".join(f"&#{ord(char)};" if char in _SPECIAL else char for char in text)
        return f"<code>{inside}</code>"
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    fence = "`" * (longest + 1)
    pad = " " if longest or text.startswith(" ") or text.endswith(" ") or not text else ""
    return f"{fence}{pad}{text}{pad}{fence}"
