# SPDX-License-Identifier: Apache-2.0
"""What a report means for the claim that a command only reads.

The witness speaks in one direction. What was seen refutes the claim, unless the rules declare it; that nothing was seen
proves little, and counts only where the tool really did its work (`exercised`).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cache

from shellguard import Verdict, classify
from shellguard.effects import Effect
from shellguard.rules.library import entries
from shellguard.rules.model import CommandRule
from shellguard.rules.shelf import Shelf
from tools.witness.client import COPIED, Report
from tools.witness.places import HOME
from tools.witness.worlds.hostile import trap_of

OUTCOMES = ("ok", "refuted", "inconclusive", "skipped")
SMALL = ("git-index", "cache", "tmp")
"""Classes that a rule may declare with `touches`."""

_TRACERS = ("strace", "ltrace", "gdb")
"""Programs that look into a process by stopping it; they started it themselves, or the rule says so."""
_NEEDS = {
    "unshare": ("podman", "buildah", "unshare", "bwrap", "flatpak"),
    "clone": ("podman", "buildah", "bwrap"),
    "perf_event_open": ("perf",),
    "mount": ("perf",),
}

_MISSING = re.compile(r"command not found|: not found$|No such file or directory", re.MULTILINE)
_OTHERS = re.compile(
    r"^.*/proc/1/.*: Permission denied\n?|^(\[pid +\d+\] )?\w+\(.*\) += -1 E[A-Z]+ .*\n?", re.MULTILINE
)
"""No complaints: what tools say of the first process of the sandbox, as of anybody's when they are not root, and what
`strace` prints."""
_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "PROPFIND", "REPORT", "SEARCH"})
_READING_REDIS = frozenset(
    "GET MGET KEYS SCAN INFO PING DBSIZE TTL PTTL EXISTS TYPE LLEN LRANGE SMEMBERS HGET HGETALL HKEYS STRLEN"
    " SCARD ZRANGE"
    " COMMAND HELLO CLIENT SELECT AUTH ECHO CONFIG MEMORY SLOWLOG TIME XRANGE HVALS GETRANGE LATENCY CLUSTER OBJECT"
    " ZSCORE HLEN SISMEMBER ACL MONITOR".split()
)
_READING_ACTION = re.compile(
    r"(Action=|\.)(Describe|List|Get|Head|BatchGet|Search|Lookup|Query|Scan|Filter|Estimate|Assume)"
)


_READING_CALL = re.compile(
    r"(Get|List|Describe|Resolve|Introspect|Ping|Load(Unit)?$|Can|Is|Query|Search|Lookup|Hello$|AddMatch|RemoveMatch"
    r"|RequestName|ReleaseName|NameHasOwner|StartServiceByName|Subscribe|Unsubscribe|Inhibit$|get|list|query)"
)
"""Methods of the bus that change nothing but what the bus itself knows of the caller."""
_WRITING_SQL = re.compile(
    r"\s*(insert|update|delete|replace|truncate|drop|create|alter|grant|revoke|vacuum|reindex|copy\b.*\bfrom\b|load\s+data"
    r"|call|do\b|merge|import|kill|rename|optimize|flush)\b",
    re.IGNORECASE | re.DOTALL,
)


@dataclass
class Declared:
    """What the rules say of a command beside that it reads: names of `touches`, programs it starts, other effects."""

    touches: frozenset[str]
    helpers: frozenset[str]
    effects: frozenset[str]
    config: frozenset[str]
    remote: bool


@dataclass
class Judgement:
    """An outcome with its reasons: sentences for `refuted` and `inconclusive`, empty for `ok`."""

    outcome: str
    reasons: list[str] = field(default_factory=list)
    exercised: bool = False
    markers: list[str] = field(default_factory=list)


def declared_by(verdict: Verdict) -> Declared:
    """What the facts of a verdict declare, and the helpers of the rules they come from."""
    helpers: set[str] = set()
    for fact in verdict.facts:
        if fact.source is None:
            continue
        for where, programs in _helpers().get(fact.source.path, ()):
            if not where or fact.source.place == where or fact.source.place.startswith(f"{where}."):
                helpers.update(programs)
    marks = [mark.partition(":") for mark in verdict.marks]
    return Declared(
        touches=frozenset(name for kind, _, name in marks if kind == "touches"),
        helpers=frozenset(helpers),
        effects=verdict.effects,
        config=frozenset(name for kind, _, name in marks if kind == "config"),
        remote="remote" in verdict.marks,
    )


@cache
def _helpers() -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    """Of each rule file the places that name helpers."""
    found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for entry in entries(Shelf.default()):
        if entry.rule is None:
            continue
        below = [entry.rule.spec]
        while below:
            spec = below.pop()
            below += spec.subcommands.values()
            if spec.helpers:
                found.setdefault(entry.path, []).append((spec.where, spec.helpers))
    return found


def judge(report: Report, verdict: Verdict | None = None) -> Judgement:
    """The outcome of one command, given what the engine says of it."""
    if verdict is None:
        verdict = classify(report.command)
    declared = declared_by(verdict)
    found = Judgement("inconclusive", exercised=exercised(report, declared), markers=markers_of(report))
    if report.problem:
        found.reasons = [report.problem]
        return found
    if report.backend == COPIED and Effect.NETWORK in verdict.effects:
        found.outcome, found.reasons = "skipped", ["without namespaces there is no network to try it with"]
        return found
    if not verdict.read_only:
        found.reasons = [f"the engine calls it {verdict.kind}: there is no claim to try"]
        return found
    refuted = _wrong_markers(found.markers, report.command)
    if report.world == "plain":  # in the hostile one the programs of its configuration do what they do
        refuted += _undeclared(report, declared)
    if refuted:
        found.outcome, found.reasons = "refuted", refuted
    elif unclear := _unclear(report):
        found.reasons = unclear
    elif _missing(report):
        found.outcome, found.reasons = "skipped", [_complaint(report) or "the tool is not installed"]
    elif found.exercised:
        found.outcome = "ok"
    elif report.timed_out:
        found.reasons = ["time limit"]
    else:
        found.reasons = [f"exit {report.exit_code}: {_complaint(report)}"]
    return found


def exercised(report: Report, declared: Declared) -> bool:
    """Whether the command did its work, as far as its end tells: see `docs/witness.md`."""
    if report.problem:
        return False
    if report.cut:
        return True
    if report.timed_out:
        return Effect.WAITS in declared.effects or bool(report.stdout)
    errors = _OTHERS.sub("", report.stderr)
    complained = bool(_MISSING.search(errors))
    if report.exit_code == 0:
        return not complained
    if _prints_usage(report):
        return True
    return not errors.strip() and (report.exit_code in (1, 123) or bool(report.stdout))


_USAGE = re.compile(r"usage|need an action|command name argument expected|commands:", re.IGNORECASE)


def _prints_usage(report: Report) -> bool:
    """Whether the text names a command, or a group of subcommands, and nothing else, and its usage came back."""
    words = report.command.split("#")[0].split()
    rule = Shelf.default().get(words[0]) if words else None
    if not isinstance(rule, CommandRule) or not _USAGE.search(report.stdout + report.stderr):
        return False
    spec = rule.spec
    for word in words[1:]:
        if word not in spec.subcommands:
            return False
        spec = spec.subcommands[word]
    return True


def markers_of(report: Report) -> list[str]:
    """The traps of the hostile world that went off, as `KIND/NAME`."""
    found = {trap for words in report.execs if words and (trap := trap_of(words[0]))}
    for entry in report.effects:
        if entry["path"].startswith(f"{HOME}/.traps-"):
            found.add(f"home/{entry['path'].removeprefix(f'{HOME}/.traps-')}")
    return sorted(found)


def classes_of(report: Report) -> list[str]:
    """The classes of everything seen, for the record: those of attempts and effects, `exec`, `net`, `process`."""
    found = {entry["class"] for entry in (*report.attempts, *report.effects)}
    if foreign_programs(report, frozenset()):
        found.add("exec")
    if any(not entry["address"].startswith("unix:") for entry in report.net):
        found.add("net")
    if report.left:
        found.add("process")
    return sorted(found)


def foreign_programs(report: Report, helpers: frozenset[str]) -> list[str]:
    """Programs that were started although neither the command nor a rule names them."""
    named = set(re.findall(r"[\w.+@-]+|\[", report.command)) | helpers | {"bash"}
    known_paths: set[str] = set()
    found = []
    for place, words in enumerate(report.execs):
        path = words[0]
        name = os.path.basename(path)
        if place == 0 or trap_of(path):
            continue
        if name in named or name.removesuffix(".real") in named:
            known_paths.add(path)
            continue
        if any(name.startswith(f"{each}-") or f"/{each}-core/" in path for each in named if len(each) > 1):
            continue  # the tool's own parts: git-remote-https, /usr/lib/git-core
        if len(words) > 2 and any(word in known_paths for word in words[2:4]):
            continue  # `#!/usr/bin/env node`: the same script, now by its interpreter
        if name == "env" and any(word in known_paths for word in words[2:4]):
            continue
        if re.sub(r"[\d.]+$", "", name) in {re.sub(r"[\d.]+$", "", each) for each in named}:
            continue  # python3.11 for python3
        found.append(name)
    return sorted(set(found))


def _undeclared(report: Report, declared: Declared) -> list[str]:
    reasons: dict[str, None] = {}
    hindered = {entry["by"] for entry in report.attempts if _hinders(entry)}
    theirs = {entry["path"] for entry in report.attempts if entry["by"] in hindered}
    theirs -= {entry["path"] for entry in report.attempts if entry["by"] not in hindered}
    for entry in (*report.attempts, *report.effects):
        place, path, kind = entry["class"], entry["path"], entry["kind"]
        if (
            place in declared.touches
            or place in ("refused", "log")
            or path in theirs
            or entry.get("by") in hindered
        ):
            continue
        if kind == "ptrace" and entry.get("by") in _TRACERS:
            continue
        if path.startswith("/tmp/sh-thd") and entry.get("by") in ("bash", "dash", "sh", None):
            continue  # a long here-document of the shell itself
        if "empty-file" in declared.touches and place in ("workspace", "home") and _only_empty(report, path):
            continue
        if path.startswith(f"{HOME}/.traps-"):
            continue  # judged as a marker
        if kind.startswith("open") and {"opened for writing"} == _kinds(report, path):
            continue  # the file is as it was, to the byte and the time
        reasons[f"{place}: {kind} {path}".strip()] = None
    if not reasons and report.left and not report.timed_out and not report.cut:
        reasons[f"process: still running: {', '.join(report.left)}"] = None
    if not hindered:
        for name in foreign_programs(report, declared.helpers):
            reasons[f"exec: starts {name}"] = None
    for reason in _sent(report, Effect.NETWORK in declared.effects, declared.remote):
        reasons[reason] = None
    return list(reasons)


def _only_empty(report: Report, path: str) -> bool:
    """Whether all that happened to a path is that it may have been created, without content."""
    return _kinds(report, path) <= {"create empty", "opened for writing"}


def _kinds(report: Report, path: str) -> set[str]:
    return {entry["kind"] for entry in report.effects if entry["path"] == path}


def _sent(report: Report, may_talk: bool, remote: bool) -> list[str]:
    """What went over the network that the claim does not cover."""
    reasons = []
    for entry in report.net:
        kind, address, method = entry["kind"], entry["address"], entry.get("method", "")
        local = address.startswith("unix:")
        if kind == "listen":
            bound = [each["address"] for each in report.net if each["kind"] == "bind"]
            reasons.append(f"net: listens on {', '.join(bound) or address}")
        elif kind in ("connect", "sendto", "sendmsg", "sendmmsg", "dns"):
            if not may_talk and not local:
                reasons.append(f"net: reaches {address}")
        elif kind == "http":
            asks = method in _READING_METHODS or _is_query(entry) or _is_dark(entry)
            if not asks and not (remote and _runs_inside(address)):
                reasons.append(f"send: {method} {address}")
        elif kind == "redis":
            if method not in _READING_REDIS:
                reasons.append(f"send: redis {method}")
        elif kind == "dbus":
            if not _READING_CALL.match(method):
                reasons.append(f"send: calls {address}")
        elif kind == "sql":
            if not remote and _WRITING_SQL.match(entry.get("body", "")):
                reasons.append(f"send: {entry['body'][:60]}")
        elif kind == "sent" and not entry.get("body", "").startswith(("SSH-", "\x16\x03")):
            reasons.append(f"send: text to {address}")
    return list(dict.fromkeys(reasons))


def _hinders(entry: dict[str, str]) -> bool:
    """Whether an attempt is what a tool lives on, and the sandbox refuses: it cannot be tried here."""
    return entry.get("by") in _NEEDS.get(entry["kind"], ())


def _is_dark(entry: dict[str, str]) -> bool:
    """Whether a request says so little that its meaning cannot be told: AWS posts to read, too."""
    names_action = "Action=" in entry.get("body", "") or entry.get("target")
    return entry.get("method") == "POST" and "amazonaws.com" in entry["address"] and not names_action


def _unclear(report: Report) -> list[str]:
    """Why nothing can be said although the tool ran."""
    dark = [entry["address"] for entry in report.net if entry["kind"] == "http" and _is_dark(entry)]
    reasons = [f"a POST whose meaning the stand-in cannot tell: {address}" for address in dark]
    return list(dict.fromkeys(reasons))


def _runs_inside(address: str) -> bool:
    """Whether a request only starts the inner command of a text such as `docker exec c ls`, which is judged itself."""
    return bool(re.search(r"/exec(/\w+/(start|resize))?(\?|$)|/exec\?|/attach", address))


def _is_query(entry: dict[str, str]) -> bool:
    """Whether a POST only asks: GraphQL without a mutation, an API that has no other method, a review of access."""
    body, address = entry.get("body", ""), entry["address"]
    if "graphql" in address:
        return "mutation" not in body
    if "selfsubject" in address:
        return True
    if "dc.services.visualstudio.com" in address:
        return True  # az tells its makers that it ran, as any request to a service does
    if "management.azure.com/" in address:
        return bool(
            re.search(r"/(list\w*|publishxml)(\?|$)", address)
        )  # what holds keys is asked for by POST
    if ".googleapis.com/" in address:
        return bool(
            re.search(r"[:/](list|get|search|query|lookup|fetch|read|batchGet|test)\w*(\?|$)", address)
        )
    if "amazonaws.com" in address:
        return bool(_READING_ACTION.search(body) or _READING_ACTION.search(entry.get("target", "")))
    return "info/refs" in address or address.endswith(("/wait", "/git-upload-pack"))


_MODULE = "clone/module-"
"""Files of the folder that Python takes for modules of its library. For a text in words (`python3 -c`) the engine
trusts them as it trusts the repository's configuration, and marks the read: `docs/threat-model.md`."""


def _wrong_markers(markers: list[str], command: str) -> list[str]:
    """Traps that the engine's verdict does not allow for: those of a clone never, the others where it trusts
    words only.
    """
    if not markers:
        return []
    from shellguard.analysis.inquiry import Assumptions

    if classify(command, assumptions=Assumptions(trust="words")).read_only:
        return [f"marker: {marker}, with --trust words" for marker in markers]
    modules = "config:repo" in classify(command).marks
    return [
        f"marker: {marker}"
        for marker in markers
        if marker.startswith("clone/") and not (modules and marker.startswith(_MODULE))
    ]


def _missing(report: Report) -> bool:
    return report.exit_code == 127 or bool(
        re.search(r"^\S*bash: line \d+: \S+: command not found$", report.stderr, re.MULTILINE)
    )


def _complaint(report: Report) -> str:
    """The line of the error output that most likely says what was wrong."""
    lines = [line.strip() for line in (report.stderr or report.stdout).splitlines() if line.strip()]
    for line in lines:
        if re.search(r"(?i)error|cannot|not found|no such|unable|fail|denied|invalid|refused|usage", line):
            return line[:160]
    return lines[0][:160] if lines else "no output"
