# SPDX-License-Identifier: Apache-2.0
"""The folders of a card: made, kept between attempts, removed when nothing is lost; and a repository runs nothing."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from shellguard.board.model import Card, Status
from shellguard.workers import workspaces
from shellguard.workers.workspaces import DIR, SCRATCH, WORKTREE, WorkspaceError
from tests.approval.repos import Repo

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX folders")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "r")


def card(**fields: Any) -> Card:
    """A card of which only a few fields matter."""
    values: dict[str, Any] = dict.fromkeys(Card.__dataclass_fields__)
    values |= {"id": "c-abc", "title": "t", "status": Status.READY, "settings": {}}
    return Card(**{**values, **fields})


def test_a_scratch_folder_is_the_card_s_and_kept_between_attempts(home: Path) -> None:
    found = workspaces.prepare(card(), SCRATCH)
    assert found == workspaces.folders_of(card(), SCRATCH)
    top = home / "state" / "cards" / "c-abc"
    assert (found.top, found.workspace) == (str(top), str(top / "work"))
    for folder in (found.top, found.workspace, found.home, found.tmp):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    Path(found.workspace, "x").write_text("1")
    assert workspaces.prepare(card(), SCRATCH) == found
    assert Path(found.workspace, "x").read_text() == "1"
    assert workspaces.prepare(card(id="c-abd"), SCRATCH).top != found.top


def test_a_worktree_is_detached_at_head_and_kept_between_attempts(repo: Repo) -> None:
    mine = card(repo=str(repo.top))
    work = Path(workspaces.prepare(mine, WORKTREE).workspace)
    tree = Repo(work, empty=True)
    assert tree.head == repo.head
    assert tree.git("branch", "--show-current") == ""
    (work / "new.txt").write_text("new")
    repo.write("b.txt", "b")
    repo.commit()
    workspaces.prepare(mine, WORKTREE)
    assert (work / "new.txt").read_text() == "new"
    assert tree.head != repo.head


def test_a_worktree_that_was_not_finished_is_made_again(repo: Repo) -> None:
    mine = card(repo=str(repo.top))
    work = Path(workspaces.prepare(mine, WORKTREE).workspace)
    (work / "a.txt").unlink()
    os.unlink(f"{work}.made")
    workspaces.prepare(mine, WORKTREE)
    assert (work / "a.txt").read_text() == "one\n"


def test_a_folder_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    found = workspaces.prepare(card(workspace=str(tmp_path / "link")), DIR)
    assert found.workspace == str(tmp_path / "there")
    assert os.listdir(tmp_path / "there") == []
    assert workspaces.remove(card(workspace=str(tmp_path / "link"))) is None
    assert (tmp_path / "there").is_dir()


@pytest.mark.parametrize(
    "kind, fields, told",
    [
        (SCRATCH, {"workspace": "/x"}, "leave it out, or say `workspace: dir` in the profile"),
        (SCRATCH, {"repo": "/x"}, "leave it out, or say `workspace: worktree` in the profile"),
        (DIR, {"repo": "/x", "workspace": "/x"}, "leave it out, or say `workspace: worktree`"),
        (DIR, {}, "the card needs --workspace FOLDER"),
        (WORKTREE, {}, "the card needs --repo FOLDER"),
        (DIR, {"workspace": "x/y"}, "no absolute path: 'x/y'"),
        (DIR, {"workspace": ""}, "no absolute path: ''"),
        (DIR, {"workspace": "/x\0y"}, "no absolute path: '/x\\x00y'"),
        (DIR, {"workspace": "/no such/folder"}, "'/no such/folder' is no folder"),
        (WORKTREE, {"repo": "/no such/folder"}, "'/no such/folder' is no folder"),
        (WORKTREE, {"repo": "/"}, "'/' is no git repository"),
        ("tree", {}, "no workspace of the kind 'tree', only scratch, worktree, dir"),
        (SCRATCH, {"id": "../c"}, "'../c' is no id of a card"),
        (SCRATCH, {"id": ".."}, "'..' is no id of a card"),
        (SCRATCH, {"id": ""}, "'' is no id of a card"),
    ],
)
def test_a_card_that_does_not_fit_is_told_what_to_change(
    kind: str, fields: dict[str, Any], told: str
) -> None:
    with pytest.raises(WorkspaceError) as caught:
        workspaces.prepare(card(**fields), kind)
    assert told in str(caught.value)


def test_no_link_is_followed_that_somebody_laid_for_a_folder_of_ours(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (home / "state" / "cards").mkdir(parents=True)
    (home / "state" / "cards" / "c-abc").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceError, match="no folder of ours"):
        workspaces.prepare(card(), SCRATCH)
    assert workspaces.remove(card()) is None
    assert os.listdir(tmp_path / "elsewhere") == []


def test_removing_leaves_the_log_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "x").write_text("1")
    found = workspaces.prepare(card(), SCRATCH)
    Path(found.log).write_text("log")
    Path(found.workspace, "link").symlink_to(tmp_path / "kept")
    Path(found.workspace, "closed").mkdir()
    Path(found.workspace, "closed", "x").write_text("1")
    Path(found.workspace, "closed").chmod(0o500)
    assert workspaces.remove(card()) is None
    assert os.listdir(found.top) == ["log"]
    assert os.listdir(tmp_path / "kept") == ["x"]
    assert workspaces.remove(card()) is None


def test_a_clean_worktree_is_removed_and_the_repository_forgets_it(repo: Repo) -> None:
    mine = card(repo=str(repo.top))
    repo.write(".gitignore", "*.o\n")
    repo.commit()
    work = workspaces.prepare(mine, WORKTREE).workspace
    Path(work, "x.o").write_text("ignored")
    assert workspaces.remove(mine) is None
    assert not os.path.lexists(work)
    assert len(repo.git("worktree", "list").split("\n")) == 1


def test_a_worktree_whose_work_would_be_lost_is_kept(repo: Repo) -> None:
    mine = card(repo=str(repo.top))
    work = workspaces.prepare(mine, WORKTREE).workspace
    tree = Repo(Path(work), empty=True)
    tree.write("new.txt", "new")
    assert "not committed" in str(workspaces.remove(mine))
    tree.commit()
    assert "no branch has" in str(workspaces.remove(mine))
    assert Path(work, "new.txt").read_text() == "new"
    tree.git("branch", "kept")
    assert workspaces.remove(mine) is None
    assert repo.git("show", "kept:new.txt") == "new"


def test_a_worktree_whose_repository_is_gone_is_kept(repo: Repo) -> None:
    mine = card(repo=str(repo.top))
    work = workspaces.prepare(mine, WORKTREE).workspace
    os.rename(repo.top, f"{repo.top}.moved")
    assert "is gone" in str(workspaces.remove(mine))
    assert Path(work, "a.txt").exists()


def test_a_repository_runs_nothing_of_its_own(repo: Repo, tmp_path: Path) -> None:
    """Whoever writes a card names the repository; if that ran its hooks and filters, a card would choose a program."""
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\necho $0 $1 >> {tmp_path}/ran\ncat\n")
    trap.chmod(0o755)
    repo.write(".gitattributes", "*.txt filter=trap\nold.txt filter=proc.ess\n")
    repo.commit()
    for hook in ("post-checkout", "reference-transaction", "post-index-change", "pre-commit"):
        (repo.top / ".git" / "hooks" / hook).write_text(trap.read_text())
        (repo.top / ".git" / "hooks" / hook).chmod(0o755)
    repo.git("config", "filter.trap.smudge", f"{trap} smudge")
    repo.git("config", "filter.trap.clean", f"{trap} clean")
    repo.git("config", "filter.trap.required", "true")
    repo.git("config", "filter.proc.ess.process", f"{trap} process")
    repo.git("config", "core.fsmonitor", f"{trap} fsmonitor")
    (repo.top / ".git" / "more").write_text(f'[filter "Trap"]\n\tprocess = {trap} included\n')
    repo.git("config", "include.path", "more")
    repo.git("config", "--type=bool", "core.hooksPath", "false")
    repo.git("config", "core.hooksPath", str(repo.top / ".git" / "hooks"))
    (tmp_path / "ran").unlink(missing_ok=True)
    mine = card(repo=str(repo.top))
    work = workspaces.prepare(mine, WORKTREE).workspace
    assert Path(work, "a.txt").read_text() == "one\n"
    assert Path(work, "old.txt").read_text() == "old\n"
    Path(work, "a.txt").write_text("two\n")
    assert "not committed" in str(workspaces.remove(mine))
    Path(work, "a.txt").write_text("one\n")
    assert workspaces.remove(mine) is None
    assert not (tmp_path / "ran").exists()
    # The trap works: git without our settings walks into it.
    repo.git("worktree", "add", "--detach", str(tmp_path / "other"), check=False)
    assert (tmp_path / "ran").exists()
