# SPDX-License-Identifier: Apache-2.0
"""The words of a call, read as the tool itself reads them: options with their values, subcommand, operands.

Binding decides nothing; it says what each word is. What cannot be told is said too (`loose`, `problems`), and
`evaluate.py` takes the worst of it. Source: getopt(3), getopt_long(3), and for `words` the manual of find.
"""

from __future__ import annotations

from shellguard.effects import Kind
from shellguard.values.value import Shape, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shellguard.rules.model import Operand, Option, Spec
    from shellguard.spans import Span


class Use:
    """One option as it was given. `values` are the words it took: none, one, two, or all up to its end.

    `many`: the end says that what is filled in may be any number of words (`{} +`).
    """

    __slots__ = ("many", "option", "span", "values")

    def __init__(
        self, option: Option, span: Span, values: tuple[Value, ...] = (), *, many: bool = False
    ) -> None:
        self.option, self.span, self.values, self.many = option, span, values, many


class Problem:
    """A word, or the place of a missing one, that the rule does not speak of."""

    __slots__ = ("because", "kind", "span")

    def __init__(self, span: Span, because: str, kind: str) -> None:
        self.span, self.because, self.kind = span, because, kind


class Bound:
    """One level of a call (the command, or one of its subcommands) with its words.

    `uses` are the options in order (`acts`: one of them may add a fact), `operands` the words that are none.
    `loose`: some word may be any option of this level, so that each later word may also be
    an operand (`doubtful`), and nobody knows which options are given: `given` are those that may be, `certain` those in
    front of that word. `many`: some operand stands for any number of words, `moves`: for none or for several.
    `any_subcommand`: the word that names the subcommand is not known. `span` is that of all words of the level, and
    `words` are these as they were given, without the name.
    """

    __slots__ = (
        "acts",
        "any_subcommand",
        "certain",
        "doubtful",
        "given",
        "loose",
        "many",
        "moves",
        "operands",
        "problems",
        "spec",
        "span",
        "uses",
        "words",
    )

    def __init__(self, spec: Spec, span: Span, words: list[Value]) -> None:
        self.spec, self.span, self.words = spec, span, words
        self.uses: list[Use] = []
        self.given: set[str] = set()
        self.certain: set[str] = set()
        self.operands: list[Value] = []
        self.doubtful: list[Value] = []
        self.problems: list[Problem] = []
        self.acts = self.loose = self.many = self.moves = self.any_subcommand = False

    def add(self, option: Option, span: Span, values: tuple[Value, ...] = (), *, many: bool = False) -> None:
        """One option more."""
        self.uses.append(Use(option, span, values, many=many))
        self.acts = self.acts or not option.harmless
        self.given.add(option.names[0])
        if not self.loose:  # else the word may be a value, or stand behind `--`
            self.certain.add(option.names[0])

    @property
    def minimum(self) -> int:
        """The number of words that are certainly operands. A word that may be any option may also take the others."""
        return 0 if self.loose else sum(1 for value in self.operands if not value.many)

    @property
    def maximum(self) -> int | None:
        """The number of words that may be operands; None for no limit."""
        return None if self.many else len(self.operands) + len(self.doubtful)

    def problem(self, span: Span, because: str, kind: str) -> None:
        """One word more that the rule does not speak of."""
        self.problems.append(Problem(span, because, kind))


MAX_READINGS = 8
"""A call that may be read in more ways than this is not bound to its end."""


def bind(spec: Spec, words: list[Value], span: Span, *, operands_only: bool = False) -> list[list[Bound]]:
    """Every way in which `words` (without the name of the command) may be bound to `spec`; nearly always one.

    Each is a list of levels: the command, its subcommand, that one's subcommand.

    Where options end at the first operand, a word that is not known ends them or not: `command "$x" -v ls` looks for
    `ls`, or runs `rm -v ls`. `operands_only`: such a word is an operand (`--unknown-words operand`).
    """
    if spec.bundle and words and words[0].exact and words[0].text[:1] not in ("", "-"):
        return [
            reading
            for dashed in _with_dashes(spec, words)
            for reading in bind(spec, dashed, span, operands_only=operands_only)
        ]
    binder = _Binder(spec, words, span, operands_only)
    readings = binder.run()
    if not binder.forks:
        return readings
    for index in binder.forks[:MAX_READINGS]:
        readings += _Binder(spec, words, span, operands_only, operands_from=index).run()
    if len(binder.forks) > MAX_READINGS:
        binder.bound.problem(span, "these words may be read in too many ways", Kind.LIMIT)
    return readings


def _with_dashes(spec: Spec, words: list[Value]) -> list[list[Value]]:
    """The words of a call whose first word is a bundle without a dash, with dashes: in the old way, and as busybox.

    The old way, of GNU and BSD, takes the values of `tbf 20 a.tar` from the words behind. For busybox a letter that
    takes a value has the rest of the bundle as its value. Seen in tar 1.34, bsdtar 3.6.2 and busybox 1.35.
    """
    first, rest = words[0], words[1:]
    old: list[Value] = []
    early = False
    for index, letter in enumerate(first.text):
        option = spec.option("-" + letter)
        old.append(Value("-" + letter, first.span))
        if option is not None and option.takes in ("one", "maybe", "two"):
            early = early or index < len(first.text) - 1
            old += rest[:1]
            rest = rest[1:]
    old += rest
    return [old, [Value("-" + first.text, first.span), *words[1:]]] if early else [old]


class _Binder:
    __slots__ = (
        "below",
        "bound",
        "ended",
        "forks",
        "index",
        "operands_from",
        "operands_only",
        "spec",
        "words",
    )

    def __init__(
        self,
        spec: Spec,
        words: list[Value],
        span: Span,
        operands_only: bool,
        operands_from: int | None = None,
    ) -> None:
        self.spec, self.words, self.operands_only = spec, words, operands_only
        self.operands_from = operands_from  # the unknown word that is taken to end the options
        self.forks: list[int] = []
        self.below: list[list[Bound]] = []
        self.bound = Bound(spec, span, words)
        self.index = 0
        self.ended = spec.style == "plain"

    def run(self) -> list[list[Bound]]:
        bound = self.bound
        subcommands = self.spec.subcommands
        stops = bool(subcommands) or self.spec.style == "posix"
        while self.index < len(self.words):  # an option with `words` makes them more
            word = self.words[self.index]
            if self.index == self.operands_from:
                self.ended = True
            self.index += 1
            if self.ended:
                if subcommands and not bound.operands and self.may_name_subcommand(word):
                    because = f"whether `{self.spec.name}` takes this for a subcommand cannot be told"
                    bound.problem(word.span, because, Kind.UNSEEN)
                self.operand(word)
            elif not self.option(word):
                if subcommands and not bound.operands and self.descends(word):
                    break
                self.operand(word)
                if not stops:
                    continue
                if word.exact or not (word.may_be_option or word.may_be_absent):
                    self.ended = True
                elif self.index < len(self.words):
                    self.forks.append(self.index - 1)
        return [[bound, *levels] for levels in self.below] if self.below else [[bound]]

    # --- operands and subcommands ---------------------------------------------------------------------------------

    def operand(self, word: Value) -> None:
        self.bound.operands.append(word)
        if word.many:
            self.bound.moves = True
            self.bound.many = self.bound.many or not word.optional

    def may_name_subcommand(self, word: Value) -> bool:
        return not word.exact or word.text in self.spec.subcommands

    def descends(self, word: Value) -> bool:
        """Whether the rest of the words belongs to a subcommand that `word` names or may name."""
        spec, bound = self.spec, self.bound
        below = spec.subcommands.get(word.text) if word.exact else None
        rest = self.words[self.index :]
        if below is not None:
            span = (word.span[0], rest[-1].span[1]) if rest else word.span
            self.below = bind(below, rest, span, operands_only=self.operands_only)
            return True
        if not word.exact:
            bound.any_subcommand = True
            bound.doubtful += rest
            return True
        if spec.operands:
            return False
        because = f"`{spec.name}` has no subcommand {word.text!r} in its rule"
        bound.problem(word.span, because, Kind.NO_SUBCOMMAND)
        bound.doubtful += rest
        return True

    # --- options --------------------------------------------------------------------------------------------------

    def option(self, word: Value) -> bool:
        """Reads `word` as an option, with the words it takes. False when it is none."""
        if not word.exact:
            return self.unseen(word)
        text = word.text
        if self.spec.style in ("words", "open"):
            return self.word_option(word)
        if not text or text[0] not in "-+" or text == "-":
            return False
        if text == "--":
            self.ended = True
            return True
        exact = self.spec.option(text)
        if exact is not None and (len(text) > 2 or text[0] == "+"):
            self.take(exact, word, None)
        elif text[0] == "+":
            return False
        elif text[1] == "-":
            self.long_option(word)
        else:
            self.cluster(word)
        if self.bound.loose:
            self.bound.doubtful.append(word)
        return True

    def word_option(self, word: Value) -> bool:
        """Styles `words` and `open`: every option is one word; the value of a spelling that ends in `=` is attached."""
        text = word.text
        option = self.spec.option(text)
        if option is not None:  # `if=` has an empty value, and does not take the next word
            self.take(option, word, Value("", word.span) if text[-1] == "=" and len(text) > 2 else None)
            return True
        name, equals, value = text.partition("=")
        if equals:
            option = self.spec.option(name + "=") or self.spec.option(name)
            if option is not None and option.takes in ("one", "maybe"):
                self.take(option, word, Value(value, word.span))
                return True
        if len(text) < 2 or text[0] != "-" or self.spec.style == "open":
            return False
        if not (self.spec.numeric and text[1:].isascii() and text[1:].isdigit()):
            self.unlisted(word, text)
        return True

    def long_option(self, word: Value) -> None:
        name, equals, value = word.text.partition("=")
        option = self.spec.option(name)
        if option is None:
            self.unlisted(word, name)
        elif not equals:
            self.take(option, word, None)
        elif option.takes in ("one", "maybe"):
            self.take(option, word, Value(value, word.span))
        else:
            self.bound.problem(word.span, f"`{name}` takes no value behind `=`", Kind.MALFORMED)

    def cluster(self, word: Value) -> None:
        """`-abc`: letters without a value, and at most one with its value behind it or in the next word."""
        text = word.text
        digits = text[1:]
        if self.spec.numeric and digits.isascii() and digits.isdigit():
            return
        for index in range(1, len(text)):
            option = self.spec.option("-" + text[index])
            if option is None:
                self.unlisted(word, "-" + text[index])
                return
            rest = text[index + 1 :]
            if option.takes == "none":
                self.bound.add(option, word.span)
            elif option.takes in ("one", "maybe"):
                self.take(option, word, Value(rest, word.span) if rest else None)
                return
            elif rest:
                because = f"`{option.name}` takes words, none may be attached to it"
                self.bound.problem(word.span, because, Kind.MALFORMED)
                return
            else:
                self.take(option, word, None)

    def unlisted(self, word: Value, name: str) -> None:
        if not self.spec.accepts_anything:
            because = f"`{name}` is not in the rule of `{self.spec.name}`"
            self.bound.problem(word.span, because, Kind.NO_OPTION)

    def take(self, option: Option, word: Value, attached: Value | None) -> None:
        """Adds `option`, which `word` spells, with its value: `attached`, or the words that follow."""
        if option.last:
            self.ended = True
        if option.role == "words":
            self.cut(option, word, attached)
        elif attached is not None:
            self.bound.add(option, word.span, (attached,))
        elif option.takes in ("none", "maybe"):
            self.bound.add(option, word.span)
        elif option.takes == "until":
            self.until(option, word)
        else:
            self.following(option, word, 2 if option.takes == "two" else 1)

    def cut(self, option: Option, word: Value, attached: Value | None) -> None:
        """An option whose value is more words of the call: they stand in its place, options among them."""
        from shellguard.analysis.embedded.words import words_of

        if attached is None:
            self.following(option, word, 1)
            value = self.words[self.index - 1] if self.index <= len(self.words) else None
        else:
            self.bound.add(option, word.span, (attached,))
            value = attached
        if value is not None and not value.many:
            self.words = [*self.words[: self.index], *words_of(value), *self.words[self.index :]]

    def following(self, option: Option, word: Value, count: int) -> None:
        values = tuple(self.words[self.index : self.index + count])
        self.index += count
        if len(values) < count:
            self.bound.problem(word.span, f"`{option.name}` lacks its value", Kind.MALFORMED)
        end = values[-1].span[1] if values else word.span[1]
        self.bound.add(option, (word.span[0], max(end, word.span[1])), values)
        if any(value.many for value in values):
            self.spill(values)

    def spill(self, values: tuple[Value, ...]) -> None:
        """A value that may be several words, or none: the words behind it may be anything that words can be here."""
        for value in values:
            if value.many and (value.optional or not value.text or value.text[0] == "-"):
                self.bound.loose = True
            if value.many:
                self.operand(value)

    def until(self, option: Option, word: Value) -> None:
        """All words up to one of the option's ends. A `{} +` end keeps its first word, which the command gets too."""
        taken: list[Value] = []
        while self.index < len(self.words):
            value = self.words[self.index]
            self.index += 1
            for end in option.ends:
                *before, last = end.split(" ")
                texts = [each.text if each.exact else None for each in taken[len(taken) - len(before) :]]
                if end and value.exact and value.text == last and (not before or texts == before):
                    self.bound.add(option, (word.span[0], value.span[1]), tuple(taken), many=bool(before))
                    return
            taken.append(value)
            if not value.exact and (value.many or value.text == ""):
                self.bound.loose = True  # it may be the end, or hold it
        if "" not in option.ends:
            self.bound.problem(word.span, f"the words of `{option.name}` have no end", Kind.MALFORMED)
        self.bound.add(option, word.span, tuple(taken))

    # --- words that are not known -----------------------------------------------------------------------------------

    def unseen(self, word: Value) -> bool:
        """A word of which only the beginning is known, perhaps nothing. False when it is an operand."""
        if not self.may_be_listed(word):
            return False
        if word.text == "":
            if not self.operands_only:
                self.bound.loose = True
            return False  # an operand as well, which is what the rest is read by
        if self.begun(word):
            return True
        self.bound.loose = True
        self.bound.problem(word.span, f"which option {word.text!r} begins cannot be told", Kind.UNSEEN)
        return True

    def may_be_listed(self, word: Value) -> bool:
        """Whether a word that is not known in full may be an option here."""
        style = self.spec.style
        if style == "open" and (word.optional or not word.many) and self.before_operator():
            return False
        if word.may_be_option:
            return word.shape == Shape.NOTHING or word.text != "" or self.lists_digits()
        if style not in ("words", "open"):
            return False
        return any(name[0] != "-" and name.startswith(word.text) for name in self.spec.options)

    def lists_digits(self) -> bool:
        """Whether a word such as `-5` can be an option here that does something."""
        return any(
            name[0] == "-" and name[1:2].isascii() and name[1:2].isdigit() and not option.harmless
            for name, option in self.spec.options.items()
        )

    def before_operator(self) -> bool:
        """Whether a listed word follows, or none: the word before it is an operand then (`"$x" = y`)."""
        if self.index >= len(self.words):
            return True
        following = self.words[self.index]
        return following.exact and self.spec.option(following.text) is not None

    def begun(self, word: Value) -> bool:
        """An option of which the name is known and the value is not in full: `--name=$x`, `-n$x`."""
        text = word.text
        words = self.spec.style in ("words", "open")
        if words or text.startswith("--"):
            name, equals, value = text.partition("=")
            option = (
                (self.spec.option(name) or (self.spec.option(name + "=") if words else None))
                if equals
                else None
            )
            if option is None or option.takes not in ("one", "maybe"):
                return False
            self.take_begun(option, word, value)
            return True
        for index in range(1, len(text)):
            option = self.spec.option("-" + text[index])
            if option is None:
                return False
            if option.takes in ("one", "maybe"):
                self.take_begun(option, word, text[index + 1 :])
                return True
            if option.takes != "none":
                return False
            self.bound.add(option, word.span)
        return False

    def take_begun(self, option: Option, word: Value, value: str) -> None:
        """`value` is how the attached value begins. An empty one may also be no value: then the next word is it."""
        attached = Value(value, word.span, exact=False, many=False)
        self.bound.add(option, word.span, (attached,))
        if word.many or (not value and "=" not in word.text):
            self.bound.loose = True


def exists(slot: Operand, bound: Bound) -> bool | None:
    """Whether there is such a slot in this call; None when that depends on a word nobody can see."""
    if not slot.absent_with.isdisjoint(bound.certain):
        return False
    present = not slot.present_with or not slot.present_with.isdisjoint(bound.certain)
    if bound.loose and (slot.absent_with or not present):
        return None
    return present


def slots_of(bound: Bound) -> list[tuple[Value, tuple[Operand, ...]]]:
    """For each operand the slots it may fill: one, where that can be told; none when there is no slot for it.

    The operands come first, in order, then the words that are perhaps operands.
    """
    if not bound.operands and not bound.doubtful:
        return []
    if not (bound.loose or bound.doubtful or bound.moves):  # nearly every call
        slots = bound.spec.operands
        if bound.spec.has_changing_slots:
            slots = tuple([slot for slot in slots if exists(slot, bound)])
        if len(slots) == 1 and slots[0].many:
            return [(value, slots) for value in bound.operands]
        filled = assigned(slots, len(bound.operands))
        return [
            (value, () if slot is None else (slot,))
            for value, slot in zip(bound.operands, filled, strict=True)
        ]
    asked = [(slot, exists(slot, bound)) for slot in bound.spec.operands]
    present = [slot for slot, there in asked if there is not False]
    operands = bound.operands
    certain = not bound.loose and all(there is not None for _, there in asked)
    first_many = next((index for index, value in enumerate(operands) if value.many), len(operands))
    exact = assigned(present, len(operands))
    moves = any(slot.many for slot in present[:-1])  # a count of words decides which slot a later one fills
    later = len(bound.doubtful) + sum(
        1 for _, there in asked if there is None
    )  # slots a word may be pushed along
    found: list[tuple[Value, tuple[Operand, ...]]] = []
    holds_all = any(slot.many for slot in present)
    for index, value in enumerate(operands):
        if (
            index >= len(present) and not holds_all
        ):  # there are too many words, but where some of them are none
            found.append((value, ()))
        elif certain and (first_many == len(operands) or (index < first_many and not moves)):
            slot = exact[index]
            found.append((value, () if slot is None else (slot,)))
        elif moves or (not certain and first_many < len(operands)):
            found.append((value, tuple(present)))
        elif certain:
            found.append((value, tuple(present[first_many:] or present[-1:])))
        else:
            found.append((value, tuple(present[: index + later + 1])))
    for value in bound.doubtful:
        found.append((value, tuple(present)))
    return found


def assigned(slots: Sequence[Operand], count: int) -> list[Operand | None]:
    """The slot of each of `count` operands. A `many` slot leaves one word for each slot behind it."""
    found: list[Operand | None] = []
    behind, left = len(slots), count
    for slot in slots:
        behind -= 1
        if slot.many:
            found += [slot] * (left - behind)  # none, where that is negative
            left = min(left, behind)
        elif left > 0:
            found.append(slot)
            left -= 1
    return found + [None] * left if left else found
