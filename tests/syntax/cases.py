# SPDX-License-Identifier: Apache-2.0
"""The case files of this folder: `trees.txt` and `refusals.txt`.

    === title
    @ mark: reason
    input, any number of lines
    ---
    what is expected

Marks say where a case departs from the rule that bash and we agree; each is one line, and its reason is part of it.
With the mark `json` the input is one JSON string, for characters that an editor would not show or keep.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
TREES = HERE / "trees.txt"
REFUSALS = HERE / "refusals.txt"

MARKS = frozenset(
    (
        "json",  # the input is written as a JSON string
        "extglob",  # bash is asked with `-O extglob`
        "bash refuses",  # we accept more than bash
        "bash accepts",  # we refuse more than bash
        "bash prints",  # bash's print is another tree
        "not asked",  # bash cannot be given the text
    )
)


@dataclass
class Case:
    """One case. `line` is where it begins in its file, for messages."""

    title: str
    line: int
    text: str
    expected: str
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def extglob(self) -> bool:
        return "extglob" in self.marks


def read_cases(path: Path) -> list[Case]:
    """All cases of a file. Raises ValueError, with the line, for one that is not well formed."""
    content = path.read_text("utf-8")
    cases = []
    blocks = ("\n" + content).split("\n=== ")
    line = blocks[0].count("\n") + 1
    for block in blocks[1:]:
        cases.append(_read_case(block, path, line))
        line += block.count("\n") + 1
    titles = [case.title for case in cases]
    doubles = {title for title in titles if titles.count(title) > 1}
    if doubles:
        raise ValueError(f"{path.name}: titles used twice: {sorted(doubles)}")
    return cases


def _read_case(block: str, path: Path, line: int) -> Case:
    head, divider, expected = block.partition("\n---\n")
    title, _, rest = head.partition("\n")
    if not divider:
        raise ValueError(f"{path.name}:{line}: no `---` in this case")
    marks = {}
    while rest.startswith("@ "):
        mark, _, rest = rest.partition("\n")
        name, _, reason = mark.removeprefix("@ ").partition(": ")
        if name not in MARKS:
            raise ValueError(f"{path.name}:{line}: unknown mark {name!r}")
        marks[name] = reason
    text = json.loads(rest) if "json" in marks else rest
    return Case(title, line, text, expected.strip("\n"), marks)


def write_cases(path: Path, cases: list[Case]) -> None:
    """Writes the file anew with the expectations of `cases`; the comment before the first case stays."""
    preface = ("\n" + path.read_text("utf-8")).split("\n=== ")[0].strip("\n")
    blocks = [preface]
    for case in cases:
        marks = "".join(
            f"@ {name}: {reason}\n" if reason else f"@ {name}\n" for name, reason in case.marks.items()
        )
        text = json.dumps(case.text) if "json" in case.marks else case.text
        blocks.append(f"=== {case.title}\n{marks}{text}\n---\n{case.expected}")
    path.write_text("\n\n".join(block for block in blocks if block) + "\n", encoding="utf-8")
