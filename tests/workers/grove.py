# SPDX-License-Identifier: Apache-2.0
"""A worker that becomes fifty processes which do not want to end. `python grove.py FOLDER AFTER`.

Each writes a file into the folder, named by its number. AFTER is what the first one does once all are there: `end` ends
with 0, `stay` sleeps.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

EACH = 10
"""Of each of the five kinds."""


def say(folder: str) -> None:
    open(os.path.join(folder, str(os.getpid())), "w").close()


def stay() -> None:
    while True:
        time.sleep(100)


def deaf() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def apart(folder: str) -> None:
    """A session of its own."""
    os.setsid()
    say(folder)
    stay()


def twice(folder: str) -> None:
    """A daemon by the book: two forks and a session, its parents gone."""
    os.setsid()
    if os.fork():
        os._exit(0)
    deaf()
    say(folder)
    stay()


def ignoring(folder: str) -> None:
    deaf()
    say(folder)
    stay()


def stopped(folder: str) -> None:
    os.setpgid(0, 0)
    say(folder)
    os.kill(os.getpid(), signal.SIGSTOP)
    stay()


def main() -> None:
    folder, after = sys.argv[1:]
    say(folder)
    for kind in (apart, twice, ignoring, stopped):
        for _ in range(EACH):
            if os.fork() == 0:
                kind(folder)
    for _ in range(EACH - 1):
        # nohup, an environment of its own, and a session of its own: nothing tells whose it is.
        program = f'echo > "{folder}/$$"; exec sleep 1000'
        subprocess.Popen(
            ["/usr/bin/setsid", "nohup", "env", "-i", "/bin/sh", "-c", program],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    limit = time.monotonic() + 60
    while len(os.listdir(folder)) < 5 * EACH and time.monotonic() < limit:
        time.sleep(0.02)
    if after == "stay":
        deaf()
        print("grown", flush=True)
        stay()
    os._exit(0)


if __name__ == "__main__":
    main()
