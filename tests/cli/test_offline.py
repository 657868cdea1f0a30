# SPDX-License-Identifier: Apache-2.0
"""The commands that judge make no connection and start no program: both are forbidden here, by Python itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

FORBIDDEN = """
import sys

STARTS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system"}

def refuse(event, arguments):
    if event.startswith(("socket.", "subprocess.", "pty.")) or event in STARTS:
        # Not an Exception: no handler may swallow it.
        sys.stderr.write("REFUSED " + event)
        sys.stderr.flush()
        raise KeyboardInterrupt(event)

import socket

class NoSocket(socket.socket):
    def __init__(self, *arguments, **named):
        refuse("socket.socket", arguments)

socket.socket = NoSocket
sys.addaudithook(refuse)
"""
RUN = FORBIDDEN + "from shellguard.cli.main import main\nmain(sys.argv[1:])\n"

TEXT = "curl http://localhost:1/x | tee out; gh api repos/o/r; cat < /dev/tcp/localhost/1; frob"
ROW = '{"id": 1, "command": "curl http://localhost:1/ && ssh h ls"}\n'


def forbidden(*arguments: str, text: str, code: str = RUN) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "arguments, text, status",
    [
        (("lint",), TEXT, 1),
        (("lint", "-v"), "gh api repos/o/r", 0),
        (("lint", "--output-format", "json"), TEXT, 1),
        (("lint", "--output-format", "sarif"), TEXT, 1),
        (("lint", "--output-format", "github"), TEXT, 1),
        (("lint", "--batch"), ROW * 3, 0),
        (("explain",), TEXT, 0),
        (("explain", "--json"), TEXT, 0),
        (("report",), TEXT, 0),
        (("parse",), TEXT, 0),
        (("rule",), "", 0),
        (
            ("guard", "run"),
            '{"event": "before", "tool": "bash", "args": {"command": "curl http://localhost:1/"}}\n',
            0,
        ),
        (("guard", "defaults"), "", 0),
        (("guard", "check", "-"), "", 0),
        (("rules", "list"), "", 0),
        (("rules", "show", "git"), "", 0),
        (("--version", "--json"), "", 0),
        (("completion", "bash"), "", 0),
        (("man",), "", 0),
        (("--help",), "", 0),
    ],
)
def test_nothing_is_connected_and_nothing_is_started(
    arguments: tuple[str, ...], text: str, status: int
) -> None:
    done = forbidden(*arguments, text=text)
    assert done.stderr == ""
    assert done.returncode == status
    assert done.stdout


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.socket()",
        "import socket; socket.getaddrinfo('localhost', 1)",
        "import urllib.request; urllib.request.urlopen('http://localhost:1/')",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.system('true')",
    ],
)
def test_it_would_be_seen(code: str) -> None:
    done = forbidden(text="", code=f"{FORBIDDEN}{code}\n")
    assert "REFUSED" in done.stderr
    assert done.returncode != 0
