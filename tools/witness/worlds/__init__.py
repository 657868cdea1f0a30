# SPDX-License-Identifier: Apache-2.0
"""The folders that commands are run in: built once, kept in a cache, shown to each command as the bottom of an overlay."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path

from tools.witness.worlds import hostile, plain

_BUILDERS = {"plain": plain.build, "hostile": hostile.build}
NAMES = tuple(_BUILDERS)
OLD_S = 86_400


def built(name: str, cache: str) -> str:
    """The path of a world; it is built where the cache does not have it. Its home folder is what the path names.

    The name in the cache says what it was built by, so that a change of a builder makes a new one.
    """
    target = Path(cache) / f"{name}-{_stamp()}"
    if target.is_dir():
        return str(target)
    for old in Path(cache).glob("*-*"):
        if old.is_dir() and time.time() - old.stat().st_ctime > OLD_S:  # a younger one may be in use
            shutil.rmtree(old, ignore_errors=True)
    new = Path(tempfile.mkdtemp(prefix="new-", dir=cache))
    new.chmod(0o755)
    try:
        _BUILDERS[name](new)
        os.rename(new, target)
    except OSError:
        if not target.is_dir():  # else another session was quicker
            raise
    return str(target)


def _stamp() -> str:
    """A short hash of the builders' text."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
