# SPDX-License-Identifier: Apache-2.0
"""Compiles the rules while the wheel is built, so that an installed shellguard never parses YAML for a verdict."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileRules(BuildHookInterface[Any]):
    """Puts `compiled.rules` beside the rule files. A broken rule file stops the build. An editable install gets none:
    there the rules are used as they are edited."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        try:
            from shellguard.rules.cache import COMPILED_NAME, compile_rules
            from shellguard.rules.model import BrokenRule
            from shellguard.rules.shelf import Shelf
        finally:
            sys.path.remove(self.root)
        shelf = Shelf(folder=str(Path(self.root, "rules")))
        for name in shelf.names():
            rule = shelf.get(name)
            if isinstance(rule, BrokenRule):
                raise SystemExit(f"{rule.path}:{rule.line}: {rule.message}")
        compiled = Path(tempfile.mkdtemp(prefix="shellguard-"), COMPILED_NAME)
        compiled.write_bytes(compile_rules(shelf))
        build_data["force_include"][str(compiled)] = f"shellguard/_rules/{COMPILED_NAME}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        for path in build_data["force_include"]:
            if Path(path).parent.name.startswith("shellguard-"):
                Path(path).unlink(missing_ok=True)
                Path(path).parent.rmdir()
