# SPDX-License-Identifier: Apache-2.0
"""The log of decisions: one line of JSON for each, in the state folder, bounded in size.

No command is in it unless it was asked for: a hash of its normal spelling names it, and the facts say what
was seen. A line is written in one piece at the end of the file, so calls at the same time do not mix; a full
file becomes `.1`.
"""

from __future__ import annotations

import os

from shellguard import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

NAME = "decisions.jsonl"
MOST_FACTS = 20
"""Facts of one decision that are written down; how many there were is too."""


def path() -> str:
    """The file that is written to now."""
    return os.path.join(places.folder("state"), "log", NAME)


def new_id() -> str:
    """A name for one decision: 12 hex digits that no other has, for as long as anybody looks."""
    return os.urandom(6).hex()


def append(entry: dict[str, Any], max_bytes: int) -> None:
    """Writes one line. Raises OSError when it cannot."""
    from shellguard.agents.jsontext import dumps

    file = path()
    line = dumps(entry).encode("ascii") + b"\n"
    try:
        descriptor = _open(file)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
        descriptor = _open(file)
    try:
        os.write(descriptor, line)
        full = os.fstat(descriptor).st_size > max_bytes // 2
    finally:
        os.close(descriptor)
    if full:
        try:
            os.replace(file, f"{file}.1")
        except OSError:
            return  # another call has just done it


def _open(file: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | places.BINARY | getattr(os, "O_CLOEXEC", 0)
    return os.open(file, flags, 0o600)


def entries() -> Iterator[dict[str, Any]]:
    """Every decision that is still there, oldest first. Lines that are no JSON are passed over."""
    from json import loads

    for file in (f"{path()}.1", path()):
        try:
            with open(file, encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    try:
                        entry = loads(line)
                    except ValueError:
                        continue
                    if isinstance(entry, dict):
                        yield entry
        except OSError:
            continue
