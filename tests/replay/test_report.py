# SPDX-License-Identifier: Apache-2.0
"""The report: what stands in it, that nothing of a transcript acts in it, and that it reads without its script.

The browser's part (console, keyboard, axe) is `tools/look_at_report.py`: it needs Chromium.
"""

from __future__ import annotations

import re
from base64 import b64encode
from contextlib import closing
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from shellguard.replay import report
from shellguard.replay.options import Options
from shellguard.replay.run import How, replay
from tests.replay.calls import incident, lines_of

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "<!--<script>",
    "\x1b[31mred\x1b[0m\x07",
    "a\u202ereversed\u2066x",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "\u2028\u2029\ud800",
    "]]>&lt;b&gt;",
)


class Page(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        (self.scripts if self._open and self._open[-1] in {"script", "style"} else self.texts).append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def page(calls: list[dict[str, Any]], folder: Path, **options: Any) -> tuple[str, Page]:
    path = folder / "calls.jsonl"
    path.write_text(lines_of(calls), encoding="utf-8")
    with closing(replay([str(path)], Options(**options), How(jobs=1, work=str(folder / "work")))) as done:
        report.write(str(folder / "report.html"), done, None)
    text = (folder / "report.html").read_text(encoding="utf-8")
    return text, Page(text)


def test_the_incident_is_drawn(tmp_path: Path) -> None:
    limit = {"hard_stop_after": {"idempotent_no_progress": 10}}
    text, found = page(incident(), tmp_path, guard=limit)
    cells = [each for each in found.named("button") if (each["class"] or "").startswith("c ")]
    assert len(cells) == 828
    assert sum("saved" in (cell["class"] or "").split() for cell in cells) == 715
    stops = [cell["aria-label"] for cell in cells if "stop" in (cell["class"] or "").split()]
    assert stops[0] == "call 64, read, would not have run"
    words = " ".join(" ".join(found.texts).split())
    assert "517 11 507 45 min" in words
    assert len(text) < 400_000


@pytest.mark.parametrize("raw", [False, True])
def test_nothing_of_a_transcript_acts(tmp_path: Path, raw: bool) -> None:
    calls = []
    for at, text in enumerate(HOSTILE):
        calls += [
            {
                "source": text,
                "session": f"{text}{at % 3}",
                "agent": text,
                "index": at,
                "tool": tool,
                "args": {"command": f"echo {text}; {text}"},
                "result": text,
            }
            for tool in ("bash", text)
        ]
    calls += [
        {"session": HOSTILE[0], "tool": "bash", "args": {"command": f"git {HOSTILE[1]}"}, "result": "x"}
    ] * 8
    (tmp_path / "calls2").mkdir()
    text, found = page(calls, tmp_path, raw=raw)
    _, plain = page([], tmp_path / "calls2")
    assert {tag for tag, _ in found.elements} <= {tag for tag, _ in plain.elements} | {
        *(
            "table",
            "caption",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "svg",
            "rect",
            "details",
            "summary",
            "h3",
            "code",
            "br",
        ),
    }
    assert len(found.named("script")) == 2
    assert not [name for _, attributes in found.elements for name in attributes if name.startswith("on")]
    assert not [
        value
        for _, attributes in found.elements
        for value in (attributes.get("href"), attributes.get("src"))
        if value
    ]
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", text
    )
    assert "{{ 7 * 7 }}{% raw %}" in text


def test_the_policy_names_exactly_what_is_there(tmp_path: Path) -> None:
    _, found = page([], tmp_path)
    [policy] = [each["content"] or "" for each in found.named("meta") if each.get("http-equiv")]
    assert policy.startswith("default-src 'none'; ")
    style, _, script = found.scripts
    for name, content in (("style-src", style), ("script-src", script)):
        assert f"{name} 'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'" in policy
    assert "unsafe" not in policy
    assert not [attributes for _, attributes in found.elements if "style" in attributes]


def test_no_secret_and_no_person_stands_in_it(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    command = f"tool-{secret} /home/somebody/x; curl -u ann:hunter22 h"
    calls = [{"session": "/home/somebody/p", "tool": "bash", "args": {"command": command}, "result": "x"}] * 8
    (tmp_path / "home" / "somebody").mkdir(parents=True)
    text, _ = page([*calls, {"tool": 5}], tmp_path / "home" / "somebody")
    for word in (secret, "somebody", "hunter22"):
        assert word not in text
    text, _ = page(calls, tmp_path, raw=True)
    assert secret in text


def test_calls_beyond_the_drawn_ones_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MOST_CELLS", 100)
    text, _ = page(incident(), tmp_path, guard={"hard_stop_after": {"idempotent_no_progress": 10}})
    assert "828 calls, 715 would not have run" in text
    assert "728 more calls are not drawn." in text


def test_without_calls_it_says_so(tmp_path: Path) -> None:
    _, found = page([], tmp_path)
    assert "No calls were found." in " ".join(found.texts)


def test_every_chart_has_its_table_and_every_control_its_name(tmp_path: Path) -> None:
    calls = [*incident()[:100], {"session": "s", "tool": "bash", "args": {"command": "nosuch"}, "result": ""}]
    _, found = page(calls, tmp_path)
    names = {each["id"] for each in found.named("h2") + found.named("h3")}
    for tag, attributes in found.elements:
        if tag == "section":
            assert attributes["aria-labelledby"] in names
        if tag == "svg":
            assert attributes["aria-label"]
    tables, captions = len(found.named("table")), len(found.named("caption"))
    assert tables == captions == 3 + len(found.named("details"))
    assert all(each.get("scope") in {"col", "row"} for each in found.named("th"))


def test_a_rule_can_be_begun_with_a_line_that_is_safe_to_paste(tmp_path: Path) -> None:
    calls = [
        {"session": "s", "tool": "bash", "args": {"command": command}, "result": ""}
        for command in ("nosuch-tool x", "'$(rm -rf x)' a", "'a;b'", "-x")
    ]
    _, found = page(calls, tmp_path)
    assert [each["data-copy"] for each in found.named("button") if "data-copy" in each] == [
        "shellguard rules new nosuch-tool"
    ]


def test_a_large_replay_makes_no_large_report(tmp_path: Path) -> None:
    calls = [
        {
            "session": f"s{at // 50}",
            "index": at % 50,
            "tool": "bash",
            "args": {"command": f"cat {'x' * 400}{at}"},
        }
        for at in range(5_000)
    ]
    text, found = page(calls, tmp_path)
    assert (
        len([each for each in found.named("section") if each.get("class") == "session"])
        == report.MOST_SESSIONS
    )
    assert "40 more sessions are counted above and not drawn." in text
    assert len(text) < 6_000_000
