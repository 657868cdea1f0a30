# SPDX-License-Identifier: Apache-2.0
"""The bytecode of this file holds that of all modules that a hook loads: see `shellguard.cli.start`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import TypeAlias

    Stamps: TypeAlias = tuple[tuple[str, int, int], ...]
    Codes: TypeAlias = tuple[tuple[str, CodeType, str, bool], ...]

KEPT: tuple[Stamps, Codes] | None = None
"""Of each source its path, time in nanoseconds and size; and of each module, behind those that it needs, its name,
its code, its source, and whether it is a package. None: nothing is kept.
"""
