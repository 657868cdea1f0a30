# SPDX-License-Identifier: Apache-2.0
"""`shellguard replay`: recorded runs through the classifier and the guard."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from shellguard.cli.base import command, judging_options, say
from shellguard.cli.output import dumps
from shellguard.explain import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from shellguard.replay.baseline import Comparison
    from shellguard.replay.options import Options
    from shellguard.replay.run import How, Replay
    from shellguard.replay.summary import Summary

FAILURES = ("milder", "stricter", "moved", "shrunk", "write", "unknown", "warning", "block", "error", "never")
SHOWN = 15
"""Lines of each list of the summary."""


class _Failures(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Words of `FAILURES`, joined by commas."""

    name = "WORDS"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> frozenset[str]:
        words = frozenset(str(value).replace(" ", "").split(","))
        unknown = sorted(words - set(FAILURES))
        if unknown:
            self.fail(f"{visible(', '.join(unknown))} is none of {', '.join(FAILURES)}", param, ctx)
        return words


@command("replay")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--config", type=click.Path(dir_okay=False), help="Configuration of the guard, YAML or TOML.")
@judging_options
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.option(
    "--out", type=click.Path(dir_okay=False), help="Results, a call a row: NAME.jsonl or NAME.parquet."
)
@click.option("--report", type=click.Path(dir_okay=False), help="A report as one HTML file.")
@click.option("--raw", is_flag=True, help="Keep secrets in results and report.")
@click.option(
    "--baseline", type=click.Path(exists=True, dir_okay=False), help="Results of an earlier replay."
)
@click.option("--accept", is_flag=True, help="With --baseline: record the milder moves as reviewed.")
@click.option("--why", default="", help="With --accept: the reason, which is recorded too.")
@click.option(
    "--reviewed",
    type=click.Path(dir_okay=False),
    help="Where reviews are recorded [default: BASELINE.reviewed].",
)
@click.option(
    "--fail-on",
    type=_Failures(),
    default="milder,shrunk",
    show_default=True,
    help=f"When the exit status is 1, joined by commas: {', '.join(FAILURES)}.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "dask"]),
    default="local",
    show_default=True,
    help="Who does the work.",
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="With --engine dask: its scheduler; else one is started here."
)
@click.option("--jobs", type=click.IntRange(1), help="Processes [default: one a processor].")
@click.option(
    "--work", type=click.Path(file_okay=False), help="Where unfinished work lies [default: our cache]."
)
@click.option("--progress/--no-progress", default=None, help="A progress bar [default: on a terminal].")
def replay(
    paths: tuple[str, ...],
    config: str | None,
    policy: str,
    shell: str,
    trust: str,
    unknown_words: str,
    rules: str | None,
    as_json: bool,
    out: str | None,
    report: str | None,
    raw: bool,
    baseline: str | None,
    accept: bool,
    why: str,
    reviewed: str | None,
    fail_on: frozenset[str],
    engine: str,
    scheduler: str | None,
    jobs: int | None,
    work: str | None,
    progress: bool | None,
) -> None:
    """Replay transcripts: what would the guard have done, which commands would have needed nobody's consent?

    PATH is a transcript, a folder of them, or a pattern; .gz, .zst, .bz2, .xz and .parquet are read too. The format is
    told from the content. A corpus is replayed against what its rows expect. A replay that was stopped goes on where it
    was when it is started again.

    Exit status 0: done; 1: something that --fail-on names; 2: wrong usage, or nothing that could be read.
    """
    from shellguard.replay.engines import EngineError
    from shellguard.replay.results import ResultsError
    from shellguard.replay.run import How
    from shellguard.replay.workplace import BusyError

    if accept and baseline is None:
        raise click.UsageError("--accept needs --baseline.")
    if scheduler is not None and engine != "dask":
        raise click.UsageError("--scheduler needs --engine dask.")
    options = _options(
        policy, shell, trust, unknown_words, rules, config, raw, rows=bool(out or report or baseline)
    )
    try:
        done = _run(paths, options, How(engine, scheduler, jobs, work), progress)
        try:
            comparison = None if baseline is None else _compare(done, baseline, reviewed, accept, why)
            lost = _shrunk(paths)
            if out is not None:
                _results(out, done)
            if report is not None:
                _report(report, done, comparison)
            _print(done, comparison, lost, as_json)
            met = _met(done.summary, comparison, lost) & fail_on
        finally:
            done.close()
    except (EngineError, ResultsError, BusyError) as error:
        say(visible(str(error)), err=True)
        sys.exit(2)
    except BrokenPipeError:  # who reads the output has left, which is no message's worth
        raise
    except OSError as error:
        say(f"{visible(str(error.filename or ''))}: {error.strerror or visible(str(error))}", err=True)
        sys.exit(2)
    if not done.summary.calls and (done.summary.errors or not done.plan.work):
        sys.exit(2)
    sys.exit(1 if met and "never" not in fail_on else 0)


def _options(
    policy: str,
    shell: str,
    trust: str,
    unknown_words: str,
    rules: str | None,
    config: str | None,
    raw: bool,
    *,
    rows: bool,
) -> Options:
    from shellguard.cli.base import Judging
    from shellguard.cli.shelves import current_folder
    from shellguard.replay.options import Options
    from shellguard.rules.shelf import Shelf

    judging = Judging(policy, shell, trust, unknown_words, rules)  # says what is wrong with them
    folder = None if rules is not None or judging.shelf is Shelf.default() else current_folder()
    guard: dict[str, Any] = {}
    if config is not None:
        from shellguard.cli.guard import read_config

        mapping = read_config(config)
        if not isinstance(mapping, dict):
            raise click.BadParameter("it holds no mapping", param_hint="--config")
        guard = mapping
    chosen = None if rules is None else os.path.abspath(rules)
    return Options(policy, shell, trust, unknown_words, chosen, folder, guard, raw, rows)


def _run(paths: tuple[str, ...], options: Options, how: How, shown: bool | None) -> Replay:
    from shellguard.replay.run import replay as run

    wanted = sys.stderr.isatty() if shown is None else shown
    if not wanted:
        return run(paths, options, how)
    from shellguard.cli.replay_progress import bar

    with bar() as progress:
        return run(paths, options, how, progress)


def _compare(done: Replay, path: str, reviewed: str | None, accept: bool, why: str) -> Comparison:
    from shellguard.replay import baseline, results

    place = Path(reviewed or f"{path}.reviewed")
    try:
        known = baseline.reviews(place)
    except ValueError as error:
        raise results.ResultsError(str(error)) from None
    stamp, rows = results.read(path)
    other = _other_options(stamp.get("options"), done.stamp["options"])
    if other:
        say(f"{visible(path)}: made with other options ({visible(', '.join(other))})", err=True)
    scratch = done.scratch("baseline.db")
    found = baseline.compared(rows, done.rows(), known, str(scratch))
    if accept:
        new = baseline.accept(place, found.moves, why)
        say(f"{visible(str(place))}: {new} moves recorded as reviewed", err=True)
        found.moves = [move.as_reviewed() for move in found.moves]
    return found


def _other_options(before: object, after: dict[str, Any]) -> list[str]:
    """The options that decide verdicts and were others when the baseline was made: they may be what moved calls."""
    known = before if isinstance(before, dict) else {}
    return [name for name in ("shell", "trust", "unknown_words") if known.get(name) != after[name]]


def _shrunk(paths: tuple[str, ...]) -> list[str]:
    from shellguard.replay import corpus

    return [
        f"{path}: {line}"
        for path in paths
        if os.path.isdir(path) and corpus.is_corpus(Path(path))
        for line in corpus.shrunk(Path(path))
    ]


def _results(path: str, done: Replay) -> None:
    from shellguard.replay import results

    results.write(path, done.stamp, done.lines())


def _report(path: str, done: Replay, comparison: Comparison | None) -> None:
    from shellguard.replay import report

    report.write(path, done, comparison)


def _met(summary: Summary, comparison: Comparison | None, lost: list[str]) -> frozenset[str]:
    """What has happened of all that `--fail-on` may name."""
    moves = [] if comparison is None else comparison.moves
    happened = {
        "milder": summary.milder or (comparison is not None and comparison.unreviewed),
        "stricter": summary.stricter or any(move.kind == "stricter" for move in moves),
        "moved": moves,
        "shrunk": lost,
        "write": summary.verdicts["write"],
        "unknown": summary.verdicts["unknown"],
        "warning": summary.warnings,
        "block": summary.blocks,
        "error": summary.errors,
    }
    return frozenset(name for name, is_so in happened.items() if is_so)


# --- the summary -----------------------------------------------------------------------------------------------


def _print(done: Replay, comparison: Comparison | None, lost: list[str], as_json: bool) -> None:
    summary = done.summary
    if as_json:
        found: dict[str, Any] = {**done.stamp, **summary.as_contract()}
        if comparison is not None:
            found["baseline"] = comparison.as_mapping()
        if lost:
            found["shrunk"] = lost
        say(dumps(found))
        return
    for line in _lines(summary):
        say(line)
    if comparison is not None:
        for line in _moves(comparison):
            say(line)
    for line in lost:
        say(f"shrunk: {visible(line)}")
    for path, number, message in summary.problems[:SHOWN]:
        say(f"{visible(path)}{'' if number is None else f':{number}'}: {visible(message)}", err=True)
    if summary.errors > SHOWN:
        say(f"... {summary.errors - SHOWN} more that could not be read", err=True)


def _lines(summary: Summary) -> list[str]:
    from shellguard.replay.summary import KINDS, duration, most_common, ranked

    share: Callable[[int], str] = lambda count: f"{count / max(1, summary.shell_commands):.1%}"  # noqa: E731
    verdicts = (f"{summary.verdicts[kind]:,} {kind} ({share(summary.verdicts[kind])})" for kind in KINDS)
    stops = f"the guard warns {summary.warnings:,} times and stops {summary.blocks:,} times"
    saved = f"{summary.saved_calls:,} executions and {duration(summary.saved_seconds)}"
    lines = [
        f"{summary.calls:,} calls in {summary.sessions:,} sessions, {summary.shell_commands:,} of them shell commands",
        f"verdicts: {', '.join(verdicts)}",
        f"{summary.prompts_saved:,} commands need nobody's consent; {summary.waits:,} calls wait",
        f"{stops}; {saved} saved in {summary.loop_count:,} loops",
    ]
    if summary.expected:
        lines.append(
            f"corpus: {sum(summary.expected.values()):,} rows; {summary.milder:,} milder than expected, "
            f"{summary.stricter:,} stricter"
        )
    loops = ranked(summary.loops)
    if loops:
        lines += ["", "loops, the largest waste first:"]
        for loop in loops[:SHOWN]:
            what = visible(loop["command"] or loop["tool"])
            stop = "not stopped" if loop["stopped_at"] is None else f"stopped at {loop['stopped_at']}"
            lines.append(
                f"  {loop['count']:5} x {loop['class']:7} {stop}, saves {loop['saved_calls']} calls and "
                f"{duration(loop['saved_seconds'])}: {what[:100]}  ({visible(loop['session'])[:60]})"
            )
    heads = most_common(summary.heads)
    if heads:
        lines += ["", "unknown commands:"]
        lines += [
            f"  {count:5} {visible(head)}{'' if head not in summary.missing else '  (no rule)'}"
            for head, count in heads[:SHOWN]
        ]
    return lines


def _moves(comparison: Comparison) -> list[str]:
    moved = len(comparison.moves) + comparison.beyond
    milder = f"{len(comparison.unreviewed):,} of them to a read and not reviewed"
    others = f"{comparison.added:,} new, {comparison.lost:,} gone"
    lines = [
        "",
        f"against the baseline: {comparison.compared:,} commands, {moved:,} moved, {milder}; {others}",
    ]
    for rule, moves in comparison.by_rule():
        lines.append(f"  {visible(rule)}")
        for move in moves[:SHOWN]:
            mark = "!" if move in comparison.unreviewed else " "
            lines.append(f"  {mark} {move.before} -> {move.after}: {visible(move.command)[:110]}")
        if len(moves) > SHOWN:
            lines.append(f"    ... {len(moves) - SHOWN} more")
    return lines
