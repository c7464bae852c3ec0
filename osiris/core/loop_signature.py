"""What a result says, without what differs at every run.

Rule 1: a signature is stable under clocks, durations, process ids, addresses, uuids, request ids
        and temporary paths; any other change of the text changes it.
Rule 2: of a text of up to 64 KiB everything is read. Of a longer one the first and last 32 KiB
        are, and of the next 16 MiB between them only what is no digit, letter a-f or space: so
        ids and times there do not count, and a changed line does.
Rule 3: a fault is looser: one line of an error without names, paths and numbers, so that the
        same error about another file is the same fault.
"""

import re
import string
from typing import Final

from osiris.core.canon import hexdigest, meaning

_EDGE_CHARS: Final = 32 * 1024
_MIDDLE_CHARS: Final = 16 * 1024 * 1024
_NOISE: Final = (string.hexdigits + string.whitespace).encode()

_FAULT_CHARS: Final = 4096
_LINE_CHARS: Final = 240

# What varies -> how it is spelled. Order matters: a date-time is taken before its clock.
# Each pattern starts with a character set or literal, since `re` then skips ahead in C: 4 x faster.
# Nothing repeats inside a repeat without a bound, so the cost stays linear in hostile text.
VOLATILE: Final[dict[str, str]] = {
    "escape": r"\x1b\[[0-9;?]*[A-Za-z]",
    "uuid": r"[0-9a-fA-F](?<!\w.)[0-9a-fA-F]{7}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b",
    "time": (
        r"[0-9](?<![\w:.].)(?:"
        r"\d{3}[-/]\d\d[-/]\d\d[T ]\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z| ?[+-]\d\d:?\d\d)?"
        r"|\d?:\d\d:\d\d(?:[.,]\d+)?(?![\w:]))"
    ),
    "epoch": r"1(?<![\w:.].)[5-9]\d{8}(?:\d{3})?(?:\.\d+)?\b",
    "date": (
        r"[JFMASOND](?<!\w.)(?:an|eb|ar|pr|ay|un|ul|ug|ep|ct|ov|ec) {1,2}\d{1,2}(?: \d{4})?,?"
        r" \d\d?:\d\d(?::\d\d)?(?: \d{4})?"
    ),
    "duration": (
        r"[0-9](?<![\w.].)(?:\d*m ?\d+(?:\.\d+)?s"
        r"|\d*(?:\.\d+)? ?(?:ns|us|µs|ms|s|secs?|seconds?))\b"
    ),
    "long_duration": (
        r"[ita](?<!\w.)(?:n|ook|fter) [0-9]+(?:\.\d+)? ?(?:m|min|minutes?|h|hours?)\b"
    ),
    "address": r"0x(?<!\w..)[0-9a-fA-F]{5,16}\b",
    "process": r"[pPt](?<!\w.)(?:id|ID|rocess|hread)(?: id)?[ =:#]{1,2}\d+\b",
    "syslog": r"\[(?<=\w.)\d{2,7}\](?=:)",
    "temp": (
        r"/(?:private/)?(?:tmp|var/tmp|var/folders/\w{1,40}/\w{1,80}/T)/[^\s'\"`:,;)\]}]+"
    ),
    "windows_temp": (
        r":\\(?:[^\\\s:]{1,64}\\){0,8}(?:Temp|TEMP|tmp)\\[^\s'\"`:,;)\]}]+"
    ),
    "request": (
        r"[rRtTsScCmMeEdD](?<![A-Za-z0-9].)"
        r"(?i:equest|eq|race|pan|orrelation|essage|sg|vent|elivery)[-_ ]?[iI][dD]"
        r"[\"']?\s{0,4}[:=]\s{0,4}[\"']?[\w.:-]+"
    ),
    "request_id": (
        r"[rmectx](?<!\w.)(?:eq|sg|vt|all|oolu|hatcmpl|esp|race)[_-]"
        r"(?=[A-Za-z]{0,64}\d)[A-Za-z0-9]{8,64}\b"
    ),
    "clock_field": (
        r"[\"'](?:now|ts|time|timestamp|date|uptime|elapsed\w*|duration\w*|heartbeat|tick|nonce"
        r"|etag|\w{1,40}_at|\w{1,40}At)[\"']\s{0,4}:\s{0,4}(?:\"[^\"\n]*\"|-?\d[\d.eE+]*)"
    ),
}  # fmt: skip

# Of these a text has one if the pattern of that name is to match; no row: it may match any text.
# To look for them is ten times cheaper than a search that finds nothing.
HINTS: Final[dict[str, tuple[str, ...]]] = {
    "escape": ("\x1b[",),
    "uuid": ("-",),  # LEAST times
    "time": (":",),
    "epoch": ("15", "16", "17", "18", "19"),
    "date": (":",),
    "long_duration": tuple(
        f"{word} {digit}" for word in ("n", "ook", "fter") for digit in string.digits
    ),
    "address": ("0x",),
    "process": ("id", "ID", "rocess", "hread"),
    "syslog": ("]:",),
    "temp": ("tmp/", "/var/folders/"),
    "windows_temp": (":\\",),
    "request": ("id", "Id", "iD", "ID"),
    "request_id": (
        "eq_", "sg_", "vt_", "all_", "oolu_", "hatcmpl_", "esp_", "race_",
        "eq-", "sg-", "vt-", "all-", "oolu-", "hatcmpl-", "esp-", "race-",
    ),
    "clock_field": ('"', "'"),
}  # fmt: skip
LEAST: Final = {"uuid": 4}

_VOLATILE: Final = [
    (HINTS.get(name, ("",)), LEAST.get(name, 1), re.compile(pattern))
    for name, pattern in VOLATILE.items()
]
_NAMED: Final = re.compile(
    r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|(?:[A-Za-z]:)?[\w.~@-]*[/\\][\w./\\~@-]*|\w*\d\w*"
)
_ERROR: Final = re.compile(
    r"(?i)error|fail|fatal|exception|denied|not found|no such|cannot|can't|could not|refused"
    r"|invalid|unknown|missing|unable|timed? ?out|not exist"
)


def signature(text: str, ok: bool | None = None) -> str:  # noqa: FBT001 - unknown too, no flag
    """Return the 16 hex that two results share when they say the same; None: success unknown."""
    kind = {True: "ok", False: "failed", None: "unknown"}[ok]
    return hexdigest("loop-signature", (kind, *_parts(text)))[:16]


def fault(text: str) -> str:
    """Return the 8 hex that two failures share when they are the same error about other things."""
    line = meaning(_NAMED.sub("?", stable(_telling_line(text))))
    return hexdigest("loop-fault", (line.lower(),))[:8]


def stable(text: str) -> str:
    """Return `text` with every volatile part cut out."""
    for hints, least, volatile in _VOLATILE:
        for hint in hints:
            if hint in text and (least == 1 or text.count(hint) >= least):
                text = volatile.sub("", text)
                break
    return text


def _parts(text: str) -> tuple[str | bytes, ...]:
    if len(text) <= 2 * _EDGE_CHARS:
        return (meaning(stable(text)),)
    middle = text[_EDGE_CHARS : min(len(text) - _EDGE_CHARS, _MIDDLE_CHARS)]
    residue = middle.encode("utf-8", "surrogatepass").translate(None, _NOISE)
    head, tail = text[:_EDGE_CHARS], text[-_EDGE_CHARS:]
    return (meaning(stable(head)), residue, meaning(stable(tail)))


def _telling_line(text: str) -> str:
    """Return the line that names the error: of a traceback the last, else the first that does."""
    if "Traceback (most recent call last)" in text[:_FAULT_CHARS]:
        return _lines(text[-_FAULT_CHARS:])[-1][:_LINE_CHARS]
    lines = _lines(text[:_FAULT_CHARS])
    return next((line for line in lines if _ERROR.search(line)), lines[0])[:_LINE_CHARS]


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()] or [""]
