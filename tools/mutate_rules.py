# SPDX-License-Identifier: Apache-2.0
"""Deletes one entry of a rule file at a time, and looks whether an example notices where a verdict became milder.

    python -m tools.mutate_rules --all --jobs 2          # every entry of every file
    python -m tools.mutate_rules rules/vcs/git.yaml      # every entry of these files
    python -m tools.mutate_rules --changed               # of the files that differ from the last commit
    python -m tools.mutate_rules --sample 500 --seed 7

An entry is a name in a list of options, an item of a list, a key with all below it. Documentation and examples are not
touched. The law: after a deletion every verdict, mark and policy answer is as strict as before, the file does not load
(then its command is unknown), or an example of the file fails. Verdicts are compared over the examples of the file and
over changes of them: an option of the rule more, a word more, a word that nobody can see. What is printed is the entry
and the text that became milder: the remedy is an example in the file. Exit status 1 when something is printed.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from shellguard.engine import classify, policy_named
from shellguard.errors import RuleError
from shellguard.rules.check import Judgement, example_problem, examples_of
from shellguard.rules.load import _Reader, load_variables
from shellguard.rules.model import BrokenRule, CommandRule, CredentialPaths, Example, Spec, Variables
from shellguard.rules.shelf import Shelf, rule_files, shipped_folder
from shellguard.rules.tree import Node, checked_text, tree
from shellguard.verdict import READ, Policy, Verdict
from tests.analysis.verdict_lines import verdict_lines

if TYPE_CHECKING:
    from shellguard.analysis.inquiry import Shelf as AnyShelf
    from shellguard.rules.model import Answer

ROOT = Path(__file__).resolve().parents[1]

DOCUMENTATION = frozenset({"summary", "source", "checked", "judgement", "examples", "command", "aliases"})
NAMES = frozenset({"flags", "values", "maybe", "like", "any", "none", "absent_with", "present_with", "fills"})
"""Words whose value is text with names in it: a comma between things, a blank between spellings."""
NAMED_KEYS = frozenset({"options", "env", "subcommands", "variables"})
"""Words whose keys are such texts."""

ENVIRONMENT = "_env.yaml"
FURTHER = 120
"""Changed examples of a file, beside its examples, over which verdicts are compared."""


@dataclass(frozen=True)
class Entry:
    """Something that can be deleted: `delete` does it in the tree of the file, and gives back how to undo it."""

    line: int
    place: str
    delete: Callable[[], Callable[[], None]] = field(compare=False)


@dataclass(frozen=True)
class Finding:
    """A deletion that made `text` milder, and no example failed."""

    path: str
    line: int
    place: str
    text: str
    before: str
    after: str

    def __str__(self) -> str:
        return (
            f"{self.path}:{self.line}: without {self.place}: {self.before} became {self.after}: {self.text}"
        )


# --- what can be deleted ----------------------------------------------------------------------------------------------


def entries(node: Node, place: str = "", word: str = "") -> Iterator[Entry]:
    """Every entry below `node`. `word` is the key under which it stands."""
    if isinstance(node.value, dict):
        yield from _keys(node, place, word)
    elif isinstance(node.value, list):
        yield from _items(node, place, word)
    elif word in NAMES:
        yield from _names(node, place)


def _keys(node: Node, place: str, word: str) -> Iterator[Entry]:
    assert isinstance(node.value, dict)
    for key, (line, value) in list(node.value.items()):
        if key in DOCUMENTATION and word not in NAMED_KEYS:
            continue
        below = f"{place}.{key}" if place else key
        yield Entry(line, below, _without_key(node, key))
        names = [name for name in key.replace(",", " ").split(" ") if name]
        if word in NAMED_KEYS and len(names) > 1:
            for name in names:
                yield Entry(line, f"{below} ({name})", _renamed(node, key, _without_name(key, name)))
        yield from entries(value, below, key)


def _items(node: Node, place: str, word: str) -> Iterator[Entry]:
    assert isinstance(node.value, list)
    for index, item in enumerate(list(node.value)):
        shown = item.value if isinstance(item.value, str) else str(index)
        below = f"{place}[{shown}]"
        yield Entry(item.line, below, _without_item(node, index))
        yield from entries(item, below, "" if isinstance(item.value, str) else word)


def _names(node: Node, place: str) -> Iterator[Entry]:
    text = node.raw or node.value
    assert isinstance(text, str)
    names = [name for name in text.replace(",", " ").replace("\n", " ").split(" ") if name]
    for name in dict.fromkeys(names):
        yield Entry(node.line, f"{place} ({name})", _with_text(node, _without_name(text, name)))


def _without_name(text: str, name: str) -> str:
    """The list without one spelling; a thing without any spelling goes with its comma."""
    pieces: list[str] = []
    for piece in text.split(","):
        lines = [" ".join(each for each in line.split(" ") if each != name) for line in piece.split("\n")]
        if any(line.strip(" ") for line in lines) or not pieces:
            pieces.append("\n".join(lines))
    return ",".join(pieces).strip(" ,")


def _without_key(node: Node, key: str) -> Callable[[], Callable[[], None]]:
    def delete() -> Callable[[], None]:
        assert isinstance(node.value, dict)
        before = node.value
        node.value = {name: value for name, value in before.items() if name != key}

        def undo() -> None:
            node.value = before

        return undo

    return delete


def _renamed(node: Node, key: str, name: str) -> Callable[[], Callable[[], None]]:
    def delete() -> Callable[[], None]:
        assert isinstance(node.value, dict)
        before = node.value
        node.value = {name if each == key else each: value for each, value in before.items()}

        def undo() -> None:
            node.value = before

        return undo

    return delete


def _without_item(node: Node, index: int) -> Callable[[], Callable[[], None]]:
    def delete() -> Callable[[], None]:
        assert isinstance(node.value, list)
        before = node.value
        node.value = before[:index] + before[index + 1 :]

        def undo() -> None:
            node.value = before

        return undo

    return delete


def _with_text(node: Node, text: str) -> Callable[[], Callable[[], None]]:
    def delete() -> Callable[[], None]:
        before = node.value, node.raw
        node.value, node.raw = text, text

        def undo() -> None:
            node.value, node.raw = before

        return undo

    return delete


# --- what is compared -------------------------------------------------------------------------------------------------


class Patched:
    """The shipped rules with one of them, or the common variables, in another form."""

    def __init__(
        self, rule: CommandRule | BrokenRule | None, names: Iterable[str], variables: Variables
    ) -> None:
        self._rule, self._names, self.variables = rule, frozenset(names), variables
        self._shelf = Shelf.default()

    def get(self, name: str) -> Answer:
        return self._rule if name in self._names else self._shelf.get(name)

    @property
    def paths(self) -> CredentialPaths:
        return self._shelf.paths


@cache
def policies() -> tuple[Policy, ...]:
    return tuple(policy_named(name) for name in sorted(Shelf.default().policies))


def strictness(verdict: Verdict) -> tuple[str, frozenset[str], tuple[bool, ...]]:
    """The kind, the marks, and the answers of the policies."""
    return verdict.kind, verdict.marks, tuple(policy.allows(verdict) for policy in policies())


def is_milder(
    after: tuple[str, frozenset[str], tuple[bool, ...]], before: tuple[str, frozenset[str], tuple[bool, ...]]
) -> bool:
    if after[0] != READ:
        return False
    return (
        before[0] != READ
        or not before[1] <= after[1]
        or any(now and not then for now, then in zip(after[2], before[2], strict=True))
    )


def judgement(verdict: Verdict) -> Judgement:
    marks = {mark.rpartition(":")[2] for mark in verdict.marks}
    return Judgement(verdict.kind, frozenset(verdict.effects | verdict.marks | marks), frozenset())


class Subject:
    """One rule file: its tree, its examples, and the texts over which verdicts are compared."""

    def __init__(self, file: str) -> None:
        folder = Path(shipped_folder())
        self.path = f"rules/{file}"
        self.tree = tree(checked_text((folder / file).read_text(encoding="utf-8"), self.path), self.path)
        self.entries = list(entries(self.tree))
        self.examples: list[Example] = []
        self.names: tuple[str, ...] = ()
        if file == ENVIRONMENT:
            self.texts = [*_table_texts(), *self._environment_texts()]
        elif file.startswith("_"):
            self.entries = []
            self.texts = []
        else:
            rule = _Reader(self.path).command(self.tree)
            self.names = (rule.command, *rule.aliases)
            self.examples = examples_of(rule)
            self.texts = [*(example.text for example in self.examples), *_changed(rule, self.examples)]
        self.expected = {text: strictness(classify(text, shelf=Shelf.default())) for text in self.texts}
        self.must_hold = set(_table_texts()) if file == ENVIRONMENT else set()

    def _environment_texts(self) -> list[str]:
        names = [entry.pattern.text.replace("*", "X") for entry in Shelf.default().variables.entries()]
        forms = ("{}=./x; ls", "{}=./x ls", "export {}=./x", "read {} < f")
        return [form.format(name) for name in names for form in forms]

    def try_entry(self, entry: Entry) -> Finding | None:
        """Deletes one entry; what became milder without an example that fails."""
        undo = entry.delete()
        try:
            shelf = self._shelf()
        except RuleError:
            return None  # it does not load
        finally:
            undo()
        return self._compare(entry, shelf)

    def _shelf(self) -> AnyShelf:
        common = Shelf.default().variables
        if self.names:
            return Patched(_Reader(self.path).command(self.tree), self.names, common)
        return Patched(None, (), load_variables(_written(self.tree), self.path))

    def _compare(self, entry: Entry, shelf: AnyShelf) -> Finding | None:
        after = {}
        for example in self.examples:
            verdict = classify(example.text, shelf=shelf)
            if example_problem(self.path, example, lambda _, verdict=verdict: judgement(verdict)) is not None:  # type: ignore[misc]
                return None
            after[example.text] = strictness(verdict)
        for text in self.must_hold:
            after[text] = strictness(classify(text, shelf=shelf))
            if is_milder(after[text], self.expected[text]):
                return None
        for text in self.texts:
            now = after[text] if text in after else strictness(classify(text, shelf=shelf))
            if is_milder(now, self.expected[text]):
                before = " ".join((self.expected[text][0], *sorted(self.expected[text][1] - now[1])))
                return Finding(self.path, entry.line, entry.place, text, before, now[0])
        return None


def _changed(rule: CommandRule, examples: list[Example]) -> list[str]:
    """Examples with something more, the same ones in every run."""
    chance = random.Random(rule.path)
    names = sorted(
        {name for spec in _specs(rule.spec) for option in spec.options.values() for name in option.names}
    )
    variables = sorted(
        {
            entry.pattern.text.replace("*", "X")
            for spec in _specs(rule.spec)
            for entry in spec.variables.entries()
        }
    )
    plain = [example.text for example in examples if not set(example.text) & set("#|;&<>\n")]
    found: dict[str, None] = {}
    for _ in range(FURTHER if plain else 0):
        text, option = chance.choice(plain), chance.choice(names) if names else "-x"
        change = chance.randrange(8)
        if change < 3:
            text = _inserted(text, option, chance)
        elif change == 3:
            text = f"{text} {option} out"
        elif change == 4:
            text = _inserted(text, f"{option}=out" if option.startswith("--") else f"{option}out", chance)
        elif change == 5:
            text = _inserted(text, chance.choice(('"$x"', "$x", "*")), chance)
        elif change == 6:
            text = f"{text} {chance.choice(('out', 'new', '-', '=', '--output=out', '-oout'))}"
        else:
            text = f"{chance.choice(variables or ['FOO'])}=./x {text}"
        found[text] = None
    return list(found)


def _inserted(text: str, word: str, chance: random.Random) -> str:
    words = text.split(" ")
    at = chance.randint(1, len(words))
    return " ".join((*words[:at], word, *words[at:]))


def _specs(spec: Spec) -> Iterator[Spec]:
    yield spec
    for below in spec.subcommands.values():
        yield from _specs(below)


@cache
def _table_texts() -> tuple[str, ...]:
    """The texts of the verdict tables: they are the examples of `_env.yaml`."""
    return tuple(line.text for line in verdict_lines() if line.shell == "bash")


def _written(node: Node) -> str:
    """The tree as YAML again, in a form that only this tool reads."""
    import json

    def plain(each: Node) -> object:
        if isinstance(each.value, dict):
            return {key: plain(value) for key, (_, value) in each.value.items()}
        if isinstance(each.value, list):
            return [plain(item) for item in each.value]
        return each.value

    return json.dumps(plain(node), ensure_ascii=True, indent=1)


# --- the run ----------------------------------------------------------------------------------------------------------


def run_file(file: str) -> tuple[int, list[Finding]]:
    """Every entry of one file: how many there are, and what was found."""
    subject = Subject(file)
    found = [finding for entry in subject.entries if (finding := subject.try_entry(entry)) is not None]
    return len(subject.entries), found


def run_sample(count: int, seed: int, files: list[str] | None = None) -> tuple[int, list[Finding]]:
    """`count` entries, from as many files as there are: each file is drawn, then an entry of it."""
    chance = random.Random(seed)
    drawn: dict[str, int] = {}
    for _ in range(count):
        file = chance.choice(files or all_files())
        drawn[file] = drawn.get(file, 0) + 1
    tried, found = 0, []
    for file, number in sorted(drawn.items()):
        subject = Subject(file)
        for entry in chance.sample(subject.entries, min(number, len(subject.entries))):
            tried += 1
            finding = subject.try_entry(entry)
            if finding is not None:
                found.append(finding)
    return tried, found


@cache
def all_files() -> list[str]:
    """The rule files that load, by their names below `rules/`."""
    shelf_folder = shipped_folder()
    return [ENVIRONMENT, *(file for file in rule_files(shelf_folder) if _loads(file))]


def _loads(file: str) -> bool:
    return isinstance(Shelf.default().get(Path(file).stem), CommandRule)


def _changed_files() -> list[str]:
    command = ["git", "status", "--porcelain", "--", "rules"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    paths = [line[3:].removeprefix("rules/") for line in lines]
    return [path for path in paths if path in all_files()]


def main() -> int:
    """Prints what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--changed", action="store_true", help="the files that git sees as changed")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    started = time.monotonic()
    if args.sample:
        tried, found = run_sample(args.sample, args.seed)
        _show(found)
    else:
        files = [str(Path(file)).removeprefix("rules/") for file in args.files]
        files += all_files() if args.all else _changed_files() if args.changed else []
        if not files:
            parser.error("say which: --all, --changed, --sample N, or files")
        tried, found = 0, []
        with ProcessPoolExecutor(args.jobs) as pool:
            for number, findings in pool.map(run_file, files):
                tried += number
                found += findings
                _show(findings)
    seconds = time.monotonic() - started
    print(f"{tried} entries deleted, {len(found)} of them made something milder unseen; {seconds:.0f} s")
    return 1 if found else 0


def _show(found: list[Finding]) -> None:
    for finding in found:
        print(finding, flush=True)


if __name__ == "__main__":
    sys.exit(main())
