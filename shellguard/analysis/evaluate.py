# SPDX-License-Identifier: Apache-2.0
"""One call of a tool: what its rule says of the words as they were bound.

Only adds facts. No branch returns before the end, and no fact hides another. Where a word is not known, everything it
may mean at its place is added.
"""

from __future__ import annotations

from shellguard.analysis.bind import bind
from shellguard.analysis.call import Call
from shellguard.analysis.cases import Possible, base_of, certainly
from shellguard.analysis.inner import inner_commands
from shellguard.analysis.output import output_of
from shellguard.analysis.paths import marks_of, sensitive
from shellguard.analysis.redirects import harmless_target
from shellguard.analysis.shell_state import change_state, does_nothing_somewhere
from shellguard.analysis.variables import environment_facts
from shellguard.effects import Effect, Kind
from shellguard.values.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.analysis.bind import Bound, Use
    from shellguard.analysis.inquiry import Inquiry
    from shellguard.analysis.seen import Log
    from shellguard.analysis.variables import Setting
    from shellguard.effects import RuleRef as Ref
    from shellguard.rules.model import CommandRule, Operand, Option, Pattern, Spec
    from shellguard.spans import Span
    from shellguard.values.scope import Scope


def invocation(
    rule: CommandRule, words: list[Value], scope: Scope, inquiry: Inquiry, settings: tuple[Setting, ...]
) -> Value | None:
    """Judges one call of a tool. Gives back what is known of its output."""
    if not (rule.spec.changes and does_nothing_somewhere(rule.spec.changes, inquiry)):
        return _invocation(rule, words, scope, inquiry, settings)
    layer = scope.layer()
    output = _invocation(rule, words, layer, inquiry, settings)
    scope.merge(layer)
    return output


def _invocation(
    rule: CommandRule, words: list[Value], scope: Scope, inquiry: Inquiry, settings: tuple[Setting, ...]
) -> Value | None:
    operands_only = inquiry.assumptions.unknown_words == "operand"
    readings = bind(rule.spec, words[1:], words[0].span, operands_only=operands_only)
    if len(readings) == 1:
        return _judge(Call(rule.path, words, readings[0]), scope, inquiry, settings)
    if not inquiry.step(words[0].span, len(readings) * (1 + len(words) // 8)):
        return None
    branches = [scope.layer() for _ in readings]
    for levels, branch in zip(readings, branches, strict=True):
        _judge(Call(rule.path, words, levels), branch, inquiry, settings)
    scope.merge(*branches)
    return None


def _judge(call: Call, scope: Scope, inquiry: Inquiry, settings: tuple[Setting, ...]) -> Value | None:
    """Judges a call in one way to read its words."""
    leaf = call.leaf
    spec = leaf.spec
    acts = False
    if inquiry.limits.log is not None:
        _keep(call, inquiry.limits.log, inquiry)
    if spec.marks:
        inquiry = _elsewhere(call, inquiry)
    if (inquiry.piped or inquiry.redirected) and "settings" in spec.changes:
        inquiry.limits.input_moved = True
        if inquiry.limits.sends_later:
            because = "a text that runs at some other time may send what this opens to another host"
            inquiry.add(Effect.WRITES, call.span, because, kind=Kind.SENT)
    if settings or scope.names or scope.exported:  # else the text has set nothing
        environment_facts(spec, settings, call.path, scope, inquiry)
    for level in call.levels:
        if level.acts or level.loose:
            acts = True
            _option_facts(call, level, scope, inquiry)
        if level.problems:
            _problem_facts(call, level, inquiry)
        if level.any_subcommand:
            _worst_facts(call, level, inquiry)
    if spec.cases or spec.effects is None or leaf.any_subcommand:
        base = base_of(leaf)
        _base_facts(call, base, scope, inquiry)
    else:  # nearly every command has one base effect
        base = []
        _plain_facts(call, spec.effects, inquiry)
    if spec.runs_config is not None:
        _configuration_facts(call, spec.runs_config, inquiry)
    if not leaf.any_subcommand:
        if call.placed or leaf.many:
            _operand_facts(call, scope, inquiry)
        if acts or spec.runs is not None:
            inner_commands(call, scope, inquiry, settings)
    if acts or spec.changes or spec.has_roles:
        change_state(call, scope, inquiry, settings)
    return None if inquiry.limits.interrupted else output_of(call, base)


def _keep(call: Call, log: Log, inquiry: Inquiry) -> None:
    """Puts the call into the log, with the words that its rule says are written to, or become the current folder."""
    leaf = call.leaf
    written = [
        value
        for level in call.levels
        for use in level.uses
        if Effect.WRITES in use.option.effects and use.option.target == "value"
        for value in use.values
    ]
    targets = {
        use.option.target
        for level in call.levels
        for use in level.uses
        if Effect.WRITES in use.option.effects and use.option.target not in (None, "value")
    }
    for value, slots in call.placed:
        if any(Effect.WRITES in slot.effects or slot.name in targets for slot in slots):
            written.append(value)
    path = [call.levels[0].spec.name.partition(" ")[0]]
    for above, below in zip(call.levels, call.levels[1:], strict=False):
        path.append(above.words[len(above.words) - len(below.words) - 1].text)
    folder = next(
        (value for value, slots in call.placed if any(slot.role == "directory" for slot in slots)), None
    )
    name, words = call.words[0].text, tuple(leaf.words)
    log.call(name, tuple(path), words, call.span, inquiry, tuple(written), folder)


def _elsewhere(call: Call, inquiry: Inquiry) -> Inquiry:
    """The marks of a call that runs a command as somebody else, or on another host, stand on all facts about it.

    What such a command reads on standard input goes to the other host.
    """
    spec = call.leaf.spec
    inquiry = inquiry.marked(tuple(mark for mark in spec.marks if mark in ("privileged", "remote")))
    runs = spec.runs is not None and (inquiry.piped or inquiry.limits.input_moved)
    if runs and "remote" in spec.marks:
        because = f"what `{spec.name}` reads on standard input is sent to another host"
        source = call.ref(spec, spec.line_of("marks"), "marks")
        inquiry.add(Effect.WRITES, call.span, because, source, kind=Kind.SENT)
    return inquiry


# --- the base effect --------------------------------------------------------------------------------------------------


def _base_facts(call: Call, base: list[Possible], scope: Scope, inquiry: Inquiry) -> None:
    spec = call.leaf.spec
    for possible in base:
        source = call.ref(spec, possible.line, possible.place)
        for effect in _ordered(possible.effects):
            inquiry.add(effect, call.span, possible.because, source, spec.all_marks, possible.kind)
        if possible.stdin == "keys":
            _keys(call, source, inquiry)
        elif possible.stdin is not None:
            from shellguard.analysis.embedded import script_facts

            text = inquiry.typed or Value("", call.span, exact=False)
            script_facts(_dialect(possible.stdin, call.leaf), text, source, scope, inquiry)


def _keys(call: Call, source: Ref, inquiry: Inquiry) -> None:
    """A tool that takes its standard input for keys that somebody presses: they are nobody's on a file or a pipe."""
    if inquiry.piped or inquiry.redirected or inquiry.limits.input_moved:
        because = f"`{call.leaf.spec.name}` takes what is on its standard input for keys that are pressed"
        inquiry.unknown(call.span, because, Kind.SCRIPT, source)


def _plain_facts(call: Call, effects: frozenset[str], inquiry: Inquiry) -> None:
    spec = call.leaf.spec
    told = spec.told.get(0)
    if told is None:
        told = spec.told[0] = call.ref(spec, spec.line_of("effect"), "effect"), f"`{spec.name}`"
    source, because = told
    for effect in _ordered(effects):
        inquiry.add(effect, call.span, because, source, spec.all_marks)


def _configuration_facts(call: Call, place: str, inquiry: Inquiry) -> None:
    spec = call.leaf.spec
    source = call.ref(spec, spec.line_of("runs_config"), "runs_config")
    if place == "clone":
        because = f"`{spec.name}` runs what files of the folder say"
        inquiry.add(Effect.EXECUTES, call.span, because, source, kind=Kind.CONFIGURATION)
    elif inquiry.assumptions.trust == "words":
        because = f"`{spec.name}` may run what its configuration says ({place})"
        inquiry.add(Effect.EXECUTES, call.span, because, source, kind=Kind.CONFIGURATION)


_ORDER = (Effect.READS, Effect.WRITES, Effect.EXECUTES, Effect.NETWORK, Effect.WAITS, Effect.UNKNOWN)


_rows: dict[frozenset[str], tuple[str, ...]] = {}  # there are 64 sets of effects


def _ordered(effects: frozenset[str]) -> tuple[str, ...]:
    row = _rows.get(effects)
    if row is None:
        row = _rows[effects] = tuple(effect for effect in _ORDER if effect in effects)
    return row


def _dialect(language: str, level: Bound) -> str:
    """The language of a script of this call, as its options have it."""
    dialects = level.spec.dialects
    if dialects and language == level.spec.language:
        for name, other in dialects.items():
            if name in level.certain:
                return other
    return language


def _problem_facts(call: Call, level: Bound, inquiry: Inquiry) -> None:
    for problem in level.problems:
        source = call.ref(level.spec, level.spec.line, "")
        inquiry.unknown(problem.span, problem.because, problem.kind, source)


def _worst_facts(call: Call, level: Bound, inquiry: Inquiry) -> None:
    """The subcommand cannot be told: it may be any of them, or one that the rule does not know."""
    spec = level.spec
    source = call.ref(spec, spec.line_of("subcommands"), "subcommands")
    because = f"which subcommand of `{spec.name}` this is cannot be told"
    for effect in _ordered(frozenset(_effects_below(spec))):
        inquiry.add(effect, call.span, because, source, kind=Kind.UNSEEN)
    inquiry.unknown(call.span, because, Kind.UNSEEN, source)


def _effects_below(spec: Spec) -> set[str]:
    """Every effect that any subcommand may have, with its options and operands."""
    found: set[str] = set()
    for below in spec.subcommands.values():
        found |= below.effects or frozenset()
        found |= _effects_below(below)
        for case in below.cases:
            found |= case.effects
        for option in below.options.values():
            found |= option.effects
        for slot in below.operands:
            found |= slot.effects
    return found


# --- options ----------------------------------------------------------------------------------------------------------


def _option_facts(call: Call, level: Bound, scope: Scope, inquiry: Inquiry) -> None:
    joined = _joined_script(call, level, inquiry) if len(level.uses) > 1 else None
    for use in level.uses:
        if use.option is not joined:
            _use_facts(call, level, use, scope, inquiry)
    if level.loose:
        _any_option_facts(call, level, inquiry)


def _use_facts(call: Call, level: Bound, use: Use, scope: Scope, inquiry: Inquiry) -> None:
    spec, option = level.spec, use.option
    if option.harmless:
        return
    told = spec.told.get(id(option))
    if told is None:
        source = call.ref(spec, option.line, f"options.{option.name}")
        told = spec.told[id(option)] = source, f"`{spec.name}` with {option.name}"
    source, because = told
    if not use.values:
        for effect in _ordered(option.effects):
            inquiry.add(effect, use.span, because, source, kind=Kind.OPTION)
        return
    values = use.values
    if option.takes == "until":
        values = ()
        for effect in _ordered(option.effects):
            inquiry.add(effect, use.span, because, source, kind=Kind.OPTION)
    for value in values:
        same_shell = bool(spec.changes)
        _word_facts(
            option,
            level,
            value,
            use.span,
            because,
            source,
            scope,
            inquiry,
            kind=Kind.OPTION,
            same_shell=same_shell,
        )


def _joined_script(call: Call, level: Bound, inquiry: Inquiry) -> Option | None:
    """The option whose values make one script together, which is judged here."""
    first = next((use.option for use in level.uses if use.option.role == "script"), None)
    if first is None:
        return None
    values = [value for use in level.uses if use.option is first for value in use.values]
    if len(values) < 2 or any(value.sample is None for value in values):
        return None
    from shellguard.analysis.embedded import JOINED, pieces_facts

    if first.language not in JOINED:
        return None
    pieces_facts(values, call.ref(level.spec, first.line, f"options.{first.name}"), inquiry)
    return first


def _any_option_facts(call: Call, level: Bound, inquiry: Inquiry) -> None:
    """Some word may be any option: each of them adds what it would with a value nobody knows."""
    spec = level.spec
    kept = inquiry.limits.worst.get(id(spec))
    if kept is None:
        kept = inquiry.limits.worst[id(spec)] = (spec, _worst_options(spec))
    for effect, option in kept[1]:
        source = call.ref(spec, option.line, f"options.{option.name}")
        because = f"a word that is not known may be {option.name} of `{spec.name}`"
        inquiry.add(effect, call.span, because, source, kind=Kind.UNSEEN)
    if not (spec.complete or spec.style in ("open", "plain")):
        because = f"a word that is not known may be an option of `{spec.name}` that its rule does not list"
        inquiry.unknown(call.span, because, Kind.UNSEEN, call.ref(spec, spec.line, ""))


def _worst_options(spec: Spec) -> tuple[tuple[str, Option], ...]:
    """Each effect that some option of the level has, with the first that has it."""
    found: dict[str, Option] = {}
    for option in spec.distinct_options():
        for effect in _ordered(option.effects):
            found.setdefault(effect, option)
        if option.program or option.runs_value or option.role not in (None, "directory"):
            found.setdefault(Effect.UNKNOWN, option)
    return tuple(found.items())


# --- operands ---------------------------------------------------------------------------------------------------------


def _operand_facts(call: Call, scope: Scope, inquiry: Inquiry) -> None:
    bound = call.leaf
    spec = bound.spec
    loose_end = spec.runs is not None or spec.accepts_anything
    for value, slots in call.placed:
        if not slots and not loose_end:
            inquiry.unknown(
                value.span,
                f"`{spec.name}` has no place for {_shown(value)} in its rule",
                Kind.NO_PLACE,
                call.ref(spec, spec.line, "operands"),
            )
        for slot in slots:
            if not (slot.effects or slot.role or slot.program):
                continue
            told = spec.told.get(id(slot))
            if told is None:
                source = call.ref(spec, slot.line, f"operands.{slot.name}")
                told = spec.told[id(slot)] = source, f"{slot.name} of `{spec.name}`"
            source, because = told
            same_shell = bool(spec.changes)
            kind = Kind.OPERAND
            _word_facts(
                slot,
                bound,
                value,
                value.span,
                because,
                source,
                scope,
                inquiry,
                kind=kind,
                same_shell=same_shell,
            )
    if inquiry.assumptions.has_zsh:
        _numbers_for_zsh(call, scope, inquiry)
    if bound.many and not loose_end and not any(slot.many for slot in spec.operands):
        source = call.ref(spec, spec.line, "operands")
        because = f"`{spec.name}` may get more words than its rule has places for"
        inquiry.unknown(call.span, because, Kind.UNSEEN, source)


def _numbers_for_zsh(call: Call, scope: Scope, inquiry: Inquiry) -> None:
    """The words behind a format of printf that reads numbers: zsh evaluates them."""
    formats = [
        value
        for value, slots in call.placed
        if any(slot.role == "script" and slot.language == "printf" for slot in slots)
    ]
    if not formats:
        return
    from shellguard.analysis.arithmetic import number_for_zsh
    from shellguard.analysis.embedded.printf import takes_numbers

    if any(value.sample is not None and takes_numbers(value.sample) for value in formats):
        for value, _ in call.placed:
            if value not in formats:
                number_for_zsh(value, scope, inquiry)


def _shown(value: Value) -> str:
    return repr(value.text) if value.exact else "a word that is not known"


# --- one word in its place --------------------------------------------------------------------------------------------


def _word_facts(
    place: Option | Operand,
    level: Bound,
    value: Value,
    span: Span,
    because: str,
    source: Ref,
    scope: Scope,
    inquiry: Inquiry,
    *,
    kind: str,
    same_shell: bool,
) -> None:
    """What one word does as the value of an option or in a slot: its effects, its credentials, the program it is."""
    if place.only and certainly(place.only, value):
        return
    if not place.matching or _may_match(place.matching, value):
        for effect in _ordered(place.effects):
            _effect_fact(effect, place, value, span, because, source, inquiry, kind)
    if place.role == "script":
        from shellguard.analysis.embedded import script_facts

        script_facts(
            _dialect(place.language or "", level), value, source, scope, inquiry, same_shell=same_shell
        )
    if place.program:
        _program_facts(value, source, scope, inquiry)


def _effect_fact(
    effect: str,
    place: Option | Operand,
    value: Value,
    span: Span,
    because: str,
    source: Ref,
    inquiry: Inquiry,
    kind: str,
) -> None:
    if effect == Effect.WRITES and _is_target(place) and harmless_target(value, dash=place.dash):
        return
    line = sensitive(value, inquiry) if effect == Effect.READS else None
    inquiry.add(effect, span, because, source, marks_of(line), kind)
    address = effect == Effect.READS and not value.exact and value.text.startswith(_ADDRESSES)
    if (effect == Effect.NETWORK or address) and value.sample is None:
        leaves = f"{because}: a word that is not known is sent to another host"
        inquiry.add(Effect.WRITES, span, leaves, source, kind=Kind.SENT)


_ADDRESSES = ("http://", "https://", "ftp://", "ssh://", "HTTP://", "HTTPS://", "FTP://", "SSH://")
"""How a word begins that a tool may open as an address where it opens files (openssl, xmllint, hg)."""


def _is_target(place: Option | Operand) -> bool:
    """Whether the word itself names what is written."""
    return getattr(place, "target", "value") == "value"


def _may_match(patterns: tuple[Pattern, ...], value: Value) -> bool:
    if not value.exact and value.elements is None:  # of `name=(...)`, what can match is known
        return True
    return any(pattern.matches(value.text) for pattern in patterns)


def _program_facts(value: Value, source: Ref, scope: Scope, inquiry: Inquiry) -> None:
    """A word that is a command with its words, as the shell reads them."""
    from shellguard.analysis.embedded import script_facts

    script_facts("sh", value, source, scope, inquiry)
