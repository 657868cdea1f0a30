# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the system's message bus, and for the services on it that `systemctl` and its kin ask.

It speaks the wire format of the D-Bus specification (little-endian messages, the EXTERNAL mechanism), notes every
method that is called, and answers with values of the right type: so `systemctl status` and `systemctl stop` can be told
apart by what they ask for.
"""

from __future__ import annotations

import json
import os
import socket
import socketserver
import struct
import tempfile
from collections.abc import Callable
from typing import Any

CALL, REPLY, ERROR = 1, 2, 3
NO_REPLY_EXPECTED = 1

_FIXED = {"y": "B", "b": "I", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d", "h": "I"}
_ALIGNED = {"y": 1, "b": 4, "n": 2, "q": 2, "i": 4, "u": 4, "x": 8, "t": 8, "d": 8, "h": 4}
_ALIGNED |= {"s": 4, "o": 4, "g": 1, "v": 1, "a": 4, "(": 8, "{": 8}


# --- the wire format ----------------------------------------------------------------------------------------------


def single(signature: str) -> tuple[str, str]:
    """The first complete type of a signature, and the rest."""
    depth = 0
    for place, letter in enumerate(signature):
        depth += letter in "({"
        depth -= letter in ")}"
        if depth == 0 and letter != "a":
            return signature[: place + 1], signature[place + 1 :]
    raise ValueError(f"signature {signature!r}")


def packed(signature: str, values: tuple[Any, ...], start: int = 0) -> bytes:
    """Values as they stand on the wire. A variant is (signature, value).

    `start` is where they begin: what is written there depends on it by its padding.
    """
    out = bytearray(start)
    for value in values:
        kind, signature = single(signature)
        _pack(out, kind, value)
    return bytes(out[start:])


def _pack(out: bytearray, kind: str, value: Any) -> None:
    out += bytes(-len(out) % _ALIGNED[kind[0]])
    if kind in _FIXED:
        out += struct.pack(f"<{_FIXED[kind]}", value)
    elif kind in "so":
        data = value.encode()
        out += struct.pack("<I", len(data)) + data + b"\0"
    elif kind == "g":
        out += bytes([len(value)]) + value.encode() + b"\0"
    elif kind == "v":
        _pack(out, "g", value[0])
        _pack(out, value[0], value[1])
    elif kind[0] == "a":
        place = len(out)
        out += b"\0\0\0\0" + bytes(-(place + 4) % _ALIGNED[kind[1]])
        begun = len(out)
        for each in value.items() if isinstance(value, dict) else value:
            _pack(out, kind[1:], each)
        out[place : place + 4] = struct.pack("<I", len(out) - begun)
    else:
        rest = kind[1:-1]
        for each in value:
            first, rest = single(rest)
            _pack(out, first, each)


def unpacked(signature: str, data: bytes, place: int = 0) -> list[Any]:
    """The values of a body, or of another part that begins at `place`."""
    values = []
    while signature:
        kind, signature = single(signature)
        value, place = _unpack(kind, data, place)
        values.append(value)
    return values


def _unpack(kind: str, data: bytes, place: int) -> tuple[Any, int]:
    place += -place % _ALIGNED[kind[0]]
    if kind in _FIXED:
        size = struct.calcsize(f"<{_FIXED[kind]}")
        return struct.unpack_from(f"<{_FIXED[kind]}", data, place)[0], place + size
    if kind in "sog":
        size = data[place] if kind == "g" else struct.unpack_from("<I", data, place)[0]
        place += 1 if kind == "g" else 4
        return data[place : place + size].decode("utf-8", "replace"), place + size + 1
    if kind == "v":
        inner, place = _unpack("g", data, place)
        return _unpack(inner, data, place)
    if kind[0] == "a":
        size = struct.unpack_from("<I", data, place)[0]
        place += 4
        place += -place % _ALIGNED[kind[1]]
        end, found = place + size, []
        while place < end:
            value, place = _unpack(kind[1:], data, place)
            found.append(value)
        return found, place
    found, rest = [], kind[1:-1]
    while rest:
        first, rest = single(rest)
        value, place = _unpack(first, data, place)
        found.append(value)
    return found, place


def message(kind: int, serial: int, fields: dict[int, tuple[str, Any]], signature: str, body: bytes) -> bytes:
    """A whole message: `fields` are those of the header by number, without the signature."""
    if signature:
        fields = fields | {8: ("g", signature)}
    head = struct.pack("<cBBBII", b"l", kind, 0, 1, len(body), serial)
    head += packed("a(yv)", ([(number, value) for number, value in fields.items()],), len(head))
    return head + bytes(-len(head) % 8) + body


# --- what is answered ---------------------------------------------------------------------------------------------

_UNIT = "/org/freedesktop/systemd1/unit/x_2eservice"
_UNITS = [
    (name, text, "loaded", "active", sub, "", _UNIT, 0, "", "/")
    for name, text, sub in (
        ("ssh.service", "OpenBSD Secure Shell server", "running"),
        ("x.service", "x", "running"),
        ("x.timer", "x", "waiting"),
        ("multi-user.target", "Multi-User System", "active"),
    )
]
_UNIT_FILES = [("/lib/systemd/system/ssh.service", "enabled"), ("/lib/systemd/system/x.service", "static")]

Answer = tuple[str, tuple[Any, ...]]
"""The signature of a reply, and its values."""

_ANSWERS: dict[str, Answer] = {
    "Hello": ("s", (":1.1",)),
    "GetId": ("s", ("0" * 32,)),
    "GetMachineId": ("s", ("0" * 32,)),
    "RequestName": ("u", (1,)),
    "ReleaseName": ("u", (1,)),
    "StartServiceByName": ("u", (2,)),
    "GetNameOwner": ("s", (":1.2",)),
    "NameHasOwner": ("b", (True,)),
    "ListNames": ("as", (["org.freedesktop.DBus", "org.freedesktop.systemd1", ":1.1"],)),
    "ListActivatableNames": ("as", (["org.freedesktop.systemd1"],)),
    "GetConnectionUnixUser": ("u", (0,)),
    "GetConnectionUnixProcessID": ("u", (1,)),
    "ListUnits": ("a(ssssssouso)", (_UNITS,)),
    "ListUnitsFiltered": ("a(ssssssouso)", (_UNITS,)),
    "ListUnitsByPatterns": ("a(ssssssouso)", (_UNITS,)),
    "ListUnitsByNames": ("a(ssssssouso)", (_UNITS,)),
    "ListUnitFiles": ("a(ss)", (_UNIT_FILES,)),
    "ListUnitFilesByPatterns": ("a(ss)", (_UNIT_FILES,)),
    "ListJobs": ("a(usssoo)", ([],)),
    "GetUnit": ("o", (_UNIT,)),
    "LoadUnit": ("o", (_UNIT,)),
    "GetUnitByPID": ("o", (_UNIT,)),
    "GetUnitByPIDFD": ("osay", (_UNIT, "x.service", [])),
    "GetUnitFileState": ("s", ("enabled",)),
    "GetDefaultTarget": ("s", ("graphical.target",)),
    "GetUnitProcesses": ("a(sus)", ([],)),
    "ListSessions": ("a(susso)", ([("1", 1000, "user", "seat0", "/org/freedesktop/login1/session/_31")],)),
    "ListUsers": ("a(uso)", ([(1000, "user", "/org/freedesktop/login1/user/_1000")],)),
    "ListSeats": ("a(so)", ([("seat0", "/org/freedesktop/login1/seat/seat0")],)),
    "ListInhibitors": ("a(ssssuu)", ([("sleep", "x", "y", "block", 1000, 1)],)),
    "GetUser": ("o", ("/org/freedesktop/login1/user/_1000",)),
    "GetSession": ("o", ("/org/freedesktop/login1/session/_31",)),
    "GetSessionByPID": ("o", ("/org/freedesktop/login1/session/_31",)),
    "GetSeat": ("o", ("/org/freedesktop/login1/seat/seat0",)),
    "GetLink": ("o", ("/org/freedesktop/resolve1/link/_31",)),
    "ResolveHostname": ("a(iiay)st", ([(2, 2, [127, 0, 0, 1])], "example.org", 1)),
    "ResolveAddress": ("a(is)t", ([(2, "example.org")], 1)),
    "GetManagedObjects": (
        "a{oa{sa{sv}}}",
        (
            {
                "/org/bluez/hci0": {
                    "org.bluez.Adapter1": {
                        "Address": ("s", "AA:BB:CC:DD:EE:00"),
                        "Name": ("s", "box"),
                        "Alias": ("s", "box"),
                        "Powered": ("b", True),
                    },
                },
                "/org/bluez/hci0/dev_AA": {
                    "org.bluez.Device1": {
                        "Address": ("s", "AA:BB:CC:DD:EE:FF"),
                        "Name": ("s", "x"),
                        "Alias": ("s", "x"),
                        "Paired": ("b", True),
                        "Adapter": ("o", "/org/bluez/hci0"),
                    },
                },
            },
        ),
    ),
    "GetAllChassis": ("s", ("vm",)),
    "Introspect": ("s", ("<node/>",)),
}
"""By the name of the method alone: no two services that are asked here mean different things by one name."""

_PROPERTIES: dict[str, dict[str, tuple[str, Any]]] = {
    "org.freedesktop.systemd1.Unit": {
        "Id": ("s", "x.service"),
        "Names": ("as", ["x.service"]),
        "Description": ("s", "x"),
        "LoadState": ("s", "loaded"),
        "ActiveState": ("s", "active"),
        "SubState": ("s", "running"),
        "UnitFileState": ("s", "enabled"),
        "UnitFilePreset": ("s", "enabled"),
        "FragmentPath": ("s", "/usr/lib/systemd/system/systemd-journald.service"),
        "Documentation": ("as", ["man:systemctl(1)"]),
        "NeedDaemonReload": ("b", False),
        "DropInPaths": ("as", []),
        "CanReload": ("b", True),
        "Triggers": ("as", ["x.service"]),
    },
    "org.freedesktop.systemd1.Service": {
        "MainPID": ("u", 1),
        "Type": ("s", "simple"),
        "ExecMainPID": ("u", 1),
    },
    "org.freedesktop.systemd1.Timer": {
        "NextElapseUSecMonotonic": ("t", 1),
        "NextElapseUSecRealtime": ("t", 1),
        "LastTriggerUSec": ("t", 1),
    },
    "org.freedesktop.systemd1.Manager": {
        "Version": ("s", "252"),
        "LogLevel": ("s", "info"),
        "LogTarget": ("s", "journal"),
        "SystemState": ("s", "running"),
        "NFailedUnits": ("u", 0),
        "NNames": ("u", 4),
        "NJobs": ("u", 0),
        "Environment": ("as", ["LANG=C.UTF-8"]),
        "UserspaceTimestamp": ("t", 1),
        "ControlGroup": ("s", ""),
    },
    "org.freedesktop.login1.User": {
        "UID": ("u", 1000),
        "GID": ("u", 1000),
        "Name": ("s", "user"),
        "State": ("s", "active"),
        "Linger": ("b", False),
        "Sessions": ("a(so)", []),
    },
    "org.freedesktop.login1.Session": {
        "Id": ("s", "1"),
        "Name": ("s", "user"),
        "State": ("s", "active"),
        "Active": ("b", True),
        "TTY": ("s", "tty1"),
        "Type": ("s", "tty"),
        "Class": ("s", "user"),
        "User": ("(uo)", (1000, "/org/freedesktop/login1/user/_1000")),
        "Seat": ("(so)", ("seat0", "/org/freedesktop/login1/seat/seat0")),
    },
    "org.freedesktop.timedate1": {
        "Timezone": ("s", "UTC"),
        "LocalRTC": ("b", False),
        "CanNTP": ("b", True),
        "NTP": ("b", True),
        "NTPSynchronized": ("b", True),
        "TimeUSec": ("t", 1_700_000_000_000_000),
        "RTCTimeUSec": ("t", 1_700_000_000_000_000),
    },
    "org.freedesktop.timesync1.Manager": {
        "ServerName": ("s", "ntp.example.org"),
        "ServerAddress": ("(iay)", (2, [127, 0, 0, 1])),
        "NTPMessage": ("(uuuuittayttttbtt)", (0, 4, 4, 2, -20, 1, 1, [1, 2, 3, 4], 1, 1, 1, 1, False, 1, 1)),
        "PollIntervalUSec": ("t", 64_000_000),
        "PollIntervalMinUSec": ("t", 32_000_000),
        "PollIntervalMaxUSec": ("t", 2_048_000_000),
        "RootDistanceMaxUSec": ("t", 5_000_000),
        "Frequency": ("x", 1),
    },
    "org.freedesktop.locale1": {
        "Locale": ("as", ["LANG=C.UTF-8"]),
        "VConsoleKeymap": ("s", "us"),
        "X11Layout": ("s", "us"),
    },
    "org.freedesktop.hostname1": {
        "Hostname": ("s", "box"),
        "StaticHostname": ("s", "box"),
        "PrettyHostname": ("s", ""),
        "Chassis": ("s", "vm"),
        "KernelName": ("s", "Linux"),
        "KernelRelease": ("s", "6.1"),
        "OperatingSystemPrettyName": ("s", "Linux"),
    },
    "org.freedesktop.resolve1.Manager": {
        "LLMNR": ("s", "no"),
        "MulticastDNS": ("s", "no"),
        "DNSOverTLS": ("s", "no"),
        "DNSSEC": ("s", "no"),
        "ResolvConfMode": ("s", "stub"),
        "DNS": ("a(iiay)", [(0, 2, [127, 0, 0, 1])]),
        "DNSEx": ("a(iiayqs)", [(0, 2, [127, 0, 0, 1], 53, "")]),
        "Domains": ("a(isb)", []),
        "DNSSECSupported": ("b", False),
        "TransactionStatistics": ("(tt)", (0, 1)),
        "CacheStatistics": ("(ttt)", (1, 1, 1)),
        "DNSSECStatistics": ("(tttt)", (1, 1, 1, 1)),
    },
    "org.freedesktop.resolve1.Link": {
        "ScopesMask": ("t", 1),
        "LLMNR": ("s", "no"),
        "DNSSEC": ("s", "no"),
        "DNS": ("a(iay)", [(2, [127, 0, 0, 1])]),
        "DNSEx": ("a(iayqs)", [(2, [127, 0, 0, 1], 53, "")]),
        "Domains": ("a(sb)", []),
        "DefaultRoute": ("b", True),
    },
    "org.freedesktop.network1.Manager": {
        "OperationalState": ("s", "routable"),
        "CarrierState": ("s", "carrier"),
        "AddressState": ("s", "routable"),
        "OnlineState": ("s", "online"),
    },
    "org.freedesktop.LogControl1": {
        "LogLevel": ("s", "info"),
        "LogTarget": ("s", "journal"),
        "SyslogIdentifier": ("s", "x"),
    },
}


_PLACES = {
    "/org/freedesktop/systemd1/unit/": ("systemd1.Unit", "systemd1.Service", "systemd1.Timer"),
    "/org/freedesktop/systemd1": ("systemd1.Manager",),
    "/org/freedesktop/login1/user/": ("login1.User",),
    "/org/freedesktop/login1/session/": ("login1.Session",),
    "/org/freedesktop/resolve1/link/": ("resolve1.Link",),
    "/org/freedesktop/resolve1": ("resolve1.Manager",),
    "/org/freedesktop/timedate1": ("timedate1",),
    "/org/freedesktop/timesync1": ("timesync1.Manager",),
    "/org/freedesktop/hostname1": ("hostname1",),
    "/org/freedesktop/locale1": ("locale1",),
    "/org/freedesktop/network1": ("network1.Manager",),
    "/org/freedesktop/LogControl1": ("LogControl1",),
}
"""By the beginning of an object's path the interfaces that it has: a caller may ask for all at once."""


def _known(interface: str, path: str) -> dict[str, tuple[str, Any]]:
    if interface:
        return _PROPERTIES.get(interface, {})
    for beginning, names in _PLACES.items():
        if path.startswith(beginning):
            return {
                key: value for name in names for key, value in _PROPERTIES[f"org.freedesktop.{name}"].items()
            }
    return {}


def answer(interface: str, member: str, body: list[Any], path: str = "/") -> Answer | None:
    """What the object at `path` says to a call; None where nobody knows the method."""
    if interface == "org.freedesktop.DBus.Properties":
        known = _known(body[0], path)
        if member == "GetAll":
            return "a{sv}", (known,)
        if member == "Get":
            return ("v", (known[body[1]],)) if body[1] in known else None
        return "", ()
    if member == "ResolveRecord":
        kind = body[3] if len(body) > 3 else 1
        owner = b"\x07example\x03org\x00"
        data = {15: b"\0\x0a" + owner, 1: b"\x7f\0\0\1", 52: b"\3\1\1" + bytes(32)}.get(kind, owner)
        record = owner + struct.pack(">HHIH", kind, 1, 60, len(data)) + data
        return "a(iqqay)t", ([(2, 1, kind, list(record))], 1)
    if member == "Describe":
        known = _PROPERTIES["org.freedesktop.hostname1"]
        return "s", (json.dumps({name: value[1] for name, value in known.items()} | {"Interfaces": []}),)
    return _ANSWERS.get(
        member, None if interface.startswith("org.freedesktop.DBus") and member[:3] != "Add" else ("", ())
    )


# --- the server ---------------------------------------------------------------------------------------------------


def handler(log: Callable[..., None]) -> type[socketserver.BaseRequestHandler]:
    """The class that serves one client of the bus; `log` is told of every method that is called."""

    class Bus(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.link: socket.socket = self.request
            self.link.settimeout(20)
            self.serial = 0
            self.buffer = b""
            try:
                if self._greet():
                    while head := self._exactly(16):
                        self._serve(head)
            except (OSError, ValueError, struct.error, IndexError):
                return  # a client that left, or that speaks otherwise

        def _more(self) -> bool:
            part = self.link.recv(65536)
            self.buffer += part
            return bool(part)

        def _exactly(self, size: int) -> bytes:
            while len(self.buffer) < size:
                if not self._more():
                    return b""
            taken, self.buffer = self.buffer[:size], self.buffer[size:]
            return taken

        def _greet(self) -> bool:
            while True:
                while b"\r\n" not in self.buffer:
                    if not self._more():
                        return False
                line, _, self.buffer = self.buffer.partition(b"\r\n")
                words = line.lstrip(b"\0").split()
                if words[:1] == [b"BEGIN"]:
                    return True
                if words[:1] == [b"AUTH"]:
                    known = words[1:2] == [b"EXTERNAL"]
                    reply = (b"OK " + b"0" * 32 if words[2:] else b"DATA") if known else b"REJECTED EXTERNAL"
                elif words[:1] == [b"DATA"]:
                    reply = b"OK " + b"0" * 32
                elif words[:1] == [b"NEGOTIATE_UNIX_FD"]:
                    reply = b"AGREE_UNIX_FD"
                else:
                    reply = b"ERROR"
                self.link.sendall(reply + b"\r\n")

        def _serve(self, head: bytes) -> None:
            if head[:1] != b"l":
                raise ValueError("a big-endian message")
            _, kind, flags, _, size, serial, length = struct.unpack("<cBBBIII", head)
            fields_raw = head + self._exactly(length + -length % 8)
            fields = dict(unpacked("a(yv)", fields_raw, 12)[0])
            body = self._exactly(size) if size else b""
            if kind != CALL:
                return
            interface, member = fields.get(2, ""), fields.get(3, "")
            values = unpacked(fields.get(8, ""), body)
            log("dbus", f"{interface}.{member}", method=member, body=json.dumps(values, default=str)[:300])
            if flags & NO_REPLY_EXPECTED:
                return
            self.serial += 1
            sender = "org.freedesktop.DBus" if interface == "org.freedesktop.DBus" else ":1.2"
            told = {5: ("u", serial), 6: ("s", ":1.1"), 7: ("s", sender)}
            if member == "Inhibit":
                self._lend(told)
                return
            reply = answer(interface, member, values, fields.get(1, "/"))
            if reply is None:
                told[4] = ("s", "org.freedesktop.DBus.Error.UnknownMethod")
                self.link.sendall(message(ERROR, self.serial, told, "s", packed("s", ("unknown",))))
            else:
                signature, content = reply
                self.link.sendall(message(REPLY, self.serial, told, signature, packed(signature, content)))

        def _lend(self, told: dict[int, tuple[str, Any]]) -> None:
            """An answer that is a descriptor: what an inhibitor holds while it lasts."""
            with tempfile.TemporaryFile() as lock:
                data = message(REPLY, self.serial, told | {9: ("u", 1)}, "h", packed("h", (0,)))
                socket.send_fds(self.link, [data], [os.dup(lock.fileno())])

    return Bus
