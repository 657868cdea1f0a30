# SPDX-License-Identifier: Apache-2.0
"""Operands that a command names and a world lacks: they are made first, so that the tool has something to read.

A guess by form, on purpose generous: a file too many hurts nobody, since it lies below the overlay and is no
effect. What stands behind `>` or after an option for output is never made.
"""

from __future__ import annotations

import os
import re
from itertools import pairwise

from shellguard import ShellSyntaxError, parse
from shellguard.syntax.nodes import Redirect, Simple, Tilde, Word
from shellguard.syntax.walk import walk
from tools.witness.places import ALIASES, HOME, WORK
from tools.witness.worlds.samples import sample

_OUTPUT_OPTIONS = frozenset(
    {"-o", "--output", "-O", "--output-document", "-T", "--output-file", "--log", "--log-file"}
)
_FOLDER_COMMANDS = frozenset({"cd", "pushd", "find", "tree", "du", "ls", "fd", "fdfind", "rsync", "ncdu"})
_NO_BARE_NAMES = frozenset(
    "git hg svn gh glab docker kubectl npm pip cargo go aws gcloud az helm oc ip systemctl man which type command info"
    " apt dpkg rpm brew ps kill terraform whatis echo printf test cd env export declare local set tmux date seq"
    " id".split()
)
_PATH = re.compile(r"[\w.@+-][\w./@+: -]*")
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)*")
_ADDRESS = re.compile(r"\w+://|.+@.+:|.*\.(com|org|net|io|dev)(/|:|$)")


def operands_of(command: str, world: str) -> dict[str, bytes | None]:
    """Absolute path to content (None for a folder) of what should be made for `command`; `world` is where its
    home lies.
    """
    try:
        tree = parse(command)
    except ShellSyntaxError:
        return {}
    found: dict[str, bytes | None] = {}
    for node in walk(tree):
        if isinstance(node, Simple):
            _note_operands([_text(word) for word in node.words], world, found)
        elif isinstance(node, Redirect) and node.operator == "<":
            _note_operands(["<", _text(node.target)], world, found)
    return found


def _text(word: Word) -> str:
    """The literal text of a word, empty where it is not plain."""
    texts = []
    for part in word.parts:
        text = "~" if isinstance(part, Tilde) and not part.user else getattr(part, "text", None)
        if not isinstance(text, str):
            return ""
        texts.append(text)
    return "".join(texts)


def _note_operands(words: list[str], world: str, found: dict[str, bytes | None]) -> None:
    if not words:
        return
    name = os.path.basename(words[0])
    end = words.index("--") if "--" in words else len(words)
    for place, (before, word) in enumerate(pairwise(words)):
        if place >= end and word.startswith("-"):
            word = f"./{word}"
        if before in _OUTPUT_OPTIONS or not word:
            continue
        for text in _candidates(word):
            path = _place(text)
            if path is None or _ADDRESS.match(text):
                continue
            if _exists(path, world):
                if (name in ("cd", "pushd") or text.endswith("/")) and not _is_folder(path, world):
                    found.setdefault(path, None)  # it lies above the file of that name
                continue
            bare = "/" not in text and "." not in text
            if bare and (name in _NO_BARE_NAMES or _NUMBER.fullmatch(text)):
                continue
            if _NUMBER.fullmatch(text):
                continue
            folder = text.endswith("/") or (name in _FOLDER_COMMANDS and "." not in os.path.basename(text))
            found.setdefault(path, None if folder else sample(os.path.basename(path)))


def _candidates(word: str) -> list[str]:
    """What in a word may be a path: the whole of it, or what stands behind `=` or `@`."""
    if word.startswith("-"):
        return [word.partition("=")[2]] if word.startswith("--") and "=" in word else []
    texts = [] if word.startswith("@") else [word]
    for mark in ("=", "@"):
        if mark in word:
            texts.append(word.partition(mark)[2])
    return [text for text in texts if text]


def _place(text: str) -> str | None:
    """The absolute path of a candidate inside what can be made: the home and the folder for temporary files."""
    if text.startswith("~/"):
        path = f"{HOME}/{text[2:]}"
    elif text.startswith("/"):
        path = text
    elif _PATH.fullmatch(text.removeprefix("./")) and text not in (".", ".."):
        if ":" in text and not text.startswith("./"):
            return None  # as in `host:path`
        path = f"{WORK}/{text}"
    else:
        return None
    if "..." in path or text.startswith("-"):
        return None
    path = os.path.normpath(path)
    for alias in ALIASES:
        if path.startswith(f"{alias}/"):
            path = WORK + path.removeprefix(alias)
    inside = path.startswith((f"{HOME}/", "/tmp/")) and path != WORK
    return path if inside and len(path) < 200 and "/.git/" not in path else None


def _is_folder(path: str, world: str) -> bool:
    return os.path.isdir(f"{world}{path.removeprefix(HOME)}")


def _exists(path: str, world: str) -> bool:
    return path.startswith(f"{HOME}/") and os.path.lexists(f"{world}{path.removeprefix(HOME)}")
