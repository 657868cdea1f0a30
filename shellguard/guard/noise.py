# SPDX-License-Identifier: Apache-2.0
"""What changes from one run to the next although nothing has changed, taken out of a text.

Noise is: ANSI codes, what a carriage return overwrote, progress bars, clock times, dates, durations, rates, process
ids, addresses, UUIDs, ids of requests, temporary names. Plain numbers stay: `10%` and `20%` are not the same.

The text is read word by word, without `re` (7 ms of a hook's start). What a word is depends on its shape, the word with
every digit as `0`; shapes are few, so what was found is remembered.
"""

from __future__ import annotations

LIMIT = 8_000
"""Of a longer text only so many characters at its beginning and at its end count."""

GONE = "~"
"""What stands for noise. Several in a row are one: `1 minute 3 seconds` and `59 seconds` are equal."""

ZEROS = str.maketrans("123456789", "000000000")
NO_DIGITS = str.maketrans("", "", "0123456789")

_WEEKDAYS = frozenset(
    [
        *("mon", "tue", "wed", "thu", "fri", "sat", "sun", "monday", "tuesday", "wednesday", "thursday"),
        *("friday", "saturday", "sunday"),
    ]
)
_MONTHS = frozenset(
    [
        *("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"),
    ]
) | frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
)
_ZONES = frozenset(
    [
        *("utc", "gmt", "cet", "cest", "est", "edt", "pst", "pdt", "mst", "mdt", "cst", "cdt", "bst", "ist"),
        *("jst", "am", "pm"),
    ]
)
_UNITS = ("ms", "us", "µs", "μs", "ns", "secs", "sec", "s", "mins", "min", "m", "hrs", "hr", "h", "d")
_LONG_UNITS = frozenset(
    [
        *("ns", "us", "µs", "μs", "ms", "s", "sec", "secs", "second", "seconds", "millisecond"),
        *("milliseconds", "microsecond", "microseconds", "nanoseconds", "m", "min", "mins", "minute"),
        *("minutes", "h", "hr", "hrs", "hour", "hours", "day", "days", "week", "weeks"),
    ]
)
_KEYS = frozenset(
    [
        *("pid", "ppid", "tid", "pids", "pgid", "process", "thread", "elapsed", "duration", "took", "eta"),
        *("time", "timestamp", "ts", "date", "started", "finished", "startedat", "finishedat", "updatedat"),
        *("endedat", "started_at", "finished_at", "updated_at", "ended_at", "created_at", "createdat"),
        *("starttime", "endtime", "start_time", "end_time", "durationms", "duration_ms", "elapsedms"),
        *("elapsed_ms", "duration_seconds", "requestid", "request_id", "request-id", "x-request-id"),
        *("traceid", "trace_id", "trace-id", "spanid", "span_id", "correlation_id", "sessionid"),
        *("session_id", "messageid", "message_id", "nonce", "uptime", "latency", "chunk_id"),
        *("cf-ray", "x-amzn-requestid", "x-amz-request-id", "x-amz-id-0", "x-github-request-id", "hostid"),
        *("x-trace-id", "x-correlation-id", "query_id", "queryid", "seed", "x-served-by", "x-timer"),
    ]
)
_ID_OWNERS = frozenset(
    ["request", "trace", "span", "session", "message", "chunk", "correlation", "process", "thread", "call"]
)
_ID_PREFIXES = (
    *("req_", "req-", "msg_", "msg-", "call_", "toolu_", "chatcmpl-", "sess_", "session_", "session-"),
    *("resp_", "evt_", "trace-", "trace_", "span-", "request-", "corr-"),
)
_TEMPORARY = ("/tmp/", "/temp/", "/var/folders/", "/shm/", "\\temp\\", "/run/user/")

VOLATILE_KEYS = _KEYS - {"process", "thread", "date", "seed"} | frozenset(
    [
        *("id", "uuid", "guid", "executiontime", "execution_time", "walltime", "wall_time", "etag", "now"),
        *("runtime", "lastmodified", "last_modified", "requestedat", "requested_at", "cursor"),
        *("next_cursor", "nextcursor", "end_cursor", "endcursor", "next_page_token", "nextpagetoken"),
        *("page_token", "pagetoken", "next_token", "nexttoken", "rate_limit", "ratelimit"),
    ]
)
"""Keys of a result in JSON (lower case) that say when and by whom, not what. An `id` that is a small number stays."""

_EDGES = "\"'`()[]{}<>,;"
_BAR_HINTS = ("[=", "[#", "[>", "[*", "[-", "[.", "%|", "|#", "|=", "= ]", "=]", "#]", "# ]")
_BAR_GLYPHS = "━█▉▊▋▌▍▎▏░▒▓╸╺■□●○▰▱⣿⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_AGO = (
    ("less than a second ago", "0 seconds ago"),
    ("Less than a second ago", "0 seconds ago"),
    ("about a minute ago", "0 seconds ago"),
    ("about an hour ago", "0 seconds ago"),
    ("a few seconds ago", "0 seconds ago"),
    ("a minute ago", "0 seconds ago"),
    ("an hour ago", "0 seconds ago"),
    ("a day ago", "0 seconds ago"),
)


def clipped(text: str) -> str:
    """The part of a text that counts."""
    return text if len(text) <= 2 * LIMIT else f"{text[:LIMIT]} {text[-LIMIT:]}"


def without_noise(text: str) -> str:
    """The text of a result without noise, its blanks folded. Linear in the length; never raises."""
    if "\x1b" in text or "\x9b" in text:
        text = _without_ansi(text)
    if "\r" in text or "\b" in text:
        text = _as_shown(text)
    if _may_have_bars(text):
        text = "\n".join([_without_bar(line) for line in text.split("\n")])
    if " ago" in text:
        for phrase, plain in _AGO:
            text = text.replace(phrase, plain)
    zeros = text.translate(ZEROS)
    if "0" not in zeros and "tmp" not in zeros:
        return " ".join(text.split())
    return " ".join(_quiet_words(text.split(), zeros.split()))


def _quiet_words(words: list[str], shapes: list[str]) -> list[str]:
    """The words without noise; `shapes` are the same words with zeros for digits."""
    out: list[str] = []
    words.append("")
    among = ["", *[shape[0] for shape in shapes], ""]
    skips = False
    for place, shape in enumerate(shapes):
        if skips:
            skips = False
            continue
        word = words[place]
        if "0" not in shape and "tmp" not in shape:
            out.append(word)
            continue
        kind = _KINDS.get(shape)
        if kind is None:
            kind = _remembered_kind(shape)
        if kind is _NUMBER and len(word) < 4 and among[place] == "0" and among[place + 2] == "0":
            out.append(word)  # a number among numbers, as in a table
            continue
        if kind is _NUMBER or kind is _PLAIN:
            word, skips = _by_neighbours(words, shapes, place, kind is _NUMBER, out)
        else:
            word = _cut(word, kind)
        if word is GONE:
            if words[place + 1][:2].lower() in ("am", "pm"):
                skips = True
            if out and out[-1].strip(",.").lower() in _WEEKDAYS:
                out.pop()
            if out and out[-1] is GONE:
                continue
        out.append(word)
    return out


def _by_neighbours(
    words: list[str], shapes: list[str], place: int, is_number: bool, out: list[str]
) -> tuple[str, bool]:
    """A word that is noise only by what stands around it, and whether the next word, its unit, goes with it."""
    word, before, after = words[place], "", ""
    if place and shapes[place - 1][:1] != "0":
        before = words[place - 1].strip("\"'=:([,").lower()
    if shapes[place + 1 : place + 2] and shapes[place + 1][:1] != "0":
        after = words[place + 1].strip(".,;:)]").lower()
    if before in _KEYS or (before == "id" and place > 1 and words[place - 2].lower() in _ID_OWNERS):
        return GONE, after in _LONG_UNITS
    if not is_number:
        return (GONE, True) if after in ("am", "pm") and shapes[place] in ("0:00", "00:00") else (word, False)
    if after and (after in _LONG_UNITS or after in _MONTHS or after.endswith("/s")):
        return GONE, True
    if before in _MONTHS and len(word) <= 3:
        out.pop()
        return GONE, False
    if word[0] in "12" and (_is_epoch(word) or (_is_year(word) and _is_dated(out))):
        return GONE, False
    if place and shapes[place - 1] == "[0]" and len(word) >= 3:
        return GONE, False  # `[1] 12345`: what a shell says of a job it starts
    return word, False


def _is_year(word: str) -> bool:
    return word[:2] in ("19", "20") and len(word.strip(",.")) == 4


def _is_dated(out: list[str]) -> bool:
    """Whether what was just read was a time, so that a year may follow."""
    return bool(out) and (out[-1] == GONE or (out[-1].lower() in _ZONES and len(out) > 1 and out[-2] == GONE))


def _is_epoch(word: str) -> bool:
    """Seconds or milliseconds since 1970, of these decades."""
    whole = word.strip(_EDGES).partition(".")[0]
    return len(whole) in (10, 13, 16, 19) and whole[0] == "1"


Spans = tuple[tuple[int, int], ...]
_PLAIN: Spans = ((-1, -1),)
"""The word is no noise by itself; it may be by what stands before it."""
_NUMBER: Spans = ((-2, -2),)
"""A number, which may be noise by what stands around it."""

_KINDS: dict[str, Spans] = {}
_MOST_KINDS = 8_192
_LONGEST_SHAPE = 200


def _remembered_kind(shape: str) -> Spans:
    if len(shape) > _LONGEST_SHAPE:
        return _PLAIN
    kind = _kind(shape)
    if len(_KINDS) >= _MOST_KINDS:
        _KINDS.clear()
    _KINDS[shape] = kind
    return kind


_ALL_EDGES = _EDGES + ".:!?"


def _cut(word: str, spans: Spans) -> str:
    out: list[str] = []
    done = 0
    for start, end in spans:
        out += (word[done:start], GONE)
        done = end
    out.append(word[done:])
    text = "".join(out)
    return GONE if text.strip(_ALL_EDGES) == GONE else text


def _kind(shape: str) -> Spans:
    """What a word of this shape is: `_PLAIN`, `_NUMBER`, or the places of the noise in it."""
    low = shape.lower()
    bare = low.strip(_EDGES + ":!?").rstrip(".")
    if _is_number(bare):
        return _NUMBER
    if any(place in low for place in _TEMPORARY) or bare.startswith("tmp"):
        spans = _temporary_parts(shape, low)
        if spans:
            return spans
    spans = tuple(_noisy_pieces(low))
    return spans or _PLAIN


def _is_number(text: str) -> bool:
    return text != "" and text.strip("0").strip(".,") == "" and "0" in text


_SEPARATORS = frozenset("=,;()[]{}\"'<>|")


def _noisy_pieces(low: str) -> list[tuple[int, int]]:
    """The pieces between separators that are noise. A colon separates behind a name: `pid:0`, `time:0.0s`."""
    found: list[tuple[int, int]] = []
    start, key = 0, ""
    size = len(low)
    place = 0
    while place <= size:
        char = low[place] if place < size else ""
        ends = place == size or char in _SEPARATORS
        if not ends and char == ":" and place > start and low[start:place].strip("-_").isalpha():
            ends = True
        if char == "," and ":00" in low[start:place] and low[place + 1 : place + 4] == "000":
            ends = False  # a clock with a comma before its fraction
        if ends:
            piece = low[start:place]
            if "0" in piece or piece.startswith("tmp"):
                bare = piece.rstrip(".:!?")
                in_brackets = low[start - 1 : start] == "[" and low[place : place + 2] == "]:" and start > 1
                if key in _KEYS or _is_noise(bare) or (in_brackets and not bare.strip("0")):
                    found.append((start, start + len(bare)))
            if piece:
                key = piece
            start = place + 1
        place += 1
    return found


def _is_noise(text: str) -> bool:
    """Whether a piece of a shape, in lower case, is noise by itself."""
    return (
        _is_time(text)
        or _is_duration(text)
        or _is_address(text)
        or _is_uuid(text)
        or _is_rate(text)
        or _is_identity(text)
        or (text.startswith(_ID_PREFIXES) and len(text) >= 10)
    )


def _is_time(text: str) -> bool:
    """`00:00`, `00:00:00.000z`, `0000-00-00`, `0000-00-00t00:00:00+00:00`, `00/nov/0000:00:00:00`."""
    if _is_clock(text) or _is_date(text):
        return True
    for joint in ("t", "_", ":"):
        date, found, clock = text.partition(joint)
        if found and _is_date(date) and _is_clock(clock):
            return True
    return False


def _is_clock(text: str) -> bool:
    for mark in ("z", "am", "pm"):
        text = text.removesuffix(mark)
    for sign in ("+", "-"):
        head, found, zone = text.partition(sign)
        if found and zone in ("00", "00:00", "0000"):
            text = head
    fraction = text.replace(",", ".").partition(".")
    if fraction[1] and fraction[2].strip("0"):
        return False
    parts = fraction[0].split(":")
    if len(parts) == 2:
        return parts[0] == "00" and parts[1] == "00"
    return len(parts) == 3 and parts[0] in ("0", "00", "000") and parts[1] == "00" and parts[2] == "00"


def _is_date(text: str) -> bool:
    for joint in ("-", "/", "."):
        parts = text.split(joint)
        if len(parts) != 3:
            continue
        first, middle, third = parts
        if first == "0000" and middle in ("0", "00") and third in ("0", "00"):
            return True
        if first in ("0", "00") and (middle in ("0", "00") or middle in _MONTHS) and third in ("0000", "00"):
            return joint != "." or third == "0000"  # `1.2.34` is a version
    return False


def _is_duration(text: str) -> bool:
    """`0.00s`, `0m0.000s`, `0h00m`, `00ms`: numbers, each with a unit of time."""
    rest = text
    while rest:
        tail = rest.lstrip("0")
        if tail is rest or tail == rest:
            return False
        if tail[:1] == ".":
            fraction = tail[1:].lstrip("0")
            if fraction == tail[1:]:
                return False
            tail = fraction
        for unit in _UNITS:
            if tail.startswith(unit) and not tail[len(unit) : len(unit) + 1].isalpha():
                rest = tail[len(unit) :]
                break
        else:
            return False
    return text != ""


def _is_address(text: str) -> bool:
    digits = text[2:]
    return text[:2] == "0x" and len(digits) >= 6 and not digits.strip("0abcdef")


def _is_uuid(text: str) -> bool:
    if len(text) != 36:
        return False
    parts = text.split("-")
    return [len(part) for part in parts] == [8, 4, 4, 4, 12] and not "".join(parts).strip("0abcdef")


def _is_identity(text: str) -> bool:
    """`com.x.foo@0a0b0c0d`: an object of Java by its hash."""
    owner, _, digits = text.rpartition("@")
    if "." not in owner or not owner.replace(".", "").isalnum():
        return False
    return 6 <= len(digits) <= 8 and not digits.strip("0abcdef")


def _is_rate(text: str) -> bool:
    """`0.0mb/s`, `00it/s`, and the four times of `ping`: `0.00/0.00/0.00/0.00`."""
    parts = text.split("/")
    if len(parts) == 4 and all("." in part and not part.strip("0.") for part in parts):
        return True
    unit = text.lstrip("0.")
    return unit != text and unit.endswith("/s") and len(unit) <= 6


def _temporary_parts(shape: str, low: str) -> Spans:
    """The parts of a path below a temporary folder that were made up, and a lone `tmp...` name."""
    start = 0
    for folder in _TEMPORARY:
        found = low.find(folder)
        if found >= 0:
            start = found + len(folder)
            break
    spans: list[tuple[int, int]] = []
    place = start
    while place < len(shape):
        end = place
        while end < len(shape) and shape[end] not in "/\\\"'`,;:()[]{}<>|=":
            end += 1
        if end > place and _is_made_up(shape[place:end], below=start > 0):
            spans.append((place, end))
        place = end + 1
    return tuple(spans)


def _is_made_up(name: str, *, below: bool) -> bool:
    """`tmpab0cd_x`, `tmp.Xy0Zq...`, and below a temporary folder any name with a digit or a random ending."""
    if name.startswith("tmp") and len(name) >= 9 and "." not in name[4:]:
        return True
    if not below:
        return False
    if "0" in name:
        return True
    for mark in (".", "-", "_"):
        ending = name.rpartition(mark)[2]
        if len(ending) >= 6 and ending != name and ending.lower() != ending and ending.upper() != ending:
            return True
    return False


def _without_ansi(text: str) -> str:
    """Escape sequences out: those that move or colour (CSI), those that set titles (OSC), and the short ones."""
    out: list[str] = []
    text = text.replace("\x9b", "\x1b[")
    first, *rest = text.split("\x1b")
    out.append(first)
    for piece in rest:
        if not piece:
            continue
        if piece[:1] == "[":
            end = 1
            while end < len(piece) and not "@" <= piece[end] <= "~":
                end += 1
            out.append(piece[end + 1 :])
        elif piece[:1] in ("]", "P", "_", "^"):
            bell = piece.find("\x07")
            out.append(piece[bell + 1 :] if bell >= 0 else "")
        elif piece[:1] == "\\":
            out.append(piece[1:])  # the end of a title
        elif piece[:1] in ("(", ")", "#", "%"):
            out.append(piece[2:])
        else:
            out.append(piece[1:])
    return "".join(out)


def _as_shown(text: str) -> str:
    """What is left to see of lines that were written over."""
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
    text = "\n".join(lines)
    if "\b" not in text:
        return text
    out: list[str] = []
    for char in text:
        if char != "\b":
            out.append(char)
        elif out and out[-1] != "\n":
            out.pop()
    return "".join(out)


def _may_have_bars(text: str) -> bool:
    if any(hint in text for hint in _BAR_HINTS):
        return True
    return not text.isascii() and any(glyph in text for glyph in _BAR_GLYPHS)


def _without_bar(line: str) -> str:
    """The letters of a line that draws a progress bar; any other line as it is."""
    if not _has_bar(line):
        return line
    kept = "".join([char if char.isalpha() else " " for char in line])
    return " ".join([word for word in kept.split() if word.lower() not in _BAR_WORDS])


_BAR_WORDS = frozenset(
    [
        *("eta", "b", "kb", "mb", "gb", "kib", "mib", "gib", "s", "m", "h", "it", "k", "g", "b/s"),
    ]
)


def _has_bar(line: str) -> bool:
    if not line.isascii() and any(glyph in line for glyph in _BAR_GLYPHS):
        return True
    for piece in line.split("]")[:-1]:
        inside = piece.rpartition("[")[2]
        if 3 <= len(inside) < len(piece) and not inside.strip("=#->.* ") and inside.strip(" ."):
            return True
    bar = line.find("%|")
    return bar >= 0 and line.find("|", bar + 2) >= 0


def folded_digits(text: str) -> str:
    """The text without any digit."""
    return text.translate(NO_DIGITS)
