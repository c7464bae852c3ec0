"""The writer's thread."""

import threading
from collections.abc import Callable
from typing import TypeVar

import outcome
import pytest
import trio

from osiris_actors.store.lane import ThreadLane

T = TypeVar("T")


async def done(lane: ThreadLane, job: Callable[[], T]) -> tuple[T, int]:
    """Return what came of a job, and the thread that it was told in."""
    told = trio.Event()
    results: list[tuple[outcome.Outcome[T], int]] = []

    def then(result: outcome.Outcome[T]) -> None:
        results.append((result, threading.get_ident()))
        told.set()

    lane.start(job, then)
    with trio.fail_after(5):
        await told.wait()
    return results[0][0].unwrap(), results[0][1]


async def test_jobs_run_in_one_thread_and_their_outcome_is_told_in_the_event_loop() -> None:
    lane = ThreadLane("test")

    first, told_in = await done(lane, threading.get_ident)
    second, _ = await done(lane, threading.get_ident)

    assert told_in == threading.get_ident()
    assert first == second != told_in
    with pytest.raises(ZeroDivisionError):
        await done(lane, lambda: 1 // 0)
    lane.close()


async def test_a_closed_lane_ends_its_thread_after_the_job_at_hand() -> None:
    lane, gate, begun = ThreadLane("test"), threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def wait() -> None:
        threads.append(threading.current_thread())
        begun.set()
        gate.wait(5)

    lane.start(wait, lambda _: None)
    assert await trio.to_thread.run_sync(begun.wait, 5)
    lane.close()
    gate.set()
    await trio.to_thread.run_sync(threads[0].join, 5)

    assert not threads[0].is_alive()
