# SPDX-License-Identifier: Apache-2.0
"""The record of the witness: what a line says, and when a rule is another than the one that was tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from shellguard.rules.proof import LOCK, Proof, hash_of_rule, is_stale, proofs_in, read_lock

PROOF = Proof("frob", "1.2", "rules/x/frob.yaml", hash_of_rule(b"command: frob\n"), "2026-11-30")


def test_a_line_is_read_as_it_was_written() -> None:
    assert read_lock(f"# comment\n{PROOF.line()}\n") == ({PROOF.path: PROOF}, [])


def test_runs_are_kept_by_their_fields() -> None:
    lines = ["run", "frob", "ok", "-", '"frob x"'], ["run", "frob", "refuted", "net,tmp", '"frob"', "why"]
    assert read_lock("\n".join("\t".join(line) for line in lines))[1] == list(lines)


@pytest.mark.parametrize("text", ["", "tool\tfrob\t1.2", "run\tfrob", "\t\t\t\t\t", "what\ta\tb\tc\td\te"])
def test_a_line_of_another_form_is_left_out(text: str) -> None:
    assert read_lock(text) == ({}, [])


def test_a_rule_is_stale_when_its_text_changed(tmp_path: Path) -> None:
    file = tmp_path / "frob.yaml"
    file.write_bytes(b"command: frob\n")
    assert not is_stale(PROOF, str(file))
    file.write_bytes(b"command: frob\r\n")
    assert not is_stale(PROOF, str(file)), "the end of a line says nothing"
    file.write_bytes(b"command: frob\n# changed\n")
    assert is_stale(PROOF, str(file))
    assert is_stale(None, str(file))
    assert is_stale(PROOF, str(tmp_path / "gone.yaml"))


def test_a_folder_without_a_record_has_no_proofs(tmp_path: Path) -> None:
    assert proofs_in(str(tmp_path)) == {}
    (tmp_path / LOCK).write_text(PROOF.line())
    assert proofs_in(str(tmp_path)) == {PROOF.path: PROOF}
    (tmp_path / LOCK).write_bytes(b"\xff\xfe")
    assert proofs_in(str(tmp_path)) == {}
