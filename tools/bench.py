# SPDX-License-Identifier: Apache-2.0
"""Time and memory of our parser beside bashlex and bare tree-sitter-bash, in one run over the same agent commands.

    python -m tools.bench --corpora DIR

Each subject runs in a process of its own (bashlex is under the GPL, and one subject must not warm up
another), gets the same commands, and tells for each whether it accepts it and the shortest of some runs. The
table compares over the commands that all subjects accept. A further subject is a further line in SUBJECTS.

Then stands what one verdict costs a new process with a library of 25 rule files and with one of 700, and at the end
what the guard adds to a verdict: a step, the digest of a result, the memory of a session.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from types import FrameType

from tools.corpora import add_option, read_corpus, sample, wanted_folder

ROOT = Path(__file__).resolve().parents[1]

WANTED_RATIO = 8.0
WANTED_CLASSIFY_RATIO = 4.0
WANTED_CLASSIFY_P99_US = 2_000.0
LIBRARIES = (25, 700)
WANTED_LIBRARY_RATIO = 1.1
WANTED_IMPORT_MS = 25.0
WANTED_MEMORY_MB = 8.0
WANTED_STEP_US = 30.0
WANTED_DIGEST_US = 400.0
WANTED_SESSION_KB = 256.0


def _ours() -> Callable[[str], bool]:
    from shellguard.errors import ShellSyntaxError
    from shellguard.syntax.parse import parse

    def call(text: str) -> bool:
        try:
            parse(text)
        except ShellSyntaxError:
            return False
        return True

    return call


def _classify() -> Callable[[str], bool]:
    from shellguard.engine import classify
    from shellguard.rules.shelf import Shelf

    shelf = Shelf.default()  # named, so that no verdict is remembered

    def call(text: str) -> bool:
        classify(text, shelf=shelf)
        return True

    return call


def _bashlex() -> Callable[[str], bool]:
    import bashlex

    def call(text: str) -> bool:
        try:
            bashlex.parse(text)
        except Exception:  # noqa: BLE001 - it also fails with AttributeError, AssertionError, NotImplementedError ...
            return False
        return True

    return call


def _tree_sitter() -> Callable[[str], bool]:
    import tree_sitter
    import tree_sitter_bash

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))

    def call(text: str) -> bool:
        return not parser.parse(text.encode("utf-8", "surrogatepass")).root_node.has_error

    return call


@dataclass(frozen=True)
class Subject:
    """Something to measure. `packages` must be importable; `imports` is the statement whose cost is measured;
    `make` gives what is called with each command and tells whether it accepts it."""

    name: str
    packages: tuple[str, ...]
    imports: str
    make: Callable[[], Callable[[str], bool]]

    def missing(self) -> list[str]:
        return [package for package in self.packages if importlib.util.find_spec(package) is None]


SUBJECTS = (
    Subject("shellguard parse", ("shellguard",), "import shellguard.syntax.parse", _ours),
    Subject("shellguard classify", ("shellguard",), "import shellguard.engine", _classify),
    Subject("bashlex", ("bashlex",), "import bashlex", _bashlex),
    Subject(
        "tree-sitter-bash",
        ("tree_sitter", "tree_sitter_bash"),
        "import tree_sitter, tree_sitter_bash; tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))",
        _tree_sitter,
    ),
)
BASELINE = SUBJECTS[0].name


@dataclass(frozen=True)
class Measured:
    """`nanoseconds[i]` for the i-th command, None where the subject refuses it; the cost of the import in CPU
    ms and MB."""

    nanoseconds: list[int | None]
    import_ms: float
    memory_mb: float


# --- in the child ---------------------------------------------------------------------------------------------


def _on_alarm(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError


def measure_commands(subject: Subject, texts: list[str], runs: int) -> list[int | None]:
    """The shortest time of each command in nanoseconds; None if it is refused or takes longer than 5 s
    (bashlex can hang)."""
    call = subject.make()
    signal.signal(signal.SIGALRM, _on_alarm)
    best: list[int | None] = []
    for text in texts:
        signal.alarm(5)
        try:
            best.append(sys.maxsize if call(text) else None)
        except TimeoutError:
            best.append(None)
        signal.alarm(0)
    clock = time.perf_counter_ns
    for _ in range(runs):
        for index, text in enumerate(texts):
            before = best[index]
            if before is not None:
                start = clock()
                call(text)
                best[index] = min(before, clock() - start)
    return best


# --- in the parent --------------------------------------------------------------------------------------------

_SPAWN = """
import os, sys
least_cpu = least_rss = float("inf")
for _ in range(int(sys.argv[2])):
    pid = os.posix_spawn(sys.executable, [sys.executable, "-I", "-c", sys.argv[1]], os.environ)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(1)
    least_cpu = min(least_cpu, usage.ru_utime + usage.ru_stime)
    least_rss = min(least_rss, usage.ru_maxrss)
print(least_cpu, least_rss)
"""
"""Starts children and prints the least CPU seconds and peak memory. A small process of its own: the kernel
counts the memory of the process that starts a child as the child's."""


def import_cost(statement: str, runs: int) -> tuple[float, float]:
    """CPU ms and peak memory in MB of a bare Python that runs `statement`, the least of `runs`."""
    command = [sys.executable, "-I", "-c", _SPAWN, statement, str(runs)]
    cpu, rss = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    return float(cpu) * 1000, float(rss) / unit


def measure(
    subject: Subject, texts: list[str], runs: int, bare: tuple[float, float], imports: int
) -> Measured:
    """All about one subject. `bare` is what Python costs without it."""
    command = [sys.executable, "-m", "tools.bench", "--child", subject.name, "--runs", str(runs)]
    answer = subprocess.run(
        command, input=json.dumps(texts), capture_output=True, text=True, check=True, cwd=ROOT
    )
    cpu, memory = import_cost(subject.imports, imports)
    return Measured(json.loads(answer.stdout), cpu - bare[0], memory - bare[1])


def main() -> int:
    """Prints the table; exit status 1 with --check where a wish is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_option(parser)
    parser.add_argument("--commands", type=int, default=2_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--runs", type=int, default=5, help="runs of each command, of which the shortest counts"
    )
    parser.add_argument(
        "--imports", type=int, default=15, help="starts of Python, of which the cheapest counts"
    )
    parser.add_argument("--check", action="store_true", help="exit status 1 where a wish is not met")
    parser.add_argument(
        "--hook", action="store_true", help="what one hook call costs, beside peers, and nothing else"
    )
    parser.add_argument(
        "--environments", metavar="DIR", help="with --hook: a folder that keeps the environments"
    )
    parser.add_argument("--starts", type=int, default=40, metavar="N", help="with --hook")
    parser.add_argument(
        "--cards",
        type=int,
        nargs="?",
        const=1_000,
        metavar="N",
        help="what a card costs, over N cards (1000), and nothing else",
    )
    parser.add_argument("--at-once", type=int, default=50, metavar="N", help="with --cards: workers at once")
    parser.add_argument("--child", choices=[subject.name for subject in SUBJECTS], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        subject = next(subject for subject in SUBJECTS if subject.name == args.child)
        print(json.dumps(measure_commands(subject, json.load(sys.stdin), args.runs)))
        return 0
    if args.hook:
        from tools.bench_hook import report_hook

        return 1 if not report_hook(args.environments, args.starts) and args.check else 0
    if args.cards:
        from tools.bench_cards import report_cards

        return 1 if not report_cards(args.cards, args.at_once) and args.check else 0
    folder = wanted_folder(args.corpora)
    if folder is None:
        return 2
    texts = sample(read_corpus(folder, "agent"), args.commands, args.seed)
    bare = import_cost("pass", args.imports)
    measured: dict[str, Measured] = {}
    for subject in SUBJECTS:
        if missing := subject.missing():
            print(f"{subject.name}: skipped, {' and '.join(missing)} is not installed (extra `oracle`)")
        else:
            measured[subject.name] = measure(subject, texts, args.runs, bare, args.imports)
    met = report(measured, texts, bare)
    met = report_libraries(args.imports) and met
    met = report_guard() and met
    return 1 if args.check and not met else 0


def report(measured: dict[str, Measured], texts: list[str], bare: tuple[float, float]) -> bool:
    """Prints the table and which wishes are met; returns whether all are."""
    times = [one.nanoseconds for one in measured.values()]
    common = [place for place in range(len(texts)) if all(subject[place] is not None for subject in times)]
    print(f"{len(texts)} agent commands, {len(common)} of them accepted by all; {os.cpu_count()} cores")
    print(f"bare Python {sys.version.split()[0]}: {bare[0]:.1f} ms CPU, {bare[1]:.1f} MB")
    print("a ratio follows each time (to the first line) and each cost above bare Python (to bare Python)\n")
    table = [
        ("", "accepts", "median us", "x", "p99 us", "x", "mean us", "x", "import ms", "x", "memory MB", "x")
    ]
    figures: dict[str, tuple[float, ...]] = {}
    for name, one in measured.items():
        micros = [(one.nanoseconds[place] or 0) / 1000 for place in common]
        figures[name] = (median(micros), quantiles(micros, n=100)[98], sum(micros) / len(micros))
        cells = [name, str(sum(nanoseconds is not None for nanoseconds in one.nanoseconds))]
        for value, base in zip(figures[name], figures[BASELINE], strict=True):
            cells += [f"{value:.1f}", f"{value / base:.2f}"]
        cells += [f"{one.import_ms:.1f}", f"{one.import_ms / bare[0]:.2f}"]
        cells += [f"{one.memory_mb:.1f}", f"{one.memory_mb / bare[1]:.2f}"]
        table.append(tuple(cells))  # type: ignore[arg-type]  # as many cells as heads
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    for line in table:
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        print(" ".join([line[0].ljust(widths[0]), *cells[1:]]))
    wishes = [
        (f"import below {WANTED_IMPORT_MS:.0f} ms CPU", measured[BASELINE].import_ms < WANTED_IMPORT_MS),
        (f"memory below {WANTED_MEMORY_MB:.0f} MB", measured[BASELINE].memory_mb < WANTED_MEMORY_MB),
    ]
    if "bashlex" in figures:
        ratio = figures["bashlex"][0] / figures[BASELINE][0]
        wishes.append(
            (f"at least {WANTED_RATIO:.0f} times faster than bashlex: {ratio:.1f}", ratio >= WANTED_RATIO)
        )
    verdict = figures["shellguard classify"]
    ratio = verdict[0] / figures[BASELINE][0]
    wishes.append(
        (f"classify at most 4 times the parse (median): {ratio:.1f}", ratio <= WANTED_CLASSIFY_RATIO)
    )
    wishes.append((f"classify below 2 ms (p99): {verdict[1]:.0f} us", verdict[1] < WANTED_CLASSIFY_P99_US))
    print()
    for wish, met in wishes:
        print(f"{'yes' if met else 'NO '}  {wish}")
    return all(met for _, met in wishes)


def report_libraries(starts: int) -> bool:
    """Prints what a new process spends on one verdict with compiled libraries of two sizes; whether it is the same."""
    costs = []
    with tempfile.TemporaryDirectory() as scratch:
        for count in LIBRARIES:
            folder = Path(scratch, str(count), "rules")
            compiled = _library(folder, count)
            statement = (
                "from shellguard.engine import classify; from shellguard.rules.shelf import Shelf; "
                "from shellguard.rules.compiled import Compiled; "
                f"shelf = Shelf(folder={str(folder)!r}, compiled=Compiled({str(compiled)!r})); "
                "assert classify('tool7 -l x | tool9', shelf=shelf).read_only"
            )
            costs.append(import_cost(statement, starts)[0])
    ratio = costs[1] / costs[0]
    print(f"\none verdict in a new process: {costs[0]:.1f} ms CPU with {LIBRARIES[0]} rule files, ", end="")
    print(f"{costs[1]:.1f} with {LIBRARIES[1]}, ratio {ratio:.2f}")
    return ratio <= WANTED_LIBRARY_RATIO


def _library(folder: Path, count: int) -> Path:
    """A folder of `count` rule files, each a copy of that of `ls` under another name, compiled; the compiled file."""
    from shellguard.rules.cache import compile_rules
    from shellguard.rules.shelf import Shelf

    folder.mkdir(parents=True)
    lines = (ROOT / "rules" / "coreutils" / "ls.yaml").read_text("utf-8").split("\n")
    body = "\n".join(line for line in lines if not line.startswith(("command:", "aliases:")))
    for index in range(count):
        (folder / f"tool{index}.yaml").write_text(f"command: tool{index}\n{body}", "utf-8")
    for name in ("_env.yaml", "_paths.yaml", "_policies.yaml"):
        (folder / name).write_bytes((ROOT / "rules" / name).read_bytes())
    compiled = folder.parent / "compiled.rules"
    compiled.write_bytes(compile_rules(Shelf(folder=str(folder))))
    return compiled


def report_guard() -> bool:
    """Prints what the guard costs beyond the verdict; whether that is as little as wanted."""
    step_us, digest_us, session_kb = guard_step_us(), guard_digest_us(), guard_session_kb()
    print(f"\nguard: {step_us:.1f} us a step (median), ", end="")
    print(f"{digest_us:.0f} us a digest of 2,000 characters (slowest of {len(RESULTS)} kinds), ", end="")
    print(f"{session_kb:.0f} kB a session with a full window")
    return step_us <= WANTED_STEP_US and digest_us <= WANTED_DIGEST_US and session_kb <= WANTED_SESSION_KB


def guard_step_us() -> float:
    """The median time of a step on given names, over sessions of distinct, equal and mixed calls."""
    from shellguard.guard import GuardConfig, State, ToolCall, ToolResult, step
    from shellguard.guard.observe import event_after, event_before

    config = GuardConfig({"hard_stop_enabled": True})
    times = []
    for kinds in (1, 10, 1000):
        state = State()
        for number in range(1000):
            call = ToolCall("terminal", {"command": f"cat f{number % kinds}"})
            at = number * 3.0
            for event in (
                event_before(call, config, at),
                event_after(call, ToolResult(f"ok {number}", exit_code=0), config, at),
            ):
                start = time.perf_counter_ns()
                state, _ = step(state, event, config)
                times.append(time.perf_counter_ns() - start)
    return median(times) / 1000


RESULTS = {
    "prose": "the quick brown fox jumps over 13 lazy dogs, ",
    "listing": "-rw-r--r-- 1 user user 4096 Nov 30 15:03 file_17.py\n",
    "log": "2026-11-30T12:34:56.789Z INFO req_ab12cd34 took 0.42s pid=1234 /tmp/tmpab12cd34/a\n",
    "numbers": "1 23 4.5 678 9 10 ",
    "escapes": "\x1b[31m9%\x1b[0m\r",
}


def guard_digest_us() -> float:
    """The time of a digest of 2,000 characters, of the slowest kind of text."""
    from shellguard.guard.digest import digest

    slowest = 0.0
    for piece in RESULTS.values():
        text = (piece * 200)[:2000]
        best = sys.maxsize
        for _ in range(50):
            start = time.perf_counter_ns()
            digest(text)
            best = min(best, time.perf_counter_ns() - start)
        slowest = max(slowest, best / 1000)
    return slowest


def guard_session_kb() -> float:
    """The memory of a session whose window is full of distinct calls, in kB."""
    import tracemalloc

    from shellguard.guard import Event, GuardConfig, State, step

    config = GuardConfig()
    tracemalloc.start()
    state = State()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(2 * config.window_max_calls):
        name = (number + 1) * 0x9E3779B97F4A7C15 % 2**64
        event = Event(
            "after",
            float(number),
            key=name,
            tool=7,
            head=name + 1,
            near=name + 2,
            digest=name + 3,
            loose=name + 4,
        )
        state, _ = step(state, event, config)
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert len(state.entries) == config.window_max_calls
    return used / 1024


if __name__ == "__main__":
    sys.exit(main())
