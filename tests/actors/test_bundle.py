"""Bundles: what is written, what is read back, and files that were not written by OSIRIS."""

import hashlib
from pathlib import Path

import msgpack
import pytest

from osiris_actors.store import blobs, bundle, bundle_check, records
from osiris_actors.store.bundle import Header
from osiris_actors.store.contract import (
    Append,
    Damage,
    Exported,
    Selection,
    StoreUnavailable,
    Unit,
    Verified,
)
from osiris_actors.store.memory import MemoryBackend

STREAM = "task/7c3f90d1"
TEXT = b"".join(b"%d: a line of a log\n" % n for n in range(200_000))  # 4 chunks
NOISE = b"".join(records.chain(records.GENESIS, b"noise", n, b"") for n in range(40_000))
BLOBS = tuple(map(blobs.pack, (TEXT, NOISE, b"short", b"")))


@pytest.fixture
def backend() -> MemoryBackend:
    backend = MemoryBackend("5" * 32)
    backend.commit_batch(
        (
            Unit((Append(STREAM, 0, (b"one", b"two"), snapshot=b"state"),), blobs=BLOBS),
            Unit((Append(STREAM, 2, (b"three",)), Append("global", 0, (b"first",)))),
        )
    )
    return backend


@pytest.fixture
def path(backend: MemoryBackend, tmp_path: Path) -> Path:
    """Return a bundle of the whole store."""
    backend.export(tmp_path / "all.osiris", 1_800_000_000_000, None)
    return tmp_path / "all.osiris"


def test_everything_is_written_and_proved_without_the_store(
    backend: MemoryBackend, tmp_path: Path
) -> None:
    found = backend.export(tmp_path / "x", 7, None)

    assert found == Exported(2, 4, 4, (tmp_path / "x").stat().st_size)
    assert bundle_check.check(tmp_path / "x") == Verified(2, 4, 4, 22, ())
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o600
    assert next(bundle_check.frames(tmp_path / "x")) == Header("5" * 32, 7, 1)


def test_a_selection_is_written_alone(backend: MemoryBackend, tmp_path: Path) -> None:
    selection = Selection((STREAM,), (BLOBS[2].sha256,))

    found = backend.export(tmp_path / "x", 7, selection)

    assert (found.streams, found.events, found.blobs) == (1, 3, 1)
    assert bundle_check.check(tmp_path / "x").damage == ()


def test_what_is_damaged_is_left_out_and_named(backend: MemoryBackend, tmp_path: Path) -> None:
    backend.overwrite("events", records.event_key(STREAM.encode(), 2), b"not what was written")
    backend.overwrite("chunks", records.chunk_key(records.blob_key(BLOBS[0].sha256), 1), None)

    found = backend.export(tmp_path / "x", 7, None)

    assert (found.streams, found.events, found.blobs) == (2, 2, 3)
    assert found.damage == (
        Damage(f"event {STREAM}@2", "does not match its checksum"),
        Damage(f"blob {BLOBS[0].sha256[:12]} chunk 1", "missing"),
    )
    assert bundle_check.check(tmp_path / "x").damage == ()


def test_a_bundle_that_could_not_be_finished_leaves_nothing(
    backend: MemoryBackend, tmp_path: Path
) -> None:
    with pytest.raises(StoreUnavailable, match="No such file"):
        backend.export(tmp_path / "missing" / "x", 7, None)
    with pytest.raises(ValueError, match="is no sha256"):
        backend.export(tmp_path / "x", 7, Selection((), ("ab",)))

    assert list(tmp_path.iterdir()) == []


def test_no_bit_of_a_bundle_can_flip_unseen(path: Path) -> None:
    raw = bytearray(path.read_bytes())

    for place in {
        *range(60),
        *range(0, len(raw), 9_973),
        raw.index(b"three"),
        raw.index(b"first"),
    }:
        raw[place] ^= 1
        path.write_bytes(raw)
        assert bundle_check.check(path).damage != (), place
        raw[place] ^= 1


def test_a_cut_bundle_says_so(path: Path) -> None:
    raw = path.read_bytes()

    for size in (0, 1, 50, len(raw) // 2, len(raw) - 1):
        path.write_bytes(raw[:size])
        assert bundle_check.check(path).damage != (), size


def frames(*items: object) -> bytes:
    return b"".join(map(msgpack.packb, items))


HEADER = ("osiris", "5" * 32, 7, 1)


def whole(*items: object, blobs: int = 0) -> bytes:
    """Return a bundle whose end fits whatever stands before it."""
    before = frames(HEADER, *items)
    return before + frames(("end", 0, 0, blobs, hashlib.sha256(before).digest()))


def nested(depth: int) -> bytes:
    return b"\x91" * depth + b"\xc0"


# what is in the file -> what is found first
STRANGE: dict[str, tuple[bytes, str]] = {
    "text": (b"this is no bundle", "frame 0"),
    "nothing": (b"", "end"),
    "a map": (frames(HEADER, {"a": 1}), "frame 1"),
    "nested": (frames(HEADER) + nested(3), "frame 1"),
    "deeply nested": (frames(HEADER) + nested(100_000), "frame 1"),
    "many arrays": (frames(HEADER) + b"\xdd\x00\x98\x96\x80" + b"\x90" * 1_000_000, "frame 1"),
    "a length without bytes": (frames(HEADER) + b"\xc6\xff\xff\xff\xff", "end"),
    "an array without items": (frames(HEADER) + b"\xdd\xff\xff\xff\xff", "frame 1"),
    "a frame of 3 MiB": (frames(HEADER, ("event", bytes(3 << 20))), "frame 1"),
    "a long name": (frames(HEADER, ("stream", "x" * 2_000)), "frame 1"),
    "an extension": (frames(HEADER) + b"\xc7\x08\x01" + bytes(8), "frame 1"),
    "an unknown frame": (frames(HEADER, ("index", b"")), "frame 1"),
    "a wrong type": (frames(HEADER, ("event", "text")), "frame 1"),
    "no header": (frames(("end", 0, 0, 0, b"")), "frame 0"),
    "two headers": (whole(HEADER), "frame 1"),
    "a newer format": (frames(("osiris", "5" * 32, 7, 2)), "osiris"),
    "an event of no stream": (whole(("event", b"x")), "frame 1"),
    "a stream in a stream": (whole(("stream", "a"), ("stream", "b")), "frame 2"),
    "a stream without its end": (whole(("stream", "a")), "frame 2"),
    "a chain that is another": (whole(("stream", "a"), ("head", 0, bytes(31) + b"x")), "head a"),
    "a chunk of no payload": (whole(("chunk", b"x")), "frame 1"),
    "a payload without chunks": (whole(("blob", "0" * 64, 9, "raw", 0), blobs=1), "blob 0000"),
    "a payload of many": (whole(("blob", "0" * 64, 9, "raw", 1 << 60)), "frame 2"),
    "another payload": (
        whole(("blob", "0" * 64, 1, "raw", 1), ("chunk", b"x"), blobs=1),
        "blob 0000",
    ),
    "an unknown codec": (
        whole(("blob", "0" * 64, 1, "gzip", 1), ("chunk", b"x"), blobs=1),
        "blob 0000",
    ),
    "a bomb": (
        whole(
            ("blob", "0" * 64, 1, "zstd", 1),
            ("chunk", blobs.pack(bytes(1 << 20)).chunks[0] * 50),
            blobs=1,
        ),
        "blob 0000",
    ),
    "more after the end": (whole() + whole(), "frame 2"),
    "an end that counts more": (whole(blobs=1), "end"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_file_that_osiris_did_not_write_is_refused(tmp_path: Path, name: str) -> None:
    raw, record = STRANGE[name]
    (tmp_path / "x").write_bytes(raw)

    found = bundle_check.check(tmp_path / "x").damage

    assert found
    assert found[0].record.startswith(record)


def test_a_tree_of_arrays_is_not_built(tmp_path: Path) -> None:
    tree: object = []
    for _ in range(6):
        tree = [tree] * 8
    (tmp_path / "x").write_bytes(frames(HEADER, tree))

    [damage] = bundle_check.check(tmp_path / "x").damage

    assert damage == Damage("frame 1", "an array within a frame")


def test_frames_are_written_as_they_always_were() -> None:
    golden = {
        bundle.Header("55", 1_800_000_000_000): "94a66f7369726973a23535cf000001a3185c500001",
        bundle.StreamBegins(STREAM): "92a673747265616dad7461736b2f3763336639306431",
        bundle.EventFrame(b"event"): "92a56576656e74c4056576656e74",
        bundle.StreamEnds(1, bytes(2)): "93a46865616401c4020000",
        bundle.BlobBegins("ab", 5, "raw", 1): "95a4626c6f62a2616205a372617701",
        bundle.Chunk(b"chunk"): "92a56368756e6bc4056368756e6b",
        bundle.End(1, 1, 1, bytes(2)): "95a3656e64010101c4020000",
    }

    assert {frame: bundle.encode(frame).hex() for frame in golden} == golden
