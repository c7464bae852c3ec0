"""Where the containers of a large JSON text begin, end and may be cut.

Rule 1: no call of the decoder sees much more than WINDOW bytes, a single long string apart: the
        decoder lets no other thread run (a list of 10 MB of small numbers: 0.3 s in one call).
Rule 2: a window is cut at a comma between two elements of its container. The decoder says whether
        a comma is one: from the beginning of an element up to it, inside brackets, all is valid.
Rule 3: what is read is checked: text that is no JSON anywhere is none, and so are more than some
        150 containers inside each other of which each is longer than a window.
"""

import re
from typing import NamedTuple

import msgspec

WINDOW = 32 << 10
_ROUGH_BYTES = 2_048  # elements from this size on are stepped over one by one
_TRIES = 12
_JOINT = 48

_trailing = re.compile(r"trailing characters \(byte (\d+)\)")
_number = re.compile(rb"[-+.0-9eE]*")
_string = re.compile(rb'(?:[^"\\]+|\\.)*', re.DOTALL)
_space = re.compile(rb"[ \t\r\n]*")
_deeper = re.compile(rb'["\[{]')
_CLOSE = {b"[": b"]", b"{": b"}"}


class Chunk(NamedTuple):
    """Whole elements from `start` to `end`; `first` is the number of the first, from 0.

    An element longer than a window is a chunk of its own; `value_at` is where its value begins and
    `key` its key in an object.
    """

    start: int
    end: int
    first: int
    elements: int
    value_at: int = -1
    key: str = ""


class Container(NamedTuple):
    """An array or object that is longer than a window; `end` is the offset after it."""

    end: int
    chunks: list[Chunk]


# containers by where they begin
Containers = dict[int, Container]


class Cuts(NamedTuple):
    """A JSON text: where its one value begins and ends, and the containers in it."""

    start: int
    end: int
    containers: Containers


def cut(data: bytes) -> Cuts:
    """Cut the one value of a JSON text. Raises ValueError, RecursionError."""
    containers: Containers = {}
    start = _past_space(data, 0)
    end = _end_of(data, start, containers)
    if _past_space(data, end) < len(data):
        raise ValueError(f"more than one value, from {end} on")
    return Cuts(start, end, containers)


def _container(data: bytes, start: int, containers: Containers) -> Container:
    """Return the container that begins at `start`. Raises ValueError."""
    opening = data[start : start + 1]
    reader = _Reader(data, opening, containers)
    at = _past_space(data, start + 1)
    if data[at : at + 1] == _CLOSE[opening]:
        return Container(at + 1, [])
    chunks: list[Chunk] = []
    while True:
        chunk = reader.chunk(at)
        chunks.append(chunk)
        end = _past_space(data, chunk.end)
        if data[end : end + 1] != b",":
            break
        at = _past_space(data, end + 1)
    if data[end : end + 1] != _CLOSE[opening]:
        raise ValueError(f"no end of {opening!r} at {end}")
    return Container(end + 1, chunks)


class _Reader:
    """Cuts one container into chunks."""

    def __init__(self, data: bytes, opening: bytes, containers: Containers) -> None:
        self._data, self._opening, self._containers = data, opening, containers
        self._closing = _CLOSE[opening]
        self._joint = b","
        self._count = 0

    def chunk(self, at: int) -> Chunk:
        """Return the chunk that begins with the element at `at`. Raises ValueError."""
        value_at, key, end = self._element(at)
        if end - at > WINDOW:
            return self._made(at, end, 1, value_at, key)
        self._learn(end)
        if end - at < _ROUGH_BYTES:
            cut = self._cut(at, at + WINDOW)
            if cut is not None:
                return self._made(at, *cut)
        return self._stepped(at, end)

    def _stepped(self, at: int, end: int) -> Chunk:
        """Return the chunk of as many elements as there are, stepped over, in a window."""
        count = 1
        while (comma := _past_space(self._data, end)) < at + WINDOW:
            if self._data[comma : comma + 1] != b",":
                break
            following = self._element(_past_space(self._data, comma + 1))[2]
            if following > at + WINDOW:
                break
            end, count = following, count + 1
        return self._made(at, end, count)

    def _made(self, at: int, end: int, count: int, value_at: int = -1, key: str = "") -> Chunk:
        chunk = Chunk(at, end, self._count, count, value_at, key)
        self._count += count
        return chunk

    def _learn(self, end: int) -> None:
        """Note how two elements are joined, blanks and all: the place to cut at."""
        comma = _past_space(self._data, end)
        following = _past_space(self._data, comma + 1)
        is_joint = self._data[comma : comma + 1] == b"," and following - end < _JOINT
        if is_joint and self._data[end - 1 : end] in {b"]", b"}", b'"'}:
            self._joint = self._data[end - 1 : following + 1]

    def _cut(self, at: int, limit: int) -> tuple[int, int] | None:
        """Return the end of the last element before `limit` and how many there are."""
        joint, place = self._joint, limit
        for number in range(_TRIES):
            if number == _TRIES // 2:
                joint, place = b",", limit
            place = self._data.rfind(joint, at, place)
            end = place + joint.index(b",")
            if place < 0:
                joint, place = b",", limit
                continue
            found = self._run(at, end)
            if isinstance(found, int):
                return end, found
            if found is not None:
                return found[0], self._counted(at, found[0])
        return None

    def _run(self, at: int, end: int) -> int | tuple[int] | None:
        """Return how many whole elements there are between; where the container ends if it does."""
        try:
            return self._counted(at, end)
        except ValueError as complaint:
            trailing = _trailing.search(str(complaint))
        if trailing is None:
            return None
        closed = at - 1 + int(trailing[1]) - 1
        return (self._data.rfind(self._closing, at, closed),)

    def _counted(self, at: int, end: int) -> int:
        """Return the number of elements between two places. Raises ValueError."""
        text = self._data[at:end]
        whole = self._opening + text + self._closing
        if self._opening == b"{":
            return len(msgspec.json.decode(whole, type=dict[str, msgspec.Raw]))
        if _deeper.search(text) is None:
            msgspec.json.decode(whole, type=msgspec.Raw)
            return text.count(b",") + 1
        return len(msgspec.json.decode(whole, type=list[msgspec.Raw]))

    def _element(self, at: int) -> tuple[int, str, int]:
        """Return where the value of an element begins, its key, and where it ends."""
        if self._opening == b"[":
            return at, "", _end_of(self._data, at, self._containers)
        if self._data[at : at + 1] != b'"':
            raise ValueError(f"no key at {at}")
        after = _end_of(self._data, at, self._containers)
        key = msgspec.json.decode(self._data[at:after], type=str)
        colon = _past_space(self._data, after)
        if self._data[colon : colon + 1] != b":":
            raise ValueError(f"no colon at {colon}")
        value_at = _past_space(self._data, colon + 1)
        return value_at, key, _end_of(self._data, value_at, self._containers)


def _end_of(data: bytes, at: int, containers: Containers) -> int:
    """Return where the value at `at` ends; a container beyond a window becomes one of `containers`.

    Raises ValueError.
    """
    if at in containers:
        return containers[at].end
    limit = _number.match(data, min(len(data), at + WINDOW))
    assert limit is not None
    try:
        msgspec.json.decode(memoryview(data)[at : limit.end()], type=msgspec.Raw)
    except msgspec.DecodeError as complaint:
        said = str(complaint)
        if trailing := _trailing.search(said):
            return _before_space(data, at + int(trailing[1]) - 1)
        if "truncated" not in said:
            raise
    else:
        return _before_space(data, limit.end())
    if data[at : at + 1] == b'"':
        return _long_string(data, at)
    if data[at : at + 1] not in _CLOSE or limit.end() == len(data):
        raise ValueError(f"no value at {at}")
    found = containers[at] = _container(data, at, containers)
    return found.end


def _long_string(data: bytes, at: int) -> int:
    end = at + 1
    while end < len(data) and data[end : end + 1] != b'"':
        run = _string.match(data, end, end + WINDOW)
        assert run is not None
        if run.end() == end:
            raise ValueError(f"no end of the text at {at}")
        end = run.end()
    msgspec.json.decode(memoryview(data)[at : end + 1], type=msgspec.Raw)
    return end + 1


def _past_space(data: bytes, at: int) -> int:
    found = _space.match(data, at)
    return at if found is None else found.end()


def _before_space(data: bytes, end: int) -> int:
    while data[end - 1 : end] in {b" ", b"\t", b"\r", b"\n"}:
        end -= 1
    return end
