# SPDX-License-Identifier: Apache-2.0
"""Where another shell reads a text as something more dangerous than bash. `docs/shells.md` says the same to people.

What depends on the parse stands where the node is judged; here are the questions and the names.
"""

from __future__ import annotations

from shellguard.effects import Kind
from shellguard.syntax.nodes import AndOr, Binary, Glob, Pipeline, Redirect, Simple, Text, Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.inquiry import Inquiry
    from shellguard.spans import Span
    from shellguard.syntax.nodes import Function, Param, Redirection, Statement, Word, WordPart

_ZSH_NAMES = frozenset(
    {
        *(
            "path",
            "fpath",
            "cdpath",
            "manpath",
            "mailpath",
            "module_path",
            "fignore",
            "argv",
            "prompt",
            "histchars",
        ),
        *(
            "commands",
            "functions",
            "aliases",
            "galiases",
            "saliases",
            "options",
            "builtins",
            "modules",
            "nameddirs",
        ),
        *(
            "dis_functions",
            "dis_aliases",
            "dis_galiases",
            "dis_saliases",
            "dis_builtins",
            "userdirs",
            "parameters",
        ),
    }
)
"""Variables that in zsh are the search path, the tables of commands and functions, or the options of the shell."""


def assigned_name(name: str, span: Span, inquiry: Inquiry) -> None:
    """Judges the name of a variable that is set, for a shell in which it means more."""
    if inquiry.assumptions.has_zsh and (name in _ZSH_NAMES or name.endswith("_functions")):
        inquiry.unknown(span, f"{name} changes in zsh what later words mean", Kind.DIALECT)


def refused(span: Span, what: str, inquiry: Inquiry) -> None:
    """Judges a construct that a POSIX shell refuses: nothing runs there, so it is no text for any shell."""
    if inquiry.assumptions.has_posix:
        inquiry.unknown(span, f"a shell of POSIX refuses {what}", Kind.DIALECT)


def cut_by_ampersand(node: Statement) -> bool:
    """Whether a POSIX shell reads `&>` here: the list before it is run in the background, and `>` stands alone."""
    for each in node.redirections:
        if isinstance(each, Redirect) and each.operator in ("&>", "&>>"):
            return True
    command = node.command
    if isinstance(command, AndOr | Pipeline):
        return any(cut_by_ampersand(part) for part in command.parts)
    return False


def redirected_words(node: Statement, inquiry: Inquiry) -> None:
    """Judges `a &> f b`: a POSIX shell runs `b` as a command of its own."""
    command = node.command
    if type(command) is not Simple:
        return
    last = max([item.span[0] for item in (*command.assignments, *command.words)], default=0)
    for each in node.redirections:
        if isinstance(each, Redirect) and each.operator in ("&>", "&>>") and each.span[1] <= last:
            because = f"a shell without {each.operator} runs what stands behind it as a command"
            inquiry.unknown(each.span, because, Kind.DIALECT)


def files_of_zsh(node: Statement, inquiry: Inquiry) -> None:
    """Judges `>&1-`, and `>&-o`, which bash reads as `>&- o`: zsh writes to a file of that name."""
    command = node.command
    begins = (
        {item.span[0] for item in (*command.assignments, *command.words)}
        if type(command) is Simple
        else set()
    )
    for each in node.redirections:
        if isinstance(each, Redirect) and each.operator == ">&":
            last = each.target.parts[-1:]
            text = last[0].text if last and isinstance(last[0], Text) else ""
            if text[-1:] == "-" and (text != "-" or len(each.target.parts) > 1 or each.span[1] in begins):
                inquiry.unknown(each.span, "zsh takes what stands behind >& for a file", Kind.DIALECT)


def numbered_by_name(node: Redirection, inquiry: Inquiry) -> None:
    """Judges `{name}> f`: for a POSIX shell `{name}` is a word of the command."""
    descriptor = node.descriptor
    if inquiry.assumptions.has_posix and descriptor is not None and descriptor[0] == "{":
        because = f"a shell that cannot number a descriptor by a variable takes {descriptor} for a word"
        inquiry.unknown(node.span, because, Kind.DIALECT)


def may_have_keyword(node: Function) -> bool:
    """Whether the definition may be `function name {`: a POSIX shell then runs each line of the body on its own."""
    return node.body.span[0] - node.span[0] > len("function ") + len(node.name)


def regular_expression(word: Word, inquiry: Inquiry) -> None:
    """Judges the right side of `=~`, in which a POSIX shell sees pipes and the ends of commands."""
    if not inquiry.assumptions.has_posix:
        return
    for part in word.parts:
        for char in part.text if isinstance(part, Text | Glob) else "":
            if char == "(":
                refused(word.span, "this", inquiry)
                return
            if char in "|&;<>":
                inquiry.unknown(
                    word.span, "a shell without [[ ]] takes a part of this for a command", Kind.DIALECT
                )
                return


def subscript_in_zsh(part: Param, following: tuple[WordPart, ...], inquiry: Inquiry) -> None:
    """Judges `$x[...]`: in zsh a subscript, which is evaluated as arithmetic is."""
    text = ""
    for each in following:
        text += each.text if isinstance(each, Text | Glob) else "$"
        if "]" in text:
            break
    inside = text[1:].partition("]")[0]
    if not _HARMLESS.issuperset(inside):
        inquiry.unknown(part.span, f"zsh evaluates the subscript behind ${part.name}", Kind.DIALECT)


def modifier_in_zsh(part: Param, inquiry: Inquiry) -> None:
    """Judges `${x:name}`: in zsh a letter behind the colon is a modifier, not the name of an offset."""
    offset = part.arguments[0]
    while isinstance(offset, Binary):
        offset = offset.left
    if isinstance(offset, Variable):
        inquiry.unknown(part.span, f"zsh takes :{offset.name} for a modifier", Kind.DIALECT)


def equals_in_zsh(part: WordPart, inquiry: Inquiry) -> None:
    """Judges a word `=name`: zsh puts the path of the command there, and refuses the text where there is none."""
    if type(part) is Text and part.text[:1] == "=" and part.text not in ("=", "=="):
        inquiry.unknown(part.span, f"zsh puts the path of a command in place of {part.text!r}", Kind.DIALECT)


_HARMLESS = frozenset("0123456789,-+*@ ")
