# SPDX-License-Identifier: Apache-2.0
"""PHP of `php -r` that only computes and prints; anything else is not understood.

A name must be a keyword or a function on a list that takes no name of a function. Refused as a whole: backticks,
variable variables and functions (`$f()`), objects, `${}` and `{$}` in strings, here-documents, includes, `?>`.

Source: www.php.net/manual, php 8.2; each refusal was tried (tests/analysis/small/php.txt).
"""

from __future__ import annotations

from shellguard.analysis.embedded import Finding, NotUnderstoodError
from shellguard.analysis.embedded.names import names
from shellguard.effects import Effect

_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_LATER = _FIRST | frozenset("0123456789")
_PUNCTUATION = frozenset("+-*/%.=<>!?:,;&|^~@()[]{} \t\n")
_CLOSING = {"(": ")", "[": "]", "{": "}"}

_WORDS = names(
    "echo print if else elseif for foreach while as and or xor true false null array isset empty unset exit "
    "die return break continue list int string float bool PHP_EOL PHP_VERSION PHP_OS PHP_OS_FAMILY "
    "PHP_INT_MAX M_PI STDIN JSON_PRETTY_PRINT JSON_UNESCAPED_SLASHES DATE_ATOM"
)
_FUNCTIONS = names(
    "abs array_column array_combine array_count_values array_fill array_flip array_key_exists array_key_first "
    "array_keys array_merge array_pad array_product array_reverse array_search array_slice array_sum "
    "array_unique array_values base64_decode base64_encode bin2hex ceil chr count date dechex decbin explode "
    "floor gettype hexdec htmlspecialchars implode in_array intdiv is_array is_int is_numeric is_string join "
    "json_decode json_encode json_last_error_msg lcfirst ltrim max md5 microtime min mktime nl2br "
    "number_format octdec ord php_sapi_name php_uname phpversion pi pow preg_match preg_quote preg_split "
    "preg_match_all print_r printf random_int range rawurlencode round rtrim sha1 sort sprintf sqrt "
    "str_contains str_pad str_repeat str_replace str_split strcmp strlen strpos strrev strtolower strtotime "
    "strtoupper substr substr_count time trim ucfirst ucwords urldecode urlencode var_dump var_export "
    "wordwrap memory_get_usage extension_loaded function_exists get_loaded_extensions sys_get_temp_dir getcwd "
    "ini_get fgets feof stream_get_contents"
)
_FILES = names("file_get_contents file")
_CALLED_BY_WORD = names(
    "isset empty unset exit die array list echo print return if elseif while for foreach and or xor else"
)


def read(text: str, found: list[Finding]) -> None:
    """Reads a script."""
    _Reader(text, found).script()


class _Reader:
    __slots__ = ("found", "index", "last", "open", "text")

    def __init__(self, text: str, found: list[Finding]) -> None:
        self.text, self.found, self.index = text, found, 0
        self.open: list[str] = []
        self.last = ""  # `name`, `variable`, `string`, `close` or the operator before this place

    def script(self) -> None:
        text = self.text
        while self.index < len(text):
            char = text[self.index]
            if text.startswith("//", self.index) or char == "#":
                self.comment("\n")
            elif text.startswith("/*", self.index):
                self.comment("*/")
            elif char in _FIRST:
                self.name()
            elif char == "$":
                self.variable()
            elif char in "'\"":
                self.string(char)
            elif char.isascii() and char.isdigit():
                while self.index < len(text) and text[self.index] in _LATER | {"."}:
                    self.index += 1
                self.last = "number"
            elif char in _PUNCTUATION:
                self.punctuation(char)
            else:
                raise NotUnderstoodError(f"{char!r} in PHP")
        if self.open:
            raise NotUnderstoodError("a bracket of PHP is not closed")

    def comment(self, end: str) -> None:
        """A comment ends before `?>` too, which leaves PHP."""
        at = self.text.find(end, self.index + 2 if end == "*/" else self.index)
        if self.text.startswith("#[", self.index) or (at < 0 and end == "*/"):
            raise NotUnderstoodError("a comment of PHP that is none, or is not closed")
        at = len(self.text) if at < 0 else at + len(end)
        if "?>" in self.text[self.index : at] or "\r" in self.text[self.index : at]:
            raise NotUnderstoodError("?> in PHP")
        self.index = at

    def word(self) -> str:
        start = self.index
        while self.index < len(self.text) and self.text[self.index] in _LATER:
            self.index += 1
        return self.text[start : self.index]

    def name(self) -> None:
        name = self.word()
        called = self.text[self.index : self.index + 99].lstrip(" \t\n").startswith("(")
        lower = name.lower()
        if self.text[self.index : self.index + 1] in ("\\", "'", '"') and lower in ("b",):
            raise NotUnderstoodError("a string of PHP that is seldom written")
        if called and name in _FILES:
            self.file()
        elif called and not (name in _FUNCTIONS or name in _CALLED_BY_WORD):
            raise NotUnderstoodError(f"{name}() in PHP")
        elif not called and name not in _WORDS:
            raise NotUnderstoodError(f"{name} in PHP")
        if name in ("int", "string", "float", "bool") and self.last != "(":
            raise NotUnderstoodError(f"{name} in PHP")
        self.last = "name"

    def file(self) -> None:
        """`file_get_contents("f")`: a plain name, no address and no filter."""
        rest = self.text[self.index :].lstrip(" \t\n")
        quote = rest[1:2]
        end = rest.find(quote, 2) if quote in ("'", '"') and quote else -1
        path = rest[2:end] if end > 0 else ""
        plain = path == "php://stdin" or (path != "" and not set(path) & set("\\$:{'\"") and path[0] != "-")
        if not plain or not rest[end + 1 :].startswith(")"):
            raise NotUnderstoodError("a file of PHP that is not known")
        self.found.append(Finding(Effect.READS, "the script reads a file", f": < '{path}'"))

    def variable(self) -> None:
        self.index += 1
        if self.text[self.index : self.index + 1] not in _FIRST or self.index >= len(self.text):
            raise NotUnderstoodError("a variable of PHP whose name is computed")
        self.word()
        self.last = "variable"

    def string(self, quote: str) -> None:
        text, self.index = self.text, self.index + 1
        while self.index < len(text):
            char = text[self.index]
            if char == quote:
                self.index += 1
                self.last = "string"
                return
            if char == "\\":
                self.index += 2
                continue
            if quote == '"' and (text.startswith("${", self.index) or text.startswith("{$", self.index)):
                raise NotUnderstoodError("code in a string of PHP")
            if quote == '"' and char == "$" and text[self.index + 1 : self.index + 2] in _FIRST:
                self.index += 1
                self.word()
                if text.startswith(("->", "?->"), self.index):
                    raise NotUnderstoodError("an object in a string of PHP")
                continue
            self.index += 1
        raise NotUnderstoodError("a string of PHP is not closed")

    def punctuation(self, char: str) -> None:
        text = self.text
        if text.startswith(("->", "?->", "::", "?>", "<<<", "=&", "...", "=>&"), self.index):
            raise NotUnderstoodError(f"{text[self.index : self.index + 3]} in PHP")
        self.index += 1
        if char in " \t\n":
            return
        if char == "(" and self.last in ("variable", "string", "close"):
            raise NotUnderstoodError("a value of PHP is called")
        if char in _CLOSING:
            self.open.append(char)
        elif char in ")]}" and (not self.open or _CLOSING[self.open.pop()] != char):
            raise NotUnderstoodError("a bracket of PHP is not opened")
        self.last = "close" if char in ")]}" else char
