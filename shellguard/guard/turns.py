# SPDX-License-Identifier: Apache-2.0
"""Whether what the user says asks for anything new."""

from __future__ import annotations

_BARE = frozenset(
    [
        *(
            "continue",
            "please continue",
            "continue please",
            "go on",
            "please go on",
            "go ahead",
            "keep going",
        ),
        *(
            "carry on",
            "proceed",
            "please proceed",
            "resume",
            "next",
            "more",
            "ok",
            "okay",
            "k",
            "yes",
            "y",
            "yep",
        ),
        *(
            "sure",
            "do it",
            "and",
            "go",
            "yes continue",
            "ok continue",
            "yes go ahead",
            "yes please",
            "please do",
        ),
        *("continue with the task", "continue the task", "continue working", "continue where you left off"),
        *("continue from where you left off", "keep working", "try again"),
        "please continue from where you left off",
        *(
            "weiter",
            "mach weiter",
            "bitte weiter",
            "ja",
            "continua",
            "continuar",
            "sigue",
            "continuez",
            "继续",
            "続けて",
        ),
    ]
)
_ENVELOPES = (
    "this session is being continued from a previous conversation",
    "[system: continue",
    "<system-reminder>",
    "continue from where",
)
"""How hosts begin what they say in the user's name after they have shortened the conversation."""


def is_bare(text: str) -> bool:
    """Whether a turn only says "go on", or is the envelope of a shortened conversation."""
    low = " ".join(text[:200].lower().split())
    return low.strip(" .!?,…>") in _BARE or low.startswith(_ENVELOPES)
