"""A large JSON text as a value that is opened part by part.

Rule 1: no part that is opened is much larger than a window, a single long text apart.
Rule 2: how the last two texts are cut is kept: pages of one answer, and a stub, ask again.
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from osiris.core.json_cuts import WINDOW, Chunk, Containers, cut


class Large:
    """An array or object that is longer than a window, `size` bytes."""

    __slots__ = ("_chunks", "_containers", "_data", "_firsts", "_known", "is_array", "size")

    def __init__(self, data: bytes, start: int, containers: Containers) -> None:
        self._data, self._containers = data, containers
        self.is_array = data[start : start + 1] == b"["
        end, self._chunks = containers[start]
        self.size = end - start
        self._firsts = [chunk.first for chunk in self._chunks]
        self._known: tuple[int, list[object]] = (-1, [])

    def __len__(self) -> int:
        last = self._chunks[-1] if self._chunks else Chunk(0, 0, 0, 0)
        return last.first + last.elements

    def element(self, number: int) -> object:
        """Return an element of an array, raw or large; numbers count from 0."""
        at = bisect_right(self._firsts, number) - 1
        known, values = self._known
        if known != at:
            values = self._elements(self._chunks[at])
            self._known = (at, values)
        return values[number - self._chunks[at].first]

    def field(self, key: str) -> object:
        """Return the value of a key, raw or large; None if there is none."""
        found: object = None
        needle = msgspec.json.encode(key)
        for chunk in self._chunks:
            if chunk.value_at >= 0:
                found = self._single(chunk) if chunk.key == key else found
            elif needle in (text := self._text(chunk)) or b"\\" in text:
                found = self._decoded(chunk).get(key, found)
        return found

    def fields(self, skip: int = 0) -> Iterator[tuple[str, object]]:
        """Yield keys and values, without the first `skip`."""
        for chunk in self._chunks[max(0, bisect_right(self._firsts, skip) - 1) :]:
            for number, item in enumerate(self._items(chunk), chunk.first):
                if number >= skip:
                    yield item

    def large_fields(self) -> Iterator[tuple[str, object]]:
        """Yield the fields whose value is longer than a window."""
        return ((chunk.key, self._single(chunk)) for chunk in self._chunks if chunk.value_at >= 0)

    def pieces(self) -> Iterator[list[object] | dict[str, object]]:
        """Yield its elements or fields in their order, what is small decoded whole."""
        for chunk in self._chunks:
            if chunk.value_at >= 0:
                single = self._single(chunk)
                value = single if isinstance(single, Large) else msgspec.json.decode(single)
                yield [value] if self.is_array else {chunk.key: value}
            elif self.is_array:
                yield msgspec.json.decode(b"[" + self._text(chunk) + b"]", type=list[object])
            else:
                yield msgspec.json.decode(b"{" + self._text(chunk) + b"}", type=dict[str, object])

    def _items(self, chunk: Chunk) -> list[tuple[str, object]]:
        if chunk.value_at >= 0:
            return [(chunk.key, self._single(chunk))]
        return list(self._decoded(chunk).items())

    def _elements(self, chunk: Chunk) -> list[object]:
        if chunk.value_at >= 0:
            return [self._single(chunk)]
        text = b"[" + self._text(chunk) + b"]"
        return list(msgspec.json.decode(text, type=list[msgspec.Raw]))

    def _decoded(self, chunk: Chunk) -> dict[str, msgspec.Raw]:
        return msgspec.json.decode(b"{" + self._text(chunk) + b"}", type=dict[str, msgspec.Raw])

    def _single(self, chunk: Chunk) -> "Large | msgspec.Raw":
        if chunk.value_at in self._containers:
            return Large(self._data, chunk.value_at, self._containers)
        return msgspec.Raw(self._data[chunk.value_at : chunk.end])

    def _text(self, chunk: Chunk) -> bytes:
        return self._data[chunk.start : chunk.end]


def read(data: bytes) -> Large | msgspec.Raw | None:
    """Return the one value of a JSON text, None if the text is none."""
    if len(data) > WINDOW:
        return _read_large(data)
    try:
        return msgspec.json.decode(data, type=msgspec.Raw)
    except (ValueError, RecursionError):
        return None


@lru_cache(maxsize=2)
def _read_large(data: bytes) -> Large | msgspec.Raw | None:
    try:
        start, end, containers = cut(data)
    except (ValueError, RecursionError):
        return None
    if start in containers:
        return Large(data, start, containers)
    return msgspec.Raw(data[start:end])
