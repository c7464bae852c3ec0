"""A payload cut, compressed and put together again."""

import random
import sys

import pytest

from osiris.core import canon
from osiris_actors.store import blobs
from osiris_actors.store.contract import CHUNK_BYTES, Blob, StoreDamaged

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

NOISE = random.Random(7).randbytes(CHUNK_BYTES)


@pytest.mark.parametrize(
    ("payload", "codec", "chunks"),
    [
        pytest.param(b"", "raw", 0, id="empty"),
        pytest.param(b"\0", "raw", 1, id="one NUL"),
        pytest.param(bytes(1024), "raw", 1, id="too small to compress"),
        pytest.param(bytes(1025), "zstd", 1, id="just above"),
        pytest.param(NOISE, "raw", 1, id="does not compress"),
        pytest.param(NOISE + bytes(CHUNK_BYTES), "zstd", 2, id="one half does"),
        pytest.param(bytes(CHUNK_BYTES + 1), "zstd", 2, id="one byte in a chunk of its own"),
    ],
)
def test_every_payload_comes_back_byte_for_byte(payload: bytes, codec: str, chunks: int) -> None:
    blob = blobs.pack(payload)

    blobs.check(blob)
    assert (blob.sha256, blob.size) == (canon.sha256_hex(payload), len(payload))
    assert (blob.codec, len(blob.chunks)) == (codec, chunks)
    assert blobs.unpack(blob) == payload


GOOD = blobs.pack(b"a line of a log\n" * 1_000)


@pytest.mark.parametrize(
    "blob",
    [
        pytest.param(Blob(GOOD.sha256, GOOD.size + 1, "zstd", GOOD.chunks), id="other size"),
        pytest.param(Blob("0" * 64, GOOD.size, "zstd", GOOD.chunks), id="other name"),
        pytest.param(Blob(GOOD.sha256, GOOD.size, "zstd", (b"no frame",)), id="no frame"),
        pytest.param(Blob(GOOD.sha256, GOOD.size, "zstd", (GOOD.chunks[0][:-4],)), id="cut frame"),
        pytest.param(Blob(GOOD.sha256, GOOD.size, "raw", GOOD.chunks), id="other codec"),
    ],
)
def test_what_is_not_the_payload_is_damage_with_the_blob_s_name(blob: Blob) -> None:
    with pytest.raises(StoreDamaged) as caught:
        blobs.unpack(blob)

    assert caught.value.record == f"blob {blob.sha256[:12]}"


def test_a_chunk_that_unpacks_to_more_than_a_chunk_is_not_followed_to_its_end() -> None:
    bomb = zstd.compress(bytes(64 * CHUNK_BYTES))
    blob = Blob(canon.sha256_hex(bytes(64 * CHUNK_BYTES)), 64 * CHUNK_BYTES, "zstd", (bomb,))

    with pytest.raises(StoreDamaged):
        blobs.unpack(blob)
    with pytest.raises(ValueError, match="1 chunks for"):
        blobs.check(blob)
