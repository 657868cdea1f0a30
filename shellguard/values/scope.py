# SPDX-License-Identifier: Apache-2.0
"""What the text has set so far in its shell: variables, functions, aliases, and what substitutions print."""

from __future__ import annotations

from shellguard.values.value import Shape, Value, shaped, unknown, widen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.spans import Span
    from shellguard.syntax.nodes import CommandSub, Statement

MAX_CHOICES = 16
"""A variable that may hold more texts than this is known by what they have in common only."""


class Variable:
    """What a variable of the text may hold.

    `choices` are the values it may have, at least one. `elements` are the values of an array in order, None for
    anything that is not an array known in full.
    """

    __slots__ = ("choices", "elements", "span")

    def __init__(
        self, choices: tuple[Value, ...], span: Span, elements: tuple[Value, ...] | None = None
    ) -> None:
        self.choices, self.span, self.elements = choices, span, elements


class Definition:
    """One body that a function of the text may have.

    `origin` is the span of the word whose text the body was read from (`eval 'f() { ls; }'`), None for the text
    itself.
    """

    __slots__ = ("body", "origin")

    def __init__(self, body: Statement, origin: Span | None) -> None:
        self.body, self.origin = body, origin

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Definition) and self.body is other.body

    def __hash__(self) -> int:
        return id(self.body)


class Scope:
    """The state of one shell, or of one branch of it.

    A scope with a `parent` is a layer: it sees what the parent holds and keeps to itself what is set in it. A
    subshell is a layer that is thrown away; a branch that may or may not run is a layer that is merged (`merge`).
    `history` holds every value a variable had in the layer, since the branch may be left at any point (`break`,
    `return`).

    `positional` are `$1` and on, None where nothing is known of them. `pinned` holds, while one command is judged,
    the one value that each of its variables with several choices has this time, and `branching` names those that
    were asked for. `printed` is what is known of the output of a substitution. `exported` and `aliases` are the
    names that the text hands to later commands and gives another meaning; `names` are all variables that it has set,
    `arrays` may be arrays, of `constants` the shell may refuse to change the value, `defined` are all functions. All
    these hold for all layers.

    `shell` is that of `Assumptions`: `has_zsh` says whether zsh may read the text. `unseen`: the text runs at another
    time in a shell that has gone on, so that any variable may be anything.
    """

    __slots__ = (
        "aliases",
        "arrays",
        "branching",
        "constants",
        "defined",
        "exported",
        "functions",
        "has_zsh",
        "history",
        "names",
        "parent",
        "pinned",
        "positional",
        "printed",
        "shell",
        "unseen",
        "variables",
    )

    def __init__(
        self,
        parent: Scope | None = None,
        positional: tuple[Value, ...] | None = None,
        shell: str = "bash",
        *,
        unseen: bool = False,
    ) -> None:
        self.parent = parent
        self.variables: dict[str, Variable] = {}
        self.functions: dict[str, tuple[Definition | None, ...]] = {}
        self.history: dict[str, list[Variable]] = {}
        self.positional = positional
        self.aliases: dict[str, Span]
        self.exported: dict[str, Span]
        self.pinned: dict[str, Value]
        self.branching: dict[str, None]
        self.printed: dict[int, tuple[CommandSub, Value]]
        self.defined: set[str]
        self.names: set[str]
        self.arrays: set[str]
        self.constants: set[str]
        if parent is None:
            self.aliases, self.exported, self.pinned, self.branching, self.printed = {}, {}, {}, {}, {}
            self.names, self.arrays, self.constants, self.defined = set(), set(), set(), set()
            self.shell, self.unseen = shell, unseen
            self.has_zsh = shell in ("zsh", "any")
        else:  # one text, one table: an alias of a subshell is kept, which errs on the strict side
            self.aliases, self.exported, self.pinned = parent.aliases, parent.exported, parent.pinned
            self.branching, self.printed = parent.branching, parent.printed
            self.names, self.arrays, self.constants = parent.names, parent.arrays, parent.constants
            self.defined = parent.defined
            self.shell, self.unseen, self.has_zsh = parent.shell, parent.unseen, parent.has_zsh

    def layer(self) -> Scope:
        """A scope on top of this one."""
        return Scope(self, self.positional)

    # --- substitutions ---------------------------------------------------------------------------------------------

    def keep_output(self, node: CommandSub, output: Value | None) -> None:
        """What `node` prints this time; None for anything."""
        if output is None:
            self.printed.pop(id(node), None)
        else:
            self.printed[id(node)] = (
                node,
                output,
            )  # with the node, whose identity is not given away again then

    def output_of(self, node: CommandSub) -> Value:
        """What is known of the output of a substitution."""
        kept = self.printed.get(id(node))
        return unknown(node.span) if kept is None else kept[1]

    # --- variables ------------------------------------------------------------------------------------------------

    def variable(self, name: str) -> Variable | None:
        """What the text has made of the variable, None when it never set it."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.variables.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def set(self, name: str, variable: Variable) -> None:
        """From here on the variable is this; one that the shell itself sets may be something else at any time."""
        self.names.add(name)
        if variable.elements is not None:
            self.arrays.add(name)
        if name in self.constants:
            before = self.variable(name)
            variable = join([variable] if before is None else [before, variable], ambient=before is None)
        if name in SET_BY_BASH or (self.has_zsh and name in SET_BY_ZSH):
            number = variable.elements is None and all(choice.is_integer for choice in variable.choices)
            span = variable.span
            variable = Variable((shaped(Shape.INTEGER, span) if number else unknown(span),), span)
        self.variables[name] = variable
        if self.parent is not None:
            self.history.setdefault(name, []).append(variable)

    def value(self, name: str, span: Span) -> Value:
        """The value of `$name`, as it stands at `span`, where it is not an array or an element of one."""
        pinned = self.pinned.get(name)
        if pinned is not None:
            return pinned.at(span)
        variable = self.variable(name)
        if variable is None:
            return unknown(span) if self.unseen else _ambient(name, span, self.shell)
        if variable.elements is not None:
            if self.has_zsh or any(value.many for value in variable.elements[:1]):
                return unknown(span, many=True)  # `$a` is all of them in zsh
            return variable.elements[0].at(span) if variable.elements else Value("", span)
        if len(variable.choices) > 1:
            self.branching[name] = None
        return widen(variable.choices, span)

    def separators(self) -> str | None:
        """The characters at which unquoted expansions are split, None when nobody knows what IFS is."""
        variable = self.variable("IFS")
        if variable is None:
            return None if self.unseen else " \t\n"
        choices = variable.choices
        return (
            choices[0].text if len(choices) == 1 and choices[0].exact and variable.elements is None else None
        )

    def may_be_array(self, name: str) -> bool:
        """Whether `declare 'name=(...)'` may read its value as an array, which expands it again."""
        return self.unseen or name in self.arrays or name in SET_BY_BASH

    # --- functions ------------------------------------------------------------------------------------------------

    def define(self, name: str, definition: Definition | None) -> None:
        """From here on the function has this body, or (None) the name is an ordinary command again."""
        self.functions[name] = (definition,)
        self.defined.add(name)

    def perhaps_undefine(self, name: str) -> None:
        """From here on the name may also be an ordinary command again."""
        known = self.definitions(name)
        if None not in known:
            self.functions[name] = (*known, None)

    def definitions(self, name: str) -> tuple[Definition | None, ...]:
        """What the name may run: bodies, and None for the command of that name. `(None,)` where nothing is defined."""
        if name in self.defined:
            scope: Scope | None = self
            while scope is not None:
                found = scope.functions.get(name)
                if found is not None:
                    return found
                scope = scope.parent
        return (None,)

    # --- branches -------------------------------------------------------------------------------------------------

    def merge(self, *branches: Scope) -> None:
        """After branches of which any may have run, in part or in full: all is as before or as one left it."""
        for branch in branches:
            if branch.positional != self.positional:
                self.positional = None
            for name, held in branch.history.items():
                before = self.variable(name)
                joined = join(([before] if before is not None else []) + held, ambient=before is None)
                self.set(name, joined)
            for name, bodies in branch.functions.items():
                known = self.definitions(name)
                self.functions[name] = (*known, *(body for body in bodies if body not in known))


def join(variables: list[Variable], *, ambient: bool) -> Variable:
    """A variable that is one of `variables`, or, with `ambient`, has the value it had before the text."""
    span = variables[-1].span
    if ambient or any(variable.elements is not None for variable in variables):
        return Variable((unknown(span),), span)
    choices = tuple(dict.fromkeys(choice for variable in variables for choice in variable.choices))
    if len(choices) > MAX_CHOICES:
        choices = (widen(choices, span),)
    return Variable(choices, span)


SET_BY_BASH = frozenset(
    {
        *(
            "_",
            "PWD",
            "OLDPWD",
            "REPLY",
            "MAPFILE",
            "OPTARG",
            "OPTIND",
            "COPROC",
            "PIPESTATUS",
            "DIRSTACK",
            "GROUPS",
        ),
        *(
            "FUNCNAME",
            "HISTCMD",
            "LINENO",
            "RANDOM",
            "SRANDOM",
            "SECONDS",
            "EPOCHSECONDS",
            "EPOCHREALTIME",
            "SHLVL",
        ),
        *("UID", "EUID", "PPID", "COLUMNS", "LINES", "SHELLOPTS", "BASHOPTS", "COMP_WORDS", "COMP_LINE"),
        *(
            "READLINE_LINE",
            "BASHPID",
            "BASH_COMMAND",
            "BASH_SUBSHELL",
            "BASH_LINENO",
            "BASH_SOURCE",
            "BASH_ARGC",
        ),
        *("BASH_ARGV", "BASH_ARGV0", "BASH_REMATCH", "BASH_VERSINFO", "BASH_CMDS", "BASH_ALIASES"),
    }
)
"""Variables that bash sets by itself: what the text gives them tells nothing of what they are later."""

SET_BY_ZSH = frozenset(
    {
        *(
            "MATCH",
            "MBEGIN",
            "MEND",
            "match",
            "mbegin",
            "mend",
            "status",
            "pipestatus",
            "argv",
            "ARGC",
            "ERRNO",
        ),
        *("HISTCMD", "TTYIDLE", "funcstack", "dirstack", "GID", "EGID", "USERNAME", "VENDOR", "HOST"),
    }
)
"""The same for zsh, where it may read the text."""

_NUMBERS = ("UID", "EUID", "BASHPID", "RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "LINENO", "SHLVL")

_AMBIENT = {
    "HOME": ("/", Shape.WORD, False),
    "PWD": ("/", Shape.NOTHING, False),
    "OLDPWD": ("/", Shape.NOTHING, True),
    "TMPDIR": ("/", Shape.WORD, True),
    "USER": ("", Shape.WORD, True),
    "LOGNAME": ("", Shape.WORD, True),
    "HOSTNAME": ("", Shape.WORD, True),
    "PPID": ("", Shape.NUMBER, False),
    **dict.fromkeys(_NUMBERS, ("", Shape.NUMBER, False)),
}
"""Variables that the shell or the login sets before the text: how they begin, their shape, and whether they may be
empty (no login, a container). A home folder with a blank in its name is not thought of; the current folder may be
any, since the text may have moved there."""


def _ambient(name: str, span: Span, shell: str) -> Value:
    entry = _AMBIENT.get(name)
    if entry is None:
        return unknown(span)
    prefix, shape, optional = entry
    if optional:
        return Value(prefix, span, exact=False, shape=shape, optional=True)
    if shell in ("sh", "any") and name in _NUMBERS:  # a shell of POSIX has no such variables
        return Value("", span, exact=False, shape=shape, optional=True)
    return shaped(shape, span, prefix)


def ambient_names() -> frozenset[str]:
    """The variables of which something is known before the text has set them."""
    return frozenset(_AMBIENT)
