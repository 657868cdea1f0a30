# SPDX-License-Identifier: Apache-2.0
"""`run_safely`: keep the work, ask the gate, then run the command or leave it for a person.

Nobody is waited for where nobody is: a gated command is then deferred, with an exit status of its own and a receipt.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from shellguard.approval import checkpoint, requests
from shellguard.approval.check import GATES_PATH, as_objects, check
from shellguard.approval.signals import FLUSHER
from shellguard.approval.snapshot import SnapshotError
from shellguard.approval.store import Store, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from shellguard.approval.check import Checked
    from shellguard.approval.checkpoint import Manifest
    from shellguard.approval.requests import Request
    from shellguard.rules.shelf import Shelf

DEFERRED = 93
"""The exit status of a command that waits for a person. 75 (try again) and 78 (configuration) mean something else to
those who run workers, 126 and above to shells. `SHELLGUARD_DEFERRED_STATUS` names another one."""

STATUS_VARIABLE = "SHELLGUARD_DEFERRED_STATUS"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a command: whether it `ran`, the exit `status`, the request that waits, the path of its receipt.

    `manifest` is None where the work could not be saved, which holds back all but reads; `problem` says why.
    """

    status: int
    ran: bool
    checked: Checked
    manifest: Manifest | None
    request: Request | None = None
    receipt: str | None = None
    problem: str | None = None


def deferred_status() -> int:
    """The exit status for a deferred command: 93, or what the environment says, from 1 to 125."""
    text = os.environ.get(STATUS_VARIABLE, "")
    number = int(text) if text.isascii() and text.isdigit() else DEFERRED
    return number if 1 <= number <= 125 else DEFERRED


def somebody_is_there() -> bool:
    """Whether a person can be asked: input and messages are a terminal."""
    try:
        return sys.stdin.isatty() and sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def run_safely(
    command: str,
    *,
    cwd: str | None = None,
    session: str | None = None,
    step: int | None = None,
    quiet: bool = False,
    ask: Callable[[Checked], bool] | None = None,
    shelf: Shelf | None = None,
    store: Store | None = None,
) -> Outcome:
    """Runs shell text, unless a person is needed for it and none is there; the work in progress is saved before.

    `ask` shows what is gated and says whether to run it; it is called only where `quiet` is not set and a person is
    there. Whoever interrupts it has denied nothing: the checkpoint stays, its command still waiting.
    Raises: SnapshotError, StoreError (the work could not be saved, and the command does not only read: it did not run),
    RuleError (the gates are broken).
    """
    try:
        folder = os.path.abspath(os.getcwd() if cwd is None else cwd)
    except OSError as error:
        raise StoreError(f"the folder is gone: {error.strerror}") from error
    where = Store.of(folder) if store is None else store
    try:
        manifest = checkpoint.pre_approval_checkpoint(
            folder, session=session, step=step, command=command, store=where
        )
    except (SnapshotError, StoreError) as error:
        checked = check(command, shelf)
        if checked.gated or not checked.verdict.read_only:
            raise
        status = requests.run_argv(requests.argv_of(command), folder)
        return Outcome(status, True, checked, None, problem=str(error))
    checked = check(command, shelf)
    gates = as_objects(checked, GATES_PATH)
    if checked.gated:
        manifest = checkpoint.answered(
            manifest,
            where,
            "waiting",
            verdict=checked.verdict.kind,
            gates=tuple(_short(gate) for gate in gates),
        )
        if quiet or ask is None or not somebody_is_there():
            return defer(manifest, checked, where)
        granted = ask(checked)
        manifest = checkpoint.answered(manifest, where, "granted" if granted else "denied")
        if not granted:
            FLUSHER.watch(None, None)
            return Outcome(1, False, checked, manifest)
    else:
        manifest = checkpoint.answered(manifest, where, "passed", verdict=checked.verdict.kind)
    FLUSHER.watch(None, None)
    status = requests.run_argv(requests.argv_of(command), folder)
    return Outcome(status, True, checked, manifest)


def defer(manifest: Manifest, checked: Checked, store: Store) -> Outcome:
    """Leaves the command of a checkpoint for a person. A hook calls this before it answers ask or deny."""
    gates = [_short(gate) for gate in as_objects(checked, GATES_PATH)]
    request, receipt = requests.defer(manifest, checked, gates, store)
    manifest = checkpoint.answered(manifest, store, "deferred", request=request.name, gates=tuple(gates))
    FLUSHER.watch(None, None)
    return Outcome(deferred_status(), False, checked, manifest, request, receipt)


def checkpoint_for_hook(
    command: str, cwd: str, *, session: str | None = None, shelf: Shelf | None = None
) -> Outcome | None:
    """What `shellguard hook HOST` does with `[approval] checkpoint = true` in an unattended session, before it answers.

    None: no gate stands before the command, and nothing was written. Else the work is saved, the marker that a
    supervisor looks for is on disk, and a request waits; the answer to the agent should hold `told_to_agent(outcome)`.
    Raises as `run_safely` does.
    """
    checked = check(command, shelf)
    if not checked.gated:
        return None
    store = Store.of(cwd)
    manifest = checkpoint.pre_approval_checkpoint(cwd, session=session, command=command, store=store)
    outcome = defer(manifest, checked, store)
    # The session may be ended by this very answer: the marker says that it was not the operator.
    if outcome.manifest is not None:
        checkpoint.answered(outcome.manifest, store, "waiting")
    FLUSHER.watch(None, None)
    return outcome


def told_to_agent(outcome: Outcome) -> str:
    """One sentence for the agent whose command was deferred."""
    assert outcome.request is not None
    first = outcome.checked.gated[0].gate
    return (
        f"Deferred, not denied: this command needs a person ({first.name}: {first.reason}) "
        f"It waits as request {outcome.request.name}; your work is saved. Do not retry or rephrase it. {first.instead}"
    )


def _short(gate: dict[str, Any]) -> dict[str, Any]:
    return {key: gate[key] for key in ("gate", "severity", "reason", "instead", "what", "start", "end")}
