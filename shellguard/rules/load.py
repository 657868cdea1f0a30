# SPDX-License-Identifier: Apache-2.0
"""YAML -> model, strictly: whatever is not understood is a `RuleError` with file, line and what to change."""

from __future__ import annotations

from shellguard.errors import RuleError
from shellguard.rules import vocabulary
from shellguard.rules.model import (
    CHANGES,
    EFFECTS,
    MARKS,
    PLACES,
    PRINTS,
    ROLES,
    SHELLS,
    STYLES,
    TAKES,
    TOUCHES,
    VERDICTS,
    Case,
    CommandRule,
    CredentialPaths,
    Example,
    Operand,
    Option,
    Pattern,
    PolicyRule,
    Prints,
    Runs,
    Spec,
    Variable,
    Variables,
)
from shellguard.rules.tree import Node, checked_text, read_file, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NoReturn, TypeVar

    T = TypeVar("T")


SPEC_WORDS = tuple(vocabulary.SPEC)
ROOT_WORDS = tuple(vocabulary.ROOT)
OPTION_WORDS = tuple(vocabulary.OPTION)
OPERAND_WORDS = tuple(vocabulary.OPERAND)
CASE_WORDS = tuple(vocabulary.CASE)
WHEN_WORDS = tuple(vocabulary.WHEN)
RUNS_WORDS = tuple(vocabulary.RUNS)
VARIABLE_WORDS = tuple(vocabulary.VARIABLE)
VARIABLES_FILE_WORDS = tuple(vocabulary.VARIABLES_FILE)
PATHS_FILE_WORDS = tuple(vocabulary.PATHS_FILE)
POLICY_WORDS = tuple(vocabulary.POLICY)

_ADDITIVE = frozenset(
    {"changes", "env", "flags", "helpers", "marks", "maybe", "options", "subcommands", "touches", "values"}
)
"""Words of which a spec has those of its shapes (`like`) and its own; its other words replace theirs."""


MAX_SPECS = 20_000
"""Specs of one file, each list of names and each shape followed: `a, b: {subcommands: {c, d: ..}}` has six."""

MAX_READ = 200_000
"""Keys, items and names of one file, each counted as often as a shape or a list of names repeats it."""


# --- reading the tree --------------------------------------------------------------------------------------


class _Given:
    """What a spec may use of one word: its nodes (those of shapes first) with the lines of their keys."""

    __slots__ = ("nodes",)

    def __init__(self) -> None:
        self.nodes: list[tuple[int, Node]] = []

    @property
    def line(self) -> int:
        return self.nodes[-1][0]

    @property
    def node(self) -> Node:
        return self.nodes[-1][1]


class _Above:
    """What a spec takes over from the specs above it."""

    __slots__ = (
        "env_complete",
        "known",
        "language",
        "lines",
        "marks",
        "runs_config",
        "style",
        "touches",
        "variables",
    )

    def __init__(self) -> None:
        self.style, self.language, self.runs_config = "gnu", None, None  # type: str, str | None, str | None
        self.env_complete = False
        self.touches: frozenset[str] = frozenset()
        self.marks: frozenset[str] = frozenset()
        self.variables: tuple[Variable, ...] = ()
        self.known = Variables()
        self.lines: dict[str, int] = {}


class _Reader:
    """Reads the nodes of one file. `path` is for messages and for the model."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.shapes: dict[str, Node] = {}
        self.specs = 0
        self.read = 0
        self.options_of: dict[
            tuple[object, ...], dict[str, Option]
        ] = {}  # specs of one kind share their options

    def fail(self, line: int, message: str) -> NoReturn:
        raise RuleError(self.path, line, message)

    def work(self, amount: int, line: int) -> None:
        """Counts what is read; shapes and lists of names can make much of a small file."""
        self.read += amount
        if self.read > MAX_READ:
            self.fail(
                line, f"the file says more than {MAX_READ} things once its names and shapes are followed"
            )

    # Small values.

    def mapping(
        self, node: Node, what: str, allowed: Iterable[str] | None = None
    ) -> dict[str, tuple[int, Node]]:
        if not isinstance(node.value, dict):
            self.fail(node.line, f"{what} must be a mapping (`key: value`)")
        self.work(len(node.value), node.line)
        if allowed is not None:
            for key, (line, _) in node.value.items():
                if key not in allowed:
                    self.fail(line, f"{what} has no word `{key}`{_suggestion(key, allowed)}")
        return node.value

    def scalar(self, node: Node, what: str) -> str:
        if not isinstance(node.value, str):
            self.fail(node.line, f"{what} must be plain text")
        return node.value

    def one_of(self, node: Node, what: str, allowed: Iterable[str]) -> str:
        value = self.scalar(node, what)
        if value not in allowed:
            self.fail(node.line, f"{what} cannot be `{value}`: it is one of {_listed(allowed)}")
        return value

    def boolean(self, node: Node, what: str) -> bool:
        return self.one_of(node, what, ("true", "false")) == "true"

    def strings(self, node: Node, what: str) -> list[tuple[str, int]]:
        """One scalar or a sequence of scalars, each with its line."""
        if isinstance(node.value, list):
            self.work(len(node.value), node.line)
            return [(self.scalar(item, what), item.line) for item in node.value]
        return [(self.scalar(node, what), node.line)]

    def replaces(self, words: dict[str, tuple[int, Node]]) -> bool:
        """Whether a file asks to be heard in place of what is shipped (`overlay.py`)."""
        return "replaces" in words and self.one_of(
            words["replaces"][1], "`replaces`", ("yes", "no", "true", "false")
        ) in ("yes", "true")

    def members(self, node: Node, what: str, allowed: Iterable[str]) -> frozenset[str]:
        found = self.strings(node, what)
        for value, line in found:
            if value not in allowed:
                self.fail(line, f"{what} cannot be `{value}`: it is one of {_listed(allowed)}")
        return frozenset(value for value, _ in found)

    def effects(self, node: Node, what: str = "`effect`") -> frozenset[str]:
        return self.members(node, what, EFFECTS)

    def patterns(self, node: Node, what: str) -> tuple[Pattern, ...]:
        return tuple(Pattern(value) for value, _ in self.strings(node, what))

    def groups(self, node: Node, what: str) -> list[tuple[tuple[str, ...], int]]:
        """A list as rules write it: a comma between things, a space between the spellings of one thing."""
        found: list[tuple[tuple[str, ...], int]] = []
        for value, line in self.strings(node, what):
            raw = node.raw if isinstance(node.value, str) and node.raw else value
            for piece in raw.split(","):
                names = tuple(name for part in piece.split("\n") for name in part.split(" ") if name)
                self.work(len(names), line)
                if not names:
                    self.fail(line, f"{what} has a comma with nothing before or after it")
                blank = len(piece) - len(piece.lstrip(" \n"))
                found.append((names, line + piece.count("\n", 0, blank)))
                line += piece.count("\n")
        return found

    # Options.

    def shared_options(
        self, spec: str, style: str, language: str | None, given: dict[str, _Given]
    ) -> dict[str, Option]:
        """`named_options`, made once for all specs that have the same ones."""
        nodes = [
            tuple(id(node) for _, node in given[word].nodes) if word in given else ()
            for word in ("flags", "values", "maybe", "options")
        ]
        key = (style, language, *nodes)
        if key not in self.options_of:
            self.options_of[key] = self.named_options(spec, style, given)
        return self.options_of[key]

    def named_options(self, spec: str, style: str, given: dict[str, _Given]) -> dict[str, Option]:
        """The options of `flags`, `values`, `maybe` and `options`, each under all its spellings."""
        options: dict[str, Option] = {}

        def add(option: Option) -> None:
            for name in option.names:
                self.option_name(name, style, option.line)
                other = options.get(name)
                if other is not None:
                    where = f"line {other.line}" if other.line != option.line else "the same line"
                    self.fail(
                        option.line, f"{spec}: the option {name} stands here a second time (first on {where})"
                    )
                options[name] = option

        for word, takes in (("flags", "none"), ("values", "one"), ("maybe", "maybe")):
            if word not in given:
                continue
            for _, node in given[word].nodes:
                for names, line in self.groups(node, f"`{word}`"):
                    add(Option(names, line=line, takes=takes))
        if "options" in given:
            for _, node in given["options"].nodes:
                for key, (line, value) in self.mapping(node, "`options`").items():
                    for names, _ in self.groups(Node(key, line), "`options`"):
                        add(self.option(names, line, value))
        return options

    def option_name(self, name: str, style: str, line: int) -> None:
        if style in ("words", "open"):
            return
        if style == "plain":
            self.fail(line, f"the option {name}: a spec with `style: plain` has no options")
        if not name.startswith("-") or name in ("-", "--"):
            self.fail(
                line, f"{name} is no option: it does not begin with a dash (is a comma missing or too many?)"
            )
        if not name.startswith("--") and len(name) > 2:
            self.fail(line, f"{name} has one dash and several letters: write two dashes, or `style: words`")
        if "=" in name:
            self.fail(line, f"{name}: write the option without `=` and its value")

    def option(self, names: tuple[str, ...], line: int, node: Node) -> Option:
        what = f"the option {names[0]}"
        words = self.mapping(node, what, OPTION_WORDS)
        takes = self.one_of(words["takes"][1], "`takes`", TAKES) if "takes" in words else "none"
        effects = self.effects(words["effect"][1]) if "effect" in words else frozenset()
        target = self.scalar(words["target"][1], "`target`") if "target" in words else None
        role = self.one_of(words["as"][1], "`as`", ROLES) if "as" in words else None
        language = self.scalar(words["language"][1], "`language`") if "language" in words else None
        program = self.boolean(words["program"][1], "`program`") if "program" in words else False
        runs_value = "runs" in words and bool(self.one_of(words["runs"][1], "`runs`", ("value",)))
        dash = "dash" in words and bool(self.one_of(words["dash"][1], "`dash`", ("stdout",)))
        ends = (
            tuple(value for value, _ in self.strings(words["ends"][1], "`ends`")) if "ends" in words else ()
        )
        if takes == "none":
            for word in ("adds", "as", "dash", "fills", "language", "matching", "only", "program", "runs"):
                if word in words:
                    self.fail(
                        words[word][0], f"{what}: `{word}` speaks of a value, but the option takes none"
                    )
            if target == "value":
                self.fail(words["target"][0], f"{what}: the target is its value, but the option takes none")
        if (takes == "until") != bool(ends):
            self.fail(line, f"{what}: `takes: until` and `ends` need each other")
        if target is not None and not effects:
            self.fail(words["target"][0], f"{what}: a `target` needs an `effect`")
        if dash and target != "value":
            self.fail(words["dash"][0], f"{what}: `dash: stdout` needs `target: value`")
        for word in ("matching", "only"):
            if word in words and not (effects or role == "script"):
                self.fail(words[word][0], f"{what}: `{word}` needs an `effect` that it limits")
        return Option(
            names,
            line=line,
            takes=takes,
            effects=effects,
            target=target,
            role=role,
            language=language,
            runs_value=runs_value,
            fills=tuple(self.scalar(words["fills"][1], "`fills`").split(" ")) if "fills" in words else (),
            adds=self.one_of(words["adds"][1], "`adds`", ("word", "words")) if "adds" in words else None,
            program=program,
            only=self.patterns(words["only"][1], "`only`") if "only" in words else (),
            matching=self.patterns(words["matching"][1], "`matching`") if "matching" in words else (),
            ends=ends,
            dash=dash,
            last="last" in words and self.boolean(words["last"][1], "`last`"),
        )

    def option_names(self, node: Node, what: str, options: dict[str, Option]) -> frozenset[str]:
        """The first spellings of the options that `node` lists."""
        found = set()
        for names, line in self.groups(node, what):
            for name in names:
                if name not in options:
                    self.fail(line, f"{what} names {name}, which is no option of this spec")
                found.add(options[name].name)
        return frozenset(found)

    # Operands, cases, inner commands.

    def operand(self, node: Node, options: dict[str, Option]) -> Operand:
        words = self.mapping(node, "an operand", OPERAND_WORDS)
        if "name" not in words:
            self.fail(node.line, "an operand needs a `name`")
        name = self.scalar(words["name"][1], "`name`")
        what = f"the operand {name}"
        effects = self.effects(words["effect"][1]) if "effect" in words else frozenset()
        role = self.one_of(words["as"][1], "`as`", ROLES) if "as" in words else None
        if "dash" in words:
            self.one_of(words["dash"][1], "`dash`", ("stdout",))
        for word in ("matching", "only"):
            if word in words and not (effects or role == "script"):
                self.fail(words[word][0], f"{what}: `{word}` needs an `effect` that it limits")

        def listed(word: str) -> frozenset[str]:
            return self.option_names(words[word][1], f"`{word}`", options) if word in words else frozenset()

        return Operand(
            name,
            line=node.line,
            many="many" in words and self.boolean(words["many"][1], "`many`"),
            effects=effects,
            role=role,
            language=self.scalar(words["language"][1], "`language`") if "language" in words else None,
            absent_with=listed("absent_with"),
            present_with=listed("present_with"),
            only=self.patterns(words["only"][1], "`only`") if "only" in words else (),
            matching=self.patterns(words["matching"][1], "`matching`") if "matching" in words else (),
            program="program" in words and self.boolean(words["program"][1], "`program`"),
            dash="dash" in words,
        )

    def operands(self, node: Node, options: dict[str, Option]) -> tuple[Operand, ...]:
        if not isinstance(node.value, list):
            self.fail(node.line, "`operands` must be a list of slots (`- {name: file}`)")
        self.work(len(node.value), node.line)
        slots = tuple(self.operand(item, options) for item in node.value)
        names: set[str] = set()
        for slot in slots:
            if slot.name in names:
                self.fail(slot.line, f"two operands are named {slot.name}")
            if slot.name in ("value", "operands"):
                self.fail(
                    slot.line, f"an operand cannot be named {slot.name}: that word has a meaning of its own"
                )
            names.add(slot.name)
        always_many = [slot for slot in slots if slot.many and not slot.absent_with and not slot.present_with]
        if len(always_many) > 1:
            self.fail(
                always_many[1].line,
                f"the operand {always_many[1].name} is never reached: one `many` is enough",
            )
        return slots

    def case(self, node: Node, options: dict[str, Option], slots: tuple[Operand, ...]) -> Case:
        words = self.mapping(node, "a case", CASE_WORDS)
        if "effect" not in words:
            self.fail(node.line, "a case needs an `effect`")
        minimum: int | None = None
        maximum: int | None = None
        any_of: frozenset[str] | None = None
        none_of: frozenset[str] | None = None
        first: tuple[Pattern, ...] | None = None
        values: dict[str, tuple[Pattern, ...]] | None = None
        if "when" in words:
            line, when_node = words["when"]
            when = self.mapping(when_node, "`when`", WHEN_WORDS)
            if not when:
                self.fail(line, "`when` asks nothing: leave it out")
            if "operands" in when:
                minimum, maximum = self.count(when["operands"][1])
            if "any" in when:
                any_of = self.option_names(when["any"][1], "`any`", options)
            if "none" in when:
                none_of = self.option_names(when["none"][1], "`none`", options)
            if "first" in when:
                first = self.patterns(when["first"][1], "`first`")
            if "value" in when:
                values = {}
                for key, (key_line, value) in self.mapping(when["value"][1], "`value`").items():
                    if key not in options:
                        self.fail(key_line, f"`value` names {key}, which is no option of this spec")
                    if options[key].takes == "none":
                        self.fail(key_line, f"`value` names {key}, which takes none")
                    values[options[key].name] = self.patterns(value, "`value`")
        return Case(
            self.effects(words["effect"][1]),
            line=node.line,
            minimum=minimum,
            maximum=maximum,
            any_of=any_of,
            none_of=none_of,
            first=first,
            values=values,
            prints=self.prints(words["prints"][1], slots) if "prints" in words else None,
            stdin=self.scalar(words["stdin"][1], "`stdin`") if "stdin" in words else None,
        )

    def dialects(self, node: Node, options: dict[str, Option]) -> dict[str, str]:
        """The language for each option (first spelling) that changes it."""
        found: dict[str, str] = {}
        for key, (line, value) in self.mapping(node, "`dialects`").items():
            for name in key.replace(",", " ").split():
                if name not in options:
                    self.fail(line, f"`dialects` names {name}, which is no option of this spec")
                found[options[name].name] = self.scalar(value, "`dialects`")
        if not found:
            self.fail(node.line, "`dialects` names no option: leave it out")
        return found

    def count(self, node: Node) -> tuple[int, int | None]:
        """`2` (exactly), `2+` (at least), `1-3`."""
        text = self.scalar(node, "`operands`")
        low, dash, high = text.partition("-")
        if text.endswith("+") and _is_number(text[:-1]):
            return int(text[:-1]), None
        if not dash:
            high = low
        if not (_is_number(low) and _is_number(high) and int(low) <= int(high)):
            self.fail(node.line, f"`operands` cannot be `{text}`: write a number, `2+` or `1-3`")
        return int(low), int(high)

    def cases(self, node: Node, options: dict[str, Option], slots: tuple[Operand, ...]) -> tuple[Case, ...]:
        if not isinstance(node.value, list) or not node.value:
            self.fail(node.line, "`cases` must be a list (`- {when: .., effect: ..}`)")
        cases: list[Case] = []
        for item in node.value:
            case = self.case(item, options, slots)
            for index, earlier in enumerate(cases):
                if _shadows(earlier, case):
                    self.fail(
                        case.line,
                        f"case {len(cases) + 1} can never be reached: case {index + 1} takes all of it",
                    )
            cases.append(case)
        return tuple(cases)

    def runs(self, node: Node, options: dict[str, Option], slots: tuple[Operand, ...]) -> Runs:
        words = self.mapping(node, "`runs`", RUNS_WORDS)
        if "command" not in words:
            self.fail(node.line, "`runs` needs a `command`: `operands`, or the name of an operand")
        where = self.scalar(words["command"][1], "`command`")
        if where != "operands" and where not in {slot.name for slot in slots if slot.many}:
            self.fail(
                words["command"][0], f"`command` names {where}, which is no operand with `many` of this spec"
            )
        if "adds" in words:
            self.one_of(words["adds"][1], "`adds`", ("words",))

        def listed(word: str) -> frozenset[str]:
            return self.option_names(words[word][1], f"`{word}`", options) if word in words else frozenset()

        return Runs(
            where,
            line=node.line,
            default=self.scalar(words["default"][1], "`default`") if "default" in words else None,
            fills=listed("fills"),
            adds="adds" in words,
            assignments="assignments" in words and self.boolean(words["assignments"][1], "`assignments`"),
            joined=self.one_of(words["joined"][1], "`joined`", SHELLS) if "joined" in words else None,
            absent_with=listed("absent_with"),
        )

    def prints(self, node: Node, slots: tuple[Operand, ...]) -> Prints:
        if isinstance(node.value, str):
            kind = self.one_of(node, "`prints`", tuple(kind for kind in PRINTS if kind != "under"))
            return Prints(kind, None, node.line)
        words = self.mapping(node, "`prints`", ("under",))
        if "under" not in words:
            self.fail(node.line, f"`prints` must be one of {_listed(PRINTS)}")
        slot = self.scalar(words["under"][1], "`under`")
        if slot not in {operand.name for operand in slots}:
            self.fail(node.line, f"`under` names {slot}, which is no operand of this spec")
        return Prints("under", slot, node.line)

    # Variables and examples.

    def variables(self, node: Node, what: str, *, replaces: bool = False) -> tuple[Variable, ...]:
        entries: dict[str, Variable] = {}
        for key, (line, value) in self.mapping(node, what).items():
            effects: frozenset[str] = frozenset()
            program, only = False, ()  # type: bool, tuple[Pattern, ...]
            if isinstance(value.value, dict):
                words = self.mapping(value, "a variable", VARIABLE_WORDS)
                effects = self.effects(words["effect"][1]) if "effect" in words else effects
                program = self.boolean(words["program"][1], "`program`") if "program" in words else False
                only = self.patterns(words["only"][1], "`only`") if "only" in words else ()
                if only and not effects and not program:
                    self.fail(words["only"][0], "`only` needs an `effect` or `program` that it limits")
            elif value.value == "program":
                program = True
            else:
                effects = self.effects(value, "a variable")
            for names, _ in self.groups(Node(key, line), what):
                for name in names:
                    if not name.replace("*", "").isidentifier() or not name.isascii():
                        self.fail(line, f"{name} is no name of a variable")
                    if name in entries:
                        self.fail(
                            line, f"{name} stands here a second time (first on line {entries[name].line})"
                        )
                    entries[name] = Variable(
                        Pattern(name),
                        path=self.path,
                        line=line,
                        effects=effects,
                        program=program,
                        only=only,
                        replaces=replaces,
                    )
        return tuple(entries.values())

    def examples(self, node: Node) -> tuple[Example, ...]:
        found = []
        further = EFFECTS | MARKS | TOUCHES | set(PLACES)
        for heading, (line, block) in self.mapping(node, "`examples`").items():
            kind, *expects = heading.split(" ")
            if kind not in VERDICTS:
                self.fail(
                    line, f"`examples` has no heading `{heading}`: it begins with one of {_listed(VERDICTS)}"
                )
            for word in expects:
                if word not in further:
                    self.fail(line, f"the heading `{heading}`: {word} is no effect and no mark")
            if not block.literal or not isinstance(block.value, str):
                self.fail(line, f"the examples under `{heading}` must be a literal block: `{heading}: |`")
            for number, text in enumerate(block.value.split("\n"), block.line + 1):
                text = text.rstrip(" ")
                if text and not text.startswith("#"):
                    found.append(Example(kind, text, frozenset(expects), _comment_of(text), number))
        return tuple(found)

    # Specs.

    def given(self, node: Node, what: str, allowed: Iterable[str], depth: int = 0) -> dict[str, _Given]:
        """The words of a spec, with those of the shapes it is `like`."""
        words = self.mapping(node, what, allowed)
        given: dict[str, _Given] = {}
        if "like" in words:
            line, names = words["like"]
            if depth > 8:
                self.fail(line, "shapes that are like each other without end")
            for group, _ in self.groups(names, "`like`"):
                for name in group:
                    if name not in self.shapes:
                        self.fail(
                            line, f"`like` names {name}, which is no shape{_suggestion(name, self.shapes)}"
                        )
                    inherited = self.given(self.shapes[name], f"the shape {name}", SPEC_WORDS, depth + 1)
                    for word, contribution in inherited.items():
                        if word in _ADDITIVE:
                            given.setdefault(word, _Given()).nodes.extend(contribution.nodes)
                        elif word in given and given[word].node is not contribution.node:
                            self.fail(
                                line, f"two of the shapes have a word `{word}` of their own: write it here"
                            )
                        else:
                            given[word] = contribution
        for word, (key_line, value) in words.items():
            if word == "like":
                continue
            if word in _ADDITIVE:
                given.setdefault(word, _Given()).nodes.append((key_line, value))
            else:
                given[word] = _Given()
                given[word].nodes.append((key_line, value))
        return given

    def spec(self, node: Node, name: str, where: str, line: int, above: _Above, root: bool = False) -> Spec:
        self.specs += 1
        if self.specs > MAX_SPECS:
            self.fail(
                line, f"the file has more than {MAX_SPECS} subcommands once its names and shapes are followed"
            )
        allowed = (*SPEC_WORDS, *ROOT_WORDS) if root else SPEC_WORDS
        given = self.given(node, f"`{name}`" if root else f"the subcommand `{name}`", allowed)

        def get(word: str, read: Callable[[Node], T], otherwise: T) -> T:
            return read(given[word].node) if word in given else otherwise

        def joined(word: str, allowed: frozenset[str]) -> frozenset[str]:
            nodes = given[word].nodes if word in given else []
            return frozenset(value for _, node in nodes for value in self.members(node, f"`{word}`", allowed))

        lines = {**above.lines, **{word: entry.line for word, entry in given.items()}}
        style = get("style", lambda node: self.one_of(node, "`style`", STYLES), above.style)
        language = get("language", lambda node: self.scalar(node, "`language`"), above.language)
        options = self.shared_options(name, style, language, given)
        slots = self.operands(given["operands"].node, options) if "operands" in given else ()
        options, slots = self.with_language(options, slots, language)
        no_dialects: dict[str, str] = {}
        for option in options.values():
            if option.target not in (None, "value") and option.target not in {slot.name for slot in slots}:
                self.fail(
                    option.line, f"{option.name}: the target {option.target} is no operand of this spec"
                )
        effects = get("effect", self.effects, None)
        cases = self.cases(given["cases"].node, options, slots) if "cases" in given else ()
        if effects is not None and cases:
            self.fail(given["cases"].line, f"`{name}` has an `effect` and `cases`: the cases give the effect")
        if effects is None and not cases and "subcommands" not in given:
            self.fail(line, f"`{name}` does not say what it does: add `effect`, `cases` or `subcommands`")
        if "accepts" in given:
            self.one_of(given["accepts"].node, "`accepts`", ("anything",))
            if effects is None and not cases:
                self.fail(given["accepts"].line, "`accepts: anything` needs an `effect`: what does it do?")

        inner = _Above()
        inner.style, inner.language = style, language
        inner.env_complete = above.env_complete or get(
            "env_complete", lambda node: self.boolean(node, "`env_complete`"), False
        )
        own_place = get("runs_config", lambda node: self.one_of(node, "`runs_config`", PLACES), None)
        inner.runs_config = max(filter(None, (own_place, above.runs_config)), key=PLACES.index, default=None)
        if inner.runs_config != own_place and "runs_config" in above.lines:
            lines["runs_config"] = above.lines["runs_config"]
        inner.touches = above.touches | joined("touches", TOUCHES)
        inner.marks = above.marks | joined("marks", MARKS)
        own = [
            entry
            for _, node in (given["env"].nodes if "env" in given else [])
            for entry in self.variables(node, "`env`")
        ]
        known = {entry.pattern.text for entry in own}
        inner.variables, inner.known = above.variables, above.known
        if own:
            self.work(len(above.variables), line)
            rest = (entry for entry in above.variables if entry.pattern.text not in known)
            inner.variables = (*own, *rest)
            inner.known = Variables(inner.variables)
        inner.lines = {
            word: line
            for word, line in lines.items()
            if word in ("env", "env_complete", "language", "marks", "runs_config", "style", "touches")
        }

        subcommands: dict[str, Spec] = {}
        for _, block in given["subcommands"].nodes if "subcommands" in given else []:
            for key, (key_line, value) in self.mapping(block, "`subcommands`").items():
                for names, _ in self.groups(Node(key, key_line), "`subcommands`"):
                    place = f"{where}.subcommands.{names[0]}" if where else f"subcommands.{names[0]}"
                    spec = self.spec(value, f"{name} {names[0]}", place, key_line, inner)
                    for spelling in names:
                        if spelling in subcommands:
                            self.fail(key_line, f"the subcommand {spelling} stands here a second time")
                        subcommands[spelling] = spec
        return Spec(
            name,
            line=line,
            where=where,
            lines=lines,
            effects=effects,
            options=options,
            operands=slots,
            cases=cases,
            subcommands=subcommands,
            style=style,
            numeric=get("numeric", lambda node: self.boolean(node, "`numeric`"), False),
            bundle=get("bundle", lambda node: self.boolean(node, "`bundle`"), False),
            language=language,
            dialects=get("dialects", lambda node: self.dialects(node, options), no_dialects),
            accepts_anything="accepts" in given,
            complete=get("complete", lambda node: self.boolean(node, "`complete`"), False),
            variables=inner.known,
            env_complete=inner.env_complete,
            runs=get("runs", lambda node: self.runs(node, options, slots), None),
            runs_config=inner.runs_config,
            helpers=tuple(
                value
                for _, node in (given["helpers"].nodes if "helpers" in given else [])
                for value, _ in self.strings(node, "`helpers`")
            ),
            prints=get("prints", lambda node: self.prints(node, slots), None),
            touches=inner.touches,
            changes=joined("changes", CHANGES),
            marks=inner.marks,
            summary=get("summary", lambda node: self.scalar(node, "`summary`"), ""),
            judgement=get("judgement", lambda node: self.scalar(node, "`judgement`"), ""),
            examples=get("examples", self.examples, ()),
        )

    def with_language(
        self, options: dict[str, Option], slots: tuple[Operand, ...], language: str | None
    ) -> tuple[dict[str, Option], tuple[Operand, ...]]:
        """The same options and slots, each script with the language it is in."""
        scripts: tuple[Option | Operand, ...] = (*options.values(), *slots)
        for script in scripts:
            if script.role == "script" and script.language is None:
                if language is None:
                    self.fail(script.line, "`as: script` needs a `language`, here or on the spec")
                script.language = language
            elif script.role != "script" and script.language is not None:
                self.fail(script.line, "`language` needs `as: script`")
        return options, slots

    def command(self, root: Node) -> CommandRule:
        words = self.mapping(root, "a rule file", (*SPEC_WORDS, *ROOT_WORDS))
        if next(iter(words), None) != "command":
            self.fail(root.line, "a rule file begins with `command: NAME`")
        command = self.scalar(words["command"][1], "`command`")
        aliases: tuple[str, ...] = ()
        if "aliases" in words:
            if list(words)[1] != "aliases":
                self.fail(
                    words["aliases"][0], "`aliases` must stand right after `command`, where the index looks"
                )
            aliases = tuple(value for value, _ in self.strings(words["aliases"][1], "`aliases`"))
        for name in (command, *aliases):
            if not name or "/" in name or any(char <= " " for char in name):
                self.fail(words["command"][0], f"a command cannot be named `{name}`")
        if "like" in words:
            self.fail(words["like"][0], "`like` is for subcommands")
        if "shapes" in words:
            self.shapes = {
                key: value for key, (_, value) in self.mapping(words["shapes"][1], "`shapes`").items()
            }

        def text(word: str) -> str:
            return self.scalar(words[word][1], f"`{word}`").strip() if word in words else ""

        spec = self.spec(root, command, "", words["command"][0], _Above(), root=True)
        return CommandRule(
            command,
            path=self.path,
            spec=spec,
            aliases=aliases,
            replaces=self.replaces(words),
            summary=text("summary"),
            source=text("source"),
            checked=text("checked"),
        )


def _suggestion(word: str, known: Iterable[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, list(known), 1)
    return f": did you mean `{close[0]}`?" if close else ""


def _listed(values: Iterable[str]) -> str:
    return ", ".join(sorted(values) if isinstance(values, frozenset) else values)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _comment_of(text: str) -> str:
    """The remark at the end of an example line: what follows two blanks and `# `."""
    before, mark, comment = text.rpartition("  # ")
    return comment.strip() if mark and before.strip() else ""


def _shadows(earlier: Case, later: Case) -> bool:
    """Whether `earlier` has taken every invocation that `later` is for: what it asks is implied there."""
    if earlier.minimum is not None and (later.minimum is None or later.minimum < earlier.minimum):
        return False
    if earlier.maximum is not None and (later.maximum is None or later.maximum > earlier.maximum):
        return False
    if earlier.any_of is not None:
        any_of = later.any_of
        implied = any_of is not None and any_of <= earlier.any_of
        if not implied and earlier.any_of.isdisjoint(later.values or ()):
            return False
    if earlier.none_of is not None and (later.none_of is None or not earlier.none_of <= later.none_of):
        return False
    if earlier.first is not None and (
        later.first is None or not _texts(later.first) <= _texts(earlier.first)
    ):
        return False
    for name, patterns in (earlier.values or {}).items():
        theirs = (later.values or {}).get(name)
        if theirs is None or not _texts(theirs) <= _texts(patterns):
            return False
    return True


def _texts(patterns: tuple[Pattern, ...]) -> set[str]:
    return {pattern.text for pattern in patterns}


# --- the front door ---------------------------------------------------------------------------------------


def load_text(text: str, path: str) -> CommandRule:
    """The rule that `text` describes. `path` is what errors and explanations name.

    Raises: RuleError, and nothing else, for any text.
    """
    text = checked_text(text, path)
    rule = _Reader(path).command(tree(text, path))
    names = names_in(text)
    if names != (rule.command, *rule.aliases):
        raise RuleError(
            path,
            1,
            "the index cannot read the names: put `command:` and `aliases: [a, b]` on the first two lines",
        )
    return rule


def names_in(text: str) -> tuple[str, ...]:
    """The names that a rule file answers to, the command first, read from its first lines without YAML.

    `load_text` refuses a file for which YAML says otherwise, so the cheap answer is the right one. An empty
    answer means that the text does not begin like a rule file.
    """
    names: list[str] = []
    for line in text.split("\n", 40)[:40]:
        if not line or line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        value = value.split(" #", 1)[0].strip()
        if not names:
            if key != "command" or not colon:
                return ()
            names.append(_unquoted(value))
        elif key == "aliases" and value.startswith("[") and value.endswith("]"):
            return (*names, *(_unquoted(item.strip()) for item in value[1:-1].split(",")))
        else:
            break
    return tuple(names)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def load_file(file: str, folder: str, path: str) -> CommandRule:
    """The rule in `file`, which must lie in `folder` and be named after its command.

    Raises: RuleError.
    """
    return load_named(read_file(file, folder, path), path)


def load_named(text: str, path: str) -> CommandRule:
    """The rule of a file whose `path` ends in the name of its command. Raises: RuleError."""
    rule = load_text(text, path)
    stem = path.rpartition("/")[2].removesuffix(".yaml")
    if stem != rule.command:
        raise RuleError(
            path, 1, f"the file is named {stem}.yaml but speaks of `{rule.command}`: rename one of them"
        )
    return rule


def load_variables(text: str, path: str) -> Variables:
    """The list of `_env.yaml`: one mapping `variables`. Raises: RuleError."""
    reader = _Reader(path)
    words = reader.mapping(tree(checked_text(text, path), path), "the file", VARIABLES_FILE_WORDS)
    if "variables" not in words:
        raise RuleError(path, 1, "the file needs `variables:`")
    replaces = reader.replaces(words)
    return Variables(reader.variables(words["variables"][1], "`variables`", replaces=replaces))


def load_paths(text: str, path: str) -> CredentialPaths:
    """The lists of `_paths.yaml`: `sensitive` and `not_sensitive`. Raises: RuleError."""
    reader = _Reader(path)
    words = reader.mapping(tree(checked_text(text, path), path), "the file", PATHS_FILE_WORDS)
    if "sensitive" not in words and "not_sensitive" not in words:
        raise RuleError(path, 1, "the file needs `sensitive:`")
    listed = reader.strings(words["sensitive"][1], "`sensitive`") if "sensitive" in words else []
    sensitive = tuple((Pattern(value), line) for value, line in listed)
    harmless = (
        reader.patterns(words["not_sensitive"][1], "`not_sensitive`") if "not_sensitive" in words else ()
    )
    first = next(iter(words.values()))[0]
    return CredentialPaths(path, sensitive, harmless, first, replaces=reader.replaces(words))


def load_policies(text: str, path: str) -> dict[str, PolicyRule]:
    """The policies of `_policies.yaml`, by name. Raises: RuleError."""
    reader = _Reader(path)
    policies = {}
    for name, (line, node) in reader.mapping(tree(checked_text(text, path), path), "the file").items():
        words = reader.mapping(node, f"the policy {name}", POLICY_WORDS)
        if "effects" not in words:
            reader.fail(line, f"the policy {name} needs `effects`")
        policies[name] = PolicyRule(
            name,
            reader.effects(words["effects"][1], "`effects`"),
            reader.patterns(words["refuses"][1], "`refuses`") if "refuses" in words else (),
            reader.scalar(words["summary"][1], "`summary`") if "summary" in words else "",
            line,
            replaces=reader.replaces(words),
        )
    return policies


def load_common(name: str, text: str, path: str) -> object:
    """What one of the files says that belong to no command (`_env.yaml`, ...). Raises: RuleError."""
    loaders: dict[str, Callable[[str, str], object]] = {
        "_env.yaml": load_variables,
        "_paths.yaml": load_paths,
        "_policies.yaml": load_policies,
    }
    return loaders[name](text, path)
