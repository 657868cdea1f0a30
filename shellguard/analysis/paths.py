# SPDX-License-Identifier: Apache-2.0
"""Which of the files that are read may hold credentials."""

from __future__ import annotations

from shellguard.effects import RuleRef

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.inquiry import Inquiry
    from shellguard.values.value import Value


def sensitive(value: Value, inquiry: Inquiry) -> RuleRef | None:
    """The line that calls the file sensitive, None when no line does. Of a glob, what it may match is asked too."""
    paths = inquiry.shelf.paths
    if not value.text:
        return None
    place = paths.place_for(value.text)
    if place is None and not value.exact:
        place = paths.place_for(value.text + "x")
    return None if place is None else RuleRef(*place, "sensitive")


def marks_of(line: RuleRef | None) -> tuple[str, ...]:
    """The marks of a read of a file that `line` speaks of."""
    return () if line is None else ("sensitive",)
