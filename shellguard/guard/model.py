# SPDX-License-Identifier: Apache-2.0
"""What a harness hands to the guard, a call and its result, and what it gets back: a decision."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

ALLOW, WARN, BLOCK, HALT = "allow", "warn", "block", "halt"
ACTIONS = (ALLOW, WARN, BLOCK, HALT)
"""From mild to strict. `allow` and `warn` let the call run; `block` refuses it, `halt` ends the turn too."""

READ, WAIT, WRITE, UNKNOWN = "read", "wait", "write", "unknown"
CLASSES = (READ, WAIT, WRITE, UNKNOWN)
"""What a call may be. A wait is a read that declares a pause."""


class ToolCall:
    """One call of a tool, as the model made it.

    `args` is the mapping of its arguments; anything else counts as no arguments. `call_id` names the call where the
    host has a name for it: the same call seen twice counts once. `session` and `agent` (the sub-agent) say whose call
    it is, `group` which reply of the model it stands in. `started_at` is in seconds; None is now. `read_only` is what
    an MCP server says of the tool; it counts only where the configuration trusts such hints.
    """

    __slots__ = ("agent", "args", "call_id", "cwd", "group", "read_only", "session", "started_at", "tool")

    def __init__(
        self,
        tool: str,
        args: object = None,
        call_id: str = "",
        session: str = "",
        agent: str = "",
        cwd: str = "",
        started_at: float | None = None,
        group: str = "",
        read_only: bool = False,
    ) -> None:
        self.tool, self.call_id, self.session, self.agent = tool, call_id, session, agent
        self.args: Mapping[str, Any] = args if isinstance(args, dict) else {}
        self.cwd, self.started_at, self.group, self.read_only = cwd, started_at, group, read_only


class ToolResult:
    """What a call returned.

    `content` is a text, parsed JSON, or a list of parts (`{"type": "text", "text": ...}`); None where there is none.
    `sha256` stands for a text that is not at hand. `failed` is what the host says, None where it says nothing: then
    it is worked out. `elapsed` is in seconds, `ended_at` too; None is now.
    """

    __slots__ = ("content", "elapsed", "ended_at", "exit_code", "failed", "sha256")

    def __init__(
        self,
        content: object = None,
        failed: bool | None = None,
        exit_code: int | None = None,
        elapsed: float | None = None,
        sha256: str = "",
        ended_at: float | None = None,
    ) -> None:
        self.content, self.failed, self.exit_code = content, failed, exit_code
        self.elapsed, self.sha256, self.ended_at = elapsed, sha256, ended_at


class Decision:
    """What is to be done with a call, or what is to be said about its result.

    `action` is one of `ACTIONS`, `code` says which detector speaks (`allow` for none), `text` is the one text for the
    agent (empty for none), `count` what was counted. `signature` names the call without showing its arguments;
    `call_class` is one of `CLASSES`. `ask` says that a person may be asked in place of a block.
    """

    __slots__ = ("action", "ask", "call_class", "code", "count", "period", "signature", "text", "tool")

    def __init__(
        self,
        action: str = ALLOW,
        code: str = ALLOW,
        text: str = "",
        count: int = 0,
        signature: str = "",
        call_class: str = UNKNOWN,
        tool: str = "",
        ask: bool = False,
        period: int = 0,
    ) -> None:
        self.action, self.code, self.text, self.count = action, code, text, count
        self.signature, self.call_class, self.tool = signature, call_class, tool
        self.ask, self.period = ask, period

    @property
    def allows(self) -> bool:
        """Whether the call may run."""
        return self.action in (ALLOW, WARN)

    def as_mapping(self) -> dict[str, Any]:
        """The decision as JSON has it. No argument of the call is in it."""
        found: dict[str, Any] = {
            "action": self.action,
            "code": self.code,
            "text": self.text,
            "count": self.count,
            "class": self.call_class,
            "signature": self.signature,
        }
        if self.ask:
            found["ask"] = True
        if self.period:
            found["period"] = self.period
        return found

    def __repr__(self) -> str:
        return f"Decision({self.action!r}, {self.code!r}, count={self.count}, call_class={self.call_class!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.action, self.code, self.count, self.signature))
