"""Reads a bundle back, from anywhere: nothing in the file is trusted.

Rule 1: a frame is one flat array of at most FRAME_BYTES and FRAME_ITEMS; nesting, maps and
        extension types end the reading.
Rule 2: chains are computed anew from the first event on, payloads are hashed anew.
Rule 3: what is wrong is named; the first frame that cannot be read ends the list.
"""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgpack
import msgspec

from osiris_actors.store import blobs, records
from osiris_actors.store.bundle import (
    FORMAT,
    BlobBegins,
    Chunk,
    End,
    EventFrame,
    Frame,
    Header,
    StreamBegins,
    StreamEnds,
    encode,
)
from osiris_actors.store.contract import CHUNK_BYTES, Damage, StoreDamaged, Verified

FRAME_BYTES = 2 * CHUNK_BYTES
FRAME_ITEMS = 8
_TEXT_BYTES = 1024


class BundleDamaged(StoreDamaged):
    """The file is no bundle, is cut, or holds what was not written."""


class _Flat:
    """Counts the arrays of a frame: there is one, the frame itself."""

    def __init__(self) -> None:
        self.arrays = 0

    def __call__(self, items: list[object]) -> list[object]:
        self.arrays += 1
        if self.arrays > 1:
            raise ValueError("an array within a frame")
        return items


def frames(path: Path) -> Iterator[Frame]:
    """Yield the frames of a file. Raises BundleDamaged and OSError."""
    with path.open("rb") as file:
        flat = _Flat()
        unpacker = msgpack.Unpacker(
            file,
            list_hook=flat,
            max_buffer_size=FRAME_BYTES,
            max_array_len=FRAME_ITEMS,
            max_map_len=0,
            max_ext_len=0,
            max_str_len=_TEXT_BYTES,
            max_bin_len=FRAME_BYTES,
        )
        for number in range(1 << 62):
            flat.arrays = 0
            try:
                raw = unpacker.unpack()
                yield msgspec.convert(raw, Frame)
            except msgpack.OutOfData:
                return
            except (ValueError, msgpack.UnpackException, msgspec.ValidationError) as error:
                why = str(error) or type(error).__name__
                raise BundleDamaged(f"frame {number}", why) from error


def check(path: Path) -> Verified:
    """Check the whole file; what is wrong is in the answer. Raises OSError."""
    checking = _Checking()
    try:
        for frame in frames(path):
            checking.take(frame)
        checking.finish()
    except BundleDamaged as damage:
        checking.damage.append(Damage(damage.record, damage.why))
    return Verified(
        streams=checking.streams,
        events=checking.events,
        blobs=checking.blobs,
        records=checking.frames,
        damage=tuple(checking.damage),
    )


class _Checking:
    """What one pass over the frames adds up to."""

    def __init__(self) -> None:
        self.frames = 0
        self.damage: list[Damage] = []
        self._header: Header | None = None
        self._end: End | None = None
        self._stream: _Stream | None = None
        self._blob: _Payload | None = None
        self._hash = sha256()
        self.streams = self.events = self.blobs = 0

    def take(self, frame: Frame) -> None:
        """Follow one frame. Raises BundleDamaged where it has no place."""
        self._must_have_a_place(frame)
        self.frames += 1
        if not isinstance(frame, End):
            self._hash.update(encode(frame))
        match frame:
            case Header():
                self._header = frame
            case StreamBegins(name):
                self._stream = _Stream(name)
            case EventFrame(event) if self._stream is not None:
                self._stream.take(event)
            case StreamEnds() if self._stream is not None:
                self._end_stream(self._stream, frame)
            case BlobBegins():
                self._blob = _Payload(frame)
                self._end_blob(self._blob)
            case Chunk(data) if self._blob is not None:
                self._blob.take(data)
                self._end_blob(self._blob)
            case End():
                self._end = frame
            case _:
                raise BundleDamaged(f"frame {self.frames - 1}", "stands where it has no place")

    def finish(self) -> None:
        """Say what is missing at the end of the file."""
        if self._end is None:
            raise BundleDamaged("end", "missing: the file is cut")
        if self._end != End(self.streams, self.events, self.blobs, self._hash.digest()):
            self.damage.append(Damage("end", "does not match what is before it"))

    def _must_have_a_place(self, frame: Frame) -> None:
        if (self._header is None) != isinstance(frame, Header) or self._end is not None:
            raise BundleDamaged(f"frame {self.frames}", "stands where it has no place")
        if isinstance(frame, Header) and frame.format > FORMAT:
            why = f"format {frame.format}, this version knows {FORMAT}: update OSIRIS"
            raise BundleDamaged("osiris", why)
        inside = (
            (self._stream is not None and not isinstance(frame, EventFrame | StreamEnds))
            or (self._blob is not None and not isinstance(frame, Chunk))
        )  # fmt: skip
        if inside:
            raise BundleDamaged(f"frame {self.frames}", "stands where it has no place")

    def _end_stream(self, stream: "_Stream", ends: StreamEnds) -> None:
        if (stream.version, stream.chain) != (ends.version, ends.chain):
            self.damage.append(Damage(f"head {stream.name}", "is not the end of the chain"))
        self.streams += 1
        self.events += stream.version
        self._stream = None

    def _end_blob(self, blob: "_Payload") -> None:
        if blob.left:
            return
        if why := blob.wrong():
            self.damage.append(Damage(f"blob {blob.begins.sha256[:12]}", why))
        self.blobs += 1
        self._blob = None


class _Stream:
    """A stream's chain, computed anew."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.version = 0
        self.chain = records.GENESIS

    def take(self, event: bytes) -> None:
        self.version += 1
        self.chain = records.chain(self.chain, self.name.encode(), self.version, event)


class _Payload:
    """A payload's hash, computed anew chunk by chunk."""

    def __init__(self, begins: BlobBegins) -> None:
        self.begins = begins
        self.left = max(0, begins.chunks)
        self._size = 0
        self._hash = sha256()
        self._why = "" if begins.codec in blobs.CODECS else f"codec {begins.codec!r} is not known"

    def take(self, data: bytes) -> None:
        self.left -= 1
        if self._why:
            return
        try:
            plain = blobs.plain(self.begins.codec, data)
        except blobs.UNREADABLE as error:
            self._why = str(error)
            return
        self._size += len(plain)
        self._hash.update(plain)

    def wrong(self) -> str:
        found = (self._size, self._hash.hexdigest())
        is_sound = found == (self.begins.size, self.begins.sha256)
        return self._why or ("" if is_sound else "does not match its sha256")
