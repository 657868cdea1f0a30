# SPDX-License-Identifier: Apache-2.0
"""Text of others as it may be stored and shown: the one place between transcripts and what a replay writes."""

from __future__ import annotations

from shellguard.redact import redact

REMEMBERED = 4_096
_redacted: dict[str, str] = {}


def clean(text: str, raw: bool) -> str:
    """The text as it may be stored: secrets and personal details replaced, unless it is wanted raw."""
    if raw or not text:
        return text
    found = _redacted.get(text)
    if found is None:
        found = redact(text)
        if len(_redacted) >= REMEMBERED:
            _redacted.clear()
        _redacted[text] = found
    return found
