# SPDX-License-Identifier: Apache-2.0
"""What the tests of Hermes pin of its controller, one test for each behaviour, on the adapter and the preset `hermes`.

The names follow the list of behaviours in the two test files there (`tests/agent/test_tool_guardrails.py`,
`tests/agent/test_stall_guards.py`); the sequences are our own.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from shellguard.guard import GuardConfig
from shellguard.guard.hermes import ToolCallGuardrailController

LONG = "x" * 600


def guard(hard: bool = True, **section: Any) -> ToolCallGuardrailController:
    """The controller there, with hard stops unless told otherwise."""
    mapping = {"preset": "hermes", "hard_stop_enabled": hard, **section}
    return ToolCallGuardrailController(GuardConfig.from_mapping(mapping))


def red(command: str = "pytest") -> tuple[str, dict[str, Any], str]:
    return "terminal", {"command": command}, json.dumps({"output": "1 failed", "exit_code": 1})


# --- the controller ------------------------------------------------------------------------------------------


def test_the_signature_is_canonical_and_does_not_leak_arguments() -> None:
    one = guard().before_call("read_file", {"path": "secret.txt", "offset": 1})
    two = guard().before_call("read_file", {"offset": 1, "path": "secret.txt"})
    assert one.signature == two.signature
    assert "secret" not in json.dumps(one.to_metadata())


def test_nested_thresholds_are_read() -> None:
    config = GuardConfig.from_mapping(
        {
            "warn_after": {"exact_failure": 7},
            "exact_failure_warn_after": 9,
            "hard_stop_after": {"exact_failure": "8"},
        }
    )
    assert config.warn_after_exact_failure == 7
    assert config.hard_stop_after_exact_failure == 8
    assert GuardConfig.from_mapping({"exact_failure_warn_after": 9}).warn_after_exact_failure == 9


@pytest.mark.parametrize(
    "platform, stops",
    [
        ("telegram", True),
        ("discord", True),
        ("cron", True),
        ("kanban", True),
        (" Telegram ", True),
        ("", False),
        ("cli", False),
        ("CLI ", False),
        ("tui", False),
        ("desktop", False),
        ("acp", False),
        ("subagent", False),
        ("api_server", False),
    ],
)
def test_gateway_platforms_stop_and_interactive_ones_do_not(platform: str, stops: bool) -> None:
    assert GuardConfig.from_mapping({}, platform).stops is stops


def test_a_platform_can_opt_out() -> None:
    assert not GuardConfig.from_mapping({"non_interactive_hard_stop_enabled": False}, "telegram").stops


def test_by_default_a_repeated_failure_warns_and_never_blocks() -> None:
    controller = guard(hard=False)
    for count in range(1, 6):
        assert controller.before_call(*red()[:2]).allows_execution
        decision = controller.after_call(*red())
        assert decision.action == ("warn" if count >= 2 else "allow")
    assert controller.halt_decision is None


def test_an_exact_failure_is_blocked_before_its_next_run() -> None:
    controller = guard()
    for _ in range(5):
        assert controller.before_call(*red()[:2]).allows_execution
        controller.after_call(*red())
    decision = controller.before_call(*red()[:2])
    assert (decision.action, decision.code, decision.count) == ("block", "repeated_exact_failure_block", 5)
    assert controller.halt_decision is decision


@pytest.mark.parametrize("tool", ["skill_view", "skills_list", "read_file", "mcp_filesystem_read_text_file"])
def test_readers_by_name_are_idempotent(tool: str) -> None:
    controller = guard()
    for _ in range(5):
        controller.after_call(tool, {"name": "a"}, "same")
    assert controller.before_call(tool, {"name": "a"}).code == "idempotent_no_progress_block"


@pytest.mark.parametrize("tool", ["write_file", "send_message", "some_tool"])
def test_mutating_and_unknown_tools_are_never_blocked_for_identical_success(tool: str) -> None:
    controller = guard(hard=False)
    for _ in range(20):
        assert controller.before_call(tool, {"a": 1}).action == "allow"
        assert controller.after_call(tool, {"a": 1}, "ok").action == "allow"


@pytest.mark.parametrize("tool", ["write_file", "terminal", "some_tool", "read_file"])
def test_the_streak_halts_any_tool_at_five(tool: str) -> None:
    controller = guard()
    for count in range(1, 6):
        controller.observe_call(tool, {"command": "./x"}, "ok", tool_call_id=f"c{count}")
        assert (controller.halt_decision is not None) == (count == 5)
    assert controller.halt_decision is not None
    assert controller.halt_decision.code == "identical_call_streak_halt"


def test_the_streak_never_halts_without_hard_stops() -> None:
    controller = guard(hard=False)
    for _ in range(20):
        controller.observe_call("terminal", {"command": "./x"}, "ok")
    assert controller.halt_decision is None


@pytest.mark.parametrize("tool", ["process_manage", "process", "job_poll", "job_get_result"])
def test_the_streak_never_halts_pollers(tool: str) -> None:
    controller = guard()
    for _ in range(20):
        assert controller.observe_call(tool, {"action": "poll"}, "running").notice is None
    assert controller.halt_decision is None


def test_a_changed_result_resets_the_streak() -> None:
    controller = guard()
    for count in range(12):
        controller.observe_call("some_tool", {}, f"result {count // 4}")
    assert controller.halt_decision is None


@pytest.mark.parametrize("value, cap", [(0, 0), (3, 3), ("junk", 50), (-1, 50), (None, 50)])
def test_a_cap_of_zero_disables_and_junk_falls_back(value: object, cap: int) -> None:
    config = GuardConfig.from_mapping({"loop_caps": {"max_web_searches": value}})
    assert config.loop_caps_max_web_searches == cap


def test_the_search_cap_fires_without_hard_stops() -> None:
    controller = guard(hard=False)
    for count in range(50):
        assert controller.before_call("web_search", {"q": f"{count}"}).allows_execution
    decision = controller.before_call("web_search", {"q": "one more"})
    assert (decision.action, decision.code, decision.count) == ("block", "loop_web_search_cap", 50)
    controller.reset_for_turn()
    assert controller.before_call("web_search", {"q": "one more"}).allows_execution


def test_sub_agents_are_charged_when_they_are_built() -> None:
    controller = guard(hard=False, loop_caps={"max_subagents": 3})
    for _ in range(9):
        assert controller.before_call("delegate_task", {"goal": "a"}).allows_execution
    with controller.reserve_subagent_spawns(2):
        pass  # the construction failed
    reservation = controller.reserve_subagent_spawns(5)
    assert reservation.count == 3
    assert not controller.before_call("delegate_task", {"goal": "a"}).allows_execution
    reservation.commit(2)
    assert controller.before_call("delegate_task", {"goal": "a"}).allows_execution
    assert controller.reserve_subagent_spawns(5).commit() == 1
    decision = controller.before_call("delegate_task", {"tasks": ["a", "b"]})
    assert (decision.code, decision.count) == ("loop_subagent_cap", 3)
    assert controller.before_call("delegate_task", {"action": "list"}).allows_execution
    with pytest.raises(ValueError, match="between 0 and"):
        reservation.commit(1)


def test_the_count_of_sub_agents_is_reset_with_the_turn() -> None:
    controller = guard(loop_caps={"max_subagents": 1})
    controller.reserve_subagent_spawns(1).commit()
    assert not controller.before_call("delegate_task", {}).allows_execution
    controller.reset_for_turn()
    assert controller.before_call("delegate_task", {}).allows_execution


@pytest.mark.parametrize("edit", [{"path": "a"}, None])
def test_fix_and_retest_is_never_stopped_when_edits_land_between_the_reds(
    edit: dict[str, Any] | None,
) -> None:
    controller = guard()
    for count in range(12):
        assert controller.before_call(*red()[:2]).allows_execution
        controller.after_call(*red())
        assert controller.before_call("patch", edit or {"n": count}).allows_execution
        controller.after_call("patch", edit or {"n": count}, "patched")
    assert controller.halt_decision is None


def test_a_pure_replay_of_reds_is_blocked_at_the_sixth() -> None:
    controller = guard()
    ran = 0
    for _ in range(9):
        if controller.before_call(*red()[:2]).allows_execution:
            ran += 1
            controller.after_call(*red())
    assert ran == 5


def test_one_edit_resets_the_replay_only_once() -> None:
    controller = guard()
    for _ in range(3):
        controller.after_call(*red())
    controller.after_call("patch", {"path": "a"}, "patched")
    ran = 0
    while controller.before_call(*red()[:2]).allows_execution:
        controller.after_call(*red())
        ran += 1
    assert ran == 5


def test_a_read_between_reds_is_no_progress() -> None:
    """There any terminal call that succeeded was progress, so red, `ls`, red, `ls` never ended."""
    controller = guard()
    for count in range(5):
        controller.after_call(*red())
        controller.after_call(
            "terminal", {"command": "ls"}, json.dumps({"output": f"{count}", "exit_code": 0})
        )
    assert controller.before_call(*red()[:2]).code == "repeated_exact_failure_block"


def test_distinct_red_commands_warn_only() -> None:
    controller = guard()
    for count in range(12):
        assert controller.before_call(*red(f"pytest {count}")[:2]).allows_execution
        assert controller.after_call(*red(f"pytest {count}")).action in ("allow", "warn")
    assert controller.halt_decision is None


def test_eight_distinct_failures_of_another_tool_halt() -> None:
    controller = guard()
    for count in range(1, 9):
        decision = controller.after_call(
            "send_message", {"n": count}, f'{{"error": "no {count}"}}', failed=True
        )
        assert (decision.action == "halt") == (count == 8)
    assert decision.code == "same_tool_failure_halt"
    assert controller.halt_decision is decision


def test_a_browser_retry_after_a_click_is_no_replay() -> None:
    controller = guard()
    for _ in range(9):
        assert controller.before_call("browser_navigate", {"url": "u"}).allows_execution
        controller.after_call("browser_navigate", {"url": "u"}, "Error: timeout", failed=True)
        controller.after_call("browser_click", {"ref": "retry"}, "clicked")
    assert controller.halt_decision is None


def test_refusals_of_the_harness_are_no_failures() -> None:
    controller = guard()
    for _ in range(9):
        refusal = json.dumps({"error": "refused", "guardrail_refusal": True})
        assert controller.after_call("send_message", {}, refusal).action == "allow"
        assert controller.after_call("terminal", {"command": "./x"}, refusal).action == "allow"


@pytest.mark.parametrize("marker", [False, "true", 1, None])
def test_a_real_error_still_is_one(marker: object) -> None:
    controller = guard()
    for _ in range(2):
        decision = controller.after_call(
            "send_message", {}, json.dumps({"error": "x", "guardrail_refusal": marker})
        )
    assert decision.code == "repeated_exact_failure_warning"


def cell(count: int, output: str = "same", tool: str = "execute_code") -> tuple[str, dict[str, Any], str]:
    meta = {"output": output, "duration_seconds": count / 7, "kernel": {"execution_count": count}}
    return tool, {"code": "x"}, json.dumps(meta)


def test_volatile_metadata_of_execute_code_is_ignored() -> None:
    controller = guard()
    for count in range(5):
        controller.observe_call(*cell(count))
    assert controller.halt_decision is not None


def test_a_real_change_of_output_resets() -> None:
    controller = guard()
    for count in range(9):
        controller.observe_call(*cell(count, f"{count}"))
    assert controller.halt_decision is None


def test_other_tools_keep_those_keys() -> None:
    controller = guard()
    for count in range(9):
        controller.observe_call(*cell(count, tool="some_tool"))
    assert controller.halt_decision is None


def test_a_replay_of_186_cells_gets_notices_on_a_desktop() -> None:
    controller = guard(hard=False)
    notices = 0
    for count in range(186):
        assert controller.before_call(*cell(count)[:2]).allows_execution
        assert controller.after_call(*cell(count)).action == "allow"
        notices += controller.observe_call(*cell(count)).notice is not None
    assert notices == 184
    assert controller.halt_decision is None


# --- the order of calls --------------------------------------------------------------------------------------


def kinds(controller: ToolCallGuardrailController, *calls: tuple[str, Any, object]) -> list[str | None]:
    return [controller.observe_call(tool, args, result).kind for tool, args, result in calls]


Observed = tuple[str, dict[str, Any], object]
SAME: Observed = ("some_tool", {"a": 1, "b": 2}, "same")


def test_notices_begin_at_the_third_and_go_on() -> None:
    streak = "identical_call_streak"
    assert kinds(guard(hard=False), *[SAME] * 5) == [None, None, streak, streak, streak]


@pytest.mark.parametrize("other", [("some_tool", {"a": 2}, "same"), ("some_tool", {"a": 1, "b": 2}, "other")])
def test_no_notice_on_other_arguments_or_results(other: tuple[str, Any, object]) -> None:
    assert kinds(guard(hard=False), SAME, SAME, other, SAME, SAME) == [None] * 5


def test_another_call_resets() -> None:
    assert kinds(guard(hard=False), SAME, SAME, ("ls", {}, "x"), SAME, SAME, ("pwd", {}, "y")) == [None] * 6


def test_the_order_of_keys_is_irrelevant() -> None:
    swapped = ("some_tool", {"b": 2, "a": 1}, "same")
    assert kinds(guard(hard=False), SAME, swapped, SAME)[2] == "identical_call_streak"


def test_cycles_get_notices_and_halt() -> None:
    lap: list[Observed] = [("alpha", {}, "1"), ("beta", {}, "2")]
    controller = guard()
    found = kinds(controller, *lap * 5)
    assert found[5] == "identical_cycle"
    assert controller.halt_decision is not None
    assert controller.halt_decision.code == "identical_cycle_halt"
    assert (controller.halt_decision.count, controller.halt_decision.period) == (5, 2)
    assert controller.halt_decision.to_metadata()["period"] == 2


def test_a_cycle_of_pollers_is_exempt_and_one_other_call_arms_it() -> None:
    polls: list[Observed] = [("a_poll", {}, "x"), ("b_poll", {}, "y")]
    assert kinds(guard(), *polls * 9) == [None] * 18
    mixed: list[Observed] = [("a_poll", {}, "x"), ("beta", {}, "y")]
    assert "identical_cycle" in kinds(guard(), *mixed * 4)


def test_the_order_is_reset_with_the_turn() -> None:
    controller = guard(hard=False)
    kinds(controller, SAME, SAME)
    controller.reset_for_turn()
    assert kinds(controller, SAME, SAME) == [None, None]


def test_notices_never_block() -> None:
    controller = guard(hard=False)
    kinds(controller, *[SAME] * 30)
    assert controller.before_call(*SAME[:2]).action == "allow"


def test_notices_are_switched_by_the_configuration() -> None:
    mapping = {
        "tool_loop_guardrails": {"preset": "hermes", "hard_stop_enabled": True},
        "agent": {"stall_guards": "off"},
    }
    controller = ToolCallGuardrailController(GuardConfig.from_mapping(mapping))
    for count in range(5):
        seen = controller.observe_call("some_tool", {}, LONG)
        assert (seen.notice, seen.stub) == (None, None)
        assert (controller.halt_decision is not None) == (count == 4), "hard stops do not hang on the notices"


def test_a_stub_from_the_second_on_and_the_first_stays_whole() -> None:
    controller = guard(hard=False)
    stubs = [
        controller.observe_call("read_file", {"path": "a"}, LONG, tool_call_id=f"c{n}").stub for n in range(3)
    ]
    assert stubs[0] is None
    assert stubs[1] is not None
    assert "c0" in stubs[1]
    assert stubs[1] == stubs[2]


@pytest.mark.parametrize(
    "second, failed", [("y" * 600, False), (LONG, True)], ids=["another result", "a failure"]
)
def test_no_stub(second: str, failed: bool) -> None:
    controller = guard(hard=False)
    controller.observe_call("read_file", {}, LONG)
    assert controller.observe_call("read_file", {}, second, failed=failed).stub is None


@pytest.mark.parametrize("length, stub", [(511, False), (512, True)])
def test_stubs_are_for_long_results(length: int, stub: bool) -> None:
    controller = guard(hard=False)
    controller.observe_call("read_file", {}, "x" * length)
    assert (controller.observe_call("read_file", {}, "x" * length).stub is not None) == stub


def test_a_new_streak_names_its_own_first_call() -> None:
    controller = guard(hard=False)
    for number, text in enumerate((LONG, LONG, "y" * 600, "y" * 600)):
        seen = controller.observe_call("read_file", {}, text, tool_call_id=f"c{number}")
    assert seen.stub is not None
    assert "c2" in seen.stub


def test_pollers_get_stubs_but_no_notices() -> None:
    controller = guard()
    seen = [controller.observe_call("process_manage", {"action": "poll"}, LONG) for _ in range(4)]
    assert [each.stub is not None for each in seen] == [False, True, True, True]
    assert [each.notice for each in seen] == [None] * 4


def test_the_third_gets_stub_and_notice() -> None:
    controller = guard(hard=False)
    seen = [controller.observe_call("some_tool", {}, LONG) for _ in range(3)]
    assert seen[2].stub is not None
    assert seen[2].notice is not None


def test_a_stub_names_where_the_whole_lies() -> None:
    controller = guard(hard=False)
    controller.observe_call("read_file", {}, LONG, tool_call_id="c1")
    controller.record_persisted_result("c1", "/spill/c1.txt")
    seen = controller.observe_call("read_file", {}, LONG, tool_call_id="c2")
    assert seen.stub is not None
    assert "/spill/c1.txt" in seen.stub


def test_a_stub_shows_at_most_120_characters_of_the_arguments() -> None:
    controller = guard(hard=False)
    for _ in range(2):
        seen = controller.observe_call("read_file", {"path": "p" * 4000}, LONG)
    assert seen.stub is not None
    assert 100 < seen.stub.count("p") <= 125


def test_a_streak_broken_by_another_call_gives_the_whole_text_again() -> None:
    controller = guard(hard=False)
    controller.observe_call("read_file", {}, LONG)
    controller.observe_call("ls", {}, "x")
    assert controller.observe_call("read_file", {}, LONG).stub is None


@pytest.mark.parametrize("result", [None, {"image": "x"}, ["a"], 7])
def test_a_result_that_is_no_text_gets_no_stub_and_ends_the_streak(result: object) -> None:
    controller = guard(hard=False)
    assert kinds(controller, SAME, SAME, ("some_tool", {"a": 1, "b": 2}, result), SAME, SAME) == [None] * 5
    assert controller.observe_call("some_tool", {}, result).stub is None


def test_notices_go_by_the_raw_result() -> None:
    """The runtime adds its guidance to what the model sees; the guard is given what the tool said."""
    controller = guard(hard=False)
    for _ in range(3):
        controller.after_call("read_file", {}, "raw")
        seen = controller.observe_call("read_file", {}, "raw")
    assert seen.notice is None, "after_call has spoken: one text for a result"


@pytest.mark.parametrize("args", [None, [], "x", 7, {"a": {1, 2}}, {"a": "\udc80"}, {1: 2}])
def test_any_arguments_get_an_answer(args: object) -> None:
    controller = guard()
    assert controller.before_call("terminal", args).allows_execution
    controller.after_call("terminal", args, "x")
    controller.observe_call("terminal", args, "x")
