"""The writer's thread."""

import threading

import pytest
import trio

from osiris_actors.store.lane import ThreadLane


async def test_a_lane_is_one_thread_that_outlives_calls_nobody_waits_for() -> None:
    lane = ThreadLane("test")
    gate = threading.Event()
    first = await lane.call(threading.get_ident)

    with trio.move_on_after(0.01) as scope:
        await lane.call(gate.wait, 10)
    gate.set()

    assert scope.cancelled_caught
    with trio.fail_after(5):
        assert await lane.call(threading.get_ident) == first != threading.get_ident()
        with pytest.raises(ZeroDivisionError):
            await lane.call(divmod, 1, 0)
    lane.close()
