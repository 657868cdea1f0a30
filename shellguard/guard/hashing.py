# SPDX-License-Identifier: Apache-2.0
"""Names of 64 bits for texts. `_blake2` is what `hashlib` would give, without the 7 ms of importing it."""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # a Python built without it
    from hashlib import blake2b

__all__ = ["blake2b", "named", "shown"]


def named(text: str) -> int:
    """The 64 bits that stand for a text. Lone surrogates are texts too. 0 stands for no text, and is never given."""
    return (
        int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little") or 1
    )


def shown(name: int) -> str:
    """A name of 64 bits as 16 hexadecimal digits."""
    return f"{name:016x}"
