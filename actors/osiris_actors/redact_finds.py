"""Secrets found in a text: in order, whole characters, each place once."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from osiris_actors.redact_rules import SENTINEL

_MARK = b"[[secret:"
_CONTINUES, _CONTINUED = 0xC0, 0x80  # the bits by which UTF-8 tells a character's later bytes


class Find(NamedTuple):
    """A secret and where it stands; `rank` says which name wins where finds touch."""

    start: int
    end: int
    rank: int
    rule: str
    secret: bytes


class Inner(NamedTuple):
    """A text that stands encoded in another, and where."""

    start: int
    end: int
    text: bytes


def merged(found: Iterable[Find], data: bytes) -> list[Find]:
    """Return the finds in order, those that touch as one, without what is a sentinel already."""
    finds = sorted(found)
    if finds and _MARK in data:
        finds = _outside_sentinels(finds, data)
    whole: list[Find] = []
    for find in finds:
        if whole and find.start < whole[-1].end:
            best = min(whole[-1], find, key=lambda one: (one.rank, one.start))
            end = max(whole[-1].end, find.end)
            whole[-1] = best._replace(start=whole[-1].start, end=end)
        else:
            whole.append(find)
    return whole


def characters(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return a range of bytes widened to whole characters."""
    while start > 0 and data[start] & _CONTINUES == _CONTINUED:
        start -= 1
    while end < len(data) and data[end] & _CONTINUES == _CONTINUED:
        end += 1
    return start, end


def outside(finds: Iterable[Find], inner: Sequence[Inner], data: bytes) -> list[Find]:
    """Return finds of the joined texts of `inner` as finds of `data`, in which they stand.

    A secret that stands there as it is, is found as it is; else all that was encoded is replaced.
    """
    starts = [0, *accumulate(len(one.text) + 1 for one in inner)]
    placed: list[Find] = []
    for find in finds:
        around = inner[bisect_right(starts, find.start) - 1]
        at = data.find(find.secret, around.start, around.end)
        start, end = (around.start, around.end) if at < 0 else (at, at + len(find.secret))
        placed.append(find._replace(start=start, end=end))
    return placed


def _outside_sentinels(finds: list[Find], data: bytes) -> list[Find]:
    spans = [found.span() for found in SENTINEL.finditer(data)]
    starts = [start for start, _ in spans]
    before = [bisect_left(starts, find.end) for find in finds]
    return [
        find
        for find, place in zip(finds, before, strict=True)
        if not place or spans[place - 1][1] <= find.start
    ]
