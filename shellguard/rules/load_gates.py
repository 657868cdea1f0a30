# SPDX-License-Identifier: Apache-2.0
"""`_gates.yaml` -> `Gates`. Strict: whatever is wrong is an error with its file and line, and nothing passes then."""

from __future__ import annotations

from shellguard.rules.gates import (
    CODE_FROM,
    LANGUAGES,
    SEVERITIES,
    Client,
    Gate,
    Gates,
    Interpreter,
    Naming,
    Shape,
)
from shellguard.rules.load import _Reader
from shellguard.rules.tree import checked_text, tree
from shellguard.rules.vocabulary import (
    CLIENT_WORDS,
    GATE_WORDS,
    GATES_FILE_WORDS,
    INTERPRETER_WORDS,
    NAMING_WORDS,
    SHAPE_WORDS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.rules.tree import Node


def load_gates(text: str, path: str) -> Gates:
    """What the file says. Raises: RuleError."""
    return _GatesReader(path).file(tree(checked_text(text, path), path))


class _GatesReader(_Reader):
    def file(self, node: Node) -> Gates:
        words = self.mapping(node, "the file", GATES_FILE_WORDS)
        if "gates" not in words:
            self.fail(node.line, "the file needs `gates:`")
        gates = tuple(
            self.gate(name, line, gate)
            for name, (line, gate) in self.mapping(words["gates"][1], "`gates`").items()
        )
        code = {gate.code_from for gate in gates}
        for source in ("remote", "decoders"):
            if (source.rstrip("s") in code) != (source in words):
                self.fail(
                    node.line, f"`{source}` and a gate with `code_from: {source.rstrip('s')}` need each other"
                )
        return Gates(
            self.path,
            gates,
            remote=self.shapes_of(words, "remote"),
            decoders=self.shapes_of(words, "decoders"),
            interpreters=tuple(self.interpreter(each) for each in self.items(words, "interpreters")),
            clients=tuple(self.client(each) for each in self.items(words, "clients")),
            writers=self.texts(words, "writers"),
            last=self.texts(words, "last"),
            into=self.texts(words, "into"),
            boxes=self.shapes_of(words, "boxes"),
            images=self.shapes_of(words, "images"),
            printers=self.texts(words, "printers"),
            namings=tuple(self.naming(each) for each in self.items(words, "namings")),
            line=node.line,
        )

    def items(self, words: dict[str, tuple[int, Node]], key: str) -> list[Node]:
        """The elements of a sequence that may be missing."""
        if key not in words:
            return []
        node = words[key][1]
        if not isinstance(node.value, list):
            self.fail(node.line, f"`{key}` must be a sequence (`- ...`)")
        return node.value

    def texts(self, words: dict[str, tuple[int, Node]], key: str) -> tuple[str, ...]:
        return tuple(text for text, _ in self.strings(words[key][1], f"`{key}`")) if key in words else ()

    def flag(self, words: dict[str, tuple[int, Node]], key: str) -> bool:
        return key in words and self.boolean(words[key][1], f"`{key}`")

    def gate(self, name: str, line: int, node: Node) -> Gate:
        words = self.mapping(node, f"the gate {name}", GATE_WORDS)
        for needed in ("severity", "reason", "instead"):
            if needed not in words:
                self.fail(line, f"the gate {name} needs `{needed}`")
        if not {"commands", "targets", "sensitive", "code_from", "sql", "unread"} & set(words):
            self.fail(line, f"the gate {name} stands before nothing: it needs `commands` or `targets`")
        if "not_targets" in words and "targets" not in words and not self.flag(words, "sensitive"):
            self.fail(words["not_targets"][0], "`not_targets` takes nothing back without `targets`")
        return Gate(
            name,
            self.one_of(words["severity"][1], "`severity`", SEVERITIES),
            self.scalar(words["reason"][1], "`reason`"),
            self.scalar(words["instead"][1], "`instead`"),
            line=line,
            shapes=self.shapes_of(words, "commands"),
            targets=self.patterns(words["targets"][1], "`targets`") if "targets" in words else (),
            not_targets=self.patterns(words["not_targets"][1], "`not_targets`")
            if "not_targets" in words
            else (),
            sensitive=self.flag(words, "sensitive"),
            code_from=self.one_of(words["code_from"][1], "`code_from`", CODE_FROM)
            if "code_from" in words
            else None,
            sql=self.flag(words, "sql"),
            unread=self.flag(words, "unread"),
        )

    def shapes_of(self, words: dict[str, tuple[int, Node]], key: str) -> tuple[Shape, ...]:
        found: list[Shape] = []
        for node in self.items(words, key):
            found += self.shape(node)
        return tuple(found)

    def shape(self, node: Node) -> list[Shape]:
        """A command's words alone, or a mapping of which `run` may name several commands."""
        if isinstance(node.value, str):
            return [Shape(self.command_words(node.value, node.line), line=node.line)]
        words = self.mapping(node, "a command of a gate", SHAPE_WORDS)
        if "run" not in words:
            self.fail(node.line, "a command of a gate needs `run`")
        patterns = {
            key: self.patterns(words[key][1], f"`{key}`") if key in words else ()
            for key in ("operands", "first", "without")
        }
        return [
            Shape(
                self.command_words(text, line),
                line=line,
                any_of=self.options_in(words, "any"),
                every=tuple(names for names, _ in self.groups(words["every"][1], "`every`"))
                if "every" in words
                else (),
                unless=self.options_in(words, "unless"),
                values=self.options_in(words, "values"),
                operands=patterns["operands"],
                first=patterns["first"],
                without=patterns["without"],
                posix=self.flag(words, "posix"),
                bare=self.flag(words, "bare"),
                via=self.texts(words, "via"),
                unseen=self.flag(words, "unseen"),
            )
            for text, line in self.strings(words["run"][1], "`run`")
        ]

    def command_words(self, text: str, line: int) -> tuple[str, ...]:
        words = tuple(text.split(" "))
        if not all(words):
            self.fail(line, f"{text!r} is no command: words with one blank between them")
        return words

    def options_in(self, words: dict[str, tuple[int, Node]], key: str) -> tuple[str, ...]:
        names = self.texts(words, key)
        for name in names:
            if name[:1] not in ("-", "+") or name in ("-", "+"):
                self.fail(words[key][0], f"`{key}` names {name!r}, which is no option")
        return names

    def interpreter(self, node: Node) -> Interpreter:
        words = self.mapping(node, "an interpreter", INTERPRETER_WORDS)
        if "names" not in words:
            self.fail(node.line, "an interpreter needs `names`")
        return Interpreter(
            self.texts(words, "names"),
            line=node.line,
            program=self.options_in(words, "program"),
            other=self.options_in(words, "other"),
            values=self.options_in(words, "values"),
            words=self.flag(words, "words"),
            file=self.flag(words, "file"),
            language=self.one_of(words["language"][1], "`language`", LANGUAGES)
            if "language" in words
            else None,
        )

    def naming(self, node: Node) -> Naming:
        words = self.mapping(node, "a naming", NAMING_WORDS)
        for needed in NAMING_WORDS:
            if needed not in words:
                self.fail(node.line, f"a naming needs `{needed}`")
        return Naming(
            self.texts(words, "names"),
            self.options_in(words, "options"),
            self.scalar(words["prefix"][1], "`prefix`").lower(),
            line=node.line,
        )

    def client(self, node: Node) -> Client:
        words = self.mapping(node, "a client", CLIENT_WORDS)
        if "names" not in words:
            self.fail(node.line, "a client needs `names`")
        skip = 0
        if "skip" in words:
            skip = int(self.one_of(words["skip"][1], "`skip`", ("0", "1", "2")))
        return Client(
            self.texts(words, "names"),
            line=node.line,
            script=self.options_in(words, "script"),
            values=self.options_in(words, "values"),
            operands=self.flag(words, "operands"),
            skip=skip,
        )
