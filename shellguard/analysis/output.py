# SPDX-License-Identifier: Apache-2.0
"""What is known of the output of a call: the shape that its rule says (`prints`)."""

from __future__ import annotations

from shellguard.values.value import Shape, Value, common_prefix, is_plain, shaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.call import Call
    from shellguard.analysis.cases import Possible
    from shellguard.rules.model import Prints

_SHAPES = {"hash": Shape.HASH, "number": Shape.NUMBER, "name": Shape.WORD}


def output_of(call: Call, base: list[Possible]) -> Value | None:
    """The shape of standard output, where the rule says one and every word of the call is understood."""
    prints = call.leaf.spec.prints
    if len(base) == 1 and base[0].prints is not None:
        prints = base[0].prints
    if prints is None or any(level.loose or level.problems for level in call.levels):
        return None
    if prints.kind in _SHAPES:
        return shaped(_SHAPES[prints.kind], call.span)
    if prints.kind == "absolute-path":
        return shaped(Shape.WORD, call.span, "/")
    return _under(prints, call)


def found_under(call: Call) -> Value | None:
    """What a walker like find puts in place of `{}`: a path that begins with one of its starting points."""
    spec = call.leaf.spec
    for prints in (spec.prints, *(case.prints for case in spec.cases)):
        if prints is not None and prints.kind == "under":
            return _under(prints, call)
    return None


def _under(prints: Prints, call: Call) -> Value | None:
    """Each begins with one of the words of a slot, or with `.` when there is none."""
    values = [value for value, slots in call.placed if any(slot.name == prints.operand for slot in slots)]
    if not values:
        return shaped(Shape.WORD, call.span, ".")
    if any(value.text[0:1] == "-" or not is_plain(value.text) for value in values):
        return None
    return shaped(Shape.WORD, call.span, common_prefix([value.text for value in values]))
