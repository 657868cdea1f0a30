# SPDX-License-Identifier: Apache-2.0
"""Public commands for measuring. They are not part of the project: SHELLGUARD_CORPORA names the folder that
holds them."""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path

NAMES = ("agent", "tldr", "nl2bash")


def corpora_folder(given: str | None = None) -> Path | None:
    """The folder with the corpora: the one given, or the one that the environment names; None without one."""
    name = given or os.environ.get("SHELLGUARD_CORPORA")
    return Path(name) if name else None


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
