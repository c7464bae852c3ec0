"""How an owner opens its store: looked at first, held when damaged, told apart when copied."""

import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import lmdb
import pytest

from osiris_actors.store import clean, identity, network, probing, records
from osiris_actors.store.contract import (
    RESTORE,
    Failed,
    StoreTooNew,
    StoreUnavailable,
)
from osiris_actors.store.kept import KeptBackend
from osiris_actors.store.lmdb import LmdbBackend
from osiris_actors.store.opening import Place, open_store, open_to_read
from tests.actors.keeper_child import place, unit
from tests.actors.store_cases import edit

EVENT = b"event" * 20
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.fixture
def home(tmp_path: Path) -> Place:
    """Return a store of five streams whose owner left in order."""
    there = place(tmp_path)
    kept = open_store(there)
    kept.commit_batch(tuple(unit(n) for n in range(5)))
    kept.close()
    return there


def change(home: Place, change: Callable[[bytearray], None]) -> None:
    """Change the bytes of the data file so that nothing else about it changes."""
    data = home.store / "data.mdb"
    before = data.stat()
    raw = bytearray(data.read_bytes())
    change(raw)
    with data.open("r+b") as file:
        file.write(raw)
    os.utime(data, ns=(before.st_atime_ns, before.st_mtime_ns))


def flip(raw: bytearray) -> None:
    raw[raw.rindex(EVENT)] ^= 1


def zero_a_page(raw: bytearray) -> None:
    """Zero the page of event task/400@1, and every older version of it."""
    for start in range(0, len(raw), 4_096):
        page = raw[start : start + 4_096]
        if b"task/400\0" in page and EVENT in page:
            raw[start : start + 4_096] = bytes(4_096)


def unnoted(home: Place) -> Place:
    (home.store / clean.NAME).unlink()
    return home


def test_a_store_that_was_left_in_order_is_opened_without_a_probe(home: Place) -> None:
    change(home, flip)

    kept = open_store(home)

    assert kept.trouble() is None
    assert not (home.store / clean.NAME).exists()
    assert len(kept.verify(deep=False).damage) == 1
    kept.close()


@pytest.mark.parametrize("what", ["crash", "touched", "another file"])
def test_a_store_that_was_not_or_is_not_what_it_was_is_looked_at_first(
    home: Place, what: str
) -> None:
    change(home, flip)
    data = home.store / "data.mdb"
    if what == "crash":
        unnoted(home)
    if what == "touched":
        os.utime(data)
    if what == "another file":
        shutil.copy2(data, home.store / "copy")
        (home.store / "copy").replace(data)

    kept = open_store(home)

    trouble = kept.trouble()
    assert trouble is not None
    assert trouble.code == "store_damaged"
    kept.close()


def test_damage_is_named_nothing_is_written_and_the_rest_is_read(home: Place) -> None:
    change(unnoted(home), flip)
    before = (home.store / "data.mdb").read_bytes()

    kept = open_store(home)

    (refused,) = kept.commit_batch((unit(9),))
    assert isinstance(refused, Failed)
    assert (refused.code, refused.fix) == ("store_damaged", RESTORE)
    assert "event task/" in refused.why
    assert "does not match its checksum" in refused.why
    assert sum(kept.head(f"task/{n}").version for n in range(5)) == 5
    kept.close()
    assert (home.store / "data.mdb").read_bytes() == before
    assert not (home.store / clean.NAME).exists()


@posix
def test_a_file_that_would_end_its_reader_is_read_by_the_probe_alone(home: Place) -> None:
    whole = open_store(home)
    whole.commit_batch(tuple(unit(n) for n in range(5, 500)))
    whole.close()
    change(unnoted(home), zero_a_page)

    kept = open_store(home)

    assert kept.store_id == whole.store_id
    with pytest.raises(StoreUnavailable, match="SIGABRT") as caught:
        kept.head("task/1")
    assert caught.value.code == "store_damaged"
    assert isinstance(kept.commit_batch((unit(9),))[0], Failed)
    kept.close()


@posix
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_cut_file_is_damage(home: Place, share: float) -> None:
    data = unnoted(home).store / "data.mdb"
    os.truncate(data, int(data.stat().st_size * share))

    kept = open_store(home)

    trouble = kept.trouble()
    assert trouble is not None
    assert trouble.code == "store_damaged"
    kept.close()


@pytest.mark.parametrize("lost", ["gone", "no bytes"])
def test_a_store_that_should_be_there_is_not_begun_afresh(home: Place, lost: str) -> None:
    data = home.store / "data.mdb"
    data.unlink()
    if lost == "no bytes":
        data.touch()

    kept = open_store(home)

    trouble = kept.trouble()
    assert trouble is not None
    assert "the marker says there was a store" in trouble.why
    assert len(kept.store_id) == 32
    kept.close()
    assert not data.exists() or not data.stat().st_size


def test_a_store_that_went_back_behind_what_it_had_acknowledged_is_damaged(home: Place) -> None:
    note = home.store / clean.NAME
    said = json.loads(note.read_bytes())
    note.write_text(json.dumps(said | {"transaction": said["transaction"] + 1}), "ascii")

    for _ in range(2):
        kept = open_store(home)

        trouble = kept.trouble()
        assert trouble is not None
        assert "went back from transaction" in trouble.why
        kept.close()


def test_a_newer_format_is_refused_before_anything_in_it_is_judged(home: Place) -> None:
    newer = records.stamped("meta", b"format", records.encode(identity.FORMAT + 1))
    edit(home.store, "meta", b"format", newer)
    edit(home.store, "counters", b"of a newer kind", b"with another checksum")
    before = (home.store / "data.mdb").read_bytes()

    with pytest.raises(StoreTooNew):
        open_store(home)

    assert (home.store / "data.mdb").read_bytes() == before


def test_a_first_start_that_was_killed_is_no_damage(tmp_path: Path) -> None:
    there = place(tmp_path)
    there.store.mkdir()
    lmdb.open(str(there.store), lib_version=0).close()

    kept = open_store(there)

    assert kept.trouble() is None
    kept.close()


def test_the_probe_reads_a_small_store_whole_and_of_a_large_one_a_sample(tmp_path: Path) -> None:
    backend = LmdbBackend(tmp_path)
    backend.commit_batch(tuple(unit(n) for n in range(6_000)))
    backend.close()
    known = records.encode(identity.FORMAT).hex()
    command = [sys.executable, "-P", "-m", probing.PROBE, str(tmp_path), known]

    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    assert said == {"damage": [], "read": 3 * 2_000 + 2, "of": 3 * 6_000 + 2}


def test_a_probe_that_cannot_say_anything_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").mkdir()
    (tmp_path / "data.mdb" / "x").touch()

    with pytest.raises(StoreUnavailable):
        probing.damage(tmp_path)


@pytest.fixture
def on_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the file system of the tests among the networks."""
    if sys.platform != "linux":
        pytest.skip("statfs of Linux")
    monkeypatch.setitem(network.NETWORK, network.type_of(tmp_path), "TESTFS")


def test_a_network_file_system_is_read_but_written_by_force_only(
    home: Place, on_network: None
) -> None:
    kept = open_store(home)
    (refused,) = kept.commit_batch((unit(9),))
    assert isinstance(refused, Failed)
    assert "network file system (TESTFS)" in refused.why
    assert "OSIRIS_FORCE_NETWORK_FS=1" in refused.fix
    assert kept.head("task/1").version == 1
    kept.close()

    forced = open_store(Place(home.store, home.ballast, force_network=True))

    assert not isinstance(forced.commit_batch((unit(9),))[0], Failed)
    forced.close()


@pytest.mark.usefixtures("on_network")
def test_no_store_is_begun_on_a_network_file_system(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="TESTFS"):
        open_store(place(tmp_path))

    assert not (tmp_path / "store").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="statfs of Linux")
def test_an_overlay_and_a_disk_are_local(tmp_path: Path) -> None:
    assert 0x794C7630 not in network.NETWORK
    assert network.network_name(tmp_path / "not there yet") == ""


def test_a_windows_share_is_a_network_and_a_drive_is_not() -> None:
    assert network.share("\\\\server\\share\\home") == "SMB"
    assert network.share("C:\\Users\\me\\.osiris") == ""


def test_a_store_that_cannot_be_written_is_read(home: Place) -> None:
    kept = open_to_read(home, "Read-only file system")

    assert kept.head("task/1").version == 1
    assert kept.commit_batch((unit(9),)) == (
        Failed("Read-only file system", fix="make the folder writable, or copy it to where it is"),
    )
    kept.close()


def copied_from(kept: KeptBackend) -> str:
    kept.close()
    return kept.copied_from


def test_a_copied_store_keeps_its_id_and_says_where_it_comes_from(
    home: Place, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(home.store, tmp_path / "copy" / "store")
    copy = place(tmp_path / "copy")
    caplog.set_level(logging.WARNING)

    opened = open_store(copy)

    assert copied_from(opened) == str(home.store)
    assert opened.store_id == open_to_read(home, "").store_id
    assert "keeps its id: both answer for the same tasks" in caplog.text
    assert copied_from(open_store(copy)) == str(home.store)
    assert copied_from(open_store(home)) == ""


def test_a_moved_store_is_no_copy(home: Place, tmp_path: Path) -> None:
    home.store.rename(tmp_path / "elsewhere")
    moved = Place(tmp_path / "elsewhere", home.ballast)

    assert copied_from(open_store(moved)) == ""


def test_a_file_put_back_by_other_means_is_no_copy(home: Place) -> None:
    shutil.copy2(home.store / "data.mdb", home.store / "back")
    (home.store / "back").replace(home.store / "data.mdb")

    assert copied_from(open_store(home)) == ""


def test_a_store_moved_across_disks_is_no_copy(home: Place, tmp_path: Path) -> None:
    shutil.copytree(home.store, tmp_path / "copy" / "store")
    shutil.rmtree(home.store)

    assert copied_from(open_store(place(tmp_path / "copy"))) == ""
