# SPDX-License-Identifier: Apache-2.0
"""Paths, folders and patterns as sources, in one order on every machine."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator

from shellguard.transcripts.files import COMPRESSED_SUFFIXES, Source
from shellguard.transcripts.model import Problem

SUFFIXES = (".jsonl", ".ndjson", ".json", ".traj", ".db", ".sqlite", ".sqlite3", ".eval", ".parquet")
"""Endings of files that a walk through a folder looks into; what they hold is told from their content."""

_SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "event_cache"})
_NUMBERED = re.compile(r"(\d+)\.json")
_SIDE_FILES = (".config.yaml", "package.json", "package-lock.json", "tsconfig.json")


def discovered(paths: Iterable[str]) -> Iterator[Source | Problem]:
    """The sources behind paths, each file once, folders in the order of their names.

    A path that does not exist and is no pattern with a match is a `Problem`. What a person names is looked into
    whatever it is called; in a folder only what ends as transcripts do.
    """
    seen: set[str] = set()
    for path in paths:
        found = (
            [path] if os.path.lexists(path) else sorted(glob.glob(path, recursive=True, include_hidden=True))
        )
        if not found:
            yield Problem(path, None, "there is no such file or folder")
        for name in found:
            sources = _in_folder(name) if os.path.isdir(name) else [Source(name)]
            for source in sources:
                real = os.path.realpath(source.files[0])
                if real not in seen:
                    seen.add(real)
                    yield source


def _in_folder(folder: str) -> Iterator[Source]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        if "part" in folders and "message" in folders:
            # OpenCode's older layout: a call is spread over the files of two folders.
            yield Source(root, tuple(_every_json(root, ("message", "part"))), named=False)
            folders[:] = [
                name for name in folders if name not in {"message", "part", "session", "project", "todo"}
            ]
        numbered = sorted((int(match[1]), name) for name in files if (match := _NUMBERED.fullmatch(name)))
        if os.path.basename(root) == "events" and numbered:
            # OpenHands keeps one file an event; the folder above is the session.
            yield Source(os.path.dirname(root), tuple(os.path.join(root, name) for _, name in numbered))
            continue
        for name in sorted(files):
            if _is_candidate(name):
                yield Source(os.path.join(root, name), named=False)


def _every_json(root: str, folders: tuple[str, ...]) -> Iterator[str]:
    for folder in folders:
        for below, inner, files in os.walk(os.path.join(root, folder)):
            inner.sort()
            yield from (os.path.join(below, name) for name in sorted(files) if name.endswith(".json"))


def _is_candidate(name: str) -> bool:
    plain = name
    for suffix in COMPRESSED_SUFFIXES:
        plain = plain.removesuffix(suffix)
    return plain.endswith(SUFFIXES) and not plain.endswith(_SIDE_FILES)
