"""The lane of an owner: which jobs run where they are asked for."""

import threading
from collections.abc import Callable
from typing import TypeVar

import outcome
import pytest

from osiris_actors.store.near import NEAR_BYTES, QUICK_JOBS, QUICK_S, NearLane, Watch

T = TypeVar("T")

QUICK, SLOW = QUICK_S / 2, QUICK_S * 2
WAIT_S = 5.0


class Far:
    """A lane elsewhere, which is done at once."""

    def __init__(self) -> None:
        self.is_closed = False

    def at_once(self, job: Callable[[], T], size_bytes: int) -> outcome.Outcome[T] | None:
        raise AssertionError("nobody asks the far lane to take a job at once")

    def start(self, job: Callable[[], T], then: Callable[[outcome.Outcome[T]], None]) -> None:
        then(outcome.capture(job))

    def close(self) -> None:
        self.is_closed = True


class Noting(Watch):
    """Notes what it is told, and watches nothing."""

    def __init__(self) -> None:
        super().__init__(lambda: None, WAIT_S)
        self.told: list[str] = []

    def begin(self) -> None:
        self.told.append("begin")

    def end(self) -> None:
        self.told.append("end")

    def close(self) -> None:
        self.told.append("close")


class Owner:
    """A near lane, whether its caller is alone, and how long its jobs take."""

    def __init__(self) -> None:
        self.is_alone = True
        self.far = Far()
        self.watch = Noting()
        self._now_s = 0.0
        self.lane = NearLane(
            self.far, lambda: self.is_alone, lambda: None, clock=lambda: self._now_s
        )
        self.lane._watch = self.watch

    def takes(self, seconds: float) -> None:
        self._now_s += seconds

    def is_near(self, seconds: float = QUICK, size_bytes: int = NEAR_BYTES) -> bool:
        """Say whether a job of these seconds and bytes was taken at once; it ran if it was."""
        before_s = self._now_s
        found = self.lane.at_once(lambda: self.takes(seconds), size_bytes)
        assert found in (None, outcome.Value(None))
        assert (self._now_s > before_s) is (found is not None)
        return found is not None

    def goes_far(self, count: int, seconds: float = QUICK) -> None:
        for _ in range(count):
            self.lane.start(lambda: self.takes(seconds), outcome.Outcome[None].unwrap)


@pytest.fixture
def owner() -> Owner:
    """Return a lane that one more quick job makes a near one."""
    owner = Owner()
    owner.goes_far(QUICK_JOBS - 1)
    return owner


@pytest.fixture
def quick(owner: Owner) -> Owner:
    owner.goes_far(1)
    return owner


def test_a_job_is_taken_at_once_after_so_many_quick_ones_in_a_row(owner: Owner) -> None:
    assert not owner.is_near()
    owner.goes_far(1)

    assert owner.is_near()
    assert owner.is_near()


def test_a_job_is_taken_at_once_only_while_its_call_is_alone(quick: Owner) -> None:
    quick.is_alone = False
    assert not quick.is_near()

    quick.is_alone = True
    assert quick.is_near()


def test_a_job_is_taken_at_once_only_up_to_its_bytes(quick: Owner) -> None:
    assert not quick.is_near(size_bytes=NEAR_BYTES + 1)
    assert quick.is_near(size_bytes=NEAR_BYTES)


@pytest.mark.parametrize("where", ["here", "there"])
def test_a_slow_job_sends_the_next_ones_to_the_far_lane_wherever_it_ran(
    quick: Owner, where: str
) -> None:
    if where == "here":
        assert quick.is_near(SLOW)
    else:
        quick.goes_far(1, SLOW)

    for _ in range(QUICK_JOBS):
        assert not quick.is_near()
        quick.goes_far(1)
    assert quick.is_near()


@pytest.mark.parametrize("error", [ZeroDivisionError(), SystemExit()])
def test_a_job_that_raises_comes_back_as_its_outcome_and_is_no_longer_watched(
    quick: Owner, error: BaseException
) -> None:
    def fails() -> None:
        quick.watch.told.append("job")
        raise error

    found = quick.lane.at_once(fails, 1)

    assert isinstance(found, outcome.Error)
    assert found.error is error
    assert quick.watch.told == ["begin", "job", "end"]


def test_a_job_that_raises_late_is_a_slow_one(quick: Owner) -> None:
    def fails() -> None:
        quick.takes(SLOW)
        raise ZeroDivisionError

    assert isinstance(quick.lane.at_once(fails, 1), outcome.Error)

    assert not quick.is_near()


def test_a_job_in_the_far_lane_is_watched_by_who_started_it(quick: Owner) -> None:
    quick.goes_far(1)

    assert quick.watch.told == []


def test_a_closed_lane_closes_the_far_one_and_its_watch(owner: Owner) -> None:
    owner.lane.close()

    assert owner.far.is_closed
    assert owner.watch.told == ["close"]


def test_a_job_here_that_does_not_come_back_is_told() -> None:
    called = threading.Event()
    lane = NearLane(Far(), lambda: True, called.set, stuck_after_s=0.05)
    lane._quick = QUICK_JOBS

    found = lane.at_once(lambda: called.wait(WAIT_S), 1)
    lane.close()

    assert found == outcome.Value(True)
