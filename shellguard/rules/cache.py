# SPDX-License-Identifier: Apache-2.0
"""Compiled rules for rules that were not compiled with the package: made once, kept in the user's cache.

The name of the file is a hash of the rules' content and of the code, so a file that is there is never stale. One that
somebody else could have written is not read.
"""

from __future__ import annotations

import os

from shellguard import places
from shellguard._version import __version__
from shellguard.errors import RuleError
from shellguard.rules.compiled import FORMAT, Compiled, compiled_text
from shellguard.rules.model import BrokenRule, CommandRule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.rules.shelf import Shelf

COMPILED_NAME = "compiled.rules"
"""The compiled rules inside the folder of the shipped ones, put there when the wheel is built."""


def content_of(folder: str, files: list[str]) -> str:
    """A hash of the rule files of a folder, names and content: 32 hex digits."""
    from _blake2 import blake2b

    from shellguard.rules.tree import read_bytes

    digest = blake2b(digest_size=16)
    for path in files:
        try:
            data = read_bytes(os.path.join(folder, path), folder, path)
        except RuleError:
            data = b""  # the loader says what is wrong with it
        digest.update(f"{path}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
        digest.update(data)
    return digest.hexdigest()


def compiled_rules(content: str) -> Compiled | None:
    """The compiled file for rules of this content, if there is one that only this user could have written."""
    path = _cached(content)
    if not places.is_ours(path) or not places.is_ours(os.path.dirname(path)):
        return None
    try:
        return Compiled(path)
    except RuleError:
        return None


def compile_rules(shelf: Shelf) -> bytes:
    """The compiled file for a shelf. A broken file is compiled as a broken rule, which says what is wrong with it."""
    rules = {
        name: rule for name in shelf.names() if isinstance(rule := shelf.get(name), (CommandRule, BrokenRule))
    }
    try:
        gates = shelf.gates
    except RuleError:
        gates = None  # a compiled file without gates says that it has none when it is asked
    return compiled_text(rules, shelf.variables, shelf.paths, shelf.policies, shelf.content, gates)


def keep(shelf: Shelf) -> str:
    """Compiles a shelf into the user's cache and gives back the path. Raises OSError when that cannot be written."""
    return keep_bytes(shelf.content, compile_rules(shelf))


def keep_bytes(content: str, data: bytes) -> str:
    """Puts a compiled file for rules of this content into the user's cache. Raises OSError when that cannot be written,
    or when somebody else can write there: it would not be read."""
    path = _cached(content)
    folder = os.path.dirname(path)
    if os.path.lexists(folder) and not places.is_ours(folder):
        raise PermissionError(f"{folder} is not this user's alone")
    places.write_private(path, data)
    return path


def _cached(content: str) -> str:
    return os.path.join(places.folder("cache"), f"{content}-{FORMAT}-{__version__}.rules")
