# SPDX-License-Identifier: Apache-2.0
"""What a hook loads to ask the guard before a call and to tell it a result, with the counts in a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.architecture import HEAVY

ROOT = Path(__file__).resolve().parents[2]
HOOK = """
import sys
sys.path.insert(0, sys.argv[1])
from shellguard.guard.config import GuardConfig
from shellguard.guard.controller import Controller
from shellguard.guard.model import ToolCall, ToolResult
from shellguard.guard.observe import session_name
from shellguard.guard.store import Store
from shellguard.guard import command
from shellguard.engine import classify
from shellguard.rules.model import CommandRule, Operand, Spec
from shellguard.rules.shelf import Shelf
anything = (Operand("file", line=1, many=True),)
rules = {
    name: CommandRule(name, path="rule.yaml", spec=Spec(name, line=1, effects=frozenset(effects), operands=anything))
    for name, effects in (("cd", ["reads"]), ("sleep", ["waits"]), ("show", ["reads"]))
}
shelf = Shelf(rules)  # the shipped rules are compiled only where the package is installed
command.classify = lambda text: classify(text, shelf=shelf)
config = GuardConfig.from_mapping({"tool_loop_guardrails": {"hard_stop_enabled": True}})
store = Store.in_folder(sys.argv[2], session_name("s", ""), 0.0)
guard = Controller(config, store=store)
call = ToolCall("bash", {"command": "cd a && sleep 5; show 1 | show 2"}, session="s")
print(guard.before(call).call_class)
print(guard.after(call, ToolResult('{"output": "12:30 in 0.3s", "exit_code": 8}')).action)
guard.new_turn("continue", "s")
print(*store.notes)
print(*(name for name in sys.argv[3:] if name in sys.modules))
"""


def test_a_hook_that_asks_the_guard_is_light(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", HOOK, str(ROOT), str(tmp_path / "guard"), *HEAVY],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["wait", "allow", "", ""]


def test_the_package_gives_its_names_when_they_are_asked_for() -> None:
    code = (
        "import sys; import shellguard.guard as g; print('shellguard.guard.store' in sys.modules, *g.__all__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == [
        "False",
        *(
            "Controller",
            "Decision",
            "Event",
            "GuardConfig",
            "State",
            "Store",
            "ToolCall",
            "ToolResult",
            "step",
        ),
    ]
