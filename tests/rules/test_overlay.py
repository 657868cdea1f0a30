# SPDX-License-Identifier: Apache-2.0
"""Rules laid over the shipped ones: both judge, only trust makes milder, hostile folders are refused."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellguard import classify
from shellguard.errors import RuleError
from shellguard.rules import cache, overlay
from shellguard.rules.check import examples_of
from shellguard.rules.compiled import COMMON
from shellguard.rules.model import BrokenRule, CommandRule, Overlaid, PolicyRule, Variable
from shellguard.rules.overlay import Layer, Overlays, layers_for, project_folders, read_layer, stricter
from shellguard.rules.shelf import Shelf, shipped_folder
from shellguard.rules.trust import Trusted, digest_of, store
from shellguard.verdict import Policy, Verdict
from tests.rules.examples import shipped_rules

BASE = Shelf.default()


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "shellguard-home"))


LABEL = ".shellguard/rules"


def layer(files: dict[str, str], *, trusted: bool = False, label: str = LABEL) -> Layer:
    data = {path: text.encode("utf-8") for path, text in files.items()}
    return Layer(data, label, trusted=frozenset(data) if trusted else frozenset())


def laid(files: dict[str, str], *, trusted: bool = False) -> Overlays:
    return Overlays(BASE, (layer(files, trusted=trusted),))


def kind(text: str, shelf: Shelf) -> str:
    return classify(text, shelf=shelf).kind


# --- what judges ------------------------------------------------------------------------------------------------------

NEW = {"frob.yaml": "command: frob\naliases: [gfrob]\neffect: reads\nflags: -a\n"}
LS = "command: ls\neffect: reads\n"
STRICT_LS = {"ls.yaml": "command: ls\neffect: writes\n"}
MILD_RM = {"rm.yaml": "command: rm\neffect: reads\noperands: [{name: file, many: true}]\n"}
MILD_RM_ALONE = {"rm.yaml": MILD_RM["rm.yaml"].replace("effect", "replaces: yes\neffect", 1)}


def assigns(name: str) -> dict[str, str]:
    """A rule of a command that assigns variables, as `export` does."""
    return {f"{name}.yaml": f"command: {name}\neffect: reads\noperands: [{{name: n, as: variable}}]\n"}


@pytest.mark.parametrize(
    "files, trusted, text, expected",
    [
        # A command without a shipped rule.
        (NEW, False, "frob", "unknown"),
        (NEW, True, "frob", "read"),
        (NEW, True, "gfrob -a", "read"),
        (NEW, True, "frob -b", "unknown"),
        ({"frob.yaml": "command: frob\neffect: writes\n"}, False, "frob", "write"),
        # One with a shipped rule: the stricter of both.
        (STRICT_LS, False, "ls", "write"),
        (STRICT_LS, True, "ls", "write"),
        (MILD_RM, False, "rm x", "write"),
        (MILD_RM, True, "rm x", "write"),
        # Unless it replaces it, and is trusted.
        (MILD_RM_ALONE, False, "rm x", "write"),
        (MILD_RM_ALONE, True, "rm x", "read"),
        (MILD_RM_ALONE, True, "rm x > y", "write"),
        # A rule for a command holds for its other names, which the file need not know.
        ({"grep.yaml": "command: grep\neffect: writes\naccepts: anything\n"}, False, "egrep x y", "write"),
        ({"egrep.yaml": "command: egrep\neffect: writes\naccepts: anything\n"}, False, "egrep x y", "write"),
        ({"egrep.yaml": "command: egrep\neffect: writes\naccepts: anything\n"}, False, "grep x y", "read"),
        # It replaces only names that it lists itself.
        ({"tee.yaml": "command: tee\nreplaces: yes\neffect: reads\n"}, True, "tee", "read"),
        ({"rm.yaml": MILD_RM_ALONE["rm.yaml"]}, True, "grm x", "write"),
        # A broken file lets nothing pass.
        ({"ls.yaml": "command: ls\neffect: raeds\n"}, False, "ls", "unknown"),
        ({"ls.yaml": "command: ls\neffect: raeds\n"}, True, "ls", "unknown"),
        ({"ls.yaml": "command: cat\neffect: reads\n"}, True, "cat x", "unknown"),
        ({"a/ls.yaml": LS, "b/ls.yaml": LS}, True, "ls", "unknown"),
        # Inside other commands.
        (STRICT_LS, False, "find . -exec ls {} +", "write"),
        (STRICT_LS, False, "x=$(ls); cat y", "write"),
        (NEW, False, "xargs frob", "unknown"),
        # What an overlay says of the shell counts too: x may be what it was, and may be anything.
        (assigns("frob"), False, "x=rm; frob x=ls; $x y", "write"),
        (assigns("true"), False, "x=ls; true x=rm; $x y", "write"),
        # Nothing is said of commands that do not occur.
        (STRICT_LS, False, "cat x", "read"),
    ],
)  # fmt: skip
def test_rules_meet(files: dict[str, str], trusted: bool, text: str, expected: str) -> None:
    assert kind(text, laid(files, trusted=trusted)) == expected


def test_the_facts_of_both_files_are_there() -> None:
    rules = {fact.rule for fact in classify("ls", shelf=laid(STRICT_LS)).facts}
    assert {rule.rpartition(":")[0] for rule in rules if rule} == {
        "rules/coreutils/ls.yaml",
        f"{LABEL}/ls.yaml",
    }


def test_an_untrusted_rule_says_how_to_trust_it() -> None:
    answer = laid(NEW).get("frob")
    assert isinstance(answer, Overlaid)
    first = answer.rules[0]
    assert isinstance(first, BrokenRule)
    assert f"`shellguard rules trust {LABEL}/frob.yaml`" in first.message


def test_a_project_never_replaces_what_the_user_says() -> None:
    text = "command: rm\nreplaces: yes\neffect: [writes, network]\naccepts: anything\n"
    user = layer({"rm.yaml": text}, trusted=True, label="~/rules")
    project = layer(MILD_RM_ALONE, trusted=True)
    verdict = classify("rm x", shelf=Overlays(BASE, (user, project)))
    assert (verdict.kind, "network" in verdict.effects) == ("write", True)


def test_names_and_content() -> None:
    shelf = laid(NEW)
    assert set(shelf.names()) == {*BASE.names(), "frob", "gfrob"}
    contents = {shelf.content, laid(NEW, trusted=True).content, laid(STRICT_LS).content, BASE.content}
    assert len(contents) == 4
    assert all(len(content) == 32 for content in contents)


def test_nested_commands_with_overlays_are_bounded() -> None:
    """Two rules for `env` inside `env` would be judged 2^n times."""
    shelf = laid({"env.yaml": "command: env\neffect: reads\nruns: {command: operands}\n"})
    assert kind("env " * 200 + "rm x", shelf) != "read"
    assert kind("env " * 12 + "rm x", shelf) == "write"


# --- files that belong to no command ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "entries, trusted, text, expected",
    [
        ("FROB: executes", False, "FROB=1 cat x", "write"),
        ("FROB: executes", False, "FROB=1", "write"),
        ("FROB: {}", False, "FROB=1 cat x", "unknown"),
        ("FROB: {}", True, "FROB=1 cat x", "read"),
        ("FROB: reads", False, "FROB=1 cat x", "unknown"),
        ("FROB: program", False, "FROB=ls cat x", "write"),
        ("FROB: program", True, "FROB=ls cat x", "read"),
        ("FROB: {effect: unknown, only: [<word>]}", False, "FROB=1 cat x", "unknown"),
        ("FROB: {effect: unknown, only: [<word>]}", True, "FROB=1 cat x", "read"),
        ("'*': {}", False, "LD_PRELOAD=x cat y", "write"),
        ("'*': {}", True, "LD_PRELOAD=x cat y", "write"),
        ("LD_PRELOAD: {}", True, "LD_PRELOAD=x cat y", "write"),
        ("LANG: executes", False, "LANG=C cat x", "write"),
        ("LANG: executes", True, "LANG=C", "write"),
        ("PAGER: {}", False, "PAGER=./x man ls", "write"),
    ],
)
def test_variables_meet(entries: str, trusted: bool, text: str, expected: str) -> None:
    shelf = laid({"_env.yaml": f"variables:\n  {entries}\n"}, trusted=trusted)
    assert kind(text, shelf) == expected


@pytest.mark.parametrize(("trusted", "expected"), [(True, "read"), (False, "write")])
def test_only_a_trusted_list_replaces_an_entry(trusted: bool, expected: str) -> None:
    files = {"_env.yaml": "replaces: yes\nvariables:\n  LD_PRELOAD: {}\n"}
    assert kind("LD_PRELOAD=x cat y", laid(files, trusted=trusted)) == expected


def test_the_stricter_of_two_entries() -> None:
    def entry(text: str) -> Variable:
        found = layer({"_env.yaml": f"variables: {{X: {text}}}\n"}).variables.get("X")
        assert found is not None
        return found

    def both(first: str, second: str) -> tuple[list[str], bool, list[str]]:
        found = stricter(entry(first), entry(second))
        return sorted(found.effects), found.program, [shape.text for shape in found.only]

    for first, second, expected in (
        ("{}", "reads", (["reads"], False, [])),
        (
            "{effect: writes, only: [a, b]}",
            "{effect: executes, only: [b, c]}",
            (["executes", "writes"], False, ["b"]),
        ),
        ("{effect: writes, only: [a]}", "{}", (["writes"], False, ["a"])),
        ("program", "{}", ([], True, [])),
        ("program", "{effect: writes, only: [a]}", (["executes", "writes"], False, [])),
        ("program", "program", ([], True, [])),
    ):
        assert both(first, second) == both(second, first) == expected, (first, second)


@pytest.mark.parametrize(
    "text, trusted, path, sensitive",
    [
        ("sensitive: ['*.secret']", False, "a.secret", True),
        ("sensitive: ['*.secret']", False, "~/.ssh/id_rsa", True),
        ("sensitive: ['*.secret']\nnot_sensitive: [b.secret]", False, "b.secret", False),
        ("not_sensitive: ['*']", False, "~/.ssh/id_rsa", True),
        ("not_sensitive: ['*']", True, "~/.ssh/id_rsa", True),
        ("replaces: yes\nnot_sensitive: ['*']", False, "~/.ssh/id_rsa", True),
        ("replaces: yes\nnot_sensitive: [id_rsa]", True, "~/.ssh/id_rsa", False),
        ("replaces: yes\nnot_sensitive: [id_rsa]", True, "~/.aws/config", True),
        ("sensitive: [[", False, "README", True),  # broken: nobody knows what it would have said
        ("sensitive: ['*']", False, "README", True),
    ],
)
def test_paths_meet(text: str, trusted: bool, path: str, sensitive: bool) -> None:
    shelf = laid({"_paths.yaml": text}, trusted=trusted)
    assert ("sensitive" in classify(f"cat {path}", shelf=shelf).marks) is sensitive
    assert (shelf.paths.line_for(path) is not None) is sensitive


def test_a_sensitive_path_names_its_file() -> None:
    shelf = laid({"_paths.yaml": "sensitive:\n  - '*.secret'\n"})
    assert shelf.paths.place_for("a.secret") == (f"{LABEL}/_paths.yaml", 2)
    place = shelf.paths.place_for("~/.ssh/id_rsa")
    assert place is not None
    assert place[0] == "rules/_paths.yaml"


@pytest.mark.parametrize(
    "text, trusted, expected",
    [
        ("mine: {effects: [reads]}", False, None),
        ("mine: {effects: [reads]}", True, ({"reads"}, set())),
        ("strict: {effects: [reads, network]}", False, ({"reads"}, {"touches:*"})),
        ("strict: {effects: [reads, network]}", True, ({"reads"}, {"touches:*"})),
        ("strict: {replaces: yes, effects: [reads, network]}", False, ({"reads"}, {"touches:*"})),
        ("strict: {replaces: yes, effects: [reads, network]}", True, ({"reads", "network"}, set())),
        ("strict: {effects: [reads], refuses: [sensitive]}", False, ({"reads"}, {"touches:*", "sensitive"})),
        ("strict: {efects: [reads]}", True, (set(), {"touches:*", "*"})),  # broken: nothing passes
    ],
)
def test_policies_meet(text: str, trusted: bool, expected: tuple[set[str], set[str]] | None) -> None:
    name = text.partition(":")[0]
    policy = laid({"_policies.yaml": text}, trusted=trusted).policies.get(name)
    found = None if policy is None else (set(policy.effects), {shape.text for shape in policy.refuses})
    assert found == expected


def test_a_broken_file_is_a_problem_of_the_shelf() -> None:
    shelf = laid({"_env.yaml": "variables:\n  X: raeds\n"})
    assert kind("LANG=C cat x", shelf) == "unknown"
    [problem] = shelf.problems
    assert str(problem).startswith(f"{LABEL}/_env.yaml:2: a variable cannot be `raeds`")


# --- hostile folders --------------------------------------------------------------------------------------------------


def nobody(path: str, data: bytes) -> bool:
    return False


def bomb() -> str:
    lines = ["command: ls", "a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    return "\n".join(lines)


HOSTILE_TEXTS: list[tuple[bytes, int, str]] = [
    (bomb().encode(), 5, "once its aliases are followed"),
    (b"command: ls\neffect: " + b"[" * 100_000, 2, "nest"),
    (b"command: ls\neffect: reads\n" + b"# filler\n" * 120_000, 1, "larger than"),
    (b"command: ls\neffect: reads\nsummary: \xff\n", 3, "not UTF-8"),
    (b"command: ls\nsummary: !!python/object/apply:os.system [id]\n", 2, "tag"),
    (b"command: ls\neffect: reads\x00\n", 2, "NUL"),
    (b"", 1, "empty"),
]


@pytest.mark.parametrize("data, line, what", HOSTILE_TEXTS, ids=[what for _, _, what in HOSTILE_TEXTS])
def test_a_hostile_text_is_refused_with_its_line(data: bytes, line: int, what: str, tmp_path: Path) -> None:
    (tmp_path / "ls.yaml").write_bytes(data)
    found = read_layer(str(tmp_path), LABEL, nobody)
    answer = found.parsed("ls")
    assert isinstance(answer, BrokenRule)
    assert (answer.path, answer.line) == (f"{LABEL}/ls.yaml", line)
    assert what in answer.message
    assert kind("ls", Overlays(BASE, (found,))) == "unknown"


@pytest.mark.parametrize("name", ["_env.yaml", "_paths.yaml", "_policies.yaml"])
@pytest.mark.parametrize("data, line, what", HOSTILE_TEXTS, ids=[what for _, _, what in HOSTILE_TEXTS])
def test_so_it_is_in_files_without_a_command(
    data: bytes, line: int, what: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data.replace(b"command: ls", b"variables: {}"))
    shelf = Overlays(BASE, (read_layer(str(tmp_path), LABEL, nobody),))
    verdict = classify("TZ=UTC cat README", shelf=shelf)
    policy = Policy.from_rule(shelf.policies["default"])
    assert not policy.allows(verdict) or "sensitive" in verdict.marks
    [problem] = shelf.problems
    assert problem.path == f"{LABEL}/{name}"


def _link_out(path: Path, elsewhere: Path) -> None:
    path.symlink_to(elsewhere)


def _dangling(path: Path, elsewhere: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def _device(path: Path, elsewhere: Path) -> None:
    path.symlink_to("/dev/zero")


def _pipe(path: Path, elsewhere: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path, elsewhere: Path) -> None:
    path.mkdir()


def _loop(path: Path, elsewhere: Path) -> None:
    path.symlink_to(path)


@pytest.mark.skipif(os.name == "nt", reason="POSIX file types")
@pytest.mark.parametrize("make", [_link_out, _dangling, _device, _pipe, _folder, _loop])
@pytest.mark.parametrize("name", ["ls.yaml", "_env.yaml", "_paths.yaml", "_policies.yaml"])
def test_what_is_no_file_of_the_folder_is_refused(
    name: str, make: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere.yaml"
    elsewhere.write_text("command: ls\neffect: reads\n")
    folder = tmp_path / "rules"
    folder.mkdir()
    make(folder / name, elsewhere)
    found = read_layer(str(folder), LABEL, lambda path, data: True)
    assert [str(problem).rpartition(": ")[0] != "" for problem in found.problems] == [True]
    assert found.problems[0].path == f"{LABEL}/{name}"
    shelf = Overlays(BASE, (found,))
    verdict = classify("TZ=UTC ls README; cat README", shelf=shelf)
    policy = Policy.from_rule(shelf.policies["default"])
    assert not policy.allows(verdict) or "sensitive" in verdict.marks
    # The content of a plain folder is asked for the same way.
    assert len(cache.content_of(str(folder), [name])) == 32


def test_an_unreadable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ls.yaml").write_text("command: ls\neffect: reads\n")

    def refuse(*arguments: object, **named: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)  # the tests may run as root, who can read everything
    found = read_layer(str(tmp_path), LABEL, nobody)
    monkeypatch.undo()
    assert str(found.problems[0]) == f"{LABEL}/ls.yaml:1: cannot be read: Permission denied"
    assert kind("ls", Overlays(BASE, (found,))) == "unknown"


def test_a_folder_that_cannot_be_listed_makes_everything_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    deep = tmp_path / "deep" / "a" / "b" / "c" / "d" / "e"
    deep.mkdir(parents=True)
    (tmp_path / "many").mkdir()
    for number in range(4):
        (tmp_path / "many" / f"x{number}.yaml").write_text("command: x\neffect: reads\n")
    monkeypatch.setattr(overlay, "MAX_FILES", 3)
    for name, what in (
        ("none", "not a folder"),
        ("file", "not a folder"),
        ("deep", "nested"),
        ("many", "more than 3"),
    ):
        found = read_layer(str(tmp_path / name), LABEL, nobody)
        assert what in found.problems[-1].message
        assert kind("cat x", Overlays(BASE, (found,))) == "unknown"
    monkeypatch.setattr(overlay, "MAX_TOTAL", 30)
    monkeypatch.setattr(overlay, "MAX_FILES", 300)
    assert "larger than 30 bytes" in read_layer(str(tmp_path / "many"), LABEL, nobody).problems[-1].message


@pytest.mark.skipif(os.name == "nt", reason="no such names")
@pytest.mark.parametrize(
    "name", ["a\nls\t0\t9.yaml", "ls\t.yaml", "\udce9.yaml".encode("utf-8", "surrogateescape"), " .yaml"]
)
def test_strange_names_reach_no_command(
    name: str | bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "home"))
    folder = tmp_path / "rules"
    folder.mkdir()
    Path(os.fsdecode(os.path.join(os.fsencode(folder), os.fsencode(name)))).write_text(
        "command: ls\naliases: [/_env.yaml]\neffect: reads\n"
    )
    for _ in range(2):  # made, then read from the cache
        found = read_layer(str(folder), LABEL, lambda path, data: True)
        shelf = Overlays(BASE, (found,))
        assert kind("ls", shelf) == "unknown"  # the file speaks of ls, and is not named after it
        assert kind("LD_PRELOAD=x cat y", shelf) == "write"


# --- where folders are, and who is trusted ----------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a project below it; the state and the config are below `own`."""
    folder = tmp_path / "home"
    (folder / "project" / "sub" / "deep").mkdir(parents=True)
    (folder / "project" / ".git").mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    monkeypatch.setenv("SHELLGUARD_HOME", str(folder / "own"))
    return folder


def put(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def test_project_folders_are_looked_for_up_to_the_repository(home: Path) -> None:
    project = home / "project"
    for root in (home, project, project / "sub"):
        put(root / ".shellguard" / "rules", NEW)
    found = [root for root, _ in project_folders(str(project / "sub" / "deep"))]
    assert found == [str(project), str(project / "sub")]
    assert [root for root, _ in project_folders(str(home))] == [str(home)]
    assert [found.label for found in layers_for(str(project / "sub" / "deep"))] == [LABEL, f"sub/{LABEL}"]


def test_a_folder_further_in_takes_nothing_back(home: Path) -> None:
    project = home / "project"
    put(project / LABEL, STRICT_LS)
    put(project / "sub" / LABEL, {"ls.yaml": "command: ls\nreplaces: yes\neffect: reads\n"})
    assert kind("ls", Overlays(BASE, tuple(layers_for(str(project / "sub"))))) == "write"


def test_nothing_is_laid_over_without_a_folder(home: Path) -> None:
    assert overlay.with_overlays(BASE, str(home / "project")) is BASE
    assert overlay.with_overlays(BASE, None) is BASE


def test_trust_is_by_path_and_content(home: Path) -> None:
    project = home / "project"
    folder = put(project / LABEL, {**NEW, "same.yaml": "command: same\neffect: reads\n"})
    file = folder / "frob.yaml"

    def judged() -> str:
        return kind("frob", overlay.with_overlays(BASE, str(project)))

    assert judged() == "unknown"
    trusted = Trusted.read()
    trusted.add(str(file), file.read_bytes())
    trusted.write()
    assert os.stat(store()).st_mode & 0o777 == 0o600
    assert Trusted.read().entries == {str(file): digest_of(file.read_bytes())}
    assert judged() == "read"
    assert kind("same", overlay.with_overlays(BASE, str(project))) == "unknown"
    file.write_text(file.read_text() + "# changed\n")
    assert judged() == "unknown"
    copy = put(home / "other" / LABEL, NEW)  # the same content elsewhere
    assert kind("frob", overlay.with_overlays(BASE, str(copy.parent.parent))) == "unknown"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no mode bits to look at")
@pytest.mark.parametrize("spoil", ["file", "folder", "link", "head"])
def test_a_list_that_others_could_have_written_trusts_nothing(home: Path, spoil: str) -> None:
    trusted = Trusted({"/x": "0" * 64})
    trusted.write()
    path = Path(store())
    assert Trusted.read().entries
    if spoil == "file":
        path.chmod(0o666)
    elif spoil == "folder":
        path.parent.chmod(0o777)
    elif spoil == "link":
        path.rename(home / "elsewhere")
        path.symlink_to(home / "elsewhere")
    else:
        path.write_text("something else\n")
    assert Trusted.read().entries == {}


def test_a_path_that_the_list_cannot_hold() -> None:
    for path in ("/a\nb", "/a\tb", "/\udce9"):
        with pytest.raises(ValueError, match="path"):
            Trusted().add(path, b"")


def test_a_project_that_holds_the_state_folder_trusts_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = home / "project"
    folder = put(project / LABEL, NEW)
    monkeypatch.setenv("SHELLGUARD_HOME", str(project / "own"))
    trusted = Trusted()
    trusted.add(str(folder / "frob.yaml"), (folder / "frob.yaml").read_bytes())
    trusted.write()
    put(project / "own" / "config" / "rules", MILD_RM_ALONE)
    shelf = overlay.with_overlays(BASE, str(project))
    assert (kind("frob", shelf), kind("rm x", shelf)) == ("unknown", "write")


def test_the_users_own_rules_are_trusted(home: Path) -> None:
    put(home / "own" / "config" / "rules", {**MILD_RM_ALONE, "sub/frob.yaml": NEW["frob.yaml"]})
    shelf = overlay.with_overlays(BASE, None)
    assert isinstance(shelf, Overlays)
    assert (kind("rm x", shelf), kind("frob", shelf)) == ("read", "read")
    rule = shelf.get("rm")
    assert isinstance(rule, CommandRule)
    assert rule.path == "~/own/config/rules/rm.yaml"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no mode bits to look at")
@pytest.mark.parametrize("place", ["rules/sub/frob.yaml", "rules/sub", "rules", "."])
def test_unless_others_can_write_them(home: Path, place: str) -> None:
    config = home / "own" / "config"
    put(config / "rules", {"sub/frob.yaml": NEW["frob.yaml"]})
    (config / place).chmod(0o777)
    assert kind("frob", overlay.with_overlays(BASE, None)) == "unknown"


def test_a_project_folder_that_is_a_link_out_of_the_project(home: Path) -> None:
    elsewhere = put(home / "elsewhere", NEW)
    project = home / "project"
    (project / ".shellguard").mkdir()
    (project / LABEL).symlink_to(elsewhere)
    [found] = layers_for(str(project))
    assert "leaves the project" in str(found.problems[0])
    assert kind("ls", Overlays(BASE, (found,))) == "unknown"


# --- the cache --------------------------------------------------------------------------------------------------------


def test_compiled_overlays_say_the_same(home: Path) -> None:
    project = home / "project"
    files = {
        **NEW,
        **STRICT_LS,
        **MILD_RM_ALONE,
        "bad.yaml": "command: bad\n",
        "_env.yaml": "replaces: yes\nvariables:\n  FROB: executes\n",
        "_paths.yaml": "replaces: yes\nsensitive: ['*.secret']\n",
        "_policies.yaml": "mine: {replaces: yes, effects: [reads]}\n",
    }
    put(project / LABEL, files)
    [first] = layers_for(str(project))
    assert first.get("frob") == first.parsed("frob")
    kept = list((home / "own" / "cache").glob("*.rules"))
    assert len(kept) == 1
    [second] = layers_for(str(project))
    for name in (*second.names(), "nothing"):
        compiled, parsed = second.get(name), first.parsed(name)
        assert type(compiled) is type(parsed), name
        if isinstance(parsed, CommandRule):
            assert isinstance(compiled, CommandRule)
            assert (compiled.replaces, compiled.path, compiled.aliases) == (
                parsed.replaces,
                parsed.path,
                parsed.aliases,
            )
    frob = second.variables.get("FROB")
    assert frob is not None
    assert (frob.replaces, frob.path) == (True, f"{LABEL}/_env.yaml")
    assert second.paths.replaces
    assert second.policies["mine"].replaces
    kept[0].write_bytes(b"spoilt")
    assert kind("ls", Overlays(BASE, tuple(layers_for(str(project))))) == "write"


def test_a_cache_that_others_can_write_is_not_used(home: Path) -> None:
    if os.name == "nt":
        pytest.skip("Windows has no mode bits to look at")
    put(home / "project" / LABEL, STRICT_LS)
    folder = home / "own" / "cache"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert kind("ls", Overlays(BASE, tuple(layers_for(str(home / "project"))))) == "write"
    assert list(folder.iterdir()) == []


def test_a_verdict_with_overlays_reads_no_yaml(home: Path) -> None:
    """The second call has compiled rules, and is as light as one without overlays."""
    project = home / "project"
    put(project / LABEL, {**STRICT_LS, "_env.yaml": "variables: {FROB: executes}\n"})
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from shellguard.rules.shelf import _shelf_of\n"
        "from shellguard.rules.overlay import with_overlays\n"
        "from shellguard.engine import classify\n"
        "print(classify('FROB=1 ls', shelf=with_overlays(_shelf_of(sys.argv[3]), sys.argv[2])).kind)\n"
        "heavy = ('re', 'yaml', 'typing', 'dataclasses', 'enum', 'json', 'pathlib', 'shellguard.rules.load')\n"
        "print(*(name for name in heavy if name in sys.modules))\n"
    )
    root = str(Path(__file__).parents[2])
    base = home / "base"
    base.mkdir()
    for path in (*COMMON, "coreutils/ls.yaml"):
        shutil.copy(Path(shipped_folder(), path), base)
    cache.keep(Shelf(folder=str(base)))
    outputs = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-I", "-c", script, root, str(project), str(base)],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        outputs.append(done.stdout.split("\n")[:2])
    assert outputs[1] == ["write", ""]


# --- the law ----------------------------------------------------------------------------------------------------------

RULES = {rule.command: rule for rule in shipped_rules()}
TEXTS = {name: [example.text for example in examples_of(rule)] for name, rule in RULES.items()}
NAMES = sorted(name for name, texts in TEXTS.items() if texts)
STRICTNESS = {"read": 0, "unknown": 1, "write": 2}
ANY_EFFECT = st.sampled_from(["reads", "writes", "executes", "network", "waits", "unknown"])
EFFECTS = st.lists(ANY_EFFECT, min_size=1, max_size=2)
SHAPES = st.lists(st.sampled_from(["*", "<word>", "<number>", "", "x", "/dev/null"]), max_size=2)
STATEFUL = (
    "x=rm; {0}; $x y",
    "f() {{ rm y; }}; {0}; f",
    "PATH=.; {0}",
    "alias ls=rm; {0}",
    "export FOO=1; {0}",
    "{0} | xargs rm",
    'x=$({0}); cat "$x"',
    "if {0}; then rm y; fi",
)


@st.composite
def specs(draw: st.DrawFn, name: str) -> dict[str, object]:
    """A spec that may say anything of a command, and knows the words of its examples."""
    words = {
        word for text in TEXTS[name] for word in text.split(" ") if word.isascii() and word.isprintable()
    }
    dashed = sorted(word for word in words if len(word) == 2 and word[0] == "-" and word[1].isalnum())
    style = draw(st.sampled_from(["gnu", "posix", "words", "open", "plain"]))
    spec: dict[str, object] = {"style": style, "effect": draw(EFFECTS)}
    if style != "plain" and dashed:
        chosen = draw(st.lists(st.sampled_from(dashed), unique=True, max_size=6))
        for option in chosen:
            key = draw(st.sampled_from(["flags", "values", "maybe", "options"]))
            if key == "options":
                entry: dict[str, object] = {"takes": draw(st.sampled_from(["none", "one", "maybe", "two"]))}
                if draw(st.booleans()):
                    entry["effect"] = draw(EFFECTS)
                elif entry["takes"] == "one":
                    entry[draw(st.sampled_from(["program", "runs"]))] = None
                    entry = {
                        k: ("true" if k == "program" else "value" if k == "runs" else v)
                        for k, v in entry.items()
                    }
                options = spec.setdefault("options", {})
                assert isinstance(options, dict)
                options[option] = entry
            else:
                known = spec.setdefault(key, [])
                assert isinstance(known, list)
                known.append(option)
    roles = ["script", "variable", "exported", "name", "function", "alias", "directory"]
    if draw(st.booleans()):
        slots = []
        for number in range(draw(st.integers(0, 2))):
            slot: dict[str, object] = {"name": f"n{number}"}
            if draw(st.booleans()):
                slot["as"] = draw(st.sampled_from(roles))
                if slot["as"] == "script":
                    slot["language"] = draw(st.sampled_from(["shell", "sed", "awk", "nosuch"]))
            elif draw(st.booleans()):
                slot["effect"] = draw(EFFECTS)
            slots.append(slot)
        slots.append({"name": "rest", "many": "true"})
        spec["operands"] = slots
        if draw(st.booleans()):
            spec["runs"] = {"command": draw(st.sampled_from(["operands", "rest"]))}
        if draw(st.booleans()):
            spec["prints"] = draw(
                st.sampled_from(["hash", "number", "absolute-path", "name", {"under": "rest"}])
            )
    if draw(st.booleans()):
        spec["accepts"] = "anything"
    if draw(st.booleans()):
        spec["env_complete"] = "true"
    if draw(st.booleans()):
        spec["env"] = {draw(st.sampled_from(["PATH", "LD_PRELOAD", "FOO", "GIT_*", "PAGER"])): {}}
    for key, values in (
        ("touches", ["git-index", "cache", "tmp"]),
        ("marks", ["sensitive", "privileged", "remote"]),
        ("changes", ["cwd", "variables", "functions", "aliases", "options"]),
    ):
        if draw(st.integers(0, 4)) == 0:
            spec[key] = draw(st.lists(st.sampled_from(values), unique=True, min_size=1))
    return spec


@st.composite
def overlays(draw: st.DrawFn, name: str, *, trusted: bool) -> dict[str, str]:
    """The files of an overlay that speaks of one shipped command, and, untrusted, of anything else."""
    lines = [f"command: {json.dumps(name)}"]
    if draw(st.booleans()):
        others = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
        lines.append(f"aliases: [{', '.join(json.dumps(other) for other in others)}]")
    if not trusted:
        lines.append(f"replaces: {draw(st.sampled_from(['yes', 'no']))}")
    spec = draw(specs(name))
    lines += [f"{key}: {json.dumps(value)}" for key, value in spec.items()]
    files = {f"{name}.yaml": "\n".join(lines) + "\n"}
    if not trusted:
        values = st.one_of(
            st.just({}),
            st.just("program"),
            EFFECTS,
            st.builds(lambda effect, only: {"effect": effect, "only": only}, EFFECTS, SHAPES),
        )
        names = st.sampled_from(["FOO", "PATH", "LANG", "*", "GIT_PAGER", "LD_*", "x"])
        variables = draw(st.dictionaries(names, values, max_size=4))
        files["_env.yaml"] = f"replaces: yes\nvariables: {json.dumps(variables)}\n"
        files["_paths.yaml"] = f"replaces: yes\nsensitive: []\nnot_sensitive: {json.dumps(draw(SHAPES))}\n"
        files["_policies.yaml"] = f"strict: {{replaces: yes, effects: {json.dumps(draw(EFFECTS))}}}\n"
        files["foo.yaml"] = "command: foo\nreplaces: yes\naccepts: anything\neffect: reads\n"
    return files


def policies_of(shelf: Shelf) -> dict[str, Policy]:
    rules: dict[str, PolicyRule] = shelf.policies
    return {name: Policy.from_rule(rule) for name, rule in rules.items()}


def assert_not_milder(text: str, before: Verdict, after: Verdict, shelf: Shelf) -> None:
    assert STRICTNESS[after.kind] >= STRICTNESS[before.kind], (text, before, after)
    if after.read_only:
        assert before.marks <= after.marks, text
        assert before.effects <= after.effects, text
    known = policies_of(BASE)
    for name, policy in policies_of(shelf).items():
        assert not policy.allows(after) or known[name].allows(before), (name, text)


@given(data=st.data(), name=st.sampled_from(NAMES), trusted=st.booleans(), seed=st.integers(0, 2**32))
def test_an_overlay_that_does_not_replace_never_makes_a_verdict_milder(
    data: st.DataObject, name: str, trusted: bool, seed: int
) -> None:
    """Whatever a file says of a command that has a rule, trusted or not; and, untrusted, whatever it says at all."""
    files = data.draw(overlays(name, trusted=trusted))
    shelf = laid(files, trusted=trusted)
    rule = shelf.layers[0].parsed(name)
    assert rule is not None
    chance = random.Random(seed)
    texts = chance.sample(TEXTS[name], min(8, len(TEXTS[name])))
    texts += [
        chance.choice(STATEFUL).format(texts[0].split("  #")[0]),
        "foo x; rm y",
        "FOO=1 cat x",
        "LANG=./x ls",
    ]
    for text in texts:
        assert_not_milder(text, classify(text), classify(text, shelf=shelf), shelf)


def test_the_law_is_tried_with_files_that_load() -> None:
    """Most generated files must be good ones, or the law above says nothing."""
    good = bad = 0

    @given(data=st.data(), name=st.sampled_from(NAMES))
    def count(data: st.DataObject, name: str) -> None:
        nonlocal good, bad
        answer = laid(data.draw(overlays(name, trusted=False))).layers[0].parsed(name)
        good += isinstance(answer, CommandRule)
        bad += isinstance(answer, BrokenRule)

    count()
    assert good > bad


def test_a_rule_error_names_the_overlay() -> None:
    found = layer({"x.yaml": "command: x\neffect: raeds\n"})
    with pytest.raises(RuleError, match=rf"^{LABEL}/x\.yaml:2: `effect` cannot be `raeds`"):
        found.load("x.yaml")
