"""What a line of JSON-RPC says about itself: its method and its id. Standard library only.

Rule 1: a line is never changed here, and never judged: what cannot be read says nothing.
Rule 2: lines up to 64 KiB are parsed; larger ones are walked along their top-level keys, which
        never reads inside a value and copies nothing.
Rule 3: a line over its limit is dropped as it arrives; its first and last bytes are kept for its
        id, because clients wait for ever on a request that is not answered by id.
"""

import json
import re
from collections.abc import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LINE_MAX = 8 * 1024 * 1024

Id = str | int | float

_PARSE_MAX = 65_536
_HEAD, _TAIL = 4096, 1024

# compiled at first use by `re`'s cache: most bridges never see a large line
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_ATOM = _STRING + rb'|[^\s,:{}\[\]"]++'
_START = rb"\s*+\{\s*+"
_KEY = rb"(" + _STRING + rb")\s*+:\s*+"
_TO_BRACKET = rb'(?:[^\[\]{}"]++|' + _STRING + rb")*+[\[\]{}]"
_NEXT = rb"\s*+,\s*+"
_LAST_ID = (
    rb'[{,]\s*"id"\s*:\s*(' + _ATOM + rb')\s*(?:,\s*"\w+"\s*:\s*(?:' + _ATOM + rb")\s*)*\}\s*$"
)


class Envelope:
    """Method and id of one line; None where there is none. `failed`: it carries an error."""

    __slots__ = ("failed", "id", "method")

    def __init__(
        self, method: object = None, ident: object = None, *, failed: bool = False
    ) -> None:
        self.method = method if isinstance(method, str) else None
        self.id: Id | None = _as_id(ident)
        self.failed = failed

    @property
    def is_request(self) -> bool:
        return self.method is not None and self.id is not None

    @property
    def is_reply(self) -> bool:
        return self.method is None and self.id is not None


def _as_id(value: object) -> Id | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return value


def peek(line: bytes) -> Envelope:
    """Return what the line says about itself."""
    if len(line) > _PARSE_MAX:
        return walk(line)
    said = _fields(line)
    return Envelope(said.get("method"), said.get("id"), failed="error" in said)


def param(line: bytes, name: str) -> Id | None:
    """Return a scalar parameter of the line's request or notification."""
    params: dict[str, Any] = _fields(line).get("params", {})
    return _as_id(params.get(name)) if _is_object(params) else None


def _fields(line: bytes) -> "dict[str, Any]":
    try:
        said: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return said if _is_object(said) else {}


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def walk(line: bytes) -> Envelope:
    """Read method and id from the top-level keys, as far as the bytes go."""
    found: dict[bytes, object] = {}
    for key, value in _members(line):
        found[key] = _atom(value)
        if len(found.keys() & {b'"id"', b'"method"', b'"result"', b'"error"'}) > 1:
            break
    return Envelope(found.get(b'"method"'), found.get(b'"id"'), failed=b'"error"' in found)


def _members(line: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield each top-level key with its value, empty for an object or array."""
    at = _matcher(_START)(line)
    while at is not None:
        key = _matcher(_KEY)(line, at.end())
        if key is None:
            return
        end, value = _value(line, key.end())
        yield key[1], value
        at = _matcher(_NEXT)(line, end)


def _value(line: bytes, start: int) -> tuple[int, bytes]:
    if line[start : start + 1] in (b"{", b"["):
        return _closing(line, start), b""
    atom = _matcher(_ATOM)(line, start)
    return (atom.end(), atom[0]) if atom else (len(line), b"")


def _closing(line: bytes, start: int) -> int:
    depth, at = 0, start
    to_bracket = _matcher(_TO_BRACKET)
    while (bracket := to_bracket(line, at)) is not None:
        at = bracket.end()
        depth += 1 if line[at - 1] in b"{[" else -1
        if depth == 0:
            return at
    return len(line)


def _matcher(pattern: bytes) -> "Callable[..., re.Match[bytes] | None]":
    return re.compile(pattern, re.DOTALL).match


def _atom(raw: bytes) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


class TooLong:
    """A line over the limit: what is left of it."""

    __slots__ = ("_head", "_tail")

    def __init__(self, head: bytes, tail: bytes) -> None:
        self._head = head
        self._tail = tail

    def id(self) -> Id | None:
        """Return the id if it stands before or after the large value."""
        ident = walk(self._head).id
        if ident is None and (last := re.search(_LAST_ID, self._tail, re.DOTALL)):
            return _as_id(_atom(last[1]))
        return ident


class Lines:
    """Cuts a stream into lines, each with its line end, holding no more than `limit` bytes."""

    def __init__(self, limit: int = LINE_MAX) -> None:
        self._limit = limit
        self._held = bytearray()
        self._tail: bytes | None = None  # of a line that is being dropped

    def feed(self, data: bytes) -> Iterator[bytes | TooLong]:
        start = 0
        while (end := data.find(b"\n", start) + 1) > 0:
            yield self._finish(data[start:end])
            start = end
        self._hold(data[start:])

    def rest(self) -> bytes | TooLong | None:
        """Return the last line of a stream that ended without a line end."""
        return self._finish(b"\n") if self._held else None

    def _hold(self, piece: bytes) -> None:
        if self._tail is None:
            self._held += piece
            if len(self._held) <= self._limit:
                return
            piece = bytes(self._held)
            del self._held[_HEAD:]
        self._tail = ((self._tail or b"") + piece)[-_TAIL:]

    def _finish(self, piece: bytes) -> bytes | TooLong:
        if self._tail is None and len(self._held) + len(piece) - 1 <= self._limit:
            line = bytes(self._held) + piece
            self._held.clear()
            return line
        self._hold(piece)
        dropped = TooLong(bytes(self._held[:_HEAD]), self._tail or b"")
        self._held.clear()
        self._tail = None
        return dropped
