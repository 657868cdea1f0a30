# SPDX-License-Identifier: Apache-2.0
"""Damage, size and malice: a reader names what it cannot read, and goes on."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellguard.transcripts import files
from shellguard.transcripts.detect import calls_of
from shellguard.transcripts.discover import discovered
from shellguard.transcripts.files import Source
from shellguard.transcripts.model import Call, Pairing, Problem, Result, seconds
from shellguard.transcripts.rows import call_of, line_of, row_of
from tests.transcripts.test_readers import FIXTURES, FORMATS

LINE = '{"session": "s", "tool": "bash", "args": {"command": "ls"}}\n'


def read(path: Path) -> tuple[list[Call], list[Problem]]:
    items = list(calls_of(Source(str(path))))
    return [item for item in items if isinstance(item, Call)], [
        item for item in items if isinstance(item, Problem)
    ]


def mutated(value: Any, chance: random.Random) -> Any:
    """The value with one place in it replaced by something that does not belong there."""
    odd: tuple[Any, ...] = (
        *(10**400, -(10**30), float("inf"), float("nan")),
        None,
        True,
        -1,
        1e300,
        "",
        "x",
        [],
        [None],
        {},
        {"type": 5},
        [[[]]],
        "9" * 40,
        {"role": "user", "content": 3},
    )
    places = list(_places(value))
    if not places:
        return chance.choice(odd)
    holder, key = chance.choice(places)
    if isinstance(holder, dict) and chance.random() < 0.3:
        del holder[key]
    else:
        holder[key] = chance.choice(odd)
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in pairs:
        yield value, key
        yield from _places(child)


IN_JSON = [name for name in FORMATS if Path(name).suffix in {".json", ".jsonl", ".traj"}]


def changed(name: str, times: int) -> Iterator[str]:
    """The text of a fixture in JSON with one value in it replaced or lost, so many times."""
    text = (FIXTURES / name).read_text(encoding="utf-8")
    chance = random.Random(name)
    for _ in range(times):
        if name.endswith(".jsonl"):
            lines = text.splitlines()
            at = chance.choice(
                [at for at, line in enumerate(lines) if line.startswith("{") and line.endswith("}")]
            )
            lines[at] = json.dumps(mutated(json.loads(lines[at]), chance))
            yield "\n".join(lines)
        else:
            yield json.dumps(mutated(json.loads(text), chance))


@pytest.mark.parametrize("name", IN_JSON)
def test_no_change_of_a_record_makes_a_reader_fail(name: str, tmp_path: Path) -> None:
    """There may be fewer calls, never an exception, and each can be written down."""
    path = tmp_path / Path(name).name
    for text in changed(name, 40):
        path.write_text(text, encoding="utf-8")
        for call in read(path)[0]:
            line_of(call)


@pytest.mark.parametrize("name", IN_JSON)
def test_a_file_that_is_cut_anywhere_is_read_as_far_as_it_goes(name: str, tmp_path: Path) -> None:
    data = (FIXTURES / name).read_bytes()
    path = tmp_path / Path(name).name
    whole = len(read(FIXTURES / name)[0])
    for at in range(0, len(data), max(1, len(data) // 40)):
        path.write_bytes(data[:at])
        calls, problems = read(path)
        assert len(calls) <= whole
        assert problems or calls or at == 0 or name.endswith(".jsonl")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(
    tool=st.text(max_size=6),
    args=st.dictionaries(st.text(max_size=6), json_values, max_size=3),
    result=st.none() | st.text(max_size=20),
    turn=st.none() | st.integers(0, 9),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    failed=st.none() | st.booleans(),
    exit_code=st.none() | st.integers(-1, 255),
    at=st.none() | st.floats(1e9, 2e9),
    elapsed=st.none() | st.floats(0, 1e6),
    prompt=st.none() | st.text(max_size=6),
)
def test_every_call_survives_our_own_lines(
    tool: str,
    args: dict[str, Any],
    result: str | None,
    turn: int | None,
    flags: tuple[bool, bool, bool],
    failed: bool | None,
    exit_code: int | None,
    at: float | None,
    elapsed: float | None,
    prompt: str | None,
) -> None:
    """Lone surrogates, control characters and any JSON in the arguments included."""
    call = Call("x", "s", tool, args, 3, "a", turn, prompt, "id", "g", "c\ud800", "/w", result)
    call.result_len = None if result is None else len(result)
    call.denied, call.running, call.truncated = flags
    call.failed, call.exit_code, call.started_at, call.elapsed = failed, exit_code, at, elapsed
    again = call_of(json.loads(line_of(call)), Source("x.jsonl"), 1, {})
    assert isinstance(again, Call)
    call.result_sha256 = again.result_sha256
    call.counts_replies = False
    assert again == call


def test_a_line_says_no_more_than_is_known() -> None:
    call = Call("x", "s", "bash", {"command": "ls"}, command="ls")
    assert row_of(call) == {
        "source": "x",
        "session": "s",
        "index": 0,
        "tool": "bash",
        "args": {"command": "ls"},
        "command": "ls",
    }


@pytest.mark.parametrize(
    "pack, suffix", [(gzip.compress, ".gz"), (bz2.compress, ".bz2"), (lzma.compress, ".xz")]
)
def test_compressed_files_are_read_and_cut_ones_named(pack: Any, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(pack(LINE.encode() * 500))
    assert len(read(path)[0]) == 500
    data = pack(
        b"".join(LINE.replace("ls", f"ls {random.Random(n).random()}").encode() for n in range(20_000))
    )
    path.write_bytes(data[: len(data) // 2])
    _, problems = read(path)
    assert [problem.path for problem in problems] == [str(path)]
    assert "cut" in problems[0].message


def test_zstd_is_read_where_the_package_is(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed (extra corpora)")
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(LINE.encode() * 500))
    assert len(read(path)[0]) == 500
    path.write_bytes(path.read_bytes()[:-8])
    assert read(path)[1]


@pytest.mark.parametrize("content", [b"\0" * (1 << 20), LINE.encode() * 4096])
def test_a_bomb_is_named(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FREE_EXPANSION", 1 << 16)
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb") as stream:
        for _ in range(16):
            stream.write(content)
    _, problems = read(path)
    assert "unpacks to more than" in problems[-1].message


def test_a_giant_line_is_named_and_the_rest_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 1 << 20)
    path = tmp_path / "a.jsonl"
    path.write_text(LINE + '{"tool": "' + "x" * (3 << 20) + '"}\n' + LINE, encoding="utf-8")
    calls, problems = read(path)
    assert len(calls) == 2
    assert [(problem.line, "more than" in problem.message) for problem in problems] == [(2, True)]


def test_a_file_that_begins_with_a_giant_or_a_broken_line_is_still_known(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    giant = json.dumps({"session": "s", "tool": "write", "args": {"text": "x" * (2 * files.SAMPLE)}})
    path.write_text(f"{giant}\n{LINE}", encoding="utf-8")
    assert len(read(path)[0]) == 2
    path.write_text(f"{giant[:-9]}\n{LINE}{LINE}", encoding="utf-8")
    assert [len(found) for found in read(path)] == [2, 1]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"\xff\xfe\x00",
        b"text\nmore\n",
        b"[]",
        b"{}",
        b"null",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"SQLite format 3\x00" + b"x" * 200,
        b"PK\x03\x04" + b"x" * 50,
        b"PAR1xxxx",
        b"\x1f\x8bxxxx",
        b"\x28\xb5\x2f\xfdxxxx",
    ],
)
def test_what_is_no_transcript_is_named(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    calls, problems = read(path)
    assert calls == []
    assert len(problems) == 1


def test_an_archive_of_inspect_is_read_and_a_bomb_in_it_named(tmp_path: Path) -> None:
    log = json.loads((FIXTURES / "inspect/log.json").read_text(encoding="utf-8"))
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        for number, sample in enumerate(log["samples"]):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
        archive.writestr("samples/bomb.json", b" " * (8 << 20))
        archive.writestr("samples/broken.json", "{")
    calls, problems = read(path)
    whole = read(FIXTURES / "inspect/log.json")[0]
    assert [call.command for call in calls] == [call.command for call in whole]
    assert ["skipped" in problem.message for problem in problems] == [True, False]


def test_an_archive_of_inspect_that_is_packed_with_zstd_is_read(tmp_path: Path) -> None:
    """As version 0.3.285 writes it; `zipfile` cannot, so the headers are changed behind its back."""
    zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed (extra corpora)")
    log = json.loads((FIXTURES / "inspect/log.json").read_text(encoding="utf-8"))
    sample = log["samples"][0]
    sample["messages"][2]["content"] = "attachment://abc"
    sample["attachments"] = {"abc": "a long text"}
    plain = json.dumps(sample).encode()
    packed = zstandard.ZstdCompressor().compress(plain)
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/1_epoch_1.json", packed)
    data = bytearray(path.read_bytes())
    for start, method, size in ((data.index(b"PK\x03\x04"), 8, 22), (data.index(b"PK\x01\x02"), 10, 24)):
        data[start + method : start + method + 2] = (93).to_bytes(2, "little")
        data[start + size : start + size + 4] = len(plain).to_bytes(4, "little")
    path.write_bytes(data)
    calls, problems = read(path)
    assert (calls[0].tool, calls[0].command, calls[0].result) == ("bash", "ls", "a long text")
    assert problems == []
    path.write_bytes(data.replace(packed[10:20], b"x" * 10))
    assert [problem.message.partition(":")[0] for problem in read(path)[1]] == ["samples/1_epoch_1.json"]


def test_bytes_that_are_no_text_do_not_lose_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINE.encode() + b'{"session":"s","tool":"bash","args":{"command":"cat \xff\xfe"}}\r\n')
    calls, problems = read(path)
    assert [call.command for call in calls] == ["ls", "cat \ufffd\ufffd"]
    assert problems == []


def test_a_database_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with sqlite3.connect(path) as connection:
        connection.execute("pragma journal_mode=wal")
        connection.executescript((FIXTURES / "hermes/state.sql").read_text(encoding="utf-8"))
    connection.close()
    before = path.read_bytes()
    assert len(read(path)[0]) == 3
    assert path.read_bytes() == before
    path.write_bytes(before[: len(before) // 2])
    assert read(path)[1]


def test_results_find_their_calls_in_any_order() -> None:
    pairing = Pairing(most=3)
    pairing.result("b", Result("early"))
    given: list[Call] = []
    for name in "abcdef":
        given += pairing.add(Call("x", "s", name, {}, call_id=name))
    assert [call.tool for call in given] == ["a", "b", "c"]  # three at most wait
    assert given[1].result == "early"
    assert pairing.result("f", Result("late"))
    assert not pairing.result("a", Result("too late"))
    assert list(pairing.ready()) == []  # d is in front, and waits
    assert [(call.tool, call.result) for call in pairing.rest()] == [("d", None), ("e", None), ("f", "late")]


@pytest.mark.parametrize(
    "value, expected",
    [
        ("2026-01-01T00:00:00Z", 1767225600.0),
        ("2026-01-01T01:00:00+01:00", 1767225600.0),
        ("2026-01-01T00:00:00", 1767225600.0),
        (1767225600, 1767225600.0),
        (1767225600000, 1767225600.0),
        (1767225600000000, 1767225600.0),
        ("soon", None),
        (True, None),
        (float("nan"), None),
        (10**30, None),
        (None, None),
    ],
)
def test_times_of_all_records_are_seconds(value: object, expected: float | None) -> None:
    assert seconds(value) == expected


def test_discovery_is_ordered_and_takes_each_file_once(tmp_path: Path) -> None:
    for name in ("b/2.jsonl", "b/1.jsonl.gz", "a.traj", "b/note.txt", "b/.git/x.json", "node_modules/y.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(LINE, encoding="utf-8")
    found = list(discovered([str(tmp_path / "b" / "*.jsonl"), str(tmp_path), str(tmp_path / "none" / "*")]))
    names = [item.path.removeprefix(f"{tmp_path}/") for item in found]
    assert names == ["b/2.jsonl", "a.traj", "b/1.jsonl.gz", "none/*"]
    assert isinstance(found[-1], Problem)
