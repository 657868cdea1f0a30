# SPDX-License-Identifier: Apache-2.0
"""What the guard asks about a shell command: its class, one spelling of it, what it runs first and last.

It is read once by the parser and judged by `classify`; an agent repeats itself, so the last answers are kept.
"""

from __future__ import annotations

from shellguard.analysis.simple import SYSTEM_FOLDERS
from shellguard.effects import Effect
from shellguard.engine import classify, tree_of
from shellguard.errors import ShellSyntaxError
from shellguard.guard.model import READ, WAIT
from shellguard.syntax.nodes import (
    AndOr,
    AnsiC,
    Double,
    Escaped,
    ForArith,
    ForWords,
    Group,
    If,
    Node,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Single,
    Statement,
    Subshell,
    Text,
    Tilde,
    Timed,
    While,
    Word,
)
from shellguard.syntax.printer import to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.verdict import Verdict

REMEMBERED = 512
MAX_REMEMBERED = 4_096
_memo: dict[str, Command] = {}


class Command:
    """A command as the guard sees it.

    `kind` is its class, `pause` the seconds that a wait declares (-1 for none in figures), `text` one spelling for all
    that mean the same, without `cd FOLDER &&` in front, whose folder is in `folder`. `head` is the program whose
    failure it would be, `status` the words of the command that gives the exit status. `labels` are the lines that it
    prints between its steps (`echo ==== a ====; cat a`), which are left out of `text`; `speaks` that it does no more
    than to print what it says.
    """

    __slots__ = ("folder", "head", "kind", "labels", "pause", "speaks", "status", "text")

    def __init__(
        self,
        kind: str,
        text: str,
        folder: str = "",
        head: str = "",
        status: tuple[str, ...] = (),
        *,
        pause: float = -1,
        labels: frozenset[str] = frozenset(),
        speaks: bool = False,
    ) -> None:
        self.labels, self.speaks = labels, speaks
        self.kind, self.text, self.folder, self.head, self.status = kind, text, folder, head, status
        self.pause = pause


def read_command(text: str) -> Command:
    """What the guard knows of a command. Never raises; a text that is not understood is its own spelling."""
    found = _memo.get(text)
    return remember(text, classify(text)) if found is None else found


def remember(text: str, verdict: Verdict) -> Command:
    """What the guard knows of a command whose verdict is at hand: with other rules than the shipped ones, say.

    `read_command` gives the same until it has forgotten it.
    """
    found = _read(text, verdict)
    if len(text) <= MAX_REMEMBERED:
        if len(_memo) >= REMEMBERED:
            _memo.clear()
        _memo[text] = found
    return found


def forget() -> None:
    """Forgets all commands: what is asked next is judged by other rules."""
    _memo.clear()


def _read(text: str, verdict: Verdict) -> Command:
    kind = verdict.kind
    pause = -1.0
    if kind == READ and Effect.WAITS in verdict.effects:
        kind, pause = WAIT, declared_pause(verdict)
    try:
        tree = tree_of(text)
        folder, tree = _without_folder(_unwrapped(tree))
        said: list[str] = []
        rest = _without_labels(tree, said)
        speaks = not rest.statements
        plain = _plain(tree if speaks else rest, without_pauses=kind == WAIT)
        assert isinstance(plain, Script)
        return Command(
            kind,
            to_text(plain),
            folder,
            _head(tree if speaks else rest),
            _status(tree),
            pause=pause,
            labels=frozenset() if speaks else frozenset(said),
            speaks=speaks and bool(said),
        )
    except (ShellSyntaxError, RecursionError):
        return Command(kind, text, pause=pause)


def declared_pause(verdict: Verdict) -> float:
    """The longest pause in seconds that a wait declares in figures; -1 where it declares none in figures."""
    longest = -1.0
    for fact in verdict.facts:
        if fact.effect != Effect.WAITS:
            continue
        seconds = _seconds(verdict.text[fact.span[0] : fact.span[1]])
        if seconds is None:
            return -1.0
        longest = max(longest, seconds)
    return longest


def _seconds(text: str) -> float | None:
    """The sum of the words behind the first, where each is a number with or without a unit."""
    total = 0.0
    words = text.split(" ")[1:]
    for word in words:
        unit = {"s": 1, "m": 60, "h": 3600, "d": 86400}.get(word[-1:])
        number = word if unit is None else word[:-1]
        if not number.isascii() or not number.replace(".", "", 1).isdigit() or len(number) > 12:
            return None
        total += float(number) * (unit or 1)
    return total if words else None


_SHELLS = ("bash", "sh", "zsh", "dash")
"""Those that a text is judged for (`any`)."""
_SCRIPT_OPTIONS = ("-c", "-lc", "-ic")


def command_of(words: list[str]) -> str:
    """The shell text that runs these words: the script of `bash -lc SCRIPT`, else the words, quoted.

    A shell at a place of its own (`./bash`) may be any program, and one that is interactive runs its user's aliases:
    both stay what they are, for `classify` to judge.
    """
    folder, slash, name = words[0].rpartition("/")
    if len(words) == 3 and name in _SHELLS and words[1] in ("-c", "-lc"):
        if not slash or folder in SYSTEM_FOLDERS:
            return words[2]
    return " ".join(["'" + word.replace("'", "'\\''") + "'" for word in words])


def _unwrapped(tree: Script) -> Script:
    """The script inside of `bash -c SCRIPT`, where that is all there is."""
    if len(tree.statements) != 1 or not isinstance(tree.statements[0].command, Simple):
        return tree
    statement = tree.statements[0]
    words = _words(statement)
    count = len(statement.command.words) if isinstance(statement.command, Simple) else 0
    if (
        len(words) != count
        or count != 3
        or statement.redirections
        or statement.background
        or statement.negated
    ):
        return tree
    if words[0].rpartition("/")[2] not in _SHELLS or words[1] not in _SCRIPT_OPTIONS:
        return tree
    try:
        return tree_of(words[2])
    except ShellSyntaxError:
        return tree


def _without_labels(tree: Script, said: list[str]) -> Script:
    """The script without what only prints a fixed line; the lines are added to `said`."""
    kept: list[Statement] = []
    for statement in tree.statements:
        chain = statement.command
        if isinstance(chain, AndOr) and not statement.negated and set(chain.operators) == {"&&"}:
            first = 0  # behind a test, `echo yes` is its answer
            while first < len(chain.parts) and _is_label(chain.parts[first], said):
                first += 1
            parts = chain.parts[first:]
            if not parts:
                continue
            if len(parts) < len(chain.parts):
                command = AndOr(parts, ("&&",) * (len(parts) - 1), chain.span)
                statement = (
                    Statement(command, (), False, statement.background, statement.span)
                    if len(parts) > 1
                    else parts[0]
                )
        elif _is_label(statement, said):
            continue
        kept.append(statement)
    return Script(tuple(kept), tree.span)


def _is_label(statement: Statement, said: list[str]) -> bool:
    command = statement.command
    if (
        not isinstance(command, Simple)
        or command.assignments
        or statement.redirections
        or statement.background
    ):
        return False
    words = _words(statement)
    if len(words) != len(command.words) or not words or words[0] not in ("echo", "printf", ":", "true"):
        return False
    if words[0] == "printf":
        if words[1:2] and words[1].startswith("-"):
            return False  # `-v name` prints nothing
        for word in words[1:]:
            said += [line.strip() for line in word.split("\\n") if "%" not in line]
    elif words[0] == "echo":
        said.append(" ".join([word for word in words[1:] if word not in ("-n", "-e")]).strip())
    return True


def _without_folder(tree: Script) -> tuple[str, Script]:
    """The folder of a leading `cd FOLDER &&` or `cd FOLDER;`, and the script without it."""
    statements = tree.statements
    if not statements:
        return "", tree
    first = statements[0]
    folder = _folder(first)
    if folder is not None and len(statements) > 1 and not first.background:
        return folder, Script(statements[1:], tree.span)
    chain = first.command
    if isinstance(chain, AndOr) and chain.operators[0] == "&&" and not first.negated:
        folder = _folder(chain.parts[0])
        if folder is not None:
            rest = (
                Statement(
                    AndOr(chain.parts[1:], chain.operators[1:], chain.span),
                    (),
                    False,
                    first.background,
                    first.span,
                )
                if len(chain.parts) > 2
                else chain.parts[1]
            )
            return folder, Script((rest, *statements[1:]), tree.span)
    return "", tree


def _folder(statement: Statement) -> str | None:
    command = statement.command
    if (
        not isinstance(command, Simple)
        or command.assignments
        or statement.redirections
        or len(command.words) != 2
    ):
        return None
    if literal(command.words[0]) != "cd":
        return None
    word = command.words[1]
    if word.parts and isinstance(word.parts[0], Tilde):
        rest = literal(Word(word.parts[1:], word.span))
        return None if rest is None else f"~{word.parts[0].user}{rest}"
    folder = literal(word)
    return None if folder is None or folder.startswith("-") else folder


def literal(word: Word) -> str | None:
    """The text of a word without anything to expand; None for any other."""
    out: list[str] = []
    for part in word.parts:
        match part:
            case Text(text) | Single(text) | AnsiC(text):
                out.append(text)
            case Escaped(char):
                out.append(char)
            case Double(parts) if not part.translated:
                for inner in parts:
                    if isinstance(inner, Text):
                        out.append(inner.text)
                    elif isinstance(inner, Escaped):
                        out.append(inner.char)
                    else:
                        return None
            case _:
                return None
    return "".join(out)


def _plain(node: Node, *, without_pauses: bool = False) -> Node:
    """A copy in which a literal word has one spelling, and joining of output and errors is left out.

    The copy is for comparing, never for running: `dir/` and `dir` are the same here, and so are `sleep 30` and
    `sleep 60` `without_pauses`: who waits longer each time still waits for the same.
    """
    if without_pauses and isinstance(node, Simple) and node.words and literal(node.words[0]) == "sleep":
        node = Simple(node.assignments, node.words[:1], node.span)
    if isinstance(node, Word):
        text = literal(node)
        if text is not None:
            return Word((Single(plain_path(text), node.span),), node.span)
    values: list[object] = []
    for name in node.__match_args__:
        value = getattr(node, name)
        if isinstance(value, Node):
            value = _plain(value, without_pauses=without_pauses)
        elif type(value) is tuple:
            value = tuple(
                [
                    _plain(item, without_pauses=without_pauses) if isinstance(item, Node) else item
                    for item in value
                    if not _joins(item)
                ]
            )
        values.append(value)
    return type(node)(*values)


def _joins(item: object) -> bool:
    return (
        isinstance(item, Redirect)
        and item.operator == ">&"
        and item.descriptor == "2"
        and literal(item.target) == "1"
    )


def plain_path(text: str) -> str:
    """A path without what changes nothing in it: a slash at its end, `./` in front or between, doubled slashes."""
    if "://" not in text:
        while "//" in text or "/./" in text:
            text = text.replace("//", "/").replace("/./", "/")
    if text.startswith("./") and len(text) > 2:
        text = text[2:]
    return text[:-1] if len(text) > 1 and text.endswith("/") else text


def _last(tree: Script) -> Statement | None:
    """The statement whose exit status is that of the script."""
    statement = tree.statements[-1] if tree.statements else None
    while statement is not None:
        match statement.command:
            case AndOr(parts=parts):
                statement = parts[-1]
            case Timed(statement=inner):
                statement = inner
            case Group(body=body) | Subshell(body=body):
                statement = body.statements[-1] if body.statements else None
            case _:
                return statement
    return None


def _words(statement: Statement) -> tuple[str, ...]:
    command = statement.command
    if not isinstance(command, Simple):
        return ()
    return tuple([text for word in command.words if (text := literal(word)) is not None])


def _head(tree: Script) -> str:
    """The program that the command is about: the first of the last pipeline, also inside a loop."""
    statement = _last(tree)
    for _ in range(16):
        if statement is None:
            break
        match statement.command:
            case Pipeline(parts=parts):
                statement = parts[0]
            case AndOr(parts=parts):
                statement = parts[-1]
            case While(body=body) | ForWords(body=body) | ForArith(body=body):
                statement = body.statements[-1] if body.statements else None
            case If(arms=arms):
                statement = arms[0].body.statements[-1] if arms[0].body.statements else None
            case Timed(statement=inner):
                statement = inner
            case _:
                words = _words(statement)
                return words[0].rpartition("/")[2] if words else ""
    return ""


def _status(tree: Script) -> tuple[str, ...]:
    statement = _last(tree)
    if statement is not None and isinstance(statement.command, Pipeline):
        statement = statement.command.parts[-1]
    return () if statement is None or statement.negated else _words(statement)
