# SPDX-License-Identifier: Apache-2.0
"""An event as a record of fixed size, and back. It holds names of 64 bits only: no argument, no output, no tool."""

from __future__ import annotations

from struct import Struct

from shellguard.guard.events import AFTER, BEFORE, RELEASE, RESERVE, TURN, Event
from shellguard.guard.hashing import blake2b
from shellguard.guard.model import CLASSES

_FORM = Struct("<BBHdqQQQQQQQQQQ")
_SUM = 4
SIZE = _FORM.size + _SUM
"""Bytes of a record: the event, and a check sum."""

HEADER = b"shellguard guard, records of form 1\n".ljust(SIZE, b"\0")
"""The first record of a file."""

_KINDS = (BEFORE, AFTER, TURN, RELEASE, RESERVE)
_FLAGS = ("pauses", "shell", "tolerant", "inert", "search", "failed", "vain", "refusal", "bare")
_REFUSED, _ENDS = 1 << len(_FLAGS), 2 << len(_FLAGS)
_MOST = (1 << 63) - 1


def packed(session: int, event: Event, *, refused: bool, ends: bool) -> bytes:
    """The record of an event in a session; `refused` and `ends` are what was decided."""
    flags = _REFUSED * refused + _ENDS * ends
    for place, name in enumerate(_FLAGS):
        flags |= getattr(event, name) << place
    body = _FORM.pack(
        _KINDS.index(event.kind),
        CLASSES.index(event.call_class),
        flags,
        event.at,
        max(-_MOST, min(event.agents, _MOST)),
        session,
        event.key,
        event.tool,
        event.head,
        event.near,
        event.digest,
        event.loose,
        event.near_digest,
        event.call_id,
        event.group,
    )
    return body + check_sum(body)


def check_sum(body: bytes) -> bytes:
    """Four bytes that a damaged record does not have."""
    return blake2b(body, digest_size=_SUM).digest()


def is_whole(record: bytes) -> bool:
    """Whether a record is as it was written."""
    body = record[:-_SUM]
    if check_sum(body) != record[-_SUM:]:
        return False
    return body[0] < len(_KINDS) and body[1] < len(CLASSES)


def unpacked(record: bytes) -> tuple[Event, bool, bool]:
    """The event of a whole record, and whether it was refused and has ended the turn."""
    # A hook reads some hundred of these: the slots are set one by one, which is three times as fast as `Event(...)`.
    event = Event.__new__(Event)
    kind, call_class, flags, event.at, event.agents, _, *names = _FORM.unpack(record[:-_SUM])
    event.key, event.tool, event.head, event.near, event.digest, event.loose, *names = names
    event.near_digest, event.call_id, event.group = names
    event.kind, event.call_class, event.name = _KINDS[kind], CLASSES[call_class], ""
    event.pauses, event.shell, event.tolerant = flags & 1 != 0, flags & 2 != 0, flags & 4 != 0
    event.inert, event.search, event.failed = flags & 8 != 0, flags & 16 != 0, flags & 32 != 0
    event.vain, event.refusal, event.bare = flags & 64 != 0, flags & 128 != 0, flags & 256 != 0
    return event, flags & _REFUSED != 0, flags & _ENDS != 0


def session_of(record: bytes) -> int:
    """The session of a record, without looking at the rest."""
    return int.from_bytes(record[20:28], "little")
