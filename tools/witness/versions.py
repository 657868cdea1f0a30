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
def _owners() -> dict[str, str]:
    """Of every program in a folder of PATH the Debian package it belongs to, asked once for all: each call is slow."""
    patterns = [
        f"{folder}/*" for folder in ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/games", "/usr/lib")
    ]
    found = {}
    for line in _run("dpkg-query", "--search", *patterns):
        owner, _, path = line.partition(": ")
        found[path] = owner.split(",")[0]
    return found


@cache
def _versions() -> dict[str, str]:
    lines = _run("dpkg-query", "--show", "--showformat=${binary:Package} ${Version}\n")
    return dict(line.split(" ", 1) for line in lines if " " in line)


def packaged_version(place: str) -> str | None:
    """The upstream version of the Debian package that a file belongs to."""
    for path in (place, os.path.realpath(place), f"/usr{place}", place.removeprefix("/usr")):
        owner = _owners().get(path)
        if owner:
            version = _versions().get(owner) or _versions().get(owner.partition(":")[0], "")
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
    for option in ("--version", "version"):
        report = witness.run(f"{place} {option}", timeout=3)
        match = re.search(r"\d+\.\d+(\.\d+)?", report.stdout)
        if report.exit_code == 0 and match:
            return match[0]
    return "?"


def _run(*command: str) -> list[str]:
    """The lines of what a command prints; none where it is absent."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines()
