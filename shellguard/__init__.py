# SPDX-License-Identifier: Apache-2.0
"""shellguard judges shell text: does it only read, does it change something, or can nobody tell?

    >>> from shellguard import classify
    >>> classify("cd ~/repo && git status").read_only
    True

Nine names are public and stable (docs/stability.md). Each is imported when it is first asked for, so that a hook
pays only for what it uses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.effects import Effect
    from shellguard.engine import classify
    from shellguard.errors import RuleError, ShellguardError, ShellSyntaxError
    from shellguard.rules.shelf import Shelf
    from shellguard.syntax.parse import parse
    from shellguard.verdict import Policy, Verdict

__all__ = [
    "Effect",
    "Policy",
    "RuleError",
    "Shelf",
    "ShellSyntaxError",
    "ShellguardError",
    "Verdict",
    "classify",
    "parse",
]

_HOMES = {
    "Effect": "effects",
    "Policy": "verdict",
    "RuleError": "errors",
    "Shelf": "rules.shelf",
    "ShellSyntaxError": "errors",
    "ShellguardError": "errors",
    "Verdict": "verdict",
    "classify": "engine",
    "parse": "syntax.parse",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
