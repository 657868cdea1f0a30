# SPDX-License-Identifier: Apache-2.0
"""`rules/schema.json`: it is what the generator prints, takes every shipped file, and refuses what the loader does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from shellguard.rules import load, vocabulary
from shellguard.rules.compiled import COMMON
from shellguard.rules.schema import FILES, schema, schema_text
from shellguard.rules.shelf import rule_files, shipped_folder
from tests.rules.test_load import GOOD, _blocks

FOLDER = Path(shipped_folder())
SCHEMA = schema()
RULE = Draft202012Validator(SCHEMA)

BEYOND = frozenset(
    {
        # Where things stand: a schema sees values, not their order or their lines.
        "command is not first",
        "aliases far from the command",
        "aliases over two lines",
        "duplicate key",
        "a tag",
        # What one place of the file says of another.
        "dangling absent_with",
        "dangling target",
        "dangling option in a case",
        "a value is asked of a flag",
        "runs an operand that is none",
        "prints under an operand that is none",
        "like an unknown shape",
        "shapes without end",
        "a script without a language",
        # What is written twice, or never reached.
        "shadowed by a row without `when`",
        "shadowed by a wider row",
        "shadowed by a count",
        "the same spelling twice",
        "the same spelling twice, in two words",
        "two operands of one name",
        "two slots for many",
        "a variable twice",
        "a subcommand twice",
        # How options are spelled, which depends on the style.
        "the line of a flag inside a long list",
        "several letters behind one dash",
        "an option with its value",
        "options of a plain command",
    }
)
"""Blocks of errors.txt that only the loader refuses."""

NO_YAML = frozenset({"an alias to nothing", "an alias to itself", "two documents", "broken YAML"})


def faults(data: Any, definition: str | None = None) -> list[str]:
    validator = RULE
    if definition is not None:
        validator = Draft202012Validator({"$ref": f"#/$defs/{definition}", "$defs": SCHEMA["$defs"]})
    return [f"{list(error.absolute_path)}: {error.message}" for error in validator.iter_errors(data)]


def test_the_file_is_what_the_generator_prints() -> None:
    committed = (FOLDER / "schema.json").read_text(encoding="utf-8")
    assert committed == schema_text(), "python -m shellguard.rules.schema > rules/schema.json"
    Draft202012Validator.check_schema(json.loads(committed))


@pytest.mark.parametrize("loader", [yaml.BaseLoader, yaml.SafeLoader], ids=["as text", "as YAML types"])
@pytest.mark.parametrize("path", [*COMMON, *rule_files(str(FOLDER))])
def test_every_shipped_file_is_taken(path: str, loader: type[yaml.BaseLoader]) -> None:
    """As the loader reads it, every scalar a text, and as an editor does."""
    data = yaml.load((FOLDER / path).read_text(encoding="utf-8"), Loader=loader)
    assert faults(data, FILES.get(path)) == []


@pytest.mark.parametrize(("title", "text"), [pytest.param(t, x, id=t) for t, x, _ in _blocks()])
def test_what_the_loader_refuses_is_refused(title: str, text: str) -> None:
    """Each error of the loader is one of the schema too, or is listed as beyond it."""
    try:
        data = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError:
        assert title in NO_YAML
        return
    assert bool(faults(data)) is (title not in BEYOND)


def test_the_lists_name_blocks_that_exist() -> None:
    assert {title for title, _, _ in _blocks()} >= BEYOND | NO_YAML


def test_a_good_file_is_taken() -> None:
    assert faults(yaml.load(GOOD, Loader=yaml.BaseLoader)) == []


def test_the_loader_and_the_schema_have_one_vocabulary() -> None:
    properties = set(SCHEMA["properties"]) | {"like"}
    assert properties == {*load.ROOT_WORDS, *load.SPEC_WORDS}
    for definition, words in (
        ("subcommand", load.SPEC_WORDS),
        ("option", load.OPTION_WORDS),
        ("operand", load.OPERAND_WORDS),
        ("case", load.CASE_WORDS),
        ("when", load.WHEN_WORDS),
        ("runs", load.RUNS_WORDS),
        ("variable", load.VARIABLE_WORDS),
    ):
        assert set(SCHEMA["$defs"][definition]["properties"]) == set(words)


def test_every_kind_of_value_is_defined_and_described() -> None:
    tables = [value for name, value in vars(vocabulary).items() if name.isupper() and isinstance(value, dict)]
    assert len(tables) == 11
    for table in tables:
        for word, (kind, text) in table.items():
            assert kind in SCHEMA["$defs"], word
            assert text.endswith((".", "`.")), word


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("_env.yaml", "variable: {}"),
        ("_env.yaml", "variables: {A-B: reads}"),
        ("_env.yaml", "variables: {A: {effects: reads}}"),
        ("_env.yaml", "variables: {A: {only: [x]}}"),
        ("_paths.yaml", "secret: []"),
        ("_policies.yaml", "mine: {summary: x}"),
        ("_policies.yaml", "mine: {effects: [deletes]}"),
    ],
)
def test_so_are_errors_of_the_other_files(name: str, text: str) -> None:
    assert faults(yaml.load(text, Loader=yaml.BaseLoader), FILES[name])


def test_a_readme_line_tells_editors_where_it_is() -> None:
    assert "yaml-language-server: $schema=" in (FOLDER / "README.md").read_text(encoding="utf-8")
