# SPDX-License-Identifier: Apache-2.0
"""The command line, called in two ways: in this process, which is quick, and as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from click.testing import CliRunner

from shellguard.cli.main import cli

SHELLGUARD = [sys.executable, "-m", "shellguard"]


class Done:
    """What a call printed, and its exit status."""

    def __init__(self, returncode: int, stdout: str, stderr: str) -> None:
        self.returncode, self.stdout, self.stderr = returncode, stdout, stderr

    def json(self) -> Any:
        return json.loads(self.stdout)


def encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


def run(*arguments: str, text: str | bytes = "", **variables: str | None) -> Done:
    """Calls the command in this process. `variables` are set in the environment, or taken out of it by None."""
    plain = {"NO_COLOR": None, "FORCE_COLOR": None, "CLICOLOR_FORCE": None, "TERM": "xterm"}
    result = CliRunner(env={**plain, **variables}).invoke(
        cli, list(arguments), input=encoded(text), prog_name="shellguard"
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout_bytes.decode("utf-8"), result.stderr_bytes.decode("utf-8"))


def start(*arguments: str, text: str | bytes = "") -> Done:
    """Calls the command as a user does: in a new process."""
    done = subprocess.run(
        [*SHELLGUARD, *arguments], input=encoded(text), capture_output=True, timeout=60, check=False
    )
    return Done(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))
