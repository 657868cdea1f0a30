# SPDX-License-Identifier: Apache-2.0
"""The parts that need no sandbox: the filter, the operands that are made, the record, what is tried, the stand-ins."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import pytest

from shellguard import classify
from shellguard.rules.proof import Proof
from tools.witness import bus, calls, campaign, examples, fuzz, record, services
from tools.witness.network import respond
from tools.witness.operands import operands_of
from tools.witness.places import HOME, WORK
from tools.witness.record import Run
from tools.witness.versions import is_builtin
from tools.witness.worlds.samples import sample

ALLOW, NOTIFY, ERROR = 0x7FFF0000, 0x7FC00000, 0x00050000 | calls.ENOSYS


def decide(number: int, *args: int, architecture: int = calls.AUDIT_ARCH_X86_64) -> int:
    """What the filter answers to a call: the BPF program, run by hand."""
    words = {0: number & 0xFFFFFFFF, 4: architecture}
    for place in range(6):
        value = args[place] if place < len(args) else 0
        words[16 + 8 * place] = value & 0xFFFFFFFF
    code = list(struct.iter_unpack("=HBBI", calls.program()))
    value = at = 0
    while True:
        kind, yes, no, operand = code[at]
        at += 1
        match kind:
            case 0x20:
                value = words[operand]
            case 0x15:
                at += yes if value == operand else no
            case 0x45:
                at += yes if value & operand else no
            case 0x35:
                at += yes if value >= operand else no
            case 0x06:
                return int(operand)
            case _:
                raise AssertionError(f"unknown instruction {kind:#x}")


@pytest.mark.parametrize(
    "number, args, answer",
    [
        (0, (), ALLOW),  # read
        (1, (), ALLOW),  # write: the file was opened before
        (257, (0, 0, 0), ALLOW),  # openat, to read
        (257, (0, 0, 0o1), NOTIFY),
        (257, (0, 0, 0o2), NOTIFY),
        (257, (0, 0, 0o100), NOTIFY),
        (257, (0, 0, 0o2000000), ALLOW),  # O_CLOEXEC
        (2, (0, 0o1000), NOTIFY),
        (437, (), NOTIFY),
        (87, (), NOTIFY),
        (59, (), NOTIFY),
        (101, (0,), NOTIFY),  # ptrace: be traced
        (101, (16, 5), NOTIFY),
        (101, (0x4206, 5), NOTIFY),
        (101, (24, 5), ALLOW),  # go on to the next call
        (41, (2, 1, 0), ALLOW),
        (62, (5, 0), ALLOW),  # kill with signal 0
        (62, (5, 9), NOTIFY),
        (44, (3, 0, 0, 0, 0, 0), ALLOW),  # sendto without an address
        (44, (3, 0, 0, 0, 0, 16), NOTIFY),
        (302, (0, 7, 5), ALLOW),  # prlimit of itself
        (302, (9, 7, 0), ALLOW),  # of another, to look
        (302, (9, 7, 5), NOTIFY),
        (16, (0, 0x5401), ALLOW),  # ioctl TCGETS
        (16, (0, 0x5412), NOTIFY),
        (56, (17,), ALLOW),  # fork
        (56, (0x10000000 | 17,), NOTIFY),
        (435, (), ERROR),
        (425, (), NOTIFY),
        (165, (), NOTIFY),
        (0x40000000, (), NOTIFY),
        (0x40000000 | 87, (), NOTIFY),
    ],
)
def test_the_filter_reports_what_changes_and_lets_the_rest_pass(
    number: int, args: tuple[int, ...], answer: int
) -> None:
    assert decide(number, *args) == answer


def test_another_architecture_is_reported() -> None:
    assert decide(0, architecture=0x40000003) == NOTIFY


def test_every_refused_call_is_reported() -> None:
    assert all(
        decide(number) == NOTIFY for number, call in calls.CALLS.items() if call.refused and not call.when
    )


# --- operands -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command, made",
    [
        ("cat nofile.txt", {f"{WORK}/nofile.txt"}),
        ("cat ./deep/er.csv", {f"{WORK}/deep/er.csv"}),
        ("cat /tmp/x.json ~/y.toml", {"/tmp/x.json", f"{HOME}/y.toml"}),
        ("cd /testbed && cat pkg/m.py", {f"{WORK}/pkg/m.py"}),
        ("cat /etc/nothing", set()),
        ("sort in.dat > out.dat", {f"{WORK}/in.dat"}),
        ("sort -o out.dat in.dat", {f"{WORK}/in.dat"}),
        ("tool --file=in.dat", {f"{WORK}/in.dat"}),
        ("curl -d @body.dat https://example.org/a.b", {f"{WORK}/body.dat"}),
        ("git diff main...feat", set()),
        ("git log nothing", set()),
        ("head -n 5 3.14", set()),
        ("ls newdir", {f"{WORK}/newdir"}),
        ('cat "$f" $(ls x.dat)', {f"{WORK}/x.dat"}),
        ("sort < in.dat", {f"{WORK}/in.dat"}),
        ("sort > out.dat", set()),
        ("ls -- -o", {f"{WORK}/-o"}),
        ("tar -tf ./a:b.tar", {f"{WORK}/a:b.tar"}),
        ("rsync host:b.dat .", set()),
        ("(", set()),
    ],
)
def test_operands_that_are_made(tmp_path: Path, command: str, made: set[str]) -> None:
    assert set(operands_of(command, str(tmp_path))) == made


def test_what_a_world_has_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/there.txt").write_text("x")
    assert operands_of("cat there.txt", str(tmp_path)) == {}
    assert operands_of("cd there.txt", str(tmp_path)) == {f"{WORK}/there.txt": None}


def test_a_folder_is_made_where_one_is_wanted(tmp_path: Path) -> None:
    assert operands_of("find newdir; cat sub/", str(tmp_path)) == {
        f"{WORK}/newdir": None,
        f"{WORK}/sub": None,
    }


def test_a_sample_is_what_its_name_says() -> None:
    assert json.loads(sample("x.json"))
    assert sample("x.tar.gz")[:2] == b"\x1f\x8b"
    assert sample("x.zip")[:2] == b"PK"
    assert sample("x.db")[:6] == b"SQLite"
    assert sample("x.png")[1:4] == b"PNG"
    assert sample("no-ending") == sample("x.txt")


# --- the record ---------------------------------------------------------------------------------------------------


def run(group: str, key: str, outcome: str = "ok", *classes: str) -> Run:
    return Run(group, key, outcome, classes)


def test_the_record_is_sorted_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    runs = [
        run("b", 'x\n"\t\u2028\x85', "refuted", "net", "tmp"),
        run("a", "ls"),
        Run("a", "z", "inconclusive", (), "why"),
    ]
    record.write([], runs, path)
    text = path.read_text()
    record.write([], reversed(runs), path)
    assert path.read_text() == text
    assert sorted(record.read(path)[1], key=Run.line) == sorted(runs, key=Run.line)


def test_a_tool_that_is_absent_keeps_what_was_seen() -> None:
    old: tuple[dict[str, Proof], list[Run]] = (
        {},
        [run("a", "one"), run("a", "dark", "inconclusive"), run("a", "gone"), run("b", "two", "ok", "net")],
    )
    now = [run("a", "one", "skipped"), run("a", "dark", "skipped"), run("a", "new")]
    _, runs = record.merged(old, {}, now)
    assert set(runs) == {run("a", "one"), *now[1:], run("b", "two", "ok", "net")}


def test_the_committed_record_names_no_public_text() -> None:
    _, runs = record.read()
    assert all(re.fullmatch(r"[\w-]+", one.key) and not one.reason for one in runs if one.group == "corpus")


# --- what is tried ------------------------------------------------------------------------------------------------


def test_the_quick_run_takes_from_the_common_commands() -> None:
    chosen = examples.quick(list(examples.of_rules()))
    assert len(chosen) == examples.QUICK
    assert {example.group for example in chosen} <= set(examples.COMMON)
    assert len({example.text for example in chosen}) == examples.QUICK


def test_rules_are_chosen_by_name_path_and_folder() -> None:
    assert {example.group for example in examples.of_rules(("sort",))} == {"sort"}
    assert {example.group for example in examples.of_rules(("rules/coreutils/sort.yaml",))} == {"sort"}
    assert {"sort", "ls"} <= {example.group for example in examples.of_rules(("rules/coreutils",))}


def test_examples_of_the_tests_are_reads() -> None:
    texts = [example.text for example in examples.of_tests()]
    assert len(texts) > 500
    assert len(set(texts)) == len(texts)
    assert sum(classify(text).read_only for text in texts) > 0.95 * len(texts)


@pytest.mark.parametrize("name", sorted(fuzz.TOOLS))
def test_a_tool_to_fuzz_has_a_place_for_an_option(name: str) -> None:
    for base in fuzz.TOOLS[name]:
        assert base.format("-x") != base.format("-y")


def test_options_are_spelled_in_every_way() -> None:
    forms = set(fuzz._spelled("--output"))
    assert {"--output", "--output=new.out", "--output new.out", "--out=new.out", "--o"} <= forms
    assert "-onew.out" in set(fuzz._spelled("-o"))


@pytest.mark.parametrize(
    "signature, values",
    [
        ("s", ("foo",)),
        ("yqut", (1, 2, 3, 4)),
        ("a(ss)", ([("a", "b"), ("c", "d")],)),
        ("a(iiay)st", ([(2, 2, [127, 0, 0, 1])], "example.org", 1)),
        ("ao", ([],)),
        ("(tb)", ((1, True),)),
    ],
)
@pytest.mark.parametrize("start", [0, 1, 4, 13])
def test_what_is_packed_for_the_bus_is_what_it_says(
    signature: str, values: tuple[object, ...], start: int
) -> None:
    data = bytes(start) + bus.packed(signature, values, start)
    assert bus.unpacked(signature, data, start) == json.loads(json.dumps(values))


@pytest.mark.parametrize(
    "interface, path", [("", "/org/freedesktop/login1/user/_1"), ("org.freedesktop.login1.User", "/")]
)
def test_the_bus_knows_the_properties_of_an_object(interface: str, path: str) -> None:
    reply = bus.answer("org.freedesktop.DBus.Properties", "GetAll", [interface], path)
    assert reply is not None
    assert reply[1][0]["UID"] == ("u", 1000)
    assert bus.answer("org.freedesktop.DBus.Properties", "Get", [interface, "Nothing"], path) is None


def test_an_answer_of_the_bus_can_be_sent() -> None:
    for member, (signature, values) in bus._ANSWERS.items():
        assert bus.packed(signature, values), member
    for known in bus._PROPERTIES.values():
        assert bus.packed("a{sv}", (known,))


@pytest.mark.parametrize(
    "text, reason",
    [
        ("date -v -1d +%F      # BSD", "a spelling of another system"),
        ("docker compose ps", "the plugin compose is not installed"),
        ("docker ps", ""),
    ],
)
def test_an_example_that_cannot_be_tried_says_why(
    monkeypatch: pytest.MonkeyPatch, text: str, reason: str
) -> None:
    monkeypatch.setattr(campaign, "_PLUGIN_FOLDERS", ())
    assert campaign._absent(text, None) == reason
    assert campaign._absent(text, ("no-such-tool-at-all",)) == "the tool is not installed"


def test_a_client_s_statements_are_read_in_pieces() -> None:
    noted: list[str] = []

    def log(kind: str, address: str, **more: str) -> None:
        noted.append(more["body"])

    start = b"\0\0\0\x0a\0\3\0\0a\0"
    query = b"Q\0\0\0\x0dselect 1\0"
    parse = b"P\0\0\0\x10s\0select 2\0\0\0"
    note = services._PostgresNotes(log)
    for byte in b"\0\0\0\x08\x04\xd2\x16\x2f" + start + query + parse:
        note(bytes([byte]))
    maria = services._MariaNotes(log)
    for byte in b"\5\0\0\1login\x09\0\0\0\3select 3\1\0\0\0\x0e":
        maria(bytes([byte]))
    assert noted == ["select 1", "select 2", "select 3"]


def test_builtins_are_known() -> None:
    assert is_builtin("cd")
    assert not is_builtin("ls")


# --- stand-ins ----------------------------------------------------------------------------------------------------


def test_a_query_gets_what_it_asks_for_and_nothing_else() -> None:
    query = (
        'query Q($n: Int!) { repository(owner: "o", name: $n) { id, isPrivate two: pullRequests(first: 2) '
        "{ nodes { number } totalCount pageInfo { hasNextPage } } ... on Thing { createdAt } ...rest } } "
        "fragment rest on Repository { owner { login } }"
    )
    status, _, content = respond("POST", "api.github.com", "/graphql", json.dumps({"query": query}).encode())
    assert status == 200
    assert json.loads(content) == {
        "data": {
            "repository": {
                "id": "x",
                "isPrivate": True,
                "two": {"nodes": [], "totalCount": 1, "pageInfo": {"hasNextPage": False}},
                "createdAt": "2023-11-14T22:13:20Z",
                "owner": {"login": "x"},
            }
        }
    }


@pytest.mark.parametrize(
    "body", [b"", b"{}", b'{"query": "{"}', b'{"query": "query {a(b:{c:1}){d"}', b'{"query": 1}']
)
def test_a_broken_query_gets_an_answer(body: bytes) -> None:
    assert respond("POST", "api.github.com", "/graphql", body)[0] == 200


@pytest.mark.parametrize(
    "host, path, key",
    [
        ("127.0.0.1:8001", "/api/v1/namespaces/ns/pods/x", "metadata"),
        ("127.0.0.1:8001", "/api/v1/pods", "items"),
        ("127.0.0.1:8001", "/apis", "groups"),
        ("", "/v1.43/containers/x/json", "Id"),
        ("api.github.com", "/repos/o/r/pulls/1", "number"),
    ],
)
def test_a_service_answers_in_its_form(host: str, path: str, key: str) -> None:
    assert key in json.loads(respond("GET", host, path, b"")[2])
