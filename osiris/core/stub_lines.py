"""Which lines of a text its stub keeps: a table by kind.

Rule 1: rows of a kind are in order of importance: how it ended, what failed, where, the rest.
Rule 2: a row keeps its first lines, or its last ones, and knows how many there were.
Rule 3: the whole text is looked at, in RE2's time: what failed in the middle is not missed.
"""

import re
from functools import cache
from typing import NamedTuple

from osiris.core.errors import Refusal
from osiris.core.query_re2 import Pattern, compile_pattern
from osiris.core.stub_kind import DEFINITION, NUMBERED, TEST_SUMMARY, Kind

ENOUGH = 20_000
_ENDS = 8 << 10
_calm = re.compile(rb"\b(?:0|[Nn]o|without) (?:\w+ )?(?:errors?|failures?|failed|warnings?)\b")


class Keep(NamedTuple):
    """Lines that match `pattern`: at most `first` from the start, or `-first` from the end.

    A row with a `label` says how many there are; one that is not `counted` looks no further than it
    must.
    """

    label: str
    pattern: str
    first: int
    counted: bool = True


class Found(NamedTuple):
    """The lines a row kept, as (start, end) in bytes, and how many there were, up to ENOUGH."""

    label: str
    lines: list[tuple[int, int]]
    total: int


_EXIT = Keep(
    "",
    r"(?i)^\W{0,3}exit(?:ed)?(?: with)?(?: code| status)?:? ?[1-9]\d{0,2}\b.{0,40}$"
    r"|^.{0,60}\b(?:exit(?:ed with)?|return|status) (?:code|status):? ?[1-9]\d{0,2}\b.{0,20}$",
    -2,
)
_FAILURE = Keep(
    "errors",
    r"\b(?:ERROR|Error|error|FATAL|Fatal|fatal|FAIL|FAILED|Failed|failed|PANIC|panic(?:ked)?"
    r"|CRITICAL|Critical|[A-Z]\w*(?:Error|Exception)|Traceback|Unhandled|Segmentation fault|Killed"
    r"|cannot|Cannot|No such file|not found|[Pp]ermission denied|undefined reference|refused)\b",
    4,
)
_WARNING = Keep("warnings", r"\b(?:WARN|WARNING|Warning|warning|deprecated|DEPRECATED)\b", 1)
_LAST = Keep("", r"\S", -2, counted=False)
_FIRST = Keep("", r"\S", 1, counted=False)
DEFINES = Keep("definitions", "^" + NUMBERED + "(?:" + DEFINITION + ")", 60)

TABLE: dict[Kind, tuple[Keep, ...]] = {
    "test": (
        _EXIT,
        Keep(
            "failed",
            r"^(?:FAILED |ERROR |FAIL: |ERROR: |\s*--- FAIL: |test .+ \.\.\. FAILED|not ok "
            r"|\s*● .+ \x{203A} |\s*[✕✗\x{D7}] |\s+\d+\) \S|FAIL\s+\S+\.\w+)",
            6,
        ),
        Keep("", r"^(?:" + TEST_SUMMARY + r")\s*$", -2),
        Keep(
            "",
            r"^E  +\S|panicked at|^\s*(?:\w+\.)*(?:[A-Z]\w*)?(?:Error|Exception)\b.*:"
            r"|^\s+\S+\.\w+:\d+: .*(?:[Ee]rror|expected|want|got|fail)|^\s+(?:Expected|Received)\b",
            3,
        ),
        Keep("", r"^(?:OK|PASS|FAIL)\b.{0,60}$", -1),
    ),
    "trace": (
        Keep("", r"^(?:\w+\.)*(?:[A-Z]\w*)?(?:Error|Exception|Exit|Interrupt)\b.*:", -2),
        Keep("", r"^panic: |panicked at|^Caused by: |^Exception in thread|Unhandled", 2),
        _EXIT,
        Keep("", r'^\s+(?:File ".+", line \d+|at .+[:(].*\d)|^\t\S+\.\w+:\d+', -2),
        _FAILURE,
    ),
    "log": (_EXIT, _FAILURE, _WARNING, _LAST, _FIRST),
    "code": (_FIRST,),
    "markdown": (Keep("headings", "^" + NUMBERED + r"#{1,6} \S", 12), _EXIT, _FIRST),
    "csv": (_FIRST, _LAST),
    "search": (Keep("", r"\S", 3, counted=False), _LAST),
    "paths": (_FIRST, _LAST),
    "text": (_EXIT, _FAILURE, _FIRST, _LAST, _WARNING),
}


def find(keep: Keep, data: bytes) -> Found:
    """Return the lines of `data` that a row keeps."""
    wanted = abs(keep.first)
    lines: list[tuple[int, int]] = []
    total = 0
    at = 0 if keep.counted or keep.first > 0 else _near_end(data)
    for hit in _pattern(keep.pattern).scan(data, at):
        if isinstance(hit, int) or _calm.search(
            data, hit.line_start, min(hit.line_end, hit.end + 80)
        ):
            continue
        total += 1
        if keep.first < 0 or len(lines) < wanted:
            lines = [*lines, (hit.line_start, hit.line_end)][-wanted:]
        elif not keep.counted or total >= ENOUGH:
            break
        if keep.first < 0 and total >= ENOUGH and at == 0:
            ends = find(keep._replace(counted=False), data)
            return ends._replace(total=total)
    return Found(keep.label, lines, total)


def _near_end(data: bytes) -> int:
    return data.rfind(b"\n", 0, max(0, len(data) - _ENDS)) + 1


@cache
def _pattern(text: str) -> Pattern:
    pattern = compile_pattern(text)
    if isinstance(pattern, Refusal):
        raise ValueError(pattern.text())  # noqa: TRY004  (our own table is wrong, not a type)
    return pattern
