# SPDX-License-Identifier: Apache-2.0
"""The checkpoint that is taken before anybody is asked: who worked where on what, and a snapshot of all of it.

It comes before the gate, since a session that is interrupted there keeps its files but not what it knew. A manifest is
written as soon as it is known that there will be one, again when the snapshot is done, and again when the gate has
answered; each time in one piece.
"""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass, field, replace

from shellguard.approval import files, snapshot
from shellguard.approval.files import FilesSnapshot
from shellguard.approval.git import GitError, work_tree
from shellguard.approval.signals import FLUSHER
from shellguard.approval.snapshot import Nested, Snapshot, SnapshotError
from shellguard.approval.store import Store, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KIND = "checkpoints"
KEPT_DAYS = 14

BEFORE_RESTORE = "before-restore"
"""The session of what was there before something else was put back: restored only where it is asked for."""

SCHEMA = 1

SESSION, STEP, ATTEMPT = "SHELLGUARD_SESSION", "SHELLGUARD_STEP", "SHELLGUARD_ATTEMPT"
"""What a supervisor tells its worker in the environment."""


@dataclass(frozen=True, slots=True)
class Pending:
    """The command that a checkpoint was taken for.

    `state`: `waiting` until the gate has answered and, if it stands before the command, a person; then `passed`,
    `deferred`, `granted`, `denied`, or `aborted` when it ended its worker. `request` names the request of one
    that was deferred.
    """

    command: str
    state: str = "waiting"
    verdict: str | None = None
    gates: tuple[dict[str, Any], ...] = ()
    request: str | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything a supervisor or a person needs to go on.

    `state`: `begun` (no snapshot yet), `saved`, `interrupted` (a signal came after it was saved), `failed` (with
    `problem`). `tree` is the name of the tree, or a hash of the files outside of git. `time` is in seconds since 1970,
    to be shown; order is that of the names.
    """

    name: str
    session: str
    cwd: str
    step: int
    time: float
    state: str = "begun"
    language: str | None = None
    compile: str | None = None
    attempts: int = 0
    pending: Pending | None = None
    snapshot: Snapshot | None = None
    files: FilesSnapshot | None = None
    problem: str | None = None
    signal: int | None = None
    committed: str | None = None
    pid: int = field(default_factory=os.getpid)

    @property
    def tree(self) -> str | None:
        """The name of what was saved, None where nothing was."""
        found = self.snapshot or self.files
        return None if found is None else found.tree

    @property
    def head(self) -> str | None:
        """The commit below it, if any."""
        return None if self.snapshot is None else self.snapshot.head

    @property
    def not_saved(self) -> tuple[str, ...]:
        """Paths that are not in the snapshot, ignored files aside."""
        if self.snapshot is None:
            return () if self.files is None else self.files.not_saved
        found = (
            os.path.join(below, path) for below, part in self.snapshot.parts() for path in part.not_saved
        )
        return tuple(dict.fromkeys(found))

    def as_object(self) -> dict[str, Any]:
        """The manifest as JSON has it."""
        return {
            "schema": SCHEMA,
            **asdict(self),
            "tree": self.tree,
            "head": self.head,
            "not_saved": list(self.not_saved),
        }


def manifest_from(value: dict[str, Any]) -> Manifest:
    """The manifest that `as_object` wrote. Raises: StoreError for anything else."""
    try:
        names = set(Manifest.__dataclass_fields__)
        fields = {key: item for key, item in value.items() if key in names}
        if fields.get("pending"):
            pending = dict(fields["pending"])
            pending["gates"] = tuple(pending["gates"])
            fields["pending"] = Pending(**pending)
        if fields.get("snapshot"):
            fields["snapshot"] = _snapshot_from(fields["snapshot"])
        if fields.get("files"):
            saved = dict(fields["files"])
            saved["not_saved"] = tuple(saved["not_saved"])
            fields["files"] = FilesSnapshot(**saved)
        return Manifest(**fields)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"this is no manifest of a checkpoint: {error}") from error


def _snapshot_from(value: dict[str, Any]) -> Snapshot:
    fields = dict(value)
    fields["nested"] = tuple(
        Nested(each["path"], _snapshot_from(each["snapshot"])) for each in fields["nested"]
    )
    for name in ("not_saved", "ignored"):
        fields[name] = tuple(fields[name])
    return Snapshot(**fields)


def pre_approval_checkpoint(
    cwd: str,
    *,
    session: str | None = None,
    step: int | None = None,
    command: str | None = None,
    language: str | None = None,
    compile_command: str | None = None,
    attempts: int | None = None,
    store: Store | None = None,
    signals: bool = True,
) -> Manifest:
    """Saves all work in progress and says so on disk, before anything about `command` is decided.

    What is left out is taken from the environment that a supervisor gives its worker. A signal that comes while the
    snapshot is taken is answered when it is done; a second one at once. `signals`: the flusher takes them over. A hook
    may call this before it answers.
    Raises: SnapshotError or StoreError when the work cannot be saved at all; `command` should not be run then.
    """
    where = Store.of(cwd) if store is None else store
    manifest = Manifest(
        where.fresh(KIND),
        session=os.environ.get(SESSION, "default") if session is None else session,
        cwd=os.path.abspath(cwd),
        step=_number(STEP) if step is None else step,
        time=time.time(),
        language=language,
        compile=compile_command,
        attempts=_number(ATTEMPT) if attempts is None else attempts,
        pending=None if command is None else Pending(command),
    )
    if signals:
        FLUSHER.install()
    with FLUSHER.held():
        where.write(KIND, manifest.name, manifest.as_object())
        try:
            manifest = _saved(manifest, where)
        except SnapshotError as error:
            manifest = replace(manifest, state="failed", problem=str(error))
            where.write(KIND, manifest.name, manifest.as_object())
            raise
        where.write(KIND, manifest.name, manifest.as_object())
        FLUSHER.watch(manifest, where)
    return manifest


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def _saved(manifest: Manifest, store: Store) -> Manifest:
    git = work_tree(manifest.cwd)
    if git is None:
        # A store with another one is that of a repository, which is gone.
        saved = files.take(manifest.cwd, manifest.name, store.other or store.folder)
        return replace(manifest, state="saved", files=saved)
    name = f"{manifest.name}-{snapshot.fresh_name()}"
    try:
        return replace(manifest, state="saved", snapshot=snapshot.take(git, name))
    except SnapshotError:
        if store.other is None:
            raise
        objects = os.path.join(store.other, "objects", name)
        return replace(manifest, state="saved", snapshot=snapshot.take(git, name, store=objects))


def update(manifest: Manifest, store: Store, **changes: Any) -> Manifest:
    """The manifest with these fields, on disk."""
    with FLUSHER.held():
        manifest = replace(manifest, **changes)
        store.write(KIND, manifest.name, manifest.as_object())
        FLUSHER.watch(manifest, store)
    return manifest


def answered(manifest: Manifest, store: Store, state: str, **changes: Any) -> Manifest:
    """The manifest after the pending command was decided about: `state` as in `Pending`."""
    assert manifest.pending is not None
    return update(manifest, store, pending=replace(manifest.pending, state=state, **changes))


def checkpoints(store: Store) -> list[Manifest]:
    """Every manifest that can be read, oldest first."""
    found = []
    for value in store.all(KIND):
        try:
            found.append(manifest_from(value))
        except StoreError:
            continue
    return found


def checkpoint_named(store: Store, name: str | None, session: str | None = None) -> Manifest:
    """A checkpoint by its name; without one, the newest that has a snapshot (of a session). Raises: StoreError."""
    if name is not None:
        return manifest_from(store.read(KIND, name))
    for manifest in reversed(checkpoints(store)):
        wanted = manifest.session == session if session else manifest.session != BEFORE_RESTORE
        if manifest.tree is not None and wanted:
            return manifest
    raise StoreError("there is no checkpoint here")


def waiting(store: Store, session: str, behind: str | None = None) -> Manifest | None:
    """The newest checkpoint of a session whose command was not decided about, if it comes behind the one named.

    This is the marker by which a supervisor knows that an interrupted worker was stopped by an approval.
    """
    for manifest in reversed(checkpoints(store)):
        if behind is not None and _order(manifest.name) <= _order(behind):
            return None
        if (
            manifest.session == session
            and manifest.pending is not None
            and manifest.pending.state == "waiting"
        ):
            return manifest
    return None


def newest(store: Store) -> str | None:
    """The name of the newest checkpoint, readable or not."""
    names = store.names(KIND)
    return names[-1] if names else None


def _order(name: str) -> int:
    return int(name.partition("-")[0])


def identity_now(cwd: str) -> tuple[object, ...] | None:
    """What the files of the work tree, or of the folder outside of git, are now: to be compared. None: not known."""
    git = work_tree(cwd)
    if git is None:
        return (files.tree_now(cwd),)
    try:
        return snapshot.take(git).identity
    except SnapshotError:
        return None


def identity_of(manifest: Manifest) -> tuple[object, ...] | None:
    """The same of a checkpoint."""
    if manifest.snapshot is not None:
        return manifest.snapshot.identity
    return None if manifest.files is None else (manifest.files.tree,)


# --- back again, and away ---------------------------------------------------------------------------------------------


def restore(manifest: Manifest, into: str | None = None) -> None:
    """Puts back what a checkpoint saved: into an empty folder, or where it was. Raises: SnapshotError."""
    if manifest.snapshot is not None:
        if into is None:
            snapshot.restore_here(manifest.snapshot)
        else:
            snapshot.restore_into(manifest.snapshot, into)
    elif manifest.files is not None:
        files.restore(manifest.files, manifest.files.top if into is None else into, here=into is None)
    else:
        raise SnapshotError(f"the checkpoint {manifest.name} has no snapshot")


def prune(store: Store, *, days: float = KEPT_DAYS, now: float | None = None) -> list[str]:
    """Forgets checkpoints that are older than `days`, or whose work is in a commit that HEAD holds; names them.

    One whose command still waits for a person, or that is younger than the newest, is kept by age alone.
    """
    moment = time.time() if now is None else now
    gone = []
    for manifest in checkpoints(store):
        asked = manifest.pending is not None and manifest.pending.state in ("waiting", "deferred")
        old = moment - manifest.time > days * 86_400
        if old or (not asked and _is_committed(manifest)):
            forget(manifest, store)
            gone.append(manifest.name)
    return gone


def forget(manifest: Manifest, store: Store) -> None:
    """Removes one checkpoint with its snapshot."""
    if manifest.snapshot is not None:
        snapshot.forget(manifest.snapshot)
    if manifest.files is not None:
        files.forget(manifest.files)
    store.remove(KIND, manifest.name)


def _is_committed(manifest: Manifest) -> bool:
    """Whether some commit from the head of the checkpoint to the one of now has just its tree, nested ones too."""
    saved = manifest.snapshot
    if saved is None or saved.not_saved:
        return False
    for _, part in saved.parts():
        git = work_tree(part.top)
        head = None if git is None else git.head()
        if git is None or head is None:
            return False
        try:
            since = [head] if part.head is None else [f"{part.head}..{head}"]
            trees = {
                *git.text("log", "-n", "1000", "--format=%T", *since).split("\n"),
                git.text("rev-parse", f"{head}^{{tree}}"),
            }
        except GitError:
            return False
        if part.tree not in trees:
            return False
    return True
