# SPDX-License-Identifier: Apache-2.0
"""Text in, from files and standard input: bytes that are no UTF-8 stay what they are, as lone surrogates (PEP 383)."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO


def decoded(data: bytes) -> str:
    """The text that a shell would read from these bytes."""
    return data.decode("utf-8", errors="surrogateescape")


def read_text(path: str) -> str:
    """The text of a file; `-` is standard input. Raises OSError."""
    if path == "-":
        return decoded(sys.stdin.buffer.read())
    with open(path, "rb") as file:
        return decoded(file.read())


def read_lines(stream: BinaryIO) -> Iterator[str]:
    """The lines of a stream as they arrive, without their newline. Only a newline ends a line."""
    for line in iter(stream.readline, b""):
        yield decoded(line.removesuffix(b"\n"))
