# SPDX-License-Identifier: Apache-2.0
"""JavaScript of `node -e` that only computes, prints and reads files it names; anything else is not understood.

The text is cut into tokens; then each name must be declared by the text or be on a list, each call must be one of a
function on a list, and nothing is reached by a computed name: `[]["constructor"]` makes functions of strings. No module
but a few builtin ones, which cannot be shadowed; `require("./x.json")` runs code where that is a folder (seen).

Source: ECMA-262; nodejs.org/api; each refusal was tried with node 20 (tests/analysis/small/node.txt).
"""

from __future__ import annotations

from shellguard.analysis.embedded import Finding, NotUnderstoodError
from shellguard.analysis.embedded.names import is_own, names
from shellguard.effects import Effect

_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$")
_LATER = _FIRST | frozenset("0123456789")
_CLOSING = {"(": ")", "[": "]", "{": "}"}

_KEYWORDS = names(
    "const let if else for of in return typeof new true false null undefined NaN Infinity instanceof break continue "
    "while"
)
_VALUES = names("true false null undefined NaN Infinity")
_HEADS = frozenset({"if", "for", "while"})
_FUNCTIONS = names(
    "String Number Boolean BigInt parseInt parseFloat isNaN isFinite encodeURIComponent decodeURIComponent encodeURI"
)
_CLASSES = names("Date Map Set Array RegExp Error URL URLSearchParams")
_OBJECTS: dict[str, frozenset[str]] = {
    "console": names("log error warn info table debug dir"),
    "JSON": names("parse stringify"),
    "Object": names("keys values entries fromEntries"),
    "Array": names("isArray from of"),
    "Number": names("isInteger parseFloat parseInt isNaN MAX_SAFE_INTEGER EPSILON"),
    "String": names("fromCharCode raw"),
    "Date": names("now parse UTC"),
    "Buffer": names("from byteLength"),
    "Math": names(
        "abs max min floor ceil round sqrt pow random trunc sign log log2 log10 exp PI E sin cos tan hypot cbrt"
    ),
    "process": names(
        "argv env version versions platform arch pid cwd uptime memoryUsage exit exitCode execPath release stdout "
        "stderr"
    ),
}
_FS = names("readFileSync existsSync readdirSync statSync lstatSync")
_MODULES = {
    "fs": _FS,
    "os": names(
        "cpus platform arch hostname tmpdir homedir totalmem freemem type release uptime EOL loadavg"
    ),
    "path": names("join basename dirname extname resolve relative normalize parse sep"),
}
_METHODS = names(
    "map filter forEach reduce reduceRight find findIndex findLast some every flat flatMap join slice splice "
    "concat includes indexOf lastIndexOf push pop shift unshift sort reverse keys values entries at fill "
    "length split replace replaceAll match matchAll test exec trim trimStart trimEnd toUpperCase toLowerCase "
    "padStart padEnd repeat startsWith endsWith charAt charCodeAt codePointAt substring substr localeCompare "
    "toFixed toString toISOString getTime getFullYear getMonth getDate getDay getHours getMinutes getSeconds "
    "toLocaleString toJSON has get set add delete size isFile isDirectory write search normalize toPrecision "
    "toSorted"
)
_DANGEROUS = names(
    "constructor prototype __proto__ __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ call "
    "apply bind caller callee arguments mainModule"
)
_OPERATORS = (
    *(
        ">>>=",
        "...",
        "===",
        "!==",
        "**=",
        ">>>",
        "<<=",
        ">>=",
        "&&=",
        "||=",
        "??=",
        "=>",
        "==",
        "!=",
        "<=",
        ">=",
        "&&",
    ),
    *("||", "??", "?.", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "**", "<<", ">>"),
    *("+", "-", "*", "/", "%", "<", ">", "=", "!", "~", "?", ":", ",", ";", ".", "&", "|", "^"),
)


class _Token:
    """`kind`: name, number, string, regex, template, operator, open or close."""

    __slots__ = ("kind", "text")

    def __init__(self, kind: str, text: str) -> None:
        self.kind, self.text = kind, text


_NOTHING = _Token("operator", "")


def read(text: str, found: list[Finding]) -> None:
    """Reads a script."""
    if any(char in text for char in "\r\u2028\u2029\0") or "<!--" in text or "-->" in text:
        raise NotUnderstoodError("a comment or an end of line of JavaScript that is seldom used")
    tokens: list[_Token] = []
    _cut(text, 0, tokens, "")
    _Checker(tokens, found).check()


# --- tokens -----------------------------------------------------------------------------------------------------------


def _cut(text: str, index: int, tokens: list[_Token], until: str) -> int:
    """Cuts code into tokens, up to the brace that ends an interpolation (`until`)."""
    stack: list[str] = []
    while index < len(text):
        char = text[index]
        if char in " \t\n":
            index += 1
        elif text.startswith("//", index):
            end = text.find("\n", index)
            index = len(text) if end < 0 else end
        elif text.startswith("/*", index):
            end = text.find("*/", index + 2)
            if end < 0:
                raise NotUnderstoodError("a comment of JavaScript is not closed")
            index = end + 2
        elif char in _FIRST:
            start = index
            while index < len(text) and text[index] in _LATER:
                index += 1
            tokens.append(_Token("name", text[start:index]))
        elif char.isascii() and char.isdigit():
            start = index
            while index < len(text) and (text[index] in _LATER or text[index] == "."):
                index += 1
            tokens.append(_Token("number", text[start:index]))
        elif char in "'\"":
            index = _string(text, index, tokens)
        elif char == "`":
            index = _template(text, index + 1, tokens, len(stack))
        elif char in _CLOSING:
            before = tokens[-1] if tokens else _NOTHING
            stack.append(char + ("h" if before.kind == "name" and before.text in _HEADS else ""))
            tokens.append(_Token("open", char))
            index += 1
        elif char in ")]}":
            if not stack and char == until:
                return index + 1
            opened = stack.pop() if stack else " "
            if _CLOSING.get(opened[0]) != char:
                raise NotUnderstoodError("a bracket of JavaScript is not opened")
            tokens.append(_Token("close", char + opened[1:]))
            index += 1
        elif char == "/" and _begins_value(tokens):
            index = _regex(text, index + 1, tokens)
        else:
            index = _operator(text, index, tokens)
    if stack or until:
        raise NotUnderstoodError("a bracket of JavaScript is not closed")
    return index


def _begins_value(tokens: list[_Token]) -> bool:
    """Whether `/` begins a pattern here. Refused where that depends on what a brace closes."""
    last = tokens[-1] if tokens else _NOTHING
    if last.text in ("}", "++", "--") and last.kind != "string":
        raise NotUnderstoodError("what / means here depends on what stands before it")
    if last.kind == "name":
        return last.text in _KEYWORDS and last.text not in _VALUES
    return last.kind in ("operator", "open") or last.text == ")h"


def _operator(text: str, index: int, tokens: list[_Token]) -> int:
    for operator in _OPERATORS:
        if text.startswith(operator, index):
            tokens.append(_Token("operator", operator))
            return index + len(operator)
    raise NotUnderstoodError(f"{text[index]!r} in JavaScript")


def _string(text: str, index: int, tokens: list[_Token]) -> int:
    quote, start = text[index], index + 1
    index += 1
    while index < len(text) and text[index] not in (quote, "\n"):
        index += 2 if text[index] == "\\" else 1
    if text[index : index + 1] != quote:
        raise NotUnderstoodError("a string of JavaScript is not closed")
    tokens.append(_Token("string", text[start:index]))
    return index + 1


def _template(text: str, index: int, tokens: list[_Token], depth: int) -> int:
    """A template; the code in it stands in brackets among the tokens."""
    tokens.append(_Token("template", ""))
    while index < len(text):
        if text[index] == "`":
            return index + 1
        if text.startswith("${", index):
            if depth > 9:
                raise NotUnderstoodError("templates inside templates")
            tokens += [_Token("operator", "+"), _Token("open", "(")]
            inner: list[_Token] = []
            index = _cut(text, index + 2, inner, "}")
            if any(token.kind == "template" for token in inner):
                raise NotUnderstoodError("templates inside templates")
            tokens += [*inner, _Token("close", ")")]
        else:
            index += 2 if text[index] == "\\" else 1
    raise NotUnderstoodError("a template of JavaScript is not closed")


def _regex(text: str, index: int, tokens: list[_Token]) -> int:
    bracket = False
    while index < len(text) and text[index] != "\n":
        char = text[index]
        if char == "\\":
            index += 1
        elif char == "[":
            bracket = True
        elif char == "]":
            bracket = False
        elif char == "/" and not bracket:
            index += 1
            while index < len(text) and text[index] in _LATER:
                index += 1
            tokens.append(_Token("regex", ""))
            return index
        index += 1
    raise NotUnderstoodError("a pattern of JavaScript is not closed")


# --- what they say ----------------------------------------------------------------------------------------------------


class _Checker:
    __slots__ = ("declared", "found", "modules", "tokens")

    def __init__(self, tokens: list[_Token], found: list[Finding]) -> None:
        self.tokens, self.found = tokens, found
        self.declared: set[str] = set()
        self.modules: dict[str, str] = {}

    def at(self, index: int) -> _Token:
        return self.tokens[index] if 0 <= index < len(self.tokens) else _NOTHING

    def texts(self, index: int, count: int) -> list[str]:
        """The texts of some tokens; that of a string is in quotes, so that it is no operator."""
        found = []
        for each in range(index, index + count):
            token = self.at(each)
            found.append(f"'{token.text}'" if token.kind == "string" else token.text)
        return found

    def check(self) -> None:
        for index, token in enumerate(self.tokens):
            if token.kind == "name":
                self.declare(index, token.text)
        if any(not is_own(name) and name not in self.modules for name in self.declared):
            raise NotUnderstoodError("a name is declared that may mean something else outside of its block")
        taken = {*_OBJECTS, *_FUNCTIONS, *_CLASSES, *_KEYWORDS, *_DANGEROUS, "require"}
        if taken & self.modules.keys():
            raise NotUnderstoodError("a name of JavaScript itself is declared")
        for index, token in enumerate(self.tokens):
            if token.kind == "name":
                self.name(index, token.text)
            elif token.kind == "template" and self.is_value(index - 1):
                raise NotUnderstoodError("a template is given to a function")
            elif token.text == "(" and token.kind == "open":
                self.call(index)
            elif token.text == "[" and token.kind == "open":
                self.access(index)
            elif token.text == "]" and self.at(index + 1).text == ":" and token.kind == "close":
                raise NotUnderstoodError("a key that is computed")

    # --- declarations ------------------------------------------------------------------------------------------------

    def declare(self, index: int, name: str) -> None:
        if name in ("const", "let"):
            self.pattern(index + 1)
            if self.texts(index + 2, 3) == ["=", "require", "("] and self.texts(index + 6, 1) == [")"]:
                module = self.at(index + 5).text.removeprefix("node:")
                behind = self.at(index + 7)
                if (
                    module in _MODULES
                    and behind.text in (";", ",", "")
                    and self.at(index + 5).kind == "string"
                ):
                    self.modules[self.at(index + 1).text] = module
        elif self.is_declared(index):
            self.declared.add(name)

    def is_declared(self, index: int) -> bool:
        """Whether the name is a parameter, or one of several that are declared in a row."""
        before, behind = self.at(index - 1).text, self.at(index + 1)
        return (
            (behind.text == "=>" and behind.kind == "operator")
            or (before in ("(", ",", "[") and self.is_parameter(index))
            or (before == "," and behind.text == "=" and self.in_declaration(index))
        )

    def pattern(self, index: int) -> None:
        """A name, or names in square brackets."""
        if self.at(index).text == "[" and self.at(index).kind == "open":
            index += 1
            while self.at(index).kind == "name":
                self.declared.add(self.at(index).text)
                index += 2 if self.at(index + 1).text == "," else 1
            if self.at(index).text != "]":
                raise NotUnderstoodError("a declaration that takes values apart")
        elif self.at(index).kind == "name":
            self.declared.add(self.at(index).text)
        else:
            raise NotUnderstoodError("a declaration that takes values apart")

    def is_parameter(self, index: int) -> bool:
        """Whether only names and square brackets stand up to `) =>`."""
        for each in range(index, min(index + 20, len(self.tokens))):
            token = self.tokens[each]
            if token.text == ")":
                return self.at(each + 1).text == "=>"
            if token.kind != "name" and token.text not in (",", "[", "]"):
                return False
        return False

    def in_declaration(self, index: int) -> bool:
        """Whether the names in front of this one, back to `let`, are declared with it."""
        depth = 0
        for each in range(index - 1, max(-1, index - 200), -1):
            token = self.tokens[each]
            depth += {"close": 1, "open": -1}.get(token.kind, 0)
            if depth < 0 or (token.text == ";" and token.kind == "operator"):
                return False
            if depth == 0 and token.kind == "name" and token.text in ("const", "let"):
                return True
        return False

    # --- uses --------------------------------------------------------------------------------------------------------

    def name(self, index: int, name: str) -> None:
        before, behind = self.at(index - 1), self.at(index + 1)
        if before.kind == "operator" and before.text in (".", "?."):
            self.member(index, name)
        elif name in self.modules:
            declared = before.text in ("const", "let")
            if not declared and behind.text != ".":
                raise NotUnderstoodError(f"the module {name} itself as a value")
        elif name in self.declared or name in _KEYWORDS:
            pass
        elif behind.text == ":" and behind.kind == "operator" and before.text in ("{", ","):
            if name in _DANGEROUS or name.startswith("_"):
                raise NotUnderstoodError(f"the key {name}")
        elif name == "require":
            module = self.at(index + 2).text.removeprefix("node:")
            alone = self.at(index + 1).text == "(" and self.at(index + 3).text == ")"
            if not alone or self.at(index + 2).kind != "string" or module not in _MODULES:
                raise NotUnderstoodError("a module that is not known")
            alias = self.at(index - 1).text == "=" and self.at(index - 2).text in self.modules
            if self.at(index + 4).text != "." and not alias:
                raise NotUnderstoodError(f"the module {module} itself as a value")
        elif (name in _OBJECTS and behind.text == "." and behind.kind == "operator") or (
            name in _CLASSES and before.text == "new" and before.kind == "name"
        ):
            pass
        elif name not in _FUNCTIONS or behind.kind == "template":
            raise NotUnderstoodError(f"{name} in JavaScript")

    def member(self, index: int, name: str) -> None:
        """A name behind a dot: of a known object, or of a value, which is harmless unless it is called."""
        if name in _DANGEROUS or name.startswith("_"):
            raise NotUnderstoodError(f".{name} in JavaScript")
        owner, before = self.at(index - 2), self.at(index - 3)
        reached = before.kind == "operator" and before.text in (".", "?.")
        allowed: frozenset[str] | None = None
        if owner.kind == "name" and not reached:
            if owner.text in self.modules:
                allowed = _MODULES[self.modules[owner.text]]
            elif owner.text in _OBJECTS and owner.text not in self.declared:
                allowed = _OBJECTS[owner.text]
        elif owner.text == ")" and self.texts(index - 5, 2) == ["require", "("]:
            allowed = _MODULES[self.at(index - 3).text.removeprefix("node:")]
        if allowed is not None and name not in allowed:
            raise NotUnderstoodError(f".{name} in JavaScript")
        if allowed is _FS:
            self.file(index)
        elif allowed is None and self.at(index + 1).text == "(" and name not in _METHODS:
            raise NotUnderstoodError(f"the method {name} in JavaScript")
        following = self.at(index + 1)
        if following.kind == "operator" and following.text[-1:] == "=" and following.text not in _COMPARISONS:
            raise NotUnderstoodError("a member is assigned")

    def file(self, index: int) -> None:
        """`fs.readFileSync("f", "utf8")`: other options may open it for writing."""
        path, end = self.at(index + 2), index + 3
        if self.at(end).text == "," and self.at(end + 1).kind == "string":
            end += 2
        plain = path.kind in ("string", "number") and "\\" not in path.text
        if self.at(index + 1).text != "(" or not plain or self.at(end).text != ")":
            raise NotUnderstoodError("a file of JavaScript that is not known")
        quoted = "'" + path.text.replace("'", "'\\''") + "'"
        known = path.kind == "string" and path.text != ""
        self.found.append(
            Finding(Effect.READS, "the script reads a file", f": < {quoted}" if known else None)
        )

    def call(self, index: int) -> None:
        """What stands in front of a parenthesis must be no value, or a function that is on a list."""
        before = self.at(index - 1)
        if before.kind == "name":
            reached = self.at(index - 2).text in (".", "?.") and self.at(index - 2).kind == "operator"
            listed = before.text in _FUNCTIONS | _KEYWORDS or before.text == "require"
            made = before.text in _CLASSES and self.at(index - 2).text == "new"
            if not (reached or listed or made) or (before.text in _VALUES and not reached):
                raise NotUnderstoodError(f"{before.text} is called")
        elif before.text == "?." or before.text == ")h":
            if before.text == "?.":
                raise NotUnderstoodError("a value is called")
        elif self.is_value(index - 1):
            raise NotUnderstoodError("a value is called")

    def access(self, index: int) -> None:
        """`a[0]`, `a["b"]`: no name that is computed."""
        if not self.is_value(index - 1) and self.at(index - 1).text != "?.":
            return
        key, end = self.at(index + 1), self.at(index + 2)
        plain = key.kind == "number" or (
            key.kind == "string"
            and key.text not in _DANGEROUS
            and "\\" not in key.text
            and key.text[:1] != "_"
        )
        if (
            not plain
            or end.text != "]"
            or self.at(index + 3).text in ("(", "=")
            or self.at(index + 3).kind == "template"
        ):
            raise NotUnderstoodError("a name that is computed")
        if self.at(index - 1).kind == "name" and self.at(index - 1).text in _OBJECTS:
            raise NotUnderstoodError("a name that is computed")

    def is_value(self, index: int) -> bool:
        token = self.at(index)
        if token.kind == "name":
            reached = self.at(index - 1).text in (".", "?.") and self.at(index - 1).kind == "operator"
            return reached or token.text not in _KEYWORDS or token.text in _VALUES
        return token.kind in ("number", "string", "regex", "template") or (
            token.kind == "close" and token.text != ")h"
        )


_COMPARISONS = frozenset({"==", "===", "!=", "!==", "<=", ">="})
