"""What the writer does besides commits: listeners, and reads that would block the loop."""

import threading

import pytest
import trio

from osiris_actors.env import RealEnv
from osiris_actors.store import blobs
from osiris_actors.store.contract import Append, Committed, Conflict, Unit
from osiris_actors.store.lane import InlineLane
from osiris_actors.store.memory import MemoryBackend
from osiris_actors.writer import Writer


async def test_listeners_hear_of_what_was_committed_and_nothing_else(
    nursery: trio.Nursery,
) -> None:
    store = Writer(MemoryBackend(), RealEnv(), lane=InlineLane())
    heard: list[Unit] = []
    end = store.watch(heard.append)
    nursery.start_soon(store.run)

    first = Unit((Append("task/a", 0, (b"1", b"2")), Append("project/p", 0, (b"1",))))
    await store.commit(first)
    assert await store.commit(first) == Conflict("task/a", 2)
    second = Unit((Append("task/a", 2, (b"3",)),))
    await store.commit(second)
    assert heard == [first, second]
    end()
    await store.commit(Unit((Append("task/a", 3, (b"4",)),)))
    assert heard == [first, second]
    store.stop()


async def test_a_listener_that_fails_disturbs_nobody(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_unit: Unit) -> None:
        raise RuntimeError("listener")

    heard: list[Unit] = []
    store = Writer(MemoryBackend(), RealEnv(), lane=InlineLane())
    store.watch(fails)
    store.watch(heard.append)
    nursery.start_soon(store.run)

    unit = Unit((Append("task/a", 0, (b"1",)),))
    assert await store.commit(unit) == Committed({"task/a": 1})
    assert heard == [unit]
    assert "a listener failed on a commit of task/a" in caplog.text
    store.stop()


async def test_only_large_blobs_and_verification_leave_the_event_loop(
    nursery: trio.Nursery,
) -> None:
    threads: list[int] = []

    def note(point: str) -> None:
        if point == "read":
            threads.append(threading.get_ident())

    store = Writer(MemoryBackend(fault=note), RealEnv(), lane=InlineLane())
    nursery.start_soon(store.run)
    small, large = blobs.pack(bytes(256 * 1024)), blobs.pack(bytes(256 * 1024 + 1))
    await store.commit(Unit(blobs=(small, large)))
    here = {threading.get_ident()}

    await store.get_blob(small.sha256)
    assert set(threads) == here
    threads.clear()
    assert await store.get_blob(large.sha256) == bytes(256 * 1024 + 1)
    assert len(set(threads)) == 2
    threads.clear()
    await store.verify(deep=True)
    assert not here & set(threads)
    store.stop()
