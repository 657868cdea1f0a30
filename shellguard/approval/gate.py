# SPDX-License-Identifier: Apache-2.0
"""Which of the commands that a text runs need a person, and why.

Decided on the commands as they were parsed and bound, never on a piece of the text: a commit message that names
`rm -rf` is a word of `git commit`. A word that nobody can see is not taken for an option or a path; such a command is
`unknown` to the verdict, which is another question. Pure.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from shellguard.approval.flow import Flow, plain_path
from shellguard.approval.statements import destroys
from shellguard.effects import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shellguard.analysis.seen import Log, Seen
    from shellguard.effects import Fact
    from shellguard.rules.gates import Client, Gate, Gates, Interpreter, Shape
    from shellguard.rules.model import CredentialPaths
    from shellguard.spans import Span
    from shellguard.values.value import Value

MAX_HEARD = 20
"""Texts on standard input that are looked at; nobody writes more of them by hand."""

STANDARD_INPUT = frozenset({"-", "/dev/stdin"})
DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/")
SINKS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})


@dataclass(frozen=True, slots=True)
class Gated:
    """One command that needs a person: which gate stands before it, where it stands in the text, and what it is.

    `line` is that of the shape in `rules/_gates.yaml` that holds; `via` the commands that run it, outermost first.
    """

    gate: Gate
    span: Span
    what: str
    line: int
    via: tuple[str, ...] = ()


def gated(
    log: Log, complete: bool, facts: Sequence[Fact], gates: Gates, paths: CredentialPaths
) -> tuple[Gated, ...]:
    """Every command of a text that needs a person, in the order of the text; none when all may run.

    `log` are the commands of the text, `complete` says whether it was judged to its end.
    """
    found: list[Gated] = []
    look = Calls(log, gates)
    for gate in gates.gates:
        for shape in gate.shapes:
            for seen in look.named(shape.words[0]):
                if holds(shape, seen):
                    found.append(Gated(gate, seen.span, " ".join(shape.words), shape.line, seen.via))
        if gate.targets or gate.sensitive:
            for target, span in look.targets:
                if _is_target(gate, target, paths):
                    found.append(Gated(gate, span, f"writes to {target}", gate.line))
        if gate.code_from is not None:
            for seen, what in look.code_from(gates.remote if gate.code_from == "remote" else gates.decoders):
                found.append(Gated(gate, seen.span, what, gate.line, seen.via))
        if gate.sql:
            for client in gates.clients:
                for seen, call in look.of(client.names):
                    statement = next(filter(None, map(destroys, look.sql_of(client, call))), None)
                    if statement is not None:
                        found.append(Gated(gate, seen.span, statement, gate.line, seen.via))
        if gate.unread:
            unread = [fact for fact in facts if fact.kind in (Kind.SYNTAX, Kind.LIMIT)]
            if unread or not complete:
                span = unread[0].span if unread else (0, 0)
                why = unread[0].because if unread else "it is too much to be read to its end"
                found.append(Gated(gate, span, why, gate.line))
    unique = {(each.gate.name, each.span, each.what): each for each in found}
    return tuple(sorted(unique.values(), key=lambda each: (each.span, each.gate.line)))


# --- one call ---------------------------------------------------------------------------------------------------------


def name_of(seen: Seen) -> str:
    """The name of the command without its folder, whatever folder that is."""
    return seen.name.rpartition("/")[2]


def is_one_of(seen: Seen, names: tuple[str, ...]) -> bool:
    """Whether it is a call of one of these, by the name of its rule or the one that was used."""
    return seen.path[0] in names or name_of(seen) in names


def holds(shape: Shape, seen: Seen) -> bool:
    """Whether the call is one of those that the shape speaks of. Its first word has been compared."""
    bound, wanted = seen.path[1:], shape.words[1:]
    options, operands = parted(seen.words, shape.values, shape.posix)
    if len(wanted) <= len(bound):
        if bound[: len(wanted)] != wanted:
            return False
        known: list[Value | str] = [*bound[len(wanted) :], *operands]
    else:
        if bound != wanted[: len(bound)]:
            return False
        rest = wanted[len(bound) :]
        if tuple(_text(word) for word in operands[: len(rest)]) != rest:
            return False
        known = list(operands[len(rest) :])
    texts = [_text(word) for word in known]
    if shape.via and not any(frame.split(" ")[0].rpartition("/")[2] in shape.via for frame in seen.via):
        return False
    if shape.any_of and not any(
        given(name, options, shape.values, abbreviated=True) for name in shape.any_of
    ):
        return False
    if any(
        not any(given(name, options, shape.values, abbreviated=True) for name in names)
        for names in shape.every
    ):
        return False
    if any(given(name, options, shape.values) for name in shape.unless):
        return False
    if shape.operands and not (
        any(p.matches(text) for text in texts if text is not None for p in shape.operands)
        or (shape.unseen and None in texts)
    ):
        return False
    if shape.without and any(p.matches(text) for text in texts if text is not None for p in shape.without):
        return False
    if shape.bare and texts:
        return False
    if not shape.first:
        return True
    return bool(texts) and texts[0] is not None and any(p.matches(texts[0]) for p in shape.first)


def _inside(shape: Shape, seen: Seen, skip: int) -> tuple[Value, ...]:
    """The words of the command inside a call, behind `skip` more operands; empty where there is none."""
    wanted = shape.words[1:]
    words = seen.words
    if wanted and wanted[0][0] == "-":
        at = next((index for index, word in enumerate(words) if _text(word) == wanted[0]), len(words))
        return words[at + 1 :]
    if seen.path[1:] != wanted[: len(seen.path) - 1]:
        return ()
    before: list[str | None] = [*wanted[len(seen.path) - 1 :], *[None] * skip]
    index = 0
    while index < len(words):
        text = _text(words[index])
        if text is not None and len(text) > 1 and text[0] == "-":
            index += 2 if takes_next(text, shape.values) else 1
            continue
        if not before:
            return words[index:]
        expected = before.pop(0)
        if expected is not None and expected != text:
            return ()
        index += 1
    return ()


def parted(
    words: Sequence[Value], values: tuple[str, ...], posix: bool = False
) -> tuple[list[str], list[Value]]:
    """The options and the operands among the words of a call. `values` are options that take the next word."""
    options: list[str] = []
    operands: list[Value] = []
    index, ended = 0, False
    while index < len(words):
        word = words[index]
        index += 1
        text = _text(word)
        if ended or text is None or len(text) < 2 or text[0] not in "-+":
            operands.append(word)
            ended = ended or posix
        elif text == "--":
            ended = True
            if index < len(words):
                options.append(text)
        else:
            options.append(text)
            if takes_next(text, values):
                index += 1
    return options, operands


def takes_next(text: str, values: tuple[str, ...]) -> bool:
    """Whether the option takes the next word: it is listed, or a bundle whose last letter is."""
    if text in values:
        return True
    if text[:2] == "--" or text[0] != "-":
        return False
    for index in range(1, len(text)):
        if "-" + text[index] in values:
            return index == len(text) - 1
    return False


def given(name: str, options: Sequence[str], values: tuple[str, ...], *, abbreviated: bool = False) -> bool:
    """Whether one of the options is `name`: alone, with `=`, or, for a letter, in a bundle.

    `abbreviated`: the beginning of a long option counts too.
    """
    return any(_is_option(name, option, values, abbreviated) for option in options)


def _is_option(name: str, option: str, values: tuple[str, ...], abbreviated: bool) -> bool:
    if option == name or option.startswith(name + "="):
        return True
    if name[:2] == "--":
        word = option.partition("=")[0]
        return abbreviated and len(word) > 2 and word[:2] == "--" and name.startswith(word)
    if len(name) != 2 or option[:2] == "--" or option[:1] != name[0]:
        return False
    for letter in option[1:]:
        if letter == name[1]:
            return True
        if "-" + letter in values or not (letter.isascii() and letter.isalnum()):
            return False
    return False


def _text(word: Value | str) -> str | None:
    """The word, None where it is not known."""
    if isinstance(word, str):
        return word
    return word.text if word.exact and not word.many else None


# --- the whole text ---------------------------------------------------------------------------------------------------


class Calls:
    """The commands of a text, by name, and the files they write to."""

    def __init__(self, log: Log, gates: Gates) -> None:
        self.log, self.gates = log, gates
        self.by_name: dict[str, list[Seen]] = {}
        self.speakers = [
            index for index, seen in enumerate(log.commands) if seen.text is not None or self.prints(seen)
        ]
        self.boxed = list(self._boxed(log.commands))
        for seen in [*log.commands, *self.boxed]:
            for name in {seen.path[0].rpartition("/")[2], name_of(seen)}:
                self.by_name.setdefault(name, []).append(seen)
        self.targets = list(self._targets())

    def _boxed(self, commands: Sequence[Seen], depth: int = 3) -> Iterator[Seen]:
        """The commands that are called by way of another (`busybox rm`, `poetry run python -m twine`)."""
        found = []
        for skip, shapes in enumerate((self.gates.boxes, self.gates.images)):
            for shape in shapes:
                for seen in commands:
                    if shape.words[0] in (name_of(seen), seen.path[0]):
                        words = _inside(shape, seen, skip)
                        if words and (name := _text(words[0])) is not None:
                            found.append(seen.renamed(name, words[1:], name_of(seen)))
        yield from found
        if found and depth > 0:
            yield from self._boxed(found, depth - 1)

    def prints(self, seen: Seen) -> bool:
        """Whether the call prints its words."""
        return name_of(seen) in self.gates.printers

    def named(self, name: str) -> list[Seen]:
        """The calls of a command, by the name of its rule or the one that was used."""
        return self.by_name.get(name, [])

    def of(self, names: tuple[str, ...]) -> Iterator[tuple[Seen, Seen]]:
        """The calls of any of these commands, and each without its subcommands; a name may have some."""
        for name in names:
            first, *rest = name.split(" ")
            for seen in self.named(first):
                operands = [_text(word) for word in parted(seen.words, ())[1]]
                if [*seen.path[1:], *operands][: len(rest)] == rest:
                    here = rest[len(seen.path) - 1 :]
                    yield seen, seen.renamed(seen.name, without(seen.words, here)) if here else seen

    # --- files ----------------------------------------------------------------------------------------------------

    def _targets(self) -> Iterator[tuple[str, Span]]:
        """Every file that is written to, as far as its path is known, also seen from where a `cd` has led."""
        folders: list[str] = []
        changed: list[int] = []
        places: list[tuple[int, Value, Span]] = [
            (each.at, each.target, each.span) for each in self.log.written
        ]
        for index, seen in enumerate(self.log.commands):
            words = self.written_by(seen)
            if is_one_of(seen, self.gates.writers):
                words = [*words, *parted(seen.words, ())[1]]
            places += [(index, word, seen.span) for word in words]
            if seen.folder is not None and (text := _text(seen.folder)) is not None:
                folders.append(_joined(folders[-1] if folders else "", text))
                changed.append(index)
        for at, word, span in places:
            text = word.text if word.exact else word.text + "x" if word.text else ""
            if not text or text in SINKS or text.startswith("/dev/fd/"):
                continue
            yield plain_path(text), span
            inside = bisect_left(changed, at)
            if inside and text[0] not in "/~":
                yield plain_path(_joined(folders[inside - 1], text)), span

    def written_by(self, seen: Seen) -> list[Value]:
        """The words of a call that name what it puts something into."""
        if not is_one_of(seen, self.gates.last):
            return list(seen.written)
        operands = parted(seen.words, self.gates.into)[1]
        return [*seen.written, *(list(values_of(seen.words, self.gates.into)) or operands[1:][-1:])]

    # --- programs that come from somewhere ------------------------------------------------------------------------

    def code_from(self, sources: tuple[Shape, ...]) -> Iterator[tuple[Seen, str]]:
        """Every interpreter that runs what one of the sources prints or has put into a file."""
        commands = self.log.commands
        ids = {id(seen) for shape in sources for seen in self.named(shape.words[0]) if holds(shape, seen)}
        if not ids and not any(_is_address(word) for seen in commands for word in seen.words):
            return
        flow = Flow(self, ids)
        known = {seen: (call, rule) for seen, call, rule in self.interpreters()}
        for index, seen in enumerate([*commands, *self.boxed]):
            words_from, input_from = flow.reaches(seen.words_from), flow.reaches(seen.input_from)
            if seen in known:
                call, rule = known[seen]
                for program in programs_of(rule, call):
                    if program is None:
                        if input_from:
                            yield seen, f"{name_of(seen)} runs its input"
                    elif not program.exact:
                        if words_from or input_from:
                            yield seen, f"{name_of(seen)} runs what another command prints"
                    elif _is_address(program):
                        yield seen, f"{name_of(seen)} runs {program.text}"
                    elif flow.is_in(program.text, index):
                        yield seen, f"{name_of(seen)} runs {program.text}, which was fetched"
            elif not seen.name:
                if words_from or input_from:
                    yield seen, "what another command prints is run as a command"
            elif "/" in seen.name and flow.is_in(seen.name, index):
                yield seen, f"{seen.name}, which was fetched, is run"

    def interpreters(self) -> Iterator[tuple[Seen, Seen, Interpreter]]:
        """The calls that run a program they are given, each without its subcommands too, and what is said of them."""
        for rule in self.gates.interpreters:
            for seen, call in self.of(rule.names):
                yield seen, call, rule

    # --- SQL ------------------------------------------------------------------------------------------------------

    def sql_of(self, client: Client, seen: Seen) -> Iterator[str]:
        """The texts that a call sends, as far as they are known."""
        for word in values_of(seen.words, client.script):
            yield word.text
        if client.operands:
            operands = parted(seen.words, (*client.values, *client.script))[1]
            for word in operands[client.skip :]:
                yield word.text
        if seen.text is not None:
            yield seen.text.text
        for before in self.heard(seen):
            if before.text is not None:
                yield before.text.text
            if self.prints(before):
                yield " ".join(word.text for word in before.words)

    def heard(self, seen: Seen) -> Iterator[Seen]:
        """The commands with a text of their own that the call reads from, the last `MAX_HEARD` of them."""
        for start, end in seen.input_from[-MAX_HEARD:]:
            first, last = bisect_left(self.speakers, start), bisect_left(self.speakers, end)
            for index in self.speakers[max(first, last - MAX_HEARD) : last]:
                yield self.log.commands[index]


def without(words: tuple[Value, ...], first: list[str]) -> tuple[Value, ...]:
    """The words of a call without the subcommands that they begin with."""
    left = list(words)
    for text in first:
        left.remove(next(word for word in left if _text(word) == text))
    return tuple(left)


def programs_of(rule: Interpreter, seen: Seen) -> Iterator[Value | None]:
    """The words that are the program, or name the file that holds it; None stands for standard input."""
    words = seen.words
    if rule.words:
        yield from words
        return
    given_programs = list(values_of(words, rule.program))
    yield from given_programs
    options, operands = parted(words, (*rule.program, *rule.values), posix=True)
    if given_programs or any(given(name, options, rule.values) for name in rule.other):
        return
    if operands and not given("-s", options, rule.values):
        first = operands[0]
        text = _text(first)
        yield None if text in STANDARD_INPUT or (text and text.startswith(DESCRIPTORS)) else first
    elif not rule.file:
        yield None


def values_of(words: Sequence[Value], names: tuple[str, ...]) -> Iterator[Value]:
    """The values of these options: attached, in a bundle of letters, or the next word."""
    from shellguard.values.value import Value

    for index, word in enumerate(words):
        text = word.text
        if len(text) < 2 or text[0] != "-" or text == "--":
            continue
        for name in names:
            if name[:2] == "--" or len(name) > 2:
                if word.exact and text == name and index + 1 < len(words):
                    yield words[index + 1]
                elif text.startswith(name + "="):
                    yield Value(text[len(name) + 1 :], word.span, exact=word.exact)
            elif text[:2] != "--" and name[1] in text[1:]:
                at = text.index(name[1], 1)
                if not all(letter.isascii() and letter.isalpha() for letter in text[1:at]):
                    continue
                if at + 1 < len(text) or not word.exact:
                    yield Value(text[at + 1 :], word.span, exact=word.exact)
                if at + 1 == len(text) or _is_letters(text):  # `bash -ec x`, `-ce x`: the next word is it
                    if word.exact and index + 1 < len(words):
                        yield words[index + 1]


def _is_letters(text: str) -> bool:
    return len(text) <= 5 and all(letter.isascii() and letter.isalpha() for letter in text[1:])


def _is_address(word: Value) -> bool:
    return word.text.startswith(("http://", "https://", "ftp://"))


# --- paths ------------------------------------------------------------------------------------------------------------


def _joined(folder: str, path: str) -> str:
    """The path as it is seen from where the folder is."""
    return plain_path(f"{folder}/{path}") if folder and path[:1] not in ("/", "~") else path


def _is_target(gate: Gate, path: str, paths: CredentialPaths) -> bool:
    tails = [path]
    parts = path.split("/")
    tails += ["/".join(parts[index:]) for index in range(1, len(parts))]
    if any(pattern.matches(path) for pattern in gate.not_targets):
        return False
    if gate.sensitive and paths.place_for(path) is not None:
        return True
    for pattern in gate.targets:
        if pattern.text[:1] == "/":
            if pattern.matches(path):
                return True
        elif any(pattern.matches(tail) for tail in tails if tail):
            return True
    return False
