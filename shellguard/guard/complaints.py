# SPDX-License-Identifier: Apache-2.0
"""What is wrong in a configuration, in sentences; and the template that says all that can be set.

Not on the path of a hook: the suggestions need `difflib`.
"""

from __future__ import annotations

from shellguard.guard.config import looked_up, section_of, value_of
from shellguard.guard.keys import KEYS, PRESETS, SECTION, Key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_LIMIT_WORDS = "a whole number of at least 1, or `off`"
_KINDS = {
    "bool": "true or false",
    "limit": _LIMIT_WORDS,
    "count": "a whole number",
    "seconds": "a number of seconds",
    "names": "a list of names",
    "map": "a mapping",
}


def complaints(mapping: object) -> list[str]:
    """One sentence for each thing that is wrong; what is wrong counts as its default."""
    if not isinstance(mapping, dict):
        return [f"a mapping with the section {SECTION} is expected, not {_said(mapping)}"]
    if SECTION in mapping and not isinstance(mapping[SECTION], dict):
        return [f"{SECTION}: a mapping is expected, not {_said(mapping[SECTION])}"]
    section = section_of(mapping)
    found = [*_unknown(section)]
    for key in KEYS:
        given, value = looked_up(section, key)
        if given and value_of(key, value, key.default) is None:
            wanted = f"one of {', '.join(key.choices)}" if key.choices else _KINDS[key.kind]
            found.append(f"{key.path}: {_said(value)} is not {wanted}; the default counts")
    return found


def _unknown(section: Mapping[str, object]) -> list[str]:
    nested: dict[str, list[str]] = {}
    flat: list[str] = []
    for key in KEYS:
        outer, dot, inner = key.path.partition(".")
        if dot:
            nested.setdefault(outer, []).append(inner)
        else:
            flat.append(outer)
        if key.alias:
            flat.append(key.alias)
    found = []
    for name, value in section.items():
        if name in nested:
            if not isinstance(value, dict):
                found.append(f"{name}: a mapping is expected, not {_said(value)}; the defaults count")
                continue
            for inner in value:
                if inner not in nested[str(name)]:
                    found.append(
                        _not_known(f"{name}.{_name(inner)}", [f"{name}.{each}" for each in nested[str(name)]])
                    )
        elif name not in flat:
            every = [*flat, *nested, *(key.path for key in KEYS)]
            found.append(_not_known(_name(name), every))
    return found


def _not_known(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1, cutoff=0.6)
    return f"{name}: there is no such key" + (f"; did you mean {near[0]}?" if near else "")


def _name(value: object) -> str:
    text = value if isinstance(value, str) else _brief(value)
    return "".join([char if char.isprintable() else "?" for char in text[:80]])


def _brief(value: object) -> str:
    """A few of its items: anchors in YAML make a value of some lines that is gigabytes as text."""
    from reprlib import Repr

    brief = Repr()
    brief.maxlevel, brief.maxlist, brief.maxdict, brief.maxtuple = 3, 5, 5, 5
    return brief.repr(value)


def _said(value: object) -> str:
    return "nothing" if value is None else f"{_name(value)!r}"


def template(preset: str = "default") -> str:
    """A commented YAML file that says every key with its default. Read back, it is the default."""
    start = PRESETS[preset]
    lines = [
        "# The guard against loops. Every key is shown with its value; leave out what you do not change.",
        f"{SECTION}:",
    ]
    group = ""
    for key in KEYS:
        outer, dot, inner = key.path.partition(".")
        if dot and outer != group:
            lines += ["", f"  {outer}:"]
        group = outer if dot else ""
        value = preset if key.path == "preset" else start.get(key.path, key.default)
        indent = "    " if dot else "  "
        lines += _lines(key, inner or outer, value, indent)
    return "\n".join(lines) + "\n"


def _lines(key: Key, name: str, value: object, indent: str) -> list[str]:
    comment = f"{indent}# {key.help}" + (f" ({', '.join(key.choices)})" if key.choices else "")
    if key.kind == "names":
        # The list is added to the defaults, which are shown as a comment: to name one again changes nothing.
        assert isinstance(value, tuple)
        return [
            comment,
            *_folded(", ".join(value), f"{indent}#   "),
            f"{indent}{name}: []  # more of them; -NAME takes one out",
        ]
    if isinstance(value, dict):
        rows = [f"{indent}  {_quoted(one)}: {_shown(what)}" for one, what in value.items()]
        return [comment, f"{indent}{name}:", *rows]
    return [comment, f"{indent}{name}: {_shown(value) if key.kind != 'limit' or value else 'off'}"]


def _folded(text: str, indent: str) -> list[str]:
    lines: list[str] = []
    line = indent
    for word in text.split(" "):
        if len(line) + len(word) > 108:
            lines.append(line.rstrip())
            line = indent
        line += f"{word} "
    return [*lines, line.rstrip()]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value)


def _quoted(name: str) -> str:
    return name if name.replace("_", "").isalnum() else f'"{name}"'
