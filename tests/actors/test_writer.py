"""The writer's queue: who is answered, when, and what becomes of those who leave."""

import logging
import threading
from collections.abc import AsyncIterator

import pytest
import trio
import trio.testing

from osiris_actors import writer as writer_module
from osiris_actors.env import RealEnv
from osiris_actors.store.contract import (
    Busy,
    Committed,
    Failed,
    Outcome,
    Put,
    Unit,
    Unknown,
)
from osiris_actors.store.lane import STUCK_AFTER_S, InlineLane
from osiris_actors.store.memory import MemoryBackend
from osiris_actors.writer import QUEUE_UNITS, Writer, WriterStuck

STOPPING = Failed("stopping")


class Gated(MemoryBackend):
    """A disk that is slow until it is let go: commits wait inside their thread."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Semaphore(0)
        self.gate = threading.Semaphore(0)
        self.threads: set[int] = set()

    def commit_batch(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        self.threads.add(threading.get_ident())
        self.begun.release()
        assert self.gate.acquire(timeout=10)
        return super().commit_batch(units)

    async def wait_begun(self) -> None:
        assert await trio.to_thread.run_sync(self.begun.acquire, True, 10)

    def let_go(self, commits: int = 1) -> None:
        self.gate.release(commits)


@pytest.fixture
async def slow() -> AsyncIterator[Gated]:
    backend = Gated()
    with trio.fail_after(20):
        yield backend
    backend.let_go(100)


@pytest.fixture
def store(slow: Gated) -> Writer:
    return Writer(slow, RealEnv())


def put(name: str, size: int = 0) -> Unit:
    return Unit(puts=(Put(name, bytes(size)),))


class Asked:
    """A commit under way in its own task, and its outcome once there is one."""

    def __init__(self, nursery: trio.Nursery, store: Writer, unit: Unit) -> None:
        self.outcome: Outcome | None = None
        self.cancelled_after = False
        self.done = trio.Event()
        self.scope = trio.CancelScope()
        nursery.start_soon(self._ask, store, unit)

    async def _ask(self, store: Writer, unit: Unit) -> None:
        with self.scope:
            self.outcome = await store.commit(unit)
            await trio.lowlevel.checkpoint()
        self.cancelled_after = self.scope.cancelled_caught
        self.done.set()


def started(nursery: trio.Nursery, store: Writer) -> None:
    nursery.start_soon(store.run)


async def test_nobody_is_answered_before_the_commit_has_returned(
    slow: Gated, store: Writer, nursery: trio.Nursery
) -> None:
    started(nursery, store)
    asked = Asked(nursery, store, put("a"))
    await slow.wait_begun()
    await trio.testing.wait_all_tasks_blocked()

    assert asked.outcome is None
    slow.let_go()
    await asked.done.wait()
    assert asked.outcome == Committed({})
    store.stop()


async def test_what_comes_during_a_commit_goes_together_into_the_next(
    slow: Gated, store: Writer, nursery: trio.Nursery
) -> None:
    started(nursery, store)
    first = Asked(nursery, store, put("first"))
    await slow.wait_begun()
    rest = [Asked(nursery, store, put(f"n{number}")) for number in range(50)]
    await trio.testing.wait_all_tasks_blocked()
    slow.let_go(2)
    for asked in (first, *rest):
        await asked.done.wait()

    assert [asked.outcome for asked in rest] == [Committed({})] * 50
    seen = store.statistics()
    assert (seen.batches, seen.units, seen.largest_batch, seen.waiting) == (2, 51, 50, 0)
    assert len(slow.threads) == 1
    store.stop()


async def test_a_batch_ends_at_its_bytes_but_always_holds_one_unit(
    slow: Gated, store: Writer, nursery: trio.Nursery
) -> None:
    sizes = (9_000_000, 3_000_000, 3_000_000, 3_000_000)
    asked = [Asked(nursery, store, put(f"n{n}", size)) for n, size in enumerate(sizes)]
    await trio.testing.wait_all_tasks_blocked()
    slow.let_go(4)
    started(nursery, store)
    for each in asked:
        await each.done.wait()

    assert store.statistics().largest_batch <= 2
    assert store.statistics().batches >= 3
    assert store.statistics().units == 4
    store.stop()


async def test_a_full_queue_answers_busy_at_once(store: Writer, nursery: trio.Nursery) -> None:
    waiting = [Asked(nursery, store, put(f"n{n}")) for n in range(QUEUE_UNITS)]
    await trio.testing.wait_all_tasks_blocked()

    assert await store.commit(put("one more")) == Busy(50)
    assert store.statistics().busy == 1
    assert store.statistics().waiting == QUEUE_UNITS
    for asked in waiting:
        asked.scope.cancel()


async def test_a_unit_that_only_waits_is_taken_back_with_its_waiter(
    slow: Gated, store: Writer, nursery: trio.Nursery
) -> None:
    started(nursery, store)
    first = Asked(nursery, store, put("first"))
    await slow.wait_begun()
    gone = Asked(nursery, store, put("gone"))
    await trio.testing.wait_all_tasks_blocked()
    gone.scope.cancel()
    await gone.done.wait()
    slow.let_go(2)
    await first.done.wait()

    assert gone.outcome is None
    assert slow.index("") == (Put("first", b""),)
    store.stop()


async def test_a_waiter_cancelled_after_the_commit_began_still_gets_its_outcome(
    slow: Gated, store: Writer, nursery: trio.Nursery
) -> None:
    started(nursery, store)
    asked = Asked(nursery, store, put("a"))
    await slow.wait_begun()
    asked.scope.cancel()
    await trio.testing.wait_all_tasks_blocked()
    assert asked.outcome is None

    slow.let_go()
    await asked.done.wait()

    assert asked.outcome == Committed({})
    assert asked.cancelled_after
    assert slow.get_index("a") == b""
    store.stop()


async def test_a_cancelled_writer_finishes_its_batch_and_answers_the_rest(
    slow: Gated, store: Writer, nursery: trio.Nursery
) -> None:
    running = trio.CancelScope()

    async def run() -> None:
        with running:
            await store.run()

    nursery.start_soon(run)
    begun = Asked(nursery, store, put("begun"))
    await slow.wait_begun()
    queued = Asked(nursery, store, put("queued"))
    await trio.testing.wait_all_tasks_blocked()
    running.cancel()
    await trio.testing.wait_all_tasks_blocked()
    slow.let_go(2)
    await begun.done.wait()
    await queued.done.wait()

    assert (begun.outcome, queued.outcome) == (Committed({}), STOPPING)
    assert slow.index("") == (Put("begun", b""),)
    assert await store.commit(put("late")) == STOPPING


async def test_a_stopped_writer_commits_what_waits_and_takes_no_more(
    slow: Gated, store: Writer, nursery: trio.Nursery
) -> None:
    async with trio.open_nursery() as running:
        started(running, store)
        first = Asked(nursery, store, put("first"))
        await slow.wait_begun()
        queued = Asked(nursery, store, put("queued"))
        await trio.testing.wait_all_tasks_blocked()
        store.stop()
        assert await store.commit(put("late")) == STOPPING
        slow.let_go(2)
    await first.done.wait()
    await queued.done.wait()

    assert (first.outcome, queued.outcome) == (Committed({}), Committed({}))


class FailsOnce:
    """A fault at the first commit only."""

    def __init__(self) -> None:
        self.left = 1

    def __call__(self, point: str) -> None:
        if point == "commit.before" and self.left:
            self.left -= 1
            raise OSError("the disk went away")


async def test_an_engine_that_raises_answers_unknown_and_the_writer_goes_on(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    backend = MemoryBackend(fault=FailsOnce())
    store = Writer(backend, RealEnv(), lane=InlineLane())
    started(nursery, store)

    assert isinstance(await store.commit(put("a")), Unknown)
    assert await store.commit(put("b")) == Committed({})
    assert store.statistics().unknown == 1
    assert "a commit of 1 units failed" in caplog.text
    store.stop()


async def test_a_commit_that_does_not_come_back_ends_the_service(
    mock_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    slow = Gated()
    store = Writer(slow, RealEnv())
    asked: list[Asked] = []

    async def wait_too_long() -> None:
        async with trio.open_nursery() as nursery:
            started(nursery, store)
            asked.append(Asked(nursery, store, put("begun")))
            await slow.wait_begun()
            asked.append(Asked(nursery, store, put("queued")))
            await trio.testing.wait_all_tasks_blocked()
            mock_clock.jump(STUCK_AFTER_S - 1)
            await trio.testing.wait_all_tasks_blocked()
            assert asked[0].outcome is None
            mock_clock.jump(2)

    with pytest.raises(ExceptionGroup) as caught:
        await wait_too_long()
    slow.let_go()

    assert caught.group_contains(WriterStuck)
    assert isinstance(asked[0].outcome, Unknown)
    assert asked[1].outcome == STOPPING
    assert await store.commit(put("late")) == STOPPING
    assert caplog.records[-1].levelno == logging.CRITICAL


def test_the_limits_are_those_of_the_design() -> None:
    assert (writer_module.QUEUE_UNITS, writer_module.BATCH_UNITS) == (1024, 1000)
    assert writer_module.BATCH_BYTES == 8 * 1024 * 1024
