# SPDX-License-Identifier: Apache-2.0
"""The configuration: what is shipped is what the code has, every key does something, and what is wrong is named."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from shellguard.guard.complaints import complaints, template
from shellguard.guard.config import GuardConfig
from shellguard.guard.keys import KEYS, NEVER, PRESETS, SECTION
from tests.cli.process import run

DOCS = Path(__file__).resolve().parents[2] / "docs" / "guard.md"


@pytest.mark.parametrize("preset", PRESETS)
def test_the_shipped_defaults_are_those_of_the_code(preset: str) -> None:
    shipped = yaml.safe_load(template(preset))
    assert complaints(shipped) == []
    assert GuardConfig.from_mapping(shipped) == GuardConfig({"preset": preset})
    assert GuardConfig.from_mapping(shipped[SECTION]) == GuardConfig.from_mapping({"preset": preset})


def test_the_command_prints_the_template() -> None:
    done = run("guard", "defaults")
    assert done.stdout == template()
    assert run("guard", "defaults", "--preset", "hermes").stdout == template("hermes")


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_every_key_stands_in_the_template_and_in_the_paper(key: Any) -> None:
    outer, dot, inner = key.path.partition(".")
    section = yaml.safe_load(template())[SECTION]
    assert (inner in section[outer]) if dot else (outer in section)
    assert re.search(rf"^\| `{re.escape(key.path)}` \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE), (
        key.path
    )


def test_the_numbers_that_were_measured() -> None:
    config = GuardConfig()
    assert (config.warn_after_exact_failure, config.hard_stop_after_exact_failure) == (3, 5)
    assert (config.warn_after_same_tool_failure, config.hard_stop_after_same_tool_failure) == (5, 8)
    assert (config.warn_after_idempotent_no_progress, config.hard_stop_after_idempotent_no_progress) == (3, 5)
    assert (config.warn_after_mutating_no_progress, config.hard_stop_after_mutating_no_progress) == (4, 12)
    assert (config.warn_after_wait_no_progress, config.wait_max_seconds) == (20, 3600)
    assert (config.warn_after_cycle, config.hard_stop_after_cycle, config.cycle_max_period) == (3, 5, 10)
    assert (config.warn_after_same_failure, config.hard_stop_after_same_failure) == (5, 10)
    assert config.warn_after_identical_streak == 3
    assert (config.window_max_calls, config.window_max_seconds) == (256, 3600)
    assert (config.loop_caps_max_web_searches, config.loop_caps_max_subagents) == (50, 50)
    assert (config.hard_stop_enabled, config.stops) == (False, False)


def test_presets() -> None:
    hermes = GuardConfig({"preset": "hermes"})
    assert (hermes.warn_after_exact_failure, hermes.warn_after_same_tool_failure) == (2, 3)
    assert hermes.warn_after_idempotent_no_progress == 2
    unattended = GuardConfig.from_mapping({"preset": "unattended"})
    assert unattended.stops
    assert unattended.hard_stop_after_idempotent_no_progress == 10
    assert not GuardConfig.from_mapping({"preset": "unattended", "hard_stop_enabled": False}).stops


@pytest.mark.parametrize(
    "section, attribute, value",
    [
        ({"hard_stop_after": {"idempotent_no_progress": 10}}, "hard_stop_after_idempotent_no_progress", 10),
        ({"no_progress_block_after": 10}, "hard_stop_after_idempotent_no_progress", 10),
        ({"no_progress_warn_after": 4}, "warn_after_idempotent_no_progress", 4),
        ({"mutating_no_progress_warn_after": 2}, "warn_after_mutating_no_progress", 2),
        ({"mutating_no_progress_block_after": 3}, "hard_stop_after_mutating_no_progress", 3),
        ({"same_tool_failure_halt_after": 9}, "hard_stop_after_same_tool_failure", 9),
        ({"exact_failure_block_after": "6"}, "hard_stop_after_exact_failure", 6),
        ({"warn_after": {"cycle": "off"}}, "warn_after_cycle", NEVER),
        ({"warn_after": {"cycle": False}}, "warn_after_cycle", NEVER),
        ({"warn_after": {"cycle": 0}}, "warn_after_cycle", 3),
        ({"warn_after": {"cycle": True}}, "warn_after_cycle", 3),
        ({"warn_after": {"cycle": 4.0}}, "warn_after_cycle", 4),
        ({"warn_after": {"cycle": 4.5}}, "warn_after_cycle", 3),
        ({"warn_after": {"cycle": None}}, "warn_after_cycle", 3),
        ({"warn_after": {"cycle": [4]}}, "warn_after_cycle", 3),
        ({"warn_after": 7}, "warn_after_cycle", 3),
        ({"hard_stop_enabled": "Yes"}, "hard_stop_enabled", True),
        ({"hard_stop_enabled": 1}, "hard_stop_enabled", True),
        ({"hard_stop_enabled": "enabled"}, "hard_stop_enabled", True),
        ({"warnings_enabled": "off"}, "warnings_enabled", False),
        ({"warnings_enabled": "perhaps"}, "warnings_enabled", True),
        ({"window": {"max_calls": 64, "max_seconds": 0}}, "window_max_calls", 64),
        ({"window": {"max_calls": 1}}, "window_max_calls", 256),
        ({"window": {"max_calls": 10**9}}, "window_max_calls", 256),
        ({"wait": {"max_seconds": 90.5}}, "wait_max_seconds", 90.5),
        ({"wait": {"max_seconds": -1}}, "wait_max_seconds", 3600),
        ({"on_block": "ask"}, "on_block", "ask"),
        ({"on_block": "maybe"}, "on_block", "block"),
        (
            {"tools": {"shell": {"ssh_run": "line"}}},
            "tools_shell",
            {**GuardConfig().tools_shell, "ssh_run": "line"},
        ),
        (
            {"arguments": {"ignored": ["offset"]}},
            "arguments_ignored",
            (*GuardConfig().arguments_ignored, "offset"),
        ),
    ],
)
def test_values(section: dict[str, Any], attribute: str, value: object) -> None:
    config = GuardConfig.from_mapping({SECTION: section})
    assert getattr(config, attribute) == value
    assert GuardConfig.from_mapping(section) == config


def test_names_are_added_and_taken_out() -> None:
    config = GuardConfig.from_mapping({"tools": {"read": ["my_reader", "-fetch"]}})
    assert config.book.class_of("my_reader", {}) == "read"
    assert config.book.class_of("fetch", {}) == "unknown"
    assert config.book.class_of("read_file", {}) == "read"


@pytest.mark.parametrize("mapping", [None, [], "x", 7, {}, {SECTION: None}, {SECTION: []}, {SECTION: "x"}])
def test_what_is_no_section_is_all_defaults(mapping: object) -> None:
    assert GuardConfig.from_mapping(mapping) == GuardConfig()


@pytest.mark.parametrize(
    "mapping, said",
    [
        (
            {"hard_stop_enable": True},
            "hard_stop_enable: there is no such key; did you mean hard_stop_enabled?",
        ),
        (
            {"warn_after": {"cycl": 2}},
            "warn_after.cycl: there is no such key; did you mean warn_after.cycle?",
        ),
        ({"zzz": 1}, "zzz: there is no such key"),
        ({"warn_after": 3}, "warn_after: a mapping is expected, not '3'; the defaults count"),
        (
            {"warn_after": {"cycle": 0}},
            "warn_after.cycle: '0' is not a whole number of at least 1, or `off`; the default counts",
        ),
        ({"on_block": "maybe"}, "on_block: 'maybe' is not one of block, ask; the default counts"),
        ({"warnings_enabled": None}, "warnings_enabled: nothing is not true or false; the default counts"),
        ({"tools": {"read": "x"}}, "tools.read: 'x' is not a list of names; the default counts"),
        ([], "a mapping with the section tool_loop_guardrails is expected, not '[]'"),
        ({SECTION: 5}, "tool_loop_guardrails: a mapping is expected, not '5'"),
    ],
)
def test_complaints(mapping: object, said: str) -> None:
    assert complaints(mapping) == [said]


def test_check_names_every_mistake(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("tool_loop_guardrails:\n  hard_stop_enable: true\n  on_block: maybe\n", encoding="utf-8")
    done = run("guard", "check", str(path))
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 2
    path.write_text(template(), encoding="utf-8")
    assert run("guard", "check", str(path)).returncode == 0
    assert run("guard", "check", "-", text=template()).returncode == 0
    assert run("guard", "check", str(tmp_path / "none")).returncode == 2


def test_toml(tmp_path: Path) -> None:
    text = (
        '[tool_loop_guardrails]\nhard_stop_enabled = true\n[tool_loop_guardrails.warn_after]\ncycle = "off"\n'
    )
    path = tmp_path / "a.toml"
    path.write_text(text, encoding="utf-8")
    assert run("guard", "check", str(path)).returncode == 0
    config = GuardConfig.from_mapping(tomllib.loads(text))
    assert (config.stops, config.warn_after_cycle) == (True, NEVER)


def test_hostile_names_are_shown_as_text(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text('tool_loop_guardrails:\n  "\\e[31mred": 1\n', encoding="utf-8")
    done = run("guard", "check", str(path))
    assert done.returncode == 1
    assert "\x1b" not in done.stdout


def test_values_that_are_huge_by_anchors_are_shown_in_few_words() -> None:
    """Each list holds the one before nine times: as text it would be gigabytes."""
    value: object = "x"
    for _ in range(12):
        value = [value] * 9
    for mapping in (
        {"tools": {"read": value}},
        {"warn_after": value},
        {"window": {"max_calls": value}},
        value,
    ):
        (said,) = complaints(mapping)
        assert len(said) < 300
