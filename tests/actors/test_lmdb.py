"""The store on disk: how it is opened, what it survives, how it fails."""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import lmdb
import pytest

from osiris_actors.store import datafile, identity, records
from osiris_actors.store.contract import (
    Append,
    Damage,
    Failed,
    StoreDamaged,
    StoreTooNew,
    StoreUnavailable,
    Unit,
)
from osiris_actors.store.lmdb import LmdbBackend
from tests.actors.store_cases import MAP_BYTES, committed, edit, put

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and modes of POSIX")


def test_commits_are_synced_and_nothing_trades_that_for_speed(backend: LmdbBackend) -> None:
    assert backend.engine() == {
        "version": (0, 9),
        "map_bytes": MAP_BYTES,
        "max_readers": 1024,
        "subdir": True,
        "readonly": False,
        "metasync": True,
        "sync": True,
        "map_async": False,
        "readahead": True,
        "writemap": False,
        "meminit": True,
        "lock": True,
    }


def test_the_map_is_large_and_fixed(place: Path) -> None:
    backend = LmdbBackend(place)

    assert backend.engine()["map_bytes"] == (8 if sys.platform == "win32" else 64) << 30
    backend.close()


@posix
def test_only_the_owner_may_look_inside(backend: LmdbBackend, place: Path) -> None:
    assert place.stat().st_mode & 0o777 == 0o700
    modes = {file.name: file.stat().st_mode & 0o777 for file in place.iterdir()}
    assert modes == {"data.mdb": 0o600, "lock.mdb": 0o600, "marker": 0o600}
    assert backend.readers() == ()


def test_a_store_keeps_its_identity(place: Path) -> None:
    born = LmdbBackend(place, map_bytes=MAP_BYTES, new_id=lambda: "a" * 32)
    born.close()
    again = LmdbBackend(place, map_bytes=MAP_BYTES, new_id=lambda: "b" * 32)

    assert (born.store_id, again.store_id) == ("a" * 32, "a" * 32)
    again.close()


def test_a_new_store_has_an_id_of_32_digits(backend: LmdbBackend) -> None:
    assert len(bytes.fromhex(backend.store_id)) == 16


@pytest.mark.parametrize("lost", ["gone", "no bytes", "no tables"])
def test_a_store_that_should_be_there_is_never_begun_afresh(place: Path, lost: str) -> None:
    LmdbBackend(place, map_bytes=MAP_BYTES).close()
    data = place / "data.mdb"
    data.unlink()
    if lost == "no bytes":
        data.touch()
    if lost == "no tables":
        lmdb.open(str(place), lib_version=0).close()
    before = data.read_bytes() if data.exists() else None

    with pytest.raises(StoreDamaged):
        LmdbBackend(place, map_bytes=MAP_BYTES)

    assert (data.read_bytes() if data.exists() else None) == before


def test_an_empty_file_without_a_marker_is_where_a_first_start_was_killed(place: Path) -> None:
    place.mkdir()
    (place / "data.mdb").touch()

    backend = LmdbBackend(place, map_bytes=MAP_BYTES)

    assert committed(backend.commit_batch((put("a"),))[0])
    backend.close()


def test_another_store_s_data_under_this_marker_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        LmdbBackend(tmp_path / name, map_bytes=MAP_BYTES).close()
    (tmp_path / "one" / "data.mdb").replace(tmp_path / "two" / "data.mdb")

    with pytest.raises(StoreDamaged, match="the marker says"):
        LmdbBackend(tmp_path / "two", map_bytes=MAP_BYTES)


def test_a_missing_marker_is_written_again(place: Path) -> None:
    LmdbBackend(place, map_bytes=MAP_BYTES).close()
    marker = (place / "marker").read_text("ascii")
    (place / "marker").unlink()

    LmdbBackend(place, map_bytes=MAP_BYTES).close()

    assert (place / "marker").read_text("ascii") == marker


def test_a_newer_format_is_refused_and_left_as_it_is(place: Path) -> None:
    LmdbBackend(place, map_bytes=MAP_BYTES).close()
    newer = records.stamped("meta", b"format", records.encode(identity.FORMAT + 1))
    edit(place, "meta", b"format", newer)
    before = (place / "data.mdb").read_bytes()

    with pytest.raises(StoreTooNew) as caught:
        LmdbBackend(place, map_bytes=MAP_BYTES)

    assert caught.value.found == identity.FORMAT + 1
    assert (place / "data.mdb").read_bytes() == before


def test_a_file_that_is_no_store_is_damage(place: Path) -> None:
    place.mkdir()
    (place / "data.mdb").write_bytes(b"something else " * 1_000)

    with pytest.raises(StoreDamaged, match=r"data\.mdb"):
        LmdbBackend(place, map_bytes=MAP_BYTES)


def test_a_cut_file_is_refused_before_it_is_mapped(place: Path) -> None:
    backend = LmdbBackend(place, map_bytes=MAP_BYTES)
    for number in range(20):
        backend.commit_batch((put(f"n{number}", 9_000),))
    backend.close()
    data = place / "data.mdb"
    whole = data.read_bytes()

    for share in (0.25, 0.5, 0.9):
        data.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(StoreDamaged, match="is cut"):
            LmdbBackend(place, map_bytes=MAP_BYTES)


def test_a_file_that_is_short_of_free_pages_only_is_sound(place: Path) -> None:
    backend = LmdbBackend(place, map_bytes=MAP_BYTES)
    for name in ("a", "b", "c"):
        backend.commit_batch((put(name),))
    backend.close()
    with lmdb.open(str(place), map_size=MAP_BYTES, max_dbs=20, lib_version=0) as env:
        index, counters = env.open_db(b"index"), env.open_db(b"counters")
        with env.begin(write=True) as txn:
            txn.put(b"small", b"", db=counters)
            txn.put(b"big", bytes(1 << 20), db=index)
            txn.delete(b"big", db=index)
            txn.delete(b"small", db=counters)
    assert datafile.is_short(place)

    again = LmdbBackend(place, map_bytes=MAP_BYTES)

    assert again.get_index("a") == bytes(10)
    again.close()


def test_one_flipped_bit_on_the_disk_is_named(place: Path) -> None:
    backend = LmdbBackend(place, map_bytes=MAP_BYTES)
    backend.commit_batch(
        (
            Unit((Append("task/7c3f90d1", 0, (b"first of all", b"the second event")),)),
            Unit((Append("task/other", 0, (b"of another task",)),)),
        )
    )
    backend.close()
    data = place / "data.mdb"
    whole = bytearray(data.read_bytes())
    assert whole.count(b"the second event") == 1
    whole[whole.index(b"the second event")] ^= 1
    data.write_bytes(whole)

    again = LmdbBackend(place, map_bytes=MAP_BYTES)

    name = "event task/7c3f90d1@2"
    with pytest.raises(StoreDamaged) as caught:
        again.read("task/7c3f90d1")
    assert caught.value.record == name
    assert again.verify(deep=True).damage == (Damage(name, "does not match its checksum"),)
    assert again.read("task/other").events == ((1, b"of another task"),)
    again.close()


def _reads(backend: LmdbBackend) -> tuple[Callable[[], object], ...]:
    return (
        lambda: backend.head("task/a"),
        lambda: backend.read("task/a"),
        lambda: backend.history("task/a", 1, 1),
        lambda: backend.counters(""),
        lambda: backend.index("", limit=1),
        lambda: backend.streams(""),
        lambda: backend.get_blob("0" * 64),
        lambda: backend.verify(deep=True),
        lambda: backend.head("bad\0name"),
    )


def test_no_read_transaction_outlives_its_call(backend: LmdbBackend) -> None:
    backend.commit_batch((Unit((Append("task/a", 0, (b"1", b"2")),)), put("a"), put("b")))
    with backend.view():
        assert len(backend.readers()) == 1

    for read in _reads(backend):
        with suppress(ValueError):
            read()
        assert backend.readers() == ()


def test_a_store_opened_for_reading_reads_and_takes_no_unit(place: Path) -> None:
    owner = LmdbBackend(place, map_bytes=MAP_BYTES)
    owner.commit_batch((put("a"),))
    owner.close()

    reader = LmdbBackend(place, map_bytes=MAP_BYTES, read_only=True)

    assert reader.store_id == owner.store_id
    assert reader.get_index("a") == bytes(10)
    assert reader.commit_batch((put("b"),)) == (Failed("opened for reading only"),)
    reader.close()


def test_reading_a_store_that_is_not_there_creates_nothing(place: Path) -> None:
    with pytest.raises(StoreUnavailable):
        LmdbBackend(place, read_only=True)

    assert not place.exists()


def test_a_second_opening_in_one_process_is_refused(backend: LmdbBackend, place: Path) -> None:
    with pytest.raises(StoreUnavailable, match="already open"):
        LmdbBackend(place, map_bytes=MAP_BYTES)

    assert committed(backend.commit_batch((put("a"),))[0])
