# SPDX-License-Identifier: Apache-2.0
r"""The escapes of `$'...'`. Source: bash manual, "ANSI-C Quoting", and bash 5.2 where the manual is silent."""

from __future__ import annotations

_SIMPLE = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
_OCTAL = frozenset("01234567")
_HEX = frozenset("0123456789abcdefABCDEF")
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}


def decode_ansi(raw: str) -> str | None:
    r"""What `$'raw'` stands for; None where bash's outcome is not modelled: `\c`, text behind a NUL, no such character.

    Bytes given by `\x` and octal escapes are read as UTF-8; those that are none become lone surrogates (PEP 383).
    """
    if "\\" not in raw:
        return raw
    out = bytearray()
    pos = 0
    while pos < len(raw):
        char = raw[pos]
        pos += 1
        if char != "\\" or pos == len(raw):
            out += char.encode("utf-8", "surrogatepass")
            continue
        kind = raw[pos]
        pos += 1
        if kind in _SIMPLE:
            out += _SIMPLE[kind].encode()
        elif kind in _OCTAL:
            end = _run(raw, pos - 1, _OCTAL, 3)
            code = int(raw[pos - 1 : end], 8) & 0xFF
            pos = end
            if not code:
                return _before_nul(out, raw[pos:])
            out.append(code)
        elif kind in _HEX_DIGITS:
            end = _run(raw, pos, _HEX, _HEX_DIGITS[kind])
            if end == pos or raw[pos : pos + 1] == "{":
                return None
            code = int(raw[pos:end], 16)
            pos = end
            if not code:
                return _before_nul(out, raw[pos:])
            if code > 0x10FFFF or 0xD800 <= code < 0xE000:
                return None
            out += bytes([code]) if kind == "x" else chr(code).encode()
        elif kind == "c":
            return None
        else:
            out += b"\\" + kind.encode("utf-8", "surrogatepass")
    return out.decode("utf-8", "surrogateescape")


def _before_nul(out: bytearray, rest: str) -> str | None:
    r"""A NUL ends the string. `read -d $'\0'` is an everyday spelling of the empty text.

    With more behind it, it is a trick.
    """
    return None if rest else out.decode("utf-8", "surrogateescape")


def encode_ansi(text: str) -> str:
    r"""`$'...'` around escapes that `decode_ansi` reads back to `text`."""
    out = []
    for char in text:
        code = ord(char)
        if char in "\\'":
            out.append("\\" + char)
        elif 0xDC80 <= code < 0xDD00:
            out.append(f"\\x{code - 0xDC00:02x}")
        elif code < 0x20 or code == 0x7F:
            out.append(f"\\{code:03o}")
        else:
            out.append(char)
    return "$'" + "".join(out) + "'"


def _run(text: str, start: int, allowed: frozenset[str], most: int) -> int:
    end = start
    while end < len(text) and end - start < most and text[end] in allowed:
        end += 1
    return end
