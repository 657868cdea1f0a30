# SPDX-License-Identifier: Apache-2.0
"""Other parsers as witnesses: which simple commands do they see in a text?

Run as a script, in a process of its own: `python witness.py bashlex` reads a JSON list of texts and answers
with a JSON list, for each text null (refused, crashed, or no answer in time) or the commands, each a list of
its words as they stand in the text, with `$()` for each substitution. bashlex is under the GPL and is never
imported anywhere else.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

SECONDS = 5


def spelled(text: str, start: int, end: int, holes: list[tuple[int, int]]) -> str:
    """`text[start:end]` with each hole replaced by `$()`, line continuations removed."""
    out = ""
    place = start
    for begin, stop in sorted(holes):
        if begin >= place and stop <= end:
            out += text[place:begin] + "$()"
            place = stop
    return (out + text[place:end]).replace("\\\n", "")


def bashlex_commands(text: str) -> list[list[str]]:
    """The commands that bashlex sees. Raises whatever bashlex raises."""
    import bashlex

    found = []
    for tree in bashlex.parse(text):
        for node in _below(tree):
            if node.kind == "command":
                words = [part for part in node.parts if part.kind == "word"]
                if words:
                    found.append([_bashlex_word(text, word) for word in words])
    return found


def _bashlex_word(text: str, word: Any) -> str:
    holes = [node.pos for node in _below(word) if node.kind in ("commandsubstitution", "processsubstitution")]
    return spelled(text, word.pos[0], word.pos[1], holes)


def _below(node: Any) -> Iterator[Any]:
    yield node
    for name in ("parts", "list", "command", "output", "input", "heredoc", "body"):
        value = getattr(node, name, None)
        for child in value if isinstance(value, list) else (value,):
            if hasattr(child, "kind"):
                yield from _below(child)


def tree_sitter_commands(text: str) -> list[list[str]]:
    """The commands that tree-sitter-bash sees. Raises ValueError where its tree holds an error."""
    import tree_sitter
    import tree_sitter_bash

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    raw = text.encode("utf-8", "surrogatepass")
    root = parser.parse(raw).root_node
    if root.has_error:
        raise ValueError("the tree holds an error")
    # Offsets are bytes there: a text in which each byte is a character keeps them usable.
    plain = raw.decode("latin-1")
    found = []
    for node in _nodes(root):
        if node.type in ("command", "declaration_command", "unset_command", "test_command"):
            if node.type == "test_command" and raw[node.start_byte : node.start_byte + 2] in (b"[[", b"(("):
                continue
            found.append(
                [
                    word.encode("latin-1").decode("utf-8", "surrogatepass")
                    for word in _tree_sitter_words(plain, node)
                ]
            )
    return [words for words in found if words]


def _tree_sitter_words(text: str, node: Any) -> list[str]:
    if node.type == "test_command":
        return spelled(text, node.start_byte, node.end_byte, _holes(node)).split(" ")
    before_name = [child for child in node.children if child.type == "variable_assignment"]
    words = []
    for child in node.children:
        if child in before_name and node.type == "command":
            continue
        if child.type.endswith("redirect") or child.type in ("file_descriptor",):
            continue
        words.append(spelled(text, child.start_byte, child.end_byte, _holes(child)))
    return words


def _holes(node: Any) -> list[tuple[int, int]]:
    kinds = ("command_substitution", "process_substitution")
    return [(below.start_byte, below.end_byte) for below in _nodes(node) if below.type in kinds]


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in node.children:
        yield from _nodes(child)


WITNESSES: dict[str, Callable[[str], list[list[str]]]] = {
    "bashlex": bashlex_commands,
    "tree-sitter": tree_sitter_commands,
}


def _on_alarm(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError


def main() -> None:
    ask = WITNESSES[sys.argv[1]]
    signal.signal(signal.SIGALRM, _on_alarm)
    answers: list[list[list[str]] | None] = []
    for text in json.load(sys.stdin):
        signal.alarm(SECONDS)
        try:
            answers.append(ask(text))
        except Exception:  # noqa: BLE001 - a witness that fails has nothing to say
            answers.append(None)
        signal.alarm(0)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
