# SPDX-License-Identifier: Apache-2.0
"""`shellguard hook HOST`: one call of a hook, from its payload to what the host shall do. The only place that
fails.

Nothing here allows by failing: what goes wrong is answered as the user chose (`on_error`), in the host's own
form, and written to the log. The exit status is ours: for most hosts 2 means *block*, so no library may
choose it.
"""

from __future__ import annotations

import os
import sys

from shellguard.agents import HOSTS, host_named
from shellguard.agents.jsontext import loads
from shellguard.agents.model import (
    ALLOW,
    ASK,
    DENY,
    POST,
    PRE,
    SILENT,
    TURN,
    Answer,
    PayloadError,
    Reply,
)
from shellguard.agents.settings import Settings, settings_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shellguard.agents.model import Call, Host
    from shellguard.agents.policy import Judgement
    from shellguard.verdict import Verdict

MOST_BYTES = 64_000_000
"""A payload that is longer is not read to its end, and counts as one that cannot be read."""

RUN_BASH_ON_WINDOWS = ("claude",)
"""Hosts whose shell tool is bash there too. The others run PowerShell or cmd, which read a text in another way."""

USAGE = f"usage: shellguard hook HOST [--fail-closed]\nHOST is one of {', '.join(HOSTS)}\n"
FAIL_CLOSED = "--fail-closed"
_ON_ERROR = {"abstain": SILENT, "ask": ASK, "deny": DENY}


class Event:
    """What is known of one call of the hook while it is answered."""

    __slots__ = ("answer", "call", "entry", "host", "kind", "named", "settings")

    def __init__(self, host: Host) -> None:
        self.host = host
        self.call: Call | None = None
        self.settings: Settings | None = None
        self.named, self.kind = "", ""
        self.answer = Answer()
        self.entry: dict[str, Any] = {}


def main(arguments: list[str]) -> int:
    """Answers on standard output, without a buffer that would have to be flushed; the exit status."""
    reply = answered(arguments, read_input())
    status = reply.status
    for stream, text in ((1, reply.stdout), (2, reply.stderr)):
        data = text.encode("utf-8", "backslashreplace")
        try:
            while data:
                data = data[os.write(stream, data) :]
        except OSError:
            status = status or 1
    return status


def read_input() -> bytes | None:
    """All of standard input; None when it cannot be read or is too long."""
    pieces, size = [], 0
    try:
        while piece := os.read(0, 1 << 20):
            pieces.append(piece)
            size += len(piece)
            if size > MOST_BYTES:
                return None
    except OSError:
        return None
    return b"".join(pieces)


def answered(arguments: list[str], data: bytes | None) -> Reply:
    """The reply to a payload. Never raises."""
    names = [argument for argument in arguments if argument != FAIL_CLOSED]
    if len(names) != 1 or names[0] not in HOSTS:
        return Reply("", USAGE, 1)
    try:
        event = Event(host_named(names[0]))
    except BaseException as error:  # noqa: BLE001 - a hook never shows a traceback
        return Reply("", f"shellguard failed: {type(error).__name__}\n", 1)
    try:
        _answer(event, data)
        if FAIL_CLOSED in arguments:
            _close(event)
        reply = event.host.encode(event.named, event.kind, event.answer)
    except BaseException as error:  # noqa: BLE001 - see above
        reply = _failed(event, error)
    _log(event)
    return reply


def _close(event: Event) -> None:
    """For a host that blocks every call without a word of ours: what is no proven read is asked, never
    allowed.
    """
    if event.kind == PRE and event.answer.action == SILENT:
        event.answer = Answer(ASK, event.answer.reason or "shellguard: this is no proven read")


def _answer(event: Event, data: bytes | None) -> None:
    if data is None:
        raise PayloadError("the payload cannot be read, or is too long")
    payload = loads(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8"))
    if not isinstance(payload, dict):
        raise PayloadError("the payload is no object")
    event.named = _name_in(payload)
    event.kind = event.host.events.get(event.named, "")
    call = event.host.decode(payload)
    if call is None:
        event.kind = POST  # nothing to say, in the form of an event at which nothing is decided
        return
    event.call, event.named, event.kind = call, call.named, call.event
    event.settings = settings = settings_for(call.cwd)
    if settings.broken:
        raise PayloadError(settings.broken[0])
    if call.event == TURN:
        _guard(event, settings)
    elif call.event == POST:
        decision = _guard(event, settings)
        if decision is not None and decision.text:
            event.answer = Answer(context=decision.text, halt=decision.action == "halt")
            event.entry["guard"] = decision.code
    else:
        _before(event, call, settings)
    if settings["mode"] == "observe":
        event.entry["would"] = event.answer.action
        if event.answer.context:
            event.entry["would"] = "tell"
        event.answer = Answer()


def _name_in(payload: dict[str, Any]) -> str:
    for key in ("hook_event_name", "event_type", "event", "hookName"):
        name = payload.get(key)
        if isinstance(name, str):
            return name
    return ""


def _before(event: Event, call: Call, settings: Settings) -> None:
    verdict = _verdict(call, settings)
    from shellguard.agents.policy import judge

    judgement = judge(verdict, settings)
    event.entry.update(_seen(verdict, judgement))
    action, reason = judgement.action, judgement.reason
    if call.event == PRE:
        decision = _guard(event, settings)
        if decision is not None and not decision.allows and action != DENY:
            event.entry["guard"] = decision.code
            action, reason = (ASK if decision.ask and event.host.can_ask else DENY), decision.text
    if action == ALLOW:
        doubt = _doubt(event.host, call)
        if doubt:
            event.entry["notes"] = [*event.entry.get("notes", []), doubt]
        if doubt or call.event not in event.host.allows_at:
            action, reason = SILENT, ""
    if action != ALLOW and settings["approval.checkpoint"] and settings["mode"] == "enforce":
        told = _checkpoint(call)
        if told:
            event.entry["deferred"] = True
            action, reason = DENY, told
    event.answer = Answer(action, reason)


def _doubt(host: Host, call: Call) -> str:
    """Why what runs may not be the text that was judged, read as a shell of ours reads it; empty where it is."""
    if sys.platform == "win32":
        return "" if host.name in RUN_BASH_ON_WINDOWS else "on Windows this host runs no shell of ours"
    if call.shells:
        shell = os.environ.get("SHELL", "").rpartition("/")[2]
        if shell and shell not in call.shells:
            return f"this host runs what SHELL names: {shell[:40]}"
    if call.odd:
        return f"nobody knows what the argument {call.odd[:40]!r} makes of the command"
    if call.typed:
        for char in call.command:
            if char < " " or char == "\x7f":
                return "this host types the command, where a control character is a key, and a line may be an answer"
    if call.history and _recalls(call.command):
        return "this host types the command, and `!` in it brings back an earlier one"
    return ""


def _recalls(command: str) -> bool:
    """Whether a shell with a history may put an earlier line in the place of a part of this one."""
    if command[:1] == "^":
        return True
    at = command.find("!")
    while at >= 0:
        if command[at + 1 : at + 2] not in ("", " ", "\n", "="):
            return True
        at = command.find("!", at + 1)
    return False


def _verdict(call: Call, settings: Settings) -> Verdict:
    from shellguard.analysis.inquiry import Assumptions
    from shellguard.engine import classify

    shelf = _shelf(call, settings)
    return classify(call.command, shelf=shelf, assumptions=Assumptions(settings["shell"]))


def _shelf(call: Call, settings: Settings) -> Any:
    """The rules that hold where the call is made; None for the shipped ones alone."""
    from shellguard import places
    from shellguard.rules.shelf import Shelf

    shelf = None
    sensitive = settings["paths.sensitive"]
    if os.path.lexists(os.path.join(places.folder("config"), "rules")) or _has_project_rules(call.cwd):
        from shellguard.rules.overlay import with_overlays

        shelf = with_overlays(Shelf.default(), call.cwd or None)
    if sensitive:
        from shellguard.agents.paths import MorePaths

        return MorePaths(shelf or Shelf.default(), sensitive)
    return shelf


def _has_project_rules(folder: str) -> bool:
    if not folder:
        return False
    current = os.path.realpath(folder)
    home = os.path.realpath(os.path.expanduser("~"))
    while True:
        if os.path.lexists(os.path.join(current, ".shellguard", "rules")):
            return True
        parent = os.path.dirname(current)
        if parent == current or current == home or os.path.lexists(os.path.join(current, ".git")):
            return False
        current = parent


def _guard(event: Event, settings: Settings) -> Any:
    """What the guard says; None where it is off, or where the session has no name to keep counts under."""
    call = event.call
    if (
        call is None
        or not settings["guard.enabled"]
        or (call.event == TURN and not (call.text or "").strip())
    ):
        return None  # an empty prompt is no turn: one host sends it after every result
    from time import time

    from shellguard import places
    from shellguard.guard.config import GuardConfig
    from shellguard.guard.controller import Controller
    from shellguard.guard.model import ToolCall, ToolResult
    from shellguard.guard.observe import session_name
    from shellguard.guard.store import Store

    now = time()
    session = f"{event.host.name}:{call.session or call.cwd}"
    options = {"hard_stop_enabled": True, **settings["guard.options"]}
    folder = os.path.join(places.folder("state"), "guard")
    store = Store.in_folder(folder, session_name(session, call.agent), now)
    guard = Controller(GuardConfig.from_mapping(options), store=store, clock=lambda: now)
    if call.event == TURN:
        guard.new_turn(call.text, session, call.agent)
        return None
    # Under one name: `Bash` here and `terminal` there are the same to the guard, and it knows `bash` for a shell.
    args = {
        **{key: value for key, value in call.args.items() if value != call.command},
        "command": call.command,
    }
    made = ToolCall("bash", args, call.call_id, session, call.agent, call.cwd)
    if call.event == PRE:
        decision = guard.before(made)
    else:
        decision = guard.after(made, ToolResult(call.result, call.failed, call.exit_code))
    if store.notes:
        event.entry["notes"] = store.notes[:3]
    return decision


def _checkpoint(call: Call) -> str:
    """Saves the work and leaves the command for a person, where a gate stands before it; what to tell the
    agent.
    """
    from shellguard.approval.run import checkpoint_for_hook, told_to_agent

    outcome = checkpoint_for_hook(call.command, call.cwd or os.getcwd(), session=call.session or None)
    return "" if outcome is None else told_to_agent(outcome)


# --- what went wrong, and what is written down ------------------------------------------------------------------------


def _failed(event: Event, error: BaseException) -> Reply:
    """The answer in the direction that the user chose. Never raises."""
    settings = event.settings
    try:
        if settings is None:
            settings = settings_for("")
            event.settings = settings
        direction = settings["on_error"]
        observing = settings["mode"] == "observe" and not settings.broken
    except BaseException:  # noqa: BLE001 - a hook never shows a traceback
        direction, observing = "ask", False
    told = str(error) if isinstance(error, PayloadError) else f"{type(error).__name__} in the hook"
    event.entry["error"] = told[:300] if isinstance(error, PayloadError) else f"{told}, {_place(error)}"
    reason = f"shellguard could not judge this command: {told[:300]}. `shellguard doctor` may say why."
    action = SILENT if observing or event.kind in (POST, TURN) else _ON_ERROR[direction]
    event.answer = Answer(action, reason, note=reason)
    try:
        if action == ASK and not event.host.can_ask:
            event.answer.action = SILENT  # the host asks by itself about what nobody has judged
        return event.host.encode(event.named, event.kind or PRE, event.answer)
    except BaseException:  # noqa: BLE001 - see above
        return Reply("", reason + "\n", 0 if action == SILENT else 2)


def _place(error: BaseException) -> str:
    """Where it went wrong: the module and the function, and nothing of the payload."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "nowhere"
    code = trace.tb_frame.f_code
    return f"{code.co_name} in {code.co_filename.replace(chr(92), '/').rpartition('/shellguard/')[2]}"


def _seen(verdict: Verdict, judgement: Judgement) -> dict[str, Any]:
    """What the log says of a command: hashes, and facts without their words."""
    from shellguard.agents.audit import MOST_FACTS

    facts = [
        [fact.effect, fact.kind, str(fact.source or ""), *fact.marks]
        for fact in (judgement.objections or verdict.facts)[:MOST_FACTS]
    ]
    return {"verdict": verdict.kind, "facts": facts, "count": len(verdict.facts)}


def _log(event: Event) -> None:
    settings, call = event.settings, event.call
    if settings is None or not settings["log.enabled"] or (call is None and "error" not in event.entry):
        return
    if event.kind in (POST, TURN) and not event.entry:
        return
    try:
        from time import time

        from shellguard.agents.audit import append, new_id
        from shellguard.guard.hashing import named

        entry: dict[str, Any] = {
            "id": new_id(),
            "at": round(time(), 3),
            "host": event.host.name,
            "event": event.kind,
            "action": "tell" if event.answer.context else event.answer.action,
        }
        if call is not None:
            entry["session"] = f"{named(call.session + call.agent):016x}"
            entry["command"] = f"{_spelled(call.command):016x}"
            if settings["log.commands"]:
                entry["text"] = call.command[:4000]
        entry.update(event.entry)
        append(entry, settings["log.max_bytes"])
    except BaseException:  # noqa: BLE001 - an answer is worth more than its log
        return


def _spelled(command: str) -> int:
    from shellguard.guard.command import read_command
    from shellguard.guard.hashing import named

    return named(read_command(command).text)
