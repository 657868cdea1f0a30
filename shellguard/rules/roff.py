# SPDX-License-Identifier: Apache-2.0
"""The source of a manual page as the lines that begin its paragraphs, in the form that `draft.options_in` reads.

The source says more than what `man` prints: what is a metavariable stands in italics (`\\fIFILE\\fR`, `.Ar file`),
and a line that begins a paragraph is marked as such, so text that happens to begin with a dash is not taken for an
option. Only the tags are read; no sentence of the page is kept.

Source: groff_man(7), mdoc(7), groff(7) for the escapes.
"""

from __future__ import annotations

import re

MAX_LINES = 60_000

_FONT = re.compile(r"\\f(?:\[(?P<name>[A-Z]*)\]|\((?P<two>[A-Z]{2})|(?P<one>[A-Z1-4]))")
_ESCAPE = re.compile(
    r"\\(?:\((?P<two>..)|\[(?P<name>[^\]]*)\]|\*\[[^\]]*\]|\*\(..|\*.|s[-+]?\d{1,2}|(?P<one>.))"
)
_CHARACTERS = {
    "hy": "-",
    "mi": "-",
    "en": "-",
    "dq": '"',
    "aq": "'",
    "cq": "'",
    "oq": "`",
    "lB": "[",
    "rB": "]",
}
_LITERAL = {"-": "-", "e": "\\", "\\": "\\", "'": "'", "`": "`", ".": ".", " ": " ", "~": " ", "0": " "}
_ITALIC = frozenset({"I", "2", "BI", "4"})
_FONTS = {".B": "B", ".I": "I", ".R": "R"}
_BREAKS = frozenset({".PP", ".P", ".LP", ".sp", ".br", ".RS", ".RE", ".HP", ".Pp"})
_LAYOUT = frozenset(
    {".nr", ".if", ".ie", ".el", ".ne", ".nf", ".fi", ".in", ".ft", ".ad", ".na", ".PD", ".nh", ".hy"}
)
"""Requests that stand between a `.TP` and its tag."""
_HEADINGS = frozenset({".SH", ".SS", ".Sh", ".Ss"})
_ASIDE = re.compile(
    r"^(?:history|examples?|see also|authors?|bugs|environment|notes?|description)\b", re.IGNORECASE
)
_CUT = re.compile(r" {3,}| \t|\t")


def tags_of(source: str) -> str:
    """The tags of a page's paragraphs, one a line, each with two blanks before it and its metavariables in `<>`.

    `\\fB\\-o\\fR, \\fB\\-\\-output\\fR=\\fIFILE\\fR` behind a `.TP` becomes `  -o, --output=<FILE>`.
    """
    found: list[str] = []
    waiting = False
    aside = False
    for line in source.split("\n")[:MAX_LINES]:
        macro, _, rest = line.partition(" ")
        if macro in _HEADINGS:
            aside = _ASIDE.match(rest.strip(' "')) is not None and "OPTION" not in rest.upper()
            waiting = False
        elif macro in (".TP", ".TQ"):
            waiting = True
        elif macro == ".IP":
            words = _words(rest)
            if words:
                found.append(_shown(words[0], "R"))
            waiting = not words
        elif macro == ".It":
            found.append(_mdoc(_words(rest)))
        elif macro in _BREAKS:
            waiting = True
        elif line.startswith((".\\", "'\\")) or not line:
            continue
        elif waiting:
            if macro in _LAYOUT or line.startswith("'"):
                continue
            text = _line(line)
            if text.startswith("-") and not (aside and _is_prose(text)):
                found.append(text)
            waiting = False
    return "\n".join(f"  {tag}" for tag in found if tag.startswith("-"))


def _is_prose(text: str) -> bool:
    """Whether a line is a sentence about an option rather than its tag."""
    return len(text.split(" ")) > 6


def _line(line: str) -> str:
    """The text of a line, which may be a macro of fonts (`.B`, `.BR`, `.OP`)."""
    macro, _, rest = line.partition(" ")
    if not macro.startswith("."):
        return _shown(line, "R")
    if macro in _FONTS:
        return _shown(" ".join(_words(rest)), _FONTS[macro])
    if len(macro) == 3 and set(macro[1:]) <= set("BIR"):
        fonts = macro[1:]
        return _joined([_pieces(word, fonts[number % 2]) for number, word in enumerate(_words(rest))])
    if macro == ".SM" or macro == ".SB":
        return _shown(rest, "R")
    return ""


def _words(text: str) -> list[str]:
    """The arguments of a macro: blanks part them, quotes hold one together, two quotes in it are one."""
    words: list[str] = []
    index = 0
    text = text.strip(" ")
    while index < len(text):
        if text[index] == " ":
            index += 1
        elif text[index] == '"':
            word = ""
            index += 1
            while index < len(text):
                if text.startswith('""', index):
                    word += '"'
                    index += 2
                elif text[index] == '"':
                    index += 1
                    break
                else:
                    word += text[index]
                    index += 1
            words.append(word)
        else:
            end = index
            while end < len(text) and text[end] != " ":
                end += 2 if text[end] == "\\" else 1
            words.append(text[index:end])
            index = end
    return words


def _shown(text: str, font: str) -> str:
    return _joined([_pieces(text, font)])


def _joined(parts: list[list[tuple[str, bool]]]) -> str:
    """Pieces of text as one line; what is in italics, blanks apart, stands in `<>`."""
    merged: list[tuple[str, bool]] = []
    for text, italic in (piece for part in parts for piece in part):
        if merged and merged[-1][1] == italic:
            merged[-1] = (merged[-1][0] + text, italic)
        elif text:
            merged.append((text, italic))
    shown = ""
    for text, italic in merged:
        core = text.strip(" ")
        named = italic and core.strip(".,[]|=") != "" and not core.startswith("-")
        shown += text.replace(core, f"<{_CUT.sub(' ', core)}>", 1) if named else text
    return _CUT.split(shown.strip(" "), maxsplit=1)[0].replace("=[<", "[=<") if shown.strip(" ") else ""


def _pieces(text: str, font: str) -> list[tuple[str, bool]]:
    """The text in pieces of one font, without escapes; whether each is in italics."""
    found: list[tuple[str, bool]] = []
    italic, before, position = font in _ITALIC, font in _ITALIC, 0
    for match in _FONT.finditer(text):
        found.append((_plain(text[position : match.start()]), italic))
        name = match["name"] if match["name"] is not None else match["two"] or match["one"]
        before, italic = italic, (before if name in ("P", "") else name in _ITALIC)
        position = match.end()
    found.append((_plain(text[position:]), italic))
    return found


def _plain(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        name = match["two"] or match["name"]
        if name is not None:
            return _CHARACTERS.get(name, "")
        return _LITERAL.get(match["one"] or "", "")

    return _ESCAPE.sub(character, text)


def _mdoc(words: list[str]) -> str:
    """The tag of `.It Fl o Ns , Fl -output Ar file`."""
    shown = ""
    kind = ""
    dashes = ""
    glued = True
    for number, word in enumerate(words):
        if word == "Fl":  # `Fl Fl all` is `--all`
            dashes = f"{dashes}-" if number and words[number - 1] == "Fl" else "-"
            kind = word
            continue
        if word in ("Ar", "Cm", "Ic", "Op", "Oo", "Oc", "Li", "Sy", "Nm", "Em", "Xo", "Xc", "No", "Pa"):
            kind = word
            continue
        if word == "Ns":
            glued = True
            continue
        if word in (",", "|", ")"):
            shown += word
            kind = kind if kind == "Fl" else ""
            continue
        text = _plain(word)
        if text == "=":
            shown += text
            glued = True
            continue
        if kind == "Fl":
            text = f"{dashes}{text}"
            dashes = "-"
        elif kind == "Ar":
            text = f"<{text}>"
        shown += text if glued or not shown else f" {text}"
        glued = False
    return shown
