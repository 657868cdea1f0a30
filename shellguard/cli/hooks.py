# SPDX-License-Identifier: Apache-2.0
"""`install`, `uninstall`, `doctor`, `log`, `why` and `config`: all about hooks but the hook itself
(`hook.py`).
"""

from __future__ import annotations

import os
import sys

import click

from shellguard.agents import HOSTS
from shellguard.cli.base import SETTINGS, command, say
from shellguard.cli.output import SCHEMA, dumps
from shellguard.explain import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shellguard.agents.install import Change

HOST = click.Choice(list(HOSTS))
project_option = click.option(
    "--project",
    is_flag=True,
    help="In the settings of the project in the current folder, not in those of the user.",
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would be written, and write nothing."
)
plugin_option = click.option(
    "--plugin", is_flag=True, help="Hermes: a plugin in place of a shell hook; it can ask a person."
)
json_option = click.option("--json", "as_json", is_flag=True, help="As JSON.")


@command("hook")
@click.argument("arguments", nargs=-1)
def hook(arguments: tuple[str, ...]) -> None:
    """Answer one hook call of a host: its payload on standard input, the answer on standard output.

    `shellguard install HOST` writes the line that hosts run. Exit status: what the host understands; never 2
    by accident, which blocks a call on most hosts. 1: wrong usage.
    """
    from shellguard.cli.hook import answered

    reply = answered(list(arguments), sys.stdin.buffer.read())
    click.echo(reply.stdout, nl=False)
    click.echo(reply.stderr, nl=False, err=True)
    sys.exit(reply.status)


@command("install")
@click.argument("host", type=HOST)
@project_option
@dry_run_option
@json_option
@click.option("--fail-closed", is_flag=True, help="Cursor: block a call for which the hook does not answer.")
@plugin_option
def install(host: str, project: bool, dry_run: bool, as_json: bool, fail_closed: bool, plugin: bool) -> None:
    """Put shellguard into the settings of an agent host. Nothing else in them changes.

    Exit status 0: done, or nothing to do; 1: it cannot be done, and why.
    """
    from shellguard.agents.install import InstallError, apply, installation, plugin_installation

    _check_plugin(host, plugin, project)
    try:
        change = (
            plugin_installation()
            if plugin
            else installation(host, os.getcwd() if project else None, fail_closed=fail_closed)
        )
        if not dry_run:
            apply(change)
    except InstallError as error:
        say(visible(str(error)), err=True)
        sys.exit(1)
    _tell(change, "installed", dry_run, as_json)


def _check_plugin(host: str | None, plugin: bool, project: bool) -> None:
    if plugin and (host != "hermes" or project):
        raise click.UsageError("--plugin is for hermes, and not for a project")


@command("uninstall")
@click.argument("host", type=HOST, required=False)
@project_option
@dry_run_option
@json_option
@click.option("--all", "everywhere", is_flag=True, help="Every installation that is remembered.")
@click.option("--purge", is_flag=True, help="With --all: remove the log, the counts and the cache too.")
@plugin_option
def uninstall(
    host: str | None,
    project: bool,
    dry_run: bool,
    as_json: bool,
    everywhere: bool,
    purge: bool,
    plugin: bool,
) -> None:
    """Take shellguard out of the settings of an agent host. The rest stays as it is.

    Exit status 0: done, or nothing to do; 1: it cannot be done, and why; 2: wrong usage.
    """
    from shellguard.agents.install import (
        InstallError,
        apply,
        installed,
        plugin_removal,
        removal,
        removal_of,
    )

    if (host is None) == (not everywhere) or (purge and not everywhere):
        raise click.UsageError("give a HOST, or --all (and --purge with it)")
    _check_plugin(host, plugin, project)
    failed = False
    try:
        changes = (
            [removal_of(*found) for found in reversed(installed())]
            if host is None
            else [plugin_removal() if plugin else removal(host, os.getcwd() if project else None)]
        )
        for change in changes:
            if not dry_run:
                apply(change)
            _tell(change, "uninstalled", dry_run, as_json)
    except InstallError as error:
        say(visible(str(error)), err=True)
        failed = True
    if purge and not failed:
        _purge(dry_run)
    sys.exit(1 if failed else 0)


def _purge(dry_run: bool) -> None:
    """Removes what hooks have written: nothing that a person wrote, and nothing that was approved."""
    import shutil
    from glob import escape, glob

    from shellguard import places

    state, cache = places.folder("state"), places.folder("cache")
    found = [os.path.join(state, "log"), os.path.join(state, "guard"), os.path.join(state, "installed.json")]
    for pattern in ("config-*.json", "*.rules"):
        found.extend(sorted(glob(os.path.join(escape(cache), pattern))))
    for path in found:
        if not os.path.lexists(path):
            continue
        if not dry_run:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        say(f"{'would remove' if dry_run else 'removed'} {visible(path)}")


def _tell(change: Change, done: str, dry_run: bool, as_json: bool) -> None:
    if as_json:
        say(
            dumps(
                {
                    "schema": SCHEMA,
                    "host": change.host,
                    "path": change.path,
                    "argv": list(change.argv),
                    "changes": change.changes,
                    "written": change.changes and not dry_run,
                    "promises": change.promises,
                }
            )
        )
        return
    if not change.changes:
        say(f"{visible(change.path)}: nothing to do")
        return
    if dry_run:
        from difflib import unified_diff

        before, after = (
            (data or b"").decode("utf-8", "replace").splitlines(keepends=True)
            for data in (change.before, change.after)
        )
        for line in unified_diff(before, after, change.path, change.path):
            say(visible(line.rstrip("\r\n")))
    else:
        for each in (change, change.beside):
            if each is not None:
                say(f"{done}: {visible(each.path)}")
    if change.promises and done == "installed":
        say(change.promises)


@command("doctor")
@click.argument("host", type=HOST)
@json_option
def doctor(host: str, as_json: bool) -> None:
    """Run the hook of a host as the host would, and tell what is in order and what is not.

    Exit status 0: all in order; 1: something is wrong.
    """
    from shellguard.agents.doctor import findings

    found = list(findings(host, os.getcwd()))
    if as_json:
        rows = [{"level": each.level, "text": each.text} for each in found]
        say(dumps({"schema": SCHEMA, "host": host, "findings": rows}))
    else:
        for each in found:
            say(f"{each.level:5}  {visible(each.text)}")
    sys.exit(1 if any(each.level == "wrong" for each in found) else 0)


@command("log")
@click.option(
    "--summary", is_flag=True, help="How often what was decided, and what would have been in observe mode."
)
@click.option(
    "-n", "--number", type=click.IntRange(1), default=20, show_default=True, help="How many, newest last."
)
@json_option
def log(summary: bool, number: int, as_json: bool) -> None:
    """Show what hooks have decided."""
    from shellguard.agents.audit import entries

    found = list(entries())
    if summary:
        _summary(found, as_json)
        return
    for entry in found[-number:]:
        say(dumps(entry) if as_json else _row(entry))


def _row(entry: dict[str, Any]) -> str:
    from time import localtime, strftime

    at = entry.get("at")
    when = strftime("%Y-%m-%d %H:%M:%S", localtime(at)) if isinstance(at, int | float) else "?"
    would = f" (would {entry['would']})" if "would" in entry else ""
    shown = [
        when,
        *(str(entry.get(key, "-")) for key in ("id", "host", "event", "verdict", "action")),
        *(str(entry[key]) for key in ("guard", "error", "text") if key in entry),
    ]
    return visible("  ".join(shown) + would)


def _summary(found: list[dict[str, Any]], as_json: bool) -> None:
    counts: dict[str, int] = {}
    for entry in found:
        what = f"would {entry['would']}" if "would" in entry else str(entry.get("action"))
        key = f"{entry.get('host')} {entry.get('verdict', '-')} {what}"
        if "guard" in entry:
            key += f" ({entry['guard']})"
        if "error" in entry:
            key += " (failed)"
        counts[key] = counts.get(key, 0) + 1
    if as_json:
        say(dumps({"schema": SCHEMA, "decisions": len(found), "counts": counts}))
        return
    for key, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        say(f"{count:7}  {visible(key)}")
    say(f"{len(found):7}  decisions")


@command("why")
@click.argument("name", metavar="ID")
@json_option
def why(name: str, as_json: bool) -> None:
    """Tell why a hook decided as it did. ID is what `shellguard log` shows.

    Exit status 0: it is known; 1: there is no such decision any more.
    """
    from shellguard.agents.audit import entries

    found = [entry for entry in entries() if entry.get("id") == name]
    if not found:
        say(f"there is no decision {visible(name)} in the log", err=True)
        sys.exit(1)
    entry = found[-1]
    if as_json:
        say(dumps(entry))
        return
    say(_row(entry))
    if "guard" in entry:
        say(f"the guard: {visible(str(entry['guard']))}")
    for fact in entry.get("facts", []):
        effect, kind, rule, *marks = (str(part) for part in fact)
        say(visible(f"  {effect} ({kind}) {rule or 'by the shell itself'} {' '.join(marks)}".rstrip()))
    if entry.get("count", 0) > len(entry.get("facts", [])):
        say(f"  of {entry['count']} facts; what passed by itself is left out")
    for note in entry.get("notes", []):
        say(visible(str(note)))


@click.group("config", context_settings=SETTINGS)
def config() -> None:
    """What hooks let pass, and which file says so."""


@config.command("show")
@click.option("--origin", is_flag=True, help="With the files that made each value what it is.")
@json_option
def show(origin: bool, as_json: bool) -> None:
    """Print the settings that hold in the current folder.

    Exit status 0: all files can be read; 1: one cannot, and nothing passes by itself until it can.
    """
    from shellguard.agents.settings import DEFAULTS, settings_for

    settings = settings_for(os.getcwd())
    if as_json:
        values = {
            key: list(item) if isinstance(item, tuple) else item for key, item in settings.values.items()
        }
        files = [{"path": each.path, "kind": each.kind, "broken": each.broken} for each in settings.sources]
        say(dumps({"schema": SCHEMA, "values": values, "origins": settings.origins, "files": files}))
    else:
        for key in DEFAULTS:
            value = settings[key]
            shown = dumps(list(value) if isinstance(value, tuple) else value)
            where = f"  # {', '.join(settings.origins.get(key, ['default']))}" if origin else ""
            say(visible(f"{key} = {shown}{where}"))
        for source in settings.sources:
            say(visible(f"{source.path}: {source.broken or source.kind}"), err=bool(source.broken))
            for complaint in source.complaints:
                say(visible(f"{source.path}: {complaint}"), err=True)
    sys.exit(1 if settings.broken else 0)


@config.command("trust")
@click.option("--forget", is_flag=True, help="Take the trust back.")
def trust(forget: bool) -> None:
    """Trust the settings of the project in the current folder as they are now: they may loosen what the
    user's say.
    """
    from shellguard.agents.settings import project_files
    from shellguard.rules.trust import Trusted

    trusted = Trusted.read()
    paths = [os.path.realpath(path) for path in project_files(os.getcwd())]
    if not paths:
        say("there are no settings of a project here", err=True)
        sys.exit(1)
    for path in paths:
        if forget:
            trusted.forget([path])
        else:
            with open(path, "rb") as file:
                trusted.add(path, file.read())
        say(f"{'not trusted any more' if forget else 'trusted'}: {visible(path)}")
    trusted.write()
