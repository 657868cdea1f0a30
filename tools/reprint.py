# SPDX-License-Identifier: Apache-2.0
"""Does bash read a text as our tree says? `bash --pretty-print` prints its own reading, and both texts must
give one tree.

`as_printed` applies to both trees what bash changes when it prints; each change is one arm of a `match`. What
differs after that is either in `EXPLAINED` (bash prints a text that means something else than what it read)
or a mistake of ours.

Where this says nothing: inside backticks and arithmetic bash prints what was typed, so both sides would share
a mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from shellguard.errors import ShellSyntaxError
from shellguard.syntax.nodes import (
    AndOr,
    AnsiC,
    CaseArm,
    CommandSub,
    CondNot,
    CondUnary,
    CondWord,
    Coproc,
    Double,
    Escaped,
    ForArith,
    ForWords,
    Function,
    Group,
    HereDoc,
    HereString,
    If,
    Node,
    Number,
    Param,
    Pipeline,
    ProcessSub,
    Redirect,
    Script,
    Select,
    Simple,
    Single,
    Statement,
    Text,
    Timed,
    Word,
)
from shellguard.syntax.parse import parse
from shellguard.syntax.printer import to_text
from shellguard.syntax.tokens import RESERVED
from shellguard.syntax.walk import walk
from tools.bash_oracle import judge, reprint

if TYPE_CHECKING:
    from shellguard.syntax.nodes import WordPart

NodeType = TypeVar("NodeType", bound=Node)

_AT = (0, 0)
"""The span of nodes made here: equality does not look at spans."""

_DEFAULT_DESCRIPTORS = {"<": "0", "<>": "0", "<&": "0", ">": "1", ">>": "1", ">|": "1", ">&": "1"}


@dataclass(frozen=True)
class Difference:
    """`text` (a whole command or the body of a substitution) and what bash made of it, which is another tree.

    `reason` is empty, or the reviewed reason why this is no mistake of ours.
    """

    text: str
    printed: str
    reason: str


def rebuilt(node: NodeType, change: Callable[[Node], Node]) -> NodeType:
    """A copy of a tree in which each node went through `change`, children first."""
    values: list[object] = []
    for name in node.__match_args__:
        value = getattr(node, name)
        if isinstance(value, Node):
            value = rebuilt(value, change)
        elif isinstance(value, tuple) and name != "span":
            value = tuple(rebuilt(item, change) if isinstance(item, Node) else item for item in value)
        values.append(value)
    return change(type(node)(*values))  # type: ignore[return-value]  # it keeps the role of a node, not always its type


def as_printed(node: NodeType) -> NodeType:
    """The tree of what `bash --pretty-print` prints for `node`; of a tree that was printed, the tree itself."""
    return rebuilt(node, _as_printed)


def _as_printed(node: Node) -> Node:
    match node:
        case Redirect(descriptor, "<&", Word((Text("-"),)) as target):
            return Redirect(
                {"1": None}.get(descriptor or "0", descriptor or "0"), ">&", target, _AT
            )  # both close alike
        case Redirect(descriptor, "<&" | ">&" as operator, Word((Text(text),))) if _padded(text):
            unpadded = Word((Text(text.lstrip("0").rjust(len(text.strip("0123456789")) + 1, "0"), _AT),), _AT)
            return _as_printed(Redirect(descriptor, operator, unpadded, _AT))
        case Redirect("1", "<>", target):
            return Redirect(
                None, "<>", target, _AT
            )  # bash leaves out the 1, though 0 is what it means without a number
        case Redirect(descriptor, operator, target) if descriptor and descriptor[0] != "{":
            number = str(int(descriptor))
            default = _DEFAULT_DESCRIPTORS.get(operator)
            return Redirect(None if number == default else number, operator, target, _AT)
        case HereDoc(descriptor, delimiter, quoted, strips_tabs, body) if descriptor and descriptor[0] != "{":
            number = str(int(descriptor))
            return HereDoc(None if number == "0" else number, delimiter, quoted, strips_tabs, body, _AT)
        case HereString(descriptor, word) if descriptor and descriptor[0] != "{":
            number = str(int(descriptor))
            return HereString(None if number == "0" else number, word, _AT)
        case Word(parts):
            return Word(tuple(new for part in parts for new in _printed_part(part)), _AT)
        case Double(parts, True):
            return Double(parts, False, _AT)
        case If(arms, otherwise) if len(arms) > 1:
            for arm in reversed(arms[1:]):
                inner = If((arm,), otherwise, _AT)
                otherwise = Script((_statement(inner),), _AT)
            return If(arms[:1], otherwise, _AT)
        case ForWords(name, None, body):
            return ForWords(name, (_ALL_PARAMETERS,), body, _AT)
        case Select(name, None, body):
            return Select(name, (_ALL_PARAMETERS,), body, _AT)
        case ForArith(first, condition, step, body):
            one = Number("1", _AT)
            return ForArith(first or one, condition or one, step or one, body, _AT)
        case CondNot(CondNot(condition)):
            return condition
        case CondWord(word):
            return CondUnary("-n", word, _AT)
        case Pipeline(parts, pipes_stderr):
            joined = [
                _with_stderr(part) if pipes else part
                for part, pipes in zip(parts, pipes_stderr, strict=False)
            ]
            return Pipeline((*joined, parts[-1]), (False,) * len(pipes_stderr), _AT)
        case Coproc(None, Statement(Simple(assignments, (first_word, *words)), redirections)) if (
            first_word == _COPROC
        ):
            # Read back, the name that bash adds to a simple command is the command.
            body_ = Statement(Simple(assignments, tuple(words), _AT), redirections, False, False, _AT)
            return Coproc(None, body_, _AT)
        case Coproc("COPROC", body):
            return Coproc(None, body, _AT)
        case Function(name, Statement(command) as body) if not isinstance(command, Group):
            return Function(name, _statement(Group(Script((body,), _AT), _AT)), _AT)
    return node


def _padded(text: str) -> bool:
    """`00` and `07-`, which bash prints as the number they are."""
    digits = text.removesuffix("-")
    return len(digits) > 1 and digits[0] == "0" and digits.strip("0123456789") == ""


_COPROC = Word((Text("COPROC", _AT),), _AT)
_ALL_PARAMETERS = Word((Double((Param("@", None, "", "", (), _AT),), False, _AT),), _AT)


def _statement(command: If | Group | Coproc | Function) -> Statement:
    return Statement(command, (), False, False, _AT)


def _with_stderr(part: Statement) -> Statement:
    """`a |& b` is kept as `a 2>&1 | b`."""
    match part.command:  # printed behind what these two run
        case Coproc(name, body):
            return _statement(Coproc(name, _with_stderr(body), _AT))
        case Function(name, body):
            return _statement(Function(name, _with_stderr(body), _AT))
    joined = Redirect("2", ">&", Word((Text("1", _AT),), _AT), _AT)
    return Statement(part.command, (*part.redirections, joined), part.negated, part.background, _AT)


def _printed_part(part: WordPart) -> Iterator[WordPart]:
    """`$'it\\'s'` is printed as `'it'\\''s'`."""
    if not isinstance(part, AnsiC):
        yield part
        return
    if part.text == "'":
        yield Escaped("'", _AT)
        return
    for index, piece in enumerate(part.text.split("'")):
        if index:
            yield Escaped("'", _AT)
        yield Single(piece, _AT)


def bodies(text: str, script: Script) -> Iterator[str]:
    """The text of each `$( )`, `<( )` and `>( )`, to be asked about on its own. Those in backticks or bodies
    of here-documents have a spelling of their own and are printed canonically."""
    for node in walk(script):
        if isinstance(node, CommandSub) and node.form == "$(":
            start, end = node.span
            if text.startswith("$(", start):
                yield text[start + 2 : end - 1]
            else:
                yield to_text(node.script)
        elif isinstance(node, ProcessSub):
            yield text[node.span[0] + 2 : node.span[1] - 1]


def compare(text: str, *, extglob: bool = False, inside: bool = True) -> list[Difference]:
    """The differences between our reading of a text that bash and we accept, and bash's; with `inside`, of
    its substitutions too.

    Raises ShellSyntaxError where we refuse the text.
    """
    script = parse(text)
    found = _compare_one(text, script, extglob=extglob)
    if inside:
        for body in bodies(text, script):
            if judge(body, extglob=extglob).accepts:
                found += _compare_one(body, parse(body), extglob=extglob)
    return found


def _compare_one(text: str, script: Script, *, extglob: bool) -> list[Difference]:
    if (len(text) - len(text.rstrip("\\"))) % 2:
        text += "\\"  # a file must spell out the backslash that `bash -c` keeps at the end of a text
    printed = reprint(text, extglob=extglob)
    if printed is None:
        return [Difference(text, "(bash reports an error)", explain(text, script))]
    try:
        theirs: Script | None = as_printed(parse(printed))
    except ShellSyntaxError as error:
        theirs = None
        printed += f"\n(we refuse this print: {error})"
    if theirs == as_printed(script):
        return []
    return [Difference(text, printed, explain(text, script))]


Check = Callable[[str, Script], bool]


def _here_document_in_list(_text: str, script: Script) -> bool:
    """Bash prints a body where its line ends, and may lose or misplace the operator behind it.

    It gets right a here-document at the end of the last command, and that of the first of two commands in a list or
    pipeline, if the second is a simple one.
    """
    for node in walk(script):
        if isinstance(node, Script):
            for place, statement in enumerate(node.statements):
                followed = place + 1 < len(node.statements) or statement.background
                if followed and _holds_here_document(statement):
                    return True
        if isinstance(node, (AndOr, Pipeline)):
            places = [place for place, part in enumerate(node.parts) if _holds_here_document(part)]
            last = len(node.parts) - 1
            if not places or (places[0] == last and isinstance(node.parts[last].command, Simple)):
                continue
            first, *rest = node.parts
            if (
                len(rest) > 1
                or isinstance(first.command, (AndOr, Pipeline))
                or not isinstance(rest[0].command, Simple)
            ):
                return True
    return False


def _holds_here_document(node: Node) -> bool:
    return any(isinstance(below, HereDoc) for below in walk(node))


def _redirection_before_reserved(_text: str, script: Script) -> bool:
    """`<x then`: a reserved word that is none, because a redirection stands before it."""
    return any(
        isinstance(node, Statement)
        and node.redirections
        and isinstance(node.command, Simple)
        and not node.command.assignments
        and any(word == Word((Text(name, _AT),), _AT) for word in node.command.words[:1] for name in RESERVED)
        for node in walk(script)
    )


def _internal_escape(_text: str, script: Script) -> bool:
    return any(
        isinstance(node, AnsiC) and not {"\x01", "\x7f"}.isdisjoint(node.text) for node in walk(script)
    )


def _backslash_ends_here_document(text: str, script: Script) -> bool:
    return text.endswith("\\") and _holds_here_document(script)


def _redirection_before_option(_text: str, script: Script) -> bool:
    """`time >f -p`: a command `-p`, because a redirection stands before it."""
    options = (Word((Text("-p", _AT),), _AT), Word((Text("--", _AT),), _AT))
    return any(
        isinstance(below, Statement)
        and isinstance(below.command, Simple)
        and bool(below.redirections)
        and any(word in options for word in below.command.words[:1])
        for node in walk(script)
        if isinstance(node, Timed)
        for below in walk(node)
    )


def _bracket_in_function_name(_text: str, script: Script) -> bool:
    return any(isinstance(node, Function) and "[" in node.name for node in walk(script))


def _dash_before_delimiter(_text: str, script: Script) -> bool:
    return any(
        isinstance(node, HereDoc) and node.delimiter.startswith("-") and not node.strips_tabs
        for node in walk(script)
    )


def _negated_twice_nothing(_text: str, script: Script) -> bool:
    nothing = Statement(Simple((), (), _AT), (), False, False, _AT)
    return any(node == nothing for node in walk(script))


def _coproc_with_assignment(_text: str, script: Script) -> bool:
    return any(
        isinstance(node, Coproc) and isinstance(node.body.command, Simple) and node.body.command.assignments
        for node in walk(script)
    )


def _esac_as_pattern(_text: str, script: Script) -> bool:
    return any(
        isinstance(node, CaseArm) and node.patterns[0] == Word((Text("esac", _AT),), _AT)
        for node in walk(script)
    )


EXPLAINED: list[tuple[str, Check]] = [
    ("bash loses or misplaces the operator behind a here-document in a list", _here_document_in_list),
    (
        "bash prints a first pattern `esac` without its parenthesis and could not read that again",
        _esac_as_pattern,
    ),
    (
        "bash puts the redirection behind the word, which makes the word reserved",
        _redirection_before_reserved,
    ),
    ("bash marks bytes with \\x01 and \\x7f itself, and doubles those of the text", _internal_escape),
    ("in a file the last backslash of a here-document means something else", _backslash_ends_here_document),
    ("bash drops `function` before a name that cannot do without", _bracket_in_function_name),
    (
        "bash puts `-p` before the redirection behind `time`, which makes it an option",
        _redirection_before_option,
    ),
    ("bash prints `<< -E` as `<<-E`", _dash_before_delimiter),
    ("bash prints nothing for `! !`", _negated_twice_nothing),
    (
        "bash puts a name before the assignment behind `coproc`, which makes it a word",
        _coproc_with_assignment,
    ),
]
"""Why bash's print may say something else than what bash read: a reason, and how to see that it applies."""


def explain(text: str, script: Script) -> str:
    """The first reason of EXPLAINED that applies to a text; empty if none does."""
    return next((reason for reason, applies in EXPLAINED if applies(text, script)), "")
