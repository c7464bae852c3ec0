"""Putting a copy in a store's place: verified first, in one step, with the old one kept."""

from collections.abc import Callable
from pathlib import Path

import pytest

from osiris_actors.store import restoring
from osiris_actors.store.opening import open_store
from osiris_actors.store.restoring import RestoreRefused
from tests.actors.keeper_child import place, unit

EVENT = b"event" * 20


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store with six streams, a backup of its first three beside it."""
    there = place(tmp_path)
    kept = open_store(there)
    kept.commit_batch(tuple(unit(n) for n in range(3)))
    (tmp_path / "backup").mkdir()
    kept.backup(tmp_path / "backup")
    kept.commit_batch(tuple(unit(n) for n in range(3, 6)))
    kept.close()
    return there.store


def restore(store: Path, source: Path, *, force: bool = False) -> Path | None:
    with restoring.draft_of(store, source) as draft:
        assert draft.found.events == 3
        return restoring.swap(store, draft, force=force)


def streams(folder: Path) -> int:
    kept = open_store(place(folder))
    assert kept.trouble() is None
    try:
        return len(kept.streams("task/"))
    finally:
        kept.close()


def flip(data: Path) -> None:
    raw = bytearray(data.read_bytes())
    raw[raw.rindex(EVENT)] ^= 1
    data.write_bytes(raw)


def cut(data: Path) -> None:
    data.write_bytes(data.read_bytes()[:20_000])


def empty(data: Path) -> None:
    data.write_bytes(b"")


DAMAGES = (flip, cut, empty, Path.unlink)


def test_a_sound_store_gives_way_by_force_alone_and_is_kept(store: Path, tmp_path: Path) -> None:
    with pytest.raises(RestoreRefused, match="the present store is sound"):
        restore(store, tmp_path / "backup")
    assert streams(tmp_path) == 6

    aside = restore(store, tmp_path / "backup", force=True)

    assert streams(tmp_path) == 3
    assert aside is not None
    assert aside.parent == tmp_path
    aside.rename(tmp_path / "old")
    (tmp_path / "old" / "data.mdb").replace(store / "data.mdb")
    assert streams(tmp_path) == 6


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_gives_way(
    store: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    damage(store / "data.mdb")

    aside = restore(store, tmp_path / "backup")

    assert streams(tmp_path) == 3
    assert aside is not None
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["backup", "ballast", "store", aside.name]
    )


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_copy_is_refused_and_nothing_is_touched(
    store: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    damage(tmp_path / "backup" / "data.mdb")
    before = (store / "data.mdb").read_bytes()

    with pytest.raises(RestoreRefused) as refused:
        restore(store, tmp_path / "backup", force=True)

    assert refused.value.code in {"store_damaged", "bad_argument"}
    assert (store / "data.mdb").read_bytes() == before
    assert [path for path in tmp_path.iterdir() if ".new-" in path.name] == []
    assert streams(tmp_path) == 6


def test_a_copy_of_another_store_needs_force(store: Path, tmp_path: Path) -> None:
    other = place(tmp_path / "other")
    kept = open_store(other)
    kept.commit_batch(tuple(unit(n) for n in range(3)))
    kept.close()
    flip(store / "data.mdb")

    with pytest.raises(RestoreRefused, match="the copy is of store"):
        restore(store, tmp_path / "other")
    restore(store, tmp_path / "other", force=True)

    assert streams(tmp_path) == 3


def test_a_home_that_lost_its_store_gets_one(store: Path, tmp_path: Path) -> None:
    new = tmp_path / "new" / "store"

    assert restore(new, tmp_path / "backup") is None

    assert streams(tmp_path / "new") == 3


def test_a_folder_without_a_store_is_no_backup(store: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    for source in (tmp_path / "empty", tmp_path / "missing"):
        with pytest.raises(RestoreRefused, match="holds no store"):
            restore(store, source)
