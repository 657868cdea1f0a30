# SPDX-License-Identifier: Apache-2.0
"""Public commands for measuring. They are not part of the project: SHELLGUARD_CORPORA names the folder that
holds them."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import sys
from pathlib import Path

NAMES = ("agent", "tldr", "nl2bash")


def corpora_folder(given: str | None = None) -> Path | None:
    """The folder with the corpora: the one given, or the one that the environment names; None without one."""
    name = given or os.environ.get("SHELLGUARD_CORPORA")
    return Path(name) if name else None


def add_option(parser: argparse.ArgumentParser) -> None:
    """`--corpora DIR`, the option of a tool that measures over them."""
    parser.add_argument(
        "--corpora", metavar="DIR", help="folder with the corpora; default: SHELLGUARD_CORPORA"
    )


def wanted_folder(given: str | None) -> Path | None:
    """The folder for a tool that cannot do without; None when there is none, which is said."""
    folder = corpora_folder(given)
    if folder is None:
        print("no corpora: give --corpora DIR or set SHELLGUARD_CORPORA", file=sys.stderr)
    return folder


def read_corpus(folder: Path, name: str) -> list[str]:
    """The distinct commands of a corpus, in the order of the file."""
    with gzip.open(folder / f"{name}-commands.jsonl.gz", "rt", encoding="utf-8") as stream:
        return list(dict.fromkeys(json.loads(line)["command"] for line in stream))


def sample(commands: list[str], most: int, seed: int) -> list[str]:
    """At most `most` of the commands, the same ones for the same seed, in their order."""
    if len(commands) <= most:
        return commands
    places = sorted(random.Random(seed).sample(range(len(commands)), most))
    return [commands[place] for place in places]
