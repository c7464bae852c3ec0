"""Bytes in, lines out, in bounded memory.

Rule 1: a line ends at LF and nowhere else; the LF is not part of it.
Rule 2: a line beyond the limit is discarded up to its LF; only its first and last bytes are kept,
        enough to find the id of the request that has to be refused.
Rule 3: what stands after the last LF when the bytes end is a line too.
"""

import msgspec

from osiris.server.lines import MAX_LINE_BYTES

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 4 * 1024


class CutLine(msgspec.Struct, frozen=True):
    """A line that was too long. `tail` is empty when its end was never seen."""

    head: bytes
    tail: bytes
    size_bytes: int


class LineSplitter:
    """Feed it what arrives; it returns the lines that became complete."""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._held = bytearray()
        self._head = b""
        self._tail = b""
        self._size_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes | CutLine]:
        """Return the lines that end in `chunk`, in order."""
        *whole, rest = bytes(chunk).split(b"\n")
        lines = [self._close(piece) for piece in whole]
        self._hold(rest)
        return lines

    def finish(self) -> list[bytes | CutLine]:
        """Return the unfinished last line, if there is one."""
        if self._head:
            self._tail = b""
        return [self._close(b"")] if self._size_bytes else []

    def _close(self, piece: bytes) -> bytes | CutLine:
        if not self._size_bytes and len(piece) <= self._max_bytes:
            return piece
        self._hold(piece)
        line = (
            CutLine(self._head, self._tail, self._size_bytes) if self._head else bytes(self._held)
        )
        self._held, self._head, self._tail, self._size_bytes = bytearray(), b"", b"", 0
        return line

    def _hold(self, piece: bytes) -> None:
        self._size_bytes += len(piece)
        if self._size_bytes <= self._max_bytes:
            self._held += piece
            return
        if not self._head:
            self._held += piece
            self._head = bytes(self._held[:HEAD_BYTES])
            self._tail = bytes(self._held[-TAIL_BYTES:])
            self._held = bytearray()
            return
        self._tail = (self._tail + piece)[-TAIL_BYTES:]
