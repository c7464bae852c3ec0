"""Shapes of text that change from call to call, for a head that cannot be compared with another.

Rule 1: *high* names a moment, a process or a request. *low* has the shape, and may be fixed.
Rule 2: `FIXED` comes first and takes its places out: dates in model names, layouts, ids of things.
Rule 3: of overlapping finds the earlier row of `PATTERNS` keeps the place.
Rule 4: every quantifier is bounded or cannot meet itself, so a search is linear in the text.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

Confidence = Literal["seen", "high", "low"]


class Pattern(NamedTuple):
    """`regex` finds the place; its group `v`, where there is one, is what changes."""

    kind: str
    confidence: Confidence
    regex: re.Pattern[str]
    fix: str


class Find(NamedTuple):
    """A place: characters `start` to `end`."""

    kind: str
    confidence: Confidence
    start: int
    end: int
    fix: str


TAIL: Final = "move it behind the last message"
DAY: Final = "round it to the day"
DROP: Final = "drop it"
SORT: Final = "sort it"

_DATE = r"20\d\d-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])"
_CLOCK = r"(?:[01]?\d|2[0-3]):[0-5]\d"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[147][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_MOMENT = r"\b(?:now|current|today|time|timestamp|clock|generated|updated|started)\b"
_WEEKDAY = r"\b(?:mon|tue|wed|thu|fri|sat|sun)"
_CALL_ID = (
    r"\b(?:toolu|chatcmpl|resp|req|call|msg|run|thread)[_-]"
    r"(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{12,80}\b"
)
_PASSING = (
    r"\b(?:session|request|req|trace|span|run|conversation|chat|message|call|correlation|nonce|"
    r"invocation|execution)"
)
_THING = (
    r"\b(?:product|namespace|project|tenant|org|organi[sz]ation|account|team|app|application|tool|"
    r"plugin|extension|schema|interface|class|category|template|subscription|workspace|guid)"
)


def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


FIXED: Final = (
    # claude-opus-4-5-20251101, gpt-4o-2024-08-06, gemini-2.5-pro-preview-05-20
    _regex(r"\b[a-z][a-z0-9]{0,20}(?:[-.][a-z0-9]{1,20}){0,6}[-@]20\d\d-?[01]\d-?[0-3]\d\b"),
    # Go's reference time and the letters of other layouts
    _regex(r"\b2006-01-02(?:[T ]15:04:05\S{0,16})?"),
    _regex(_THING + r"[ _-]?(?:uuid|id)?[\"']?\s{0,2}[:=]?\s{0,2}[\"']?" + _UUID),
    # the name spaces of RFC 9562
    _regex(r"\b6ba7b81[0-4]-9dad-11d1-80b4-00c04fd430c8\b"),
    _regex(r"(?:\(c\)|©|copyright|licen[sc]ed?|rfc|version|api-version|\bv)[^\n]{0,24}?" + _DATE),
    _regex(r"\d{1,4}\.\d{1,4}\.\d{1,6}[-+][0-9a-z.-]{1,40}"),
    _regex(r"#[0-9a-f]{6,8}\b"),
    _regex(r"\b(?:sha256|sha1|md5|blake3)[:-][0-9a-f]{7,128}\b"),
)


def _high(kind: str, fix: str, *parts: str) -> Pattern:
    return Pattern(kind, "high", _regex("".join(parts)), fix)


def _low(kind: str, fix: str, *parts: str) -> Pattern:
    return Pattern(kind, "low", _regex("".join(parts)), fix)


_IS = r"[\"']?\s{0,2}[:=]\s{0,2}[\"']?"
_PATH = r"[^\s\"'`<>]"

PATTERNS: Final = (
    _high("datetime", DAY, _DATE, "[T ]", _CLOCK, r":[0-5]\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"),
    _high("datetime", DAY, _MOMENT, r"[^\n]{0,24}?(?P<v>", _DATE, "[T ]", _CLOCK, ")"),
    _high("datetime", DAY, _WEEKDAY, r",? [a-z0-9 ]{5,12} (?:20\d\d )?", _CLOCK, r":\d\d"),
    _high("clock", TAIL, _MOMENT, r"[^\n\d]{0,24}(?P<v>", _CLOCK, r":[0-5]\d(?: ?[ap]m)?)"),
    _high(
        "clock",
        TAIL,
        r"\b(?:now|current|today)\b[^\n\d]{0,24}(?P<v>",
        _CLOCK,
        r"(?: ?[ap]m)?)\b",
    ),
    _high(
        "epoch",
        TAIL,
        r"(?:time|stamp|epoch|now|since|\bts|_at)[\"']?\s{0,2}[:= ]\s{0,2}",
        r"(?P<v>1[6-9]\d{8}(?:\d{3})?(?:\.\d{1,9})?)\b",
    ),
    _high("uuid", TAIL, _PASSING, r"[ _-]?(?:uuid|id)?[^\n\w]{0,6}(?P<v>", _UUID, r")\b"),
    _high("uuid", TAIL, r"\b(?:uu)?id", _IS, "(?P<v>", _UUID, r")\b"),
    _high(
        "id",
        TAIL,
        _PASSING,
        r"[ _-]?id",
        _IS,
        r"(?P<v>(?=[a-z_-]{0,40}\d)[a-z0-9_-]{8,80})",
    ),
    Pattern("ulid", "high", re.compile(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b"), TAIL),
    Pattern("call_id", "high", re.compile(_CALL_ID), DROP),
    _high("pid", DROP, r"\bpid\s{0,2}[:=]\s{0,2}(?P<v>\d{1,10})\b"),
    _high(
        "temp_path",
        "name it without the random part",
        r"(?:/tmp/|/var/tmp/|/var/folders/|\\temp\\)",
        _PATH,
        r"{0,60}?(?:tmp[a-z0-9_]{6,10}|[0-9a-f]{8,64}|\d{4,20})\b",
        _PATH,
        "{0,120}",
    ),
    _high(
        "age", DROP, r"\b\d{1,6} ?(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?) (?:ago|old)\b"
    ),
    _high(
        "git",
        TAIL,
        r"^[ \t]{0,8}(?:on branch|current branch|your branch is|git ?status|recent commits)\b",
        r".{0,200}$",
    ),
    _high(
        "port",
        "fix the port",
        r"\b(?:localhost|127\.0\.0\.1):(?P<v>(?:3[3-9]|[45]\d|6[0-5])\d{3})\b",
    ),
    _low("datetime", DAY, _DATE, "[T ]", _CLOCK, r"\b"),
    _low("date", "fine for a cache that lives an hour", r"(?<![\w./-])", _DATE, r"\b"),
    _low("clock", TAIL, r"(?<![\w:.-])", _CLOCK, r":[0-5]\d(?![\w:.-])"),
    _low("uuid", TAIL, r"\b", _UUID, r"\b"),
    _low(
        "counter",
        TAIL,
        r"\b(?:tokens?|context|budget|cost|turns?|messages?) (?:used|left|remaining|spent)",
        r"[^\n\w]{1,4}(?P<v>\d[\d,.]{0,14})",
    ),
    _low(
        "hex",
        DROP,
        r"(?<![\w./:#-])(?=[a-f]{0,12}\d)(?=\d{0,12}[a-f])[0-9a-f]{7,12}(?![\w./-])",
    ),
    _low(
        "cwd",
        "the same in a session, another in the next",
        r"\b(?:cwd|working directory|workdir)[^\n\w/\\]{1,6}(?P<v>(?:[a-z]:\\|/)",
        _PATH,
        "{1,200})",
    ),
)


def search(text: str) -> Iterator[Find]:
    """Yield the places in `text` that look volatile, by pattern and then by place."""
    taken = bytearray(len(text))
    for fixed in FIXED:
        for found in fixed.finditer(text):
            _take(taken, *found.span())
    for row in PATTERNS:
        for found in row.regex.finditer(text):
            start, end = found.span("v" if "v" in row.regex.groupindex else 0)
            if not any(taken[start:end]):
                _take(taken, start, end)
                yield Find(row.kind, row.confidence, start, end, row.fix)


def _take(taken: bytearray, start: int, end: int) -> None:
    taken[start:end] = b"\x01" * (end - start)
