# SPDX-License-Identifier: Apache-2.0
"""The walk-through of docs/workers.md, as it is printed there, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("dbos", reason="the extra `workers` is not installed", exc_type=ImportError)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="it is written for a POSIX shell")

PAPER = Path(__file__).resolve().parents[2] / "docs" / "workers.md"


def test_the_walk_through_does_what_it_says(tmp_path: Path) -> None:
    text = PAPER.read_text(encoding="utf-8")
    section = text.partition("## From an empty folder to the first finished card\n")[2].partition("\n## ")[0]
    install, *blocks = re.findall(r"^```sh\n(.*?)^```$", section, flags=re.DOTALL | re.MULTILINE)
    assert "pip install" in install
    found = {name: value for name, value in os.environ.items() if not name.startswith("SHELLGUARD_")}
    found["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{found['PATH']}"
    os.chmod(tmp_path, 0o700)
    done = subprocess.run(
        ["bash", "-e", "-c", "umask 022\n" + "\n".join(blocks)],
        cwd=tmp_path,
        env=found,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = re.sub(r"c-[0-9a-z]{10}", "CARD", re.sub(r"[0-9a-f]{32}", "RUN", done.stdout))
    lines = [line for line in said.split("\n") if not re.match(r"20\d\d-|added|run |phase|result|  \d", line)]
    claimed = "CARD: claimed, run RUN"
    assert [line for line in lines if line.startswith("CARD")] == [
        *("CARD", claimed, "CARD: completed, exit code 0"),
        "CARD  done       build  Build main",
        *("CARD  ready      build  Build main", claimed, "CARD: blocked, exit code 3"),
        "CARD  blocked    build  Build main  [exit code 3]",
        *("CARD  ready      build  Build main", claimed, "CARD: completed, exit code 0"),
    ]
    assert "[shellguard-worker-exit] rc=0" in lines
    work = next(tmp_path.glob("home/state/cards/c-*/work"))
    assert f"building card CARD in {work}".replace(work.parent.name, "CARD") in lines
    assert (work / "result.txt").read_text() == "built\n"
