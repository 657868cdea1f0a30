# SPDX-License-Identifier: Apache-2.0
"""Every command that the project calls a read: examples of the rules, cases of the tests, rows of the corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shellguard.rules.check import examples_of
from shellguard.rules.library import entries
from shellguard.rules.shelf import Shelf
from tests.analysis.verdict_lines import verdict_lines
from tools.corpora import corpora_folder
from tools.corpus import FOLDER as CORPUS
from tools.corpus import SOURCES, texts_of

ROOT = Path(__file__).parents[2]

COMMON = (
    "git grep ls cat find sed head tail wc sort awk echo cd rg jq python3 test uniq cut tr xargs diff stat file"
    " du df ps pwd"
    " which env date printf basename dirname realpath readlink tree less fd curl gh docker kubectl npm pip node"
    " go cargo make"
    " tar unzip zip gzip openssl sqlite3 systemctl uname id whoami hostname free top lsof ss ip dig nslookup"
    " ping ssh git-lfs"
    " md5sum sha256sum cksum base64 xxd od hexdump strings nm objdump column comm join paste nl tac rev fold"
    " seq sleep true"
    " false type command printenv ruby perl php java gcc terraform shellcheck zcat zgrep bat yq xmllint dpkg"
    " apt mysql psql"
).split()
"""Commands in about the order in which agents read with them: what the quick run takes its examples from."""

QUICK = 200
QUICK_EACH = 6


@dataclass(frozen=True)
class Example:
    """A text that is called a read, and where. `group` is the command of a rule, or `tests`, or `corpus`.

    `key` names it in the record: the text, or for public data only its row.
    """

    text: str
    group: str
    key: str


def of_rules(names: tuple[str, ...] = ()) -> Iterator[Example]:
    """The read examples of all rules, or of those whose command, path or folder is named."""
    for entry in entries(Shelf.default()):
        rule = entry.rule
        if rule is None:
            continue
        if names and not any(
            name in (rule.command, entry.path) or entry.path.startswith(f"{name}/") for name in names
        ):
            continue
        for example in examples_of(rule):
            if example.kind == "read":
                yield Example(example.text, rule.command, example.text)


def of_tests() -> Iterator[Example]:
    """What the labelled cases and the tables of the tests call a read."""
    seen: set[str] = set()
    texts: list[str] = []
    for path in sorted((ROOT / "tests/cases").glob("*.jsonl")):
        rows = _rows(path)
        texts += [row["command"] for row in rows if row.get("verdict") == "read"]
    for line in _lines(ROOT / "tests/analysis/reads.txt"):
        texts.append(line)
    texts += [each.text for each in verdict_lines() if each.expected == "read" and each.shell == "bash"]
    for text in texts:
        if text not in seen:
            seen.add(text)
            yield Example(text, "tests", text)


def _rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a file; a text may hold characters that `splitlines` takes for the end of a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def _lines(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.strip() and not line.startswith("#"):
            yield line.replace("⏎", "\n")


def of_corpus() -> Iterator[Example]:
    """The rows of the corpus that the reviewer called a read.

    Of public data a row has only the hash: its text is looked up where the data is at hand, else the row is left out.
    """
    folder = corpora_folder()
    for path in sorted(CORPUS.glob("*.jsonl")):
        rows = [row for row in _rows(path) if row.get("verdict", row.get("expect")) == "read"]
        hidden = {str(row["source"]) for row in rows if "sha256" in row and row.get("source") in SOURCES}
        texts = texts_of(folder, sorted(hidden)) if folder is not None and hidden else {}
        for row in rows:
            text = row.get("command") or texts.get(row.get("sha256", ""))
            if text:
                yield Example(text, "corpus", row["id"])


def of_file(path: Path) -> Iterator[Example]:
    """The reads of a file of cases (JSON Lines with `command` and perhaps `verdict`)."""
    for row in _rows(path):
        if row.get("verdict", "read") == "read":
            yield Example(row["command"], path.name, row["command"])


def quick(examples: list[Example]) -> list[Example]:
    """The commonest ones: of each command that agents use much its first examples, in turn, until there are enough."""
    by_group: dict[str, list[Example]] = {}
    for example in examples:
        by_group.setdefault(example.group, []).append(example)
    chosen: dict[str, Example] = {}
    for place in range(QUICK_EACH):
        for name in COMMON:
            if len(chosen) < QUICK and len(by_group.get(name, ())) > place:
                chosen.setdefault(by_group[name][place].text, by_group[name][place])
    return list(chosen.values())
