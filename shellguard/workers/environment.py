# SPDX-License-Identifier: Apache-2.0
"""What a worker finds in its environment: a list of what is allowed, what its profile names, and its card.

Never a copy of somebody's environment: a secret that nobody thought of is not in it. The supervisor gets less still.
"""

from __future__ import annotations

import os
import sys

from shellguard.workers import trusted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from shellguard.workers.profiles import Profile

PASSED = (
    *("LANG", "LANGUAGE", "TZ", "USER", "LOGNAME"),
    *("LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME"),
    *("LC_ADDRESS", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_NAME", "LC_PAPER", "LC_TELEPHONE"),
)
"""Taken from the dispatcher as they are. Written out, because `LC_ANYTHING` is how some send a secret through ssh."""

WINDOWS = ("SystemRoot", "SystemDrive", "windir", "ComSpec", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE")
"""Without these, programs of Windows do not start."""

CONTRACT = (
    *("SHELLGUARD_CARD", "SHELLGUARD_RUN", "SHELLGUARD_BOARD", "SHELLGUARD_WORKSPACE", "SHELLGUARD_TOKEN"),
    *("SHELLGUARD_LOG", "SHELLGUARD_SESSION"),
)
"""What every worker is told. The session is the card: it is how a command that waits for a person is found."""

SETTINGS = "SHELLGUARD_SETTINGS"
"""JSON: the settings of the card, for an agent. A command is not told them."""

SUPERVISOR = ("LANG", "TZ")


def build(
    profile: Profile,
    *,
    card: str,
    run: str,
    workspace: str,
    token: str,
    log: str,
    home: str,
    tmp: str,
    board: str = "",
    settings: str | None = None,
    given: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment of a worker. `given`: that of the dispatcher; `home`: its private HOME, `tmp`: its TMPDIR.

    `board` is the address of its desk; the supervisor, which opens the desk, sets it.
    """
    source = os.environ if given is None else given
    found = {name: value for name, value in source.items() if name in PASSED}
    if sys.platform == "win32":
        known = {name.upper(): name for name in WINDOWS}
        found |= {known[name.upper()]: value for name, value in source.items() if name.upper() in known}
    found |= {name: source[name] for name in profile.environment if name in source}
    search = trusted.default_search() if profile.search is None else profile.search
    found["PATH"] = os.pathsep.join(search)
    found["HOME"] = source.get("HOME", os.path.expanduser("~")) if profile.home == "own" else home
    found["TMPDIR"] = tmp
    if sys.platform == "win32":
        found["TMP"] = found["TEMP"] = tmp
        found["USERPROFILE"] = found["HOME"]
    found |= {
        "SHELLGUARD_CARD": card,
        "SHELLGUARD_RUN": run,
        "SHELLGUARD_BOARD": board,
        "SHELLGUARD_WORKSPACE": workspace,
        "SHELLGUARD_TOKEN": token,
        "SHELLGUARD_LOG": log,
        "SHELLGUARD_SESSION": card,
    }
    if profile.is_agent and settings is not None:
        found[SETTINGS] = settings
    return found


def for_supervisor(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of the supervisor. What it works with comes on its input, where no other process can look."""
    source = os.environ if given is None else given
    found = {name: source[name] for name in SUPERVISOR if name in source}
    if sys.platform == "win32":
        found |= {name: value for name, value in source.items() if name.upper() in ("SYSTEMROOT", "TEMP")}
    found["PATH"] = os.pathsep.join(trusted.default_search())
    return found
