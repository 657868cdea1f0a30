# SPDX-License-Identifier: Apache-2.0
"""Small instances of everything that commands read, by the ending of their name. Made of nothing but Python where possible."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import shutil
import sqlite3
import struct
import subprocess
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

TIME = 1_700_000_000
"""The time of everything in a world: 2023-11-14, in UTC."""

TEXT = b"alpha foo 1\nbeta TODO 2\ngamma error pattern 3\na,b c def x\nfoo bar\n"
CSV = b"a,b,c,name\n1,2,3,foo\n4,5,6,bar\n"
JSON = b'{"a": 1, "b": [1, 2], "items": [{"name": "x", "id": 1}], "name": "foo", "dependencies": {}}\n'
YAML = b"a: 1\nb:\n  - x\n  - y\nname: foo\nversion: 1.0.0\n"
XML = b'<?xml version="1.0"?>\n<a><b id="1">foo</b><b id="2">bar</b></a>\n'
HTML = b"<!doctype html>\n<html><head><title>t</title></head><body><p>foo</p></body></html>\n"
DIFF = b"--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,2 @@\n-alpha foo 1\n+alpha bar 1\n beta TODO 2\n"

_MEMBERS = ("a/f.txt", "f.txt", "f", "dir/f", "src/x", "a.py", "x.py", "a:b")
"""What every archive holds."""

_TEXTS: dict[str, bytes] = {
    "csv": CSV,
    "tsv": CSV.replace(b",", b"\t"),
    "json": JSON,
    "jsonl": b'{"a": 1}\n{"a": 2}\n',
    "ipynb": b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n',
    "yaml": YAML,
    "yml": YAML,
    "toml": b'[package]\nname = "x"\nversion = "0.1.0"\n',
    "ini": b"[a]\nb = 1\n",
    "cfg": b"[a]\nb = 1\n",
    "xml": XML,
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="2" height="2"/>\n',
    "xsd": b'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a"/></xs:schema>\n',
    "html": HTML,
    "htm": HTML,
    "md": b"# Title\n\nText with *foo*.\n",
    "diff": DIFF,
    "patch": DIFF,
    "sql": b"select 1;\n",
    "py": b'"""A module."""\n\n\ndef f(x: int) -> int:\n    return x  # TODO\n',
    "pyi": b"def f(x: int) -> int: ...\n",
    "sh": b"#!/bin/sh\necho foo\n",
    "bash": b"#!/bin/bash\necho foo\n",
    "js": b"// TODO\nconst x = 1;\n",
    "mjs": b"export const x = 1;\n",
    "ts": b"const x: number = 1;\n",
    "c": b"//go:build ignore\n\n/* TODO */\nint main(void) { return 0; }\n",
    "h": b"int f(int);\n",
    "cpp": b"int main() { return 0; }\n",
    "go": b'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("x") }\n',
    "rs": b"fn main() {}\n",
    "rb": b"puts 1\n",
    "pl": b"print 1;\n",
    "php": b"<?php echo 1;\n",
    "lua": b"print(1)\n",
    "java": b"class Foo { public static void main(String[] a) {} }\n",
    "tf": b'variable "a" { default = 1 }\n',
    "proto": b'syntax = "proto3";\nmessage A { int32 b = 1; }\n',
    "dot": b"digraph { a -> b }\n",
    "tex": b"\\documentclass{article}\\begin{document}x\\end{document}\n",
    "awk": b"{ print $1 }\n",
    "sed": b"s/a/b/\n",
    "jq": b".a\n",
    "env": b"FOO=1\n",
    "log": b"2023-11-14 22:13:20 INFO start\n2023-11-14 22:13:21 ERROR foo\n",
    "conf": b"a = 1\n",
    "lock": b"",
    "pid": b"1\n",
}


_NAMED: dict[str, bytes] = {
    "hex.txt": b"00000000: 666f 6f0a                                foo.\n",
    "format": b'16/1 "%02x " "\\n"\n',
    "conf": b"# a\n",
    "rc": b"[Fields Display]\nPerm\n[Mapping]\nShowPath\n",
    "magic": b"0\tstring\talpha\ttext\n",
    "pod.yaml": b"apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n",
    "a.dtd": b"<!ELEMENT a (b*)>\n<!ELEMENT b (#PCDATA)>\n<!ATTLIST b id CDATA #IMPLIED>\n",
    "terraform.tfstate": json.dumps(
        {
            "version": 4,
            "terraform_version": "1.0.0",
            "serial": 1,
            "lineage": "x",
            "outputs": {name: {"value": "b", "type": "string"} for name in ("a", "name")},
            "resources": [],
        }
    ).encode(),
}
"""Files whose name says more than its ending."""


def knows(name: str) -> bool:
    """Whether the ending of a name says what the file holds."""
    lower = name.lower()
    return lower.rpartition(".")[2] in _TEXTS or any(lower.endswith(f".{ending}") for ending in _MADE)


@cache
def sample(name: str) -> bytes:
    """The content of a file of this name; text where nothing is known of its ending."""
    lower = name.lower().rpartition("/")[2]
    if lower in ("key", "id_rsa"):
        return pem("key")
    if lower in _NAMED:
        return _NAMED[lower]
    for ending, make in _MADE.items():
        if lower.endswith(f".{ending}"):
            return make()
    return _TEXTS.get(lower.rpartition(".")[2], TEXT)


def _tar(mode: str) -> Callable[[], bytes]:
    def made() -> bytes:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
            for member in _MEMBERS:
                info = tarfile.TarInfo(member)
                info.size, info.mtime = len(TEXT), TIME
                archive.addfile(info, io.BytesIO(TEXT))
        return stream.getvalue()

    return made


def _zip(*members: tuple[str, bytes]) -> Callable[[], bytes]:
    def made() -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, content in members:
                archive.writestr(zipfile.ZipInfo(member, (2023, 11, 14, 22, 13, 20)), content)
        return stream.getvalue()

    return made


def _by(program: str, *args: str, output: str | None = None) -> Callable[[], bytes]:
    """What a program makes of the text on its input, or writes to its file `output`; nothing where it is absent."""

    def made() -> bytes:
        if shutil.which(program) is None:
            return b""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "f.txt").write_bytes(TEXT)
            (Path(folder) / "x.c").write_bytes(b"int f(int a) { return a + 1; }\n")
            done = subprocess.run(
                [program, *args], cwd=folder, input=TEXT, capture_output=True, check=False, timeout=20
            )
            if output is None:
                return done.stdout
            path = Path(folder) / output
            return path.read_bytes() if path.is_file() else b""

    return made


def _sqlite() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.db"
        base = sqlite3.connect(path)
        base.executescript("create table t(a, b, name); insert into t values (1, 2, 'foo'), (3, 4, 'bar');")
        base.close()
        return path.read_bytes()


def _png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\xff\0\0" * 4 for _ in range(4))
    header = struct.pack(">IIBBBBB", 4, 4, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def _wav() -> bytes:
    data = bytes(800)
    return (
        b"RIFF"
        + struct.pack("<I", 36 + len(data))
        + b"WAVEfmt "
        + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
        + b"data"
        + struct.pack("<I", len(data))
        + data
    )


def _pdf() -> bytes:
    body = (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>endobj\n"
    )
    start = len(body)
    table = b"xref\n0 4\n0000000000 65535 f \n"
    for number in (b"1 0", b"2 0", b"3 0"):
        table += b"%010d 00000 n \n" % body.index(number + b" obj")
    return body + table + b"trailer<</Size 4/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % start


def _executable() -> bytes:
    return Path("/bin/true").read_bytes() if Path("/bin/true").is_file() else b""


@cache
def pem(kind: str) -> bytes:
    """A key, certificate, request, public key, revocation list or signature of one small authority, by openssl."""
    return _pems().get(kind, b"")


@cache
def _pems() -> dict[str, bytes]:
    if shutil.which("openssl") is None:
        return {}
    steps = [
        "genrsa -out key 2048",
        "rsa -in key -pubout -out pub",
        "req -new -x509 -key key -subj /CN=example.org -days 36500 -out cert",
        "req -new -key key -subj /CN=example.org -out csr",
        "dgst -sha256 -sign key -out sig f.txt",
        "pkcs12 -export -in cert -inkey key -passout pass: -out p12",
        "x509 -in cert -outform DER -out der",
        "dhparam -out dh -dsaparam 1024",
        "ecparam -name prime256v1 -genkey -out ec",
        "genpkey -algorithm ed25519 -out ed",
        "smime -sign -in f.txt -signer cert -inkey key -out smime",
        "crl2pkcs7 -nocrl -certfile cert -out p7",
        "dsaparam -out dsaparam 1024",
        "gendsa -out dsa dsaparam",
    ]
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "f.txt").write_bytes(TEXT)
        (base / "index.txt").write_bytes(b"")
        (base / "crlnumber").write_bytes(b"01\n")
        (base / "ca.cnf").write_text(
            "[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\ncrlnumber=crlnumber\ndefault_md=sha256\ndefault_crl_days=36500\n"
        )
        steps.append("ca -config ca.cnf -gencrl -keyfile key -cert cert -out crl")
        for step in steps:
            subprocess.run(
                ["openssl", *step.split()], cwd=folder, capture_output=True, check=False, timeout=60
            )
        return {path.name: path.read_bytes() for path in base.iterdir() if path.is_file()}


_MADE: dict[str, Callable[[], bytes]] = {
    "tar.gz": _tar("w:gz"),
    "tgz": _tar("w:gz"),
    "tar.bz2": _tar("w:bz2"),
    "tbz2": _tar("w:bz2"),
    "tar.xz": _tar("w:xz"),
    "txz": _tar("w:xz"),
    "tar.zst": _by("tar", "--zstd", "-cf", "-", "f.txt"),
    "tar": _tar("w"),
    "crate": _tar("w:gz"),
    "zip": _zip(*((member, TEXT) for member in _MEMBERS)),
    "whl": _zip(("a.py", b"x = 1\n"), ("a-1.dist-info/METADATA", b"Name: a\nVersion: 1\n")),
    "jar": _zip(
        ("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\n"), ("Foo.class", b"\xca\xfe\xba\xbe\0\0\0\x34")
    ),
    "war": _zip(("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\n")),
    "epub": _zip(("mimetype", b"application/epub+zip")),
    "docx": _zip(("word/document.xml", XML)),
    "xlsx": _zip(("xl/workbook.xml", XML)),
    "apk": _zip(("AndroidManifest.xml", XML)),
    "gz": lambda: gzip.compress(TEXT, mtime=TIME),
    "z": lambda: gzip.compress(TEXT, mtime=TIME),
    "bz2": lambda: bz2.compress(TEXT),
    "xz": lambda: lzma.compress(TEXT),
    "lzma": lambda: lzma.compress(TEXT, format=lzma.FORMAT_ALONE),
    "zst": _by("zstd", "-c"),
    "lz4": _by("lz4", "-c"),
    "lz": _by("lzip", "-c"),
    "br": _by("brotli", "-c"),
    "lzo": _by("lzop", "-c"),
    "7z": _by("7z", "a", "o.7z", "f.txt", output="o.7z"),
    "rar": _by("rar", "a", "o.rar", "f.txt", output="o.rar"),
    "cpio": _by("sh", "-c", "echo f.txt | cpio -o 2>/dev/null"),
    "deb": _by(
        "sh",
        "-c",
        "mkdir -p d/DEBIAN; printf 'Package: a\\nVersion: 1\\nArchitecture: all\\nMaintainer: x <x@example.org>\\n"
        "Description: a\\n' >d/DEBIAN/control; dpkg-deb -b d o.deb",
        output="o.deb",
    ),
    "rpm": _by(
        "sh",
        "-c",
        "printf 'Name: a\\nVersion: 1\\nRelease: 1\\nSummary: a\\nLicense: x\\nBuildArch: noarch\\n"
        "%%description\\na\\n%%files\\n' >a.spec && "
        'rpmbuild --define "_topdir $PWD" -bb a.spec >/dev/null && cp RPMS/noarch/*.rpm o.rpm',
        output="o.rpm",
    ),
    "db": _sqlite,
    "sqlite": _sqlite,
    "sqlite3": _sqlite,
    "png": _png,
    "jpg": _by("convert", "-size", "4x4", "xc:red", "o.jpg", output="o.jpg"),
    "jpeg": _by("convert", "-size", "4x4", "xc:red", "o.jpg", output="o.jpg"),
    "gif": lambda: b"GIF89a\x01\0\x01\0\x80\0\0\xff\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;",
    "wav": _wav,
    "mp3": _by("ffmpeg", "-f", "lavfi", "-i", "anullsrc", "-t", "0.1", "o.mp3", output="o.mp3"),
    "mp4": _by("ffmpeg", "-f", "lavfi", "-i", "color=red:s=16x16", "-t", "0.1", "o.mp4", output="o.mp4"),
    "mkv": _by("ffmpeg", "-f", "lavfi", "-i", "color=red:s=16x16", "-t", "0.1", "o.mkv", output="o.mkv"),
    "pdf": _pdf,
    "o": _by("cc", "-g", "-c", "x.c", "-o", "o.o", output="o.o"),
    "a": _by("sh", "-c", "cc -c x.c -o x.o && ar rcD o.a x.o", output="o.a"),
    "so": _by("cc", "-g", "-shared", "x.c", "-o", "o.so", output="o.so"),
    "out": _executable,
    "elf": _executable,
    "exe": _executable,
    "class": _by("sh", "-c", "printf 'class Foo { int f; }' >Foo.java && javac Foo.java", output="Foo.class"),
    "bc": _by("clang", "-c", "-emit-llvm", "x.c", "-o", "o.bc", output="o.bc"),
    "pyc": _by(
        "python3",
        "-c",
        "import sys,marshal,importlib._bootstrap_external as b;"
        "sys.stdout.buffer.write(b._code_to_timestamp_pyc(compile('x=1','a','exec')))",
    ),
    "csr": lambda: pem("csr"),
    "crl": lambda: pem("crl"),
    "sig": lambda: pem("sig"),
    "crt": lambda: pem("cert"),
    "cer": lambda: pem("cert"),
    "der": lambda: pem("der"),
    "p12": lambda: pem("p12"),
    "pfx": lambda: pem("p12"),
    "p7b": lambda: pem("p7"),
    "key": lambda: pem("key"),
    "pem": lambda: pem("cert"),
    "pub": lambda: pem("pub"),
    "bundle": _by(
        "sh",
        "-c",
        "git init -q . && git add f.txt && git -c user.name=x -c user.email=x@example.org commit -qm x && "
        "git bundle create -q o.bundle HEAD",
        output="o.bundle",
    ),
}
