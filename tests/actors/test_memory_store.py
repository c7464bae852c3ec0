"""The simulation's store: what its faults do and what survives them."""

import pytest

from osiris_actors.store.contract import (
    Append,
    Committed,
    Damage,
    Full,
    StoreDamaged,
    StoreUnavailable,
    Unit,
)
from osiris_actors.store.memory import Answer, MemoryBackend

UNIT = Unit(appends=(Append("task/a", 0, (b"one",)),))


class Crash(BaseException):
    """The process dies here."""


def crash_at(place: str) -> MemoryBackend:
    def fault(point: str) -> None:
        if point == place:
            raise Crash

    return MemoryBackend(fault=fault)


@pytest.mark.parametrize(("place", "version"), [("commit.before", 0), ("commit.after", 1)])
def test_a_crash_around_the_commit_leaves_all_of_it_or_nothing(place: str, version: int) -> None:
    backend = crash_at(place)
    with pytest.raises(Crash):
        backend.commit_batch((UNIT,))

    after = backend.reopen()

    assert after.head("task/a").version == version
    assert after.verify(deep=True).damage == ()


def test_a_store_that_was_reopened_takes_no_more_calls() -> None:
    backend = MemoryBackend("a" * 32)
    after = backend.reopen()

    with pytest.raises(StoreUnavailable):
        backend.commit_batch((UNIT,))
    with pytest.raises(StoreUnavailable):
        backend.head("task/a")
    assert after.store_id == "a" * 32
    assert after.commit_batch((UNIT,)) == (Committed({"task/a": 1}),)


def test_a_fault_may_answer_the_batch_instead_of_storing_it() -> None:
    def fault(point: str) -> None:
        if point == "commit.before":
            raise Answer(Full("no room"))

    backend = MemoryBackend(fault=fault)

    assert backend.commit_batch((UNIT, UNIT)) == (Full("no room"), Full("no room"))
    assert backend.head("task/a").version == 0


def test_tables_that_cannot_be_walked_are_damage_too() -> None:
    def fault(_point: str) -> None:
        raise StoreDamaged("data.mdb", "a page is not what it should be")

    verified = MemoryBackend(fault=fault).verify(deep=True)

    assert verified.damage == (Damage("data.mdb", "a page is not what it should be"),)


def test_a_read_may_fail() -> None:
    with pytest.raises(Crash):
        crash_at("read").head("task/a")
