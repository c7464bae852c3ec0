"""What keeps an owner from leaving by itself, as far as settings and hooks decide it."""

from collections.abc import Mapping
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from osiris.config import Settings
from osiris.life import Attended, idle_s
from osiris.service import Traffic
from osiris_actors.presence import HOOK_IDLE_S, Presence

SETTINGS = Settings(home="/nowhere", idle_exit_s=60)


class QuietDesk:
    async def ask(
        self, op: str, args: Mapping[str, Any], body: bytes
    ) -> tuple[dict[str, Any], bytes]:
        return {"op": op, **args}, body


def test_an_owner_leaves_after_the_time_that_is_set() -> None:
    assert idle_s(SETTINGS) == 60


@pytest.mark.parametrize("listener", ["tcp", "http", "metrics"])
def test_an_owner_with_an_address_of_its_own_never_leaves(listener: str) -> None:
    address: Mapping[str, Any] = {listener: "127.0.0.1:8765"}

    assert idle_s(Settings(home="/nowhere", idle_exit_s=60, **address)) == 0


@pytest.mark.parametrize(("op", "kept_s"), [("hook", HOOK_IDLE_S), ("health", 60)])
async def test_a_hook_keeps_the_owner_and_a_look_does_not(
    op: str, kept_s: float, autojump_clock: MockClock
) -> None:
    presence, stopping = Presence(60), trio.Event()

    answer = await Attended(QuietDesk(), presence, Traffic()).ask(op, {"a": 1}, b"body")

    assert answer == ({"op": op, "a": 1}, b"body")

    began = trio.current_time()
    await presence.leave_when_idle(stopping)
    assert trio.current_time() - began == kept_s
