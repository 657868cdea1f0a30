# SPDX-License-Identifier: Apache-2.0
"""What every host has in common: a call as it was told to us, an answer, and the reply as the host wants it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    Payload: TypeAlias = Mapping[str, Any]

ASIDE = frozenset(
    (
        *("description", "explanation", "goal", "justification", "reason", "summary", "title"),
        *("security_risk", "riskLevel", "riskLevelReason"),  # what the model thinks of its own command
        *("timeout", "timeout_ms", "timeoutMs", "timeoutSec", "delay_ms", "yield_time_ms", "block_until_ms"),
        *("initial_wait", "initialWait", "max_output_tokens", "max_output_length", "check_interval"),
        *("background", "run_in_background", "is_background", "isBackground", "async", "detach", "mode"),
        *("fireAndForget", "notify_on_complete", "watch_patterns", "tty", "pty", "login"),
        *("cwd", "workdir", "working_dir", "working_directory", "dir_path", "directory"),
    )
)
"""Arguments of shell tools that do not change what a command is: why, how long, in the background, where. All others
may (`is_input` sends the text to a program that runs, `shell` and `env` say what reads it), also those to come.
"""
NOTHING: tuple[object, ...] = (None, False, "", [], {})
"""Values of an argument that say no more than its absence does."""

PRE, PERMISSION, POST, TURN = "pre", "permission", "post", "turn"
"""Before a call, when the host is about to ask a person, after a call, and when the user has spoken."""

JUDGED_SHELLS = ("bash", "sh", "dash", "zsh")
"""The shells that a text is judged for where nobody says which one reads it."""

SILENT, ALLOW, ASK, DENY = "silent", "allow", "ask", "deny"
"""What may be said of a call. `silent` leaves it to the host."""


class PayloadError(ValueError):
    """The payload is none of this host, or lacks what it must have. The message is for a person, without its
    text.
    """


class Call:
    """One event of a host.

    `event` is one of the four above, `named` the host's own name for it. `tool` and `args` are as the model
    wrote them, `command` is the shell text in them (empty for a turn). `session`, `agent` (the sub-agent) and
    `call_id` are empty where the host says nothing. Of a result: `result` is a text or parsed JSON, `failed`
    and `exit_code` are None where nobody says. `text` is what the user said in a turn.

    What runs may not be what the text says: `odd` names an argument of which nobody knows what it makes of the command
    (empty: none). `shells` names the shells that are judged, for a host that runs what `SHELL` names; empty where it
    runs one of ours whatever `SHELL` says. `typed`: the command is typed into a terminal, where control characters are
    keys (Control-U takes back what was typed before it) and a second line may be read by the program of the first.
    `history`: `!` brings back earlier lines there.
    """

    __slots__ = (
        *("agent", "args", "call_id", "command", "cwd", "event", "exit_code", "failed", "history", "named"),
        *("odd", "result", "session", "shells", "text", "tool", "typed"),
    )

    def __init__(
        self,
        event: str,
        named: str,
        tool: str = "",
        args: dict[str, Any] | None = None,
        command: str = "",
        cwd: str = "",
        session: str = "",
        agent: str = "",
        call_id: str = "",
        result: object = None,
        failed: bool | None = None,
        exit_code: int | None = None,
        text: str | None = None,
    ) -> None:
        self.event, self.named, self.tool, self.command = event, named, tool, command
        self.args: dict[str, Any] = {} if args is None else args
        self.cwd, self.session, self.agent, self.call_id = cwd, session, agent, call_id
        self.result, self.failed, self.exit_code, self.text = result, failed, exit_code, text
        self.odd, self.typed, self.history = "", False, False
        self.shells: tuple[str, ...] = ()

    def in_terminal(self) -> None:
        """The command is typed into the terminal of a person, with the shell of that person."""
        self.typed = self.history = True
        self.shells = JUDGED_SHELLS


class Answer:
    """What shellguard says of an event, before it takes the form of a host.

    `reason` tells the agent why it is not allowed and what to do instead. `context` is added to a result for
    the model. `note` is for the person. `halt` ends the turn where the host can.
    """

    __slots__ = ("action", "context", "halt", "note", "reason")

    def __init__(
        self, action: str = SILENT, reason: str = "", context: str = "", note: str = "", *, halt: bool = False
    ) -> None:
        self.action, self.reason, self.context, self.note, self.halt = action, reason, context, note, halt


class Reply:
    """What a hook process prints, and its exit status."""

    __slots__ = ("status", "stderr", "stdout")

    def __init__(self, stdout: str = "", stderr: str = "", status: int = 0) -> None:
        self.stdout, self.stderr, self.status = stdout, stderr, status


class Host:
    """One agent host.

    `events` maps the host's names of events to kinds. `decode` gives the call in a payload, None for what is
    no business of ours (another tool, another event), and raises PayloadError for a payload that is wrong.
    `encode` gives the reply to an event by the host's own name of it (empty where it is not known) and its
    kind; it must give a valid one for every answer.

    `can_allow` and `can_ask`: whether the host heeds the word at `PRE`; `allows_at` is the kind of event at
    which it may be allowed. `can_tell`: whether the model gets `context`. `fails_closed` is what our entry
    says so that a hook that dies blocks the call; empty where the host has no such switch.
    """

    __slots__ = (
        *("allows_at", "can_allow", "can_ask", "can_tell", "checked", "decode", "encode", "events"),
        *("fails_closed", "name", "title"),
    )

    def __init__(
        self,
        name: str,
        title: str,
        *,
        decode: Callable[[Payload], Call | None],
        encode: Callable[[str, str, Answer], Reply],
        events: Mapping[str, str],
        checked: str,
        can_allow: bool,
        can_ask: bool,
        can_tell: bool,
        allows_at: tuple[str, ...] = (PRE,),
        fails_closed: str = "",
    ) -> None:
        self.name, self.title, self.decode, self.encode, self.checked = name, title, decode, encode, checked
        self.events = events
        self.can_allow, self.can_ask, self.can_tell = can_allow, can_ask, can_tell
        self.allows_at, self.fails_closed = allows_at, fails_closed


# --- what decoders share ----------------------------------------------------------------------------------------------


def text_at(payload: Payload, *names: str) -> str:
    """The first text under one of these names; empty where there is none."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str):
            return value
    return ""


def call_in(
    payload: Payload,
    events: Mapping[str, str],
    tools: Mapping[str, str],
    *,
    event: str = "hook_event_name",
    session: str = "session_id",
    call_id: str = "tool_use_id",
    said: str = "prompt",
    tool_name: str = "tool_name",
    tool_input: str = "tool_input",
    words: bool = False,
) -> Call | None:
    """The call in a payload, without its result; None for an event or a tool that is no business of ours.

    `events` is the host's; `tools` maps a shell tool, spelled as the host does, to the argument that holds its command;
    the rest are the host's names of fields (`said`: what the user said in a turn). `words`: the host runs a list of
    words as it stands; another may make a text of it in its own way. Raises PayloadError for an event without a name.
    """
    named = text_at(payload, event)
    if not named:
        raise PayloadError("the payload names no event")
    kind = events.get(named)
    if kind is None:
        return None
    if kind == TURN:
        call: Call | None = Call(TURN, named, text=text_at(payload, said))
    else:
        call = _shell_call(payload, kind, named, tools, tool_name, tool_input, words=words)
    if call is not None:
        call.session, call.call_id = text_at(payload, session), text_at(payload, call_id)
    return call


def _shell_call(
    payload: Payload,
    event: str,
    named: str,
    tools: Mapping[str, str],
    tool_name: str,
    tool_input: str,
    *,
    words: bool,
) -> Call | None:
    """The part of a call that most hosts tell alike; None when the tool is no shell.

    Raises PayloadError for a call of a shell whose command cannot be found: nobody may take it for harmless.
    """
    tool = payload.get(tool_name)
    if not isinstance(tool, str) or not tool:
        raise PayloadError("the payload names no tool")
    argument = tools.get(tool)
    if argument is None:
        return None
    args = payload.get(tool_input)
    if isinstance(args, str):
        from shellguard.agents.jsontext import loads

        args = loads(args)
    if not isinstance(args, dict):
        raise PayloadError(f"the call of {tool} has no arguments")
    command = args.get(argument)
    if words and isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        from shellguard.guard.command import command_of

        command = command_of(command)
    if not isinstance(command, str):
        raise PayloadError(f"the call of {tool} has no text in {argument!r}")
    call = Call(event, named, tool, args, command, text_at(payload, "cwd", "working_dir", "workdir"))
    for name, value in args.items():
        if name != argument and name not in ASIDE and value not in NOTHING:
            call.odd = name
    return call


def whole(value: object) -> int | None:
    """A whole number, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
