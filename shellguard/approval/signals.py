# SPDX-License-Identifier: Apache-2.0
"""Signals while work is saved: the snapshot is finished, the manifest says what happened, then the signal has its way.

A handler does nothing but set a mark while a snapshot is taken or a file is written (`held`); at any other time it
completes the manifest that is watched and hands the signal on to whoever had it before.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from dataclasses import replace

from shellguard.errors import ShellguardError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import Any

    from shellguard.approval.checkpoint import Manifest
    from shellguard.approval.store import Store

    Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
)


class Flusher:
    """Completes the watched manifest when a signal comes.

    It may be installed late (whoever had the signal before still gets it), twice (the second time changes nothing) and
    in a thread, where Python knows no handlers: then every manifest is on disk before the gate, and nothing is lost but
    the mark that a signal came.
    """

    def __init__(self) -> None:
        self._before: dict[int, Handler] = {}
        self._watched: tuple[Manifest, Store] | None = None
        self._depth = 0
        self._waiting: int | None = None
        self._process = os.getpid()

    def install(self) -> bool:
        """Takes the signals over; False in a thread."""
        if threading.current_thread() is not threading.main_thread():
            return False
        self._process = os.getpid()
        for number in SIGNALS:
            current = signal.getsignal(number)
            if current == self._handle or current is None:
                continue
            if current == signal.SIG_IGN:
                continue  # somebody decided that this signal does nothing, as nohup does
            self._before[number] = current
            signal.signal(number, self._handle)
        return True

    def uninstall(self) -> None:
        """Gives the signals back, where they still are ours."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number, before in list(self._before.items()):
            if signal.getsignal(number) == self._handle:
                signal.signal(number, before)
            del self._before[number]

    def watch(self, manifest: Manifest | None, store: Store | None) -> None:
        """From here on a signal completes this manifest; None: there is nothing to complete any more."""
        self._watched = None if manifest is None or store is None else (manifest, store)

    @contextmanager
    def held(self) -> Iterator[None]:
        """While this lasts a signal waits; a second one of a kind does not."""
        mine = threading.current_thread() is threading.main_thread()
        if mine:
            self._depth += 1
        try:
            yield
        finally:
            if mine:
                self._depth -= 1
                if self._depth == 0 and self._waiting is not None:
                    number, self._waiting = self._waiting, None
                    self._act(number, None)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() == self._process and self._depth > 0 and self._waiting != number:
            self._waiting = number
            return
        self._act(number, frame)

    def _act(self, number: int, frame: FrameType | None) -> None:
        watched, self._watched = self._watched, None
        if watched is not None and os.getpid() == self._process:
            self._complete(*watched, number)
        before = self._before.get(number, signal.SIG_DFL)
        if callable(before):
            before(number, frame)
        elif before != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def _complete(self, manifest: Manifest, store: Store, number: int) -> None:
        from shellguard.approval.checkpoint import KIND

        self._depth += 1
        try:
            done = replace(manifest, state="interrupted", signal=number)
            store.write(KIND, done.name, done.as_object())
        except (OSError, ShellguardError):
            pass  # what was written before holds the snapshot
        finally:
            self._depth -= 1


FLUSHER = Flusher()
"""The one of this process."""
