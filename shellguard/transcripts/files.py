# SPDX-License-Identifier: Apache-2.0
"""Files as sources of lines or of one JSON document: compressed or not, cut or whole, with limits.

A line or a document that is too long is named, and so is a file that grows beyond measure when it is unpacked.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from shellguard.transcripts.model import Problem

MAX_LINE = 64 * 1024 * 1024
"""Bytes of a line of JSON Lines."""

MAX_DOCUMENT = 512 * 1024 * 1024
"""Bytes of a file that is one JSON document; it is held in memory as a whole."""

FREE_EXPANSION = 64 * 1024 * 1024
MAX_RATIO = 100
"""A compressed file may unpack to `FREE_EXPANSION` bytes and `MAX_RATIO` times what was read of it."""

SAMPLE = 256 * 1024
"""Bytes at the beginning of a file that its format is told from."""

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
_COMMON_NAMES = frozenset(
    {
        *(
            "trajectory",
            "output",
            "messages",
            "history",
            "log",
            "session",
            "conversation",
            "transcript",
            "events",
        ),
        *("chat", "result", "results", "calls", "state", "run", "trace", "checkpoint", "response", "wire"),
    }
)
COMPRESSED_SUFFIXES = (".gz", ".zst", ".bz2", ".xz")


class UnreadableError(Exception):
    """A file of which nothing counts: damaged, too long, growing beyond measure, or in want of a package."""


class BombError(UnreadableError):
    """A compressed file that unpacks to far more than transcripts do."""


class Source:
    """A transcript: one file, or a folder of them that belong together.

    `path` names it in what is said of it. `files` are its parts in order. `named` is whether a person named it: in a
    folder a file that is no transcript is nothing to speak of.
    """

    __slots__ = ("_document", "files", "named", "path")

    def __init__(self, path: str, files: tuple[str, ...] | None = None, *, named: bool = True) -> None:
        self.path, self.named = path, named
        self.files = (path,) if files is None else files
        self._document: Any = None

    def problem(self, message: str, line: int | None = None) -> Problem:
        """What is said of this source."""
        return Problem(self.path, line, message)

    @property
    def stem(self) -> str:
        """What a session is called whose record does not say: the name of the file without its endings.

        Of a name that many runs give their file, the two folders above are a part.
        """
        folder, name = os.path.split(self.path.rstrip("/\\"))
        for suffix in (*COMPRESSED_SUFFIXES, ".jsonl", ".ndjson", ".json", ".traj", ".eval"):
            name = name.removesuffix(suffix)
        if name.lower() not in _COMMON_NAMES:
            return name
        return "/".join(
            [*[part for part in folder.replace("\\", "/").split("/") if part not in ("", ".")][-2:], name]
        )

    def sample(self, most: int = SAMPLE) -> bytes:
        """The beginning, unpacked: so many bytes. Raises OSError and UnreadableError."""
        with opened(self.files[0]) as stream:
            return _read(stream, most)

    def lines(self) -> Iterator[tuple[int, bytes | None]]:
        """Number (from 1) and bytes of each line that is not blank, without its end; None for one that is too long.

        Raises OSError, and UnreadableError when a compressed file is damaged or a bomb; lines before were given.
        """
        with opened(self.files[0]) as stream:
            for number, line in enumerate(bounded_lines(stream), 1):
                if line is None or (line and not line.isspace()):
                    yield number, line

    def records(self) -> Iterator[tuple[int, dict[str, Any] | Problem]]:
        """The JSON object of each line; a `Problem` in place of one that is none."""
        for number, line in self.lines():
            yield number, self.record(number, line)

    def record(self, number: int, line: bytes | None) -> dict[str, Any] | Problem:
        """The JSON object of a line, or what is wrong with it."""
        if line is None:
            return self.problem(f"a line of more than {MAX_LINE} bytes", number)
        try:
            value = json.loads(line.decode("utf-8", "replace").removeprefix("\ufeff"))
        except (ValueError, RecursionError) as error:
            return self.problem(f"not JSON: {_reason(error)}", number)
        return value if isinstance(value, dict) else self.problem("a line that is no JSON object", number)

    def document(self) -> Any:
        """The whole file as JSON, read once. Raises UnreadableError and OSError."""
        if self._document is None:
            self._document = read_document(self.files[0])
        return self._document


def read_document(path: str) -> Any:
    """A file as JSON. Raises UnreadableError and OSError."""
    with opened(path) as stream:
        data = _read(stream, MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise UnreadableError(f"a document of more than {MAX_DOCUMENT} bytes")
    try:
        return json.loads(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"cut or damaged JSON: {_reason(error)}") from None


def _reason(error: BaseException) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def bounded_lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """The lines of a stream without their ends; None for one of more than `MAX_LINE` bytes, which is not kept."""
    while True:
        line = stream.readline(MAX_LINE + 1)
        if not line:
            return
        if len(line) > MAX_LINE and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_LINE)
            yield None
        else:
            yield line.rstrip(b"\r\n")


def opened(path: str) -> BinaryIO:
    """The file, unpacked while it is read when it is compressed. Raises OSError and UnreadableError."""
    raw = open(path, "rb")  # noqa: SIM115 - closed by the stream around it
    head = raw.read(6)
    raw.seek(0)
    kind = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    if kind is None:
        return raw
    return io.BufferedReader(_Unpacked(raw, kind), buffer_size=1 << 18)


class _Unpacked(io.RawIOBase):
    """A decompressed stream that counts: what grows beyond measure raises BombError, damage UnreadableError."""

    def __init__(self, raw: BinaryIO, kind: str) -> None:
        self._raw = raw
        self._given = 0
        self._errors: tuple[type[Exception], ...] = (
            EOFError,
            OSError,
            ValueError,
            zlib.error,
            lzma.LZMAError,
        )
        self._stream: Any
        if kind == "gzip":
            self._stream = gzip.GzipFile(fileobj=raw)
        elif kind == "bzip2":
            self._stream = bz2.BZ2File(raw)
        elif kind == "xz":
            self._stream = lzma.LZMAFile(raw)  # noqa: SIM115 - closed with the file below it
        else:
            self._stream, error = zstd_stream(raw)
            self._errors = (*self._errors, error)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read(len(buffer))
        except self._errors as error:
            raise UnreadableError(f"damaged or cut compressed data: {error}") from None
        self._given += len(data)
        if self._given > FREE_EXPANSION + MAX_RATIO * self._raw.tell():
            raise BombError(f"unpacks to more than {MAX_RATIO} times its size; skipped")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


def zstd_stream(raw: BinaryIO) -> tuple[BinaryIO, type[Exception]]:
    """The unpacked stream, and what it raises on damage."""
    try:
        import zstandard
    except ImportError:
        raise UnreadableError("compressed with zstd: install shellguard-engine[corpora] to read it") from None
    return zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True), zstandard.ZstdError


def _read(stream: BinaryIO, most: int) -> bytes:
    """At most so many bytes: one `read` may give fewer."""
    pieces = []
    while most > 0:
        piece = stream.read(min(most, 1 << 22))
        if not piece:
            break
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)
