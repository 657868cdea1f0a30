# SPDX-License-Identifier: Apache-2.0
"""Rows of a corpus: a command and what the reviewer said of it. Each row is a call of its own, without a result.

`{"id", "command", "expect", "why", "source"}`; rows of public commands have `sha256` in place of the text, and no call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shellguard.transcripts.files import Source
from shellguard.transcripts.model import Call, Problem, text

NAME = "corpus"
LACKS = ("results", "the order of commands", "times")

_WORDS = frozenset({"read", "write", "unknown"})


def is_record(record: dict[str, Any]) -> bool:
    """Whether a line is a reviewed row."""
    return (
        ("command" in record or "sha256" in record)
        and text(record.get("expect", record.get("verdict"))) in _WORDS
        and "tool" not in record
    )


def read(source: Source) -> Iterator[Call | Problem]:
    """One call for each row with a text, in its order. What was expected of it is in `args`."""
    for number, record in source.records():
        if isinstance(record, Problem):
            yield record
            continue
        command, expect = record.get("command"), text(record.get("expect", record.get("verdict")))
        if not isinstance(command, str) or expect not in _WORDS:
            if "sha256" not in record:
                yield source.problem(
                    'a row has "command", a text, and "expect": read, write or unknown', number
                )
            continue
        yield Call(
            source=NAME,
            session=text(record.get("id")) or f"{source.stem}:{number}",
            tool="bash",
            args={"command": command, "expect": expect},
            command=command,
            call_id=text(record.get("id")),
        )
