# SPDX-License-Identifier: Apache-2.0
"""A result as short names: equal for results that say the same, whatever the noise in them."""

from __future__ import annotations

from shellguard.guard.canonical import canonical, parsed
from shellguard.guard.hashing import named
from shellguard.guard.noise import GONE, LIMIT, VOLATILE_KEYS, clipped, folded_digits, without_noise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shellguard.guard.model import ToolResult

EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

SHORT = 240
"""Characters up to which a result may say in so many words that nothing came of the call."""

LEAST_TELLING = 40
"""Characters from which on it is no chance that two readers get the same answer."""

_VAIN = (
    *(
        "error",
        "failed to",
        "failure",
        "no match",
        "not found",
        "no such",
        "no results",
        "denied",
        "forbidden",
    ),
    *(
        "unauthorized",
        "unauthorised",
        "blocked",
        "timed out",
        "timeout",
        "invalid",
        "cannot",
        "can't",
        "could not",
    ),
    *(
        "unable",
        "refused",
        "requires approval",
        "not executed",
        "rejected",
        "exception",
        "traceback",
        "captcha",
        "are human",
        "not a robot",
        "unusual traffic",
    ),
    *(
        "unavailable",
        "did not match",
        "no changes",
        "any changes",
        "nothing to",
        "nothing found",
        "no replacement",
        "did not appear",
        "does not appear",
        "not performed",
        "no occurrence",
        "0 replacements",
        "not unique",
        "no effect",
        "not permitted",
        "not allowed",
        "404",
        "403",
        "429",
    ),
)
_NOT_VAIN = ("no error", "0 error", "without error", "no failure", "0 failure", "no exception", "error-free")
_ERROR_SIGNS = (
    *("error", "fatal", "denied", "cannot", "can't", "could not", "unable", "no such", "not found", "failed"),
    *(
        "refused",
        "invalid",
        "exception",
        "unknown",
        "unexpected",
        "missing",
        "no match",
        "blocked",
        "timed out",
    ),
)
_MOST_LINES = 400
_LONG_NUMBER = 8


class Outcome:
    """What the guard keeps of a result.

    `digest` names what it says; `loose` names the same without numbers, quotations and paths, for failures and for
    results that came to nothing; `folded` is the normalised text of a short result without digits, `says_much` that
    the result is longer than a word or two. `failed` is whether
    the call failed, `vain` whether it came to nothing without failing, `refusal` whether it is the guard's own.
    """

    __slots__ = ("digest", "exit_code", "failed", "folded", "loose", "refusal", "says_much", "vain")

    def __init__(
        self,
        digest: int,
        loose: int,
        *,
        failed: bool = False,
        vain: bool = False,
        refusal: bool = False,
        folded: str = "",
        exit_code: int | None = None,
        says_much: bool = True,
    ) -> None:
        self.says_much = says_much
        self.digest, self.loose, self.failed, self.vain = digest, loose, failed, vain
        self.refusal, self.folded, self.exit_code = refusal, folded, exit_code


def digest(text: str) -> str:
    """16 hexadecimal digits that name what a result says: equal for results that differ only in noise.

    Noise is what `noise.py` lists, and in JSON the order and the volatile keys. Only the first and the last 8,000
    characters count. Never raises, whatever the text.
    """
    return f"{named(_normal(text, parsed(text) if len(text) <= 2 * LIMIT else None)):016x}"


def _normal(text: str, value: object, dropped: frozenset[str] = frozenset()) -> str:
    if value is None:
        return without_noise(clipped(text))
    return canonical(value, without_noise, VOLATILE_KEYS | dropped if dropped else VOLATILE_KEYS)


def text_of(content: object) -> tuple[str, object]:
    """A result as text, and as a value where it is one: parts are joined, JSON is read."""
    if isinstance(content, str):
        return content, parsed(content) if len(content) <= 2 * LIMIT else None
    if content is None:
        return "", None
    if (
        isinstance(content, list)
        and content
        and all(isinstance(part, dict) and "type" in part for part in content)
    ):
        texts = [part["text"] for part in content if isinstance(part.get("text"), str)]
        if len(texts) == len(content):
            return text_of("\n".join(texts))
    if isinstance(content, dict | list):
        return "", content
    return canonical(content), None


def outcome_of(
    result: ToolResult,
    *,
    shell: bool,
    reads: bool,
    labels: frozenset[str] = frozenset(),
    words: frozenset[str] = frozenset(),
    pending: Callable[[int], bool] | None = None,
    normaliser: Callable[[str], str] | None = None,
    exact: bool = False,
    dropped: frozenset[str] = frozenset(),
) -> Outcome:
    """What is kept of a result.

    `labels` are lines that the command itself prints between its steps: they are left out. `words` are those of the
    arguments: a failure that only repeats them says nothing new. `pending` tells which exit codes mean "not yet".
    `normaliser` is one more, for this tool. `exact` keeps the noise, but for the keys in `dropped`: as upstream does.
    """
    if result.content is None and result.sha256:
        return _of_hash(result, reads=reads, shell=shell, pending=pending)
    text, value = text_of(result.content)
    if normaliser is not None:
        text, value = text_of(normaliser(text if value is None else canonical(value)))
    if labels and value is None and not exact:
        text = "\n".join([line for line in text.split("\n") if line.strip() not in labels])
    exit_code = result.exit_code
    if exit_code is None and isinstance(value, dict):
        said = value.get("exit_code")
        exit_code = said if isinstance(said, int) else None
    refusal = isinstance(value, dict) and value.get("guardrail_refusal") is True
    failed = result.failed
    if failed is None:
        failed = has_failed(text, value, exit_code, shell=shell)
    if refusal or (failed and pending is not None and pending(-1 if exit_code is None else exit_code)):
        failed = False
    normal = _exact(text, value, dropped) if exact else _normal(text, value, dropped)
    if failed:
        line = _error_line(text, value)
        strict, loose = _without_words(line, words)
        return Outcome(
            named(f"!{exit_code}\n{normal if exact else strict}"),
            named(f"!{exit_code}\n{loose}"),
            failed=True,
            exit_code=exit_code,
        )
    vain = _came_to_nothing(normal, exit_code, shell=shell, reads=reads) or (reads and _is_hollow(value))
    folded = folded_digits(normal) if len(normal) <= SHORT else ""
    said = _without_words(_error_line(text, value), words)[1] if vain and normal else normal
    return Outcome(
        named(f"{exit_code or 0}\n{normal}"),
        named(f"={said}"),
        vain=vain,
        refusal=refusal,
        folded=folded,
        exit_code=exit_code,
        says_much=len(normal) >= LEAST_TELLING,
    )


def _of_hash(
    result: ToolResult, *, reads: bool, shell: bool, pending: Callable[[int], bool] | None
) -> Outcome:
    failed = result.failed
    if failed is None:
        failed = shell and bool(result.exit_code)
    code = -1 if result.exit_code is None else result.exit_code
    if failed and pending is not None and pending(code):
        failed = False
    digest = named(f"{'!' if failed else ''}{result.exit_code or 0}\n{result.sha256.lower()}")
    vain = not failed and reads and result.sha256.lower() == EMPTY_SHA256
    return Outcome(digest, digest, failed=failed, vain=vain, exit_code=result.exit_code)


def _exact(text: str, value: object, dropped: frozenset[str]) -> str:
    return text if value is None else canonical(value, str, dropped)


def has_failed(text: str, value: object, exit_code: int | None, *, shell: bool) -> bool:
    """Whether a call failed, where the host does not say: the exit code of a shell, else what the result says."""
    if shell and exit_code is not None:
        return exit_code != 0
    if isinstance(value, dict):
        if value.get("guardrail_refusal") is True:
            return False
        return bool(
            value.get("error")
            or value.get("failed") is True
            or value.get("success") is False
            or value.get("isError") is True
            or value.get("is_error") is True
        )
    if value is not None or shell:
        return False
    start = text[:SHORT].lstrip()
    first = start.partition(":")[0]
    return start.startswith("Error") or (first.endswith(("Error", "Exception")) and " " not in first)


def _came_to_nothing(normal: str, exit_code: int | None, *, shell: bool, reads: bool) -> bool:
    """Whether a call that did not fail says that it found or did nothing.

    The silence of a write means that it was done; the silence of a read that there was nothing to read.
    """
    bare = normal.strip(" \n\"'")
    if bare in ("", "[]", "{}", "0:", "null", "None"):
        return reads
    if len(normal) > SHORT or (shell and exit_code == 0):
        return False
    low = normal.lower().lstrip(" \"'")
    if low.startswith(("no ", "0 ", "zero ")) and low.find(" found") > 0:
        return True
    for phrase in _NOT_VAIN:
        low = low.replace(phrase, "")
    return any(word in low for word in _VAIN)


def _is_hollow(value: object) -> bool:
    """Whether an object holds a list or an object and nothing in any: `{"items": [], "total": 0}`."""
    if not isinstance(value, dict):
        return False
    inner = [item for item in value.values() if isinstance(item, dict | list)]
    return bool(inner) and not any(inner) and not any(isinstance(item, str) for item in value.values())


def _error_line(text: str, value: object) -> str:
    """The line that says what went wrong: the first with a word for it, else the last that is not blank."""
    if isinstance(value, dict):
        for key in ("error", "stderr", "message", "output"):
            said = value.get(key)
            if isinstance(said, str) and said.strip():
                text = said
                break
            if isinstance(said, dict | list) and said:
                return canonical(said, without_noise, VOLATILE_KEYS)
        else:
            return canonical(value, without_noise, VOLATILE_KEYS)
    elif value is not None:
        return canonical(value, without_noise, VOLATILE_KEYS)
    lines = [line for line in clipped(text).split("\n", _MOST_LINES) if line and not line.isspace()]
    for line in lines:
        low = line.lower()
        if "traceback (" not in low and any(sign in low for sign in _ERROR_SIGNS):
            return without_noise(line)
    return without_noise(lines[-1]) if lines else ""


def _without_words(line: str, words: frozenset[str]) -> tuple[str, str]:
    """The line without the words of the arguments and without long numbers; and also without any number or path."""
    strict: list[str] = []
    for word in line.split(" "):
        bare = word.strip("\"'`.,:;()[]{}<>\u2018\u2019\u201c\u201d")
        digits = len(bare) - len(folded_digits(bare))
        if bare and (bare in words or digits >= _LONG_NUMBER):
            word = GONE
        strict.append(word)
    loose = [GONE if "/" in word or word.startswith(("'", '"', "`", "\u2018")) else word for word in strict]
    return " ".join(strict), folded_digits(_unquoted(" ".join(loose))).lower()


def _unquoted(line: str) -> str:
    """The line without what stands in backquotes or double quotes."""
    for mark in ("`", '"'):
        pieces = line.split(mark)
        if len(pieces) >= 3:
            line = GONE.join(pieces[::2])
    return line
