# SPDX-License-Identifier: Apache-2.0
"""Which version of a tool was run: what the package manager says, else what the tool says of itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache

from tools.witness.client import PATH, Witness

_BUILTINS = frozenset(
    "alias bg break builtin bind caller cd command compgen complete compopt continue declare dirs disown echo"
    " enable eval exec"
    " exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd"
    " pwd read readarray"
    " readonly return set shift shopt source suspend test times trap true type typeset ulimit umask unalias"
    " unset wait . : [".split()
)


def is_builtin(name: str) -> bool:
    """Whether bash runs the command itself."""
    return name in _BUILTINS


@cache
def place_of(names: tuple[str, ...]) -> str | None:
    """Where a tool lies that has one of these names; `bash` for what the shell does itself; None where it is absent."""
    for name in names:
        if name in _BUILTINS:
            return shutil.which("bash", path=PATH)
        found = shutil.which(name, path=PATH)
        if found:
            return found
    return None


@cache
def packaged_version(place: str) -> str | None:
    """The upstream version of the Debian package that a file belongs to."""
    for path in (place, os.path.realpath(place), f"/usr{place}", place.removeprefix("/usr")):
        owner = _run("dpkg-query", "--search", path)
        if owner:
            package = owner.split(": ")[0].split(",")[0]
            version = _run("dpkg-query", "--show", "--showformat=${Version}", package)
            return re.sub(r"^\d+:|[+~-](deb|dfsg|ds|b\d|really).*$|-[\w.+~]+$", "", version) or None
    return None


def version_of(names: tuple[str, ...], witness: Witness) -> str:
    """The version of a tool; `?` where neither its package nor the tool itself tells."""
    place = place_of(names)
    if place is None:
        return ""
    found = packaged_version(place)
    if found:
        return found
    for option in ("--version", "version", "-V"):
        report = witness.run(f"{place} {option}", timeout=5)
        match = re.search(r"\d+\.\d+(\.\d+)?", report.stdout)
        if report.exit_code == 0 and match:
            return match[0]
    return "?"


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except OSError:
        return ""
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else ""
