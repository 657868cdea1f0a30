# SPDX-License-Identifier: Apache-2.0
"""Compiled rules say what the YAML files say, and nothing that is wrong with a compiled file lets a command pass."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shellguard import classify
from shellguard.errors import RuleError
from shellguard.rules import cache
from shellguard.rules.compiled import COMMON, Compiled
from shellguard.rules.model import BrokenRule, Record
from shellguard.rules.shelf import Shelf, shipped_folder

LEFT_OUT = {"examples", "summary", "judgement"}
YAML = Shelf(folder=shipped_folder())


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    path = tmp_path_factory.mktemp("compiled") / "compiled.rules"
    path.write_bytes(cache.compile_rules(YAML))
    return Compiled(str(path))


def assert_same(expected: object, found: object, place: str) -> None:
    """Equality field by field, so that a difference names its place."""
    if isinstance(expected, Record):
        assert type(found) is type(expected), place
        for name in expected.__match_args__:
            if name not in LEFT_OUT:
                assert_same(getattr(expected, name), getattr(found, name), f"{place}.{name}")
    elif isinstance(expected, dict):
        assert isinstance(found, dict)
        assert list(expected) == list(found), place
        for key, value in expected.items():
            assert_same(value, found[key], f"{place}[{key!r}]")
    elif isinstance(expected, tuple):
        assert isinstance(found, tuple)
        assert len(expected) == len(found), place
        for index, value in enumerate(expected):
            assert_same(value, found[index], f"{place}[{index}]")
    else:
        assert expected == found, place


@pytest.mark.parametrize("name", YAML.names())
def test_a_rule_reads_back(name: str, compiled: Compiled) -> None:
    assert_same(YAML.get(name), compiled.get(name), name)


def test_common_files_read_back(compiled: Compiled) -> None:
    for name, value in zip(COMMON, (YAML.variables, YAML.paths, YAML.policies), strict=True):
        assert_same(value, compiled.common(name), name)


def test_both_answer_to_the_same_names(compiled: Compiled) -> None:
    assert compiled.names() == YAML.names()
    for name in ("", "frobnicate", "l", "ls\t", "ls\n", "/_env.yaml", "_env.yaml", "\udce9", "\0"):
        assert compiled.get(name) is None, name


def test_compiling_twice_gives_the_same_bytes() -> None:
    assert cache.compile_rules(YAML) == cache.compile_rules(Shelf(folder=shipped_folder()))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:100],
        lambda data: data.replace(b"shellguard-rules ", b"shellguard-rules 9", 1),
        lambda data: b"\xff" * len(data),
    ],
    ids=["empty", "cut in the index", "another format", "noise"],
)
def test_a_file_that_is_none_is_refused(spoil: object, tmp_path: Path) -> None:
    assert callable(spoil)
    path = tmp_path / "compiled.rules"
    path.write_bytes(spoil(cache.compile_rules(YAML)))
    with pytest.raises(RuleError):
        Compiled(str(path))


def test_a_spoilt_rule_is_a_broken_rule(tmp_path: Path) -> None:
    """Each byte of one rule spoilt in turn: never an exception, and never a rule that lets `sort -o` pass."""
    data = cache.compile_rules(YAML)
    path = tmp_path / "compiled.rules"
    path.write_bytes(data)
    probe = Compiled(str(path))
    place = probe._place("sort")
    assert place is not None
    begin = probe._start + place[0]
    for at in range(begin, begin + place[1], 23):
        path.write_bytes(data[:at] + b"\x00" + data[at + 1 :])
        shelf = Shelf(folder=shipped_folder(), compiled=Compiled(str(path)))
        assert not classify("sort -o out in", shelf=shelf).read_only
        assert isinstance(shelf.get("sort"), BrokenRule)


def test_the_cache_is_used_only_when_nobody_else_could_have_written_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.name == "nt":
        pytest.skip("Windows has no mode bits to look at")
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path))
    assert cache.compiled_rules(YAML.content) is None
    path = Path(cache.keep(YAML))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    found = cache.compiled_rules(YAML.content)
    assert found is not None
    assert found.content == YAML.content
    path.chmod(0o622)
    assert cache.compiled_rules(YAML.content) is None
    path.chmod(0o600)
    path.parent.chmod(0o777)
    assert cache.compiled_rules(YAML.content) is None
    path.parent.chmod(0o700)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    assert cache.compiled_rules(YAML.content) is None


def test_the_content_changes_with_every_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("command: a\n")
    before = Shelf(folder=str(tmp_path)).content
    (tmp_path / "_env.yaml").write_text("x\n")
    after = Shelf(folder=str(tmp_path)).content
    assert len(before) == 32
    assert before != after
