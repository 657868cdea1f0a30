# SPDX-License-Identifier: Apache-2.0
"""What `step` sees of the world: calls, results and turns as names of 64 bits. No argument and no output is in them."""

from __future__ import annotations

from shellguard.guard.model import UNKNOWN

BEFORE, AFTER, TURN, RELEASE, RESERVE = "before", "after", "new_turn", "release", "reserve"
KINDS = (BEFORE, AFTER, TURN, RELEASE, RESERVE)


class Event:
    """One thing that happened in a session, at `at` seconds.

    Of a call: `tool` its name and `name` how it is shown; `key` names tool and arguments, `near` the same without
    numbers (0 where the arguments hold none), `head` tool and program; `call_class`, `pauses` (it declares a pause),
    `call_id` and `group` (0 for none). `shell`, `tolerant`, `inert`, `search` say what kind of tool it is, `agents` how
    many sub-agents it starts.

    Of a result: `digest`, `loose`, `near_digest` (what calls that differ in numbers may share; 0 for nothing),
    `failed`, `vain` and `refusal` as in `digest.Outcome`. Of a turn: `key` names its text (0 for none), `bare` that it
    asks for nothing new. Of a release: `key`. Of a reservation of sub-agents: `agents` are taken or given back, `key`
    many were started.
    """

    __slots__ = (
        *(
            "agents",
            "at",
            "bare",
            "call_class",
            "call_id",
            "digest",
            "failed",
            "group",
            "head",
            "inert",
            "key",
        ),
        *("kind", "loose", "name", "near", "near_digest", "pauses", "refusal", "search", "shell"),
        *("tolerant", "tool", "vain"),
    )

    def __init__(
        self,
        kind: str,
        at: float = 0.0,
        *,
        key: int = 0,
        tool: int = 0,
        name: str = "",
        near: int = 0,
        head: int = 0,
        call_class: str = UNKNOWN,
        call_id: int = 0,
        group: int = 0,
        agents: int = 0,
        digest: int = 0,
        loose: int = 0,
        near_digest: int = 0,
        pauses: bool = False,
        shell: bool = False,
        tolerant: bool = False,
        inert: bool = False,
        search: bool = False,
        failed: bool = False,
        vain: bool = False,
        refusal: bool = False,
        bare: bool = False,
    ) -> None:
        self.kind, self.at, self.key, self.tool, self.name = kind, at, key, tool, name
        self.near, self.head, self.call_class = near, head, call_class
        self.call_id, self.group, self.agents = call_id, group, agents
        self.digest, self.loose, self.near_digest = digest, loose, near_digest
        self.pauses, self.shell, self.tolerant, self.inert, self.search = (
            pauses,
            shell,
            tolerant,
            inert,
            search,
        )
        self.failed, self.vain, self.refusal, self.bare = failed, vain, refusal, bare
