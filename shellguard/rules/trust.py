# SPDX-License-Identifier: Apache-2.0
"""Which rule files of projects their owner has looked at and trusts: each by its path and its content.

The list lies in the state folder, outside every project, for this user alone. One that somebody else could have
written trusts nothing. A file that is changed is not the file that was trusted.
"""

from __future__ import annotations

import os

from shellguard import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_HEAD = "shellguard-trust 1\n"


def store() -> str:
    """The file that holds the list."""
    return os.path.join(places.folder("state"), "trusted-rules")


def digest_of(data: bytes) -> str:
    """The hash by which a content is trusted: 64 hex digits of BLAKE2b."""
    from _blake2 import blake2b

    return blake2b(data, digest_size=32).hexdigest()


def can_hold(path: str) -> bool:
    """Whether the list can name this path: one with a line break, or with a byte that is no UTF-8, it cannot."""
    return path.isprintable()


class Trusted:
    """The list, as it was when it was read: absolute real path -> hash of the trusted content."""

    __slots__ = ("entries",)

    def __init__(self, entries: dict[str, str] | None = None) -> None:
        self.entries = {} if entries is None else entries

    @classmethod
    def read(cls) -> Trusted:
        """The list of this user. Empty when there is none, or when somebody else could have written it."""
        path = store()
        if not (places.is_ours(path) and places.is_ours(os.path.dirname(path))):
            return cls()
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except (OSError, ValueError):
            return cls()
        if not text.startswith(_HEAD):
            return cls()
        lines = [line.partition("\t") for line in text[len(_HEAD) :].split("\n") if line]
        return cls({path: digest for digest, _, path in lines})

    def holds(self, path: str, data: bytes) -> bool:
        """Whether the file at this absolute real path is trusted with this content."""
        known = self.entries.get(path)
        return known is not None and known == digest_of(data)

    def add(self, path: str, data: bytes) -> None:
        """Trusts this content of the file. Raises ValueError for a path that `can_hold` refuses."""
        if not can_hold(path):
            raise ValueError("the path holds characters that the list of trusted files cannot")
        self.entries[path] = digest_of(data)

    def forget(self, paths: Iterable[str]) -> list[str]:
        """Takes the trust in these files back; those that had it."""
        return [path for path in paths if self.entries.pop(path, None) is not None]

    def write(self) -> None:
        """Keeps the list. Raises OSError."""
        lines = "".join(f"{digest}\t{path}\n" for path, digest in sorted(self.entries.items()))
        places.write_private(store(), f"{_HEAD}{lines}".encode())
