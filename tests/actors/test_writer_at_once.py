"""The writer over a lane that takes jobs at once: who is taken so, answered, told and refused."""

from collections.abc import AsyncIterator, Callable
from typing import TypeVar

import outcome
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from osiris_actors.env import RealEnv
from osiris_actors.store.contract import Append, Committed, Failed, Outcome, Put, Unit, Unknown
from osiris_actors.store.lane import InlineLane
from osiris_actors.store.memory import MemoryBackend
from osiris_actors.store.room import size_bytes
from osiris_actors.writer import Statistics, Writer
from tests.actors.test_writer import Asked, put
from tests.actors.test_writer_ending import Moved, run

T = TypeVar("T")

EVENT = Unit(appends=(Append("task/a", 0, (b"event",)),))
STOPPING = Failed("stopping")


class Near(InlineLane):
    """Takes jobs at once while `is_near`; what is started otherwise waits until it is let go."""

    def __init__(self) -> None:
        self.is_near = True
        self.sizes: list[int] = []
        self._held: list[Callable[[], None]] = []

    def at_once(self, job: Callable[[], T], size_bytes: int) -> outcome.Outcome[T] | None:
        if not self.is_near:
            return None
        self.sizes.append(size_bytes)
        return outcome.capture(job)

    def start(self, job: Callable[[], T], then: Callable[[outcome.Outcome[T]], None]) -> None:
        if self.is_near:
            super().start(job, then)
        else:
            self._held.append(lambda: then(outcome.capture(job)))

    def let_go(self) -> None:
        self._held.pop()()

    def close(self) -> None:
        assert not self._held


class Crash(BaseException):
    """What no commit is expected to raise."""


class Fails:
    """A fault before the first commit."""

    def __init__(self, error: BaseException) -> None:
        self._left = [error]

    def __call__(self, point: str) -> None:
        if point == "commit.before" and self._left:
            raise self._left.pop()


@pytest.fixture
async def lane() -> AsyncIterator[Near]:
    with trio.fail_after(5):
        yield Near()


def writer(lane: Near, backend: MemoryBackend | None = None) -> Writer:
    return Writer(backend or MemoryBackend(), RealEnv(), lane=lane)


async def test_a_commit_taken_at_once_is_answered_counted_and_told(
    lane: Near, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    store, heard = writer(lane), list[Unit]()
    store.watch(heard.append)
    await nursery.start(store.run)

    assert await store.commit(EVENT) == Committed({"task/a": 1})
    assert heard == [EVENT]
    assert store.statistics() == Statistics(batches=1, units=1, largest_batch=1)
    assert lane.sizes == [size_bytes(EVENT)]
    assert (await store.head("task/a")).version == 1
    store.stop()


async def test_an_engine_that_raises_at_once_answers_unknown_and_the_writer_goes_on(
    lane: Near, nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    store = writer(lane, MemoryBackend(fault=Fails(OSError("the disk went away"))))
    await nursery.start(store.run)

    assert await store.commit(put("a")) == Unknown("the commit did not report")
    assert await store.commit(put("b")) == Committed({})
    assert store.statistics().unknown == 1
    assert len(lane.sizes) == 2
    assert "a commit of 1 units failed" in caplog.text
    store.stop()


async def test_what_is_no_exception_ends_the_writer_and_its_unit_is_unknown(lane: Near) -> None:
    store = writer(lane, MemoryBackend(fault=Fails(Crash())))
    answered: list[Outcome] = []
    ended = False
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(store.run)
            answered.append(await store.commit(EVENT))
    except* Crash:
        ended = True

    assert ended
    assert answered == [Unknown("the commit did not report")]
    assert await store.commit(EVENT) == STOPPING


async def test_a_store_that_moved_says_so_before_it_answers_and_ends_the_writer(
    lane: Near,
) -> None:
    answered: list[Outcome] = []
    said: list[tuple[str, int]] = []
    store = Writer(
        Moved(), RealEnv(), lane=lane, ends=lambda why: said.append((why, len(answered)))
    )

    async def ask() -> None:
        await wait_all_tasks_blocked()
        answered.extend([await store.commit(EVENT), await store.commit(EVENT)])

    await run(store, ask)

    refusal = Failed("store_moved: data.mdb is gone", fix="call again: another owner takes over")
    assert answered == [refusal, refusal]
    assert said == [("store_moved: data.mdb is gone", 0)]
    assert len(lane.sizes) == 1


async def test_a_commit_while_a_batch_is_under_way_waits_for_the_next_batch(
    lane: Near, nursery: trio.Nursery
) -> None:
    store = writer(lane)
    await nursery.start(store.run)
    lane.is_near = False
    first = Asked(nursery, store, put("first"))
    await wait_all_tasks_blocked()
    lane.is_near = True
    second = Asked(nursery, store, put("second"))
    await wait_all_tasks_blocked()

    assert (first.outcome, second.outcome, lane.sizes) == (None, None, [])
    lane.let_go()
    await second.done.wait()
    assert [asked.outcome for asked in (first, second)] == [Committed({})] * 2
    assert await store.commit(put("third")) == Committed({})
    assert (len(lane.sizes), store.statistics().batches) == (1, 3)
    store.stop()


async def test_a_writer_that_does_not_run_takes_nothing_at_once(
    lane: Near, nursery: trio.Nursery
) -> None:
    backend = MemoryBackend()
    store = writer(lane, backend)
    asked = Asked(nursery, store, put("a"))
    await wait_all_tasks_blocked()

    assert (asked.outcome, lane.sizes, backend.index("")) == (None, [], ())
    await nursery.start(store.run)
    await asked.done.wait()
    assert (asked.outcome, lane.sizes) == (Committed({}), [])
    assert backend.index("") == (Put("a", b""),)
    store.stop()


async def test_a_stopped_writer_refuses_what_its_lane_would_take_at_once(lane: Near) -> None:
    backend = MemoryBackend()
    store = writer(lane, backend)
    async with trio.open_nursery() as nursery:
        await nursery.start(store.run)
        store.stop()
        assert await store.commit(put("a")) == STOPPING

    assert await store.commit(put("b")) == STOPPING
    assert (lane.sizes, backend.index("")) == ([], ())
