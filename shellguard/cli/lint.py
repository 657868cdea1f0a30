# SPDX-License-Identifier: Apache-2.0
"""`shellguard lint`: judge shell text from files or standard input."""

from __future__ import annotations

import sys

import rich_click as click

from shellguard.analysis.inquiry import Assumptions
from shellguard.cli.shelves import chosen_shelf
from shellguard.cli.streams import read_lines, read_text
from shellguard.engine import classify, policy_named
from shellguard.rules.shelf import Shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.verdict import Policy, Verdict

FORMATS = ("text", "json", "jsonl")


@click.command()
@click.argument("files", nargs=-1, type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--output-format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How answers are printed.",
)
@click.option(
    "--policy", default="default", show_default=True, help="Which reads pass: strict, local, default."
)
@click.option(
    "--shell",
    type=click.Choice(["bash", "sh", "zsh", "any"]),
    default="bash",
    show_default=True,
    help="The shell that will run the text.",
)
@click.option(
    "--trust",
    type=click.Choice(["config", "words"]),
    default="config",
    show_default=True,
    help="Whether the machine's own configuration is trusted.",
)
@click.option(
    "--unknown-words",
    type=click.Choice(["worst", "operand"]),
    default="worst",
    show_default=True,
    help="What a word that nobody can see may be.",
)
@click.option(
    "--rules",
    type=click.Path(exists=True, file_okay=False),
    help="A folder with rules to use in place of the shipped ones.",
)
@click.option("--batch", is_flag=True, help="JSON Lines on standard input, one answer a line.")
@click.option("-v", "--verbose", is_flag=True, help="Print the facts of what is allowed, too.")
def lint(
    files: tuple[str, ...],
    output_format: str,
    policy: str,
    shell: str,
    trust: str,
    unknown_words: str,
    rules: str | None,
    batch: bool,
    verbose: bool,
) -> None:
    """Judge shell text: does it only read?

    Reads the text from FILES, or from standard input. Exit status 0: every text is a read that the policy allows;
    1: some text is not; 2: wrong usage.
    """
    shelf = chosen_shelf(rules)
    chosen = _policy(policy, Shelf.default() if shelf is None else shelf)
    assumptions = Assumptions(shell, trust, unknown_words)
    if batch:
        if files:
            raise click.UsageError("--batch reads standard input, not files.")
        _batch(chosen, shelf, assumptions)
        return
    allowed = True
    answers: list[tuple[str, Verdict, bool]] = []
    for path in files or ("-",):
        try:
            text = read_text(path)
        except OSError as error:
            raise click.UsageError(f"{path}: {error.strerror}") from error
        verdict = classify(text, shelf=shelf, assumptions=assumptions)
        passes = chosen.allows(verdict)
        allowed = allowed and passes
        answers.append((path, verdict, passes))
    _print(answers, output_format, verbose, Shelf.default() if shelf is None else shelf)
    sys.exit(0 if allowed else 1)


def _policy(name: str, shelf: Shelf) -> Policy:
    try:
        return policy_named(name, shelf)
    except KeyError:
        known = ", ".join(sorted(shelf.policies))
        raise click.BadParameter(f"{name!r} is none of {known}", param_hint="--policy") from None


def _batch(policy: Policy, shelf: Shelf | None, assumptions: Assumptions) -> None:
    from shellguard.cli.batch import answers

    for answer in answers(read_lines(sys.stdin.buffer), policy, shelf, assumptions):
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


def _print(answers: list[tuple[str, Verdict, bool]], output_format: str, verbose: bool, shelf: Shelf) -> None:
    if output_format == "text":
        from shellguard.explain import summary

        for path, verdict, allowed in answers:
            if verbose or not allowed:
                click.echo(summary(verdict, "" if path == "-" else path, everything=verbose))
        return
    from shellguard.cli.output import dumps, verdict_object

    objects = [
        {**({} if path == "-" else {"file": path}), **verdict_object(verdict, allowed, shelf)}
        for path, verdict, allowed in answers
    ]
    if output_format == "jsonl":
        for each in objects:
            click.echo(dumps(each))
    else:
        click.echo(dumps(objects if len(objects) != 1 else objects[0]))
