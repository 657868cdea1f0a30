# SPDX-License-Identifier: Apache-2.0
"""Ruby one-liners that only compute and print; anything else is not understood.

In Ruby every name may be a call, so each must be assigned by the text or be on a list, as must each method. Refused as
a whole: backticks, `%x`, `#{}` with more than names and calls of that kind, symbols that name a method (`inject(:eval)`
runs it), `send` and its like, here-documents, constants but a few.

Source: docs.ruby-lang.org, ruby 3.1; each refusal was tried (tests/analysis/small/ruby.txt).
"""

from __future__ import annotations

from shellguard.analysis.embedded import Finding, NotUnderstoodError
from shellguard.analysis.embedded.names import is_own, names
from shellguard.effects import Effect

_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_DIGITS = frozenset("0123456789")
_LATER = _FIRST | _DIGITS
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}

_KEYWORDS = names(
    "if else elsif unless end do and or not true false nil while until case when then in BEGIN END next break"
)
_VALUES = names("true false nil end")
_FUNCTIONS = names("puts print p pp printf format sprintf gets")
_CONSTANTS = {
    "RUBY_VERSION": frozenset[str](),
    "RUBY_PLATFORM": frozenset[str](),
    "ARGV": names("first last each map join size length"),
    "STDIN": names("read each_line readlines gets"),
    "ARGF": names("read each_line readlines"),
    "ENV": names("fetch key? keys to_h"),
    "Math": names("sqrt sin cos log log2 log10 hypot cbrt"),
    "Time": names("now at"),
    "Integer": names("sqrt"),
    "Rational": frozenset[str](),
    "JSON": names("parse generate pretty_generate"),
    "File": names("read readlines exist? size basename dirname extname join file? directory?"),
}
_METHODS = names(
    "map each select reject filter collect sum min max sort sort_by uniq reverse join split strip chomp chop "
    "lstrip rstrip upcase downcase capitalize swapcase length size count first last to_s to_i to_f to_a to_h "
    "inspect each_with_index each_slice each_cons with_index group_by partition zip flatten compact take drop "
    "include? start_with? end_with? empty? nil? even? odd? zero? any? all? none? find index rindex times upto "
    "downto step keys values key? fetch dig tally sub gsub tr delete squeeze scan match match? chars lines "
    "bytes each_char each_line ljust rjust center round floor ceil abs divmod pow gcd lcm digits ord chr hex "
    "oct succ merge push pop shift unshift slice strftime year month day hour minute to_json transpose rotate "
    "minmax min_by max_by flat_map each_with_object cycle combination permutation product values_at delete_if "
    "keep_if none sum puts print read then tap year freeze"
)
_OPERATORS = (
    *(
        "<=>",
        "===",
        "...",
        "**=",
        "||=",
        "&&=",
        "<<=",
        "==",
        "!=",
        ">=",
        "<=",
        "=~",
        "!~",
        "&&",
        "||",
        "**",
        "..",
        "=>",
    ),
    *(
        "+=",
        "-=",
        "*=",
        "/=",
        "%=",
        "&.",
        "+",
        "-",
        "*",
        "/",
        "%",
        "<",
        ">",
        "=",
        "!",
        "?",
        ":",
        ",",
        ";",
        ".",
        "|",
        "\n",
    ),
)


class _Token:
    """`kind`: name, number, string, regex, symbol, global, operator, open, close. `apart`: a blank stands before it."""

    __slots__ = ("apart", "kind", "text")

    def __init__(self, kind: str, text: str, *, apart: bool = False) -> None:
        self.kind, self.text, self.apart = kind, text, apart


_NOTHING = _Token("operator", "")


def read(text: str, found: list[Finding]) -> None:
    """Reads a script of `-e`."""
    if "\r" in text or "\0" in text or "__END__" in text or "\n=" in text or text.startswith("="):
        raise NotUnderstoodError("a text of ruby that is seldom written")
    tokens: list[_Token] = []
    _cut(text, 0, tokens, "")
    _check(tokens, found)


def _cut(text: str, index: int, tokens: list[_Token], until: str) -> int:
    stack: list[str] = []
    while index < len(text):
        char = text[index]
        apart = index == 0 or text[index - 1] in " \t\n"
        last = tokens[-1] if tokens else _NOTHING
        if char in " \t":
            index += 1
        elif char == "#":
            end = text.find("\n", index)
            index = len(text) if end < 0 else end
        elif char in _FIRST:
            start = index
            while index < len(text) and text[index] in _LATER:
                index += 1
            reached = last.text in (".", "&.") and last.kind == "operator"
            if text[index : index + 1] in ("?", "!") and reached and text[index + 1 : index + 2] != "=":
                index += 1
            tokens.append(_Token("name", text[start:index], apart=apart))
        elif char.isascii() and char.isdigit():
            start = index
            while index < len(text) and (
                text[index] in _LATER or (text[index] == "." and text[index + 1 : index + 2] in _DIGITS)
            ):
                index += 1
            tokens.append(_Token("number", text[start:index], apart=apart))
        elif char in "'\"":
            index = _string(text, index + 1, char, tokens, interpolates=char == '"')
        elif char == "/" and _begins_value(last, text, index, apart):
            index = _string(text, index + 1, "/", tokens, interpolates=True)
            tokens[-1].kind = "regex"
            while text[index : index + 1] in ("i", "m", "x", "o", "u", "n"):
                index += 1
        elif text.startswith("%w", index) and _begins_value(last, text, index, apart):
            opening = text[index + 2 : index + 3]
            if opening not in _CLOSING or "#" in text:
                raise NotUnderstoodError("a list of words in ruby")
            end = text.find(_CLOSING[opening], index)
            if end < 0 or opening in text[index + 3 : end] or "\\" in text[index:end]:
                raise NotUnderstoodError("a list of words in ruby")
            tokens.append(_Token("string", ""))
            index = end + 1
        elif char == "$":
            start = index
            index += 1
            special = text[index : index + 1] in ("_", ".", ",", "/", ";", *"123456789")
            if special and text[index + 1 : index + 2] not in _LATER:
                index += 1
            else:
                while index < len(text) and text[index] in _LATER:
                    index += 1
            if text[start + 1 : index] not in (
                "_",
                ".",
                ",",
                "/",
                ";",
                "F",
                "stdout",
                "stderr",
                *"123456789",
            ):
                raise NotUnderstoodError(f"the variable {text[start:index]} of ruby")
            tokens.append(_Token("global", text[start:index], apart=apart))
        elif text.startswith("(&:", index):
            start = index = index + 3
            while index < len(text) and text[index] in _LATER | {"?"}:
                index += 1
            if text[start:index] not in _METHODS or text[index : index + 1] != ")":
                raise NotUnderstoodError("a symbol that names a method of ruby")
            tokens += [_Token("open", "("), _Token("symbol", ""), _Token("close", ")")]
            index += 1
        elif char in "([{":
            stack.append(char)
            tokens.append(_Token("open", char, apart=apart))
            index += 1
        elif char in ")]}":
            if not stack and char == until:
                return index + 1
            if not stack or _CLOSING[stack.pop()] != char:
                raise NotUnderstoodError("a bracket of ruby is not opened")
            tokens.append(_Token("close", char, apart=apart))
            index += 1
        else:
            index = _operator(text, index, tokens, apart)
    if stack or until:
        raise NotUnderstoodError("a bracket of ruby is not closed")
    return index


def _operator(text: str, index: int, tokens: list[_Token], apart: bool) -> int:
    last = tokens[-1] if tokens else _NOTHING
    for operator in _OPERATORS:
        if text.startswith(operator, index):
            if operator in ("%", "?", ":", "*", "**", "<", "%=", "/=") and (
                last.kind in ("operator", "open") or last.text in _KEYWORDS | _FUNCTIONS | _METHODS
            ):
                raise NotUnderstoodError(f"{operator} where a value of ruby may begin")
            spaced = text[index + 1 : index + 2] in (" ", "\t", "\n")
            if operator in ("?", ":", "%", "<") and not (spaced or operator == "<"):
                raise NotUnderstoodError(f"{operator} in ruby")
            if operator == "<" and text.startswith("<<", index):
                raise NotUnderstoodError("<< in ruby")
            tokens.append(_Token("operator", ";" if operator == "\n" else operator, apart=apart))
            return index + len(operator)
    raise NotUnderstoodError(f"{text[index]!r} in ruby")


def _begins_value(last: _Token, text: str, index: int, apart: bool) -> bool:
    """Whether a pattern or a `%` list begins here. Refused where that depends on what the name before it is."""
    if last.kind == "name":
        if last.text in _KEYWORDS and last.text not in _VALUES:
            return True
        if is_own(last.text) and text[index + 1 : index + 2] == " " and apart:
            return False  # a variable, or a method without one: a blank on both sides divides
        raise NotUnderstoodError("what / means in ruby depends on what stands before it")
    if last.text == "}":
        raise NotUnderstoodError("what / means in ruby depends on what stands before it")
    return last.kind in ("operator", "open")


def _string(text: str, index: int, quote: str, tokens: list[_Token], *, interpolates: bool) -> int:
    token, start = _Token("string", ""), index
    tokens.append(token)
    while index < len(text):
        char = text[index]
        if char == quote:
            token.text = text[start:index] if tokens[-1] is token else ""
            return index + 1
        if char == "\\":
            index += 2
        elif interpolates and text.startswith("#{", index):
            inner: list[_Token] = []
            if text.find('"', index, text.find("}", index)) >= 0 and quote == '"':
                raise NotUnderstoodError("a string inside a string of ruby")
            index = _cut(text, index + 2, inner, "}")
            if any(token.kind in ("string", "regex") for token in inner):
                raise NotUnderstoodError("a string inside a string of ruby")
            tokens += [_Token("operator", "+"), _Token("open", "("), *inner, _Token("close", ")")]
        elif interpolates and text[index : index + 2] in ("#@", "#$"):
            raise NotUnderstoodError("a variable in a string of ruby")
        else:
            index += 1
    raise NotUnderstoodError("a string of ruby is not closed")


def _check(tokens: list[_Token], found: list[Finding]) -> None:
    known = _KEYWORDS | _FUNCTIONS | set(_CONSTANTS)
    assigned = _assigned(tokens)
    if any(not is_own(name) or "A" <= name[0] <= "Z" for name in assigned):
        raise NotUnderstoodError("a name of ruby itself is assigned")
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else _NOTHING
        behind = tokens[index + 1] if index + 1 < len(tokens) else _NOTHING
        reached = before.kind == "operator" and before.text in (".", "&.")
        if token.kind == "name" and reached:
            owner = tokens[index - 2] if index > 1 else _NOTHING
            allowed = _CONSTANTS.get(owner.text, _METHODS) if owner.kind == "name" else _METHODS
            if token.text not in allowed:
                raise NotUnderstoodError(f".{token.text} in ruby")
            if owner.text == "File" and token.text in ("read", "readlines"):
                found.append(_file(tokens[index + 1 : index + 4]))
        elif token.kind == "name" and token.text in _CONSTANTS:
            if _CONSTANTS[token.text] and behind.text not in (".", "["):
                raise NotUnderstoodError(f"{token.text} of ruby as a value")
        elif token.kind == "name" and not (token.text in known or token.text in assigned):
            key = behind.text == ":" and before.text in ("{", ",", "(") and token.text != "create_additions"
            if not key:
                raise NotUnderstoodError(f"{token.text} in ruby")
        elif token.text == "." and token.kind == "operator" and behind.kind != "name":
            raise NotUnderstoodError("a call without a name in ruby")
        elif (
            token.text in ("=", "+=", "||=")
            and token.kind == "operator"
            and before.kind not in ("name", "global")
        ):
            raise NotUnderstoodError("an assignment of ruby that is a call")
        if (
            token.text == "="
            and token.kind == "operator"
            and index > 1
            and tokens[index - 2].text in (".", "&.")
        ):
            raise NotUnderstoodError("an assignment of ruby that is a call")
        if (
            token.kind == "global"
            and behind.text in ("=", "+=", "||=")
            and token.text in ("$stdout", "$stderr")
        ):
            raise NotUnderstoodError("an output of ruby is replaced")


def _file(tokens: list[_Token]) -> Finding:
    """`File.read("f")`: a plain name."""
    texts = [token.text for token in tokens]
    plain = len(texts) == 3 and texts[0] == "(" and texts[2] == ")" and tokens[1].kind == "string"
    if not plain or not texts[1] or set(texts[1]) & set("\\'|"):
        raise NotUnderstoodError("a file of ruby that is not known")
    return Finding(Effect.READS, "the script reads a file", f": < '{texts[1]}'")


def _assigned(tokens: list[_Token]) -> set[str]:
    """Local variables and the names of blocks."""
    found = set()
    inside = False  # between the bars of a block
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else _NOTHING
        behind = tokens[index + 1] if index + 1 < len(tokens) else _NOTHING
        if token.text == "|" and token.kind == "operator":
            inside = not inside if inside or before.text in ("{", "do") else False
        elif token.kind == "name" and (
            inside
            or (
                behind.kind == "operator"
                and behind.text in ("=", "+=", "-=", "*=", "||=")
                and before.text not in (".", "&.")
            )
        ):
            found.add(token.text)
    return found
