# SPDX-License-Identifier: Apache-2.0
"""All rules in one file, so that a call reads an index and the few commands it needs, and neither YAML nor the rest.

The file is text: one line that names format, code version, content hash and length of the index; the index, a line
for each name that a rule answers to; then one JSON value for each rule and for each of its subcommands. A subcommand
is read when it is asked for. JSON, not marshal or pickle: a file that somebody else wrote can at worst be a wrong
rule, and the same file serves every version of Python.

Examples and prose are left out: those who show rules read the YAML files.
"""

from __future__ import annotations

import os
from _thread import RLock

from shellguard._version import __version__
from shellguard.errors import RuleError
from shellguard.rules.model import (
    BrokenRule,
    Case,
    CommandRule,
    CredentialPaths,
    Operand,
    Option,
    Pattern,
    PolicyRule,
    Prints,
    Record,
    Runs,
    Spec,
    Variable,
    Variables,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from shellguard.rules.gates import Gates

FORMAT = 5
"""Raised whenever the model or this file changes what an older file would be read as."""

_HEAD = f"shellguard-rules {FORMAT} {__version__} "
_CLASSES = (
    *(Option, Operand, Prints, Case, Runs, Variable, Variables, Spec, CommandRule, BrokenRule),
    *(CredentialPaths, PolicyRule, Pattern),
)


def _gate_classes() -> tuple[type[Record], ...]:
    """The classes of the gates; no verdict needs them."""
    from shellguard.rules.gates import Client, Gate, Gates, Interpreter, Naming, Shape

    return (Gates, Gate, Shape, Interpreter, Client, Naming)


_NUMBERS = {kind: number for number, kind in enumerate(_CLASSES)}
_ELSEWHERE, _SET, _DICT = -1, -2, -3
_LEFT_OUT = frozenset({"examples", "summary", "judgement"})
"""Fields that no verdict needs, of the classes in which they may be left out."""

GATES = "_gates.yaml"
"""The file of the gates. It stands in the index like those of COMMON, and is read only where somebody asks."""

COMMON = ("_env.yaml", "_paths.yaml", "_policies.yaml")
"""The files that belong to no command. In the index a slash stands before them, as in no command's name."""


# --- writing ----------------------------------------------------------------------------------------------------------


def compiled_text(
    rules: Mapping[str, CommandRule | BrokenRule],
    variables: Variables,
    paths: CredentialPaths,
    policies: Mapping[str, PolicyRule],
    content: str,
    gates: Gates | None = None,
) -> bytes:
    """The file for these rules, by every name they answer to. `content` is a hash of what they were made from."""
    writer = _Writer()
    # A file may have any name, but what is not printable would be more than a line of the index, and no command's name.
    places = {name: writer.rule(rule) for name, rule in sorted(rules.items()) if name.isprintable()}
    for name, value in zip(COMMON, (variables, paths, dict(policies)), strict=True):
        places[f"/{name}"] = writer.value(value)
    if gates is not None:
        places[f"/{GATES}"] = writer.value(gates)
    index = "\n" + "".join(f"{name}\t{start}\t{length}\n" for name, (start, length) in sorted(places.items()))
    lines = index.encode()
    return f"{_HEAD}{content} {len(lines)}\n".encode() + lines + b"".join(writer.blobs)


def _number_of(kind: type[Record]) -> int:
    number = _NUMBERS.get(kind)
    return len(_CLASSES) + _gate_classes().index(kind) if number is None else number


class _Writer:
    """Blobs so far. A rule that answers to several names is written once."""

    __slots__ = ("_end", "_known", "_rules", "blobs")

    def __init__(self) -> None:
        self.blobs: list[bytes] = []
        self._end = 0
        self._rules: dict[int, tuple[int, int]] = {}
        self._known: dict[bytes, tuple[int, int]] = {}

    def rule(self, rule: CommandRule | BrokenRule) -> tuple[int, int]:
        place = self._rules.get(id(rule))
        if place is None:
            place = self._rules[id(rule)] = self.value(rule)
        return place

    def value(self, value: object) -> tuple[int, int]:
        """Writes one value, once however often it occurs; where it stands behind the index, in bytes."""
        return self._blob(self._plain(value))

    def _blob(self, plain: object) -> tuple[int, int]:
        import json

        blob = json.dumps(plain, separators=(",", ":"), ensure_ascii=True).encode()
        place = self._known.get(blob)
        if place is None:
            place = self._known[blob] = (self._end, len(blob))
            self._end += len(blob)
            self.blobs.append(blob)
        return place

    def _plain(self, value: object) -> object:
        if isinstance(value, Spec):
            return self._spec(value)
        if isinstance(value, Variables):
            entries = [self._plain(entry) for entry in value.entries()]
            return {"": _ELSEWHERE, "place": self._blob({"": _NUMBERS[Variables], "entries": entries})}
        if isinstance(value, Record):
            return self._fields(value)
        if isinstance(value, frozenset):
            return {"": _SET, "items": [self._plain(item) for item in sorted(value)]}
        if isinstance(value, dict):
            return {"": _DICT, "pairs": [[key, self._plain(item)] for key, item in value.items()]}
        if isinstance(value, tuple):
            return [self._plain(item) for item in value]
        if value is None or isinstance(value, (str, int)):
            return value
        raise TypeError(f"no rule holds a {type(value).__name__}")

    def _fields(self, record: Record, without: frozenset[str] = _LEFT_OUT) -> dict[str, object]:
        """A record as its class and the fields that are not what the class has anyway."""
        defaults = type(record).__init__.__kwdefaults__ or {}
        plain: dict[str, object] = {"": _number_of(type(record))}
        for name in record.__match_args__:
            value = getattr(record, name)
            if name not in defaults or (name not in without and value != defaults[name]):
                plain[name] = self._plain(value)
        return plain

    def _spec(self, spec: Spec) -> dict[str, object]:
        plain = self._fields(spec, _LEFT_OUT | {"options", "subcommands"})
        plain["options"] = [self._plain(option) for option in spec.distinct_options()]
        plain["subcommands"] = [[name, *self.value(below)] for name, below in spec.subcommands.items()]
        return plain


# --- reading ----------------------------------------------------------------------------------------------------------


class Compiled:
    """A compiled file, open for reading. Raises RuleError when the file is none, or made by other code.

    `content` is the hash of what it was made from. May be shared by threads.
    """

    __slots__ = ("_descriptor", "_index", "_lock", "_shared", "_start", "content", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = RLock()
        self._shared: dict[int, object] = {}
        self._descriptor = -1
        try:
            # Kept open: a file that takes its place later has other offsets.
            self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            head = self._bytes(0, 200).partition(b"\n")[0].decode("ascii", "replace")
            if not head.startswith(_HEAD):
                raise RuleError(path, 1, "made by another version of shellguard: compile the rules again")
            self.content, length = head[len(_HEAD) :].split(" ")
            self._start = len(head) + 1 + int(length)
            self._index = self._bytes(len(head) + 1, int(length))
            if len(self._index) != int(length):
                raise ValueError("it ends inside its index")
        except (OSError, ValueError) as error:
            raise RuleError(path, 1, f"no compiled rules: {error}") from None

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def _bytes(self, start: int, length: int) -> bytes:
        with self._lock:  # not os.pread, which Windows lacks
            os.lseek(self._descriptor, start, os.SEEK_SET)
            return os.read(self._descriptor, length)

    def get(self, name: str) -> CommandRule | BrokenRule | None:
        """The rule of the command `name`, or None when no rule answers to it."""
        place = None if "/" in name else self._place(name)
        if place is None:
            return None
        try:
            rule = self._value(*place)
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            return BrokenRule(name, self.path, 1, f"the compiled rule of `{name}` cannot be read: {error!r}")
        assert isinstance(rule, (CommandRule, BrokenRule))
        return rule

    def names(self) -> tuple[str, ...]:
        """Every name that some rule answers to, sorted."""
        lines = self._index.decode().split("\n")[1:-1]
        return tuple(line.partition("\t")[0] for line in lines if line[0] != "/")

    def common(self, name: str) -> object:
        """What one of COMMON says. Raises RuleError when it cannot be read."""
        place = self._place(f"/{name}")
        try:
            assert place is not None
            return self._value(*place)
        except (OSError, ValueError, KeyError, TypeError, IndexError, AssertionError) as error:
            raise RuleError(self.path, 1, f"{name} cannot be read: {error!r}") from None

    def _place(self, name: str) -> tuple[int, int] | None:
        if (
            not name.isprintable()
        ):  # a tab or newline would be found across entries; a lone surrogate has no bytes
            return None
        key = b"\n" + name.encode() + b"\t"
        at = self._index.find(key)
        if at < 0:
            return None
        start, length = self._index[at + len(key) : self._index.index(b"\n", at + 1)].split(b"\t")
        return int(start), int(length)

    def _value(self, start: int, length: int) -> object:
        return _read(self._scan(self._bytes(self._start + start, length).decode("ascii")), self)

    def shared(self, start: int, length: int) -> object:
        """A value that many others hold, such as the variables of a command and all its subcommands."""
        if start not in self._shared:
            self._shared[start] = self._value(start, length)
        return self._shared[start]

    @staticmethod
    def _scan(text: str) -> Any:
        try:
            value, end = _scanner()(text, 0)
        except StopIteration:  # what the C scanner says for no JSON at all
            raise ValueError("no value") from None
        if end != len(text):
            raise ValueError("text behind the end of a value")
        return value


class Below(dict[str, "Spec"]):
    """The subcommands of a compiled spec: a dict that reads each of them when it is first asked for."""

    __slots__ = ("_file", "_places")

    def __init__(self, places: dict[str, tuple[int, int]], file: Compiled) -> None:
        super().__init__()
        self._places, self._file = places, file

    def __missing__(self, name: str) -> Spec:
        place = self._places[name]
        spec = self._file._value(*place)
        assert isinstance(spec, Spec)
        self[name] = spec
        return spec

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self._places else default

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __len__(self) -> int:
        return len(self._places)

    def __bool__(self) -> bool:
        return bool(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def keys(self) -> Any:
        return self._places.keys()

    def values(self) -> Any:
        return [self[name] for name in self._places]

    def items(self) -> Any:
        return [(name, self[name]) for name in self._places]

    def __eq__(self, other: object) -> bool:
        return dict(self.items()) == other

    __hash__ = None


def _read(plain: Any, file: Compiled) -> Any:
    """The value that `_Writer` wrote as `plain`."""
    if isinstance(plain, list):
        return tuple([_read(item, file) for item in plain])
    if not isinstance(plain, dict):
        return plain
    number = plain.pop("")
    if number == _ELSEWHERE:
        return file.shared(*plain["place"])
    if number == _SET:
        return frozenset(plain["items"])
    if number == _DICT:
        return {key: _read(item, file) for key, item in plain["pairs"]}
    kind = _CLASSES[number] if number < len(_CLASSES) else _gate_classes()[number - len(_CLASSES)]
    if kind is Spec:
        options = [_read(option, file) for option in plain.pop("options")]
        places = {name: (start, length) for name, start, length in plain.pop("subcommands")}
        fields = {name: _read(value, file) for name, value in plain.items()}
        fields["options"] = {name: option for option in options for name in option.names}
        fields["subcommands"] = Below(places, file)
        return Spec(**fields)
    return kind(**{name: _read(value, file) for name, value in plain.items()})


_scan_once: list[Callable[[str, int], tuple[Any, int]]] = []


def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    """The C scanner behind `json`, without `json`, which loads `re` and `enum`: these cost more than a whole call."""
    if not _scan_once:
        try:
            import _json
        except ImportError:  # another Python: pay for the module
            import json

            _scan_once.append(json.JSONDecoder().raw_decode)
        else:
            settings: Any = _ScannerSettings()
            _scan_once.append(_json.make_scanner(settings))
    return _scan_once[0]


class _ScannerSettings:
    """What the C scanner asks of the decoder it belongs to."""

    __slots__ = ()
    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> float:
        raise ValueError(name)
