"""Room kept back: who is committed while there is none, and when all are again."""

from pathlib import Path

import pytest

from osiris_actors.store.contract import Committed, Full, Outcome, Put, Unit
from osiris_actors.store.room import BALLAST_BYTES, Ballast, commit

DONE = Committed({})
PLAIN, URGENT = Unit(puts=(Put("a", b""),)), Unit(puts=(Put("b", b""),), reserve=True)


class Disk:
    """Commits as many units as it has room for."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.asked: list[tuple[Unit, ...]] = []

    def commit(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        self.asked.append(units)
        if len(units) > self.room:
            return (Full("no room"),) * len(units)
        return (DONE,) * len(units)


@pytest.fixture
def ballast(tmp_path: Path) -> Ballast:
    """Return a ballast that can be made once its folder is there: until then there is no room."""
    return Ballast(tmp_path / "full" / "ballast")


def test_with_room_all_units_are_committed_together_and_some_is_kept_back(
    ballast: Ballast, tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    disk = Disk(2)

    assert commit((PLAIN, URGENT), ballast, disk.commit) == (DONE, DONE)
    assert disk.asked == [(PLAIN, URGENT)]
    assert (tmp_path / "full" / "ballast").stat().st_size == BALLAST_BYTES


def test_the_room_kept_back_is_given_up_for_units_that_may_use_it(
    ballast: Ballast, tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    disk = Disk(1)

    outcomes = commit((PLAIN, URGENT), ballast, disk.commit)

    assert outcomes == (Full("no room"), DONE)
    assert disk.asked == [(PLAIN, URGENT), (URGENT,)]
    assert not (tmp_path / "full" / "ballast").exists()


def test_without_room_only_units_that_may_use_the_reserve_are_tried(
    ballast: Ballast, tmp_path: Path
) -> None:
    disk = Disk(9)

    first, second = commit((PLAIN, URGENT), ballast, disk.commit)
    (refused,) = commit((PLAIN,), ballast, disk.commit)

    assert (isinstance(first, Full), second, isinstance(refused, Full)) == (True, DONE, True)
    assert disk.asked == [(URGENT,)]

    (tmp_path / "full").mkdir()
    assert commit((PLAIN,), ballast, disk.commit) == (DONE,)


def test_a_ballast_of_another_life_is_known_again(tmp_path: Path) -> None:
    assert Ballast(tmp_path / "ballast").make()

    assert Ballast(tmp_path / "ballast").is_there
