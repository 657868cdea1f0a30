# SPDX-License-Identifier: Apache-2.0
"""A replay as one HTML file: no network, one inline script, and without it every table still reads.

Text of transcripts is hostile. Jinja escapes it, control and bidi characters are made visible before, what the script
needs is JSON in which no `<` stands, and the policy of the file names its script and its style by their hashes.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from shellguard._version import __version__
from shellguard.explain import visible
from shellguard.replay.baseline import Comparison
from shellguard.replay.cleaning import clean
from shellguard.replay.run import Replay
from shellguard.replay.summary import KINDS, Summary, duration, most_common, ranked
from shellguard.replay.workplace import whole

MOST_SESSIONS = 60
MOST_CELLS = 1_200
"""Cells of one timeline."""

ALL_CELLS = 16_000
MOST_ROWS = 150
"""Lines of the table of one timeline, and of every other table."""

MOST_COMMAND = 300
LETTERS = {"read": "R", "write": "W", "unknown": "U", "wait": "T"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,60}")


@dataclass(slots=True)
class Timeline:
    """The calls of one session that are shown. `more` were left out."""

    source: str
    session: str
    cells: list[dict[str, Any]] = field(default_factory=list)
    more: int = 0
    stopped: int = 0

    def runs(self) -> Iterator[dict[str, Any]]:
        """The calls as the table has them: equal ones in a row are one line."""
        run: dict[str, Any] | None = None
        for cell in self.cells:
            if run is not None and run["key"] == cell["k"] and run["said"] == _said(cell):
                run["times"] += 1
                run["last"] = cell["n"]
                continue
            if run is not None:
                yield run
            run = {
                "first": cell["n"],
                "last": cell["n"],
                "times": 1,
                "key": cell["k"],
                "said": _said(cell),
                "cell": cell,
            }
        if run is not None:
            yield run


def _said(cell: dict[str, Any]) -> str:
    """What the guard says of a call, in a word and a count."""
    return "would not have run" if cell["s"] else {"warn": "warned", "halt": "turn ended"}.get(cell["a"], "")


def write(path: str, done: Replay, comparison: Comparison | None) -> None:
    """Writes the report of a replay. Raises OSError."""
    text = rendered(done.summary, done.stamp, done.rows(), comparison)
    with whole(Path(path)) as out:
        out.write(text.encode("utf-8", "backslashreplace"))


def rendered(
    summary: Summary,
    stamp: dict[str, Any],
    rows: Iterable[dict[str, Any]],
    comparison: Comparison | None = None,
) -> str:
    """The report as a text."""
    from jinja2 import Environment

    folder = files("shellguard.replay") / "page"
    script = (folder / "report.js").read_text(encoding="utf-8")
    style = (folder / "report.css").read_text(encoding="utf-8")
    template = (folder / "report.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"shown": _shown, "number": "{:,}".format, "duration": duration}
    timelines, commands = _timelines(summary, rows)
    data = {"commands": commands, "sessions": [timeline.cells for timeline in timelines]}
    loops = ranked(summary.loops)
    raw = bool(stamp["options"].get("raw"))
    return environment.from_string(template).render(
        script=_Raw(script),
        style=_Raw(style),
        policy=_policy(script, style),
        data=_Raw(_json(data)),
        summary=summary,
        stamp=stamp,
        version=__version__,
        kinds=KINDS,
        letters=LETTERS,
        timelines=timelines,
        hidden_sessions=summary.sessions - len({(line.source, line.session) for line in timelines}),
        commands=commands,
        loops=loops[:MOST_ROWS],
        more_loops=summary.loop_count - min(summary.loop_count, len(loops[:MOST_ROWS])),
        worst=max((loop["saved_seconds"] or loop["saved_calls"] for loop in loops), default=0),
        bars=_bars(summary),
        unknown=_unknown(summary),
        comparison=comparison,
        most_rows=MOST_ROWS,
        problems=[
            (clean(path, raw), line, clean(message, raw))
            for path, line, message in summary.problems[:MOST_ROWS]
        ],
    )


def _policy(script: str, style: str) -> str:
    """What the file may do: run its one script, use its one style, and nothing else."""
    own = f"script-src '{_hash(script)}'; style-src '{_hash(style)}'"
    return f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"


class _Raw(str):
    """Text of ours, which is not escaped."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _json(value: object) -> str:
    """JSON that stands inside a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _shown(value: object) -> str:
    """Text of others on one line, with nothing in it that acts."""
    return visible("" if value is None else str(value))


def _timelines(summary: Summary, rows: Iterable[dict[str, Any]]) -> tuple[list[Timeline], list[str]]:
    """The timelines that are shown, those with loops first, and the texts of their commands."""
    wanted = {
        (loop["source"], loop["session"]): place
        for place, loop in reversed(list(enumerate(ranked(summary.loops))))
    }
    chosen = dict(sorted(wanted.items(), key=lambda item: item[1])[:MOST_SESSIONS])
    room = MOST_SESSIONS - len(chosen)
    lines: dict[tuple[str, str], Timeline] = {}
    commands: dict[str, int] = {}
    keys: dict[str, int] = {}
    cells = 0
    for row in rows:
        name = (row["source"], row["session"])
        line = lines.get(name)
        if line is None:
            if name not in chosen and room <= 0:
                continue
            room -= name not in chosen
            line = lines[name] = Timeline(*name)
        line.stopped += row["saved"]
        if len(line.cells) >= MOST_CELLS or cells >= ALL_CELLS:
            line.more += 1
            continue
        cells += 1
        text = _shown(row["command"] if row["command"] is not None else row["tool"])[:MOST_COMMAND]
        line.cells.append(
            _cell(row, commands.setdefault(text, len(commands)), keys.setdefault(row["call"], len(keys)))
        )
    ordered = sorted(lines.items(), key=lambda item: chosen.get(item[0], len(chosen)))
    return [line for _, line in ordered], list(commands)


def _cell(row: dict[str, Any], command: int, key: int) -> dict[str, Any]:
    """What is kept of a call: short names, since there are many."""
    return {
        "n": row["index"] + 1,
        "c": row["class"],
        "v": row["verdict"],
        "t": command,
        "k": key,
        "a": row["action"],
        "d": row["code"],
        "s": row["saved"],
        "b": _shown(row["because"]),
        "r": row["rule"],
        "o": _shown(row["tool"]),
        "g": _shown(row["agent"]),
        "x": row["exit_code"],
        "u": row["turn"],
    }


def _bars(summary: Summary) -> list[dict[str, Any]]:
    """Verdicts by command, the commonest first; widths in thousandths of the longest bar."""
    found: dict[str, dict[str, int]] = {}
    for name, count in summary.commands.items():
        head, _, kind = name.rpartition("\t")
        found.setdefault(head, dict.fromkeys(KINDS, 0))[kind] = count
    ordered = sorted(found.items(), key=lambda item: (-sum(item[1].values()), item[0]))[:40]
    longest = max((sum(kinds.values()) for _, kinds in ordered), default=1)
    bars = []
    for head, kinds in ordered:
        at, parts = 0.0, []
        for kind in KINDS:
            width = 1000 * kinds[kind] / longest
            parts.append({"kind": kind, "x": f"{at:.1f}", "width": f"{width:.1f}", "count": kinds[kind]})
            at += width
        bars.append(
            {"head": head or "(nothing)", "total": sum(kinds.values()), "kinds": kinds, "parts": parts}
        )
    return bars


def _unknown(summary: Summary) -> list[dict[str, Any]]:
    """The unknown commands; a line that begins a rule where there is none."""
    rows = []
    for name, count in most_common(summary.heads)[:MOST_ROWS]:
        line = f"shellguard rules new {name}" if name in summary.missing and _NAME.fullmatch(name) else ""
        rows.append({"name": name, "count": count, "line": line})
    return rows
