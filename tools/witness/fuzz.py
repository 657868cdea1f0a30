# SPDX-License-Identifier: Apache-2.0
"""`fuzz`: the options of a tool with plausible values and in every spelling; what the engine calls a read is run.

The options are those of the manual page, of `--help` and of the rule. Each stands alone, before a value, glued to
it, behind the operands, in a bundle, abbreviated, and in pairs. A text that the engine calls a read must show no
effect; the others need not be run.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shlex
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from shellguard import classify
from shellguard.rules.model import CommandRule, Spec
from shellguard.rules.shelf import Shelf
from tools.witness.client import Witness
from tools.witness.judge import judge

TOOLS: dict[str, tuple[str, ...]] = {
    "sort": ("sort {} f.txt", "sort f.txt {}", "seq 30000 | sort -S 32K {}"),
    "grep": ("grep {} foo f.txt", "grep foo f.txt {}", "grep -r {} foo src"),
    "sed": ("sed {} p f.txt", "sed -n p f.txt {}", "sed {} f.txt"),
    "find": ("find src {}", "find {} src", "find . -maxdepth 1 -name f.txt {}"),
    "git-diff": ("git diff {}", "git diff HEAD~1 {}", "git diff {} HEAD -- f.txt"),
    "git-log": ("git log {}", "git log -1 {}", "git log -p {} -2"),
    "git-branch": ("git branch {}", "git branch --list {}", "git branch {} newname"),
    "tar": ("tar -tf a.tar {}", "tar {} -tf a.tar", "tar {} -xOf a.tar f.txt"),
    "curl": ("curl -s {} http://example.org/a", "curl -s http://example.org/a {}"),
    "rg": ("rg {} foo", "rg foo f.txt {}"),
    "fd": ("fdfind {} py", "fdfind py src {}"),
    "awk": ("awk {} '{{print}}' f.txt", "awk '{{print $1}}' f.txt {}", "awk {} f.txt"),
    "jq": ("jq {} . data.json", "jq . data.json {}", "jq {} data.json"),
    "uniq": ("uniq {} f.txt", "uniq f.txt {}"),
    "xargs": ("echo f.txt | xargs {} cat", "echo f.txt | xargs {}"),
    "git-show": ("git show {}", "git show HEAD {}"),
    "git-status": ("git status {}",),
    "git-grep": ("git grep {} foo", "git grep foo {}"),
    "git-stash": ("git stash list {}", "git stash show {}"),
    "git-tag": ("git tag {}", "git tag -l {}"),
    "git-remote": ("git remote {}", "git remote -v {}", "git remote show {}"),
    "git-config": ("git config {} user.name", "git config --list {}", "git config {}"),
    "git-blame": ("git blame {} f.txt",),
    "git-ls-files": ("git ls-files {}",),
    "less": ("less {} f.txt",),
    "man": ("man {} ls",),
    "tree": ("tree {} src",),
    "file": ("file {} f.txt",),
    "date": ("date {}",),
    "diff": ("diff {} f.txt g.txt",),
    "xxd": ("xxd {} f.txt",),
    "shuf": ("shuf {} f.txt",),
    "split": ("split {}",),
    "ps": ("ps {}",),
    "xmllint": ("xmllint {} a.xml",),
    "zip": ("zip {} -sf a.zip",),
    "unzip": ("unzip {} -l a.zip", "unzip -p a.zip {}"),
    "sqlite3": ("sqlite3 {} t.db 'select 1'", "sqlite3 -readonly t.db {}"),
    "openssl-x509": ("openssl x509 {} -in a.pem -noout", "openssl x509 -in a.pem {}"),
    "wget": ("wget {} -qO- http://example.org/a", "wget --spider {} http://example.org/a"),
    "gh-api": ("gh api {} repos/o/r",),
    "kubectl-get": ("kubectl get pods {}",),
    "docker-ps": ("docker ps {}",),
    "env": ("env {} ls", "env {}"),
    "ls": ("ls {}", "ls {} src"),
    "cat": ("cat {} f.txt",),
    "head": ("head {} f.txt",),
    "wc": ("wc {} f.txt",),
}
"""Of each tool the texts that an option is put into. `git-diff` is the subcommand `diff` of `git`."""

VALUES = (
    "1",
    "f.txt",
    "new.out",
    "./run.sh",
    "whoami",
    "always",
    "name",
    "x",
    "/dev/stdin",
    "HEAD",
    "'w new.out'",
    "'{{}} ;'",
    "'./run.sh' {{}} +",
    "'BEGIN{{print > \"new.out\"}}'",
    "'BEGIN{{system(\"./run.sh\")}}'",
    "a=b",
    "@f.txt",
    "http://example.org/b",
    ".",
    "src",
)
"""What may stand where an option takes a value. `run.sh` is a program of the world that does nothing."""

STDIN = 'y\nw new.out\nBEGIN{print > "new.out"}\n'
PAIRS = 300
MOST = 2_000
SEED = 20261130
TIMEOUT_S = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `fuzz` may be told."""
    parser.add_argument("tools", nargs="+", metavar="TOOL", choices=[*TOOLS, "all"], help=", ".join(TOOLS))
    parser.add_argument("--world", choices=("plain", "hostile"), default="plain")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="texts with two options at once")
    parser.add_argument(
        "--most", type=int, default=MOST, help="runs of a tool; drawn from all texts (0: all)"
    )
    parser.add_argument(
        "--one-base", action="store_true", help="every option, spelling and value, in one text each"
    )
    parser.add_argument("--save", type=Path, help="every refuted text, one JSON object a line")


def main(args: argparse.Namespace) -> int:
    """Tries each tool; gives 1 where an option with an effect is called a read."""
    found = 0
    names = list(TOOLS) if args.tools == ["all"] else args.tools
    with Witness(timeout=TIMEOUT_S, backend=args.backend) as witness:
        for name in names:
            begun = time.monotonic()
            texts = list(dict.fromkeys(texts_of(name, witness, args.pairs, one_base=args.one_base)))
            reads = [text for text in texts if classify(text).read_only]
            chosen = reads
            if args.most and len(reads) > args.most:
                chosen = random.Random(SEED).sample(reads, args.most)
            refuted = 0
            for text in chosen:
                report = witness.run(text, world=args.world, stdin=STDIN)
                judgement = judge(report)
                if judgement.outcome == "refuted":
                    refuted += 1
                    print(f"refuted\t{text}\t{'; '.join(judgement.reasons[:3])}")
                    if args.save:
                        with args.save.open("a", encoding="utf-8") as stream:
                            print(json.dumps({"text": text, "reasons": judgement.reasons}), file=stream)
            found += refuted
            figures = f"{len(texts)} texts, {len(reads)} called a read, {len(chosen)} run, {refuted} refuted"
            print(f"{name}: {figures}, {time.monotonic() - begun:.0f} s")
            sys.stdout.flush()
    return int(found > 0)


def texts_of(name: str, witness: Witness, pairs: int = PAIRS, *, one_base: bool = False) -> Iterator[str]:
    """Every text to try for a tool; with `one_base` each option, spelling and value in one text, drawn by lot."""
    bases = TOOLS[name]
    lot = random.Random(SEED)
    options = sorted(options_of(name, witness))
    forms: list[str] = []
    for option in options:
        forms += _spelled(option)
    shorts = [option for option in options if re.fullmatch(r"-\w", option)]
    for one, other in pairwise(shorts):
        forms += [
            f"{one}{other[1]}",
            f"{other}{one[1]}",
            f"{one}{other[1]} new.out",
            f"{one}{other[1]}new.out",
        ]
    forms += VALUES
    for form in forms:
        for base in (lot.choice(bases),) if one_base else bases:
            yield base.format(form.replace("{{", "{").replace("}}", "}"))
    choose = random.Random(SEED)
    for _ in range(pairs):
        form = " ".join(choose.sample(forms, 2))
        yield choose.choice(bases).format(form.replace("{{", "{").replace("}}", "}"))


def _spelled(option: str) -> Iterator[str]:
    """One option alone, with each value in each form, and abbreviated."""
    yield option
    for value in VALUES:
        yield f"{option} {value}"
        yield f"{option}={value}"
        if not option.startswith("--"):
            yield f"{option}{value}"
    if option.startswith("--"):
        for length in range(3, len(option)):
            for value in ("", "=new.out", " new.out", "=./run.sh"):
                yield f"{option[:length]}{value}"


def options_of(name: str, witness: Witness) -> set[str]:
    """The options of a tool: what its manual, its help and its rule name."""
    words = (
        name.split("-", 1) if name.startswith(("git-", "openssl-", "gh-", "kubectl-", "docker-")) else [name]
    )
    program = {"fd": "fdfind"}.get(words[0], words[0])
    call = shlex.join([program, *words[1:]])
    found: set[str] = set()
    for command in (
        f"man {name} | col -b",
        f"{call} --help",
        f"{call} -h",
        f"{call} --help=all",
        f"{call} --help all",
    ):
        report = witness.run(f"{command} 2>&1", timeout=8)
        found |= {
            option.rstrip("-") for option in re.findall(r"(?<![\w-])--?[A-Za-z0-9][\w-]*", report.stdout)
        }
    found |= _options_of_rule(words)
    return {option for option in found if 1 < len(option) < 40}


def _options_of_rule(words: list[str]) -> set[str]:
    rule = Shelf.default().get(words[0])
    if not isinstance(rule, CommandRule):
        return set()
    spec: Spec = rule.spec
    found = set(spec.options)
    for word in words[1:]:
        below = spec.subcommands.get(word)
        if below is None:
            break
        spec = below
        found |= set(spec.options)
    return found
