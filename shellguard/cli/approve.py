# SPDX-License-Identifier: Apache-2.0
"""`shellguard approve`: commands that need a person, and the work that is kept before they are asked about."""

from __future__ import annotations

import sys

import click

from shellguard.cli.base import SETTINGS, say
from shellguard.errors import RuleError, ShellguardError
from shellguard.explain import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from shellguard.approval.check import Checked
    from shellguard.approval.checkpoint import Manifest
    from shellguard.approval.store import Store
    from shellguard.rules.shelf import Shelf


@click.group(context_settings=SETTINGS)
def approve() -> None:
    """Decide about commands that need a person, and get work back.

    Work in progress is kept before such a command is asked about, so that nothing is lost when the session ends there.
    """


def checked_text(text: str) -> Checked:
    """The gates before a text. Ends the command with status 2 when `_gates.yaml` is broken."""
    from shellguard.approval.check import check
    from shellguard.cli.shelves import chosen_shelf

    try:
        return check(text, chosen_shelf())
    except RuleError as error:
        raise click.UsageError(visible(str(error))) from error


@approve.command("check")
@click.argument("command_text", metavar="COMMAND")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def check_(command_text: str, as_json: bool) -> None:
    """Say whether a COMMAND needs a person, and why. `-` reads it from standard input.

    Exit status 0: no gate stands before it; 1: one does; 2: wrong usage.
    """
    from shellguard.cli.streams import read_text

    checked = checked_text(read_text("-") if command_text == "-" else command_text)
    if as_json:
        from shellguard.cli.output import dumps, stamp
        from shellguard.rules.shelf import Shelf

        say(dumps({**stamp(Shelf.default()), **gated_object(checked)}))
    else:
        for line in gated_lines(checked):
            say(line)
    sys.exit(1 if checked.gated else 0)


def gated_object(checked: Checked) -> dict[str, object]:
    """What is gated, as JSON has it."""
    from shellguard.approval.check import GATES_PATH, as_objects

    return {
        "verdict": checked.verdict.kind,
        "gated": bool(checked.gated),
        "gates": as_objects(checked, GATES_PATH),
    }


def gated_lines(checked: Checked) -> list[str]:
    """What is gated, for people."""
    from shellguard.approval.check import GATES_PATH

    text = checked.verdict.text
    lines = []
    for each in checked.gated:
        words = " ".join(text[slice(*each.span)].split("\n"))
        via = f" (by way of {', '.join(each.via)})" if each.via else ""
        lines += [
            f"{each.gate.severity}  {each.gate.name}: {visible(words if len(words) <= 200 else words[:197] + '...')}",
            f"       {visible(each.what)}{visible(via)}, {GATES_PATH}:{each.line}",
            f"       {visible(each.gate.reason)}",
            f"       Instead: {visible(each.gate.instead)}",
        ]
    return lines or ["no gate stands before it"]


# --- running, and saving ----------------------------------------------------------------------------------------------

session_option = click.option(
    "--session", help="The session that the work belongs to; $SHELLGUARD_SESSION, else `default`."
)
step_option = click.option("--step", type=click.IntRange(min=0), help="The step of the session.")


@approve.command("run")
@session_option
@step_option
@click.option("--quiet", is_flag=True, help="Ask nobody, even at a terminal: a gated command is deferred.")
@click.option(
    "--json", "as_json", is_flag=True, help="What came of it, as one JSON object on standard error."
)
@click.argument("command_text", metavar="COMMAND")
def run_(session: str | None, step: int | None, quiet: bool, as_json: bool, command_text: str) -> None:
    """Save the work, then run COMMAND, or leave it for a person where one is needed and none is there.

    Exit status: that of the command; 93 (or $SHELLGUARD_DEFERRED_STATUS): deferred, its receipt is on standard error;
    1: denied, or the work could not be saved.
    """
    from shellguard.approval.run import run_safely

    try:
        outcome = run_safely(command_text, session=session, step=step, quiet=quiet, ask=_ask, shelf=_shelf())
    except KeyboardInterrupt:
        sys.exit(130)
    except RuleError as error:
        raise click.UsageError(visible(str(error))) from error
    except ShellguardError as error:
        _fail(f"not run: {error}")
    if outcome.problem is not None:
        say(visible(f"shellguard: the work in progress is not saved: {outcome.problem}"), err=True)
    if as_json:
        from shellguard.cli.output import dumps

        answer = {
            "status": outcome.status,
            "ran": outcome.ran,
            "deferred": outcome.request is not None,
            "request": None if outcome.request is None else outcome.request.name,
            "receipt": outcome.receipt,
            "checkpoint": None if outcome.manifest is None else outcome.manifest.name,
            **gated_object(outcome.checked),
        }
        say(dumps(answer), err=True)
    elif outcome.request is not None:
        for line in gated_lines(outcome.checked):
            say(line, err=True)
        say(f"deferred: shellguard approve grant {outcome.request.name} runs it", err=True)
        say(visible(f"receipt: {outcome.receipt}"), err=True)
    sys.exit(outcome.status)


def _ask(checked: Checked) -> bool:
    for line in gated_lines(checked):
        say(line, err=True)
    click.echo("Run it? [y/N] ", nl=False, err=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _shelf() -> Shelf | None:
    from shellguard.cli.shelves import chosen_shelf

    return chosen_shelf()


def _fail(message: str) -> NoReturn:
    say(visible(f"shellguard: {message}"), err=True)
    sys.exit(1)


@approve.command("checkpoint")
@session_option
@step_option
@click.option("--language", help="What the work is written in, for the check before a commit.")
@click.option("--compile", "compile_command", metavar="CMD", help="The command that checks it.")
@click.option("--json", "as_json", is_flag=True, help="The manifest, as one JSON object.")
@click.argument("command_text", metavar="[COMMAND]", required=False)
def checkpoint_(
    session: str | None,
    step: int | None,
    language: str | None,
    compile_command: str | None,
    as_json: bool,
    command_text: str | None,
) -> None:
    """Save all work in progress: staged, unstaged, untracked. With a COMMAND, mark it as waiting for a decision.

    Exit status 0: it is saved, 1: it cannot be.
    """
    import os

    from shellguard.approval.checkpoint import pre_approval_checkpoint

    try:
        manifest = pre_approval_checkpoint(
            os.getcwd(),
            session=session,
            step=step,
            command=command_text,
            language=language,
            compile_command=compile_command,
        )
    except KeyboardInterrupt:
        sys.exit(130)
    except (ShellguardError, OSError) as error:
        _fail(f"not saved: {error}")
    if as_json:
        _print_json({"checkpoint": manifest.as_object()})
    else:
        say(f"{manifest.name}  {manifest.tree}")
    _say_what_is_missing(manifest)


def _say_what_is_missing(manifest: Manifest) -> None:
    for path in manifest.not_saved:
        say(visible(f"not saved: {path}"), err=True)
    if manifest.snapshot is not None and manifest.snapshot.ignored_count:
        count = manifest.snapshot.ignored_count
        names = ", ".join(manifest.snapshot.ignored[:5])
        say(visible(f"not covered: {count} ignored ({names}{', ...' if count > 5 else ''})"), err=True)


def _print_json(value: dict[str, object]) -> None:
    from shellguard.cli.output import SCHEMA, dumps

    say(dumps({"schema": SCHEMA, **value}))


# --- deciding ---------------------------------------------------------------------------------------------------------


def _store() -> Store:
    import os

    from shellguard.approval.store import Store

    try:
        return Store.of(os.getcwd())
    except (ShellguardError, OSError) as error:
        _fail(str(error))


@approve.command("list")
@click.option("--all", "everything", is_flag=True, help="Those that were decided about, too.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def list_(everything: bool, as_json: bool) -> None:
    """List the commands that wait for a person in this work tree."""
    from shellguard.approval.requests import PENDING, requests

    found = [each for each in requests(_store()) if everything or each.state == PENDING]
    if as_json:
        _print_json({"requests": [each.as_object() for each in found]})
        return
    for each in found:
        gates = ", ".join(dict.fromkeys(gate["gate"] for gate in each.gates))
        command = " ".join(each.command.split("\n"))
        say(visible(f"{each.name}  {each.state}  {each.session}/{each.step}  {gates}  {command[:200]}"))


@approve.command("show")
@click.argument("request_name", metavar="REQUEST")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def show_(request_name: str, as_json: bool) -> None:
    """Show one request, and what has changed since it was made."""
    from shellguard.approval.requests import DIFFERENCES, PENDING, differences, request_named

    try:
        request = request_named(_store(), request_name)
        changed = differences(request) if request.state == PENDING else ()
    except (ShellguardError, OSError) as error:
        _fail(str(error))
    if as_json:
        _print_json({"request": request.as_object(), "changed": list(changed)})
        return
    say(visible(f"{request.name}  {request.state}  session {request.session}, step {request.step}"))
    say(visible(f"folder   {request.cwd}"))
    for line in request.command.split("\n"):
        say(visible(f"command  {line}"))
    for gate in request.gates:
        say(visible(f"{gate['severity']}  {gate['gate']}: {gate['reason']} Instead: {gate['instead']}"))
    for program in request.programs:
        say(visible(f"program  {program.name} = {program.path or 'no file'}"))
    say(f"saved as {request.checkpoint}")
    for code in changed:
        say(f"{code}: {DIFFERENCES[code]}")


@approve.command("grant")
@click.argument("request_name", metavar="REQUEST")
@click.option("--no-resume", is_flag=True, help="Do not go on with the worker that left the command.")
@click.option("--json", "as_json", is_flag=True, help="What came of it, as one JSON object at the end.")
def grant_(request_name: str, no_resume: bool, as_json: bool) -> None:
    """Run the command of a request, if files, command, folder and programs are what they were.

    Where a supervised worker waits for it, the worker is resumed afterwards. Exit status: that of the command, or
    of the supervisor when it goes on; 1 with a reason: something has changed, and nothing ran.
    """
    from shellguard.approval.requests import DIFFERENCES, grant

    store = _store()
    try:
        done = grant(store, request_name)
    except (ShellguardError, OSError) as error:
        _fail(str(error))
    if as_json:
        _print_json(
            {"request": done.request.as_object(), "refused": list(done.refused), "status": done.status}
        )
    for code in done.refused:
        say(f"not run: {code}: {DIFFERENCES[code]}", err=True)
    if done.status is None:
        sys.exit(1)
    if done.status == 0 and not no_resume:
        from shellguard.cli.supervise import resume_after_grant

        resume_after_grant(store, done.request, as_json=as_json)
    sys.exit(done.status)


@approve.command("deny")
@click.argument("request_name", metavar="REQUEST")
@click.option("--reason", help="Why, for the record.")
def deny_(request_name: str, reason: str | None) -> None:
    """Decide that the command of a request is not run. Exit status 0; 1: it was decided about before."""
    from shellguard.approval.requests import DIFFERENCES, deny

    try:
        done = deny(_store(), request_name, reason)
    except (ShellguardError, OSError) as error:
        _fail(str(error))
    for code in done.refused:
        _fail(f"{code}: {DIFFERENCES[code]}")
    say(f"{done.request.name}  {done.request.state}")


# --- back again, and away ---------------------------------------------------------------------------------------------


@approve.command("checkpoints")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def checkpoints_(as_json: bool) -> None:
    """List what was saved in this work tree, oldest first."""
    from shellguard.approval.checkpoint import checkpoints

    found = checkpoints(_store())
    if as_json:
        _print_json({"checkpoints": [each.as_object() for each in found]})
        return
    for each in found:
        command = "" if each.pending is None else f"  {each.pending.state}: {each.pending.command}"
        shown = " ".join(command.split("\n"))
        say(
            visible(f"{each.name}  {each.state}  {each.session}/{each.step}  {each.tree or '-'}{shown[:200]}")
        )


@approve.command("restore")
@click.option("--into", type=click.Path(), metavar="DIR", help="An empty folder to write the files to.")
@click.option(
    "--patch", "patch_file", type=click.Path(), metavar="FILE", help="Write a binary patch; change nothing."
)
@session_option
@click.argument("name", metavar="[CHECKPOINT]", required=False)
def restore_(into: str | None, patch_file: str | None, session: str | None, name: str | None) -> None:
    """Put back what a checkpoint saved, the newest when none is named.

    Without --into the work tree becomes what it was; what it holds now is saved first. Ignored files stay.
    """
    import os

    from shellguard.approval.checkpoint import (
        BEFORE_RESTORE,
        checkpoint_named,
        pre_approval_checkpoint,
        restore,
    )
    from shellguard.approval.snapshot import SnapshotError, patch

    store = _store()
    try:
        manifest = checkpoint_named(store, name, session)
        if patch_file is not None:
            if manifest.snapshot is None:
                raise SnapshotError("a patch can only be made of a git work tree: use --into")
            with open(patch_file, "wb") as file:
                file.write(patch(manifest.snapshot))
            say(visible(f"{manifest.name}  {patch_file}"))
            return
        if into is None:
            before = pre_approval_checkpoint(os.getcwd(), session=BEFORE_RESTORE, store=store)
            say(f"what was here is {before.name}", err=True)
        restore(manifest, into)
    except (ShellguardError, OSError) as error:
        _fail(f"not restored: {error}")
    say(visible(f"{manifest.name}  {manifest.tree}  {into or manifest.cwd}"))
    _say_what_is_missing(manifest)


@approve.command("prune")
@click.option(
    "--days", type=click.FloatRange(min=0), default=14, show_default=True, help="What is older goes."
)
def prune_(days: float) -> None:
    """Forget checkpoints that are old, or whose work is in a commit, and old requests that were decided about."""
    from shellguard.approval import checkpoint, requests
    from shellguard.workers import supervisor

    store = _store()
    try:
        gone = checkpoint.prune(store, days=days)
        gone += requests.prune(store, days=days) + supervisor.prune(store, days=days)
    except (ShellguardError, OSError) as error:
        _fail(str(error))
    say(f"{len(gone)} forgotten")
