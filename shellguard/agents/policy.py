# SPDX-License-Identifier: Apache-2.0
"""What a hook says of a command: allow, ask, deny, or nothing, by the settings.

Deny beats ask beats allow. A command is allowed when every fact of its text either is of a kind that passes,
or belongs to a command that a pattern of your own allows. What is neither asked nor allowed nor denied is
left to the host.
"""

from __future__ import annotations

from shellguard.agents.model import ALLOW, ASK, DENY, SILENT
from shellguard.agents.settings import NEVER_PASS
from shellguard.effects import Effect, Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.agents.settings import Settings
    from shellguard.effects import Fact
    from shellguard.verdict import Verdict

ONLY_READS = "shellguard: this only reads"
NEVER_EXCUSED = (
    Kind.REDIRECTION,
    Kind.SYNTAX,
    Kind.EMPTY,
    Kind.LIMIT,
    Kind.DIALECT,
    Kind.STATE,
    Kind.VARIABLE,
)
"""Kinds of facts that no pattern for a command speaks of."""


class Judgement:
    """`action` with its `reason` for the agent, and the facts for which the command did not pass by itself."""

    __slots__ = ("action", "objections", "reason")

    def __init__(self, action: str, reason: str = "", objections: tuple[Fact, ...] = ()) -> None:
        self.action, self.reason, self.objections = action, reason, objections


def judge(verdict: Verdict, settings: Settings) -> Judgement:
    """What the settings say of a command with this verdict."""
    objections = tuple([fact for fact in verdict.facts if not _passes(fact, settings, verdict)])
    listed = settings["commands.deny"] or settings["commands.ask"] or settings["messages"]
    if listed:
        found = _listed(verdict, settings, objections)
        if found is not None:
            return found
    if not objections:
        return Judgement(ALLOW, ONLY_READS) if verdict.read_only else Judgement(SILENT)
    if settings["commands.allow"] and _all_excused(verdict, settings, objections):
        return Judgement(ALLOW, "shellguard: a pattern of yours allows this", objections)
    return Judgement(SILENT, "", objections)


def _listed(verdict: Verdict, settings: Settings, objections: tuple[Fact, ...]) -> Judgement | None:
    from shellguard.agents.patterns import commands_in, first_that_meets, inner_commands
    from shellguard.engine import tree_of
    from shellguard.errors import ShellSyntaxError

    try:
        commands = commands_in(tree_of(verdict.text)) + inner_commands(verdict.text, verdict.facts)
    except (ShellSyntaxError, RecursionError):
        return None  # nothing passes that cannot be parsed
    for action, key in ((DENY, "commands.deny"), (ASK, "commands.ask")):
        pattern = first_that_meets(settings[key], commands)
        if pattern is not None:
            told = first_that_meets(settings["messages"], commands)
            word = "refuses" if action == DENY else "asks a person about"
            reason = f"shellguard: a pattern {word} this command: {pattern}"
            if told is not None:
                reason += f". {settings['messages'][told]}"
            return Judgement(action, reason, objections)
    return None


def _all_excused(verdict: Verdict, settings: Settings, objections: tuple[Fact, ...]) -> bool:
    from shellguard.agents.patterns import allows, commands_in
    from shellguard.engine import tree_of
    from shellguard.errors import ShellSyntaxError

    try:
        commands = commands_in(tree_of(verdict.text))
    except (ShellSyntaxError, RecursionError):
        return False
    spans = [seen.span for seen in commands if allows(settings["commands.allow"], seen)]
    return all(
        fact.kind not in NEVER_EXCUSED
        and not fact.via
        and any(start <= fact.span[0] and fact.span[1] <= end for start, end in spans)
        for fact in objections
    )


def _passes(fact: Fact, settings: Settings, verdict: Verdict) -> bool:
    if fact.effect in (Effect.WRITES, Effect.EXECUTES, Effect.UNKNOWN):
        return False
    for mark in fact.marks:
        if mark in NEVER_PASS or not _is_listed(mark, settings["pass.marks"]):
            return False
    if fact.effect == Effect.NETWORK:
        return Effect.NETWORK in settings["pass.effects"] or _is_to_known_host(
            fact, verdict, settings["pass.hosts"]
        )
    return fact.effect in settings["pass.effects"]


def _is_listed(mark: str, patterns: tuple[str, ...]) -> bool:
    return any(
        mark == pattern or (pattern.endswith("*") and mark.startswith(pattern[:-1])) for pattern in patterns
    )


def _is_to_known_host(fact: Fact, verdict: Verdict, hosts: tuple[str, ...]) -> bool:
    """Whether a network read names its hosts, and each is listed.

    A fact about the command as a whole says only that it talks: what counts are the addresses inside it, at
    least one.
    """
    if not hosts:
        return False
    if fact.kind == Kind.OPERAND:
        return _host_is_listed(verdict.text[fact.span[0] : fact.span[1]], hosts)
    if fact.kind != Kind.COMMAND:
        return False
    inside = [
        other
        for other in verdict.facts
        if other.effect == Effect.NETWORK
        and other.kind == Kind.OPERAND
        and fact.span[0] <= other.span[0]
        and other.span[1] <= fact.span[1]
    ]
    return bool(inside)


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-")


def _host_is_listed(word: str, hosts: tuple[str, ...]) -> bool:
    if len(word) > 1 and word[0] in "'\"" and word[-1] == word[0]:
        word = word[1:-1]
    scheme, colon, rest = word.partition("://")
    if colon:
        if scheme.lower() not in ("http", "https", "ssh", "git", "ftp", "ftps"):
            return False
    else:
        rest = word
    for char in "/?#":
        rest = rest.partition(char)[0]
    name, _, port = rest.partition(":")  # no user: an `@` is no character of a host
    if not name or not _PLAIN.issuperset(name) or (port and not port.isdigit()):
        return False
    name = name.lower().rstrip(".")
    return any(
        name == host.lower() or (host.startswith("*.") and name.endswith(host[1:].lower())) for host in hosts
    )
