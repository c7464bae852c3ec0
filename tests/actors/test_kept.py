"""The store as its owner holds it: files taken away, engines that fail, a forked child."""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from osiris_actors.store.contract import (
    Duplicate,
    Failed,
    Outcome,
    StoreUnavailable,
    Unit,
    Unknown,
)
from osiris_actors.store.failures import StoreMoved
from osiris_actors.store.kept import FAILURES, REST_S, KeptBackend
from osiris_actors.store.lmdb import LmdbBackend
from osiris_actors.store.opening import open_store
from osiris_actors.store.room import Ballast
from tests.actors.keeper_child import place, unit

posix = pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be removed there")


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[KeptBackend]:
    opened = open_store(place(tmp_path))
    yield opened
    opened.close()


def names(outcomes: tuple[Outcome, ...]) -> list[str]:
    return [type(outcome).__name__ for outcome in outcomes]


@posix
@pytest.mark.parametrize("name", ["data.mdb", "lock.mdb"])
def test_nothing_is_acknowledged_into_a_file_that_was_taken_away(
    kept: KeptBackend, tmp_path: Path, name: str
) -> None:
    assert names(kept.commit_batch((unit(0),))) == ["Committed"]
    (tmp_path / "store" / name).unlink()

    with pytest.raises(StoreMoved, match=f"{name} is gone") as moved:
        kept.commit_batch((unit(1),))

    assert not moved.value.has_committed
    with pytest.raises(StoreUnavailable, match="store_moved"):
        kept.lookup("k0")


class TakenAway(LmdbBackend):
    """Whose data file goes away while a commit is under way."""

    place = Path()

    def commit_batch(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        outcomes = super().commit_batch(units)
        (self.place / "data.mdb").unlink()
        return outcomes


@posix
def test_a_file_that_goes_during_a_commit_leaves_it_unacknowledged(tmp_path: Path) -> None:
    engine = TakenAway(tmp_path / "store")
    engine.place = tmp_path / "store"
    kept = keep(tmp_path, engine)

    with pytest.raises(StoreMoved) as moved:
        kept.commit_batch((unit(0),))

    assert moved.value.has_committed


@posix
def test_a_second_name_for_the_files_harms_nobody(kept: KeptBackend, tmp_path: Path) -> None:
    for name in ("data.mdb", "lock.mdb"):
        (tmp_path / name).hardlink_to(tmp_path / "store" / name)

    assert names(kept.commit_batch((unit(0),))) == ["Committed"]


class Failing(LmdbBackend):
    """An engine that fails as long as it is told to, storing nothing."""

    fails = True

    def commit_batch(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        if not self.fails:
            return super().commit_batch(units)
        self.failures += 1
        return (Unknown("Input/output error"),) * len(units)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def keep(folder: Path, engine: LmdbBackend, clock: Clock | None = None) -> KeptBackend:
    ballast = Ballast(folder / "ballast")
    ballast.make()
    return KeptBackend(
        folder / "store", engine, ballast, store_id=engine.store_id, clock=clock or Clock()
    )


def test_three_failed_commits_in_a_row_let_the_store_rest_and_then_it_goes_on(
    tmp_path: Path,
) -> None:
    engine, clock = Failing(tmp_path / "store"), Clock()
    kept = keep(tmp_path, engine, clock)
    failed = [names(kept.commit_batch((unit(n),))) for n in range(FAILURES)]

    (resting,) = kept.commit_batch((unit(3),))

    assert failed == [["Unknown"]] * FAILURES
    assert isinstance(resting, Failed)
    assert "3 commits failed in a row: Input/output error" in resting.why
    assert engine.failures == FAILURES
    assert kept.lookup("k0") is None
    trouble = kept.trouble()
    assert trouble is not None
    assert trouble.code == "storage_error"

    engine.fails = False
    clock.now += REST_S
    assert names(kept.commit_batch((unit(3),))) == ["Committed"]
    assert kept.trouble() is None
    kept.close()


class Panicking(Failing):
    """An engine that reports a panic from when it fails."""

    def is_panicked(self) -> bool:
        return self.fails


def test_after_a_panic_the_store_is_opened_again_and_goes_on(tmp_path: Path) -> None:
    engine = Panicking(tmp_path / "store")
    engine.fails = False
    kept = keep(tmp_path, engine)
    assert names(kept.commit_batch((unit(0),))) == ["Committed"]
    engine.fails = True

    assert names(kept.commit_batch((unit(1),))) == ["Unknown"]

    assert kept.lookup("k1") is None
    assert kept.lookup("k0") == Duplicate("", b"", 0)
    assert names(kept.commit_batch((unit(1),))) == ["Committed"]
    kept.close()


class Forgetful(Panicking):
    """An engine that claims a commit which never reached the disk."""

    def commit_batch(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        outcomes = super().commit_batch(units)
        self.committed += 1
        return outcomes


def test_a_store_that_lost_an_acknowledged_commit_is_neither_read_nor_written(
    tmp_path: Path,
) -> None:
    engine = Forgetful(tmp_path / "store")
    engine.fails = False
    kept = keep(tmp_path, engine)
    kept.commit_batch((unit(0),))
    engine.fails = True
    kept.commit_batch((unit(1),))

    (refused,) = kept.commit_batch((unit(2),))

    assert isinstance(refused, Failed)
    assert refused.code == "store_damaged"
    assert "was acknowledged and is gone" in refused.why
    with pytest.raises(StoreUnavailable, match="is gone"):
        kept.head("task/0")


def test_a_reader_under_way_is_waited_for_before_the_engine_is_closed(tmp_path: Path) -> None:
    engine = Panicking(tmp_path / "store")
    kept = keep(tmp_path, engine)
    committed = threading.Thread(target=kept.commit_batch, args=((unit(0),),))
    with kept.view() as view:
        committed.start()
        while kept_is_open(kept):
            pass
        assert view.entries("meta") == 2
    committed.join(10)

    assert not committed.is_alive()
    assert kept.head("task/0").version == 0
    kept.close()


def kept_is_open(kept: KeptBackend) -> bool:
    try:
        kept.head("task/0")
    except StoreUnavailable:
        return False
    return True


def in_a_fork(kept: KeptBackend) -> bytes:
    """Return what a forked child could do with the store."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        done = b""
        try:
            kept.head("task/0")
            done += b"read "
        except StoreUnavailable:
            done += b"not read, "
        (outcome,) = kept.commit_batch((unit(1),))
        kept.close()
        os.write(writing, done + type(outcome).__name__.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        return said.read()


@posix
def test_a_forked_child_can_do_nothing_with_its_parent_s_store(kept: KeptBackend) -> None:
    assert in_a_fork(kept) == b"not read, Failed"

    assert names(kept.commit_batch((unit(0),))) == ["Committed"]
    assert kept.streams("") == ("task/0",)
