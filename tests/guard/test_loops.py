# SPDX-License-Identifier: Apache-2.0
"""The loops that guards missed, and the useful repeats that they stopped, as users reported them.

Each case is the smallest sequence that shows the mechanism; the name is that of the table of reports. A loop has
beside it the number of the call at which it is told, and at which it is stopped (0: never, with the reason).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from shellguard.guard import GuardConfig
from tests.guard.replays import Call, Hash, Step, Turn, config, play, sh, stopped, warned

Steps = Callable[[], Sequence[Step]]


def read(path: str, result: object = "same") -> Call:
    return Call("read_file", {"path": path}, result)


def ids(number: int) -> str:
    return f"{number * 7919 + 4_000_000_007:x}"


def on_and_on(text: str) -> list[Step]:
    return [*[Call("read", {"path": "f", "offset": 95}, "same")] * 3, Turn(text)]


LOOPS: dict[str, tuple[Steps, int, int]] = {
    # what happened, when it is told, when it is stopped
    "L01 one call in each of six replies": (lambda: [[read("a")] for _ in range(6)], 3, 6),
    "L02 text between the calls": (lambda: [[read("a")] for _ in range(6)], 3, 6),
    "L03 two in turn": (lambda: [Call("query", {"q": "x"}, "1"), Call("search", {"q": "y"}, "2")] * 6, 5, 11),
    "L03 three in turn": (
        lambda: [Call(tool, {}, f"result of {tool}") for tool in ("alpha", "beta", "gamma")] * 6,
        9,
        16,
    ),
    "L04 an edit that never matches": (
        lambda: [Call("edit", {"file": "f", "line": n}, "no match") for n in range(20)],
        5,
        0,  # nothing failed: one that looks through many things may find nothing in any
    ),
    "L04 an edit that fails": (
        lambda: [Call("edit", {"file": "f", "line": n}, "no match", True) for n in range(20)],
        5,
        8,
    ),
    "L05 folders that are not there": (
        lambda: [
            sh(f"ls -l d{n}", f"ls: cannot access 'd{n}': No such file or directory", 2) for n in range(1, 27)
        ],
        5,
        11,
    ),
    "L06 the same search in other words": (
        lambda: [
            Call("grep", {"pattern": "|".join(["abc"[(n + k) % 3] for k in range(3)]) + "x" * n}, "")
            for n in range(12)
        ],
        5,
        0,  # nothing failed: one that looks through many things may find nothing in any
    ),
    "L06 the same search with grep": (
        lambda: [sh(f"grep -rn '{'a' * n}|b' src", "", 1) for n in range(1, 13)],
        5,
        0,  # nothing failed: one that looks through many things may find nothing in any
    ),
    "L07 other options, the same refusal": (
        lambda: [
            sh(f"ssh -o Opt{chr(65 + n)}=yes host uptime", "host: Permission denied (publickey).", 255)
            for n in range(12)
        ],
        5,
        11,
    ),
    "L08 durations and ids in the result": (
        lambda: [
            Call(
                "exec",
                {"command": "make deploy"},
                {"text": "same", "durationMs": 90 + n, "pid": 4000 + n, "startedAt": n},
            )
            for n in range(14)
        ],
        4,
        13,
    ),
    "L09 a failure that prints the time": (
        lambda: [sh("date +%N; exit 1", f"{812345678 + 7919 * n}", 1) for n in range(10)],
        3,
        6,
    ),
    "L10 a fresh id in each answer": (
        lambda: [Call("send", {"text": "t"}, {"id": ids(n)}) for n in range(14)],
        4,
        13,
    ),
    "L11 another timeout each time": (
        lambda: [
            Call("exec", {"command": "./check", "timeout": 10 * n}, "waiting for lock") for n in range(1, 15)
        ],
        4,
        13,
    ),
    "L11 another span of time each time": (
        lambda: [
            sh(f"kubectl logs x --since={10 * n}m", "the log, and nothing new in it") for n in range(1, 13)
        ],
        8,
        0,  # other arguments are other calls: that they say the same may be chance
    ),
    "L12 a slash at the end or none": (
        lambda: [Call("list_dir", {"path": f"src/{'/' * (n % 2)}"}, "a b c") for n in range(8)],
        3,
        6,
    ),
    "L12 numbers and nulls": (
        lambda: [
            Call("exec", {"command": "frob", "n": [1, 1.0][n % 2], **({} if n % 3 else {"x": None})}, "y")
            for n in range(8)
        ],
        4,
        0,
    ),
    "L13 the partner of a refused call": (
        lambda: [sh("./a", "x"), sh("./b", "y")] * 8 + [sh("./b", "y"), sh("./a", "x")] * 8,
        6,
        11,
    ),
    "L14 a detector without a stop": (lambda: [Call("exec", {"command": "./c"}, "same")] * 21, 4, 13),
    "L15 a list of processes": (lambda: [Call("process", {"action": "list"}, "none running")] * 30, 3, 6),
    "L16 one command again and again": (lambda: [sh("./run.sh", "done")] * 20, 4, 13),
    "L17 the same error": (lambda: [Call("memory", {"key": "bad"}, "Error: limit exceeded")] * 10, 3, 6),
    "L18 a write that does nothing": (lambda: [Call("navigate", {"url": "u"}, "ok (404)")] * 14, 4, 13),
    "L19 other pages, one refusal": (
        lambda: [Call("fetch", {"url": f"https://example.org/?{'n' * n}"}, "blocked") for n in range(1, 13)],
        5,
        0,  # nothing failed: one that looks through many things may find nothing in any
    ),
    "L19 an image that differs by pixels": (
        lambda: [Call("screenshot", {}, [{"type": "image", "data": f"iVBOR{n}"}]) for n in range(10)],
        8,
        0,  # every result differs, and nobody can tell a loop from a look at what moves
    ),
    "L20 results that differ a little": (
        lambda: [Call("search", {"q": "x"}, f"{n} results: {'ab' * n}") for n in range(8)],
        8,
        0,  # a changing result is no proof of a loop
    ),
    "L21 a tool that answers through a model": (
        lambda: [Call("reason", {"q": "x"}, f"thought {'abc' * n}") for n in range(10)],
        8,
        0,  # as L20
    ),
    "L22 two that succeed in turn": (lambda: [Call("alpha", {}, "ok"), Call("beta", {}, "ok")] * 6, 6, 11),
    "L23 other reads between": (
        lambda: [
            call
            for n in range(8)
            for call in (Call("web_search", {"query": "x"}, "same"), sh(["ls", "pwd"][n % 2], f"view {n}"))
        ],
        5,
        11,
    ),
    "L23 other reads between, each a tool of its own": (
        lambda: [
            call
            for n in range(8)
            for call in (
                Call("search", {"q": "x"}, "same"),
                Call(["ls", "pwd"][n % 2], {}, ["a b", "/x"][n % 2]),
            )
        ],
        9,
        15,
    ),
    "L24 a batch as a set": (
        lambda: [
            [sh("./a", "x"), sh("./b", "y")] if n % 2 else [sh("./b", "y"), sh("./a", "x")] for n in range(6)
        ],
        6,
        11,
    ),
    "L25 a reply of three, again": (
        lambda: [[sh(f"./{name}", name) for name in "abc"] for _ in range(6)],
        9,
        16,
    ),
    "L26 the same beside something else": (
        lambda: [[sh("cat notes", "same"), sh(f"cat part{n}", "abc"[n % 3] * n)] for n in range(7)],
        5,
        11,
    ),
    "L27 the same file written again": (
        lambda: [Call("write", {"path": "f", "content": "c"}, "ok")] * 14,
        4,
        13,
    ),
    "L28 one content, two paths": (
        lambda: [Call("write", {"path": path, "content": "c"}, "ok") for path in ("p1", "p2")] * 6,
        6,
        11,
    ),
    "L29 on after every `continue`": (
        lambda: [
            *on_and_on("continue"),
            *on_and_on("Please continue."),
            *on_and_on("go on"),
            *on_and_on("ok"),
        ],
        3,
        6,
    ),
    "L30 results that never come": (lambda: [Call("plan", {"x": 1}, ...)] * 14, 4, 13),
    "L31 an echo that counts": (
        lambda: [sh(f"echo marker{n}", f"marker{n}\n") for n in range(20)],
        8,
        0,  # every result differs
    ),
    "L32 a pointer to the next pointer": (
        lambda: [read(f"spool_{n}", f"Output is in spool_{n + 1}") for n in range(10)],
        8,
        0,  # every result differs
    ),
    "L32 a pointer to a made-up name": (
        lambda: [
            read(
                f"/tmp/spool-{ids(n)}.json",
                f"The output is long; it was saved to /tmp/spool-{ids(n + 1)}.json",
            )
            for n in range(10)
        ],
        8,
        0,  # every result differs
    ),
    "L33 a syntax error in other code": (
        lambda: [
            Call(
                "run",
                {"code": f"def f{'x' * n}(:"},
                f'Traceback (most recent call last):\n  File "<stdin>", line {n}\nSyntaxError: incomplete input',
                True,
            )
            for n in range(1, 12)
        ],
        5,
        8,
    ),
    "L34 another thought each time": (
        lambda: [
            Call("terminal", {"command": "cat f", "thought": "a" * n}, "same", exit_code=0) for n in range(8)
        ],
        3,
        6,
    ),
    "L35 a log that grows": (
        lambda: [sh("tail -50 app.log", "\n".join(["line " + "x" * k for k in range(n)])) for n in range(12)],
        8,
        0,  # looking at a log that grows is also what waiting looks like
    ),
    # Of the same kinds, in other clothes.
    "L05 a page that is always the same": (
        lambda: [
            Call("mcp__api__list_rows", {"page": n}, {"rows": ["a", "b"], "page": 1}) for n in range(1, 15)
        ],
        8,
        0,  # nothing failed
    ),
    "L05 an offset behind the end": (
        lambda: [
            Call(
                "read_file",
                {"path": "f", "offset": 2000 + 100 * n},
                "The file has fewer lines than the offset.",
            )
            for n in range(14)
        ],
        8,
        0,  # nothing failed
    ),
    "L06 a search by a tool nobody knows": (
        lambda: [
            Call("mcp__docs__search_code", {"q": "ab"[n % 2] * (n + 1)}, {"results": [], "total": 0})
            for n in range(12)
        ],
        5,
        0,  # nothing failed
    ),
    "L06 no files in other words": (
        lambda: [Call("Glob", {"pattern": f"**/{'a' * n}*"}, "No files found") for n in range(1, 12)],
        5,
        0,  # nothing failed
    ),
    "L10 names of requests by their keys": (
        lambda: [
            Call(
                "mcp__db__query",
                {"sql": "select 1"},
                {"rows": [[1]], "took_ms": n, "fetchedAt": f"day {n}", "next_cursor": ids(n)},
            )
            for n in range(14)
        ],
        4,
        13,
    ),
    "L11 other names for a timeout": (
        lambda: [
            Call("exec", {"command": "./check", "timeoutMs": 1000 * n, "yield_time_ms": n}, "waiting")
            for n in range(1, 15)
        ],
        4,
        13,
    ),
    "L11 a longer pause each time": (
        lambda: [sh(f"sleep {30 + n} && gh pr checks 1", "pending", 8, 60) for n in range(70)],
        20,
        62,
    ),
    "L18 an edit that replaced nothing": (
        lambda: [
            Call(
                "str_replace_editor",
                {"command": "str_replace", "path": "/f", "old_str": "b" * n},
                f"No replacement was performed, old_str `{'b' * n}` did not appear verbatim in /f.",
            )
            for n in range(3, 15)
        ],
        5,
        0,  # the tool says nothing of a failure
    ),
    "L19 one long page from everywhere": (
        lambda: [
            sh(f"curl -s https://example.org/{'abcde'[n % 5] * n}", "<p>Enable cookies to go on.</p>" * 20)
            for n in range(1, 15)
        ],
        8,
        0,  # nothing failed
    ),
    "L19 one page, by its hash": (
        lambda: [
            Call("web_extract", {"url": "https://example.org/" + "x" * n}, Hash("ab" * 32)) for n in range(12)
        ],
        8,
        0,  # nothing failed
    ),
    "L23 answers of a reader nobody knows between": (
        lambda: [
            call
            for n in range(8)
            for call in (read("f"), Call("mcp__g__get_item", {"id": "x" * n}, {"v": "y" * n}))
        ],
        5,
        11,
    ),
    "L31 an echo in other words": (
        lambda: [sh(f"echo 'still at it {'a' * n}'", f"still at it {'a' * n}\n") for n in range(1, 12)],
        8,
        0,  # every result differs
    ),
    "L31 a printf in other words": (
        lambda: [sh(f"printf '%s\\n' 'now {'a' * n}'", f"now {'a' * n}\n") for n in range(1, 12)],
        8,
        0,  # every result differs
    ),
    "L19 a gate before every page": (
        lambda: [
            Call(
                "browser_navigate",
                {"url": f"https://example.org/{'ab' * n}"},
                {"title": "Verify you are human", "url": f"https://example.org/{'ab' * n}"},
            )
            for n in range(1, 12)
        ],
        5,
        0,  # nothing failed
    ),
    "L34 a label that changes": (
        lambda: [
            sh(f"echo '== {'again ' * n}=='; cat f", f"== {'again ' * n}==\nthe text") for n in range(8)
        ],
        3,
        6,
    ),
    "L34 a shell around it now and then": (
        lambda: [sh(["cat f", "bash -c 'cat f'", 'sh -c "cat f"'][n % 3], "the text") for n in range(8)],
        3,
        6,
    ),
    "one command in the order of its options": (
        lambda: [
            sh(text, "the long listing of the folder with all of its files")
            for text in (
                "ls -la",
                "ls -al",
                "ls -l -a",
                "ls -a -l",
                "ls -lA",
                "ls -la .",
                "ls -Al",
                "ls -a1l",
            )
        ],
        8,
        0,  # other words: that they say the same may be chance
    ),
    # Of the same kinds, from recorded sessions.
    "an approval that is not given": (
        lambda: [
            Call(
                "Bash",
                {"command": "swift build", "description": f"Build {'again ' * n}"},
                "This command requires approval",
            )
            for n in range(14)
        ],
        4,
        13,
    ),
    "two failing edits and a look": (
        lambda: (
            [
                Call("edit", {"old": "a"}, "Error: not unique"),
                Call("edit", {"old": "b"}, "Error: no such text"),
                read("f"),
            ]
            * 7
        ),
        7,
        11,
    ),
    "edits that never match, each looked at": (
        lambda: [
            call
            for n in range(12)
            for call in (
                Call(
                    "str_replace_editor",
                    {"command": "str_replace", "path": "f", "old": "a" * n},
                    "Error: no match",
                ),
                Call("str_replace_editor", {"command": "view", "path": "f", "from": n}, f"text {'b' * n}"),
            )
        ],
        9,
        21,
    ),
    "a round robin of ten": (lambda: [read(f"part {'abcdefghij'[n % 10]}") for n in range(60)], 21, 51),
    "a substitution that changes nothing": (lambda: [sh("sed -i s/x/x/ f")] * 14, 4, 13),
    "a search in four spellings": (
        lambda: (
            [
                sh(text, "src/a.c:1:x")
                for text in ("grep -rn x src", "grep  -rn 'x' src/", 'grep -rn "x" ./src # again')
            ]
            * 2
        ),
        3,
        6,
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_told_and_stopped(name: str) -> None:
    sequence, told, ended = LOOPS[name]
    seen = play(sequence())
    assert (warned(seen), stopped(seen)) == (told, ended)


def test_the_pair_partner_is_refused_too() -> None:
    """L13: when one of two is refused the agent goes on with the other, and comes back."""
    seen = play([sh("./a", "x"), sh("./b", "y")] * 8 + [sh("./b", "y"), sh("./a", "x")] * 8)
    assert sum(each.ran for each in seen) == 10


def test_loops_with_default_settings_are_told() -> None:
    """L15 and L16: with the defaults nothing is refused, but it is said."""
    for call in (Call("process", {"action": "list"}, "none"), sh("./run", "done")):
        seen = play([call] * 30, GuardConfig())
        assert warned(seen) in (3, 4)
        assert not stopped(seen)


USEFUL: dict[str, Steps] = {
    "F01 sleeping": lambda: [*[sh("sleep 60", seconds=60)] * 4, sh("ls", "a")],
    "F02 empty commands": lambda: [sh("", "running")] * 30,
    "F03 a poll each five minutes": lambda: [Call("status", {"job": 1}, "running", seconds=300)] * 4,
    "F03 the same with a command": lambda: [sh("cat status.json", "running", seconds=300)] * 10,
    "F04 empty input": lambda: [Call("write_stdin", {"session": 1, "chars": ""}, "still running")] * 12,
    "F05 a long output": lambda: [Call("read_output", {"s": 1}, f"{n}" * 8192) for n in range(50)],
    "F05 with a command": lambda: [sh("cat out.log", "abcdefghij"[n % 10] * 20 * (n + 1)) for n in range(50)],
    "F06 three files, one answer": lambda: [Call("attach", {"file": name}, "True") for name in "abc"],
    "F06 many files, one answer": lambda: [Call("attach", {"file": f"f{n}"}, "True") for n in range(30)],
    "F06 many files, nothing found in any": lambda: [
        Call("scan", {"file": f"f{n}"}, "No matches. Nothing to report.") for n in range(30)
    ],
    "F06 many files, no errors": lambda: [
        sh(f"ruff check {'a' * n}.py", "no errors found") for n in range(1, 30)
    ],
    "F07 search, move, edit": lambda: [
        call
        for n in range(15)
        for call in (
            Call("grep", {"pattern": f"n{n}"}, f"found in f{n}"),
            sh(f"git mv a{n} b{n}"),
            Call("edit", {"file": f"b{n}", "new": n}, "ok"),
        )
    ],
    "F08 many blocks": lambda: [read(f"block_{n}", f"content {n}") for n in range(40)],
    "F09 two calls": lambda: [read("a"), read("a")],
    "F10 a status now and then": lambda: [
        call
        for n in range(10)
        for call in (
            sh("git status", "clean"),
            read(f"a{n}", f"x{n}"),
            read(f"b{n}", f"y{n}"),
            Call("edit", {"file": "f", "new": n}, "ok"),
            read(f"c{n}", f"z{n}"),
        )
    ],
    "F11 a poll after other work": lambda: [
        *[sh("cat state", "running")] * 4,
        *[Call("edit", {"file": "f", "new": n}, "ok") for n in range(5)],
        *[sh("cat state", "running")] * 4,
    ],
    "F13 a changing poll": lambda: [Call("status", {"job": 1}, f"{n}0%") for n in range(10)],
    "F13 with a command": lambda: [sh("cat progress", f"{n}0%") for n in range(10)],
    "F14 other commands": lambda: [sh(name, "ok") for name in ("make", "ls", "date", "./x", "pwd")] * 1,
    "F15 one folder": lambda: [
        sh(f"cd p && {name}", "") for name in ("ls", "pwd", "id", "date", "whoami", "df", "uptime")
    ],
    "F16 edit and test": lambda: [
        call for n in range(6) for call in (Call("edit", {"n": n}, "ok"), sh("pytest", f"fail {n}", 1))
    ],
    "F16 edit and test, the same failure": lambda: [
        call
        for n in range(14)
        for call in (Call("edit", {"n": n}, "ok"), sh("pytest", "1 failed in 0.3s", 1))
    ],
    "F17 a table": lambda: [Call("write_file", {"path": "t", "content": "| a | b |\n" * 60}, "ok")],
    # Of the same kinds.
    "a build after each edit": lambda: [
        call for n in range(20) for call in (Call("edit", {"n": n}, "ok"), sh("make", "built"))
    ],
    "a wait for checks": lambda: [sh("sleep 30 && gh pr checks 1", "pending", 8, 31)] * 30,
    "a sleep, then a look": lambda: [sh("sleep 30", "", 0, 30), sh("gh pr checks 1", "pending", 8)] * 15,
    "a sleep, then two looks": lambda: (
        [
            sh("sleep 30", "", 0, 30),
            sh("gh pr checks 1", "pending", 8),
            sh("gh run list", "in progress"),
        ]
        * 12
    ),
    "a wait, then its log": lambda: (
        [sh("sleep 60 && squeue", "R", 0, 60), sh("tail log", "epoch 1")] * 4
        + [sh("sleep 60 && cat state", "R", 0, 60), sh("tail log", "epoch 1")] * 12
    ),
    "a wait for a server": lambda: [sh("sleep 5 && curl -sf localhost:8000/health", "", 7, 5)] * 15,
    "until it is there": lambda: [sh("until gh pr checks 1; do sleep 30; done", "pending", 124, 60)] * 15,
    "a watch": lambda: [sh("timeout 60 tail -f app.log", "", 124, 60)] * 15,
    "another retry each time": lambda: [
        sh(f"sleep {n} && brew install x", "flaky", 1, n) for n in (5, 30, 60)
    ],
    "reading on in one file": lambda: [
        Call("read_file", {"path": "f", "offset": 100 * n}, f"lines from {n}00") for n in range(40)
    ],
    "scrolling on": lambda: [
        call
        for n in range(20)
        for call in (
            Call("browser_scroll", {"direction": "down"}, "scrolled"),
            Call("browser_snapshot", {}, f"part {'x' * n} of the page"),
        )
    ],
    "signs of life": lambda: [Call("heartbeat", {}, "ok")] * 20,
    "a browser that waits": lambda: [Call("mcp__browser__browser_wait_for", {"time": 5}, "waited")] * 20,
    "a desktop that waits": lambda: [Call("computer", {"action": "wait", "duration": 5}, "ok")] * 20,
    "an issue each three minutes": lambda: (
        [Call("mcp__jira__get_issue", {"key": "A-1"}, {"state": "open"}, seconds=180)] * 18
    ),
    "many files that are there": lambda: [sh(f"test -f {'a' * n} && echo yes", "yes") for n in range(1, 20)],
    "rows that are made one by one": lambda: [
        Call("mcp__db__create_row", {"n": n}, {"ok": True, "said": "the row was made, and it is well"})
        for n in range(30)
    ],
    "one benchmark": lambda: [sh("python bench.py", f"throughput {1000 + 17 * n} items") for n in range(12)],
    "a checkout before each attempt": lambda: [
        call
        for n in range(6)
        for call in (sh("git checkout f"), Call("edit", {"n": n}, "ok"), sh("make", "failed", 2))
    ],
}


@pytest.mark.parametrize("name", USEFUL)
def test_useful_repeats_are_not_stopped(name: str) -> None:
    assert not stopped(play(USEFUL[name]()))


@pytest.mark.parametrize("limit", range(1, 7))
def test_limits_count_calls_that_ran(limit: int) -> None:
    """F12: with a limit of N, N calls run and the next is refused; the first always runs."""
    read_limit = config(hard_stop_after_idempotent_no_progress=limit)
    assert stopped(play([read("a")] * 9, read_limit)) == limit + 1
    failures = config(hard_stop_after_exact_failure=limit)
    assert stopped(play([sh("./x", "no", 1)] * 9, failures)) == limit + 1
    writes = config(hard_stop_after_mutating_no_progress=limit)
    assert stopped(play([sh("./x", "ok")] * 9, writes)) == limit + 1
