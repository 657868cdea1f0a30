# SPDX-License-Identifier: Apache-2.0
"""Recorded calls of agents that never were, as many as wanted: to measure how a replay scales.

    python -m tools.synthetic_calls 1000000 calls.jsonl

Four of five commands are distinct, as in real records, and the shapes come about as often as there: readers with `cd`
in front, pipes, here-documents into files, scripts, edits by other tools. Sessions have about 40 calls; some loop.
Results are given by their hash. The same arguments give the same bytes; a larger corpus begins with the smaller one.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

CALLS_OF_A_SESSION = 40
WORDS = (
    *("alpha", "beta", "cache", "config", "engine", "field", "graph", "index", "loader", "model"),
    *("node", "parser", "query", "router", "schema", "task", "token", "view"),
)
SHAPES: tuple[tuple[int, str], ...] = (
    (14, "sed -n '{n},{m}p' {file}"),
    (10, "cd /repo/{word} && git diff -- {file}"),
    (6, "cd /repo/{word} && git log --oneline -{k} -- {file}"),
    (9, "grep -rn '{word}_{word2}{n}' {folder} | head -{k}"),
    (5, "cd /repo/{word} && grep -n 'class {word2}{n}' {file} || true"),
    (6, "nl -ba {file} | sed -n '{n},{m}p'"),
    (5, "cat {file}"),
    (4, "ls -la {folder}/{word}{n}"),
    (3, "find {folder} -name '*{word}{n}*.py' -not -path './build/*' | xargs grep -l {word2}"),
    (3, "rg -n '{word}\\({word2}{n}' -g '*.py' {folder}"),
    (2, "git -C /repo/{word} show --stat HEAD~{k}:{file}"),
    (2, "wc -l {file} && head -{k} {file} && tail -n {k} {file}"),
    (1, "for f in {file} {folder}/b{n}.py; do sed -n '1,{k}p' $f; done"),
    (14, "python {folder}/test_{word}{n}.py"),
    (3, "cd /repo/{word} && python -m pytest -q {file}::test_{word2}_{n} 2>&1 | tail -{k}"),
    (6, "cat > {file} <<'EOF'\n{body}\nEOF"),
    (3, "sed -i 's/{word}_{n}/{word2}_{m}/' {file}"),
    (2, "git add -A && git commit -q -m 'fix {word} {n}'"),
    (1, "rm -f {folder}/{word}{n}.log && mkdir -p {folder}/{word2}{n}"),
    (1, "sleep {k} && gh run view {n}"),
)
TOOLS = ("str_replace_based_edit_tool", "read_file", "write_file")


def calls(count: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """So many calls, in their order."""
    shapes = [shape for times, shape in SHAPES for _ in range(times)]
    made = session = 0
    while made < count:
        chance = random.Random(f"{seed}/{session}")
        again: list[str] = []
        for index in range(min(CALLS_OF_A_SESSION, count - made)):
            yield _call(chance, f"session-{session}", index, shapes, again)
            made += 1
        session += 1


def _call(
    chance: random.Random, session: str, index: int, shapes: list[str], again: list[str]
) -> dict[str, Any]:
    row: dict[str, Any] = {"source": "synthetic", "session": session, "turn": 1, "index": index}
    words = {
        "word": chance.choice(WORDS),
        "word2": chance.choice(WORDS),
        "n": chance.randrange(1, 9_000),
        "m": chance.randrange(9_000, 20_000),
        "k": chance.randrange(2, 60),
    }
    words["folder"] = f"src/{chance.choice(WORDS)}"
    words["file"] = f"{words['folder']}/{words['word']}_{words['n']}.py"
    if chance.random() < 0.24:
        edit = f"return {words['word2']}_{words['n']}\n" * chance.randrange(1, 12)
        tool = chance.choice(TOOLS)
        row |= {"tool": tool, "args": {"command": "str_replace", "path": words["file"], "new_str": edit}}
        outcome = f"{session} {index}"
    else:
        if again and chance.random() < 0.2:
            command = chance.choice(again[-4:])
        else:
            body = "\n".join(
                f"    {chance.choice(WORDS)} = {chance.choice(WORDS)}({at})"
                for at in range(chance.randrange(3, 40))
            )
            command = chance.choice(shapes).format(body=body, **words)
        again.append(command)
        row |= {"tool": "bash", "args": {"command": command}}
        outcome = command if chance.random() < 0.5 else f"{session} {index}"
    row["result_sha256"] = sha256(outcome.encode()).hexdigest()
    row["result_len"] = chance.randrange(0, 9_000)
    row["exit_code"] = int(chance.random() < 0.1)
    row["started_at"] = 1_760_000_000 + 20 * index
    return row


def main(arguments: list[str] | None = None) -> None:
    """Writes the calls."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", type=int)
    parser.add_argument("path", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    with args.path.open("w", encoding="utf-8") as file:
        for row in calls(args.count, args.seed):
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
