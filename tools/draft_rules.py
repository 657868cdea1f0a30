# SPDX-License-Identifier: Apache-2.0
"""Drafts of rule files for many tools, from everything that is installed and says something of them.

    python -m tools.draft_rules --output FOLDER jq yq
    python -m tools.draft_rules --fig node_modules/@withfig/autocomplete/build --output FOLDER heroku fly
    python -m tools.draft_rules --deep gh

Heard are `TOOL --help`, the source of its manual page, the completion files of fish and bash, and with `--fig` the
completion specs of the npm package `@withfig/autocomplete` (MIT), which need `node` but not the tool. Only facts are
kept: spellings, how many words an option takes, names of subcommands. No draft says of anything that it is harmless.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

from shellguard.cli.helptext import output_of, told_of
from shellguard.rules.draft import draft
from shellguard.rules.load import load_text
from shellguard.rules.told import Told, from_fig

_NODE = """
import(process.argv[1]).then(async (module) => {
  let spec = module.default;
  if (typeof spec === "function") spec = await spec("1.0.0");
  if (spec && spec.versionedSpecPath) spec = {};
  process.stdout.write(JSON.stringify(spec, (key, value) => (typeof value === "function" ? undefined : value)));
}).catch(() => process.stdout.write("null"));
"""
"""A spec is a module; what is wanted of it is data."""


def fig_of(folder: Path, tool: str) -> Told:
    """What the spec of a tool in `@withfig/autocomplete` says; nothing where it has none."""
    path = folder / f"{tool}.js"
    if "/" in tool or not path.is_file():
        return Told()
    script = ["node", "--input-type=module", "-e", _NODE, "--", str(path.resolve())]
    told = subprocess.run(
        script, capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL
    ).stdout
    return from_fig(json.loads(told or b"null"))


def main(arguments: list[str] | None = None) -> int:
    """Writes the drafts, or prints them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tools", nargs="+", metavar="TOOL")
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="write TOOL.yaml there; nothing is overwritten"
    )
    parser.add_argument(
        "--fig", type=Path, metavar="FOLDER", help="the folder `build` of @withfig/autocomplete"
    )
    parser.add_argument(
        "--deep", action="store_true", help="run `TOOL SUBCOMMAND --help` too, two levels deep"
    )
    args = parser.parse_args(arguments)
    silent = 0
    specs = None if args.fig is None else partial(fig_of, args.fig)
    for tool in args.tools:
        told = told_of(tool, output_of, depth=2 if args.deep else 0, others=specs)
        if not (told.options or told.commands):
            print(f"{tool}: nothing that is installed says anything of it", file=sys.stderr)
            silent += 1
            continue
        text = draft(tool, told)
        load_text(text, f"{tool}.yaml")  # a draft that does not load is a bug of ours
        if args.output is None:
            print(text, end="")
            continue
        path = args.output / f"{tool}.yaml"
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            print(f"{path} is there already", file=sys.stderr)
            silent += 1
    return int(silent > 0)


if __name__ == "__main__":
    sys.exit(main())
