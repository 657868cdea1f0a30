# SPDX-License-Identifier: Apache-2.0
"""The sentences the agent reads: what was counted, what did not change, and what to do instead."""

from __future__ import annotations

TEXTS = {
    "repeated_exact_failure_warning": (
        "This call of {tool} has failed {count} times in the same way. Running it again will not help: read the "
        "error, change the arguments, or try another way."
    ),
    "repeated_exact_failure_block": (
        "Refused: this call of {tool} has failed {count} times in the same way and nothing was changed since. "
        "Change the arguments, fix the cause, or tell the user what is in the way."
    ),
    "same_tool_failure_warning": (
        "{count} calls of {tool} have failed since anything last succeeded. Check what they have in common before "
        "trying another: the folder, the permissions, the name of the thing."
    ),
    "same_tool_failure_halt": (
        "Stopped: {count} calls of {tool} have failed since anything last succeeded. Tell the user what was tried "
        "and what is in the way."
    ),
    "idempotent_no_progress_warning": (
        "This call of {tool} has given the same result {count} times, and nothing was changed in between. Use the "
        "result that you have, or look elsewhere."
    ),
    "idempotent_no_progress_block": (
        "Refused: this call of {tool} has given the same result {count} times, and nothing was changed in between. "
        "The result stands above. To wait for a change, use one command that waits."
    ),
    "mutating_no_progress_warning": (
        "This call of {tool} has given the same result {count} times. If it was to change something, it has not: "
        "check the effect before running it again."
    ),
    "repeated_identical_result_block": (
        "Refused: this call of {tool} has given the same result {count} times without any other change in between. "
        "Check whether it does what you expect, and try another way."
    ),
    "wait_no_progress_warning": (
        "Nothing has changed in {count} looks. Wait in one call that blocks until something happens (--watch, `gh "
        "run watch`), with longer pauses, or go on with other work."
    ),
    "wait_no_progress_block": (
        "Refused: nothing has changed in {count} looks, longer than a wait may last here. Wait in one call that "
        "blocks (--watch), go on with other work, or tell the user that it has not ended."
    ),
    "identical_call_streak": (
        "This is the {count}th time in a row that {tool} was called like this with the same result."
    ),
    "identical_call_streak_halt": (
        "Stopped: {tool} was called {count} times in a row in the same way with the same result."
    ),
    "tool_call_cycle_warning": (
        "The last {period} calls have come round {count} times with the same results. Stop going round: decide "
        "with what you know, or try something else."
    ),
    "tool_call_cycle_block": (
        "Refused: the last {period} calls have come round {count} times with the same results. None of them will "
        "tell anything new: do something else, or tell the user what is in the way."
    ),
    "identical_cycle_halt": (
        "Stopped: the last {period} calls have come round {count} times with the same results."
    ),
    "same_failure_warning": (
        "{count} calls of {tool} with different arguments came to nothing in the same way. The arguments are not "
        "the cause: check what they rest on."
    ),
    "same_failure_block": (
        "Refused: {count} calls of {tool} with different arguments came to nothing in the same way. Do something "
        "else first, or tell the user what is in the way."
    ),
    "changing_result_warning": (
        "This call of {tool} was made {count} times, with another result each time. If you are waiting for one, "
        "wait in one call; if not, work with what you have."
    ),
    "counting_warning": (
        "{count} calls of {tool} with other arguments have said the same. If you look for something new, it is not "
        "there: take the next step of the task, or say that it is done."
    ),
    "unanswered_warning": (
        "This call of {tool} was made {count} times and no result has come. It may not be available here: try "
        "another way."
    ),
    "unanswered_block": (
        "Refused: this call of {tool} was made {count} times and no result has come. Try another way, or tell the "
        "user."
    ),
    "loop_web_search_cap": "Refused: {count} searches of the web were made in this turn, which is the limit.",
    "loop_subagent_cap": "Refused: {count} sub-agents were started in this turn, which is the limit.",
    "guardrail_halt": "Stopped: the guard has ended this turn.",
    "ignored_blocks_halt": "Stopped: {count} refused calls in a row were followed by another.",
}
"""Code of a decision, and its sentence."""


def text_for(code: str, **values: object) -> str:
    """The sentence of a code."""
    return TEXTS[code].format_map(values)


def shown_name(name: str) -> str:
    """A tool's name as it may stand in a sentence."""
    kept = "".join([char if char.isprintable() else "?" for char in name[:80]])
    return kept or "the tool"
