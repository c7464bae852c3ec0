"""What changed between two payloads, as a unified diff.

Rule 1: hunks are those of `diff -u` with 2 lines around; applied to the old text they give the new.
Rule 2: the texts are compared in windows from the first line that differs, hunk by hunk, so that
        time and memory are bounded and a page may end after any hunk. A large change is several.
Rule 3: where two windows share no line, a line of one is looked for further ahead in the other.
Rule 4: a line is cut at a length; the hunk's header still counts it.
"""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

import msgspec

from osiris.core.query_lines import line_ends
from osiris.core.query_page import Limits, Page, State, Step, cursor, take

_WINDOW = 160
_AHEAD_BYTES = 1 << 20
_EVERY = 4
_TELLING = 6
_CONTEXT = 2
_HUNK_ROWS, _HUNK_CHARS = 80, 4_000
_LINE = 400
_BLOCK = 1 << 16

# offsets in the old and the new text, the numbers of the lines there, hunks so far
START: State = (0, 0, 1, 1, 0)


class Diff(msgspec.Struct, frozen=True, tag="diff"):
    """What the payload of the ref `old` became in the payload that is asked."""

    old: str


class _Place(NamedTuple):
    """A place in both texts: offsets, and the numbers of the lines that begin there."""

    old: int
    new: int
    old_line: int
    new_line: int


# a row of a hunk: " ", "-" or "+", and the line with its LF
_Row = tuple[str, bytes]


def answer(old: bytes, new: bytes, limits: Limits, of: str, state: State) -> Page:
    """Return one page of hunks; `total` counts those up to its end."""
    taken = take(_hunks(old, new, state), state, limits)
    return Page(
        text=taken.text,
        shown=taken.results,
        total=taken.state[-1] + taken.more,
        cursor=cursor(of, taken.state) if taken.more else "",
        before=state[-1],
        truncated=taken.cut,
        partial=taken.late or taken.more,
    )


def _hunks(old: bytes, new: bytes, state: State) -> Iterator[Step]:
    place, hunks = _Place(*state[:4]), state[4]
    while True:
        differs = _first_difference(old, new, place)
        if differs.old >= len(old) and differs.new >= len(new):
            return
        begin = _back(old, place, differs)
        rows = _limited(_rows(old, new, begin))
        hunks += 1
        place = _after(begin, rows)
        yield Step(_hunk(begin, rows), 1, (*place, hunks), any(len(row) > _LINE for _, row in rows))


def _first_difference(old: bytes, new: bytes, place: _Place) -> _Place:
    """Return the beginning of the first line that differs from `place` on."""
    low, size = 0, min(len(old) - place.old, len(new) - place.new)
    while low < size and _same(old, new, place, low, low + _BLOCK):
        low += _BLOCK
    high = min(low + _BLOCK, size)
    low = min(low, size)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _same(old, new, place, low, middle) else (low, middle - 1)
    whole = low == len(old) - place.old == len(new) - place.new
    line = low if whole else old.rfind(b"\n", place.old, place.old + low) + 1 - place.old
    return _moved(old, place, max(0, line))


def _same(old: bytes, new: bytes, place: _Place, low: int, high: int) -> bool:
    return old[place.old + low : place.old + high] == new[place.new + low : place.new + high]


def _moved(old: bytes, place: _Place, size: int) -> _Place:
    """Return the place `size` equal bytes further."""
    lines = line_ends(old, place.old, place.old + size)
    return _Place(
        place.old + size, place.new + size, place.old_line + lines, place.new_line + lines
    )


def _back(old: bytes, place: _Place, differs: _Place) -> _Place:
    """Return the place a few equal lines before `differs`, but not before `place`."""
    at = differs.old
    for _ in range(_CONTEXT):
        if at > place.old:
            at = max(place.old, old.rfind(b"\n", 0, at - 1) + 1)
    return _moved(old, place, at - place.old)


def _rows(old: bytes, new: bytes, begin: _Place) -> list[_Row]:
    """Return the rows of the first hunk from `begin` on; the last rows may be missing."""
    before, after = _lines(old, begin.old, _WINDOW), _lines(new, begin.new, _WINDOW)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    group = next(iter(matcher.get_grouped_opcodes(_CONTEXT)))
    at_end = begin.old + _size(before) == len(old) and begin.new + _size(after) == len(new)
    if not at_end and group[-1][0] != "equal":
        group = group[:-1]  # the windows ended, not the change
    if all(kind == "equal" for kind, *_ in group):
        same = group[0][2] if group else 0
        rest = _Place(begin.old + _size(before[:same]), begin.new + _size(after[:same]), 0, 0)
        return [
            *((" ", line) for line in before[:same]),
            *_replaced(old, new, rest, before[same:], after[same:]),
        ]
    rows: list[_Row] = []
    for kind, old_low, old_high, new_low, new_high in group:
        if kind == "equal":
            rows += ((" ", line) for line in before[old_low:old_high])
        else:
            rows += (("-", line) for line in before[old_low:old_high])
            rows += (("+", line) for line in after[new_low:new_high])
    return rows


def _replaced(
    old: bytes, new: bytes, at: _Place, before: list[bytes], after: list[bytes]
) -> Iterator[_Row]:
    """Yield what comes before the nearest line that both texts have ahead of `at`."""
    removed, to_new = _nearest(before, new, at.new)
    added, to_old = _nearest(after, old, at.old)
    if to_new is not None and (to_old is None or to_new - at.new <= to_old - at.old):
        yield from (("-", line) for line in before[:removed])
        yield from (("+", line) for line in _lines(new, at.new, _WINDOW, to_new))
    elif to_old is not None:
        yield from (("-", line) for line in _lines(old, at.old, _WINDOW, to_old))
        yield from (("+", line) for line in after[:added])
    else:
        yield from (("-", line) for line in before)
        yield from (("+", line) for line in after)


def _nearest(lines: list[bytes], text: bytes, at: int) -> tuple[int, int | None]:
    """Return which of `lines` comes first in `text` from `at` on, and its offset there."""
    best: tuple[int, int | None] = (0, None)
    end = min(len(text), at + _AHEAD_BYTES)
    for number in range(0, len(lines), _EVERY):
        line = lines[number]
        if len(line) >= _TELLING and line.endswith(b"\n"):
            found = text.find(b"\n" + line, max(0, at - 1), end)
            if found >= 0:
                best, end = (number, found + 1), found + len(line)
    return best


def _lines(text: bytes, at: int, count: int, end: int | None = None) -> list[bytes]:
    """Return up to `count` lines from `at`, none of them beyond `end`."""
    lines: list[bytes] = []
    end = len(text) if end is None else end
    while at < end and len(lines) < count:
        following = text.find(b"\n", at, end) + 1 or end
        lines.append(text[at:following])
        at = following
    return lines


def _size(lines: list[bytes]) -> int:
    return sum(map(len, lines))


def _limited(rows: list[_Row]) -> list[_Row]:
    """Return as many rows as make one hunk, with at least one change."""
    chars = 0
    for number, (sign, line) in enumerate(rows[:_HUNK_ROWS]):
        chars += min(len(line), _LINE)
        if chars > _HUNK_CHARS and sign != " ":
            return rows[: number + 1]
    return rows[:_HUNK_ROWS]


def _after(begin: _Place, rows: list[_Row]) -> _Place:
    old, new = _side(rows, "-"), _side(rows, "+")
    return _Place(
        begin.old + _size(old),
        begin.new + _size(new),
        begin.old_line + len(old),
        begin.new_line + len(new),
    )


def _side(rows: list[_Row], sign: str) -> list[bytes]:
    return [line for kind, line in rows if kind in {" ", sign}]


def _hunk(begin: _Place, rows: list[_Row]) -> str:
    old, new = len(_side(rows, "-")), len(_side(rows, "+"))
    head = f"@@ -{begin.old_line},{old} +{begin.new_line},{new} @@\n"
    return head + "".join(sign + _shown(line) for sign, line in rows)


def _shown(line: bytes) -> str:
    text = line[: _LINE * 4].decode("utf-8", "ignore").rstrip("\n")
    if len(text) <= _LINE:
        return text + "\n"
    return f"{text[:_LINE]}…[{len(line) - len(text[:_LINE].encode())} bytes]\n"
