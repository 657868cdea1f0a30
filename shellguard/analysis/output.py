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
    if prints.kind == "under":
        value = _under(prints, call)
    elif prints.kind == "absolute-path":
        value = shaped(Shape.WORD, call.span, "/")
    else:
        value = shaped(_SHAPES[prints.kind], call.span)
    if value is None or _one_line(prints, call):
        return value
    return Value(value.text, call.span, exact=False, many=True, shape=value.shape)


def _one_line(prints: Prints, call: Call) -> bool:
    """Whether only one thing is asked for. A revision (`HEAD^@`) and a search may give any number."""
    asked = sum(len(level.uses) for level in call.levels)
    operands = call.leaf.operands
    return (
        prints.kind not in ("hash", "under")
        and asked <= 1
        and (not operands or (len(operands) == 1 and not operands[0].many))
    )


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
