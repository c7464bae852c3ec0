"""Lines by number: range, head and tail.

Rule 1: a line ends at LF and nowhere else; a last line needs none. Lines count from 1.
Rule 2: pages are exact: joined, they are those lines. `tail` gives its last page first.
Rule 3: no line is longer than LINE_CHARS: of a longer one the beginning is shown and how to get the
        rest, which is a range of that line alone: it comes in pieces, joined exact again.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

import msgspec

from osiris.core.errors import Refusal
from osiris.core.query_page import LINE_CHARS, Limits, Page, State, Step, cursor, take

_BLOCK = 1 << 16
_FINEST = 64
_BLANKS = (b"\n\n", b"\n ", b"\n\t", b"\n\r", b"\n\v", b"\n\f")


class Range(msgspec.Struct, frozen=True, tag="range"):
    """Lines `first` to `last`, both included; `last` 0 is the last line there is."""

    first: int = 1
    last: int = 0


class Head(msgspec.Struct, frozen=True, tag="head"):
    """The first `lines` lines."""

    lines: int = 50


class Tail(msgspec.Struct, frozen=True, tag="tail"):
    """The last `lines` lines."""

    lines: int = 50


Lines = Range | Head | Tail
START: State = (0, 0)


def line_ends(data: bytes, start: int, end: int) -> int:
    """Return how many LF there are between two offsets.

    Counted in blocks: where every byte is one, 10 MB in one call hold up all threads for 50 ms.
    """
    return sum(data.count(b"\n", at, min(end, at + _BLOCK)) for at in range(start, end, _BLOCK))


def total_lines(data: bytes) -> int:
    return line_ends(data, 0, len(data)) + (1 if data and not data.endswith(b"\n") else 0)


def line_number(data: bytes, at: int) -> int:
    """Return the number of the line that holds the byte `at`."""
    return line_ends(data, 0, at) + 1


def line_end(data: bytes, at: int) -> int:
    """Return the offset after the line that holds `at`, its LF included."""
    return data.find(b"\n", at) + 1 or len(data)


def offset_of(data: bytes, line: int, at: int = 0) -> int:
    """Return where line number `line` begins, or the payload's size if there is none.

    Lines are counted from the one that begins at `at`.
    """
    left, size = line - 1, _BLOCK
    while left > 0 and at < len(data):
        in_block = data.count(b"\n", at, at + size)
        if in_block < left:
            left, at = left - in_block, at + size
        elif size > _FINEST:
            size //= 8
        else:
            while left:
                at, left = data.find(b"\n", at) + 1, left - 1
    return min(at, len(data))


def filled_lines(
    data: bytes, choose: Callable[[Sequence[int]], Sequence[int]]
) -> tuple[int, list[bytes]]:
    """Return how many lines are not blank, and those whose numbers, from 0, are chosen."""
    firsts: list[int] = []
    starts: list[int] = []
    total, at = 0, 0
    while at < len(data):
        firsts.append(total)
        starts.append(at)
        at = line_end(data, min(at + _BLOCK, len(data)) - 1)
        total += _filled(data[starts[-1] : at])
    chosen: list[bytes] = []
    for number in choose(range(total)):
        place = bisect_right(firsts, number) - 1
        end = starts[place + 1] if place + 1 < len(starts) else len(data)
        lines = [line for line in data[starts[place] : end].split(b"\n") if line.strip()]
        chosen.append(lines[number - firsts[place]])
    return total, chosen


def _filled(block: bytes) -> int:
    if any(blank in block for blank in _BLANKS) or not block[:1].strip():
        return sum(1 for line in block.split(b"\n") if line.strip())
    return block.count(b"\n") + (not block.endswith(b"\n"))


def bounds(query: Lines, total: int) -> tuple[int, int] | Refusal:
    """Return the first and last line number asked for, or say why there are none."""
    match query:
        case Head(lines):
            first, last = 1, lines
        case Tail(lines):
            first, last = max(1, total - lines + 1), total
        case Range(first, last):
            last = last or total
    if (
        first < 1
        or (total and last < first)
        or (isinstance(query, Head | Tail) and last < 1 <= total)
    ):
        return Refusal("bad_range", f"lines {first} to {last}", "lines count from 1; from <= to")
    if total and first > total:
        return Refusal("bad_range", f"there is no line {first}", f"the last line is {total}")
    return first, min(last, total)


def answer(query: Lines, data: bytes, limits: Limits, of: str, state: State) -> Page | Refusal:
    """Return one page of the lines asked for."""
    total = total_lines(data)
    asked = bounds(query, total)
    if isinstance(asked, Refusal):
        return asked
    first, last = asked
    if first == last:
        return _piece(data, state[0] or offset_of(data, first), limits, of)
    backward = isinstance(query, Tail)
    steps = (_backward if backward else _forward)(data, first, last, state)
    taken = take(steps, state, limits)
    return Page(
        text="".join(step.text for step in (reversed(taken.steps) if backward else taken.steps)),
        shown=taken.results,
        total=max(0, last - first + 1),
        cursor=cursor(of, taken.state) if taken.more else "",
        before=state[1],
        truncated=taken.cut,
        partial=taken.late,
    )


def _forward(data: bytes, first: int, last: int, state: State) -> Iterator[Step]:
    at, done = state if state[1] else (offset_of(data, first), 0)
    for number in range(first + done, last + 1):
        end = line_end(data, at)
        done += 1
        yield _step(data, at, end, number, (end, done))
        at = end


def _backward(data: bytes, first: int, last: int, state: State) -> Iterator[Step]:
    end, done = state if state[1] else (len(data), 0)
    for number in range(last - done, first - 1, -1):
        at = data.rfind(b"\n", 0, end - 1) + 1
        done += 1
        yield _step(data, at, end, number, (at, done))
        end = at


def _step(data: bytes, at: int, end: int, number: int, state: State) -> Step:
    text, rest = clipped(data, at, end)
    if not rest:
        return Step(text, 1, state)
    mark = f"…[{rest} more bytes: range from={number} to={number}]\n"
    return Step(text + mark, 1, state, cut=True)


def clipped(data: bytes, at: int, end: int) -> tuple[str, int]:
    """Return at most LINE_CHARS characters from `at`, and how many bytes up to `end` are left."""
    if end - at <= LINE_CHARS:
        return data[at:end].decode("utf-8", "replace"), 0
    text = data[at : min(end, at + LINE_CHARS * 4 + 1)].decode("utf-8", "replace")
    if len(text) - text.endswith("\n") > LINE_CHARS:
        text = text[:LINE_CHARS]
        return text, end - at - len(text.encode())
    return text, 0


def _piece(data: bytes, at: int, limits: Limits, of: str) -> Page:
    """Return the piece of one line that begins at `at`."""
    text, left = clipped(data, at, line_end(data, at))
    while len(text) > 1 and limits.count(text) > limits.tokens:
        dropped = text[len(text) // 2 :]
        text, left = text[: len(text) // 2], left + len(dropped.encode())
    following = cursor(of, (line_end(data, at) - left, 1)) if left else ""
    return Page(text=text, shown=1, total=1, cursor=following, truncated=left > 0)
