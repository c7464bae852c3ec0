"""Numbers about the matches of a pattern: how many, which, how often, how large.

Rule 1: what is counted is the first group, the whole match without one; every match counts.
Rule 2: out of time, the numbers are those of the lines read so far, which the answer names; its
        cursor goes on with the numbers of the rest.
Rule 3: at most MAX_KEYS different values are told apart.
"""

from collections import Counter
from typing import Literal

import msgspec

from osiris.core import plain
from osiris.core.errors import Refusal
from osiris.core.query_lines import line_number, total_lines
from osiris.core.query_page import Limits, Page, State, Step, cursor, take
from osiris.core.query_re2 import Hit, compile_pattern

MAX_KEYS = 100_000
How = Literal["count", "distinct", "top", "stats"]
HOWS: tuple[How, ...] = ("count", "distinct", "top", "stats")
_VALUE = 200
_LOOK = 256  # matches between two looks at the clock

START: State = (0, 0)


class Aggregate(msgspec.Struct, frozen=True, tag="aggregate"):
    """`how` the matches of `pattern` are summed up; `rows` of them are shown."""

    pattern: str
    how: How = "top"
    rows: int = 10
    ignore_case: bool = False


class _Sum:
    """What is known about the matches so far."""

    def __init__(self) -> None:
        self.matches = 0
        self.keys: Counter[str] = Counter()
        self.other = 0
        self.numbers: list[float] = []

    def add(self, value: str, how: How) -> None:
        self.matches += 1
        if how == "stats":
            number = _number(value)
            if number is not None:
                self.numbers.append(number)
        elif how != "count":
            if value in self.keys or len(self.keys) < MAX_KEYS:
                self.keys[value] += 1
            else:
                self.other += 1

    def rows(self, how: How, count: int) -> list[str]:
        match how:
            case "count":
                return []
            case "stats":
                return _stats(self.numbers, self.matches)
            case "distinct":
                values = sorted(self.keys)
                return [
                    f"{len(self.keys):,} distinct",
                    *values[:count],
                    *_more(len(values) - count),
                ]
            case "top":
                common = sorted(self.keys.items(), key=lambda item: (-item[1], item[0]))
                shown = [f"{times:,} {value}" for value, times in common[:count]]
                return [f"{len(self.keys):,} distinct", *shown, *_more(len(common) - count)]


def answer(query: Aggregate, data: bytes, limits: Limits, of: str, state: State) -> Page | Refusal:
    """Return the numbers as one page."""
    if query.how not in HOWS:
        return Refusal("bad_argument", f"aggregate {query.how!r}", f"one of {', '.join(HOWS)}")
    pattern = compile_pattern(query.pattern, ignore_case=query.ignore_case, grouped=True)
    if isinstance(pattern, Refusal):
        return pattern
    total, start, at, late = _Sum(), state[0], state[0], False
    for item in pattern.scan(data, start, each=True):
        if isinstance(item, Hit):
            low, high = item.group
            value = data[low : min(high, low + _VALUE)] if low >= 0 else b""
            total.add(value.decode("utf-8", "replace"), query.how)
            if total.matches % _LOOK:
                continue
            at = item.end
        else:
            at = item
        if limits.expired() and at < len(data):
            late = True
            break
    head = [f"{total.matches:,} matches in {_where(data, start, at, late=late)}"]
    rows = [plain.one_line(row, _VALUE + 20) for row in total.rows(query.how, query.rows)]
    taken = take(iter([Step(row + "\n", 1, (at, 1)) for row in (*head, *rows)]), state, limits)
    return Page(
        text=taken.text,
        shown=total.matches,
        total=total.matches,
        cursor=cursor(of, (at, 1)) if late else "",
        truncated=taken.more or taken.cut,
        partial=late,
    )


def _where(data: bytes, start: int, at: int, *, late: bool) -> str:
    every = total_lines(data)
    if not late and not start:
        return f"{every:,} lines"
    last = every if not late else line_number(data, at)
    return f"lines {line_number(data, start):,}-{last:,} of {every:,}"


def _number(value: str) -> float | None:
    try:
        number = float(value.replace(",", "").replace("_", ""))
    except ValueError:
        return None
    return number if number - number == 0 else None


def _stats(numbers: list[float], matches: int) -> list[str]:
    if not numbers:
        return ["none of them is a number: put the digits into a group, e.g. took (\\d+) ms"]
    mean = sum(numbers) / len(numbers)
    told = (("n", len(numbers)), ("min", min(numbers)), ("max", max(numbers)), ("mean", mean))
    rows = [" ".join(f"{name}={value:.6g}" for name, value in (*told, ("sum", sum(numbers))))]
    skipped = matches - len(numbers)
    return [*rows, *([f"{skipped:,} are no numbers"] if skipped else [])]


def _more(count: int) -> list[str]:
    return [f"+{count:,} more"] if count > 0 else []
