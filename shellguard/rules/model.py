# SPDX-License-Identifier: Apache-2.0
"""What a rule file says, as plain immutable values: the contract between `rules/` and the evaluator.

`load.py` makes these values from YAML, `shelf.py` hands them out by command name, `analysis` reads them.
Nothing here judges anything. Every value knows the 1-based line of its file, so that an explanation can point
at it.

How the words of a rule are meant (the file format has one more page in `rules/README.md`):

*Binding.* `Spec.option(word)` looks a spelling up. A long option is only what is spelled in full. With
`numeric`, `-5` is an option that changes nothing. With `bundle`, a first word without a dash is a bundle of short
options, and those that take a value take the words behind it in order (`tar tbf 20 a.tar`). `Spec.style` says how
options are read:

- `gnu`: anywhere, short ones may be bundled, `--` ends them;
- `posix`: the same, but they end at the first operand;
- `words`: every option is one word of its own, `-name` or one without a dash such as `!`; the value of a spelling
  that ends in `=`, such as `of=`, is attached to it. Any other word that begins with a dash is `unknown`;
- `open`: as `words`, but any other word is an operand, with a dash or without: `[ "$x" = --help ]`;
- `plain`: there are no options, every word is an operand.

A word that nobody can see may be any option of the spec, and what each of them does counts. Where the list is not
said to be `complete` it may also be one that is not listed, which is `unknown`; with the styles `open` and `plain` no
other word is an option.

*Subcommands.* The options of a spec that has `subcommands` stand before the first operand. That operand names
the subcommand; all later words belong to it. A first operand that names none is `unknown`, unless the spec
has operand slots of its own: then the words are read with those. Without any operand the spec speaks for
itself (`effect`, `cases`; if it has neither: `unknown`).

*Operands* fill the slots in order. A slot with `many` takes all that are left over, but for one word for each
slot after it. A slot that is absent (`absent_with`, `present_with`) is skipped. A word without a slot is
`unknown`, unless `accepts_anything`, or `runs` takes it.

*Effects only add up.* `Spec.effects` is the base of each call; with `cases` the first case that holds gives
the base, and no case means `unknown`. Options and operands add theirs. On an option or operand the effect
`network` also means: the *text* of this word is sent to another host, so local data in it leaves. With
`target`, an effect `writes` is harmless when the target is exactly /dev/null, /dev/stdout, /dev/stderr,
/dev/tty or /dev/fd/N (`dash` makes `-` standard output too); the target of an operand is the word itself.
Where an option takes two words or more and the target is its value, each of them is a target.

*Variables* before a command are looked up in `Spec.variables`, then in `_env.yaml` (`Shelf.variables`); a name in
neither is harmless with `env_complete` and `unknown` otherwise.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from shellguard.effects import RuleRef

EFFECTS = frozenset({"reads", "writes", "executes", "network", "waits", "unknown"})
"""Every effect a rule may name; the same words as `shellguard.effects.Effect`."""

TAKES = ("none", "one", "two", "maybe", "until")
STYLES = ("gnu", "posix", "words", "open", "plain")
PLACES = ("home", "repo", "clone")
"""Where `runs_config` may find configuration that runs code, the most trusted place first."""

CHANGES = frozenset(
    {"cwd", "variables", "functions", "aliases", "options", "settings", "function", "extension"}
)
"""What of the shell a builtin changes. `settings`: an assignment in front of it may stay, as it does in front of a
special builtin of POSIX. The last two say where it changes nothing: `function`, in no function; `extension`, in a shell
that knows little more than POSIX."""
TOUCHES = frozenset({"git-index", "cache", "tmp", "empty-file"})
MARKS = frozenset({"sensitive", "privileged", "remote"})
PRINTS = ("hash", "number", "absolute-path", "name", "under")
ROLES = ("script", "variable", "exported", "constant", "name", "function", "alias", "directory", "words")
"""What the text of a word is for the shell or for an embedded language (`as:`).

`script`: a program in the `language` of the option, operand or spec. `variable`: `NAME` or `NAME=value`, which the
command assigns. `exported`: the same, and the commands that follow see it. `constant`: the same, and it cannot be
assigned again. `name`: a name of a variable that is only looked at (its subscript may still run code). `function`: a
name of a function that is removed or exported. `alias`: `name=text`. `directory`: what the current directory becomes.
`words` (of an option): it is cut into words as `env -S` cuts it, and they stand in its place.

Languages that the shipped rules name: `shell` (for the shell that reads the whole text), `bash` and `sh` (for a new
one), `login` (for a new one whose kind nobody knows: that of the user, here or on another host), `sed`, `awk`,
`graphql` (a `key=value` word of `gh api`: what stands after `query=` is a document, a value of another key is none),
`printf` (a format: the conversion `%n` assigns to the variable that an argument names), `arithmetic`,
`zsh-arithmetic` (evaluated by zsh only), `python` and `python-isolated` (which imports no module of the current
folder), and the SQL of one tool: `sqlite`, `sqlite-readonly`, `postgres`, `mysql`, `duckdb`. A language without a
reader is `unknown`.
"""

SHELLS = ("shell", "sh", "bash", "login")
"""The languages that a shell runs."""

VERDICTS = ("read", "write", "unknown")


class Record:
    """Base of all values here: equal when all fields but the lines are equal, and a readable `repr`."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            getattr(self, name) == getattr(other, name) for name in self.__match_args__ if name not in _PLACE
        )

    __hash__ = None  # type: ignore[assignment]  # some fields are dicts, and nobody needs a rule as a key

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__name__}({fields})"


_PLACE = ("line", "lines")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:+-@%")
_DIGITS = frozenset("0123456789")
_CLASSES = {"<word>": _PLAIN, "<number>": _DIGITS}


class Pattern(Record):
    """A pattern of a rule file: it must match a whole text.

    All characters stand for themselves, but for three things.
    `*` is any run of characters, also none; `<word>` is one or more ASCII letters, digits and `_ . , : + - @
    %`; `<number>` is one or more digits. Nothing can be escaped, and case counts. A `<` that begins no class,
    and `[`, `?` and the like, are ordinary characters. Matching takes time proportional to text times
    pattern.
    """

    __slots__ = ("_parts", "_runs", "text")
    __match_args__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts: tuple[str, ...] | None = None
        self._runs: tuple[str, ...] | None = None

    def matches(self, value: str) -> bool:
        """Whether the whole of `value` has this shape."""
        if "<" not in self.text:
            return self._matches_runs(value)
        if self._parts is None:
            self._parts = _parts_of(self.text)
        parts = self._parts
        states = _closed({0}, parts)
        for char in value:
            following: set[int] = set()
            for state in states:
                if state == len(parts):
                    continue
                part = parts[state]
                if part == "*":
                    following.add(state)
                elif part in _CLASSES:
                    if char in _CLASSES[part]:
                        following.update((state, state + 1))
                elif part == char:
                    following.add(state + 1)
            if not following:
                return False
            states = _closed(following, parts)
        return len(parts) in states

    def _matches_runs(self, value: str) -> bool:
        """`matches` for literal text and `*` only: each piece where it is found first, the last one at the end."""
        if self._runs is None:
            self._runs = tuple(self.text.split("*"))
        if len(self._runs) == 1:
            return value == self.text
        first, *pieces, last = self._runs
        if len(value) < len(first) + len(last) or not (value.startswith(first) and value.endswith(last)):
            return False
        at, end = len(first), len(value) - len(last)
        for piece in pieces:
            at = value.find(piece, at, end) + len(piece)
            if at < len(piece):
                return False
        return True

    def matches_all_after(self, prefix: str) -> bool:
        """Whether every text that begins with `prefix` has this shape: what a partly known word needs.

        True only for a pattern that is literal text and one `*` at its end; other patterns answer False, the
        strict way.
        """
        head = self.text[:-1]
        return self.text.endswith("*") and "*" not in head and "<" not in head and prefix.startswith(head)


def _parts_of(text: str) -> tuple[str, ...]:
    parts: list[str] = []
    index = 0
    while index < len(text):
        for name in _CLASSES:
            if text.startswith(name, index):
                parts.append(name)
                index += len(name)
                break
        else:
            parts.append(text[index])
            index += 1
    return tuple(parts)


def _closed(states: set[int], parts: tuple[str, ...]) -> set[int]:
    """`states` with every state that is reached by letting a `*` match nothing."""
    for state in sorted(states):
        while state < len(parts) and parts[state] == "*":
            state += 1
            states.add(state)
    return states


class Option(Record):
    """One option of a spec, under all its spellings.

    Args:
        names: every spelling with its dashes; the first is the one that cases and `absent_with` are answered
            with.
        takes: `none`; `one` value, attached or the next word; `two` words that follow; `maybe` a value, only
            when attached;
            `until`: all words up to one of `ends`.
        effects: what giving it adds, whatever its value is, but for `only`, `matching` and harmless targets.
        target: what the effect acts on: `value`, or the name of an operand slot; None when it is not a word.
        role: one of `ROLES` for the value, or None.
        language: of a value with role `script`; never None then.
        runs_value: the words taken (`until`) or the value are the argv of an inner command.
        fills: inside that inner command, each of these texts is replaced by unknown words (`{}` of find), all by
            one word each; by any number where the end that was found has two words (`{} +`), or `adds` is `words`.
        adds: the inner command gets one `word` more, or `words`, when none of `fills` is in it.
        program: the value names a program with its arguments, judged as that command.
        only: values that have no effect and are no script; any other has. Empty: every value counts.
        matching: the effect exists only for values of these shapes (and for a value that is not known).
            Empty: not asked.
        ends: for `until`: the last words, each `;` or two words such as `{} +`; an empty text is the end of all.
        dash: with `target: value`, `-` is standard output.
        last: it ends the options: every word behind its value is an operand (`python3 -c`).
    `harmless`: giving it can never add a fact, as with what `flags`, `values` and `maybe` list.
    """

    __slots__ = (
        "adds",
        "dash",
        "effects",
        "ends",
        "fills",
        "harmless",
        "language",
        "last",
        "line",
        "matching",
        "names",
        "only",
        "program",
        "role",
        "runs_value",
        "takes",
        "target",
    )
    __match_args__ = (
        "names",
        "takes",
        "effects",
        "target",
        "role",
        "language",
        "runs_value",
        "fills",
        "adds",
        "program",
        "only",
        "matching",
        "ends",
        "dash",
        "last",
        "line",
    )

    def __init__(
        self,
        names: tuple[str, ...],
        *,
        line: int,
        takes: str = "none",
        effects: frozenset[str] = frozenset(),
        target: str | None = None,
        role: str | None = None,
        language: str | None = None,
        runs_value: bool = False,
        fills: tuple[str, ...] = (),
        adds: str | None = None,
        program: bool = False,
        only: tuple[Pattern, ...] = (),
        matching: tuple[Pattern, ...] = (),
        ends: tuple[str, ...] = (),
        dash: bool = False,
        last: bool = False,
    ) -> None:
        self.names, self.line, self.takes, self.effects = names, line, takes, effects
        self.target, self.role, self.language = target, role, language
        self.runs_value, self.fills, self.adds, self.program = runs_value, fills, adds, program
        self.only, self.matching, self.ends, self.dash, self.last = only, matching, ends, dash, last
        self.harmless = not (effects or role or runs_value or program)

    @property
    def name(self) -> str:
        """The first spelling."""
        return self.names[0]


class Operand(Record):
    """One slot for operands.

    `many` slots take any number of words, also none; other slots one word, which may be missing. `effects`
    are added for each word in the slot (`reads`: a file that is read, compared with the credential paths;
    `writes`: an output), but for words that match `only`, and, where `matching` is given, only for words that
    match it. `role` and `language` as in `Option`. The slot exists unless one of the options `absent_with` is
    given, and, where `present_with` is not empty, only when one of those is given. All option names are first
    spellings. `program`: the word names a program, judged as that command. `dash`: `-` stands for standard
    output when the word is written.
    """

    __slots__ = (
        "absent_with",
        "dash",
        "effects",
        "language",
        "line",
        "many",
        "matching",
        "name",
        "only",
        "present_with",
        "program",
        "role",
    )
    __match_args__ = (
        "name",
        "many",
        "effects",
        "role",
        "language",
        "absent_with",
        "present_with",
        "only",
        "matching",
        "program",
        "dash",
        "line",
    )

    def __init__(
        self,
        name: str,
        *,
        line: int,
        many: bool = False,
        effects: frozenset[str] = frozenset(),
        role: str | None = None,
        language: str | None = None,
        absent_with: frozenset[str] = frozenset(),
        present_with: frozenset[str] = frozenset(),
        only: tuple[Pattern, ...] = (),
        matching: tuple[Pattern, ...] = (),
        program: bool = False,
        dash: bool = False,
    ) -> None:
        self.name, self.line, self.many, self.effects = name, line, many, effects
        self.role, self.language = role, language
        self.absent_with, self.present_with = absent_with, present_with
        self.only, self.matching, self.program, self.dash = only, matching, program, dash


class Prints(Record):
    """The shape of what a command writes on standard output, for `$( )` and for xargs.

    `kind`: `hash` (hex digits), `number` (digits), `absolute-path` (begins with `/`), `name` (not empty, no
    blank, does not begin with `-`), or `under`: every line begins with a word of the operand slot `operand`.
    """

    __slots__ = ("kind", "line", "operand")
    __match_args__ = ("kind", "operand", "line")

    def __init__(self, kind: str, operand: str | None, line: int) -> None:
        self.kind, self.operand, self.line = kind, operand, line


class Case(Record):
    """One row of `cases:`; the first row whose `when` holds gives the base effect of the invocation.

    A field that is None is not asked, all that are asked must hold. `minimum` and `maximum` bound the number
    of operand words (`operands: 2` sets both); a count that is not known holds for none of them. `any_of`: at
    least one of these options is given; `none_of`: none of them is (an unknown word that may be one of them
    counts as given). `first`: shapes of the first operand word. `values`: for each option, it is given and
    *every* use has a value of one of these shapes. Option names are first spellings. `prints` replaces that
    of the spec when this row is taken. `stdin`: standard input is then a script in this language, or `keys`
    that are pressed, which nobody judges where it is not the terminal.
    """

    __slots__ = (
        *("any_of", "effects", "first", "line", "maximum", "minimum", "none_of", "prints", "stdin", "values"),
    )
    __match_args__ = (
        "effects",
        "minimum",
        "maximum",
        "any_of",
        "none_of",
        "first",
        "values",
        "prints",
        "stdin",
        "line",
    )

    def __init__(
        self,
        effects: frozenset[str],
        *,
        line: int,
        minimum: int | None = None,
        maximum: int | None = None,
        any_of: frozenset[str] | None = None,
        none_of: frozenset[str] | None = None,
        first: tuple[Pattern, ...] | None = None,
        values: dict[str, tuple[Pattern, ...]] | None = None,
        prints: Prints | None = None,
        stdin: str | None = None,
    ) -> None:
        self.effects, self.line, self.minimum, self.maximum = effects, line, minimum, maximum
        self.any_of, self.none_of, self.first, self.values = any_of, none_of, first, values
        self.prints, self.stdin = prints, stdin

    @property
    def always(self) -> bool:
        """Whether nothing is asked, so that no later row can be reached."""
        asked = (self.minimum, self.maximum, self.any_of, self.none_of, self.first, self.values)
        return all(field is None for field in asked)


class Runs(Record):
    """The command inside a command.

    `words`: where its words are: `operands` (those that no slot takes, from the first one on), or the name of a
    `many` slot. `default`: what runs when there are none (`echo` for xargs); None: nothing runs then. `fills`:
    options (first spellings) whose value is a text that is replaced by unknown words inside the command; an
    option without a value fills `{}`. `adds`: unknown words are appended (only when no option of `fills` is
    given). `assignments`: leading words `NAME=value` are assignments for the inner command (`env`). `joined`: the
    words, joined by spaces, are text in this language: `shell` for the shell that reads the whole text (`eval`),
    `sh`, `bash` or `login` for a new one. `absent_with`: nothing runs when one of these options is given
    (`command -v`).
    """

    __slots__ = ("absent_with", "adds", "assignments", "default", "fills", "joined", "line", "words")
    __match_args__ = ("words", "default", "fills", "adds", "assignments", "joined", "absent_with", "line")

    def __init__(
        self,
        words: str,
        *,
        line: int,
        default: str | None = None,
        fills: frozenset[str] = frozenset(),
        adds: bool = False,
        assignments: bool = False,
        joined: str | None = None,
        absent_with: frozenset[str] = frozenset(),
    ) -> None:
        self.words, self.line, self.default, self.fills = words, line, default, fills
        self.adds, self.assignments, self.joined, self.absent_with = adds, assignments, joined, absent_with


class Variable(Record):
    """One entry of `env:` or of `_env.yaml`: what setting this variable for the command means.

    `pattern` is a name or a shape of names (`LC_*`). `effects` is empty for a harmless one; they hold for
    every value but those of `only`. `program`: the value names a program, judged as that command. `path`: the
    file the entry stands in. `replaces`: that file asks to be heard in place of a shipped entry (`overlay.py`).
    """

    __slots__ = ("effects", "line", "only", "path", "pattern", "program", "replaces")
    __match_args__ = ("pattern", "effects", "program", "only", "path", "replaces", "line")

    def __init__(
        self,
        pattern: Pattern,
        *,
        path: str,
        line: int,
        effects: frozenset[str] = frozenset(),
        program: bool = False,
        only: tuple[Pattern, ...] = (),
        replaces: bool = False,
    ) -> None:
        self.pattern, self.path, self.line = pattern, path, line
        self.effects, self.program, self.only, self.replaces = effects, program, only, replaces


class Variables(Record):
    """A list of `Variable`s by name: exact names first, then the longest shape that matches."""

    __slots__ = ("_by_first", "exact", "shapes")
    __match_args__ = ("exact", "shapes")

    def __init__(self, entries: tuple[Variable, ...] = ()) -> None:
        self.exact: dict[str, Variable] = {}
        shapes = []
        for entry in entries:
            if "*" in entry.pattern.text:
                shapes.append(entry)
            else:
                self.exact[entry.pattern.text] = entry
        self.shapes = tuple(sorted(shapes, key=lambda entry: -len(entry.pattern.text)))
        self._by_first: dict[
            str, tuple[Variable, ...]
        ] = {}  # first letter of a name -> the shapes that may fit

    def get(self, name: str) -> Variable | None:
        """The entry for `name`, or None when no entry speaks of it."""
        entry = self.exact.get(name)
        if entry is not None:
            return entry
        first = name[:1]
        shapes = self._by_first.get(first)
        if shapes is None:
            shapes = tuple(shape for shape in self.shapes if shape.pattern.text[0] in ("*", "<", first))
            if first.isascii():
                self._by_first[first] = shapes
        for shape in shapes:
            if shape.pattern.matches(name):
                return shape
        return None

    def entries(self) -> tuple[Variable, ...]:
        """All entries, exact names first."""
        return (*self.exact.values(), *self.shapes)


class Example(Record):
    """One line of `examples:`: a shell text and what it is.

    `kind` is `read`, `write` or `unknown`; `expects` are the further effects or marks that its heading names
    (`read network:`) and that must be among the facts. `comment` is what stands after ` #` on the line, for
    the page only: `text` keeps it, as a shell comment.
    """

    __slots__ = ("comment", "expects", "kind", "line", "text")
    __match_args__ = ("kind", "text", "expects", "comment", "line")

    def __init__(self, kind: str, text: str, expects: frozenset[str], comment: str, line: int) -> None:
        self.kind, self.text, self.expects, self.comment, self.line = kind, text, expects, comment, line


class Spec(Record):
    """What may stand under a command and under each of its subcommands.

    Args:
        name: the words that lead here: `git`, `git branch`, `gh pr list`.
        where: the place in the file: empty for the command itself, else `subcommands.branch`.
        line: of the key that begins it.
        lines: the line of each word the spec uses (`effect`, `runs_config`, ...); see `line_of`.
        complete: the tool has no other options (than harmless ones): a word that nobody can see is none.
        effects: the base; None when `cases` decide or when only subcommands have one.
        options: every option under each of its spellings.
        variables: `env:` of this spec and of those above it.
        env_complete, runs_config, style, touches, marks: with what the specs above say already in them.
        language: of words with role `script` that name none themselves; also taken from above.
        dialects: what `language` becomes, wherever it stands in this spec, when one of these options is given.
        prints: what standard output looks like, or None.
        helpers: programs the tool itself starts to do its work.
    `all_marks` are the marks of every fact about what the command does by itself: `touches:cache`, `config:repo` ...
    `has_roles`: some operand names a variable, a function, an alias, or is a script. `has_changing_slots`: the options
    decide which slots there are. `told` keeps what was once said of an option or slot (by its identity), and of the
    base effect (0): its place in the file, and the reason.
    """

    __slots__ = (
        "accepts_anything",
        "all_marks",
        "bundle",
        "cases",
        "changes",
        "complete",
        "dialects",
        "effects",
        "env_complete",
        "examples",
        "has_changing_slots",
        "has_roles",
        "helpers",
        "judgement",
        "language",
        "line",
        "lines",
        "marks",
        "name",
        "numeric",
        "operands",
        "options",
        "prints",
        "runs",
        "runs_config",
        "style",
        "subcommands",
        "summary",
        "told",
        "touches",
        "variables",
        "where",
    )
    __match_args__ = (
        "name",
        "where",
        "effects",
        "options",
        "operands",
        "cases",
        "subcommands",
        "style",
        "numeric",
        "bundle",
        "language",
        "dialects",
        "accepts_anything",
        "complete",
        "variables",
        "env_complete",
        "runs",
        "runs_config",
        "helpers",
        "prints",
        "touches",
        "changes",
        "marks",
        "summary",
        "judgement",
        "examples",
        "lines",
        "line",
    )

    def __init__(
        self,
        name: str,
        *,
        line: int,
        where: str = "",
        lines: dict[str, int] | None = None,
        effects: frozenset[str] | None = None,
        options: dict[str, Option] | None = None,
        operands: tuple[Operand, ...] = (),
        cases: tuple[Case, ...] = (),
        subcommands: dict[str, Spec] | None = None,
        style: str = "gnu",
        numeric: bool = False,
        bundle: bool = False,
        language: str | None = None,
        dialects: dict[str, str] | None = None,
        accepts_anything: bool = False,
        complete: bool = False,
        variables: Variables | None = None,
        env_complete: bool = False,
        runs: Runs | None = None,
        runs_config: str | None = None,
        helpers: tuple[str, ...] = (),
        prints: Prints | None = None,
        touches: frozenset[str] = frozenset(),
        changes: frozenset[str] = frozenset(),
        marks: frozenset[str] = frozenset(),
        summary: str = "",
        judgement: str = "",
        examples: tuple[Example, ...] = (),
    ) -> None:
        self.name, self.line, self.where = name, line, where
        self.lines = {} if lines is None else lines
        self.effects, self.operands, self.cases = effects, operands, cases
        self.options = {} if options is None else options
        self.dialects = {} if dialects is None else dialects
        self.subcommands = {} if subcommands is None else subcommands
        self.style, self.numeric, self.language, self.accepts_anything = (
            style,
            numeric,
            language,
            accepts_anything,
        )
        self.bundle, self.complete = bundle, complete
        self.variables = Variables() if variables is None else variables
        self.env_complete, self.runs, self.runs_config, self.helpers = (
            env_complete,
            runs,
            runs_config,
            helpers,
        )
        self.prints, self.touches, self.changes, self.marks = prints, touches, changes, marks
        self.told: dict[int, tuple[RuleRef, str]] = {}
        self.has_roles = any(slot.role for slot in operands)
        self.has_changing_slots = any(slot.absent_with or slot.present_with for slot in operands)
        self.all_marks: tuple[str, ...] = ()
        if marks or touches or runs_config:
            places = [f"touches:{place}" for place in sorted(touches)]
            config = () if runs_config is None else (f"config:{runs_config}",)
            self.all_marks = (*sorted(marks), *places, *config)
        self.summary, self.judgement, self.examples = summary, judgement, examples

    def option(self, word: str) -> Option | None:
        """The option that `word` spells in full (no attached value); None when the rule lists none."""
        return self.options.get(word)

    def line_of(self, word: str) -> int:
        """The line of a word of this spec (`effect`, `touches`, ...); of the spec when it lacks the word."""
        return self.lines.get(word, self.line)

    def distinct_options(self) -> tuple[Option, ...]:
        """Each option once, in the order of the file."""
        seen: dict[int, Option] = {}
        for option in self.options.values():
            seen.setdefault(id(option), option)
        return tuple(seen.values())


class CommandRule(Record):
    """A whole rule file. `spec` is what the command does.

    `path` begins with the name of the rules folder (`rules/vcs/git.yaml`), so that `path:line` can be opened
    from the root of the repository. `replaces`: the file asks to be heard in place of the shipped rule
    (`overlay.py` says when it is).
    """

    __slots__ = ("aliases", "checked", "command", "path", "replaces", "source", "spec", "summary")
    __match_args__ = ("command", "aliases", "summary", "source", "checked", "path", "replaces", "spec")

    def __init__(
        self,
        command: str,
        *,
        path: str,
        spec: Spec,
        aliases: tuple[str, ...] = (),
        summary: str = "",
        source: str = "",
        checked: str = "",
        replaces: bool = False,
    ) -> None:
        self.command, self.path, self.spec, self.aliases = command, path, spec, aliases
        self.summary, self.source, self.checked, self.replaces = summary, source, checked, replaces


class BrokenRule(Record):
    """A rule file that cannot be used: calls of its command are `unknown`, and the fact names this place."""

    __slots__ = ("command", "line", "message", "path")
    __match_args__ = ("command", "path", "message", "line")

    def __init__(self, command: str, path: str, line: int, message: str) -> None:
        self.command, self.path, self.line, self.message = command, path, line, message


class Overlaid(Record):
    """Several rules for one command: the shipped one and those laid over it. Each judges a call, and all facts count.

    At least two. What the call changes of the shell, and what it prints, is said by the first; the others can only
    add what may be so too.
    """

    __slots__ = ("rules",)
    __match_args__ = ("rules",)

    def __init__(self, rules: tuple[CommandRule | BrokenRule, ...]) -> None:
        self.rules = rules


class CredentialPaths(Record):
    """`_paths.yaml`: which files hold credentials. `not_sensitive` takes names back (`id_rsa.pub`).

    `replaces`: what it takes back it takes back from the shipped list too (`overlay.py`).
    """

    __slots__ = (
        *("_ended", "_ends", "_exact", "_exact_paths", "_others", "_places", "_starts"),
        *("line", "not_sensitive", "path", "replaces", "sensitive"),
    )
    __match_args__ = ("path", "sensitive", "not_sensitive", "replaces", "line")

    def __init__(
        self,
        path: str,
        sensitive: tuple[tuple[Pattern, int], ...],
        not_sensitive: tuple[Pattern, ...],
        line: int,
        *,
        replaces: bool = False,
    ) -> None:
        self.path, self.sensitive, self.not_sensitive, self.line = path, sensitive, not_sensitive, line
        self.replaces = replaces
        self._exact = {pattern.text: line for pattern, line in sensitive if "*" not in pattern.text}
        self._exact_paths: dict[str, list[tuple[str, int]]] = {}  # by the last part
        for text, line in self._exact.items():
            if "/" in text:
                self._exact_paths.setdefault(_last_of(text), []).append((text, line))
        shapes = [(pattern, line) for pattern, line in sensitive if "*" in pattern.text]
        names = [(pattern, line) for pattern, line in shapes if "/" not in pattern.text]
        # Nearly no name begins or ends as one of these does, which is asked of all of them at once.
        self._starts, self._ends, self._ended, self._others = _by_ends(names)
        self._places = [
            (pattern.text.partition("*")[0], pattern, line) for pattern, line in shapes if "/" in pattern.text
        ]

    def line_for(self, name: str) -> int | None:
        """The line of the first pattern that calls the file `name` sensitive, or None when none does.

        `name` is the path as the text has it (`~/.ssh/id_rsa`, `./.env`); no file is looked at. A pattern
        without a slash is compared with the last part of the path, any other with the whole of it and with
        each of its tails.
        """
        line = self._line(name, _last_of(name))
        return None if line is None or self.takes_back(name) else line

    def place_for(self, name: str) -> tuple[str, int] | None:
        """The file and line that call `name` sensitive, or None."""
        line = self.line_for(name)
        return None if line is None else (self.path, line)

    def takes_back(self, name: str) -> bool:
        """Whether `not_sensitive` names the last part of this path."""
        return any(pattern.matches(_last_of(name)) for pattern in self.not_sensitive)

    def _line(self, name: str, last: str) -> int | None:
        lines = [self._exact[last]] if last in self._exact else []
        if last.startswith(self._starts) or last.endswith(self._ends):
            lines += [line for pattern, line in self._ended if pattern.matches(last)]
        if self._others:
            lines += [line for pattern, line in self._others if pattern.matches(last)]
        if "/" in name:
            for whole, line in self._exact_paths.get(last, ()):
                if name == whole or name.endswith("/" + whole):
                    lines.append(line)
            for head, pattern, line in self._places:
                if head in name and any(pattern.matches(whole) for whole in (name, *_tails(name))):
                    lines.append(line)
        return min(lines) if lines else None


_Lines = list[tuple["Pattern", int]]


def _by_ends(patterns: _Lines) -> tuple[tuple[str, ...], tuple[str, ...], _Lines, _Lines]:
    """How patterns with a shape in them begin; how the rest of them ends; all of both; those that do neither."""
    starts: set[str] = set()
    ends: set[str] = set()
    ended: _Lines = []
    others: _Lines = []
    for pattern, line in patterns:
        text = pattern.text
        start = text.partition("*")[0].partition("<")[0]
        end = text.rpartition("*")[2].rpartition(">")[2]
        (ended if start or end else others).append((pattern, line))
        if start:
            starts.add(start)
        elif end:
            ends.add(end)
    return tuple(starts), tuple(ends), ended, others


def _last_of(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]


def _tails(name: str) -> tuple[str, ...]:
    parts = name.split("/")
    return tuple("/".join(parts[index:]) for index in range(1, len(parts) - 1))


class PolicyRule(Record):
    """One policy of `_policies.yaml`: which effects and marks a read may have and still be allowed.

    `effects`: the effects that pass. `refuses`: marks that do not (`sensitive`, `touches:cache`,
    `config:repo` ...); a shape such as `touches:*` stands for all of its kind. `replaces`: it asks to be used in place
    of the shipped policy of that name (`overlay.py`).
    """

    __slots__ = ("effects", "line", "name", "refuses", "replaces", "summary")
    __match_args__ = ("name", "effects", "refuses", "summary", "replaces", "line")

    def __init__(
        self,
        name: str,
        effects: frozenset[str],
        refuses: tuple[Pattern, ...],
        summary: str,
        line: int,
        *,
        replaces: bool = False,
    ) -> None:
        self.name, self.effects, self.refuses, self.summary, self.line = name, effects, refuses, summary, line
        self.replaces = replaces


if TYPE_CHECKING:
    Answer: TypeAlias = CommandRule | BrokenRule | Overlaid | None
