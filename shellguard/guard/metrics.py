# SPDX-License-Identifier: Apache-2.0
"""Warnings, blocks and halts as a counter of OpenTelemetry, where that is installed.

    guard = Controller(config, on_event=counter())

Sends nothing by itself: without an SDK that the host has set up, the API counts into nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

NAME = "shellguard.guard.decisions"


def counter(meter: Any = None) -> Callable[[dict[str, Any]], None]:
    """A function for `on_event` that adds 1 to `shellguard.guard.decisions` with action, code, class and tool.

    `meter` is one of OpenTelemetry's; the global one when it is left out. Raises ImportError where there is no
    `opentelemetry`.
    """
    if meter is None:
        from importlib import import_module

        meter = import_module("opentelemetry.metrics").get_meter("shellguard")
    made = meter.create_counter(NAME, description="What the guard against loops said")

    def count(event: dict[str, Any]) -> None:
        made.add(1, {name: event[name] for name in ("action", "code", "class", "tool")})

    return count
