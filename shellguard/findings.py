# SPDX-License-Identifier: Apache-2.0
"""The findings: a code and a name for each kind of fact. This table is the only place that has them.

They are the rule ids of SARIF, the titles of GitHub's annotations, and what `shellguard rule` explains. A code is never
given to something else, and one that falls out of use stays reserved in `RETIRED`. SG0 does not stop a read, SG1 is
about the text, SG2 writes, SG3 executes, SG4 is about rules, SG5 about words that nobody can see; SG9 is kept for the
loops that the guard finds.
"""

from __future__ import annotations

from shellguard.effects import EFFECTS, Effect, Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.effects import Fact


class Finding:
    """One row of the table.

    `effects` and `kinds` say which facts it stands for; `kinds` is empty for the reads, which their marks tell apart.
    `example` is a shell text that has it, empty where a text alone cannot. `meaning` and `advice` are sentences.
    """

    __slots__ = ("advice", "code", "effects", "example", "kinds", "meaning", "name")

    def __init__(
        self,
        code: str,
        name: str,
        effects: tuple[str, ...],
        kinds: tuple[str, ...],
        *,
        meaning: str,
        example: str,
        advice: str,
    ) -> None:
        self.code, self.name, self.effects, self.kinds = code, name, effects, kinds
        self.meaning, self.example, self.advice = meaning, example, advice

    def __repr__(self) -> str:
        return f"Finding({self.code!r}, {self.name!r})"


_READS = (Effect.READS, Effect.NETWORK, Effect.WAITS)
_WRITES, _EXECUTES, _UNKNOWN = (Effect.WRITES,), (Effect.EXECUTES,), (Effect.UNKNOWN,)

READS_STATE = Finding(
    "SG001",
    "reads-state",
    (Effect.READS,),
    (),
    meaning="It looks at files or at the state of the machine, and changes nothing.",
    example="cat notes.txt",
    advice="Nothing: every policy lets it pass.",
)
READS_CREDENTIALS = Finding(
    "SG002",
    "reads-credentials",
    _READS,
    (),
    meaning="It reads a file that holds credentials, such as a private key. It is still a read.",
    example="cat ~/.ssh/id_rsa",
    advice="Ask whether the one who reads the output should have them. A policy may refuse the mark `sensitive`.",
)
USES_PRIVILEGES = Finding(
    "SG003",
    "uses-privileges",
    _READS,
    (),
    meaning="It runs with the rights of another user, as sudo does. What it runs is judged like anything else.",
    example="sudo ls /root",
    advice="Leave the wrapper out where it is not needed. A policy may refuse the mark `privileged`.",
)
LEAVES_TRACES = Finding(
    "SG004",
    "leaves-traces",
    _READS,
    (),
    meaning="It reads, and in passing refreshes something of its own: an index, a cache, a temporary file.",
    example="git status",
    advice="The policy `strict` refuses it, `local` and `default` do not. The mark `touches:...` says what it is.",
)
USES_NETWORK = Finding(
    "SG005",
    "uses-network",
    (Effect.NETWORK,),
    (),
    meaning="It asks another host and changes nothing there.",
    example="gh api repos/o/r/pulls/1/reviews",
    advice="The policies `strict` and `local` refuse it, `default` does not.",
)
WAITS = Finding(
    "SG006",
    "waits",
    (Effect.WAITS,),
    (),
    meaning="It pauses, or blocks until something happens.",
    example="sleep 5",
    advice="Nothing: every policy lets it pass. It may take as long as it likes.",
)

FINDINGS = (
    READS_STATE,
    READS_CREDENTIALS,
    USES_PRIVILEGES,
    LEAVES_TRACES,
    USES_NETWORK,
    WAITS,
    # --- the text -------------------------------------------------------------------------------------------------
    Finding(
        "SG101",
        "syntax-refused",
        _UNKNOWN,
        (Kind.SYNTAX,),
        meaning="The text is no bash, or uses something that the parser does not model, so nothing can be said of it.",
        example="ls; if",
        advice="Correct the text at the place that is shown; grammar/UNSUPPORTED.md lists what is not modelled.",
    ),
    Finding(
        "SG102",
        "no-command",
        _UNKNOWN,
        (Kind.EMPTY,),
        meaning="The text is empty or blank. Who asks about nothing may have lost the text on the way.",
        example=" ",
        advice="Look at how the text reaches shellguard.",
    ),
    Finding(
        "SG103",
        "too-much-to-judge",
        _UNKNOWN,
        (Kind.LIMIT,),
        meaning="The text is nested too deeply, or would do too much, to be judged to its end.",
        example='env "$a" "$b" "$c" "$d" "$e" "$f" "$g" "$h" "$i" "$j"',
        advice="Split it into several commands.",
    ),
    Finding(
        "SG104",
        "other-shell-differs",
        (Effect.UNKNOWN, Effect.WRITES),
        (Kind.DIALECT,),
        meaning="Another shell reads this as something else, and the text must be harmless in each that may run it.",
        example="ls !(*.txt)",
        advice="Write it in a way that all shells agree on, or name the shell with --shell where it is known.",
    ),
    Finding(
        "SG105",
        "state-not-followed",
        _UNKNOWN,
        (Kind.STATE,),
        meaning="It changes what later words mean (an alias, a loop, a coprocess) in a way that is not followed.",
        example="alias ll='ls -l'",
        advice="Write the commands out, without the alias or the definition.",
    ),
    Finding(
        "SG106",
        "value-evaluated",
        _UNKNOWN,
        (Kind.EVALUATED,),
        meaning="The shell evaluates a value that is not known, and evaluating may run commands: `a[$(rm x)]` does.",
        example='echo "$((x + 1))"',
        advice="Give the variable a number in the same text, or write the number itself.",
    ),
    Finding(
        "SG107",
        "connection-not-followed",
        _UNKNOWN,
        (Kind.REDIRECTION,),
        meaning="The shell itself opens a network connection, and what is sent over it is not followed.",
        example="cat < /dev/tcp/example.org/80",
        advice="Use a program that has a rule, such as curl.",
    ),
    # --- writes ---------------------------------------------------------------------------------------------------
    Finding(
        "SG201",
        "command-writes",
        _WRITES,
        (Kind.COMMAND, Kind.CONFIGURATION),
        meaning="The command changes something that outlives it, here or on another host.",
        example="rm notes.txt",
        advice="Ask a person before it runs.",
    ),
    Finding(
        "SG202",
        "option-writes",
        _WRITES,
        (Kind.OPTION,),
        meaning="An option makes a command write that would only read without it.",
        example="sort -o sorted.txt names.txt",
        advice="Leave the option out.",
    ),
    Finding(
        "SG203",
        "operand-writes",
        _WRITES,
        (Kind.OPERAND,),
        meaning="A word stands where the command writes to what it names.",
        example="uniq names.txt unique.txt",
        advice="Leave the word out, so that the output goes to the terminal.",
    ),
    Finding(
        "SG204",
        "redirection-writes",
        _WRITES,
        (Kind.REDIRECTION,),
        meaning="A redirection writes to a file.",
        example="ls > files.txt",
        advice="Leave the redirection out. `2>&1` and `> /dev/null` write to no file, and are fine.",
    ),
    Finding(
        "SG205",
        "variable-writes",
        _WRITES,
        (Kind.VARIABLE,),
        meaning="A variable is set that changes what later commands do, or that makes a command write.",
        example="export PATH=/tmp/bin",
        advice="Leave the assignment out.",
    ),
    Finding(
        "SG206",
        "script-writes",
        _WRITES,
        (Kind.SCRIPT,),
        meaning="A script inside a word (sed, awk, SQL, GraphQL ...) writes.",
        example="sed 's/a/b/w changed.txt' notes.txt",
        advice="Take the part of the script out that writes.",
    ),
    Finding(
        "SG207",
        "unseen-word-writes",
        _WRITES,
        (Kind.UNSEEN,),
        meaning="Nobody can see what a word will be, and in its place it may be something that writes.",
        example='sort "$x"',
        advice="Write the word out, or put `--` before it where the command takes that.",
    ),
    Finding(
        "SG208",
        "data-leaves",
        _WRITES,
        (Kind.SENT,),
        meaning="A word that is not known is sent to another host, and may be anything that this machine knows.",
        example='gh api "search/issues?q=$x"',
        advice="Write the address out in full.",
    ),
    # --- executes -------------------------------------------------------------------------------------------------
    Finding(
        "SG301",
        "command-executes",
        _EXECUTES,
        (Kind.COMMAND, Kind.REDIRECTION, Kind.SENT),
        meaning="The command starts a program that the text does not name: an editor, a pager, a hook.",
        example="git difftool",
        advice="Ask a person before it runs, or use a command that only prints.",
    ),
    Finding(
        "SG302",
        "option-executes",
        _EXECUTES,
        (Kind.OPTION,),
        meaning="An option names a program, or makes the command start one.",
        example="sort --compress-program=./x names.txt",
        advice="Leave the option out.",
    ),
    Finding(
        "SG303",
        "operand-executes",
        _EXECUTES,
        (Kind.OPERAND,),
        meaning="A word stands where the command runs what it names.",
        example="nm @options",
        advice="Leave the word out, or write what it stands for, so that it can be judged.",
    ),
    Finding(
        "SG304",
        "variable-executes",
        _EXECUTES,
        (Kind.VARIABLE,),
        meaning="A variable is set to a program that some command will start, or that the loader puts into each.",
        example="GIT_PAGER=./x git log",
        advice="Leave the assignment out. A value that only reads is fine: `GIT_PAGER=cat`.",
    ),
    Finding(
        "SG305",
        "configuration-executes",
        _EXECUTES,
        (Kind.CONFIGURATION,),
        meaning="Files of the folder, or the machine's own configuration, say what the tool runs.",
        example="cargo tree",
        advice="Look at these files first. `--trust config` trusts those of the machine, and nothing those of a clone.",
    ),
    Finding(
        "SG306",
        "script-executes",
        _EXECUTES,
        (Kind.SCRIPT,),
        meaning="A script inside a word (sed, awk ...) runs a command.",
        example="awk '{system($0)}' names.txt",
        advice="Take the part of the script out that runs it.",
    ),
    Finding(
        "SG307",
        "unseen-word-executes",
        _EXECUTES,
        (Kind.UNSEEN,),
        meaning="Nobody can see what a word will be, and in its place it may make the command start a program.",
        example='git "$x"',
        advice="Write the word out, or put `--` before it where the command takes that.",
    ),
    # --- rules ----------------------------------------------------------------------------------------------------
    Finding(
        "SG401",
        "no-rule",
        _UNKNOWN,
        (Kind.NO_RULE,),
        meaning="No rule speaks of the command, so nothing is known of it.",
        example="frobnicate",
        advice="Write a rule for it: `shellguard rules new NAME` makes a draft.",
    ),
    Finding(
        "SG402",
        "program-by-path",
        _UNKNOWN,
        (Kind.PROGRAM,),
        meaning="The command is named by a path outside the folders of the system, and may be any program.",
        example="./deploy.sh",
        advice="Look at the program. Where it is a tool of the system, call it by its name.",
    ),
    Finding(
        "SG403",
        "broken-rule",
        _UNKNOWN,
        (Kind.BROKEN_RULE,),
        meaning="The rule of the command is wrong, or a project brought it and nobody has trusted it yet.",
        example="",
        advice="`shellguard rules check` says what to correct; `shellguard rules trust` trusts what was looked at.",
    ),
    Finding(
        "SG404",
        "unlisted-option",
        _UNKNOWN,
        (Kind.NO_OPTION,),
        meaning="The rule does not list the option. An abbreviated long option counts as not listed.",
        example="sort --frob names.txt",
        advice="Leave it out, write it in full, or add it to the rule.",
    ),
    Finding(
        "SG405",
        "unlisted-subcommand",
        _UNKNOWN,
        (Kind.NO_SUBCOMMAND,),
        meaning="The rule does not list the subcommand. It may be an alias, or a program of that name.",
        example="git frobnicate",
        advice="Use the subcommand that it stands for, or add it to the rule.",
    ),
    Finding(
        "SG406",
        "unlisted-word",
        _UNKNOWN,
        (Kind.NO_PLACE,),
        meaning="The command gets more words than its rule has places for, and what the extra one does is not known.",
        example="comm a.txt b.txt c.txt",
        advice="Leave the word out, or add its place to the rule.",
    ),
    Finding(
        "SG407",
        "unlisted-variable",
        _UNKNOWN,
        (Kind.NO_VARIABLE,),
        meaning="A variable is set for a command, and no rule says what it means there.",
        example="FROB=1 git log",
        advice="Leave the assignment out, or add the variable to the rule.",
    ),
    Finding(
        "SG408",
        "malformed-call",
        _UNKNOWN,
        (Kind.MALFORMED,),
        meaning="The call lacks a value, a command or an end that its rule asks for, or has one too many.",
        example="sort -k",
        advice="Complete the call.",
    ),
    Finding(
        "SG409",
        "rule-cannot-tell",
        _UNKNOWN,
        (Kind.COMMAND, Kind.OPTION, Kind.OPERAND, Kind.VARIABLE, Kind.CONFIGURATION, Kind.SENT),
        meaning="The rule speaks of this and says that nobody can tell what it does.",
        example="git --super-prefix=x status",
        advice="Use a form of the command that its rule calls a read: `shellguard rules show NAME` lists them.",
    ),
    # --- words that nobody can see --------------------------------------------------------------------------------
    Finding(
        "SG501",
        "unseen-command",
        _UNKNOWN,
        (Kind.NAME,),
        meaning="Which command runs cannot be told, because its name is computed.",
        example='"$tool" --version',
        advice="Write the name out.",
    ),
    Finding(
        "SG502",
        "unseen-word",
        _UNKNOWN,
        (Kind.UNSEEN,),
        meaning="Nobody can see what a word will be, and in its place it may be something that no rule speaks of.",
        example='sh -c "$x"',
        advice="Write the word out, or put `--` before it where the command takes that.",
    ),
    Finding(
        "SG503",
        "script-not-understood",
        _UNKNOWN,
        (Kind.SCRIPT,),
        meaning="A script inside a word (sed, awk, jq, SQL ...) uses something that its reader does not model.",
        example="sqlite3 notes.db 'pragma optimize'",
        advice="Make the script simpler, or take it apart.",
    ),
)
"""Every finding, by code."""

RETIRED: frozenset[str] = frozenset()
"""Codes that were in a release and are in use no more."""

BY_CODE = {finding.code: finding for finding in FINDINGS}
BY_NAME = {finding.name: finding for finding in FINDINGS}

_OTHERWISE = {Effect.WRITES: "SG201", Effect.EXECUTES: "SG301", Effect.UNKNOWN: "SG409"}
_PLAIN = {Effect.READS: READS_STATE, Effect.NETWORK: USES_NETWORK, Effect.WAITS: WAITS}

_BY_FACT = {
    (effect, kind): finding for finding in FINDINGS for effect in finding.effects for kind in finding.kinds
}


def finding_of(fact: Fact) -> Finding:
    """The one finding that a fact is."""
    if fact.effect in _PLAIN:
        return _by_marks(fact)
    return _BY_FACT.get((fact.effect, fact.kind)) or BY_CODE[_OTHERWISE[fact.effect]]


def _by_marks(fact: Fact) -> Finding:
    if "sensitive" in fact.marks:
        return READS_CREDENTIALS
    if "privileged" in fact.marks:
        return USES_PRIVILEGES
    if any(mark.startswith("touches:") for mark in fact.marks):
        return LEAVES_TRACES
    return _PLAIN[fact.effect]


def find(word: str) -> Finding | None:
    """The finding with this code or name, in any case of letters."""
    return BY_CODE.get(word.upper()) or BY_NAME.get(word.lower())


assert {*_OTHERWISE, *_PLAIN} == set(EFFECTS)
