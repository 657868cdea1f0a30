# SPDX-License-Identifier: Apache-2.0
"""`shellguard lint`: judge shell text from files or standard input."""

from __future__ import annotations

import sys

import click

from shellguard.cli.base import (
    FILE,
    Judging,
    color_option,
    command,
    judging_options,
    paint_for,
    say,
    unreadable,
)
from shellguard.cli.streams import read_lines, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.effects import Fact
    from shellguard.verdict import Verdict

FORMATS = ("text", "json", "jsonl", "sarif", "github")


class Answer:
    """The verdict on one text.

    `name` is the file that holds it, empty for standard input without a name. `objections` are the facts for which the
    policy does not let it pass.
    """

    __slots__ = ("_objected", "allowed", "name", "objections", "verdict")

    def __init__(self, name: str, verdict: Verdict, allowed: bool, objections: tuple[Fact, ...]) -> None:
        self.name, self.verdict, self.allowed, self.objections = name, verdict, allowed, objections
        self._objected = frozenset(objections)

    def objected_to(self, fact: Fact) -> bool:
        """Whether the policy objects to the fact."""
        return fact in self._objected

    def shown(self, everything: bool) -> tuple[Fact, ...]:
        """The facts that a report is about: all of them, or only those that are objected to."""
        return self.verdict.facts if everything else self.objections


@command("lint")
@click.argument("files", nargs=-1, type=FILE)
@click.option(
    "--output-format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How answers are printed.",
)
@judging_options
@click.option("--batch", is_flag=True, help="JSON Lines on standard input, one answer a line.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also when a text may not pass.")
@click.option("--stdin-filename", metavar="NAME", help="How the text on standard input is called.")
@color_option
@click.option("-v", "--verbose", is_flag=True, help="Show every fact, and what is allowed too.")
def lint(
    files: tuple[str, ...],
    output_format: str,
    policy: str,
    shell: str,
    trust: str,
    unknown_words: str,
    rules: str | None,
    batch: bool,
    exit_zero: bool,
    stdin_filename: str | None,
    color: str,
    verbose: bool,
) -> None:
    """Judge shell text: does it only read?

    Reads the text from FILES, or from standard input. Exit status 0: every text is a read that the policy allows;
    1: some text is not; 2: wrong usage, or a file that cannot be read.
    """
    judging = Judging(policy, shell, trust, unknown_words, rules)
    if batch:
        if files:
            raise click.UsageError("--batch reads standard input, not files.")
        _batch(judging)
        return
    answers: list[Answer] = []
    failures: list[str] = []
    for path in files or ("-",):
        name = (stdin_filename or "") if path == "-" else path
        try:
            text = read_text(path)
        except OSError as error:
            failures.append(unreadable(path, error))
            continue
        verdict = judging.verdict(text)
        objections = judging.policy.objections(verdict)
        answers.append(Answer(name, verdict, judging.policy.allows(verdict), objections))
    _print(answers, failures, output_format, color, verbose, judging)
    for failure in failures:
        say(failure, err=True)
    if failures:
        sys.exit(2)
    sys.exit(0 if exit_zero or all(answer.allowed for answer in answers) else 1)


def _batch(judging: Judging) -> None:
    from shellguard.cli.batch import answers

    for answer in answers(read_lines(sys.stdin.buffer), judging):
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


def _print(
    answers: list[Answer],
    failures: list[str],
    output_format: str,
    color: str,
    verbose: bool,
    judging: Judging,
) -> None:
    if output_format == "text":
        _print_text(answers, color, verbose, judging)
    elif output_format == "github":
        from shellguard.cli.github import lines_for

        for answer in answers:
            for line in lines_for(answer, verbose):
                say(line)
    elif output_format == "sarif":
        from shellguard.cli.sarif import log

        say(log(answers, failures, verbose, judging.shelf))
    else:
        from shellguard.cli.output import dumps, verdict_object

        objects = [
            {
                **({"file": answer.name} if answer.name else {}),
                **verdict_object(answer.verdict, answer.allowed, judging.shelf),
            }
            for answer in answers
        ]
        if output_format == "jsonl" or len(objects) == 1:
            for each in objects:
                say(dumps(each))
        else:
            say(dumps(objects))


def _print_text(answers: list[Answer], color: str, verbose: bool, judging: Judging) -> None:
    from shellguard.explain import summary

    paint = paint_for(color)
    for answer in answers:
        if answer.allowed and not verbose:
            continue
        refused = answer.verdict.read_only and not answer.allowed
        say(
            summary(
                answer.verdict,
                answer.name,
                everything=verbose,
                facts=None if verbose else answer.objections,
                note=f"a read that the policy {judging.policy.name!r} does not allow" if refused else "",
                paint=paint,
            )
        )
