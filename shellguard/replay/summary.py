# SPDX-License-Identifier: Apache-2.0
"""What a replay adds up to: of one unit, and of all of them. Adding up depends on the order of units alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from shellguard.explain import visible
from shellguard.guard.model import BLOCK, HALT, WAIT, WARN
from shellguard.replay.cleaning import clean
from shellguard.replay.judge import MAX_HEAD, Judged
from shellguard.replay.sessions import Loop, Said
from shellguard.transcripts.detect import LACKS
from shellguard.transcripts.model import Call, Problem
from shellguard.verdict import READ, UNKNOWN, WRITE

MOST_NAMES = 20_000
"""Names that are counted exactly; beyond twice as many the rarest half is forgotten, and that is said."""

MOST_SESSIONS = 200_000
"""Names of sessions that are remembered, to count one that several files hold once."""

MOST_LOOPS = 2_000
MOST_PROBLEMS = 1_000
KINDS = (READ, WRITE, UNKNOWN)


@dataclass(slots=True)
class Summary:
    """Counts of calls, verdicts, names and stops; the loops with the largest waste; the first problems."""

    calls: int = 0
    session_names: set[int] = field(default_factory=set)
    sessions_beyond: int = 0
    shell_commands: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    heads: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    commands: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    warnings: int = 0
    blocks: int = 0
    errors: int = 0
    waits: int = 0
    prompts_saved: int = 0
    saved_calls: int = 0
    saved_seconds: float = 0.0
    loop_count: int = 0
    expected: Counter[str] = field(default_factory=Counter)
    milder: int = 0
    stricter: int = 0
    forgotten: int = 0
    loops: list[dict[str, Any]] = field(default_factory=list)
    problems: list[list[Any]] = field(default_factory=list)

    def count(self, call: Call, judged: Judged | None, said: Said) -> None:
        """One call."""
        self.calls += 1
        self.sources[call.source] += 1
        self.classes[said.call_class] += 1
        if said.call_class == WAIT:
            self.waits += 1
        if said.action == WARN:
            self.warnings += 1
            self.codes[said.code] += 1
        elif said.action in (BLOCK, HALT):
            self.blocks += 1
            self.codes[said.code] += 1
        if judged is not None:
            self.shell_commands += 1
            self.verdicts[judged.kind] += 1
            self.prompts_saved += judged.allowed
            self.commands[f"{said.head[:MAX_HEAD]}\t{judged.kind}"] += 1
            for head in judged.heads:
                self.heads[head] += 1
            for head in judged.missing:
                self.missing[head] += 1
            if call.source == "corpus":
                self._expected(call.args.get("expect"), judged.kind)

    def _expected(self, expect: object, kind: str) -> None:
        self.expected[str(expect)] += 1
        if kind == READ and expect != READ:
            self.milder += 1
        elif kind != READ and expect == READ:
            self.stricter += 1

    def problem(self, problem: Problem) -> None:
        """Something that could not be read."""
        self.errors += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append([problem.path, problem.line, problem.message])

    @property
    def sessions(self) -> int:
        """How many sessions there are; sub-agents belong to theirs."""
        return len(self.session_names) + self.sessions_beyond

    def session(self, source: str, session: str, path: str = "") -> None:
        """A session has a call. One that several files hold counts once, as far as names are remembered; with `path`
        one of the same name in another file is another."""
        name = blake2b(
            f"{len(source)}:{len(session)}:{source}{session}{path}".encode("utf-8", "surrogatepass"),
            digest_size=8,
        )
        self.session_names.add(int.from_bytes(name.digest(), "big"))
        self._trim_names()

    def finish(self, loops: list[Loop], raw: bool) -> None:
        """The loops of a unit."""
        for loop in loops:
            found = loop.as_mapping()
            found["command"] = clean(loop.command[:400], raw)
            found["session"] = clean(loop.session, raw)
            self.loops.append(found)
            self.saved_calls += loop.saved_calls
            self.saved_seconds += loop.saved_seconds
        self.loop_count += len(loops)
        self._trim()

    def add(self, other: Summary) -> None:
        """Another unit, the next in order."""
        for name in self.__slots__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, Counter | set):
                mine.update(theirs)
            else:
                setattr(self, name, mine + theirs)
        del self.problems[MOST_PROBLEMS:]
        self._trim_names()
        self._trim()

    def _trim_names(self) -> None:
        if len(self.session_names) > MOST_SESSIONS:
            self.sessions_beyond += len(self.session_names)
            self.session_names.clear()

    def _trim(self) -> None:
        if len(self.loops) > 2 * MOST_LOOPS:
            self.loops = ranked(self.loops)[:MOST_LOOPS]
        for counter in (self.heads, self.missing, self.commands):
            if len(counter) > 2 * MOST_NAMES:
                kept = most_common(counter)[:MOST_NAMES]
                self.forgotten += len(counter) - len(kept)
                counter.clear()
                counter.update(dict(kept))

    def lacks(self) -> dict[str, list[str]]:
        """What the formats that were read do not record."""
        return {name: list(LACKS[name]) for name in sorted(self.sources) if name in LACKS}

    def as_state(self) -> dict[str, Any]:
        """All of it as JSON has it; `from_state` reads it again."""
        state: dict[str, Any] = {}
        for name in self.__slots__:
            value = getattr(self, name)
            state[name] = (
                dict(value)
                if isinstance(value, Counter)
                else sorted(value)
                if isinstance(value, set)
                else value
            )
        return state

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Summary:
        """The summary that `as_state` gave."""
        summary = cls()
        for name in cls.__slots__:
            kind = type(getattr(summary, name))
            setattr(summary, name, kind(state[name]) if kind in (Counter, set) else state[name])
        return summary

    def as_contract(self) -> dict[str, Any]:
        """The object that `replay --json` prints."""
        return {
            "calls": self.calls,
            "sessions": self.sessions,
            "shell_commands": self.shell_commands,
            "verdicts": {kind: self.verdicts[kind] for kind in KINDS},
            "unknown_commands": [[visible(name), count] for name, count in most_common(self.heads)],
            "missing_rules": [[visible(name), count] for name, count in most_common(self.missing)],
            "loops": ranked(self.loops)[:MOST_LOOPS],
            "warnings": self.warnings,
            "blocks": self.blocks,
            "errors": self.errors,
            "waits": self.waits,
            "prompts_saved": self.prompts_saved,
            "saved_calls": self.saved_calls,
            "saved_seconds": round(self.saved_seconds, 3),
            "classes": dict(sorted(self.classes.items())),
            "codes": dict(sorted(self.codes.items())),
            "formats": dict(sorted(self.sources.items())),
            "lacks": self.lacks(),
            "expected": dict(sorted(self.expected.items())),
            "milder": self.milder,
            "stricter": self.stricter,
            "problems": [
                {"path": path, "line": line, "message": message} for path, line, message in self.problems
            ],
        }


def ranked(loops: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The loops, those that waste most first."""
    return sorted(
        loops,
        key=lambda loop: (
            *(-loop["saved_seconds"], -loop["saved_calls"], -loop["count"], loop["source"], loop["session"]),
            *(loop["agent"], loop["index"]),
        ),
    )


def duration(seconds: float) -> str:
    """A time as a person says it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"


def most_common(counter: Counter[str]) -> list[tuple[str, int]]:
    """Names and counts, the most first, and by name where they are equal."""
    return sorted(counter.items(), key=lambda item: (-item[1], item[0]))
