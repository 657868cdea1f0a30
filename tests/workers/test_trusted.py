# SPDX-License-Identifier: Apache-2.0
"""Hostile workspaces and paths: none of their programs is chosen, and what was chosen runs as it was or not at all."""

from __future__ import annotations

import os
import stat
import sys
import time
from pathlib import Path

import pytest

from shellguard.workers import trusted
from shellguard.workers.tree import ChangedError, Stop, Worker
from shellguard.workers.trusted import Frozen, TrustError, check, resolve

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX paths; Windows is simulated below")

IS_ROOT = os.name != "nt" and os.geteuid() == 0


class World:
    """A trusted folder `bin` with a program `tool`, and a workspace with a hostile one of the same name."""

    def __init__(self, top: Path) -> None:
        self.top, self.bin, self.workspace = top, top / "bin", top / "workspace"
        self.marks = top / "marks"
        for folder in (top, self.bin, self.workspace):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
        self.program(self.bin / "tool", "right")
        self.program(self.workspace / "tool", "wrong")

    def program(self, path: Path, says: str, line: str = "#!/bin/sh") -> Path:
        path.write_text(f"{line}\necho {says} >> {self.marks}\n")
        path.chmod(0o755)
        return path

    def resolve(self, *argv: str, search: tuple[str, ...] | None = None) -> Frozen:
        folders = (str(self.bin),) if search is None else search
        return resolve(argv, folders, workspace=str(self.workspace))

    def run(self, frozen: Frozen) -> str:
        """What a frozen command leaves in `marks`, run in the workspace as a worker is."""
        environment = {"PATH": os.pathsep.join(frozen.search)}
        worker = Worker(frozen.argv, str(self.workspace), environment, files=frozen.files)
        with Stop() as stop:
            worker.wait(stop, 30)
        worker.end()
        return self.said()

    def said(self) -> str:
        return self.marks.read_text().strip() if self.marks.exists() else ""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_name_is_found_on_the_trusted_path_and_runs(world: World) -> None:
    frozen = world.resolve("tool", "a", "b")
    assert frozen.argv == (str(world.bin / "tool"), "a", "b")
    paths = [each["path"] for each in frozen.files]
    assert paths[0] == str(world.bin / "tool")
    assert os.path.realpath("/bin/sh") in paths
    assert Frozen.from_object(frozen.as_object()) == frozen
    check(frozen, workspace=str(world.workspace))
    assert world.run(frozen) == "right"


@pytest.mark.parametrize("bad", ["", ".", "..", "bin", "./bin", "../workspace", "~", "$HOME/bin"])
def test_a_path_with_an_empty_or_relative_part_is_refused(world: World, bad: str) -> None:
    for search in ((bad, str(world.bin)), (str(world.bin), bad)):
        with pytest.raises(TrustError, match="search path"):
            world.resolve("tool", search=search)


def test_a_path_as_one_text_is_refused(world: World) -> None:
    """`PATH=.:..` in one word: a colon would become three folders in the PATH of the child."""
    for text in (f".:..:{world.bin}", f"{world.bin}:", f":{world.bin}", f"{world.bin}::{world.bin}"):
        with pytest.raises(TrustError):
            world.resolve("tool", search=(text,))


@pytest.mark.parametrize("part", ["", "sub", "sub/.."])
def test_a_path_into_the_workspace_is_refused(world: World, part: str) -> None:
    (world.workspace / "sub").mkdir()
    for search in (
        (f"{world.workspace}/{part}", str(world.bin)),
        (str(world.bin), f"{world.workspace}/{part}"),
    ):
        with pytest.raises(TrustError, match="workspace"):
            world.resolve("tool", search=search)


def test_a_path_that_is_not_there_yet_is_refused(world: World) -> None:
    with pytest.raises(TrustError, match="not there"):
        world.resolve("tool", search=(str(world.bin), str(world.top / "later")))


@pytest.mark.parametrize("word", ["./tool", "../workspace/tool", "workspace/tool", ".", "..", "", "tool/"])
def test_a_word_that_depends_on_the_folder_is_refused(
    world: World, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.workspace)
    with pytest.raises(TrustError):
        world.resolve(word)


def test_a_planted_program_of_the_same_name_is_never_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.workspace)
    monkeypatch.setenv("PATH", f".:..:{world.workspace}:")
    assert world.run(world.resolve("tool")) == "right"
    (world.bin / "tool").unlink()
    with pytest.raises(TrustError, match="is in none of"):
        world.resolve("tool")


def test_a_program_in_the_workspace_is_refused_however_it_is_reached(world: World) -> None:
    inside = world.workspace / "tool"
    (world.bin / "link").symlink_to(inside)
    (world.bin / "folder").symlink_to(world.workspace)
    (world.workspace / "out").symlink_to(world.bin)
    words = [inside, world.bin / "link", world.bin / "folder/tool", world.workspace / "out/tool"]
    words += [world.bin / "../workspace/tool", world.top / "workspace/../bin/tool"]
    for word in words:
        with pytest.raises(TrustError, match="workspace"):
            world.resolve(str(word))
    with pytest.raises(TrustError, match="workspace"):
        world.resolve("link")


def test_a_workspace_that_is_reached_through_a_link_is_the_same(world: World) -> None:
    (world.top / "alias").symlink_to(world.workspace)
    with pytest.raises(TrustError, match="workspace"):
        resolve([str(world.workspace / "tool")], (str(world.bin),), workspace=str(world.top / "alias"))


# --- between the look and the run -------------------------------------------------------------------------------------


def rewritten(world: World) -> None:
    world.program(world.bin / "tool", "wrong")


def rewritten_in_place_with_its_time(world: World) -> None:
    path = world.bin / "tool"
    before = path.stat()
    data = path.read_bytes().replace(b"right", b"wrong")
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def replaced(world: World) -> None:
    os.replace(world.program(world.top / "new", "wrong"), world.bin / "tool")


def made_a_link(world: World) -> None:
    (world.bin / "tool").unlink()
    (world.bin / "tool").symlink_to(world.workspace / "tool")


def removed(world: World) -> None:
    (world.bin / "tool").unlink()


def opened_to_all(world: World) -> None:
    (world.bin / "tool").chmod(0o777)


@pytest.mark.parametrize(
    "change",
    [rewritten, rewritten_in_place_with_its_time, replaced, made_a_link, removed, opened_to_all],
    ids=lambda change: change.__name__,
)
def test_a_file_that_changes_between_the_look_and_the_run_does_not_run(world: World, change: object) -> None:
    frozen = world.resolve("tool")
    assert callable(change)
    change(world)
    with pytest.raises(TrustError):
        check(frozen, workspace=str(world.workspace))
    with pytest.raises(ChangedError) as caught:  # and in the child, when the first look came too early
        world.run(frozen)
    assert caught.value.filename == str(world.bin / "tool")
    assert world.said() == ""


def test_a_link_that_is_swapped_does_not_run(world: World) -> None:
    world.program(world.top / "one", "right")
    world.program(world.top / "two", "wrong")
    (world.top / "hop").symlink_to("one")
    (world.bin / "linked").symlink_to(world.top / "hop")
    frozen = world.resolve("linked")
    assert [each["kind"] for each in frozen.files[:3]] == ["link", "link", "file"]
    (world.top / "hop").unlink()
    (world.top / "hop").symlink_to("two")
    with pytest.raises(TrustError, match="hop is not what it was"):
        check(frozen)
    with pytest.raises(ChangedError):
        world.run(frozen)
    assert world.said() == ""


def test_a_folder_that_is_swapped_does_not_run(world: World) -> None:
    frozen = world.resolve("tool")
    os.rename(world.bin, world.top / "away")
    os.rename(world.workspace, world.bin)
    world.workspace.mkdir()
    with pytest.raises(TrustError):
        check(frozen)
    with pytest.raises(ChangedError):
        world.run(frozen)
    assert world.said() == ""


def test_a_program_that_appears_earlier_on_the_path_is_not_taken(world: World) -> None:
    (world.top / "first").mkdir()
    frozen = resolve(["tool"], (str(world.top / "first"), str(world.bin)), workspace=None)
    world.program(world.top / "first" / "tool", "wrong")
    check(frozen)
    assert world.run(frozen) == "right"


# --- interpreter lines ------------------------------------------------------------------------------------------------


def test_env_in_an_interpreter_line_is_searched_on_the_trusted_path(world: World) -> None:
    """`#!/usr/bin/env x` searches PATH again, when the script runs."""
    world.program(world.bin / "x", "wrong interpreter of bin")
    shell = world.bin / "myshell"
    shell.symlink_to(os.path.realpath("/bin/sh"))
    world.program(world.workspace / "myshell", "wrong")
    world.program(world.bin / "script", "right", "#!/usr/bin/env myshell")
    frozen = world.resolve("script")
    paths = [each["path"] for each in frozen.files]
    for path in (str(world.bin / "script"), os.path.realpath("/usr/bin/env"), str(shell)):
        assert path in paths
    assert os.path.realpath("/bin/sh") in paths
    assert world.run(frozen) == "right"
    shell.unlink()
    world.program(shell, "wrong")
    with pytest.raises(TrustError):
        check(frozen)
    with pytest.raises(ChangedError):
        world.run(frozen)
    assert world.said() == "right"


@pytest.mark.parametrize(
    "line, part",
    [
        ("#!/usr/bin/env nowhere-to-be-found", "is in none of"),
        ("#!/usr/bin/env ./tool", "depends on the folder"),
        ("#!/usr/bin/env -i sh", "may run anything"),
        ("#!/usr/bin/env -S PATH=. sh", "may run anything"),
        ("#!/usr/bin/env -S ${{X}} sh", "may run anything"),
        ("#!/usr/bin/env PATH=.:.. sh", "may run anything"),
        ("#!/usr/bin/env", "may run anything"),
        ("#!/usr/bin/env sh -e", "may run anything"),
        ("#!sh", "depends on the folder"),
        ("#!./tool", "depends on the folder"),
        ("#!", "depends on the folder"),
        ("#! tool", "depends on the folder"),
        ("#!{workspace}/tool", "workspace"),
        ("#!{bin}/link-inside", "workspace"),
        ("#!{bin}/gone", "No such file"),
        ("#!{bin}/script", "is one of a script"),
        ("#!/bin/sh " + "x" * 300, "longer than"),
    ],
)
def test_an_interpreter_line_that_may_mean_another_program_is_refused(
    world: World, line: str, part: str
) -> None:
    (world.bin / "link-inside").symlink_to(world.workspace / "tool")
    world.program(world.bin / "script", "wrong", line.format(bin=world.bin, workspace=world.workspace))
    with pytest.raises(TrustError, match=part):
        world.resolve("script")


@pytest.mark.parametrize("line", ["#!/bin/sh", "#! /bin/sh -e", "#!\t/bin/sh\t-e", "#!/usr/bin/env -S sh -e"])
def test_interpreter_lines_of_everyday(world: World, line: str) -> None:
    world.program(world.bin / "script", "right", line)
    frozen = world.resolve("script", search=(str(world.bin), "/usr/bin", "/bin"))
    assert os.path.realpath("/bin/sh") in [each["path"] for each in frozen.files]
    assert world.run(frozen) == "right"


def test_the_script_of_a_script_is_frozen_too(world: World) -> None:
    world.program(world.bin / "first", "right")
    world.program(world.bin / "second", "right", f"#!{world.bin}/first")
    frozen = world.resolve("second")
    assert str(world.bin / "first") in [each["path"] for each in frozen.files]
    world.program(world.bin / "first", "wrong")
    with pytest.raises(ChangedError):
        world.run(frozen)


# --- who may write ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o002, 0o020])
@pytest.mark.parametrize("where", ["bin/tool", "bin", "."])
def test_what_others_may_write_is_refused(world: World, where: str, mode: int) -> None:
    if mode == 0o020 and not IS_ROOT:
        pytest.skip("only root may give a file to another group")
    path = world.top / where
    path.chmod(path.stat().st_mode | mode)
    if mode == 0o020:
        os.chown(path, -1, 1)
    for word in ("tool", str(world.bin / "tool")):
        with pytest.raises(TrustError, match="may be written by"):
            world.resolve(word)


def test_a_sticky_folder_that_all_may_write_holds_no_programs(world: World) -> None:
    world.bin.chmod(0o1777)
    for word in ("tool", str(world.bin / "tool")):
        with pytest.raises(TrustError, match="everybody"):
            world.resolve(word)
    world.bin.chmod(0o755)
    world.top.chmod(0o1777)
    assert world.run(world.resolve("tool")) == "right"


@pytest.mark.skipif(not IS_ROOT, reason="only root may give a file away")
@pytest.mark.parametrize("where", ["bin/tool", "bin", ".", "bin/link"])
def test_what_belongs_to_a_third_user_is_refused(world: World, where: str) -> None:
    (world.bin / "link").symlink_to("tool")
    os.chown(world.top / where, 12345, -1, follow_symlinks=False)
    with pytest.raises(TrustError, match="belongs to another user"):
        world.resolve("link")


@pytest.mark.parametrize("mode", [0o644, 0o000])
def test_what_may_not_be_executed_is_passed_over(world: World, mode: int) -> None:
    (world.bin / "tool").chmod(mode)
    with pytest.raises(TrustError):
        world.resolve("tool")
    with pytest.raises(TrustError, match="may not be executed"):
        world.resolve(str(world.bin / "tool"))


def test_folders_pipes_and_devices_are_no_programs(world: World) -> None:
    (world.bin / "folder").mkdir()
    os.mkfifo(world.bin / "pipe", 0o755)
    for word in ("folder", "pipe", str(world.bin), str(world.bin / "pipe"), "/dev/null"):
        with pytest.raises(TrustError):
            world.resolve(word)
    (world.bin / "loop").symlink_to("loop")
    with pytest.raises(TrustError, match="too many links"):
        world.resolve(str(world.bin / "loop"))


@pytest.mark.parametrize("argv", [(), ("",), ("a\0b",), ("tool", "a\0b")])
def test_no_command_is_refused(world: World, argv: tuple[str, ...]) -> None:
    with pytest.raises(TrustError):
        resolve(argv, (str(world.bin),), workspace=None)


@pytest.mark.parametrize("value", [{}, {"argv": []}, {"argv": ["x"], "files": [], "search": []}, {"argv": 1}])
def test_a_row_that_says_nothing_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(TrustError):
        Frozen.from_object(value)


def test_the_default_path_is_trusted(tmp_path: Path) -> None:
    folders = trusted.default_search()
    assert "/usr/bin" in folders
    frozen = resolve(["true"], None, workspace=str(tmp_path))
    assert frozen.search == folders
    assert stat.S_ISREG(os.stat(frozen.argv[0]).st_mode)
    began = time.monotonic()
    check(frozen)
    assert time.monotonic() - began < 30


# --- Windows, simulated -----------------------------------------------------------------------------------------------

SYSTEM, TOOLS, WORK = r"C:\Windows\System32", r"C:\Tools", r"C:\Users\u\work"


class Files:
    """The files that a simulated Windows has; names there have no case."""

    def __init__(self, *paths: str) -> None:
        self.paths = {path.lower() for path in paths}
        self.asked: list[str] = []

    def __call__(self, path: str) -> bool:
        self.asked.append(path)
        return path.lower() in self.paths


def test_windows_never_looks_in_the_current_folder_nor_at_pathext(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATHEXT", ".PY;.JS;.BAT;.EXE")
    files = Files(
        rf"{WORK}\make.exe", rf"{WORK}\make.bat", rf"{TOOLS}\make.js", rf"{TOOLS}\make.EXE", "make.exe"
    )
    assert trusted.on_windows("make", (SYSTEM, TOOLS), WORK, files) == rf"{TOOLS}\make.EXE"
    assert all(path.startswith((SYSTEM, TOOLS)) for path in files.asked)
    assert not any(path.lower().endswith((".js", ".py", ".bat")) for path in files.asked)
    with pytest.raises(TrustError, match="is in none of"):
        trusted.on_windows("make", (SYSTEM,), WORK, files)


def test_windows_takes_an_absolute_path() -> None:
    files = Files(rf"{TOOLS}\make.exe", rf"{TOOLS}\a.b.exe")
    assert trusted.on_windows(rf"{TOOLS}\make.exe", (), WORK, files) == rf"{TOOLS}\make.exe"
    assert trusted.on_windows(rf"{TOOLS}\MAKE", (), WORK, files) == rf"{TOOLS}\MAKE.EXE"
    assert trusted.on_windows("a.b", (TOOLS,), WORK, files) == rf"{TOOLS}\a.b.EXE"


@pytest.mark.parametrize(
    "word, search",
    [
        *((rf"{WORK}\make.exe", (SYSTEM,)), (rf"{WORK.upper()}\make.exe", (SYSTEM,)), (r".\make", (SYSTEM,))),
        *((r"sub\make", (SYSTEM,)), ("C:make", (SYSTEM,)), (r"\make", (SYSTEM,)), ("sub/make", (SYSTEM,))),
        *((r"\\host\share\make.exe", (SYSTEM,)), (r"\\?\C:\Tools\make.exe", (SYSTEM,)), ("make:x", (TOOLS,))),
        *(("make", ("", TOOLS)), ("make", (".", TOOLS)), ("make", (TOOLS, "bin")), ("make", (r"\Tools",))),
        *(
            ("make", ("C:Tools",)),
            ("make", (TOOLS, rf"{WORK}\bin")),
            ("make", (WORK.lower(),)),
            ("", (TOOLS,)),
        ),
        *(
            (rf"{TOOLS}\..\Users\u\work\make.exe", (SYSTEM,)),
            ("x.bat", (TOOLS,)),
            (rf"{TOOLS}\x.CMD", (TOOLS,)),
        ),
        *(
            ("..", (TOOLS,)),
            ("nul", (TOOLS,)),
            ("make*", (TOOLS,)),
            (rf"{TOOLS}/../Users/u/work/make.exe", ()),
        ),
    ],
)
def test_windows_refuses_what_the_folder_decides(word: str, search: tuple[str, ...]) -> None:
    files = Files(
        *(
            rf"{TOOLS}\make.exe",
            rf"{WORK}\make.exe",
            rf"{WORK}\bin\make.exe",
            rf"{TOOLS}\x.bat",
            rf"{TOOLS}\x.CMD",
        ),
        *("make.exe", r"\\host\share\make.exe", rf"{TOOLS}\..\Users\u\work\make.exe", r"C:make.exe"),
        *(rf"{TOOLS}/../Users/u/work/make.exe", rf"{WORK.upper()}\make.exe"),
    )
    with pytest.raises(TrustError):
        trusted.on_windows(word, search, WORK, files)
