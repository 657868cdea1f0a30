# SPDX-License-Identifier: Apache-2.0
"""`shellguard supervise`: a worker that is resumed when an approval ends it, and whose work is not lost."""

from __future__ import annotations

import os
import sys

import click

from shellguard.cli.base import SETTINGS, say
from shellguard.explain import visible
from shellguard.workers.compiles import LANGUAGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from shellguard.approval.requests import Request
    from shellguard.approval.store import Store
    from shellguard.workers.supervisor import Report


@click.command("supervise", context_settings={**SETTINGS, "ignore_unknown_options": True})
@click.option(
    "--session", default=None, help="The session of the worker; $SHELLGUARD_SESSION, else `default`."
)
@click.option(
    "--step", type=click.IntRange(min=0), default=0, show_default=True, help="The step of the session."
)
@click.option(
    "--max-aborts", type=click.IntRange(min=1), default=2, show_default=True, help="Approval aborts in all."
)
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds that one attempt may take."
)
@click.option("--compile", "compile_command", metavar="CMD", help="What checks the work before a commit.")
@click.option(
    "--language",
    type=click.Choice(LANGUAGES),
    default="auto",
    show_default=True,
    help="What is checked without it.",
)
@click.option(
    "--resume-args", default="", help="Words for the worker from the second attempt on; {session} is it."
)
@click.option(
    "--agent", type=click.Choice(["claude", "codex", "hermes"]), help="The resume words of a known agent."
)
@click.option(
    "--abort-on",
    type=click.Choice(["marker", "exit-130"]),
    default="marker",
    show_default=True,
    help="What tells an approval abort: a checkpoint with a waiting command, or the exit alone.",
)
@click.option("--hooks", is_flag=True, help="Run pre-commit and commit-msg for the commit of the foreman.")
@click.option("--sign", is_flag=True, help="Sign it.")
@click.option("--author", metavar="'NAME <MAIL>'", help="Who makes it; whom git knows, when left out.")
@click.option("--json", "as_json", is_flag=True, help="Only the object at the end.")
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED)
def supervise(
    session: str | None,
    step: int,
    max_aborts: int,
    timeout: float | None,
    compile_command: str | None,
    language: str,
    resume_args: str,
    agent: str | None,
    abort_on: str,
    hooks: bool,
    sign: bool,
    author: str | None,
    as_json: bool,
    argv: tuple[str, ...],
) -> None:
    """Run a worker, ARGV, in this work tree; resume it when an approval aborted it, then commit what is left.

    The last line of the output is one JSON object. Exit status: 0 worker-success, committed; 1 hard-failure; 3
    no-progress; 4 not-committed; 93 deferred; 124 timed-out; 130 interrupted; 2 wrong usage.
    """
    import shlex

    from shellguard.workers import foreman, resume
    from shellguard.workers.supervisor import Order, Report
    from shellguard.workers.supervisor import supervise as run

    if timeout is not None and not timeout > 0:
        raise click.BadParameter("it is not a number of seconds", param_hint="--timeout")
    try:
        words = tuple(shlex.split(resume_args))
    except ValueError as error:
        raise click.BadParameter(f"{error}", param_hint="--resume-args") from error
    if agent is not None:
        words = (*resume.PRESETS[agent], *words)
    try:
        folder = os.getcwd()
    except OSError as error:
        finish(
            Report(resume.Result.HARD_FAILURE, 0, reason="spawn-failed", detail=f"{error}"), as_json=as_json
        )
    order = Order(
        argv,
        folder,
        session or os.environ.get("SHELLGUARD_SESSION") or "default",
        step,
        max_aborts,
        timeout,
        words,
        abort_on == "exit-130",
        foreman.Settings(language, compile_command, hooks, sign, author),
    )
    finish(run(order), as_json=as_json)


def finish(report: Report, *, as_json: bool) -> NoReturn:
    """Prints what came of it, and ends with its exit status."""
    from shellguard.cli.output import dumps

    if not as_json:
        say(visible(line_of(report)), err=True)
    # What a worker printed last need not end its line.
    say(f"\n{dumps(report.as_object())}" if report.attempts else dumps(report.as_object()))
    sys.exit(report.exit_status)


def line_of(report: Report) -> str:
    """The report in a line for people."""
    parts = [f"shellguard: {report.result}", f"attempt {report.attempts}"]
    if report.commit is not None:
        parts.append(f"commit {report.commit[:12]}")
    if report.reason is not None:
        parts.append(report.reason)
    if report.detail:
        parts.append(" ".join(report.detail.split("\n"))[:400])
    if report.skipped:
        parts.append(f"skipped {', '.join(report.skipped)}")
    if report.checkpoint is not None and report.result not in ("worker-success", "committed"):
        parts.append(f"saved as {report.checkpoint}")
    return ", ".join(parts)


def resume_after_grant(store: Store, request: Request, *, as_json: bool) -> None:
    """Goes on with the worker that left a command for a person, once none of its commands waits any more."""
    from shellguard.approval.requests import PENDING, requests
    from shellguard.workers.supervisor import left_deferred
    from shellguard.workers.supervisor import supervise as run

    if any(each.session == request.session and each.state == PENDING for each in requests(store)):
        return
    found = left_deferred(store, request.session)
    if found is not None:
        _, order, attempts, aborts = found
        finish(run(order, attempts=attempts, aborts=aborts), as_json=as_json)
