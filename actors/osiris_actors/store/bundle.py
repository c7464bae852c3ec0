"""A bundle: streams and payloads in one file that can be checked without a store.

It is a row of MessagePack arrays, each named by its first element:

| frame  | what                                                                   |
| osiris | once, first: format, store id, when it was made                        |
| stream | a name; its events follow from version 1 on                            |
| event  | one event's bytes                                                      |
| head   | ends a stream: its last version and that version's chain               |
| blob   | a payload: sha256, plain size, codec, how many chunks follow           |
| chunk  | bytes as they are stored, CHUNK_BYTES before compression               |
| end    | once, last: how many streams, events and blobs, and the sha256 of all   |

Rule 1: a file without its end is cut; one whose chains or hashes differ is damaged.
Rule 2: what is damaged in the store is left out and named: a stream up to the event before, a
        payload whole.
Rule 3: the file appears under its name when it is complete and durable, not before.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

import msgspec

from osiris_actors.store import reads, records
from osiris_actors.store.contract import Damage, Exported, Selection, StoreDamaged
from osiris_actors.store.reads import View, bodies

FORMAT = 1
_PAGE = 500


class Header(msgspec.Struct, frozen=True, array_like=True, tag="osiris"):
    store_id: str
    made_ms: int
    format: int = FORMAT


class StreamBegins(msgspec.Struct, frozen=True, array_like=True, tag="stream"):
    name: str


class EventFrame(msgspec.Struct, frozen=True, array_like=True, tag="event"):
    event: bytes


class StreamEnds(msgspec.Struct, frozen=True, array_like=True, tag="head"):
    version: int
    chain: bytes


class BlobBegins(msgspec.Struct, frozen=True, array_like=True, tag="blob"):
    sha256: str
    size: int
    codec: str
    chunks: int


class Chunk(msgspec.Struct, frozen=True, array_like=True, tag="chunk"):
    data: bytes


class End(msgspec.Struct, frozen=True, array_like=True, tag="end"):
    streams: int
    events: int
    blobs: int
    sha256: bytes  # of all frames before


Frame = Header | StreamBegins | EventFrame | StreamEnds | BlobBegins | Chunk | End

_encoder = msgspec.msgpack.Encoder()
encode = _encoder.encode


def write(view: View, path: Path, header: Header, selection: Selection | None) -> Exported:
    """Write the selection, or everything, to `path`. Raises OSError and StoreDamaged."""
    draft = path.with_name(f"{path.name}.part")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            written = _Writing(view, file).run(header, selection)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    return written


class _Writing:
    """One bundle on its way to a file."""

    def __init__(self, view: View, file: BinaryIO) -> None:
        self._view = view
        self._lookup = bodies(view)
        self._file = file
        self._hash = sha256()
        self._streams = self._events = self._blobs = 0
        self._damage: list[Damage] = []

    def run(self, header: Header, selection: Selection | None) -> Exported:
        self._put(header)
        for name in reads.streams(self._view, "") if selection is None else selection.streams:
            self._stream(name)
        for name in self._all_blobs() if selection is None else selection.blobs:
            self._blob(name)
        counts = (self._streams, self._events, self._blobs)
        self._put(End(*counts, self._hash.digest()))
        return Exported(*counts, self._file.tell(), tuple(self._damage))

    def _put(self, frame: Frame) -> None:
        raw = encode(frame)
        self._hash.update(raw)
        self._file.write(raw)

    def _all_blobs(self) -> Iterator[str]:
        return (key.hex() for key, _ in self._view.scan("blobs"))

    def _stream(self, name: str) -> None:
        key = records.stream_key(name)
        version, chain = 0, records.GENESIS
        self._put(StreamBegins(name))
        try:
            for event in self._events_of(key):
                version += 1
                chain = records.chain(chain, key, version, event)
                self._put(EventFrame(event))
        except StoreDamaged as damage:
            self._damage.append(Damage(damage.record, damage.why))
        self._put(StreamEnds(version, chain))
        self._streams += 1
        self._events += version

    def _events_of(self, stream: bytes) -> Iterator[bytes]:
        """Yield the sound events one by one, so that those before a damaged one are kept."""
        end = reads.head(self._lookup, stream)
        for version in range(end.version):
            [(_, event)] = reads.history(self._lookup, stream, version, 1)
            yield event

    def _blob(self, name: str) -> None:
        key = records.blob_key(name)
        try:
            row = reads.sound_blob(self._lookup, key)
        except StoreDamaged as damage:
            self._damage.append(Damage(damage.record, damage.why))
            return
        self._put(BlobBegins(name, row.size, row.codec, row.chunks))
        for number in range(row.chunks):
            self._put(Chunk(reads.chunk(self._lookup, records.chunk_key(key, number))))
        self._blobs += 1
