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
    names that the text hands to later commands and gives another meaning; they hold for all layers.
    """

    __slots__ = (
        "aliases",
        "branching",
        "exported",
        "functions",
        "history",
        "parent",
        "pinned",
        "positional",
        "printed",
        "variables",
    )

    def __init__(self, parent: Scope | None = None, positional: tuple[Value, ...] | None = None) -> None:
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
        if parent is None:
            self.aliases, self.exported, self.pinned, self.branching, self.printed = {}, {}, {}, {}, {}
        else:  # one text, one table: an alias of a subshell is kept, which errs on the strict side
            self.aliases, self.exported, self.pinned = parent.aliases, parent.exported, parent.pinned
            self.branching, self.printed = parent.branching, parent.printed

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
        """From here on the variable is this."""
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
            return _ambient(name, span)
        if variable.elements is not None:
            return variable.elements[0].at(span) if variable.elements else Value("", span)
        if len(variable.choices) > 1:
            self.branching[name] = None
        return widen(variable.choices, span)

    def separators(self) -> str | None:
        """The characters at which unquoted expansions are split, None when nobody knows what IFS is."""
        variable = self.variable("IFS")
        if variable is None:
            return " \t\n"
        choices = variable.choices
        return (
            choices[0].text if len(choices) == 1 and choices[0].exact and variable.elements is None else None
        )

    # --- functions ------------------------------------------------------------------------------------------------

    def define(self, name: str, definition: Definition | None) -> None:
        """From here on the function has this body, or (None) the name is an ordinary command again."""
        self.functions[name] = (definition,)

    def perhaps_undefine(self, name: str) -> None:
        """From here on the name may also be an ordinary command again."""
        known = self.definitions(name)
        if None not in known:
            self.functions[name] = (*known, None)

    def definitions(self, name: str) -> tuple[Definition | None, ...]:
        """What the name may run: bodies, and None for the command of that name. `(None,)` where nothing is defined."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.functions.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return (None,)

    def has_functions(self) -> bool:
        """Whether any function is defined at all."""
        scope: Scope | None = self
        while scope is not None:
            if scope.functions:
                return True
            scope = scope.parent
        return False

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


_AMBIENT = {
    "HOME": ("/", Shape.WORD),
    "PWD": ("/", Shape.NOTHING),
    "OLDPWD": ("/", Shape.NOTHING),
    "TMPDIR": ("/", Shape.WORD),
    "USER": ("", Shape.WORD),
    "LOGNAME": ("", Shape.WORD),
    "HOSTNAME": ("", Shape.WORD),
    "UID": ("", Shape.NUMBER),
    "EUID": ("", Shape.NUMBER),
    "PPID": ("", Shape.NUMBER),
    "BASHPID": ("", Shape.NUMBER),
    "RANDOM": ("", Shape.NUMBER),
    "SRANDOM": ("", Shape.NUMBER),
    "SECONDS": ("", Shape.NUMBER),
    "EPOCHSECONDS": ("", Shape.NUMBER),
    "LINENO": ("", Shape.NUMBER),
    "SHLVL": ("", Shape.NUMBER),
}
"""Variables that the shell or the login sets before the text, and what they look like. A home folder with a blank in
its name is not thought of; the current folder may be any, since the text may have moved there."""


def _ambient(name: str, span: Span) -> Value:
    entry = _AMBIENT.get(name)
    if entry is None:
        return unknown(span)
    prefix, shape = entry
    return shaped(shape, span, prefix)
