"""What a payload looks like: the table that sorts texts into kinds.

Rule 1: the first row whose test fits is the kind; the last always fits.
Rule 2: only the beginning and the end are looked at, so the answer does not cost a large text more
        than a small one (JSON aside, which is checked whole).
"""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from osiris.core import json_parts

Kind = Literal[
    "json", "jsonl", "diff", "test", "trace", "search", "paths", "code", "markdown", "log", "csv",
    "text",
]  # fmt: skip

_HEAD, _TAIL, _LINES, _CUT = 16_384, 8_192, 120, 400
_MOST, _MANY, _HALF, _SOME = 0.8, 0.6, 0.5, 0.3
_FEW = 3

NUMBERED = r"(?: *\d+(?:→|\t|: ))?"
TEST_SUMMARY = (
    r"=+ .*\b(?:passed|failed|errors?|skipped|no tests ran)\b.*|Ran \d+ tests? in .*"
    r"|FAILED \((?:failures|errors).*|test result: .*|Test(?:s| Suites| Files)?: .*\btotal.*"
    r"|(?:ok|FAIL|\?) *\t.*|--- (?:FAIL|PASS): .*| +\d+ (?:passing|failing|pending).*"
    r"|.*\bTests run: \d+, .*|# (?:pass|fail|tests) \d+|\s*Tests +\d+ (?:passed|failed).*"
)
DEFINITION = (
    r"\s*(?:@\w+\s+)?(?:export\s+)?(?:default\s+)?(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?(?:unsafe\s+)?"
    r"(?:(?:def|class|fn|trait|impl|mod|module|interface|enum|struct|protocol|namespace)\s+\w.*"
    r"|function\*?\s*\w*\s*\(.*|func\s+(?:\([^)]*\)\s*)?\w+.*|type\s+\w+.*[={(].*|type\s+\w+\s+\w+.*"
    r"|(?:const|let|var)\s+\w+\s*=\s*(?:async\s*)?(?:function\b.*|\([^)]*\)\s*(?::[^=]+)?=>.*)"
    r"|(?:public|private|protected|internal)\s+[^;=]*\([^;]*"
    r"|(?:CREATE|create)\s+(?:OR REPLACE\s+)?(?:TABLE|VIEW|FUNCTION|INDEX|TRIGGER|table|view)\s.*)"
    r"|[A-Za-z_][\w *&<>:,]*\([^;]*\)\s*(?:const\s*)?\{|[A-Za-z_][\w-]*\(\)\s*\{"
)
_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
_LEVEL = r"\b(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|info|warn|error)\b"

_test_line = re.compile(TEST_SUMMARY)
_numbered = re.compile(r" *\d+(?:→|\t)")
_definition = re.compile(NUMBERED + r"(?:" + DEFINITION + r")")
_code_line = re.compile(
    NUMBERED
    + r"\s*(?:.*[{};]$|.*\):?$|.*:$|(?:import|from|package|use|using|#include|return|if|for"
    r"|while|else|elif|const|let|var|val|//|/?\*|@|def|class|func|fn)\b.*|[)}\]].*|.*[=,(]$"
    r"|.* :?= .*)"
)
_heading = re.compile(NUMBERED + r"#{1,6} \S")
_found_line = re.compile(r"[^\s:]+[:-]\d+[:-]|\d{1,6}[:-](?!\d)")
_path_line = re.compile(
    r"(?:(?:\./|/|[A-Za-z]:\\)?[\w.@+-]+(?:[/\\][\w.@+ -]+)+/?|[\w-]+\.\w{1,5})$"
)
_timed_line = re.compile(rf"\W{{0,2}}(?:{_TIME})")
_log_line = re.compile(rf"(?:.{{0,40}}(?:{_TIME})|.{{0,60}}{_LEVEL})")
_frame = re.compile(
    r"\s+at .+[:(].*\d|Traceback \(most recent|panic: |.*panicked at |Exception in "
)


class Sample(NamedTuple):
    """The end of a text, and the lines of its beginning that are not blank, cut to a length."""

    data: bytes
    lines: list[str]
    ends: list[str]

    def share(self, pattern: re.Pattern[str]) -> float:
        """Return which part of the lines begins with `pattern`."""
        hits = sum(pattern.match(line) is not None for line in self.lines)
        return hits / max(1, len(self.lines))


def kind_of(data: bytes) -> Kind:
    """Return the kind of a UTF-8 text."""
    lines = _lines(data[:_HEAD])
    if len(data) > _HEAD and len(lines) > 1:
        lines.pop()
    sample = Sample(data, lines[:_LINES], _lines(data[-_TAIL:]))
    return next(kind for kind, fits in _TABLE if fits(sample))


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "replace")
    return [line.rstrip("\r")[:_CUT] for line in text.split("\n") if line.strip()]


def _is_json(sample: Sample) -> bool:
    return sample.data[:_TAIL].lstrip()[:1] in {b"{", b"["} and is_json(sample.data)


def is_json(data: bytes) -> bool:
    """Say whether the text is one JSON value."""
    return json_parts.read(data) is not None


def _is_jsonl(sample: Sample) -> bool:
    first = [line for line in sample.data.split(b"\n", 3)[:3] if line.strip()]
    return len(first) > 1 and all(line[:1] == b"{" and is_json(line) for line in first)


def _is_diff(sample: Sample) -> bool:
    starts = {line[:4] for line in sample.lines}
    hunks = any(line.startswith("@@ -") for line in sample.lines)
    return ({"--- ", "+++ "} <= starts and hunks) or "diff --git" in {
        line[:10] for line in sample.lines
    }


def _is_test(sample: Sample) -> bool:
    return any(_test_line.fullmatch(line) for line in (*sample.lines, *sample.ends))


def _is_trace(sample: Sample) -> bool:
    frames = [line for line in (*sample.lines, *sample.ends) if _frame.match(line)]
    return len(frames) >= _FEW or any(not line.startswith((" ", "\t")) for line in frames)


def _is_code(sample: Sample) -> bool:
    if sample.data.startswith(b"#!"):
        return True
    defines = any(_definition.fullmatch(line) for line in sample.lines)
    if sample.share(_numbered) > _MOST:
        return defines or sample.share(_code_line) > _SOME
    return defines and sample.share(_code_line) > _HALF


def _is_markdown(sample: Sample) -> bool:
    found = sum(_heading.match(line) is not None for line in sample.lines)
    return found > 1 or (found == 1 and sample.data[:_TAIL].lstrip().startswith(b"#"))


def _is_csv(sample: Sample) -> bool:
    for mark in (",", "\t", ";"):
        counts = {line.count(mark) for line in sample.lines[:10]}
        if len(sample.lines) > _FEW and len(counts) == 1 and counts.pop() > 1:
            return True
    return False


_TABLE: tuple[tuple[Kind, Callable[[Sample], bool]], ...] = (
    ("json", _is_json),
    ("jsonl", _is_jsonl),
    ("diff", _is_diff),
    ("test", _is_test),
    ("log", lambda sample: sample.share(_timed_line) > _HALF),
    ("search", lambda sample: sample.share(_found_line) > _MANY),
    ("paths", lambda sample: len(sample.lines) > _FEW and sample.share(_path_line) > _MOST),
    ("code", _is_code),
    ("trace", _is_trace),
    ("log", lambda sample: sample.share(_log_line) > _SOME),
    ("markdown", _is_markdown),
    ("csv", _is_csv),
    ("text", lambda _: True),
)
