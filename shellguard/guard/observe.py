# SPDX-License-Identifier: Apache-2.0
"""Calls and results as the harness gives them -> events: the class of a call, its names, the digest of its result."""

from __future__ import annotations

from shellguard.guard.canonical import canonical
from shellguard.guard.command import command_of, plain_path, read_command
from shellguard.guard.digest import outcome_of
from shellguard.guard.events import AFTER, BEFORE, RELEASE, TURN, Event
from shellguard.guard.hashing import named
from shellguard.guard.model import READ, UNKNOWN, WAIT
from shellguard.guard.noise import folded_digits, without_noise
from shellguard.guard.tools import OTHER_COMMAND_ARGUMENTS, agents_started, looks_by_name, plain_name
from shellguard.guard.turns import is_bare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shellguard.guard.command import Command
    from shellguard.guard.config import GuardConfig
    from shellguard.guard.model import ToolCall, ToolResult

MOST_SPELLED = 400
"""Characters of a call up to which made-up names in it are looked for."""
MOST_WORDS = 64
"""Words of the arguments that are looked for in a failure."""
LEAST_ECHO = 3
"""Letters of the shortest word that makes a result an echo of its call."""
_PATH_NAMES = ("path", "file", "dir", "folder", "cwd", "root", "uri", "url")
_VOLATILE_RESULTS = {"execute_code": frozenset(["duration_seconds", "execution_count"])}
"""What upstream leaves out of the results of one tool; for all others it is real output."""


def event_before(call: ToolCall, config: GuardConfig, at: float) -> Event:
    """The event of a call that is about to run."""
    event, _ = _event_of(call, config, BEFORE, at)
    return event


def event_after(
    call: ToolCall,
    result: ToolResult,
    config: GuardConfig,
    at: float,
    normaliser: Callable[[str], str] | None = None,
    before: Event | None = None,
) -> Event:
    """The event of a result. `normaliser` is one more for this tool, applied first.

    `before` is the event of the same call where it is at hand: it is used again, and changed.
    """
    if before is None:
        event, command = _event_of(call, config, AFTER, at)
    else:
        event, text = before, command_text(call, config)
        event.kind, event.at = AFTER, at
        command = read_command(text) if text is not None and text.strip() else None
    looks = event.call_class == UNKNOWN and not event.shell and looks_by_name(call.tool)
    reads = looks or event.call_class in (READ, WAIT)
    tool = call.tool.lower()
    outcome = outcome_of(
        result,
        shell=event.shell,
        reads=reads,
        labels=command.labels if command is not None else frozenset(),
        words=_words(call) if result.content is not None else frozenset(),
        pending=_pending(command, event.call_class, config) if reads and event.shell else None,
        normaliser=normaliser,
        exact=config.results == "exact",
        dropped=_VOLATILE_RESULTS.get(tool, frozenset()),
    )
    event.digest, event.loose = outcome.digest, outcome.loose
    event.failed, event.vain, event.refusal = outcome.failed, outcome.vain, outcome.refusal
    if not reads and not outcome.failed and not outcome.vain:
        event.loose = 0  # `ok` from other arguments is what work looks like
    elif event.call_class == READ or looks:
        if not outcome.failed and not outcome.vain and not outcome.says_much:
            event.loose = 0  # so may be `1` or `yes`
    if command is not None and command.speaks:
        event.near_digest = event.near
    elif event.near and not outcome.failed:
        if outcome.folded and _echoes(call, outcome.folded):
            event.near_digest = named(outcome.folded)
        elif (event.call_class == READ or looks) and not outcome.vain:
            event.near_digest = (
                outcome.digest
            )  # another number in the call, and not another word in the result
    return event


def event_of_turn(text: str | None, at: float) -> Event:
    """The event of a new turn of the user; without its text it counts as a new request."""
    return Event(TURN, at, key=named(text) if text else 0, bare=text is not None and is_bare(text))


def event_of_release(signature: str, at: float) -> Event:
    """The event of a person's override. Raises ValueError for what is no signature."""
    key = int(signature, 16)
    if not 0 < key < 1 << 64:
        raise ValueError(f"{signature!r} is no signature")
    return Event(RELEASE, at, key=key)


def session_name(session: str, agent: str) -> int:
    """One name for a session and a sub-agent in it."""
    return named(f"{len(session)}:{session}{agent}")


def _event_of(call: ToolCall, config: GuardConfig, kind: str, at: float) -> tuple[Event, Command | None]:
    tool = call.tool.lower()
    book = config.book
    text = command_text(call, config)
    command = None
    pauses = False
    if text is not None:
        if text.strip():
            command = read_command(text)
            call_class = command.kind
            if call_class == WAIT and 0 <= command.pause < config.wait_min_pause:
                call_class = READ
            pauses = call_class == WAIT
        else:
            call_class = WAIT  # an empty command only looks at what is running
    elif call.read_only and config.trust_read_only_hints:
        call_class = READ
    else:
        call_class = book.class_of(call.tool, call.args)
    spelled = _spelling(call, command, text, config)
    if command is not None and command.speaks:
        near = "says"
    else:
        near = folded_digits(without_noise(spelled) if len(spelled) <= MOST_SPELLED else spelled)
    event = Event(
        kind,
        at,
        key=named(f"{tool}\n{spelled}"),
        tool=named(tool),
        name=call.tool,
        near=named(f"{tool}\n{near}") if near != spelled else 0,
        head=named(f"{tool}\n{command.head if command is not None else book.action_of(tool, call.args)}"),
        call_class=call_class,
        call_id=named(call.call_id) if call.call_id else 0,
        group=named(call.group) if call.group else 0,
        agents=agents_started(call.args) if book.has("subagent", tool) else 0,
        pauses=pauses,
        shell=text is not None,
        tolerant=book.has("tolerant", tool),
        inert=book.has("inert", tool)
        or (call_class == UNKNOWN and text is None and looks_by_name(call.tool)),
        search=book.has("search", tool),
    )
    return event, command


def command_text(call: ToolCall, config: GuardConfig) -> str | None:
    """The command of a shell tool; None for other tools, and where there is none to be found."""
    argument = config.book.shells.get(call.tool.lower())
    if argument is None:
        return None
    for name in (argument, *OTHER_COMMAND_ARGUMENTS):
        value = call.args.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list | tuple) and value and all(isinstance(word, str) for word in value):
            return command_of([str(word) for word in value])
    return None


def _spelling(call: ToolCall, command: Command | None, text: str | None, config: GuardConfig) -> str:
    """One text for a call, whatever describes it or does not matter left out."""
    rest: dict[str, object] = {}
    for name, value in call.args.items():
        low = str(name).lower()
        if plain_name(low) in config.ignored or (command is not None and value_is_command(value, text)):
            continue
        if isinstance(value, str) and any(part in low for part in _PATH_NAMES):
            value = plain_path(value)
        rest[str(name)] = value
    folder = call.cwd
    if command is None:
        return f"{plain_path(folder)}\n{canonical(rest)}" if text is not None else canonical(rest)
    if command.folder:
        below = folder and command.folder[:1] not in ("/", "~")
        folder = f"{folder}/{command.folder}" if below else command.folder
    return f"{plain_path(folder)}\n{command.text}\n{canonical(rest) if rest else ''}"


def value_is_command(value: object, text: str | None) -> bool:
    """Whether an argument is the one that holds the command."""
    if isinstance(value, str):
        return value == text
    return (
        isinstance(value, list | tuple) and bool(value) and command_of([str(word) for word in value]) == text
    )


def _pending(command: Command | None, call_class: str, config: GuardConfig) -> Callable[[int], bool]:
    """Which failures of a read or a wait are none.

    A wait that fails is one that is not over, unless it cannot ever end: there is no such program.
    """
    words = command.status if command is not None else ()
    codes = config.wait_pending_exit_codes

    def is_pending(code: int) -> bool:
        if call_class == WAIT:
            return code not in (126, 127)
        return code > 0 and any(
            code in meant and _begins(words, name.split(" ")) for name, meant in codes.items()
        )

    return is_pending


def _begins(words: tuple[str, ...], wanted: list[str]) -> bool:
    """Whether a call begins with these words, others such as global options between them left aside."""
    if not words or words[0].rpartition("/")[2] != wanted[0]:
        return False
    rest = iter(words[1:])
    return all(word in rest for word in wanted[1:])


def _words(call: ToolCall) -> frozenset[str]:
    """Words of the arguments, as a failure may repeat them."""
    found: set[str] = set()
    for value in call.args.values():
        texts = value if isinstance(value, list | tuple) else (value,)
        for text in texts:
            if isinstance(text, str):
                for word in text[:2000].split()[:MOST_WORDS]:
                    bare = word.strip("\"'`.,:;()[]{}<>")
                    if bare:
                        found.add(bare)
    return frozenset(found)


def _echoes(call: ToolCall, folded: str) -> bool:
    """Whether a short result only says what the call said: `echo marker7`, or the name of the next file to read."""
    for text in call.args.values():
        if isinstance(text, str):
            for word in folded_digits(without_noise(text[:MOST_SPELLED])).split():
                bare = word.strip("\"'`.,:;()[]{}<>")
                if len(bare) >= LEAST_ECHO and bare in folded:
                    return True
    return False
