"""The store as its owner holds it, on disks that fail and fill up."""

import os
import sys
from pathlib import Path

import pytest

from osiris_actors.store.contract import Committed, Duplicate, Full, Outcome, Put, Unit
from osiris_actors.store.opening import open_store
from osiris_actors.store.room import BALLAST_BYTES
from tests.actors.keeper_child import place, unit
from tests.actors.small_disk import fill, small_disk, with_fault

CHILD = (sys.executable, "-m", "tests.actors.keeper_child")


def names(outcomes: tuple[Outcome, ...]) -> list[str]:
    return [type(outcome).__name__ for outcome in outcomes]


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
