# SPDX-License-Identifier: Apache-2.0
"""`shellguard rules`: the rule library. Here it is shown; `rules_check`, `rules_new`, `rules_trust` hold the rest."""

from __future__ import annotations

import os
import sys

import rich_click as click

from shellguard.cli.output import SCHEMA, dumps, rules_hash
from shellguard.cli.rules_check import check, compile_
from shellguard.cli.rules_new import new
from shellguard.cli.rules_trust import trust
from shellguard.cli.shelves import say, shelf_here
from shellguard.explain import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from shellguard.rules.library import Entry
    from shellguard.rules.model import CommandRule, Operand, Option, Spec
    from shellguard.rules.page import Block, Text
    from shellguard.rules.proof import Proof


CHANGED = -1
"""What `--stale` without a number stands for."""


def _age(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A number of days, `CHANGED` for none."""
    if not value:
        return CHANGED if value == "" else None
    days: int = click.IntRange(min=0)(value, param, ctx)
    return days


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def rules() -> None:
    """Show, check, draft and trust rules.

    The shipped rules, those of the user, and those of the project that the current folder lies in.
    """


for _command in (check, compile_, new, trust):
    rules.add_command(_command)


# --- list -------------------------------------------------------------------------------------------------------------


@rules.command("list")
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
@click.option(
    "--stale",
    callback=_age,
    is_flag=False,
    flag_value="",
    metavar="[DAYS]",
    help="Only rules that changed since their examples were run, or were never run; with DAYS those that were checked"
    " longer ago than this, or never.",
)
def list_(as_json: bool, stale: int | None) -> None:
    """List every command that has a rule.

    One line each: the command, its family, how many subcommands, options and examples it has, when it was last checked,
    and its file. Exit status 1 when some file is broken; those are named on standard error.
    """
    from shellguard.rules.library import entries

    shelf = shelf_here()
    proofs = _proofs() if stale == CHANGED else {}
    found = [entry for entry in entries(shelf) if stale is None or _is_stale(entry, stale, proofs)]
    broken = [entry.problem for entry in found if entry.problem is not None]
    loaded = [(entry, entry.rule) for entry in found if entry.rule is not None]
    loaded.sort(key=lambda pair: (pair[1].command, pair[0].path))
    if as_json:
        click.echo(
            dumps(
                {
                    "schema": SCHEMA,
                    "rules": rules_hash(shelf),
                    "commands": [_command_object(entry, rule) for entry, rule in loaded],
                    "broken": [
                        {"file": error.path, "line": error.line, "message": error.message} for error in broken
                    ],
                }
            )
        )
    else:
        _print_list(loaded)
        for error in broken:
            say(str(error), err=True)
    sys.exit(1 if broken else 0)


def _proofs() -> dict[str, Proof]:
    """What the record of the witness says of the shipped rules."""
    from shellguard.rules.proof import proofs_in
    from shellguard.rules.shelf import shipped_folder

    return proofs_in(shipped_folder())


def _is_stale(entry: Entry, days: int, proofs: dict[str, Proof]) -> bool:
    """Whether the last date in `checked` is further back than that, or is missing.

    With `CHANGED` in place of days: whether the file is another than the one whose examples were run.
    """
    import datetime

    if days == CHANGED:
        from shellguard.rules.proof import is_stale

        return is_stale(proofs.get(entry.path) if entry.layer is None else None, entry.file)
    try:
        checked = datetime.date.fromisoformat(entry.last_check)
    except ValueError:
        return True
    return (datetime.date.today() - checked).days > days


def _print_list(loaded: list[tuple[Entry, CommandRule]]) -> None:
    from shellguard.rules.check import examples_of
    from shellguard.rules.reference import count_subcommands

    rows = []
    for entry, rule in loaded:
        options = sum(len(spec.distinct_options()) for _, spec in _specs(rule.spec))
        counts = (count_subcommands(rule.spec), options, len(examples_of(rule)))
        rows.append((rule.command, entry.family, *map(str, counts), entry.last_check, _file_of(entry)))
    if not sys.stdout.isatty():  # for other programs: a tab between the columns, nothing folded
        for row in rows:
            click.echo("\t".join(visible(cell) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("command", "family", "subcommands", "options", "examples", "checked", "file"):
        right = heading in ("subcommands", "options", "examples")
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    Console(highlight=False).print(table)


def _file_of(entry: Entry) -> str:
    return entry.path if entry.trusted else f"{entry.path} (not trusted)"


def _specs(spec: Spec) -> Iterator[tuple[tuple[str, ...], Spec]]:
    """A spec and all below it, each once, with its spellings."""
    yield (spec.name,), spec
    for names, below in _below(spec):
        for inner, each in _specs(below):
            yield (names if each is below else inner), each


def _below(spec: Spec) -> list[tuple[tuple[str, ...], Spec]]:
    from shellguard.rules.page import subcommands

    return subcommands(spec)


def _command_object(entry: Entry, rule: CommandRule) -> dict[str, Any]:
    return {
        "command": rule.command,
        "aliases": list(rule.aliases),
        "summary": rule.summary,
        "source": rule.source,
        "checked": rule.checked,
        "file": entry.path,
        "family": entry.family,
        "last_check": entry.last_check,
        "origin": entry.origin,
        "trusted": entry.trusted,
        "replaces": rule.replaces,
        **_spec_object(rule.spec),
    }


def _spec_object(spec: Spec) -> dict[str, Any]:
    return {
        "line": spec.line,
        "effects": None if spec.effects is None else sorted(spec.effects),
        "accepts_anything": spec.accepts_anything,
        "style": spec.style,
        "options": [_option_object(option) for option in spec.distinct_options()],
        "operands": [_operand_object(slot) for slot in spec.operands],
        "cases": [{"line": case.line, "effects": sorted(case.effects)} for case in spec.cases],
        "runs_config": spec.runs_config,
        "touches": sorted(spec.touches),
        "marks": sorted(spec.marks),
        "changes": sorted(spec.changes),
        "examples": [
            {
                "kind": example.kind,
                "text": example.text,
                "expects": sorted(example.expects),
                "comment": example.comment,
                "line": example.line,
            }
            for example in spec.examples
        ],
        "subcommands": [
            {"name": names[0], "names": list(names), "summary": below.summary, **_spec_object(below)}
            for names, below in _below(spec)
        ],
    }


def _option_object(option: Option) -> dict[str, Any]:
    return {
        "names": list(option.names),
        "takes": option.takes,
        "effects": sorted(option.effects),
        "target": option.target,
        "as": option.role,
        "program": option.program,
        "runs": option.runs_value,
        "line": option.line,
    }


def _operand_object(slot: Operand) -> dict[str, Any]:
    return {
        "name": slot.name,
        "many": slot.many,
        "effects": sorted(slot.effects),
        "as": slot.role,
        "program": slot.program,
        "line": slot.line,
    }


# --- show, page -------------------------------------------------------------------------------------------------------


@rules.command()
@click.argument("name")
@click.argument("subcommand", nargs=-1)
def show(name: str, subcommand: tuple[str, ...]) -> None:
    """Show what is known of a command, or of one of its subcommands: `show git branch`."""
    from rich.console import Console

    console = Console(highlight=False)
    for number, page in enumerate(_pages(name, subcommand)):
        if number:
            console.print()
        for block in page:
            _print_block(console, block)


@rules.command()
@click.argument("name", required=False)
@click.argument("subcommand", nargs=-1)
@click.option(
    "--output",
    type=click.Path(file_okay=False),
    help="Write the whole reference into this folder: a page for each command, and README.md, which lists them.",
)
def page(name: str | None, subcommand: tuple[str, ...], output: str | None) -> None:
    """Print the page of a command as Markdown, or write the pages of all: `page --output FOLDER`.

    A page says which calls are reads, which are not and why, with examples and the source. Exit status 1 when some file
    is broken and has no page.
    """
    from shellguard.rules.page import markdown

    if (name is None) == (output is None):
        raise click.UsageError("Name a command, or say with --output where the pages of all shall go.")
    if output is not None:
        sys.exit(_write_reference(output))
    assert name is not None
    click.echo("\n".join(markdown(blocks, visible) for blocks in _pages(name, subcommand)), nl=False)


def _write_reference(folder: str) -> int:
    """Writes every page, those of the last time over again. Pages of rules that are gone stay."""
    from shellguard.rules.library import entries
    from shellguard.rules.reference import reference

    found = list(entries(shelf_here()))
    count = 0
    try:
        for path, text in reference(found, _proofs(), visible):
            file = os.path.join(folder, *path.split("/"))
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
            count += 1
    except OSError as error:
        raise click.ClickException(f"{visible(error.filename or folder)}: {error.strerror}") from error
    broken = [entry.problem for entry in found if entry.problem is not None]
    for problem in broken:
        say(str(problem), err=True)
    say(f"{count} pages in {folder}", err=True)
    return int(bool(broken))


def _pages(name: str, words: tuple[str, ...]) -> list[list[Block]]:
    """A page for each file that speaks of the command. Exits with 2 when none does, with 1 when all are broken."""
    from shellguard.rules.library import entries_for
    from shellguard.rules.page import blocks

    found = entries_for(name, shelf_here())
    if not found:
        raise click.UsageError(f"No rule speaks of {visible(repr(name))}.")
    pages = []
    proofs = _proofs()
    missing: list[str] = []
    for entry in found:
        if entry.rule is None:
            say(str(entry.problem), err=True)
            continue
        spec = entry.rule.spec
        for word in words:
            if word not in spec.subcommands:
                missing.append(f"{entry.path} knows no subcommand {visible(repr(word))} of {spec.name}.")
                break
            spec = spec.subcommands[word]
        else:
            pages.append(blocks(entry.rule, spec, proofs.get(entry.path) if entry.layer is None else None))
    if not pages:
        if missing:
            raise click.UsageError(missing[0])
        sys.exit(1)
    return pages


def _print_block(console: Any, block: Block) -> None:
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

    from shellguard.rules.page import Heading, Paragraph

    def styled(text: Text, plain: str = "") -> RichText:
        return RichText.assemble(*((visible(piece.text), "bold" if piece.code else plain) for piece in text))

    if isinstance(block, Heading):
        console.print()
        console.print(styled(block.text, "bold"), style="underline" if block.level < 3 else None)
    elif isinstance(block, Paragraph):
        console.print(styled(block.text), soft_wrap=True)
    else:
        table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for heading in block.header:
            table.add_column(heading, overflow="fold", header_style="dim")
        for row in block.rows:
            table.add_row(*(styled(cell) for cell in row))
        console.print(table)
