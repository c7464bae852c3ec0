"""The bench of faults: that its judges see what they are there to see."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bench import faults, faults_store
from bench.faults_tally import CannotMakeError, Row, Tally
from osiris_actors.store.contract import Append, Unit
from osiris_actors.store.opening import open_store

Make = Callable[[Path, Tally], None]


def stored(folder: Path, *units: Unit) -> Path:
    kept = open_store(faults_store.place(folder))
    kept.commit_batch(units)
    kept.close()
    return folder


def test_what_was_acknowledged_and_is_not_there_is_lost(tmp_path: Path) -> None:
    home, tally = stored(tmp_path, *map(faults_store.unit, range(3))), Tally(9)

    faults_store.judge(home, [0, 1, 2, 3, 4], tally)

    assert (tally.acked_lost, tally.silent_wrong, tally.problems) == (2, 0, [])


def test_another_value_than_was_written_is_wrong(tmp_path: Path) -> None:
    other = Unit((Append("task/1", 0, (b"something else",)),))
    home, tally = stored(tmp_path, faults_store.unit(0), other), Tally(9)

    faults_store.judge(home, [0, 1], tally)

    assert (tally.acked_lost, tally.silent_wrong) == (0, 2)  # the event, and what was counted


def cannot(folder: Path, tally: Tally) -> None:
    raise CannotMakeError("no such disk")


def breaks(folder: Path, tally: Tally) -> None:
    tally.tries += 1
    raise OSError("broken bench")


def loses(folder: Path, tally: Tally) -> None:
    tally.tries += 1
    tally.acked_lost += 1


def nothing(folder: Path, tally: Tally) -> None:
    pass


@pytest.mark.parametrize("make", [breaks, loses, nothing])
def test_harm_a_broken_row_and_one_that_tried_nothing_are_bad(tmp_path: Path, make: Make) -> None:
    [row] = faults.run([Row(99, "what", "how", 1, make)], tmp_path)

    assert faults.is_bad(row)


def test_a_fault_that_cannot_be_made_is_said_and_not_bad(tmp_path: Path) -> None:
    [row] = faults.run([Row(99, "what", "how", 1, cannot)], tmp_path)

    assert not faults.is_bad(row)
    assert row["skipped"] == "no such disk"


@pytest.mark.parametrize("number", [17, 22])
def test_a_row_makes_its_fault_and_finds_no_harm(tmp_path: Path, number: int) -> None:
    [row] = faults.run((row for row in faults.ROWS if row.number == number), tmp_path)

    assert not faults.is_bad(row), row
    assert row["tries"] > 0
