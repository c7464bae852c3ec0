"""What in a system head or tool contract changes from call to call, and what that costs.

Rule 1: two recorded heads are compared first. What differs is volatile, whatever it looks like,
        and what is the same in both is not.
Rule 2: one head alone is searched by patterns, with high or low confidence.
Rule 3: everything behind the first change is written again: its tokens times (w - r) each call.
        A low find alone costs nothing yet: it may be fixed.
Rule 4: work is bounded. Heads that differ in too many lines are one change, at its first place;
        patterns look at the first `MAX_SEARCHED` characters.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from msgspec import Struct

from osiris.core.prices import Rates
from osiris.core.tokens import Count, estimate
from osiris.core.volatile_patterns import SORT, TAIL, Confidence, Find, search

MAX_FOUND: Final = 50
MAX_LINES: Final = 1_000
MAX_SEARCHED: Final = 131_072
MAX_SHOWN: Final = 80
NEAR: Final = 100

_PIECES = re.compile(r"[^\s,;{}\[\]()]+")
_WORD = re.compile(r"[\w.:+-]")


class Volatile(Struct, frozen=True):
    """One place: `offset` in characters, `line` from 1, `before` only where two were compared.

    `confidence` seen means that two heads differ here.
    """

    kind: str
    confidence: Confidence
    offset: int
    line: int
    text: str
    fix: str
    before: str = ""


class Report(Struct, frozen=True):
    """The places in order of the text, `more` left out, and what the first costs.

    `first` is the offset of the first seen or high place. From there on `tokens` are written again
    each call; `units` is that above a cache read in tokens times the input price, `microusd` the
    same in money. None where there is no such place or no price.
    """

    found: tuple[Volatile, ...]
    more: int = 0
    first: int | None = None
    tokens: Count | None = None
    units: float | None = None
    microusd: int | None = None


class Change(NamedTuple):
    """Characters `start` to `end` of the newer text stand for `before` of the older."""

    start: int
    end: int
    before: str


class _Place(NamedTuple):
    find: Find
    before: str = ""


def inspect(
    head: str,
    before: str | None = None,
    rates: Rates | None = None,
    count: Callable[[str], Count] = estimate,
) -> Report:
    """Return what is volatile in `head`, by comparison with the head recorded before it if any."""
    if before is None:
        places = [_Place(find) for find in search(head[:MAX_SEARCHED])]
    else:
        places = list(_by_comparison(head, before))
    places.sort(key=lambda place: place.find.start)
    first = next((find.start for find, _ in places if find.confidence != "low"), None)
    shown = tuple(_volatile(head, place) for place in places[:MAX_FOUND])
    more = len(places) - len(shown)
    if first is None:
        return Report(shown, more)
    tokens = count(head[first:])
    units = tokens.n * (rates.write - rates.read) if rates else None
    money = round(units * rates.input_usd) if rates and units is not None else None
    return Report(shown, more, first, tokens, units, money)


def lines(report: Report) -> tuple[str, ...]:
    """Return the report as text: one line a place, then what it costs."""
    shown = [
        f"line {each.line} offset {each.offset} {each.kind} {each.confidence}: {each.text}"
        f" | fix: {each.fix}"
        for each in report.found
    ]
    if report.more:
        shown.append(f"{report.more} more")
    if report.tokens:
        money = "" if report.microusd is None else f" = {report.microusd / 1e6:.6f} USD"
        shown.append(f"rewritten each call: {report.tokens.n} tokens{money}")
    return tuple(shown)


def changes(before: str, after: str) -> list[Change]:
    """Return where `after` differs from `before`, in order."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    head = _same(old, new)
    tail = _same(old[head:][::-1], new[head:][::-1])
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    start = sum(map(len, after.splitlines(keepends=True)[:head]))
    if max(len(old), len(new)) > MAX_LINES:
        return [_trimmed(start, "".join(old), "".join(new))]
    return list(_line_changes(start, old, new))


def _line_changes(start: int, old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    places = [start]
    for line in new:
        places.append(places[-1] + len(line))
    for tag, i, i_end, j, j_end in SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            continue
        if i_end - i == j_end - j:
            pairs = zip(old[i:i_end], new[j:j_end], places[j:j_end], strict=True)
            yield from (_trimmed(place, a, b) for a, b, place in pairs if a != b)
        else:
            yield _trimmed(places[j], "".join(old[i:i_end]), "".join(new[j:j_end]))


def _trimmed(start: int, old: str, new: str) -> Change:
    """Return one change without the whole words that both texts begin and end with."""
    head = _same(old, new)
    while head and _WORD.match(new[head - 1]):
        head -= 1
    tail = min(_same(old[::-1], new[::-1]), min(len(old), len(new)) - head)
    while tail and _WORD.match(new[len(new) - tail]):
        tail -= 1
    return Change(start + head, start + len(new) - tail, old[head : len(old) - tail])


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many items two sequences begin with in common."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _by_comparison(text: str, before: str) -> Iterator[_Place]:
    if before == text:
        return
    found = changes(before, text)
    if _is_reordered(before, text):
        first = found[0]
        yield _Place(Find("order", "seen", first.start, first.end, SORT), first.before)
        return
    for change in found:
        kind, fix = _kind_of(text, change)
        yield _Place(Find(kind, "seen", change.start, change.end, fix), change.before)


def _kind_of(text: str, change: Change) -> tuple[str, str]:
    """Return the kind and fix of the pattern that a change is part of, else that it is a change."""
    start = max(text.rfind("\n", 0, change.start) + 1, change.start - NEAR)
    for find in search(text[start : min(change.end, start + MAX_SEARCHED) + NEAR]):
        if start + find.start < change.end and change.start < start + find.end:
            return find.kind, find.fix
    return "changed", TAIL


def _volatile(text: str, place: _Place) -> Volatile:
    kind, confidence, start, end, fix = place.find
    line = text.count("\n", 0, start) + 1
    return Volatile(
        kind, confidence, start, line, _shown(text[start:end]), fix, _shown(place.before)
    )


def _is_reordered(before: str, after: str) -> bool:
    return Counter(_PIECES.findall(before)) == Counter(_PIECES.findall(after))


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]}..."
