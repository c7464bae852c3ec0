"""When an owner may leave by itself."""

import pytest
import trio
from trio.testing import MockClock

from osiris_actors.presence import HOOK_IDLE_S, LOOK_S, Presence

IDLE_S = 60.0


async def left_at(presence: Presence, within_s: float) -> float | None:
    """Return the seconds until the owner left; None if it did not within `within_s`."""
    began, stopping = trio.current_time(), trio.Event()
    with trio.move_on_after(within_s):
        await presence.leave_when_idle(stopping)
    return trio.current_time() - began if stopping.is_set() else None


async def test_an_owner_that_nobody_visits_leaves_after_its_time(autojump_clock: MockClock) -> None:
    assert await left_at(Presence(IDLE_S), 1_000) == IDLE_S


async def test_a_client_keeps_it_and_its_leaving_begins_the_time_anew(
    autojump_clock: MockClock,
) -> None:
    presence = Presence(IDLE_S)
    with presence.here():
        assert await left_at(presence, 100_000) is None
        await trio.sleep(1)

    assert await left_at(presence, 1_000) == IDLE_S


async def test_two_clients_keep_it_until_both_have_left(autojump_clock: MockClock) -> None:
    presence = Presence(IDLE_S)
    with presence.here():
        with presence.here():
            pass
        assert await left_at(presence, 1_000) is None


async def test_what_it_is_busy_with_keeps_it_and_the_end_of_that_is_noticed(
    autojump_clock: MockClock,
) -> None:
    leases_end = trio.current_time() + 1_000
    presence = Presence(IDLE_S, is_busy=lambda: trio.current_time() < leases_end)

    assert await left_at(presence, 10_000) == pytest.approx(1_000, abs=LOOK_S)


async def test_a_hook_keeps_it_for_longer(autojump_clock: MockClock) -> None:
    presence = Presence(IDLE_S)
    presence.hooked()

    assert await left_at(presence, 100_000) == HOOK_IDLE_S


async def test_a_client_after_a_hook_does_not_shorten_its_time(autojump_clock: MockClock) -> None:
    presence = Presence(IDLE_S, hook_idle_s=300)
    presence.hooked()
    with presence.here():
        await trio.sleep(1)

    assert await left_at(presence, 1_000) == 299


async def test_the_time_begins_when_clients_can_come(autojump_clock: MockClock) -> None:
    presence = Presence(IDLE_S)
    await trio.sleep(1_000)

    assert await left_at(presence, 1_000) == IDLE_S


async def test_no_time_means_never(autojump_clock: MockClock) -> None:
    stopping = trio.Event()

    await Presence(0).leave_when_idle(stopping)

    assert not stopping.is_set()
