# SPDX-License-Identifier: Apache-2.0
"""Secrets taken out of a text before a person shows it to others.

It errs to the side of taking out too much, and still can only know what a secret looks like: who sends the text reads
it first.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MARK = "REDACTED-"
"""How what stands for a secret begins: a plain word to a shell, so that a command means what it did."""

_VALUE = r"""(?P<secret>
    \$?"[^"\n]{1,4096}" | \$?'[^'\n]{1,4096}' | \$\([^)\n]{0,200}\) | \$\{[^}\n]{0,200}\}
    | [^\s"'&;|<>(){},]{1,4096}
)"""
_LONG_NAME = r"""(?:
    pass(?:word|wd|phrase|code) | secret | token | credentials?
    | (?:api|access|account|private|secret|encryption|signing)[_-]?key
)s?"""
_SHORT_NAME = r"(?:pass|pwd|pw|sig|signature|bearer|webhook)"

_NAMES = ("passw", "passph", "passc", "secret", "token", "credential", "key")
_OPTIONS = (
    *("-pass", "-secret", "-token", "-credential", "-api", "-access", "-account", "-private", "-encryption"),
    *("-signing", "-pw", "-sig", "-bearer", "-webhook"),
)
_SHORT_NAMES = ("pass", "pw", "sig", "bearer", "webhook")
_PREFIXES = (
    *(
        "gho_",
        "ghp_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "glpat-",
        "glsa_",
        "gldt-",
        "glrt-",
        "npm_",
        "pypi-",
        "hf_",
    ),
    *(
        "dop_v1_",
        "shpat_",
        "shpca_",
        "shppa_",
        "shpss_",
        "xox",
        "xapp-",
        "sk-",
        "sk_live_",
        "rk_live_",
        "pk_live_",
    ),
    *("sk_test_", "ya29.", "aiza", "akia", "asia", "age-secret-key-", "sg.", "sq0", "lin_api_", "figd_"),
    *("dckr_pat_", "atlasv1.", "hvs.", "tskey-"),
)

_PATTERNS = tuple(
    (re.compile(pattern, re.VERBOSE | flags), label, hints)
    for pattern, flags, label, hints in (
        # A key in its armour, to its end or to the end of the text.
        (
            (
                r"(?P<secret>-----BEGIN\ [A-Z0-9 ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----"
                r"(?:(?!-----END)[\s\S]){0,20000}(?:-----END\ [A-Z0-9 ]{0,40}-----)?)"
            ),
            0,
            "private-key",
            ("private key",),
        ),
        # scheme://user:password@host
        (
            r"[a-z][a-z0-9+.-]{1,20}://(?P<secret>[^\s/'\"]{1,1024})@",
            re.IGNORECASE,
            "credentials",
            ("://",),
        ),
        # Headers that say who one is.
        (
            r"(?:proxy-)?authorization['\"]?\s{0,4}[:=]\s{0,4}['\"]?(?P<secret>[^'\"\r\n]{1,8192})",
            re.IGNORECASE,
            "secret",
            ("authorization",),
        ),
        (
            (
                r"(?<![\w-])(?:(?:set-)?cookie|(?:private|job|deploy|auth)-token|api-?key|"
                r"x-[a-z0-9-]{0,40}(?:token|key|auth|secret|session)[a-z0-9-]{0,20})"
                r"\s{0,4}:\s{0,4}(?P<secret>[^'\"\r\n]{1,8192})"
            ),
            re.IGNORECASE,
            "secret",
            ("cookie", "-token", "key", "x-"),
        ),
        (
            r"\b(?:bearer|basic)\s{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{8,8192})",
            re.IGNORECASE,
            "secret",
            ("bearer", "basic"),
        ),
        # name=value, "name": "value", --name value
        (
            rf"{_LONG_NAME}['\"]?\s{{0,4}}[=:]\s{{0,4}}{_VALUE}",
            re.IGNORECASE,
            "secret",
            _NAMES,
        ),
        (
            rf"(?<![a-z0-9]){_SHORT_NAME}['\"]?\s{{0,4}}[=:]\s{{0,4}}{_VALUE}",
            re.IGNORECASE,
            "secret",
            _SHORT_NAMES,
        ),
        (
            rf"(?<![\w-])--?(?:[a-z0-9]{{1,20}}-){{0,3}}(?:{_LONG_NAME}|{_SHORT_NAME})\s{{1,4}}(?!-){_VALUE}",
            re.IGNORECASE,
            "secret",
            _OPTIONS,
        ),
        # Options of some tools: curl -u name:password, sshpass -p, mysql -p...
        (
            r"(?:^|\s)(?:-u|--user|--proxy-user|-U)(?:\s{1,4}|=)?['\"]?[^\s:'\"]{0,64}:(?P<secret>[^\s'\"]{1,1024})",
            0,
            "secret",
            ("-u", "--proxy-user"),
        ),
        (
            r"(?:^|\s)(?:-b|--cookie)(?:\s{1,4}|=)['\"]?(?P<secret>[^\s'\"=]{1,200}=[^'\"\n]{1,4096})",
            0,
            "secret",
            ("-b ", "-b=", "-b\t", "-b\n", "-b\r", "-b\v", "-b\f", "--cookie"),
        ),
        (
            r"\bsshpass\s{1,4}-p\s{0,4}(?P<secret>\S{1,1024})",
            0,
            "secret",
            ("sshpass",),
        ),
        (
            r"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;&]{0,200}?\s-p(?P<secret>[^\s-]\S{0,1024})",
            0,
            "secret",
            ("mysql", "mariadb"),
        ),
        # Tokens by how they begin.
        (
            (
                r"(?<![A-Za-z0-9])(?P<secret>(?:gh[opusr]_|github_pat_|glpat-|glsa_|gldt-|glrt-|npm_|pypi-|hf_|dop_v1_|"
                r"shp(?:at|ca|pa|ss)_|xox[abeoprs]-|xapp-|sk-|sk_live_|sk_test_|rk_live_|pk_live_|ya29\.|AIza|"
                r"AKIA|ASIA|AGE-SECRET-KEY-|SG\.|sq0[a-z]{3}-|lin_api_|figd_|dckr_pat_|atlasv1\.|hvs\.|tskey-)"
                r"[A-Za-z0-9_.-]{10,4096})"
            ),
            0,
            "token",
            _PREFIXES,
        ),
        (
            r"(?<![A-Za-z0-9])(?P<secret>eyJ[A-Za-z0-9_-]{8,4096}(?:\.[A-Za-z0-9_-]{4,4096}){1,4}\.?)",
            0,
            "token",
            ("eyj",),
        ),
        # Addresses that are a secret themselves.
        (
            (
                r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks|"
                r"outlook\.office\.com/webhook|api\.telegram\.org)/(?P<secret>[^\s'\"]{4,1024})"
            ),
            re.IGNORECASE,
            "secret",
            ("hooks.slack.com", "discord", "outlook.office.com", "api.telegram.org"),
        ),
        # Whatever is long and looks like no word.
        (
            r"(?<![0-9A-Za-z])(?P<secret>(?:0x)?[0-9a-fA-F]{32,4096})(?![0-9A-Za-z])",
            0,
            "hex",
            (),
        ),
        # People and their folders.
        (
            r"(?<![\w.+-])(?P<secret>(?!git@)[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})",
            0,
            "e-mail",
            ("@",),
        ),
        (
            r"(?:/home|/Users|\\Users|\\\\Users)(?:/|\\{1,2})(?P<secret>[^/\\\s'\":;|&()<>*?$]{1,64})",
            0,
            "user",
            ("/home", "/users", "\\users"),
        ),
        (
            r"(?<![\w/.=~!+-])~(?P<secret>[a-z_][a-z0-9_.-]{0,31})(?=[/\s'\":;|&)]|$)",
            0,
            "user",
            ("~",),
        ),
    )
)

_HEX_RUN = re.compile("[0-9a-fA-F]{32}")
_LONG_RUN = re.compile("[A-Za-z0-9+/_-]{40}")
_LONG = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{40,8192}={0,2}")
_MIN_RUN = 20
_MIN_SECRET = 5
_NO_SECRETS = frozenset({"user", "e-mail", "hex"})
_REFERENCE = re.compile(r"\$(?:\w+|\{\w+\}|\(.*)", re.DOTALL)


def redact(text: str, names: Iterable[str] = (), *, known: Iterable[str] | None = None) -> str:
    """The text with `REDACTED-` and what it was in place of each secret, wherever the secret stands.

    Taken out are tokens, keys and passwords, credentials in addresses and headers, long hexadecimal and base64 texts,
    e-mail addresses and the names of home folders. What only names a secret stays: `$TOKEN`, `$(cat f)`.

    Args:
        names: words that are taken out wherever they stand alone, such as the name of the user.
        known: what is known to be secret (`secrets_in` of the text that this one is a part of); what `secrets_in` finds
            in the text itself when it is left out.
    """
    spans = list(_candidates(text, names))
    words = sorted(_secrets(text, spans) if known is None else known, key=len, reverse=True)
    if not spans and not words:
        return text
    if words:
        anywhere = re.compile("|".join(re.escape(word) for word in words))
        spans += [(*match.span(), "secret") for match in anywhere.finditer(text)]
    pieces = []
    at = 0
    for start, end, label in _merged(spans):
        pieces += [text[at:start], f"{MARK}{label}"]
        at = end
    return "".join([*pieces, text[at:]])


def secrets_in(text: str, names: Iterable[str] = ()) -> set[str]:
    """The secrets of a text that are long enough to be looked for elsewhere."""
    return _secrets(text, _candidates(text, names))


def _secrets(text: str, spans: Iterable[tuple[int, int, str]]) -> set[str]:
    found = set()
    for start, end, label in _merged(spans):
        if label not in _NO_SECRETS:
            secret = text[start:end]
            found |= {secret, secret.rpartition(":")[2]} if label == "credentials" else {secret}
    return {secret for secret in found if len(secret) >= _MIN_SECRET}


def _merged(spans: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """The spans in order, without overlap. Of those that begin together, the first that is longest names them."""
    found = sorted(spans, key=lambda span: (span[0], span[2] == "e-mail", -span[1]))
    merged: list[tuple[int, int, str]] = []
    for start, end, label in found:
        if merged and start < merged[-1][1]:
            first, last, kept = merged[-1]
            if label != "e-mail":  # what follows the credentials in an address is a host
                merged[-1] = (first, max(last, end), kept)
        else:
            merged.append((start, end, label))
    return merged


def _candidates(text: str, names: Iterable[str]) -> Iterator[tuple[int, int, str]]:
    low = text.lower() if text.isascii() else None
    for pattern, label, hints in _PATTERNS:
        # Looking for a word is far cheaper than for a pattern that cannot match without it.
        if low is not None and not _may_match(low, hints):
            continue
        for match in pattern.finditer(text):
            start, end = match.span("secret")
            if text.startswith(("$'", '$"'), start):
                start += 1
            if text[start] in "\"'" and text[end - 1] == text[start] and end - start > 1:
                start, end = start + 1, end - 1
            secret = text[start:end]
            if secret and not _REFERENCE.fullmatch(secret) and not secret.startswith(MARK):
                yield start, end, label
    for match in _LONG.finditer(text) if _LONG_RUN.search(text) else ():
        if _looks_random(match.group()):
            yield *match.span(), "base64"
    for name in names:
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            yield *match.span(), "user"


def _may_match(low: str, hints: tuple[str, ...]) -> bool:
    for hint in hints:
        if hint in low:
            return True
    return not hints and _HEX_RUN.search(low) is not None


def _looks_random(text: str) -> bool:
    """Capitals, small letters and digits mixed, and a long run of them without a separator: no path, no sentence."""
    run = max(re.split(r"[/_-]", text), key=len)
    return (
        len(run) >= _MIN_RUN
        and any(char.isupper() for char in text)
        and any(char.islower() for char in text)
        and any(char.isdigit() for char in text)
    )
