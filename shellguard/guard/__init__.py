# SPDX-License-Identifier: Apache-2.0
"""The guard: is this agent going in circles? It goes by what a call does and by what it returned.

    >>> from shellguard.guard import Controller, GuardConfig, ToolCall, ToolResult
    >>> guard = Controller(GuardConfig.from_mapping({"hard_stop_enabled": True}))
    >>> guard.before(ToolCall("bash", {"command": "git status"})).action
    'allow'

`step` is the whole of it as one pure function; `Controller` keeps its state by session, and `Store` keeps the state in
a file for processes that live for one call. Each name is imported when it is first asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.guard.config import GuardConfig
    from shellguard.guard.controller import Controller
    from shellguard.guard.events import Event
    from shellguard.guard.model import Decision, ToolCall, ToolResult
    from shellguard.guard.steps import step
    from shellguard.guard.store import Store
    from shellguard.guard.window import State

__all__ = [
    "Controller",
    "Decision",
    "Event",
    "GuardConfig",
    "State",
    "Store",
    "ToolCall",
    "ToolResult",
    "step",
]

_HOMES = {
    "Controller": "controller",
    "Decision": "model",
    "Event": "events",
    "GuardConfig": "config",
    "State": "window",
    "Store": "store",
    "ToolCall": "model",
    "ToolResult": "model",
    "step": "steps",
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
