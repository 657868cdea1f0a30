# SPDX-License-Identifier: Apache-2.0
"""The rule format as a JSON Schema (2020-12), for editors: `rules/schema.json` is what this module prints.

    python -m shellguard.rules.schema > rules/schema.json

The words come from `vocabulary.py`, as they do for the loader, and the choices from `model.py`. A schema sees one
value at a time: what needs two places of a file (an option that is named but not listed, a case that is never reached)
is only seen by the loader. YAML gives an editor `true` and `2` where the loader reads text, so both are allowed.
"""

from __future__ import annotations

import json

from shellguard.rules import vocabulary
from shellguard.rules.model import (
    CHANGES,
    EFFECTS,
    MARKS,
    PLACES,
    PRINTS,
    ROLES,
    SHELLS,
    STYLES,
    TAKES,
    TOUCHES,
    VERDICTS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeAlias

    Schema: TypeAlias = dict[str, Any]

ADDRESS = "https://json-schema.org/draft/2020-12/schema"

FILES = {"_env.yaml": "variables_file", "_paths.yaml": "paths_file", "_policies.yaml": "policies_file"}
"""The files that belong to no command, and the definition of each."""

_SCALAR: Schema = {"type": ["string", "number", "boolean"]}


def schema() -> Schema:
    """The schema of a rule file; its `$defs` hold those of the files that belong to no command."""
    root = _object({**vocabulary.ROOT, **vocabulary.SPEC}, required=["command"])
    del root["properties"]["like"]
    return {
        "$schema": ADDRESS,
        "title": "A rule file of shellguard: what the words of one command do",
        **root,
        **_SAYS_SOMETHING,
        "$defs": _definitions(),
    }


_SAYS_SOMETHING: Schema = {
    "anyOf": [{"required": [word]} for word in ("effect", "cases", "subcommands")],
    "not": {"required": ["effect", "cases"]},
    "dependentSchemas": {"accepts": {"anyOf": [{"required": ["effect"]}, {"required": ["cases"]}]}},
}


def _definitions() -> Schema:
    below = _object(vocabulary.SPEC)
    alone = {"if": {"not": {"required": ["like"]}}, "then": _SAYS_SOMETHING}
    return {
        # texts
        "text": _SCALAR,
        "texts": _one_or_many(_ref("text")),
        "name": {"type": ["string", "number", "boolean"], "pattern": "^[^\\u0000-\\u0020/]+$"},
        "aliases": {"type": "array", "items": _ref("name")},
        "names": _one_or_many(
            {**_SCALAR, "pattern": "^[ \\n]*[^ ,\\n][^,]*(,[ \\n]*[^ ,\\n][^,]*)*$"},
        ),
        "boolean": {"enum": [True, False, "true", "false"]},
        "yes": {"enum": [True, False, "yes", "no", "true", "false"]},
        "count": {
            "anyOf": [
                {"type": "string", "pattern": "^[0-9]+([+]|-[0-9]+)?$"},
                {"type": "integer", "minimum": 0},
            ]
        },
        # choices
        "anything": {"const": "anything"},
        "stdout": {"const": "stdout"},
        "value": {"const": "value"},
        "added": {"const": "words"},
        "added_to_value": {"enum": ["word", "words"]},
        "shell": {"enum": list(SHELLS)},
        "effects": _choices(EFFECTS),
        "changes": _choices(CHANGES),
        "marks": _choices(MARKS),
        "touches": _choices(TOUCHES),
        "place": {"enum": list(PLACES)},
        "role": {"enum": list(ROLES)},
        "style": {"enum": list(STYLES)},
        "takes": {"enum": list(TAKES)},
        "prints": {
            "anyOf": [
                {"enum": [kind for kind in PRINTS if kind != "under"]},
                _object(
                    {"under": ("text", "Each line begins with a word of this operand.")}, required=["under"]
                ),
            ]
        },
        # options and operands
        "options": {"type": "object", "additionalProperties": _ref("option")},
        "option": _option(),
        "operands": {"type": "array", "items": _ref("operand")},
        "operand": {
            **_object(vocabulary.OPERAND, required=["name"]),
            "dependentSchemas": _LIMITS,
        },
        # cases, inner commands
        "cases": {"type": "array", "minItems": 1, "items": _ref("case")},
        "case": _object(vocabulary.CASE, required=["effect"]),
        "when": {**_object(vocabulary.WHEN), "minProperties": 1},
        "values": {"type": "object", "additionalProperties": _ref("texts")},
        "dialects": {"type": "object", "minProperties": 1, "additionalProperties": _ref("text")},
        "runs": _object(vocabulary.RUNS, required=["command"]),
        # variables
        "env": {
            "type": "object",
            "propertyNames": {"pattern": "^[A-Za-z_*][A-Za-z0-9_*]*(,? +[A-Za-z_*][A-Za-z0-9_*]*)*$"},
            "additionalProperties": {
                "anyOf": [{"const": "program"}, _ref("effects"), _ref("variable")],
            },
        },
        "variable": {
            **_object(vocabulary.VARIABLE),
            "dependentSchemas": {"only": {"anyOf": [{"required": ["effect"]}, {"required": ["program"]}]}},
        },
        # examples
        "examples": {
            "type": "object",
            "propertyNames": {
                "pattern": f"^({_either(VERDICTS)})( ({_either(EFFECTS | MARKS | TOUCHES | set(PLACES))}))*$"
            },
            "additionalProperties": {"type": "string"},
        },
        # specs
        "subcommands": {"type": "object", "additionalProperties": _ref("subcommand")},
        "subcommand": {**below, **alone},
        "shapes": {"type": "object", "additionalProperties": _ref("shape")},
        "shape": below,
        # the files that belong to no command
        "variables_file": _object(vocabulary.VARIABLES_FILE, required=["variables"]),
        "paths_file": {
            **_object(vocabulary.PATHS_FILE),
            "anyOf": [{"required": ["sensitive"]}, {"required": ["not_sensitive"]}],
        },
        "policies_file": {
            "type": "object",
            "additionalProperties": _object(vocabulary.POLICY, required=["effects"]),
        },
    }


_LIMITS: Schema = {
    **{
        word: {
            "anyOf": [
                {"required": ["effect"]},
                {"properties": {"as": {"const": "script"}}, "required": ["as"]},
            ]
        }
        for word in ("matching", "only")
    },
    "language": {"properties": {"as": {"const": "script"}}, "required": ["as"]},
}
"""What needs an effect that it limits, and what a script that it speaks of."""

_OF_A_VALUE = ("adds", "as", "dash", "fills", "language", "matching", "only", "program", "runs")
"""Words of an option that speak of its value."""


def _option() -> Schema:
    takes_one = {"properties": {"takes": {"not": {"const": "none"}}}, "required": ["takes"]}
    needs: Schema = {word: {"allOf": [takes_one]} for word in _OF_A_VALUE}
    for word, need in _LIMITS.items():
        needs[word]["allOf"].append(need)
    needs["dash"]["allOf"].append({"properties": {"target": {"const": "value"}}, "required": ["target"]})
    needs["target"] = {
        "required": ["effect"],
        "if": {"properties": {"target": {"const": "value"}}},
        "then": takes_one,
    }
    until: Schema = {"properties": {"takes": {"const": "until"}}, "required": ["takes"]}
    return {
        **_object(vocabulary.OPTION),
        "dependentSchemas": needs,
        "if": until,
        "then": {"required": ["ends"]},
        "else": {"not": {"required": ["ends"]}},
    }


def _object(words: vocabulary.Words, *, required: list[str] | None = None) -> Schema:
    properties = {word: {**_ref(kind), "description": text} for word, (kind, text) in words.items()}
    made: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**made, "required": required} if required else made


def _ref(kind: str) -> Schema:
    return {"$ref": f"#/$defs/{kind}"}


def _one_or_many(one: Schema) -> Schema:
    return {"anyOf": [one, {"type": "array", "items": one}]}


def _choices(words: Iterable[str]) -> Schema:
    return _one_or_many({"enum": sorted(words)})


def _either(words: Iterable[str]) -> str:
    return "|".join(sorted(words))


def schema_text() -> str:
    """What `rules/schema.json` holds."""
    return json.dumps(schema(), indent=2, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(schema_text())
