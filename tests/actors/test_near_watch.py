"""The watch over jobs in the event loop: whom it tells, when it sleeps, how it ends."""

import threading
from collections.abc import Callable, Iterator

import pytest

from osiris_actors.store import near
from osiris_actors.store.near import Watch

LIMIT_S = 0.02
WAIT_S = 5.0


class Clock:
    """Stands in for the module `time`: it goes on when a test says so."""

    def __init__(self) -> None:
        self.now_s = LIMIT_S / 2
        self.meanwhile: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        self.meanwhile()
        return self.now_s

    def pass_the_limit(self) -> None:
        self.now_s += 2 * LIMIT_S


class Bell(threading.Event):
    """Tells when the watch waits for its next look, and when it falls asleep."""

    def __init__(self) -> None:
        super().__init__()
        self._looks = threading.Semaphore(0)
        self._sleeps = threading.Semaphore(0)

    def wait(self, timeout: float | None = None) -> bool:
        (self._sleeps if timeout is None else self._looks).release()
        return super().wait(timeout)

    def wait_looked(self, times: int) -> None:
        """Return when the watch has looked this often from now on."""
        while self._looks.acquire(blocking=False):
            pass
        for _ in range(times + 1):
            assert self._looks.acquire(timeout=WAIT_S)

    def wait_asleep(self) -> None:
        assert self._sleeps.acquire(timeout=WAIT_S)


class Watched:
    """A watch, and from which threads it called."""

    def __init__(self) -> None:
        self.late: list[int] = []
        self.bell = Bell()
        self.watch = Watch(self._note, LIMIT_S)
        self.watch._bell = self.bell
        self._called = threading.Event()

    def _note(self) -> None:
        self.late.append(threading.get_ident())
        self._called.set()

    def wait_late(self) -> None:
        assert self._called.wait(WAIT_S)

    def wait_ended(self) -> None:
        thread = self.watch._thread
        assert thread is not None
        thread.join(WAIT_S)
        assert not thread.is_alive()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(near, "time", clock)
    return clock


@pytest.fixture
def watched(clock: Clock) -> Iterator[Watched]:
    watched = Watched()
    yield watched
    watched.watch.close()
    watched.wait_ended()


def test_what_does_not_end_is_told_once_from_another_thread(watched: Watched, clock: Clock) -> None:
    watched.watch.begin()
    watched.bell.wait_looked(2)
    assert watched.late == []
    clock.pass_the_limit()
    watched.wait_late()
    watched.wait_ended()

    assert len(watched.late) == 1
    assert watched.late[0] != threading.get_ident()


def test_what_ended_in_time_is_not_told_and_lets_the_watch_sleep(watched: Watched) -> None:
    watched.watch.begin()
    watched.bell.wait_looked(2)
    watched.watch.end()
    watched.bell.wait_asleep()

    assert watched.late == []


def test_what_ended_does_not_count_for_what_begins_after_it(watched: Watched, clock: Clock) -> None:
    watched.watch.begin()
    watched.watch.end()
    watched.bell.wait_asleep()
    clock.pass_the_limit()
    watched.watch.begin()
    watched.bell.wait_looked(2)

    assert watched.late == []


def test_what_ends_while_the_watch_looks_is_not_told(watched: Watched, clock: Clock) -> None:
    clock.now_s = 100 * LIMIT_S
    watched.watch.begin()
    clock.meanwhile = watched.watch.end
    watched.bell.wait_asleep()

    assert watched.late == []


def test_what_begins_wakes_a_watch_that_fell_asleep(watched: Watched, clock: Clock) -> None:
    watched.watch.begin()
    watched.watch.end()
    watched.bell.wait_asleep()
    watched.watch.begin()
    clock.pass_the_limit()

    watched.wait_late()


@pytest.mark.parametrize("state", ["asleep", "watching"])
def test_a_closed_watch_ends_its_thread(watched: Watched, state: str) -> None:
    watched.watch.begin()
    if state == "asleep":
        watched.watch.end()
        watched.bell.wait_asleep()
    watched.watch.close()
    watched.wait_ended()

    assert watched.late == []


def test_a_watch_of_nothing_has_no_thread(clock: Clock) -> None:
    watch = Watch(lambda: None, LIMIT_S)
    watch.end()
    watch.close()

    assert watch._thread is None
