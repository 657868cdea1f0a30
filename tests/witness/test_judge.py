# SPDX-License-Identifier: Apache-2.0
"""What a report means: which sightings refute a read, which a rule may declare, and when nothing can be said."""

from __future__ import annotations

from typing import Any

import pytest

from shellguard import classify
from tools.witness.client import Report
from tools.witness.judge import classes_of, declared_by, foreign_programs, judge
from tools.witness.places import HOME, WORK, class_of


def report(command: str, **parts: Any) -> Report:
    """A report of a command that ended well; `execs` begins with the shell, as in truth."""
    execs = [["/bin/bash", "/bin/bash", "-c", command], *parts.pop("execs", [])]
    merged: dict[str, Any] = {"exit_code": 0, "execs": execs} | parts
    return Report(command, merged.pop("world", "plain"), **merged)


def asked(kind: str, method: str, body: str = "") -> dict[str, str]:
    return {"kind": kind, "address": "x", "method": method, "body": body}


def seen(place: str, path: str, kind: str = "create", by: str = "x") -> dict[str, str]:
    return {"class": place, "path": path, "kind": kind, "by": by}


@pytest.mark.parametrize(
    "command, parts, outcome",
    [
        ("cat f.txt", {}, "ok"),
        ("cat f.txt", {"attempts": [seen("workspace", f"{WORK}/x")]}, "refuted"),
        ("cat f.txt", {"effects": [seen("workspace", f"{WORK}/x", "modify")]}, "refuted"),
        ("cat f.txt", {"attempts": [seen("home", f"{HOME}/x")]}, "refuted"),
        ("cat f.txt", {"attempts": [seen("system", "/etc/x")]}, "refuted"),
        ("cat f.txt", {"attempts": [seen("kernel", "/proc/sys/x")]}, "refuted"),
        ("cat f.txt", {"attempts": [seen("signal", "1", "signal 9")]}, "refuted"),
        ("cat f.txt", {"attempts": [seen("priv", "", "mount")]}, "refuted"),
        ("cat f.txt", {"attempts": [seen("refused", "", "io_uring_setup")]}, "ok"),
        ("cat f.txt", {"left": ["agent"]}, "refuted"),
        ("cat f.txt", {"attempts": [seen("log", "/dev/log", "write to the log")]}, "ok"),
        ("cat f.txt", {"attempts": [seen("workspace", f"{WORK}/x", "open for writing")]}, "refuted"),
        (
            "cat f.txt",
            {
                "attempts": [seen("workspace", f"{WORK}/x", "open for writing")],
                "effects": [seen("workspace", f"{WORK}/x", "opened for writing")],
            },
            "ok",
        ),
        ("git status", {"attempts": [seen("git-index", f"{WORK}/.git/index.lock")]}, "ok"),
        ("cat f.txt", {"attempts": [seen("git-index", f"{WORK}/.git/index.lock")]}, "refuted"),
        ("sort f.txt", {"attempts": [seen("tmp", "/tmp/sortAbc")]}, "ok"),
        ("cat f.txt", {"attempts": [seen("tmp", "/tmp/x")]}, "refuted"),
        ("cat f.txt", {"attempts": [seen("tmp", "/tmp/sh-thd.x", by="bash")]}, "ok"),
        ("kubectl get pods", {"effects": [seen("cache", f"{HOME}/.kube/cache/x")]}, "ok"),
        ("cat f.txt", {"effects": [seen("cache", f"{HOME}/.cache/x")]}, "refuted"),
        ("sqlite3 t.db 'select 1'", {"effects": [seen("workspace", f"{WORK}/t.db", "create empty")]}, "ok"),
        ("sqlite3 t.db 'select 1'", {"effects": [seen("workspace", f"{WORK}/t.db", "modify")]}, "refuted"),
        ("cat f.txt", {"execs": [["/usr/bin/cat", "cat"]]}, "ok"),
        ("cat f.txt", {"execs": [["/usr/bin/cat", "cat"], ["/usr/bin/vi", "vi"]]}, "refuted"),
        ("zgrep x a.gz", {"execs": [["/usr/bin/zgrep", "zgrep"], ["/usr/bin/gzip", "gzip"]]}, "ok"),
        ("git log", {"execs": [["/usr/bin/git", "git"], ["/usr/lib/git-core/git-x", "git-x"]]}, "ok"),
        ("cat f.txt", {"net": [{"kind": "connect", "address": "tcp:127.0.0.1:80"}]}, "refuted"),
        ("cat f.txt", {"net": [{"kind": "connect", "address": "unix:/run/dbus"}]}, "ok"),
        ("curl -s x.org", {"net": [{"kind": "connect", "address": "tcp:127.0.0.1:80"}]}, "ok"),
        ("curl -s x.org", {"net": [{"kind": "http", "address": "http://x.org/", "method": "GET"}]}, "ok"),
        (
            "curl -s x.org",
            {"net": [{"kind": "http", "address": "http://x.org/", "method": "POST"}]},
            "refuted",
        ),
        ("systemctl status x", {"net": [asked("dbus", "GetAll")]}, "ok"),
        ("systemctl status x", {"net": [asked("dbus", "StopUnit")]}, "refuted"),
        ("systemctl status x", {"net": [asked("dbus", "SetUnitProperties")]}, "refuted"),
        ("psql -c 'select 1'", {"net": [asked("sql", "SQL", "select 1")]}, "ok"),
        ("psql -c 'select 1'", {"net": [asked("sql", "SQL", " Drop table t")]}, "refuted"),
        ("curl -s x.org", {"net": [{"kind": "listen", "address": "a socket"}]}, "refuted"),
        (
            "fuser -v a",
            {"exit_code": 1, "stderr": "Cannot stat file /proc/1/fd/0: Permission denied\n"},
            "ok",
        ),
        ("strace ls", {"stderr": 'access("/x", R_OK)  = -1 ENOENT (No such file or directory)\n'}, "ok"),
        ("pip cache", {"exit_code": 1, "stderr": "ERROR: Need an action (dir, info) to perform.\n"}, "ok"),
        (
            "cat nofile",
            {"exit_code": 1, "stderr": "cat: nofile: No such file or directory\n"},
            "inconclusive",
        ),
        ("cat nofile; true", {"stderr": "cat: nofile: No such file or directory\n"}, "inconclusive"),
        ("grep -q x f.txt", {"exit_code": 1}, "ok"),
        ("cat f.txt", {"exit_code": 127, "stderr": "bash: line 1: cat: command not found\n"}, "skipped"),
        ("cat f.txt", {"problem": "the sandbox did not end in time"}, "inconclusive"),
        ("cat f.txt", {"timed_out": True, "exit_code": -9}, "inconclusive"),
        ("tail -f f.txt", {"timed_out": True, "exit_code": -9}, "ok"),
        ("yes", {"cut": True, "exit_code": -9}, "ok"),
        ("strace ls", {"attempts": [seen("priv", "", "ptrace", "strace")]}, "ok"),
        ("cat f.txt", {"attempts": [seen("priv", "", "ptrace", "cat")]}, "refuted"),
        ("rm f.txt", {"effects": [seen("workspace", f"{WORK}/f.txt", "delete")]}, "inconclusive"),
    ],
)
def test_outcomes(command: str, parts: dict[str, Any], outcome: str) -> None:
    found = judge(report(command, **parts))
    assert found.outcome == outcome, found.reasons
    assert bool(found.reasons) is (outcome != "ok")


@pytest.mark.parametrize(
    "address, more, refuted",
    [
        ("https://api.github.com/graphql", {"body": '{"query": "query { viewer { login } }"}'}, False),
        ("https://api.github.com/graphql", {"body": '{"query": "mutation { x }"}'}, True),
        ("https://api.github.com/repos/o/r/issues", {"body": "{}"}, True),
        ("https://ec2.amazonaws.com/", {"body": "Action=DescribeInstances"}, False),
        ("https://ec2.amazonaws.com/", {"body": "Action=TerminateInstances"}, True),
        ("https://logs.amazonaws.com/", {"target": "Logs_20140328.GetLogEvents"}, False),
        ("https://logs.amazonaws.com/", {"target": "Logs_20140328.DeleteLogGroup"}, True),
        ("https://logging.googleapis.com/v2/entries:list?alt=json", {}, False),
        ("https://logging.googleapis.com/v2/entries:write?alt=json", {}, True),
        ("https://management.azure.com/s/1/sites/w/publishxml?api-version=2022-03-01", {}, False),
        ("https://management.azure.com/s/1/storageAccounts/x/listKeys?api-version=1", {}, False),
        ("https://management.azure.com/s/1/sites/w/restart?api-version=2022-03-01", {}, True),
        ("http://127.0.0.1:8001/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {}, False),
    ],
)
def test_a_post_may_ask(address: str, more: dict[str, str], refuted: bool) -> None:
    entry = {"kind": "http", "address": address, "method": "POST"} | more
    assert (judge(report("gh pr list", net=[entry])).outcome == "refuted") is refuted


def test_a_command_in_a_container_may_be_posted() -> None:
    post = {"kind": "http", "address": "unix:/run/docker.sock/v1.43/exec/x/start", "method": "POST"}
    assert judge(report("docker exec c ls", net=[post])).outcome == "ok"
    assert judge(report("docker ps", net=[post])).outcome == "refuted"


@pytest.mark.parametrize(
    "marker, command, outcome",
    [
        ("clone/make", "git status", "refuted"),
        ("repo/fsmonitor", "git status", "ok"),
        ("home/sqlite", "sqlite3 -readonly t.db 'select 1'", "ok"),
        ("repo/fsmonitor", "cat f.txt", "refuted"),
    ],
)
def test_a_marker_refutes_what_the_verdict_does_not_allow_for(
    marker: str, command: str, outcome: str
) -> None:
    execs = [[f"{HOME}/.traps/{marker}", marker]]
    found = judge(report(command, execs=execs, world="hostile"))
    assert found.markers == [marker]
    assert found.outcome == outcome, found.reasons


def test_helpers_come_from_the_subcommand_that_was_called() -> None:
    assert "gpg" in declared_by(classify("git log -1")).helpers
    assert "gpg" not in declared_by(classify("git status")).helpers


@pytest.mark.parametrize(
    "execs, foreign",
    [
        ([["/usr/bin/npm", "npm"], ["/usr/bin/node", "node", "/usr/bin/npm", "ls"]], []),
        ([["/usr/bin/npm", "npm"], ["/usr/bin/node", "node", "/home/user/x.js"]], ["node"]),
        ([["/usr/bin/npm", "npm"], ["/bin/sh", "sh", "-c", "x"]], ["sh"]),
        ([[f"{HOME}/work/npm-x/evil", "evil"]], ["evil"]),
    ],
)
def test_programs_that_nobody_named(execs: list[list[str]], foreign: list[str]) -> None:
    assert foreign_programs(report("npm ls", execs=execs), frozenset()) == foreign


def test_classes_are_sorted_and_complete() -> None:
    full = report(
        "ls",
        attempts=[seen("tmp", "/tmp/x"), seen("cache", f"{HOME}/.cache/x")],
        execs=[["/bin/x", "x"]],
        net=[{"kind": "dns", "address": "x.org"}],
        left=["x"],
    )
    assert classes_of(full) == ["cache", "exec", "net", "process", "tmp"]


@pytest.mark.parametrize(
    "path, place",
    [
        (f"{WORK}/x", "workspace"),
        (WORK, "workspace"),
        (f"{WORK}x", "home"),
        ("/testbed/x", "workspace"),
        (f"{HOME}/.bashrc", "home"),
        (f"{HOME}/.cache/x", "cache"),
        (f"{HOME}/.cache", "cache"),
        (f"{WORK}/src/__pycache__/x.pyc", "cache"),
        (f"{WORK}/.git/index", "git-index"),
        (f"{WORK}/.git/modules/m/index.lock", "git-index"),
        (f"{WORK}/.git/config", "workspace"),
        (f"{WORK}/.git/HEAD.lock", "workspace"),
        (f"{WORK}/index", "workspace"),
        ("/tmp/x", "tmp"),
        ("/tmpx", "system"),
        ("/dev/shm/x", "tmp"),
        ("/etc/passwd", "system"),
        ("/dev/sda", "kernel"),
        ("/proc/sys/kernel/x", "kernel"),
        ("/proc/1/mem", "kernel"),
        ("/proc/self/oom_score_adj", None),
        ("/sys/power/state", "kernel"),
        ("/dev/null", None),
        ("/dev/nullx", "kernel"),
        ("/dev/pts/0", None),
    ],
)
def test_classes_of_paths(path: str, place: str | None) -> None:
    assert class_of(path) == place
