"""The store as its owner holds it: files taken away, engines that fail, a disk that fills up."""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from osiris_actors.store.contract import (
    Committed,
    Duplicate,
    Failed,
    Full,
    Outcome,
    Put,
    StoreUnavailable,
    Unit,
    Unknown,
)
from osiris_actors.store.failures import StoreMoved
from osiris_actors.store.kept import FAILURES, REST_S, KeptBackend
from osiris_actors.store.lmdb import LmdbBackend
from osiris_actors.store.opening import open_store
from osiris_actors.store.room import BALLAST_BYTES, Ballast
from tests.actors.keeper_child import place, unit
from tests.actors.small_disk import fill, small_disk, with_fault

CHILD = (sys.executable, "-m", "tests.actors.keeper_child")
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

    def transaction(self) -> int:
        return super().transaction() + 1


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


# fault -> what the commits 0 to 11 became; the numbers are those of the system calls of the child
FAULTS = {
    "fdatasync:error=EIO:when=5": ["Unknown"],
    "fdatasync:error=EIO:when=5+": ["Unknown"] * 3 + ["Failed"] * 6,
    "pwrite64:error=EIO:when=12": ["Unknown"],
    "pwrite64:error=EROFS:when=12+": ["Unknown"] * 3 + ["Failed"] * 2,
    "pwrite64:error=ENOSPC:when=12": ["Full"],
    "pwrite64:error=ENOSPC:when=12+": ["Full"] * 5,
    "pwrite64:retval=100:when=12": ["Unknown"],
    "pwrite64:retval=100:when=13": ["Unknown"],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failing_disk_is_said_loses_nothing_acknowledged_and_is_read_all_along(
    tmp_path: Path, fault: str
) -> None:
    child = with_fault(fault, *CHILD, str(tmp_path), "12")

    rows = [line.split(" ", 2) for line in child.stdout.splitlines()[1:-1]]
    assert [name for _, name, _ in rows if name != "Committed"] == FAULTS[fault]
    assert {reads for _, _, reads in rows} == {"readable"}
    kept = open_store(place(tmp_path))
    stored = [n for n in range(12) if kept.head(f"task/{n}").version]
    assert stored == [int(number) for number, name, _ in rows if name == "Committed"]
    assert kept.verify(deep=True).damage == ()
    assert kept.trouble() is None
    kept.close()


def big(number: int, *, reserve: bool = False) -> Unit:
    """Return a unit that needs 256 KiB of its own."""
    return Unit(puts=(Put(f"big/{number}", os.urandom(1 << 18)),), reserve=reserve)


def test_a_full_disk_is_read_keeps_room_for_checkpoints_and_recovers_by_itself(
    tmp_path: Path,
) -> None:
    with small_disk(tmp_path / "disk", "12m") as disk:
        kept = open_store(place(disk))
        assert names(kept.commit_batch((unit(0),))) == ["Committed"]
        filler = fill(disk)

        full = kept.commit_batch((big(1), big(2, reserve=True), unit(3)))

        assert names(full) == ["Full", "Committed", "Full"]
        assert kept.get_index("big/2") is not None
        assert kept.lookup("k0") == Duplicate("", b"", 0)
        trouble = kept.trouble()
        assert trouble is not None
        assert trouble.code == "storage_full"
        assert names(kept.commit_batch((big(4), big(5, reserve=True)))) == ["Full", "Committed"]

        filler.unlink()
        assert names(kept.commit_batch((big(1), unit(3)))) == ["Committed", "Committed"]
        assert kept.trouble() is None
        assert (disk / "ballast").stat().st_size == BALLAST_BYTES
        assert kept.verify(deep=True).damage == ()
        kept.close()


def test_the_reserve_is_full_too_in_the_end(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "8m") as disk:
        kept = open_store(place(disk))
        fill(disk)

        outcomes = [kept.commit_batch((big(n, reserve=True),))[0] for n in range(30)]

        assert isinstance(outcomes[0], Committed)
        assert isinstance(outcomes[-1], Full)
        stored = [n for n in range(30) if kept.get_index(f"big/{n}") is not None]
        assert stored == [n for n, found in enumerate(outcomes) if isinstance(found, Committed)]
        kept.close()


def test_a_store_opens_on_a_full_disk_and_its_many_readers_do_not_end_the_process(
    tmp_path: Path,
) -> None:
    with small_disk(tmp_path / "disk", "8m") as disk:
        open_store(place(disk)).close()
        (disk / "store" / "lock.mdb").unlink()
        fill(disk)

        kept = open_store(place(disk))

        views = [kept.view() for _ in range(200)]
        for view in views:
            view.__enter__()
        for view in reversed(views):
            view.__exit__(None, None, None)
        assert names(kept.commit_batch((unit(0),))) == ["Full"]
        assert names(kept.commit_batch((big(1, reserve=True),))) == ["Committed"]
        kept.close()
