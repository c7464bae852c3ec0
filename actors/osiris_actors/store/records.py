"""The byte form of every record: how it is written, and how a read knows it is what was written.

Rule 1: a stored value is a checksum of 16 bytes (see `checksum`) and a body.
Rule 2: event n of a stream is chain n and the event's bytes; chain n = H("chain", chain n-1,
        stream, n, bytes), chain 0 is 32 zero bytes. The head holds the last chain.
Rule 3: bodies are MessagePack arrays whose fields are only appended, or plain bytes.
Rule 4: counters whose names are alike up to a PAGE sign are one record, a map of what stands after
        the sign: an observe moves six accounts of the ledger, which are two records.
Rule 5: versions and chunk numbers in keys are big-endian, so that keys sort in their order.
"""

from functools import lru_cache
from typing import TypeVar

import msgspec

from osiris.core import canon
from osiris_actors.store.checksum import CHECKSUM_BYTES, Table, checksum
from osiris_actors.store.contract import MAX_NAME_BYTES, Duplicate, Head, StoreDamaged

CHAIN_BYTES = 32
GENESIS = bytes(CHAIN_BYTES)
_VERSION_BYTES = 8
_CHUNK_NUMBER_BYTES = 4
PAGE = "#"
_SHA_BYTES = 32

# table -> how a damaged record of it is called; the others have rules of their own
_NOUNS: dict[Table, str] = {
    "meta": "meta",
    "heads": "head",
    "snaps": "snapshot",
    "keys": "key",
    "counters": "counter",
    "fences": "fence",
    "index": "index",
}

T = TypeVar("T")


class Snapshot(msgspec.Struct, frozen=True, array_like=True):
    """The state of a stream after event `version`, whose chain is `chain`."""

    version: int
    chain: bytes
    state: bytes


class BlobRow(msgspec.Struct, frozen=True, array_like=True):
    """What there is to know about a blob without its chunks."""

    size: int
    codec: str
    chunks: int


_encoder = msgspec.msgpack.Encoder()
encode = _encoder.encode

head_decoder = msgspec.msgpack.Decoder(Head)
snapshot_decoder = msgspec.msgpack.Decoder(Snapshot)
key_decoder = msgspec.msgpack.Decoder(Duplicate)
blob_decoder = msgspec.msgpack.Decoder(BlobRow)
number_decoder = msgspec.msgpack.Decoder(int)
page_decoder = msgspec.msgpack.Decoder(dict[str, int])


def name_key(name: str) -> bytes:
    """Return the key of a counter, fence, index entry or command key. Raises ValueError."""
    key = name.encode()
    if not 0 < len(key) <= MAX_NAME_BYTES:
        raise ValueError(f"a name of {len(key)} bytes: 1 to {MAX_NAME_BYTES} are stored")
    return key


@lru_cache(4_096)
def counter_place(name: str) -> tuple[bytes, str]:
    """Return the key of a counter's record, and its place in a page; empty: it stands alone."""
    page, sign, place = name.partition(PAGE)
    return name_key(page + sign), place


def stream_key(stream: str) -> bytes:
    """Return the key of a stream's head and snapshot. Raises ValueError."""
    key = stream.encode()
    if not 0 < len(key) < MAX_NAME_BYTES - _VERSION_BYTES or b"\0" in key:
        raise ValueError(f"stream {stream[:40]!r}: empty, too long, or with a NUL")
    return key


def event_key(stream: bytes, version: int) -> bytes:
    return b"%b\0%b" % (stream, version.to_bytes(_VERSION_BYTES, "big"))


def blob_key(sha256: str) -> bytes:
    """Return the key of a blob. Raises ValueError."""
    key = bytes.fromhex(sha256)
    if len(key) != _SHA_BYTES:
        raise ValueError(f"{sha256[:80]!r} is no sha256")
    return key


def chunk_key(blob: bytes, number: int) -> bytes:
    return blob + number.to_bytes(_CHUNK_NUMBER_BYTES, "big")


def split_event_key(key: bytes) -> tuple[bytes, int]:
    """Return stream and version of an event's key."""
    return key[: -_VERSION_BYTES - 1], int.from_bytes(key[-_VERSION_BYTES:], "big")


def split_chunk_key(key: bytes) -> tuple[bytes, int]:
    """Return blob and number of a chunk's key."""
    return key[:_SHA_BYTES], int.from_bytes(key[_SHA_BYTES:], "big")


def chain(previous: bytes, stream: bytes, version: int, event: bytes) -> bytes:
    """Return chain `version` of the stream, 32 bytes."""
    number = version.to_bytes(_VERSION_BYTES, "big")
    return canon.digest("chain", (previous, stream, number, event))


def record_name(table: Table, key: bytes) -> str:
    """Return the words a person finds a record by: `event task/7c3f90d1@12`."""
    if table == "events":
        stream, version = split_event_key(key)
        return f"event {_text(stream)}@{version}"
    if table == "blobs":
        return f"blob {key.hex()[:12]}"
    if table == "chunks":
        blob, number = split_chunk_key(key)
        return f"blob {blob.hex()[:12]} chunk {number}"
    return f"{_NOUNS[table]} {_text(key)}"


def _text(raw: bytes) -> str:
    return raw.decode(errors="backslashreplace")


def stamped(table: Table, key: bytes, body: bytes) -> bytes:
    """Return the stored value of a body."""
    return checksum(table, key, body) + body


def checked(table: Table, key: bytes, stored: bytes) -> bytes:
    """Return the body of a stored value. Raises StoreDamaged."""
    body = stored[CHECKSUM_BYTES:]
    if checksum(table, key, body) != stored[:CHECKSUM_BYTES]:
        raise StoreDamaged(record_name(table, key), "does not match its checksum")
    return body


def decoded(decoder: msgspec.msgpack.Decoder[T], table: Table, key: bytes, body: bytes) -> T:
    """Return a body as its type. Raises StoreDamaged."""
    try:
        return decoder.decode(body)
    except msgspec.DecodeError as error:
        raise StoreDamaged(record_name(table, key), str(error)) from error
