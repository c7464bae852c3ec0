"""Lines that match a pattern.

Rule 1: a row is `number:text` for a line that matches and `number-text` for one around it; `--`
        stands where lines are left out between them, as grep prints it.
Rule 2: a line counts once, however often it matches; with `each` every match is a row of its own,
        `number@offset:text` with the byte offset in its line.
Rule 3: of a line over LINE_CHARS the surroundings of the match are shown.
Rule 4: when a page is full the rest is still counted while there is time.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from osiris.core.errors import Refusal
from osiris.core.query_lines import line_ends
from osiris.core.query_page import LINE_CHARS, Limits, Page, State, Step, cursor, take
from osiris.core.query_re2 import Hit, Pattern, after, compile_pattern

_EXCERPT = 800
_AROUND_EACH = 40
_LOOK = 256  # results between two looks at the clock

# where the scan goes on, up to where lines are printed, the number of the line there, lines still
# owed after a match, results so far, results in all (plus 1; 0 is not known)
START: State = (0, 0, 1, 0, 0, 0)
_SCAN, _RESULTS, _KNOWN = 0, 4, 5


class Grep(msgspec.Struct, frozen=True, tag="grep"):
    """Lines matching `pattern`; at most `limit` results (0: all), with lines `before`, `after`."""

    pattern: str
    literal: bool = False
    ignore_case: bool = False
    invert: bool = False
    each: bool = False
    count_only: bool = False
    before: int = 0
    after: int = 0
    limit: int = 0


def answer(query: Grep, data: bytes, limits: Limits, of: str, state: State) -> Page | Refusal:
    """Return one page of matching lines."""
    pattern = compile_pattern(query.pattern, literal=query.literal, ignore_case=query.ignore_case)
    if isinstance(pattern, Refusal):
        return pattern
    if query.count_only:
        counted = _count(query, _hits(query, pattern, data, state[_SCAN]), limits)
        return _only_counted(counted, of, state)
    taken = take(_rows(query, pattern, data, state), state, limits)
    scan, *_, results, known = taken.state
    more = taken.more and not 0 < query.limit <= results
    total, late = results if known == 0 else known - 1, taken.late
    if known == 0 and (more or results == query.limit):
        rest = _count(query, _hits(query, pattern, data, scan), limits)
        total, late = total + rest.results, rest.late
        known = 0 if late else total + 1
    return Page(
        text=taken.text,
        shown=taken.results,
        total=total,
        cursor=cursor(of, (*taken.state[:_KNOWN], known)) if more else "",
        before=state[_RESULTS],
        truncated=taken.cut,
        partial=late,
    )


class _Counted(NamedTuple):
    """How many results there are up to `at`, and whether the time ran out there."""

    results: int
    at: int
    late: bool


def _only_counted(counted: _Counted, of: str, state: State) -> Page:
    """Return the number of results alone; out of time, up to where the cursor goes on."""
    total, late = state[_RESULTS] + counted.results, counted.late
    following = cursor(of, (counted.at, 0, 1, 0, total, 0)) if late else ""
    least = "at least " if late else ""
    return Page(f"{least}{total} match\n", 1, total, following, partial=late)


def _count(query: Grep, hits: Iterator[Hit | int], limits: Limits) -> _Counted:
    count, at = 0, 0
    for item in hits:
        if isinstance(item, Hit):
            count += 1
            at = after(item, each=query.each and not query.invert)
            if count % _LOOK:
                continue
        else:
            at = item
        if limits.expired():
            return _Counted(count, at, late=True)
    return _Counted(count, at, late=False)


def _hits(query: Grep, pattern: Pattern, data: bytes, at: int) -> Iterator[Hit | int]:
    if query.invert:
        return _others(data, pattern.scan(data, at), at)
    return pattern.scan(data, at, each=query.each)


def _others(data: bytes, found: Iterator[Hit | int], at: int) -> Iterator[Hit | int]:
    """Yield the lines without a hit, and the offsets in between."""
    at = data.rfind(b"\n", 0, at) + 1
    for item in found:
        limit = item if isinstance(item, int) else item.line_start
        while at < limit:
            end = data.find(b"\n", at, limit)
            if end < 0 and limit < len(data):
                break  # a window ended inside this line
            end = len(data) if end < 0 else end
            yield Hit(at, at, at, end, (at, at))
            at = end + 1
        if isinstance(item, Hit):
            at = item.line_end + 1
        else:
            yield item


def _rows(query: Grep, pattern: Pattern, data: bytes, state: State) -> Iterator[Step]:
    printer = _Printer(query, data, state)
    for item in _hits(query, pattern, data, state[_SCAN]):
        if isinstance(item, int):
            yield printer.step("", item)
            continue
        yield printer.hit(item)
        if 0 < query.limit <= printer.results:
            break
    rest = printer.owed_lines()
    if rest:
        yield printer.step(rest, len(data))


class _Printer:
    """Writes hits with the lines around them, each line once."""

    def __init__(self, query: Grep, data: bytes, state: State) -> None:
        self._query, self._data = query, data
        _, self._shown, self._line, self._owed, self.results, self._known = state

    def step(self, text: str, scan: int, *, results: int = 0, cut: bool = False) -> Step:
        state = (scan, self._shown, self._line, self._owed, self.results, self._known)
        return Step(text, results, state, cut)

    def hit(self, hit: Hit) -> Step:
        """Return the rows of one hit, after what is owed to the hit before it."""
        self.results += 1
        if self._query.each and not self._query.invert:
            self._pass(line_ends(self._data, self._shown, hit.line_start), hit.line_start)
            return self.step(self._match(hit), hit.end, results=1)
        gap = line_ends(self._data, self._shown, hit.line_start)
        owed = min(self._owed, gap)
        before = min(self._query.before, gap - owed)
        rows = self._lines(owed)
        if gap > owed + before:
            rows += "--\n" if self.results > 1 and self._query.before + self._query.after else ""
            self._pass(gap - owed - before, _back(self._data, hit.line_start, before))
        rows += self._lines(before)
        row, cut = _row(self._data, f"{self._line}:", hit.line_start, hit.line_end, hit.start)
        self._pass(1, hit.line_end + 1)
        self._owed = self._query.after
        return self.step(rows + row, hit.line_end + 1, results=1, cut=cut)

    def owed_lines(self) -> str:
        """Return the lines still owed at the end of the payload."""
        rest = line_ends(self._data, self._shown, len(self._data)) + (
            not self._data.endswith(b"\n")
        )
        return self._lines(min(self._owed, rest)) if self._shown < len(self._data) else ""

    def _lines(self, count: int) -> str:
        rows = ""
        for _ in range(count):
            end = self._data.find(b"\n", self._shown)
            end = len(self._data) if end < 0 else end
            rows += _row(self._data, f"{self._line}-", self._shown, end, self._shown)[0]
            self._pass(1, end + 1)
        self._owed = max(0, self._owed - count)
        return rows

    def _pass(self, lines: int, to: int) -> None:
        self._line, self._shown = self._line + lines, to

    def _match(self, hit: Hit) -> str:
        start = max(hit.line_start, hit.start - _AROUND_EACH)
        end = min(hit.line_end, min(hit.end, hit.start + _EXCERPT) + _AROUND_EACH)
        shown = self._data[start:end].decode("utf-8", "ignore")
        return f"{self._line}@{hit.start - hit.line_start}:{shown}\n"


def _back(data: bytes, at: int, lines: int) -> int:
    """Return the offset `lines` lines before the line that begins at `at`."""
    for _ in range(lines):
        at = data.rfind(b"\n", 0, at - 1) + 1
    return at


def _row(data: bytes, prefix: str, at: int, end: int, focus: int) -> tuple[str, bool]:
    """Return one line as a row; of a long one the part around `focus`, and True."""
    end -= data[end - 1 : end] == b"\r" and end > at
    if end - at <= LINE_CHARS:
        return f"{prefix}{data[at:end].decode('utf-8', 'replace')}\n", False
    start = max(at, focus - _EXCERPT // 4)
    stop = min(end, start + _EXCERPT)
    before = f"[{start - at} bytes]…" if start > at else ""
    after = f"…[{end - stop} bytes]" if stop < end else ""
    return f"{prefix}{before}{data[start:stop].decode('utf-8', 'ignore')}{after}\n", True
