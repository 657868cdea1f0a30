# SPDX-License-Identifier: Apache-2.0
"""A worker that does what a plan says: a real process that edits, saves, is interrupted, ignores signals, forks away.

`python plan.py PLAN`, PLAN being JSON: for each attempt a list of actions. The last one also counts for later ones.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress


def main() -> None:
    plan = json.loads(sys.argv[1])
    attempt = int(os.environ["SHELLGUARD_ATTEMPT"])
    for action, *words in plan[min(attempt, len(plan)) - 1]:
        act(action, words)


def act(action: str, words: list[str]) -> None:
    match action, words:
        case "write", [name, content]:
            os.makedirs(os.path.dirname(os.path.abspath(name)), exist_ok=True)
            with open(name, "w") as file:
                file.write(content)
        case "append", [name, content]:
            with open(name, "a") as file:
                file.write(content)
        case "delete", [name]:
            if os.path.exists(name):
                os.unlink(name)
        case "pipe", [name]:
            os.mkfifo(name)
        case "git", arguments:
            subprocess.run(["git", *arguments], check=True, capture_output=True)
        case "checkpoint", [command]:
            from shellguard.approval.checkpoint import pre_approval_checkpoint

            pre_approval_checkpoint(os.getcwd(), command=command)
        case "run", [command]:
            from shellguard.approval.run import run_safely

            sys.exit(run_safely(command, quiet=True).status)
        case "hook", [command]:
            from shellguard.approval.run import checkpoint_for_hook

            checkpoint_for_hook(command, os.getcwd())
        case "exit", [status]:
            os._exit(int(status))
        case "signal", [number]:
            with suppress(OSError):  # nobody can handle SIGKILL
                signal.signal(int(number), signal.SIG_DFL)
            os.kill(os.getpid(), int(number))
            time.sleep(10)
        case "signal-group", [number]:
            os.killpg(0, int(number))
        case "ignore", numbers:
            for number in numbers:
                signal.signal(int(number), signal.SIG_IGN)
        case "sleep", [seconds]:
            time.sleep(float(seconds))
        case "fork-away", [name]:
            program = f"while :; do echo x >> {name}; sleep 0.02; done"
            subprocess.Popen(["setsid", "sh", "-c", f"({program}) &"], stdin=subprocess.DEVNULL)
            time.sleep(0.1)
        case _:
            raise ValueError(action)


if __name__ == "__main__":
    main()
