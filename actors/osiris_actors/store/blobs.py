"""A payload as a blob: cut into chunks, each compressed where that pays, and back.

Rule 1: a blob's name is the sha256 of the plain payload; equal payloads are one blob.
Rule 2: all chunks of a blob have one codec; chunks but the last hold CHUNK_BYTES plain bytes.
Rule 3: `unpack` returns the payload that has the name, or raises StoreDamaged.
"""

import sys

from osiris.core import canon
from osiris_actors.store.contract import CHUNK_BYTES, Blob, StoreDamaged

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

RAW = "raw"
ZSTD = "zstd"
CODECS = (RAW, ZSTD)
UNREADABLE = (zstd.ZstdError, ValueError)  # what `plain` raises
_COMPRESS_ABOVE_BYTES = 1024
_WORTH_IT = 1.1
_MAX_CHUNK_BYTES = CHUNK_BYTES + CHUNK_BYTES // 256 + 64  # zstd's bound for what it cannot shrink


def pack(payload: bytes, *, level: int = 3) -> Blob:
    """Return the payload as a blob; zstd above 1 KiB if it saves a tenth or more."""
    starts = range(0, len(payload), CHUNK_BYTES)
    plain = tuple([payload[start : start + CHUNK_BYTES] for start in starts])
    sha256 = canon.sha256_hex(payload)
    if len(payload) > _COMPRESS_ABOVE_BYTES:
        small = tuple(zstd.compress(chunk, level) for chunk in plain)
        if sum(map(len, small)) * _WORTH_IT <= len(payload):
            return Blob(sha256, len(payload), ZSTD, small)
    return Blob(sha256, len(payload), RAW, plain)


def check(blob: Blob) -> None:
    """Raise ValueError when the blob's form is wrong; its bytes are not hashed."""
    if blob.codec not in CODECS:
        raise ValueError(f"codec {blob.codec!r} is not known")
    if len(blob.chunks) != -(-blob.size // CHUNK_BYTES):
        raise ValueError(f"{len(blob.chunks)} chunks for {blob.size} bytes")
    if max(map(len, blob.chunks), default=0) > _MAX_CHUNK_BYTES:
        raise ValueError(f"a chunk above {_MAX_CHUNK_BYTES} bytes")


def unpack(blob: Blob) -> bytes:
    """Return the plain payload. Raises StoreDamaged naming the blob."""
    name = f"blob {blob.sha256[:12]}"
    try:
        payload = b"".join(plain(blob.codec, chunk) for chunk in blob.chunks)
    except UNREADABLE as error:
        raise StoreDamaged(name, str(error)) from error
    if len(payload) != blob.size or canon.sha256_hex(payload) != blob.sha256:
        raise StoreDamaged(name, "does not match its sha256")
    return payload


def plain(codec: str, chunk: bytes) -> bytes:
    """Return the plain bytes of one chunk. Raises one of UNREADABLE."""
    if codec == RAW:
        return chunk
    return zstd.ZstdDecompressor().decompress(chunk, CHUNK_BYTES + 1)
