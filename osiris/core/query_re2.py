"""Patterns from outside: the only importer of google-re2.

Rule 1: matching is linear in the text, and RE2 says nothing on stderr.
Rule 2: a line is a line: `^` and `$` are its ends (a CR before the LF is none of its text), and no
        match leaves it.
Rule 3: text is searched in windows, so that the caller can stop between two. A window holds whole
        lines; only in a line longer than a window may a match longer than the overlap be missed.
        The bigger a pattern's program, the smaller its window: measured worst case 5 ns a byte and
        instruction, so a window stays near 15 ms.
Rule 4: a pattern RE2 does not take is refused with what to write instead.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import re2

from osiris.core.errors import Refusal

MAX_PATTERN = 4_000
BadPatternError = re2.error
_PROGRAM_BYTES = 2 << 20
_WINDOW = 64 << 10
_SMALLEST_WINDOW = 2 << 10
_WINDOW_WORK = 3_000_000

# what the pattern holds -> what to write instead; the first that fits is told
_FIXES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("(?=", "(?!"), "no lookahead: match the text itself; for 'lines without' use expr='-v'"),
    (("(?<=", "(?<!"), "no lookbehind: match the text before it too, e.g. 'key=(\\w+)'"),
    (("(?>", "++", "*+", "?+", "}+"), "drop the possessive sign: RE2 never backtracks"),
    (("(?P=", "\\k<", "\\k{", "\\g"), "no back-references: write the repeated text out"),
    (("\\Z",), "write \\z or $ for the end"),
    (("\\K",), "no \\K: put what you want into a group"),
    (("(?#",), "leave comments out"),
    (("\\u", "\\N"), "write \\x{263A} for a code point"),
)
# what RE2 says -> what to write instead
_COMPLAINTS: tuple[tuple[str, str], ...] = (
    ("repetition size", "repeat at most 1000 times in all, or use * or +"),
    ("too large", "make the repeat counts smaller, or use * or +"),
    ("missing", "close it, or put a backslash before it; expr='-F' searches the text as it stands"),
    ("unexpected", "put a backslash before it; expr='-F' searches the text as it stands"),
    ("no argument", "put a backslash before it; expr='-F' searches the text as it stands"),
    ("repetition operator", "one of * + ? at a time; put a backslash before a literal one"),
    ("class range", "order the range (a-z), or put '-' last in the class"),
)


class Hit(NamedTuple):
    """One match: its bytes, the bytes of its line without the LF, and its first group if any."""

    start: int
    end: int
    line_start: int
    line_end: int
    group: tuple[int, int]


def after(hit: Hit, *, each: bool) -> int:
    """Return where a scan goes on after `hit`."""
    return hit.end if each else hit.line_end + 1


class Pattern:
    """A compiled pattern over UTF-8 bytes."""

    __slots__ = ("_grouped", "_overlap", "_regexp", "_window")

    def __init__(self, source: bytes, options: re2.Options) -> None:
        """Raise re2.error if RE2 does not take `source`."""
        self._regexp = re2.compile(source, options=options)
        self._grouped = int(self._regexp.groups > 0)
        work = _WINDOW_WORK // max(1, self._regexp.programsize)
        self._window = max(_SMALLEST_WINDOW, min(_WINDOW, work))
        self._overlap = self._window // 4

    def scan(self, data: bytes, at: int = 0, *, each: bool = False) -> Iterator[Hit | int]:
        """Yield the first hit of every line, or `each` match that is not empty, from `at` on.

        After each window the offset is yielded from which the scan may be taken up again.
        """
        line: tuple[int, int] = data.rfind(b"\n", 0, at) + 1, -1
        while at < len(data):
            end, whole = self._window_end(data, at)
            past = at
            for hit in self._hits(data, at, end, line, each=each):
                if not whole and hit.start >= end - self._overlap:
                    break
                past = after(hit, each=each)
                line = hit.line_start, hit.line_end
                yield hit
            at = max(past, end if whole else end - self._overlap)
            yield at

    def _window_end(self, data: bytes, at: int) -> tuple[int, bool]:
        limit = at + self._window
        if limit >= len(data):
            return len(data), True
        line_end = data.rfind(b"\n", at, limit)
        return (line_end + 1, True) if line_end >= 0 else (limit, False)

    def _hits(
        self, data: bytes, at: int, end: int, line: tuple[int, int], *, each: bool
    ) -> Iterator[Hit]:
        """Yield the hits of a window; `line` is where the last line with a hit began and ended."""
        line_start, line_end = line
        while at < end and (found := self._regexp.search(data, at, end)):
            start, stop = found.span()
            if start == len(data) and data.endswith(b"\n"):
                return  # an empty match after the last LF is on no line
            if start > line_end:
                line_start = data.rfind(b"\n", line_start, start) + 1 or line_start
                line_end = data.find(b"\n", stop)
                line_end = len(data) if line_end < 0 else line_end
            at = line_end + 1
            if each:
                at = max(stop, start + 1)
                if start == stop:
                    continue
            yield Hit(start, stop, line_start, line_end, found.span(self._grouped))


class PatternSet:
    """Many patterns asked at once which of them occur; several times faster than one by one."""

    __slots__ = ("_set",)

    def __init__(self, patterns: Iterable[bytes]) -> None:
        options = re2.Options()
        options.log_errors = False
        self._set = re2.Set.SearchSet(options)
        for pattern in patterns:
            self._set.Add(pattern)
        self._set.Compile()

    def matching(self, data: bytes) -> list[int]:
        """Return the indexes of the patterns that occur in `data`."""
        return self._set.Match(data) or []


class Sieve:
    """Says which of many patterns may occur, by the literal texts that each of them needs.

    A pattern that it does not name cannot match; one that needs no literal text is always named.
    """

    __slots__ = ("_filter",)

    def __init__(self, patterns: Iterable[str]) -> None:
        """Raise re2.error if RE2 does not take one of `patterns`."""
        options = re2.Options()
        options.log_errors = False
        self._filter = re2.Filter()
        for pattern in patterns:
            self._filter.Add(pattern.encode(), options)
        self._filter.Compile()

    def possible(self, data: bytes) -> list[int]:
        """Return the indexes of the patterns that may occur in `data`."""
        return self._filter.Match(data, potential=True) or []


class Finder:
    """A pattern of our own, not the caller's: it may span lines, and nothing limits it."""

    __slots__ = ("_grouped", "_regexp")

    def __init__(self, pattern: bytes) -> None:
        options = re2.Options()
        options.log_errors = False
        self._regexp = re2.compile(pattern, options=options)
        self._grouped = int(self._regexp.groups > 0)

    def spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the bytes of the first group of each match, or of the match if it has none."""
        return (found.span(self._grouped) for found in self._regexp.finditer(data))


def compile_pattern(
    text: str, *, literal: bool = False, ignore_case: bool = False, grouped: bool = False
) -> Pattern | Refusal:
    """Compile a pattern of the caller's; `grouped` makes hits carry the first group."""
    if len(text) > MAX_PATTERN:
        return Refusal("bad_pattern", f"the pattern has {len(text)} characters", "at most 4,000")
    if "\n" in text or (not literal and _escapes(text, "n")):
        return Refusal(
            "bad_pattern", "the pattern holds a line end", "match one line; -A1 adds more"
        )
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.never_capture = not grouped
    options.max_mem = _PROGRAM_BYTES
    options.literal = literal
    options.case_sensitive = not ignore_case
    source = text if literal else "(?m)" + _with_cr(text)
    try:
        return Pattern(source.encode("utf-8", "surrogatepass"), options)
    except re2.error as complaint:
        return _refusal(text, complaint)
    finally:
        re2.purge()  # its cache would keep 128 patterns of up to 2 MiB


def _refusal(text: str, complaint: re2.error) -> Refusal:
    said = complaint.args[0]
    what = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    what = what.replace("(?m)", "", 1)[:200]
    return Refusal("bad_pattern", f"RE2 does not take it: {what}", _fix(text, what))


def _fix(text: str, what: str) -> str:
    for marks, fix in _FIXES:
        if any(mark in text for mark in marks):
            return fix
    if any(_escapes(text, digit) for digit in "123456789"):
        return "no back-references: write the repeated text out"
    for said, fix in _COMPLAINTS:
        if said in what:
            return fix
    return "expr='-F' searches the text as it stands"


def _escapes(text: str, letter: str) -> bool:
    """Say whether `text` holds a backslash that escapes `letter`."""
    return any(piece == "\\" + letter for piece, _ in _pieces(text))


def _with_cr(text: str) -> str:
    """Let each `$` also stand before a CR that ends the line."""
    return "".join("(?:\\r?$)" if piece == "$" and free else piece for piece, free in _pieces(text))


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield characters and escapes in order, and whether they stand outside classes and quotes."""
    at, in_class, quoted = 0, False, False
    while at < len(text):
        piece = text[at : at + 2] if text[at] == "\\" else text[at]
        at += len(piece)
        if piece in {"\\Q", "\\E"}:
            quoted = piece == "\\Q"
        elif not quoted and piece == "[" and not in_class:
            in_class = True
            first = text[at : at + 2]
            extra = "^]" if first == "^]" else first[:1] if first[:1] == "]" else ""
            piece, at = piece + extra, at + len(extra)
        elif not quoted and piece == "]":
            in_class = False
        yield piece, not in_class and not quoted
