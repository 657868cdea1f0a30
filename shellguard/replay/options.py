# SPDX-License-Identifier: Apache-2.0
"""How a replay judges, as plain data: it goes to other processes, and into the key of a run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from shellguard._version import __version__
from shellguard.analysis.inquiry import Assumptions
from shellguard.engine import policy_named
from shellguard.guard import GuardConfig
from shellguard.rules.overlay import with_overlays
from shellguard.rules.shelf import Shelf
from shellguard.verdict import Policy

SCHEMA = 1
"""The version of results, of their summaries and of baselines. Fields are added without a new number."""

MAX_COMMAND = 4_000
"""Characters of a command that a result keeps."""


@dataclass(frozen=True, slots=True)
class Options:
    """How calls are judged. `guard` is the configuration of the guard as a mapping, `project` the folder whose rules
    count (None for the shipped rules alone). `raw` keeps secrets, `rows` says that a result for each call is wanted."""

    policy: str = "default"
    shell: str = "bash"
    trust: str = "config"
    unknown_words: str = "worst"
    rules: str | None = None
    project: str | None = None
    guard: dict[str, Any] = field(default_factory=dict)
    raw: bool = False
    rows: bool = True

    def shelf(self) -> Shelf:
        """The rules to judge with."""
        if self.rules is not None:
            return Shelf(folder=self.rules)
        return Shelf.default() if self.project is None else with_overlays(Shelf.default(), self.project)

    def assumptions(self) -> Assumptions:
        """What is taken for granted."""
        return Assumptions(self.shell, self.trust, self.unknown_words)

    def chosen_policy(self, shelf: Shelf) -> Policy:
        """The policy. Raises KeyError for one that there is not."""
        return policy_named(self.policy, shelf)

    def guard_config(self) -> GuardConfig:
        """What the guard does. A replay asks where it would have stopped, so hard stops are on unless the
        configuration says that they are off."""
        section = self.guard.get("tool_loop_guardrails", self.guard)
        section = section if isinstance(section, dict) else {}
        return GuardConfig.from_mapping({"hard_stop_enabled": True, **section})

    def stamp(self, shelf: Shelf) -> dict[str, Any]:
        """What results and baselines record of how they came to be."""
        judged = {
            name: value for name, value in asdict(self).items() if name not in {"rules", "project", "rows"}
        }
        return {
            "schema": SCHEMA,
            "version": __version__,
            "rules": shelf.content,
            "options": json.loads(json.dumps(judged, sort_keys=True, default=str)),
        }
