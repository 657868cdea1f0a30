# SPDX-License-Identifier: Apache-2.0
"""The whole reference as Markdown files: a page for each rule, in the folder of its family, and one that lists them."""

from __future__ import annotations

from shellguard.rules.check import examples_of
from shellguard.rules.page import Heading, Paragraph, Piece, Table, blocks, markdown, subcommands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from shellguard.rules.library import Entry
    from shellguard.rules.model import CommandRule, Spec
    from shellguard.rules.page import Block
    from shellguard.rules.proof import Proof

INDEX = "README.md"


def count_subcommands(spec: Spec) -> int:
    """How many subcommands there are below a spec, on all levels, each once."""
    return sum(1 + count_subcommands(below) for _, below in subcommands(spec))


def reference(
    entries: Iterable[Entry], proofs: Mapping[str, Proof], visible: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    """Each file of the reference, as its path (with `/`) and its text; the index is the last.

    Broken rules have no page. `visible` makes control characters visible (`explain.visible`).
    """
    families: dict[str, list[tuple[str, CommandRule]]] = {}
    for entry in entries:
        if entry.rule is None:
            continue
        path = f"{entry.family}/{entry.rule.command}.md"
        families.setdefault(entry.family, []).append((path, entry.rule))
        yield path, markdown(blocks(entry.rule, None, proofs.get(entry.path)), visible)
    yield INDEX, _index(families, visible)


def _index(families: dict[str, list[tuple[str, CommandRule]]], visible: Callable[[str], str]) -> str:
    rules = [rule for pages in families.values() for _, rule in pages]
    counts = (
        f"{len(rules)} commands, {sum(count_subcommands(rule.spec) for rule in rules)} subcommands, "
        f"{sum(len(examples_of(rule)) for rule in rules)} examples, each of them a test."
    )
    page: list[Block] = [Heading(1, (Piece("What shellguard knows"),)), Paragraph((Piece(counts),))]
    for family, pages in sorted(families.items()):
        page.append(Heading(2, (Piece(family),)))
        page.append(
            Table(
                ("command", "also", "what it does", "checked"),
                tuple(
                    (
                        (Piece(rule.command, code=True, link=path),),
                        (Piece(", ".join(rule.aliases), code=True),) if rule.aliases else (),
                        (Piece(rule.summary),),
                        (Piece(rule.checked),),
                    )
                    for path, rule in sorted(pages, key=lambda pair: pair[1].command)
                ),
            )
        )
    return markdown(page, visible)
