# SPDX-License-Identifier: Apache-2.0
"""The words that redaction looks for before it tries a pattern never hide a match of that pattern."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellguard import redact as redaction
from shellguard.redact import redact

PARTS = st.sampled_from(
    [
        *(
            "pass",
            "word",
            "pwd",
            "PW",
            "secret",
            "ToKen",
            "credentials",
            "api",
            "_",
            "-",
            "key",
            "sig",
            "signature",
        ),
        *(
            "Authorization",
            "bearer",
            "Basic",
            "cookie",
            "Set-Cookie",
            "X-Auth",
            "private-token",
            ":",
            "=",
            " ",
            "'",
            '"',
        ),
        *(
            "https://",
            "user",
            "@",
            "host.example.com",
            "--user",
            "-u",
            "-b",
            "--cookie",
            "sshpass -p",
            "mysql ",
            "-p",
        ),
        *(
            "ghp_",
            "xoxb-",
            "sk-",
            "AKIA",
            "AIza",
            "SG.",
            "eyJ",
            "abcDEF123456",
            "hooks.slack.com/services/",
            "webhook",
        ),
        *(
            "/home/",
            "/Users/",
            "\\Users\\",
            "~",
            "ann/",
            "0123456789abcdef" * 2,
            "aB3" * 20,
            "\n",
            "/",
            ".",
            "é",
            "\u017f",
            "K",
        ),
        *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "$TOKEN", "$(cat f)", ",", "{", "}"),
    ]
)


@given(st.lists(PARTS, max_size=12).map("".join))
def test_hints_hide_nothing(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redaction, "_may_match", lambda low, hints: True)
        patch.setattr(redaction, "_LONG_RUN", re.compile(""))
        everything = redact(text)
    assert redact(text) == everything
