# SPDX-License-Identifier: Apache-2.0
"""Every word of a rule file: where it may stand, what its value looks like, and what it is for.

The loader takes from here which words it allows, `schema.py` makes of it the JSON Schema that editors use. A value's
kind is the name of a definition in that schema. How the words are meant is said in `model.py`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Words: TypeAlias = dict[str, tuple[str, str]]  # word -> kind of its value, what it is for

SPEC: Words = {
    "accepts": ("anything", "No word of this command needs to be listed: a known writer."),
    "bundle": ("boolean", "A first word without a dash is a bundle of short options: `tar tf a`."),
    "cases": ("cases", "In place of `effect`: the first row whose `when` holds gives the effect."),
    "changes": ("changes", "What of the shell itself a builtin changes."),
    "dialects": ("dialects", "What the language becomes when one of these options is given."),
    "effect": ("effects", "What a plain call does; options and operands add to it."),
    "env": ("env", "Variables that change what it does, by name or shape of names."),
    "complete": ("boolean", "All options that do something are listed: an unseen word is no other."),
    "env_complete": ("boolean", "The list of variables is complete: any other changes nothing."),
    "examples": ("examples", "Shell lines that are its tests and its page, under what they are."),
    "flags": ("names", "Options without a value that change nothing."),
    "helpers": ("texts", "Programs that the tool starts to do its own work."),
    "judgement": ("text", "The stance where the manual is silent."),
    "language": ("text", "The language of the words marked `as: script`."),
    "like": ("names", "Shapes whose words this spec has too."),
    "marks": ("marks", "What every call of it is: sensitive, privileged, remote."),
    "maybe": ("names", "Options that take a value only when it is attached, and change nothing."),
    "numeric": ("boolean", "`-5` is an option that changes nothing."),
    "operands": ("operands", "The places for operands, in order."),
    "options": ("options", "The options that matter, one mapping each."),
    "prints": ("prints", "The shape of its output."),
    "runs": ("runs", "The command inside this command."),
    "runs_config": ("place", "The least trusted place whose configuration can make it run code."),
    "style": ("style", "How its options are read."),
    "subcommands": ("subcommands", "Specs by the word that names them."),
    "summary": ("text", "What it does, in a sentence."),
    "touches": ("touches", "Small writes that are tolerated: caches it may refresh."),
    "values": ("names", "Options that take one value and change nothing."),
}

ROOT: Words = {
    "command": ("name", "The command; the first word of the file, and the file's name."),
    "aliases": ("aliases", "Other names of the command; the second word, on one line."),
    "source": ("text", "Where the knowledge is from: the address of a manual."),
    "checked": ("text", "Which version was looked at, and when: `coreutils 9.5, 2026-11-30`."),
    "replaces": ("yes", "For a trusted file of a user or project: heard in place of the shipped rule."),
    "shapes": ("shapes", "Specs with a name, for `like`."),
}

OPTION: Words = {
    "adds": ("added_to_value", "What the command that it runs gets when nothing is filled in."),
    "as": ("role", "What the text of its value is."),
    "dash": ("stdout", "The value `-` is standard output."),
    "effect": ("effects", "What giving it adds."),
    "ends": ("texts", "For `takes: until`: what ends its words."),
    "fills": (
        "text",
        "The texts that are filled in, in the command that it runs, with a blank between them.",
    ),
    "language": ("text", "The language of its value, for `as: script`."),
    "last": ("boolean", "It ends the options: all words behind its value are operands."),
    "matching": ("texts", "Only values of these shapes have the effect."),
    "only": ("texts", "Values of these shapes have no effect."),
    "program": ("boolean", "The value names a program, and is judged as that command."),
    "runs": ("value", "Its value is the words of a command."),
    "takes": ("takes", "How many words it takes."),
    "target": ("text", "What the effect acts on: `value`, or the name of an operand."),
}

OPERAND: Words = {
    "absent_with": ("names", "The place does not exist when one of these options is given."),
    "as": ("role", "What the text of the word is."),
    "dash": ("stdout", "The word `-` is standard output."),
    "effect": ("effects", "What a word in this place adds."),
    "language": ("text", "The language of the word, for `as: script`."),
    "many": ("boolean", "It takes all words that are left."),
    "matching": ("texts", "Only words of these shapes have the effect."),
    "name": ("text", "The name of the place."),
    "only": ("texts", "Words of these shapes have no effect."),
    "present_with": ("names", "The place exists only when one of these options is given."),
    "program": ("boolean", "The word names a program, and is judged as that command."),
}

CASE: Words = {
    "effect": ("effects", "What a call is when the row holds."),
    "stdin": ("text", "Standard input is a script in this language then."),
    "prints": ("prints", "The shape of its output then."),
    "when": ("when", "What must hold; a row without it always does."),
}

WHEN: Words = {
    "any": ("names", "At least one of these options is given."),
    "first": ("texts", "The first operand has one of these shapes."),
    "none": ("names", "None of these options is given."),
    "operands": ("count", "How many operands there are: `2`, `2+`, `1-3`."),
    "value": ("values", "Each of these options is given, always with a value of these shapes."),
}

RUNS: Words = {
    "absent_with": ("names", "Nothing runs when one of these options is given."),
    "adds": ("added", "Words that nobody can see are added."),
    "assignments": ("boolean", "Leading words `NAME=value` are assignments for it."),
    "command": ("text", "Where its words are: `operands`, or the name of an operand with `many`."),
    "default": ("text", "What runs when there are no words."),
    "fills": ("names", "Options whose value is replaced inside it by words that nobody can see."),
    "joined": ("shell", "The words, joined by blanks, are text for this shell."),
}

VARIABLE: Words = {
    "effect": ("effects", "What setting it does."),
    "only": ("texts", "Values of these shapes do nothing."),
    "program": ("boolean", "The value names a program, and is judged as that command."),
}

VARIABLES_FILE: Words = {
    "variables": ("env", "What is known of variables that belong to no single command."),
    "replaces": ("yes", "For a trusted overlay: its entries are heard in place of shipped ones."),
}

PATHS_FILE: Words = {
    "sensitive": ("texts", "Shapes of the paths that hold credentials."),
    "not_sensitive": ("texts", "Last parts of paths that hold none after all."),
    "replaces": ("yes", "For a trusted overlay: `not_sensitive` speaks of the shipped list too."),
}

POLICY: Words = {
    "summary": ("text", "What the policy lets pass, in a sentence."),
    "effects": ("effects", "The effects that a read may have."),
    "refuses": ("texts", "Marks that it may not have; `touches:*` is all of a kind."),
    "replaces": ("yes", "For a trusted overlay: used in place of the shipped policy of that name."),
}

GATES_FILE_WORDS = (
    *("gates", "remote", "decoders", "interpreters", "clients", "writers", "last", "into", "boxes", "images"),
    *("printers", "namings"),
)
GATE_WORDS = (
    *("severity", "reason", "instead", "commands", "targets", "not_targets", "sensitive", "code_from", "sql"),
    "unread",
)
SHAPE_WORDS = (
    *("run", "any", "every", "unless", "values", "operands", "first", "without", "posix", "bare", "via"),
    "unseen",
)
INTERPRETER_WORDS = ("names", "program", "other", "values", "words", "file", "language")
CLIENT_WORDS = ("names", "script", "values", "operands", "skip")
NAMING_WORDS = ("names", "options", "prefix")
"""The words of `_gates.yaml`; `load_gates.py` says what each of them holds, `gates.py` what it means."""
