# SPDX-License-Identifier: Apache-2.0
"""`_gates.yaml`: which commands need a person. `approval/gate.py` compares them with what a text runs."""

from __future__ import annotations

from shellguard.rules.model import Pattern, Record

NAME = "_gates.yaml"
"""The name of the file in the folder of the rules."""

SEVERITIES = ("low", "medium", "high", "critical")
"""How bad the worst is that a gated command may do, in rising order."""

CODE_FROM = ("remote", "decoder")
"""Where a program comes from that an interpreter runs: another host, or a text that has to be decoded first."""


LANGUAGES = ("shell", "python")
"""Languages of programs in which a gate looks for commands."""


class Shape(Record):
    """Calls of one command that a gate stands before.

    Args:
        words: the command and its subcommands, as a person writes them: `("git", "push")`.
        any_of: one of these options must be given; empty: not asked. An abbreviation of a long one counts.
        every: one option of each of these groups must be given.
        unless: with one of these options, in full, the gate is open.
        values: options that take the next word, so that it is none of the others.
        operands: some operand has one of these shapes; empty: not asked.
        first: the first operand has one of these shapes; empty: not asked.
        posix: options end at the first operand.
        without: no operand has one of these shapes.
        bare: there is no operand.
        unseen: an operand that is not known counts as one of `operands`.
        via: the call must be run by one of these commands.
    """

    __slots__ = (
        *("any_of", "bare", "every", "first", "line", "operands", "posix", "unless", "values", "via"),
        *("unseen", "without", "words"),
    )
    __match_args__ = (
        *("words", "any_of", "every", "unless", "values", "operands", "first", "posix", "without", "bare"),
        *("via", "unseen", "line"),
    )

    def __init__(
        self,
        words: tuple[str, ...],
        *,
        line: int,
        any_of: tuple[str, ...] = (),
        every: tuple[tuple[str, ...], ...] = (),
        unless: tuple[str, ...] = (),
        values: tuple[str, ...] = (),
        operands: tuple[Pattern, ...] = (),
        first: tuple[Pattern, ...] = (),
        posix: bool = False,
        without: tuple[Pattern, ...] = (),
        bare: bool = False,
        via: tuple[str, ...] = (),
        unseen: bool = False,
    ) -> None:
        self.words, self.any_of, self.every, self.unless, self.values = words, any_of, every, unless, values
        self.operands, self.first, self.posix, self.line = operands, first, posix, line
        self.without, self.bare, self.via, self.unseen = without, bare, via, unseen


class Gate(Record):
    """One reason to ask a person.

    `shapes` are calls it stands before; `targets` shapes of paths that nobody writes to unasked, of which
    `not_targets` takes some back; `sensitive`: the files of `_paths.yaml` are among them; `code_from` is one of
    `CODE_FROM`; `sql`: statements that destroy stand before it; `unread`: a text that cannot be read does.
    """

    __slots__ = (
        *("code_from", "instead", "line", "name", "not_targets", "reason", "sensitive", "severity", "shapes"),
        *("sql", "targets", "unread"),
    )
    __match_args__ = (
        *("name", "severity", "reason", "instead", "shapes", "targets", "not_targets", "sensitive"),
        *("code_from", "sql", "unread", "line"),
    )

    def __init__(
        self,
        name: str,
        severity: str,
        reason: str,
        instead: str,
        *,
        line: int,
        shapes: tuple[Shape, ...] = (),
        targets: tuple[Pattern, ...] = (),
        not_targets: tuple[Pattern, ...] = (),
        sensitive: bool = False,
        code_from: str | None = None,
        sql: bool = False,
        unread: bool = False,
    ) -> None:
        self.name, self.severity, self.reason, self.instead, self.line = name, severity, reason, instead, line
        self.shapes, self.targets, self.not_targets, self.sensitive = shapes, targets, not_targets, sensitive
        self.code_from, self.sql, self.unread = code_from, sql, unread


class Interpreter(Record):
    """Commands that run a program they are given.

    `program`: options whose value is the program. `other`: options with which the program is something else that is
    named (`-m`). `values`: options that take the next word. `words`: every word may be the program (`eval`), else the
    first operand names a file with it, and without one standard input is it, unless `file` says that there must be one.
    `language`: what the program is written in, one of `LANGUAGES`; None: it is not looked into.
    """

    __slots__ = ("file", "language", "line", "names", "other", "program", "values", "words")
    __match_args__ = ("names", "program", "other", "values", "words", "file", "language", "line")

    def __init__(
        self,
        names: tuple[str, ...],
        *,
        line: int,
        program: tuple[str, ...] = (),
        other: tuple[str, ...] = (),
        values: tuple[str, ...] = (),
        words: bool = False,
        file: bool = False,
        language: str | None = None,
    ) -> None:
        self.names, self.program, self.other, self.values = names, program, other, values
        self.words, self.file, self.language, self.line = words, file, language, line


class Naming(Record):
    """Commands that are given names for calls of themselves: in a value `prefix`NAME=CALL of one of `options`.

    The case of the prefix does not matter. Behind `!` the call is shell text.
    """

    __slots__ = ("line", "names", "options", "prefix")
    __match_args__ = ("names", "options", "prefix", "line")

    def __init__(self, names: tuple[str, ...], options: tuple[str, ...], prefix: str, *, line: int) -> None:
        self.names, self.options, self.prefix, self.line = names, options, prefix, line


class Client(Record):
    """Commands that send SQL: in the value of `script` options, in operands behind the first `skip`, on input."""

    __slots__ = ("line", "names", "operands", "script", "skip", "values")
    __match_args__ = ("names", "script", "values", "operands", "skip", "line")

    def __init__(
        self,
        names: tuple[str, ...],
        *,
        line: int,
        script: tuple[str, ...] = (),
        values: tuple[str, ...] = (),
        operands: bool = False,
        skip: int = 0,
    ) -> None:
        self.names, self.script, self.values = names, script, values
        self.operands, self.skip, self.line = operands, skip, line


class Gates(Record):
    """The whole file.

    `boxes` are commands whose first operand is another command (`busybox`, `uv run`), or the word behind an option
    (`python -m`); with `images` it is the second operand (`docker run IMAGE`). `remote` and `decoders` are the
    commands whose output comes from where `CODE_FROM` says. `writers` are commands of which the rules do not say
    which words they write to: all of their operands, or, for those in `last`, the last one and the value of `into`,
    into which they put what they read.
    `printers` print their words. `namings`: see `Naming`.
    """

    __slots__ = (
        *(
            "boxes",
            "clients",
            "decoders",
            "gates",
            "images",
            "interpreters",
            "into",
            "last",
            "line",
            "namings",
        ),
        *("path", "printers", "remote", "writers"),
    )
    __match_args__ = (
        *(
            "path",
            "gates",
            "remote",
            "decoders",
            "interpreters",
            "clients",
            "writers",
            "last",
            "into",
            "boxes",
        ),
        *("images", "printers", "namings", "line"),
    )

    def __init__(
        self,
        path: str,
        gates: tuple[Gate, ...],
        *,
        remote: tuple[Shape, ...] = (),
        decoders: tuple[Shape, ...] = (),
        interpreters: tuple[Interpreter, ...] = (),
        clients: tuple[Client, ...] = (),
        writers: tuple[str, ...] = (),
        last: tuple[str, ...] = (),
        into: tuple[str, ...] = (),
        boxes: tuple[Shape, ...] = (),
        images: tuple[Shape, ...] = (),
        printers: tuple[str, ...] = (),
        namings: tuple[Naming, ...] = (),
        line: int = 1,
    ) -> None:
        self.path, self.gates, self.remote, self.decoders = path, gates, remote, decoders
        self.interpreters, self.clients, self.writers, self.last = interpreters, clients, writers, last
        self.into, self.boxes, self.images, self.line = into, boxes, images, line
        self.printers, self.namings = printers, namings


NO_GATES = Gates("", ())
"""What a shelf says that was made from values: nothing is gated."""
